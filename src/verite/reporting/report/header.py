"""Header of the HTML report: findings of the checks, a one-sentence summary, scores, and dataset size.

Findings come first, since a misread file makes every number wrong. The summary states the leader and its gap, or of a
single detector its score, recall and the two costliest error types; below it are up to three detectors side by side, a
table of all if there are more, and the size of the dataset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.model.tables import Table
from verite.reporting.report.layout import (
    count_of,
    detector_name,
    ends,
    is_known,
    list_all,
    name,
    number,
    percent,
    plain_table,
    probability,
    scroll,
    sentence,
)

if TYPE_CHECKING:
    from verite.reporting.report.document import Detector, Finding, ReportDocument

RANKS = ("1st", "2nd", "3rd")
MOST_BESIDE = 3  # detectors side by side; more are listed in a table
MOST_SCORES = 5  # of each detector, beside the first one: COCO's by IoU and by size
TABLE_SCORES = 12
WHOLE = 2000  # letters of a list of names
NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
# TIDE's error types as the subject of a sentence.
ERROR_NOUNS = {
    "localization": "localization errors",
    "missed": "missed objects",
    "class": "classification errors",
    "background": "false positives on background",
    "duplicate": "duplicate predictions",
    "both": "classification and localization errors together",
}


def render_header(document: ReportDocument, unreadable: Sequence[str]) -> Markup:
    """Render everything above the first section; `unreadable` are names of image files."""
    detectors = document.detectors
    cards = [detector_card(document, i) for i in range(min(MOST_BESIDE, len(detectors)))]
    assumption = document.ranking.assumption if document.ranking else ""
    note = f"{assumption[:1].upper()}{assumption[1:].rstrip('.')}."
    return join_elements(
        element("p", document.title, class_="title"),
        findings(document, unreadable),
        element("h1", summarise(document), class_="verdict"),
        element("p", describe_leader(document), class_="lead"),
        element("div", *cards, class_=f"podium n{len(cards)}"),
        score_table(detectors) if len(detectors) > MOST_BESIDE else Markup(),
        facts(document),
        element("p", note, class_="note") if assumption else Markup(),
    )


def summarise(document: ReportDocument) -> Markup:
    """Return the summary in one sentence.

    Of several detectors it is the leader, its gap, and in how many resamples it keeps the lead; of a single one its
    score, its recall at the best F1 and the two costliest error types.
    """
    first, *others = document.detectors
    total, key = document.truth.objects, document.score
    if not total:
        return sentence("The ground truth has no objects to detect.")
    if not any(one.predictions for one in document.detectors):
        return sentence("There are no predictions, so every object is missed.")
    if not others:
        detects = f": {key} {number(first.headline)}. It detects {percent(first.best.true_positives, total)} of "
        found = sentence(detector_name(first.name), f"{detects}{total:,} objects")
        costs = first.errors.falling()[:2] if first.errors else []
        if len(costs) < 2:
            return sentence(found, ".")
        listed = list_all([f"{ERROR_NOUNS.get(kind, kind)} ({number(cost)})" for kind, cost in costs])
        return sentence(found, "; ", listed, f" cost most {key}.")
    gap = (first.headline - others[0].headline) * (-1 if document.is_error else 1)
    if not gap >= 0.0005:
        tied = [detector_name(one.name) for one in document.detectors if abs(one.headline - first.headline) < 0.0005]
        if len(tied) > MOST_BESIDE:
            tied = [tied[0], sentence(f"{len(tied) - 1} others")]
        return sentence(list_all(tied), f" are tied at {key} {number(first.headline)}.")
    lead = sentence(
        detector_name(first.name), " leads ", detector_name(others[0].name), f" by {number(gap)}\u00a0{key}"
    )
    row = document.ranking.of_detector(first.name) if document.ranking else None
    if row is None or row.keeps is None:
        return sentence(lead, ".")
    if row.keeps < 0.9:
        return sentence(lead, f", but keeps the lead in only {round(100 * row.keeps)}\u00a0% of the resamples.")
    share = "more than 99" if row.keeps > 0.99 else str(round(100 * row.keeps))
    return sentence(lead, f" and keeps the lead in {share}\u00a0% of the resamples.")


def describe_leader(document: ReportDocument) -> Markup:
    """Return the two costliest error types, and any IoU threshold at which another detector leads.

    A detector that leads at IoU 0.5 or 0.75 is recommended where coarse or precise objects are enough. For a single
    detector the counts at the best F1 follow.
    """
    first, *others = document.detectors
    if not document.truth.objects or not any(one.predictions for one in document.detectors):
        return sentence("The contents of the files are listed below.")
    parts = []
    costs = first.errors.falling()[:2] if first.errors else []
    if costs and others:
        listed = list_all([f"{ERROR_NOUNS.get(kind, kind)} ({number(cost)})" for kind, cost in costs])
        parts.append(sentence(detector_name(first.name), f" loses most {document.score} to ", listed, ". "))
    if not others:
        best = first.best
        counts = (
            f"{count_of(best.true_positives, 'true positive')} and {count_of(best.false_positives, 'false positive')}"
        )
        missed = count_of(best.missed, "object")
        subject = "It" if first.steps.is_constant else f"At confidence ≥ {number(best.confidence, 2)} it"
        return join_elements(*parts, sentence(f"{subject} has {counts}, and misses {missed}."))
    words = document.words
    for key, iou, where in (
        ("AP50", "0.5", f"a coarse {words.one} is enough"),
        ("AP75", "0.75", f"precise {words.many} matter"),
    ):
        values = [value for one in document.detectors if is_known(value := one.scores.get(key))]
        if len(values) == len(document.detectors):
            best_at = max(range(len(values)), key=lambda i: values[i])
            gap = values[best_at] - values[0]
            if gap >= 0.0005:
                rival = name(document.detectors[best_at].name)
                lead = f": at {words.overlap} {iou} it leads by {number(gap)}. "
                parts.append(sentence(f"If {where}, choose ", rival, lead))
    if not parts and is_known(first.scores.get("AP50")):
        parts.append(sentence(f"No other detector leads at a reported {words.overlap} threshold."))
    return join_elements(*parts)


def findings(document: ReportDocument, unreadable: Sequence[str]) -> Markup:
    """Render the findings of the checks, each with the options that fix it, and image files that are unreadable."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for one in document.findings:  # the same finding of several detectors, up to its numbers, is listed once
        alike.setdefault((one.code, one.severity, NUMBER.sub("", one.message), one.fix, one.options), []).append(one)
    listed = []
    for (code, severity, _, fix, options), same in alike.items():
        of = same[0].of if len(same) == 1 else f"{len(same)} detectors ({', '.join(one.of for one in same)})"
        of = of if len(same) < max(len(document.detectors), 2) else f"All {len(same)} detectors"
        message = join_messages([one.message for one in same]).rstrip(".")
        listed.append((code, severity, of, f"{message}.", f"{fix[:1].upper()}{fix[1:].rstrip('.')}.", options))
    if unreadable:
        some = f"{', '.join(unreadable[:3])}{', …' if len(unreadable) > 3 else ''}"
        message = f"{count_of(len(unreadable), 'image')} could not be read: {some}"
        fix = "Save them again, or omit images with --pictures none; their objects are shown on an empty background."
        listed.append(("", "warning", "images", message, fix, ""))
    if not listed:
        return Markup()
    items = [
        element(
            "li",
            element("b", f"{code} {severity}".strip()),
            element("p", name(of, "nm det", WHOLE), ": ", element("bdi", message)),
            element("code", options) if options else element("p", element("bdi", fix), class_="fix"),
            class_=f"f-{severity}",
        )
        for code, severity, of, message, fix, options in listed
    ]
    title = f"{count_of(len(listed), 'problem')} found in the files: check this before you use any number"
    return element("div", element("h2", title), element("ul", *items), class_="findings")


def join_messages(messages: Sequence[str]) -> str:
    """Return messages that differ in numbers only as one, with the range of each number.

    >>> join_messages(["below 0.3 of 5", "below 0.301 of 5"])
    'below 0.3–0.301 of 5'
    """
    ranges = []
    for texts in zip(*(NUMBER.findall(one) for one in messages), strict=False):
        low, high = min(texts, key=float), max(texts, key=float)
        ranges.append(low if low == high else f"{low}–{high}")
    return NUMBER.sub(lambda _: ranges.pop(0) if ranges else "", messages[0])


def detector_card(document: ReportDocument, i: int) -> Markup:
    """Render one detector: its first score, a sentence, and a few figures."""
    one, total, key = document.detectors[i], document.truth.objects, document.score
    rank = RANKS[i] if len(document.detectors) > 1 and is_known(one.headline) else key
    costs = one.errors.falling()[:1] if one.errors else []
    costly = "".join(f" Highest cost: {ERROR_NOUNS.get(k, k)}, {number(cost)} {key}." for k, cost in costs)
    if not one.predictions:
        about = "No predictions."
    elif not total:
        about = f"{count_of(one.predictions, 'prediction')}, all false positives."
    else:
        errors = count_of(one.best.false_positives, "false positive")
        about = f"{one.best.true_positives:,} of {total:,} objects detected, {errors}.{costly}"
    figures = []
    for word, value, more in card_figures(document, one):
        small = [" ", element("small", more)] if more else []
        figures.append(element("div", element("dt", word), element("dd", value, *small)))
    return element(
        "div",
        element("h2", detector_name(one.name), element("span", rank)),
        element("p", number(one.headline), class_="big"),
        element("p", about, class_="char"),
        element("dl", *figures),
    )


def card_figures(document: ReportDocument, one: Detector) -> list[tuple[str, str, str]]:
    """Return (name, value, qualifier) of each figure of a detector."""
    keys = [key for key, value in one.scores.items() if is_known(value)][1 : MOST_SCORES + 1]
    found = [(key, number(one.scores[key]), "") for key in keys]
    if is_known(one.best.f1) and document.protocol != "f1":
        best = ("F1", "") if one.steps.is_constant else ("best F1", f"confidence ≥ {number(one.best.confidence, 2)}")
        found.append((best[0], number(one.best.f1), best[1]))
    row = document.ranking.of_detector(one.name) if document.ranking else None
    if row is None:
        return found
    if row.gap is not None:
        between = f"[{ends(row.gap.low, row.gap.high)}]" if is_known(row.gap.low) else ""
        found.append(("gap to the next", number(row.gap.value), between))
    if row.keeps is not None:
        found.append(("rank stable in resamples", probability(row.keeps), ""))
    if is_known(row.sd):
        found.append(("bootstrap standard error", number(row.sd), ""))
    return found


def score_table(detectors: Sequence[Detector]) -> Markup:
    """Render the scores of all detectors, the best first."""
    keys = [key for key, value in detectors[0].scores.items() if is_known(value)][:TABLE_SCORES]
    rows = tuple(
        (
            one.name,
            *(one.scores[key] for key in keys),
            one.best.f1,
            one.best.true_positives,
            one.best.false_positives,
        )
        for one in detectors
    )
    data = Table(("detector", *keys, "best F1", "TP", "FP"), rows)
    caption = f"All {len(detectors)} detectors, best first; TP and FP at the best F1 of each."
    return scroll("Table of all detectors", plain_table(data, caption))


def facts(document: ReportDocument) -> Markup:
    """Render the size of the dataset, what is compared, and whether the checks found nothing."""
    truth, ranking = document.truth, document.ranking
    ignored = f", {truth.ignored:,} ignored" if truth.ignored else ""
    counts = [
        (truth.images, " image" if truth.images == 1 else " images"),
        (truth.objects, f" objects{ignored}"),
        (truth.classes, " class" if truth.classes == 1 else " classes"),
        (sum(one.predictions for one in document.detectors), " predictions"),
    ]
    items = [element("li", element("b", f"{count:,}"), words) for count, words in counts]
    items.append(element("li", document.measured))
    if ranking is not None and ranking.draws:
        items.append(element("li", element("b", f"{ranking.draws:,}"), " bootstrap resamples of the images"))
    if not document.findings and document.is_checked and truth.objects:
        items.append(element("li", "no errors or warnings of the checks", class_="ok"))
    return element("ul", *items, class_="facts")
