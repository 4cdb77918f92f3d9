"""Names act nowhere: not in a terminal, a page, a document, a spreadsheet or a file system."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.hostile import NAMES
from verite import cli
from verite.reporting.plots import file_names

PLAIN = [name for name in NAMES if "\0" not in name]  # which JSON may hold, and no file name may
COMMANDS = {
    "inspect": ["inspect", "truth.json", "pred.json"],
    "inspect one": ["inspect", "pred.json", "--style", "text"],
    "voc": ["voc", "truth.json", "pred.json", "other.json"],
    "coco": ["coco", "truth.json", "pred.json"],
    "localize": ["localize", "truth.json", "pred.json", "-m", "iou"],
    "interpret": ["interpret", "truth.json", "pred.json"],
    "analyse": ["analyse", "truth.json", "pred.json"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A class and an image of every name; predictions that find every other object, some as another class."""
    folder = tmp_path_factory.mktemp("hostile")
    images = [{"id": i, "file_name": name, "width": 99, "height": 99} for i, name in enumerate(PLAIN)]
    classes = [{"id": i, "name": name} for i, name in enumerate(PLAIN)]
    count, place = len(PLAIN), [9, 9, 50, 40]
    boxes = [{"id": 1 + i, "image_id": i, "category_id": i, "bbox": place, "area": 9} for i in range(count)]
    boxes[3] = boxes[3] | {"bbox": [9, 9, 900, 40]}
    found = [i if i % 3 else (i + 1) % count for i in range(count)]
    preds = [
        {"image_id": i, "category_id": label, "bbox": place, "score": (i + 1) / 99} for i, label in enumerate(found)
    ]
    document = {"images": images, "categories": classes, "annotations": boxes}
    (folder / "truth.json").write_text(json.dumps(document))
    (folder / "pred.json").write_text(json.dumps(preds))
    (folder / "other.json").write_text(json.dumps(preds[::2]))
    return folder


def run(home, words, monkeypatch, capsys):
    monkeypatch.chdir(home)
    assert cli.run([*words, *([] if words[0] == "inspect" else ["--checks", "warn"])]) in (0, 1)
    return capsys.readouterr()


def acting(text):
    """Letters that a terminal obeys instead of showing them."""
    return {c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\u200d")}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_terminal_shows_them(home, what, monkeypatch, capsys):
    said = run(home, COMMANDS[what], monkeypatch, capsys)
    assert acting(said.out) == set()
    assert acting(said.err) == set()


@pytest.mark.parametrize("verb", ["coco", "voc", "inspect", "compare", "analyse", "report", "draw", "partial coco"])
def test_a_terminal_shows_names_of_files(home, verb, tmp_path, monkeypatch, capsys):
    """A file may be called anything, too; so may what is written."""
    name = "\x1b]0;title\x07\x1b[31m\u202e"
    truth, pred = (tmp_path / f"{name} {side}.json" for side in ("truth", "pred"))
    truth.write_bytes((home / "truth.json").read_bytes())
    pred.write_bytes((home / "pred.json").read_bytes())
    more = {"report": ["-o", f"{name}.html"], "draw": ["-o", name], "partial coco": ["-o", f"{name}.part"]}
    more["compare"] = [pred.name]
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *given: False)  # as on a terminal
    said = run(tmp_path, [*verb.split(), truth.name, pred.name, *more.get(verb, [])], monkeypatch, capsys)
    assert acting(said.out) == set()
    assert acting(said.err) == set()


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        # The bars of our own tables are the only drawings.
        is_bar = tag == "svg" and [key for key, _ in attrs] == ["width", "height", "role", "aria-label"]
        self.seen |= {"bar" if is_bar else tag, *(key for key, _ in attrs)}

    handle_startendtag = handle_starttag


@pytest.mark.parametrize("what", [what for what in COMMANDS if what != "inspect one"])
def test_a_page_has_no_element_of_theirs(home, what, monkeypatch, capsys):
    page = Elements()
    page.feed(run(home, [*COMMANDS[what], "--style", "html"], monkeypatch, capsys).out)
    assert not page.seen & {"img", "script", "svg", "h1", "onerror", "onload", "src", "href", "a"}


@pytest.mark.parametrize("what", [what for what in COMMANDS if what != "inspect one"])
def test_a_document_runs_no_command_of_theirs(home, what, monkeypatch, capsys):
    text = run(home, [*COMMANDS[what], "--style", "latex"], monkeypatch, capsys).out
    for command in ("\\input{", "\\write18", "\\end{document}", "^^5c"):
        assert command not in text
    assert acting(text) == set()


@pytest.mark.parametrize("what", [what for what in COMMANDS if what != "inspect one"])
def test_a_spreadsheet_computes_nothing(home, what, monkeypatch, capsys):
    text = run(home, [*COMMANDS[what], "--style", "csv", "--csv-safe"], monkeypatch, capsys).out
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            is_number = cell.lstrip("+-").replace(".", "", 1).replace("e-", "", 1).isdigit()
            is_idle = not any(map(str.isalnum, cell))  # there is nothing to compute in "-->"
            assert is_number or is_idle or cell[:1] not in ("=", "+", "-", "@", "\t", "\r"), cell


@pytest.mark.parametrize("what", [what for what in COMMANDS if what != "inspect one"])
def test_markdown_links_and_embeds_nothing(home, what, monkeypatch, capsys):
    text = run(home, [*COMMANDS[what], "--style", "markdown"], monkeypatch, capsys).out
    assert acting(text) == set()
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            bare = "".join(part for i, part in enumerate(split_code(line)) if i % 2 == 0)
            bare = re.sub(r"\\[<>\[\]()@]", "", bare)  # a sign behind a backslash is a sign to Markdown
            assert "<img" not in bare
            assert "<script" not in bare
            assert "](" not in bare
            assert "@everyone" not in bare


def split_code(line):
    """Text and code in turn, by runs of backticks as Markdown has them."""
    return re.split(r"(?<!`)(?:`+)(?!`)", line)


def test_files_stay_in_their_folder(home, tmp_path, monkeypatch, capsys):
    out = tmp_path / "deep" / "out"
    for name in ("voc", "coco", "analyse"):
        run(home, [*COMMANDS[name], "-o", str(out / name), "--no-plot", "--csv-safe"], monkeypatch, capsys)
    assert {p.name for p in tmp_path.iterdir()} == {"deep"}
    assert {p.name for p in (tmp_path / "deep").iterdir()} == {"out"}
    assert not [p for p in out.rglob("*") if acting(p.name)]


def test_names_of_plots_are_plain_and_differ():
    found = file_names(NAMES)
    assert len(set(found)) == len(NAMES)
    for name in found:
        assert Path(name).name == name
        assert name not in ("", ".", "..")
        assert not acting(name)
        assert not set(name) & set('/\\:*?"<>|')
        assert len(name.encode()) <= 200
