"""Hostile cases, each a number: the same seed and number are the same case, whoever is asked about it."""

from __future__ import annotations

import io
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import verite as vt
from tests.formats.samples import DATA
from tests.formats.test_fuzz import mutated
from verite import _core
from verite.formats import write
from verite.interpretation.class_distances import class_distances

# A case ends in one word: fine, refused (by an error that is documented), or what else was raised.
Case = Callable[[random.Random], str]
DOCUMENTED = (vt.VeriteError,)


@cache
def targets() -> list[tuple[Path, Path]]:
    """Every good sample file, with the file or folder that is read."""
    found = []
    for format in sorted(DATA.iterdir()):
        good = format / "good"
        plain = [p for p in sorted(good.rglob("*")) if p.is_file()]
        is_folder = format.name in ("yolo", "data_yaml", "coco_folder", "wider", "mot", "kitti", "panoptic",
                                     "voc_segmentation")  # fmt: skip
        found += [(p, good if is_folder else p) for p in plain]
    home = Path(str(files("verite") / "data"))
    for name in ("lvis/truth.json", "openimages/boxes.csv", "openimages/labels.csv", "openimages/hawk.csv",
                 "imagenet/solution.csv", "panoptic/truth.json"):  # fmt: skip
        path = home / "competitions" / name
        found += [(path, path)] if path.exists() else []
    return found


def spoil_a_file(chance: random.Random) -> str:
    """A good file with a few bytes changed is read, then evaluated against itself whatever is wrong with it."""
    path, place = chance.choice(targets())
    with tempfile.TemporaryDirectory() as folder:
        if place.is_dir():
            whole = Path(folder) / "good"
            shutil.copytree(place, whole)
            target = whole / path.relative_to(place)
        else:
            whole = target = Path(folder) / path.name
        target.write_bytes(mutated(path.read_bytes(), chance))
        with suppress(*DOCUMENTED):
            vt.inspect(whole)  # lists all faults, and goes on where reading ends at the first
        try:
            found = vt.read(whole)
            assert found.digest
            pred = found
            if found.confidence is None:
                pred = replace(found, confidence=np.linspace(0, 1, len(found)))
            vt.voc(found, pred, checks="warn")
        except DOCUMENTED:
            return "refused"
    return "fine"


@cache
def picture_sets() -> list[dict[str, bytes]]:
    """The files of a few images as pictures: panoptic ones, and a folder of masks."""
    home = Path(str(files("verite") / "data" / "competitions" / "panoptic"))
    plain = [home / "truth.json", *sorted((home / "truth").glob("*.png"))]
    panoptic = {str(Path("set") / path.relative_to(home)): path.read_bytes() for path in plain}
    with tempfile.TemporaryDirectory() as folder:
        write(vt.read(home / "truth.json"), Path(folder) / "set", "mask-pictures")
        plain = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return [panoptic, {str(path.relative_to(folder)): path.read_bytes() for path in plain}]


def repaint(data: bytes, chance: random.Random) -> bytes:
    """The picture in another mode, of another size, or with other values."""
    with Image.open(io.BytesIO(data)) as picture:
        image = picture.copy()
    match chance.randrange(3):
        case 0:
            image = image.convert("RGB").convert(chance.choice(["1", "L", "P", "RGB", "RGBA", "CMYK", "I", "F"]))
        case 1:
            image = image.resize((chance.choice([1, 2, image.width + 1]), chance.choice([1, 3, image.height])))
        case _:
            colour = chance.randrange(256) if len(image.getbands()) == 1 else tuple(chance.randbytes(3))
            image.paste(colour, (0, 0, chance.randint(1, image.width), chance.randint(1, image.height)))
    out = io.BytesIO()
    image.save(out, chance.choice(["PNG", "TIFF"]))
    return out.getvalue()


def spoil_a_picture(chance: random.Random) -> str:
    """A folder of mask pictures, one file of it spoiled, listed and read."""
    whole = chance.choice(picture_sets())
    name = chance.choice(sorted(whole))
    try:
        spoiled = repaint(whole[name], chance) if name.endswith(".png") and chance.random() < 0.6 else None
    except (OSError, ValueError):  # what cannot be saved so
        spoiled = None
    with tempfile.TemporaryDirectory() as folder:
        for path, data in whole.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            own = data if path != name else spoiled or mutated(data, chance)
            (Path(folder) / path).write_bytes(own)
        place = Path(folder) / "set"
        with suppress(*DOCUMENTED):
            vt.inspect(place)
        try:
            found = vt.read(place)
            vt.coco(found, replace(found, confidence=np.linspace(0, 1, len(found))), on="mask", checks="warn")
        except DOCUMENTED:
            return "refused"
    return "fine"


def spoil_a_table(chance: random.Random) -> str:
    """A spoiled table of answers is ranked."""
    home = Path(str(files("verite") / "data"))
    tables = [p for p in sorted(home.rglob("*.csv")) if "rank" in str(p)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(mutated(chance.choice(tables).read_bytes(), chance))
        try:
            vt.rank(path, errors=vt.truth_errors.Bernoulli(0.05))
        except DOCUMENTED:
            return "refused"
    return "fine"


@cache
def whole_parts() -> list[tuple[bytes, bytes]]:
    """Parts of the demo's images by two protocols, each with a part of the others."""
    demo = Path(str(files("verite") / "data" / "demo"))
    truth = vt.read(demo / "truth.json")
    pred = vt.read(demo / "hawk.json", like=truth)
    halves = [(truth.image % 2 == i, pred.image % 2 == i) for i in range(2)]
    sides = [(truth.where(mine), pred.where(theirs)) for mine, theirs in halves]
    return [
        tuple(vt.partial(*side, protocol, checks="off").to_bytes() for side in sides)  # type: ignore[misc]
        for protocol in ("coco", "voc")
    ]


def spoil_a_part(chance: random.Random) -> str:
    """A spoiled part of an evaluation, most often with the digest that it should have, merged with a good one."""
    part, other = chance.choice(whole_parts())
    data = mutated(part, chance)
    if chance.random() < 0.75:
        inner = mutated(part[:-8], chance)
        data = inner + _core.digest(inner).to_bytes(8, "little")
    try:
        merged = vt.Partial.from_bytes(data).merge(vt.Partial.from_bytes(other), duplicates="first")
        assert str(merged.compute())
        assert merged.to_bytes()
    except DOCUMENTED:
        return "refused"
    return "fine"


def spoil_class_distances(chance: random.Random) -> str:
    """A spoiled matrix or taxonomy of classes, or list of names."""
    home = Path(str(files("verite") / "data"))
    sources = [p for p in sorted(home.rglob("*")) if p.is_file() and ("class-dist" in str(p) or p.name == "kinds.txt")]
    with tempfile.TemporaryDirectory() as folder:
        source = chance.choice(sources)
        path = Path(folder) / source.name
        path.write_bytes(mutated(source.read_bytes(), chance))
        try:
            class_distances(path)
        except DOCUMENTED:
            return "refused"
    return "fine"


def spoil_a_coco_file(chance: random.Random) -> str:
    """A spoiled truth or results file evaluated by COCO's rules, boxes or masks."""
    truth, pred = spoiled_pair(chance)
    on = chance.choice(["box", "mask"])
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("truth.json", "pred.json")]
        for path, data in zip(paths, (truth, pred), strict=True):
            path.write_bytes(data)
        try:
            vt.coco(*paths, on=on, checks="warn")
        except DOCUMENTED:
            return "refused"
    return "fine"


def spoil_a_coco_file_of_the_reference(chance: random.Random) -> str:
    """The same files through pycocotools."""
    import contextlib
    import io

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, pred = spoiled_pair(chance)
    on = {"box": "bbox", "mask": "segm"}[chance.choice(["box", "mask"])]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        paths = [Path(folder) / name for name in ("truth.json", "pred.json")]
        for path, data in zip(paths, (truth, pred), strict=True):
            path.write_bytes(data)
        try:
            known = COCO(str(paths[0]))
            evaluation = COCOeval(known, known.loadRes(str(paths[1])), on)
            evaluation.evaluate()
            evaluation.accumulate()
        except Exception:
            return "refused"
    return "fine"


def spoiled_pair(chance: random.Random) -> tuple[bytes, bytes]:
    """The demo's truth and a detector's results, one of them spoiled."""
    demo = Path(str(files("verite") / "data" / "demo"))
    pair = [(demo / name).read_bytes() for name in ("truth.json", "hawk.json")]
    which = chance.randrange(2)
    pair[which] = mutated(pair[which], chance)
    return pair[0], pair[1]


def random_counts(chance: random.Random) -> Any:
    """Runs as text, bytes or numbers, mostly wrong."""
    numbers = [0, 1, 2, 3, 5, 100, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -1, -(2**63)]
    match chance.randrange(5):
        case 0:
            return "".join(chr(chance.randrange(32, 127)) for _ in range(chance.randrange(20)))
        case 1:
            return bytes(chance.randrange(256) for _ in range(chance.randrange(20)))
        case 2:
            return [chance.choice(numbers) for _ in range(chance.randrange(8))]
        case 3:
            return "PPYo0" * chance.randrange(4) + chr(chance.randrange(48, 112))
    return chance.choice([None, 3, [1.5], ["a"], {}, "é"])


def sound_mask(chance: random.Random) -> dict[str, Any]:
    """A mask as it should be."""
    height, width = chance.randint(1, 12), chance.randint(1, 12)
    ends = sorted(chance.randint(0, height * width) for _ in range(chance.randrange(6)))
    runs = np.diff([0, *ends, height * width]).astype(np.uint32)
    return {"size": [height, width], "counts": _core.encode_runs(runs)}


def random_mask(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.5:
        return sound_mask(chance)
    sides = [0, 1, 2, 5, 10, 100, 2**16, 2**31, 2**32, -1]
    size = [chance.choice(sides), chance.choice(sides)]
    return {"size": chance.choice([size, size, size, size[:1], None, "ab"]), "counts": random_counts(chance)}


def use_masks(module: Any, chance: random.Random) -> None:
    """A few calls of pycocotools' mask module, on whoever stands in for it."""
    masks = [random_mask(chance) for _ in range(chance.choice([1, 2, 3]))]
    match chance.randrange(6):
        case 0:
            module.area(masks)
        case 1:
            module.toBbox(masks)
        case 2:
            module.iou(masks, masks, [chance.randrange(2) for _ in masks])
        case 3:
            module.merge(masks, chance.randrange(2))
        case 4:
            module.decode(masks)
        case _:
            height, width = (chance.choice([1, 5, 100, 2**31, -1]) for _ in range(2))
            given = [[chance.uniform(-1e9, 1e9) for _ in range(chance.randrange(9))], masks[0]]
            module.frPyObjects(chance.choice([[given[0]], given[1], masks]), height, width)


def spoil_a_mask(chance: random.Random) -> str:
    """Malformed masks through the drop-in: values, types and memory are refused as Python refuses them."""
    from verite.compat.pycocotools import mask

    try:
        use_masks(mask, chance)
    except (*DOCUMENTED, ValueError, TypeError, KeyError, MemoryError, OverflowError):
        return "refused"
    return "fine"


def spoil_a_mask_of_the_reference(chance: random.Random) -> str:
    """The same cases on pycocotools."""
    from pycocotools import mask

    try:
        use_masks(mask, chance)
    except Exception:
        return "refused"
    return "fine"


KINDS: dict[str, Case] = {
    "files": spoil_a_file,
    "COCO files": spoil_a_coco_file,
    "COCO files of pycocotools": spoil_a_coco_file_of_the_reference,
    "mask pictures": spoil_a_picture,
    "tables": spoil_a_table,
    "class distances": spoil_class_distances,
    "parts": spoil_a_part,
    "masks": spoil_a_mask,
    "masks of pycocotools": spoil_a_mask_of_the_reference,
}


def run_case(kind: str, seed: int, number: int) -> str:
    """The outcome of one case."""
    try:
        return KINDS[kind](random.Random(f"{kind.split(' of ')[0]} {seed} {number}"))
    except Exception as error:
        return f"undocumented {type(error).__name__}: {error}"[:300].replace("\n", " ")
