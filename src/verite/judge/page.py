"""The page of a study: one self-contained HTML file with all comparisons, and a server that collects the votes.

Names from annotation files are put into the page as data and written as text, never as markup. The server answers only
GET of the page and POST of votes, one file per judge, written atomically. Other hosts than the own are refused unless
it is told to listen for them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from verite.errors import DataError, ReadError
from verite.files import find_path, write_atomically
from verite.formats.sizes import image_files_in, open_image
from verite.judge.plan import Plan, Trial, silhouette_of
from verite.judge.votes import votes_of
from verite.model.images import stem

if TYPE_CHECKING:
    from verite.files import JsonObject

CONTEXT = 0.6  # of the object's longer side, shown around all boxes
LONG_SIDE, QUALITY = 420, 72  # of an embedded crop
CONSENT = (
    "By beginning you agree that your answers are used, without your name, in this study. You can stop at any time."
)
LARGEST = 5_000_000  # bytes of votes
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
            # A mask as an SVG path of its runs, one rectangle per run of a row.
            mask = silhouette_of(trial.image)
            parts = []
            for y in np.flatnonzero(mask.any(axis=1)).tolist():
                row = np.concatenate([[0], mask[y].astype(np.int8), [0]])
                starts, ends = np.flatnonzero(np.diff(row) == 1), np.flatnonzero(np.diff(row) == -1)
                parts += [f"M{a} {y}H{b}V{y + 1}H{a}z" for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
            entry["outline"] = "".join(parts)
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


def make_server(plan: Plan, page: str, folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page; `serve_forever` runs it.

    Parameters
    ----------
    plan : Plan
        The plan, against which votes are checked.
    page : str
        The HTML page.
    folder : Path
        Folder for votes-NAME.csv.
    host : str, default "127.0.0.1"
        Address to listen on.
    port : int, default 0
        Port; 0 for any free one.

    Returns
    -------
    ThreadingHTTPServer
    """
    content = page.encode()

    class Handler(BaseHTTPRequestHandler):
        """Answers for the page and for votes."""

        def is_ours(self) -> bool:
            named = (self.headers.get("Host") or "").rsplit(":", 1)[0].strip("[]")
            return named in LOOPBACK or host not in LOOPBACK

        def answer(self, status: int, text: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            if not self.is_ours():
                self.answer(403, b"other hosts are refused\n")
            elif self.path in ("/", "/index.html"):
                self.answer(200, content, "text/html; charset=utf-8")
            else:
                self.answer(404, b"not found\n")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self.is_ours() or self.path != "/votes":
                self.answer(403, b"refused\n")
            elif not length.isdecimal() or int(length) > LARGEST:
                self.answer(413, b"too long\n")
            else:
                # A name for a file: letters, digits, _ and -.
                name = re.sub(r"[^\w-]+", "-", unquote(self.headers.get("X-Judge", ""))).strip("-")[:40] or "anonymous"
                path = folder / f"votes-{name}.csv"
                unchecked = folder / f".unchecked-{name}.csv"
                unchecked.write_bytes(self.rfile.read(int(length)))
                try:
                    votes_of(plan, unchecked, name)
                    write_atomically(path, unchecked.read_text(encoding="utf-8"))
                    self.answer(200, b"saved\n")
                except (ReadError, UnicodeDecodeError):
                    self.answer(400, b"not votes of this plan\n")
                finally:
                    unchecked.unlink(missing_ok=True)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    return ThreadingHTTPServer((host, port), Handler)
