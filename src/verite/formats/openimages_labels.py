"""Open Images labels of whole images: a CSV with `ImageID,LabelName,Confidence`; 1: the class is there, 0: it is not.

Read, it is annotations without objects that know what was verified in each image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from verite.errors import ReadError, excerpt
from verite.faults import Tolerance
from verite.files import write_atomically
from verite.formats.class_names import check_name
from verite.formats.csv_lines import header_columns, read_csv_table
from verite.formats.format import Format, Look, Options
from verite.formats.openimages import CORNERS
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.regions import Regions
from verite.model.styles import csv_text
from verite.model.verdicts import ABSENT, PRESENT, Verdicts

REQUIRED = ("ImageID", "LabelName", "Confidence")
SAID = {"1": PRESENT, "1.0": PRESENT, "0": ABSENT, "0.0": ABSENT}


def recognise(look: Look) -> str | None:
    if len(header_columns(look, REQUIRED)) == len(REQUIRED) and not header_columns(look, CORNERS):
        return "a CSV file with ImageID, LabelName and Confidence, and no boxes"
    return None


def read(path: Path, options: Options) -> Annotations:
    images: dict[str, int] = {}
    labels: dict[str, int] = {}
    rows = []
    tolerance = Tolerance()
    for where, line in read_csv_table(path, REQUIRED, REQUIRED).records(tolerance):
        with tolerance:
            image, label, kind = verdict_of(where, line)
            rows.append((images.setdefault(image, len(images)), labels.setdefault(label, len(labels)), kind))
    none = np.empty(0, dtype=np.int32)
    return Annotations(
        images=Images(list(images)),
        labels=Labels(list(labels)),
        image=none,
        label=none,
        regions=Regions(np.empty((0, 4))),
        verdicts=Verdicts.of(rows),
        unit="rel",
        source=Source(str(path), "openimages-labels", flaws=tolerance.flaws),
    )


def verdict_of(where: str, line: Mapping[str, str]) -> tuple[str, str, int]:
    """Image, class, and whether it is there."""
    image, label, word = (line[name].strip() for name in REQUIRED)
    if not image:
        raise ReadError(where, expected="the name of an image", found="an empty one")
    check_name(where, label)
    if word not in SAID:
        expected = "1 or 0 in Confidence: is the class in the image or not"
        raise ReadError(where, expected=expected, found=excerpt(word), remedy="take labels that people verified")
    return image, label, SAID[word]


def write(annotations: Annotations, path: Path) -> None:
    said = annotations.verdicts
    if said is None or not np.isin(said.kind, (PRESENT, ABSENT)).all():
        found = "none" if said is None else "others, too"
        raise ReadError(path, expected="classes that are in whole images or not", found=found)
    rows: list[Sequence[object]] = [REQUIRED]
    for image, label, kind in zip(said.image, said.label, said.kind, strict=True):
        rows.append([annotations.images.name(int(image)), annotations.labels.name(int(label)), int(kind == PRESENT)])
    write_atomically(path, csv_text(rows))


HOLDS = frozenset(
    {"class name", "classes of whole images", "empty image", "image folder or suffix", "image name", "unused class"}
)
FORMAT = Format(
    name="openimages-labels",
    title="Open Images labels of images",
    about="which classes people verified in each image, as CSV; annotations without objects",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"classes of whole images"}),
    honours=frozenset(),
    suffixes=(".csv",),
    sides=("truth",),
)
