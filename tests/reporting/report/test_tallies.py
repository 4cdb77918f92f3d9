"""Counts that the page's script reads: exact at every step, and what does not fit is told."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH, Text, crowded_pair, random_pair
from verite.reporting.draw import Overlay
from verite.reporting.report.packed import STEPS, ConfidenceTally, Packer, find_mixups


@pytest.mark.parametrize("classes", [1, 2, 80])
def test_slider_counts_are_those_of_leaving_predictions_out(classes):
    truth, pred = random_pair(classes)
    tally = ConfidenceTally(Overlay(vt.coco(truth, pred, checks="off")))
    counts = tally.by_label.falling
    images = [tally.by_image(np.arange(len(truth.images)), is_right).falling for is_right in (True, False)]
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
    """What a page's script sums up."""
    step, truth, pred, many = (columns[f"m_{name}"] for name in ("at", "truth", "pred", "many"))
    chosen = (step >= at) & (step < STEPS) if at < STEPS else step == at
    matrix = np.zeros((labels, labels), dtype=np.int64)
    np.add.at(matrix, (truth[chosen], pred[chosen]), many[chosen])
    return matrix


@pytest.mark.parametrize("matching", ["same-first", "label-free"])
@pytest.mark.parametrize("seed", [0, 1])
def test_confusion_at_every_step_and_choice_is_that_of_the_analysis(matching, seed):
    results = vt.coco(*crowded_pair(seed=seed), checks="off")
    analysis = vt.analyse(results, matching=matching)
    tally = ConfidenceTally(Overlay(results), analysis)
    columns = find_mixups(tally)
    # Where right ones come first, one that enters takes its truth back.
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
def test_errors_of_each_type_at_every_step_are_those_of_leaving_predictions_out(seed):
    truth, pred = crowded_pair(seed=seed)
    results = vt.coco(truth, pred, checks="off")
    tally = ConfidenceTally(Overlay(results), vt.analyse(results))
    for k in range(0, STEPS, 7):
        counts = vt.analyse(vt.coco(truth, pred, confidence=k / 100, checks="off")).errors.counts
        wrong = dict(zip(tally.types[1:], tally.by_label.falling[:, 1:, k].sum(axis=0).tolist(), strict=True))
        assert wrong | {"missed": tally.truths.sum() - tally.reached.falling[:, k].sum()} == counts


def test_confidences_that_are_no_shares_have_steps_between_their_extremes():
    truth, pred = random_pair(2)
    scores = vt.Annotations.of(
        [pred.images.name(i) for i in pred.image], [pred.labels.name(i) for i in pred.label], pred.regions.boxes,
        confidence=pred.confidence * 20 - 10,
    )  # fmt: skip
    tally = ConfidenceTally(Overlay(vt.coco(truth, scores, checks="off")))
    assert tally.steps[0] == scores.confidence.min()
    assert tally.by_label.steps.sum() == len(pred)


def test_what_does_not_fit_is_counted_and_said():
    truth, pred = random_pair(5, images=40)
    tally = ConfidenceTally(Overlay(vt.coco(truth, pred, checks="off")))
    packer = Packer([tally], [])
    data, about = packer.pack_system(tally, 10_000_000)
    assert about["left_out"] == 0
    budget = int(4 / 3 * len(data) * 0.9)
    small, cut = packer.pack_system(tally, budget)
    assert 4 * len(small) // 3 <= budget
    assert cut["left_out"] > 0
    assert cut["kept"] + cut["left_out"] == about["kept"]
    assert cut["kept"] >= int((tally.kind == 0).sum())


def test_of_many_images_those_on_the_page_can_be_opened_and_the_page_says_so(tmp_path, monkeypatch):
    for module in ("packed", "summary"):
        monkeypatch.setattr(f"verite.reporting.report.{module}.MOST_IMAGES", 20)
    monkeypatch.setattr("verite.reporting.report.document.LISTED_IMAGES", 5)
    truth, pred = random_pair(2, images=200)
    made = vt.report(truth, pred, tmp_path / "a.html", checks="off")
    document = vt.read_report(made)
    opened = document["packed"]["opened"]
    assert 5 <= opened == len(document["images"]["names"]) < 200
    assert f"Of 200 images the {opened} listed in this report can be opened" in Text(made.read_text()).text
    assert document["systems"][0]["packed"]["kept"] < len(pred)


def test_of_too_many_classes_the_worst_have_all_numbers_and_all_have_one(tmp_path, monkeypatch):
    monkeypatch.setattr("verite.reporting.report.summary.MOST_ROWS", 20)
    monkeypatch.setattr("verite.reporting.report.summary.LEAST_ROWS", 5)
    truth, pred = random_pair(30)
    made = vt.report(truth, {"a": pred, "b": pred}, tmp_path / "a.html", checks="off", draws=0)
    document, scores = vt.read_report(made), vt.coco(truth, pred, checks="off").class_scores()["AP"]
    rows = document["systems"][0]["classes"]["rows"]
    assert [row[1] for row in rows] == sorted(score for score in scores if score == score)[:10]
    assert [one[0] for one in document["classes"]["scores"]] == [round(score, 6) for score in scores if score == score]
    assert "The 10 worst of 30 classes" in Text(made.read_text()).text


def test_masks_have_outlines_in_all_images_and_the_page_says_where_they_have_not(tmp_path, monkeypatch):
    every = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", on="mask", pictures="none")
    assert "outlines when opened" not in Text(every.read_text()).text
    for module, name in (("document", "LISTED_IMAGES"), ("document", "MOST_CROPS"), ("packed", "MOST_OBJECTS")):
        monkeypatch.setattr(f"verite.reporting.report.{module}.{name}", 3)
    monkeypatch.setattr("verite.reporting.report.summary.MOST_SUSPECTS", 0)
    some = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "b.html", on="mask", pictures="none")
    outlined = vt.read_report(some)["packed"]["outlined"]
    assert 3 <= outlined <= 7
    assert f"In {outlined}\u00a0images masks have outlines when opened" in Text(some.read_text()).text
