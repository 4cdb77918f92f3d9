"""The verdict first, in a sentence; then what is suspicious about the files; then the numbers."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.frame import scroll
from verite.reporting.page.words import chance, count_of, is_known, list_all, name, number, percent, sentence, whole

PLACES = ("1st", "2nd", "3rd")
MOST_BESIDE = 3  # systems side by side; all of more are in a table
MOST_SCORES = 4  # of each beside its headline
# What each type of error is to a reader, and what it is called in short.
SAID = {
    "localization": "{many} that fit loosely",
    "missed": "objects that nobody claims",
    "class": "wrong classes",
    "background": "claims where nothing is",
    "duplicate": "second claims for one object",
    "both": "wrong classes on loose {many}",
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
    """One sentence for those who read no other."""
    first, *others = doc["systems"]
    total, key = doc["truth"]["objects"], score_name(doc)
    if not total:
        return sentence("There is nothing to find: the truth has no objects.")
    if not any(system["preds"] for system in doc["systems"]):
        return sentence("Nothing was found: there are no predictions.")
    if not others:
        found = sentence(name(first["name"]), f" finds {percent(first['best']['right'], total)} of {total:,} objects")
        worst = costs_of(first)[:1]
        if worst:
            return sentence(found, f"; most of what is missing is {worst[0][0]}.")
        return sentence(found, f", at {key} {number(first['headline'])}.")
    gap = first["headline"] - others[0]["headline"]
    if not gap >= 0.0005:
        level = [name(s["name"]) for s in doc["systems"] if abs(s["headline"] - first["headline"]) < 0.0005]
        if len(level) > MOST_BESIDE:
            level = [level[0], sentence(f"{len(level) - 1} others")]
        return sentence(list_all(level), f" are level at {key} {number(first['headline'])}.")
    lead_words = sentence(name(first["name"]), " leads ", name(others[0]["name"]), f" by {number(gap)}\u00a0{key}")
    kept = keeps(doc, 0)
    if kept is None:
        return sentence(lead_words, ".")
    if kept < 0.9:
        return sentence(lead_words, f", but only in {round(100 * kept)} of 100\u00a0redraws.")
    return sentence(lead_words, f" and keeps the lead in {min(99, round(100 * kept))} of 100\u00a0redraws.")


def lead(doc: dict[str, Any]) -> Markup:
    """The reason, and what speaks for somebody else."""
    first, *others = doc["systems"]
    if not doc["truth"]["objects"] or not any(system["preds"] for system in doc["systems"]):
        return sentence("What the files contain is told below.")
    parts = []
    worst = costs_of(first)[:2]
    if worst:
        told = list_all([f"{say(doc, kind)} ({number(cost)})" for kind, cost in worst])
        parts.append(sentence("What keeps ", name(first["name"]), " from 1 are ", told, ". "))
    if not others:
        best = first["best"]
        claims = f"{count_of(best['right'], 'right claim')} and {count_of(best['wrong'], 'wrong one')}"
        at, missed = number(best["confidence"], 2), count_of(best["missed"], "object")
        return join_elements(*parts, sentence(f"From confidence {at} on it makes {claims}, and misses {missed}."))
    for key in ("AP50", "AP75"):
        values = [system["scores"].get(key) for system in doc["systems"]]
        if all(is_known(value) for value in values):
            best = max(range(len(values)), key=lambda i: values[i])
            if best and values[best] - values[0] >= 0.0005:
                words = doc["words"]
                where = f"a rough {words['one']} is good enough" if key == "AP50" else f"{words['many']} must fit well"
                rival, gap = name(doc["systems"][best]["name"]), number(values[best] - values[0])
                iou = {"AP50": "0.5", "AP75": "0.75"}[key]
                parts.append(
                    sentence(f"If {where}, choose ", rival, f": at {words['overlap']} {iou} it leads by {gap}. ")
                )
    if not parts:
        parts.append(sentence("The order is the same at every overlap that was asked for."))
    return join_elements(*parts)


def say(doc: dict[str, Any], kind: str) -> str:
    """A type of error as a reader knows it."""
    return SAID.get(kind, kind).format(**doc["words"])


def costs_of(system: dict[str, Any]) -> list[tuple[str, float]]:
    """Types of errors by falling cost, those that cost anything."""
    cost = (system.get("errors") or {}).get("cost") or {}
    known = [(kind, value) for kind, value in cost.items() if is_known(value) and value >= 0.0005]
    return sorted(known, key=lambda one: -one[1])


def detector(doc: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """What the leaderboard says about a system."""
    board = doc.get("leaderboard") or {}
    return next((one for one in board.get("detectors", []) if one["name"] == system["name"]), {})


def keeps(doc: dict[str, Any], place: int) -> float | None:
    """The probability that a system keeps its place, under errors and other images together where both were drawn."""
    told = detector(doc, doc["systems"][place]).get("p_keeps") or {}
    return next((told[key] for key in ("both", "images", "errors") if is_known(told.get(key))), None)


def findings(doc: dict[str, Any]) -> Markup:
    """What is suspicious about the files, with what to paste, before any number."""
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
    looks = "looks" if len(told) == 1 else "look"
    title = f"{count_of(len(told), 'thing')} in the files {looks} wrong: look here before any number"
    return element("div", element("h2", title), element("ul", *items), class_="findings")


def tell_broken(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """Pictures that could not be read, as a finding."""
    names = doc["pictures"]["broken"]
    if not names:
        return []
    some = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
    fix = "Write them again, or leave them out with --pictures none; here their objects are on an empty ground."
    message = f"{count_of(len(names), 'picture')} could not be read: {some}"
    return [{"code": "", "severity": "warning", "of": "pictures", "message": message, "fix": fix}]


def podium(doc: dict[str, Any]) -> Markup:
    shown = doc["systems"][:MOST_BESIDE]
    return element("div", *(stand(doc, i) for i in range(len(shown))), class_=f"podium n{len(shown)}")


def stand(doc: dict[str, Any], i: int) -> Markup:
    """One system: its score, large; what it is like; and a few figures."""
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
        return sentence(f"{count_of(system['preds'], 'claim')}, none of which can be right.")
    worst = costs_of(system)[:1]
    costly = f" {say(doc, worst[0][0]).capitalize()} cost most: {number(worst[0][1])}." if worst else ""
    return sentence(f"Finds {best['right']:,} of {total:,}, with {count_of(best['wrong'], 'wrong claim')}.{costly}")


def figures(doc: dict[str, Any], i: int) -> list[tuple[str, str, str]]:
    """A word, a number, and what qualifies it."""
    system, told = doc["systems"][i], detector(doc, doc["systems"][i])
    keys = [key for key, value in system["scores"].items() if is_known(value)][1 : MOST_SCORES + 1]
    found = [(key, number(system["scores"][key]), "") for key in keys]
    if is_known(system["best"]["f1"]):
        found.append(("best F1", number(system["best"]["f1"]), f"from {number(system['best']['confidence'], 2)}"))
    if told.get("gap"):
        gap = told["gap"]
        found.append(("gap to the next", number(gap["value"]), f"[{number(gap['low'])}, {number(gap['high'])}]"))
    kept = keeps(doc, i)
    if kept is not None:
        found.append(("keeps its place", chance(kept), ""))
    if is_known(told.get("sd")):
        found.append((f"sd of {score_name(doc)}", number(told["sd"]), f"bias {number(told.get('bias'))}"))
    return found


def figure(word: str, value: str, more: str) -> Markup:
    small = [" ", element("small", more)] if more else []
    return element("div", element("dt", word), element("dd", value, *small))


def standing_table(doc: dict[str, Any]) -> Markup:
    """All systems, the best first."""
    keys = [key for key, value in doc["systems"][0]["scores"].items() if is_known(value)][:7]
    heads = ["system", *keys, "best F1", "found", "wrong"]
    rows = []
    for system in doc["systems"]:
        cells = [number(system["scores"][key]) for key in keys]
        best = system["best"]
        cells += [number(best["f1"]), whole(best["right"]), whole(best["wrong"])]
        rows.append(element("tr", element("th", name(system["name"]), scope="row"), *(element("td", c) for c in cells)))
    table = element(
        "table",
        element(
            "caption", f"All {len(doc['systems'])} systems, the best first; found and wrong at each one's best F1."
        ),
        element("thead", element("tr", *(element("th", word, scope="col") for word in heads))),
        element("tbody", *rows),
    )
    return scroll("Table of all systems", table)


def facts(doc: dict[str, Any]) -> Markup:
    truth = doc["truth"]
    aside = f", {truth['set_aside']:,} set aside" if truth["set_aside"] else ""
    preds = sum(system["preds"] for system in doc["systems"])
    items = [
        fact(f"{truth['images']:,}", " image" if truth["images"] == 1 else " images"),
        fact(f"{truth['objects']:,}", f" objects{aside}"),
        fact(f"{truth['classes']:,}", " class" if truth["classes"] == 1 else " classes"),
        fact(f"{preds:,}", " predictions"),
        element("li", doc["measured"]),
    ]
    draws = (doc.get("leaderboard") or {}).get("draws")
    items += [fact(f"{draws:,}", " redraws of the images")] if draws else []
    if not doc["findings"] and doc["is_checked"] and truth["objects"]:
        items.append(element("li", "nothing suspicious in the files", class_="ok"))
    return element("ul", *items, class_="facts")


def fact(strong: str, rest: str) -> Markup:
    return element("li", element("b", strong), rest)


def board_note(doc: dict[str, Any]) -> Markup:
    board = doc.get("leaderboard")
    told = (board or {}).get("assumption")
    return element("p", f"{told[:1].upper()}{told[1:].rstrip('.')}.", class_="note") if told else Markup()
