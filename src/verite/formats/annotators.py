"""Several annotators of the same images: keys of COCO annotations and columns of tables that name the annotator.

The objects of all annotators together are not a ground truth, because each object occurs once per annotator. The check
V223 reports it; it is detected here. The option `annotator` (``COLUMN=NAME``) reads the objects of one of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, did_you_mean
from verite.files import read_bytes
from verite.formats.json_documents import decode
from verite.model.annotations import Annotations, Annotators

if TYPE_CHECKING:
    from verite.files import JsonObject

WHO = r"(?:annotator|rater|reader|rad|radiologist|labell?er|worker|expert)(?:_?(?:id|name))?|annotated_by"
COLUMN = re.compile(WHO, re.IGNORECASE)


def choose_annotator(option: str, who: Iterable[Any]) -> tuple[str, str]:
    """Split the option ``COLUMN=NAME``, and refuse a name that no object has.

    Parameters
    ----------
    option : str
        As typed.
    who : iterable
        The annotator of every object, out of that column.

    Raises
    ------
    BadParameter
        If the name is missing or unknown; the message lists the annotators and their objects.
    """
    column, _, name = option.partition("=")
    counts = Counter(str(one) for one in who if one is not None)
    if not name or name not in counts:
        listed = ", ".join(f"{one} ({count:,} objects)" for one, count in counts.most_common(12)) or "none"
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        raise BadParameter(f"annotator: expected {column}=NAME, NAME one of {listed}{more}; found {option!r}")
    return column, name


def complete_annotator(option: str, columns: Mapping[str, Iterable[Any]]) -> str:
    """Return ``COLUMN=NAME`` for a name alone, where a column called annotator, rater or the like has it.

    >>> complete_annotator("bob", {"rater": ["ann", "bob"], "label": ["cat", "dog"]})
    'rater=bob'
    """
    if "=" in option or option in columns:
        return option
    found = [key for key in columns if COLUMN.fullmatch(key) and option in {str(one) for one in columns[key]}]
    return f"{found[0]}={option}" if len(found) == 1 else option


def annotations_of_one(path: Path, option: str) -> JsonObject:
    """Return a COCO document with the objects of one annotator, and the images in which this annotator has any."""
    document = decode(path, dict[str, Any])
    objects = [one for one in document.get("annotations") or [] if isinstance(one, dict)]
    named = {key for one in objects for key in one if COLUMN.fullmatch(key)}
    option = complete_annotator(option, {key: [one.get(key) for one in objects] for key in sorted(named)})
    column = option.partition("=")[0]
    if not any(column in one for one in objects):
        keys = sorted({key for one in objects[:1000] for key in one})
        near = did_you_mean(column, keys)
        raise BadParameter(f"annotator: expected a key of the annotations ({', '.join(keys)}), found {column!r}{near}")
    column, name = choose_annotator(option, (one.get(column) for one in objects))
    mine = [one for one in objects if str(one.get(column)) == name]
    seen = {one.get("image_id") for one in mine}
    images = [image for image in document.get("images") or [] if isinstance(image, dict) and image.get("id") in seen]
    return {**document, "annotations": mine, "images": images}


def count_annotators(key: str, who: Iterable[Any], images: Iterable[Any]) -> Annotators | None:
    """How many objects each annotator has, if some images are annotated by several; else None.

    Parameters
    ----------
    key
        The key or column that names annotators.
    who
        The annotator of each object; None where it is not stated.
    images
        The image of each object.

    Returns
    -------
    Annotators | None
        Objects per annotator, most first: where several annotate an image, its objects occur several times in a
        ground truth.
    """
    named = ((one, image) for one, image in zip(who, images, strict=True) if one is not None)
    pairs = [(name, str(image)) for one, image in named if (name := str(one))]
    several = sum(count > 1 for count in Counter(image for _, image in set(pairs)).values())
    counts = Counter(one for one, _ in pairs)
    return Annotators(key, tuple(counts.most_common()), several) if several else None


def with_annotators(annotations: Annotations, found: Annotators | None) -> Annotations:
    """Record the annotators in the source of a ground truth; predictions are returned unchanged.

    Parameters
    ----------
    annotations
        What a reader returned.
    found
        The annotators; None for one annotator per image.

    Returns
    -------
    Annotations
        The same annotations; a check warns about ground truth of several annotators.
    """
    if found is None or annotations.confidence is not None:
        return annotations
    return annotations.with_source(replace(annotations.source, annotators=found))


def annotators_of_records(records: Any) -> Annotators | None:
    """Those of COCO's annotations."""
    if not isinstance(records, (list, tuple)) or not records or not isinstance(records[0], Mapping):
        return None
    key = next((key for key in records[0] if isinstance(key, str) and COLUMN.fullmatch(key)), None)
    if key is None:
        return None
    rows = [record for record in records if isinstance(record, Mapping)]
    return count_annotators(key, (r.get(key) for r in rows), (r.get("image_id") for r in rows))


def annotators_of_file(path: Path, keys: Iterable[str]) -> Annotators | None:
    """Those of a COCO file whose records have these other keys; it is parsed again only if one names annotators."""
    if not any(COLUMN.fullmatch(key) for key in keys):
        return None
    import json

    try:
        return annotators_of_records(json.loads(read_bytes(path)).get("annotations"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return None  # what is wrong with the file is for its reader to say


def annotators_of_columns(columns: Mapping[str, Any], image: str | None) -> Annotators | None:
    """Return the annotators of a table.

    Parameters
    ----------
    columns
        Columns of a table by name.
    image
        Name of the column of images; None if there is none.

    Returns
    -------
    Annotators | None
        The annotators, by the first column that is called annotator, rater, reader or the like.
    """
    key = next((key for key in columns if isinstance(key, str) and COLUMN.fullmatch(key)), None)
    if key is None or image is None:
        return None
    return count_annotators(key, columns[key], columns[image])
