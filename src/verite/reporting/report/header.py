"""Header of the HTML report: findings of the checks, a one-sentence summary, scores, and dataset size."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.layout import (
    chance,
    count_of,
    is_known,
    list_all,
    name,
    number,
    percent,
    scroll,
    sentence,
    whole,
)

PLACES = ("1st", "2nd", "3rd")
MOST_BESIDE = 3  # systems side by side; all of more are in a table
MOST_SCORES = 4  # of each beside its headline
# TIDE error types in words, as the subject of a sentence.
SAID = {
    "localization": "localization errors",
    "missed": "missed objects",
    "class": "classification errors",
    "background": "false positives on background",
    "duplicate": "duplicate predictions",
    "both": "classification and localization errors together",
}


def head(doc: dict[str, Any]) -> Markup:
    """Everything above the first section."""
    return join_elements(
        element("h1", doc["title"]),
        findings(doc),
        element("p", verdict(doc), class_="verdict"),
        element("p", lead(doc), class_="lead"),
        podium(doc),
        standing_table(doc) if len(doc["systems"]) > MOST_BESIDE else Markup(),
        facts(doc),
        board_note(doc),
    )


def score_name(doc: dict[str, Any]) -> str:
    return next(iter(doc["systems"][0]["scores"]), "AP")


def verdict(doc: dict[str, Any]) -> Markup:
    """Return the summary in one sentence: the leader and its gap, or the recall of a single detector."""
    first, *others = doc["systems"]
    total, key = doc["truth"]["objects"], score_name(doc)
    if not total:
        return sentence("The ground truth has no objects to detect.")
    if not any(system["preds"] for system in doc["systems"]):
        return sentence("There are no predictions, so every object is missed.")
    if not others:
        found = sentence(name(first["name"]), f" detects {percent(first['best']['right'], total)} of {total:,} objects")
        worst = costs_of(first)[:1]
        if worst:
            return sentence(found, f"; most {key} is lost to {say(doc, worst[0][0])}.")
        return sentence(found, f", at {key} {number(first['headline'])}.")
    gap = first["headline"] - others[0]["headline"]
    if not gap >= 0.0005:
        level = [name(s["name"]) for s in doc["systems"] if abs(s["headline"] - first["headline"]) < 0.0005]
        if len(level) > MOST_BESIDE:
            level = [level[0], sentence(f"{len(level) - 1} others")]
        return sentence(list_all(level), f" are tied at {key} {number(first['headline'])}.")
    lead_words = sentence(name(first["name"]), " leads ", name(others[0]["name"]), f" by {number(gap)}\u00a0{key}")
    kept = keeps(doc, 0)
    if kept is None:
        return sentence(lead_words, ".")
    if kept < 0.9:
        return sentence(lead_words, f", but keeps the lead in only {round(100 * kept)}\u00a0% of the resamples.")
    return sentence(lead_words, f" and keeps the lead in {min(99, round(100 * kept))}\u00a0% of the resamples.")


def lead(doc: dict[str, Any]) -> Markup:
    """Return the two costliest error types, and any IoU threshold at which another detector leads."""
    first, *others = doc["systems"]
    if not doc["truth"]["objects"] or not any(system["preds"] for system in doc["systems"]):
        return sentence("The contents of the files are listed below.")
    parts = []
    worst = costs_of(first)[:2]
    if worst:
        told = list_all([f"{say(doc, kind)} ({number(cost)})" for kind, cost in worst])
        parts.append(sentence(name(first["name"]), f" loses most {score_name(doc)} to ", told, ". "))
    if not others:
        best = first["best"]
        counts = f"{count_of(best['right'], 'true positive')} and {count_of(best['wrong'], 'false positive')}"
        at, missed = number(best["confidence"], 2), count_of(best["missed"], "object")
        return join_elements(*parts, sentence(f"At confidence ≥ {at} it has {counts}, and misses {missed}."))
    for key in ("AP50", "AP75"):
        values = [system["scores"].get(key) for system in doc["systems"]]
        if all(is_known(value) for value in values):
            best = max(range(len(values)), key=lambda i: values[i])
            if best and values[best] - values[0] >= 0.0005:
                words = doc["words"]
                where = f"a coarse {words['one']} is enough" if key == "AP50" else f"precise {words['many']} matter"
                rival, gap = name(doc["systems"][best]["name"]), number(values[best] - values[0])
                iou = {"AP50": "0.5", "AP75": "0.75"}[key]
                parts.append(
                    sentence(f"If {where}, choose ", rival, f": at {words['overlap']} {iou} it leads by {gap}. ")
                )
    if not parts:
        parts.append(sentence(f"No other detector leads at a reported {doc['words']['overlap']} threshold."))
    return join_elements(*parts)


def say(doc: dict[str, Any], kind: str) -> str:
    """Return an error type in words."""
    return SAID.get(kind, kind).format(**doc["words"])


def costs_of(system: dict[str, Any]) -> list[tuple[str, float]]:
    """Return (error type, cost in AP) by falling cost, without types that cost less than 0.0005."""
    cost = (system.get("errors") or {}).get("cost") or {}
    known = [(kind, value) for kind, value in cost.items() if is_known(value) and value >= 0.0005]
    return sorted(known, key=lambda one: -one[1])


def detector(doc: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """Return the leaderboard's row of a detector, empty where there is none."""
    board = doc.get("leaderboard") or {}
    return next((one for one in board.get("detectors", []) if one["name"] == system["name"]), {})


def keeps(doc: dict[str, Any], place: int) -> float | None:
    """Return the probability that a detector keeps its rank; annotation errors and bootstrap where both exist."""
    told = detector(doc, doc["systems"][place]).get("p_keeps") or {}
    return next((told[key] for key in ("both", "images", "errors") if is_known(told.get(key))), None)


def findings(doc: dict[str, Any]) -> Markup:
    """Render the findings of the checks, each with the options that fix it."""
    told = [*doc["findings"], *tell_broken(doc)]
    if not told:
        return Markup()
    items = [
        element(
            "li",
            element("b", f"{one['code']} {one['severity']}".strip()),
            element("p", name(one["of"]), ": ", element("bdi", one["message"])),
            element("code", one["options"])
            if one.get("options")
            else element("p", element("bdi", one["fix"]), class_="fix"),
            class_=f"f-{one['severity']}",
        )
        for one in told
    ]
    title = f"{count_of(len(told), 'problem')} found in the files: check this before you use any number"
    return element("div", element("h2", title), element("ul", *items), class_="findings")


def tell_broken(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the images that could not be read as one finding."""
    names = doc["pictures"]["broken"]
    if not names:
        return []
    some = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
    fix = "Save them again, or omit images with --pictures none; their objects are shown on an empty background."
    message = f"{count_of(len(names), 'image')} could not be read: {some}"
    return [{"code": "", "severity": "warning", "of": "images", "message": message, "fix": fix}]


def podium(doc: dict[str, Any]) -> Markup:
    shown = doc["systems"][:MOST_BESIDE]
    return element("div", *(stand(doc, i) for i in range(len(shown))), class_=f"podium n{len(shown)}")


def stand(doc: dict[str, Any], i: int) -> Markup:
    """Render one detector: its score, a sentence, and a few figures."""
    system, several = doc["systems"][i], len(doc["systems"]) > 1
    key = score_name(doc)
    place = element("span", PLACES[i] if several and is_known(system["headline"]) else key)
    return element(
        "div",
        element("h2", name(system["name"]), place),
        element("p", number(system["headline"]), class_="big"),
        element("p", character(doc, system), class_="char"),
        element("dl", *(figure(*one) for one in figures(doc, i))),
    )


def character(doc: dict[str, Any], system: dict[str, Any]) -> Markup:
    best, total = system["best"], doc["truth"]["objects"]
    if not system["preds"]:
        return sentence("No predictions.")
    if not total:
        return sentence(f"{count_of(system['preds'], 'prediction')}, all false positives.")
    worst = costs_of(system)[:1]
    costly = f" Highest cost: {say(doc, worst[0][0])}, {number(worst[0][1])} {score_name(doc)}." if worst else ""
    return sentence(
        f"{best['right']:,} of {total:,} objects detected, {count_of(best['wrong'], 'false positive')}.{costly}"
    )


def figures(doc: dict[str, Any], i: int) -> list[tuple[str, str, str]]:
    """Return (name, value, qualifier) of each figure of a detector."""
    system, told = doc["systems"][i], detector(doc, doc["systems"][i])
    keys = [key for key, value in system["scores"].items() if is_known(value)][1 : MOST_SCORES + 1]
    found = [(key, number(system["scores"][key]), "") for key in keys]
    if is_known(system["best"]["f1"]):
        found.append(
            ("best F1", number(system["best"]["f1"]), f"confidence ≥ {number(system['best']['confidence'], 2)}")
        )
    if told.get("gap"):
        gap = told["gap"]
        found.append(("gap to the next", number(gap["value"]), f"[{number(gap['low'])}, {number(gap['high'])}]"))
    kept = keeps(doc, i)
    if kept is not None:
        found.append(("P(keeps rank)", chance(kept), ""))
    if is_known(told.get("sd")):
        found.append((f"sd of {score_name(doc)}", number(told["sd"]), f"bias {number(told.get('bias'))}"))
    return found


def figure(word: str, value: str, more: str) -> Markup:
    small = [" ", element("small", more)] if more else []
    return element("div", element("dt", word), element("dd", value, *small))


def standing_table(doc: dict[str, Any]) -> Markup:
    """Render the scores of all detectors, the best first."""
    keys = [key for key, value in doc["systems"][0]["scores"].items() if is_known(value)][:7]
    heads = ["detector", *keys, "best F1", "TP", "FP"]
    rows = []
    for system in doc["systems"]:
        cells = [number(system["scores"][key]) for key in keys]
        best = system["best"]
        cells += [number(best["f1"]), whole(best["right"]), whole(best["wrong"])]
        rows.append(element("tr", element("th", name(system["name"]), scope="row"), *(element("td", c) for c in cells)))
    table = element(
        "table",
        element(
            "caption",
            f"All {len(doc['systems'])} detectors, best first; TP and FP at each one's best F1.",
        ),
        element("thead", element("tr", *(element("th", word, scope="col") for word in heads))),
        element("tbody", *rows),
    )
    return scroll("Table of all detectors", table)


def facts(doc: dict[str, Any]) -> Markup:
    truth = doc["truth"]
    aside = f", {truth['set_aside']:,} ignored" if truth["set_aside"] else ""
    preds = sum(system["preds"] for system in doc["systems"])
    items = [
        fact(f"{truth['images']:,}", " image" if truth["images"] == 1 else " images"),
        fact(f"{truth['objects']:,}", f" objects{aside}"),
        fact(f"{truth['classes']:,}", " class" if truth["classes"] == 1 else " classes"),
        fact(f"{preds:,}", " predictions"),
        element("li", doc["measured"]),
    ]
    draws = (doc.get("leaderboard") or {}).get("draws")
    items += [fact(f"{draws:,}", " bootstrap resamples of the images")] if draws else []
    if not doc["findings"] and doc["is_checked"] and truth["objects"]:
        items.append(element("li", "all checks passed", class_="ok"))
    return element("ul", *items, class_="facts")


def fact(strong: str, rest: str) -> Markup:
    return element("li", element("b", strong), rest)


def board_note(doc: dict[str, Any]) -> Markup:
    board = doc.get("leaderboard")
    told = (board or {}).get("assumption")
    return element("p", f"{told[:1].upper()}{told[1:].rstrip('.')}.", class_="note") if told else Markup()
