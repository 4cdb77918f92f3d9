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
import json
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
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from PIL import Image

import verite as vt
from tests.cli.examples import COMPETITIONS, DEMO, arrange, commands, examples, make_world
from tests.formats.samples import DATA
from verite.cli import follow, run
from verite.cli.options import InputPath
from verite.formats import all_formats, format_named
from verite.formats.archives import UNPACKERS
from verite.formats.volumes import NIFTI, SUFFIXES, TIFF

HOME = "VERITE_CAMPAIGN_HOME"
READ_NOTHING = ("demo", "completion")
# What is tried of commands whose examples take minutes.
QUICK = {
    "draw": ("draw truth.json pred.json --images photos/ -o drawn/ --image harbour-1018.png --confidence 0.3",),
    "study": ("study -m iou --truth mask.png --quick", "study interpretation small.json --distance distances.csv"),
}


# Lines that give an argument a file of another kind than the examples do.
OTHER_KINDS = ("class-distance vectors.npy --from features",)


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
            write_auxiliary(folder / "making")
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
                    PACKERS.get(suffix, pack_zip)(whole, path)  # of a kind without a packer here: as ZIP instead
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
        with path.open("wb") as file:
            np.save(file, values)


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
    for suffix in SUFFIXES:
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


@cache
def all_commands() -> dict[tuple[str, ...], click.Command]:
    """Every command by the words that call it."""
    return dict(commands())


def find_command(words: list[str]) -> tuple[tuple[str, ...], click.Command]:
    """The command that the words call, and those of the words that call it."""
    matching = [called for called in all_commands() if called and tuple(words[: len(called)]) == called]
    called = max(matching, key=len)
    return called, all_commands()[called]


def parse(words: list[str]) -> tuple[click.Command, dict[str, object]]:
    """The command that the words call, and the values of its parameters."""
    called, command = find_command(words)
    return command, command.make_context(called[-1], words[len(called) :], resilient_parsing=True).params


def named_files(value: object, place: Path) -> list[Path]:
    """The files in a folder that the value of a parameter names; of folders the first three."""
    words = value if isinstance(value, (tuple, list)) else [value]
    names = [name for word in words if isinstance(word, str) for name in glob.glob(word, root_dir=place)]
    return [path for name in names for path in files_below(place / name)[:3]]


# What is given to an option of a name that no example and no line below gives a file.
POOL = ("truth.json", "boxes.csv", "classes.txt", "table.csv", "main-results.json", "a.part")
# Good files for options that no example names, by the options' names.
FILES = {
    "asked": "asked.csv",
    "audit": "board/audit.csv",
    "base": "base.json",  # what the same line saves
    "blacklist": "ILSVRC2014_det_validation_blacklist.txt",
    "confidence": "analysis/thresholds.json",
    "map": "map.csv",
    "meta": "meta.csv",
    "metadata": "meta.csv",
    "names": "classes.txt",
    "only_images": "truth.json",
    "other_truths": "second.json",
    "errors_file": "errors.csv",
    "published": "published.csv",
    "sigmas": "sigmas.txt",
    "truth_images": "photos/",
    "pred_images": "photos/",
    "verdicts": "verdicts.csv",
    "calibrate": "better.csv",
    "judge": "fit.json",
}
POSES = "person_keypoints_val.json keypoints.json"
PLACES = ("truth_images", "pred_images", "images")
OPENIMAGES = "oi-truth.csv oi-pred.csv --protocol openimages"
# Lines that make sense of an option where the first example of its command does not.
LINES = {
    ("coco", "sigmas"): f"coco {POSES} --on keypoints",
    ("analyse", "sigmas"): f"analyse {POSES} --on keypoints",
    ("report", "sigmas"): f"report {POSES} --on keypoints -o report.html",
    ("draw", "sigmas"): f"draw {POSES} --on keypoints -o drawn",
    ("leaderboard", "sigmas"): f"leaderboard {POSES} keypoints.json --on keypoints --errors missing=0.05 --draws 20",
    **{(name, option): f"{name} {OPENIMAGES}{more}" for name, more in (("analyse", ""), ("report", " -o page.html"))
       for option in ("descriptions", "hierarchy", "image_labels")},
    ("leaderboard", "confusion"): "leaderboard truth.json a.json b.json --errors label=0.05 --confusion of-classes.csv",
    **{("partial panoptic", option): "partial panoptic truth.json pred.json --truth-images truth_png/ "
       "--pred-images pred_png/ -o new.part" for option in ("truth_images", "pred_images")},
    # Options that read the images of the annotations, where those have other names than the photos of the demo.
    **{(f"{whole}{name}", option): f"{whole}{name} {files} --{option.replace('_', '-')} frames/{more}"
       for name, files in (("kitti", "label_2/ predictions/"), ("track", "MOT17/train results/"),
                           ("wider", "ground_truth/ predictions/"))
       for whole, more in (("", ""), ("partial ", " -o new.part")) for option in PLACES},
    **{(f"{whole}{name}", "only_images"): f"{whole}{name} {truth} {pred} --only-images {truth}{more}"
       for name, truth, pred in (("kitti", "label_2/", "predictions/"), ("wider", "ground_truth/", "predictions/"),
                                 ("track", "MOT17/train", "results/"), ("instances", "truth_masks/", "pred_masks/"),
                                 ("semantic", "SegmentationClass/", "predictions/"))
       for whole, more in (("", ""), ("partial ", " -o new.part"))},
    **{(f"{whole}panoptic", "images"): f"{whole}panoptic truth.json truth.json --images truth_png/{more}"
       for whole, more in (("", ""), ("partial ", " -o new.part"))},
    **{(f"{whole}openimages", "pred_images"): f"{whole}openimages boxes.csv predictions.csv --image-labels labels.csv "
       f"--truth-images photos/ --pred-images photos/{more}"
       for whole, more in (("", ""), ("partial ", " -o new.part"))},
    ("f1", "other_truths"): "f1 truth.json pred.json --metric cgf1",
    ("partial f1", "other_truths"): "partial f1 truth.json pred.json --metric cgf1 -o new.part",
    ("partial coco", "sigmas"): f"partial coco {POSES} --on keypoints -o new.part",
    ("rank", "confusion"): "rank labels-table.csv --epsilon 0.1 --confusion of-labels.csv",
    ("rank", "published"): "rank table.csv --epsilon 0.1 -o ranked",
    ("rank", "calibrate"): "rank table.csv --epsilon 0.1",
}  # fmt: skip


def write_auxiliary(folder: Path) -> None:
    """Write the files that `FILES` and `LINES` name and no example does."""
    known = json.loads((folder / "truth.json").read_text())
    names = [one["name"] for one in known["categories"]]
    images = [one["file_name"] for one in known["images"]]
    weather = [f"{image},{'sun' if i % 2 else 'rain'},{i}" for i, image in enumerate(images)]
    mistaken = [",".join([a, *("0" if a == b else "1" for b in names)]) for a in names]
    texts = {
        "asked.csv": ["image,class", *(f"{image},{name}" for image in images for name in names)],
        "map.csv": ["from,to", "boat,ship", "kite,"],
        "meta.csv": ["image,weather,hour", *weather],
        "errors.csv": ["class,size,kind,rate", "*,*,missing,0.05", "boat,small,spurious,0.1"],
        "published.csv": ["first,second,epsilon,kept", "A2,A1,0.1,0.8"],
        "sigmas.txt": ["0.05"] * 17,
        "of-classes.csv": [",".join(["recorded", *names]), *mistaken],
        "labels-table.csv": ["item,truth,a,b", "1,x,x,y", "2,y,y,y", "3,z,x,z", "4,x,x,z"],
        "of-labels.csv": ["recorded,x,y,z", "x,0,1,0", "y,0.5,0,0.5", "z,1,0,0"],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    shutil.copy(COMPETITIONS / "openimages" / "boxes.csv", folder / "oi-truth.csv")
    rows = (COMPETITIONS / "openimages" / "hawk.csv").read_text().splitlines(keepends=True)
    (folder / "oi-pred.csv").write_text("".join(row for row in rows if "beach-4126" not in row))
    np.save(folder / "vectors.npy", np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 4.0]]))
    (folder / "vectors.txt").write_text("cat\ndog\ncar\n")
    columns = [row.split(",") for row in (folder / "table.csv").read_text().splitlines()]
    at = columns[0].index("truth")
    (folder / "better.csv").write_text("\n".join(",".join(row[: at + 1]) for row in columns) + "\n")
    (folder / "frames").mkdir()
    for name in ("one", "two", *(f"{number:06}" for number in range(1, 13))):
        Image.new("L", (640, 480)).save(folder / "frames" / f"{name}.png")
    few = [one for one in known["annotations"] if not one["iscrowd"]][:2]
    shown = [image for image in known["images"] if image["id"] in {one["image_id"] for one in few}]
    (folder / "small.json").write_text(json.dumps(known | {"images": shown, "annotations": few}))
    with contextlib.chdir(folder):
        for line in ("analyse truth.json pred.json -o analysis --no-plot -q",
                     "judge fit choices.csv -o fitted --no-plot -q"):  # fmt: skip
            assert run(line.split()) == 0, line
    shutil.copy(folder / "fitted" / "fit.json", folder / "fit.json")
    head, *rows = (folder / "analysis" / "audit.csv").read_text().splitlines()
    rows = [row + ("right" if i % 3 else "wrong") for i, row in enumerate(rows)]
    (folder / "verdicts.csv").write_text("\n".join([head, *rows]) + "\n")


def partial_lines(lines: list[list[str]]) -> Iterator[list[str]]:
    """A partial result by every protocol that has some, of the files that its first example names."""
    for called in all_commands():
        if called[:1] == ("partial",) and len(called) == 2:
            given = next(parse(words)[1] for words in lines if words[0] == called[1])
            pred = given["pred"]
            assert isinstance(pred, tuple)
            yield [*called, str(given["truth"]), str(pred[0]), "-o", "new.part"]


def files_of_options(lines: list[list[str]]) -> dict[str, str]:
    """What the first example of any command gives to options that read files, by the names of the options."""
    found: dict[str, str] = {}
    for command, given in map(parse, lines):
        for parameter in input_parameters(command):
            value = given.get(str(parameter.name))
            if isinstance(parameter, click.Option) and isinstance(value, str):
                found.setdefault(str(parameter.name), value)
    return found


def option_lines(words: list[str], option: click.Option, known: dict[str, str]) -> list[list[str]]:
    """A line of a command with an option that reads a file, or some where nothing is known of that file."""
    called, name = " ".join(find_command(words)[0]), str(option.name)
    line, flag = shlex.split(LINES.get((called, name), "")) or words, option.opts[-1]
    files = [FILES[name]] if name in FILES else [known[name]] if name in known else POOL
    return [line] if flag in line else [[*line, flag, file] for file in files]


def reached_parameters(lines: list[list[str]]) -> set[tuple[str, str]]:
    """Commands and their parameters to which a line gives something."""
    return {(" ".join(find_command(words)[0]), name) for words in lines for name, one in parse(words)[1].items() if one}


def command_lines() -> list[list[str]]:
    """The examples that are quick, and a line of each command for every option that reads a file and that none names.

    An option is given the file that examples of other commands give to an option of its name, or the file of `FILES`.
    """
    lines = [words for example in examples() if (words := shlex.split(example)[1:]) and words[0] not in READ_NOTHING]
    lines = [words for words in lines if "--all" not in words and "--open" not in words and words[0] not in QUICK]
    lines += [shlex.split(line) for quick in QUICK.values() for line in quick]
    lines += [shlex.split(line) for line in OTHER_KINDS]
    lines += partial_lines(lines)
    reached, known = reached_parameters(lines), files_of_options(lines)
    first = {find_command(words)[0]: words for words in reversed(lines)}
    return lines + [
        line
        for called, words in first.items()
        for option in input_parameters(find_command(words)[1])
        if isinstance(option, click.Option) and (" ".join(called), str(option.name)) not in reached
        for line in option_lines(words, option, known)
    ]


def texts_in(constants: Iterable[object]) -> Iterator[str]:
    for one in constants:
        if isinstance(one, str):
            yield one
        elif isinstance(one, (tuple, frozenset)):
            yield from texts_in(one)


def of_protocol(words: list[str]) -> list[str]:
    """A line of `partial` as that of its protocol, which reads the same files."""
    return words[1:] if words[0] == "partial" else words


def place_of(words: list[str]) -> Path:
    """The folder in which a command line runs; lines for which `arrange` does the same share one.

    What it does depends on the command, on the words that its code compares with, and on the folder that is written.
    """
    words, compared = of_protocol(words), set(texts_in(arrange.__code__.co_consts))
    written = [name for option, name in pairwise(words) if option == "-o"]
    known = [words[0], *(word for word in words[1:] if word in compared), *written]
    return home() / "lines" / md5(" ".join(known).encode()).hexdigest()


def save_base(words: list[str], place: Path) -> None:
    """What a line saves is what its own --base reads."""
    at = words.index("base.json")
    with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run([*words[: at - 1], *words[at + 1 :], "--save", "base.json"])


@cache
def command_targets() -> list[Target]:
    """Every file that a command may read, in a command line that names it."""
    found = []
    for words in command_lines():
        command, given = parse(words)
        place = place_of(words)
        if not place.exists():
            shutil.copytree(home() / "world", place.with_suffix(".new"))
            arrange(["verite", *of_protocol(words)], place.with_suffix(".new"))
            place.with_suffix(".new").rename(place)
        if "base.json" in words and not (place / "base.json").exists():
            save_base(words, place)
        outputs = [str(given[str(parameter.name)]) for parameter in command.params
                   if type(parameter.type) is click.Path and given.get(str(parameter.name))]  # fmt: skip
        run = partial(run_command, words, outputs, place)
        found += [
            Target(f"{' '.join(words)} | {parameter.name}: {path.name}", path, run)
            for parameter in input_parameters(command)
            for path in named_files(given[str(parameter.name)], place)
        ]
    return found
