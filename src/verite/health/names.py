"""Do predictions speak of the truth's images and classes? (V201, V202, V203, V211, V213)"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import did_you_mean, excerpt
from verite.health.evidence import FEWEST, FOUND, NATS, ODDS
from verite.health.findings import EXAMPLES, Finding, Fix
from verite.health.geometry import Explanation, boxes_under, overlaps_under
from verite.health.sample import Sample, present, speaks_by_id
from verite.model.annotations import Annotations

Ints = NDArray[np.int64]
COMPARED = 2000  # names among which the nearest is looked for


def image_findings(
    truth: Annotations, pred: Annotations, sample: Sample | None, plain: Explanation | None, found: Explanation | None
) -> Iterator[Finding]:
    """Images that the truth does not know, and ids that are shifted."""
    known, shift = len(truth.images), found.shift if found else 0
    if len(pred.images) == known and not shift:
        return
    used = np.flatnonzero(present(pred.image, len(pred.images)))
    unknown = used[used >= known]
    count = int((pred.image >= known).sum())
    if not shift and len(unknown) and speaks_by_id(pred) and pred.images.ids is not None:
        shift = shift_that_makes_known(pred.images.ids[:known], pred.images.ids[used], sample, plain)
    names = [pred.images.name(int(i)) for i in unknown[:EXAMPLES]]
    if shift:
        evidence = f"{len(unknown):,} of {len(used):,} images are unknown to the truth as read"
        if found and found.shift and plain:
            evidence = f"{share(plain)} as read, {share(found)} with {shift:+d}"
        yield Finding(
            "V211",
            "error",
            f"image ids look shifted by {-shift:+d}: {evidence}",
            len(pred),
            tuple(f"image {name} is not in the truth" for name in names),
            Fix("pred", (("image_offset", shift),)),
        )
    elif len(unknown):
        near = nearest_image(truth, names[0], is_number=truth.images.ids is not None and speaks_by_id(pred))
        yield Finding(
            "V213",
            "error",
            f"{count:,} of {len(pred):,} predictions are on {len(unknown):,} images that the truth does not have, "
            f"e.g. {excerpt(names[0])}" + (f", nearest {excerpt(near)}" if near else ""),
            count,
            tuple(excerpt(name) for name in names),
            "name images as the truth does, or leave these predictions out",
        )


def share(e: Explanation) -> str:
    return f"{100 * e.found / max(e.possible, 1):.0f} % of {e.possible:,} sampled objects are found"


def shift_that_makes_known(truth_ids: Ints, used_ids: Ints, sample: Sample | None, plain: Explanation | None) -> int:
    """The shift of -1 or +1 under which every image is known and overlaps are no worse; 0 if there is none."""
    for shift in (1, -1):
        if not np.isin(used_ids + shift, truth_ids).all():
            continue
        if sample is not None and plain is not None and shift in sample.shifts:
            overlaps = overlaps_under(sample, plain.side, plain.reading, shift)
            if (overlaps >= FOUND).sum() >= FEWEST and overlaps.sum() > plain.overlaps.sum():
                return shift
        density = len(truth_ids) / max(1, int(truth_ids.max()) - int(truth_ids.min()) + 1)
        unknown = int((~np.isin(used_ids, truth_ids)).sum())
        if unknown * -log(min(density, 1)) >= NATS:  # so many ids do not all fall on others by chance
            return shift
    return 0


def nearest_image(truth: Annotations, name: str, *, is_number: bool) -> str | None:
    """The truth's image whose id or name is nearest."""
    if not len(truth.images):
        return None
    ids = truth.images.ids
    if is_number and ids is not None and name.lstrip("-").isdecimal():
        return str(ids[np.argmin(np.abs(ids - int(name)))])
    names = [truth.images.name(i) for i in range(len(truth.images))]
    bare = name.rpartition(".")[0] or name
    held = [n for n in names if bare in n or (n.rpartition(".")[0] or n) in name]
    if held:
        return min(held, key=lambda n: abs(len(n) - len(name)))
    return near_word(name, names)


def near_word(word: str, known: Sequence[str]) -> str | None:
    """What did_you_mean would say, the bare word; among many names only those that begin or end alike."""
    if len(known) > COMPARED:
        alike = [k for k in known if k[:3] == word[:3] or k[-8:] == word[-8:]]
        known = (alike or list(known))[:COMPARED]
    said = did_you_mean(word, known)
    return said.removeprefix("; did you mean '").removesuffix("'?") or None


def class_findings(
    truth: Annotations, pred: Annotations, sample: Sample | None, explanation: Explanation | None
) -> Iterator[Finding]:
    """Class ids that are shifted or counted without gaps, and classes that the truth does not know."""
    mapping = mistaken_mapping(truth, pred, sample, explanation) if sample and explanation else None
    if mapping:
        yield mapping
        return
    known = len(truth.labels)
    if len(pred.labels) == known:
        return
    counts = np.bincount(pred.label, minlength=len(pred.labels))
    unknown = np.flatnonzero(counts[known:]) + known
    if not len(unknown):
        return
    names = [pred.labels.name(int(i)) for i in unknown]
    order = np.argsort(-counts[unknown], kind="stable")
    count = int(counts[unknown].sum())
    guesses = [(names[i], near_word(names[i], truth.labels.all_names)) for i in order[:EXAMPLES]]
    first, near = next(((name, guess) for name, guess in guesses if guess), guesses[0])
    yield Finding(
        "V203",
        "error" if count == len(pred) else "warning",
        f"{count:,} of {len(pred):,} predictions have one of {len(unknown):,} classes that the truth does not have, "
        f"e.g. {excerpt(first)}" + (f"; did you mean {excerpt(near)}?" if near else ""),
        count,
        tuple(excerpt(name) + (f", nearest {excerpt(guess)}" if guess else "") for name, guess in guesses),
        advice_on_classes(names, truth),
    )


def advice_on_classes(names: Sequence[str], truth: Annotations) -> str:
    """What to do about classes that the truth does not have."""
    if all(name.isdecimal() for name in names) and not all(name.isdecimal() for name in truth.labels.all_names):
        return "these are numbers: give the names of the classes with --names"
    return f"the truth has {listed(truth.labels.all_names)}"


def listed(names: Sequence[str]) -> str:
    return ", ".join(excerpt(name, 30) for name in names[:6]) + (
        f" and {len(names) - 6:,} more" if len(names) > 6 else ""
    )


def mistaken_mapping(truth: Annotations, pred: Annotations, sample: Sample, explanation: Explanation) -> Finding | None:
    """A shift of class ids, or ids counted without the truth's gaps, under which overlapping objects agree."""
    numbers = class_numbers(truth, pred)
    if numbers is None:
        return None
    theirs, mine = numbers
    one, other = overlapping(sample, explanation)
    wanted = theirs[truth.label[sample.truth.rows[one]]]
    given = mine[pred.label[sample.preds[explanation.shift].rows[other]]]
    agreed = int((wanted == given).sum())
    if len(one) < FEWEST or agreed > len(one) / 2:
        return None
    used = mine[present(pred.label, len(pred.labels))]
    tried: list[tuple[int, str, int]] = []
    for name, mapped in mappings(theirs):
        now = mapped(given)
        hits = wanted == now
        is_known_before, is_known_after = np.isin(used, theirs), np.isin(mapped(used), theirs)
        kinds, members = np.unique(given[hits], return_counts=True)
        is_new = is_known_after.mean() - is_known_before.mean() >= 0.5
        if is_known_after.sum() >= is_known_before.sum() and (is_new or int((members >= 2).sum()) >= 2):
            tried.append((int(hits.sum()), name, len(kinds)))
    if not tried:
        return None
    best, name, _ = max(tried, key=lambda t: t[0])
    if best < FEWEST + ODDS * agreed or best < 0.4 * len(one):
        return None
    return mapping_finding(pred, name, best, agreed, len(one), examples(truth, pred, sample, explanation, one, other))


def class_numbers(truth: Annotations, pred: Annotations) -> tuple[Ints, Ints] | None:
    """The class ids of both sides; numbers that serve as names count as ids."""
    if speaks_by_id(pred) and pred.labels.ids is not None and truth.labels.ids is not None:
        return truth.labels.ids, pred.labels.ids
    names = pred.labels.all_names
    if names and all(name.isdecimal() and len(name) < 10 for name in names):
        numbers = np.array([int(name) for name in names])
        return numbers[: len(truth.labels)], numbers
    return None


def mappings(theirs: Ints) -> Iterator[tuple[str, Callable[[Ints], Ints]]]:
    """Ways in which class ids go wrong, as functions from the file's ids to the right ones."""
    yield "+1", lambda ids: ids + 1
    yield "-1", lambda ids: ids - 1
    ordered = np.sort(theirs)
    if len(ordered) and ordered[-1] - ordered[0] >= len(ordered):  # there are gaps, as among COCO's 1 to 90
        for start in (0, 1):
            yield f"index from {start}", lambda ids, start=start: in_order(ordered, ids - start)  # type: ignore[misc]


def in_order(ordered: Ints, index: Ints) -> Ints:
    """The id at each index, -1 where there is none."""
    return np.where((index >= 0) & (index < len(ordered)), ordered[np.clip(index, 0, len(ordered) - 1)], -1)


def overlapping(sample: Sample, explanation: Explanation) -> tuple[Ints, Ints]:
    """Truths of the sample that are found, each with the most confident prediction that finds it."""
    truth_boxes, pred_boxes = boxes_under(sample, explanation.side, explanation.reading, explanation.shift)
    pred = sample.preds[explanation.shift]
    offsets, which, _ = _core.box_candidates(truth_boxes, sample.truth.image, pred_boxes, pred.image, 0.0, FOUND)
    by = np.repeat(np.arange(len(pred)), np.diff(offsets))
    first = np.full(len(sample.truth), -1)
    first[which[::-1]] = by[::-1]  # predictions come by confidence: the first is assigned last
    found = np.flatnonzero(first >= 0)
    return found, first[found]


def examples(
    truth: Annotations, pred: Annotations, sample: Sample, explanation: Explanation, one: Ints, other: Ints
) -> tuple[str, ...]:
    mine = pred.label[sample.preds[explanation.shift].rows[other[:EXAMPLES]]]
    rows = sample.truth.rows[one[:EXAMPLES]]
    return tuple(
        f"{truth.images.name(int(truth.image[row]))}: {excerpt(pred.labels.name(int(label)))} "
        f"on {excerpt(truth.labels.name(int(truth.label[row])))}"
        for row, label in zip(rows, mine, strict=True)
    )


def mapping_finding(
    pred: Annotations, name: str, best: int, agreed: int, pairs: int, shown: tuple[str, ...]
) -> Finding:
    evidence = f"{agreed} of {pairs} overlapping pairs agree in class as read, {best}"
    if name.startswith("index"):
        return Finding(
            "V202",
            "error",
            f"class ids look counted from {name[-1]} without the gaps of the truth's ids: {evidence} when counted so",
            len(pred),
            shown,
            "write the truth's category ids instead of positions in the list of classes",
        )
    takes_option = pred.source.format in ("coco-results", "yolo")
    return Finding(
        "V201",
        "error",
        f"class ids look shifted by {-int(name):+d}: {evidence} with {name}",
        len(pred),
        shown,
        Fix("pred", (("label_offset", int(name)),)) if takes_option else f"add {name} to the class numbers",
    )
