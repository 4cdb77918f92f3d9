"""Provenance: signatures, file digests, version, and the commands that reproduce and verify the report."""

from __future__ import annotations

from typing import Any

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.layout import ABSENT, count_of, name


def how(doc: dict[str, Any]) -> Markup:
    systems = doc["systems"]
    rows: list[tuple[str, Markup]] = [("signature", codes(signatures(doc)))]
    rows.append(("ground truth", file_line(doc["truth"])))
    rows += [("predictions" if k == 0 else "", file_line(system)) for k, system in enumerate(systems)]
    changed = doc["settings"].get("changed") or {}
    rows.append(
        (
            "settings",
            element("span", "all defaults" if not changed else ", ".join(f"{k}: {v}" for k, v in changed.items())),
        )
    )
    rows.append(("images", element("span", PICTURES[doc["pictures"]["mode"]])))
    if doc["pictures"]["broken"]:
        rows.append(("", element("span", f"{count_of(len(doc['pictures']['broken']), 'image')} could not be read")))
    rows.append(("created by", element("span", f"verite {doc['version']}")))
    rows.append(("reproduce", run(doc["command"])))
    rows.append(("verify", run(doc["check"])))
    rows.append(("deviations", show_deviations(doc)))
    rows.append(
        (
            "licence",
            element("span", "script and style of the report: MIT, as verite; names, numbers and images are yours"),
        )
    )
    listed = [part for word, content in rows for part in (element("dt", word), element("dd", content))]
    return join_elements(
        element("p", "The same files give the same report: every number can be recomputed.", class_="finding"),
        element("dl", *listed, class_="how"),
    )


PICTURES = {
    "link": "linked: not in this file, shown while the image files stay where they are",
    "embed": "crops are embedded in this file",
    "none": "none",
}


def show_deviations(doc: dict[str, Any]) -> Markup:
    """Render the quirks that are emulated, and documented deviations from other tools that apply here."""
    said = {one["name"]: one["said"] for system in doc["systems"] for one in system["deviations"]}
    lines = [element("p", element("code", key), ": ", words) for key, words in said.items()]
    return join_elements(element("p", tell_quirks(doc["systems"][0]["signature"])), *lines)


def tell_quirks(signature: str) -> str:
    """Describe which tool's quirks are emulated.

    >>> tell_quirks("coco|quirks:none|rev:1"), tell_quirks("voc|quirks:ultralytics|rev:1")
    ('no quirks of the reference implementation are emulated', 'quirks of ultralytics are emulated')
    """
    quirks = [part.partition(":")[2] for part in signature.split("|") if part.startswith("quirks:")]
    word = quirks[0] if quirks else "none"
    return (
        "no quirks of the reference implementation are emulated" if word == "none" else f"quirks of {word} are emulated"
    )


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
