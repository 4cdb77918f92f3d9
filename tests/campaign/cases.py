"""Hostile cases, each a number: the same seed and number are the same case, whoever is asked about it."""

from __future__ import annotations

import io
import random
import re
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import verite as vt
from tests.campaign.drop_ins import spoil_the_drop_in
from tests.campaign.memory import (
    spoil_a_constructor,
    spoil_a_function,
    spoil_an_evaluator,
    spoil_an_object,
)
from tests.campaign.targets import (
    Outcome,
    Target,
    archive_targets,
    command_targets,
    format_targets,
    spoiled,
    volume_targets,
)
from tests.formats.test_fuzz import mutated
from verite import _core
from verite.protocols import REGISTRY
from verite.scale.partial import IN_ONE_PIECE

# A case ends in a word: number, refused (by a documented error), undocumented (what else was raised), silent (another
# number from a file that was cut off, without a word), lost (what was taken before) or memory (out of proportion).
Case = Callable[[random.Random], str]
DOCUMENTED = (vt.VeriteError,)


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


# Files whose end is marked: one that was cut off must not give another number without a word.
DELIMITED = (
    ".json",
    ".xml",
    ".png",
    ".tif",
    ".tiff",
    ".npy",
    ".nii",
    ".gz",
    ".zst",
    ".zip",
    ".bz2",
    ".xz",
    ".parquet",
    ".part",
)
ALLOWED = 200 * 2**20  # bytes of memory, beside a hundred times the file


LEVELS = (100, 1000, 10_000, 100_000)  # of JSON, YAML and XML: the second is beyond Python's own readers
VALUE = re.compile(rb'(?<=[:=\[,\n-])[ ]*("[^"\n]*"|[\w.+-]+)(?=[\s,\]}]|$)')
TAG = re.compile(rb"<[\w:]+[^<>]*>")


def nested(data: bytes, chance: random.Random) -> bytes:
    """The document with a value, an element or itself below thousands of levels, which end as they should or do not."""
    levels = chance.choice(LEVELS)
    if data.lstrip()[:1] == b"<":
        places = [match.end() for match in TAG.finditer(data)] or [0]
        opened, closed, at = b"<object>", b"</object>", chance.choice(places)
        until = at
    else:
        opened, closed = chance.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"- ", b""), (b"[[a]]\n", b"")])
        spans = [match.span(1) for match in VALUE.finditer(data[:100_000])]
        at, until = chance.choice([(0, len(data)), chance.choice(spans or [(0, 0)]), (0, 0)])
    is_whole = chance.random() < 0.8
    return data[:at] + opened * levels + data[at:until] + closed * levels * is_whole + data[until:]


def worse(data: bytes, path: Path, chance: random.Random) -> bytes:
    """The bytes of a file spoiled: cut off, another picture, or some of them changed."""
    if chance.random() < 0.2:
        return data[: chance.randrange(len(data) + 1)]
    if chance.random() < 0.03:
        return nested(data, chance)
    if path.suffix in (".png", ".tif", ".tiff") and chance.random() < 0.5:
        with suppress(OSError, ValueError):  # what cannot be saved so
            return repaint(data, chance)
    return mutated(data, chance)


@cache
def good_outcome(target: Target) -> Outcome:
    """What comes out of the file as it should be; everything that the target needs is loaded then."""
    try:
        return target.run()
    finally:
        when_loaded()


def when_loaded() -> None:
    """Called when a target was tried for the first time, which is no part of its first case."""


def spoil(target: Target, chance: random.Random) -> str:
    """The outcome of an entry point whose file is spoiled."""
    with suppress(*DOCUMENTED):
        good_outcome(target)
    data = target.path.read_bytes()
    bad = worse(data, target.path, chance)
    before = memory_now()
    try:
        with spoiled(target.path, bad):
            outcome = target.run()
    except DOCUMENTED:
        outcome = None
    taken = memory_peak() - before
    if len(bad) < 2**20 and taken > ALLOWED + 100 * len(bad):
        return f"memory {taken >> 20} MB for {len(bad)} bytes: {target.name}"
    if outcome is None:
        return "refused"
    is_cut = len(bad) < len(data) and data.startswith(bad) and target.path.suffix in DELIMITED
    with suppress(*DOCUMENTED):
        good = good_outcome(target)
        if is_cut and outcome.text != good.text and outcome.warnings <= good.warnings:
            return f"silent {len(bad)} of {len(data)} bytes: {target.name}"
    return "number"


def memory_now() -> int:
    """Bytes of memory that this process has; the peak begins anew here, where the system keeps one."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return status_bytes("VmRSS")
    return 0


def memory_peak() -> int:
    with suppress(OSError):
        return status_bytes("VmHWM")
    return 0


def status_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def spoil_one_of(targets: Callable[[], list[Target]], chance: random.Random) -> str:
    """A case of one of the entry points, drawn by chance."""
    target = chance.choice(targets())
    try:
        return spoil(target, chance)
    except Exception as error:
        return f"undocumented {type(error).__name__}: {error}: {target.name}"


def race(chance: random.Random) -> str:
    """A file that is cut off, emptied or written anew while it is read or when it was read: its number, or refused."""
    target = chance.choice([*format_targets(), *archive_targets(), *volume_targets()])
    try:
        good, data = good_outcome(target), target.path.read_bytes()
    except DOCUMENTED:
        return "refused"
    cut = chance.choice([b"", data[: chance.randrange(len(data) + 1)], bytes(len(data))])
    timer = threading.Timer(chance.uniform(0, 0.02), target.path.write_bytes, [cut])
    with spoiled(target.path, data):
        timer.start()
        try:
            outcome = target.run()
        except DOCUMENTED:
            return "refused"
        finally:
            timer.join()
    if len(cut) < len(data) and target.path.suffix in DELIMITED and outcome.text != good.text:
        return f"silent race: {target.name}"
    return "number"


# What protocols are given whose ground truth is of their own kind; any other is given the demo.
OF_PROTOCOL = {
    "lvis": ("competitions/lvis/truth.json", "demo/hawk.json"),
    "panoptic": ("competitions/panoptic/truth.json", "competitions/panoptic/hawk.json"),
}


@cache
def whole_parts() -> list[tuple[bytes, bytes]]:
    """Parts of half of the images by every protocol that is evaluated in parts, each with a part of the others."""
    found = []
    for protocol in (verb for verb in REGISTRY if verb not in IN_ONE_PIECE):
        names = OF_PROTOCOL.get(protocol, ("demo/truth.json", "demo/hawk.json"))
        paths = [Path(str(files("verite") / "data" / name)) for name in names]
        truth = vt.read(paths[0])
        pred = vt.read(paths[1], like=truth)
        one, two = (
            vt.partial(truth.where(truth.image % 2 == i), pred.where(pred.image % 2 == i), protocol, checks="off")
            for i in range(2)
        )
        found.append((one.to_bytes(), two.to_bytes()))
    return found


def spoil_a_part(chance: random.Random) -> str:
    """A spoiled part of an evaluation, most often with the digest that it should have, merged with a good one.

    Scores from 0 to 1, as of any images, are possible results: others are silently wrong.
    """
    part, other = chance.choice(whole_parts())
    data = mutated(part, chance)
    if chance.random() < 0.75:
        inner = mutated(part[:-8], chance)
        data = inner + _core.digest(inner).to_bytes(8, "little")
    try:
        merged = vt.PartialResult.from_bytes(data).merge(vt.PartialResult.from_bytes(other), duplicates="first")
        results = merged.compute()
        assert str(results)
        assert merged.to_bytes()
    except DOCUMENTED:
        return "refused"
    odd = {name: score.value for name, score in results.scores.items() if score.value < 0 or score.value > 1}
    return f"silent {merged.protocol}: {odd}" if odd else "number"


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
    return "number"


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
    return "number"


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
    return "number"


def spoil_a_mask_of_the_reference(chance: random.Random) -> str:
    """The same cases on pycocotools."""
    from pycocotools import mask

    try:
        use_masks(mask, chance)
    except Exception:
        return "refused"
    return "number"


KINDS: dict[str, Case] = {
    "formats": partial(spoil_one_of, format_targets),
    "archives": partial(spoil_one_of, archive_targets),
    "volumes": partial(spoil_one_of, volume_targets),
    "commands": partial(spoil_one_of, command_targets),
    "truncation races": race,
    "COCO files": spoil_a_coco_file,
    "COCO files of pycocotools": spoil_a_coco_file_of_the_reference,
    "functions": spoil_a_function,
    "objects": spoil_an_object,
    "constructors": spoil_a_constructor,
    "evaluators": spoil_an_evaluator,
    "drop-in": spoil_the_drop_in,
    "parts": spoil_a_part,
    "masks": spoil_a_mask,
    "masks of pycocotools": spoil_a_mask_of_the_reference,
}


def run_case(kind: str, seed: int, number: int) -> str:
    """The outcome of one case, in a line."""
    try:
        said = KINDS[kind](random.Random(f"{kind.split(' of ')[0]} {seed} {number}"))
    except Exception as error:
        said = f"undocumented {type(error).__name__}: {error}"
    return " ".join(said.split())[:300]
