"""`verite rank` as people type it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from verite.cli import run

DATA = Path(str(files("verite") / "data"))
TABLES = DATA / "ranking"
TABLE_3 = TABLES / "table3.csv"
HARBOUR = [DATA / "demo" / f"{name}.json" for name in ("truth", "hawk", "magpie", "mole")]


@pytest.fixture
def typed(capsys):
    """Run a command: its exit status, standard output and standard error."""

    def run_words(*words: object):
        status = run(["rank", *(str(word) for word in words)])
        out, err = capsys.readouterr()
        return status, out, err

    return run_words


def complaint(err):
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("verite: ")
    return lines[0]


def test_the_worked_example(typed):
    status, out, err = typed(TABLES / "table3.csv", "--epsilon", "0.2")
    assert status == 0
    assert err == ""
    assert "A2 > A1  0.5888  0.3264    0.0848" in out


def test_json_is_the_only_thing_printed(typed):
    status, out, err = typed(*HARBOUR, "--epsilon", "0.05", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert document["order"] == ["magpie", "hawk", "mole"]
    assert document["kind"] == "found"


def test_detectors_say_what_was_read_unless_told_to_be_quiet(typed):
    _, out, err = typed(*HARBOUR, "--epsilon", "0.05")
    assert "read as COCO JSON" in err
    assert "magpie > hawk" in out
    assert typed(*HARBOUR, "--epsilon", "0.05", "--quiet")[2] == ""


def test_confidence_and_overlap_are_options(typed):
    scores = [
        json.loads(typed(*HARBOUR, "--epsilon", "0.05", "--json", *more)[1])["scores"]
        for more in ((), ("--confidence", "0.8"), ("--iou", "0.8"))
    ]
    assert scores[0] != scores[1] != scores[2]


def test_confidences_with_published_points(typed, tmp_path):
    status, out, _ = typed(TABLES / "table4.csv", "--epsilon", "0.4", "--sums", "keep", "-o", tmp_path / "out",
                           "--published", TABLES / "table4-published.csv")  # fmt: skip
    assert status == 0
    assert "0.7341" in out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "ranking.json", "ranks.csv", "pairs.csv", "kept.png", "ranks.png", "leaderboard.png",
    }  # fmt: skip


@pytest.mark.parametrize("format", ["svg", "pdf"])
def test_plots_come_in_other_formats_or_not_at_all(typed, tmp_path, format):
    typed(TABLES / "table3.csv", "--epsilon", "0.2", "-o", tmp_path, "--plot-format", format)
    assert (tmp_path / f"kept.{format}").exists()
    typed(TABLES / "table3.csv", "--epsilon", "0.2", "-o", tmp_path / "none", "--no-plot")
    assert {p.name for p in (tmp_path / "none").iterdir()} == {"ranking.json", "ranks.csv", "pairs.csv"}


def test_save_writes_the_document(typed, tmp_path):
    _, out, err = typed(TABLES / "table3.csv", "--epsilon", "0.2", "--save", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["pairs"][0]["kept"] == pytest.approx(0.5888)
    assert "saved" in err
    assert out.startswith("2 algorithms on 10 items")


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (("--epsilon", "0.1"), "bernoulli(epsilon=0.1)"),
        (("--asymmetric", "0.1,0.3"), "asymmetric(zero=0.1, one=0.3)"),
        (("--audit", "5/50"), "audit(errors=5, checked=50)"),
        (("--exactly", "2"), "exactly(errors=2)"),
        (("--at-most", "2"), "at_most(errors=2)"),
        (("--at-most", "0.1"), "at_most(epsilon=0.1)"),
        (("--epsilon", "0.1", "--shared", "item"), "shared(epsilon=0.1, correlation=0.1, groups=item)"),
    ],
)
def test_every_error_model_has_its_option(typed, options, model):
    status, out, _ = typed(TABLES / "table2.csv", *options, "--json")
    assert status == 0
    assert json.loads(out)["model"] == model


def test_rates_and_marks_come_from_columns(typed, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("item,rate,truth,a,b\n1,0,1,1,0\n2,0.5,1,1,0\n3,0.1,1,0,1\n")
    assert json.loads(typed(table, "--rates", "rate", "--json")[1])["model"] == "per_item(rates=rate)"
    table.write_text("item,known,truth,a,b\n1,1,1,1,0\n2,0,1,1,0\n3,0,1,0,1\n")
    document = json.loads(typed(table, "--at-most", "1", "--audited", "known", "--json")[1])
    assert document["pairs"][0]["errors_to_tie"] == 1


def test_draws_and_seed_are_in_the_document(typed):
    words = (TABLES / "table2.csv", "--epsilon", "0.1", "--method", "montecarlo", "--draws", "1000", "--json")
    one, two, three = (json.loads(typed(*words, "--seed", seed)[1]) for seed in (1, 1, 2))
    assert one == two
    assert one["ranks"] != three["ranks"]
    assert "draws:1000|seed:1" in one["signature"]
    assert one["whole_order_interval"][0] < one["whole_order"] < one["whole_order_interval"][1]


def test_labels_and_confusion_come_from_options(typed, tmp_path):
    table, matrix = tmp_path / "t.csv", tmp_path / "c.csv"
    table.write_text("item,truth,a,b\n1,x,x,y\n2,y,y,y\n3,z,x,z\n4,x,x,z\n")
    matrix.write_text("recorded,x,y,z\nx,0,1,0\ny,0.5,0,0.5\nz,1,0,0\n")
    assert typed(table, "--epsilon", "0.1", "--confusion", matrix)[0] == 0
    assert "other 4 labels" in " ".join(typed(table, "--epsilon", "0.1", "--labels", "x,y,z,u,v")[1].split())


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ((TABLE_3,), 2, "expected an error model, found none: --epsilon E for a known share"),
        ((TABLE_3, "--epsilon", "0.1", "--exactly", "1"), 2, "expected one error model, found --epsilon and"),
        ((TABLE_3, "--epsilon", "0.7"), 2, "from 0 to 0.5, found 0.7; beyond one half"),
        ((TABLE_3, "--epsilon", "x"), 2, "expected E, a share of wrong annotations, found 'x'"),
        ((TABLE_3, "--audit", "5"), 2, "expected K/N, found '5'"),
        ((TABLE_3, "--asymmetric", "0.1"), 2, "expected E0,E1, found '0.1'"),
        ((TABLE_3, "--at-most", "few"), 2, "expected a number of errors such as 20 or a share such as 0.05"),
        ((TABLE_3, "--exactly", "1", "--shared", "item"), 2, "--shared goes with --epsilon"),
        ((TABLE_3, "--exactly", "1", "--audited", "item"), 2, "--audited goes with --at-most"),
        ((TABLE_3, "--epsilon", "0.1", "--published", "x.csv"), 2, "--published goes with --output"),
        ((TABLE_3, "--epsilon", "0.1", "--correlation", "0.3"), 2, "--correlation goes with --shared"),
        ((TABLE_3, "--epsilon", "0.1", "--wrong", "vanishes"), 2, "wrong: expected objects found by detectors for"),
        ((TABLE_3, "--epsilon", "0.1", "--zero", "0.1"), 2, "zero: expected confidences for this setting"),
        ((*HARBOUR, "--epsilon", "0.1", "-q", "--kind", "labels"), 2, "kind: expected none with detectors"),
        ((TABLE_3, "--rates", "rate"), 2, "rates: expected one of the columns item, truth, found 'rate'"),
        ((TABLES / "table4.csv", "--epsilon", "0.1"), 1, "table4.csv:2 (item 'd1'): expected confidences of"),
        ((TABLES / "table5.csv", "--epsilon", "0.1"), 1, "expected a file or folder, found nothing; did you mean"),
        ((HARBOUR[0], "--epsilon", "0.1"), 1, "expected a table with a header item"),
        ((HARBOUR[0], HARBOUR[1], "--epsilon", "0.1"), 2, "ground truth and at least two predictions, found one"),
        ((TABLE_3, HARBOUR[1], HARBOUR[2], "--epsilon", "0.1"), 2, "expected nothing after the table"),
        ((HARBOUR[0], HARBOUR[1], TABLES / "table3.csv", "--epsilon", "0.1", "-q"), 1, "table3.csv"),
        ((DATA / "demo", "--epsilon", "0.1"), 1, "expected a table with a header item"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(typed, words, status, message):
    found, out, err = typed(*words)
    assert (found, out) == (status, "")
    assert message in complaint(err)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the header first,second,epsilon,kept, found an empty file"),
        ("a,b\n", "expected the header first,second,epsilon,kept, found 'a,b'"),
        ("first,second,epsilon,kept\nA2,A9,0.1,1\n", "p.csv:2: expected two of A2, A1, found 'A9'"),
        ("first,second,epsilon,kept\nA2,A2,0.1,1\n", "p.csv:2: expected two of A2, A1, found 'A2' twice"),
        ("first,second,epsilon,kept\nA2,A1,0.1,7\n", "p.csv:2: expected a rate from 0 to 0.5 and a probability"),
        ("first,second,epsilon,kept\nA2,A1,x,1\n", "p.csv:2: expected two names and two numbers, found 'A2,A1,x,1'"),
    ],
)
def test_bad_published_points_are_refused(typed, tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    status, _, err = typed(
        TABLES / "table3.csv", "--epsilon", "0.1", "-o", tmp_path / "o", "--published", tmp_path / "p.csv"
    )
    assert status == 1
    assert message in complaint(err)


def test_an_empty_file_is_refused(typed, tmp_path):
    (tmp_path / "t.csv").touch()
    status, _, err = typed(tmp_path / "t.csv", "--epsilon", "0.1")
    assert status == 1
    assert "found an empty file" in complaint(err)
    assert not (tmp_path / "o").exists()


def test_a_detector_may_be_named_twice(typed):
    _, out, _ = typed(HARBOUR[0], HARBOUR[1], HARBOUR[1], "--epsilon", "0.1", "--quiet")
    assert "hawk = hawk (2): all recorded scores are tied, there is no order to keep." in out


def test_draws_never_show_certainty(typed):
    _, out, _ = typed(TABLE_3, "--epsilon", "0.0001", "--method", "montecarlo", "--draws", "100")
    # Wilson's bound for 0 of 100 is 3.84 / 103.84 = 0.037.
    assert "<3.7e-02" in out
    assert ">0.9630" in out


def test_a_broken_parquet_file_is_no_csv(typed, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"\x83\x00\x12" * 20)
    status, _, err = typed(tmp_path / "t.parquet", "--epsilon", "0.1")
    assert status == 1
    assert "t.parquet: expected a Parquet file" in complaint(err)


def test_the_help_has_sections_and_a_long_tail(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rank", "--help"]) == 0
    common = capsys.readouterr().out
    assert [line for line in common.splitlines() if line in ("Tables of answers:", "Detectors:", "Statistics:")] == [
        "Tables of answers:", "Detectors:", "Statistics:",
    ]  # fmt: skip
    assert "--tolerance" not in common
    assert run(["rank", "--help-all"]) == 0
    every = capsys.readouterr().out
    assert "--tolerance" in every
    assert "--epsilon" in every


def flawed_harbour(folder, flaw):
    """The harbour, in which every area is larger than its box, or one prediction of each detector is elsewhere."""
    truth, *preds = (json.loads(path.read_text()) for path in HARBOUR)
    if flaw == "area":
        for one in truth["annotations"]:
            one["area"] = 2 * one["bbox"][2] * one["bbox"][3]
    else:
        for pred in preds:
            pred[0]["image_id"] = 10**6
    paths = [folder / path.name for path in HARBOUR]
    for path, document in zip(paths, (truth, *preds), strict=True):
        path.write_text(json.dumps(document))
    return paths


@pytest.mark.parametrize("command", ["rank", "scene-score"])
def test_findings_are_printed_and_errors_stop_where_detectors_are_compared(command, tmp_path, capsys):
    more = {"rank": ["--epsilon", "0.1"], "scene-score": ["--sweep", "alpha"]}[command]
    assert run([command, *map(str, flawed_harbour(tmp_path, "area")), *more, "-q"]) == 0
    assert capsys.readouterr().err.count("V113") == 1
    paths = flawed_harbour(tmp_path, "elsewhere")
    assert run([command, *map(str, paths), *more, "-q"]) == 1
    assert "V213" in capsys.readouterr().err
