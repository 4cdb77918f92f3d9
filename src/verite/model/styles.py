"""Text, Markdown, LaTeX, CSV, HTML: how does an outcome look in each, whatever its names are?

An outcome is a row of parts: sentences, preformatted text, signatures and tables. A style says how each looks, and
escapes what would mean something there: a class called `<img src=x>`, `=1+1` or `@everyone` stays a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from verite.errors import one_line
from verite.model.tables import DIM, Aside, Bar, Legend, Part, Table, Verbatim, coloured, show_cell
from verite.plotting import ERROR_COLOURS
from verite.signature import Signature

# What means something to HTML, and what a browser shows as nothing: controls become their pictures.
SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\x7f": "␡"}

PICTURES = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}

HIDDEN = {chr(code): "\ufffd" for code in (*range(0x80, 0xA0), *range(0xD800, 0xE000))}

ESCAPES = str.maketrans(SPECIAL | PICTURES | HIDDEN)

VOID = frozenset({"br", "hr", "img", "meta", "link", "input", "wbr"})


class Markup(str):
    """Text that is HTML already. Only :func:`element` and :func:`join_elements` make it."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """Text as HTML shows it.

    >>> escape("<b onclick='x'>")
    '&lt;b onclick=&#39;x&#39;&gt;'
    """
    return text if isinstance(text, Markup) else Markup(text.translate(ESCAPES))


def join_elements(*children: str) -> Markup:
    """Several pieces after each other."""
    return Markup("".join(escape(child) for child in children))


def element(name: str, /, *children: str, **attributes: str | int) -> Markup:
    """An element; `class_` and `for_` are attributes whose names Python keeps for itself.

    >>> element("p", "1 < 2 ", element("b", "yes"), class_="verite-note")
    '<p class="verite-note">1 &lt; 2 <b>yes</b></p>'
    """
    listed = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(v))}"' for key, v in attributes.items())
    return Markup(f"<{name}{listed}>" + ("" if name in VOID else f"{join_elements(*children)}</{name}>"))


@dataclass(frozen=True)
class Style:
    """How parts look one by one, how lines that follow each other stay together, and how all of it is put together."""

    table: Callable[[Table], str]
    sentence: Callable[[str], str]
    code: Callable[[str], str]
    verbatim: Callable[[str], str]
    lines: Callable[[list[str]], str] = "\n".join
    whole: Callable[[list[str]], str] = "\n\n".join


def render(parts: Iterable[Part], style: str | Style) -> str:
    """Parts in one style: lines stay together, tables stand apart, a signature begins something new."""
    chosen = STYLE_OF[style] if isinstance(style, str) else style
    blocks: list[str] = []
    lines: list[str] = []
    for part in (*parts, None):
        if lines and (part is None or isinstance(part, (Table, Verbatim, Signature))):
            blocks.append(chosen.lines(lines))
            lines = []
        if isinstance(part, (Table, Verbatim)):
            blocks.append(show(part, chosen))
        elif part is not None:
            lines.append(show(part, chosen))
    return chosen.whole(blocks)


def show(part: Part, style: Style) -> str:
    if isinstance(part, Table):
        return style.table(part)
    if isinstance(part, Signature):
        return style.code(str(part))
    return style.verbatim(part) if isinstance(part, Verbatim) else style.sentence(part)


# Text


def text_style(width: int | None = None) -> Style:
    """Return the style of plain text for a terminal of so many columns; without a width nothing is wrapped."""

    def sentence(text: str) -> str:
        shown = wrap_text(text_lines(text), width)
        if not isinstance(text, (Aside, Legend)):
            return shown
        return "\n".join(coloured(line, DIM) for line in shown.split("\n"))  # of secondary interest

    return Style(
        lambda table: table.to_text(width),
        sentence,
        lambda text: coloured(f"settings: {one_line(text)}", DIM),
        text_lines,
    )


def wrap_text(text: str, width: int | None) -> str:
    """Wrap each line that is wider than a terminal; what follows is indented by two blanks.

    >>> print(wrap_text("AP lies above AP of more images", 20))
    AP lies above AP of
      more images
    """
    from textwrap import wrap

    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
        short = wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
                     drop_whitespace=True, replace_whitespace=False)  # fmt: skip
        lines += short if len(line) > width else [line]
    return "\n".join(lines)


def text_lines(text: str) -> str:
    """Lines that cannot move a terminal's cursor."""
    return "\n".join(map(one_line, text.split("\n")))


# Markdown

# What Markdown and GitHub leave alone inside a cell: words and numbers. `@user`, `#12`, `GH-26`, `www.` are not words.
NUMBER = r"(?<=\d)\.(?=\d)|[<>](?=\d)|(?<![^\W_])[+-](?=\d)|(?<=\de)[+-](?=\d)"

PLAIN = re.compile(rf"(?:[^\W_]|[ %(),=≥≤≠±×│…–★·]|✓(?:\+/-|[+-])?|{NUMBER})*")

LINKED = re.compile(r"[@#\\`]|://|\bwww\.|\bGH-|\n", re.IGNORECASE)

MEANT = re.compile(r"([*_\[\]<>~|!&])|^(?=[-+=]|\d+[.)])")


def flatten(text: str) -> str:
    """One line, with what cannot be printed made visible."""
    return one_line(re.sub(r"\s*[\r\n\u2028\u2029]+\s*", " ", text))


def markdown_code(text: str) -> str:
    """A code span, with a fence longer than any run of backticks inside.

    >>> markdown_code("a`b")
    '``a`b``'
    """
    text = flatten(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    gap = " " if text[:1] in ("`", " ", "") or text[-1:] in ("`", " ") else ""
    return f"{fence}{gap}{text}{gap}{fence}"


def markdown_cell(value: Any) -> str:
    """Words and numbers as they are, other names as code.

    >>> markdown_cell("traffic light"), markdown_cell("<img src=x>"), markdown_cell("a|b"), markdown_cell(0.5)
    ('traffic light', '`<img src=x>`', '`a\\\\|b`', '0.5000')
    """
    if isinstance(value, Bar):
        return str(value).rstrip()
    text = flatten(show_cell(value))
    if PLAIN.fullmatch(text):
        return text
    if "\\|" in text:  # readers differ about a pipe behind a backslash
        return f"<code>{''.join(c if c.isalnum() else f'&#{ord(c)};' for c in text)}</code>"
    return markdown_code(text).replace("|", "\\|")


def markdown_row(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(markdown_cell(value) for value in cells)} |"


def markdown_table(table: Table) -> str:
    rule = ["---" if is_left else "---:" for is_left in table.is_left]
    title = [f"### {markdown_sentence(table.title)}", ""] if table.title else []
    lines = [*title, markdown_row(table.head), f"| {' | '.join(rule)} |", *map(markdown_row, table.all_rows)]
    return "\n".join(lines)


def markdown_sentence(text: str) -> str:
    """Return a sentence as Markdown; text that GitHub would link (@user, #12) becomes code.

    >>> markdown_sentence("a_b is *not* sure"), markdown_sentence("thanks to @everyone")
    ('a\\\\_b is \\\\*not\\\\* sure', '`thanks to @everyone`')
    """
    text = re.sub(r"\s*\n\s*", " ", text)
    if LINKED.search(text):
        return markdown_code(text)
    return MEANT.sub(lambda found: f"\\{found[0]}", flatten(text).strip())


def markdown_block(text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text_lines(text)}\n{fence}"


# LaTeX

# Signs and letters that are mathematics there.
MATHS = {
    "·": "cdot", "×": "times", "±": "pm", "≤": "le", "≥": "ge", "≠": "neq", "−": "mathord-", "∩": "cap", "∪": "cup",
    "∈": "in", "∅": "emptyset", "√": "surd", "→": "rightarrow", "⇒": "Rightarrow", "△": "triangle", "✓": "checkmark",
    "★": "star", "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "η": "eta", "θ": "theta",
    "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "ω": "omega",
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega",
}  # fmt: skip

LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {c: rf"$\{name}$" for c, name in MATHS.items()} | {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\texttt{\char34}", "`": r"\textasciigrave{}",
    "–": r"\textendash{}", "─": r"\textendash{}", "│": r"\textbar{}", "…": r"\ldots{}", "₀": "$_0$", "ᵢ": "$_i$",
}  # fmt: skip

BAR_EM, BAR_PX = 8, 120  # how long a whole bar is


def latex_text(value: Any) -> str:
    """Text that LaTeX prints as it is; what cannot be printed is dropped.

    >>> latex_text("yasnoff1 100 %, a_b")
    'yasnoff1 100 \\\\%, a\\\\_b'
    """
    if isinstance(value, Bar):
        return rf"\rule{{{value.share * BAR_EM:.2f}em}}{{1.4ex}}"
    text = re.sub(r"\s+", " ", show_cell(value))
    spelled = "".join(LATEX.get(c, c) for c in text if c.isprintable())
    spelled = re.sub(r"([-',])(?=\1)", r"\1{}", spelled)  # two of them would be one other
    spelled = re.sub(r"^(?=[\[*])", "{}", spelled)  # behind the end of a row it would be said of that
    return re.sub(r"\\checkmark\$(\+/-|[+-])", r"\\checkmark^{\1}$", spelled)  # a sign belongs to its tick


def latex_table(table: Table, *, booktabs: bool = False) -> str:
    rules = (r"\toprule", r"\midrule", r"\bottomrule") if booktabs else (r"\hline",) * 3
    rows = [" & ".join(map(latex_text, row)) + r" \\" for row in (table.head, *table.all_rows)]
    if table.mean:
        rows.insert(-1, rules[1])
    begin = rf"\begin{{tabular}}{{{''.join('l' if is_left else 'r' for is_left in table.is_left) or 'l'}}}"
    lines = [begin, rules[0], rows[0], rules[1], *rows[1:], rules[2], r"\end{tabular}"]
    return "\n".join([*([latex_comment(table.title)] if table.title else []), *lines])


def latex_comment(text: str) -> str:
    return "\n".join(f"% {one_line(line)}".rstrip() for line in text.split("\n"))


# CSV

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_table(table: Table, *, safe: bool = False) -> str:
    """Return a table as CSV text; `safe` quotes texts that a spreadsheet would compute.

    Columns are formatted, not cells: the tables of twelve detectors have ten million cells, of which most in a column
    have one type and many the same text.
    """
    texts = [csv_text([[csv_cell(value, safe) for value in table.head]])]
    for columns in column_blocks(table.all_rows):
        cells: list[list[str]] = []
        for values in columns:
            kinds = set(map(type, values))
            if kinds == {str}:
                known = {value: quote_csv(csv_cell(value, safe)) for value in set(values)}
                cells.append([known[value] for value in values])
            elif kinds <= {int, float}:
                numbers = list(map(repr, values))
                cells.append(["" if text == "nan" else text for text in numbers] if "nan" in numbers else numbers)
            else:
                cells.append([quote_csv(csv_cell(value, safe)) for value in values])
        texts += [",".join(row) + "\n" for row in zip(*cells, strict=True)]
    return "".join(texts)


def column_blocks(rows: Sequence[tuple[Any, ...]], size: int = 10_000) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the columns of every `size` rows."""
    for first in range(0, len(rows), size):
        yield list(zip(*rows[first : first + size], strict=True))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows of cells, between quotes where they must be: also around a lone carriage return, which ends a row.

    >>> csv_text([["class", "AP"], ["a\\rb", 0.5], ["c", None]])
    'class,AP\\n"a\\rb",0.5\\nc,\\n'
    """
    texts = (["" if cell is None else str(cell) for cell in row] for row in rows)
    return "".join(",".join(map(quote_csv, row)) + "\n" for row in texts)


MUST_BE_QUOTED = re.compile('[,"\r\n]')


def quote_csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if MUST_BE_QUOTED.search(text) else text


def csv_cell(value: Any, safe: bool) -> str:
    """A value as a program reads it; a text that a spreadsheet would compute gets a quote before it, if asked for.

    Parameters
    ----------
    value
        A number, a text, a bar, or None.
    safe
        Quote texts that start like a formula (=, +, -, @), so that opening the file runs nothing.

    Returns
    -------
    str
        The cell; absent values and NaN are empty, bars are their number.
    """
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    text = repr(float(value)) if isinstance(value, Bar) else str(value)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return f"'{text}" if safe and is_formula(value) else text


def is_formula(value: Any) -> bool:
    """Would a spreadsheet compute this text?

    >>> is_formula("=1+1"), is_formula("-0.5"), is_formula(-0.5), is_formula("cat"), is_formula("+/-")
    (True, False, False, False, False)
    """
    if not isinstance(value, str) or not value.startswith(FORMULA) or not any(map(str.isalnum, value)):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def has_formulas(table: Table) -> bool:
    """Whether a spreadsheet would compute a cell of this table."""
    columns = (column for block in column_blocks(table.all_rows) for column in block)
    return any(
        is_formula(text)
        for column in (table.head, *columns)
        if not set(map(type, column)) <= {int, float}
        for text in {value for value in column if isinstance(value, str)}
    )


# HTML

CSS = (
    ".verite-outcome{font-family:system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-x:auto}"
    ".verite-outcome table{border-collapse:collapse;margin:.5em 0}"
    ".verite-outcome caption{text-align:left;font-weight:600;padding:.2em 0}"
    ".verite-outcome th,.verite-outcome td{padding:.15em .6em;text-align:right;white-space:nowrap}"
    ".verite-outcome th:first-child{text-align:left;font-weight:normal}"
    ".verite-outcome thead th,.verite-outcome thead th:first-child{font-weight:600;border-bottom:1px solid}"
    ".verite-outcome tfoot th,.verite-outcome tfoot td{border-top:1px solid}"
    ".verite-outcome code{overflow-wrap:anywhere}"
)

LONGEST = 120  # characters of a cell in a notebook

MOST_ROWS, MOST_COLUMNS = 30, 20  # of a table in a notebook


def html_table(table: Table, rows: int | None = None, columns: int | None = None) -> Markup:
    """A table element; of more rows or columns than may be shown it says how many there are."""
    wide, longest = slice(columns), None if rows is None else LONGEST
    hidden = len(table.rows) - len(table.rows[:rows]), len(table.head) - len(table.head[wide])
    listed = worst_first(table) if hidden[0] else table.rows
    body = [html_row(row[wide], longest) for row in listed[:rows]]
    parts = [element("caption", html_name(table.title, longest))] if table.title else []
    parts.append(element("thead", html_row(table.head[wide], longest, is_head=True)))
    parts.append(element("tbody", *body))
    if table.mean:
        parts.append(element("tfoot", html_row(table.mean[wide], longest)))
    more = [f"{count:,} more {what}" for count, what in zip(hidden, ("rows", "columns"), strict=True) if count]
    first = "Lowest first; " if listed is not table.rows else ""
    note = [element("p", f"{first}{' and '.join(more)}: to_frame(), to_csv()")] if more else []
    return join_elements(element("table", *parts), *note)


def worst_first(table: Table) -> Sequence[Sequence[Any]]:
    """The rows of a table of classes by rising score, unknown ones last; those of other tables as they are."""
    if table.head[0] != "class" or not all(isinstance(row[1], float) for row in table.rows):
        return table.rows
    return sorted(table.rows, key=lambda row: (isnan(row[1]), row[1]))


def html_row(cells: Sequence[Any], longest: int | None, *, is_head: bool = False) -> Markup:
    if is_head:
        return element("tr", *(element("th", html_name(name, longest), scope="col") for name in cells))
    first = element("th", html_name(cells[0], longest), scope="row") if cells else Markup()
    # The bar of an error type has its colour, as in the report.
    shades = ERROR_COLOURS.get(cells[0]) if cells and isinstance(cells[0], str) else None
    colour = shades.light if shades else ""
    listed = [html_bar(value, colour) if isinstance(value, Bar) else html_name(value, longest) for value in cells[1:]]
    return element("tr", first, *(element("td", value) for value in listed))


def html_name(value: Any, longest: int | None = None) -> Markup:
    """A value; names are kept from turning the writing direction of what is around them.

    Parameters
    ----------
    value
        A cell of a table.
    longest
        Number of letters after which a text is cut; None for no limit.

    Returns
    -------
    Markup
        Escaped HTML.
    """
    if isinstance(value, Bar):
        return html_bar(value)
    text = show_cell(value)
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    return escape(text) if text.isascii() or not isinstance(value, str) else element("bdi", text)


def html_bar(bar: Bar, colour: str = "") -> Markup:
    """Return a bar as inline SVG, by default in the colour of the text, without style sheets or scripts.

    Parameters
    ----------
    bar
        The share that the bar shows.
    colour
        Colour of the filled part; by default that of the text at 60 %.

    Returns
    -------
    Markup
        An SVG element that screen readers announce as a percentage.
    """
    look = {"fill": colour} if colour else {"fill": "currentColor", "opacity": "0.6"}
    drawn = element("rect", width=f"{bar.share * BAR_PX:.1f}", height=10, **look)
    return element("svg", drawn, width=BAR_PX, height=10, role="img", aria_label=f"{bar.share:.0%}")


def html_style(rows: int | None = None, columns: int | None = None) -> Style:
    """One element that brings its own look; tables may be cut for a notebook."""
    return Style(
        lambda table: html_table(table, rows, columns),
        lambda text: element("bdi", text),
        lambda text: element("code", text),
        lambda text: element("pre", text),
        lambda lines: element("p", *(join_elements(Markup(line), element("br")) for line in lines)),
        lambda blocks: element("div", element("style", Markup(CSS)), *map(Markup, blocks), class_="verite-outcome"),
    )


def render_notebook(parts: Iterable[Part]) -> str:
    """The same with tables cut to what is looked at."""
    return render(parts, html_style(MOST_ROWS, MOST_COLUMNS))


STYLE_OF = {
    "text": text_style(),
    "markdown": Style(markdown_table, markdown_sentence, markdown_code, markdown_block, "  \n".join),
    "latex": Style(latex_table, latex_comment, latex_comment, latex_comment),
    "html": html_style(),
}
