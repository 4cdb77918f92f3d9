"""Detectors by precision, F1 and accuracy, against every truth there could be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from itertools import combinations, product

import numpy as np
import pytest

import verite as vt
from tests.oracles import worlds
from verite.annotation_errors import AtMost, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.errors import BadParameter
from verite.ranking.problem import ranking_problem

DEMO = files("verite") / "data" / "demo"
BY = ("precision", "f1", "accuracy")


def finds(by, rows, claims):
    """Detectors that found these objects (texts of 0 and 1) among so many claims."""
    answers = {f"d{j}": [int(c) for c in row] for j, row in enumerate(rows)}
    plain = vt.AnswerTable.of([1] * len(rows[0]), answers)
    return vt.DetectionTable(plain.names, plain.truth, plain.answers, kind="found", by=by, claims=tuple(claims))


def value(by, found, claims, real):
    """The ratio by its definition."""
    whole = {"precision": claims, "f1": Fraction(claims + real, 2), "accuracy": claims + real - found}[by]
    return Fraction(found) / whole if whole else Fraction(0)


def all_worlds(by, rows, claims, weight):
    for wrong in product((0, 1), repeat=len(rows[0])):
        found = [sum(c == "1" and not w for c, w in zip(row, wrong, strict=True)) for row in rows]
        real = len(wrong) - sum(wrong)
        yield weight(wrong), tuple(value(by, f, c, real) for f, c in zip(found, claims, strict=True))


CASES = [
    (("11110000", "00111110"), (5, 9)),
    (("11110000", "00111110"), (9, 5)),
    (("11100110", "11100110"), (7, 8)),
    (("11111100", "00000011"), (6, 2)),
    (("00000000", "00000011"), (0, 4)),
    (("11111111", "11100000"), (20, 3)),
    (("10110100", "01101100"), (6, 6)),
]


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(("rows", "claims"), CASES)
def test_pairs_equal_the_sum_over_all_truths(by, rows, claims):
    rates = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.25, 0.05]
    table = finds(by, rows, claims)
    recorded = [value(by, row.count("1"), c, 8) for row, c in zip(rows, claims, strict=True)]
    for model, weight in [
        (Bernoulli(0.2), worlds.independent([0.2] * 8)),
        (Bernoulli(0.0), worlds.independent([0.0] * 8)),
        (PerItem(rates), worlds.independent(rates)),
        (Audit(2, 7), worlds.audit(2, 7)),
    ]:
        expected = worlds.orders(all_worlds(by, rows, claims, weight), recorded)
        found = ranking_problem(table, model).pair(0, 1)
        exact = [float(v) for v in (expected.ahead[1][0], expected.level[0][1], expected.ahead[0][1])]
        assert np.exp([found.loss, found.tie, found.win]) == pytest.approx(exact, rel=1e-11, abs=1e-15), str(model)


@pytest.mark.parametrize("by", BY)
def test_errors_in_groups_and_in_number_are_drawn_and_called_so(by):
    rows, claims = CASES[0]
    groups = [0, 0, 0, 1, 1, 1, 2, 2]
    for model, weight in [
        (Exactly(3), worlds.exactly(3)),
        (Shared(0.2, 0.5, groups), worlds.shared(0.2, 0.5, groups)),
    ]:
        recorded = [value(by, row.count("1"), c, 8) for row, c in zip(rows, claims, strict=True)]
        expected = worlds.orders(all_worlds(by, rows, claims, weight), recorded)
        found = vt.rank(finds(by, rows, claims), model, draws=40_000)
        assert found.methods["pairs"].startswith("Monte-Carlo")
        pair = found.pair("d0", "d1")
        first = pair.first_ahead if pair.first == "d0" else pair.second_ahead
        assert first == pytest.approx(float(expected.ahead[0][1]), abs=4 * 0.5 / 200)
        assert pair.tie == pytest.approx(float(expected.level[0][1]), abs=4 * 0.5 / 200)


def test_rates_are_exact_where_errors_are_independent():
    found = vt.rank(finds("precision", *CASES[0]), Bernoulli(0.2))
    assert found.methods["largest_epsilon"] == "exact"
    assert found.kept_at("d0", "d1", [0.2])[0] == pytest.approx(found.pairs[0].kept, rel=1e-11)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(("rows", "claims"), CASES)
@pytest.mark.parametrize("known", [(), (0, 1), (2, 3, 4, 7)])
def test_the_worst_case_is_that_of_all_choices(by, rows, claims, known):
    """The fewest records that, being no objects, take a lead away or turn it round."""
    marks = [i in known for i in range(8)]
    pair = vt.rank(finds(by, rows, claims), AtMost(1, audited=marks)).pairs[0]
    names = {"d0": 0, "d1": 1}
    one, two = names[pair.first], names[pair.second]
    fewest = {"tie": None, "reverse": None}
    for many in range(8 - len(known) + 1):
        for wrong in combinations([i for i in range(8) if i not in known], many):
            found = [sum(c == "1" and i not in wrong for i, c in enumerate(row)) for row in rows]
            lead = value(by, found[one], claims[one], 8 - many) - value(by, found[two], claims[two], 8 - many)
            for what, preserves in (("tie", lead <= 0), ("reverse", lead < 0)):
                if preserves and fewest[what] is None:
                    fewest[what] = many
    assert (pair.errors_to_tie, pair.errors_to_reverse) == (fewest["tie"], fewest["reverse"])


def test_f1_and_accuracy_give_the_same_order():
    for rows, claims in CASES:
        f1, accuracy = (vt.rank(finds(by, rows, claims), Bernoulli(0.15)).pairs[0] for by in ("f1", "accuracy"))
        assert f1.first_ahead == pytest.approx(accuracy.first_ahead, rel=1e-12)


def demo(**settings):
    truth = vt.read(DEMO / "truth.json")
    systems = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "magpie", "mole")}
    return vt.DetectionTable.of(truth, systems, **settings)


@pytest.mark.parametrize("by", BY)
def test_scores_of_detectors_are_those_of_their_curves(by):
    """On the record: against precision and recall at the last prediction that is sure enough, by Pascal VOC's table."""
    truth = vt.read(DEMO / "truth.json")
    found = vt.rank(demo(by=by), Bernoulli(0.05), draws=100)
    for name in ("hawk", "magpie", "mole"):
        result = vt.voc(truth, vt.read(DEMO / f"{name}.json", like=truth))
        true = sum(int(np.count_nonzero(c.is_true[c.confidence >= 0.5])) for c in result.curves[0].values())
        claims = sum(int(np.count_nonzero(c.confidence >= 0.5)) for c in result.curves[0].values())
        positives = sum(int(c.truths) for c in result.curves[0].values())
        assert found.scores[name] == pytest.approx(float(value(by, true, claims, positives)), rel=1e-12)


@pytest.mark.parametrize("by", BY)
def test_exact_and_drawn_agree_on_detectors(by):
    exact = vt.rank(demo(by=by), Bernoulli(0.1), draws=100)
    drawn = vt.rank(demo(by=by), Bernoulli(0.1), method="montecarlo", draws=40_000)
    for one, two in zip(exact.pairs, drawn.pairs, strict=True):
        assert two.kept == pytest.approx(one.kept, abs=4 * 0.5 / 200)
    assert exact.methods["pairs"] == "exact"
    assert exact.methods["whole_order"].startswith("Monte-Carlo")


def test_many_objects_are_compared_within_what_can_be_told():
    rng = np.random.default_rng(0)
    rows = ["".join(str(int(v)) for v in rng.random(4000) < p) for p in (0.7, 0.72)]
    table = finds("f1", rows, (3400, 3500))
    found = vt.rank(table, Bernoulli(0.05), draws=20_000)
    assert found.methods["pairs"] == "exact"
    drawn = vt.rank(table, Bernoulli(0.05), draws=20_000, method="montecarlo").pairs[0]
    assert found.pairs[0].kept == pytest.approx(drawn.kept, abs=4 * 0.5 / 141)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "speed"}, "by: expected recall, precision, f1, accuracy, found 'speed'"),
        ({"by": "f1", "wrong": "vanishes"}, "wrong: expected none beside f1"),
        ({"by": "f1", "claims": None}, "by: expected results that say which predictions count for f1, such as vt"),
    ],
)
def test_wrong_settings_are_refused(change, message):
    with pytest.raises(BadParameter, match=message):
        replace(finds("recall", *CASES[0]), **change)
