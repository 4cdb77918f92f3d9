"""One of several labels: a wrong record is one of the other labels, and both may be wrong in different ways."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tests.oracles import worlds
from verite.annotation_errors import Asymmetric, AtMost, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.errors import BadParameter, DataError
from verite.ranking.answers import AnswerTable
from verite.ranking.outcomes import agreement
from verite.ranking.problem import AnswerProblem
from verite.ranking.rank import rank


def random_labels(seed, algorithms, items, labels):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, items)
    answers = [np.where(rng.random(items) < 0.6, truth, rng.integers(0, labels, items)) for _ in range(algorithms)]
    return truth.tolist(), [a.tolist() for a in answers], rng


@pytest.mark.parametrize(("algorithms", "items", "labels"), [(2, 6, 3), (2, 5, 4), (3, 5, 4), (4, 5, 3)])
@pytest.mark.parametrize("with_confusion", [False, True])
def test_every_model_equals_the_enumeration_of_all_labellings(algorithms, items, labels, with_confusion):
    truth, answers, rng = random_labels(algorithms + 10 * items + labels, algorithms, items, labels)
    matrix = None
    if with_confusion:
        # Shares with short binary fractions, some of them zero, so that rows add up to one exactly.
        matrix = np.zeros((labels, labels))
        for row in range(labels):
            others = [c for c in range(labels) if c != row]
            matrix[row, others] = [0.75, 0.25] if labels == 3 else [0.5, 0.5, 0.0]
    rates = rng.uniform(0, 0.5, items)
    groups = [0, 0, 1, 1, 2, 2][:items]
    models = [
        (Bernoulli(0.2), worlds.independent([0.2] * items)),
        (PerItem(rates), worlds.independent(rates.tolist())),
        (Exactly(2), worlds.exactly(2)),
        (Audit(1, 5), worlds.audit(1, 5)),
        (Shared(0.2, 0.4, groups), worlds.shared(0.2, 0.4, groups)),
        (Shared(0.2, 1.0, groups), worlds.shared(0.2, 1.0, groups)),
    ]
    table = AnswerTable.of(
        np.array(truth), {f"m{j}": np.array(a) for j, a in enumerate(answers)}, kind="labels",
        labels=[str(v) for v in range(labels)], confusion=matrix,
    )  # fmt: skip
    recorded = [sum(a == t for a, t in zip(column, truth, strict=True)) for column in answers]

    def gain(algorithm, item, label):
        return Fraction(answers[algorithm][item] == label)

    for model, weight in models:
        given = None if matrix is None else matrix.tolist()
        expected = worlds.orders(worlds.label_worlds(truth, labels, gain, algorithms, weight, given), recorded)
        problem = AnswerProblem(table, model)
        standings = problem.standings()
        if algorithms > 2:
            assert standings.ranks.ravel().tolist() == pytest.approx(
                [float(v) for row in expected.places for v in row], rel=1e-12, abs=1e-15
            ), str(model)
            if expected.whole is not None:
                assert standings.whole == pytest.approx(float(expected.whole), rel=1e-12), str(model)
        for i in range(algorithms):
            for j in range(i):
                found = problem.pair(i, j)
                exact = [float(v) for v in (expected.ahead[i][j], expected.level[i][j], expected.ahead[j][i])]
                assert [exp(found.win), exp(found.tie), exp(found.loss)] == pytest.approx(exact, rel=1e-12, abs=0)


def test_two_labels_are_the_same_as_zero_and_one():
    truth, answers = [0, 1, 1, 0, 1], {"a": [0, 1, 0, 0, 1], "b": [1, 1, 1, 1, 0]}
    words = {0: "no", 1: "yes"}
    binary = rank(AnswerTable.of(truth, answers), Bernoulli(0.2))
    labels = rank(
        AnswerTable.of([words[v] for v in truth], {n: [words[v] for v in c] for n, c in answers.items()}),
        Bernoulli(0.2),
    )
    assert labels.kind == "labels"
    assert binary.kind == "binary"
    assert labels.pairs[0].kept == pytest.approx(binary.pairs[0].kept, rel=1e-14)


def test_items_on_which_both_are_wrong_differently_matter():
    # Both wrong on both items: at a rate of 0.3 a moved label makes one of them right with probability 0.15 each.
    found = rank(AnswerTable.of(["x", "x"], {"a": ["y", "y"], "b": ["z", "z"]}), Bernoulli(0.3))
    pair = found.pairs[0]
    assert pair.counts == (0, 0, 2)
    ahead = 0.15**2 + 2 * 0.15 * 0.7
    assert pair.first_ahead == pytest.approx(ahead, rel=1e-14)
    assert pair.tie == pytest.approx(1 - 2 * ahead, rel=1e-14)


def test_naming_labels_that_do_not_occur_makes_moves_to_the_others_rarer():
    truth, answers = ["x"] * 6, {"a": ["x"] * 4 + ["y"] * 2, "b": ["y"] * 3 + ["x"] * 3}
    few = rank(AnswerTable.of(truth, answers), Bernoulli(0.3))
    many = rank(AnswerTable.of(truth, answers, labels=["x", "y", *"abcdefgh"]), Bernoulli(0.3))
    assert few.kind == many.kind == "labels"
    assert many.pairs[0].reversed < few.pairs[0].reversed
    assert "any of the other 9 labels with equal probability" in many.assumption


def test_a_label_that_was_not_named_is_refused():
    with pytest.raises(DataError, match=r"labels: expected only the 2 that were named, found 'z'"):
        rank(AnswerTable.of(["x", "y"], {"a": ["x", "z"], "b": ["x", "y"]}, labels=["x", "y"]), Bernoulli(0.1))


@pytest.mark.thorough
def test_many_labels_and_algorithms_are_drawn():
    truth, answers, _ = random_labels(3, 4, 3000, 10)
    named = {f"m{j}": np.array(a) for j, a in enumerate(answers)}
    found = rank(AnswerTable.of(np.array(truth), named, kind="labels"), Bernoulli(0.1), draws=50_000, seed=3)
    assert found.methods["pairs"] == "exact"
    assert found.methods["ranks"].startswith("Monte-Carlo")
    drawn = rank(
        AnswerTable.of(np.array(truth), named, kind="labels"), Bernoulli(0.1), draws=50_000, seed=3, method="montecarlo"
    )
    for one, two in zip(drawn.pairs, found.pairs, strict=True):
        low, high = one.intervals["kept"]
        assert abs(one.kept - two.kept) < 2 * (high - low)


def test_asymmetric_rates_need_zeros_and_ones():
    with pytest.raises(BadParameter, match="expected a table of 0 and 1, found labels; give a confusion matrix"):
        rank(AnswerTable.of(["x", "y"], {"a": ["x", "x"], "b": ["y", "y"]}), Asymmetric(0.1, 0.2))


def test_a_confusion_matrix_needs_labels():
    with pytest.raises(BadParameter, match="confusion: expected labels or confidences for this setting, found 0 and 1"):
        rank(AnswerTable.of([1, 0], {"a": [1, 1], "b": [0, 1]}, confusion=[[0, 1], [1, 0]]), Bernoulli(0.1))


def test_a_confusion_matrix_may_name_its_rows():
    answers = {"a": ["x", "y", "x"], "b": ["y", "x", "x"]}
    matrix = {"x": {"y": 0.5, "z": 0.5}, "y": {"x": 1.0}, "z": {"x": 1.0}}
    found = rank(AnswerTable.of(["x", "y", "z"], answers, confusion=matrix, labels=["x", "y", "z"]), Bernoulli(0.2))
    assert "as the confusion matrix says" in found.assumption
    assert "|labels:3|moves:3:" in str(found.signature)
    turned = {"x": {"y": 1.0}, "y": {"x": 1.0}, "z": {"x": 1.0}}
    other = rank(AnswerTable.of(["x", "y", "z"], answers, confusion=turned, labels=["x", "y", "z"]), Bernoulli(0.2))
    assert str(other.signature) != str(found.signature)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [1, 0]], "expected 3 rows and columns, one per label, found"),
        ([[0.1, 0.9, 0], [1, 0, 0], [1, 0, 0]], "0 for 'x' itself"),
        ([[0, 0.5, 0.4], [1, 0, 0], [1, 0, 0]], "expected the row of 'x' to add up to 1, found 0.9"),
    ],
)
def test_an_impossible_confusion_matrix_is_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        rank(
            AnswerTable.of(["x", "y", "z"], {"a": ["x", "y", "x"], "b": ["y", "x", "x"]}, confusion=matrix),
            Bernoulli(0.2),
        )


def test_a_moved_label_takes_two_points_from_the_leader_or_one():
    # The first alone is right on 1 item, both wrong differently on 2: the lead of 1 falls by 2, then by 1 each.
    found = rank(AnswerTable.of(["x", "x", "x"], {"a": ["x", "y", "y"], "b": ["y", "z", "z"]}), AtMost(1))
    assert found.pairs[0].errors_to_tie == 1
    assert found.pairs[0].errors_to_reverse == 1
    never = rank(AnswerTable.of(["x", "x"], {"a": ["y", "y"], "b": ["z", "z"]}), AtMost(1))
    assert never.pairs[0].errors_to_reverse == 1


def test_answers_are_numbered_by_the_first_that_gave_them():
    truth = ["x", "x", "x"]
    given = {"a": ["x", "y", "z"], "b": ["y", "y", "y"], "c": ["y", "x", "z"], "d": ["z", "y", "y"]}
    seen = agreement(AnswerTable.of(truth, given, kind="labels"))
    assert [column.tolist() for column in seen] == [[0, 1, 1], [2, 1, 2], [2, 0, 1], [4, 1, 2]]
