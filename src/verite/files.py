"""Files: clear errors when they cannot be read, atomic writes of files and folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from verite.errors import IS_COMMAND_LINE, BadParameter, ReadError, did_you_mean, excerpt
from verite.limits import limit, remedy

JsonObject: TypeAlias = dict[str, Any]  # an object of a JSON document that is written, or that was read and not checked


def path_of(given: Any, name: str = "path") -> Path:
    """What a parameter of this name was given, which must be a path."""
    if not isinstance(given, (str, os.PathLike)):
        raise BadParameter(f"{name}: expected the path of a file or folder, found {excerpt(given)}")
    return Path(given)


def find_path(path: str | os.PathLike[str]) -> Path:
    """The path, if something readable is there; otherwise an error that shows the nearest name beside it."""
    found, kind = path_of(path), "file or folder"
    try:
        if found.is_dir():
            kind = "folder"
            os.scandir(found).close()
        elif found.is_file():
            kind = "file"
            found.open("rb").close()
        if found.exists():
            return found
    except PermissionError as error:
        raise ReadError(path, expected=f"a readable {kind}", found=reason(error)) from None
    except (OSError, ValueError) as error:  # names too long, embedded null bytes
        raise ReadError(path, expected="a file or folder", found=f"an unusable name ({reason(error)})") from None
    beside = found.parent if found.parent.is_dir() else None
    near = did_you_mean(found.name, (p.name for p in beside.iterdir())) if beside else ""
    raise ReadError(path, expected="a file or folder", found="nothing", remedy=near.removeprefix("; "))


GLOB_CHARACTERS = "*?["


def is_many(word: object) -> bool:
    """Whether a value stands for several files: a glob, `@LIST.txt`, or a list of paths."""
    if isinstance(word, (str, os.PathLike)):
        text = os.fspath(word)
        is_written_so = isinstance(text, str) and (text.startswith("@") or any(c in text for c in GLOB_CHARACTERS))
        return is_written_so and not path_exists(text)
    return isinstance(word, (list, tuple)) and bool(word) and all(isinstance(w, (str, os.PathLike)) for w in word)


def is_list(text: str) -> bool:
    """Whether a text is `@LIST.txt`, and not the name of an existing file."""
    return text.startswith("@") and not path_exists(text)


def is_pattern(text: str) -> bool:
    """Whether a text is a glob, and not the name of an existing file."""
    return any(letter in text for letter in GLOB_CHARACTERS) and not path_exists(text)


def path_exists(text: str) -> bool:
    """Whether there is such a path; False for names that no file can have."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


PACKED = (".gz", ".zst", ".zip", ".tar", ".tgz")  # of one file, of one file, the others of many
FREE = 1 << 26  # bytes that may come out of anything, however small


def without_suffix(path: str | os.PathLike[str]) -> PurePath:
    """A path without its suffix, and without the one below that of a single packed file.

    >>> [str(without_suffix(path)) for path in ("a/pred.json", "pred.json.gz", "export.v2.zip", "labels")]
    ['a/pred', 'pred', 'export.v2', 'labels']
    """
    bare = PurePath(path)
    for _ in range(2 if bare.suffix.lower() in PACKED[:2] else 1):
        bare = bare.with_suffix("") if bare.suffix else bare
    return bare


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if its name ends in .gz."""
    check_file(path)
    try:
        return unpack_bytes(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except OSError as error:
        raise ReadError(path, expected="a readable file", found=reason(error)) from None


def unpack_bytes(path: Path) -> bytes:
    """Return the contents of a .gz file, up to the limit of unpacked bytes."""
    import gzip
    import zlib

    try:
        with gzip.open(path, "rb") as file:
            content = file.read(most_unpacked(path) + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReadError(path, expected="a whole .gz file", found=str(error), remedy="was it cut off? (V403)") from None
    if len(content) > most_unpacked(path):
        raise too_much(path, most_unpacked(path))
    return content


def most_unpacked(path: Path) -> int:
    """How many bytes may come out of a packed file of this size."""
    return min(limit("file_bytes"), max(FREE, limit("unpacked_ratio") * path.stat().st_size))


def too_much(name: object, most: int) -> ReadError:
    """More comes out of a packed file than may."""
    hint = remedy("unpacked_ratio" if most < limit("file_bytes") else "file_bytes")
    return ReadError(name, expected=f"at most {most:,} bytes, unpacked", found="more", remedy=hint)


def check_file(path: Path) -> None:
    """Refuse what is no regular file (a pipe might never end), and files that are too large."""
    try:
        status = path.stat()
    except OSError as error:
        raise ReadError(path, expected="a readable file", found=reason(error)) from None
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(path, expected="a file", found=KINDS.get(stat.S_IFMT(status.st_mode), "a device"))
    if status.st_size > limit("file_bytes"):
        largest = f"at most {limit('file_bytes'):,} bytes"
        raise ReadError(path, expected=largest, found=f"{status.st_size:,}", remedy=remedy("file_bytes"))


# Kinds of paths besides files and devices.
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{path}:{line}",
            expected="UTF-8 text",
            found=f"byte 0x{raw[error.start]:02x} at position {error.start}",
            remedy="save the file as UTF-8",
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file."""
    return split_lines(read_text(path))


def split_lines(text: str) -> list[str]:
    """The lines of a text, which end at LF, CRLF or CR and nowhere else: a name may have a U+2028 in it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def reason(error: Exception) -> str:
    """Why the system refused, in its own words and without its numbers."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


# What messages add, by the codes of the JSON reader.
CODES = {"run_sum": " (V405)", "ring_points": " (V408)"}
HINTS = {"truncated": "was it cut off? (V403)", "empty": "was it cut off? (V403)"}

# What to write into a field of a record that has a value of another type.
FIELDS = {
    "image_id": "write the id of the image in the ground truth",
    "category_id": "write the id of the class in the ground truth's categories, not its name",
    "score": "write a number without quotation marks",
    "bbox": "write left, top, width, height: [10.5, 20, 30, 40]",
}


@contextmanager
def translate_core_errors(path: object = "") -> Iterator[None]:
    """Raise what the core's reader reports in this block as a `ReadError`.

    Polygons and masks may be read long after their file; `path` names it where the core does not know it.
    """
    from verite import _core

    try:
        yield
    except _core.ParseError as error:
        raise explain_parse_error(path or error.path, error) from None
    except _core.ChangedFileError as error:
        place = path or error.path
        raise ReadError(place, expected="the file as it was when first read", found=str(error)) from None
    except OSError as error:
        raise ReadError(path or error.filename, expected="a readable file", found=reason(error)) from None


def explain_parse_error(path: object, error: Any) -> ReadError:
    """Return an error of the JSON reader with its place, what was expected and found, and the likeliest mistake."""
    if error.code == "truncated":
        expected, found = "a whole JSON document", f"that {error}"
    else:
        expected, found = error.expected + CODES.get(error.code, ""), f"{error.found} at byte {error.byte}"
    has_place = error.place and error.code != "truncated"
    place = f"{path}: {error.place}" if has_place else f"{path}:{error.line}"
    if error.code == "depth":
        hint = remedy("json_depth")
    elif error.code in HINTS:
        hint = HINTS[error.code]
    elif error.found == "']'" and error.expected == "an object":
        hint = "is there a comma after the last record?"
    elif error.place == "results[0]" and error.found == "an array":
        hint = "put the records of all images into one list"
    else:
        hint = FIELDS.get(error.place.rpartition(".")[2], "") if error.code == "type" else ""
    return ReadError(place, expected=expected, found=found, remedy=hint)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all: a temporary file beside it, flushed, then put in its place."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        remove_leftovers(target.parent, target.name)
        temporary = target.parent / part_name(target.name)
        # Made as any new file, so that the system applies the umask: reading that would mean setting it for a moment.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise ReadError(target, expected="a file that can be written", found=reason(error)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise ReadError(target, expected="a file that can be written", found=reason(error)) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def check_folder(path: str | os.PathLike[str], *, overwrite: bool | None = None) -> Path:
    """Return the path of a folder to write to; raise `ReadError` unless it is new or empty, or may be overwritten.

    `overwrite` is None where the caller has no such option; the message does not name it then.
    """
    target = Path(path)
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not overwrite)):
        found = "a folder with files in it" if target.is_dir() else "a file"
        replace = "--overwrite" if IS_COMMAND_LINE.get() else "overwrite=True"
        remedy = "name another one"
        if target.is_dir():
            remedy += " or empty it" if overwrite is None else f", or replace files with {replace}"
        raise ReadError(target, expected="a new or empty folder", found=found, remedy=remedy)
    return target


@contextmanager
def fill_folder(path: str | os.PathLike[str], *, overwrite: bool | None = None) -> Iterator[Path]:
    """Yield a temporary folder to fill, which becomes the folder by one rename if the block ends without an error.

    Parameters
    ----------
    path
        Folder to write, new or empty.
    overwrite
        Whether it may have files: those of the same names are replaced one by one, the others stay.

    Raises
    ------
    ReadError
        If there is a file, a folder with files, or no place to write.
    """
    import shutil

    target = check_folder(path, overwrite=overwrite)
    name, parent = target.absolute().name, target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(parent, name)
        temporary = parent / part_name(name)
        temporary.mkdir()
        try:
            yield temporary
            if not target.is_dir() or not any(target.iterdir()):
                temporary.rename(target)  # an empty folder is replaced
            else:
                new = sorted(one for one in temporary.rglob("*") if not one.is_dir())
                places = [target / file.relative_to(temporary) for file in new]
                if clash := next((place for place in places if place.is_dir()), None):
                    raise ReadError(clash, expected="a file that can be written", found="a folder of this name")
                for file, place in zip(new, places, strict=True):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(file, place)
        except ReadError as error:  # names the temporary folder
            where = error.where.replace(str(temporary), str(target))
            raise ReadError(where, expected=error.expected, found=error.found, remedy=error.remedy) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise ReadError(target, expected="a file that can be written", found=reason(error)) from None


def folder_atomically(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """Yield a folder to fill that must be new or empty: a converted dataset never replaces files."""
    return fill_folder(path)


def part_name(name: str) -> str:
    """A temporary name that no other writer of this name has."""
    return f".{name}.{os.urandom(8).hex()}{part_suffix()}"


def part_suffix() -> str:
    """Return the end of a temporary name with machine and process, so that leftovers can be recognised."""
    import platform

    machine = "".join(letter for letter in platform.node() if letter.isalnum())[:32]
    return f".{machine}-{os.getpid()}.part"


_TIDY: set[tuple[Path, str]] = set()  # looked at by this process


def remove_leftovers(folder: Path, name: str) -> None:
    """Temporary files and folders for this name that a killed process of this machine left behind."""
    if (folder, name) in _TIDY or os.name != "posix":
        return
    _TIDY.add((folder, name))
    import shutil

    machine = part_suffix().rpartition("-")[0]
    with os.scandir(folder) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(f".{name}.") and entry.name.endswith(".part")]
    for path in left:
        before, _, owner = path.removesuffix(".part").rpartition("-")
        if before.endswith(machine) and owner.isdecimal() and not is_running(int(owner)):
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(path)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made where it is missing."""
    target = Path(path)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReadError(target, expected="a folder to write to", found=reason(error)) from None
    return target
