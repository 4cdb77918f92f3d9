"""COCO results inside an object, `{"predictions": [...]}`, as some tools wrap them; what else is in it is left out.

Some say `results` or `detections` instead.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats import coco_results
from verite.formats.document import decode
from verite.formats.format import Format, Look, Options
from verite.formats.json_lines import read_results
from verite.model.annotations import Annotations

START = re.compile(r'\{[^\[]*"(predictions|results|detections)"\s*:\s*\[\s*[\]{]')


class ResultsDocument(msgspec.Struct):
    predictions: msgspec.Raw = msgspec.Raw()
    results: msgspec.Raw = msgspec.Raw()
    detections: msgspec.Raw = msgspec.Raw()

    @property
    def records(self) -> bytes:
        return bytes(self.predictions) or bytes(self.results) or bytes(self.detections)


def recognise(look: Look) -> str | None:
    start = "" if look.is_folder else look.head.lstrip()
    found = START.match(start)
    if found and found[0].endswith("]"):
        return f"a JSON object with no {found[1]}"
    return f"a JSON object with {found[1]} that have image_id" if found and '"image_id"' in start else None


def read(path: Path, options: Options) -> Annotations:
    records = decode(path, ResultsDocument).records
    if not records:
        raise ReadError(f"{path}: top level", expected="a key 'predictions', 'results' or 'detections'", found="none")
    return read_results(path, records, options, "results-object")


FORMAT = Format(
    name="results-object",
    title="COCO results in an object",
    about='`{"predictions": […]}` around COCO results',
    recognise=recognise,
    read=read,
    honours=coco_results.FORMAT.honours,
    suffixes=(".json",),
    sides=("pred",),
)
