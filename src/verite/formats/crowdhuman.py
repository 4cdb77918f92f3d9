"""CrowdHuman's `.odgt` files: one JSON line per image with persons, or with the predictions of a detector.

Boxes are those of the whole body (`fbox`). What CrowdHuman's evaluation ignores, objects with the tag `mask` (images
and reflections of people, dense crowds) and persons with `ignore`, is ignored here: as regions for predictions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.errors import ReadError, excerpt
from verite.formats.exports import files_of, has_keys, records_in
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

Box = tuple[float, float, float, float]
PERSON, MASK = "person", "mask"
SUFFIXES = (".odgt", ".jsonl", ".json")


class Extra(msgspec.Struct):
    """Whether an object is ignored, and whether it is occluded."""

    ignore: int = 0
    occ: int = 0


class Body(msgspec.Struct, rename={"box": "fbox"}):
    """A ground-truth object: left, top, width and height of the whole body."""

    tag: str
    box: Box
    extra: Extra = msgspec.field(default_factory=Extra)


class Detection(msgspec.Struct):
    """A prediction; its tag is the number of the class, 1 for a person."""

    box: Box
    score: float
    tag: int = 1


class Crowd(msgspec.Struct, rename={"name": "ID", "truths": "gtboxes", "preds": "dtboxes"}):
    """One image: its name, its objects, and the predictions of a detector."""

    name: str
    truths: list[Body] | None = None
    preds: list[Detection] | None = None


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is CrowdHuman's: lines with `gtboxes` or `dtboxes`."""
    for head in probe.documents.values():
        if has_keys(head, "ID") and ('"gtboxes"' in head or '"dtboxes"' in head):
            return "JSON lines with gtboxes or dtboxes, as CrowdHuman writes them"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the persons of all images; files with `dtboxes` in every line are predictions."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    found = [(where, one) for file in files for where, one in records_in(file, Crowd)]
    is_pred = bool(found) and all(one.preds is not None for _, one in found)
    for where, one in found:
        with rows.errors:
            rows.add_image(where, one.name)
            if is_pred:
                add_predictions(rows, where, one)
            elif one.truths is None:
                raise ReadError(where, expected="gtboxes, the objects of the image", found="none")
            else:
                add_objects(rows, where, one.name, one.truths)
    if ignored := len(rows.flags["ignore_region"]):
        rows.notes.append(f"{ignored:,} objects are ignored (mask, ignore): regions for predictions")
    return rows.annotations("crowdhuman", layout="xywh", why=why)


def add_objects(rows: Rows, where: str, image: str, bodies: list[Body]) -> None:
    """Add the ground-truth objects of an image."""
    for i, body in enumerate(bodies):
        place = f"{where}.gtboxes[{i}]"
        with rows.errors:
            if body.tag not in (PERSON, MASK):
                raise ReadError(place, expected=f"the tag {PERSON} or {MASK}", found=excerpt(body.tag))
            is_ignored = body.tag == MASK or body.extra.ignore != 0
            flags = ["ignore", "ignore_region"] if is_ignored else []
            rows.add(place, image, PERSON, body.box, flags=flags + ["occluded"] * (body.extra.occ != 0))


def add_predictions(rows: Rows, where: str, one: Crowd) -> None:
    """Add the predictions of an image; ground truth that is repeated beside them is left out."""
    if one.truths:
        rows.remark("ground truth beside predictions left out", where)
    for i, found in enumerate(one.preds or []):
        place = f"{where}.dtboxes[{i}]"
        with rows.errors:
            if found.tag != 1:
                raise ReadError(place, expected="the tag 1, a person", found=str(found.tag))
            rows.add(place, one.name, PERSON, found.box, found.score)


FORMAT = Format(
    name="crowdhuman",
    title="CrowdHuman odgt",
    about="one JSON line per image with `gtboxes` (whole bodies; `mask` and `ignore` are ignored) or `dtboxes`",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=SUFFIXES,
)
