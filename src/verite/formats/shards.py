"""Several files as one dataset: a glob, a list of paths, a folder of shards, `@LIST.txt`; splits (train, val, test).

`find_shards` expands a path to files, `read_shards` reads and joins them. `choose_split` and `files_of_split` select
one part of a dataset. Predictions of one image in two files are refused: they are probably those of two detectors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from verite.arrays import np
from verite.errors import BadParameter, DataError, ErrorCollector, ReadError, VeriteError, did_you_mean
from verite.files import PACKED, find_path, is_list, is_many, is_pattern, read_lines
from verite.formats.format import Options
from verite.model.annotations import FLAGS, Annotations
from verite.model.classes import ImageLevelLabels
from verite.model.images import split_of, stem
from verite.model.rasters import join_regions

if TYPE_CHECKING:
    from verite.formats.format import Options
    from verite.model.annotations import Annotations


T = TypeVar("T")
SAME_SPLIT = 0.9  # share of the predicted images that a split must have to be selected by them

SPLIT_SYNONYMS = {"val": "valid", "valid": "val", "validation": "val"}  # the same part, as others call it


def choose_split(
    path: Path,
    parts: Mapping[str, T],
    options: Options,
    *,
    expected: str,
    images_of: Callable[[T], set[str]] | None = None,
) -> tuple[str, T]:
    """Select the split that the user names, the only one, or the one that the predictions are on.

    Parameters
    ----------
    path : Path
        The dataset, for messages.
    parts : mapping
        Whatever belongs to each split, by its name.
    options : Options
        `options.split` is the wanted name; `val` also finds `valid` and `validation`.
    expected : str
        What to report as missing if there is no part at all.
    images_of : callable, optional
        Returns the images of a part (`image_key` of their names or ids). With it and `options.predictions`, the split
        that has nearly all predicted images is selected if no other has more than a few of them.

    Returns
    -------
    tuple[str, T]
        The name and the value of the selected part.
    """
    if not parts:
        raise ReadError(path, expected=expected, found="none")
    wanted = options.split
    if wanted is None:
        if len(parts) == 1:
            return next(iter(parts.items()))
        predicted = predicted_images(options) if images_of is not None and options.predictions is not None else set()
        counts: dict[str, int] = {}
        if images_of is not None and predicted:
            counts = {name: len(predicted & images_of(part)) for name, part in parts.items()}
        part = max(counts, key=lambda name: (counts[name], split_of(name) == "val"), default=next(iter(parts)))
        others = max((count for name, count in counts.items() if parts[name] != parts[part]), default=0)
        if predicted and counts[part] >= SAME_SPLIT * len(predicted) and others <= (1 - SAME_SPLIT) * len(predicted):
            return part, parts[part]
        listed = [
            f"{name} ({counts[name]:,} of {len(predicted):,} predicted images)" if predicted else name for name in parts
        ]
        part = part if counts.get(part) else next(iter(parts))
        spelled = options.spell("split", part)
        remedy = f"read it with verite.read(…, {spelled})" if options.side is None else f"add {spelled}"
        if predicted and not any(counts.values()):
            remedy = f"the predictions, such as on {min(predicted)!r}, are on images of none of them; or {remedy}"
        if options.side == "pred":  # --split is about the ground truth
            remedy = f"name one of them instead of {path}"
        raise ReadError(path, expected="one split of the dataset", found=", ".join(listed or parts), remedy=remedy)
    for name in (wanted, SPLIT_SYNONYMS.get(wanted, wanted)):
        if name in parts:
            return name, parts[name]
    alike = [name for name in parts if name and split_of(name) == split_of(wanted) is not None]
    if len(alike) == 1:
        return alike[0], parts[alike[0]]
    if list(parts) == [""]:
        raise BadParameter(f"split: expected none, as {path} has only one part, found {wanted!r}")
    raise BadParameter(f"split: expected one of {', '.join(parts)}, found {wanted!r}{did_you_mean(wanted, parts)}")


def image_key(name: object) -> str:
    """Return what names of one image have in common: the stem, without leading zeros where it is a number.

    >>> image_key("val/000042.jpg"), image_key(42)
    ('42', '42')
    """
    base = stem(str(name).replace("\\", "/").rpartition("/")[2])
    return base.lstrip("0") or "0" if base.isdecimal() else base


def predicted_images(options: Options) -> set[str]:
    """Return the images of the predictions that belong to this ground truth; empty if they cannot be read alone."""
    from verite.formats import read

    try:
        images = read(options.predictions).images
    except (VeriteError, OSError):
        return set()
    return {image_key(images.name(i)) for i in range(len(images))}


def files_of_split(
    path: Path, files: Sequence[Path], options: Options, *, by_name: bool = False
) -> tuple[list[Path], str]:
    """Select the files of one split where folders are named train, val or test; returns them and a note on which.

    With `by_name`, file names decide as well (`instances_val2017.json`), if every one of them names a split. Without
    it there is one file per image, and `options.predictions` may select the split.
    """
    parts: dict[str, list[Path]] = {}
    for file in files if path.is_dir() else ():
        folders = [folder for folder in file.relative_to(path).parts[:-1] if split_of(folder)]
        words = [word for word in re.split(r"[^a-z]+", file.stem.lower()) if split_of(word)] if by_name else []
        parts.setdefault(next(iter(folders or words), ""), []).append(file)
    outside = parts.pop("", [])
    if not parts and options.split is not None and path.is_dir():
        choose_split(path, {"": outside}, options, expected="splits")
    if (by_name and outside) or (len(parts) < 2 and options.split is None) or not parts:
        return list(files), ""
    of_files = None if by_name else lambda files: {image_key(file.stem) for file in files}
    name, chosen = choose_split(path, parts, options, expected="splits", images_of=of_files)
    why = f"the split {name}"
    return chosen, f"{why}, which has the predicted images" if options.split is None and len(parts) > 1 else why


TOGETHER = ("confidence", "area", "ids")  # columns that a file has or has not


def shared_images(shards: Sequence[Annotations]) -> tuple[int, int, list[str]] | None:
    """Return the indices of the first two files with objects in the same images, and the images' names; else None."""
    first: dict[int, int] = {}
    for place, shard in enumerate(shards):
        own = np.unique(shard.image).tolist()
        if twice := [image for image in own if image in first]:
            other = first[twice[0]]
            return other, place, [shard.images.name(i) for i in twice if first[i] == other]
        first |= dict.fromkeys(own, place)
    return None


def check_one_detector(shards: Sequence[Annotations], paths: Sequence[Path], name: str, options: Options) -> None:
    """Refuse predictions of one image in two files: these are several detectors, or duplicates.

    Raises
    ------
    DataError
        If two files have predictions for one image.
    """
    is_pred = {shard.confidence is not None for shard in shards if len(shard)}
    if is_pred != {True} or (shared := shared_images(shards)) is None:
        return
    one, two, images = shared
    if options.side is None:
        beside = "give a list of the files or {name: file} as predictions"
    else:
        listed = " ".join(str(path) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
        beside = f"name each file as a PRED of its own ({listed})"
    raise DataError(
        f"{name}: expected files of one detector with different images, found predictions for {len(images):,} images "
        f"(the first is {images[0]!r}) in {paths[one].name} and in {paths[two].name}; to evaluate several detectors "
        f"side by side, {beside}; if all files belong to one detector, list them in a text file, one per line, and "
        "give @LIST.txt"
    )


def join(shards: Sequence[Annotations], name: str) -> Annotations:
    """Concatenate shards whose tables were aligned one by one: the last shard has the images and classes of all."""
    kinds = {shard.confidence is not None: shard.source.path for shard in shards if len(shard)}
    if len(kinds) > 1:
        raise DataError(
            f"{name}: expected confidences in every file or in none, found ground truth ({kinds[False]}, without "
            f"confidences) beside predictions ({kinds[True]}, with confidences); name each file by itself"
        )
    last = shards[-1]
    check_images(shards, name)
    columns = {key: column(shards, key) for key in TOGETHER}
    flags = {
        flag: np.concatenate([shard.flag(flag) for shard in shards])
        for flag in FLAGS
        if any(flag in shard.flags for shard in shards)
    }
    notes = dict.fromkeys(note for shard in shards for note in shard.source.notes)
    errors = ErrorCollector()
    for shard in shards:
        errors.add_all(shard.source.flaws)
    labelled = [shard.verdicts for shard in shards if shard.verdicts is not None]
    verdicts = None
    if labelled:
        parts = [[getattr(one, key) for one in labelled] for key in ("image", "label", "kind")]
        verdicts = ImageLevelLabels(*map(np.concatenate, parts))
    why = f"{len(shards)} files, {shards[0].source.why}"
    source = replace(shards[0].source, path=name, why=why, notes=tuple(notes), flaws=errors.flaws)
    keys = [shard.source.other_keys for shard in shards]
    known = [own for own in keys if own is not None]
    source = replace(source, other_keys=frozenset().union(*known) if len(known) == len(keys) else None)
    return Annotations(
        images=last.images,
        labels=last.labels,
        image=np.concatenate([shard.image for shard in shards]),
        label=np.concatenate([shard.label for shard in shards]),
        regions=join_regions([shard.regions for shard in shards]),
        flags=flags,
        verdicts=verdicts,
        unit=last.unit,
        source=source,
        **columns,
    )


def check_images(shards: Sequence[Annotations], name: str) -> None:
    """Refuse ground truth of one image in two files: its objects would count twice."""
    if shards[0].confidence is not None:
        return
    seen: set[int] = set()
    for shard in shards:
        own = set(np.unique(shard.image).tolist())
        if twice := seen & own:
            image = shard.images.name(min(twice))
            raise DataError(
                f"{shard.source.path}: expected images that no other file of {name} has, found {image!r}; "
                "is a file there twice?"
            )
        seen |= own


def column(shards: Sequence[Annotations], key: str) -> Any:
    """Concatenate an optional column; None if some shard lacks it. Missing areas are NaN instead."""
    parts: list[Any] = [getattr(shard, key) for shard in shards if len(shard)]
    if not parts or all(part is None for part in parts):
        return None
    if key == "area":
        rows = [len(shard) for shard in shards if len(shard)]
        parts = [np.full(n, np.nan) if part is None else part for part, n in zip(parts, rows, strict=True)]
    if any(part is None for part in parts):
        return None
    joined = np.concatenate(parts)
    return None if key == "ids" and len(np.unique(joined)) < len(joined) else joined


SHARDED = {".json", ".jsonl", ".ndjson", ".parquet"}  # files that may be one of many in a folder

SAME = {"lvis": "coco", "results-object": "coco-results", "json-lines": "coco-results"}  # read as one dataset

MOST_LOOKED_AT = 100  # files of a folder whose format is recognised

WHOLE = {"coco", "coco-results", "lvis", "results-object", "json-lines", "parquet"}  # formats of many images a file


def find_shards(word: str | os.PathLike[str]) -> list[Path]:
    """Expand a path to files.

    `gt/*.json` stands for all matches, sorted; `@files.txt` for its lines in their order; anything else for itself.
    """
    text = os.fspath(word)
    if is_list(text):
        # Read a list of files, one per line, relative to the list's folder; empty lines and `#` comments are
        # skipped.
        path = Path(text[1:])
        lines = [line.strip() for line in read_lines(find_path(path))]
        words = [line for line in lines if line and not line.startswith("#")]
        if not words:
            raise ReadError(path, expected="a file a line", found="none")
        return [find_path(path.parent / word) for word in words]
    if is_pattern(text):
        import glob

        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise ReadError(text, expected="files that match", found="none", remedy="is the pattern right?")
        return [Path(path) for path in found]
    return [find_path(text)]


def find_folder_shards(folder: Path, format_of: Callable[[Path], str]) -> list[Path]:
    """List the files of a folder if there are several of one suffix, all documents of many images in one format.

    Of many files the first hundred are looked at, of packed ones the first.
    """
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    suffixes = {(Path(path.stem).suffix if path.suffix.lower() in PACKED else path.suffix) for path in files}
    if len(files) < 2 or len(suffixes) > 1 or not suffixes <= SHARDED or not all(path.is_file() for path in files):
        return []
    try:
        if format_of(files[0]) not in WHOLE:
            return []
        loose = [] if files[0].suffix.lower() in PACKED else files[:MOST_LOOKED_AT]
        kinds = {SAME.get(kind, kind) for kind in map(format_of, loose)}
        return files if len(kinds) < 2 else []
    except ReadError:
        return []


def read_shards(
    word: Any, options: Options, read_one: Callable[[Path, Options], Annotations], name: str = ""
) -> Annotations:
    """Read several files as one dataset, with the images and classes of all of them.

    Parameters
    ----------
    word : str, path or sequence
        A glob, `@LIST.txt`, or a list of paths.
    options : Options
        Passed on to `read_one`. With `options.like`, each shard is aligned with the one before.
    read_one : callable
        Reads one file.
    name : str, optional
        Name of the dataset in messages.
    """
    from verite.model.alignment import align

    paths = find_shards(word) if isinstance(word, (str, os.PathLike)) else [p for w in word for p in find_shards(w)]
    shards = [read_one(paths[0], options)]
    for path in paths[1:]:
        last = shards[-1]
        shard = read_one(path, replace(options, like=last) if options.like is not None else options)
        shards.append(align(shard, last, by_base_name=False))
    if len(shards) == 1:
        return shards[0]
    said = name or (word if isinstance(word, str) else f"{paths[0]} and {len(paths) - 1} more")
    if not (isinstance(word, str) and is_list(word)):  # a list of files is their owner's word that they are one side
        check_one_detector(shards, paths, str(said), options)
    return join(shards, str(said))


def read_detectors(given: Sequence[Any], read_one: Callable[[Any], Annotations]) -> Annotations | list[Annotations]:
    """Read a list of predictions: one dataset if they are files that share no image, else one per detector."""
    from verite.model.alignment import align

    preds = [read_one(one) for one in given]
    if not is_many(given):
        return preds
    shards = preds[:1]
    for pred in preds[1:]:
        shards.append(align(pred, shards[-1], by_base_name=False))
    return join(shards, f"{given[0]} and {len(given) - 1} more") if shared_images(shards) is None else preds
