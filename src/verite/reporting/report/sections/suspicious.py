"""Section "Suspicious annotations": suspected annotation errors to check, to mark, and to pass back as audit.csv.

Where a confident prediction and the ground truth disagree, the analysis ranks annotations by suspicion of an error
(wrong class, missing, inaccurate, spurious or duplicate annotation), a number from 0 to 1 that is no probability. Marks
are exported as a table that `--audit` of `verite report` and `verite leaderboard` reads.
"""

from __future__ import annotations

from csv import writer
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from verite.analysis.suspicious import CHECKED, KIND_NAMES, PRIOR
from verite.leaderboards.audit import COLUMNS, AuditRow, read_rows
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.crops import draw_crop
from verite.reporting.report.document import Outline
from verite.reporting.report.layout import count_of, finding, is_known, name, plain
from verite.reporting.report.section import ReportInputs, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.analysis.suspicious import SuspicionRow
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument

MOST_SUSPECTS = 24
SAME = 0.5  # IoU of two boxes that are one missing object
VERDICTS = {"right": "correct", "wrong": "wrong", "unsure": "unsure"}  # values of audit.csv, and their names


@dataclass(frozen=True)
class Suspect:
    """A suspected annotation error: outlines to draw, its row of an audit table, and the verdict of one."""

    image: int
    truth: Outline
    pred: Outline
    window: list[float]
    kind: str
    suspicion: float
    reason: str
    row: int | None  # of the ground truth; None for a missing annotation
    disputed_by: int  # detectors that disagree with the annotation in the same way
    audit: list[Any]
    verdict: str

    @property
    def audit_line(self) -> str:
        """The row of an audit table up to the verdict."""
        line = StringIO()
        writer(line, lineterminator=",").writerow([*self.audit, self.suspicion, self.reason, ""])
        return line.getvalue()


@dataclass(frozen=True)
class SuspiciousData:
    """Suspicious annotations, the most suspicious first."""

    suspects: tuple[Suspect, ...]


def build(inputs: ReportInputs) -> SuspiciousData:
    """Return the suspicious annotations of all detectors, each once, with the verdicts of an audit table.

    Suspicion saturates: of equal ones (to two decimals) those come first that most detectors dispute.
    """
    # Of each place in the ground truth: what each detector disputes, the highest suspicion first.
    places: dict[Any, list[list[tuple[EvaluatedDetector, SuspicionRow]]]] = {}
    for detector in inputs.detectors:
        if detector.analysis is None or not detector.has_part("suspicious"):
            continue
        for one in detector.analysis.suspicious.to_dict():
            is_missing = one["truth"] is None
            same = places.setdefault((one["image"], one["label"]) if is_missing else one["truth"], [])
            group = next((g for g in same if not is_missing or overlap(g[0][1]["box"], one["box"]) >= SAME), None)
            if group is None:
                same.append([(detector, one)])
            elif group[-1][0] is not detector:
                group.append((detector, one))
    ranked = []
    for group in (group for same in places.values() for group in same):
        detector, one = max(group, key=lambda found: found[1]["suspicion"])
        many = sum(other["kind"] == one["kind"] for _, other in group)
        confidence = one["confidence"] if is_known(one["confidence"]) else 0.0
        ranked.append(((-round(one["suspicion"], 2), -many, -confidence), many, detector, one))
    ranked.sort(key=lambda found: found[0])
    audit = inputs.changed.get("audit")
    verdicts = {row.location: row.verdict for row in read_rows(audit)} if audit is not None else {}
    found = []
    for _, many, detector, one in ranked[:MOST_SUSPECTS]:
        truth, row = one["truth"], one["truth"] if one["truth"] is not None else one["pred"]
        side = detector.results.pred if truth is None else detector.results.truth
        kind = CHECKED.get(one["kind"], "box")
        size = side.regions.sizes[row]
        checked = AuditRow.of(one["image"], one["label"], size, kind, one["suspicion"], one["reason"])
        drawn = detector.outlines(truth, one["pred"])
        verdict = verdicts.get(checked.location, "")
        location = list(checked.location)
        found.append(Suspect(*drawn, one["kind"], one["suspicion"], one["reason"], truth, many, location, verdict))
    return SuspiciousData(tuple(found))


def overlap(one: Sequence[float], two: Sequence[float]) -> float:
    """Return the IoU of two boxes (left, top, right, bottom)."""
    sides = [max(0.0, min(one[k + 2], two[k + 2]) - max(one[k], two[k])) for k in (0, 1)]
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    union = sum(areas) - sides[0] * sides[1]
    return sides[0] * sides[1] / union if union > 0 else 0.0


def render(document: ReportDocument, images: ReportImages, data: SuspiciousData) -> Markup:
    """Render the annotations with buttons to mark them, and the marks as CSV."""
    likely = sum(item.suspicion >= 0.5 for item in data.suspects)
    prior = 100 * float(document.changed.get("prior", PRIOR))
    listed = [
        element("li", render_suspect(document, images, k, item), data_row=item.audit_line)
        for k, item in enumerate(data.suspects)
    ]
    about = (
        "The ground truth and a confident prediction disagree. Suspicion, from 0 to 1, is an order in which to look, "
        f"not a probability (prior: {prior:g}\u00a0% of annotations are wrong); of equal ones "
        f"{'those that most detectors dispute' if len(document.detectors) > 1 else 'the most confident'} come first. "
        "Mark what you see, then copy the marks as CSV and pass them to --audit."
    )
    copy = element("button", "Copy marks as CSV", type="button", class_="btn", id="copy-marks")
    marks = element("textarea", id="marks", rows=6, readonly="", data_head=",".join(COLUMNS), aria_label="Marks as CSV")
    saved = "Save them as audit.csv for --audit of verite report and verite leaderboard."
    verb = "is" if likely == 1 else "are"
    return join_elements(
        finding(f"{count_of(len(listed), 'annotation')} to check; {likely:,} {verb} highly suspicious (≥ 0.5)."),
        element("p", about, class_="sub"),
        element("ol", *listed, class_="sus"),
        element("p", copy, class_="row js", hidden=""),
        element("div", element("p", saved, class_="note"), marks, hidden=""),
    )


def render_suspect(document: ReportDocument, images: ReportImages, k: int, item: Suspect) -> Markup:
    """Render one annotation: crop, suspicion of an error, reason, and the choice of a verdict."""
    where = document.images.name(item.image)
    choices = [
        element(
            "label",
            element(
                "input",
                type="radio",
                name=f"mark-{k}",
                value=value,
                **({"checked": ""} if value == item.verdict else {}),
            ),
            word,
        )
        for value, word in VERDICTS.items()
    ]
    kind = KIND_NAMES.get(item.kind, item.kind).format(one=document.words.one)
    place = element("span", str(k + 1), class_="odds")
    many = len(document.detectors)
    about = f"suspicion {item.suspicion:.2f}"
    about += f", disputed by {item.disputed_by} of {many} detectors" if many > 1 else ""
    return join_elements(
        draw_crop(document, images, item.image, item.window, (item.truth, item.pred), plain(where)),
        element(
            "div",
            element("p", place, " ", element("b", kind)),
            element("p", element("bdi", item.reason)),
            element("p", element("small", name(where, "nm img"), " · ", about)),
            element("fieldset", element("legend", f"Object {k + 1}", class_="hide"), *choices, class_="js", hidden=""),
        ),
    )


SECTION = Section(
    id="suspicious",
    title="Suspicious annotations",
    place=100,
    wanted=lambda document: bool(document.sections["suspicious"].suspects),
    build=build,
    render=render,
    images_of=lambda data: (item.image for item in data.suspects),
)
