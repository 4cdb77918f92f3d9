"""How a ranking is told: numbers as words, tables, sentences, of a ranking whose numbers were made up by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import inf, log, log10, nan

import numpy as np
import pytest

from verite.ranking.result import AlgorithmPair, Ranking, probability, rate
from verite.ranking.sums import LossTieWin
from verite.signature import Signature


def logs(below, level, above):
    return LossTieWin(*(log(p) if p else -inf for p in (below, level, above)))


def couple(first, second, sides=(0.05, 0.2, 0.75), **changes):
    found = AlgorithmPair(
        first, second, tied=False, logs=logs(*sides), certain="open", bound=1200, errors_to_tie=1,
        errors_to_reverse=2, largest_epsilon=0.0123, counts=(5, 3, 2),
    )  # fmt: skip
    return replace(found, **changes)


def made_up(names=("x", "y", "z"), **changes):
    """Every place as likely as any other, unless told."""
    size = len(names)
    found = Ranking(
        signature=Signature.of("rank", rev=1), model="toy", assumption="nothing", caveat="none", kind="binary",
        items=1234, score="tau: share of right answers", order=tuple(names),
        scores={name: 0.9 - 0.1 * k for k, name in enumerate(names)},
        pairs=tuple(couple(*two) for two in combinations(names, 2)), ranks=np.full((size, size), 1 / size),
        expected_rank={name: k + 1.25 for k, name in enumerate(names)}, whole=0.5, whole_bounds=(0.25, 0.75),
        whole_certain=False, errors_to_break=1, level=0.95, whole_epsilon=(0.1, 0.1),
        methods={"pairs": "exact", "whole_order": "exact", "ranks": "drawn"},
    )  # fmt: skip
    return replace(found, **changes)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((nan,), "–"),
        ((1.0,), "1"),
        ((1.0, 0.0), "1"),
        ((1.0, -1e-20), ">0.9999"),  # less than certain by what a number cannot hold
        ((0.99996,), ">0.9999"),
        ((0.9999,), "0.9999"),
        ((0.5,), "0.5000"),
        ((1.05e-4,), "0.0001"),
        ((1e-4,), "0.0001"),
        ((9.9e-5,), "9.9e-05"),
        ((0.0,), "0"),
        ((0.0, -inf), "0"),
        ((0.0, -2319.0), "7.4e-1008"),  # 2319 / ln 10 = 1007.129, 10^-0.129 = 0.743 and one power less
        ((0.0, nan, (0.0, 3.84e-5)), "<3.8e-05"),
        ((1.0, nan, (0.99996, 1.0)), ">0.9999"),
        ((0.5, nan, (0.4, 0.6)), "0.5000"),
    ],
)
def test_probabilities_are_never_rounded_to_certainty(given, said):
    assert probability(*given) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"), (0.5, "0.5 or more"), (0.52, "0.5 or more"), (0.49, "0.4900"), (0.00104, "0.0010"),
        (1e-3, "0.0010"), (9e-4, "9.0e-04"), (0.0, "0.0000"),
    ],
)  # fmt: skip
def test_small_rates_are_powers_of_ten(value, said):
    assert rate(value) == said


def test_a_pair_is_told_with_all_that_is_known_of_it():
    table = made_up().pair_table()
    assert table.head == (
        "order", "kept", "tie", "reversed", "errors to tie", "to reverse", "certain (≤ 1,200 errors)", "≥ 0.95 up to ε"
    )  # fmt: skip
    assert table.rows[0] == ("x > y", "0.7500", "0.2000", "0.0500", "1", "2", "open", "0.0123")


def test_a_tie_on_the_record_is_neither_kept_nor_reversed():
    pairs = (couple("x", "y", tied=True, errors_to_reverse=None, largest_epsilon=None),)
    table = made_up(("x", "y"), pairs=pairs).pair_table()
    assert table.rows == (("x = y", "–", "0.2000", "–", "1", "–", "open", "–"),)
    assert "log10" not in pairs[0].to_dict()


def test_in_the_worst_case_only_what_is_certain_has_a_number():
    kept, safe, unsure = (couple("x", "y", logs=None, certain=how) for how in ("kept", "not overtaken", "open"))
    assert [kept.kept, kept.tie, kept.reversed] == [1, 0, 0]
    assert [safe.kept, safe.tie, safe.reversed] == pytest.approx([nan, nan, 0], nan_ok=True)
    assert [unsure.kept, unsure.tie, unsure.reversed] == pytest.approx([nan] * 3, nan_ok=True)


def test_a_pair_as_a_document_has_logarithms_counts_and_intervals():
    told = couple("x", "y", (0.0, 0.25, 0.75), intervals={"kept": (0.7, 0.8)}).to_dict()
    assert told["log10"] == {"kept": pytest.approx(log10(0.75)), "tie": pytest.approx(log10(0.25)), "reversed": None}
    assert [told[f"only_{side}_right"] for side in ("first", "second")] == [5, 3]
    assert told["neither_right"] == 2
    assert told["intervals"] == {"kept": [0.7, 0.8]}
    assert (told["first_ahead"], told["second_ahead"]) == (pytest.approx(0.75), 0)


def test_standings_have_a_column_for_each_place_up_to_ten_algorithms():
    for size in (10, 11):
        head = made_up([f"s{k}" for k in range(size)]).standing_table().head
        assert ("P(10.)" in head) == (size == 10)
        assert ("P(this place)" in head) == (size == 11)


def test_standings_tell_score_expected_rank_and_places():
    ranks = np.array([[0.75, 0.25], [0.25, 0.75]])
    told = made_up(("x", "y"), ranks=ranks, expected_rank={"x": 1.25, "y": nan})
    assert told.standing_table().head == ("algorithm", "tau", "expected rank", "P(1.)", "P(2.)")
    assert told.standing_table().rows[0] == ("x", "0.9000", "1.25", "0.7500", "0.2500")
    assert told.standing_table().rows[1] == ("y", "0.8000", "–", "0.2500", "0.7500")
    assert told.rank_table().rows[0] == ("x", 0.9, 1.25, 0.75, 0.25)
    assert told.rank_table().head == ("algorithm", "score", "expected_rank", "1", "2")


def test_each_place_has_its_own_column():
    told = made_up(ranks=np.array([[0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.1, 0.35, 0.55]]))
    assert told.standing_table().rows[0][3:] == ("0.5000", "0.3000", "0.2000")


def test_standings_of_many_tell_the_first_and_the_own_place_and_the_likely_ones():
    names = [f"s{k:02d}" for k in range(11)]
    ranks = np.eye(11)
    ranks[0, :2] = ranks[1, :2] = 0.5
    table = made_up(names, ranks=ranks).standing_table()
    assert table.head[3:] == ("P(1.)", "P(this place)", "places (0.95)")
    assert table.rows[0][3:] == ("0.5000", "0.5000", "1 … 2")
    assert table.rows[2][3:] == ("0", "1", "3")


def test_drawn_places_are_never_certain():
    intervals = np.tile([0.0001, 0.9996], (2, 2, 1))
    told = made_up(("x", "y"), ranks=np.eye(2), rank_intervals=intervals)
    assert told.standing_table().rows[0][3:] == (">0.0001", "<1.0e+00")
    assert told.to_dict()["rank_intervals"]["y"]["2"] == [0.0001, 0.9996]


def test_every_number_of_a_pair_is_in_the_main_table():
    table = made_up(pairs=(couple("x", "y", errors_to_tie=None),)).main_table()
    row = dict(zip(table.head, table.rows[0], strict=True))
    assert (row["first"], row["second"], row["errors_to_tie"], row["errors_to_reverse"]) == ("x", "y", "", 2)
    assert row["kept"] == pytest.approx(0.75)


def test_the_whole_order_is_told_with_its_bounds_where_there_are_three():
    assert made_up().whole_line() == "Whole order x > y > z: 0.5000 (exact; bounds 0.2500 … 0.7500)"
    assert made_up(("x", "y")).whole_line() == "Whole order x > y: 0.5000 (exact)"
    assert made_up(whole_bounds=(nan, nan)).whole_line() == "Whole order x > y > z: 0.5000 (exact)"


def test_a_drawn_whole_order_is_told_with_its_interval():
    line = made_up(("x", "y"), whole_interval=(0.4, 0.6)).whole_line()
    assert line == "Whole order x > y: 0.5000 (exact, 95 % interval 0.4000 … 0.6000)"


def test_where_all_are_level_there_is_no_order_to_keep():
    level = tuple(couple(*two, tied=True) for two in combinations("xyz", 2))
    assert made_up(pairs=level).whole_line() == (
        "Whole order x = y = z: all are level on the record, there is no order to keep."
    )
    some = (level[0], *made_up().pairs[1:])
    assert made_up(pairs=some).whole_line().startswith("Whole order x = y > z: 0.5000")


def test_sentences_tell_how_much_the_order_bears():
    one, two = (str(made_up(errors_to_break=count)) for count in (1, 2))
    assert "1 wrong record in the worst place is enough to break it." in one
    assert "2 wrong records in the worst places are enough to break it." in two
    assert "It holds with probability 0.95 up to ε = 0.1000." in one
    assert "up to an ε between 0.1000 and 0.2000." in str(made_up(whole_epsilon=(0.1, 0.2)))
    assert "enough to break it" not in str(made_up(errors_to_break=None))
    assert "It holds" not in str(made_up(whole_epsilon=None))


def test_the_text_begins_with_what_was_compared():
    assert str(made_up()).startswith("3 algorithms on 1,234 items. Tau: share of right answers.")


def test_ways_that_answers_were_found_are_told_together():
    assert made_up().how() == "pairs, whole order exact; ranks drawn"


def kept_as(first, second, third):
    """Three algorithms: how likely the orders 1 > 2, 1 > 3, 2 > 3 are kept."""
    return made_up(
        pairs=tuple(
            couple(*two, (0.0, 1 - p, p)) for two, p in zip(combinations("xyz", 2), (first, second, third), strict=True)
        )
    )


def test_runs_that_cannot_be_told_apart_may_overlap():
    assert kept_as(0.9, 0.99, 0.9).not_told_apart() == [("x", "y"), ("y", "z")]
    assert kept_as(0.9, 0.9, 0.9).not_told_apart() == [("x", "y", "z")]
    assert kept_as(0.99, 0.99, 0.9).not_told_apart() == [("y", "z")]
    assert kept_as(0.99, 0.99, 0.99).not_told_apart() == []


def test_an_order_kept_with_just_the_level_is_told_apart():
    assert kept_as(0.75, 0.99, 0.99).not_told_apart(level=kept_as(0.75, 1, 1).pairs[0].kept) == []


def test_ties_on_the_record_cannot_be_told_apart():
    pairs = (couple("x", "y", (0.0, 0.0, 1.0), tied=True), *kept_as(1, 1, 1).pairs[1:])
    assert made_up(pairs=pairs).not_told_apart() == [("x", "y")]


def test_it_is_said_how_surely_algorithms_are_told_apart():
    worst = tuple(couple(*two, logs=None) for two in combinations("xyz", 2))
    assert made_up(pairs=worst).sureness == "for certain"
    assert made_up(pairs=(*worst[:2], couple("y", "z"))).sureness == "with probability 0.95"


def test_the_order_that_contests_publish_is_told_beside():
    def line(**scores):
        return made_up(published=("AP", scores)).published_line()[0]

    assert line(x=0.5, y=0.4, z=0.3).startswith("The order by AP is the same; how sure")
    assert line(x=0.5, y=0.6, z=nan).startswith("The order by AP is y > x > z; how sure")
    assert made_up().published_line() == []
    assert made_up(published=("AP", {"x": 0.5, "y": 0.4, "z": 0.3})).standing_table().rows[0][3] == "0.5000"


def test_curves_are_asked_in_the_order_of_the_record():
    asked = []
    told = made_up(curve_of=lambda *names: asked.append(names) or (lambda epsilon: 1 - epsilon))
    assert told.kept_at("y", "x", [0, 0.25]).tolist() == [1, 0.75]
    assert asked == [("x", "y")]
    assert np.isnan(made_up().kept_at("x", "y", [0.1])).all()
    tied = replace(told, pairs=(couple("x", "y", tied=True),))
    assert np.isnan(tied.kept_at("x", "y", [0.1])).all()


def test_a_ranking_as_a_document_is_one_line_unless_told():
    assert "\n" not in made_up().to_json().strip()
    assert "\n " in made_up().to_json(indent=1)
