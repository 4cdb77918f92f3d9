"""What is around the sections: a document that loads nothing, runs one script of ours, and needs neither."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from typing import Any, TypeGuard

from verite.model.styles import Markup, element, escape, join_elements
from verite.reporting.report.crops import HATCHES

ABSENT = "–"

GAP = "\u00a0"  # a number stays with its unit

LONGEST = 120  # characters of a name on the page; the whole name is in its data

NAMELESS = "(no name)"


def is_known(value: Any) -> TypeGuard[float]:
    """Is there a number?"""
    return value is not None and isfinite(value)


def number(value: Any, digits: int = 3) -> str:
    """A score, or a dash for none.

    >>> number(0.55231), number(None), number(float("nan")), number(0.5, 2)
    ('0.552', '–', '–', '0.50')
    """
    if value is None or not isfinite(value):
        return ABSENT
    return f"{value:.{digits}f}"


def show_difference(value: Any, digits: int = 3) -> str:
    """A difference, with a sign that is as wide as the other.

    >>> show_difference(0.08), show_difference(-0.1), show_difference(None)
    ('+0.080', '−0.100', '–')
    """
    text = number(value, digits)
    return text if text == ABSENT else text.replace("-", "−") if value < 0 else f"+{text}"


def chance(value: Any) -> str:
    r"""A probability from simulations, never as 0 or 1.

    >>> chance(0.999), chance(0.5), chance(0.001)
    ('>\xa00.99', '0.50', '<\xa00.01')
    """
    if value is None or not isfinite(value):
        return ABSENT
    return f">{GAP}0.99" if value > 0.995 else f"<{GAP}0.01" if value < 0.005 else f"{value:.2f}"


def whole(value: Any) -> str:
    """A count.

    >>> whole(36781), whole(None)
    ('36,781', '–')
    """
    return ABSENT if value is None else f"{int(value):,}"


def overlap_at(doc: dict[str, Any], overlap: float) -> str:
    """A threshold by the name of what the page's systems were compared by: IoU 0.5, OKS 0.5."""
    return f"{doc['words']['overlap']} {overlap:g}"


def count_of(value: int, one: str, many: str = "") -> str:
    """A count and its noun, which stay together.

    >>> count_of(1, "image"), count_of(2, "class", "classes")
    ('1\\xa0image', '2\\xa0classes')
    """
    return f"{value:,}{GAP}{one if value == 1 else many or one + 's'}"


def percent(part: float, total: float) -> str:
    """A share.

    >>> percent(1, 3), percent(0, 0)
    ('33\\xa0%', '–')
    """
    return f"{100 * part / total:.0f}{GAP}%" if total else ABSENT


def name(text: Any, kind: str = "nm", most: int = LONGEST) -> Markup:
    """Somebody's name: text that cannot turn the direction of its line, cut where it is too long."""
    shown = str(text).strip() or NAMELESS
    cut = shown if len(shown) <= most else shown[: most - 1] + "…"
    return element("bdi", cut, class_=kind, title=cut) if len(cut) > 12 else element("bdi", cut, class_=kind)


def plain(text: Any, most: int = 40) -> str:
    """A name inside an attribute or a drawing."""
    shown = str(text).strip() or NAMELESS
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def list_all(parts: Sequence[str]) -> Markup:
    """a, b and c."""
    if len(parts) < 2:
        return join_elements(*parts)
    between = [part for one in parts[:-1] for part in (", ", one)][1:]
    return join_elements(*between, " and ", parts[-1])


def sentence(*parts: str) -> Markup:
    """Words and names after each other."""
    return join_elements(*(part if isinstance(part, Markup) else escape(part) for part in parts))


LINES = "Ground truth solid, hatched if missed; predictions dashed, blue if true positive."

TALL = 25  # rows from which on a table scrolls by itself

OLD = "This browser cannot decompress the objects of the report: the numbers are complete, but nothing can be opened."

HOME = files("verite.reporting.report")

UNSAFE: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@dataclass(frozen=True)
class Section:
    """A part of the page: where links lead, what the list calls it, and what is in it."""

    id: str
    title: str
    content: Markup
    is_of_one: bool = False  # of the system that is chosen


def document(doc: dict[str, Any], head: Markup, sections: Sequence[Section], data: Sequence[Markup]) -> str:
    """The whole page."""
    title, systems = doc["title"], doc["systems"]
    style = read("report.css") + style_choice(len(systems)) + style_sheet(systems[0]["signature"])
    script = "\n".join(
        line for line in map(str.strip, read("report.js").splitlines()) if line and not line.startswith("//")
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
        element("a", "Skip to the summary", class_="skip", href="#main"),
        element(
            "div",
            brand(),
            side(systems, sections),
            element("main", head, *(show(section, systems) for section in sections), id="main"),
            element(
                "footer",
                element("p", "Created by verite. Every number is in the data of the report: verite.read_report(path)."),
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
    stage = element("div", class_="stage", tabindex=0, role="region", aria_label="Image")
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
