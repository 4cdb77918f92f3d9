"""HTML of the report around and inside its sections: the page, tables, numbers and names.

The page is self-contained: it loads nothing but linked images, allows one script by its digest (Content Security
Policy), and is readable without that script. Text is escaped by construction: only `element` makes markup.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard
from zlib import compress

import numpy as np

from verite.model.styles import Markup, element, escape, join_elements
from verite.model.tables import Table
from verite.plotting import ERROR_COLOURS, SCORE_COLOUR, shorten
from verite.reporting.report.crops import HATCHES

if TYPE_CHECKING:
    from verite.reporting.report.document import ReportDocument
    from verite.reporting.report.section import DrawnSection

# Numbers and names

ABSENT = "–"

GAP = "\u00a0"  # keeps a number and its unit on one line

CI = f"95{GAP}% CI"

LONGEST = 120  # characters of a name in the page; the whole name is in its data

NAMELESS = "(no name)"

TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # characters that change the writing direction

TALL = 25  # rows beyond which a table scrolls by itself


def is_known(value: Any) -> TypeGuard[float]:
    """Whether there is a finite number."""
    return value is not None and isfinite(value)


def number(value: float | None, digits: int = 3) -> str:
    """Return a score with three decimals, or a dash where it is absent.

    >>> number(0.55231), number(None), number(float("nan")), number(0.5, 2)
    ('0.552', '–', '–', '0.50')
    """
    return f"{value:.{digits}f}" if is_known(value) else ABSENT


def signed(value: float | None, digits: int = 3) -> str:
    """Return a difference with its sign; minus is as wide as plus.

    >>> signed(0.08), signed(-0.1), signed(None)
    ('+0.080', '−0.100', '–')
    """
    if not is_known(value):
        return ABSENT
    return f"{value:.{digits}f}".replace("-", "−") if value < 0 else f"+{value:.{digits}f}"


def ends(low: float | None, high: float | None) -> str:
    """Return the ends of a confidence interval; minus is as wide as plus.

    >>> ends(-0.007, 0.008)
    '−0.007, 0.008'
    """
    return f"{number(low)}, {number(high)}".replace("-", "−")


def probability(value: float | None) -> str:
    r"""Return a probability estimated by simulation, which is never exactly 0 or 1.

    >>> probability(0.999), probability(0.5), probability(0.001)
    ('>\xa00.99', '0.50', '<\xa00.01')
    """
    if not is_known(value):
        return ABSENT
    return f">{GAP}0.99" if value > 0.995 else f"<{GAP}0.01" if value < 0.005 else f"{value:.2f}"


def whole(value: float | None) -> str:
    """Return a count.

    >>> whole(36781), whole(None)
    ('36,781', '–')
    """
    return ABSENT if value is None else f"{int(value):,}"


def count_of(value: int, one: str, many: str = "") -> str:
    """Return a count and its noun, which stay on one line.

    >>> count_of(1, "image"), count_of(2, "class", "classes")
    ('1\\xa0image', '2\\xa0classes')
    """
    return f"{value:,}{GAP}{one if value == 1 else many or one + 's'}"


def percent(part: float, total: float) -> str:
    """Return a share in per cent.

    >>> percent(1, 3), percent(0, 0)
    ('33\\xa0%', '–')
    """
    return f"{100 * part / total:.0f}{GAP}%" if total else ABSENT


def plain(text: Any, most: int = 40) -> str:
    """Return a name for an attribute or a drawing; one that is too long is cut in its middle."""
    return shorten(TURNS.sub("", str(text)).strip() or NAMELESS, most)


def name(text: Any, kind: str = "nm", most: int = LONGEST) -> Markup:
    """Return a name that cannot change the writing direction of its line, cut where it is too long."""
    cut = shorten(str(text).strip() or NAMELESS, most)
    return element("bdi", cut, class_=kind, title=cut) if len(cut) > 12 else element("bdi", cut, class_=kind)


def detector_name(text: str) -> Markup:
    """Return the name of a detector, which wraps and is never cut short of what distinguishes it."""
    return name(text, "nm det")


def list_all(parts: Sequence[str]) -> Markup:
    """Return "a, b and c"."""
    if len(parts) < 2:
        return join_elements(*parts)
    between = [part for one in parts[:-1] for part in (", ", one)][1:]
    return join_elements(*between, " and ", parts[-1])


def sentence(*parts: str) -> Markup:
    """Join words and names; words are escaped."""
    return join_elements(*(part if isinstance(part, Markup) else escape(part) for part in parts))


def finding(*parts: str) -> Markup:
    """Return the sentence below the heading of a section that states its result."""
    return element("h2", sentence(*parts), class_="finding")


# Tables


def th(*content: str) -> Markup:
    """Return the head of a row."""
    return element("th", *content, scope="row")


def td(*content: str, kind: str = "", **attributes: str | int) -> Markup:
    """Return a cell; `kind` is its class."""
    return element("td", *content, **({"class_": kind} if kind else {}), **attributes)


def column(word: str, kind: str = "", **attributes: str | int) -> Markup:
    """Return the head of a column; `kind` is its class."""
    return element("th", word, scope="col", **({"class_": kind} if kind else {}), **attributes)


def table(
    caption: Markup | str,
    heads: Sequence[Markup],
    rows: Sequence[Markup],
    *,
    groups: Sequence[Markup] = (),
    foot: Sequence[Markup] = (),
    is_captioned: bool = True,
    **attributes: str | int,
) -> Markup:
    """Return a table element.

    Every table has a caption; one that repeats what stands beside it is for screen readers only.

    Parameters
    ----------
    caption
        What the table lists.
    heads, rows
        Heads of the columns (`column`), and rows as `tr` elements of `th` and `td`.
    groups, foot
        Cells of a row above the heads, and of one below the rows.
    is_captioned
        Whether the caption is visible.
    attributes
        Attributes of the table element.
    """
    parts = [element("caption", caption, **({} if is_captioned else {"class_": "hide"}))]
    above = [element("tr", *groups)] if groups else []
    parts += [element("thead", *above, element("tr", *heads))] if heads else []
    parts.append(element("tbody", *rows))
    parts += [element("tfoot", element("tr", *foot))] if foot else []
    return element("table", *parts, **attributes)


def plain_table(data: Table, caption: str, kinds: Sequence[str] = (), **attributes: Any) -> Markup:
    """Return a table of numbers: the first column are names, floats have three decimals, integers are counts.

    `kinds` are the classes of the column heads.
    """
    kinds = [*kinds, *[""] * (len(data.head) - len(kinds))]
    rows = [
        element("tr", th(show_cell(row[0], is_name=True)), *(td(show_cell(value)) for value in row[1:]))
        for row in data.rows
    ]
    return table(caption, [column(*one) for one in zip(data.head, kinds, strict=True)], rows, **attributes)


def show_cell(value: Any, *, is_name: bool = False) -> str:
    """Return a value of a plain table; names are isolated, other texts are taken as they are."""
    if isinstance(value, str):
        return name(value, "nm det") if is_name and not isinstance(value, Markup) else value
    return whole(value) if isinstance(value, int) else number(value)


def scroll(label: str, *content: Markup, kind: str = "") -> Markup:
    """Return a region that scrolls a wide or tall table by itself, also by keyboard."""
    return element("div", *content, class_=f"scroll {kind}".strip(), tabindex=0, role="region", aria_label=label)


# The page

RESOURCES = files("verite.reporting.report")

LINES = (
    "Ground truth solid, hatched if missed; predictions dashed, blue if true positive. Keys: j and k or arrows for the "
    "next and previous image, + − 0 to zoom, s for both detectors, Esc to close."
)

OLD = "This browser cannot decompress the objects of the report: the numbers are complete, but nothing can be opened."

LEVEL = 6  # of compression; 9 takes four times as long for one byte in a hundred

# Error types by the short name of their colour in report.css.
COLOUR_CLASSES = {
    "localization": "loc", "missed": "miss", "class": "cls", "background": "bkg", "duplicate": "dup", "both": "both",
}  # fmt: skip

# The digits of base 91: printable ASCII but for those that mean something in HTML.
DIGITS = np.frombuffer(bytes(c for c in range(33, 127) if chr(c) not in "&<>"), dtype=np.uint8)

SCRIPTS = ("base", "counts", "objects", "viewer", "sheet", "pair", "page")  # files of the script, in this order

# Buttons of the image viewer by their keyboard shortcut.
SHORTCUTS = {
    "k": ("‹", "Previous"),
    "j": ("›", "Next"),
    "-": ("−", "Smaller"),
    "+": ("+", "Larger"),
    "0": ("↔", "Fit"),
    "s": ("A | B", "Both detectors"),
}


def assemble_page(
    document: ReportDocument,
    header: Markup,
    sections: Sequence[DrawnSection],
    contents: Sequence[Markup],
    data: Sequence[Markup],
) -> str:
    """Return the whole page as HTML text.

    Parameters
    ----------
    document
        Title and detectors, for the list of contents and the style.
    header
        Everything above the first section.
    sections, contents
        The drawn sections, and their finished HTML.
    data
        Embedded images, JSON document and packed objects.
    """
    detectors = document.detectors
    source = "".join(read_resource(f"script/{file}.js") for file in SCRIPTS)
    script = "\n".join(line for line in map(str.strip, source.splitlines()) if line and not line.startswith("//"))
    top = page_head(document.title, detectors[0].signature, script)
    footer = element("p", "Created by verite. Every number is in the data of the report: verite.read_report(path).")
    # Fill of missed objects: one for whole images, which the script scales, and one per size of crops.
    shape = "M-2 2L2 -2M0 8L8 0M6 10L10 6"  # dark below light: visible on any background
    below = element("path", d=shape, stroke="#0b0d10", stroke_opacity=".3", stroke_width=2)
    above = element("path", d=shape, stroke="#fff", stroke_opacity=".6")
    pattern = element("pattern", below, above, id="hatch", width=8, height=8, patternUnits="userSpaceOnUse")
    sizes = [
        element("pattern", id=f"hatch-{k}", href="#hatch", patternTransform=f"scale({2**k / 8:g})") for k in HATCHES
    ]
    body = element(
        "body",
        element("a", "Skip to the summary", class_="skip", href="#main"),
        element(
            "div",
            page_brand("report"),
            navigation(sections),
            element("main", choose_pair(document), header, *contents, id="main"),
            element("footer", footer, class_="end"),
            class_="shell",
        ),
        image_viewer(len(detectors) > 1),
        element("svg", element("defs", pattern, *sizes), class_="hide", aria_hidden="true"),
        element("p", id="said", role="status", class_="hide"),
        element("p", OLD, id="old", class_="note", hidden=""),
        *data,
        element("script", Markup(script), type="module"),
    )
    return f"<!doctype html>\n{element('html', top, body, lang='en')}\n"


def page_head(title: str, signature: str, script: str = "") -> Markup:
    """Return the head of a page: title, style, and a policy that allows only this style and script."""
    # The signature is printed on every sheet.
    spelled = "".join(one if one.isascii() and one.isalnum() else f"\\{ord(one):x} " for one in signature)
    colours = {"fill": SCORE_COLOUR} | {short: ERROR_COLOURS[kind] for kind, short in COLOUR_CLASSES.items()}
    palette = "".join(f"--{key}:light-dark({one.light},{one.dark});" for key, one in colours.items())
    style = f':root{{{palette}}}{read_resource("report.css")}@page{{@bottom-left{{content:"{spelled}"}}}}'
    allowed = f"script-src {digest(script)}; " if script else ""
    policy = (
        f"default-src 'none'; {allowed}style-src {digest(style)}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content="verite"),
        element("title", title),
        element("style", Markup(style)),
    )


def page_brand(kind: str) -> Markup:
    """Return the first line of a page: the mark of verite, and what kind of page it is."""
    mark = element(
        "svg",
        element("rect", x=2, y=2, width=13, height=13, rx=1, class_="mark-truth"),
        element("rect", x=7, y=7, width=13, height=13, rx=1, class_="mark-pred"),
        width=22,
        height=22,
        viewBox="0 0 22 22",
        aria_hidden="true",
    )
    return element("header", element("div", mark, "verite ", element("span", kind), class_="brand"))


def navigation(sections: Sequence[DrawnSection]) -> Markup:
    """Return the list of contents."""
    links = element("ol", *(element("li", element("a", section.title, href=f"#{section.id}")) for section in sections))
    return element("nav", element("div", links), class_="side", aria_label="Sections")


def choose_pair(document: ReportDocument) -> Markup:
    """Return the choice of the detectors that the report shows: A in detail, and compared with B."""
    if len(document.detectors) < 2:
        return Markup()
    chosen = []
    for k, (letter, word) in enumerate((("a", "Detector A"), ("b", "compared with B"))):
        options = [
            element("option", f"{number(one.headline)}  {plain(one.name, LONGEST)}", value=i,
                    **({"selected": ""} if i == k else {}))
            for i, one in enumerate(document.detectors)
        ]  # fmt: skip
        about = f"{word}, {document.score} first"
        chosen.append(element("label", element("span", word), element("select", *options, id=letter, aria_label=about)))
    swap = element("button", "Swap", type="button", class_="btn", id="swap")
    return element("div", *chosen, swap, class_="pair js", hidden="", role="group", aria_label="Detectors shown")


def image_viewer(has_pair: bool) -> Markup:
    """Return the dialog in which the script shows an image with outlines and a list of objects."""
    buttons = [
        element("button", sign, type="button", class_="btn", value=key, aria_label=word, title=f"{word} ({key})")
        for key, (sign, word) in SHORTCUTS.items()
        if has_pair or key != "s"
    ]
    top = element(
        "div",
        element("h2", tabindex=-1),
        element("span", *buttons, class_="acts"),
        element("button", "Close", type="button", class_="btn"),
        class_="top",
    )
    stage = element("div", class_="stage", tabindex=0, role="region", aria_label="Image")
    objects = element("ul", class_="objects")
    below = element("div", element("p", LINES, class_="lines acts"), element("p", class_="note said"), objects)
    return element("dialog", top, stage, below, id="viewer", aria_label="Objects of an image")


def embed_packed(id: str, text: str) -> Markup:
    """Return a script element with a compressed text in base64, such as the document."""
    data = b64encode(compress(text.encode(), LEVEL)).decode()
    return element("script", Markup(data), type="application/octet-stream", id=id)


def embed_bytes(id: str, data: bytes, layout: str = "") -> Markup:
    """Return a script element with bytes in base 91, and the layout of their columns where the document has none."""
    about = {"data_layout": layout} if layout else {}
    return element("script", Markup(encode(data)), type="application/octet-stream", id=id, **about)


def encode(data: bytes) -> str:
    """Return bytes as printable ASCII: 13 bits, the lowest first, are two characters of `DIGITS`.

    Base64 would take a twelfth more: 0.25 MB of a report of twelve detectors.

    >>> encode(b"ab"), len(encode(bytes(1300)))
    ('c($!', 1600)
    """
    raw = np.zeros((-(-len(data) // 13), 14), dtype=np.uint32)
    raw[:, :13] = np.frombuffer(data.ljust(13 * len(raw), b"\0"), dtype=np.uint8).reshape(-1, 13)
    places = [divmod(13 * k, 8) for k in range(8)]
    groups = [(raw[:, i] | raw[:, i + 1] << 8 | raw[:, min(i + 2, 13)] << 16) >> shift & 8191 for i, shift in places]
    values = np.stack(groups, axis=1).reshape(-1)[: -(-8 * len(data) // 13)]
    return bytes(DIGITS[np.stack([values % 91, values // 91], axis=1)]).decode()


def encoded_size(data: bytes) -> int:
    """Return the number of characters that `encode` makes of data."""
    return 2 * -(-8 * len(data) // 13)


def read_resource(file: str) -> str:
    """Return the text of the report's script or style sheet."""
    return (RESOURCES / file).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return the digest of an inline script or style as a Content Security Policy has it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
