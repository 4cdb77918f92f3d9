"""Do the sentences of the papers hold? Verdicts on curves worked by hand, and on the whole studies."""

from __future__ import annotations

import json

import numpy as np
import pytest

from verite.cli import run
from verite.pairs import Pairs
from verite.reproductions import jei
from verite.reproductions.gretsi import reproduce_gretsi
from verite.reproductions.statements import Statement, bend, jei_statements
from verite.studies.rows import jei_rows
from verite.studies.study import study


def verdict_of(statements: list[Statement], text: str) -> Statement:
    (found,) = [one for one in statements if text in one.text]
    return found


def test_a_curve_that_reaches_its_end_halfway_bends_by_half():
    assert bend(np.array([0.0, 2.0, 2.0])) == 0.5
    assert bend(np.array([0.0, 1.0, 2.0, 3.0])) == 0


def test_sentences_of_2009_beside_its_stars():
    found = reproduce_gretsi()
    statements = found.statements
    # The largest distance between the contours of a box and of itself moved by d is d: linear, no tolerance.
    assert verdict_of(statements, "Hausdorff tolerates").verdict == "contradicted"
    assert "exactly linear" in verdict_of(statements, "Hausdorff tolerates").value
    # |h'/w - h/w| is the same for h' = h - x and h' = h + x, so the mean values differ by the arctangent alone.
    assert verdict_of(statements, "RobCor and RobCom penalise").verdict == "contradicted"
    # L1 of two contours that share no pixel is the same however far apart they are.
    assert verdict_of(statements, "L1 penalises diagonal translations").verdict == "holds"
    assert verdict_of(statements, "RobCor is worst").value == "worst at 90°"
    assert verdict_of(statements, "RobCom is worst").value == "worst at 45°"
    assert "Without its row 71 of 75 cells" in " ".join(found.remarks())


@pytest.fixture(scope="module")
def boxes_alone():
    return study(jei_rows(), "boxes", jobs=2)


@pytest.mark.slow
def test_sentences_of_2010_beside_its_cells(capsys):
    assert run(["study", "--reproduce", "jei", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["statements"]
    assert {tuple(one) for one in found} == {("where", "text", "verdict", "value")}
    assert len(found) >= 50
    assert {one["verdict"] for one in found} == {"holds", "contradicted", "not testable"}
    by_text = {one["text"]: one for one in found}
    # Section 4.6 contradicts the paper's own table 8, in which L1 and DMoC have 16, too.
    assert by_text["only DMoy, FOM and BAD of the contour-based metrics have 16 or more"]["verdict"] == "contradicted"
    # Section 4.2: pixels of two contours without common pixels are counted alike however far apart they are.
    assert by_text["RMS judges a translation of 1 or several pixels equally"]["verdict"] == "holds"
    (turned,) = [one for one in found if "decrease after 45°, but less" in one["text"]]
    assert turned["verdict"] == "contradicted"
    assert "8-neighbours" in turned["value"]


def test_a_contour_of_8_neighbours_has_the_pixels_at_inner_corners():
    """A square with a notch: one pixel touches the outside by the corner of the notch alone."""
    shape = np.zeros((1, 8, 8), dtype=bool)
    shape[0, 1:7, 1:7] = True
    shape[0, 1:3, 1:3] = False  # a notch: the pixel (3, 3) touches it by the corner (2, 2) alone
    inner_four = sum(
        all(shape[0, y + dy, x + dx] for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)))
        for y in range(1, 7) for x in range(1, 7) if shape[0, y, x]
    )  # fmt: skip
    inner_eight = sum(
        shape[0, y - 1 : y + 2, x - 1 : x + 2].all() for y in range(1, 7) for x in range(1, 7) if shape[0, y, x]
    )
    pairs = Pairs.of(shape, shape)
    assert pairs.truth_contour[0] == 32 - inner_four == 19
    assert pairs.with_corner_contours.truth_contour[0] == 32 - inner_eight == 20
    assert pairs.with_corner_contours.take(np.array([0])).swapped.pred_contour[0] == 20


@pytest.mark.parametrize("seed", range(3))
def test_contours_of_random_masks_against_numpy(seed):
    mask = np.random.default_rng(seed).random((1, 70, 90)) < 0.8
    padded = np.pad(mask[0], 1)
    inside = np.ones(mask[0].shape, dtype=bool)
    for dy in (0, 1, 2):
        for dx in (0, 1, 2):
            inside &= padded[dy : dy + 70, dx : dx + 90]
    found = Pairs.of(mask, mask).with_corner_contours
    assert found.truth_contour[0] == (mask[0] & ~inside).sum()
    assert found.shared_contour[0] == found.truth_contour[0]


@pytest.mark.slow
def test_sentences_on_the_car_are_not_testable_without_it(boxes_alone):
    statements = jei_statements(boxes_alone)
    untested = [one for one in statements if "which the study does not have" in one.value]
    assert {one.where for one in untested} == {"3.3, fig. 7"}
    assert {one.verdict for one in untested} == {"not testable"}
    assert len(untested) == 5  # symmetry, PAS, HAF1, the slope of KUL, its equal penalties
    assert untested[0].value == "needs the ground truth car, which the study does not have"
    # Figure 9 shows the small square, which is there: two contours without common pixels, however far apart.
    assert verdict_of(statements, "RMS judges a translation").verdict == "holds"


@pytest.mark.slow
def test_without_any_ground_truth_of_the_paper_only_its_tables_are_judged():
    mask = np.zeros((32, 32), dtype=np.bool_)
    mask[12:18, 12:20] = True
    rows = jei.read_formulas(jei.JEI)
    every = [jei.Row(f"{label}: {one.name}", one, is_penalty=True) for label, one in rows.items()]
    statements = jei_statements(jei.judge(jei.study(every, {"dot": mask}), rows))
    figures = {f"{section}, fig. {n}" for section, n in (("3.3", 7), ("3.3", 8), ("4.2", 9), ("4.3", 10), ("4.4", 11))}
    untested = [one for one in statements if "which the study does not have" in one.value]
    assert {one.verdict for one in untested} == {"not testable"}
    assert {one.where for one in untested} == figures
    assert untested == [one for one in statements if one.where in figures]
    assert "small square and large square" in verdict_of(statements, "DMoy penalises a bigger object").value
    assert "nan" not in " ".join(one.value for one in statements)
    # Section 4.1 speaks of a table, and is judged on any ground truth.
    assert verdict_of(statements, "most metrics do not satisfy the three properties").verdict != "not testable"


def test_verdicts_show_the_figures_and_whose_limits_they_are():
    found = reproduce_gretsi()
    shown = verdict_of(found.statements, "1 or 16 pixels very strongly").value
    assert "from" in shown
    assert "%" in shown
    # The distance of the centres of a box and of itself moved by d is d.
    assert verdict_of(found.statements, "RobLoc is linear").value == "off the straight line: 0 %"
    words = " ".join(str(found).split())
    assert "The papers give no limits for their words" in words
    assert "not fixed before the curves were seen" in words


def test_narrower_limits_only_contradict_and_wider_ones_only_admit():
    found = reproduce_gretsi()
    narrower, wider = found.changed_verdicts[0.5], found.changed_verdicts[2.0]
    assert narrower
    assert {one.verdict for one in narrower} == {"contradicted"}
    assert {one.verdict for one in wider} == {"holds"}
    # Off the straight line by 0 %: linear however narrow the limit.
    assert not [one for one in (*narrower, *wider) if one.text == "RobLoc is linear"]
    # 81 % after the first step are at least the 70 % that half of the limit leaves no longer: 1 - 0.15 = 85 %.
    assert verdict_of(narrower, "1 or 16 pixels very strongly").value.startswith("after 1 pixel from 81 %")
    assert f"With limits half as wide {len(narrower)} verdict" in str(found)
