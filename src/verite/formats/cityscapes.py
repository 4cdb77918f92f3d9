"""Cityscapes label images (class ids, and instance ids as class × 1000 + number) and polygons.

An image `X` has `X_gtFine_instanceIds.png` and `X_gtFine_labelIds.png`; predictions may have other names. A value
below 1000 is a class without separate instances: a crowd. `X_gtFine_polygons.json` has the objects of an image drawn
one over the other; a label that ends in `group` is a crowd of that class.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from verite.arrays import np
from verite.errors import ReadError
from verite.formats.exports import files_of, has_keys
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = (
    "unlabeled", "ego vehicle", "rectification border", "out of roi", "static", "dynamic", "ground", "road", "sidewalk",
    "parking", "rail track", "building", "wall", "fence", "guard rail", "bridge", "tunnel", "pole", "polegroup",
    "traffic light", "traffic sign", "vegetation", "terrain", "sky", "person", "rider", "car", "truck", "bus",
    "caravan", "trailer", "train", "motorcycle", "bicycle",
)  # fmt: skip
# What the benchmark leaves out of both sides' numbers.
VOID = frozenset({0, 1, 2, 3, 4, 5, 6, 9, 10, 14, 15, 16, 18, 29, 30})
TRAINED = tuple(name for id, name in enumerate(NAMES) if id not in VOID)  # by train id
INSTANCES, CLASSES, TRAIN = "instanceIds", "labelIds", "labelTrainIds"
KNOWN = re.compile(rf"_({INSTANCES}|{CLASSES}|{TRAIN})\.png$")


def kinds_in(probe: PathProbe) -> set[str]:
    """Return which of the three kinds of images are there."""
    return {found.group(1) for p in probe.files if (found := KNOWN.search(p.name))}


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Cityscapes: the endings of its file names, such as `_instanceIds.png`."""
    kinds = kinds_in(probe)
    return f"files ending in _{sorted(kinds)[0]}.png" if kinds else None


def read(path: Path, options: Options) -> Annotations:
    """Objects by their ids; for a class each pixel, the ids of classes."""
    from verite.formats.label_images import image_files, name_plainly, read_pixels
    from verite.formats.mask_images import annotations_of, load
    from verite.formats.shards import files_of_split
    from verite.model.annotations import Source
    from verite.progress import count_files

    there = kinds_in(PathProbe(path))
    wanted = [CLASSES, TRAIN, INSTANCES] if options.masks == "every" else [INSTANCES, CLASSES, TRAIN]
    chosen = next((kind for kind in wanted if kind in there), None)
    files = [p for p in image_files(path) if chosen is None or p.name.endswith(f"_{chosen}.png")]
    if not files:
        raise ReadError(path, expected="pictures", found="none")
    files, part = files_of_split(path, files, options)
    kind = options.masks or ("instances" if chosen in (INSTANCES, None) else "classes")
    rule = name_plainly(files)
    options = replace(options, masks=kind)
    pictures = [
        load(str(p.path), p.image, read_pixels(p.path), options, p.path) for p in count_files("reading", rule.pictures)
    ]
    names = dict(enumerate(TRAINED if chosen == TRAIN else NAMES))
    left_out = () if chosen == TRAIN else VOID
    why = "; ".join(w for w in (rule.why, part) if w)
    source = Source(str(path), "cityscapes", why, is_file_per_image=True)
    return annotations_of(pictures, options, source, names, left_out)


def write(annotations: Annotations, path: Path) -> None:
    """Write label images of the ids that Cityscapes gives its classes."""
    from verite.files import folder_atomically
    from verite.formats.format import file_stems
    from verite.formats.mask_images import paint_each, save

    ids = {name: id for id, name in enumerate(NAMES)}
    for name in annotations.labels.all_names:
        if name not in ids:
            remedy = f"one of {', '.join(sorted(set(NAMES)))}"
            raise ReadError(path, expected="Cityscapes' class names", found=repr(name), remedy=remedy)
    classes = [ids[name] for name in annotations.labels.all_names]

    def number(rows: NDArray[np.int64]) -> list[int]:
        seen: dict[int, int] = {}
        numbers = []
        for row in rows.tolist():
            of = classes[int(annotations.label[row])]
            if annotations.crowd[row]:
                numbers.append(of)
                continue
            seen[of] = seen.get(of, -1) + 1
            numbers.append(1000 * of + seen[of])
        return numbers

    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        for at, pixels in paint_each(annotations, path, number):
            save(pixels, folder / f"{stems[at]}_gtFine_{INSTANCES}.png")


FORMAT = Format(
    name="cityscapes",
    title="Cityscapes label images",
    about="PNGs of instance ids, class × 1000 + number, or of label ids",
    recognise=recognise,
    read=read,
    write=write,
    preserves=frozenset({"crowd", "empty image", "image size", "mask"}),
    requires=frozenset({"image size", "known class names", "masks that do not overlap", "no confidence"}),
    options=frozenset({"mask_threshold", "masks", "names", "split"}),
)


LEFT_OUT = {name for id, name in enumerate(NAMES) if id in VOID}
ENDING = "_polygons"


class CityObject(msgspec.Struct):
    """A class and its outline."""

    label: str
    polygon: list[tuple[float, float]]
    deleted: int | bool = False


class CityImage(msgspec.Struct, rename={"width": "imgWidth", "height": "imgHeight"}):
    """An image and its objects."""

    width: int
    height: int
    objects: list[CityObject]


def recognise_polygons(probe: PathProbe) -> str | None:
    """Return why a path is Cityscapes' polygons."""
    is_one = any(has_keys(head, "imgHeight", "imgWidth", "objects") for head in probe.documents.values())
    return "JSON with imgHeight, imgWidth and polygons" if is_one else None


def read_polygons(path: Path, options: Options) -> Annotations:
    """Read one file per image; what the benchmark leaves out (sky is not, ego vehicle is) is counted."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    for file in files:
        with rows.errors:
            document = decode(file, CityImage)
            name = file.stem.removesuffix(ENDING).removesuffix("_gtFine").removesuffix("_gtCoarse")
            rows.add_image(file, name, document.width, document.height)
            for i, one in enumerate(document.objects):
                where = f"{file}: objects[{i}]"
                if one.deleted or one.label in LEFT_OUT:
                    rows.remark("objects of classes that the benchmark leaves out", where)
                    continue
                with rows.errors:
                    ring = list(check_ring(where, [value for point in one.polygon for value in point]))
                    is_crowd = one.label.endswith("group") and one.label.removesuffix("group") in NAMES
                    label = one.label.removesuffix("group") if is_crowd else one.label
                    flags = ["crowd"] if is_crowd else []
                    rows.add(where, name, label, bounds_of_rings([ring]), polygon=[ring], flags=flags)
    return rows.annotations("cityscapes-polygons", layout="xyxy", why=why)


POLYGONS = Format(
    name="cityscapes-polygons",
    title="Cityscapes polygons",
    about="one JSON file per image with imgHeight, imgWidth and polygons",
    recognise=recognise_polygons,
    read=read_polygons,
    options=FRAMES | {"split"},
    suffixes=(".json",),
    sides=("truth",),
)
