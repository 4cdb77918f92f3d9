"""What is wrong with a COCO file, all of it? Its records are read in blocks, and those that cannot be are left out.

The native reader ends at the first fault, because nobody wants a number from half of a file. Who wants a list of faults
waits a little longer: the document is taken apart by the standard library, and put together again without wrong ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from verite import _core
from verite.arrays import np
from verite.errors import UNREADABLE, ErrorCollector, ReadError, SkippedRecord
from verite.files import read_text
from verite.formats.archives import Package, load_outlines, new_folder
from verite.formats.coco import explain_fault, region_limits
from verite.formats.format import Options
from verite.limits import limit, remedy
from verite.model.annotations import Annotations
from verite.model.complaints import CODES, translate_core_errors

SECTIONS = ("images", "categories", "annotations")
BLOCK = 2_000  # records that are read together
MOST = 1_000  # wrong records, after which the others are not looked at
POLYGONS, RUNS = 2, 3  # kinds of regions as the reader has them
Records = list[tuple[int, Any]]  # with their numbers in the file
Read = Callable[[Path, Options], Annotations]
PathProbe = Callable[[_core.CocoFile], object]


def read_tolerantly(path: Path, options: Options, read: Read) -> Annotations:
    """What `read` reads, without the records that are wrong, which are its flaws."""
    try:
        annotations = read(path, options)
        annotations.regions.outlines  # noqa: B018 - they are read when first asked for, and faults are found then
        return annotations
    except ReadError as error:
        if error.remedy == remedy("classes"):  # no record is wrong, and to look at each takes minutes
            raise
        return read_rest(path, options, read, error)


def read_rest(path: Path, options: Options, read: Read, first: ReadError) -> Annotations:
    """The records that can be read. A file that has none of a COCO file's sections is as wrong as it was."""
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise first from None
    if not isinstance(document, (dict, list)):
        raise first
    sections: dict[str, Any] = {"": document}
    if isinstance(document, dict):
        sections = {name: document.get(name) for name in SECTIONS}
    if not all(isinstance(records, list) for records in sections.values()):
        raise first
    sieve = Sieve(path, {name: list(enumerate(records)) for name, records in sections.items()})
    sieve.drop_unreadable()
    sieve.drop_unresolved()
    if not sieve.tolerance.flaws:
        raise first
    with new_folder() as folder:
        place = folder / path.name
        place.write_bytes(sieve.document())
        package = Package(str(path), place)
        try:
            annotations = load_outlines(read(place, options))
        except ReadError as error:
            raise package.explain(error) from None
    source = annotations.source
    flaws = (*sieve.tolerance.flaws, *(sieve.in_file(flaw, place) for flaw in source.flaws))
    return annotations.with_source(replace(source, path=str(path), flaws=flaws))


def look_at_fields(file: _core.CocoFile) -> None:
    """They were looked at when the file was read."""


def look_at_polygons(file: _core.CocoFile) -> None:
    if file.region_kinds is not None:
        file.polygons(np.flatnonzero(file.region_kinds == POLYGONS), True, region_limits())


def look_at_runs(file: _core.CocoFile) -> None:
    if file.region_kinds is not None:
        file.runs(np.flatnonzero(file.region_kinds == RUNS), True, region_limits())


class Sieve:
    """The records of a file, section by section, and what was wrong with those that are no longer among them."""

    def __init__(self, path: Path, sections: dict[str, Records]) -> None:
        self.path, self.sections = path, sections
        self.tolerance = ErrorCollector()
        self.count = 0

    def document(self, **only: Records) -> bytes:
        """All records, or these alone, as a file has them."""
        if "" in self.sections:
            return json.dumps([record for _, record in only.get("annotations", self.sections[""])]).encode()
        wanted = {name: only.get(name, []) if only else records for name, records in self.sections.items()}
        return json.dumps({name: [record for _, record in records] for name, records in wanted.items()}).encode()

    def refuse(self, error: ReadError) -> None:
        self.tolerance.add_error(error)
        self.count += 1

    def drop_unreadable(self) -> None:
        """Records whose fields are not what they should be."""
        for section, records in self.sections.items():
            for look in (look_at_fields, *((look_at_polygons, look_at_runs) if section in ("", "annotations") else ())):
                records = list(self.readable(section, records, look))
            self.sections[section] = records

    def readable(self, section: str, records: Records, look: PathProbe) -> Iterator[tuple[int, Any]]:
        """The records at which somebody may look without an error."""
        at = 0
        while at < len(records):
            block = records[at : at + BLOCK]
            error = self.first_fault(section or "annotations", block, look)
            if error is None:
                yield from block
                at += len(block)
                continue
            yield from block[: error.record]
            number = block[error.record][0]
            place = f"{section}[{number}]" + error.place.partition("]")[2]
            expected = error.expected + CODES.get(error.code, "")
            self.refuse(ReadError(f"{self.path}: {place}", expected=expected, found=error.found))
            at += error.record + 1
            if self.count >= MOST:
                self.give_up(f"{section}[{number + 1}]")
                return

    def give_up(self, place: str) -> None:
        what = f"expected at most {MOST:,} wrong records, found more: the others were not looked at"
        self.tolerance.add(UNREADABLE, what, f"{self.path}: {place}", "mend these first")

    def first_fault(self, section: str, block: Records, look: PathProbe) -> Any:
        """What the reader says of the first wrong record of a block; None if all are right."""
        try:
            look(_core.read_coco_bytes(self.document(**{section: block}), 1, limit("json_depth")))
        except _core.ParseError as error:
            fault: Any = error
            if fault.record is None:  # the block as a whole, as when ids are numbers and texts
                raise ReadError(self.path, expected=fault.expected, found=fault.found) from None
            return fault
        return None

    def drop_unresolved(self) -> None:
        """Records that speak of images and classes that are not there, and tables with an id twice."""
        if "" in self.sections:
            return
        while self.count < MOST:
            with translate_core_errors(self.path):
                file = _core.read_coco_bytes(self.document(), 1, limit("json_depth"))
            faults = file.table_faults(region_limits()) or file.objects("xywh", region_limits(), 1)[1]
            if not faults:
                return
            wrong: dict[str, set[int]] = {}
            for fault in faults:
                section, record = fault.section, fault.record
                self.refuse(explain_fault(self.path, file, fault, self.number))
                if fault.code == "size":  # an image without a size is still an image
                    number, image = self.sections[section][record]
                    sizeless = {key: value for key, value in image.items() if key not in ("width", "height")}
                    self.sections[section][record] = (number, sizeless)
                else:
                    wrong.setdefault(section, set()).add(record)
            for section, gone in wrong.items():
                self.sections[section] = [r for i, r in enumerate(self.sections[section]) if i not in gone]

    def in_file(self, flaw: SkippedRecord, copy: Path) -> SkippedRecord:
        """A flaw of what was put together again, as one of the file."""

        def renumber(found: re.Match[str]) -> str:
            return f"{found[1]}[{self.number(found[1], int(found[2]))}]"

        places = (place.replace(str(copy), str(self.path)) for place in flaw.places)
        return replace(flaw, places=tuple(re.sub(rf"({'|'.join(SECTIONS)})\[(\d+)\]", renumber, p) for p in places))

    def number(self, section: str, record: int) -> int:
        """Which record of the file this is."""
        return self.sections[section][record][0]
