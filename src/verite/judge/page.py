"""The page of a study: one self-contained HTML file with all comparisons, for any browser, without network.

Names from annotation files are put into the page as data and written as text, never as markup.
"""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from importlib.resources import files
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import DataError, ReadError
from verite.files import find_path
from verite.formats.sizes import image_files_in, open_image
from verite.judge.plan import Plan, Trial, silhouette_of
from verite.model.images import stem

if TYPE_CHECKING:
    from verite.files import JsonObject

CONTEXT = 0.6  # of the object's longer side, shown around all boxes
LONG_SIDE, QUALITY = 420, 72  # of an embedded crop
CONSENT = (
    "By beginning you agree that your answers are used, without your name, in this study. You can stop at any time."
)


def window_of(trial: Trial) -> tuple[float, float, float, float]:
    """Return left, top, width and height of what is shown: all boxes with context, or the whole image of a scene."""
    if trial.scenes:
        return 0.0, 0.0, float(trial.size[0]), float(trial.size[1])
    boxes = np.array([trial.truth, *trial.boxes])
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    margin = CONTEXT * max(trial.truth[2] - trial.truth[0], trial.truth[3] - trial.truth[1])
    left, top = np.maximum(0.0, low - margin)
    right, bottom = np.minimum(trial.size, high + margin)
    return float(left), float(top), float(max(1.0, right - left)), float(max(1.0, bottom - top))


def outline_path(mask: Any) -> str:
    """Return a mask as an SVG path of its runs, one rectangle per run of a row."""
    parts = []
    for y in np.flatnonzero(mask.any(axis=1)).tolist():
        row = np.concatenate([[0], mask[y].astype(np.int8), [0]])
        starts, ends = np.flatnonzero(np.diff(row) == 1), np.flatnonzero(np.diff(row) == -1)
        parts += [f"M{a} {y}H{b}V{y + 1}H{a}z" for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    return "".join(parts)


def crop_as_data(path: Any, window: tuple[float, float, float, float], size: tuple[float, float]) -> str:
    """Return a crop of an image as a data address (JPEG)."""
    with open_image(path) as opened:
        image = opened.convert("RGB")
    across, down = image.width / size[0], image.height / size[1]
    x, y, width, height = window
    piece = image.crop((round(x * across), round(y * down), round((x + width) * across), round((y + height) * down)))
    if not piece.width or not piece.height:
        expected = f"an image of about {size[0]:.0f} x {size[1]:.0f} pixels, as the ground truth states"
        raise ReadError(path, expected=expected, found=f"{image.width} x {image.height}")
    piece.thumbnail((LONG_SIDE, LONG_SIDE))
    written = BytesIO()
    piece.save(written, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + b64encode(written.getvalue()).decode()


def make_page(plan: Plan, images: str | PathLike[str] | None, *, serve: bool = False, consent: str = CONSENT) -> str:
    """Return the page of a plan.

    Parameters
    ----------
    plan : Plan
        The trials.
    images : path, optional
        Folder with the images; None for shapes of the study of metrics.
    serve : bool, default False
        Whether votes are sent to the server that offers the page.
    consent : str
        The text that judges agree to.

    Returns
    -------
    str

    Raises
    ------
    DataError
        If an image is not found.
    """
    found = image_files_in(find_path(images)) if images is not None else {}
    pictures: dict[str, str] = {}
    trials = []
    for trial in plan.trials:
        window = window_of(trial)
        entry: JsonObject = {"id": trial.id, "class": trial.label, "names": trial.names, "boxes": trial.boxes,
                                 "window": window}  # fmt: skip
        if trial.scenes:
            entry["scenes"] = [[[label, *box] for label, box in scene] for scene in trial.scenes]
        if images is None:
            entry["outline"] = outline_path(silhouette_of(trial.image))
        else:
            known = found.get(stem(trial.image), [])
            if not known:
                raise DataError(f"{images}: expected the images of the ground truth, found none for {trial.image!r}")
            key = f"{trial.image}|{window}"
            if key not in pictures:
                pictures[key] = crop_as_data(known[0], window, trial.size)
            entry["picture"] = key
        trials.append(entry)
    document = {"plan": plan.id, "trials": trials, "pictures": pictures, "serve": serve}
    text = json.dumps(document).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    template = (files("verite") / "judge" / "page.html").read_text(encoding="utf-8")
    return template.replace("CONSENT", escape(consent), 1).replace("DATA", text, 1)
