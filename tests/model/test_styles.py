"""Tables in every style say what they hold, whatever the names are."""

from __future__ import annotations

import csv
import io
import math
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import verite as vt
from tests.hostile import NAMES
from verite.model.styles import has_formulas, latex_text, markdown_cell, markdown_code, markdown_sentence
from verite.model.tables import STYLES, Bar, Table

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "![x](http://example.org/y.png)",
    "[a](javascript:b)",
    "@everyone",
    "#12",
    "GH-26",
    "www.example.org",
    "a|b",
    r"a\|b",
    "``a`b",
    "`",
    "***",
    "a_b_c",
    "100 % & $x^2$ ~ {a} \\input{x}",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "two\nlines",
    "\x1b[31mred",
    "\u202eoverride",
    "&lt;",
    "]]>",
    "<!--",
    "-",
    "",
]


# What a paper needs to have besides for our tables: ticks of studies, and `booktabs` if its rules are asked for.
LATEX_HEAD = r"\documentclass{article}\usepackage{amssymb}\usepackage{booktabs}\begin{document}"
IDLE = ("-1.5", "-", "---", "-->")  # a number, and nothing to compute


def table(names):
    return Table.of("class", names, {"AP": [0.25] * len(names)}, mean={"AP": 0.25})


class Reader(HTMLParser):
    """The cells of a table, and every element that occurs."""

    def __init__(self):
        super().__init__()
        self.seen, self.cells, self.inside = set(), [], False

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.seen |= {key for key, _ in attrs}
        self.inside = tag in ("th", "td") or (self.inside and tag == "bdi")
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("th", "td")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def test_hostile_names_are_text_in_html():
    reader = Reader()
    reader.feed(table(HOSTILE).to_html())
    assert reader.seen <= {
        "div",
        "class",
        "style",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "bdi",
        "scope",
    }
    seen = [name.replace("\x1b", "␛") for name in HOSTILE]
    assert reader.cells == ["class", "AP", *(cell for name in seen for cell in (name, "0.2500")), "all", "0.2500"]


def test_hostile_names_are_text_in_markdown():
    markdown = pytest.importorskip("markdown_it", reason="comes with the dependency group 'docs'")
    shown = markdown.MarkdownIt("commonmark", {"html": True}).enable("table").render(table(HOSTILE).to_markdown())
    reader = Reader()
    reader.feed(shown.replace("<code>", "").replace("</code>", ""))
    assert reader.seen <= {"table", "thead", "tbody", "tr", "th", "td", "style"}
    visible = [name.replace("\n", " ").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") for name in HOSTILE]
    assert reader.cells == ["class", "AP", *(cell for name in visible for cell in (name, "0.2500")), "all", "0.2500"]


def test_words_and_numbers_stay_plain_in_markdown():
    for text in ("traffic light", "0.25", "<3.8e-05", ">0.9999", "3.0e-07", "+1", "–", "✓+", "✓+/-", "Ä 12 %", "猫"):
        assert markdown_cell(text) == text


def test_whatever_links_on_github_is_code():
    for text in ("@user", "#12", "GH-26", "www.example.org", "a@example.org", "http://x", "a_b", "org/repo#1"):
        assert markdown_cell(text).startswith("`"), text
    assert markdown_sentence("see @user") == "`see @user`"


def test_fence_is_longer_than_any_run_of_backticks():
    assert markdown_code("a``b`c") == "```a``b`c```"
    assert markdown_code("`") == "`` ` ``"


def test_latex_prints_special_characters():
    assert latex_text("a_b 5 % & #1 {x} $y$ ^ ~ \\z") == (
        r"a\_b 5 \% \& \#1 \{x\} \$y\$ \textasciicircum{} \textasciitilde{} \textbackslash{}z"
    )
    assert latex_text("a\x1b[31mred\nline") == "a[31mred line"


def test_latex_takes_no_name_for_what_belongs_to_the_row_or_to_another_letter():
    assert latex_text("[a]*") == "{}[a]*"  # \\ [a] would be a distance
    assert latex_text("* --- ,, ''") == "{}* -{}-{}- ,{}, '{}'"


def test_bars_are_drawn_in_every_style():
    drawn = Table.of("error", ["missed", "class"], {"": [Bar(0.75), Bar(math.nan)], "cost": [0.3, 0.1]})
    assert str(drawn).splitlines()[2] == f"missed  {'█' * 18}{' ' * 6}  0.3000"
    assert drawn.to_markdown().splitlines()[1:3] == ["| --- | --- | ---: |", "| missed | ██████████████████ | 0.3000 |"]
    assert r"\begin{tabular}{llr}" in drawn.to_latex()
    assert r"missed & \rule{6.00em}{1.4ex} & 0.3000 \\" in drawn.to_latex()
    assert drawn.to_csv() == "error,,cost\nmissed,0.75,0.3\nclass,,0.1\n"
    assert '<rect width="90.0" ' in drawn.to_html()


def test_latex_has_rules_of_booktabs_if_asked_for():
    assert r"\toprule" in table(["cat"]).to_latex(booktabs=True)
    assert table(["cat"]).to_latex().count(r"\hline") == 4


def test_latex_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    names = [name for name in HOSTILE if name.isascii()]
    tables = "\n".join(table(names).to_latex(booktabs=booktabs) for booktabs in (False, True))
    (tmp_path / "a.tex").write_text(f"{LATEX_HEAD}\n{tables}\n\\end{{document}}\n")
    done = subprocess.run(["pdflatex", "-halt-on-error", "a.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_csv_gives_back_every_name_as_it_was():
    names = [*HOSTILE, *NAMES]
    rows = list(csv.reader(io.StringIO(table(names).to_csv(), newline="")))
    assert [row[0] for row in rows[1:-1]] == names


def test_csv_of_more_rows_than_a_block_is_that_of_the_standard_library():
    kinds = [0.1, -0.0, 1e-300, float("inf")], ["a,b", 'c"d', "é", ""], [1, 2, 3, 4], [None, True, "x", 2.5]
    rows = tuple(tuple(values[i % 4] for values in kinds) for i in range(20_003))
    expected = io.StringIO()
    csv.writer(expected, lineterminator="\n").writerows([("p", "q", "r", "s"), *rows])
    assert Table(("p", "q", "r", "s"), rows).to_csv() == expected.getvalue()


def test_a_formula_is_found_in_a_column_that_begins_without_text():
    assert has_formulas(Table.of("class", ["a", "b"], {"note": [None, "=1+1"], "AP": [0.5, -0.5]}))
    assert not has_formulas(Table.of("class", ["a", "b"], {"note": [None, "-1.5"], "AP": [0.5, -0.5]}))


def test_safe_csv_has_no_cell_that_a_spreadsheet_computes():
    rows = list(csv.reader(io.StringIO(table([*HOSTILE, *NAMES, "-1.5"]).to_csv(safe=True), newline="")))
    firsts = [row[0] for row in rows]
    assert not [text for text in firsts if text.startswith(("=", "+", "-", "@")) and text not in IDLE]
    assert {"'=1+1", "'@everyone", "-", "-1.5"} <= set(firsts)


def test_numbers_are_never_made_inert():
    assert Table.of("class", ["a"], {"difference": [-0.5]}).to_csv(safe=True) == "class,difference\na,-0.5\n"


def test_text_cannot_move_the_cursor_of_a_terminal():
    assert str(table(HOSTILE)).count("\n") == len(HOSTILE) + 3
    assert "\x1b" not in str(table(HOSTILE))


def test_wide_characters_line_up():
    lines = str(Table.of("class", ["猫", "dog"], {"AP": [0.5, 0.25]})).splitlines()
    assert lines[2:] == ["猫     0.5000", "dog    0.2500"]


def test_titles_are_headings():
    titled = Table.of("class", ["cat"], {"AP": [0.5]}, title="AP of *all*")
    assert str(titled).splitlines()[0] == "AP of *all*"
    assert titled.to_markdown().splitlines()[0] == r"### AP of \*all\*"
    assert titled.to_latex().splitlines()[0] == "% AP of *all*"
    assert "<caption>AP of *all*</caption>" in titled.to_html()


@pytest.mark.parametrize("style", STYLES)
def test_table_without_rows_or_columns_is_shown(style):
    assert Table(("class", "AP"), ()).in_style(style)
    assert isinstance(Table((), ()).in_style(style), str)
    assert Table.of("class", ["cat"], {"AP": [math.nan]}).in_style(style)


def test_unknown_style_is_refused_with_a_suggestion():
    with pytest.raises(vt.BadParameter, match="did you mean 'markdown'"):
        table(["cat"]).in_style("markdwn")


def test_notebook_shows_thirty_rows_and_says_how_many_more():
    shown = table([f"class {i}" for i in range(80)])._repr_html_()
    assert shown.count("<tr>") == 32
    assert "50 more rows: to_frame(), to_csv()" in shown
    assert "<script" not in shown
