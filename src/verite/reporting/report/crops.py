"""Image crops as SVG, with the outlines of ground truth and prediction."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from math import log2
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from verite.errors import ReadError
from verite.model.styles import Markup, element
from verite.reporting.draw import thin
from verite.reporting.pictures import Pictures, load

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

MARGIN = 0.2  # of the objects' size, around them
LEAST = 48.0  # pixels of a crop
PIXELS = 160  # of an embedded crop
QUALITY = 50
WHOLE = 480  # pixels of a whole photo

LINES = 18  # of a hatched crop, about
HATCHES = range(10)  # powers of two, in pixels of a photo

Box = tuple[float, float, float, float]  # left, top, width, height


def window_of(rings: Sequence[Any], size: tuple[float, float]) -> list[float]:
    """A square around objects, moved and cut to lie in the image."""
    points = np.concatenate([np.asarray(ring).reshape(-1, 2) for ring in rings])
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(float((high - low).max()) * (1 + 2 * MARGIN), LEAST)
    sides = [min(side, float(size[k])) for k in (0, 1)]
    corner = [float((low[k] + high[k] - sides[k]) / 2) for k in (0, 1)]
    moved = [min(max(corner[k], 0.0), size[k] - sides[k]) for k in (0, 1)]
    return [round(value, 1) for value in (*moved, *sides)]


class Photos:
    """Where the page takes its pictures from: links to files beside it, pieces inside it, or none."""

    def __init__(self, truth: Annotations, folder: Any, mode: str, page: Path | None, budget: int) -> None:
        self.pictures = Pictures(truth, folder) if mode != "none" else None
        if self.pictures is not None and self.pictures.folder is None:
            self.pictures = None
        self.mode = "none" if self.pictures is None else "link" if mode == "auto" else mode
        self.page, self.budget, self.truth = page, budget, truth
        self.broken: list[str] = []
        self.is_spent = False
        self.made: dict[Any, str] = {}
        self.kept: dict[int, Any] = {}  # whole photos: their sizes

    def link(self, image: int) -> str | None:
        """Where a photo is, seen from the page."""
        path = self.pictures[image] if self.pictures is not None and self.mode == "link" else None
        return None if path is None else link_of(path, self.page)

    def crop(self, image: int, window: Sequence[float], pixels: int = PIXELS) -> str | None:
        """A piece of a photo as text, if there is room for it."""
        key = (image, tuple(window), pixels)
        if key not in self.made and self.mode == "embed" and self.pictures is not None and not self.is_spent:
            path = self.pictures[image]
            text = None if path is None else self.encode(path, image, window, pixels)
            self.is_spent = text is not None and len(text) > self.budget
            if text is None or self.is_spent:
                return None
            self.budget -= len(text)
            self.made[key] = text
        return self.made.get(key)

    def embed_photo(self, image: int, size: Sequence[float]) -> bool:
        """Whether the page has room for a whole photo; it holds each once."""
        if self.crop(image, [0.0, 0.0, *size], WHOLE) is None:
            return False
        self.kept[image] = size
        return True

    @property
    def links_inside(self) -> dict[str, str]:
        """Where the whole photos are, each in the page."""
        return {str(image): f"#photo-{image}" for image in sorted(self.kept)}

    def store(self) -> Markup:
        """The whole photos, to be shown where they are asked for."""
        drawn = [
            element(
                "image",
                id=f"photo-{image}",
                href=self.crop(image, [0.0, 0.0, *size], WHOLE) or "",
                width=f"{size[0]:g}",
                height=f"{size[1]:g}",
                preserveAspectRatio="none",
            )
            for image, size in sorted(self.kept.items())
        ]
        if not drawn:
            return Markup()
        return element("svg", element("defs", *drawn), class_="hide", width=0, height=0, aria_hidden="true")

    def encode(self, path: Path, image: int, window: Sequence[float], pixels: int) -> str | None:
        size = int(self.truth.images.widths[image]), int(self.truth.images.heights[image])
        try:
            photo = load(path, size if min(size) > 0 else None)
        except ReadError:
            self.broken.append(path.name)
            return None
        x, y, width, height = window
        across = photo.width / size[0] if size[0] else 1.0
        down = photo.height / size[1] if size[1] else 1.0
        piece = photo.crop((int(x * across), int(y * down), int((x + width) * across), int((y + height) * down)))
        piece.thumbnail((pixels, pixels))
        out = BytesIO()
        piece.save(out, "WEBP", quality=QUALITY, method=4)
        return f"data:image/webp;base64,{b64encode(out.getvalue()).decode()}"


def link_of(path: Path, page: Path | None) -> str | None:
    """A relative address of a file beside the page or below it; none for one that lies elsewhere on a disk."""
    import os

    home = Path.cwd() if page is None else page.parent
    try:
        relative = os.path.relpath(path.absolute(), home.absolute())
    except ValueError:  # another drive
        return None
    return quote(Path(relative).as_posix())


def crop(item: dict[str, Any], size: Sequence[float], link: str | None, data: str | None, about: str) -> Markup:
    """A piece of a photo, or of an empty ground, with the truth solid, hatched if it is missed, and the prediction
    dashed.
    """
    x, y, width, height = item["window"]
    parts = []
    if link is not None:
        parts.append(element("image", href=link, x=0, y=0, width=f"{size[0]:g}", height=f"{size[1]:g}",
                             preserveAspectRatio="none"))  # fmt: skip
    elif data is not None:
        parts.append(element("image", href=data, x=f"{x:g}", y=f"{y:g}", width=f"{width:g}", height=f"{height:g}",
                             preserveAspectRatio="none"))  # fmt: skip
    for rings, kind in ((item.get("truth"), "tru"), (item.get("pred"), "prd")):
        shape = outline(rings or [])
        if shape:
            fill = {"fill": hatch_for(max(width, height))} if kind == "tru" and item.get("error") == "missed" else {}
            parts += [element("path", d=shape, class_=f"halo {kind}h"), element("path", d=shape, class_=kind, **fill)]
    box = f"{x:g} {y:g} {width:g} {height:g}"
    return element(
        "svg",
        *parts,
        viewBox=box,
        class_=f"pic{' blank' * (link is None and data is None)}",
        role="img",
        aria_label=about,
    )


def hatch_for(side: float) -> str:
    """Lines that are as far apart in a crop of any size.

    >>> hatch_for(48), hatch_for(640)
    ('url(#hatch-1)', 'url(#hatch-5)')
    """
    return f"url(#hatch-{min(max(round(log2(side / LINES)), HATCHES[0]), HATCHES[-1])})"


def outline(rings: Sequence[Any]) -> str:
    return "".join("M" + "L".join(f"{x:g} {y:g}" for x, y in ring) + "Z" for ring in rings if len(ring))


def rings_for(rings: Sequence[Any]) -> list[Any]:
    """Rings as plain numbers of one decimal."""
    return [np.round(thin(np.asarray(ring)), 1).tolist() for ring in rings]


PathLikeText = str | PathLike[str]
