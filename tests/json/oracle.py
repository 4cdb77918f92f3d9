"""What a COCO file says, told slowly by Python's own json module. None of the reader's code or tricks is used here."""

import itertools
import json
import math
from decimal import Decimal, InvalidOperation

import numpy as np

ANNOTATION = ["image_id", "category_id", "bbox", "score", "area", "iscrowd", "ignore", "id", "segmentation"]
IMAGE = ["id", "file_name", "width", "height", "neg_category_ids", "not_exhaustive_category_ids"]
CATEGORY = ["id", "name", "supercategory", "frequency"]


class RefusedError(Exception):
    pass


class Object(list):
    """A JSON object as its (key, value) pairs, repeated keys and all."""


class Number(str):
    """A number as it is written."""


class Constant(str):
    """NaN, Infinity or -Infinity."""


def parse(content: bytes):
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(
            text, object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=Constant
        )
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"not JSON: {error}") from error
    check_tree(document, 0)
    return document


def check_tree(value, depth):
    """What Python lets pass and we do not: half surrogate pairs, deep nesting."""
    if isinstance(value, (Number, Constant)):
        return
    if isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise RefusedError("half of a surrogate pair")
    elif isinstance(value, list):
        if depth >= 64:
            raise RefusedError("too deep")
        for item in value:
            for part in item if isinstance(value, Object) else [item]:
                check_tree(part, depth + 1)


def refuse_constants(value):
    if isinstance(value, Constant):
        raise RefusedError("NaN outside of box, score and area")
    if isinstance(value, list):
        for item in value:
            for part in item if isinstance(value, Object) else [item]:
                refuse_constants(part)


def integer(value) -> int:
    if not isinstance(value, Number):
        raise RefusedError("not an integer")
    mantissa = value.lower().split("e")[0]
    if not mantissa.strip("-0."):
        return 0
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise RefusedError("exponent beyond everything") from error
    if (
        not number.is_finite()
        or number.adjusted() > 20
        or number.adjusted() < 0
        or number != number.to_integral_value()
    ):
        raise RefusedError("not an integer")
    if not -(2**63) <= int(number) < 2**63:
        raise RefusedError("not an int64")
    return int(number)


def double(value) -> float:
    if not isinstance(value, (Number, Constant)):
        raise RefusedError("not a number")
    return float(value)


def flag(value) -> bool:
    if isinstance(value, bool):
        return value
    if integer(value) not in (0, 1):
        raise RefusedError("not a flag")
    return bool(integer(value))


def text(value) -> str:
    if not isinstance(value, str) or isinstance(value, (Number, Constant)):
        raise RefusedError("not text")
    return value


def identifier(value):
    return text(value) if isinstance(value, str) and not isinstance(value, (Number, Constant)) else integer(value)


def box(value):
    if not isinstance(value, list) or isinstance(value, Object):
        raise RefusedError("not a box")
    if not value:
        return None
    if len(value) not in (4, 5):
        raise RefusedError("not four numbers, nor five of a rotated box")
    return [double(part) for part in value][:4]


def integers(value):
    if not isinstance(value, list) or isinstance(value, Object):
        raise RefusedError("not a list")
    return [integer(part) for part in value]


def region(value):
    refuse_constants(value)
    if isinstance(value, Object):
        return 3
    if isinstance(value, list) and not value:
        return 1
    if isinstance(value, list) and isinstance(value[0], list) and not isinstance(value[0], Object):
        return 2
    raise RefusedError("not a region")


def frequency(value):
    if text(value) not in ("r", "c", "f"):
        raise RefusedError("not a frequency")
    return ord(value)


READERS = {
    "annotations": {
        "image_id": identifier,
        "category_id": integer,
        "bbox": box,
        "score": double,
        "area": double,
        "iscrowd": flag,
        "ignore": flag,
        "id": identifier,
        "segmentation": region,
    },
    "images": {
        "id": identifier,
        "file_name": text,
        "width": integer,
        "height": integer,
        "neg_category_ids": integers,
        "not_exhaustive_category_ids": integers,
    },
    "categories": {"id": integer, "name": text, "supercategory": text, "frequency": frequency},
}
NEEDED = {"annotations": ["image_id", "category_id"], "images": ["id"], "categories": ["id"]}


def read_records(section, records):
    if not isinstance(records, list) or isinstance(records, Object):
        raise RefusedError("not an array")
    rows = []
    for record in records:
        if not isinstance(record, Object):
            raise RefusedError("not a record")
        row, seen = {}, set()
        for key, value in record:
            reader = READERS[section].get(key)
            if reader is None:
                refuse_constants(value)
                continue
            if key in seen:
                raise RefusedError("key twice")
            seen.add(key)
            if value is not None:
                row[key] = reader(value)
        row = {key: value for key, value in row.items() if value is not None}
        if any(key not in row for key in NEEDED[section]):
            raise RefusedError("missing key")
        rows.append(row)
    for key, reader in READERS[section].items():
        if reader is identifier and len({type(row[key]) for row in rows if key in row}) > 1:
            raise RefusedError("mixed ids")
    return rows


def read(content: bytes):
    """Rows by section, or RefusedError."""
    document = parse(content)
    sections = {"images": [], "categories": [], "annotations": []}
    if isinstance(document, Object):
        keys = [key for key, _ in document]
        if len(set(keys)) < len(keys):
            raise RefusedError("key twice")
        for key, value in document:
            if key in sections:
                sections[key] = read_records(key, value)
            else:
                refuse_constants(value)
    elif isinstance(document, list):
        keys = []
        sections["annotations"] = read_records("annotations", document)
    else:
        raise RefusedError("neither object nor array")
    return sorted(keys), sections


ABSENT = {"bbox": [math.nan] * 4, "score": math.nan, "area": math.nan}


def split(pair):
    values, starts = pair
    return [values[a:b] for a, b in itertools.pairwise(starts)]


def assert_column(key, column, rows):
    has_it = [key in row for row in rows]
    if column is None:
        assert not any(has_it), key
    elif isinstance(column, tuple):
        parts = split(column) if rows else []
        assert len(parts) == len(rows)
        for part, row in zip(parts, rows, strict=False):
            expected = row.get(key, "")
            found = part.tobytes().decode() if part.dtype == np.uint8 else part.tolist()
            assert found == (expected if key in row else type(found)()), key
    else:
        expected = np.array([row.get(key, ABSENT.get(key, 0)) for row in rows], column.dtype).reshape(column.shape)
        assert column.shape[0] == len(rows), key
        assert np.array_equal(column, expected, equal_nan=column.dtype.kind == "f"), key
        if column.dtype.kind == "f":
            assert np.array_equal(np.signbit(column) & ~np.isnan(column), np.signbit(expected) & ~np.isnan(expected)), (
                key
            )


def assert_same(file, content: bytes, expected):
    """`file` says what the oracle says."""
    keys, sections = expected
    assert file.keys == keys
    for section, rows in sections.items():
        table = getattr(file, section)
        assert table["count"] == len(rows), section
        for key in READERS[section]:
            if key == "segmentation":
                continue
            assert_column(key, table[key], rows)
        for key, present in table["present"].items():
            has_it = [key in row for row in rows]
            if present is True:
                assert all(has_it)
                assert rows
            elif present is False:
                assert not any(has_it)
            else:
                assert present.tolist() == has_it
                assert any(has_it)
                assert not all(has_it)
    rows = sections["annotations"]
    if file.region_kinds is None:
        assert not any("segmentation" in row for row in rows)
    else:
        assert file.region_kinds.tolist() == [row.get("segmentation", 0) for row in rows]
        for kind, start, length in zip(
            file.region_kinds, file.region_bytes.tolist(), file.region_lengths.tolist(), strict=False
        ):
            if kind:
                json.loads(content[start : start + length])
                assert content[start] in b"[{"
                assert content[start + length - 1] in b"]}"
