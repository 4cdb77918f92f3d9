"""What is around the sections: a document that loads nothing, runs one script of ours, and needs neither."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from verite.model.elements import Markup, element, join_elements
from verite.records import record
from verite.reporting.page.crops import HATCHES
from verite.reporting.page.words import name, number

LINES = "Truth solid, hatched where it is missed; predictions dashed, blue where they are right."
TALL = 25  # rows from which on a table scrolls by itself
OLD = "This browser cannot unpack the objects of the page: what it says stays as it is, nothing can be opened."
HOME = files("verite.reporting.page")
UNSAFE: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@record()
class Section:
    """A part of the page: where links lead, what the list calls it, and what is in it."""

    id: str
    title: str
    content: Markup
    is_of_one: bool = False  # of the system that is chosen


def document(doc: dict[str, Any], head: Markup, sections: Sequence[Section], data: Sequence[Markup]) -> str:
    """The whole page."""
    title, systems = doc["title"], doc["systems"]
    style = read("page.css") + style_choice(len(systems)) + style_sheet(systems[0]["signature"])
    script = "\n".join(
        line for line in map(str.strip, read("page.js").splitlines()) if line and not line.startswith("//")
    )
    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'"
    )
    top = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content="verite"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("a", "Skip to the verdict", class_="skip", href="#main"),
        element(
            "div",
            brand(),
            side(systems, sections),
            element("main", head, *(show(section, systems) for section in sections), id="main"),
            element(
                "footer",
                element("p", "Made by verite. Every number on this page is in its data: verite.read_report(page)."),
                class_="end",
            ),
            class_="shell",
        ),
        viewer(),
        hatch(),
        element("p", id="said", role="status", class_="hide"),
        element("p", OLD, id="old", class_="note", hidden=""),
        *data,
        element("script", Markup(script), type="module"),
    )
    return f"<!doctype html>\n{element('html', top, body, lang='en')}\n"


def hatch() -> Markup:
    """What fills a missed object: for photos, which the script fits to their size, and for crops of every size."""
    shape = "M-2 2L2 -2M0 8L8 0M6 10L10 6"  # dark below light, to be seen on any ground
    below = element("path", d=shape, stroke="#0b0d10", stroke_opacity=".3", stroke_width=2)
    above = element("path", d=shape, stroke="#fff", stroke_opacity=".6")
    pattern = element("pattern", below, above, id="hatch", width=8, height=8, patternUnits="userSpaceOnUse")
    sizes = [
        element("pattern", id=f"hatch-{k}", href="#hatch", patternTransform=f"scale({2**k / 8:g})") for k in HATCHES
    ]
    return element("svg", element("defs", pattern, *sizes), class_="hide", aria_hidden="true")


# What the buttons of the viewer do, by the key that does it too.
ACTS = {"k": ("‹", "Previous"), "j": ("›", "Next"), "-": ("−", "Less"), "+": ("+", "More"), "0": ("↔", "Fit")}


def viewer() -> Markup:
    """Where the script shows objects: a photo with their outlines, and a list."""
    acts = [
        element("button", sign, type="button", class_="btn", value=key, aria_label=word)
        for key, (sign, word) in ACTS.items()
    ]
    top = element(
        "div",
        element("h2", tabindex=-1),
        element("span", *acts, class_="acts"),
        element("button", "Close", type="button", class_="btn"),
        class_="top",
    )
    stage = element("div", class_="stage", tabindex=0, role="region", aria_label="Photo")
    shelf = element("ul", class_="objects")
    below = element("div", element("p", LINES, class_="lines acts"), element("p", class_="note said"), shelf)
    return element("dialog", top, stage, below, id="viewer", aria_label="Objects of an image")


def brand() -> Markup:
    mark = element(
        "svg",
        element("rect", x=2, y=2, width=13, height=13, rx=1, class_="mark-truth"),
        element("rect", x=7, y=7, width=13, height=13, rx=1, class_="mark-pred"),
        width=22,
        height=22,
        viewBox="0 0 22 22",
        aria_hidden="true",
    )
    return element("header", element("div", mark, "verite ", element("span", "report"), class_="brand"))


def side(systems: Sequence[Any], sections: Sequence[Section]) -> Markup:
    """The list of sections, and which system their details are of."""
    links = element("ol", *(element("li", element("a", section.title, href=f"#{section.id}")) for section in sections))
    if len(systems) < 2:
        return element("nav", element("div", links), class_="side", aria_label="Sections")
    choices = [
        element(
            "label",
            element("input", type="radio", name="pred", id=f"p{i}", **({"checked": ""} if i == 0 else {})),
            name(system["name"], "nm grow"),
            element("i", number(system["headline"])),
        )
        for i, system in enumerate(systems)
    ]
    pick = element("fieldset", element("legend", "Details of"), *choices, class_="pick")
    return element("nav", element("div", links, pick), class_="side", aria_label="Sections")


def style_choice(count: int) -> str:
    """Details of one system are shown at a time, by style alone."""
    rules = [f"body:has(#p{i}:checked) .d:not(.s{i})" for i in range(count)]
    return f"{','.join(rules)}{{display:none}}" if count > 1 else ""


def style_sheet(signature: str) -> str:
    """On paper every sheet says what was measured."""
    spelled = "".join(one if one.isascii() and one.isalnum() else f"\\{ord(one):x} " for one in signature)
    return f'@page{{@bottom-left{{content:"{spelled}"}}}}'


def show(section: Section, systems: Sequence[Any]) -> Markup:
    of = [element("span", name(system["name"]), class_=f"of d s{i}") for i, system in enumerate(systems)]
    chosen = of if section.is_of_one and len(systems) > 1 else []
    heading = element("h2", section.title, *chosen, id=f"{section.id}-h")
    return element("section", heading, section.content, id=section.id, aria_labelledby=f"{section.id}-h")


def each(systems: Sequence[Any], parts: Sequence[Markup]) -> Markup:
    """One part for each system, of which one is shown."""
    return join_elements(*(element("div", part, class_=f"d s{i}") for i, part in enumerate(parts)))


def scroll(label: str, *content: Markup, kind: str = "") -> Markup:
    """A wide table that scrolls by itself, also with the keyboard."""
    return element("div", *content, class_=f"scroll {kind}".strip(), tabindex=0, role="region", aria_label=label)


def table_head(heads: Sequence[tuple[str, str]]) -> Markup:
    """A row of column heads, each with its class."""
    cells = [element("th", word, scope="col", **({"class_": kind} if kind else {})) for word, kind in heads]
    return element("tr", *cells)


def embed_json(id: str, text: str) -> Markup:
    """A JSON text inside the page, in which nothing can end its element."""
    return element("script", Markup(text.translate(str.maketrans(UNSAFE))), type="application/json", id=id)


def attach(id: str, data: bytes) -> Markup:
    """Bytes inside the page."""
    return element("script", Markup(b64encode(data).decode()), type="application/octet-stream", id=id)


def read(file: str) -> str:
    return (HOME / file).read_text(encoding="utf-8")


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
