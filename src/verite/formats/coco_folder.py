"""COCO folders as Roboflow exports them: `_annotations.coco.json` beside the pictures, in a folder per split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from verite.formats import coco
from verite.formats.format import Format, Look, Options
from verite.formats.splits import choose_split
from verite.model.annotations import Annotations

FILE = "_annotations.coco.json"


def recognise(look: Look) -> str | None:
    if not look.is_folder or not documents(look.path):
        return None
    return f"a folder with {FILE}"


def documents(path: Path) -> dict[str, Path]:
    """The files by the name of their folder; that of the folder itself under no name."""
    if (path / FILE).is_file():
        return {"": path / FILE}
    return {file.parent.name: file for file in sorted(path.glob(f"*/{FILE}"))}


def read(path: Path, options: Options) -> Annotations:
    name, file = choose_split(path, documents(path), options, expected=FILE)
    annotations = coco.read(file, replace(options, split=None))
    return annotations.said_to_be(
        replace(annotations.source, path=str(path), format="coco-folder", why=f"the split {name}" if name else "")
    )


FORMAT = Format(
    name="coco-folder",
    title="COCO folder",
    about=f"COCO JSON as Roboflow exports it, `{FILE}` beside the pictures; `split` chooses among several folders",
    recognise=recognise,
    read=read,
    honours=coco.FORMAT.honours | {"split"},
    sides=("truth",),
)
