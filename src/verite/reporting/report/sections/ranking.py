"""Section "Is the ranking reliable?": bootstrap over images, simulated annotation errors, decisive annotations.

Shown for several detectors. Images are resampled with replacement, the same for every detector (paired bootstrap), and
annotation errors are simulated where rates are given. The table has the gap of each detector to the next with its 95 %
confidence interval, how often it is first and keeps its rank by source of uncertainty, the probability of being first
on all images, and the ranks that cannot be excluded. Under annotation errors alone the shares of simulations are
probabilities, given the errors; over resampled images they are not, because the leader was probably lucky. Below it are
statistically tied detectors, and the annotations that change the gaps between neighbouring ranks most, if wrong.

The numbers are those of `vt.leaderboard`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.crops import draw_crop
from verite.reporting.report.layout import (
    GAP,
    column,
    count_of,
    detector_name,
    ends,
    finding,
    is_known,
    list_all,
    name,
    number,
    plain,
    probability,
    scroll,
    sentence,
    table,
    td,
    th,
)
from verite.reporting.report.section import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import Ranking, ReportDocument

# Sources of uncertainty, by their keys in the leaderboard's JSON.
SOURCES = {
    "errors": "simulated annotation errors",
    "images": "resamples of the images",
    "both": "simulations of annotation errors on resampled images",
}
SOURCE_HEADS = {"errors": "annotations", "images": "images", "both": "both"}
MOST_NAMED = 4  # detectors that are named in the sentence


def render(document: ReportDocument, images: ReportImages, data: None) -> Markup:
    """Render the probability of the ranking, the table of detectors, ties, and the decisive annotations."""
    ranking = document.ranking
    assert ranking is not None
    known = [key for key in SOURCES if is_known(ranking.whole_order.get(key))]
    names = [detector_name(one.name) for one in ranking.detectors]
    is_short = len(names) <= MOST_NAMED
    shown = list_all(names) if is_short else sentence("The ranking of all ", count_of(len(names), "detector"))
    result = sentence("The ranking by ", ranking.metric, ": ", shown, ".")
    if known:
        source, share = known[-1], ranking.whole_order[known[-1]]
        verb = "keep this ranking" if is_short else "stays the same"
        how = f"with probability {probability(share)} under"
        if source != "errors":
            assert share is not None
            percent = f">{GAP}99" if share >= 0.995 else f"<{GAP}1" if share <= 0.005 else f"{100 * share:.0f}"
            how = f"in {percent}{GAP}% of"
        result = sentence(shown, f" {verb} {how} {SOURCES[source]}.")
    about = [f"{ranking.draws:,} {'resamples' if known == ['images'] else 'simulations'}"]
    if ranking.resample:
        about.append(f"bootstrap: {ranking.resample} resampled with replacement, the same for every detector")
    if ranking.assumption:
        about.append(f"annotation errors: {ranking.assumption}")
    ties = [list_all([detector_name(one) for one in group]) for group in ranking.groups if len(group) > 1]
    return join_elements(
        finding(result),
        element(
            "p", f"{'; '.join(about)}. They measure the stability of the ranking, not of a single score.", class_="sub"
        ),
        scroll("Table of detectors", detector_table(ranking, known)),
        tied_groups(ties),
        decisive_annotations(document, images, ranking),
    )


def tied_groups(ties: Sequence[Markup]) -> Markup:
    """Render the groups of statistically tied detectors, one per line."""
    if not ties:
        return Markup()
    drawn = [element("li", one) for one in ties]
    return element("div", element("p", "Statistically tied:"), element("ul", *drawn), class_="note ties")


def detector_table(ranking: Ranking, known: list[str]) -> Markup:
    """Render score, gap with its confidence interval, and how often each detector is first and keeps its rank.

    `known` are the sources of uncertainty that were simulated, by their keys in the leaderboard's JSON.
    """
    groups = []
    has_chance = any(is_known(one.p_first_images) for one in ranking.detectors)
    if known:
        words = ("P(first)", "P(rank kept)") if known == ["errors"] else ("first in", "rank kept in")
        groups = [td() for _ in range(4)]
        groups += [element("th", word, scope="colgroup", colspan=len(known), class_="grp") for word in words]
        groups += [td(kind="grp"), td(), *[td()] * has_chance]
    heads = [("detector", "l"), (ranking.metric, ""), ("std. error", ""), ("gap to the next", "")]
    heads += [(SOURCE_HEADS[key], "grp" if k == 0 else "") for _ in range(2) for k, key in enumerate(known)]
    heads += [("P(first)", "grp")] * has_chance
    heads += [("possible ranks", "grp"), ("swapped by", "")]
    rows = []
    for one in ranking.detectors:
        gap, (low, high) = one.gap, one.ranks
        has_interval = gap is not None and is_known(gap.low)
        interval = [element("small", f" [{ends(gap.low, gap.high)}]")] if gap and has_interval else []
        cells = [
            th(detector_name(one.name)),
            td(number(one.score)),
            td(number(one.sd), kind="q"),
        ]
        cells.append(td(number(gap.value if gap else None), *interval))
        for chances in (one.p_first, one.p_keeps):
            cells += [td(probability(chances.get(key)), kind="" if k else "grp") for k, key in enumerate(known)]
        cells += [td(probability(one.p_first_images), kind="grp")] * has_chance
        cells.append(td(str(low) if low == high else f"{low}–{high}", kind="grp"))
        cells.append(td(number(None) if one.flip is None else f"{one.flip:,}"))
        rows.append(element("tr", *cells))
    caption = (
        "Standard error and 95\u00a0% confidence interval of the gap: bootstrap. Possible ranks: those not excluded at "
        "95\u00a0%, for all detectors at once. Swapped by: smallest number of annotations found that, if wrong, "
        "swap this detector with the next."
    )
    if known and known != ["errors"]:
        caption += " First in, rank kept in: shares of simulations; over resampled images they are no probabilities."
    if has_chance:
        caption += " P(first): probability of being first on all images, if these detectors are as alike as their "
        caption += "scores suggest."
    return table(caption, [column(*head) for head in heads], rows, groups=groups)


def decisive_annotations(document: ReportDocument, images: ReportImages, ranking: Ranking) -> Markup:
    """Render the annotations with the largest influence on the ranking as image crops."""
    if not ranking.decisive:
        return Markup()
    drawn = []
    for item in ranking.decisive:
        where = document.images.name(item.image)
        about = f"{plain(where)}: decisive annotation"
        drawn.append(
            element(
                "li",
                draw_crop(document, images, item.image, item.window, (item.truth, item.pred), about),
                element("p", element("b", name(item.label)), class_="what"),
                element("p", element("small", element("bdi", item.reason))),
                element("p", element("small", name(where, "nm img"))),
            )
        )
    count = count_of(len(ranking.decisive), "annotation")
    shown = element("ol", *drawn, class_="crops")
    if images.mode == "none":
        rows = [
            element("tr", th(name(one.label)), td(name(document.images.name(one.image), "nm img"), kind="l"),
                    td(element("bdi", one.reason), kind="l reason"))
            for one in ranking.decisive
        ]  # fmt: skip
        heads = [column("class", "l"), column("image", "l"), column("reason", "l")]
        shown = scroll("Table of annotations", table("Annotations to check.", heads, rows, is_captioned=False))
    return join_elements(
        element("h3", "Check these annotations before you trust the ranking"),
        element("p", f"The {count} that would change the gaps between neighbouring ranks most, if wrong."),
        shown,
    )


SECTION = Section(
    id="order",
    title="Is the ranking reliable?",
    place=30,
    wanted=lambda document: document.ranking is not None and bool(document.ranking.detectors),
    build=lambda inputs: None,
    render=render,
)
