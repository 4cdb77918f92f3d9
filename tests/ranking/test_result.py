"""What a ranking says: keys that others rely on, words, tables."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from math import inf, log, log10, nan

import numpy as np
import pytest

import verite as vt
from tests.ranking.paper import TABLE_3, TABLE_3_TRUTH, TABLE_4, TABLE_4_TRUTH, table_2
from verite.ranking.poisson_binomial import LossTieWin
from verite.ranking.result import AlgorithmPair, Ranking, probability, rate
from verite.signature import Signature

PROMISED = {"signature", "model", "order", "scores", "pairs", "ranks", "whole_order"}


@pytest.fixture(scope="module")
def ranking():
    return vt.rank(vt.AnswerTable.of(*table_2()), vt.annotation_errors.Bernoulli(0.1))


def test_json_has_the_keys_that_others_rely_on(ranking):
    document = json.loads(ranking.to_json())
    assert set(document) >= PROMISED
    assert document["model"] == "bernoulli(epsilon=0.1)"
    assert document["order"] == ["A2", "A1", "A3"]
    assert document["scores"] == {"A2": 0.95, "A1": 0.85, "A3": 0.8}
    assert set(document["pairs"][0]) >= {"first", "second", "kept", "tie", "reversed"}
    assert set(document["ranks"]["A1"]) == {"1", "2", "3"}
    assert document["whole_order"] == pytest.approx(0.50132601, abs=5e-9)
    assert document["methods"] == dict.fromkeys(
        ["pairs", "expected_rank", "ranks", "whole_order", "largest_epsilon"], "exact"
    )


def test_absent_numbers_are_null():
    document = json.loads(vt.rank(vt.AnswerTable.of(*table_2()), vt.annotation_errors.AtMost(1)).to_json())
    assert document["whole_order"] is None
    assert document["pairs"][0]["kept"] is None
    assert document["pairs"][1]["kept"] == 1


def test_probabilities_too_small_for_a_number_are_given_as_logarithms():
    truth, answers = [1] * 4000, {"a": [1] * 3000 + [0] * 1000, "b": [0] * 3000 + [1] * 1000}
    found = vt.rank(vt.AnswerTable.of(truth, answers), vt.annotation_errors.Bernoulli(0.01))
    pair = json.loads(found.to_json())["pairs"][0]
    assert pair["reversed"] == 0
    assert -1500 < pair["log10"]["reversed"] < -700
    assert f"e{int(pair['log10']['reversed'] // 1)}" in str(found.pair_table())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            vt.annotation_errors.Bernoulli(0.1),
            "each annotation is wrong with probability 0.1, independently of the others",
        ),
        (
            vt.annotation_errors.Asymmetric(0.1, 0.2),
            "an annotation of 0 is wrong with probability 0.1, one of 1 with",
        ),
        (
            vt.annotation_errors.PerItem([0.1] * 10),
            "each annotation is wrong with a probability of its own, independently",
        ),
        (vt.annotation_errors.Audit(2, 30), "2 of 30 audited annotations were wrong"),
        (
            vt.annotation_errors.Exactly(2),
            "exactly 2 annotations are wrong, every choice of them equally likely",
        ),
        (vt.annotation_errors.AtMost(2), "at most 2 of the annotations are wrong, chosen in the worst way"),
        (vt.annotation_errors.AtMost(epsilon=0.2), "at most a share of 0.2 of the annotations are wrong"),
        (vt.annotation_errors.Shared(0.1, 0.3, [0, 1] * 5), "errors in one group are correlated (correlation 0.3)"),
    ],
)
def test_every_answer_states_its_model_and_assumption_in_words(model, words):
    found = vt.rank(vt.AnswerTable.of(TABLE_3_TRUTH, TABLE_3), model)
    assert words in found.assumption
    assert str(model) == found.model == json.loads(found.to_json())["model"]
    assert str(model) in str(found.signature)
    assert words.split(",")[0][:60] in " ".join(str(found).split())


def test_independence_is_named_as_the_weak_point():
    assert (
        "overstates stability"
        in vt.rank(vt.AnswerTable.of(TABLE_3_TRUTH, TABLE_3), vt.annotation_errors.Bernoulli(0.1)).caveat
    )
    shared = vt.rank(vt.AnswerTable.of(TABLE_3_TRUTH, TABLE_3), vt.annotation_errors.Shared(0.1, 0.3, [0, 1] * 5))
    assert "overstates stability" not in shared.caveat
    assert "do not estimate true scores" in shared.caveat


def test_scores_are_those_on_the_record_whatever_the_rate():
    scores = [vt.rank(vt.AnswerTable.of(*table_2()), vt.annotation_errors.Bernoulli(e)).scores for e in (0, 0.1, 0.5)]
    assert scores[0] == scores[1] == scores[2]


def test_the_signature_names_what_can_change_a_number():
    found = vt.rank(
        vt.ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep", zero=1e-6), vt.annotation_errors.Bernoulli(0.2)
    )
    assert str(found.signature) == (
        "rank|on:confidences|model:bernoulli(epsilon=0.2)|order:strict|places:ties-shared|level:0.95|loss:logloss"
        "|zero:1e-06|tolerance:1e-09|sums:keep|labels:4|moves:uniform|method:auto|rev:1"
    )


def test_the_text_shows_order_pairs_and_whole(ranking):
    text = str(ranking)
    assert "A2 > A1  0.7533  0.2214    0.0253" in text
    assert "Whole order A2 > A1 > A3: 0.5013 (exact; bounds 0.4898 … 0.7365)" in text
    assert "1 wrong annotation in the worst place is enough to break it." in text
    assert "Statistically tied: A2, A1 (order not kept with probability 0.95)." in text


def test_tables_as_csv_have_full_precision(ranking):
    rows = list(csv.DictReader(io.StringIO(ranking.to_csv())))
    assert float(rows[0]["kept"]) == ranking.pairs[0].kept
    places = list(csv.DictReader(io.StringIO(ranking.rank_table().to_csv())))
    assert float(places[0]["1"]) == ranking.ranks[0, 0]


def test_a_pair_can_be_named_either_way(ranking):
    assert ranking.pair("A1", "A2") is ranking.pair("A2", "A1")
    with pytest.raises(vt.BadParameter, match="expected two different ones of A2, A1, A3, found 'A1' and 'B'"):
        ranking.pair("A1", "B")


def test_curves_start_at_one_and_pass_the_probability(ranking):
    kept = ranking.kept_at("A1", "A2", [0, 0.1, 0.5])
    assert kept.tolist() == pytest.approx([1, 0.7533, 0.3125])


def many(algorithms):
    """Systems of which each is right on one item more than the next."""
    truth = [1] * (algorithms + 1)
    return vt.AnswerTable.of(truth, {f"s{j:02d}": [1] * (algorithms + 1 - j) + [0] * j for j in range(algorithms)})


@pytest.mark.thorough
def test_of_many_systems_neighbours_are_shown_and_all_on_request():
    found = vt.rank(many(30), vt.annotation_errors.Bernoulli(0.01), draws=200)
    assert len(found.neighbours) == 29
    text = str(found)
    assert "s00 > s01" in text
    assert "s00 > s02" not in text
    assert "--all-pairs prints the other 406 pairs." in text
    assert "P(this place)" in text
    assert "P(7.)" not in text
    every = str(replace(found, all_pairs=True))
    assert "s00 > s29" in every
    assert "--all-pairs" not in every
    assert len(found.to_dict()["pairs"]) == 435


def test_of_few_systems_all_is_shown():
    text = str(vt.rank(many(6), vt.annotation_errors.Bernoulli(0.01), draws=200))
    assert "s00 > s05" in text
    assert "P(6.)" in text
    assert "--all-pairs" not in text


def test_likely_places_leave_out_half_of_the_doubt_on_each_side():
    found = vt.rank(many(3), vt.annotation_errors.Bernoulli(0.1))
    spread = replace(found, ranks=np.array([[0.02, 0.95, 0.03], [0.03, 0.95, 0.02], [0.5, 0.0, 0.5]]))
    assert [spread.likely_places(name) for name in found.order] == [(2, 3), (1, 2), (1, 3)]


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


def kept_as(first, second, third):
    """Three algorithms: how likely the orders 1 > 2, 1 > 3, 2 > 3 are kept."""
    return made_up(
        pairs=tuple(
            couple(*two, (0.0, 1 - p, p)) for two, p in zip(combinations("xyz", 2), (first, second, third), strict=True)
        )
    )


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


def test_a_pair_has_its_probabilities():
    table = made_up().pair_table()
    assert table.head == (
        "order", "kept", "tie", "reversed", "errors to tie", "to reverse", "certain (≤ 1,200 errors)", "≥ 0.95 up to ε"
    )  # fmt: skip
    assert table.rows[0] == ("x > y", "0.7500", "0.2000", "0.0500", "1", "2", "open", "0.0123")


def test_a_recorded_tie_is_neither_kept_nor_reversed():
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


def test_the_table_has_a_column_for_each_rank_up_to_ten_algorithms():
    for size in (10, 11):
        head = made_up([f"s{k}" for k in range(size)]).standing_table().head
        assert ("P(10.)" in head) == (size == 10)
        assert ("P(this place)" in head) == (size == 11)


def test_the_table_has_score_expected_rank_and_rank_probabilities():
    ranks = np.array([[0.75, 0.25], [0.25, 0.75]])
    told = made_up(("x", "y"), ranks=ranks, expected_rank={"x": 1.25, "y": nan})
    assert told.standing_table().head == ("algorithm", "tau", "expected rank", "P(1.)", "P(2.)")
    assert told.standing_table().rows[0] == ("x", "0.9000", "1.25", "0.7500", "0.2500")
    assert told.standing_table().rows[1] == ("y", "0.8000", "–", "0.2500", "0.7500")
    assert told.rank_table().rows[0] == ("x", 0.9, 1.25, 0.75, 0.25)
    assert told.rank_table().head == ("algorithm", "score", "expected_rank", "1", "2")


def test_each_rank_has_its_own_column():
    told = made_up(ranks=np.array([[0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.1, 0.35, 0.55]]))
    assert told.standing_table().rows[0][3:] == ("0.5000", "0.3000", "0.2000")


def test_the_table_of_many_has_the_first_the_own_and_the_likely_ranks():
    names = [f"s{k:02d}" for k in range(11)]
    ranks = np.eye(11)
    ranks[0, :2] = ranks[1, :2] = 0.5
    table = made_up(names, ranks=ranks).standing_table()
    assert table.head[3:] == ("P(1.)", "P(this place)", "places (0.95)")
    assert table.rows[0][3:] == ("0.5000", "0.5000", "1 … 2")
    assert table.rows[2][3:] == ("0", "1", "3")


def test_simulated_ranks_are_never_certain():
    intervals = np.tile([0.0001, 0.9996], (2, 2, 1))
    told = made_up(("x", "y"), ranks=np.eye(2), rank_intervals=intervals)
    assert told.standing_table().rows[0][3:] == (">0.0001", "<1.0e+00")
    assert told.to_dict()["rank_intervals"]["y"]["2"] == [0.0001, 0.9996]


def test_every_number_of_a_pair_is_in_the_main_table():
    table = made_up(pairs=(couple("x", "y", errors_to_tie=None),)).main_table()
    row = dict(zip(table.head, table.rows[0], strict=True))
    assert (row["first"], row["second"], row["errors_to_tie"], row["errors_to_reverse"]) == ("x", "y", "", 2)
    assert row["kept"] == pytest.approx(0.75)


def test_the_whole_order_has_bounds_where_there_are_three():
    assert made_up().whole_line() == "Whole order x > y > z: 0.5000 (exact; bounds 0.2500 … 0.7500)"
    assert made_up(("x", "y")).whole_line() == "Whole order x > y: 0.5000 (exact)"
    assert made_up(whole_bounds=(nan, nan)).whole_line() == "Whole order x > y > z: 0.5000 (exact)"


def test_a_simulated_whole_order_has_its_interval():
    line = made_up(("x", "y"), whole_interval=(0.4, 0.6)).whole_line()
    assert line == "Whole order x > y: 0.5000 (exact, 95 % interval 0.4000 … 0.6000)"


def test_where_all_are_tied_there_is_no_order_to_keep():
    level = tuple(couple(*two, tied=True) for two in combinations("xyz", 2))
    assert made_up(pairs=level).whole_line() == (
        "Whole order x = y = z: all recorded scores are tied, there is no order to keep."
    )
    some = (level[0], *made_up().pairs[1:])
    assert made_up(pairs=some).whole_line().startswith("Whole order x = y > z: 0.5000")


def test_the_text_says_how_many_errors_break_the_order():
    one, two = (str(made_up(errors_to_break=count)) for count in (1, 2))
    assert "1 wrong annotation in the worst place is enough to break it." in one
    assert "2 wrong annotations in the worst places are enough to break it." in two
    assert "It holds with probability 0.95 up to ε = 0.1000." in one
    assert "up to an ε between 0.1000 and 0.2000." in str(made_up(whole_epsilon=(0.1, 0.2)))
    assert "enough to break it" not in str(made_up(errors_to_break=None))
    assert "It holds" not in str(made_up(whole_epsilon=None))


def test_the_text_begins_with_what_was_compared():
    assert str(made_up()).startswith("3 algorithms on 1,234 items. Tau: share of right answers.")


def test_methods_are_printed_together():
    assert made_up().how() == "pairs, whole order exact; ranks drawn"


def test_tied_groups_may_overlap():
    assert kept_as(0.9, 0.99, 0.9).not_told_apart() == [("x", "y"), ("y", "z")]
    assert kept_as(0.9, 0.9, 0.9).not_told_apart() == [("x", "y", "z")]
    assert kept_as(0.99, 0.99, 0.9).not_told_apart() == [("y", "z")]
    assert kept_as(0.99, 0.99, 0.99).not_told_apart() == []


def test_an_order_kept_with_exactly_the_level_is_significant():
    assert kept_as(0.75, 0.99, 0.99).not_told_apart(level=kept_as(0.75, 1, 1).pairs[0].kept) == []


def test_recorded_ties_are_tied_groups():
    pairs = (couple("x", "y", (0.0, 0.0, 1.0), tied=True), *kept_as(1, 1, 1).pairs[1:])
    assert made_up(pairs=pairs).not_told_apart() == [("x", "y")]


def test_the_certainty_of_tied_groups_is_stated():
    worst = tuple(couple(*two, logs=None) for two in combinations("xyz", 2))
    assert made_up(pairs=worst).certainty == "with certainty"
    assert made_up(pairs=(*worst[:2], couple("y", "z"))).certainty == "with probability 0.95"


def test_the_ranking_by_the_published_score_is_printed():
    def line(**scores):
        return made_up(published=("AP", scores)).published_line()[0]

    assert line(x=0.5, y=0.4, z=0.3).startswith("The ranking by AP is the same; for its uncertainty")
    assert line(x=0.5, y=0.6, z=nan).startswith("The ranking by AP is y > x > z; for its uncertainty")
    assert made_up().published_line() == []
    assert made_up(published=("AP", {"x": 0.5, "y": 0.4, "z": 0.3})).standing_table().rows[0][3] == "0.5000"


def test_curves_take_the_recorded_order():
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


def test_probabilities_are_shown_by_their_size():
    assert probability(0.99995) != ">0.9999"
    assert probability(0.99996) == ">0.9999"
    assert (probability(1e-4), probability(9e-5), probability(1.0), probability(1.0, -1e-20)) == (
        "0.0001", "9.0e-05", "1", ">0.9999",
    )  # fmt: skip


DATA = files("verite") / "data"


def finds(by="recall"):
    truth = vt.read(DATA / "demo" / "truth.json")
    systems = {name: vt.read(DATA / "demo" / f"{name}.json", like=truth) for name in ("hawk", "mole")}
    return vt.DetectionTable.of(truth, systems, by=by)


WHAT = {
    "columns": lambda: vt.AnswerTable.of([1, 0, 1], {"a": [1, 0, 0], "b": [1, 1, 0]}),
    "names": lambda: vt.AnswerTable.of({"x": 1, "y": 0}, {"a": {"x": 1, "y": 1}, "b": {"x": 0, "y": 1}}),
    "table": lambda: vt.AnswerTable.read(DATA / "ranking" / "table2.csv"),
    "confidences": lambda: vt.ScoreTable.read(DATA / "ranking" / "table4.csv", sums="keep"),
    "finds": finds,
    "precision": lambda: finds("precision"),
}


@pytest.mark.parametrize("name", WHAT)
def test_a_table_and_its_ranking_pickle(name):
    table = WHAT[name]()
    model = vt.annotation_errors.Bernoulli(0.1)
    found = vt.rank(table, model, draws=100)
    pair = found.pairs[0]
    curve = found.kept_at(pair.first, pair.second, [0.1, 0.2])
    for travel in (lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy):
        again = travel(table)
        assert again.where(1) == table.where(1)
        assert vt.rank(again, model, draws=100).to_json() == found.to_json()
        ranking = travel(found)
        assert ranking.to_json() == found.to_json()
        assert ranking.kept_at(pair.first, pair.second, [0.1, 0.2]).tolist() == curve.tolist()
