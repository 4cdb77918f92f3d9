"""Section "Two detectors compared": the two chosen detectors side by side, the better one first.

Shown for several detectors, for every pair of them. Classes are listed by the difference of their score, with 95 %
confidence intervals from the paired bootstrap over images. Whether two detectors detect different objects is tested by
the exact sign-flip test of the objects that only one of them detects, with images as units, each detector at the
confidence of its best F1. The objects that only one of them detects are shown as crops by the script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verite.leaderboards.bootstrap import resample_images
from verite.model.styles import Markup, element, join_elements
from verite.plotting import shorten_apart
from verite.reporting.report.charts import Axes, Line, dumbbell, interval, line_chart, share_bar
from verite.reporting.report.layout import (
    ABSENT,
    CI,
    TALL,
    column,
    count_of,
    detector_name,
    ends,
    finding,
    is_known,
    name,
    number,
    scroll,
    sentence,
    signed,
    table,
    td,
    th,
)
from verite.reporting.report.section import PairSection, ReportInputs, pairs_of
from verite.reporting.report.sections.confusion import matrix_cell
from verite.reporting.report.sections.error_costs import type_name
from verite.statistics.intervals import difference_interval
from verite.statistics.mcnemar import sign_flip_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import Detector, ReportDocument

COMPARED_SCORES = 6
LEVEL = 0.95
MOST_CLASSES = 300  # classes whose differences are resampled and listed
DIGITS = 5  # decimals of stored differences of classes: they are many
EXACT = 12  # of scores: shown with three decimals, they are rounded once, as in the header


@dataclass(frozen=True)
class Detections:
    """How many objects both, one or neither of two detectors detect, each at its best F1.

    `p` is the p-value of the exact sign-flip test over images.
    """

    iou: float
    both: int
    first_only: int
    second_only: int
    neither: int
    p: float


@dataclass(frozen=True)
class Outcomes:
    """Objects by their outcome under two detectors, at any confidence: [first, second]."""

    names: list[str]
    matrix: list[list[int]]


@dataclass(frozen=True)
class Difference:
    """Score of the first detector minus that of the second, with its 95 % confidence interval; None without one."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the confidence interval excludes 0."""
        return is_known(self.low) and is_known(self.high) and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class Pair:
    """Comparison of two detectors: detected objects, outcomes, and differences by score and by class."""

    KEYS: ClassVar[Mapping[str, str | None]] = {
        "detections": "finds",
        "outcomes": "fates",
        "differences": "gaps",
        "classes": None,
    }

    first: int
    second: int
    detections: Detections
    outcomes: Outcomes | None
    differences: Mapping[str, Difference]
    classes: Mapping[str, Difference]
    class_intervals: list[list[float | None]]  # ends of the differences of `class_scores`, in their order


@dataclass(frozen=True)
class ComparisonData:
    """Data of the section: all compared pairs, and the score of each class, [class][detector].

    `sides` is the first pair.
    """

    sides: Pair | None
    pairs: tuple[Pair, ...]
    class_scores: Mapping[str, list[float | None]]


def build(inputs: ReportInputs) -> ComparisonData:
    """Compare every pair of detectors by the outcome of each object, by scores and by classes."""
    detectors = inputs.detectors
    if len(detectors) < 2:
        return ComparisonData(None, (), {})
    results = [one.results for one in detectors]
    score = next(iter(results[0].scores))
    by_class = [dict(zip(one.class_names, one.class_scores()[score], strict=True)) for one in results]
    names = [label for label in by_class[0] if any(is_known(one.get(label)) for one in by_class)][:MOST_CLASSES]
    keys = [key for key, value in results[0].scores.items() if is_known(value.value)][:COMPARED_SCORES]
    class_samples, samples = resample(inputs, score, keys, names)
    counted, outcomes = detectors[0].overlay.matches.counted_truth, [outcomes_of(one) for one in detectors]
    detected = [np.asarray(one.overlay.outcomes[0] == 0) & counted for one in detectors]
    found = []
    for a, b in pairs_of(len(detectors)):
        values = {key: results[a].scores[key].value - results[b].scores[key].value for key in keys}
        gaps = {label: subtract(by_class[a].get(label), by_class[b].get(label)) for label in names}
        classes = with_intervals(gaps, class_samples, a, b)
        one, two = detected[a], detected[b]
        both, mine, theirs = (int(some.sum()) for some in (one & two, one & ~two, two & ~one))
        neither = int(counted.sum()) - both - mine - theirs
        # The test takes images as units, not objects.
        p = sign_flip_exact(np.bincount(results[a].truth.image, one.astype(np.int64) - two).round())
        found.append(
            Pair(
                first=a,
                second=b,
                detections=Detections(detectors[0].overlay.iou, both, mine, theirs, neither, p),
                outcomes=cross(outcomes[a], outcomes[b]),
                differences=with_intervals(values, samples, a, b, EXACT),
                classes=classes,
                class_intervals=[[one.low, one.high] for one in classes.values()] if class_samples is not None else [],
            )
        )
    rounded = {label: [None if (v := one.get(label)) is None else round(v, 6) for one in by_class] for label in names}
    return ComparisonData(found[0], tuple(found), rounded)


def resample(
    inputs: ReportInputs, score: str, keys: Sequence[str], names: Sequence[str]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Return scores of classes and scores on bootstrap resamples of the images: [detector, resample, class or score].

    None without resamples. They are the resamples of the ranking, the same for every detector.
    """
    ranking, results = inputs.ranking, [one.results for one in inputs.detectors]
    if ranking is None or not ranking.draws or not names:
        return None, None
    weights = resample_images(results[0].truth.images, ranking.draws)
    classes = np.stack([np.asarray(one.draw_class_scores(score, weights, list(names))) for one in results])
    return classes, np.stack([inputs.score_samples[key] for key in keys], axis=-1)


def subtract(mine: float | None, other: float | None) -> float | None:
    """Return a difference; None where one of both is unknown."""
    return mine - other if is_known(mine) and is_known(other) else None


def with_intervals(
    values: Mapping[str, float | None], samples: NDArray[Any] | None, a: int, b: int, digits: int = DIGITS
) -> dict[str, Difference]:
    """Return differences with their confidence intervals; `samples` has one column for each, in their order."""
    found = {}
    for k, (key, value) in enumerate(values.items()):
        ends: list[float | None] = [None, None]
        if samples is not None and value is not None:
            differences = samples[a, :, k] - samples[b, :, k]
            ends = [round(end, digits) if is_known(end) else None
                    for end in difference_interval(value, differences, LEVEL)]  # fmt: skip
        found[key] = Difference(None if value is None else round(value, digits), *ends)
    return found


def outcomes_of(detector: EvaluatedDetector) -> NDArray[Any] | None:
    """Return the outcome of every counted object at any confidence: 0 detected, then error types, then missed."""
    if detector.analysis is None:
        return None
    from verite.analysis.comparison import MATCHED, MISSED

    types = detector.analysis.errors.types
    found = np.full(len(types.is_matched), MISSED)
    fixed = np.flatnonzero(types.is_fixed)
    found[types.target[fixed]] = types.kind[fixed] + 1
    found[types.is_matched] = MATCHED
    return found[detector.analysis.matches.counted_truth]


def cross(one: NDArray[Any] | None, two: NDArray[Any] | None) -> Outcomes | None:
    """Return how many objects have which outcome under two detectors."""
    if one is None or two is None:
        return None
    from verite.analysis.comparison import OUTCOMES

    many = len(OUTCOMES)
    return Outcomes(list(OUTCOMES), np.bincount(one * many + two, minlength=many**2).reshape(many, many).tolist())


def render(document: ReportDocument, images: ReportImages, pair: tuple[int, int], data: ComparisonData) -> Markup:
    """Render one pair: which objects either detects, scores and classes by difference, AP by IoU, and outcomes."""
    mine = next(one for one in data.pairs if (one.first, one.second) == pair)
    first, second = (document.detectors[i] for i in pair)
    listed = element(
        "p", "Differences are ", detector_name(first.name), " minus ", detector_name(second.name), ".", class_="sub"
    )
    # Render which of the two detect an object, at the confidence of each one's best F1, with its test.
    one, names = mine.detections, shorten_apart([first.name, second.name], 24)
    shares = [
        ("both", one.both, "c-two"),
        (f"only {names[0]}", one.first_only, "c-ap"),
        (f"only {names[1]}", one.second_only, "c-b"),
        ("neither", one.neither, "c-none"),
    ]
    total = sum(count for _, count, _ in shares)
    spelled: list[str] = ["both", sentence("only ", detector_name(first.name))]
    spelled += [sentence("only ", detector_name(second.name)), "neither"]
    rows = [
        element("tr", th(element("span", class_=f"sw {kind}"), label), td(f"{count:,}"))
        for label, (_, count, kind) in zip(spelled, shares, strict=True)
    ]
    at = f"{total:,} objects at {document.words.at(one.iou)}"
    at += "." if first.steps.is_constant else ", each detector at the confidence of its best F1."
    p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    word = "The difference is significant" if one.p < 0.05 else "The difference is not significant"
    blocks = [
        threshold_chart(document, first, second),
        join_elements(
            element("h3", "Objects detected by each detector"),
            element("p", at),
            share_bar(shares, total),
            table("Objects by the detectors that detect them.", [], rows, is_captioned=False, class_="slim"),
            element("p", f"{word} (exact sign-flip test over images, {p}).", class_="note"),
        ),
    ]
    return join_elements(
        finding(summarise(document, mine, first, second)),
        listed,
        element("div", *(element("div", block) for block in blocks if block is not None), class_="two"),
        only_strips(mine, first, second),
        class_differences(document, mine, first, second, data),
        score_differences(mine, first, second, is_error=document.is_error),
        render_outcomes(mine, first, second),
    )


def summarise(document: ReportDocument, pair: Pair, first: Detector, second: Detector) -> Markup:
    """Return which one is ahead and by how much, and which one detects more objects."""
    gap = pair.differences.get(document.score, Difference(None))
    value = (gap.value or 0.0) * (-1 if document.is_error else 1)
    lead = sentence(
        detector_name(first.name), f" is {number(value)}\u00a0{document.score} ahead of ", detector_name(second.name)
    )
    is_tied = not value >= 0.0005
    if is_tied:
        lead = sentence(
            detector_name(first.name), " and ", detector_name(second.name), f" are tied in {document.score}"
        )
    elif is_known(gap.low):
        word = "" if gap.is_significant else ", not significant"
        low, high = (-gap.high, -gap.low) if document.is_error and is_known(gap.high) else (gap.low, gap.high)
        lead = sentence(lead, f" [{ends(low, high)}]{word}")
    more = pair.detections.second_only - pair.detections.first_only
    if more > 0:
        return sentence(lead, ", but ", detector_name(second.name), f" detects {count_of(more, 'more object')}.")
    if more < 0:
        lead = sentence(lead, "; ", detector_name(first.name)) if is_tied else sentence(lead, " and")
        return sentence(lead, f" detects {count_of(-more, 'more object')}.")
    return sentence(lead, "; both detect the same number of objects.")


def threshold_chart(document: ReportDocument, first: Detector, second: Detector) -> Markup | None:
    """Plot the score of both against the IoU threshold; None for fewer than three thresholds."""
    ious = [one.iou for one in first.thresholds]
    if len(ious) < 3:
        return None
    score, overlap = document.score, document.words.overlap
    axes = Axes(f"{overlap} threshold", score, x_range=(ious[0], ious[-1]), x_ticks=ious[::2])
    lines = []
    names = shorten_apart([first.name, second.name], 22)
    for one, shown, colour, share in zip((first, second), names, ("a", "k"), (0.55, 0.02), strict=True):
        points = [(at.iou, at.ap if is_known(at.ap) else float("nan")) for at in one.thresholds]
        lines.append(Line(shown, points, colour, ious[0] + share * (ious[-1] - ious[0]), is_below=colour == "k"))
    return join_elements(
        element("h3", f"{score} by {overlap} threshold"),
        element("p", "The score of both at each threshold."),
        line_chart(axes, lines[::-1], f"{score} of {names[0]} and {names[1]} against {overlap}"),
    )


def only_strips(pair: Pair, first: Detector, second: Detector) -> Markup:
    """Return where the script shows the objects that only one of the two detects."""
    parts = []
    for mine, other, (one, two), count in (
        (first, second, (pair.first, pair.second), pair.detections.first_only),
        (second, first, (pair.second, pair.first), pair.detections.second_only),
    ):
        title = sentence(f"{count_of(count, 'object')} that only ", detector_name(mine.name), " detects")
        about = element(
            "p", "Highest confidence first, of many classes two each; ", detector_name(other.name), " misses them.",
            class_="js", hidden="",
        )  # fmt: skip
        strip = element("div", data_only=f"{one} {two}", class_="js", hidden="")
        parts += [element("h3", title), about, strip] if count else []
    return join_elements(*parts)


def class_differences(
    document: ReportDocument, pair: Pair, first: Detector, second: Detector, data: ComparisonData
) -> Markup:
    """Render the classes with the score of both as a dumbbell, the largest difference first.

    Rows of other pairs than the first are made by the script (`classRows`) of their numbers in thousandths: they would
    be the largest part of the report of many detectors.
    """
    known = [(label, one) for label, one in pair.classes.items() if one.value is not None]
    if not known:
        return Markup()
    known.sort(key=lambda one: (-abs(one[1].value or 0), one[0]))
    places = {label: k for k, label in enumerate(document.truth.class_names)}
    has_interval = any(is_known(one.low) for _, one in known)
    sign = -1 if document.is_error else 1
    better = sum(one.is_significant and sign * (one.value or 0) > 0 for _, one in known)
    worse = sum(one.is_significant and sign * (one.value or 0) < 0 for _, one in known)
    rows, values = [], []
    for label, one in known:
        scores = [data.class_scores[label][i] for i in (pair.first, pair.second)]
        colour = "g" if has_interval and not one.is_significant else "w" if sign * (one.value or 0) < 0 else ""
        numbers = [*scores, one.value, *((one.low, one.high) if has_interval else ())]
        thousandths = [f"{value:.3f}".replace(".", "") if is_known(value) else "-" for value in numbers]
        values.append(" ".join([str(places.get(label, -1)), colour or "-", *thousandths]))
        if (pair.first, pair.second) != (0, 1):
            continue
        cells = [th(name(label, "nm whole")), td(dumbbell(scores[0], scores[1], colour), kind="wide")]
        cells += [td(number(score)) for score in scores] + [td(signed(one.value))]
        if has_interval:
            cells.append(td(f"{signed(one.low)} to {signed(one.high)}" if is_known(one.low) else ABSENT, kind="q"))
        rows.append(element("tr", *cells, data_differs=places.get(label, "")))
    names = shorten_apart([first.name, second.name], 14)
    heads = [
        column("class", "l"),
        column(f"●\u2002{names[0]}\u2003○\u2002{names[1]}", "l nosort"),
        column(names[0]),
        column(names[1]),
    ]
    heads += [column("difference"), *([column(CI)] if has_interval else [])]
    about = f"Largest difference of {document.score} first."
    if has_interval:
        clear = f"{count_of(better, 'class', 'classes')} significantly better, {worse} worse; grey: not significant"
        about += f" {clear} (95\u00a0% confidence intervals of the paired bootstrap, not corrected for many classes)."
    stored: dict[str, Any] = {} if rows else {"data_rows": ";".join(values)}
    drawn = table(about, heads, rows, class_="gaps", **stored)
    return join_elements(
        element("h3", f"{document.score} by class"),
        scroll("Table of class differences", drawn, kind="tall" if len(known) > TALL else ""),
    )


def score_differences(pair: Pair, first: Detector, second: Detector, *, is_error: bool) -> Markup:
    """Render the difference of every score, with a bar of its 95 % confidence interval; grey if it includes 0."""
    known = [(key, one) for key, one in pair.differences.items() if one.value is not None]
    if not known:
        return Markup()
    has_interval = any(is_known(one.low) for _, one in known)
    reach = max(0.02, *(abs(end or 0.0) for _, one in known for end in (one.value, one.low, one.high)))
    rows = []
    for key, one in known:
        value, nan = one.value or 0.0, float("nan")
        colour = (
            "g" if has_interval and not one.is_significant else "w" if (value > 0 if is_error else value < 0) else ""
        )
        ends = (one.low, one.high) if is_known(one.low) and is_known(one.high) else (nan, nan)
        cells = [th(key), td(interval(value, *ends, (-1.05 * reach, 1.05 * reach), colour), kind="wide")]
        cells += [td(number(at.scores[key])) for at in (first, second)] + [td(signed(value))]
        if has_interval:
            cells.append(td(f"{signed(one.low)} to {signed(one.high)}" if is_known(one.low) else ABSENT, kind="q"))
        rows.append(element("tr", *cells))
    names = shorten_apart([first.name, second.name], 14)
    heads = [
        column("score", "l"),
        column("difference and 95\u00a0% CI; the line is 0", "l nosort"),
        column(names[0]),
        column(names[1]),
    ]
    heads += [column("difference"), *([column(CI)] if has_interval else [])]
    by = ", with 95\u00a0% confidence intervals (paired bootstrap over images)" if has_interval else ""
    return join_elements(
        element("h3", "Every score"),
        scroll("Table of score differences", table(f"{names[0]} minus {names[1]}{by}.", heads, rows, class_="gaps")),
    )


def render_outcomes(pair: Pair, first: Detector, second: Detector) -> Markup:
    """Render the outcome of every object under both, at any confidence: detected, or its error type."""
    if pair.outcomes is None:
        return Markup()
    names, matrix = pair.outcomes.names, pair.outcomes.matrix
    shown = {"right": "detected (TP)", "missed": "missed (FN)"}
    kept = [k for k in range(len(names)) if any(matrix[k]) or any(row[k] for row in matrix)]
    words = {k: shown.get(names[k], type_name(names[k])) for k in kept}
    total = sum(map(sum, matrix))
    rows = [element("tr", th(words[a]), *(matrix_cell(matrix[a][b], total, a == b, 0) for b in kept)) for a in kept]
    heads = [element("td"), *(column(name(words[k])) for k in kept)]
    drawn = table("Objects by outcome under two detectors.", heads, rows, is_captioned=False, class_="mx outcomes")
    return join_elements(
        element("h3", "Outcome of every object under both detectors"),
        element(
            "p",
            "Rows: ",
            detector_name(first.name),
            ". Columns: ",
            detector_name(second.name),
            ". At any confidence.",
        ),
        scroll("Table of outcomes", drawn),
    )


SECTION = PairSection(
    id="sides",
    title="Two detectors compared",
    place=20,
    wanted=lambda document: len(document.detectors) > 1 and bool(document.truth.objects),
    build=build,
    render=render,
)
