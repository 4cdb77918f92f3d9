"""Annotations, row by row: what the readers of small text formats fill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError, excerpt
from verite.formats.format import Options, frame_of
from verite.limits import limit, remedy
from verite.model.annotations import FLAGS, Annotations, Source
from verite.model.images import IMAGE_SUFFIXES, Images
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.regions import Polygons, Regions, Runs


class Rows:
    """Collects images, labels and objects, then settles layout, frame and sizes for all of them at once."""

    def __init__(self, path: Path, options: Options, *, labels: Sequence[str] = ()) -> None:
        self.path, self.options = path, options
        self.images: dict[str, tuple[int, int]] = {}
        self.label_names: dict[str, int] = {name: i for i, name in enumerate(labels)}
        self.has_label_order = bool(labels)
        self.image: list[int] = []
        self.label: list[int] = []
        self.boxes: list[Sequence[float]] = []
        self.confidence: list[float | None] = []
        self.polygons: list[list[Any]] = []
        self.runs: list[Any] = []
        self.flags: dict[str, list[int]] = {name: [] for name in FLAGS}
        self.where: list[str] = []

    def add_image(self, name: str, width: int = 0, height: int = 0) -> None:
        """An image, with its size where the file knows it."""
        for what, side in (("width", width), ("height", height)):
            if not 0 <= side <= limit("image_side"):
                raise ReadError(
                    self.path,
                    expected=f"a {what} of {excerpt(name)} from 0 to {limit('image_side')}",
                    found=str(side),
                    remedy=remedy("image_side"),
                )
        if width or name not in self.images:
            self.images[name] = (width, height)

    def add(
        self,
        where: str,
        image: str,
        label: str,
        box: Sequence[float],
        confidence: float | None = None,
        *,
        polygon: list[Any] | None = None,
        runs: tuple[list[int] | NDArray[np.uint32], tuple[int, int]] | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """One object. `where` is the place to name should it prove wrong."""
        if image not in self.images:
            self.images[image] = (0, 0)
        if not 0 < len(label) <= limit("class_name"):
            longest = f"a class name of 1 to {limit('class_name')} characters"
            raise ReadError(where, expected=longest, found=excerpt(label), remedy=remedy("class_name"))
        row = len(self.boxes)
        self.image.append(image)  # type: ignore[arg-type]
        self.label.append(self.label_names.setdefault(label, len(self.label_names)))
        self.boxes.append(box)
        self.confidence.append(confidence)
        self.polygons.append(polygon or [])
        self.runs.append(runs)
        for flag in flags:
            self.flags[flag].append(row)
        self.where.append(where)

    def annotations(self, format: str, *, layout: str, coords: str = "abs", why: str = "") -> Annotations:
        """All of it as columns. `layout` and `coords` are the format's own; the user's word goes before them."""
        self.check_confidences()
        names = list(self.images)
        order = {name: i for i, name in enumerate(names)}
        images = Images(names, **self.sizes(names))
        image = np.array([order[name] for name in self.image], dtype=np.int32)  # type: ignore[index]
        labels, label = self.labels()
        regions = Regions(
            np.array(self.boxes, dtype=np.float64).reshape(-1, 4),
            layout_name(self.options.boxes or layout),
            polygons=Polygons.of(self.polygons) if any(self.polygons) else None,
            runs=Runs.of(self.runs) if any(r is not None for r in self.runs) else None,
        )
        regions, unit = in_pixels(regions, self.options.coords or coords, images, image)
        count = len(self.boxes)
        has_confidence = count > 0 and self.confidence[0] is not None
        return Annotations(
            images=images,
            labels=labels,
            image=image,
            label=label,
            regions=regions,
            confidence=np.array(self.confidence, dtype=np.float64) if has_confidence else None,
            flags={name: mark(count, rows) for name, rows in self.flags.items()},
            unit=unit,
            source=Source(str(self.path), format, why),
        )

    def check_confidences(self) -> None:
        """Either every object has a confidence (predictions) or none has (truth)."""
        given = [c is not None for c in self.confidence]
        if given and any(given) != all(given):
            odd = given.index(not given[0])
            expected, found = ("a confidence", "none") if given[0] else ("no confidence", "one")
            raise ReadError(
                self.where[odd], expected=f"{expected} as in {self.where[0]}", found=found, remedy="keep truth apart from predictions"
            )

    def labels(self) -> tuple[Labels, NDArray[np.int32]]:
        """The labels in the order the format gives them, else by name."""
        names = list(self.label_names)
        label = np.array(self.label, dtype=np.int32)
        if len(names) > limit("classes"):
            raise ReadError(self.path, expected=f"at most {limit('classes')} classes", found=str(len(names)), remedy=remedy("classes"))
        if self.has_label_order:
            return Labels(names, np.arange(len(names))), label
        order = sorted(range(len(names)), key=lambda i: names[i])
        rank = np.empty(len(names), dtype=np.int32)
        rank[order] = np.arange(len(names))
        return Labels([names[i] for i in order]), rank[label]

    def sizes(self, names: list[str]) -> dict[str, list[int]]:
        """Width and height of each image: from the file, the user, the pictures, or the truth."""
        pictures = pictures_in(self.options.images) if self.options.images else {}
        like = self.options.like.images if self.options.like else None
        sizes = []
        for name in names:
            size = self.images[name]
            if not size[0] and self.options.image_size:
                size = self.options.image_size
            if not size[0] and pictures:
                size = picture_size(pictures, name, self.path)
            if not size[0] and like is not None and (found := like.find(name)) is not None:
                size = int(like.widths[found]), int(like.heights[found])
            sizes.append(size)
        return {"widths": [w for w, _ in sizes], "heights": [h for _, h in sizes]}


def mark(count: int, rows: list[int]) -> NDArray[np.bool_]:
    out = np.zeros(count, dtype=np.bool_)
    out[rows] = True
    return out


def in_pixels(
    regions: Regions, coords: str, images: Images, image: NDArray[np.int32]
) -> tuple[Regions, Any]:
    """Regions in pixels, or still in fractions of the image where a size is not known."""
    frame = frame_of(coords)
    if not frame.is_relative:
        return (regions if frame.factor == 1 else regions.scaled(np.full((len(regions), 2), frame.factor))), "px"
    widths, heights = images.widths[image], images.heights[image]
    unit = "px" if np.all(widths > 0) and np.all(heights > 0) else "rel"
    one = np.ones(len(image))
    sides = np.stack([widths if unit == "px" else one, heights if unit == "px" else one], axis=1)
    return regions.scaled(sides / [frame.width, frame.height]), unit


def pictures_in(folder: Path) -> dict[str, Path]:
    """The image files below a folder, by stem."""
    if not folder.is_dir():
        raise ReadError(folder, expected="a folder with pictures", found="nothing" if not folder.exists() else "a file")
    found = (p for p in sorted(folder.rglob("*")) if p.suffix.lower() in IMAGE_SUFFIXES)
    return {p.stem: p for p in found}


def picture_size(pictures: dict[str, Path], name: str, path: Path) -> tuple[int, int]:
    """Width and height of a picture, from its header."""
    from PIL import Image, UnidentifiedImageError

    from verite.model.images import stem

    picture = pictures.get(stem(name))
    if picture is None:
        raise ReadError(path, expected=f"a picture named {stem(name)}", found="none", remedy="is this the right --images folder?")
    try:
        with Image.open(picture, formats=["JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"]) as image:
            return image.size
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise ReadError(picture, expected="a picture", found=str(error)) from None
