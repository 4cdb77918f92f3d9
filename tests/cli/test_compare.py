"""The gate: what must hold, and the exit status that says whether it does."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_command_line import DATA, complaint, typed  # noqa: F401

HARBOUR = DATA / "demo"
TRUTH, HAWK, MAGPIE = (HARBOUR / f"{name}.json" for name in ("truth", "hawk", "magpie"))


@pytest.fixture
def saved(typed, tmp_path):  # noqa: F811
    """COCO's numbers of two systems: hawk has the higher AP, magpie finds more birds."""
    for name in ("hawk", "magpie"):
        typed("coco", TRUTH, HARBOUR / f"{name}.json", "--save", tmp_path / f"{name}.json")
    return tmp_path / "hawk.json", tmp_path / "magpie.json"


def test_saved_results_are_compared(typed, saved):  # noqa: F811
    status, out, err = typed("compare", *saved)
    assert (status, err) == (0, "")
    assert out.splitlines()[0].split() == ["score", "hawk", "magpie", "difference"]
    status, out, _ = typed("compare", *saved, "--json")
    assert set(json.loads(out)["scores"]["AP"]) == {"base", "new", "difference"}


def test_warnings_of_saved_results_are_printed(typed, saved):  # noqa: F811
    document = json.loads(saved[1].read_text())
    document["findings"] = [
        {"code": "V308", "severity": "warning", "message": "confidences end at 0.3", "fix": "export from 0.001"}
    ]
    saved[1].write_text(json.dumps(document))
    status, _, err = typed("compare", *saved)
    assert (status, err) == (0, "warning: magpie: V308 confidences end at 0.3; export from 0.001\n")


@pytest.mark.parametrize(
    ("line", "status"),
    [("AP>=base-0.005", 3), ("AP>=base-0.2", 0), ("AP>=0.1", 0), ("AP>=0.99", 3), ("AP[bird]>=base", 0),
     ("AP[car]>=base", 3), ("AP50>base", 0), ("AP@0.50>base", 0)],
)  # fmt: skip
def test_status_is_3_where_a_requirement_is_not_met(typed, saved, line, status):  # noqa: F811
    found, out, err = typed("compare", *saved, "--require", line, "--quiet")
    assert found == status
    assert out
    assert err.startswith(f"verite: not met: {line}: found ") if status else err == ""


def test_every_requirement_is_told(typed, saved):  # noqa: F811
    status, _, err = typed("compare", *saved, "--require", "AP>=base", "--require", "AP>=0.1")
    assert status == 3
    assert [line.split(":")[1] for line in err.splitlines()] == [" not met", " met"]


def test_predictions_are_compared_surely(typed):  # noqa: F811
    status, _, err = typed("compare", TRUTH, HAWK, MAGPIE, "--require", "AP>=base", "--sure", "0.95", "--quiet")
    assert status == 3
    assert "difference -" in err
    status, _, err = typed("compare", TRUTH, HAWK, HAWK, "--require", "AP>=base", "--sure", "0.95", "--quiet")
    assert (status, err) == (0, "")


def test_other_protocols_are_compared_as_well(typed):  # noqa: F811
    status, out, err = typed("compare", TRUTH, MAGPIE, HAWK, "--protocol", "voc", "--require", "mAP>=base", "--quiet")
    assert status == 3
    assert "found mAP" in err
    assert "voc_ap|" in out


def test_other_protocols_are_compared_surely_too(typed):  # noqa: F811
    asked = ("--protocol", "voc", "--require", "mAP>=base", "--sure", "0.95", "--quiet")
    status, _, err = typed("compare", TRUTH, HAWK, MAGPIE, *asked)
    assert status == 0, err
    status, _, err = typed("compare", TRUTH, MAGPIE, HAWK, *asked)
    assert status == 3
    assert "difference -" in err


def test_every_verb_is_sure_by_both_predictions(typed):  # noqa: F811
    """Hawk finds boxes well and classes badly; whoever is compared with himself surely misses nothing."""
    for verb, score, better in (("openimages", "mAP", MAGPIE), ("imagenet-det", "mAP", MAGPIE), ("lvis", "AP", None),
                                ("imagenet-loc", "top1_error", HAWK), ("interpret", "score", MAGPIE),
                                ("localize", "iou", HAWK)):  # fmt: skip
        words = (verb, TRUTH, HAWK, HAWK, "--require", f"{score}>base", "--sure", "0.95", "--quiet")
        words = (*words, "--metric", "iou") if verb == "localize" else words
        status, _, err = typed(*words)
        if better is None:
            assert (status, "LVIS ground truth" in err) == (1, True)
            continue
        assert status == 3, (verb, err)
        assert "difference +0.0000 to +0.0000" in complaint(err)
        is_error = verb in ("imagenet-loc", "interpret")
        worse = HAWK if better is MAGPIE else MAGPIE
        words = (*words[:2], worse, better, "--require", f"{score}{'<=' if is_error else '>='}base", *words[6:])
        status, _, err = typed(*words)
        assert status == 0, (verb, err)


def test_one_class_of_any_protocol_is_compared_surely(typed):  # noqa: F811
    asked = ("--require", "AP[bird]>=base", "--sure", "0.95", "--quiet")
    for protocol in ("coco", "voc", "openimages", "imagenet-det"):
        status, _, err = typed("compare", TRUTH, HAWK, MAGPIE, "--protocol", protocol, *asked)
        assert (status, err) == (0, ""), protocol
        status, _, err = typed("compare", TRUTH, MAGPIE, HAWK, "--protocol", protocol, *asked)
        assert status == 3, protocol
    status, _, err = typed("compare", TRUTH, HAWK, MAGPIE, "--require", "AP@0.95>=base", *asked[2:])
    assert status == 3
    assert "AP@0.95" in complaint(err)


@pytest.mark.thorough
def test_two_parts_are_compared_surely(typed, tmp_path):  # noqa: F811
    for name in ("hawk", "magpie"):
        typed("partial", "coco", TRUTH, HARBOUR / f"{name}.json", "-o", tmp_path / f"{name}.part", "-q")
    base, new = tmp_path / "hawk.part", tmp_path / "magpie.part"
    words = ("--require", "AP>=base-0.005", "--sure", "0.95", "--quiet")
    status, out, err = typed("compare", base, new, *words)
    assert status == 3
    assert out.splitlines()[0].split() == ["score", "hawk", "magpie", "difference"]
    assert "difference -0.1" in complaint(err)
    assert typed("compare", base, tmp_path / "hawk*.part", *words)[0] == 0
    status, _, err = typed("compare", base, TRUTH)
    assert status == 2
    assert "expected two parts or two saved results" in complaint(err)


def test_lines_about_several_systems_name_them(typed):  # noqa: F811
    _, _, err = typed("coco", TRUTH, HAWK, MAGPIE, HAWK, "--require", "AP>=base", "--quiet")
    assert err.splitlines() == [err.splitlines()[0]]
    assert err.startswith("verite: magpie: not met: AP>=base: found AP")


def test_verbs_have_the_gate_with_a_named_base(typed, saved):  # noqa: F811
    words = ("coco", TRUTH, MAGPIE, "--base", saved[0], "--quiet")
    status, out, err = typed(*words, "--require", "AP[person]>=0.2", "--require", "AP>=base-0.005")
    assert status == 3
    assert "not met: AP>=base-0.005" in complaint(err)
    assert "difference" in out
    status, out, _ = typed(*words, "--json")
    assert (status, json.loads(out)["protocol"]) == (0, "coco")


@pytest.mark.parametrize("verb", ["voc", "localize", "interpret"])
def test_what_was_measured_differently_is_refused_with_the_keys(typed, saved, verb):  # noqa: F811
    more = ("-m", "iou") if verb == "localize" else ()
    status, _, err = typed(verb, TRUTH, HAWK, *more, "--base", saved[0], "--quiet")
    assert status == 1
    assert "found different score (coco / " in complaint(err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sure", "0.95", "--require", "AP>=base"), "give TRUTH BASE NEW, or two partial results"),
        (("--require", "AP=1"), "expected a line such as"),
        (("--require", "APP>=base"), "did you mean 'AP'"),
        (("--summary",), "GITHUB_STEP_SUMMARY"),
    ],
)
def test_wrong_commands_are_told_before_anything_is_printed(typed, saved, words, said, monkeypatch):  # noqa: F811
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    status, out, err = typed("compare", *saved, *words)
    assert (status, out) == (2, "")
    assert said in complaint(err)


def test_one_prediction_has_no_surely_better_one(typed):  # noqa: F811
    status, _, err = typed("coco", TRUTH, HAWK, "--require", "AP>=0.1", "--sure", "0.9", "--quiet")
    assert status == 2
    assert "give TRUTH BASE NEW" in complaint(err)


def test_summary_goes_to_githubs_file_and_failures_are_annotated(typed, saved, tmp_path, monkeypatch):  # noqa: F811
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    status, _, err = typed("compare", *saved, "--summary", "--require", "AP>=base", "--quiet")
    assert status == 3
    lines = place.read_text().splitlines()
    assert lines[0] == "before"
    assert "| score | hawk | magpie | difference |" in lines
    assert any(line.startswith("- ❌ not met: AP") for line in lines)
    assert "### largest drop of AP" in lines
    assert "::error title=not met::not met: AP>=base: found AP" in err


def test_summary_has_numbers_costs_the_worst_classes_and_findings(typed, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    level = [{**one, "score": 0.5} for one in json.loads(HAWK.read_text())]
    (tmp_path / "weak.json").write_text(json.dumps(level))
    typed("coco", TRUTH, tmp_path / "weak.json", "--summary", "--quiet", "--checks", "warn")
    lines = (tmp_path / "summary.md").read_text().splitlines()
    assert lines[0] == "| score | weak |"
    costs = lines.index("### weak: where AP is lost")
    assert lines[costs + 5].startswith("| localization | █")
    worst = lines.index("### weak: worst classes")
    rows = [line.split(" | ") for line in lines[worst + 4 : worst + 9]]
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    assert rows[0][0] == "| bird"
    assert lines[worst + 9] == ""
    assert any(line.startswith("warning: V") for line in lines)


def test_what_stops_an_evaluation_is_annotated(typed, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    document = [{**one, "category_id": one["category_id"] + 1} for one in json.loads(HAWK.read_text())]
    (tmp_path / "shifted.json").write_text(json.dumps(document))
    status, _, err = typed("coco", TRUTH, tmp_path / "shifted.json", "--summary", "--quiet")
    assert status == 1
    assert "::error title=data::" in err


def test_findings_are_annotations_in_one_line(typed, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    document = json.loads(HAWK.read_text())
    for one in document:  # corners instead of width and height
        x, y, width, height = one["bbox"]
        one["bbox"] = [x, y, x + width, y + height]
    (tmp_path / "a.json").write_text(json.dumps(document))
    _, _, err = typed("coco", TRUTH, tmp_path / "a.json", "--checks", "warn", "--summary", "--quiet")
    marked = [line for line in err.splitlines() if line.startswith("::")]
    assert marked
    assert all(line.startswith(("::warning title=V", "::error title=V", "::notice title=V")) for line in marked)
    assert any(line.startswith(("::warning", "::error")) for line in marked)


def test_long_summary_is_cut_with_a_sentence(typed, saved, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setattr("verite.cli.gate.MOST_BYTES", 200)
    typed("compare", *saved, "--summary")
    text = (tmp_path / "summary.md").read_text()
    assert len(text) < 300
    assert text.rstrip().endswith("Cut here: the summary of a step may have 1 MiB.")
