"""Several annotators of the same images: read from one file each, or from one file that names the annotator.

One file may be COCO JSON whose annotations have a key such as `rad_id` or `annotator`, a CSV table with such a column,
Label Studio's JSON with several annotations per task (`completed_by`), or a CSV table of crowd polygons with one row
per object and worker. `AnnotatorSet` holds all of them with common images and classes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.csv_files import CsvFile, check_width, lines_of
from verite.errors import BadParameter, DataError, ReadError, did_you_mean
from verite.files import PACKED, find_path, read_bytes
from verite.formats import read, read_archive
from verite.formats.annotators import COLUMN
from verite.formats.archives import Archive, temporary_folder, unpack
from verite.formats.format import Options, head_of
from verite.formats.tables import BOX, BOX_SIDES, IMAGE
from verite.model.annotations import Annotations
from verite.model.comparison import distinct_names
from verite.model.regions import Regions
from verite.model.results import system_name
from verite.model.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

    Flags = NDArray[np.bool_]

COMPLETED_BY = "completed_by"  # Label Studio's key of the person who made an annotation
CORNERS_X, CORNERS_Y = ("x_locs", "xs", "x"), ("y_locs", "ys", "y")  # columns of polygons, a list of numbers per cell


@dataclass(frozen=True, eq=False)
class AnnotatorSet:
    """The objects of each annotator, with common images and classes.

    Parameters
    ----------
    names
        The annotators; the first one is the ground truth in question unless another is chosen.
    sides
        The objects of each annotator; all have the same images and classes.
    annotated : array of bool, shape (annotators, images)
        Who annotated which image; an image without objects of an annotator may be annotated by it.
    objects
        By annotator the key of each object, where objects were given and annotators drew them alone.
    path
        The file or files, for messages.
    """

    names: tuple[str, ...]
    sides: tuple[Annotations, ...]
    annotated: Flags
    objects: tuple[tuple[str, ...], ...] | None = None
    path: str = "annotators"

    def check(self) -> AnnotatorSet:
        """Return these annotators; raise `DataError` if they are fewer than two, or have no images in common."""
        if len(self.names) < 2:
            found = f"one ({self.names[0]!r})" if self.names else "none"
            raise DataError(f"{self.path}: expected at least two annotators, found {found}")
        if not self.shared.any():
            raise DataError(
                f"{self.path}: expected images that at least two annotators annotated, found none; "
                "do the names of the images differ?"
            )
        return self

    @property
    def shared(self) -> Flags:
        """Images that at least two annotators annotated: all others say nothing about agreement."""
        return np.asarray(self.annotated.sum(axis=0) >= 2)

    @property
    def images(self) -> int:
        """The number of images that at least two annotators annotated."""
        return int(self.shared.sum())

    def only(self, names: Sequence[str]) -> AnnotatorSet:
        """Return some of the annotators, in this order."""
        for name in names:
            if name not in self.names:
                near = did_you_mean(name, self.names)
                raise BadParameter(f"annotators: expected some of {', '.join(self.names)}, found {name!r}{near}")
        rows = [self.names.index(name) for name in dict.fromkeys(names)]
        return AnnotatorSet(
            tuple(self.names[i] for i in rows),
            tuple(self.sides[i] for i in rows),
            self.annotated[rows],
            None if self.objects is None else tuple(self.objects[i] for i in rows),
            self.path,
        )


def read_annotators(
    given: Any, annotator: str | None = None, *, object_key: str | None = None, complete: bool = False
) -> AnnotatorSet:
    """Read several annotators.

    Parameters
    ----------
    given
        A mapping from names, a sequence of files or annotations, or one file that names the annotator of each object.
    annotator
        The key or column that names the annotator, of one file; found by its name if it is not given.
    object_key
        The column that names the object, where objects were given to the annotators.
    complete
        Whether every annotator annotated every image of the one file. Otherwise an image counts as annotated by those
        with at least one object or row in it.

    Raises
    ------
    DataError
        There are fewer than two annotators, or no image has two of them.
    """
    if isinstance(given, (str, PathLike)):
        given = [given]
    if not isinstance(given, (Mapping, Sequence)) or (isinstance(given, Mapping) and "annotations" in given):
        expected = "files or annotations by name, several of them, or one file that names annotators"
        raise BadParameter(f"annotators: expected {expected}, found {type(given).__name__}")
    several = list(given.values()) if isinstance(given, Mapping) else list(given)
    if len(several) == 1 and isinstance(several[0], (str, PathLike)):
        return split_file(find_path(several[0]), annotator, object_key, complete=complete)
    if annotator is not None or object_key is not None:
        raise BadParameter(f"annotator: expected one file of several annotators, found {len(several)}")
    read_sides = [one if isinstance(one, Annotations) else read(one) for one in several]
    names = list(map(str, given)) if isinstance(given, Mapping) else distinct_names(list(map(system_name, read_sides)))
    return align_annotators(names, read_sides, ", ".join(one.source.path for one in read_sides) or "annotators")


def align_annotators(
    names: Sequence[str],
    sides: Sequence[Annotations],
    path: str,
    objects: Sequence[Sequence[str]] | None = None,
    *,
    complete: bool = False,
) -> AnnotatorSet:
    """Give all annotators common images and classes, matched by name or id; each annotated the images it lists."""
    if len(sides) < 2:
        return AnnotatorSet(tuple(names), tuple(sides), np.ones((len(sides), 1), dtype=bool), None, path)
    common, aligned, listed = sides[0], [], []
    for side in sides:
        try:
            listed.append(listed_images(side, common))
            side = side.like(common)
        except DataError as error:
            raise DataError(f"{path}: expected annotators of the same images, found none in common ({error})") from None
        common = side
        aligned.append(side)
    annotated = np.zeros((len(sides), len(common.images)), dtype=bool)
    for row, positions in zip(annotated, listed, strict=True):
        row[positions] = True
    if complete:
        annotated[:] = True
    sides = tuple(side.changed(images=common.images, labels=common.labels) for side in aligned)
    keys = None if objects is None else tuple(map(tuple, objects))
    return AnnotatorSet(tuple(names), sides, annotated, keys, path)


def listed_images(side: Annotations, common: Annotations) -> NDArray[np.int64]:
    """Return the positions of all images of a file among those of another; images that it lacks come after them."""
    count = len(side.images)
    if not len(side.labels):
        return side.like(common).image.astype(np.int64)
    everything = Annotations(
        images=side.images,
        labels=side.labels,
        image=np.arange(count, dtype=np.int32),
        label=np.zeros(count, dtype=np.int32),
        regions=Regions(np.zeros((count, 4)), "xyxy"),
        unit=side.unit,
    )
    return everything.like(common).image.astype(np.int64)


def split_file(
    path: Path,
    annotator: str | None = None,
    object_key: str | None = None,
    *,
    complete: bool = False,
    format: str | None = None,
    options: Options | None = None,
) -> AnnotatorSet:
    """Split one file by annotator, and read the part of each as a file of its own.

    The arguments are those of :func:`read_annotators`; `format` and `options` say how to read the parts.
    """
    how = Options() if options is None else options
    packed = path.suffix.lower() in PACKED and path.is_file()
    with temporary_folder() as folder, temporary_folder() if packed else nullcontext(path.parent) as unpacked:
        plain = unpack(path, unpacked).place if packed else path
        if plain.is_dir():
            raise ReadError(
                path, expected="one file that names annotators, or one file per annotator", found="a folder"
            )
        if head_of(plain).lstrip()[:1] in ("{", "["):
            parts = split_json(plain, path, annotator, complete=complete)
        else:
            parts = split_table(plain, path, annotator, object_key, how.columns or {})
        # R8 comes before R10
        names = sorted(parts, key=lambda n: [int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", n)])
        sides = []
        for number, name in enumerate(names):
            place = folder / f"{number}{'.json' if parts[name].text[:1] in '[{' else '.csv'}"
            place.write_text(parts[name].text, encoding="utf-8")
            sides.append(read_archive(Archive(str(path), place), format, how))
    keys = [parts[name].keys for name in names] if object_key is not None else None
    found = align_annotators(names, sides, str(path), keys, complete=complete)
    for own, name in zip(found.annotated, names, strict=True):
        places = [found.sides[0].images.find(image) for image in parts[name].empty]
        own[[place for place in places if place is not None]] = True
    return found


@dataclass(frozen=True)
class AnnotatorPart:
    """The annotations of one annotator as the text of a file; the key of each object where objects were given."""

    text: str
    keys: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()  # images in which the annotator found nothing, as rows without a box say


def split_json(plain: Path, path: Path, annotator: str | None, *, complete: bool) -> dict[str, AnnotatorPart]:
    """Split COCO's annotations, or Label Studio's tasks, by annotator."""
    try:
        document = json.loads(read_bytes(plain))
    except (ValueError, RecursionError):
        raise ReadError(path, expected="a JSON document", found="something else") from None
    if isinstance(document, list) and any(isinstance(t, dict) and isinstance(t.get("data"), dict) for t in document):
        return split_tasks(document, path, annotator or COMPLETED_BY)
    records = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ReadError(path, expected="COCO annotations or Label Studio tasks", found="another JSON document")
    key = annotator or next((k for record in records[:1] for k in record if COLUMN.fullmatch(str(k))), None)
    if key is None or not any(key in record for record in records):
        known = sorted({str(k) for record in records[:100] for k in record})
        raise DataError(
            f"{path}: expected annotations with a key that names the annotator ({key or 'such as rad_id'}), found the "
            f"keys {', '.join(known) or 'of no annotation'}{did_you_mean(key, known) if key else ''}"
        )
    groups: dict[str, list[JsonObject]] = {}
    for record in records:
        if record.get(key) is not None:
            groups.setdefault(str(record[key]), []).append(record)
    parts = {}
    for name, own in groups.items():
        ids = {record.get("image_id") for record in own}
        images = [i for i in document.get("images", []) if complete or (isinstance(i, dict) and i.get("id") in ids)]
        parts[name] = AnnotatorPart(json.dumps({**document, "annotations": own, "images": images}))
    return parts


def split_tasks(tasks: list[Any], path: Path, annotator: str) -> dict[str, AnnotatorPart]:
    """Split Label Studio's tasks: of each annotator the last annotation of a task that was not cancelled."""
    groups: dict[str, list[JsonObject]] = {}
    for task in tasks:
        own: JsonObject = {}
        for drawn in task.get("annotations") or task.get("completions") or [] if isinstance(task, dict) else []:
            if isinstance(drawn, dict) and not drawn.get("was_cancelled"):
                who = drawn.get(annotator)
                if isinstance(who, dict):
                    who = who.get("email") or who.get("id")
                if who is not None:
                    own[str(who)] = drawn
        for name, drawn in own.items():
            groups.setdefault(name, []).append({"data": task["data"], "annotations": [drawn]})
    if not groups:
        raise DataError(f"{path}: expected annotations with the key {annotator!r}, found none")
    return {name: AnnotatorPart(json.dumps(own)) for name, own in groups.items()}


def split_table(
    plain: Path, path: Path, annotator: str | None, object_key: str | None, columns: Mapping[str, str]
) -> dict[str, AnnotatorPart]:
    """Split the rows of a CSV table, or of a table of polygons, by annotator; `columns` are other names of columns.

    A row without a box says that the annotator found nothing in the image.
    """
    table = read_export(plain)
    key = annotator or next((name for name in table.head if COLUMN.fullmatch(name)), None)
    for wanted, what in ((key, "annotator"), (object_key or key, "object")):
        if wanted is None or wanted not in table.head:
            near = did_you_mean(wanted, table.head) if wanted else ""
            raise DataError(
                f"{path}: expected a column that names the {what} ({wanted or 'such as annotator'}), found the columns "
                f"{', '.join(table.head)}{near}"
            )
    rows: dict[str, list[dict[str, str]]] = {}
    for _, row in table.records():
        if row[str(key)]:
            rows.setdefault(row[str(key)], []).append(row)
    if object_key is not None:
        return polygon_parts(rows, table.head, plain, path, object_key)
    image = next((name for name in (columns.get("image"), *IMAGE) if name in table.head), None)
    sides = [name for name in (*BOX_SIDES, BOX) if name in table.head]
    parts = {}
    for name, own in rows.items():
        drawn = [row for row in own if not sides or any(row[side].strip() for side in sides)]
        text = Table(tuple(table.head), tuple(tuple(row.values()) for row in drawn)).to_csv()
        empty = [row[image] for row in own if row not in drawn] if image is not None and len(drawn) < len(own) else []
        parts[name] = AnnotatorPart(text, empty=tuple(empty))
    return parts


def read_export(path: Path) -> CsvFile:
    """Read a CSV table; a last line such as `(48 rows)`, as database clients write it, is left out."""
    lines = list(lines_of(path))
    if len(lines) > 1 and re.fullmatch(r"\(\d+ rows?\)", "".join(lines[-1][1]).strip()):
        del lines[-1]
    head = [name.strip() for name in lines[0][1]] if lines else []
    for number, cells in lines[1:]:
        check_width(f"{path}:{number}", cells, len(head))
    return CsvFile(path, head, lines[1:])


def image_of(key: str, facts: Mapping[str, str]) -> str:
    """Return the image of an object that was given to annotators; without one it is an image of its own."""
    return facts.get("image_id") or facts.get("image") or f"object {key}"


def polygon_parts(
    rows: Mapping[str, list[dict[str, str]]], head: Sequence[str], plain: Path, path: Path, object_key: str
) -> dict[str, AnnotatorPart]:
    """Turn rows of polygons, one per object and annotator, into a COCO document per annotator.

    Image and class are columns of the table, or of the table that the key names: `object_id` is the `id` of a row of
    `object.csv` beside it. Where neither has an image, each object is an image of its own. Of several polygons of one
    annotator around one object the last counts; those that are cut off or have fewer than three corners are left out.
    """
    at_x, at_y = (next((n for n in names if n in head), None) for names in (CORNERS_X, CORNERS_Y))
    if at_x is None or at_y is None:
        expected = f"columns with the corners of polygons ({CORNERS_X[0]} and {CORNERS_Y[0]})"
        raise ReadError(path, expected=expected, found=", ".join(head))
    beside = plain.with_name(f"{object_key.removesuffix('_id')}.csv")
    about: dict[str, dict[str, str]] = {}
    if object_key.endswith("_id") and beside.is_file() and beside != plain:
        about = {row["id"]: row for _, row in read_export(beside).records() if "id" in row}
    parts, drawn = {}, {}
    reach: dict[str, tuple[float, float]] = {}  # of the polygons of an image, which are drawn as masks within it
    for name, own in rows.items():
        last, corners = {}, {}
        for row in own:
            try:
                x, y = (np.asarray(json.loads(row[column]), dtype=np.float64).reshape(-1) for column in (at_x, at_y))
            except (ValueError, TypeError, RecursionError):
                continue  # cut off by the database, as long cells are
            if len(x) == len(y) >= 3:
                last[row[object_key]], corners[row[object_key]] = row, (x, y)
        if not last:
            continue
        drawn[name] = last, corners
        for key, row in last.items():
            image = image_of(key, about.get(key, {}) | row)
            ends = reach.get(image, (0.0, 0.0))
            reach[image] = max(ends[0], float(corners[key][0].max())), max(ends[1], float(corners[key][1].max()))
    for name, (last, corners) in drawn.items():
        images, classes, records = Counter[str](), Counter[str](), []
        for key, row in last.items():
            facts = about.get(key, {}) | row
            image = image_of(key, facts)
            label = facts.get("name") or facts.get("label") or "object"
            images[image] += 1
            classes[label] += 1
            x, y = corners[key]
            low, high = (float(x.min()), float(y.min())), (float(x.max()), float(y.max()))
            record: JsonObject = {"image_id": image, "category_id": label, "iscrowd": 0, "area": 0.0}
            record["segmentation"] = [np.column_stack([x, y]).reshape(-1).tolist()]
            records.append({**record, "bbox": [*low, high[0] - low[0], high[1] - low[1]]})
        image_ids = {image: i + 1 for i, image in enumerate(images)}
        class_ids = {label: i + 1 for i, label in enumerate(classes)}
        for number, record in enumerate(records):
            image, label = record["image_id"], record["category_id"]
            records[number] = record | {"id": number + 1, "image_id": image_ids[image], "category_id": class_ids[label]}
        document = {
            "images": [
                {"id": i, "file_name": image, "width": ceil(reach[image][0]) + 1, "height": ceil(reach[image][1]) + 1}
                for image, i in image_ids.items()
            ],
            "categories": [{"id": i, "name": label} for label, i in class_ids.items()],
            "annotations": records,
        }
        parts[name] = AnnotatorPart(json.dumps(document), tuple(last))
    if not parts:
        raise ReadError(path, expected=f"lists of at least three numbers in {at_x} and {at_y}", found="none")
    return parts
