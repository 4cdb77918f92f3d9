"""Which conventions give a number that another tool printed? Worked by hand on two cats, and on what tools said."""

from __future__ import annotations

import json
import shlex
from math import nan
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from tests.oracles.tool_sets import tool_set
from verite.analysis.reconcile import PrintedNumber, read_numbers
from verite.analysis.reconcile_search import TOOLS, Convention, single_changes
from verite.cli import run
from verite.errors import BadParameter
from verite.protocols import REGISTRY, protocol_named

# One of two is found: precision 1 up to a recall of 1/2. All points: 1/2. Eleven points: 6/11. COCO: 51/101.
TRUTH = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]], sizes={"a": (60, 60)})
PRED = vt.Annotations.of(
    ["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [40, 40, 49, 49]], confidence=[0.5, 0.9], sizes={"a": (60, 60)}
)
ALONE = PRED.take([0])
SAID = json.loads((Path(__file__).parent.parent / "data" / "tools.json").read_text())


def files(folder: Path, seed: int) -> tuple[str, str]:
    truth, found = tool_set(seed)
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "pred.json").write_text(json.dumps(found))
    return str(folder / "truth.json"), str(folder / "pred.json")


def test_eleven_points_are_recognised() -> None:
    found = vt.reconcile(TRUTH, ALONE, "0.5455", protocols=["voc"])
    assert found.best.changes == {"interpolation": "11"}
    assert found.best.scores["mAP"] == pytest.approx(6 / 11)
    assert found.verdict().startswith("0.5455: given by Pascal VOC 2007")


def test_the_default_needs_no_change() -> None:
    found = vt.reconcile(TRUTH, ALONE, 0.505)
    assert found.best.words == "coco as it is"
    assert "COCO" not in found.verdict()


@pytest.mark.parametrize("said", ["ultralytics", "ultralytics-8.3", "torchmetrics", "mmdetection"])
def test_numbers_that_a_tool_printed_lead_to_the_tool(said: str, tmp_path: Path) -> None:
    """To four digits, as the tool said them, without a word on which tool it was."""
    tool, place = {"ultralytics-8.3": ("ultralytics", 2)}.get(said, (said, 0))
    numbers = {k: v for k, v in SAID[said]["numbers"]["7"].items() if "/" not in k and v != -1}
    truth, pred = files(tmp_path, 7)
    names = [name for name in numbers if TOOLS[tool].scores.get(name, name) in ("AP", "AP50", "APm", "P")]
    texts = [f"{TOOLS[tool].scores.get(name, name)}={numbers[name]:.4f}" for name in names]
    found = vt.reconcile(truth, pred, *texts)
    assert TOOLS[tool].conventions[place].title in {attempt.convention.title for attempt in found.reached}
    asked = vt.reconcile(truth, pred, *[f"{name}={numbers[name]:.4f}" for name in names], tool=tool)
    assert asked.best.convention == TOOLS[tool].conventions[place]


@pytest.mark.thorough
def test_several_changes_are_tried_where_one_is_not_enough(tmp_path: Path) -> None:
    truth, pred = files(tmp_path, 11)
    hidden = {"interpolation": "11", "confidence": 0.25, "iou": 0.75}
    printed = vt.voc(truth, pred, checks="off", **hidden).scores["mAP"].value
    found = vt.reconcile(truth, pred, f"{printed:.6f}", protocols=["voc"])
    assert found.best.changes == hidden | {"iou": (0.75,)}
    assert "no known tool and no single change gives it" in found.verdict()


def test_several_numbers_narrow_it_down() -> None:
    assert vt.reconcile(TRUTH, ALONE, "AP=0.505", "AP50=0.505", protocols=["coco"]).reached
    assert not vt.reconcile(TRUTH, ALONE, "AP=0.505", "AP50=0.9", protocols=["coco"]).reached


def test_a_table_of_classes_narrows_it_down(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("Class,Images,mAP50\nall,1,54.55\ncat,1,54.55\n")
    assert [(n.key, n.value) for n in read_numbers(table)] == [("AP50", 0.5455), ("AP50[cat]", 0.5455)]
    found = vt.reconcile(TRUTH, ALONE, table=table)
    assert found.best.changes["interpolation"] == "11"
    table.write_text("class,AP50\ncow,0.5\n")
    with pytest.raises(BadParameter, match="expected one of 1 classes, found"):
        vt.reconcile(TRUTH, ALONE, table=table)
    for text in ("", "class,images\ncat,3\n", "class,AP\ncat,x\n", "class,AP\ncat,-\n"):
        table.write_text(text)
        with pytest.raises(vt.ReadError, match=r"table\.csv"):
            vt.reconcile(TRUTH, ALONE, table=table)


def test_the_chain_leads_from_theirs_to_ours(tmp_path: Path) -> None:
    """Each step is what is there minus what was there before, and the last is COCO's own number."""
    truth, pred = files(tmp_path, 7)
    theirs = SAID["ultralytics-8.3"]["numbers"]["7"]
    found = vt.reconcile(
        truth, pred, f"AP={theirs['mAP50-95']:.4f}", f"P={theirs['precision']:.4f}", tool="ultralytics"
    )
    first, *steps, last = found.chain
    assert first.value == pytest.approx(theirs["mAP50-95"], abs=1e-12)
    assert last.value == vt.coco(truth, pred, checks="off").scores["AP"].value
    assert sum(step.difference for step in steps) == pytest.approx(last.value - first.value, abs=1e-12)
    assert any(step.words.startswith("interpolation sloped → 101") for step in steps)


@pytest.mark.parametrize(
    ("text", "value", "tolerance"),
    [("0.5", 0.5, 0.05), (".523", 0.523, 0.0005), ("52.3", 0.523, 0.0005), ("0.8%", 0.008, 0.0005),
     ("AP50=0.721", 0.721, 0.0005), ("map_50[cat]=72.1", 0.721, 0.0005)],
)  # fmt: skip
def test_a_printed_number_says_how_exact_it_is(text: str, value: float, tolerance: float) -> None:
    number = PrintedNumber.of(text)
    assert (number.value, number.tolerance) == (value, pytest.approx(tolerance))


@pytest.mark.parametrize("text", ["half", "-0.1", "120", "AP50="])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="number: expected"):
        PrintedNumber.of(text)


@pytest.mark.parametrize("verb", REGISTRY)
def test_every_protocol_has_conventions_from_its_settings(verb: str) -> None:
    declared = protocol_named(verb).settings.declared
    assert all(declared[name].is_signed for name, _ in single_changes(Convention(verb, verb)))


@pytest.mark.thorough
def test_each_command_prints_its_numbers(tmp_path: Path, capsys: Any) -> None:
    """Every one of them, those of the chain, too."""
    truth, pred = files(tmp_path, 2)
    words = ["reconcile", truth, pred, "--number", "AP=0.3333", "--json", "--tries", "60", "--checks", "off"]
    assert run(words) == 0
    document = json.loads(capsys.readouterr().out)
    distances = [attempt["distance"] for attempt in document["attempts"]]
    assert distances == sorted(distances)
    assert len(distances) > 50
    for attempt in document["attempts"]:
        assert run([*shlex.split(attempt["command"])[1:], "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["signature"] == attempt["signature"], attempt["command"]
        flat = printed | {f"mAP@{t['iou']:.2f}": t["mAP"] for t in printed.get("thresholds", []) if "mAP" in t}
        assert {key: flat[key] for key in attempt["scores"]} == attempt["scores"], attempt["command"]
    for step in document["chain"]:
        assert run([*shlex.split(step["command"])[1:], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["signature"] == step["signature"]


def test_nothing_fits_and_what_that_means(tmp_path: Path) -> None:
    truth, pred = files(tmp_path, 4)
    found = vt.reconcile(truth, pred, "AP=0.9987", tries=150, checks="warn")
    assert not found.reached
    told = " ".join(found.remarks())
    assert "outside the range of all conventions" in told
    assert all(finding.message in told for finding in found.findings)


def test_an_unknown_protocol_or_tool_is_named() -> None:
    with pytest.raises(BadParameter, match=r"protocols: expected voc, coco, .* found 'cocoa'"):
        vt.reconcile(TRUTH, PRED, 0.5, protocols=["cocoa"])
    with pytest.raises(BadParameter, match=r"tool: expected .* found 'ultra'"):
        vt.reconcile(TRUTH, PRED, 0.5, tool="ultra")


@pytest.mark.thorough
def test_an_unknown_score_is_named() -> None:
    with pytest.raises(BadParameter, match=r"number: expected scores that exist, such as mAP, .* found AP99=0\.5"):
        vt.reconcile(TRUTH, PRED, "AP99=0.5", protocols=["voc"])


def test_suspicious_data_are_an_error_before_the_search() -> None:
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]], confidence=[nan, nan])
    with pytest.raises(vt.DataError, match="V302"):
        vt.reconcile(truth, pred, 0.5)
    warned = vt.reconcile(truth, pred, 0.5, protocols=["voc"], checks="warn")
    assert "V302" in {finding.code for finding in warned.findings}
    assert "V302" in {finding["code"] for finding in warned.to_dict()["findings"]}
