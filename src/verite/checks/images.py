"""Do the predictions refer to images of the ground truth? Shifted, unknown or quoted image ids (V211, V212, V213)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks.boxes import percent
from verite.checks.check import EXAMPLES, Finding, Fix, near_word
from verite.checks.evidence import FEWEST, MATCHED_IOU, Hypothesis, best_overlaps, most_possible, overlaps_under, turns
from verite.checks.sample import IMAGES, NATS, Pair, Sample, group_objects, sample_images, speaks_by_id, usable_rows
from verite.errors import VeriteError, excerpt, spell_option
from verite.hooks import hook
from verite.model.annotations import Annotations

Ints = NDArray[np.int64]
NEARLY = 0.9  # share of images that must be unknown before ids are called positions
ASKED = 200  # unknown images that are searched for in other splits
LEAST = 0.35  # share of the objects that must match if ids are positions
NO_WORSE = 0.98  # share of the summed IoU that must remain under shifted ids
DIGITS = 18  # of an id that fits 64 bits


def find_wrong_images(pair: Pair) -> Iterator[Finding]:
    """Find predictions on images that the ground truth does not have, and image ids that are shifted by one.

    A shift is named if the boxes fit far better with it, or if it makes every unknown image known.
    """
    truth, pred, sample, (plain, found) = pair.truth, pair.pred, pair.sample, pair.explanations
    known, shift = len(truth.images), found.shift if found else 0
    if len(pred.images) == known and not shift:
        return
    used = np.flatnonzero(_core.mark_used(pred.image, len(pred.images)))
    unknown = used[used >= known]
    count = int((pred.image >= known).sum())
    if not shift and len(unknown) and speaks_by_id(pred, "images") and pred.images.ids is not None:
        shift = shift_that_makes_known(pred.images.ids[:known], pred.images.ids[used], sample, plain)
    names = [pred.images.name(int(i)) for i in unknown[:EXAMPLES]]
    if shift:
        evidence = f"{len(unknown):,} of {len(used):,} images are not in the ground truth as read"
        if found and found.shift and plain:
            evidence = (
                f"{percent(plain)} of {plain.possible:,} sampled objects match as read, {percent(found)} of "
                f"{found.possible:,} with {shift:+d}"
            )
        yield Finding(
            "V211",
            "error",
            f"image ids look shifted by {-shift:+d}: {evidence}",
            len(pred),
            tuple(f"image {name} is not in the ground truth" for name in names),
            Fix("pred", (("image_offset", shift),))
            if pred.images.ids is not None and speaks_by_id(pred, "images")  # else the reader refuses the option
            else f"add {shift} to the image ids of the predictions",
        )
    elif len(unknown) and truth.images.ids is not None and are_ids_as_texts(names, truth.images.ids):
        yield Finding(
            "V212",
            "error",
            f"{count:,} of {len(pred):,} predictions have image ids that are strings such as {excerpt(names[0])}, "
            f"the ground truth has numbers such as {int(names[0])}",
            count,
            tuple(excerpt(name) for name in names),
            f"write image ids as numbers, without quotation marks: {int(names[0])}",
        )
    elif (
        len(unknown) >= NEARLY * len(used)
        and are_consecutive(pred, used, known)
        and (fit := fit_of_positions(truth, pred, used))
    ):
        start, matched, possible = fit
        yield Finding(
            "V213",
            "error",
            f"{'all ' if count == len(pred) else ''}{count:,} predictions are on images that the ground truth does not "
            f"have, with positions from {start} in its list of images (index for id): {matched:,} of {possible:,} "
            "sampled objects match if read so",
            count,
            tuple(excerpt(name) for name in names),
            "write the image ids of the ground truth instead of consecutive numbers",
        )
    elif len(unknown) and (split := other_split(truth, [pred.images.name(int(i)) for i in unknown[:ASKED]])):
        yield Finding(
            "V213",
            "error",
            f"{count:,} of {len(pred):,} predictions are on {len(unknown):,} images that the ground truth does not "
            f"have, e.g. {excerpt(names[0])}: they are images of another split, {split}",
            count,
            tuple(excerpt(name) for name in names),
            f"give {split} as ground truth, or the predictions of this split",
        )
    elif len(unknown):
        near = nearest_image(truth, names[0], is_number=truth.images.ids is not None and speaks_by_id(pred, "images"))
        yield Finding(
            "V213",
            "error",
            f"{count:,} of {len(pred):,} predictions are on {len(unknown):,} images that the ground truth does not "
            f"have, e.g. {excerpt(names[0])}" + (f", nearest {excerpt(near)}" if near else ""),
            count,
            tuple(excerpt(name) for name in names),
            "name images as the ground truth does, or drop these predictions: "
            f"{spell_option('unknown_images', 'drop')}" + advice_on_empty_images(truth, len(unknown), len(used)),
        )


# How each format, which knows images by their objects, has one without any.
WITHOUT_OBJECTS = {
    "table": "add a row to the ground truth with the image alone",
    "text": "add an empty file to the ground truth",
    "yolo": "add an empty label file to the ground truth",
}


def advice_on_empty_images(truth: Annotations, unknown: int, used: int) -> str:
    """Return what to do where a few unknown images may have no objects, so that this ground truth leaves them out."""
    how = WITHOUT_OBJECTS.get(truth.source.format or "")
    return f"; if they have no objects, {how} for each" if how and 2 * unknown < used else ""


def are_consecutive(pred: Annotations, used: Ints, known: int) -> bool:
    """Whether image ids look like positions: within 0 to the number of ground-truth images, half of them used.

    Parameters
    ----------
    pred
        Predictions.
    used
        Positions of the images that have predictions.
    known
        Number of images of the ground truth.
    """
    ids = pred.images.ids
    if ids is None or not speaks_by_id(pred, "images") or 2 * len(used) < known:
        return False
    return bool(ids[used].min() >= 0 and ids[used].max() <= known)


def fit_of_positions(truth: Annotations, pred: Annotations, used: Ints) -> tuple[int, int, int] | None:
    """Return how well predictions fit if their image ids are positions in the list of ground-truth images.

    Positions from 0 and from 1 are tried, in the order of the file and in that of the ids.

    Returns
    -------
    tuple or None
        First position, number of matched objects, and how many could match; None unless a good part of them does, and
        more than under the other first position.
    """
    ids, known = np.asarray(pred.images.ids), len(truth.images)
    usable, usable_preds = usable_rows(truth), usable_rows(pred)
    found: dict[int, tuple[int, int]] = {0: (0, 0), 1: (0, 0)}
    starts = (0,) if ids[used].min() == 0 else (1,) if ids[used].max() == known else (0, 1)
    for start in starts:
        for order in (np.arange(known), np.argsort(ids[:known], kind="stable")):
            places = ids[used] - start
            kept = (places >= 0) & (places < known)
            images, theirs = order[places[kept]], used[kept]
            spaced = np.unique(np.linspace(0, len(images) - 1, min(IMAGES, len(images))).astype(np.int64))
            group = group_objects(truth, images[spaced], usable)
            sizes = np.stack([truth.images.widths, truth.images.heights], axis=1)[images[spaced]].astype(np.float64)
            other = group_objects(pred, theirs[spaced], usable_preds, sizes)
            overlaps = best_overlaps(group.corners(), group.image, other.corners(), other.image)
            fit = int((overlaps >= MATCHED_IOU).sum()), most_possible(group, other)
            found[start] = max(found[start], fit)
    start = max(found, key=lambda one: found[one][0])
    matched, possible = found[start]
    if matched < max(FEWEST, LEAST * possible) or found[1 - start][0] > matched / 2:
        return None
    return start, matched, possible


def are_ids_as_texts(names: Sequence[str], ids: Ints) -> bool:
    """Whether these strings are numbers that the ground truth has as image ids.

    Parameters
    ----------
    names
        Image names of the predictions.
    ids
        Image ids of the ground truth.
    """
    return all(name.isdecimal() and len(name) <= DIGITS for name in names) and bool(
        np.isin(np.array(names, int), ids).all()
    )


def shift_that_makes_known(truth_ids: Ints, used_ids: Ints, sample: Sample | None, plain: Hypothesis | None) -> int:
    """Return the shift (+1 or -1) that makes every image known without lowering the IoU, or 0 if there is none.

    Where the sample of images says nothing, the shift must be too good for chance: the ids of the ground truth are so
    sparse that as many unknown ids would not all fall on known ones.
    """
    for shift in (1, -1):
        if not np.isin(used_ids + shift, truth_ids).all():
            continue
        if sample is not None and plain is not None and shift in sample.shifts:
            overlaps = overlaps_under(sample, plain.side, plain.reading, shift)
            if (overlaps >= MATCHED_IOU).sum() >= FEWEST and overlaps.sum() >= NO_WORSE * plain.overlaps.sum():
                return shift
        density = len(truth_ids) / max(1, int(truth_ids.max()) - int(truth_ids.min()) + 1)
        unknown = int((~np.isin(used_ids, truth_ids)).sum())
        if unknown * -log(min(density, 1)) >= NATS:
            return shift
    return 0


MOST_SIBLINGS, MOST_BYTES = 6, 300_000_000  # files beside the ground truth that are looked at, and their size
SPLITS = ("train", "val", "valid", "test", "dev", "minival", "trainval")


def other_split(truth: Annotations, names: Sequence[str]) -> str | None:
    """Return the file or folder beside the ground truth that has nearly all of these images: another split of it."""
    path = Path(truth.source.path) if truth.source.path else None
    if path is None or not path.exists() or not names:
        return None
    stems = {Path(name).stem for name in names}
    if path.is_file() and path.suffix.lower() == ".json":
        beside = [p for p in sorted(path.parent.glob("*.json")) if p != path and p.stat().st_size <= MOST_BYTES]
        for sibling in beside[:MOST_SIBLINGS]:
            with suppress(VeriteError):
                other = hook("read")(str(sibling))
                images = other.images
                known = {Path(images.name(i)).stem for i in range(len(images))}
                known |= set(map(str, images.ids.tolist())) if images.ids is not None else set()
                if other.confidence is None and len(stems & known) >= NEARLY * len(stems):
                    return str(sibling)
        return None
    bases = [path, path.parent, path.parent.parent] if path.is_dir() else [path.parent, path.parent / "labels"]
    folders = [folder for base in bases for pattern in ("*", "*/*") for folder in sorted(base.glob(pattern))]
    for folder in dict.fromkeys(folders):
        if folder.is_dir() and folder.name.rstrip("0123456789") in SPLITS and folder not in (path, *path.parents):
            known = {file.stem for file in folder.rglob("*") if file.is_file()}
            if len(stems & known) >= NEARLY * len(stems):
                return str(folder)
    return None


def nearest_image(truth: Annotations, name: str, *, is_number: bool) -> str | None:
    """Return the ground-truth image with the nearest id, or with the most similar name."""
    if not len(truth.images):
        return None
    ids = truth.images.ids
    if is_number and ids is not None and name.removeprefix("-").isdecimal() and len(name) < 20:
        return str(ids[np.argmin(np.abs(ids - int(name)))])
    names = [truth.images.name(i) for i in range(len(truth.images))]
    bare = name.rpartition(".")[0] or name
    held = [n for n in names if bare in n or (n.rpartition(".")[0] or n) in name]
    if held:
        return min(held, key=lambda n: abs(len(n) - len(name)))
    return near_word(name, names)


ALIKE_IMAGES, MANY_IMAGES = 1.5, 20  # times the matches with other images; images from which that is judged


def match_no_better_than_other_images(truth: Annotations, pred: Annotations) -> bool:
    """Whether boxes match the objects of their own image about as often as those of other images."""
    sample = sample_images(truth, pred)
    if sample is None or sample.truth.images < MANY_IMAGES:
        return False

    def matched(one: Sample) -> int:
        return int((overlaps_under(one, "pred", one.pred.reading, 0) >= MATCHED_IOU).sum())

    others = [matched(Sample(sample.truth, {0: sample.pred.turn(turn)})) for turn in turns(sample.truth.images)]
    return matched(sample) <= ALIKE_IMAGES * (sum(others) + 1) / len(others)
