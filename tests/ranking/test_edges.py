"""Where equal is enough, and what a table must say: small points of rankings."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.ranking.test_sums import CASES
from verite.errors import BadParameter, DataError, ReadError
from verite.ranking import exchangeable, sums
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable, find_labels
from verite.ranking.exact import Drops
from verite.ranking.outcomes import agreement
from verite.ranking.result import probability
from verite.ranking.sheets import read_csv, read_sheet
from verite.ranking.tables import is_table


def refused(ask, *args, **given):
    with pytest.raises((BadParameter, DataError, ReadError)) as error:
        ask(*args, **given)
    return str(error.value)


def test_a_lead_within_the_tolerance_is_none():
    drops = Drops(np.array([1.0]), np.array([5]))
    assert drops.errors_to_lose(0.5, 0.5) == (0, 1)  # level already; past -0.5 after one
    assert drops.errors_to_lose(-0.5, 0.5) == (0, 1)
    assert drops.errors_to_lose(2.0) == (2, 3)
    assert drops.errors_to_lose(2.0, 0.5) == (2, 3)  # from 2 to 0.5 takes 1.5, so two; below -0.5 takes more than 2.5
    assert drops.errors_to_lose(9.0) == (None, None)


def test_rates_keep_away_from_0_and_1():
    with np.errstate(divide="ignore"):
        assert exchangeable.mean_rate(np.log(np.array([1.0, 0.0]))) == 1e-12
        assert exchangeable.mean_rate(np.log(np.array([0.0, 1.0]))) == 1 - 1e-12


def test_wide_steps_have_wide_windows():
    steps = CASES["many pieces"]
    values, _ = sums.transform_steps(steps, steps.bounds())
    # Steps of 4 and a variance of 400 · 0.02 + 300 · 0.08: 50 · 4 / 3 + sqrt((50 · 4 / 3)² + 100 · 32).
    half = 200 / 3 + np.sqrt((200 / 3) ** 2 + 100 * 32)
    assert (values[0], values[-1]) == (np.floor(-half), np.ceil(half))


def test_an_event_at_the_mean_needs_no_tilt():
    steps = sums.Steps(np.array([[0.5, 0.0, 0.5]]), np.array([400]))
    # Of 400 fair steps: above 0 or at 0 are 1/2 and half of C(400, 200) / 2^400.
    level = np.exp(sums.log_level(steps, steps.bounds()))
    assert np.exp(sums.log_tail(steps, 0, 1, steps.bounds())) == pytest.approx((1 + level) / 2, rel=1e-12)
    assert np.exp(sums.log_tail(steps, 0, -1, steps.bounds())) == pytest.approx((1 + level) / 2, rel=1e-12)
    assert sums.loss_tie_win(steps).above == pytest.approx(log((1 - level) / 2), rel=1e-12)


def table(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_tables_of_answers_begin_with_item_or_have_a_truth(tmp_path):
    assert is_table(table(tmp_path, "item,a,b\n"))
    assert is_table(table(tmp_path, "name;truth;a\n"))
    assert not is_table(table(tmp_path, "name,a,item\n"))
    assert not is_table(table(tmp_path, ""))
    assert not is_table(tmp_path)


def test_blanks_after_commas_are_no_part_of_a_cell(tmp_path):
    sheet = read_csv(table(tmp_path, 'item, truth, "a, b"\nx, 1, 0\n'))
    assert list(sheet.head) == ["item", "truth", "a, b"]
    assert [column.tolist() for column in sheet.columns] == [["x"], ["1"], ["0"]]
    (tmp_path / "b.parquet").write_text("item,truth\nx,1\n")
    assert "b.parquet" in refused(read_sheet, tmp_path / "b.parquet")  # a broken one is no CSV


def test_probabilities_are_shown_by_their_size():
    assert probability(0.99995) != ">0.9999"
    assert probability(0.99996) == ">0.9999"
    assert (probability(1e-4), probability(9e-5), probability(1.0), probability(1.0, -1e-20)) == (
        "0.0001", "9.0e-05", "1", ">0.9999",
    )  # fmt: skip


def test_answers_are_numbered_by_the_first_that_gave_them():
    truth = ["x", "x", "x"]
    given = {"a": ["x", "y", "z"], "b": ["y", "y", "y"], "c": ["y", "x", "z"], "d": ["z", "y", "y"]}
    seen = agreement(AnswerTable.of(truth, given, kind="labels"))
    assert [column.tolist() for column in seen] == [[0, 1, 1], [2, 1, 2], [2, 0, 1], [4, 1, 2]]


def confidences(truth, rows, labels=None):
    return ScoreTable.of(truth, {"a": rows, "b": rows}, labels=labels)


def test_confidences_have_items_and_labels():
    good = [[0.2, 0.8], [0.6, 0.4]]
    assert len(confidences(["0", "1"], good)) == 2
    assert "labels: expected 2, one a column, found 3" in refused(confidences, ["x", "y"], good, ["x", "y", "z"])
    assert "item 2: expected one of the 2 labels as truth, found 'z'" in refused(
        find_labels, np.array(["x", "z"]), ("x", "y")
    )
    assert find_labels(np.array(["y", "x"]), ("x", "y")).tolist() == [1, 0]
