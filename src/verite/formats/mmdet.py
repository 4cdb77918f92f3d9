"""Predictions of MMDetection 3 (`outputs/preds/*.json`): one file per image with labels, scores and bboxes.

Boxes are corners in pixels; labels are numbers from 0, which the option `names` or the ground truth's order name.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats.exports import files_of, has_keys
from verite.formats.format import FRAMES, Format, Options, PathProbe, class_names
from verite.formats.json_documents import decode
from verite.formats.polygons import check_mask_size, parse_runs
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class MaskRuns(msgspec.Struct):
    """A mask as COCO's RLE, with height and width."""

    counts: str | list[int]
    size: tuple[int, int]


class ImagePredictions(msgspec.Struct):
    """The predictions of one image, a list each."""

    labels: list[int]
    scores: list[float]
    bboxes: list[tuple[float, float, float, float]]
    masks: list[MaskRuns] = []


START = re.compile(r'\{\s*"(labels|scores|bboxes|masks)"\s*:')  # not of a dictionary of images


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is MMDetection's: a JSON object with labels, scores and bboxes."""
    for head in probe.documents.values():
        if START.match(head) and has_keys(head, "labels") and ('"scores"' in head or '"bboxes"' in head):
            return "JSON with labels, scores and bboxes, as MMDetection writes one file per image"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image; the name of the file is that of the image."""
    files, why = files_of(path, options)
    names, origin = class_names(options)
    rows = Rows(path, options, names=names, is_numbered=True)
    for file in files:
        with rows.errors:
            found = decode(file, ImagePredictions)
            if not len(found.labels) == len(found.scores) == len(found.bboxes):
                lengths = f"{len(found.labels)}, {len(found.scores)} and {len(found.bboxes)}"
                raise ReadError(file, expected="labels, scores and bboxes of one length", found=lengths)
            rows.add_image(file, file.stem)
            for i, (label, score, box) in enumerate(zip(found.labels, found.scores, found.bboxes, strict=True)):
                where = f"{file}: [{i}]"
                number = label + options.label_offset
                if number < 0 or (names is not None and number >= len(names)):
                    expected = f"a label from 0 to {len(names) - 1} (V206)" if names else "a label from 0 (V206)"
                    raise ReadError(where, expected=expected, found=str(number))
                runs = None
                if i < len(found.masks):
                    height, width = found.masks[i].size
                    check_mask_size(where, height, width)
                    runs = (parse_runs(where, found.masks[i].counts, height, width), (height, width))
                rows.add(where, file.stem, number, box, score, runs=runs)
    why = "; ".join(w for w in (why, f"class names from {origin}" if origin else "") if w)
    return rows.annotations("mmdet", layout="xyxy", why=why)


FORMAT = Format(
    name="mmdet",
    title="MMDetection predictions",
    about="one JSON file per image with labels, scores and bboxes (`outputs/preds`)",
    recognise=recognise,
    read=read,
    options=FRAMES | {"label_offset", "names", "split"},
    suffixes=(".json",),
    sides=("pred",),
)
