"""COCO JSON: images, categories and annotations in one document. Predictions with `score` may come this way, too.

The file is parsed by the native reader into columns; this module resolves image and class ids, applies the options, and
turns every fault into an error with its place (`annotations[17].bbox`). Polygons, run-length masks (RLE), keypoints and
skeletons are kept. The same document is written again by `write`. Format: https://cocodataset.org/#format-data
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, ReadError, excerpt, is_listing, spell_option
from verite.files import PACKED, JsonObject, check_file, is_many, read_text, translate_core_errors
from verite.formats.annotators import annotations_of_one, annotators_of_file, with_annotators
from verite.formats.coco_video import with_tracks_of_file
from verite.formats.format import Format, Options, PathProbe, are_plain, check_name, check_names, too_many_classes
from verite.formats.json_documents import ANYWHERE, check_finite, decode, write_json
from verite.formats.polygons import ring_area
from verite.formats.shards import find_shards
from verite.formats.sizes import check_size, in_pixels, need_pixels
from verite.limits import limit
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images, stem
from verite.model.keypoints import Skeleton, check_sigmas
from verite.model.layouts import layout_name
from verite.model.regions import BOX, MASK, POLYGON, Regions
from verite.threads import thread_count

TABLES = {"image_id": "images", "category_id": "categories"}
MOST_OTHER_KEYS = 1000  # that the native reader keeps


def open_coco(path: Path) -> _core.CocoFile:
    """Parse a COCO file natively. Invalid JSON or fields are a `ReadError` with their place in the file."""
    check_file(path)
    with translate_core_errors(path):
        file = _core.read_coco(path, thread_count(), limit("json_depth"))
    if file.class_count > limit("classes"):  # before millions of names are made for Python
        raise too_many_classes(f"{path}: categories", file.class_count)
    return file


def explain_fault(
    path: Path,
    file: _core.CocoFile,
    fault: _core.RecordFault,
    number: Callable[[str, int], int] = lambda section, record: record,
) -> ReadError:
    """Translate a fault of the native reader to a `ReadError`.

    Parameters
    ----------
    path : Path
        The file, for the message.
    file : _core.CocoFile
        The parsed file, from which offending ids and sizes are taken.
    fault : _core.RecordFault
        Code, section, record, field, and another record that it conflicts with.
    number : callable
        Maps section and record to the index in the original file, where records were removed before.
    """
    section, record, field = fault.section, fault.record, fault.field
    place = f"{path}: {section}[{number(section, record)}]"
    match fault.code:
        case "repeated_id":
            places = " and ".join(f"{section}[{number(section, i)}]" for i in (fault.other, record))
            twice = f"{file.id_of(section, field, record)!r} in {places}"
            remedy = "give each its own (V218)"
            if section == "images" and (names := file.file_names()) and names[fault.other] != names[record]:
                twice += f", which are {excerpt(names[fault.other])} and {excerpt(names[record])}"
                remedy = "give each image its own id, and its annotations too: no tool can tell theirs apart (V218)"
            return ReadError(path, expected=f"each id once in {section}", found=twice, remedy=remedy)
        case "size":
            try:
                check_size(place, *file.image_size(record))
            except ReadError as error:
                return error
        case "no_region":
            return ReadError(place, expected="a bbox or a segmentation", found="neither")
        case "mixed_ids":
            mine, theirs = file.id_of(section, field, record), file.id_of("images", "id", 0)
            hint = f"ids are text in one place and numbers in the other (V212), images[0] has {theirs!r}"
            return ReadError(f"{place}.{field}", expected="an id out of images", found=excerpt(mine), remedy=hint)
    found = excerpt(file.id_of(section, field, record))
    return ReadError(f"{place}.{field}", expected=f"an id out of {TABLES[field]}", found=found)


def region_limits() -> _core.RegionLimits:
    """Return the limits for regions: image side, pixels of an image, points of a polygon, coordinate."""
    names = ("image_side", "image_pixels", "polygon_points", "coordinate")
    side, pixels, points, coordinate = (min(limit(name), 2**53) for name in names)
    return _core.RegionLimits(side_px=side, pixels=pixels, points=points, coordinate_px=coordinate)


def skeleton_of(place: str, keypoints: str, skeleton: str, sigmas: str) -> Skeleton:
    """Build the skeleton of one class from the JSON texts of `keypoints`, `skeleton` and `sigmas`.

    COCO counts keypoints from 1; edges to keypoints that do not exist are dropped.
    """
    import json

    def value_of(text: str) -> Any:
        try:
            return json.loads(text) if text else []
        except (ValueError, RecursionError):  # thousands of digits or levels, which the core skips over
            return None

    names, edges, spreads = map(value_of, (keypoints, skeleton, sigmas))
    if not is_list_of(names, str):
        raise ReadError(f"{place}.keypoints", expected="a list of names", found=excerpt(keypoints))
    if not isinstance(edges, list) or not all(is_list_of(edge, int) and len(edge) == 2 for edge in edges):
        raise ReadError(f"{place}.skeleton", expected="pairs of keypoints, counted from 1", found=excerpt(skeleton))
    if not is_list_of(spreads, (int, float)):
        raise ReadError(f"{place}.sigmas", expected="a list of numbers", found=excerpt(sigmas))
    try:
        known = check_sigmas(spreads) if spreads else ()
    except BadParameter as error:
        raise ReadError(f"{place}.sigmas", expected="numbers above 0", found=str(error).split("found ")[-1]) from None
    within = range(1, len(names) + 1)
    return Skeleton(tuple(names), tuple((a - 1, b - 1) for a, b in edges if a in within and b in within), known)


def is_list_of(values: Any, kind: Any) -> bool:
    """Tell whether a value is a list whose items are all of this type."""
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def facts_of(skeleton: Skeleton) -> JsonObject:
    """Return the skeleton as the keys of a COCO category, without empty ones."""
    edges = [[a + 1, b + 1] for a, b in skeleton.edges]
    found = {"keypoints": list(skeleton.names), "skeleton": edges, "sigmas": list(skeleton.sigmas)}
    return {key: value for key, value in found.items() if value}


FORMATS = ("coco", "coco-folder", "coco-rotated", "lvis")


Table = TypeVar("Table")


@dataclass(frozen=True)
class ImageTable:
    """The images of a COCO document; other sections are skipped by the decoder."""

    images: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class AnnotationTable:
    """The annotations of a COCO document; other sections are skipped by the decoder."""

    annotations: list[dict[str, Any]] = field(default_factory=list)


def read_image_records(source: Source) -> dict[Any, JsonObject]:
    """Return the records of `images` by id, with all their keys; empty if the source is no COCO file."""
    if source.format not in FORMATS:
        return {}
    return {
        record["id"]: record
        for path in find_files(source.path)
        for document in documents_of(path, ImageTable)
        for record in document.images
        if isinstance(record.get("id"), (int, str))
    }


def read_annotation_records(source: Source, keys: Sequence[str] = ()) -> dict[Any, JsonObject]:
    """Return the records of `annotations` by id, with all their keys; empty if the source is no COCO file.

    Where no record was seen to have one of `keys`, if there are some, nothing is read again.
    """
    if source.format not in FORMATS or (keys and source.other_keys is not None and source.other_keys.isdisjoint(keys)):
        return {}
    return {
        record["id"]: record
        for path in find_files(source.path)
        for document in documents_of(path, AnnotationTable)
        for record in document.annotations
        if isinstance(record.get("id"), (int, str))
    }


def find_files(path: str) -> list[Path]:
    """List the files that were read: shards, the JSON files of a folder, or the path itself."""
    if is_many(path):
        return find_shards(path)
    place = Path(path)
    return sorted(p for p in place.rglob("*.json*") if p.is_file()) if place.is_dir() else [place]


def documents_of(path: Path, table: type[Table]) -> Iterator[Table]:
    """Yield one table of each document of a file, packed or not."""
    from verite.formats.archives import temporary_folder, unpack

    if not path.is_file():
        return
    if path.suffix.lower() not in PACKED:
        yield decode(path, table, nan_in=ANYWHERE)
        return
    with temporary_folder() as folder:
        for inside in find_files(str(unpack(path, folder).place)):
            yield decode(inside, table, nan_in=ANYWHERE)


def document_of(annotations: Annotations, path: Path) -> JsonObject:
    """Build a complete COCO document. Objects with confidences get a `score`."""
    image_ids, label_ids = ids_or_count(annotations.images), ids_or_count(annotations.labels)
    table, sequences = annotations.images, annotations.images.sequences
    images: list[JsonObject] = []
    for i, id in enumerate(image_ids):  # with what is known of each
        images.append({"id": id} if table.names is None else {"id": id, "file_name": table.names[i]})
        if table.widths[i]:
            images[i] |= {"width": int(table.widths[i]), "height": int(table.heights[i])}
        if sequences is not None:
            images[i] |= {"video_id": int(sequences.sequence[i]) + 1, "frame_id": int(sequences.frame[i])}
    names = annotations.labels.names
    categories = [{"id": id, **({"name": names[i]} if names is not None else {})} for i, id in enumerate(label_ids)]
    for category, skeleton in zip(categories, annotations.labels.skeletons or (), strict=False):
        category.update(facts_of(skeleton))
    objects = records(annotations, path, image_ids, label_ids)
    document = {"images": images, "annotations": objects, "categories": categories}
    if sequences is None:
        return document
    return {"videos": [{"id": i + 1, "name": name} for i, name in enumerate(sequences.names)], **document}


def ids_or_count(table: Any) -> list[int]:
    """Return the ids of images or classes; without ids, count from 1 as COCO does."""
    return [int(id) for id in table.ids] if table.ids is not None else list(range(1, len(table) + 1))


def records(
    annotations: Annotations,
    path: Path,
    image_ids: Sequence[int | str],
    label_ids: Sequence[int],
    *,
    is_truth: bool = True,
) -> list[dict[str, Any]]:
    """Build one JSON record per object.

    Parameters
    ----------
    annotations : Annotations
        In pixels, with finite boxes, confidences and keypoints.
    path : Path
        The output file, for messages.
    image_ids, label_ids : sequence
        Ids by index of the image and of the class.
    is_truth : bool, default True
        Write `id`, `area`, `iscrowd` and uncompressed masks, as in ground truth; results have only `score` and
        compressed masks.
    """
    need_pixels(annotations, path)
    confidence, ids, unscored = annotations.confidence, annotations.ids, annotations.flag("unscored")
    crowd, ignore, track = annotations.crowd, annotations.ignore, annotations.track
    check_finite(path, "boxes", annotations.regions.values)
    keypoints = annotations.regions.keypoints
    if keypoints is not None:
        check_finite(path, "keypoints", keypoints.points)
        labelled = (
            keypoints.labelled
            if annotations.labelled is None
            else np.where(annotations.labelled < 0, keypoints.labelled, annotations.labelled)
        )
    if confidence is not None:
        check_finite(path, "confidences", np.where(unscored, 0.0, confidence))
    found = []
    for i, box in enumerate(annotations.regions.sizes.tolist()):
        record: JsonObject = {
            "image_id": image_ids[annotations.image[i]],
            "category_id": label_ids[annotations.label[i]],
            "bbox": box,
        }
        if is_truth:
            record["id"] = int(ids[i]) if ids is not None else i + 1
            record["area"] = area_of(annotations, i, box)
            record["iscrowd"] = int(crowd[i])
            if ignore[i]:
                record["ignore"] = 1
        if track is not None and track[i] >= 0:
            record["track_id"] = int(track[i])
        if confidence is not None and not unscored[i]:
            record["score"] = float(confidence[i])
        if annotations.regions.kinds[i] != BOX:
            record["segmentation"] = segmentation(annotations.regions, i, is_compressed=not is_truth)
        if keypoints is not None and len(keypoints[i]):
            record["keypoints"] = keypoints[i].ravel().tolist()
            if is_truth:
                record["num_keypoints"] = int(labelled[i])
        found.append(record)
    return found


def area_of(annotations: Annotations, i: int, box: list[float]) -> float:
    """Return the area as stated in the file; otherwise that of the mask, the polygon or the box."""
    if annotations.area is not None and np.isfinite(annotations.area[i]):
        return float(annotations.area[i])
    regions = annotations.regions
    if regions.kinds[i] == MASK and regions.runs is not None:
        return float(regions.runs[i][1::2].sum(dtype=np.int64))
    if regions.kinds[i] == POLYGON and regions.polygons is not None:
        return sum(ring_area(ring) for ring in regions.polygons[i])
    return box[2] * box[3]


def segmentation(regions: Regions, i: int, *, is_compressed: bool) -> Any:
    """Encode a polygon as lists of coordinates, a mask as RLE: uncompressed in ground truth, compressed in results."""
    if regions.kinds[i] == POLYGON:
        assert regions.polygons is not None
        return [ring.ravel().tolist() for ring in regions.polygons[i]]
    assert regions.kinds[i] == MASK
    assert regions.runs is not None
    counts = regions.runs[i]
    text = _core.encode_runs(np.ascontiguousarray(counts)).decode() if is_compressed else counts.tolist()
    return {"size": regions.runs.sizes[i].tolist(), "counts": text}


SECTIONS = ("images", "annotations", "categories")

WHOLE_BODY = frozenset({"foot_kpts", "face_kpts", "lefthand_kpts", "righthand_kpts"})

ABOUT_WHOLE_BODY = (
    "COCO-WholeBody: the 17 keypoints of the body are read, the 116 of foot_kpts, face_kpts, lefthand_kpts and "
    "righthand_kpts are left out; to compare all 133, write them into keypoints and give "
)

KEPT = ("xywh", "xyxy")  # layouts of boxes that stay as they are


# Keys of other documents that have annotations: Segment Anything, Dataloop, Label Studio's editor.
FOREIGN = ('"stability_score"', '"datasetId"', '"from_name"', '"lead_time"')


# A box of five numbers near the beginning of a document, and the keys that it may have.
BOX_KEYS = ('"bbox"', '"obb"', '"rotated"')
FIVE_NUMBERS = r'"(?:bbox|obb|rotated)"\s*:\s*\[(?:\s*[-+.\deE]+\s*,){4}\s*[-+.\deE]+\s*\]'


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a COCO document of upright boxes; one of rotated boxes is of the format coco-rotated."""
    why = recognise_document(probe)
    # Images come first in most files; a pattern takes longer to be compiled than they to be read.
    may_be_rotated = why is not None and any(key in probe.head for key in BOX_KEYS)
    return None if may_be_rotated and re.search(FIVE_NUMBERS, probe.head) else why


def recognise_document(probe: PathProbe) -> str | None:
    """Return why a path is a COCO document: a JSON object with one of its sections near the beginning."""
    start = probe.head.lstrip()
    if probe.is_folder or not start.startswith("{") or any(key in start for key in FOREIGN):
        return None
    keys = [key for key in SECTIONS if f'"{key}"' in start]
    return f"a JSON object with {' and '.join(keys)}" if keys else None


def lists_errors(read: Callable[[Path, Options], Annotations]) -> Callable[[Path, Options], Annotations]:
    """Make of a strict reader one that, where all errors are wanted (`verite inspect`), leaves out invalid records."""

    @wraps(read)
    def read_or_list(path: Path, options: Options) -> Annotations:
        if not is_listing():
            return read(path, options)
        from verite.formats.coco_errors import read_and_list_errors

        return read_and_list_errors(path, options, read)

    return read_or_list


@lists_errors
def read(path: Path, options: Options) -> Annotations:
    """Read a COCO document, and note COCO-WholeBody keypoints and several annotators per image."""
    if options.annotator is not None and options.side != "pred":
        from verite.formats.memory import read_object

        found = read_object(annotations_of_one(path, options.annotator), replace(options, annotator=None))
        why = f"the objects of the annotator {options.annotator}"
        return found.with_source(replace(found.source, path=str(path), format="coco", why=why))
    file = open_coco(path)
    if file.is_results and options.like is not None:  # `--format coco` for both sides
        from verite.formats.coco_results import results

        return results(path, file, options)
    keys, repeated = file.other_keys, 0
    first = None if file.is_results else next(iter(file.table_faults(region_limits(), 1)), None)
    if first is not None and (first.code, first.section) == ("repeated_id", "images"):
        file, repeated = with_images_once(path, file)
    annotations = document(path, file, options)
    if keys:  # beside those of COCO
        annotations = with_tracks_of_file(annotations, path, keys)
    if repeated:
        note = f"identical records of an image left out: {repeated:,} (V218)"
        annotations = annotations.with_source(replace(annotations.source, notes=(*annotations.source.notes, note)))
    if options.like is not None:
        return annotations
    if annotations.columns.regions.has_keypoints and not WHOLE_BODY.isdisjoint(keys):
        source = annotations.source
        annotations = annotations.with_source(
            replace(source, notes=(*source.notes, ABOUT_WHOLE_BODY + spell_option("sigmas", "FILE")))
        )
    return with_annotators(annotations, annotators_of_file(path, keys)) if keys else annotations


INCIDENTAL = frozenset({"license", "date_captured", "flickr_url", "coco_url"})  # keys that no number depends on


def with_images_once(path: Path, file: _core.CocoFile) -> tuple[_core.CocoFile, int]:
    """Parse a document without the image records that repeat an earlier one, as joined files have, and count them.

    The file as it is, and 0, if records of one id differ: their annotations cannot be distinguished.
    """
    import json

    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return file, 0
    once: dict[Any, dict[str, Any]] = {}
    for record in found["images"]:
        first = once.setdefault(record["id"], record)
        if any(first.get(key) != record.get(key) for key in (first.keys() | record.keys()) - INCIDENTAL):
            return file, 0
    repeated = len(found["images"]) - len(once)
    found["images"] = list(once.values())
    with translate_core_errors(path):
        return _core.read_coco_bytes(json.dumps(found).encode(), thread_count(), limit("json_depth")), repeated


def document(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """Build annotations from a parsed COCO document.

    Raises
    ------
    ReadError
        If it is an array of results, a section is missing, an id is repeated, or an object refers to an unknown image
        or class.
    """
    if file.is_results:
        raise ReadError(f"{path}: top level", expected="an object", found="an array")
    for key in SECTIONS:
        if key not in file.keys:
            raise ReadError(f"{path}: top level", expected=f"a key {key!r}", found="none")
    if faults := file.table_faults(region_limits()):
        raise explain_fault(path, file, faults[0])
    image_notes: list[str] = []
    ids = file.image_id_texts()
    if ids is None:
        images = Images.over(file.image_table(options.image_offset))
    else:
        # Results refer to images by these texts. They become the image names, unless the file names agree with them.
        pairs = list(zip(ids, file.file_names(), strict=True))
        odd = next((name for id, name in pairs if name and stem(name) != stem(id)), None)
        if odd is not None:
            image_notes = [f"images named by their ids, which are texts; file names such as {excerpt(odd)} left out"]
        images = Images.over(file.image_table(names=ids if odd is not None else [name or id for id, name in pairs]))
    labels, label_notes = label_table(path, file, options.label_offset)
    columns, faults = file.objects(native_layout(options), region_limits(), thread_count())
    if columns is None:
        raise explain_fault(path, file, faults[0])
    return objects(path, "coco", file, columns, images, labels, options, [*image_notes, *label_notes])


def native_layout(options: Options) -> str:
    """Return the box layout in which the native reader keeps the numbers; other layouts are converted afterwards."""
    layout = layout_name(options.boxes) if options.boxes is not None else "xywh"
    return layout if layout in KEPT else "xywh"


def label_table(path: Path, file: _core.CocoFile, offset: int) -> tuple[Labels, list[str]]:
    """Build the table of classes, and a note for each name that several classes share: their ids distinguish them."""
    ids, given, poses = file.class_ids(), file.class_names(), file.class_poses()
    numbers = [id + offset for id in ids]
    skeletons = None
    if any(any(texts) for texts in poses):  # a class without keypoints has an empty skeleton then
        skeletons = [skeleton_of(f"{path}: categories[{i}]", *texts) for i, texts in enumerate(poses)]
    if ids and all(name is None for name in given):
        return Labels(None, numbers, skeletons=skeletons), []
    named = [name for name in given if name is not None]
    if len(named) < len(given):
        raise ReadError(f"{path}: categories[{given.index(None)}]", expected="a key 'name'", found="none")
    longest = limit("class_name")
    if not are_plain(named, longest):
        for i, name in enumerate(named):
            check_name(f"{path}: categories[{i}].name", name, longest)
    counts = Counter(named)
    names = [f"{name} (id {id})" if counts[name] > 1 else name for name, id in zip(named, ids, strict=True)]
    check_names(f"{path}: categories", names)
    shared = [name for name, count in counts.items() if count > 1]
    notes = [f"classes with the same name {excerpt(name)} are distinguished by id" for name in shared]
    return Labels(names, numbers, skeletons=skeletons), notes


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
    """Build annotations from parsed columns: rotate, convert the box layout and scale to pixels as the options say.

    Parameters
    ----------
    path, format : Path, str
        Recorded in the source.
    file, columns : _core.CocoFile, _core.Columns
        The parsed file, and its objects with image and class indices.
    images, labels : Images, Labels
        The tables that these indices refer to.
    options : Options
        `boxes`, `coords` and `angle` are applied here.
    notes : sequence of str
        Notes to record in the source.
    """
    if missing := file.missing_ids():
        notes = [*notes, f"object ids left out: {missing} of {file.object_count} are texts or missing"]
    others = file.other_keys
    are_all = len(others) < MOST_OTHER_KEYS
    source = Source(str(path), format, notes=tuple(notes), other_keys=frozenset(others) if are_all else None)
    layout, unit = layout_name(options.boxes) if options.boxes is not None else "xywh", "px"
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
    with translate_core_errors(path):
        columns = columns.with_regions(regions.bound(thread_count()))
    return Annotations.over(columns, images, labels, unit=unit, source=source)  # type: ignore[arg-type]


def write(annotations: Annotations, path: Path) -> None:
    """Write a complete COCO document. Objects with confidences get a `score`."""

    write_json(path, document_of(annotations, path))


PRESERVES = frozenset(
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
        "track id",
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
    preserves=PRESERVES,
    options=frozenset({"angle", "annotator", "boxes", "coords", "image_offset", "label_offset"}),
    suffixes=(".json",),
)
