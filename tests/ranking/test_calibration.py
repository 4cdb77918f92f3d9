"""Orders looked up on a better truth, against what was predicted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite.annotation_errors import AtMost, Bernoulli, Exactly
from verite.cli import run
from verite.errors import BadParameter, DataError, ReadError
from verite.ranking.answers import (
    AnswerTable,
)
from verite.ranking.calibration import calibrate, read_truth
from verite.ranking.tables import read_table

TRUTH = [1, 1, 1, 1, 0, 0]
ANSWERS = {"a": [1, 1, 1, 1, 0, 1], "b": [1, 1, 0, 0, 0, 1], "c": [0, 0, 0, 1, 0, 1]}  # 5, 3 and 2 right
TABLE = AnswerTable.of(TRUTH, ANSWERS)
BETTER = [1, 1, 0, 0, 0, 0]


def test_orders_are_counted_on_the_better_truth():
    # On the better truth a is right on items 1, 2 and 5, b on 1 to 5, c on 3 and 5.
    found = calibrate(TABLE, BETTER, Bernoulli(0.2))
    assert found.every.pairs == 3
    assert found.every.kept == pytest.approx(2 / 3)  # a > b is turned round; a > c and b > c stand
    assert found.wrong == pytest.approx(2 / 6)
    # The algorithms differ on the first four items, two of which are corrected.
    assert found.wrong_in_dispute == pytest.approx(1 / 2)
    assert sum(row.pairs for row in found.bins) == 3


def test_without_a_model_the_rate_is_that_found_where_the_algorithms_differ():
    assert calibrate(TABLE, [1, 1, 1, 0, 0, 1]).model == "bernoulli(epsilon=0.25)"


@pytest.mark.thorough
def test_independent_errors_are_calibrated():
    """Near-equal algorithms, records wrong at random: what is predicted comes true about as often."""
    rng = np.random.default_rng(1)
    found = []
    while len(found) < 120:
        real = rng.integers(0, 2, 200)
        answers = {name: np.where(rng.random(200) < rng.uniform(0.145, 0.155), 1 - real, real) for name in "ab"}
        table = AnswerTable.of(np.where(rng.random(200) < 0.1, 1 - real, real), answers)
        if len(set(table.tau.values())) > 1:
            found.append(calibrate(table, real, Bernoulli(0.1)).every)
    # A share of 120 independent worlds has a standard error of about 0.037.
    assert np.mean([row.kept for row in found]) == pytest.approx(np.mean([row.predicted for row in found]), abs=0.11)


def test_the_brier_score_is_the_mean_square_of_the_difference():
    table = AnswerTable.of([1, 1], {"a": [1, 1], "b": [0, 1]})
    # The one item that tells them apart is wrong with probability 0.5; on the better truth the order is kept.
    assert calibrate(table, [1, 1], Bernoulli(0.5)).brier == pytest.approx(0.25)
    assert calibrate(table, [1, 1], Exactly(0)).brier == 0


@pytest.mark.parametrize(
    ("better", "errors", "message"),
    [
        ([1, 1], None, "better truth: expected 6 values, one per item, found 2"),
        ([1, 1, 2, 1, 0, 0], None, "better truth: expected 0 or 1, found '2'"),
        (BETTER, AtMost(1), "errors: expected a model that gives probabilities, found at_most"),
    ],
)
def test_what_cannot_be_compared_is_refused(better, errors, message):
    with pytest.raises(DataError, match=message):
        calibrate(TABLE, better, errors)


def test_the_command_line_takes_two_label_sets(tmp_path, capsys):
    table, better = tmp_path / "t.csv", tmp_path / "better.csv"
    table.write_text("item,truth,a,b\n1,x,x,y\n2,y,y,y\n3,z,z,z\n4,x,x,y\n")
    better.write_text("item,truth\n4,y\n3,z\n2,y\n1,u\n")
    assert run(["rank", str(table), "--calibrate", str(better), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # Two records are corrected, both where the two differ; a is right on 2 and 3, b on 2, 3 and 4.
    assert (document["wrong"], document["wrong_in_dispute"]) == (0.5, 1.0)
    assert document["every"]["kept"] == 0
    assert run(["rank", str(table), "--calibrate", str(better), "--epsilon", "0.1"]) == 0
    assert "Wrong annotations: 0.5000 of all, 1.0000 where the algorithms disagree." in capsys.readouterr().out
    better.write_text("item,truth\n4,y\n")
    assert run(["rank", str(table), "--calibrate", str(better)]) == 1
    assert "expected every item of the table, found none for '1'" in capsys.readouterr().err


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def written(path, text):
    path.write_text(text)
    return path


def test_corrected_annotations_give_the_share_of_wrong_ones():
    # a and b differ on items 2 and 3, of which the second record was wrong.
    answers = AnswerTable.of([1, 1, 1, 0], {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0]})
    found = calibrate(answers, [1, 0, 1, 0])
    assert (found.items, found.wrong, found.wrong_in_dispute) == (4, 0.25, 0.5)
    assert found.every.pairs == 1
    assert found.every.kept == 0  # one each on the better truth
    assert calibrate(answers, [1, 1, 1, 0]).every.kept == 1
    assert "expected 4 values, one per item, found 3" in refused(calibrate, answers, [1, 0, 1])
    assert "expected 0 or 1, found '2'" in refused(calibrate, answers, [1, 0, 1, 2])
    level = AnswerTable.of([1, 0], {"a": [1, 1], "b": [0, 0]})
    assert "two with different recorded scores, found none" in refused(calibrate, level, [1, 0])
    assert "a model that gives probabilities" in refused(
        calibrate, answers, [1, 1, 1, 0], vt.annotation_errors.AtMost(2)
    )


def test_corrected_annotations_are_read_in_the_order_of_the_items(tmp_path):
    answers = read_table(written(tmp_path / "a.csv", "item,truth,a,b\nx,1,1,0\ny,0,1,0\n"))
    assert read_truth(written(tmp_path / "t.csv", "item,truth\ny,1\nx,0\n"), answers) == ["0", "1"]
    assert "expected every item of the table, found none for 'y'" in refused(
        read_truth, written(tmp_path / "t.csv", "item,truth\nx,0\n"), answers
    )
    assert "expected a header item,truth, found 'item,better'" in refused(
        read_truth, written(tmp_path / "t.csv", "item,better\nx,0\n"), answers
    )
