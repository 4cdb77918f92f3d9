"""What a ranking says: keys that others rely on, words, tables."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.ranking.paper import TABLE_3, TABLE_3_TRUTH, TABLE_4, TABLE_4_TRUTH, table_2

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
    assert "no estimates of true scores" in shared.caveat


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
    assert "1 wrong record in the worst place is enough to break it." in text
    assert "Not told apart with probability 0.95: A2, A1." in text


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
    assert "--all-pairs shows the other 406 pairs, too." in text
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
