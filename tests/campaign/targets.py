"""Every entry point that reads files, with good files, found by construction.

Formats come from their records, commands and their files from click and from the examples of their helps, archives
from the unpackers, volumes from their endings. A new one is a target without being listed here.
"""

from __future__ import annotations

import bz2
import contextlib
import glob
import gzip
import io
import lzma
import os
import shlex
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import md5
from pathlib import Path

import click
import numpy as np
from PIL import Image

import verite as vt
from tests.cli.examples import DEMO, arrange, commands, examples, make_world
from tests.formats.samples import DATA
from verite.cli import follow
from verite.cli.options import InputPath
from verite.formats import all_formats, format_named
from verite.formats.archives import UNPACKERS
from verite.formats.volumes import NIFTI, TIFF

HOME = "VERITE_CAMPAIGN_HOME"
LONG = ("study", "demo", "completion")  # commands that take minutes, or read nothing


@dataclass(frozen=True)
class Outcome:
    """What came out of good or spoiled input, in a form that can be compared, and how much was said about it."""

    text: str
    warnings: int


@dataclass(frozen=True)
class Target:
    """An entry point and one of the files that it reads."""

    name: str
    path: Path
    run: Callable[[], Outcome]


@cache
def home() -> Path:
    """The folder with good files of every kind: that of the campaign, whose processes follow each other, or our own."""
    folder = Path(os.environ.get(HOME) or tempfile.mkdtemp(prefix="campaign-"))
    if not (folder / "world").exists():
        shutil.rmtree(folder / "making", ignore_errors=True)
        (folder / "making").mkdir(parents=True)
        with contextlib.redirect_stdout(io.StringIO()):
            make_world(folder / "making")
        (folder / "making").rename(folder / "world")
    restore(folder)
    return folder


def restore(folder: Path) -> None:
    """Put the file back that was spoiled when a process died."""
    if (folder / "spoiled").exists():
        Path((folder / "spoiled").read_text()).write_bytes((folder / "original").read_bytes())
        (folder / "spoiled").unlink()


@contextlib.contextmanager
def spoiled(path: Path, data: bytes) -> Iterator[None]:
    """Other bytes in a file, within the block."""
    (home() / "original").write_bytes(path.read_bytes())
    (home() / "spoiled").write_text(str(path))
    try:
        path.write_bytes(data)
        yield
    finally:
        restore(home())


def files_below(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]


# Formats.


def format_samples(name: str) -> Iterator[tuple[Path, Path]]:
    """Good files of a format, each with what is read, itself or its folder: samples, or the demo as written."""
    folder, format = home() / "formats" / name, format_named(name)
    if not folder.exists():
        good = DATA / name.replace("-", "_") / "good"
        if good.exists():
            shutil.copytree(good, folder)
        elif format.write:
            folder.mkdir(parents=True)
            truth = vt.read(DEMO / "truth.json")
            side = truth if "truth" in format.sides else replace(truth, confidence=np.linspace(0, 1, len(truth)))
            vt.write(side, folder / f"demo{next(iter(format.suffixes), '')}", name)
    for path in files_below(folder) if folder.exists() else []:
        yield path, path if is_read_alone(path, name) else folder


def is_read_alone(path: Path, name: str) -> bool:
    try:
        return vt.read(path).source.format == name
    except vt.VeriteError:
        return False


def evaluate(place: Path) -> Outcome:
    """List the faults of a file, read it, and evaluate it against itself whatever is wrong with it."""
    with contextlib.suppress(vt.VeriteError):
        vt.inspect(place)
    found = vt.read(place)
    pred = found if found.confidence is not None else replace(found, confidence=np.linspace(0, 1, len(found)))
    results = vt.voc(found, pred, pixel="continuous" if found.unit == "rel" else None, checks="warn")
    return Outcome(f"{found.digest} {results.to_json()}", len(results.findings) + len(found.source.notes))


@cache
def format_targets() -> list[Target]:
    """Every good file of every format."""
    return [
        Target(f"format {format.name}: {path.name}", path, partial(evaluate, whole))
        for format in all_formats()
        for path, whole in format_samples(format.name)
    ]


# Archives.


def pack_zip(place: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_below(place):
            archive.write(path, path.relative_to(place.parent))


def pack_tar(place: Path, target: Path, mode: str) -> None:
    with tarfile.open(target, mode) as archive:  # type: ignore[call-overload]
        archive.add(place, place.name)


def pack_zst(place: Path, target: Path) -> None:
    import zstandard

    target.write_bytes(zstandard.compress(place.read_bytes()))


def pack_bytes(pack: Callable[[bytes], bytes], place: Path, target: Path) -> None:
    target.write_bytes(pack(place.read_bytes()))


PACKERS: dict[str, Callable[[Path, Path], None]] = {
    ".gz": partial(pack_bytes, gzip.compress),
    ".bz2": partial(pack_bytes, bz2.compress),
    ".xz": partial(pack_bytes, lzma.compress),
    ".zst": pack_zst,
    ".zip": pack_zip,
    ".tar": partial(pack_tar, mode="w"),
    ".tgz": partial(pack_tar, mode="w:gz"),
}
FOLDERS = (".zip", ".tar", ".tgz")  # archives of several files


@cache
def archive_targets() -> list[Target]:
    """Good files of every format, packed in every way that is unpacked."""
    found = []
    for format in all_formats():
        wholes = sorted({whole for _, whole in format_samples(format.name)})
        for whole in wholes[:1]:
            for suffix in sorted(UNPACKERS):
                if whole.is_dir() and suffix not in FOLDERS:
                    continue
                path = home() / "archives" / format.name / f"{whole.name}{suffix}"
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    PACKERS[suffix](whole, path)
                found.append(Target(f"archive of {format.name}: {path.name}", path, partial(evaluate, path)))
    return found


# Volumes.


def save_volume(values: np.ndarray, path: Path) -> None:
    if path.name.endswith(NIFTI):
        import nibabel

        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), path)
    elif path.name.endswith(TIFF):
        first, *others = (Image.fromarray(page) for page in values)
        first.save(path, save_all=True, append_images=others)
    else:
        np.save(path, values)


def measure_volume(path: Path, other: Path) -> Outcome:
    return Outcome(vt.localize(vt.read_volume(path), vt.read_volume(other), "iou").to_json(), 0)


@cache
def volume_targets() -> list[Target]:
    """A box in a volume, in every kind of file that holds volumes."""
    values = np.zeros((6, 12, 12), dtype=np.uint8)
    values[1:4, 2:8, 3:9] = 1
    folder, found = home() / "volumes", []
    folder.mkdir(exist_ok=True)
    np.save(folder / "other.npy", values)
    for suffix in (".npy", *NIFTI, *TIFF):
        path = folder / f"volume{suffix}"
        if not path.exists():
            save_volume(values, path)
        found.append(Target(f"volume {suffix}", path, partial(measure_volume, path, folder / "other.npy")))
    return found


# Commands.


def input_parameters(command: click.Command) -> list[click.Parameter]:
    """The arguments and options of a command that name files to be read."""
    return [parameter for parameter in command.params if isinstance(parameter.type, InputPath)]


def run_command(words: list[str], outputs: list[str], place: Path) -> Outcome:
    """The numbers that a command prints, in this process; what it writes is removed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            follow(words)
        except click.exceptions.Exit as error:
            if error.exit_code not in (0, 3):
                raise vt.DataError(f"exit status {error.exit_code}") from None
        except click.UsageError as error:
            raise vt.BadParameter(error.format_message()) from None
        finally:
            for name in outputs:
                shutil.rmtree(name, ignore_errors=True)
                Path(name).unlink(missing_ok=True)
    return Outcome(out.getvalue(), err.getvalue().count("\n"))


def parse(words: list[str]) -> tuple[click.Command, dict[str, object]]:
    """The command that the words call, and the values of its parameters."""
    matching = [(called, command) for called, command in commands() if called and tuple(words[: len(called)]) == called]
    called, command = max(matching, key=lambda found: len(found[0]))
    return command, command.make_context(called[-1], words[len(called) :], resilient_parsing=True).params


def named_files(value: object, place: Path) -> list[Path]:
    """The files in a folder that the value of a parameter names; of folders the first three."""
    words = value if isinstance(value, (tuple, list)) else [value]
    names = [name for word in words if isinstance(word, str) for name in glob.glob(word, root_dir=place)]
    return [path for name in names for path in files_below(place / name)[:3]]


# What is given to an option whose files no example names.
POOL = ("truth.json", "boxes.csv", "classes.txt", "table.csv", "main-results.json", "a.part")


def command_lines() -> list[list[str]]:
    """The examples that are quick, and the first of each command with every option whose files no example names."""
    lines = [words for example in examples() if (words := shlex.split(example)[1:]) and words[0] not in LONG]
    lines = [words for words in lines if "--all" not in words and "--open" not in words]
    lines += [["partial", name, "truth.json", "pred.json", "-o", "new.part"] for name in ("coco", "voc")]
    parsed = [(words, *parse(words)) for words in lines]
    reached = {(command.name, name) for _, command, given in parsed for name in given if given[name]}
    more = []
    for words, command, _ in parsed:
        for parameter in input_parameters(command):
            if isinstance(parameter, click.Option) and (command.name, parameter.name) not in reached:
                reached.add((command.name, parameter.name))
                more += [[*words, parameter.opts[-1], name] for name in POOL]
    return lines + more


def texts_in(constants: Iterable[object]) -> Iterator[str]:
    for one in constants:
        if isinstance(one, str):
            yield one
        elif isinstance(one, (tuple, frozenset)):
            yield from texts_in(one)


def place_of(words: list[str]) -> Path:
    """The folder in which a command line runs; lines for which `arrange` does the same share one.

    What it does depends on the command, on the words that its code compares with, and on the folder that is written.
    """
    compared = set(texts_in(arrange.__code__.co_consts))
    known = [words[0], *(word for word in words[1:] if word in compared), *(words[-1:] if "-o" in words[-2:-1] else [])]
    return home() / "lines" / md5(" ".join(known).encode()).hexdigest()


@cache
def command_targets() -> list[Target]:
    """Every file that a command may read, in a command line that names it."""
    found = []
    for words in command_lines():
        command, given = parse(words)
        place = place_of(words)
        if not place.exists():
            shutil.copytree(home() / "world", place.with_suffix(".new"))
            arrange(["verite", *words], place.with_suffix(".new"))
            place.with_suffix(".new").rename(place)
        outputs = [str(given[str(parameter.name)]) for parameter in command.params
                   if type(parameter.type) is click.Path and given.get(str(parameter.name))]  # fmt: skip
        run = partial(run_command, words, outputs, place)
        found += [
            Target(f"{' '.join(words)} | {parameter.name}: {path.name}", path, run)
            for parameter in input_parameters(command)
            for path in named_files(given[str(parameter.name)], place)
        ]
    return found
