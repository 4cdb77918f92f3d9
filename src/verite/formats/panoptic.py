"""COCO panoptic JSON with PNGs: a list of segments per image, and an image whose colours are their ids.

A pixel belongs to the segment red + 256 × green + 256² × blue; 0 is void. The PNGs of `X.json` are in the folder `X`
beside it, in the JSON's own folder, or in that of the option `images`. Segments become masks with their bounding
boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from typing import Annotated as Typed

import msgspec

from verite.arrays import np
from verite.errors import IS_COMMAND_LINE, ErrorCollector, ReadError, did_you_mean, excerpt, is_listing
from verite.files import folder_atomically
from verite.formats.coco import ids_or_count
from verite.formats.format import Format, Options, PathProbe, check_name, file_stems, tail_of
from verite.formats.json_documents import convert_records, decode, write_json
from verite.formats.label_images import Segments, decode_pixels, join, paint, rows_by_image, split
from verite.formats.polygons import bounds_of_runs
from verite.formats.shards import choose_split
from verite.formats.sizes import check_size, open_image
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import MASK, Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

LARGEST_ID = 256**3 - 1

Id = Typed[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # what a column of ids holds


class Segment(msgspec.Struct):
    id: Id
    category_id: Id
    area: float | None = None
    iscrowd: int | bool = 0


class Annotated(msgspec.Struct):
    image_id: Id | str
    file_name: str
    segments_info: list[Segment]


class PanopticImage(msgspec.Struct):
    id: Id | str
    file_name: str | None = None
    width: Id = 0
    height: Id = 0


class Category(msgspec.Struct):
    id: Id
    name: str | None = None
    isthing: int | bool | None = None


class PanopticDocument(msgspec.Struct):
    annotations: list[Annotated]
    images: list[PanopticImage] = []
    categories: list[Category] = []


class Loose(msgspec.Struct):
    annotations: list[Any]
    images: list[Any] = []
    categories: list[Any] = []


@dataclass(frozen=True, eq=False)
class Sections:
    """The records of a document by their numbers, without those that are wrong where that is tolerated."""

    annotations: dict[int, Annotated]
    images: dict[int, PanopticImage]
    categories: dict[int, Category]


def read_sections(file: Path, errors: ErrorCollector) -> Sections:
    if not is_listing():
        document = decode(file, PanopticDocument)
        lists = (document.annotations, document.images, document.categories)
        return Sections(*(dict(enumerate(records)) for records in lists))
    loose = decode(file, Loose)
    return Sections(
        convert_records(f"{file}: annotations", loose.annotations, Annotated, errors),
        convert_records(f"{file}: images", loose.images, PanopticImage, errors),
        convert_records(f"{file}: categories", loose.categories, Category, errors),
    )


def read_panoptic(path: Path, options: Options) -> Annotations:
    # The JSON file itself, or the only one in a folder.
    files = PathProbe(path).with_suffix(".json") if path.is_dir() else [path]
    if len(files) != 1:
        raise ReadError(path, expected="one JSON file", found=str(len(files)), remedy="name the file")
    file = files[0]
    errors = ErrorCollector()
    document = read_sections(file, errors)
    beside = file.with_suffix("")  # by default the folder that is named like the document, else the one it is in
    pictures = options.images or (beside if beside.is_dir() else file.parent)
    images, annotated = image_table(file, document, options, errors)
    labels = label_table(file, document, options, errors)
    index = {int(id): i for i, id in enumerate(labels.ids)} if labels.ids is not None else {}
    parts: list[Segments] = []
    known: list[int] = []  # the image of each part
    image: list[int] = []
    label: list[int] = []
    listed: list[Segment] = []
    for row, at in annotated.items():
        one, place = document.annotations[row], f"{file}: annotations[{row}]"
        if not are_sound(place, one.segments_info, index, options.label_offset, errors):
            continue
        with errors:
            wanted = (
                (int(images.widths[at]), int(images.heights[at]))
                if images.widths[at]
                else size_in_truth(images, at, options)
            )
            segments = read_segments(place, pictures, one.file_name, wanted)
            parts.append(in_order(f"{place} ({one.file_name})", segments, [s.id for s in one.segments_info]))
            known.append(at)
            image += [at] * len(one.segments_info)
            label += [index[s.category_id + options.label_offset] for s in one.segments_info]
            listed += one.segments_info
    runs = join(parts)
    areas = np.array([int(runs[i][1::2].sum()) for i in range(len(runs))], dtype=np.float64)
    stated = np.array([np.nan if s.area is None else s.area for s in listed])
    differ = int(np.sum(~np.isnan(stated) & (stated != areas)))
    note = f"{differ:,} of {len(listed):,} stated areas are not those of the PNGs, whose pixels count"
    boxes = [bounds_of_runs(runs[i], int(runs.sizes[i, 0])) for i in range(len(runs))]
    return Annotations(
        images=with_sizes(images, known, parts),
        labels=labels,
        image=np.array(image, dtype=np.int32),
        label=np.array(label, dtype=np.int32),
        regions=Regions(np.array(boxes).reshape(-1, 4), "xywh", runs=runs),
        area=areas,
        flags={"crowd": np.array([bool(s.iscrowd) for s in listed], dtype=np.bool_)},
        source=Source(str(path), "panoptic", notes=(note,) if differ else (), flaws=errors.flaws),
    )


def image_table(
    file: Path, document: Sections, options: Options, errors: ErrorCollector
) -> tuple[Images, dict[int, int]]:
    """The images, and which of them each annotation is of. Results often list annotations alone."""
    section = "images" if document.images else "annotations"
    records = document.images or {row: PanopticImage(a.image_id, None) for row, a in document.annotations.items()}
    if len({type(one.id) for one in records.values()}) > 1:
        raise ReadError(f"{file}: images", expected="ids of one kind", found="numbers and texts")
    first: dict[int | str, int] = {}
    for i, one in records.items():
        with errors:
            if first.setdefault(one.id, i) != i:
                twice = f"{one.id!r} in {section}[{first[one.id]}] and {section}[{i}]"
                raise ReadError(file, expected="each image once", found=twice)
    pictures = [records[i] for i in first.values()]
    sizes = np.zeros((len(pictures), 2), dtype=np.int32)  # 0: not known, or not possible
    for at, (i, one) in enumerate(zip(first.values(), pictures, strict=True)):
        with errors:
            check_size(f"{file}: images[{i}]", one.width, one.height)
            sizes[at] = one.width, one.height
    keys = list(first)
    annotated = find_images(file, document.annotations, {key: at for at, key in enumerate(keys)}, errors)
    truth = options.like
    if truth is not None and truth.source.format == "panoptic" and truth.images.ids is not None:
        # Every image of the ground truth needs a prediction, be it an empty one: panoptic quality has no other zero.
        there = {key + options.image_offset for i in annotated.values() if isinstance(key := keys[i], int)}
        used = np.unique(truth.image)
        missing = [int(id) for id in truth.images.ids[used] if int(id) not in there]
        with errors:
            if missing:
                found = f"none for {len(missing)} of {len(used)}, the first is image {missing[0]}"
                remedy = "write one with an empty segments_info and a black PNG where nothing was found"
                expected = "an annotation for every image of the ground truth"
                raise ReadError(file, expected=expected, found=found, remedy=remedy)
    named = [one.file_name for one in pictures]
    is_text = bool(keys) and isinstance(keys[0], str)
    names = [name or str(key) for name, key in zip(named, keys, strict=True)] if is_text or any(named) else None
    ids = None if is_text else np.array(keys, dtype=np.int64) + options.image_offset
    if names is None and ids is not None and not len(ids):
        names = []
    return Images(names, ids, widths=sizes[:, 0], heights=sizes[:, 1]), annotated


def find_images(
    file: Path, annotations: Mapping[int, Annotated], index: Mapping[int | str, int], errors: ErrorCollector
) -> dict[int, int]:
    """Which image each annotation is of; there is one for each image."""
    found: dict[int, int] = {}
    seen: set[int | str] = set()
    for row, one in annotations.items():
        with errors:
            place = f"{file}: annotations[{row}]"
            if one.image_id not in index:
                where = f"{place}.image_id"
                raise ReadError(where, expected="an id out of images", found=excerpt(one.image_id))
            if one.image_id in seen:
                again = f"a second one of image {one.image_id!r}"
                raise ReadError(place, expected="one annotation an image", found=again)
            seen.add(one.image_id)
            found[row] = index[one.image_id]
    return found


def size_in_truth(images: Images, at: int, options: Options) -> tuple[int, int]:
    """Width and height of an image as the truth has them; 0 × 0 where it does not.

    Parameters
    ----------
    images
        Images of the predictions.
    at
        Position of the image.
    options
        Options of the call, with the ground truth in `like`.

    Returns
    -------
    tuple[int, int]
        0, 0 where the ground truth does not have the image.
    """
    if options.like is None:
        return 0, 0
    theirs = options.like.images
    found = theirs.index_of_id.get(int(images.ids[at])) if images.ids is not None else theirs.find(images.name(at))
    return (int(theirs.widths[found]), int(theirs.heights[found])) if found is not None else (0, 0)


def label_table(file: Path, document: Sections, options: Options, errors: ErrorCollector) -> Labels:
    """The classes: the file's own; those of the truth where it lists none."""
    if not document.categories:
        truth = options.like
        if truth is not None and truth.labels.ids is not None:
            return truth.labels
        used = sorted({s.category_id for a in document.annotations.values() for s in a.segments_info})
        return Labels(None, np.array(used, dtype=np.int64) + options.label_offset)
    names: dict[str, Category] = {}
    for i, category in document.categories.items():
        with errors:
            name = category.name or str(category.id)
            if category.name is not None:
                check_name(f"{file}: categories[{i}].name", category.name)
            if any(category.id == other.id for other in names.values()):
                raise ReadError(f"{file}: categories", expected="each id once", found=f"{category.id!r} twice")
            if name in names:
                raise ReadError(f"{file}: categories", expected="each name once", found=f"{name!r} twice")
            names[name] = category
    groups = None
    if all(category.isthing is not None for category in names.values()):
        groups = [THING if category.isthing else STUFF for category in names.values()]
    ids = np.array([category.id for category in names.values()], dtype=np.int64)
    return Labels(list(names), ids + options.label_offset, groups=groups)


def are_sound(
    place: str, segments: Sequence[Segment], index: Mapping[int, int], offset: int, errors: ErrorCollector
) -> bool:
    """Return whether segments have unique ids and known classes; others are collected as errors."""
    seen: set[int] = set()
    for i, segment in enumerate(segments):
        where = f"{place}.segments_info[{i}]"
        with errors:
            if not 0 < segment.id <= LARGEST_ID:
                raise ReadError(f"{where}.id", expected=f"an id from 1 to {LARGEST_ID}", found=str(segment.id))
            if segment.id in seen:
                raise ReadError(f"{where}.id", expected="each segment once", found=f"a second {segment.id}")
            if segment.category_id + offset not in index:
                near = did_you_mean(str(segment.category_id), map(str, index)).removeprefix("; ")
                found = str(segment.category_id)
                raise ReadError(f"{where}.category_id", expected="an id out of categories", found=found, remedy=near)
            seen.add(segment.id)
    return len(seen) == len(segments)


def read_segments(place: str, folder: Path, name: str, wanted: tuple[int, int]) -> Segments:
    """The masks of all segments of a PNG."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0] or "\0" in name:
        raise ReadError(f"{place}.file_name", expected="the name of a PNG in its folder", found=excerpt(name))
    path = folder.joinpath(*parts).with_suffix(".png")  # some files name the photograph
    if not path.is_file():
        is_option = IS_COMMAND_LINE.get()
        remedy = "--truth-images or --pred-images" if is_option else "images=FOLDER of verite.read"
        remedy = f"name the folder of the PNGs with {remedy}"
        raise ReadError(f"{place}.file_name", expected=f"a PNG {path}", found="none", remedy=remedy)
    with open_image(path, ["PNG"]) as image:
        if image.mode not in ("RGB", "RGBA"):
            raise ReadError(path, expected="a PNG in colour (V409), red + 256 green + 256² blue", found=image.mode)
        if wanted != (0, 0) and image.size != wanted:
            found = f"{image.size[0]} x {image.size[1]}"
            raise ReadError(path, expected=f"the size of its image, {wanted[0]} x {wanted[1]}", found=found)
        colours = decode_pixels(image)
    del image  # and with it Pillow's own copy of the pixels
    ids: NDArray[np.uint32] = colours[..., 2].astype(np.uint32)
    for channel in (1, 0):
        ids <<= np.uint32(8)
        ids |= colours[..., channel]
    return split(ids, path)


def in_order(place: str, segments: Segments, listed: Sequence[int]) -> Segments:
    """The masks of the segments in the order in which they are listed."""
    found = segments.take(segments.values > 0)
    table = np.array(listed, dtype=np.int64)
    is_known = np.isin(found.values, table)
    if not is_known.all():
        alone = f"{found.values[np.argmin(is_known)]} in the PNG alone"
        raise ReadError(place, expected="every segment of the PNG in segments_info", found=alone)
    path_exists = np.isin(table, found.values)
    if not path_exists.all():
        alone = f"none for segment {table[np.argmin(path_exists)]}"
        raise ReadError(place, expected="pixels of every segment of segments_info in the PNG", found=alone)
    return found.take(np.searchsorted(found.values, table))


def with_sizes(images: Images, annotated: Sequence[int], parts: Sequence[Segments]) -> Images:
    """The images with the sizes of their PNGs.

    Parameters
    ----------
    images
        Images whose document states no sizes.
    annotated
        Position of the image of each PNG.
    parts
        Segments of each PNG.
    """
    widths, heights = images.widths.copy(), images.heights.copy()
    for at, part in zip(annotated, parts, strict=True):
        heights[at], widths[at] = part.size
    return Images(images.names, images.ids, widths=widths, heights=heights)


def save(pixels: NDArray[np.uint32], path: Path) -> None:
    from PIL import Image

    colours = np.stack([pixels >> shift & 255 for shift in (0, 8, 16)], axis=-1).astype(np.uint8)
    Image.fromarray(colours).save(path, format="PNG")


def segment(annotations: Annotations, row: int, number: int, classes: list[int]) -> JsonObject:
    runs = annotations.regions.runs
    assert runs is not None
    return {
        "id": number,
        "category_id": classes[annotations.label[row]],
        "area": int(runs[row][1::2].sum()),
        "bbox": [int(v) for v in bounds_of_runs(runs[row], int(runs.sizes[row, 0]))],
        "iscrowd": int(annotations.crowd[row]),
    }


def category(annotations: Annotations, i: int, id: int) -> JsonObject:
    labels = annotations.labels
    kind = {"isthing": int(labels.groups[i] == THING)} if labels.groups is not None else {}
    return {"id": id, "name": labels.name(i), **kind}


# What the groups of classes are called that have single objects, and that have none.
THING, STUFF = "thing", "stuff"


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is panoptic JSON: `segments_info` near its beginning or end."""
    if probe.is_folder:
        if root_files(probe.path):
            return "COCO's root folder with annotations/panoptic_*.json"
        files = probe.with_suffix(".json")
        probe = PathProbe(files[0]) if len(files) == 1 else probe
    start = "" if probe.is_folder else probe.head.lstrip()
    if start.startswith("{") and ('"segments_info"' in start or '"segments_info"' in tail_of(probe.path)):
        return "a JSON object with segments_info"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the segments of all images as masks; of COCO's root folder those of one split."""
    parts = root_files(path)
    if not parts:
        return read_panoptic(path, options)
    name, file = choose_split(path, parts, options, expected="panoptic segments of a split")
    found = read_panoptic(file, replace(options, split=None))
    return found.with_source(replace(found.source, path=str(path), why=f"the split {name}"))


def root_files(path: Path) -> dict[str, Path]:
    """Return the documents of COCO's root folder by split (`annotations/panoptic_val2017.json`).

    Empty if there are documents of objects beside them: then the folder is read as COCO's.
    """
    folder = path / "annotations"
    if not folder.is_dir() or any(folder.glob("instances_*.json")):
        return {}
    return {file.stem.removeprefix("panoptic_"): file for file in sorted(folder.glob("panoptic_*.json"))}


def write(annotations: Annotations, path: Path) -> None:
    """Write the JSON and one PNG per image."""
    if not (annotations.regions.kinds == MASK).all():
        raise ReadError(path, expected="a mask for every object", found="boxes or polygons")
    images, labels = annotations.images, annotations.labels
    stems = file_stems(images, path)
    ids, classes = ids_or_count(images), ids_or_count(labels)
    names = [images.name(i) for i in range(len(images))]
    widths, heights = images.widths.tolist(), images.heights.tolist()
    records = []
    with folder_atomically(path.with_suffix("")) as folder:
        for at, (name, rows) in enumerate(zip(stems, rows_by_image(annotations), strict=True)):
            pixels = paint(annotations, at, rows, range(1, len(rows) + 1), path)
            save(pixels, folder / f"{name}.png")
            segments = [segment(annotations, int(row), number, classes) for number, row in enumerate(rows, 1)]
            records.append({"image_id": ids[at], "file_name": f"{name}.png", "segments_info": segments})
        document = {
            "images": [
                {"id": id, "file_name": name, "width": width, "height": height}
                for id, name, width, height in zip(ids, names, widths, heights, strict=True)
            ],
            "annotations": records,
            "categories": [category(annotations, i, id) for i, id in enumerate(classes)],
        }
        write_json(path, document)


PRESERVES = frozenset(
    {
        "area",
        "class group",
        "class id",
        "class name",
        "class order",
        "crowd",
        "empty image",
        "image folder or suffix",
        "image id",
        "image name",
        "image size",
        "mask",
        "unused class",
    }
)

FORMAT = Format(
    name="panoptic",
    title="panoptic JSON with PNGs",
    about="JSON with a folder of PNGs; segments become masks",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class id", "masks that do not overlap"}),
    options=frozenset({"image_offset", "images", "label_offset", "split"}),
)
