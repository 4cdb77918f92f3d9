"""Images of the report: links to files or embedded WebP, and crops as SVG with outlines of the objects.

A linked image is shown while its file stays where it is, relative to the report. Embedded crops are stored once each,
small (160 pixels) and within a budget of bytes, in the order in which sections draw them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from math import log2
from os import path as os_path
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from verite.errors import ReadError
from verite.model.styles import Markup, element
from verite.reporting.draw import thin
from verite.reporting.image_files import ImageFiles, load_image

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.reporting.report.document import Outline, ReportDocument

MARGIN = 0.2  # around the objects of a crop, as a share of their size
MIN_SIDE = 48.0  # pixels of a crop
CROP_PIXELS = 160  # longest side of an embedded crop
IMAGE_PIXELS = 480  # longest side of an embedded image
QUALITY = 50  # of WebP

HATCH_LINES = 18  # of a crop, about
HATCHES = range(10)  # powers of two: the distance of hatch lines in pixels of an image


def window_of(rings: Sequence[Any], size: tuple[float, float]) -> list[float]:
    """Return left, top, width and height of a square around objects, moved and cut to lie inside the image."""
    points = np.concatenate([np.asarray(ring).reshape(-1, 2) for ring in rings])
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(float((high - low).max()) * (1 + 2 * MARGIN), MIN_SIDE)
    sides = [min(side, float(size[k])) for k in (0, 1)]
    corner = [float((low[k] + high[k] - sides[k]) / 2) for k in (0, 1)]
    moved = [min(max(corner[k], 0.0), size[k] - sides[k]) for k in (0, 1)]
    return [round(value, 1) for value in (*moved, *sides)]


def plain_rings(rings: Sequence[Any]) -> Outline:
    """Return rings as lists of numbers with one decimal, thinned out where they are long."""
    return [np.round(thin(np.asarray(ring)), 1).tolist() for ring in rings]


class ReportImages:
    """Images as the report shows them: links to files, crops embedded within a budget, or none.

    Attributes
    ----------
    mode
        "link", "embed" or "none"; "auto" becomes "link" where images are found.
    budget
        Bytes left for embedded images.
    unreadable
        Names of image files that could not be read; it grows while sections are drawn.
    stored_sizes
        Width and height of the whole images that are embedded.
    """

    def __init__(self, truth: Annotations, folder: Any, mode: str, output: Path | None, budget: int) -> None:
        files = ImageFiles(truth, folder) if mode != "none" else None
        self.files = None if files is None or files.folder is None else files
        self.mode = "none" if self.files is None else "link" if mode == "auto" else mode
        self.output, self.budget, self.truth = output, budget, truth
        self.unreadable: list[str] = []
        self.is_spent = False
        self.encoded: dict[Any, str] = {}
        self.stored_sizes: dict[int, Sequence[float]] = {}  # of whole images

    def link(self, image: int) -> str | None:
        """Return the address of an image file relative to the report; None if it is on another drive."""
        path = self.files[image] if self.files is not None and self.mode == "link" else None
        if path is None:
            return None
        home = Path.cwd() if self.output is None else self.output.parent
        try:
            return quote(Path(os_path.relpath(path.absolute(), home.absolute())).as_posix())
        except ValueError:  # another drive
            return None

    def crop(self, image: int, window: Sequence[float], pixels: int = CROP_PIXELS) -> str | None:
        """Return a crop as a data URL; None where images are not embedded or the budget is spent."""
        key = (image, tuple(window), pixels)
        if key not in self.encoded and self.mode == "embed" and self.files is not None and not self.is_spent:
            path = self.files[image]
            text = None if path is None else self.encode(path, image, window, pixels)
            self.is_spent = text is not None and len(text) > self.budget
            if text is None or self.is_spent:
                return None
            self.budget -= len(text)
            self.encoded[key] = text
        return self.encoded.get(key)

    def embed_image(self, image: int, size: Sequence[float]) -> bool:
        """Embed a whole image, once; return whether the budget allows it."""
        if self.crop(image, [0.0, 0.0, *size], IMAGE_PIXELS) is None:
            return False
        self.stored_sizes[image] = size
        return True

    @property
    def inner_links(self) -> dict[str, str]:
        """Links to whole images inside the report, by position."""
        return {str(image): f"#photo-{image}" for image in sorted(self.stored_sizes)}

    def store(self) -> Markup:
        """Return the embedded whole images as SVG definitions, to be shown by reference."""
        drawn = [
            element(
                "image",
                id=f"photo-{image}",
                href=self.crop(image, [0.0, 0.0, *size], IMAGE_PIXELS) or "",
                width=f"{size[0]:g}",
                height=f"{size[1]:g}",
                preserveAspectRatio="none",
            )
            for image, size in sorted(self.stored_sizes.items())
        ]
        if not drawn:
            return Markup()
        return element("svg", element("defs", *drawn), class_="hide", width=0, height=0, aria_hidden="true")

    def encode(self, path: Path, image: int, window: Sequence[float], pixels: int) -> str | None:
        """Return a window of an image file as WebP in a data URL; None if the file cannot be read."""
        size = int(self.truth.images.widths[image]), int(self.truth.images.heights[image])
        try:
            whole = load_image(path, size if min(size) > 0 else None)
        except ReadError:
            self.unreadable.append(path.name)
            return None
        x, y, width, height = window
        across = whole.width / size[0] if size[0] else 1.0
        down = whole.height / size[1] if size[1] else 1.0
        piece = whole.crop((int(x * across), int(y * down), int((x + width) * across), int((y + height) * down)))
        piece.thumbnail((pixels, pixels))
        out = BytesIO()
        piece.save(out, "WEBP", quality=QUALITY, method=4)
        return f"data:image/webp;base64,{b64encode(out.getvalue()).decode()}"


def draw_crop(
    document: ReportDocument,
    images: ReportImages,
    image: int,
    window: Sequence[float],
    outlines: tuple[Outline | None, Outline | None],
    about: str,
    *,
    is_missed: bool = False,
) -> Markup:
    """Draw a crop of an image, or of an empty background, with outlines of ground truth and prediction.

    Ground truth is solid, hatched if it is missed; predictions are dashed.

    Parameters
    ----------
    document, images
        Sizes of the images, and where to take them from.
    image, window
        Position of the image; left, top, width and height of the crop in pixels.
    outlines
        Rings of the ground-truth object and of the prediction; None or empty for none.
    about
        Text alternative for screen readers.
    is_missed
        Whether to hatch the ground truth.
    """
    x, y, width, height = window
    size = document.images.size(image) or (width, height)
    link, data = images.link(image), images.crop(image, window)
    parts = []
    if link is not None:
        parts.append(element("image", href=link, x=0, y=0, width=f"{size[0]:g}", height=f"{size[1]:g}",
                             preserveAspectRatio="none"))  # fmt: skip
    elif data is not None:
        parts.append(element("image", href=data, x=f"{x:g}", y=f"{y:g}", width=f"{width:g}", height=f"{height:g}",
                             preserveAspectRatio="none"))  # fmt: skip
    for rings, kind in zip(outlines, ("tru", "prd"), strict=True):
        shape = "".join("M" + "L".join(f"{px:g} {py:g}" for px, py in ring) + "Z" for ring in rings or () if len(ring))
        if shape:
            fill = {"fill": hatch_for(max(width, height))} if kind == "tru" and is_missed else {}
            parts += [element("path", d=shape, class_=f"halo {kind}h"), element("path", d=shape, class_=kind, **fill)]
    return element(
        "svg",
        *parts,
        viewBox=f"{x:g} {y:g} {width:g} {height:g}",
        class_=f"pic{' blank' * (link is None and data is None)}",
        role="img",
        aria_label=about,
    )


def hatch_for(side: float) -> str:
    """Return the hatch pattern for a crop of this many pixels: equally dense in crops of any size.

    >>> hatch_for(48), hatch_for(640)
    ('url(#hatch-1)', 'url(#hatch-5)')
    """
    return f"url(#hatch-{min(max(round(log2(side / HATCH_LINES)), HATCHES[0]), HATCHES[-1])})"
