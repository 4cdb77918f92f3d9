"""Which image does each picture of masks belong to? The naming rule of a folder, recognised and told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from verite.model.images import Images
from verite.records import record

SUFFIXES = frozenset({".png", ".tif", ".tiff", ".bmp", ".gif", ".pgm", ".ppm", ".jpg", ".jpeg", ".webp"})
# Words that say "this is the mask of", at the end of every name of a folder.
ENDINGS = re.compile(
    r"[_-](gtfine[_-](instanceids|labelids|labeltrainids)|instanceids|labelids|labeltrainids|masks?|seg|segmentations?|"
    r"gt|groundtruth|ground[_-]truth|labels?|annotations?|anno|preds?|predictions?|contours?)$",
    re.IGNORECASE,
)
# One object a file: a word for it and a number, or a number alone.
NUMBERED = re.compile(
    r"^(?P<image>.+?)[_-]+(?P<word>obj|objects?|inst|instances?|masks?|nucle(?:us|i)|cells?|lesions?)?[_-]?"
    r"(?P<number>\d+)$",
    re.IGNORECASE,
)


@record()
class Named:
    """A picture and the image it belongs to."""

    path: Path
    image: str


@record()
class Rule:
    """How the pictures of a folder are named."""

    pictures: tuple[Named, ...]
    why: str
    has_one_object_each: bool = False
    is_sure: bool = False  # whatever is in the pictures
    other: Rule | None = None  # how they may be named instead, which their pixels have to decide


def picture_files(path: Path) -> list[Path]:
    """The pictures of a folder and of the folders in it; a file is one itself."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file() and not is_hidden(p, path))


def is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def name_pictures(path: Path, files: Sequence[Path], images: Images | None) -> Rule:
    """The rule by which these pictures are named; the truth's images decide where there are some."""
    if not path.is_dir():
        single = images.name(0) if images is not None and len(images) == 1 else path.stem
        return Rule((Named(path, single),), "one picture")
    plain = name_plainly(files)
    has_images = images is not None and len(images) > 0
    numbered = name_by_number(files, least=1 if has_images else 2)
    folders = name_by_folder(path, files)
    if images is not None and has_images:
        choices = [rule for rule in (plain, numbered, folders) if rule is not None]
        found = [sum(images.find(p.image) is not None for p in rule.pictures) for rule in choices]
        if max(found) > 0:
            return choices[found.index(max(found))]
    sure = [rule for rule in (folders, numbered) if rule is not None and rule.is_sure]
    if sure:
        return sure[0]
    other = folders or numbered
    return plain if other is None else Rule(plain.pictures, plain.why, other=other)


def name_plainly(files: Sequence[Path]) -> Rule:
    """A picture an image: its name, or what comes before an ending that all have."""
    stems = [f.stem for f in files]
    endings = {found.group(0) if (found := ENDINGS.search(stem)) else "" for stem in stems}
    cut = endings.pop() if len(endings) == 1 else ""
    names = [stem[: len(stem) - len(cut)] if cut else stem for stem in stems]
    if len(set(names)) < len(names):  # the same name in several folders
        names, cut = stems, ""
    why = f"a picture an image, named IMAGE{cut}" if cut else "a picture an image, named like it"
    return Rule(tuple(map(Named, files, names)), why)


def name_by_number(files: Sequence[Path], least: int) -> Rule | None:
    """An object a picture, named IMAGE_1, IMAGE_2, …; of so many images at least, one with several pictures."""
    found = [NUMBERED.match(f.stem) for f in files]
    if not all(found):
        return None
    names = [match["image"] for match in found if match]
    has_words = all(match["word"] for match in found if match)
    if len(set(names)) == len(names) or (len(set(names)) < least and not has_words):
        return None
    words = sorted({match["word"] or "" for match in found if match})
    shown = f"IMAGE_{words[0]}NUMBER" if words == [words[0]] and words[0] else "IMAGE_NUMBER"
    why = f"an object a picture, named {shown}"
    return Rule(tuple(map(Named, files, names)), why, has_one_object_each=True, is_sure="" not in words)


def name_by_folder(path: Path, files: Sequence[Path]) -> Rule | None:
    """An object a picture in a folder for each image, or in the folder `masks` of such a folder."""
    parts = [f.relative_to(path).parts for f in files]
    if any(len(p) < 2 for p in parts):
        return None
    is_below = all(len(p) > 2 and p[-2].lower() in BELOW for p in parts)
    owners = [p[-3] if is_below else p[-2] for p in parts]
    if len(set(owners)) == len(owners) or (len(set(owners)) < 2 and not is_below):
        return None
    why = "an object a picture, in a folder for each image"
    return Rule(tuple(map(Named, files, owners)), why, has_one_object_each=True, is_sure=is_below)


BELOW = ("masks", "mask", "objects")  # folders of objects in the folder of an image
