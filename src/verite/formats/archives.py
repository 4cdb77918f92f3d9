"""Compressed input: `.gz`, `.zst`, `.zip`, `.tar`, `.tar.gz`, pipes and streams, unpacked to a folder within limits.

The contents exist until they are read, polygons and masks included. Messages name the archive, not that folder. Of
photographs in a `.zip` only the first 256 KiB are kept, which contain their size. Names that leave the folder,
duplicates, encrypted members and decompression bombs are refused.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, ReadError, VeriteError, excerpt
from verite.files import check_file, most_unpacked, reason, too_much, translate_core_errors
from verite.limits import limit, remedy
from verite.model.images import IMAGE_SUFFIXES

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


STANDARD_INPUT = "-"

CHUNK = 1 << 20

ZSTD_CHUNK = 1 << 10

HEAD = 1 << 18  # of a photograph

WHOLE = (".png", ".gif")  # images whose pixels may be annotations

MAGIC = {b"\x1f\x8b": ".gz", b"PK\x03\x04": ".zip", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class Archive:
    """Unpacked contents (`place`), and the name of the archive in messages."""

    name: str
    place: Path

    def rename(self, text: str) -> str:
        """Replace the temporary path in a text by the name of the archive."""
        return text.replace(f"{self.place}/", f"{self.name}/").replace(str(self.place), self.name)

    def explain(self, error: ReadError) -> ReadError:
        """Return the same error in terms of the archive."""
        parts = (error.expected, error.found, error.remedy)
        expected, found, hint = (self.rename(part) for part in parts)
        return ReadError(self.rename(error.where), expected=expected, found=found, remedy=hint)


def unpack(path: Path, folder: Path) -> Archive:
    """Unpack a file to an existing folder; an archive inside the archive is not opened.

    Raises
    ------
    ReadError
        If the file is empty, broken, or unpacks to more than the limits allow.
    BadParameter
        If `.zst` is given and the package zstandard is missing.
    """
    check_file(path)
    if not path.stat().st_size:
        raise ReadError(path, expected=f"a whole {path.suffix.lower()} file", found="an empty one (V403)")
    is_tar = path.name.lower().endswith((".tar", ".tgz", ".tar.gz"))
    try:
        return Archive(str(path), (unpack_tar if is_tar else UNPACKERS[path.suffix.lower()])(path, folder))
    except VeriteError:
        raise
    except Exception as error:  # whatever zlib, lzma, zstandard and zipfile make of a broken file
        if isinstance(error, OSError) and error.errno is not None:  # the system's word, not that of the package
            raise ReadError(path, expected="files that can be unpacked here", found=reason(error)) from None
        expected = f"a whole {path.suffix.lower()} file"
        raise ReadError(
            path, expected=expected, found=excerpt(str(error) or "none"), remedy="was it cut off? (V403)"
        ) from None


def save_stream(stream: Any, folder: Path, name: str, suffix: str = "") -> Archive:
    """Save a stream of bytes or text to a folder, unpack it if it is compressed, and give it a fitting suffix.

    Parameters
    ----------
    stream : file object
        Has `read`; it is read to its end.
    folder : Path
        An existing, empty folder.
    name : str
        What messages call it.
    suffix : str, optional
        Suffix of the file that the stream is of, where it is known.
    """
    raw = folder / "stdin"
    chunks = iter(partial(stream.read, CHUNK), b"")
    if hasattr(stream, "encoding"):  # text
        chunks = (text.encode() for text in iter(partial(stream.read, CHUNK), ""))
    copy(chunks, raw, name, most=limit("file_bytes"))
    start = start_of(raw)
    if not start.strip():
        raise ReadError(name, expected="annotations", found="nothing")
    packed = next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), None)
    place = raw
    if packed is not None:
        inside = folder / "contents"
        inside.mkdir()
        raw = raw.rename(folder / f"stdin{packed}")
        try:
            place = unpack(raw, inside).place
        except ReadError as error:
            raise Archive(name, raw).explain(error) from None
    elif suffix:
        place = raw.rename(raw.with_suffix(suffix))
    if not place.is_dir() and not place.suffix:  # named by how it begins
        text = start_of(place).decode("utf-8-sig", "replace").lstrip()
        line = text.partition("\n")[0]
        kind = ".json" if text[:1] in ("[", "{") else ".xml" if text[:1] == "<" else ".csv" if "," in line else ".txt"
        place = place.rename(place.with_suffix(kind))
    return Archive(name, place)


def start_of(path: Path) -> bytes:
    """Return the first 4 KiB of a file."""
    with path.open("rb") as file:
        return file.read(4096)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder that is removed at the end of the `with` block."""
    with TemporaryDirectory(prefix="verite-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def load_masks(annotations: Annotations) -> Annotations:
    """Parse polygons and masks now, while the file exists; they are otherwise parsed at first use."""
    with translate_core_errors():
        annotations.columns.regions.load()
    return annotations


def copy(chunks: Iterable[bytes], target: Path, name: str, *, most: int) -> int:
    """Write chunks to a file, up to `most` bytes; returns the number of bytes."""
    written = 0
    with target.open("wb") as out:
        for data in chunks:
            written += len(data)
            if written > most:
                raise too_much(name, most)
            out.write(data)
    return written


def unpack_stream(unpacked: Callable[[Path], Iterator[bytes]], path: Path, folder: Path) -> Path:
    """Unpack a compressed file to a file of its name without suffix.

    Parameters
    ----------
    unpacked
        Yields the unpacked bytes of a file piece by piece.
    path
        The compressed file.
    folder
        Temporary folder.

    Returns
    -------
    Path
        The unpacked file. Its suffix, which helps to recognise the format, is the one below the compression's.
    """
    target = folder / (path.stem or "contents")
    copy(unpacked(path), target, str(path), most=most_unpacked(path))
    return target


def unpack_gzip(path: Path) -> Iterator[bytes]:
    """Yield the uncompressed contents of a gzip file in chunks."""
    with gzip.open(path, "rb") as stream:
        while data := stream.read(CHUNK):
            yield data


def unpack_zstd(path: Path) -> Iterator[bytes]:
    """Yield the contents of all frames of a Zstandard file; zstandard's own reader ignores an unfinished last one."""
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
    """Extract all members within the limits, then descend into a single enclosing folder or file."""
    left = most_unpacked(path)
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        check_number(path, len(members))
        for member in members:
            if member.flag_bits & 1:
                raise ReadError(path, expected="an archive that is not encrypted", found="an encrypted one")
            target = target_of(path, member.filename, folder)
            if target is not None:
                with archive.open(member) as stream:
                    left -= extract(stream, target, str(path), left)
    return innermost_folder(folder)


def unpack_tar(path: Path, folder: Path) -> Path:
    """Extract the files of a `.tar`, `.tgz` or `.tar.gz` within the limits; links and devices are skipped."""
    left = most_unpacked(path)
    with tarfile.open(path) as archive:
        number = 0
        for member in archive:
            if not member.isreg():
                continue
            number += 1
            check_number(path, number)
            target = target_of(path, member.name.removeprefix("./"), folder)
            stream = archive.extractfile(member) if target is not None else None
            if target is not None and stream is not None:
                left -= extract(stream, target, str(path), left)
    if not number:
        raise ReadError(path, expected="files in the archive", found="none")
    return innermost_folder(folder)


def check_number(path: Path, number: int) -> None:
    """Refuse archives of more files than the limit.

    Parameters
    ----------
    path
        The archive.
    number
        Number of its entries, as its index states it.
    """
    if number > limit("unpacked_files"):
        most = f"at most {limit('unpacked_files'):,} files"
        raise ReadError(path, expected=most, found=f"{number:,}", remedy=remedy("unpacked_files"))


def target_of(path: Path, name: str, folder: Path) -> Path | None:
    """Return where a member of an archive goes; None for hidden files. Names that leave the folder are refused."""
    if not name:
        raise ReadError(path, expected="a name for every file of the archive", found="none")
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0] or "\0" in name:
        raise ReadError(path, expected="names inside the archive's own folder", found=excerpt(name))
    if parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts):
        return None
    target = folder.joinpath(*parts)
    if os.path.lexists(target):  # an archive may hold a name twice: one of them would be lost
        raise ReadError(path, expected="each name once in the archive", found=f"a second {excerpt(name)}")
    return target


def extract(stream: Any, target: Path, name: str, most: int) -> int:
    """Save one member and return its number of bytes; of photographs only the head, which has the size."""
    target.parent.mkdir(parents=True, exist_ok=True)
    suffix = target.suffix.lower()
    if suffix in IMAGE_SUFFIXES and suffix not in WHOLE:
        head = stream.read(min(HEAD, most))
        target.write_bytes(head)
        return len(head)
    return copy(iter(partial(stream.read, CHUNK), b""), target, name, most=most)


def innermost_folder(folder: Path) -> Path:
    """Descend while a folder has nothing but one folder; return that, or the only annotation file (JSON) in it."""
    inside = sorted(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        return innermost_folder(inside[0])
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix.lower() not in IMAGE_SUFFIXES]
    return files[0] if len(files) == 1 and files[0].suffix.lower() == ".json" else folder


UNPACKERS: dict[str, Callable[[Path, Path], Path]] = {
    ".gz": partial(unpack_stream, unpack_gzip),
    ".zst": partial(unpack_stream, unpack_zstd),
    ".zip": unpack_zip,
    ".tar": unpack_tar,
    ".tgz": unpack_tar,
}
