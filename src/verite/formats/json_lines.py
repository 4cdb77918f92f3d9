"""COCO results as JSON lines: a record per line, as detectors write them while they run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec

from verite import _core
from verite.errors import ReadError
from verite.files import read_bytes, write_atomically
from verite.formats import coco_results
from verite.formats.format import Format, Look, Options
from verite.limits import limit
from verite.model.annotations import Annotations
from verite.model.complaints import in_our_words
from verite.threads import thread_count


def recognise(look: Look) -> str | None:
    first = "" if look.is_folder else look.head.lstrip().partition("\n")[0].rstrip()
    is_record = first.startswith("{") and first.endswith("}") and "[{" not in first.replace(" ", "")
    if is_record and '"image_id"' in first and '"category_id"' in first:
        return "a JSON object with image_id per line"
    return None


def read(path: Path, options: Options) -> Annotations:
    return read_results(path, join_lines(read_bytes(path).removeprefix(b"\xef\xbb\xbf")), options, "json-lines")


def read_results(path: Path, content: bytes, options: Options, format: str) -> Annotations:
    """Results out of an array that is not quite the file's: numbers of bytes would be those of another text."""
    try:
        with in_our_words(path):
            file = _core.read_coco_bytes(content, thread_count(), limit("json_depth"))
    except ReadError as error:
        found = re.sub(r" at byte \d+", "", error.found)
        raise ReadError(error.where, expected=error.expected, found=found, remedy=error.remedy) from None
    annotations = coco_results.results(path, file, options)
    return annotations.said_to_be(replace(annotations.source, format=format))


def join_lines(content: bytes) -> bytes:
    """The array of all lines; the place `results[7]` in a message is then the eighth line that is not empty."""
    return b"[" + b",\n".join(line for line in content.splitlines() if line.strip()) + b"]"


def write(annotations: Annotations, path: Path) -> None:
    lines = [msgspec.json.encode(record) + b"\n" for record in coco_results.records_of(annotations, path)]
    write_atomically(path, b"".join(lines))


FORMAT = Format(
    name="json-lines",
    title="COCO results as JSON lines",
    about="a record of COCO results per line",
    recognise=recognise,
    read=read,
    write=write,
    holds=coco_results.FORMAT.holds,
    needs=coco_results.FORMAT.needs,
    honours=coco_results.FORMAT.honours,
    suffixes=(".jsonl",),
    sides=("pred",),
)
