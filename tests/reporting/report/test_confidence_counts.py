"""Counts that the report's script reads: exact at every threshold; predictions that do not fit are stated."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH, Text, crowded_pair, random_pair
from verite.reporting.draw import Overlay
from verite.reporting.report.confidence_counts import STEPS, ConfidenceCounts, confusion_by_threshold
from verite.reporting.report.layout import encoded_size
from verite.reporting.report.packed import Packer, pack


@pytest.mark.parametrize("classes", [1, 2, 80])
def test_counts_at_a_threshold_equal_an_evaluation_with_that_threshold(classes):
    truth, pred = random_pair(classes)
    tally = ConfidenceCounts(Overlay(vt.coco(truth, pred, checks="off")))
    counts = tally.by_class.falling
    images = [tally.by_image(np.arange(len(truth.images)), is_tp).falling for is_tp in (True, False)]
    for k in range(0, STEPS, 10):
        again = vt.coco(truth, pred, confidence=k / 100, checks="off")
        fates = again.objects(0.5).columns
        side, fate, label = fates["side"].values, fates["fate"].values, fates["label"].values
        for place, word in ((0, "right"), (1, "wrong")):
            chosen = (side == 1) & (fate == list(fates["fate"].names).index(word))
            assert np.bincount(label[chosen], minlength=classes).tolist() == counts[:, place, k].tolist()
            where = fates["image"].values[chosen]
            assert np.bincount(where, minlength=len(truth.images)).tolist() == images[place][:, k].tolist()


def matrix_at(columns, labels, at):
    """The confusion matrix as the script of the report sums it up."""
    step, truth, pred, many = (columns[f"m_{name}"] for name in ("at", "truth", "pred", "many"))
    chosen = (step >= at) & (step < STEPS) if at < STEPS else step == at
    matrix = np.zeros((labels, labels), dtype=np.int64)
    np.add.at(matrix, (truth[chosen], pred[chosen]), many[chosen])
    return matrix


@pytest.mark.parametrize("matching", ["same-first", "label-free"])
@pytest.mark.parametrize("seed", [0, 1])
def test_confusion_matrix_at_every_threshold_is_that_of_the_analysis(matching, seed):
    results = vt.coco(*crowded_pair(seed=seed), checks="off")
    analysis = vt.analyse(results, matching=matching)
    tally = ConfidenceCounts(Overlay(results), analysis)
    columns = confusion_by_threshold(tally)
    # Where true positives are matched first, one that enters takes its object back.
    assert (columns["m_many"] < 0).any() == (matching == "same-first")
    last = int(100 * results.pred.confidence.max())  # a threshold that leaves nothing is refused
    assert not np.any(matrix_at(columns, 3, STEPS - 1)[:, :2] if last < STEPS - 1 else 0)
    for k in range(last + 1):
        again = vt.analyse(results, matching=matching, confidence=k / 100).confusion.counts
        assert matrix_at(columns, 3, k).tolist() == again[:3, :3].tolist()
    for place, floors in enumerate((tally.confidence, vt.analyse(results).operating.thresholds, "lrp")):
        again = vt.analyse(results, matching=matching, confidence=floors).confusion.counts
        assert matrix_at(columns, 3, STEPS + place).tolist() == again[:3, :3].tolist()


@pytest.mark.parametrize("seed", [0, 1])
def test_error_types_at_a_threshold_equal_an_analysis_with_that_threshold(seed):
    truth, pred = crowded_pair(seed=seed)
    results = vt.coco(truth, pred, checks="off")
    tally = ConfidenceCounts(Overlay(results), vt.analyse(results))
    for k in range(0, STEPS, 7):
        counts = vt.analyse(vt.coco(truth, pred, confidence=k / 100, checks="off")).errors.counts
        wrong = dict(zip(tally.types[1:], tally.by_class.falling[:, 1:, k].sum(axis=0).tolist(), strict=True))
        assert wrong | {"missed": tally.objects.sum() - tally.attributed_by_class.falling[:, k].sum()} == counts


def test_thresholds_of_unbounded_confidences_lie_between_their_extremes():
    truth, pred = random_pair(2)
    scores = vt.Annotations.of(
        [pred.images.name(i) for i in pred.image], [pred.labels.name(i) for i in pred.label], pred.regions.boxes,
        confidence=pred.confidence * 20 - 10,
    )  # fmt: skip
    tally = ConfidenceCounts(Overlay(vt.coco(truth, scores, checks="off")))
    assert tally.steps[0] == scores.confidence.min()
    assert tally.by_class.steps.sum() == len(pred)


def test_predictions_beyond_the_budget_are_counted():
    truth, pred = random_pair(5, images=40)
    tally = ConfidenceCounts(Overlay(vt.coco(truth, pred, checks="off")))
    packer = Packer([tally], [])
    fixed = packer.fixed_columns(tally, np.zeros(0, dtype=np.int64))
    size = encoded_size(pack(fixed)[0])
    data, about = packer.pack_predictions(tally, fixed, size, 10_000_000)
    assert about.left_out == 0
    budget = int((encoded_size(data) - size) * 0.9)
    small, cut = packer.pack_predictions(tally, fixed, size, budget)
    assert encoded_size(small) <= size + budget
    assert cut.left_out > 0
    assert cut.kept + cut.left_out == about.kept
    assert cut.kept >= int((tally.type == 0).sum())


def test_of_very_many_images_the_listed_ones_can_be_opened(tmp_path, monkeypatch):
    for module in ("packed", "report"):
        monkeypatch.setattr(f"verite.reporting.report.{module}.MOST_IMAGES", 20)
    monkeypatch.setattr("verite.reporting.report.sections.images.MOST_LISTED", 5)
    truth, pred = random_pair(2, images=200)
    made = vt.report(truth, pred, tmp_path / "a.html", checks="off")
    document = vt.read_report(made)
    opened = document["packed"]["opened"]
    assert 5 <= opened == len(document["images"]["names"]) < 200
    assert f"Of 200 images the {opened} listed in this report can be opened" in Text(made.read_text()).text
    assert document["systems"][0]["packed"]["kept"] < len(pred)


def test_of_too_many_classes_the_worst_have_all_numbers_and_the_others_one_score(tmp_path, monkeypatch):
    monkeypatch.setattr("verite.reporting.report.sections.classes.MOST_ROWS", 20)
    monkeypatch.setattr("verite.reporting.report.sections.classes.LEAST_ROWS", 5)
    truth, pred = random_pair(30)
    made = vt.report(truth, {"a": pred, "b": pred}, tmp_path / "a.html", checks="off", draws=0)
    document, scores = vt.read_report(made), vt.coco(truth, pred, checks="off").class_scores()["AP"]
    rows = document["systems"][0]["classes"]["rows"]
    assert [row[1] for row in rows] == sorted(score for score in scores if score == score)[:10]
    assert [one[0] for one in document["classes"]["scores"]] == [round(score, 6) for score in scores if score == score]
    assert "The 10 worst of 30 classes" in Text(made.read_text()).text


def test_masks_have_outlines_in_all_images_or_the_report_says_in_how_many(tmp_path, monkeypatch):
    every = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", on="mask", pictures="none")
    assert "outlines when opened" not in Text(every.read_text()).text
    for module, name in (
        ("sections.images", "MOST_LISTED"),
        ("sections.costly_errors", "MOST_CROPS"),
        ("packed", "MOST_OUTLINED"),
    ):
        monkeypatch.setattr(f"verite.reporting.report.{module}.{name}", 3)
    monkeypatch.setattr("verite.reporting.report.sections.suspicious.MOST_SUSPECTS", 0)
    some = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "b.html", on="mask", pictures="none")
    outlined = vt.read_report(some)["packed"]["outlined"]
    assert 3 <= outlined <= 7
    assert f"In {outlined}\u00a0images masks have outlines when opened" in Text(some.read_text()).text
