"""What comes packed: `.gz`, `.zst`, `.zip` and standard input, unpacked beside nobody's files and within bounds.

The contents lie in a temporary folder until they are read, polygons and masks included, and are gone then. Messages
speak of the package, not of that folder. Of photographs in a `.zip` only the beginning is kept, which tells their size.
"""

from __future__ import annotations

import gzip
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from verite.errors import BadParameter, ReadError, VeriteError, excerpt
from verite.files import check_file, most_unpacked, reason, too_much
from verite.limits import limit, remedy
from verite.model.complaints import translate_core_errors
from verite.model.images import IMAGE_SUFFIXES

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


STANDARD_INPUT = "-"

CHUNK = 1 << 20

ZSTD_CHUNK = 1 << 10

HEAD = 1 << 18  # of a photograph

WHOLE = (".png", ".gif")  # pictures whose pixels may be annotations

MAGIC = {b"\x1f\x8b": ".gz", b"PK\x03\x04": ".zip", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class Package:
    """Contents and what messages call them."""

    name: str
    place: Path

    def rename(self, text: str) -> str:
        """A message about the contents in the words of whoever named the package."""
        return text.replace(f"{self.place}/", f"{self.name}/").replace(str(self.place), self.name)

    def explain(self, error: ReadError) -> ReadError:
        parts = (error.expected, error.found, error.remedy)
        expected, found, hint = (self.rename(part) for part in parts)
        return ReadError(self.rename(error.where), expected=expected, found=found, remedy=hint)


def unpack(path: Path, folder: Path) -> Package:
    """The contents of a file that is packed, in a folder that is there; a package in a package is not opened."""
    check_file(path)
    if not path.stat().st_size:
        raise ReadError(path, expected=f"a whole {path.suffix.lower()} file", found="an empty one (V403)")
    try:
        return Package(str(path), UNPACKERS[path.suffix.lower()](path, folder))
    except VeriteError:
        raise
    except Exception as error:  # whatever zlib, lzma, zstandard and zipfile make of a broken file
        if isinstance(error, OSError) and error.errno is not None:  # the system's word, not that of the package
            raise ReadError(path, expected="files that can be unpacked here", found=reason(error)) from None
        expected = f"a whole {path.suffix.lower()} file"
        raise ReadError(
            path, expected=expected, found=excerpt(str(error) or "none"), remedy="was it cut off? (V403)"
        ) from None


def unpack_standard_input(folder: Path) -> Package:
    """Everything that standard input says, by a suffix that fits how it begins."""
    stream = sys.stdin.buffer
    raw = folder / "stdin"
    copy(iter(partial(stream.read, CHUNK), b""), raw, "standard input", most=limit("file_bytes"))
    start = start_of(raw)
    if not start.strip():
        raise ReadError("standard input", expected="annotations", found="nothing")
    packed = next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), None)
    place = raw
    if packed is not None:
        inside = folder / "contents"
        inside.mkdir()
        raw = raw.rename(folder / f"stdin{packed}")
        try:
            place = unpack(raw, inside).place
        except ReadError as error:
            raise Package("standard input", raw).explain(error) from None
    return Package("standard input", name_by_contents(place))


def start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def name_by_contents(path: Path) -> Path:
    """A file that has no suffix gets the one that fits how it begins."""
    if path.is_dir() or path.suffix:
        return path
    text = start_of(path).decode("utf-8-sig", "replace").lstrip()
    line = text.partition("\n")[0]
    suffix = ".json" if text[:1] in ("[", "{") else ".xml" if text[:1] == "<" else ".csv" if "," in line else ".txt"
    return path.rename(path.with_suffix(suffix))


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder for what is read and not wanted any more."""
    with TemporaryDirectory(prefix="verite-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def load_outlines(annotations: Annotations) -> Annotations:
    """Polygons and masks of a COCO file are read when they are first asked for: now, while the file is there."""
    with translate_core_errors():
        annotations.columns.regions.load()
    return annotations


def copy(chunks: Iterable[bytes], target: Path, name: str, *, most: int) -> int:
    """So many bytes, or a refusal to write more; returns how many there were."""
    written = 0
    with target.open("wb") as out:
        for data in chunks:
            written += len(data)
            if written > most:
                raise too_much(name, most)
            out.write(data)
    return written


def unpack_stream(unpacked: Callable[[Path], Iterator[bytes]], path: Path, folder: Path) -> Path:
    target = folder / (path.stem or "contents")
    copy(unpacked(path), target, str(path), most=most_unpacked(path))
    return target


def unpack_gzip(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as stream:
        while data := stream.read(CHUNK):
            yield data


def unpack_zstd(path: Path) -> Iterator[bytes]:
    """All frames of a file, each to its end: zstandard's own reader stops at an unfinished one without an error."""
    try:
        import zstandard
    except ImportError:
        name = path.name if path.name.startswith("stdin") else path
        raise BadParameter(f"{name}: expected zstandard to read it, found none; pip install verite[zstd]") from None
    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    with path.open("rb") as stream:
        # Four bytes may stand for 128 KiB: a small piece bounds what comes out of it at once.
        while data := stream.read(ZSTD_CHUNK):
            while data:
                frame = decompressor.decompressobj() if frame.eof else frame
                yield frame.decompress(data)
                data = frame.unused_data
    if not frame.eof:
        raise EOFError("the end of the file inside a frame")


def unpack_zip(path: Path, folder: Path) -> Path:
    """All files, within bounds and inside the folder; a single folder or file around everything is looked through."""
    left = most_unpacked(path)
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        if len(members) > limit("unpacked_files"):
            most = f"at most {limit('unpacked_files'):,} files"
            raise ReadError(path, expected=most, found=f"{len(members):,}", remedy=remedy("unpacked_files"))
        for member in members:
            if not member.filename:
                raise ReadError(path, expected="a name for every file of the archive", found="none")
            if member.flag_bits & 1:
                raise ReadError(path, expected="an archive that is not encrypted", found="an encrypted one")
            parts = PurePosixPath(member.filename.replace("\\", "/")).parts
            if not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0] or "\0" in member.filename:
                raise ReadError(path, expected="names inside the archive's own folder", found=excerpt(member.filename))
            if parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts):
                continue
            target = folder.joinpath(*parts)
            if os.path.lexists(target):  # an archive may hold a name twice: one of them would be lost
                raise ReadError(
                    path, expected="each name once in the archive", found=f"a second {excerpt(member.filename)}"
                )
            left -= extract(archive, member, target, str(path), left)
    return look_through(folder)


def extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, name: str, most: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    suffix = target.suffix.lower()
    with archive.open(member) as stream:
        if suffix in IMAGE_SUFFIXES and suffix not in WHOLE:
            head = stream.read(min(HEAD, most))
            target.write_bytes(head)
            return len(head)
        return copy(iter(partial(stream.read, CHUNK), b""), target, name, most=most)


def look_through(folder: Path) -> Path:
    """The folder in the folder in … that holds something besides a folder, or the only annotation file in it."""
    inside = sorted(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        return look_through(inside[0])
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix.lower() not in IMAGE_SUFFIXES]
    return files[0] if len(files) == 1 and files[0].suffix.lower() == ".json" else folder


UNPACKERS: dict[str, Callable[[Path, Path], Path]] = {
    ".gz": partial(unpack_stream, unpack_gzip),
    ".zst": partial(unpack_stream, unpack_zstd),
    ".zip": unpack_zip,
}
