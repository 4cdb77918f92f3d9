"""Annotations from the columns of a table (CSV, Parquet, Arrow, pandas, NumPy), by the usual column names.

Required are an image (`image_id`, `image` or `file_name`), a class (`category_id`, `label` or `class`) and a box (`x,
y, width, height`, or `x1, y1, x2, y2`, or one column `bbox` of four numbers; `BOXES` lists all) or a point (`x, y` and
no other column of a box). Optional: `score` or `confidence`, `area`, `id`, `image_width` and `image_height`,
`segmentation` (polygons, or COCO's RLE), `mask` (compressed RLE) with `mask_height` and `mask_width`, `keypoints` (x,
y, visibility, …), `track_id` and of videos `sequence` and `frame`, and the flags (`iscrowd` for `crowd`). `OTHER_NAMES`
has what known tools call them; other names are mapped by the option `columns`. A row of a class that never has a box is
an image without objects ("No finding"). A table without a column of classes needs the option `class_name`, or a ground
truth of one class; that of RSNA, which has a column `Target`, is read as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, ErrorCollector, ReadError, did_you_mean, excerpt, is_listing, spell_option
from verite.formats.annotators import (
    annotators_of_columns,
    choose_annotator,
    complete_annotator,
    with_annotators,
)
from verite.formats.format import HALF_PAIR, Options, check_name, check_names
from verite.formats.polygons import check_mask_size, check_ring, parse_runs
from verite.formats.rows import build, name_class_numbers, size_images
from verite.formats.sizes import check_size
from verite.formats.text_lines import is_number
from verite.model.annotations import FLAGS, Annotations, Source
from verite.model.classes import Labels
from verite.model.frames import SIDES
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.polygons import Polygons, RLEMasks
from verite.model.sequences import Sequences

Columns = Mapping[str, Any]
TableColumns = dict[str, Any]  # the same, to be renamed: arrays, or lists of cells

# The first three are those of messages.
IMAGE = ("image_id", "image", "file_name", "filename", "image_name", "image_path")

LABEL = ("category_id", "label", "class", "class_id", "class_name", "category", "category_name")

SCORE = ("score", "confidence", "conf")

SIZE = ("image_width", "image_height")

TRACK, SEQUENCE, FRAME = ("track_id", "track"), ("sequence", "video_id", "video"), "frame"  # of objects in videos

BOX, POSE, RINGS, RUNS, RUN_SIZE = "bbox", "keypoints", "segmentation", "mask", ("mask_height", "mask_width")

# What the four numbers of a box are, by the names of their columns; the first complete set is used.
BOXES = (
    ("xywh", SIDES["xywh"]),
    ("xyxy", SIDES["xyxy"]),
    ("xyxy", ("xmin", "ymin", "xmax", "ymax")),
    ("xyxy", ("x_min", "y_min", "x_max", "y_max")),
    ("xyxy", ("left", "top", "right", "bottom")),
    ("xywh", ("left", "top", "width", "height")),
    ("xywh", ("x", "y", "w", "h")),
    ("cxcywh", ("cx", "cy", "w", "h")),
    ("cxcywh", ("cx", "cy", "width", "height")),
    ("cxcywh", ("x_center", "y_center", "width", "height")),
)

POINTS = (("x", "y"), ("cx", "cy"), ("x_center", "y_center"))  # of tables without any other column of a box

# What tools and competitions call our columns, in small letters: RSNA (Kaggle), VinBigData, mosquitos, YOLOv5, VOC.
OTHER_NAMES = {
    "patientid": "image",
    "img_fname": "image",
    "img_name": "image",
    "image_filename": "image",
    "img_w": "image_width",
    "img_h": "image_height",
    "class_label": "label",
    "classname": "label",
    "bbx_xtl": "x1",
    "bbx_ytl": "y1",
    "bbx_xbr": "x2",
    "bbx_ybr": "y2",
    "xtl": "x1",
    "ytl": "y1",
    "xbr": "x2",
    "ybr": "y2",
    "bbox_x": "x",
    "bbox_y": "y",
    "bbox_w": "width",
    "bbox_h": "height",
}

ONE_CLASS, TARGET = "object", "target"  # the class of RSNA's table, whose column `Target` is 1 where there is a box

BOX_SIDES = tuple(dict.fromkeys(side for _, sides in BOXES for side in sides))

UNREADABLE = (POSE, RINGS, RUNS, *RUN_SIZE)  # what no cell of a CSV file holds

FLAG_NAMES = {"iscrowd": "crowd", **{flag: flag for flag in FLAGS}}

KNOWN = (
    *IMAGE,
    *LABEL,
    *SCORE,
    *SIZE,
    *BOX_SIDES,
    BOX,
    *UNREADABLE,
    "area",
    "id",
    *TRACK,
    *SEQUENCE,
    FRAME,
    *FLAG_NAMES,
)

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

FOUR = re.compile(rf"\s*[\[(]?\s*({NUMBER})" + rf"\s*[,;\s]\s*({NUMBER})" * 3 + r"\s*[\])]?\s*")


def box_columns(names: Columns | Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the layout of the first group of box columns that is complete, and their names.

    Two columns are points if there is no other column of a box.
    """
    found = next(((layout, sides) for layout, sides in BOXES if all(side in names for side in sides)), None)
    if found is not None or BOX in names:
        return found
    given = {side for side in BOX_SIDES if side in names}
    return next((("point", sides) for sides in POINTS if given == set(sides)), None)


def numbers_of(box: Any) -> Any:
    """Parse a box cell that is text, `[1, 2, 3, 4]` as pandas writes a list; other cells are returned unchanged."""
    found = FOUR.fullmatch(box) if isinstance(box, str) else None
    return [float(number) for number in found.groups()] if found else box


def name_image_sizes(columns: TableColumns) -> tuple[str, ...]:
    """Rename `width` and `height` beside corners to the image's size, if every box fits into them and none is as large.

    TensorFlow's tables are written so. Beside a column of four numbers (the global wheat data) they are the image's
    size, too, if no other column is a side of the box. Returns a note if the columns were renamed.
    """
    layout, sides = box_columns(columns) or ("", ())
    others = [side for side in (*BOX_SIDES, *SIZE) if side in columns and side not in ("width", "height")]
    if BOX in columns and {"width", "height"} <= columns.keys() and not others:
        columns["image_width"], columns["image_height"] = columns.pop("width"), columns.pop("height")
        return ("width and height taken as the image's, beside boxes in a column of their own",)
    if layout != "xyxy" or not {"width", "height"} <= columns.keys() or any(side in columns for side in SIZE):
        return ()
    try:
        left, top, right, bottom, width, height = (
            np.array(columns[name], dtype=np.float64) for name in (*sides, "width", "height")
        )
    except (TypeError, ValueError):
        return ()
    are_boxes = ((right - left == width) & (bottom - top == height)).any()
    if are_boxes or not len(width) or not ((right <= width) & (bottom <= height) & (width % 1 == 0)).all():
        return ()
    columns["image_width"], columns["image_height"] = columns.pop("width"), columns.pop("height")
    return ("width and height taken as the image's, because every box fits into them",)


class CellOutlines:
    """The polygon and the mask of every row, parsed from cells."""

    def __init__(self, count: int) -> None:
        self.rings: list[list[Any]] = [[] for _ in range(count)]
        self.masks: list[Any] = [None] * count

    def take(self, place: str, row: int, value: Any, size: Any) -> None:
        """Parse one cell: empty, one or several rings, an RLE with its size, or compressed RLE without."""
        if is_absent(value):
            return
        if isinstance(value, Mapping):
            self.masks[row] = read_mask(place, value.get("counts"), value.get("size"))
        elif isinstance(value, (str, bytes)):
            self.masks[row] = read_mask(place, value, size)
        else:
            # Parse one ring, or a list of rings, of coordinates x, y, ….
            try:
                lists = [value] if np.ndim(value[0]) == 0 else list(value)
                rings = [np.asarray(ring, dtype=np.float64).ravel().tolist() for ring in lists]
            except (TypeError, ValueError, IndexError, KeyError, OverflowError):
                raise ReadError(place, expected="lists of numbers as rings", found=excerpt(str(value), 40)) from None
            self.rings[row] = [check_ring(place, ring) for ring in rings]

    def columns(self) -> tuple[Polygons | None, RLEMasks | None]:
        """Return polygons and masks of all rows, None where there are none."""
        has_masks = any(mask is not None for mask in self.masks)
        return Polygons.of(self.rings) if any(self.rings) else None, RLEMasks.of(self.masks) if has_masks else None


def is_absent(value: Any) -> bool:
    """Tell whether a cell is empty: None, NaN, pandas' NA, a text or list of length 0."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    if value is None or isinstance(value, Sized):
        return value is None or len(value) == 0
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def read_mask(place: str, counts: Any, size: Any) -> Any:
    """Parse run lengths, as text or numbers, and their height and width."""
    given = counts.decode("latin-1") if isinstance(counts, bytes) else counts
    try:
        runs = given if isinstance(given, str) else np.asarray(given, dtype=np.int64).tolist()
        height, width = (int(side) for side in size)
    except (TypeError, ValueError, OverflowError):
        raise ReadError(place, expected="counts and a size of a mask", found=excerpt(str(counts), 40)) from None
    check_mask_size(place, height, width)
    return parse_runs(place, runs, height, width), (height, width)


def floats_of(value: Any) -> NDArray[np.float64] | None:
    """Return the numbers of a cell; None where it holds something else."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        numbers = np.asarray(value)
        return None if numbers.dtype.kind == "c" else numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def is_pose(points: NDArray[np.float64]) -> bool:
    """Tell whether these are keypoints of three numbers, flat or of shape (n, 3)."""
    return points.size % 3 == 0 and (points.ndim == 1 or (points.ndim == 2 and points.shape[1] == 3))


MOST_ID = 2**63 - 1  # what a column of ids holds

TABLE_OPTIONS = frozenset(
    {
        "annotator",
        "boxes",
        "class_name",
        "coords",
        "image_size",
        "images",
        "names",
        "label_offset",
        "image_offset",
        "columns",
    }
)


def read_columns(
    name: str,
    given: Columns,
    options: Options,
    format: str = "memory",
    *,
    rows: Sequence[int] | None = None,
    errors: ErrorCollector | None = None,
) -> Annotations:
    """Read the objects of a table, one per row.

    Parameters
    ----------
    name : str
        Name of the table in messages.
    given : mapping
        Columns by name, all of one length.
    options : Options
        `columns` maps our names to those of the table.
    format : str
        Recorded in the source.
    rows : sequence of int, optional
        Row numbers for messages. Default: counted from 1.
    errors : ErrorCollector, optional
        Errors that were found before; where all errors are wanted, those of invalid rows are added.
    """
    columns, notes = rename(name, given, options)
    table = ColumnRows(name, columns, options, rows)
    if options.annotator is not None and options.side != "pred":
        option = complete_annotator(options.annotator, columns)
        column = option.partition("=")[0]
        if column not in columns:
            near = did_you_mean(column, columns)
            raise BadParameter(f"annotator: expected a column ({list_names(columns)}), found {column!r}{near}")
        column, who = choose_annotator(option, columns[column])
        table = table.take(np.flatnonzero([str(one) == who for one in columns[column]]))
        columns = table.columns
    errors = errors or ErrorCollector()
    while True:
        try:
            found = table.annotations(options, format)
            every = (*notes, *found.source.notes)
            found = found.with_source(replace(found.source, notes=every, flaws=errors.flaws))
            image = next((key for key in IMAGE if key in columns), None)
            return with_annotators(found, annotators_of_columns(columns, image))
        except WrongRows as wrong:
            if not is_listing():
                raise wrong.faults[0] from None
            for fault in wrong.faults:
                errors.add_error(fault)
            table = table.without(wrong.rows)


class WrongRows(Exception):  # noqa: N818 - never leaves this module
    """Rows that cannot be read, by their numbers, and the error of each."""

    def __init__(self, faults: Mapping[int, ReadError]) -> None:
        super().__init__(len(faults))
        self.rows, self.faults = list(faults), list(faults.values())


def rename(name: str, given: Columns, options: Options) -> tuple[TableColumns, tuple[str, ...]]:
    """Rename columns as the option `columns` says; returns the columns and notes.

    On the command line the option holds for both sides, so a side that has the usual name already keeps it. Names of
    `OTHER_NAMES` are renamed where ours is missing; `name` beside a numeric class is the class's, as YOLOv5 writes it.
    """
    columns, notes = dict(given), []
    taken = set((options.columns or {}).values())
    for theirs in [name for name in columns if isinstance(name, str) and name.casefold() in OTHER_NAMES]:
        ours = OTHER_NAMES[theirs.casefold()]
        if ours not in columns and theirs not in taken:
            columns[ours] = columns.pop(theirs)
    if "name" in columns and "class" in columns and "name" not in taken and any(key in columns for key in IMAGE):
        columns["class_name"] = columns.pop("name")
    for ours, theirs in (options.columns or {}).items():
        if ours not in KNOWN:
            near = did_you_mean(ours, KNOWN)
            raise BadParameter(f"columns: expected names out of {', '.join(KNOWN)}, found {ours!r}{near}")
        if theirs not in columns and ours in columns and options.side is not None:
            notes.append(f"no column {excerpt(theirs)} here: {ours} is taken as it is")
            continue
        if theirs not in columns:
            near = did_you_mean(theirs, columns)
            raise BadParameter(f"columns: {name}: expected a column {theirs!r}, found {list_names(columns)}{near}")
        columns[ours] = columns.pop(theirs)
    return columns, (*notes, *name_image_sizes(columns))


def list_names(names: Columns | Sequence[str]) -> str:
    """List column names for a message."""
    return excerpt(", ".join(map(str, names)), 120) if names else "none"


class ColumnRows:
    """The columns of a table; each accessor validates its column and raises `WrongRows` for invalid cells."""

    def __init__(self, name: str, columns: TableColumns, options: Options, rows: Sequence[int] | None) -> None:
        # An array of several dimensions is a column of cells that are arrays.
        columns = {key: list(c) if getattr(c, "ndim", 1) > 1 else c for key, c in columns.items()}
        self.name, self.columns, self.options = name, columns, options
        lengths = {key: len(values) for key, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise BadParameter(f"{name}: expected columns of one length, found {lengths}")
        self.count = next(iter(lengths.values()), 0)
        self.rows = range(1, self.count + 1) if rows is None else rows

    def annotations(self, options: Options, format: str) -> Annotations:
        """Return annotations of all rows that are objects; the others are images without objects."""
        image, images = self.image_table(options)
        kept = np.flatnonzero(~self.are_bare())
        found = self.take(kept).objects(options, format, images, image[kept])
        if (box_columns(self.columns) or ("",))[0] == "point":
            compare = f"{spell_option('on', 'point')} compares them by their distance"
            note = f"objects are points, boxes without width and height; {compare}"
            found = found.with_source(replace(found.source, notes=(*found.source.notes, note)))
        if not any(key in self.columns for key in LABEL):
            name, option = found.labels.name(0), options.spell("class_name", "NAME")
            note = f"no column of classes: all objects are {excerpt(name)}; {option} gives another name"
            found = found.with_source(replace(found.source, notes=(*found.source.notes, note)))
        return found

    def objects(self, options: Options, format: str, images: Images, image: NDArray[np.int32]) -> Annotations:
        """Return annotations with every row an object of these images."""
        label, labels = self.label_table(options)
        layout, boxes = self.boxes()
        polygons, runs = self.outlines()
        score = next((key for key in SCORE if key in self.columns), None)
        return build(
            options,
            boxes,
            layout,
            images=images,
            image=image,
            polygons=polygons,
            runs=runs,
            keypoints=self.keypoints(),
            labels=labels,
            label=label,
            confidence=self.numbers(score) if score else None,
            area=self.numbers("area") if "area" in self.columns else None,
            ids=self.whole("id") if "id" in self.columns and self.is_whole("id") else None,
            track=self.tracks(),
            flags={flag: self.flags(key) for key, flag in FLAG_NAMES.items() if key in self.columns},
            source=Source(self.name, format, by_number=by_number(images=images, labels=labels)),
        )

    def are_bare(self) -> NDArray[np.bool_]:
        """Mark rows that are images without objects: without box, and without class or of one that never has a box."""
        told = [key for key in (*LABEL, *BOX_SIDES, BOX) if key in self.columns]
        bare = np.full(self.count, bool(told))
        for key in told:
            if bare.any():
                bare &= are_absent(self.columns[key])
        _, sides = box_columns(self.columns) or ("", (BOX,) if BOX in self.columns else ())
        label = next((key for key in LABEL if key in self.columns), None)
        if label is None or not sides:
            return bare
        boxless = np.logical_and.reduce([are_absent(self.columns[side]) for side in sides])
        if boxless.any() and not boxless.all():
            classes = np.array([str(value) for value in self.columns[label]], dtype=object)
            bare |= boxless & ~np.isin(classes, np.unique(classes[~boxless].astype(str)).tolist())
        return bare

    def take(self, kept: NDArray[np.int64]) -> ColumnRows:
        """Return the table of these rows only."""
        if len(kept) == self.count:
            return self
        columns = {
            key: values[kept] if hasattr(values, "dtype") else [values[i] for i in kept]
            for key, values in self.columns.items()
        }
        return ColumnRows(self.name, columns, self.options, [self.rows[i] for i in kept])

    def without(self, gone: Sequence[int]) -> ColumnRows:
        """Return the table without the rows of these numbers."""
        return self.take(np.flatnonzero(~np.isin(self.rows, gone)))

    def refuse(self, expected: str, found: Mapping[int, str]) -> None:
        """Raise `WrongRows` if there are invalid rows: what was expected, and what was found in each."""
        self.refuse_all({row: ReadError(self.place(row), expected=expected, found=text) for row, text in found.items()})

    def refuse_all(self, faults: Mapping[int, ReadError]) -> None:
        """Raise `WrongRows` if there are errors, by row."""
        if faults:
            raise WrongRows({self.rows[row]: fault for row, fault in faults.items()})

    def need(self, names: Sequence[str]) -> str:
        """Return the first of these columns that exists."""
        found = next((key for key in names if key in self.columns), None)
        if found is None:
            raise self.complaint(f"a column {', '.join(names[:2])} or {names[2]}", names)
        return found

    def complaint(self, expected: str, names: Sequence[str]) -> ReadError:
        """Return the error for a missing column, with the most similar name and how to map it."""
        if names == IMAGE and {"class", "name"} <= self.columns.keys():
            remedy = "YOLOv5's tables of one image have its classes in name; add a column image before joining them"
            return ReadError(self.name, expected=expected, found=list_names(self.columns), remedy=remedy)
        others = [key for key in self.columns if key not in KNOWN]
        near = ((key, said) for key in names if (said := did_you_mean(key, others)))
        ours, said = next(near, (names[0], ""))
        theirs = said.removeprefix("; did you mean ").strip("'?") or "…"
        mapping = {ours: theirs} if self.options.side is None else f"{ours}={theirs}"
        remedy = f"{said}; name it with {self.options.spell('columns', mapping)}".removeprefix("; ")
        if names == LABEL:
            remedy += f", or the class of all objects with {self.options.spell('class_name', 'NAME')}"
        return ReadError(self.name, expected=expected, found=list_names(self.columns), remedy=remedy)

    def place(self, row: int) -> str:
        """Return the place of a row for messages."""
        return f"{self.name}: row {self.rows[row]}"

    def numbers(self, key: str) -> NDArray[np.float64]:
        """Return a column of floats, NaN where a cell is empty."""
        values = self.columns[key]
        try:
            plain = [np.nan if v is None else v for v in values] if is_objects(values) else values
            kinds = map(type, plain) if is_objects(values) else (values.dtype.type,)
            if any(issubclass(kind, (complex, np.complexfloating)) for kind in kinds):
                raise TypeError("complex numbers, of which numpy would keep the real part")
            numbers = np.array(plain, np.float64)
            if numbers.ndim != 1:
                raise ValueError("cells of several numbers")
            return numbers
        except (TypeError, ValueError, OverflowError):
            odd = {i: excerpt(str(v)) for i, v in enumerate(values) if not is_numeric(v)}
            has_comma = any(is_numeric(str(values[i]).replace(",", ".")) for i in odd)
            self.refuse(f"a number in {key}" + (", with a decimal point" if has_comma else ""), odd)
            raise ReadError(self.name, expected=f"numbers in {key}", found="others") from None

    def is_whole(self, key: str) -> bool:
        """Tell whether a column holds integer ids rather than names; empty cells are refused later."""
        values = self.columns[key]
        dtype = getattr(values, "dtype", None)
        if dtype is not None and dtype.kind in "iu":
            return True
        odd = [value for value in values if value is not None and not isinstance(value, (int, np.integer))]
        # Floats without a fraction, or NaN.
        return all(isinstance(v, (float, np.floating)) and (v != v or float(v).is_integer()) for v in odd)

    def whole(self, key: str) -> NDArray[np.int64]:
        """Return a column of 64-bit integers."""
        numbers = self.columns[key]
        if getattr(numbers, "dtype", None) is not None and numbers.dtype.kind in "iu":
            large = np.flatnonzero(numbers > MOST_ID).tolist() if numbers.dtype.kind == "u" else []
            self.refuse(f"a whole number of 64 bits in {key}", {row: str(numbers[row]) for row in large})
            return np.asarray(numbers).astype(np.int64)
        if is_objects(numbers) and all(isinstance(v, (int, np.integer)) for v in numbers):
            large = [row for row, v in enumerate(numbers) if not -MOST_ID - 1 <= v <= MOST_ID]
            self.refuse(f"a whole number of 64 bits in {key}", {row: excerpt(numbers[row]) for row in large})
            return np.array([int(v) for v in numbers], dtype=np.int64)  # not through float64, which holds 53 bits
        plain = self.numbers(key)
        self.refuse(f"a value in {key}", dict.fromkeys(np.flatnonzero(np.isnan(plain)).tolist(), "none"))
        odd = np.flatnonzero((np.abs(plain) >= 2.0**63) | (plain != np.rint(plain))).tolist()
        self.refuse(f"a whole number in {key}", {row: f"{plain[row]:g}" for row in odd})
        return plain.astype(np.int64)

    def texts(self, key: str) -> NDArray[np.object_]:
        """Return a column of non-empty texts."""
        values = self.columns[key]
        odd = {row: value for row, value in enumerate(values) if not isinstance(value, str) or not value}
        found = {row: describe(v) for row, v in odd.items()}
        self.refuse(f"a text in {key}", found)
        return np.array([str(value) for value in values], dtype=object)

    def image_table(self, options: Options) -> tuple[NDArray[np.int32], Images]:
        """Return the image index of each row and the images, known by id, by name, or both."""
        ids, names = self.keys(IMAGE)
        position, numbers, known = distinct(ids, names)
        self.check_pairs("image", position, ids, names, known)
        halves = {at for at, name in enumerate(known or ()) if HALF_PAIR.search(name)}
        odd = (
            {row: "half a surrogate pair" for row, at in enumerate(position.tolist()) if at in halves} if halves else {}
        )
        self.refuse("an image name of letters", odd)
        numbers = numbers + options.image_offset if numbers is not None else None
        widths, heights = self.sizes(position)
        images = Images(known, numbers, widths=widths, heights=heights, sequences=self.sequences(position))
        return position, size_images(images, options, self.name)

    def tracks(self) -> NDArray[np.int64] | None:
        """Return the track id of each object, -1 where its cell is empty; ids that are texts are numbered."""
        key = next((key for key in TRACK if key in self.columns), None)
        if key is None or not self.count:
            return None
        absent = are_absent(self.columns[key])
        if absent.all():
            return None
        track = np.full(self.count, -1, dtype=np.int64)
        given = self.take(np.flatnonzero(~absent))
        if given.is_whole(key):
            track[~absent] = given.whole(key)
        else:
            numbers: dict[str, int] = {}
            track[~absent] = [numbers.setdefault(str(v), len(numbers)) for v in given.columns[key]]
        return track

    def sequences(self, position: NDArray[np.int32]) -> Sequences | None:
        """Return sequence and frame number of each image, where there are columns of both; rows must agree."""
        key = next((key for key in SEQUENCE if key in self.columns), None)
        if key is None or FRAME not in self.columns or not self.count:
            return None
        absent = are_absent(self.columns[key])
        self.refuse(f"a name in {key}", dict.fromkeys(np.flatnonzero(absent).tolist(), "none"))
        frame, name = self.whole(FRAME), np.array([str(value) for value in self.columns[key]], dtype=object)
        _, first = np.unique(position, return_index=True)
        other = np.flatnonzero((frame[first][position] != frame) | (name[first][position] != name)).tolist()
        for row in other[:1]:
            said = (
                f"{name[first][position[row]]}, frame {frame[first][position[row]]}, as another row of its image says"
            )
            self.refuse(said, {row: f"{name[row]}, frame {frame[row]}" for row in other})
        known = list(dict.fromkeys(name[first].tolist()))
        return Sequences(
            tuple(known),
            np.array([known.index(one) for one in name[first]], dtype=np.int64),
            frame[first],
            is_stated=True,
        )

    def sizes(self, position: NDArray[np.int32]) -> tuple[Any, Any]:
        """Return widths and heights of the images from their columns, 0 where a cell is empty.

        All rows of an image must agree.
        """
        if not all(side in self.columns for side in SIZE):
            return None, None
        sides = np.nan_to_num(np.stack([self.numbers(side) for side in SIZE], axis=1))
        _, first = np.unique(position, return_index=True)
        faults: dict[int, ReadError] = {}
        for row in first.tolist():
            width, height = sides[row].tolist()
            try:
                if not (width.is_integer() and height.is_integer()):
                    raise ReadError(self.place(row), expected="whole pixels", found=f"{width} x {height}")
                check_size(self.place(row), int(width), int(height))
            except ReadError as error:
                faults[row] = error
        self.refuse_all(faults)
        said = sides[first][position]
        other = np.flatnonzero((said != sides).any(axis=1)).tolist()
        for row in other[:1]:
            expected = f"an image of {said[row, 0]:g} x {said[row, 1]:g}, as another row says"
            self.refuse(expected, {row: f"{sides[row, 0]:g} x {sides[row, 1]:g}" for row in other})
        return sides[first, 0], sides[first, 1]

    def keys(self, names: Sequence[str]) -> tuple[NDArray[np.int64] | None, NDArray[np.object_] | None]:
        """Return ids and names of images or classes, whichever columns there are."""
        self.need(names)
        there = [key for key in names if key in self.columns]
        if not self.count:  # what a column holds is then known by its name alone
            has_ids, has_names = names[0] in there, there != [names[0]]
            return np.empty(0, np.int64) if has_ids else None, np.empty(0, object) if has_names else None
        numbered = next((key for key in there if self.is_whole(key)), None)
        named = next((key for key in there if key != numbered), None)
        return self.whole(numbered) if numbered else None, self.texts(named) if named else None

    def check_pairs(self, what: str, position: Any, ids: Any, names: Any, known: list[str] | None) -> None:
        """Refuse ids with several names and names with several ids."""
        if ids is None or names is None or known is None:
            return
        for at in np.unique(position[np.array(known, dtype=object)[position] != names]).tolist():
            rows = np.flatnonzero(position == at).tolist()
            other = {row: excerpt(names[row]) for row in rows if names[row] != known[at]}
            self.refuse(f"{known[at]!r}, as this {what} id has", other)
        if len(set(known)) < len(known):
            twice = next(name for name in known if known.count(name) > 1)
            raise ReadError(self.name, expected=f"one id per {what} name", found=f"several of {twice!r}")

    def label_table(self, options: Options) -> tuple[NDArray[np.int32], Labels]:
        """Return the class index of each row and the classes."""
        if not any(key in self.columns for key in LABEL):
            return np.zeros(self.count, dtype=np.int32), Labels([self.only_class(options)])
        ids, names = self.keys(LABEL)
        position, numbers, known = distinct(ids, names)
        self.check_pairs("class", position, ids, names, known)
        if known is not None:
            self.check_classes(position, known)
        if numbers is None:
            return position, Labels(known)
        if known is not None:
            return position, Labels(known, numbers + options.label_offset)
        return name_class_numbers(numbers[position], options, self.refuse)

    def only_class(self, options: Options) -> str:
        """Return the class of all objects of a table without a column of classes."""
        if options.class_name is not None:
            check_name("class name", options.class_name)
            return options.class_name
        if options.like is not None and len(options.like.labels) == 1:
            return options.like.labels.name(0)
        others = {str(key).casefold() for key in self.columns if key not in KNOWN}
        if TARGET in others or not others:  # no column may hold a class under another name
            return ONE_CLASS
        self.need(LABEL)
        raise AssertionError("no column of classes")

    def check_classes(self, position: NDArray[np.int32], known: list[str]) -> None:
        """Refuse invalid class names, with the rows that have them."""
        for at, name in enumerate(known):
            try:
                check_name(self.name, name)
            except ReadError as error:
                rows = np.flatnonzero(position == at).tolist()
                self.refuse(error.expected, dict.fromkeys(rows, error.found))
        check_names(self.name, known)

    def boxes(self) -> tuple[str, NDArray[np.float64]]:
        """Return the layout of the boxes and their numbers, shape (n, 4)."""
        if (found := box_columns(self.columns)) is not None:
            layout, names = found
            numbers = np.stack([self.numbers(side) for side in names], axis=1)
            # A point is a box without width and height.
            return ("xywh", np.pad(numbers, ((0, 0), (0, 2)))) if layout == "point" else (layout, numbers)
        if BOX not in self.columns:
            some = [side for sides in SIDES.values() for side in sides if side in self.columns]
            sides = next((s for s in SIDES.values() if some and some[0] in s), SIDES["xywh"])
            missing = [side for side in sides if side not in self.columns]
            expected = f"columns x, y, width, height or x1, y1, x2, y2 or {BOX}"
            raise self.complaint(expected, [*missing, BOX])
        values = [None if is_absent(box) else floats_of(numbers_of(box)) for box in self.columns[BOX]]
        odd = {row: box for row, box in enumerate(values) if box is None or box.size != 4}
        given = self.columns[BOX]
        told = {row: describe(given[row]) if box is None else f"{box.size}" for row, box in odd.items()}
        self.refuse(f"4 numbers in {BOX}", told)
        return "xywh", np.array([box.ravel() for box in values if box is not None]).reshape(-1, 4)

    def outlines(self) -> tuple[Polygons | None, RLEMasks | None]:
        """Return polygons and masks, where rows have some."""
        sizes = None
        if RUNS in self.columns:
            for side in RUN_SIZE:
                if side not in self.columns:
                    raise self.complaint(f"a column {side} beside {RUNS}", [side])
            sizes = np.stack([self.whole(side) for side in RUN_SIZE], axis=1).tolist()
        outlines = CellOutlines(self.count)
        faults: dict[int, ReadError] = {}
        for key in (RINGS, RUNS):
            for row, value in enumerate(self.columns.get(key, ())):
                try:
                    outlines.take(self.place(row), row, value, sizes[row] if sizes else None)
                except ReadError as error:
                    faults[row] = error
        self.refuse_all(faults)
        return outlines.columns()

    def keypoints(self) -> Keypoints | None:
        """Return the keypoints, where rows have some."""
        if POSE not in self.columns:
            return None
        given = list(self.columns[POSE])
        values = [np.empty(0) if is_absent(pose) else floats_of(pose) for pose in given]
        odd = {row: pose for row, pose in enumerate(values) if pose is None or not is_pose(pose)}
        found = {row: excerpt(str(given[row])) if p is None else f"{p.size} numbers" for row, p in odd.items()}
        self.refuse(f"x, y and visibility of each point in {POSE}", found)
        return Keypoints.of(values) if any(pose is not None and pose.size for pose in values) else None

    def flags(self, key: str) -> NDArray[np.bool_]:
        """Return a column of 0 and 1 as booleans; empty cells are False."""
        values = np.nan_to_num(self.numbers(key))
        odd = np.flatnonzero(~np.isin(values, (0, 1))).tolist()
        self.refuse(f"0 or 1 in {key}", {row: str(values[row]) for row in odd})
        return values.astype(np.bool_)


def describe(cell: Any) -> str:
    """Quote an invalid cell for a message."""
    return "none" if is_absent(cell) else excerpt(str(cell))


def by_number(**tables: Images | Labels) -> tuple[str, ...]:
    """Return the names of the tables that have ids only."""
    return tuple(name for name, table in tables.items() if table.names is None)


def are_absent(values: Any) -> NDArray[np.bool_]:
    """Mark the empty cells of a column."""
    if is_objects(values):
        return np.array([is_absent(value) for value in values], dtype=np.bool_)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=np.bool_)


def is_objects(values: Any) -> bool:
    """Tell whether a column holds Python objects rather than numbers of one type."""
    return not hasattr(values, "dtype") or values.dtype.kind == "O"


def is_numeric(value: Any) -> bool:
    """Tell whether a cell can become a float64; None counts, as it becomes NaN."""
    if isinstance(value, str):
        return is_number(value)
    if isinstance(value, int):
        return abs(value) <= float_info.max
    return value is None or isinstance(value, (float, np.integer, np.floating, np.bool_))


def distinct(
    ids: NDArray[np.int64] | None, names: NDArray[np.object_] | None
) -> tuple[NDArray[np.int32], NDArray[np.int64] | None, list[str] | None]:
    """Return the index of each row's key among the distinct keys, and the ids and names of these.

    Their order is that of the ids, else that of appearance.
    """
    if ids is not None:
        numbers, first, position = np.unique(ids, return_index=True, return_inverse=True)
        return position.astype(np.int32), numbers, None if names is None else [names[i] for i in first]
    assert names is not None
    index: dict[str, int] = {}
    rows = [index.setdefault(name, len(index)) for name in names]
    return np.array(rows, dtype=np.int32), None, list(index)
