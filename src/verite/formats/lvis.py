"""LVIS JSON: COCO JSON with the classes that were verified in each image, and the frequency of each class.

`neg_category_ids` of an image are classes verified to be absent, `not_exhaustive_category_ids` those of which not
every object is annotated; classes that are neither annotated nor listed are unknown. `frequency` of a class is `r`,
`c` or `f`: rare, common or frequent. Paper: Gupta, Dollár, Girshick, "LVIS", CVPR 2019.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import ErrorCollector, ReadError, to_format
from verite.formats import coco
from verite.formats.coco import lists_errors, open_coco
from verite.formats.format import Format, Options, PathProbe, tail_of
from verite.model.annotations import Annotations
from verite.model.classes import ABSENT, INCOMPLETE, ImageLevelLabels, Labels
from verite.model.images import positions_in

if TYPE_CHECKING:
    from verite.files import JsonObject

LISTS = {"neg_category_ids": ABSENT, "not_exhaustive_category_ids": INCOMPLETE}
FREQUENCIES = ("r", "c", "f")


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is LVIS JSON: a COCO document with one of LVIS's lists."""
    start = "" if probe.is_folder else probe.head.lstrip()
    if not start.startswith("{") or coco.recognise_document(probe) is None:
        return None
    # Images or categories are at one end of the file, annotations may be at the other.
    for key in ("neg_category_ids", "not_exhaustive_category_ids", "frequency"):
        if f'"{key}"' in start or f'"{key}"' in tail_of(probe.path):
            return f"a JSON object with {key}"
    return None


@lists_errors
def read(path: Path, options: Options) -> Annotations:
    """Read an LVIS document."""
    return document(path, open_coco(path), options)


def document(path: Path, file: _core.CocoFile, options: Options) -> Annotations:
    """Return COCO's document with the image-level labels of classes."""
    plain = coco.document(path, file, options)
    images, categories = file.images, file.categories
    errors = ErrorCollector()
    for key in LISTS:
        need(path, "images", images, key, errors)
    is_grouped = need(path, "categories", categories, "frequency", errors)
    groups = [chr(letter) for letter in categories["frequency"]] if is_grouped else None
    labels = Labels(plain.labels.names, plain.labels.numbers, groups=groups)
    assert labels.ids is not None
    parts = []
    for key, kind in LISTS.items():  # image, label and kind of everything in the lists of this name
        used, offsets = images[key] if images["count"] else (np.empty(0, np.int64), np.zeros(1, np.int64))
        image = np.repeat(np.arange(images["count"]), np.diff(offsets))
        label = positions_in(labels.ids - options.label_offset, used)
        for at in np.flatnonzero(label < 0).tolist():
            with errors:
                place = f"{path}: images[{image[at]}].{key}"
                raise ReadError(place, expected="ids out of categories", found=str(used[at]))
        is_known = label >= 0
        parts.append((image[is_known], label[is_known], np.full(int(is_known.sum()), kind)))
    columns = (np.concatenate(values) for values in zip(*parts, strict=True))
    source = replace(plain.source, format="lvis", flaws=errors.flaws)
    return plain.changed(labels=labels, verdicts=ImageLevelLabels(*columns), source=source)


def need(path: Path, section: str, table: JsonObject, key: str, errors: ErrorCollector) -> bool:
    """Return whether every record has a required key; others are collected as errors."""
    present = table["present"][key]
    path_exists = np.full(table["count"], present) if isinstance(present, bool) else present
    for row in np.flatnonzero(~path_exists).tolist():
        with errors:
            remedy = "LVIS ground truth states which classes were verified in an image, and class frequencies (V414)"
            raise ReadError(f"{path}: {section}[{row}]", expected=f"a key {key!r}", found="none", remedy=remedy)
    return bool(path_exists.all())


def write(annotations: Annotations, path: Path) -> None:
    """COCO's document with LVIS's lists; without verdicts and groups it would not be one."""
    from verite.formats.coco import document_of
    from verite.formats.json_documents import write_json

    groups = annotations.labels.groups
    if groups is None or not set(groups) <= set(FREQUENCIES) or annotations.verdicts is None:
        found = "no frequencies of classes or no classes of whole images"
        raise ReadError(path, expected="an LVIS truth", found=found, remedy=f"write it with {to_format('coco')}")
    document = document_of(annotations, path)
    class_ids = [category["id"] for category in document["categories"]]
    for key, kind in LISTS.items():
        rows = np.flatnonzero(annotations.verdicts.kind == kind)
        for record in document["images"]:
            record[key] = []
        for image, label in zip(annotations.verdicts.image[rows], annotations.verdicts.label[rows], strict=True):
            document["images"][image][key].append(class_ids[label])
    for category, group in zip(document["categories"], groups, strict=True):
        category["frequency"] = group
    write_json(path, document)


PRESERVES = coco.PRESERVES | {"class group", "classes of whole images"}
FORMAT = Format(
    name="lvis",
    title="LVIS JSON",
    about="COCO's with `neg_category_ids`, `not_exhaustive_category_ids` and `frequency`",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class group", "classes of whole images"}),
    options=frozenset({"boxes", "coords", "image_offset", "label_offset"}),
    suffixes=(".json",),
    sides=("truth",),
)
