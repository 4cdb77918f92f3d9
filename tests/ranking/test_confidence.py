"""Confidences for labels: losses, moved labels, ties within a tolerance."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from tests.oracles import worlds
from tests.ranking.paper import TABLE_4, TABLE_4_TRUTH
from verite.annotation_errors import AtMost, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.errors import BadParameter, DataError, ReadError
from verite.ranking import confidence, curves
from verite.ranking.answers import (
    numbered_item,
)
from verite.ranking.confidence import ScoreTable, check_soft_truth, encode_truth, losses
from verite.ranking.rank import rank


def random_confidences(seed, algorithms=3, items=5, labels=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, items).tolist()
    values = {f"m{j}": np.round(rng.dirichlet(np.ones(labels), items), 3) for j in range(algorithms)}
    for table in values.values():
        table[:, -1] = 1 - table[:, :-1].sum(axis=1)
        table[table < 0] = 0
    return truth, values, rng


def test_log_loss_is_minus_the_logarithm_of_the_true_confidence():
    table = ScoreTable.of([0, 1], {"a": [[0.25, 0.75], [1.0, 0.0]], "b": [[0.5, 0.5], [0.5, 0.5]]}, zero=1e-3)
    lost = losses(table)
    assert lost[0, 0, 0] == pytest.approx(-log(0.25))
    assert lost[0, 1, 1] == pytest.approx(-log(1e-3))
    assert rank(table, Bernoulli(0.1)).scores["b"] == pytest.approx(log(2))


def test_the_printed_divergence_is_the_sum_over_labels():
    eta = 1e-4
    table = ScoreTable.of([0], {"a": [[0.3, 0.7, 0.0]], "b": [[1.0, 0.0, 0.0]]}, loss="kl_printed", zero=eta)
    by_hand = 0.3 * log(0.3 / 1) + 0.7 * log(0.7 / eta) + eta * log(eta / eta)
    assert losses(table)[0, 0, 0] == pytest.approx(by_hand, rel=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["logloss", "kl_printed"])
def test_every_model_equals_the_enumeration_of_all_labellings(seed, loss):
    truth, values, rng = random_confidences(seed)
    rates = rng.uniform(0, 0.5, 5)
    groups = [0, 0, 1, 1, 1]
    table = ScoreTable.of(truth, values, loss=loss, zero=1e-6)
    lost = losses(table)

    def gain(algorithm, item, label):
        return -Fraction(lost[algorithm, item, label])

    recorded = [sum((gain(j, i, t) for i, t in enumerate(truth)), Fraction(0)) for j in range(3)]
    for model, weight in [
        (Bernoulli(0.3), worlds.independent([0.3] * 5)),
        (PerItem(rates), worlds.independent(rates.tolist())),
        (Exactly(2), worlds.exactly(2)),
        (Audit(1, 6), worlds.audit(1, 6)),
        (Shared(0.3, 0.5, groups), worlds.shared(0.3, 0.5, groups)),
        (Shared(0.3, 1.0, groups), worlds.shared(0.3, 1.0, groups)),
    ]:
        expected = worlds.orders(worlds.label_worlds(truth, 3, gain, 3, weight), recorded, 1e-9)
        found = rank(table, model)
        assert found.methods["pairs"] == "exact"
        position = {name: j for j, name in enumerate(table.names)}
        for pair in found.pairs:
            i, j = position[pair.first], position[pair.second]
            exact = [float(v) for v in (expected.ahead[i][j], expected.level[i][j], expected.ahead[j][i])]
            assert [pair.first_ahead, pair.tie, pair.second_ahead] == pytest.approx(exact, rel=1e-12, abs=1e-15)
        assert found.whole == pytest.approx(float(expected.whole), rel=1e-12), str(model)


def test_a_confusion_matrix_sends_labels_where_it_says():
    truth, values = [0, 0], {"a": [[0.8, 0.2, 0.0]] * 2, "b": [[0.7, 0.0, 0.3]] * 2}
    to_second = [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    found = rank(ScoreTable.of(truth, values, confusion=to_second), Bernoulli(0.5))
    # Moved to the second label a loses less than b: a stays ahead whatever happens.
    assert found.pairs[0].kept == pytest.approx(1)
    third = rank(ScoreTable.of(truth, values, confusion=[[0, 0, 1], [1, 0, 0], [1, 0, 0]]), Bernoulli(0.5))
    assert third.pairs[0].kept == pytest.approx(0.25)


def test_many_items_are_drawn_and_agree_with_the_enumeration(monkeypatch):
    truth, values, _ = random_confidences(1)
    exact = rank(ScoreTable.of(truth, values), Bernoulli(0.3))
    monkeypatch.setattr(confidence, "COMBINATIONS", 10)
    drawn = rank(ScoreTable.of(truth, values), Bernoulli(0.3), draws=100_000)
    assert drawn.methods["pairs"].startswith("Monte-Carlo")
    assert drawn.methods["largest_epsilon"].startswith("Monte-Carlo, 100,000 draws at each of 17 rates")
    for one, two in zip(drawn.pairs, exact.pairs, strict=True):
        low, high = one.intervals["kept"]
        assert abs(one.kept - two.kept) < 2 * (high - low)
        # Between two of the rates the curve is taken as straight.
        assert one.largest_epsilon == pytest.approx(two.largest_epsilon, abs=0.01)
    assert drawn.whole_epsilon[0] == pytest.approx(sum(exact.whole_epsilon) / 2, abs=0.05)


def test_the_largest_rate_is_left_open_where_drawing_would_take_too_long(monkeypatch):
    truth, values, _ = random_confidences(1)
    monkeypatch.setattr(confidence, "COMBINATIONS", 10)
    monkeypatch.setattr(curves, "WRONG_RECORDS", 1000)
    drawn = rank(ScoreTable.of(truth, values), Bernoulli(0.3), draws=1000)
    assert drawn.pairs[0].largest_epsilon is None
    assert drawn.methods["largest_epsilon"] == "not known: too many records to draw"
    assert np.isnan(drawn.kept_at("m0", "m1", [0.1])).all()


def test_the_curve_of_a_pair_passes_through_its_probabilities():
    truth, values, _ = random_confidences(2)
    found = rank(ScoreTable.of(truth, values), Bernoulli(0.3))
    for pair in found.pairs:
        assert found.kept_at(pair.first, pair.second, [0, 0.3]) == pytest.approx([1, pair.kept], rel=1e-12)


def test_the_worst_case_sums_the_largest_losses():
    # Leads on the record: item 1 by ln(.9/.1), item 2 by nothing. Moving item 1 to the other label turns it round.
    truth, values = [0, 1], {"a": [[0.9, 0.1], [0.5, 0.5]], "b": [[0.1, 0.9], [0.5, 0.5]]}
    found = rank(ScoreTable.of(truth, values), AtMost(1))
    assert found.pairs[0].errors_to_tie == 1
    assert found.pairs[0].errors_to_reverse == 1
    assert found.pairs[0].certain == "open"
    assert rank(ScoreTable.of(truth, values), AtMost(0)).pairs[0].certain == "kept"


def test_equal_losses_are_a_tie_on_the_record():
    found = rank(ScoreTable.of([0, 1], {"a": [[0.6, 0.4], [0.7, 0.3]], "b": [[0.7, 0.3], [0.6, 0.4]]}), Bernoulli(0.2))
    # ln .6 + ln .3 against ln .7 + ln .4 differ; swapped columns of one item tie.
    assert not found.pairs[0].tied
    tied = rank(ScoreTable.of([0, 0], {"a": [[0.1, 0.9], [0.3, 0.7]], "b": [[0.3, 0.7], [0.1, 0.9]]}), Bernoulli(0.2))
    assert tied.pairs[0].tied


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"A1": [[0.3, 0.1, 0.4, 0]] * 6},
            r"item 1: expected confidences of 'A1' that add up to 1, found 0.8; take them",
        ),
        (
            {"A1": [[-0.1, 0.5, 0.6, 0]] * 6},
            r"item 1: expected confidences from 0 to 1 in 'A1', found -0.1 for label '0'",
        ),
        ({"A1": [[float("nan"), 0.5, 0.5, 0]] * 6}, r"expected confidences from 0 to 1 in 'A1', found nan"),
        ({"A1": [[0.5, 0.5, 0, 0]] * 5}, r"A1: expected 6 rows of 4 confidences"),
    ],
)
def test_confidences_that_cannot_be_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4 | change), Bernoulli(0.1))


def test_rows_can_be_scaled_to_add_up_to_one():
    scaled = ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="scale")
    assert scaled.values.sum(axis=2) == pytest.approx(np.ones((2, 6)))
    assert scaled.values[0, 0, 0] == pytest.approx(0.375)


def divergence(truth, answer, loss):
    """The loss of one item, term by term."""
    if loss == "logloss":
        return -sum(t * log(a) for t, a in zip(truth, answer, strict=True))
    return sum(a * log(a / t) for t, a in zip(truth, answer, strict=True))


@pytest.mark.parametrize("loss", ["logloss", "kl_printed"])
def test_a_soft_truth_equals_the_sum_over_all_ways_to_exchange_confidences(loss):
    truth = [[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.05, 0.05, 0.9]]
    values = {
        "a": [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]],
        "b": [[0.6, 0.1, 0.3], [0.4, 0.5, 0.1], [0.1, 0.2, 0.7]],
    }
    epsilon = 0.3
    below = 0.0
    for moved in product(range(3), repeat=3):  # the label that is true of each item
        weight, lead = 1.0, 0.0
        for i, to in enumerate(moved):
            record = int(np.argmax(truth[i]))
            weight *= 1 - epsilon if to == record else epsilon / 2
            row = list(truth[i])
            row[record], row[to] = row[to], row[record]
            lead += divergence(row, values["b"][i], loss) - divergence(row, values["a"][i], loss)
        below += weight * (lead < 0)
    found = rank(ScoreTable.of(truth, values, loss=loss), Bernoulli(epsilon))
    pair = found.pair("a", "b")
    assert (pair.first_ahead if pair.first == "b" else pair.second_ahead) == pytest.approx(below, rel=1e-12)
    recorded = [divergence(t, a, loss) for t, a in zip(truth, values["a"], strict=True)]
    assert found.scores["a"] == pytest.approx(sum(recorded) / 3)
    assert "|truth:soft|" in str(found.signature)
    assert "changes its confidence for the other's" in found.assumption


@pytest.mark.parametrize("loss", ["logloss", "kl_printed"])
def test_a_soft_truth_that_is_sure_is_the_plain_one(loss):
    truth, values, _ = random_confidences(4)
    soft = check_soft_truth(np.eye(3)[truth], "xyz", str)
    plain = ScoreTable.of(truth, values, loss=loss)
    assert losses(replace(plain, soft=soft)) == pytest.approx(losses(plain), rel=1e-12)


def test_what_one_confidence_leaves_is_shared_by_the_other_labels():
    """The third hypothesis of Lamiroy and Pierrot: one interpretation, in which the truth is more or less sure."""
    assert check_soft_truth(np.array([[0, 0.8, 0]]), "xyz", str)[0] == pytest.approx([0.1, 0.8, 0.1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.2, 0.2], r"item 1: expected confidences of the truth that sum to 1, .* found 0\.9"),
        ([0.4, 0.4, 0.2], "item 1: expected one label with the highest confidence in the truth, found '0' and '1'"),
        ([1.2, -0.2, 0.0], "item 1: expected confidences from 0 to 1 as truth"),
        ([0.5, 0.5], "truth: expected 3 confidences per item, found an array of shape"),
    ],
)
def test_soft_truths_that_cannot_be_are_refused(row, message):
    with pytest.raises(DataError, match=message):
        ScoreTable.of([row], {"a": [[0.2, 0.3, 0.5]], "b": [[0.1, 0.1, 0.8]]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "brier"}, "loss: expected logloss or kl_printed, found 'brier'"),
        ({"zero": 0.0}, "zero: expected what to put in place of zeros, above 0 and below 1, found 0"),
        ({"sums": "ignore"}, "sums: expected check, keep or scale, found 'ignore'"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(BadParameter, match=message):
        ScoreTable.of(TABLE_4_TRUTH, TABLE_4, **{"sums": "keep"} | options)


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def table(values, **more):
    return ScoreTable.of(["x"] * len(values), {"a": values, "b": values}, labels=("x", "y"), **more)


def weighed(*rows):
    return check_soft_truth(np.array(rows, dtype=float), ["x", "y", "z"], numbered_item)


def test_confidences_add_up_to_one_but_for_a_millionth():
    table([[0.5, 0.5 + 9e-7]])
    assert "add up to 1, found 1" in refused(table, [[0.5, 0.5 + 1.05e-6]])
    assert "add up to 1, found 0.4" in refused(table, [[0.2, 0.2]])
    assert table([[0.2, 0.2]], sums="keep").values[0].tolist() == [[0.2, 0.2]]
    assert table([[0.2, 0.2]], sums="scale").values[0].tolist() == [[0.5, 0.5]]
    assert "that can be scaled, found only zeros" in refused(table, [[0.5, 0.5], [0, 0]], sums="scale")
    assert "sums: expected check, keep or scale, found 'x'" in refused(table, [[0.5, 0.5]], sums="x")


def test_confidences_lie_between_0_and_1():
    table([[0.0, 1.0]])
    assert "from 0 to 1 in 'a', found 1.5 for label 'y'" in refused(table, [[0.5, 0.5], [-0.0, 1.5]])
    assert "found -0.5 for label 'x'" in refused(table, [[-0.5, 1.0]], sums="keep")


def test_a_single_soft_confidence_leaves_the_rest_to_the_other_labels():
    assert weighed([0.8, 0, 0])[0] == pytest.approx([0.8, 0.1, 0.1])
    assert weighed([0, 1, 0]).tolist() == [[0, 1, 0]]
    assert weighed([0.5, 0.3, 0.2]).tolist() == [[0.5, 0.3, 0.2]]


def test_soft_labels_are_checked():
    assert "expected 3 confidences per item, found an array of shape (1, 2)" in refused(
        check_soft_truth, np.array([[0.5, 0.5]]), ["x", "y", "z"], numbered_item
    )
    assert "item 2: expected confidences from 0 to 1 as truth" in refused(weighed, [1, 0, 0], [1.5, 0, 0])
    assert "as truth" in refused(weighed, [-0.1, 0.6, 0.5])
    assert "sum to 1, or that of a single label, found 0.8" in refused(weighed, [0.5, 0.3, 0])
    assert "the highest confidence in the truth, found 'x' and 'z'" in refused(weighed, [0.4, 0.2, 0.4])
    weighed([0.5, 0.3, 0.2 + 9e-7])
    assert "sum to 1" in refused(weighed, [0.5, 0.3, 0.2 + 1.05e-6])


def confidences(truth, rows, labels=None):
    return ScoreTable.of(truth, {"a": rows, "b": rows}, labels=labels)


def test_confidences_have_items_and_labels():
    good = [[0.2, 0.8], [0.6, 0.4]]
    assert len(confidences(["0", "1"], good)) == 2
    assert "labels: expected 2, one a column, found 3" in refused(confidences, ["x", "y"], good, ["x", "y", "z"])
    assert "item 2: expected one of the 2 labels as truth, found 'z'" in refused(
        encode_truth, np.array(["x", "z"]), ("x", "y")
    )
    assert encode_truth(np.array(["y", "x"]), ("x", "y")).tolist() == [1, 0]
