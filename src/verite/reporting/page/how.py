"""How was this computed? Signatures, digests, versions, and the command that gives the same page."""

from __future__ import annotations

from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.reporting.page.words import ABSENT, count_of, name


def how(doc: dict[str, Any]) -> Markup:
    systems = doc["systems"]
    rows: list[tuple[str, Markup]] = [("what was measured", codes(signatures(doc)))]
    rows.append(("truth", file_line(doc["truth"])))
    rows += [("predictions" if k == 0 else "", file_line(system)) for k, system in enumerate(systems)]
    changed = doc["settings"].get("changed") or {}
    rows.append(
        (
            "settings",
            element("span", "all defaults" if not changed else ", ".join(f"{k}: {v}" for k, v in changed.items())),
        )
    )
    rows.append(("pictures", element("span", PICTURES[doc["pictures"]["mode"]])))
    if doc["pictures"]["broken"]:
        rows.append(("", element("span", f"{count_of(len(doc['pictures']['broken']), 'picture')} could not be read")))
    rows.append(("made by", element("span", f"verite {doc['version']}")))
    rows.append(("the same again", run(doc["command"])))
    rows.append(("is it still true?", run(doc["check"])))
    rows.append(("deviations", show_deviations(doc)))
    rows.append(
        (
            "licence",
            element("span", "the page's script and style: MIT, as verite; names, numbers and pictures are yours"),
        )
    )
    listed = [part for word, content in rows for part in (element("dt", word), element("dd", content))]
    return join_elements(
        element("p", "Same files, same page: every number can be recomputed.", class_="finding"),
        element("dl", *listed, class_="how"),
    )


PICTURES = {
    "link": "linked: they are not in this file, and are seen where the page lies beside them",
    "embed": "small pieces of them are inside this file",
    "none": "none",
}


def show_deviations(doc: dict[str, Any]) -> Markup:
    """Whose odd ways are repeated, and where other tools would say something else, by the documentation's names."""
    said = {one["name"]: one["said"] for system in doc["systems"] for one in system["deviations"]}
    lines = [element("p", element("code", key), ": ", words) for key, words in said.items()]
    return join_elements(element("p", tell_quirks(doc["systems"][0]["signature"])), *lines)


def tell_quirks(signature: str) -> str:
    """Whether the odd ways of a tool are repeated.

    >>> tell_quirks("coco|quirks:none|rev:1"), tell_quirks("voc|quirks:ultralytics|rev:1")
    ("none of the reference's quirks is repeated", 'quirks of ultralytics are repeated')
    """
    quirks = [part.partition(":")[2] for part in signature.split("|") if part.startswith("quirks:")]
    word = quirks[0] if quirks else "none"
    return "none of the reference's quirks is repeated" if word == "none" else f"quirks of {word} are repeated"


def signatures(doc: dict[str, Any]) -> list[str]:
    """Of the scores and of every part, each once."""
    found = []
    for system in doc["systems"]:
        found += [system["signature"], *(system.get("signatures") or {}).values()]
    board = doc.get("leaderboard") or {}
    found += [board["signature"]] if board.get("signature") else []
    return list(dict.fromkeys(found))


def codes(texts: list[str]) -> Markup:
    return join_elements(*(element("p", code(text)) for text in texts))


def code(text: str) -> Markup:
    """A signature, whose lines break between its parts."""
    first, *others = text.split("|")
    return element("code", first, *(join_elements("|", element("wbr"), part) for part in others))


def file_line(told: dict[str, Any]) -> Markup:
    return join_elements(
        name(told["file"] or told.get("name") or ABSENT, "nm whole"), " ", element("code", told["digest"])
    )


def run(command: str) -> Markup:
    copy = element("button", "Copy", type="button", class_="btn js copy", hidden="")
    return element(
        "div",
        element("pre", element("code", command), tabindex=0, role="group", aria_label="Command"),
        copy,
        class_="run",
    )
