"""COCO results: a JSON array of predictions that refer to images and classes by id.

Also read: the same array inside an object (`{"predictions": […]}`), and one record per line (JSON lines).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verite import _core
from verite.errors import ReadError, spell_option, to_format
from verite.files import read_bytes, translate_core_errors, write_atomically
from verite.formats import coco
from verite.formats import coco as coco_file
from verite.formats.coco import lists_errors, open_coco
from verite.formats.coco_video import with_tracks_of_file
from verite.formats.format import Format, Options, PathProbe, class_names, head_of
from verite.formats.json_documents import decode
from verite.limits import limit
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.files import JsonObject


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is COCO results: a JSON array of records with `image_id`."""
    start = probe.head.lstrip()
    if probe.is_folder or not start.startswith("["):
        return None
    if '"image_id"' in start:
        first = start[: start.find("}") + 1]
        is_by_image = '"boxes"' in first and '"labels"' in first  # a record per image
        return None if is_by_image else "a JSON array of records with image_id"
    return "an empty JSON array" if start.rstrip() in ("[]", "[ ]") else None


@lists_errors
def read(path: Path, options: Options) -> Annotations:
    """Read COCO results."""
    file = open_coco(path)
    found = results(path, file, options)
    return with_tracks_of_file(found, path, file.other_keys) if file.other_keys else found


def results(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """Build annotations from a parsed array of results.

    Images and classes are those of the ground truth `options.like` if it knows all ids, else those that occur.
    """
    if not file.is_results:
        raise ReadError(f"{path}: top level", expected="an array", found="an object")
    truth, counted = options.like, ""
    # Class ids of Ultralytics count from 1 and the ground truth of YOLO from 0. Ultralytics' `predictions.json` has ids
    # from 1 since version 8.2; records with `file_name` come from such a version. Without it, an id equal to the number
    # of classes, and none of 0, is the evidence. The classes of COCO, which have 91 ids, are left alone.
    is_yolo = truth is not None and truth.source.format.startswith(("yolo", "data-yaml")) and not options.label_offset
    if truth is not None and is_yolo and truth.labels.names is not None and not takes_names(options):
        count, ids = len(truth.labels), file.ids_used()[1]
        is_recent = re.match(r'\s*\[\s*\{[^}]*"file_name"', head_of(Path(path))) is not None
        if ids and min(ids) >= 1 and max(ids) <= count and (is_recent or max(ids) == count):
            counted = f"class ids 1 to {count} read as Ultralytics', which count from 1; "
            counted += "those of the ground truth count from 0"
            options = replace(options, label_offset=-1)
    numbers, columns = None, None
    if truth is not None and truth.images.table.has_ids and not takes_names(options):
        numbers = truth.labels.numbers
    if truth is not None and numbers is not None and file.object_count:  # the fast way, as no table is built
        columns, _ = place(file, truth.images, numbers, options)
    if truth is not None and columns is not None:
        images, labels = truth.images, truth.labels
    else:
        columns, images, labels = in_own_tables(path, file, options)
    read = coco.objects(path, "coco-results", file, columns, images, labels, options)
    notes: tuple[str, ...] = (counted,) if counted else ()
    if len(read) and not read.columns.has_confidence and (other := re.search(OTHER_SCORE, head_of(Path(path)))):
        notes = (*notes, f"records have {other[1]} where COCO results have score")
    return read.with_source(replace(read.source, by_number=("images", "labels"), notes=(*read.source.notes, *notes)))


# What confidences are called elsewhere; other tools do not read files that call them so, which a note says.
OTHER_SCORE = r'"(confidence|conf|scores|prob|probability|Score)"\s*:'


def in_own_tables(path: Path, file: _core.CocoFile, options: Options) -> tuple[_core.Columns, Images, Labels]:
    """Place the objects into tables of the images and classes that occur."""
    image_ids, label_ids = file.ids_used()
    if image_ids and isinstance(image_ids[0], str):
        images = Images.over(_core.Images(image_ids))
    else:
        images = Images.over(_core.Images(None, array("q", [id + options.image_offset for id in image_ids])))
    labels = Labels(None, [id + options.label_offset for id in label_ids])
    if takes_names(options):
        # The classes under the names of the option `names`, which are counted from 0.
        names, _ = class_names(options)
        assert names is not None
        odd = next((id for id in labels.numbers or () if not 0 <= id < len(names)), None)
        if odd is not None:
            expected = f"class numbers from 0 to {len(names) - 1}, as there are names (V206)"
            remedy = f"are these the right names? else add {options.spell('label_offset', 'N')}"
            raise ReadError(path, expected=expected, found=str(odd), remedy=remedy)
        labels = Labels(names, range(len(names)))
    columns, faults = place(file, images, labels.numbers or (), options)
    if columns is None:
        raise coco_file.explain_fault(path, file, faults[0])
    return columns, images, labels


def takes_names(options: Options) -> bool:
    """Tell whether the option `names` applies: not where the ground truth has class ids itself."""
    return options.names is not None and (options.like is None or options.like.labels.ids is None)


def place(
    file: _core.CocoFile, images: Images, label_ids: Sequence[int], options: Options
) -> tuple[_core.Columns | None, list[_core.RecordFault]]:
    """Resolve the ids of all objects in these tables; returns the columns, or None and the faults."""
    return file.objects_in(
        images.table,
        label_ids,
        options.image_offset,
        options.label_offset,
        coco.native_layout(options),
        coco_file.region_limits(),
        thread_count(),
    )


def write(annotations: Annotations, path: Path) -> None:
    """Write predictions as an array of COCO results."""
    from verite.formats.json_documents import write_json

    write_json(path, records_of(annotations, path))


def records_of(annotations: Annotations, path: Path) -> list[JsonObject]:
    """Build one record per prediction.

    Raises
    ------
    ReadError
        If objects have no confidence, or classes have no id: numbering them would produce ids that mean other classes
        in the ground truth.
    """
    if annotations.confidence is None and len(annotations):
        raise ReadError(
            path,
            expected="predictions",
            found="objects without confidence",
            remedy=f"write ground truth with {to_format('coco')}",
        )
    if annotations.labels.ids is None and len(annotations):
        # Counting them would make up numbers that mean other classes in the truth.
        like = spell_option("like", "TRUTH")
        remedy = f"take them from a ground truth with {like}, or write {to_format('coco')}, which holds names"
        raise ReadError(path, expected="classes with ids", found="names only", remedy=remedy)
    from verite.formats.coco import ids_or_count, records

    images = annotations.images
    image_ids: Sequence[int | str] = images.names if images.ids is None and images.names else ids_or_count(images)
    return records(annotations, path, image_ids, ids_or_count(annotations.labels), is_truth=False)


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class id",
        "class id without a name",
        "class order",
        "confidence",
        "image folder or suffix",  # of images without ids, whose names stand in for them
        "image id",
        "keypoints",
        "mask",
        "polygon",
        "polygon of several rings",
        "track id",
        "unscored",
    }
)

FORMAT = Format(
    name="coco-results",
    title="COCO results JSON",
    about="a JSON array of predictions; image ids may be text",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class id", "confidence"}),
    options=frozenset({"angle", "boxes", "coords", "image_offset", "label_offset", "names"}),
    suffixes=(".json",),
    sides=("pred",),
)

START = re.compile(r'\{[^\[]*"(predictions|results|detections)"\s*:\s*\[\s*[\]{]')


def recognise_results_object(probe: PathProbe) -> str | None:
    """Return why a path is an object with results under `predictions`, `results` or `detections`."""
    start = "" if probe.is_folder else probe.head.lstrip()
    found = START.match(start)
    if found and found[0].endswith("]"):
        return f"a JSON object with no {found[1]}"
    return f"a JSON object with {found[1]} that have image_id" if found and '"image_id"' in start else None


def read_results_object(path: Path, options: Options) -> Annotations:
    """Read the array of results inside an object, under one of the usual keys; the array stays encoded."""
    import msgspec

    fields = [(key, msgspec.Raw, msgspec.Raw()) for key in ("predictions", "results", "detections")]
    document = decode(path, msgspec.defstruct("ResultsDocument", fields))
    records = next((found for key, _, _ in fields if (found := bytes(getattr(document, key)))), b"")
    if not records:
        raise ReadError(f"{path}: top level", expected="a key 'predictions', 'results' or 'detections'", found="none")
    return read_results(path, records, options, "results-object")


RESULTS_OBJECT = Format(
    name="results-object",
    title="COCO results in an object",
    about='`{"predictions": […]}` around COCO results',
    recognise=recognise_results_object,
    read=read_results_object,
    options=FORMAT.options,
    suffixes=(".json",),
    sides=("pred",),
)


def recognise_json_lines(probe: PathProbe) -> str | None:
    """Return why a path is JSON lines: its first line is a complete record with `image_id` and `category_id`."""
    first = "" if probe.is_folder else probe.head.lstrip().partition("\n")[0].rstrip()
    is_record = first.startswith("{") and first.endswith("}") and "[{" not in first.replace(" ", "")
    if is_record and '"image_id"' in first and '"category_id"' in first:
        return "a JSON object with image_id per line"
    return None


def read_json_lines(path: Path, options: Options) -> Annotations:
    """Read one record of results per line; `results[7]` in a message is the eighth non-empty line."""
    lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").splitlines()
    content = b"[" + b",\n".join(line for line in lines if line.strip()) + b"]"
    return read_results(path, content, options, "json-lines")


def read_results(path: Path, content: bytes, options: Options, format: str) -> Annotations:
    """Read an encoded array of results that is not the whole file, so that byte offsets are removed from messages."""
    try:
        with translate_core_errors(path):
            file = _core.read_coco_bytes(content, thread_count(), limit("json_depth"))
    except ReadError as error:
        found = re.sub(r" at byte \d+", "", error.found)
        raise ReadError(error.where, expected=error.expected, found=found, remedy=error.remedy) from None
    annotations = results(path, file, options)
    return annotations.with_source(replace(annotations.source, format=format))


def write_json_lines(annotations: Annotations, path: Path) -> None:
    """Write one record of results per line."""
    import msgspec

    lines = [msgspec.json.encode(record) + b"\n" for record in records_of(annotations, path)]
    write_atomically(path, b"".join(lines))


JSON_LINES = Format(
    name="json-lines",
    title="COCO results as JSON lines",
    about="a record of COCO results per line",
    recognise=recognise_json_lines,
    read=read_json_lines,
    write=write_json_lines,
    preserves=FORMAT.preserves,
    requires=FORMAT.requires,
    options=FORMAT.options,
    suffixes=(".jsonl",),
    sides=("pred",),
)
