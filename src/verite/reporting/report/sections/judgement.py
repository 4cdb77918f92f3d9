"""Section "Human judgement": which metrics agree with people, what people prefer, how strong the results are.

Only in reports that are given the result of a study (`verite judge fit -o`, fit.json). A row is grey where its 95 %
confidence interval includes chance, or no preference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.errors import ReadError, excerpt
from verite.files import find_path
from verite.formats.json_documents import decode
from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import interval
from verite.reporting.report.layout import CI, column, finding, is_known, name, number, scroll, table, td, th, whole
from verite.reporting.report.section import ReportInputs, Section

if TYPE_CHECKING:
    from os import PathLike

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import ReportDocument

MOST_METRICS = 15
EXPECTED = "the result of verite judge fit -o (fit.json)"


@dataclass(frozen=True)
class JudgedShare:
    """A share, or a log strength, with its 95 % confidence interval."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    votes: int

    @classmethod
    def of(cls, name: str, found: Mapping[str, Any]) -> JudgedShare:
        """Read an entry of fit.json."""
        value, low, high = (None if found[key] is None else float(found[key]) for key in ("agreement", "low", "high"))
        return cls(name, value, low, high, int(found.get("votes", 0)))


@dataclass(frozen=True)
class Judgement:
    """What a study of human judgement found.

    Attributes
    ----------
    judges, kept
        Number of judges, and of those who passed the catch trials.
    alpha
        Krippendorff's alpha.
    chance
        Share of votes that a random choice predicts.
    metrics
        Agreement of each metric, the best first; of a study without boxes, of the highest IoU alone.
    ceiling
        Share of votes that the other judges predict.
    contrasts
        Named preferences; of a study without boxes, how often each alteration is chosen.
    strengths
        Log strength of each result.
    """

    judges: int
    kept: int
    alpha: float | None
    chance: float
    metrics: tuple[JudgedShare, ...]
    ceiling: JudgedShare
    contrasts: tuple[JudgedShare, ...]
    strengths: tuple[JudgedShare, ...]
    alterations: bool = False


@dataclass(frozen=True)
class JudgementData:
    """Data of the section."""

    judgement: Judgement


def read_judgement(path: str | PathLike[str]) -> Judgement:
    """Read fit.json.

    Raises
    ------
    ReadError
        If it is another file.
    """
    file = find_path(path)
    file = file / "fit.json" if file.is_dir() else file

    def all_of(found: Mapping[str, Any]) -> tuple[JudgedShare, ...]:
        return tuple(JudgedShare.of(key, one) for key, one in found.items())

    try:
        found = decode(file, Any)
        ceiling = JudgedShare.of("human ceiling", found["ceiling"])
        if "kinds" in found:  # a study without boxes
            judges = int(found["judges"])
            iou = JudgedShare.of("box with the highest IoU", found["iou"])
            return Judgement(judges, judges, found["alpha"], float(found["chance"]), (iou,), ceiling,
                             all_of(found["kinds"]), (), alterations=True)  # fmt: skip
        judged, metrics = found["judges"], all_of(found["metrics"])
        kept = sum(not one["excluded"] for one in judged.values())
        ordered = tuple(sorted(metrics, key=lambda one: -(one.value or 0.0)))
        return Judgement(len(judged), kept, found["alpha"], float(found["chance"]), ordered, ceiling,
                         all_of(found["contrasts"]), all_of(found["strengths"]))  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(file, expected=EXPECTED, found=excerpt(str(error))) from None


def build(inputs: ReportInputs) -> JudgementData | None:
    """Return the study that the report was given; None without one."""
    path = inputs.changed.get("judge")
    return None if path is None else JudgementData(read_judgement(path))


def render(document: ReportDocument, images: ReportImages, data: JudgementData) -> Markup:
    """Render the metrics that agree best, the human ceiling, preferences and strengths."""
    found = data.judgement
    best = next((one for one in found.metrics if is_known(one.value)), None)
    said: list[str] = ["No vote can be compared with a metric."]
    if best is not None and best.value is not None:
        share = f"{100 * best.value:.0f}\u00a0% of votes."
        said = ["The ", name(best.name), f" is chosen in {share}"]
        if not found.alterations:
            said = ["Of the metrics, ", name(best.name), f" agrees best with people: {share}"]
    if is_known(found.ceiling.value):
        said.append(f" People predict each other in {100 * found.ceiling.value:.0f}\u00a0%.")
    alpha = f", Krippendorff's alpha {found.alpha:.2f}" if is_known(found.alpha) else ""
    words = (
        f"{found.kept} of {found.judges} judges{alpha}. Bars: 95\u00a0% confidence intervals; grey: not significant."
    )
    more = f" The {MOST_METRICS} best of {len(found.metrics)}." if len(found.metrics) > MOST_METRICS else ""
    shown = [found.ceiling, *found.metrics[:MOST_METRICS]]
    parts = [
        finding(*said),
        element("p", words + more, class_="sub"),
        scroll("Table of metrics", share_table("metric", shown, found.chance, f"against chance, {found.chance:.2f}")),
    ]
    if found.contrasts:
        level = 1 / len(found.contrasts) if found.alterations else 0.5
        head = "alteration" if found.alterations else "people prefer"
        parts.append(scroll("Table of preferences", share_table(head, found.contrasts, level, f"against {level:.2f}")))
    if found.strengths:
        parts.append(scroll("Table of strengths", share_table("result", found.strengths, 0.0, "log strength", 3.0)))
    return join_elements(*parts)


def share_table(
    head: str, rows: list[JudgedShare] | tuple[JudgedShare, ...], middle: float, bar: str, reach: float = 0.5
) -> Markup:
    """Render shares with bars around `middle`, the level of chance."""
    body = []
    for one in rows:
        if one.value is None or one.low is None or one.high is None:
            continue
        colour = "g" if one.low <= middle <= one.high else "w" if one.value < middle else ""
        span = (-reach, reach) if reach > 1 else (-middle, 1 - middle)
        drawn = interval(one.value - middle, one.low - middle, one.high - middle, span, colour)
        cells = [th(name(one.name, "nm whole")), td(whole(one.votes), kind="q"), td(drawn, kind="wide")]
        cells += [td(number(one.value)), td(f"{number(one.low, 2)} to {number(one.high, 2)}", kind="q")]
        body.append(element("tr", *cells))
    heads = ((head, "l"), ("votes", ""), (bar, "l nosort"), ("share" if reach <= 1 else "strength", ""), (CI, ""))
    return table(f"{head}, with intervals", [column(*one) for one in heads], body, is_captioned=False, class_="gaps")


SECTION: Section[Any] = Section(
    id="judgement",
    title="Human judgement",
    place=95,
    wanted=lambda document: document.sections["judgement"] is not None,
    build=build,
    render=render,
)
