"""COCO JSON: images, categories and annotations in one document. Predictions may come this way, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from verite import _core
from verite.errors import ReadError, excerpt
from verite.faults import is_listing
from verite.formats.class_names import check_name, check_names
from verite.formats.coco_file import open_coco, refuse_faults, region_limits
from verite.formats.coco_poses import skeletons_of
from verite.formats.format import Format, Look, Options
from verite.formats.sizes import in_pixels
from verite.model.annotations import Annotations, Source
from verite.model.complaints import in_our_words
from verite.model.images import Images, stem
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.model.regions import Regions
from verite.records import replace
from verite.threads import thread_count

SECTIONS = ("images", "annotations", "categories")
KEPT = ("xywh", "xyxy")  # layouts of boxes that stay as they are


def recognise(look: Look) -> str | None:
    start = look.head.lstrip()
    if look.is_folder or not start.startswith("{"):
        return None
    keys = [key for key in SECTIONS if f'"{key}"' in start]
    return f"a JSON object with {' and '.join(keys)}" if keys else None


def read(path: Path, options: Options) -> Annotations:
    if is_listing():
        from verite.formats.coco_sieve import read_tolerantly

        return read_tolerantly(path, options, read_whole)
    return read_whole(path, options)


def read_whole(path: Path, options: Options) -> Annotations:
    return document(path, open_coco(path), options)


def document(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """A whole document, as opposed to an array of results."""
    if file.is_results:
        raise ReadError(f"{path}: top level", expected="an object", found="an array")
    for key in SECTIONS:
        if key not in file.keys:
            raise ReadError(f"{path}: top level", expected=f"a key {key!r}", found="none")
    refuse_faults(path, file, file.table_faults(region_limits()))
    images, image_notes = image_table(file, options.image_offset)
    labels, label_notes = label_table(path, file, options.label_offset)
    columns, faults = file.objects(kept_layout(options), region_limits(), thread_count())
    refuse_faults(path, file, faults)
    assert columns is not None
    return objects(path, "coco", file, columns, images, labels, options, [*image_notes, *label_notes])


def kept_layout(options: Options) -> str:
    layout = layout_name(options.boxes or "xywh")
    return layout if layout in KEPT else "xywh"


def image_table(file: _core.CocoFile, offset: int) -> tuple[Images, list[str]]:
    """The images, and what to say about their names.

    Where ids are texts, results speak of images by them, so they are the names unless both agree.
    """
    ids = file.image_id_texts()
    if ids is None:
        return Images.over(file.image_table(offset)), []
    pairs = list(zip(ids, file.file_names(), strict=True))
    odd = next((name for id, name in pairs if name and stem(name) != stem(id)), None)
    if odd is not None:
        note = f"images named by their ids, which are texts; file names such as {excerpt(odd)} left out"
        return Images.over(file.image_table(names=ids)), [note]
    return Images.over(file.image_table(names=[name or id for id, name in pairs])), []


def label_table(path: Path, file: _core.CocoFile, offset: int) -> tuple[Labels, list[str]]:
    """The classes, and a word about those of the same name, told apart by their ids."""
    ids, given = file.class_ids(), file.class_names()
    numbers = [id + offset for id in ids]
    if ids and all(name is None for name in given):
        return Labels(None, numbers, skeletons=skeletons_of(path, file)), []
    named = [name for name in given if name is not None]
    if len(named) < len(given):
        raise ReadError(f"{path}: categories[{given.index(None)}]", expected="a key 'name'", found="none")
    for i, name in enumerate(named):
        check_name(f"{path}: categories[{i}].name", name)
    counts = Counter(named)
    names = [f"{name} (id {id})" if counts[name] > 1 else name for name, id in zip(named, ids, strict=True)]
    check_names(f"{path}: categories", names)
    shared = [name for name, count in counts.items() if count > 1]
    notes = [f"classes of the same name {excerpt(name)} told apart by their ids" for name in shared]
    return Labels(names, numbers, skeletons=skeletons_of(path, file)), notes


def objects(
    path: Path,
    format: str,
    file: _core.CocoFile,
    columns: _core.Columns,
    images: Images,
    labels: Labels,
    options: Options,
    notes: Sequence[str] = (),
) -> Annotations:
    """The objects of a file as annotations, in pixels, everyone with a box."""
    if missing := file.missing_ids():
        notes = [*notes, f"object ids left out: {missing} of {file.object_count} are texts or missing"]
    source = Source(str(path), format, notes=tuple(notes))
    layout, unit = layout_name(options.boxes or "xywh"), "px"
    regions = columns.regions
    if file.has_angles:
        from verite.formats.coco_rotated import turn

        regions, note = turn(path, file, regions, options)
        source = replace(source, notes=(*source.notes, note))
    if layout not in KEPT or options.coords is not None:
        given = Regions.over(regions)
        given = given if layout in KEPT else given.with_boxes(given.values, layout)
        placed, unit = in_pixels(given, options.coords or "abs", images, columns.image)
        regions = placed.native
    with in_our_words(path):
        columns = columns.with_regions(regions.bound(thread_count()))
    return Annotations.over(columns, images, labels, unit=unit, source=source)  # type: ignore[arg-type]


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
        "keypoints",
        "mask",
        "object id",
        "polygon",
        "polygon of several rings",
        "skeleton",
        "unscored",
        "unused class",
        "unused class id",
    }
)
FORMAT = Format(
    name="coco",
    title="COCO JSON",
    about="images, annotations, categories; polygons, run-length masks and keypoints are kept; predictions with "
    "`score`, too",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    honours=frozenset({"angle", "boxes", "coords", "image_offset", "label_offset"}),
    suffixes=(".json",),
)
