"""Checks of class names and ids: shifted ids, ids without gaps, unknown classes, spelling (V201-V204, V220, V309).

Shifted ids are found by matching: among predictions that overlap a ground-truth object, far more must agree in class
once the ids are shifted, or counted with the ground truth's gaps (as COCO's 80 classes have ids from 1 to 90).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from verite import _core
from verite.arrays import np
from verite.checks.check import EXAMPLES, Finding, Fix, near_word
from verite.checks.evidence import FEWEST, ODDS, Hypothesis, best_pairs, find_overlapping
from verite.checks.sample import Pair, Sample, Side, fold, speaks_by_id
from verite.errors import IS_COMMAND_LINE, excerpt, ignore_classes, spell_option
from verite.model.annotations import Annotations

if TYPE_CHECKING:
    from numpy.typing import NDArray


def find_alike_names(subject: Side | Pair) -> Iterator[Finding]:
    """Find class names that differ only in case or white space, within the ground truth or between the sides (V204)."""
    if isinstance(subject, Side):
        groups: dict[str, list[str]] = {}
        for name in subject.annotations.labels.all_names:
            groups.setdefault(fold(name), []).append(name)
        alike = [" and ".join(map(excerpt, group)) for group in groups.values() if len(group) > 1]
        message = f"class names differ only in case or white space: {alike[0]}"
        remedy = "if they are one class, use one spelling"
        yield Finding("V204", "warning", message, len(alike), tuple(alike[:EXAMPLES]), remedy, "truth")
        return
    if not subject.count("unknown_labels"):
        return
    truth, pred = subject.truth, subject.pred
    known = {fold(name): name for name in truth.labels.all_names}
    counts = zip(pred.labels.all_names, count_labels(pred), strict=True)
    unknown = list(counts)[len(truth.labels) :]
    pairs = [(name, known[fold(name)], count) for name, count in unknown if count and fold(name) in known]
    if not pairs:
        return
    lines = [f"{excerpt(name)} for {excerpt(meant)}" for name, meant, _ in pairs]
    total = sum(count for _, _, count in pairs)
    yield Finding(
        "V204",
        "error" if total == len(pred) else "warning",
        f"{total:,} of {len(pred):,} predictions have class names that differ from the ground truth's only in case or "
        f"white space: {lines[0]}",
        total,
        tuple(lines[:EXAMPLES]),
        "spell class names as in the ground truth",
    )


def find_repeated_names(side: Side) -> Iterator[Finding]:
    """Find images with a file name that another image has (V215)."""
    tally, images = side.tally("repeated_names"), side.annotations.images
    shown = tuple(excerpt(images.name(i)) for i in tally.rows)
    yield Finding(
        "V215",
        "warning",
        f"{tally.count:,} of {len(images):,} images have the file name of an earlier image, e.g. {shown[0]}",
        tally.count,
        shown,
        "give every image its own name; predictions that refer to images by name are ambiguous",
        "truth",
    )


def find_unpredicted_classes(pair: Pair) -> Iterator[Finding]:
    """Find classes with objects but without predictions (V309)."""
    truths, preds = count_labels(pair.truth), count_labels(pair.pred)
    names = pair.truth.labels.all_names
    missing = [name for name, truth, pred in zip(names, truths, preds, strict=False) if truth and not pred]
    if missing and len(pair.pred):
        yield about_classes("V309", missing, f"of {len(names):,} classes have objects but no prediction", "pred")


def find_unused_classes(side: Side) -> Iterator[Finding]:
    """Find classes without objects (V220)."""
    names = side.annotations.labels.all_names
    unused = [name for name, count in zip(names, count_labels(side.annotations), strict=True) if not count]
    if unused and len(side):
        yield about_classes("V220", unused, f"of {len(names):,} classes have no object", "truth")


def about_classes(code: str, names: Sequence[str], what: str, side: str) -> Finding:
    """Make a note about some classes.

    Parameters
    ----------
    code
        Code of the check.
    names
        The classes.
    what
        What is said about them, behind their number.
    side
        `truth` or `pred`.
    """
    shown = tuple(map(excerpt, names[:EXAMPLES]))
    message = f"{len(names):,} {what}, e.g. {shown[0]}"
    return Finding(code, "note", message, len(names), shown, "no action needed if intended", side)  # type: ignore[arg-type]


def count_labels(annotations: Annotations) -> list[int]:
    """Return the number of objects of each class."""
    return np.bincount(annotations.label, minlength=len(annotations.labels)).tolist()  # type: ignore[no-any-return]


Ints: TypeAlias = "NDArray[np.int64]"

DIGITS = 9  # of a class id

UNKNOWN = -(10**DIGITS)  # an id that no shift makes a known one

FEWEST_PREDICTIONS = 5  # of known classes without objects, before classes are in question

SHOWN = 6  # class names that a message lists

SHARE = 0.15  # of the overlapping pairs that must agree in class under another mapping ...

HALF = 0.5  # ... and if predictions have one class only

NEARLY, FEW_PAIRS = 0.8, 3  # share of predicted classes, of three pairs each, that a shift must explain to be advised


def find_wrong_classes(pair: Pair) -> Iterator[Finding]:
    """Find shifted class ids (V201), ids without gaps (V202), and classes unknown to the ground truth (V203)."""
    truth, pred, sample = pair.truth, pair.pred, pair.sample
    plain, found = pair.explanations
    explanation = found or plain
    mapping = mistaken_mapping(truth, pred, sample, explanation) if sample and explanation else None
    if mapping:
        yield mapping_finding(pred, mapping)
        return
    known = len(truth.labels)
    if sample and explanation and not pair.fit.exchanges and (other := reordered_classes(pair, explanation)):
        yield other
        return
    if len(pred.labels) == known:
        # No object is of a predicted class, so that none can be a true positive. A note for fewer than five
        # predictions, which may all be wrong by chance; V309 then names the classes beside the AP.
        asked, given = (_core.mark_used(side.label, known) for side in (truth, pred))
        if len(truth) and len(pred) and not (asked & given).any():
            predicted, wanted = ([truth.labels.name(int(i)) for i in np.flatnonzero(used)] for used in (given, asked))
            yield Finding(
                "V203",
                "warning" if len(pred) >= FEWEST_PREDICTIONS else "note",
                f"no prediction has the class of any object: predictions have {list_names(predicted)}, objects have "
                f"{list_names(wanted)}",
                len(pred),
                (),
                "check that class ids start at the same number on both sides",
            )
        return
    counts = np.bincount(pred.label, minlength=len(pred.labels))
    spelt = {fold(name) for name in truth.labels.all_names}  # V204 reports names that differ only in case
    unknown = np.flatnonzero(counts[known:]) + known
    unknown = np.array([i for i in unknown if fold(pred.labels.name(int(i))) not in spelt], dtype=np.int64)
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
        f"{count:,} of {len(pred):,} predictions have "
        f"{f'one of {len(unknown):,} classes' if len(unknown) > 1 else 'a class'} that the ground truth does not have, "
        f"e.g. {excerpt(first)}" + (f"; did you mean {excerpt(near)}?" if near else ""),
        count,
        tuple(excerpt(name) + (f", nearest {excerpt(guess)}" if guess else "") for name, guess in guesses),
        advice_on_classes(names, truth, is_all=count == len(pred), is_by_id=speaks_by_id(pred, "labels")),
    )


FEWEST_REORDERED, REORDERED = 3, 0.7  # classes of five pairs each, and the share of its pairs that have another class


def reordered_classes(pair: Pair, explanation: Hypothesis) -> Finding | None:
    """Return the finding that nearly every class is predicted as another one, a different one each (V205).

    Class names or ids in another order, as sorted by name instead of id, do that. A detector that takes many classes
    for a frequent one does not, and no more does chance, which mixes the classes.
    """
    truth, pred, sample = pair.truth, pair.pred, pair.sample
    assert sample is not None
    one, other = best_pairs(*find_overlapping(sample, explanation))
    wanted, given = truth.label[sample.truth.rows[one]], pred.label[sample.preds[explanation.shift].rows[other]]
    taken: dict[int, tuple[int, int, int]] = {}
    for label in np.unique(wanted).tolist():
        counts = np.bincount(given[wanted == label])
        if counts.sum() >= FEWEST_PREDICTIONS and counts.max() >= REORDERED * counts.sum():
            taken[label] = (int(counts.argmax()), int(counts.max()), int(counts.sum()))
    moved = {label: found for label, found in taken.items() if found[0] != label}
    are_different = len({found[0] for found in moved.values()}) == len(moved)
    are_known = all(found[0] < len(truth.labels) for found in moved.values())  # others are V203
    if len(moved) < FEWEST_REORDERED or not are_different or not are_known or len(moved) < NEARLY * len(taken):
        return None
    shown = sorted(moved.items(), key=lambda item: -item[1][1])[:EXAMPLES]
    lines = [
        f"{count} of {total} objects of class {excerpt(truth.labels.name(label))} are predicted as "
        f"{excerpt(pred.labels.name(theirs))}"
        for label, (theirs, count, total) in shown
    ]
    return Finding(
        "V205",
        "warning",
        f"{len(moved):,} of {len(taken):,} classes are predicted as another one, each as a different one: {lines[0]}",
        sum(found[1] for found in moved.values()),
        tuple(lines),
        "check the order of the detector's class names, and the ids that they were given",
    )


def advice_on_classes(names: Sequence[str], truth: Annotations, *, is_all: bool, is_by_id: bool = False) -> str:
    """Return the remedy for unknown classes, which some or all (`is_all`) predictions have.

    Predictions that name classes by ids (`is_by_id`), as COCO results do, have no names to give.

    Parameters
    ----------
    names
        Classes of predictions that the ground truth does not have.
    truth
        Ground truth.
    is_all
        No class of the predictions is known.
    is_by_id
        The file names classes by ids.
    """
    listed = f"the ground truth has {list_names(truth.labels.all_names)}"
    if len(names) == 1 and is_all and len(truth.labels) > 1:
        if names[0] == "object":  # as objects of files without classes are called
            option = spell_option("class" if IS_COMMAND_LINE.get() else "class_name", "NAME")
            listed += f"; {option} names the class of a file without classes"
        return f"{listed}; if the detector is class-agnostic, {ignore_classes()}"
    if is_by_id and truth.labels.ids is not None and len(truth.labels) and all(name.isdecimal() for name in names):
        ids = truth.labels.ids
        return f"write class ids of the ground truth, which has {len(ids):,} between {ids.min()} and {ids.max()}"
    if all(name.isdecimal() for name in names) and not all(name.isdecimal() for name in truth.labels.all_names):
        return f"these are class numbers: give the class names with {spell_option('names', 'FILE')}"
    return listed


def list_names(names: Sequence[str]) -> str:
    """List the first few class names, and how many more there are."""
    shown = ", ".join(excerpt(name, 30) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


@dataclass(frozen=True)
class Mapping:
    """Another reading of class ids, and how many overlapping pairs agree in class under it."""

    name: str
    agree: int
    before: int  # pairs that agree as read
    pairs: int
    examples: tuple[str, ...]
    classes: tuple[int, int] = (1, 1)  # predicted classes most of whose pairs agree, and all with enough pairs


def mistaken_mapping(truth: Annotations, pred: Annotations, sample: Sample, explanation: Hypothesis) -> Mapping | None:
    """Return the shift of class ids, or the positions without gaps, under which most overlapping objects agree.

    Pairs are tried by highest IoU, and then by highest confidence.
    """
    numbers = class_numbers(truth, pred)
    if numbers is None:
        return None
    theirs, mine = numbers
    rows = sample.preds[explanation.shift].rows
    found = []
    for one, other in pairings(sample, explanation):
        wanted, given = theirs[truth.label[sample.truth.rows[one]]], mine[pred.label[rows[other]]]
        used = mine[_core.mark_used(pred.label, len(pred.labels))]
        for name, mapped in mappings(theirs):
            other_class, is_hit = mapped(given) != given, wanted == mapped(given)
            # Positions from 1 are ids up to the first gap: only the pairs whose class differs are evidence.
            before, pairs = int((wanted == given)[other_class].sum()), int(other_class.sum())
            if pairs < FEWEST or before > pairs / 2:
                continue
            hits = given[is_hit & other_class]
            # A single predicted class on objects of all classes is no shift, even if that class is unknown as read.
            least = SHARE if len(used) > 1 or len(theirs) == 1 else HALF
            if len(hits) >= least * pairs and is_explained(hits, before, used, mapped(used), theirs):
                shown = pair_examples(truth, pred, sample.truth.rows[one], rows[other])
                # The predicted classes of several pairs in which most pairs agree, and all of them: a shift that is
                # right explains every class; positions in a list with gaps look shifted only up to the first gap.
                ids, place, counts = np.unique(given, return_inverse=True, return_counts=True)
                right, is_many = np.bincount(place[is_hit], minlength=len(ids)), counts >= FEW_PAIRS
                agreeing = int((is_many & (2 * right > counts)).sum()), int(is_many.sum())
                agree, as_read = int(is_hit.sum()), int((wanted == given).sum())
                found.append(Mapping(name, agree, as_read, len(one), shown, agreeing))
    return max(found, key=lambda mapping: mapping.agree, default=None)


def is_explained(hits: Ints, before: int, used: Ints, mapped: Ints, theirs: Ints) -> bool:
    """Whether far more pairs agree under a mapping than before, and no class becomes unknown.

    `hits` are the class ids as written of the pairs that agree. One confused class is no shift: hits of two classes are
    needed, or a mapping under which every class is known that was not.
    """
    known, known_then = int(np.isin(used, theirs).sum()), int(np.isin(mapped, theirs).sum())
    is_decisive = known_then == len(used) > known
    odds = ODDS / 2 if is_decisive else ODDS
    is_of_several = len(hits) - np.unique(hits, return_counts=True)[1].max(initial=0) >= 2
    return len(hits) >= FEWEST + odds * before and known_then >= known and (is_of_several or is_decisive)


def class_numbers(truth: Annotations, pred: Annotations) -> tuple[Ints, Ints] | None:
    """Return the class ids of both sides, if predictions have ids or names that are numbers; else None."""
    known, names = len(truth.labels), pred.labels.all_names
    numbers = [int(name) if name.isdecimal() and len(name) <= DIGITS else UNKNOWN for name in names]
    if truth.labels.ids is None:
        return (np.array(numbers[:known]), np.array(numbers)) if UNKNOWN not in numbers else None
    if speaks_by_id(pred, "labels") and pred.labels.ids is not None:
        return truth.labels.ids, pred.labels.ids
    if "class names taken as class ids" in pred.source.notes:
        return truth.labels.ids, np.concatenate([truth.labels.ids, np.array(numbers[known:], dtype=np.int64)])
    return None


# COCO's 80 class ids of the 91: what positions 0 to 79 stand for.
COCO_GAPS = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
COCO_IDS = tuple(id for id in range(1, 91) if id not in COCO_GAPS)


def mappings(theirs: Ints) -> Iterator[tuple[str, Callable[[Ints], Ints]]]:
    """Yield common mistakes in class ids, as functions from the ids as written to the correct ones."""
    yield "+1", lambda ids: ids + 1
    yield "-1", lambda ids: ids - 1
    ordered = np.sort(theirs)
    if len(ordered) and ordered[-1] > COCO_GAPS[0] and np.isin(ordered, COCO_IDS).all():  # COCO's, numbered as all 80
        yield "index from 0 of COCO", lambda ids: id_at(np.array(COCO_IDS), ids)
        yield "index from 1 of COCO", lambda ids: id_at(np.array(COCO_IDS), ids - 1)
    if len(ordered) and ordered[-1] - ordered[0] >= len(ordered):  # gaps
        for start in (0, 1):
            yield f"index from {start}", lambda ids, start=start: id_at(ordered, ids - start)  # type: ignore[misc]


def id_at(ordered: Ints, index: Ints) -> Ints:
    """Return the id at each index, -1 where there is none."""
    return np.where((index >= 0) & (index < len(ordered)), ordered[np.clip(index, 0, len(ordered) - 1)], -1)


def pairings(sample: Sample, explanation: Hypothesis) -> Iterator[tuple[Ints, Ints]]:
    """Yield each matched object with the prediction of highest IoU, then with the one of highest confidence.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    explanation
        How the boxes are read.

    Returns
    -------
    Iterator[tuple[Ints, Ints]]
        Rows of objects and of their predictions. Both pairings are tried, since either may mislead.
    """
    which, by, overlap = find_overlapping(sample, explanation)
    yield best_pairs(which, by, overlap)
    yield best_pairs(which, by, np.ones_like(overlap))


def pair_examples(truth: Annotations, pred: Annotations, one: Ints, other: Ints) -> tuple[str, ...]:
    """Describe the classes of the first few pairs.

    Parameters
    ----------
    truth
        Ground truth.
    pred
        Predictions.
    one
        Rows of the ground truth.
    other
        Row of the prediction that covers each of them.

    Returns
    -------
    tuple[str, ...]
        Image and both classes, for the first few.
    """
    return tuple(
        f"{truth.images.name(int(truth.image[t]))}: {excerpt(pred.labels.name(int(pred.label[p])))} "
        f"on {excerpt(truth.labels.name(int(truth.label[t])))}"
        for t, p in zip(one[:EXAMPLES], other[:EXAMPLES], strict=True)
    )


def mapping_finding(pred: Annotations, mapping: Mapping) -> Finding:
    """Make the finding about ids without gaps (V202) or shifted ids (V201)."""
    name = mapping.name
    evidence = f"{mapping.before} of {mapping.pairs} overlapping pairs agree in class as read, {mapping.agree}"
    if name.startswith("index"):
        what = (
            f"COCO's 80 positions{' from 1' if '1' in name else ''} instead of its 91 ids"
            if name.endswith("COCO")
            else f"positions from {name[-1]}, without the gaps of the ground truth's ids"
        )
        return Finding(
            "V202",
            "error",
            f"class ids look like {what}: {evidence} if read so",
            len(pred),
            mapping.examples,
            f"give the names of the detector's classes with {spell_option('names', 'FILE')}"
            if pred.source.format == "yolo"
            else "write the ground truth's category ids instead of positions in the list of classes",
        )
    takes_option = "labels" in pred.source.by_number or pred.source.format == "yolo"
    fix: Fix | str = Fix("pred", (("label_offset", int(name)),)) if takes_option else f"add {name} to the class numbers"
    agreeing, all_classes = mapping.classes
    if agreeing < NEARLY * all_classes:
        fix = f"compare the class lists of both files: {name} fits {agreeing} of {all_classes} predicted classes only"
    return Finding(
        "V201",
        "error",
        f"class ids look shifted by {-int(name):+d}: {evidence} with {name}",
        len(pred),
        mapping.examples,
        fix,
    )
