"""Are predictions where the objects are, and of their classes? What the quick fit has seen, in words."""

from __future__ import annotations

from collections.abc import Iterator

from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import Pair
from verite.errors import excerpt


def find_exchanged_sides(pair: Pair) -> Iterator[Finding]:
    truth, pred = (excerpt(side.source.path) if side.source.path else "it" for side in (pair.truth, pair.pred))
    yield Finding(
        "V221",
        "error",
        f"truth and predictions look exchanged: what was given as truth ({truth}) has confidences, what was given as "
        f"predictions ({pred}) has none",
        len(pair.pred),
        (),
        "give the truth first",
    )


def find_confident_truth(pair: Pair) -> Iterator[Finding]:
    path = pair.truth.source.path
    yield Finding(
        "V222",
        "warning",
        f"what was given as truth{f' ({excerpt(path)})' if path else ''} has confidences, as predictions do",
        len(pair.truth),
        (),
        "give the truth first; or are these labels that a detector made?",
        "truth",
    )


def find_clones(pair: Pair) -> Iterator[Finding]:
    """Boxes upon boxes of one class: what detectors find before they suppress all but the surest."""
    fit = pair.fit
    yield Finding(
        "V311",
        "warning",
        f"{fit['clones']:,} of {fit['looked_at']:,} predictions looked at lie on a surer one of the same class "
        "(IoU of 0.85 or more), and count as false alarms",
        fit["clones"],
        (),
        "was non-maximum suppression left out, or were several runs put together?",
    )


def find_reversed_confidences(pair: Pair) -> Iterator[Finding]:
    """Confidences that fall where they should rise."""
    fit = pair.fit
    share = fit["surer"] / (fit["right"] * fit["wrong"])
    yield Finding(
        "V312",
        "warning",
        f"wrong predictions are surer than right ones: of pairs of both, the right one is surer in {share:.0%} "
        f"({fit['right']:,} and {fit['wrong']:,} looked at)",
        fit["right"] + fit["wrong"],
        (),
        "are these distances, or 1 - confidence? the surest must have the largest number",
    )


def find_exchanged_classes(pair: Pair) -> Iterator[Finding]:
    """Classes that are found as each other: no detector errs that way, a list of names in the wrong order does."""
    exchanges = pair.fit["exchanges"]
    names = pair.truth.labels.all_names
    count = sum(count for _, _, count, _ in exchanges)
    lines = [
        f"{count} of {found} objects of {excerpt(names[label])} are found as {excerpt(pair.pred.labels.name(other))}"
        for label, other, count, found in exchanges
    ]
    yield Finding(
        "V205",
        "warning",
        f"{len(exchanges):,} classes look exchanged: {lines[0]}, and so on in a circle",
        count,
        tuple(lines[:EXAMPLES]),
        "are the names of the detector's classes in the right order?",
    )


def find_no_predictions(pair: Pair) -> Iterator[Finding]:
    yield no_predictions(len(pair.truth))


def no_predictions(objects: int) -> Finding:
    many = f"{objects:,} object{'s' if objects > 1 else ''}"
    return Finding("V310", "warning", f"no predictions for {many}", 0, (), "is this the right file?")


def find_many_unpredicted(pair: Pair) -> Iterator[Finding]:
    count, images = pair.fit["unpredicted"]
    yield Finding(
        "V214",
        "warning",
        f"{count:,} of {pair.fit['asked']:,} images with objects have no prediction; by the number of "
        f"predictions {pair.fit['expected']:.0f} would be expected",
        count,
        tuple(pair.truth.images.name(i) for i in images),
        "was the detector run on all images, or on another part of the data set?",
    )


def find_unpredicted(pair: Pair) -> Iterator[Finding]:
    count, images = pair.fit["unpredicted"]
    if not pair.count("many_unpredicted") and not pair.count("empty"):
        yield Finding(
            "V219",
            "note",
            f"{count:,} of {pair.fit['asked']:,} images with objects have no prediction",
            count,
            tuple(pair.truth.images.name(i) for i in images),
            "nothing, if the detector found nothing in them",
        )
