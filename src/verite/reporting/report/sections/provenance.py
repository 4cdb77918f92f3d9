"""Section "How this was computed": signatures, digests, version, deviations, and commands to reproduce and verify.

A signature has every setting that can change a number, a digest identifies the contents of a file. Deviations from
other tools are stated where they apply to the data at hand, under the names of docs/explanation/deviations.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.layout import ABSENT, count_of, finding, name
from verite.reporting.report.section import ReportInputs, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument


def count_unannotated_classes(detector: EvaluatedDetector) -> int:
    """Count the classes that occur in predictions only."""
    counts = detector.counts
    predicted = np.bincount(counts.pred.label[counts.type >= 0], minlength=len(counts.names))
    return int(((predicted > 0) & (counts.objects == 0)).sum())


def truth_ids(detector: EvaluatedDetector) -> NDArray[Any]:
    """Return the ground-truth ids where pycocotools uses them and its quirks are not emulated."""
    results: Any = detector.results
    if results.truth.ids is None or results.protocol != "coco" or results.settings.quirks == "pycocotools":
        return np.zeros(0)
    return np.asarray(results.truth.ids)


def count_zero_ids(detector: EvaluatedDetector) -> int:
    """Count ground-truth objects with id 0."""
    return int((truth_ids(detector) == 0).sum())


def count_repeated_ids(detector: EvaluatedDetector) -> int:
    """Count ground-truth ids that occur again."""
    ids = truth_ids(detector)
    return len(ids) - len(np.unique(ids))


def has_no_results(detector: EvaluatedDetector) -> bool:
    """Whether the reference implementation of the protocol fails because there are no predictions."""
    return detector.results.protocol in ("coco", "lvis") and not len(detector.results.pred)


def matches_same_class_first(detector: EvaluatedDetector) -> bool:
    """Whether there is a confusion matrix in which true positives keep their ground truth."""
    analysis = detector.analysis
    return analysis is not None and detector.has_part("confusion") and analysis.settings.matching == "same-first"


def has(part: str) -> Callable[[EvaluatedDetector], int]:
    """Return a counter that is 1 if the report shows this part of the analysis."""
    return lambda detector: int(detector.has_part(part))


@dataclass(frozen=True)
class Deviation:
    """A documented deviation from other tools: its name in docs/reference/deviations.md and what it says here.

    `count` returns to how many cases it applies, 0 for none.
    """

    name: str
    text: str
    count: Callable[[EvaluatedDetector], int]


DEVIATIONS = (
    Deviation("class-without-truths", "{many} without ground truth: undefined, in no mean", count_unannotated_classes),
    Deviation("no-results", "no predictions: AP is 0, the reference raises an error", has_no_results),
    Deviation("truth-id-zero", "a ground-truth object with id 0 can be matched", count_zero_ids),
    Deviation("repeated-truth-ids", "ground-truth objects with a repeated id count separately", count_repeated_ids),
    Deviation("tide-adds-up", "costs of error types sum to 1 − AP, unlike TIDE's", has("errors")),
    Deviation("lrp-equal-confidences", "LRP only at confidences that separate predictions", has("lrp")),
    Deviation("confusion-same-label-first", "true positives keep their ground truth", matches_same_class_first),
    Deviation("best-f1-exists", "best F1 at a confidence that occurs, not smoothed", has("operating")),
)  # fmt: skip


@dataclass(frozen=True)
class AppliedDeviation:
    """A deviation that applies to a detector."""

    name: str
    said: str


@dataclass(frozen=True)
class DetectorDeviations:
    """Deviations of one detector."""

    deviations: tuple[AppliedDeviation, ...]


def build(inputs: ReportInputs) -> tuple[DetectorDeviations, ...]:
    """Return the deviations that apply to each detector."""
    found = []
    for detector in inputs.detectors:
        counted = [(one, one.count(detector)) for one in DEVIATIONS]
        applied = [
            AppliedDeviation(one.name, one.text.format(many=count_of(many, "class", "classes")))
            for one, many in counted
            if many
        ]
        found.append(DetectorDeviations(tuple(applied)))
    return tuple(found)


IMAGE_MODES = {
    "link": "linked: not in this file, shown while the image files stay where they are",
    "embed": "crops are embedded in this file",
    "none": "none",
}


def render(document: ReportDocument, images: ReportImages, data: tuple[DetectorDeviations, ...]) -> Markup:
    """Render a list of facts: what was computed, from which files, by which command."""
    detectors, truth = document.detectors, document.truth
    changed = ", ".join(f"{key}: {value}" for key, value in document.changed.items())
    unreadable = len(set(images.unreadable))
    # The signatures of scores, analysis and ranking; lines break between their parts. Those of other detectors
    # differ from the first one's at most in their confidence threshold: they are in the data.
    first, *others = document.detectors
    found = [first.signature, *(first.signatures or {}).values(), *(one.signature for one in others)]
    found += [document.ranking.signature] if document.ranking and document.ranking.signature else []
    signed = []
    for text in dict.fromkeys(found):
        start, *parts = text.split("|")
        code = element("code", start, *(join_elements("|", element("wbr"), part) for part in parts))
        signed.append(element("p", code))
    rows: list[tuple[str, Markup]] = [("signature", join_elements(*signed))]
    rows.append(("ground truth", render_file(truth.file or ABSENT, truth.digest)))
    for k, one in enumerate(detectors):
        rows.append(("predictions" if k == 0 else "", render_file(one.file or one.name or ABSENT, one.digest)))
    rows.append(("settings", element("span", changed or "all defaults")))
    rows.append(("images", element("span", IMAGE_MODES[document.image_mode])))
    if unreadable:
        rows.append(("", element("span", f"{count_of(unreadable, 'image')} could not be read")))
    rows.append(("created by", element("span", f"verite {document.version}")))
    rows.append(("reproduce", render_command(document.command)))
    rows.append(("verify", render_command(document.check)))
    applied = {one.name: one.said for mine in data for one in mine.deviations}
    lines = [element("p", element("code", key), ": ", words) for key, words in applied.items()]
    tool = next((part[7:] for part in detectors[0].signature.split("|") if part.startswith("quirks:")), "none")
    quirks = f"quirks of {tool}" if tool != "none" else "no quirks of the reference implementation"
    rows.append(("deviations", join_elements(element("p", f"{quirks} are emulated"), *lines)))
    licence = "script and style of the report: MIT, as verite; names, numbers and images are yours"
    rows.append(("licence", element("span", licence)))
    listed = [part for word, content in rows for part in (element("dt", word), element("dd", content))]
    return join_elements(
        finding("The same files give the same report: every number can be recomputed."),
        element("dl", *listed, class_="how"),
    )


def render_file(file: str, digest: str) -> Markup:
    """Render a file name and the digest of its contents."""
    return join_elements(name(file, "nm whole"), " ", element("code", digest))


def render_command(command: str) -> Markup:
    """Render a command with a button that copies it."""
    copy = element("button", "Copy", type="button", class_="btn js copy", hidden="")
    shown = element("pre", element("code", command), tabindex=0, role="group", aria_label="Command")
    return element("div", shown, copy, class_="run")


SECTION = Section(
    id="how",
    title="How this was computed",
    place=120,
    wanted=lambda document: True,
    build=build,
    render=render,
)
