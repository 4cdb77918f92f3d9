"""Pascal VOC's segmentation set: for each image a picture of its objects and one of their classes, by palette index.

Index 0 is background and 255 void, the rim that nobody need decide. An object's class is the index that most of its
pixels have in SegmentationClass.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.files import find_path
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.outlines import Runs
from verite.model.rasters import frames_of, runs_of
from verite.model.regions import Regions

OBJECTS, CLASSES = "SegmentationObject", "SegmentationClass"
VOID = 255
NAMES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class SegmentedImage:
    """The objects of one image."""

    size: tuple[int, int]  # height and width
    masks: list[NDArray[np.uint32]]
    labels: list[int]


def is_segmentation(path: Path) -> bool:
    """Is this a VOC folder with segmentations?"""
    return (path / OBJECTS).is_dir() and (path / CLASSES).is_dir()


def read_segmentation(path: Any) -> Annotations:
    """The objects of every image in a VOC folder, as masks."""
    folder = find_path(path)
    for part in (OBJECTS, CLASSES):
        if not (folder / part).is_dir():
            raise ReadError(folder, expected=f"a folder {part} in it, as in VOC2008", found="none")
    files = sorted((folder / OBJECTS).glob("*.png"))
    if not files:
        raise ReadError(folder / OBJECTS, expected="files ending in .png", found="none")
    pictures = [read_picture(file, folder / CLASSES / file.name) for file in files]
    masks = [(counts, picture.size) for picture in pictures for counts in picture.masks]
    runs = Runs.of(masks)
    counts = [len(picture.masks) for picture in pictures]
    return Annotations(
        images=Images(
            [file.stem + ".jpg" for file in files],
            heights=[picture.size[0] for picture in pictures],
            widths=[picture.size[1] for picture in pictures],
        ),
        labels=Labels(NAMES),
        image=np.repeat(np.arange(len(files)), counts).astype(np.int32),
        label=np.array([label for picture in pictures for label in picture.labels], dtype=np.int32),
        regions=Regions(frames_of(runs), runs=runs),
        source=Source(str(folder), "voc-segmentation", f"folders {OBJECTS} and {CLASSES}"),
    )


def read_picture(objects: Path, classes: Path) -> SegmentedImage:
    """The masks and labels of one image."""
    owner = indices(objects)
    if not classes.exists():
        raise ReadError(classes, expected=f"the classes of {objects.name}", found="no such file")
    kind = indices(classes)
    if owner.shape != kind.shape:
        sizes = [f"{a.shape[1]} × {a.shape[0]}" for a in (owner, kind)]
        raise ReadError(classes, expected=f"{sizes[0]} pixels as {objects}", found=sizes[1])
    masks, labels = [], []
    for number in np.unique(owner):
        if number in (0, VOID):
            continue
        mask = owner == number
        votes = np.bincount(kind[mask], minlength=VOID + 1)
        votes[[0, VOID]] = 0
        label = int(votes.argmax())
        if not votes[label] or label > len(NAMES):
            found = f"index {label}" if votes[label] else "only background"
            raise ReadError(classes, expected=f"a class from 1 to {len(NAMES)} for object {number}", found=found)
        masks.append(runs_of(mask[None]).counts)
        labels.append(label - 1)
    return SegmentedImage((int(owner.shape[0]), int(owner.shape[1])), masks, labels)


def indices(path: Path) -> NDArray[np.uint8]:
    """The palette indices of a picture."""
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG",)) as image:
            if image.mode not in ("P", "L"):
                raise ReadError(
                    path, expected="a picture of palette indices", found=f"mode {image.mode}", remedy="save it with one"
                )
            return np.array(image, dtype=np.uint8)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ReadError(path, expected="a PNG picture", found=reason) from None
