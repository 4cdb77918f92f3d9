"""HTML page of a leaderboard of a table of scores: the ranking, leads, significance, ranks, and scores by case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.plotting import shorten_apart
from verite.reporting.report.charts import interval
from verite.reporting.report.layout import (
    column,
    count_of,
    detector_name,
    finding,
    list_all,
    name,
    navigation,
    number,
    page_brand,
    page_head,
    percent,
    plain,
    scroll,
    sentence,
    signed,
    table,
    td,
    th,
)
from verite.reporting.report.section import DrawnSection

if TYPE_CHECKING:
    from verite.leaderboards.score_tables import ScoreLeaderboard

MOST_NAMED = 4  # systems that are named in a sentence
MOST_CASES = 20  # rows of the table of cases


def render_score_report(board: ScoreLeaderboard, title: str = "") -> str:
    """Return a self-contained page without a script.

    Parameters
    ----------
    board
        The ranking.
    title
        Title of the page; by default the score and the number of systems and cases.
    """
    count = len(board.scores.cases)
    title = title or f"{board.metric}: {len(board.names)} systems, {count:,} cases"
    sections = [DrawnSection(id, heading, (render(board),)) for id, heading, render in SECTIONS]
    header = join_elements(
        element("p", title, class_="title"), element("h1", summarise(board), class_="verdict"), facts(board)
    )
    contents = [
        element(
            "section",
            element("p", one.title, id=f"{one.id}-h", class_="title"),
            one.parts[0],
            id=one.id,
            aria_labelledby=f"{one.id}-h",
        )
        for one in sections
    ]
    shell = element(
        "div",
        page_brand("leaderboard"),
        navigation(sections),
        element("main", header, *contents, id="main"),
        element("footer", element("p", "Created by verite."), class_="end"),
        class_="shell",
    )
    data = element(
        "script",
        Markup(json.dumps(json.loads(board.to_json())).replace("<", "\\u003c")),
        type="application/json",
        id="verite-leaderboard",
    )
    skip = element("a", "Skip to the ranking", class_="skip", href="#main")
    body = element("body", skip, shell, data)
    return f"<!doctype html>\n{element('html', page_head(title, str(board.signature)), body, lang='en')}\n"


def summarise(board: ScoreLeaderboard) -> Markup:
    """Return who leads and whether the lead is significant, in one sentence."""
    ranked = board.board
    first, second, gap = ranked.names[0], ranked.names[1], ranked.gaps[0]
    if gap is None or abs(gap[0]) < 0.00005:
        return sentence(detector_name(first), " and ", detector_name(second), " are tied.")
    lead = sentence(detector_name(first), " leads ", detector_name(second), f" by {number(gap[0])} {board.metric}")
    if board.significance[0, 1]:
        return sentence(lead, "; the lead is significant.")
    return sentence(lead, "; the lead is not significant.")


def facts(board: ScoreLeaderboard) -> Markup:
    """Render the size of the table and what is better."""
    scores = board.scores
    counts = [(len(board.names), " systems"), (len(scores.cases), " cases")]
    counts += [(board.units, " clusters")] if scores.clusters is not None else []
    counts += [(len(set(scores.tasks)), " tasks that count alike")] if scores.tasks is not None else []
    counts += [(board.settings.draws, " bootstrap resamples")]
    items = [element("li", element("b", f"{value:,}"), words) for value, words in counts]
    return element("ul", *items, element("li", f"{board.settings.better} is better"), class_="facts")


def ranking_section(board: ScoreLeaderboard) -> Markup:
    """Render the table of systems, with a bar of each lead, and the tied groups."""
    ranked, sign = board.board, board.sign
    groups = [element("li", list_all([name(one) for one in group])) for group in ranked.groups]
    tied = element("div", element("p", "Statistically tied:"), element("ul", *groups), class_="note ties")
    leads = [gap for gap in ranked.gaps if gap is not None]
    clear = sum(low > 0 for _, low, _ in leads)
    known = [end for gap in ranked.gaps if gap is not None for end in gap if not np.isnan(end)]
    reach = max([0.001, *map(abs, known)])
    rows = []
    for i, (one, gap, places) in enumerate(zip(ranked.names, ranked.gaps, ranked.places, strict=True)):
        value, low, high = gap if gap is not None else (np.nan,) * 3
        drawn = interval(value, low, high, (-1.05 * reach, 1.05 * reach), "" if low > 0 else "g")
        between = f"{signed(low)} to {signed(high)}" if not np.isnan(low) else "–"
        span = "–" if places is None else str(places[0]) if places[0] == places[1] else f"{places[0]}–{places[1]}"
        cells = [td(f"{i + 1}"), td(number(sign * float(ranked.scores[i]))), td(number(ranked.spread[i][0]), kind="q")]
        cells += [td(drawn if gap is not None else Markup(), kind="wide"), td(number(value) if gap else "–")]
        rows.append(element("tr", th(detector_name(one)), *cells, td(between, kind="q"), td(span)))
    level = f"{100 * ranked.level:g}\u00a0%"
    words = ("place", board.metric, "standard error", f"lead over the next, {level}", "lead", f"{level} interval")
    heads = [column("system", "l"), *(column(word, "l" if "next" in word else "") for word in words)]
    heads.append(column("possible ranks"))
    what = "clusters" if board.scores.clusters is not None else "cases"
    about = f"Intervals by Student's t over {what}; grey: the interval includes 0. Possible ranks hold for all at once."
    return join_elements(
        finding(f"{clear} of {count_of(len(leads), 'lead')} over the next system exclude 0."),
        scroll("Table of systems", table(about, heads, rows)),
        tied if groups else Markup(),
    )


def significance_section(board: ScoreLeaderboard) -> Markup:
    """Render which system is significantly better than which, all statements at once."""
    ahead, names = board.significance, board.names
    size = len(names)
    total, found = size * (size - 1) // 2, int(ahead.sum())
    rows = []
    for i, one in enumerate(names):
        cells = []
        for j, other in enumerate(names):
            word = "better" if ahead[i, j] else "worse" if ahead[j, i] else "" if i == j else "·"
            about = f"{plain(one)} and {plain(other)}: {word if word != '·' else 'not significant'}"
            cells.append(td(word, title=about) if i != j else td())
        rows.append(element("tr", th(detector_name(one)), *cells))
    heads = [column("row compared with", "l"), *map(column, shorten_apart([plain(one) for one in names], 18))]
    level = f"{100 * board.board.level:g}\u00a0%"
    about = f"All statements hold at once with a confidence of {level} (Romano and Wolf's stepdown procedure)."
    return join_elements(
        finding(f"{found} of {count_of(total, 'pair')} differ significantly."),
        scroll("Table of significance", table(about, heads, rows)),
    )


def rank_section(board: ScoreLeaderboard) -> Markup:
    """Render the share of resamples in which each system has each rank."""
    ranked = board.board
    shares = ranked.probabilities["images"].ranks
    rows = []
    for i, one in enumerate(ranked.names):
        cells = [
            td(f"{100 * share:.0f}\u00a0%" if share >= 0.005 else "", kind="" if share >= 0.1 else "q")
            for share in shares[i].tolist()
        ]
        rows.append(element("tr", th(detector_name(one)), *cells))
    heads = [column("system", "l"), *(column(f"rank {k + 1}") for k in range(len(ranked.names)))]
    first = percent(float(shares[0, 0]), 1.0)
    what = "clusters" if board.scores.clusters is not None else "cases"
    about = f"Share of {board.settings.draws:,} bootstrap resamples of {what} with this rank; a share, no probability."
    return join_elements(
        finding(detector_name(ranked.names[0]), f" is first in {first} of the resamples."),
        scroll("Table of ranks", table(about, heads, rows)),
    )


def case_section(board: ScoreLeaderboard) -> Markup:
    """Render quartiles of each system, and the cases on which the first two differ most."""
    scores = board.scores
    order = [scores.systems.index(one) for one in board.names]
    values = scores.values[:, order]
    rows = []
    for i, one in enumerate(board.names):
        low, middle, high = np.percentile(values[:, i], (25, 50, 75))
        cells = [
            values[:, i].mean(),
            values[:, i].std(ddof=1),
            middle,
            low,
            high,
            values[:, i].min(),
            values[:, i].max(),
        ]
        rows.append(element("tr", th(detector_name(one)), *(td(number(float(cell))) for cell in cells)))
    words = ("mean", "SD", "median", "first quartile", "third quartile", "lowest", "highest")
    spread = table("Scores of all cases.", [column("system", "l"), *map(column, words)], rows, is_captioned=False)
    sign = -1.0 if board.settings.better == "lower" else 1.0
    gaps = sign * (values[:, 0] - values[:, 1])
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    most = np.argsort(-np.abs(gaps), kind="stable")[:MOST_CASES].tolist()
    shown = [
        element("tr", th(name(scores.cases[k])), *(td(number(float(v))) for v in values[k]), td(signed(float(gaps[k]))))
        for k in most
    ]
    shorter = shorten_apart([plain(one) for one in board.names], 18)
    heads = [column("case", "l"), *map(column, shorter), column("first over second")]
    differ = table(f"The {len(most)} cases on which the first two differ most.", heads, shown)
    first, second = (detector_name(one) for one in board.names[:2])
    total = count_of(len(gaps), "case")
    return join_elements(
        finding(first, " is better than ", second, f" in {wins:,} of {total}, worse in {losses:,}."),
        scroll("Table of scores", spread),
        element("h3", "Largest differences of the first two"),
        scroll("Table of cases", differ),
    )


def provenance_section(board: ScoreLeaderboard) -> Markup:
    """Render the settings."""
    return join_elements(
        element("p", "Settings that can change a number, and the data as JSON in this page (verite-leaderboard)."),
        element("p", element("code", str(board.signature))),
    )


SECTIONS = (
    ("ranking", "Ranking", ranking_section),
    ("pairs", "Which differences are significant?", significance_section),
    ("ranks", "Which ranks are possible?", rank_section),
    ("cases", "Cases", case_section),
    ("provenance", "How this was computed", provenance_section),
)
