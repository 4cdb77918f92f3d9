"""COCO JSON: images, categories and annotations in one document. Predictions may come this way, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import ReadError, excerpt
from verite.formats.class_names import check_name, check_names
from verite.formats.coco_file import Outlines, open_coco, presence, region_limits, texts
from verite.formats.format import Format, Look, Options
from verite.formats.outlines import bounds_of_rings, bounds_of_runs
from verite.formats.sizes import check_size, in_pixels
from verite.model.annotations import Annotations, Source
from verite.model.ids import Ids, Positions, positions_in
from verite.model.images import Images, stem
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.regions import MASK, POLYGON, Regions
from verite.model.texts import Texts
from verite.model.unopened import Unopened

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECTIONS = ("images", "annotations", "categories")


def recognise(look: Look) -> str | None:
    start = look.head.lstrip()
    if look.is_folder or not start.startswith("{"):
        return None
    keys = [key for key in SECTIONS if f'"{key}"' in start]
    return f"a JSON object with {' and '.join(keys)}" if keys else None


def read(path: Path, options: Options) -> Annotations:
    file = open_coco(path)
    later = unopened(path, file, options)
    return later if later is not None else document(path, file, options)


def unopened(path: Path, file: _core.CocoFile, options: Options) -> Annotations | None:
    """The file as it is, for somebody else to open; None where something in it or in what is asked is unusual."""
    limits = region_limits()
    if options.given or options.like is not None or not file.settle(limits):
        return None
    names = file.class_names()
    try:
        check_names(path, names)
    except ReadError:
        return None
    kept = Unopened(file, lambda: document(path, file, options), limits)
    return Annotations.later(kept, Labels(names, file.class_ids()), Source(str(path), "coco"))


def document(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """A whole document, as opposed to an array of results."""
    if file.is_results:
        raise ReadError(f"{path}: top level", expected="an object", found="an array")
    for key in SECTIONS:
        if key not in file.keys:
            raise ReadError(f"{path}: top level", expected=f"a key {key!r}", found="none")
    images, image_ids, image_notes = image_table(path, file.images, options.image_offset)
    labels, label_ids, label_notes = label_table(path, file.categories, options.label_offset)
    used = id_column(file.annotations["image_id"])
    image = image_positions(path, used, image_ids)
    classes = column(file.annotations["category_id"], np.int64)
    label = known_positions(path, positions_in(label_ids, classes), classes, "category_id", "categories")
    return columns(path, "coco", file, images, labels, image, label, options, [*image_notes, *label_notes])


def column(values: Any, dtype: Any) -> NDArray[Any]:
    """A column, empty where the file has no record."""
    return values if values is not None else np.empty(0, dtype=dtype)


def id_column(values: Any) -> Ids | list[str]:
    """Ids as numbers, or as texts where they are texts."""
    return texts(values) if isinstance(values, tuple) else column(values, np.int64)


def image_table(path: Path, table: dict[str, Any], offset: int) -> tuple[Images, Ids | list[str], list[str]]:
    """The images, their ids as the file has them, and what to say about their names."""
    ids = id_column(table["id"])
    check_unique(path, "images", ids)
    none = np.zeros(table["count"], dtype=np.int64)
    widths, heights = (none if table[side] is None else table[side] for side in ("width", "height"))
    check_sizes(path, widths, heights)
    names, notes = image_names(ids, table["file_name"], table["present"]["file_name"])
    known = None if isinstance(ids, list) else ids + offset
    return Images(names, known, widths=widths, heights=heights), ids, notes


def check_sizes(path: Path, widths: NDArray[np.int64], heights: NDArray[np.int64]) -> None:
    """All sizes at once where the largest and the smallest pass; one by one where one does not."""
    ends = [(f(widths, initial=0), f(heights, initial=0)) for f in (np.min, np.max)]
    try:
        check_size(path, int(ends[0][0]), int(ends[0][1]))
        check_size(path, int(ends[1][0]), int(ends[1][1]))
        if np.any((widths > 0) != (heights > 0)):
            raise ReadError(path, expected="both width and height or neither", found="one")
    except ReadError:
        for i, (width, height) in enumerate(zip(widths.tolist(), heights.tolist(), strict=True)):
            check_size(f"{path}: images[{i}]", width, height)


def image_names(
    ids: Ids | list[str], column: tuple[NDArray[np.uint8], NDArray[np.int64]], present: Any
) -> tuple[list[str] | Texts | None, list[str]]:
    """The file names. Where ids are texts, results speak of images by them, so they are the names unless both agree."""
    if not np.any(present):
        return (list(ids), []) if isinstance(ids, list) else (None if len(ids) else [], [])
    if present is True and not isinstance(ids, list) and bool(np.all(column[1][1:] > column[1][:-1])):
        return Texts(*column), []
    file_names = texts(column)
    if isinstance(ids, list):
        pairs = zip(ids, file_names, strict=True)
        odd = next((name for id, name in pairs if name and stem(name) != stem(id)), None)
        if odd is not None:
            return ids, [f"images named by their ids, which are texts; file names such as {excerpt(odd)} left out"]
    return [name or str(id) for id, name in zip(ids, file_names, strict=True)], []


def label_table(path: Path, table: dict[str, Any], offset: int) -> tuple[Labels, Ids, list[str]]:
    """The classes, their ids as the file has them, and a word about those of the same name, told apart by their ids."""
    ids = column(table["id"], np.int64)
    check_unique(path, "categories", ids)
    has_name = presence(table, "name")
    if len(ids) and not has_name.any():
        return Labels(None, ids + offset), ids, []
    if not has_name.all():
        place = f"{path}: categories[{int(np.argmin(has_name))}]"
        raise ReadError(place, expected="a key 'name'", found="none")
    given = texts(table["name"]) if len(ids) else []
    for i, name in enumerate(given):
        check_name(f"{path}: categories[{i}].name", name)
    counts = Counter(given)
    names = [f"{name} (id {id})" if counts[name] > 1 else name for name, id in zip(given, ids, strict=True)]
    check_names(f"{path}: categories", names)
    shared = [name for name, count in counts.items() if count > 1]
    notes = [f"classes of the same name {excerpt(name)} told apart by their ids" for name in shared]
    return Labels(names, ids + offset), ids, notes


def check_unique(path: Path, what: str, ids: Ids | list[str]) -> None:
    if not isinstance(ids, list) and bool(np.all(ids[1:] > ids[:-1])):
        return
    values = ids if isinstance(ids, list) else ids.tolist()
    if len(set(values)) < len(values):
        first: dict[Any, int] = {}
        for i, id in enumerate(values):
            if first.setdefault(id, i) != i:
                twice = f"{id!r} in {what}[{first[id]}] and {what}[{i}]"
                raise ReadError(path, expected=f"each id once in {what}", found=twice)


def image_positions(path: Path, used: Ids | list[str], ids: Ids | list[str]) -> Positions:
    """For each annotation, the position of its image in the table."""
    if isinstance(used, list) != isinstance(ids, list) and len(used) and len(ids):
        hint = f"ids are text in one place and numbers in the other (V212), images[0] has {plain(ids[0])!r}"
        place = f"{path}: annotations[0].image_id"
        raise ReadError(place, expected="an id out of images", found=excerpt(plain(used[0])), remedy=hint)
    if isinstance(used, list):
        index = {id: i for i, id in enumerate(ids)}
        found = np.array([index.get(id, -1) for id in used], dtype=np.int32)
    else:
        found = positions_in(np.asarray(ids, dtype=np.int64), used)
    return known_positions(path, found, used, "image_id", "images")


def known_positions(path: Path, found: Positions, used: Sequence[Any] | Ids, key: str, table: str) -> Positions:
    """The positions, all of which must be in the table."""
    if len(found) and found.min() < 0:
        at = int(np.argmin(found))
        place = f"{path}: annotations[{at}].{key}"
        raise ReadError(place, expected=f"an id out of {table}", found=excerpt(plain(used[at])))
    return found


def plain(id: Any) -> int | str:
    return id if isinstance(id, str) else int(id)


def columns(
    path: Path,
    format: str,
    file: _core.CocoFile,
    images: Images,
    labels: Labels,
    image: Positions,
    label: Positions,
    options: Options,
    notes: Sequence[str] = (),
) -> Annotations:
    """The objects of a file as annotations."""
    table = file.annotations
    count = table["count"]
    flags = {"crowd": table["iscrowd"], "ignore": table["ignore"]}
    has_score = table["present"]["score"]  # one word for all, or an array
    flags["unscored"] = ~has_score if isinstance(has_score, np.ndarray) else None
    has_ids = isinstance(table["id"], np.ndarray) and presence(table, "id").all()
    if not has_ids and np.any(table["present"]["id"]):
        missing = count - int(presence(table, "id").sum()) if isinstance(table["id"], np.ndarray) else count
        notes = [*notes, f"object ids left out: {missing} of {count} are texts or missing"]
    regions, unit = regions_of(path, file, images, image, options)
    return Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        regions=regions,
        confidence=table["score"],
        area=table["area"],
        ids=table["id"] if has_ids else None,
        flags={name: values for name, values in flags.items() if values is not None},
        unit=unit,
        source=Source(str(path), format, notes=tuple(notes)),
    )


def regions_of(
    path: Path, file: _core.CocoFile, images: Images, image: Positions, options: Options
) -> tuple[Regions, Any]:
    """The boxes, and the outlines for later."""
    table = file.annotations
    count = table["count"]
    boxes = table["bbox"] if table["bbox"] is not None else np.zeros((count, 4))
    outlines = Outlines(path, file, count)
    regions = Regions(boxes, layout_name(options.boxes or "xywh"), outlines=outlines, kinds=outlines.kinds)
    regions, unit = in_pixels(regions, options.coords or "abs", images, image)
    if table["present"]["bbox"] is True:
        return regions, unit
    without = np.flatnonzero(~presence(table, "bbox"))
    return (with_bounds(path, file, regions, without) if len(without) else regions), unit


def with_bounds(path: Path, file: _core.CocoFile, regions: Regions, rows: NDArray[np.int64]) -> Regions:
    """Boxes around the polygon or mask of the objects that came without one."""
    values = regions.sizes.copy()
    for row in rows.tolist():
        if regions.kinds[row] == POLYGON and regions.polygons is not None:
            left, top, right, bottom = bounds_of_rings(regions.polygons[row])
            values[row] = [left, top, right - left, bottom - top]
        elif regions.kinds[row] == MASK and regions.runs is not None:
            values[row] = bounds_of_runs(regions.runs[row], int(regions.runs.sizes[row, 0]))
        else:
            section = "results" if file.is_results else "annotations"
            raise ReadError(f"{path}: {section}[{row}]", expected="a bbox or a segmentation", found="neither")
    boxed = np.ones(len(values), dtype=np.bool_)
    boxed[rows] = False
    return Regions(values, "xywh", outlines=lambda: regions.outlines, kinds=regions.kinds, boxed=boxed)


def write(annotations: Annotations, path: Path) -> None:
    """A whole COCO document; predictions keep their scores."""
    from verite.formats.coco_write import write_document

    write_document(annotations, path)


HOLDS = frozenset(
    {
        "area",
        "box apart from its mask",
        "box apart from its polygon",
        "class id",
        "class id without a name",
        "class name",
        "class order",
        "confidence",
        "crowd",
        "empty image",
        "ignore",
        "image folder or suffix",
        "image id",
        "image name",
        "image size",
        "mask",
        "object id",
        "polygon",
        "polygon of several rings",
        "unscored",
        "unused class",
        "unused class id",
    }
)
FORMAT = Format(
    name="coco",
    title="COCO JSON",
    about="images, annotations, categories; polygons and run-length masks are kept; predictions with `score`, too",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    honours=frozenset({"boxes", "coords", "image_offset", "label_offset"}),
    suffixes=(".json",),
)
