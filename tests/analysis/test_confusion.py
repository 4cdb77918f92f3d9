"""Confusion: by hand, its invariants on random sets, and hotcoco's where the definitions agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import analyse_case, evaluate_by_hotcoco, scene, sides, write_pair
from tests.oracles.analysis import pair_greedily, random_world
from verite.analysis.confusion import ConfusionMatcher, confusion_by_threshold


def test_a_right_prediction_that_also_overlaps_another_label_is_not_confused() -> None:
    """A person on a horse: label-free pairing gives the person to the horse, which it overlaps more."""
    truths = [("person", [0, 0, 10, 8]), ("horse", [0, 0, 10, 10])]
    both = scene(truths, [("person", 0.9, [0, 0, 10, 9.5])])
    first = vt.analyse(*both, iou=0.5, confidence=0.0).confusion
    assert first.labels == ["person", "horse"]
    assert first.matrix.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    free = vt.analyse(*both, iou=0.5, confidence=0.0, matching="label-free").confusion
    assert free.matrix.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]


def test_what_is_left_takes_the_left_truth_it_overlaps_most() -> None:
    truths = [("a", [0, 0, 10, 10]), ("b", [0, 0, 10, 8]), ("a", [50, 50, 10, 10]), ("c", [90, 90, 9, 9])]
    preds = [("c", 0.9, [0, 0, 10, 10]), ("c", 0.8, [0, 0, 10, 9]), ("a", 0.7, [80, 80, 10, 10])]
    found = vt.analyse(*scene(truths, preds), iou=0.5, confidence=0.0, checks="off").confusion
    assert found.labels == ["a", "b", "c"]
    assert found.matrix.tolist() == [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    assert found.pairs()[0]["count"] == 1


@pytest.mark.parametrize("seed", range(25))
def test_diagonal_rows_and_columns_are_the_protocols_own_counts(seed: int, tmp_path: Path) -> None:
    known, pred = sides(*random_world(seed, ties=seed % 3 == 0, unseen=seed % 5 == 0), tmp_path)
    results = vt.coco(known, pred)
    for cut in (0.0, 0.35, 0.7):
        found = results.analyse(confidence=cut).confusion
        alone = vt.coco(known, pred, confidence=cut, checks="off")  # the protocol on what is kept
        finds = alone.matches(0.5)
        names = known.labels.all_names
        right = np.bincount(known.label[finds.matched_pred >= 0], minlength=len(names))
        asked = np.bincount(known.label[finds.counted_truth], minlength=len(names))
        kept = np.bincount(alone.pred.label[finds.counted_pred], minlength=len(names))
        chosen = [names.index(name) for name in found.labels]
        matrix = found.matrix
        assert matrix.diagonal()[:-1].tolist() == right[chosen].tolist()
        assert matrix.sum(axis=1)[:-1].tolist() == asked[chosen].tolist()
        assert matrix.sum(axis=0)[:-1].tolist() == kept[chosen].tolist()
        off = matrix[:-1].sum() - matrix.diagonal()[:-1].sum()
        assert off == asked.sum() - right.sum()
        assert matrix[-1, -1] == 0


def test_shares_of_rows_are_recall_and_of_columns_precision(tmp_path: Path) -> None:
    found = vt.analyse(*sides(*random_world(4), tmp_path), iou=0.5)
    at = found.operating
    told = {k: one.point(one.at(at.confidence)) for k, one in at.labels.items()}
    for i, label in enumerate(found.confusion.chosen.tolist()):
        if label in told:
            assert found.confusion.by_truth()[i, i] == pytest.approx(told[label]["recall"])
            assert found.confusion.by_pred()[i, i] == pytest.approx(told[label]["precision"], nan_ok=True)


def test_each_label_may_have_its_own_threshold(tmp_path: Path) -> None:
    known, pred = sides(*random_world(6), tmp_path)
    floors = {"c1": 0.8, "c2": 0.2}
    path = tmp_path / "thresholds.json"
    path.write_text(json.dumps(floors | {"c3": None}))
    found = vt.analyse(known, pred, confidence=str(path)).confusion
    kept = {name: int(found.matrix[:, i].sum()) for i, name in enumerate(found.labels)}
    whole = vt.analyse(known, pred, confidence=0.0).confusion
    assert kept["c4"] == int(whole.matrix[:, whole.labels.index("c4")].sum())
    alone = vt.coco(known, pred, confidence=floors).matches(0.5)
    assert sum(kept.values()) == alone.counted_pred.sum()


@pytest.mark.parametrize("seed", range(5))
def test_label_free_pairing_equals_hotcocos_where_there_are_no_crowds(seed: int, tmp_path: Path) -> None:
    hotcoco = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'")
    paths = write_pair(tmp_path, *random_world(seed, crowds=False))
    truth = hotcoco.COCO(paths[0])
    theirs = hotcoco.COCOeval(truth, truth.load_res(paths[1]), "bbox").confusion_matrix(iou_thr=0.5)
    known = vt.read(paths[0])
    found = vt.analyse(known, vt.read(paths[1], like=known), confidence=0.0, matching="label-free").confusion
    chosen = [theirs["cat_names"].index(name) for name in found.labels] + [theirs["num_cats"]]
    assert found.matrix.tolist() == np.asarray(theirs["matrix"])[np.ix_(chosen, chosen)].tolist()


def test_classes_without_objects_need_no_memory_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 classes, two of which occur: a table of all pairs would have 20 GB."""
    names = [f"class {k}" for k in range(50_000)]
    truth = vt.Annotations.of(["a", "a"], ["class 7", "class 9"], [[0, 0, 10, 10], [20, 20, 30, 30]], labels=names)
    pred = vt.Annotations.of(
        ["a", "a"], ["class 7", "class 7"], [[0, 0, 10, 10], [20, 20, 30, 30]], confidence=[0.9, 0.8], labels=names
    )
    found = vt.analyse(vt.voc(truth, pred), confidence=0.5).confusion
    assert found.labels == ["class 7", "class 9"]
    assert found.matrix.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    monkeypatch.setenv("VERITE_LIMIT_CONFUSION_CELLS", "3")
    with pytest.raises(vt.DataError, match="VERITE_LIMIT_CONFUSION_CELLS"):
        vt.analyse(vt.voc(truth, pred), confidence=0.5).confusion.matrix  # noqa: B018


def test_beyond_the_limit_confused_pairs_are_shown_without_a_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two objects of class b is predicted as a: the pair is found without a table of all classes."""
    boxes = [[0, 0, 10, 10], [20, 20, 30, 30], [50, 50, 70, 70]]
    truth = vt.Annotations.of(["i"] * 3, ["a", "b", "b"], boxes)
    pred = vt.Annotations.of(["i"] * 3, ["a", "a", "b"], boxes, confidence=[0.9, 0.8, 0.7])
    whole = vt.analyse(vt.voc(truth, pred), confidence=0.5)
    monkeypatch.setenv("VERITE_LIMIT_CONFUSION_CELLS", "3")
    found = vt.analyse(vt.voc(truth, pred), confidence=0.5)
    assert [(one["truth"], one["pred"], one["count"], one["truths"]) for one in found.confusion.pairs()] == [
        ("b", "a", 1, 2)
    ]
    assert found.confusion.pairs() == whole.confusion.pairs()
    assert found.confusion.to_dict()["matrix"] is None
    assert any("VERITE_LIMIT_CONFUSION_CELLS" in str(part) for part in found.confusion.contents())
    found.plot("confusion")
    page = vt.report(truth, pred, tmp_path / "page.html").read_text()
    assert "The matrix of 2 classes is not shown." in page


@pytest.mark.parametrize("matching", ["same-first", "label-free"])
@pytest.mark.parametrize("protocol", ["coco", "voc"])
@pytest.mark.parametrize("seed", range(12))
def test_the_cores_matching_pairs_what_a_plain_loop_pairs(
    seed: int, protocol: str, matching: str, tmp_path: Path
) -> None:
    """Crowded images with equal confidences and equal IoUs, at several thresholds: every pair is the same."""
    truth, results = random_world(seed, images=20, objects=10, extra=12, ties=seed % 2 == 0, unseen=seed % 3 == 0)
    for k, record in enumerate(truth["annotations"][1::2]):  # two objects in one place, of two classes
        record["bbox"] = truth["annotations"][2 * k]["bbox"]
        record["image_id"] = truth["annotations"][2 * k]["image_id"]
    matches = vt.analyse(*sides(truth, results, tmp_path), protocol=protocol, checks="off").matches
    matcher, pairs = ConfusionMatcher(matches, matching), matches.pairs
    listed = list(zip(pairs.pred.tolist(), pairs.truth.tolist(), pairs.overlap.tolist(), strict=True))
    paired = 0
    for threshold in (0.0, 0.3, 0.6, 0.9):
        is_kept = matches.counted_pred & (matches.confidence >= threshold)
        is_open, is_free, is_allowed = is_kept, matches.counted_truth.copy(), np.ones(len(listed), dtype=bool)
        expected = np.full(len(is_kept), -1)
        if matching == "same-first":
            expected = np.where(is_kept & matches.is_tp, matches.outcomes.truth, -1)
            is_free[expected[expected >= 0]] = False
            is_open, is_allowed = is_kept & ~matches.is_tp, ~pairs.same_class
        rest = pair_greedily(
            listed, matches.rank, matches.thresholds[matches.main_threshold], is_open=is_open, is_free=is_free,
            is_allowed=is_allowed, last_of_equals=matching == "label-free",
        )  # fmt: skip
        expected = np.where(np.array(rest) >= 0, rest, expected)
        assert matcher.match(is_kept).tolist() == expected.tolist()
        paired += sum(row >= 0 for row in rest)
    assert paired > 5


@pytest.mark.parametrize("matching", ["same-first", "label-free"])
def test_changes_by_threshold_add_up_to_the_matrix_at_every_threshold(matching: str, tmp_path: Path) -> None:
    results = vt.coco(*sides(*random_world(5, ties=True, objects=8), tmp_path))
    analysis = results.analyse(matching=matching)
    step = np.round(analysis.matches.confidence * 10).astype(int)  # confidences are whole tenths
    changes = list(confusion_by_threshold(analysis.matches, step, matching))
    assert len(changes) >= 20
    assert all(change for *_, change in changes)
    for at in range(11):
        found = np.zeros((4, 4), dtype=int)
        for later, truth, pred, change in changes:
            found[truth, pred] += change if later >= at else 0
        alone = results.analyse(matching=matching, confidence=at / 10 - 0.05).confusion
        assert found.tolist() == alone.counts[:-1, :-1].tolist()


def test_a_person_on_a_horse_is_a_person() -> None:
    assert analyse_case("confusion-same-label-first").confusion.matrix.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_hotcoco_takes_the_person_for_the_horse_though_its_own_ap_counts_it() -> None:
    run = evaluate_by_hotcoco("confusion-same-label-first")
    assert np.asarray(run.confusion_matrix(iou_thr=0.5)["matrix"]).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert run.tide_errors()["ap_base"] == pytest.approx(0.5)
