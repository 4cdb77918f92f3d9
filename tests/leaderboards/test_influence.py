"""Influential annotations: verified by evaluating without them, and by brute force on small datasets; the audit."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import verite as vt
from tests.leaderboards.test_simulation import read_detectors
from verite.annotation_errors import Detection
from verite.leaderboards.audit import audit_table, observed_odds, read_rows, sample_with_weights
from verite.leaderboards.influence import min_flip_size, removal_influence, sensitivity_gamma


def small_dataset(folder, seed):
    """Twelve objects of two classes and two detectors."""
    rng = np.random.default_rng(seed)
    boxes = [[20 * i, 0, 20 * i + 15, 15] for i in range(12)]
    labels = [f"class {i % 2}" for i in range(12)]
    truth = vt.Annotations.of([f"{i % 4}" for i in range(12)], labels, boxes)
    preds = []
    for skill in (0.8, 0.6):
        rows = np.flatnonzero(rng.random(12) < skill)
        jitter = rng.normal(0, 1.0, (len(rows), 4))
        own = np.array(boxes)[rows] + jitter
        names = [f"{i % 4}" for i in rows], [labels[i] for i in rows]
        known = {"images": [f"{i}" for i in range(4)], "labels": ["class 0", "class 1"]}
        preds.append(vt.Annotations.of(*names, own, confidence=rng.random(len(rows)), **known))
    return truth, preds


def test_influence_is_the_change_of_the_score_without_one_annotation(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 3)
    result = vt.coco(truth, preds["d0"], checks="off")
    rows = np.flatnonzero(~truth.crowd)[:15]
    found = removal_influence(result, "AP", rows)
    for row, change in zip(rows, found, strict=True):
        without = vt.coco(truth.take(np.delete(np.arange(len(truth)), row)), preds["d0"], checks="off")["AP"].value
        assert change == pytest.approx(without - result["AP"].value, abs=1e-12)


@pytest.mark.slow
def test_the_flip_set_found_is_an_upper_bound_of_the_smallest_one(tmp_path):
    compared, more = 0, []
    for seed in range(40):
        truth, preds = small_dataset(tmp_path, seed)
        results = sorted((vt.coco(truth, pred, checks="off") for pred in preds), key=lambda r: -r["AP"].value)
        gap = results[0]["AP"].value - results[1]["AP"].value
        rows = np.arange(12)
        change = removal_influence(results[0], "AP", rows) - removal_influence(results[1], "AP", rows)
        if gap < 1e-6:
            continue
        found = min_flip_size(results, "AP", rows, np.nan_to_num(change), gap)
        if found is None:
            continue
        order = np.argsort(np.nan_to_num(change), kind="stable")[:found]
        assert is_swapped(results, truth, order.tolist())
        fewest = smallest_flip_set(results, truth)
        if fewest is not None:
            assert fewest <= found
            more.append(found - fewest)
            compared += 1
    assert compared >= 8
    assert np.mean(more) <= 1.0  # how far the greedy number is from the fewest, in the mean


def smallest_flip_set(results, truth):
    """The smallest set of up to four annotations, by trying all."""
    for size in range(1, 5):
        if any(is_swapped(results, truth, removed) for removed in combinations(range(12), size)):
            return size
    return None


def is_swapped(results, truth, removed):
    kept = truth.take(np.delete(np.arange(12), list(removed)))
    one, two = (vt.coco(kept, r.evaluation.pred, checks="off")["AP"].value for r in results)
    return one - two < -1e-12


def test_gamma_is_where_the_expected_gap_is_zero():
    change = np.array([-0.02, -0.01, 0.01])
    rates = np.full(3, 0.1)
    gamma = sensitivity_gamma(0.01, change, rates)
    odds = gamma * 0.1 / 0.9
    assert 0.01 + odds / (1 + odds) * -0.03 + 0.1 * 0.01 == pytest.approx(0.0, abs=1e-9)
    assert sensitivity_gamma(0.05, change, rates) is None  # even if all of them are spurious
    assert sensitivity_gamma(0.01, change, np.zeros(3)) is None
    assert sensitivity_gamma(0.0005, np.array([-0.02]), np.array([0.1])) == 1.0


def test_removing_the_flip_set_swaps_the_detectors(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, draws=20, checks="off")
    flip = board.influence["AP"].flip
    assert flip[-1] is None
    results = {name: vt.coco(truth, pred, checks="off") for name, pred in preds.items()}
    for i, count in enumerate(flip[:-1]):
        if count is None:
            continue
        one, two = board.names[i : i + 2]
        rows = np.flatnonzero(~truth.crowd)
        change = removal_influence(results[one], "AP", rows) - removal_influence(results[two], "AP", rows)
        left = truth.take(np.delete(np.arange(len(truth)), rows[np.argsort(change)[:count]]))
        assert vt.coco(left, preds[one], checks="off")["AP"].value < vt.coco(left, preds[two], checks="off")["AP"].value


def test_audited_annotations_are_as_found_in_every_simulation(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    errors = Detection(spurious=0.1, missing=0.1)
    board = vt.leaderboard(truth, preds, errors=errors, draws=30, audit_size=12, checks="off")
    assert len(board.audit) == 12
    assert {row.kind for row in board.audit} <= {"spurious", "missing"}
    (tmp_path / "audit.csv").write_text(audit_table(board.audit).to_csv())
    rows = read_rows(tmp_path / "audit.csv")
    assert [row.location for row in rows] == [row.location for row in board.audit]
    lines = (tmp_path / "audit.csv").read_text().splitlines()
    verdicts = {}
    for i, row in enumerate(rows):
        if row.kind == "spurious":
            verdicts[i] = "wrong" if len(verdicts) % 2 else "right"
            lines[i + 1] += verdicts[i]
    (tmp_path / "audit.csv").write_text("\n".join(lines) + "\n")
    checked = vt.leaderboard(truth, preds, errors=errors, audit=tmp_path / "audit.csv", draws=30, checks="off")
    changes = checked.simulation.ground_truths.changes(0, 30)
    for i, verdict in verdicts.items():
        at = next(
            k for k in range(len(truth)) if np.allclose(truth.regions.sizes[k], rows[i].location[2:6])
            and truth.images.name(int(truth.image[k])) == rows[i].image
        )  # fmt: skip
        gone = [at in changes.draw(k)[0] for k in range(30)]
        assert all(gone) if verdict == "wrong" else not any(gone)


def test_an_object_found_missing_is_added_in_every_simulation(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, errors=Detection(missing=0.3), draws=10, checks="off")
    row = next(row for row in board.audit if row.kind == "missing")
    checked = vt.leaderboard(truth, preds, audit=[replace(row, verdict="wrong")], draws=10, checks="off")
    changes = checked.simulation.ground_truths.changes(0, 10)
    for i in range(10):
        removed, added, labels, again = changes.draw(i)
        assert len(added) >= 1
        assert {truth.labels.name(int(label)) for label in labels} == {row.label}
        assert not len(removed)
        assert not len(again)


def test_verdicts_of_the_random_part_give_the_rate_of_spurious_annotations(tmp_path):
    """Weights 10, 10 and 20, the first wrong: a quarter; effectively 40² / 600 = 2.67 annotations were checked."""
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, draws=20, audit_size=6, checks="off")
    rows = [row for row in board.audit if row.kind == "spurious"][:5]
    marks = [(10.0, "wrong"), (10.0, "right"), (20.0, "right"), (None, "wrong"), (5.0, "unsure")]
    marked = [replace(row, weight=w, verdict=verdict) for row, (w, verdict) in zip(rows, marks, strict=True)]
    (tmp_path / "audit.csv").write_text(audit_table(marked).to_csv())
    checked = vt.leaderboard(truth, preds, audit=tmp_path / "audit.csv", draws=20, checks="off")
    assert checked.errors.spurious == pytest.approx((1600 / 600 / 4, 1600 / 600))


def test_verdicts_of_chosen_annotations_give_no_rate(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, draws=5, audit_size=6, checks="off")
    chosen = [replace(row, verdict="right") for row in board.audit if row.weight is None]
    with pytest.raises(vt.VeriteError, match=r"expected a rate of spurious errors .* were chosen"):
        vt.leaderboard(truth, preds, audit=chosen, draws=5, checks="off")
    given = vt.leaderboard(truth, preds, audit=chosen, errors=Detection(spurious=0.1), draws=5, checks="off")
    assert given.errors.spurious == 0.1


def test_the_audit_has_both_signs_by_variance_and_hides_whom_a_row_favours(tmp_path):
    """Two detectors: rows are sorted by c², of either sign; the table shows |c| and not the favoured detector."""
    _, truth, preds = read_detectors(tmp_path, 3)
    two = {name: preds[name] for name in ("d0", "d1")}
    board = vt.leaderboard(truth, two, errors=Detection(spurious=0.1), draws=20, audit_size=20, checks="off")
    results = {name: vt.coco(truth, pred, checks="off") for name, pred in two.items()}
    rows = np.flatnonzero(~truth.crowd)
    one, other = board.names
    change = removal_influence(results[one], "AP", rows) - removal_influence(results[other], "AP", rows)
    chosen = [row for row in board.audit if row.weight is None]
    drawn = [row for row in board.audit if row.weight is not None]
    assert len(drawn) == 2
    assert all(row.weight >= 1 for row in drawn)
    rest = np.sort(np.abs(change))[::-1].tolist()
    for row in drawn:  # at random: they are not in the sorted part
        rest.pop(int(np.argmin(np.abs(np.array(rest) - abs(row.influence)))))
    assert [abs(row.influence) for row in chosen] == pytest.approx(rest[: len(chosen)], abs=1e-12)
    assert {row.favours for row in chosen} == {one, other}
    assert all((row.influence < 0) == (row.favours == one) for row in chosen)
    table = audit_table(board.audit)
    assert "favours" not in table.head
    assert all(value >= 0 for value in (row[table.head.index("influence")] for row in table.rows))
    assert not any(name in row.reason.partition(" changes by")[2] for row in chosen for name in board.names)
    assert json.loads(board.to_json())["audit"][0]["favours"] in board.names


def test_observed_odds_are_statsmodels_with_half_an_annotation_in_each_cell():
    """30 annotations that only the first detector finds, 9 of them wrong; 20 of the second, 1 wrong; 6 of both."""
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="statsmodels is in the group 'test'")
    first = np.repeat([True, False, True], [30, 20, 6])
    second = np.repeat([False, True, True], [30, 20, 6])
    wrong = np.concatenate([np.arange(30) < 9, np.arange(20) < 1, np.ones(6, bool)])
    found = observed_odds(first, second, wrong)
    table = tables.Table2x2(np.array([[9.5, 21.5], [1.5, 19.5]]))
    assert found is not None
    assert found.value == pytest.approx(table.oddsratio)
    assert (found.low, found.high) == pytest.approx(table.oddsratio_confint(0.05))


def test_a_systematic_sample_includes_each_position_with_its_probability():
    probabilities = np.array([0.1, 0.4, 1.0, 0.25, 0.25])
    counts = np.zeros(5)
    for seed in range(4000):
        at, weights = sample_with_weights(probabilities, np.random.default_rng(seed))
        assert len(at) == 2
        assert weights == pytest.approx(1 / probabilities[at])
        counts[at] += 1
    assert counts / 4000 == pytest.approx(probabilities, abs=0.03)


def test_odds_of_checked_annotations_stand_beside_gamma(tmp_path):
    """5 of 8 wrong where only the leader finds them, 1 of 6 where only the other: (5.5/3.5) / (1.5/5.5) = 5.76."""
    first = np.array([True] * 8 + [False] * 6 + [True] * 3)
    second = np.array([False] * 8 + [True] * 6 + [True] * 3)
    wrong = np.array([True] * 5 + [False] * 3 + [True] + [False] * 5 + [True] * 3)
    odds = observed_odds(first, second, wrong)
    reach = 1.959963984540054 * np.sqrt(1 / 5.5 + 1 / 3.5 + 1 / 1.5 + 1 / 5.5)
    assert odds.value == pytest.approx(5.5 / 3.5 / (1.5 / 5.5))
    assert (odds.low, odds.high) == pytest.approx((odds.value * np.exp(-reach), odds.value * np.exp(reach)))
    assert observed_odds(first, first, wrong) is None
    _, truth, preds = read_detectors(tmp_path, 2)
    errors = Detection(spurious=0.1)
    board = vt.leaderboard(truth, preds, errors=errors, draws=20, audit_size=200, checks="off")
    rows = [replace(row, verdict="wrong" if row.favours == board.names[0] else "right") for row in board.audit]
    checked = vt.leaderboard(truth, preds, errors=errors, audit=rows, draws=20, checks="off")
    found = json.loads(checked.to_json())["detectors"][0]["checked_odds"]
    assert found["low"] < found["value"] < found["high"]
    assert "odds of checked annotations" in checked.to_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,label\n", "expected the columns image,label,x"),
        ("image,label,x,y,width,height,kind,verdict\n1.jpg,class 1,0,0,5,5,spurious,maybe\n", "right, wrong, unsure"),
        ("image,label,x,y,width,height,kind,verdict\n1.jpg,class 1,0,0,5,5,odd,right\n", "the kind spurious"),
        ("image,label,x,y,width,height,kind,verdict\n1.jpg,class 1,0,a,5,5,spurious,right\n", "four numbers of a box"),
        ("image,label,x,y,width,height,kind,weight,verdict\n1.jpg,c,0,0,5,5,box,0.5,right\n", "a weight from 1 up"),
        (
            "image,label,x,y,width,height,kind,verdict\n1.jpg,class 1,0,0,5,5,spurious,right\n",
            "annotations of this ground truth",
        ),
    ],
)
def test_an_audit_that_does_not_fit_is_refused(tmp_path, text, message):
    _, truth, preds = read_detectors(tmp_path, 2)
    (tmp_path / "audit.csv").write_text(text)
    with pytest.raises(vt.VeriteError, match=message):
        vt.leaderboard(truth, preds, audit=tmp_path / "audit.csv", draws=5, checks="off")
