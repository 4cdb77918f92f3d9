"""A study from metrics to verdicts, on a few small sweeps."""

from __future__ import annotations

import csv
import io
import json
import threading
from functools import cache

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, UnknownMetric
from verite.studies.judging import PropertyTable
from verite.studies.measuring import count_results
from verite.studies.properties import triangle_shares
from verite.studies.rows import jei_rows, rows_of
from verite.studies.sweeps import COMBINED, JEI_SWEEPS, sweeps_of
from verite.studies.truths import all_truths, truths_of


@cache
def small():
    """Four metrics whose behaviour is known, on boxes shifted by up to 6 pixels and turned by up to 10 degrees."""
    return vt.study(
        ["iou", "hausdorff", "hen1", "rms"], "boxes", ["translation(reach=6)", "rotation(reach=10)"], jobs=1
    )


def test_the_whole_study_has_118_080_results():
    assert count_results(all_truths(), JEI_SWEEPS) == 118_080
    assert [sweep.results for sweep in JEI_SWEEPS] == [2400, 2400, 180, 2400]
    assert len(jei_rows()) == 38


def test_known_metrics_get_the_cells_that_theory_says():
    tables = small().tables
    shifts = tables["translation(reach=6)"].to_dict()
    every = {"axial": True, "monotony": True, "continuity": True}
    # A smaller square loses a larger share of itself.
    assert shifts["iou"] == {**every, "scale": "+", "shape": True, "score": 5}
    # Hausdorff's distance of a shifted box is the length of the shift, whatever the box.
    assert shifts["hausdorff"] == {**every, "scale": "", "shape": False, "score": 3}
    # Shifting changes no area.
    nothing = {"axial": False, "monotony": False, "continuity": False, "scale": "", "shape": False, "score": 0}
    assert shifts["hen1"] == nothing
    # One pixel is as bad as six.
    assert shifts["rms"]["monotony"] is False
    assert shifts["rms"]["continuity"] is False
    distances = tables["distance"].to_dict()
    assert distances["iou"] == {"symmetry": True, "separation": True, "triangle": True, "score": 3}
    assert distances["hen1"]["separation"] is False


def test_the_synthesis_adds_up():
    study = small()
    assert study.out_of == 3 + 5 + 5
    for label, row in study.tables["synthesis"].to_dict().items():
        parts = [sheet.to_dict()[label]["score"] for name, sheet in study.tables.items() if name != "synthesis"]
        assert row["final"] == sum(parts) == study.scores[label]


def test_the_document_has_the_documented_keys():
    document = json.loads(small().to_json())
    assert document["signature"].startswith("study|metrics:iou,hausdorff,hen1,rms|truths:small square,")
    assert "|axial:0.01|" in document["signature"]
    assert list(document["tables"]) == ["distance", "translation(reach=6)", "rotation(reach=10)", "synthesis"]
    assert document["tables"]["synthesis"]["iou"]["distance"] == 3
    assert document["results"] == 8 * (13 * 13 - 1 + 20)


def test_tables_come_as_csv_markdown_and_latex():
    study = small()
    rows = list(csv.DictReader(io.StringIO(study.tables["translation(reach=6)"].to_csv())))
    assert rows[0] == {"metric": "iou", "on": "mask", "axial": "1", "monotony": "1", "continuity": "1", "scale": "+",
                       "shape": "1", "score": "5"}  # fmt: skip
    assert "| iou | mask | ✓ | ✓ | ✓ | ✓+ | ✓ | 5 |" in study.to_markdown()
    assert r"iou & mask & $\checkmark$ & $\checkmark$ & $\checkmark$ & $\checkmark^{+}$ & $\checkmark$ & 5 \\" in (
        study.to_latex()
    )
    assert study.to_latex().count(r"\begin{tabular}") == study.to_latex().count(r"\end{tabular}") == 4


def test_latex_escapes_names():
    sheet = PropertyTable.of("distance", ["a_b"], ["mask"], [{"symmetry": True}])
    assert r"a\_b & mask" in sheet.to_latex()


def test_any_number_of_jobs_gives_the_same_bytes():
    settings = (["iou", "gce", "hausdorff"], ["wide", "car"], ["translation(reach=3)", "bite(every=40)"])
    assert vt.study(*settings, jobs=1).to_json() == vt.study(*settings, jobs=3).to_json()


def test_progress_tells_every_result():
    told = []
    study = vt.study("iou", ["wide", "car"], "translation(reach=3)", jobs=2, progress=told.append)
    assert sum(told) == study.results == 2 * 48


def test_an_interrupt_ends_the_threads():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vt.study("iou", "all", "translation(reach=6)", jobs=2, progress=interrupt)
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPool")]


def test_tolerances_are_named_and_change_cells():
    strict = small().with_tolerances(axial=0.0)
    assert "axial:0.00" in str(strict.signature)
    assert small().tables["rotation(reach=10)"].to_dict()["iou"]["axial"] is True
    with pytest.raises(BadParameter, match="did you mean 'axial'"):
        small().with_tolerances(axal=0.1)
    with pytest.raises(BadParameter, match="expected 0 or more"):
        small().with_tolerances(axial=-1.0)
    with pytest.raises(BadParameter, match="share from 0 to 1"):
        small().with_tolerances(quorum=2.0)
    with pytest.raises(BadParameter, match="expected a value like"):
        small().with_tolerances(axial="much")


def test_a_quorum_of_truths_is_enough():
    # IoU is not a hundredth symmetric on the bird, which is not symmetric itself; on the box it is.
    def axial(**rules):
        study = vt.study("iou", ["small square", "bird"], "perspective(reach=8)", **rules)
        return study.tables["perspective(reach=8)"].to_dict()["iou"]["axial"]

    assert axial(quorum=0.5) is True
    assert axial(quorum=1.0) is False


def test_masks_of_any_size_are_studied():
    mask = np.zeros((60, 80), bool)
    mask[20:40, 20:50] = True
    study = vt.study("iou", {"mine": mask}, "translation(reach=4)")
    assert study.tables["translation(reach=4)"].to_dict()["iou"]["score"] == 5


def overlap_in_tenths(truth, pred):
    """Overlap rounded down to tenths."""
    return int(10 * (truth & pred).sum() / (truth | pred).sum()) / 10


def width_ratio(pairs):
    """A function of pairs."""
    widths = [box[:, 2] - box[:, 0] for box in (pairs.truth_box, pairs.pred_box)]
    return np.abs(widths[0] - widths[1])


@pytest.mark.thorough
def test_a_function_of_two_masks_goes_through_the_same_protocol():
    study = vt.study(
        [overlap_in_tenths, "iou", "hausdorff"], ["small square", "wide"], ["translation(reach=8)", "scale(reach=8)"]
    )
    verdict = study.verdict("overlap_in_tenths")
    assert [one.label for one in study.verdicts] == ["overlap_in_tenths"]
    assert verdict.way == "Larger values were read as better."
    assert len(verdict.jumps) == 2
    assert "on 2 of 2 ground truths" in verdict.jumps[0]
    assert study.tables["translation(reach=8)"].to_dict()["overlap_in_tenths"]["monotony"] is False
    assert verdict.resembles[0][1] > 0.9
    assert "It resembles" in str(study)


def test_a_verdict_says_what_is_ignored():
    study = vt.study([width_ratio, "hen1"], ["small square", "wide"], ["translation(reach=4)", "scale(reach=4)"])
    found = study.verdict("width_ratio")
    assert found.ignores == ("translation(reach=4)", "the size of the object", "the shape of the object")
    assert found.way == "Larger values were read as worse."
    assert "It ignores translation(reach=4), the size of the object and the shape of the object." in str(found)
    assert study.verdict(0).to_dict()["resembles"][0]["metric"]


@pytest.mark.thorough
def test_what_resembles_is_seen_though_alterations_have_truths_of_their_own():
    study = vt.study(["iou", "dice", "hausdorff"], ["small square"], ["bite", "missing"])
    # Dice is a rising function of IoU: something must be as like as can be.
    assert study.verdict("iou").resembles[0][1] == pytest.approx(1)


def test_a_metric_that_ignores_everything_resembles_none():
    study = vt.study([width_ratio, "iou"], ["small square"], ["translation(reach=4)"])
    assert str(study.verdict(0)).endswith("It resembles no known metric.")


def test_a_metric_resembles_one_that_orders_results_alike():
    study = vt.study(["dice"], ["small square", "car"], "translation(reach=5)")
    # Dice is 2 IoU / (1 + IoU): the same order throughout.
    name, alike = study.verdict("dice").resembles[0]
    assert alike == pytest.approx(1)
    assert study.find_resembling(0)[0] == (name, alike)


def test_own_functions_that_fail_are_told_in_one_line():
    def broken(truth, pred):
        return 1 / 0

    def wordy(truth, pred):
        return "good"

    def undefined(truth, pred):
        return float("nan")

    for function, found in ((broken, "ZeroDivisionError"), (wordy, "found str"), (undefined, "found nan")):
        with pytest.raises(DataError, match=found):
            vt.study([function], "wide", "translation(reach=1)")


def test_own_functions_may_not_write_on_the_truth():
    def careless(truth, pred):
        truth &= pred
        return float(truth.sum())

    with pytest.raises(DataError, match="read-only"):
        vt.study([careless], "wide", "translation(reach=1)")


def test_two_functions_of_one_name_are_told():
    with pytest.raises(BadParameter, match="for two metrics"):
        rows_of([lambda truth, pred: 0.0, lambda truth, pred: 1.0])


@pytest.mark.thorough
def test_own_functions_may_have_parameters():
    def shifted(truth, pred, *, by: float = 1.0):
        return by * abs(float(truth.sum()) - float(pred.sum()))

    study = vt.study({"twice": shifted}, "wide", "scale(reach=2)")
    assert "shifted" in study.to_dict()["metrics"]["twice"]
    assert "by:1.00" in study.to_dict()["metrics"]["twice"]


def test_wrong_names_are_told():
    with pytest.raises(UnknownMetric, match="hausdorff"):
        vt.study("hausdorf")
    with pytest.raises(BadParameter, match="did you mean 'scale'"):
        sweeps_of("scal")
    with pytest.raises(BadParameter, match="multiple of the step"):
        sweeps_of("scale(reach=5, step=2)")
    with pytest.raises(BadParameter, match="whole number"):
        sweeps_of("scale(reach=2.5)")
    with pytest.raises(BadParameter, match="expected reach or step"):
        sweeps_of("scale(rech=2)")
    with pytest.raises(BadParameter, match="at most 180 steps"):
        sweeps_of("translation(reach=1000)")
    with pytest.raises(BadParameter, match="each once"):
        sweeps_of(["scale", "scale"])
    with pytest.raises(BadParameter, match="at least one"):
        rows_of([])
    with pytest.raises(BadParameter, match="for two metrics"):
        rows_of(["iou", *rows_of({"iou": "dice"})])
    with pytest.raises(BadParameter, match="a metric of the study"):
        small().verdict("iuo")


def test_rows_may_be_named_and_renamed():
    assert [row.label for row in rows_of({"mine": "iou"})] == ["mine"]
    assert len(rows_of("all")) > 40
    assert [row.label for row in rows_of(["iou", "iou"])] == ["iou"]


def test_similarities_are_turned():
    iou, pas = (vt.study([name], "wide", "translation(reach=3)") for name in ("iou", "pascal"))
    assert [row.tables["translation(reach=3)"].scores for row in (iou, pas)] == [[5], [5]]
    mine, theirs = (row.evidence.curves["wide", "translation(reach=3)"] for row in (iou, pas))
    np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_couples_of_shifts_follow_from_single_shifts_or_are_asked():
    rows = rows_of({"straight": "centre_distance", "squared": squared, "placed": placed})
    study = vt.study(rows, "wide", "translation(reach=4)")
    shares = triangle_shares(rows, study.evidence.penalty_rules, reach=4)
    assert shares[0] == 0
    # |t2|² > |t1|² + |t2 - t1|² where t1 · (t2 - t1) > 0, a good part of all couples.
    marks = np.array([(y, x) for y in range(-4, 5) for x in range(-4, 5)])
    one, two = np.repeat(marks, 81, axis=0), np.tile(marks, (81, 1))
    assert shares[1] == pytest.approx(((one * (two - one)).sum(axis=1) > 0).mean())
    # A metric that depends on where things are is asked about the couples themselves.
    assert 0 < shares[2] < 1


def squared(pairs):
    return vt.metric("centre_distance").values(pairs) ** 2


def placed(pairs):
    return squared(pairs) * (1 + pairs.truth_box[:, 0] / 10)


def test_combined_alterations_can_be_named():
    assert "translation+scale" in COMBINED
    study = vt.study(["iou"], "wide", "translation+scale(reach=4, step=2)")
    assert study.results == 24
    assert study.tables["translation+scale(reach=4, step=2)"].columns == ("monotony", "continuity", "scale", "shape")


def test_truths_as_sets_are_all_studied():
    assert len(truths_of("silhouettes")) == 8
