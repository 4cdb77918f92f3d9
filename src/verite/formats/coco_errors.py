"""List every error of a COCO file: read its valid records, and collect the invalid ones as `SkippedRecord`.

The native reader stops at the first error, because no score should come from half of a file. `verite inspect` wants all
of them: the document is parsed by the standard library, its records are read in blocks, invalid ones are removed, and
the remaining document is read as usual. Places in messages are those of the original file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import UNREADABLE, ErrorCollector, ReadError, SkippedRecord
from verite.files import CODES, read_text, translate_core_errors
from verite.formats.archives import Archive, load_masks, temporary_folder
from verite.formats.coco import explain_fault, region_limits
from verite.formats.format import Options
from verite.limits import limit, remedy
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from verite.files import JsonObject

SECTIONS = ("images", "categories", "annotations")
BLOCK = 2_000  # records that are read together
MOST = 1_000  # invalid records after which the remaining ones are not checked
POLYGONS, RUNS = 2, 3  # kinds of regions in the native reader
Records = list[tuple[int, Any]]  # each with its index in the file
Read = Callable[[Path, Options], Annotations]
Check = Callable[[_core.CocoFile], object]


def read_and_list_errors(path: Path, options: Options, read: Read) -> Annotations:
    """Read a COCO file; where that fails, read its valid records and list the others in `.source.flaws`.

    Parameters
    ----------
    path : Path
        A COCO document or an array of COCO results.
    options : Options
        Passed on to `read`.
    read : callable
        The strict reader of this format.

    Raises
    ------
    ReadError
        The error of the strict reader, if the file is no JSON, has no COCO sections, or no record is at fault.
    """
    try:
        annotations = read(path, options)
        annotations.regions.outlines  # noqa: B018 - polygons and masks are parsed at first use, errors show up then
        return annotations
    except ReadError as error:
        if error.remedy == remedy("classes"):  # no single record is at fault, and checking each takes minutes
            raise
        first = error
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise first from None
    if not isinstance(document, (dict, list)):
        raise first
    sections: JsonObject = {"": document}
    if isinstance(document, dict):
        sections = {name: document.get(name) for name in SECTIONS}
    if not all(isinstance(records, list) for records in sections.values()):
        raise first
    valid = RecordFilter(path, {name: list(enumerate(records)) for name, records in sections.items()})
    valid.drop_unreadable()
    valid.drop_unresolved()
    if not valid.errors.flaws:
        raise first
    with temporary_folder() as folder:
        place = folder / path.name
        place.write_bytes(valid.document())
        package = Archive(str(path), place)
        try:
            annotations = load_masks(read(place, options))
        except ReadError as error:
            raise package.explain(error) from None
    source = annotations.source
    flaws = (*valid.errors.flaws, *(valid.in_file(flaw, place) for flaw in source.flaws))
    return annotations.with_source(replace(source, path=str(path), flaws=flaws))


def check_polygons(file: _core.CocoFile) -> None:
    """Parse all polygons; the native reader raises `ParseError` at the first invalid one."""
    if file.region_kinds is not None:
        file.polygons(np.flatnonzero(file.region_kinds == POLYGONS), True, region_limits())


def check_masks(file: _core.CocoFile) -> None:
    """Decode all run-length masks; the native reader raises `ParseError` at the first invalid one."""
    if file.region_kinds is not None:
        file.runs(np.flatnonzero(file.region_kinds == RUNS), True, region_limits())


class RecordFilter:
    """The valid records of a COCO file by section, and the errors of those that were removed.

    Attributes
    ----------
    sections : dict[str, Records]
        `images`, `categories` and `annotations`; an array of results is the only section, of the name "".
    errors : ErrorCollector
        One entry per removed record.
    count : int
        Number of removed records; checking stops at `MOST`.
    """

    def __init__(self, path: Path, sections: dict[str, Records]) -> None:
        self.path, self.sections = path, sections
        self.errors = ErrorCollector()
        self.count = 0

    def document(self, **only: Records) -> bytes:
        """Encode all records, or only these, as JSON of the original layout."""
        if "" in self.sections:
            return json.dumps([record for _, record in only.get("annotations", self.sections[""])]).encode()
        wanted = {name: only.get(name, []) if only else records for name, records in self.sections.items()}
        return json.dumps({name: [record for _, record in records] for name, records in wanted.items()}).encode()

    def add_error(self, error: ReadError) -> None:
        """Collect the error of one record."""
        self.errors.add_error(error)
        self.count += 1

    def drop_unreadable(self) -> None:
        """Remove records whose fields have wrong types or values, then those with invalid polygons or masks."""
        for section, records in self.sections.items():
            checks: list[Check] = [lambda file: None]  # parsing the block checks its fields already
            if section in ("", "annotations"):
                checks += [check_polygons, check_masks]
            for check in checks:
                records = list(self.readable(section, records, check))
            self.sections[section] = records

    def readable(self, section: str, records: Records, check: Check) -> Iterator[tuple[int, Any]]:
        """Yield the records that pass a check, and collect the errors of the others."""
        at = 0
        while at < len(records):
            block = records[at : at + BLOCK]
            error = self.first_error(section or "annotations", block, check)
            if error is None:
                yield from block
                at += len(block)
                continue
            yield from block[: error.record]
            number = block[error.record][0]
            place = f"{section}[{number}]" + error.place.partition("]")[2]
            expected = error.expected + CODES.get(error.code, "")
            self.add_error(ReadError(f"{self.path}: {place}", expected=expected, found=error.found))
            at += error.record + 1
            if self.count >= MOST:
                what = f"expected at most {MOST:,} wrong records, found more: the others were not looked at"
                self.errors.add(UNREADABLE, what, f"{self.path}: {section}[{number + 1}]", "fix these first")
                return

    def first_error(self, section: str, block: Records, check: Check) -> Any:
        """Return the native reader's `ParseError` for the first invalid record of a block; None if all are valid."""
        try:
            check(_core.read_coco_bytes(self.document(**{section: block}), 1, limit("json_depth")))
        except _core.ParseError as error:
            fault: Any = error
            if fault.record is None:  # the block as a whole, as when some ids are numbers and some are texts
                raise ReadError(self.path, expected=fault.expected, found=fault.found) from None
            return fault
        return None

    def drop_unresolved(self) -> None:
        """Remove objects of unknown images or classes, and records whose id occurs twice.

        An image of invalid size stays, without its size. Removing an image makes its objects unresolved, hence the
        loop.
        """
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
                self.add_error(explain_fault(self.path, file, fault, self.number))
                if fault.code == "size":
                    number, image = self.sections[section][record]
                    sizeless = {key: value for key, value in image.items() if key not in ("width", "height")}
                    self.sections[section][record] = (number, sizeless)
                else:
                    wrong.setdefault(section, set()).add(record)
            for section, gone in wrong.items():
                self.sections[section] = [r for i, r in enumerate(self.sections[section]) if i not in gone]

    def in_file(self, flaw: SkippedRecord, copy: Path) -> SkippedRecord:
        """Translate a skipped record of the filtered copy to the places of the original file.

        Parameters
        ----------
        flaw
            An invalid record, with the places where it was found.
        copy
            The copy of the file without the records that were skipped before.

        Returns
        -------
        SkippedRecord
            The same error with the indices that records have in the user's file.
        """

        def renumber(found: re.Match[str]) -> str:
            return f"{found[1]}[{self.number(found[1], int(found[2]))}]"

        places = (place.replace(str(copy), str(self.path)) for place in flaw.places)
        return replace(flaw, places=tuple(re.sub(rf"({'|'.join(SECTIONS)})\[(\d+)\]", renumber, p) for p in places))

    def number(self, section: str, record: int) -> int:
        """Return the index in the original file of a remaining record."""
        return self.sections[section][record][0]
