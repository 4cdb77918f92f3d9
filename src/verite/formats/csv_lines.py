"""CSV as people have it: commas, semicolons or tabs, columns in any order, their names in any case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from verite.csv_files import SHORT, Line, check_width, header_of, lines_of, parse_csv, separator_of
from verite.errors import ErrorCollector, ReadError, did_you_mean, excerpt
from verite.formats.format import PathProbe


@dataclass(frozen=True)
class CsvTable:
    """A file's columns that we know, by name, and its lines below the header."""

    file: Path
    width: int
    columns: dict[str, int]
    lines: list[Line]

    def records(self, tolerance: ErrorCollector) -> Iterator[tuple[str, dict[str, str]]]:
        """Place and known cells of every line."""
        for number, line in self.lines:
            where = f"{self.file}:{number}"
            with tolerance:
                check_width(where, line, self.width)
                yield where, {name: line[i] for name, i in self.columns.items()}


def header_columns(look: PathProbe, known: Sequence[str]) -> dict[str, int]:
    """The known columns of a CSV file, or of the only one in a folder; none where it is something else."""
    files = [look.path] if not look.is_folder else look.with_suffix(".csv")
    if len(files) != 1:
        return {}
    header = header_of(PathProbe(files[0]).head)
    return find_columns(cells(header, separator_of(header)), known)


def find_columns(header: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Where the columns we know are, whatever the case of their names."""
    names = {name.casefold(): name for name in known}
    found: dict[str, int] = {}
    for i, cell in enumerate(header):
        if (key := cell.strip().casefold()) in names:
            found.setdefault(names[key], i)
    return found


def read_csv_table(path: Path, required: Sequence[str], known: Sequence[str], *, longest: int = SHORT) -> CsvTable:
    """The file, its required columns all there and no known one twice. `longest`: characters that a cell may have."""
    file = the_file(path)
    lines = lines_of(file, longest)
    number, header = next(lines, (1, []))
    columns = find_columns(header, known)
    for name in required:
        if name not in columns:
            found = excerpt(",".join(header)) if header else "an empty file"
            others = (cell.strip() for i, cell in enumerate(header) if i not in columns.values())
            remedy = f"{did_you_mean(name, others).removeprefix('; ') or 'its header must name it'} (V415)"
            raise ReadError(f"{file}:{number}", expected=f"a column {name}", found=found, remedy=remedy)
    again = next((c for i, c in enumerate(header) if i not in columns.values() and find_columns([c], known)), None)
    if again is not None:
        raise ReadError(f"{file}:{number}", expected="each column once", found=f"a second {excerpt(again)}")
    return CsvTable(file, len(header), columns, list(lines))


def separator_in(file: Path) -> str:
    return separator_of(header_of(PathProbe(file).head))


def cells(line: str, separator: str) -> list[str]:
    """The cells of a header line; none where it is no CSV."""
    try:
        return next(parse_csv(line, separator), (1, []))[1]
    except ReadError:
        return []


def the_file(path: Path) -> Path:
    """The CSV file itself, or the only one in a folder."""
    files = PathProbe(path).with_suffix(".csv") if path.is_dir() else [path]
    if len(files) != 1:
        raise ReadError(path, expected="one CSV file", found=str(len(files)), remedy="name the file")
    return files[0]
