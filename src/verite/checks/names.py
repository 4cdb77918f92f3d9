"""Are images and classes called by names that tell them apart?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import Pair, Side
from verite.errors import excerpt
from verite.model.annotations import Annotations


def fold(name: str) -> str:
    """A name without what is overlooked: case, and blanks around and between words."""
    return " ".join(name.casefold().split())


def find_alike_names(subject: Side | Pair) -> Iterator[Finding]:
    """Classes of a truth, or of predictions and their truth, that differ by case or blanks alone."""
    if isinstance(subject, Side):
        yield from alike_in_truth(subject)
    elif subject.count("unknown_labels"):
        yield from alike_to_truth(subject)


def alike_in_truth(side: Side) -> Iterator[Finding]:
    names = side.annotations.labels.all_names
    folded = [fold(name) for name in names]
    if len(set(folded)) == len(folded):
        return
    groups: dict[str, list[str]] = {}
    for key, name in zip(folded, names, strict=True):
        groups.setdefault(key, []).append(name)
    alike = [" and ".join(map(excerpt, group)) for group in groups.values() if len(group) > 1]
    yield Finding(
        "V204",
        "warning",
        f"classes whose names differ by case or blanks alone: {alike[0]}",
        len(alike),
        tuple(alike[:EXAMPLES]),
        "if they are one class, spell it one way",
        "truth",
    )


def alike_to_truth(pair: Pair) -> Iterator[Finding]:
    truth, pred = pair.truth, pair.pred
    known = {fold(name): name for name in truth.labels.all_names}
    counts = count_labels(pred)
    unknown = [(name, count) for name, count in zip(pred.labels.all_names, counts, strict=True)][len(truth.labels) :]
    alike = [(name, known[fold(name)], count) for name, count in unknown if count and fold(name) in known]
    if not alike:
        return
    lines = [f"{excerpt(name)} for {excerpt(meant)}" for name, meant, _ in alike]
    total = sum(count for _, _, count in alike)
    yield Finding(
        "V204",
        "error" if total == len(pred) else "warning",
        f"{total:,} of {len(pred):,} predictions have classes that differ from the truth's by case or blanks alone: "
        f"{lines[0]}",
        total,
        tuple(lines[:EXAMPLES]),
        "spell classes as the truth does",
    )


def find_repeated_names(side: Side) -> Iterator[Finding]:
    tally, images = side.tally("repeated_names"), side.annotations.images
    shown = tuple(excerpt(images.name(i)) for i in tally.rows)
    yield Finding(
        "V215",
        "warning",
        f"{tally.count:,} of {len(images):,} images have a file name that an earlier one has, too, e.g. {shown[0]}",
        tally.count,
        shown,
        "give every image its own name; predictions by name cannot tell them apart",
        "truth",
    )


def find_unpredicted_classes(pair: Pair) -> Iterator[Finding]:
    truths, preds = count_labels(pair.truth), count_labels(pair.pred)
    names = pair.truth.labels.all_names
    missing = [name for name, truth, pred in zip(names, truths, preds, strict=False) if truth and not pred]
    if missing and len(pair.pred):
        yield about_classes("V309", missing, f"of {len(names):,} classes have objects and no prediction", "pred")


def find_unused_classes(side: Side) -> Iterator[Finding]:
    names = side.annotations.labels.all_names
    unused = [name for name, count in zip(names, count_labels(side.annotations), strict=True) if not count]
    if unused and len(side):
        yield about_classes("V220", unused, f"of {len(names):,} classes have no object", "truth")


def about_classes(code: str, names: Sequence[str], what: str, side: str) -> Finding:
    shown = tuple(map(excerpt, names[:EXAMPLES]))
    message = f"{len(names):,} {what}, e.g. {shown[0]}"
    return Finding(code, "note", message, len(names), shown, "nothing, if it is meant so", side)  # type: ignore[arg-type]


def count_labels(annotations: Annotations) -> list[int]:
    """How many objects each class has."""
    from verite.arrays import np

    return np.bincount(annotations.label, minlength=len(annotations.labels)).tolist()  # type: ignore[no-any-return]
