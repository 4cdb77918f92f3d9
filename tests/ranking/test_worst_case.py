"""Up to so many wrong records, in the worst places: what is certain, and how many errors it takes."""

from __future__ import annotations

from itertools import combinations, product
from math import isnan

import numpy as np
import pytest

from verite.annotation_errors import AtMost, Bernoulli, PerItem
from verite.errors import BadParameter
from verite.ranking.answers import AnswerTable
from verite.ranking.rank import rank


def table_of(ahead, behind, equal):
    """The leader alone right on `ahead` items, the trailer alone on `behind`, both on `equal`."""
    truth = [1] * (ahead + behind + equal)
    leader = [1] * ahead + [0] * behind + [1] * equal
    return truth, {"leader": leader, "trailer": [0] * ahead + [1] * behind + [1] * equal}


def leads_within(truth, answers, errors, fixed=()):
    """Every lead of the first over the second that at most so many wrong records can produce."""
    first, second = answers.values()
    free = [i for i in range(len(truth)) if i not in fixed]
    for many in range(min(errors, len(free)) + 1):
        for wrong in combinations(free, many):
            real = [t ^ (i in wrong) for i, t in enumerate(truth)]
            yield sum(a == r for a, r in zip(first, real, strict=True)) - sum(
                b == r for b, r in zip(second, real, strict=True)
            )


CASES = [(a, b, n - a - b) for n in range(1, 8) for a in range(n + 1) for b in range(min(a, n - a) + 1)]


@pytest.mark.thorough
@pytest.mark.parametrize("bound", range(4))
def test_what_is_certain_is_what_no_choice_of_wrong_records_changes(bound):
    for ahead, behind, equal in CASES:
        truth, answers = table_of(ahead, behind, equal)
        if bound > len(truth):
            continue
        pair = rank(AnswerTable.of(truth, answers), AtMost(bound)).pairs[0]
        worst = min(leads_within(truth, answers, bound))
        if ahead > behind:
            assert (pair.certain == "kept") == (worst > 0), (ahead, behind, equal)
            assert (pair.certain in ("kept", "not overtaken")) == (worst >= 0), (ahead, behind, equal)


def test_breakdown_counts_are_half_the_gap():
    for ahead, behind, equal in CASES:
        pair = rank(AnswerTable.of(*table_of(ahead, behind, equal)), AtMost(0)).pairs[0]
        gap = ahead - behind
        assert pair.errors_to_tie == -(-gap // 2)
        assert pair.errors_to_reverse == (gap // 2 + 1 if ahead else None)


def test_the_condition_is_strict():
    # Twice the number of errors equal to the gap: a tie can be forced, so the order is not certain.
    pair = rank(AnswerTable.of(*table_of(4, 0, 2)), AtMost(2)).pairs[0]
    assert pair.certain == "not overtaken"
    assert rank(AnswerTable.of(*table_of(5, 0, 2)), AtMost(2)).pairs[0].certain == "kept"


@pytest.mark.parametrize("fixed", [(0,), (0, 1), (0, 1, 2), (3,), (0, 3)])
def test_audited_records_cannot_be_wrong(fixed):
    truth, answers = table_of(3, 1, 2)
    marks = [i in fixed for i in range(6)]
    for bound in range(4):
        pair = rank(AnswerTable.of(truth, answers), AtMost(bound, audited=marks)).pairs[0]
        worst = min(leads_within(truth, answers, bound, fixed))
        assert (pair.certain == "kept") == (worst > 0)
        assert (pair.certain != "open") == (worst >= 0)


def test_items_of_rate_zero_count_as_audited():
    truth, answers = table_of(3, 1, 2)
    pair = rank(AnswerTable.of(truth, answers), PerItem([0, 0, 0, 0.1, 0.1, 0.1])).pairs[0]
    assert pair.errors_to_tie is None
    assert pair.certain == "kept"


def test_a_share_of_the_records_is_taken_of_the_number_that_was_written():
    assert AtMost(epsilon=0.29).expected_errors(range(100)) == 29
    assert AtMost(epsilon=0.2).expected_errors(range(10)) == 2
    found = rank(AnswerTable.of(*table_of(60, 0, 40)), AtMost(epsilon=0.29))
    assert found.pairs[0].bound == 29
    assert found.pairs[0].certain == "kept"
    assert rank(AnswerTable.of(*table_of(60, 0, 40)), Bernoulli(0.29)).pairs[0].bound == 29


def test_under_independent_errors_certainty_is_a_separate_statement():
    """The worst case with as many errors as expected is shown beside the probability, which is never 1."""
    pair = rank(AnswerTable.of(*table_of(6, 0, 4)), Bernoulli(0.2)).pairs[0]
    assert pair.certain == "kept"
    assert pair.kept < 1


def test_no_probability_is_claimed_in_the_worst_case():
    truth, answers = table_of(3, 1, 2)
    found = rank(AnswerTable.of(truth, answers | {"third": [0, 0, 0, 0, 1, 1]}), AtMost(1))
    assert isnan(found.whole)
    assert isnan(found.pair("leader", "trailer").kept)
    assert found.methods["whole_order"] == "worst case"
    document = found.to_dict()
    assert document["ranks"]["leader"]["3"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("bound", [0, 1, 2])
def test_places_in_the_worst_case_enclose_all_that_can_happen(bound):
    rng = np.random.default_rng(2)
    truth = [1] * 7
    for _ in range(20):
        columns = rng.integers(0, 2, (3, 7)).tolist()
        found = rank(AnswerTable.of(truth, dict(zip("abc", columns, strict=True))), AtMost(bound))
        for wrong in product((0, 1), repeat=7):
            if sum(wrong) > bound:
                continue
            scores = {
                name: sum(c != w for c, w in zip(col, wrong, strict=True))
                for name, col in zip("abc", columns, strict=True)
            }
            for k, name in enumerate(found.order):
                better = sum(s > scores[name] for s in scores.values())
                assert found.ranks[k, better] != 0
        if found.whole == 1:
            assert found.errors_to_break > bound


def test_the_bound_is_a_count_or_a_share():
    with pytest.raises(BadParameter, match="expected either a number of errors or a share"):
        AtMost()
    with pytest.raises(BadParameter, match="expected either a number of errors or a share"):
        AtMost(3, epsilon=0.1)


def test_marks_must_fit_the_items():
    with pytest.raises(BadParameter, match="audited: expected 6 values, one per item, found 2"):
        rank(AnswerTable.of(*table_of(3, 1, 2)), AtMost(1, audited=[True, False]))
