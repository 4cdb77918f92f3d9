"""The small rules of rankings, each at the point where it turns, worked by hand."""

from __future__ import annotations

from math import exp, inf, log, nan
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from verite.csv_files import separator_of
from verite.errors import BadParameter, DataError, ReadError
from verite.ranking.answers import AnswerTable, as_text, bits, first_odd, number_labels, numbered_item, say_moves
from verite.ranking.calibration import calibrate, read_truth
from verite.ranking.confidence import ScoreTable, weigh_labels
from verite.ranking.contest import errors_at
from verite.ranking.curves import RATES, OrderCurves, find_crossing, log_lost
from verite.ranking.exact import Drops, largest_epsilon, rate_at, three_independent
from verite.ranking.rank import certainty, level_scores, standings_of_two
from verite.ranking.sheets import check_confusion, resolve_confusion, write_texts
from verite.ranking.sums import LossTieWin, Pieces, Steps, loss_tie_win
from verite.ranking.tables import list_values, read_table


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def chances(below, level, above):
    return LossTieWin(*(log(p) if p else -inf for p in (below, level, above)))


# What is certain.


@pytest.mark.parametrize(
    ("to_tie", "to_reverse", "said"),
    [
        (None, None, "kept"),
        (6, 7, "kept"),
        (5, 6, "not overtaken"),
        (5, None, "not overtaken"),
        (5, 5, "open"),
        (0, 1, "open"),
    ],
)
def test_five_wrong_records_leave_of_an_order_what_they_cannot_reach(to_tie, to_reverse, said):
    assert certainty(to_tie, to_reverse, 5) == said


def test_places_are_certain_where_every_order_around_is():
    # Of ten items a has all, b nine, c none: one wrong record may make a and b level, and nothing else.
    table = AnswerTable.of([1] * 10, {"a": [1] * 10, "b": [1] * 9 + [0], "c": [0] * 10})
    found = vt.rank(table, vt.annotation_errors.AtMost(1))
    assert np.array_equal(found.ranks, [[nan, nan, 0], [nan, nan, 0], [0, 0, 1]], equal_nan=True)
    assert np.array_equal(vt.rank(table, vt.annotation_errors.AtMost(0)).ranks, np.eye(3))


def test_the_whole_order_is_certain_or_not_known_in_the_worst_case():
    table = AnswerTable.of([1] * 10, {"a": [1] * 10, "b": [1] * 5 + [0] * 5, "c": [0] * 10})
    assert vt.rank(table, vt.annotation_errors.AtMost(2)).whole_bounds == (1, 1)
    assert np.isnan(vt.rank(table, vt.annotation_errors.AtMost(3)).whole_bounds).all()


def test_ties_of_two_share_their_places():
    found = standings_of_two(chances(0.05, 0.2, 0.75), np.array([3, 2]), 0.0)
    assert found.ranks == pytest.approx(np.array([[0.85, 0.15], [0.15, 0.85]]))
    assert found.wins == pytest.approx(np.array([[0, 0.75], [0.05, 0]]))
    assert found.ties == pytest.approx(np.array([[1, 0.2], [0.2, 1]]))
    assert found.whole == pytest.approx(0.75)
    assert standings_of_two(chances(0.05, 0.2, 0.75), np.array([2, 3]), 0.0).whole == pytest.approx(0.05)
    assert np.isnan(standings_of_two(chances(0.05, 0.2, 0.75), np.array([3, 3]), 0.0).whole)


def test_scores_within_the_tolerance_are_made_equal_to_the_highest():
    scores = np.array([0.5, 1.0, 1.0 - 5e-10])
    assert level_scores(scores, 1e-9).tolist() == [0.5, 1, 1]
    assert level_scores(scores, 0.0).tolist() == scores.tolist()


def test_three_independent_scores_share_places_where_they_tie():
    # The first is 1 for certain, the second 0 or 1 alike, the third 0: two orders of the same chance.
    one, half = np.ones(1), np.array([0.5, 0.5])
    laws = [(np.array([1.0]), one), (np.array([0.0, 1.0]), half), (np.array([0.0]), one)]
    found = three_independent(laws, np.array([1, 1, 0]))
    assert found.ranks == pytest.approx(np.array([[0.75, 0.25, 0], [0.25, 0.5, 0.25], [0, 0.25, 0.75]]))
    assert found.wins == pytest.approx(np.array([[0, 0.5, 1], [0, 0, 0.5], [0, 0, 0]]))
    assert found.whole == pytest.approx(0.5)  # the third behind both
    assert three_independent(laws, np.array([2, 1, 0])).whole == 0  # 1 > 0 > 0 and 1 = 1 > 0 keep no strict order
    assert three_independent(laws, np.array([2, 0, 0])).whole == pytest.approx(0.5)
    assert np.isnan(three_independent(laws, np.array([1, 1, 1])).whole)


# Rates.


def test_a_falling_curve_is_crossed_between_two_rates():
    after = [0.0] * (len(RATES) - 2)
    assert find_crossing([1, 0.9, *after], 0.95) == pytest.approx(0.001)  # half way to 0.002
    assert find_crossing([1, 0.95, *after], 0.95) == pytest.approx(0.002)
    assert find_crossing([0.9, 0.8, *after], 0.95) == 0
    assert find_crossing([1.0] * len(RATES), 0.95) == 0.5
    assert find_crossing([nan] * len(RATES), 0.95) is None


def test_the_order_is_lost_at_most_as_often_as_its_steps_together():
    assert log_lost([chances(0.1, 0.2, 0.7)]) == pytest.approx(log(0.3))
    assert log_lost([chances(0.1, 0.2, 0.7), chances(0.3, 0, 0.7)]) == pytest.approx(log(0.6))
    assert log_lost([chances(0.5, 0.2, 0.3)] * 2) == 0


@pytest.mark.parametrize(
    ("items", "draws", "many"), [(1000, 100_000, 10_373), (1000, 500, 500), (5186, 9999, 2000), (5187, 9999, 0)]
)
def test_rates_are_drawn_as_often_as_thirty_million_wrong_records_allow(items, draws, many):
    # The rates add up to 2.892: so many wrong records an item in one draw at each.
    assert OrderCurves(SimpleNamespace(items=items), draws, 0).many == many


def test_the_largest_rate_is_where_as_much_is_lost_as_may_be():
    assert largest_epsilon(log, 0.95) == pytest.approx(0.05, rel=1e-9)
    assert largest_epsilon(log, 0.6) == pytest.approx(0.4, rel=1e-9)
    assert largest_epsilon(lambda rate: log(rate / 20), 0.95) == 0.5  # 0.025 is lost at one half
    assert largest_epsilon(lambda rate: 2 * log(rate), 0.99) == pytest.approx(0.1, rel=1e-9)


def test_rates_by_their_distance_from_one_half():
    # (1 - 2 · 0.1) / √(4 · 0.1 · 0.9) = 0.8 / 0.6
    assert rate_at(4 / 3) == pytest.approx(0.1)
    assert rate_at(0) == 0.5


def test_numbers_of_wrong_records_follow_the_binomial_law():
    assert errors_at(2, 0.1) == pytest.approx([0.81, 0.18, 0.01])
    assert errors_at(2, 0).tolist() == [1, 0, 0]
    assert errors_at(0, 0.1).tolist() == [1]


def test_wrong_records_in_the_worst_places_lose_a_lead():
    drops = Drops.of(np.array([1.0, 0, 2]), np.array([5, 9, 3]))
    assert (drops.sizes.tolist(), drops.counts.tolist()) == ([2, 1], [3, 5])
    assert drops.errors_to_lose(4) == (2, 3)
    assert drops.errors_to_lose(3) == (2, 2)
    assert drops.errors_to_lose(7) == (4, 5)  # three of two and one of one
    assert drops.errors_to_lose(11) == (8, None)
    assert drops.errors_to_lose(0) == (0, 1)
    small = Drops.of(np.array([0.06]), np.array([5]))
    assert small.errors_to_lose(0.05, tolerance=0.1) == (0, 2)  # a lead within the tolerance is none
    assert small.errors_to_lose(0.2, tolerance=0.1) == (2, None)


# Sums of steps.


def test_two_fair_steps_end_level_half_the_time():
    fair = Steps(np.array([[0.5, 0, 0.5]]), np.array([2]))
    found = loss_tie_win(fair)
    assert [exp(found.below), exp(found.level), exp(found.above)] == pytest.approx([0.25, 0.5, 0.25])
    assert fair.stride() == 2
    assert fair.bounds() == (-2, 2)
    assert fair.moments() == (0, 2)


def test_steps_that_may_stay_where_they_are_have_no_parity():
    lazy = Steps(np.array([[0.25, 0.5, 0.25], [0, 0, 1]]), np.array([2, 3]))
    assert lazy.stride() == 1
    assert lazy.bounds() == (1, 5)
    assert lazy.moments() == pytest.approx((3, 1))


def test_larger_steps_know_their_values():
    pieces = Pieces.of([np.array([0.25, 0, 0.5, 0, 0.25])], [3])
    assert pieces.values.tolist() == [-2, 0, 2]
    assert (pieces.lowest.tolist(), pieces.highest.tolist(), pieces.sizes.tolist()) == ([-2], [2], [3])
    assert pieces.moments() == (0, 6)  # three times 4/2
    steps = Steps(np.array([[0.5, 0, 0.5]]), np.array([1]), pieces)
    assert (steps.bounds(), steps.stride()) == ((-7, 7), 2)
    odd = Pieces.of([np.array([0.25, 0.5, 0.25])], [1])
    assert Steps(np.array([[0.5, 0, 0.5]]), np.array([1]), odd).stride() == 1


# Answers and labels.


def test_values_are_labels_as_a_table_has_them():
    assert [as_text(v) for v in (2, 2.0, 2.5, "x", np.int64(3), True)] == ["2", "2", "2.5", "x", "3", "True"]


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ([0, 1, 1], None),
        ([True, False], None),
        ([0, 2, 1], 1),
        ([0, -1], 1),
        ([0.0, 1.0], None),
        ([1.0, 0.5], 1),
        (["0", "1"], None),
        (["1", "x", "0"], 1),
    ],
)
def test_the_first_that_is_neither_0_nor_1_is_found(column, row):
    assert first_odd(np.array(column)) == row


def test_columns_of_0_and_1_become_bits():
    for column in (["0", "1"], [0, 1], [0.0, 1.0], [False, True]):
        assert bits("a", np.array(column), numbered_item).tolist() == [0, 1]
    assert "item 2: expected 0 or 1 in 'a', found '3'" in refused(bits, "a", np.array([1, 3]), numbered_item)


def test_labels_are_numbered_in_their_own_or_in_the_order_given():
    columns = [np.array(["dog", "cat"]), np.array(["cat", "cat"])]
    names, codes = number_labels(columns, None)
    assert (names, [code.tolist() for code in codes]) == (("cat", "dog"), [[1, 0], [0, 0]])
    names, codes = number_labels(columns, ["dog", "owl", "cat"])
    assert (names, [code.tolist() for code in codes]) == (("dog", "owl", "cat"), [[0, 2], [2, 2]])
    assert "expected only the 1 that were named, found 'dog'" in refused(number_labels, columns, ["cat"])
    assert "expected each label once" in refused(number_labels, columns, ["cat", "dog", "cat"])


def test_moves_are_told_in_words():
    assert say_moves(4, None) == "a wrong label moves to any of the other 3 labels alike"
    assert say_moves(4, np.eye(4)) == "a wrong label moves as the confusion matrix says"


def test_two_labels_are_needed_to_move():
    assert "expected at least two labels, found x" in refused(
        AnswerTable.of, ["x", "x"], {"a": ["x", "x"], "b": ["x", "x"]}
    )
    assert AnswerTable.of(["x"], {"a": ["x"], "b": ["x"]}, labels=["x", "y"]).labels == ("x", "y")


def test_labels_that_are_not_there_are_named():
    table = {"a": ["x", ""], "b": ["x", "y"]}
    assert "item 2: expected a label in 'a', found nothing" in refused(AnswerTable.of, ["x", "y"], table, kind="labels")


def test_names_of_algorithms_are_their_own():
    assert "at least two to compare, found 1" in refused(AnswerTable, ("a",), np.zeros(1, int), (np.zeros(1, int),))
    twice = ("a", "b", "b"), np.zeros(1, int), (np.zeros(1, int),) * 3
    assert "a name of its own for each, found 'b' twice" in refused(AnswerTable, *twice)


def test_columns_about_items_have_a_value_for_each():
    assert "source: expected 2 values, one per item, found 1" in refused(
        AnswerTable.of, [1, 0], {"a": [1, 0], "b": [1, 1]}, columns={"source": ["x"]}
    )


# Confusion matrices and confidences.


def test_rows_of_a_confusion_matrix_add_up_to_one():
    assert check_confusion([[0, 1], [1, 0]], "xy").tolist() == [[0, 1], [1, 0]]
    assert check_confusion([[0, 1 + 9e-7], [1, 0]], "xy")[0].tolist() == [0, 1]
    assert "expected the row of 'x' to add up to 1" in refused(check_confusion, [[0, 1 + 1.05e-6], [1, 0]], "xy")
    assert "0 for 'y' itself, in the row of 'y'" in refused(check_confusion, [[0, 1], [0.9, 0.1]], "xy")
    assert "in the row of 'x'" in refused(check_confusion, [[0, 1.5, -0.5], [1, 0, 0], [1, 0, 0]], "xyz")
    assert "expected 2 rows and columns, one a label, found (1, 2)" in refused(check_confusion, [[0, 1]], "xy")


def test_a_confusion_may_be_a_mapping_of_mappings():
    found = resolve_confusion({"x": {"y": 0.25, "z": 0.75}, "y": {"x": 1}, "z": {"x": 1}}, "xyz")
    assert found.tolist() == [[0, 0.25, 0.75], [1, 0, 0], [1, 0, 0]]
    assert resolve_confusion(None, "xy") is None


def table(values, **more):
    return ScoreTable.of(["x"] * len(values), {"a": values, "b": values}, labels=("x", "y"), **more)


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


def weighed(*rows):
    return weigh_labels(np.array(rows, dtype=float), ["x", "y", "z"], numbered_item)


def test_what_a_single_confidence_of_a_truth_leaves_is_shared_by_the_others():
    assert weighed([0.8, 0, 0])[0] == pytest.approx([0.8, 0.1, 0.1])
    assert weighed([0, 1, 0]).tolist() == [[0, 1, 0]]
    assert weighed([0.5, 0.3, 0.2]).tolist() == [[0.5, 0.3, 0.2]]


def test_confidences_of_a_truth_are_checked():
    assert "expected 3 confidences per item, found an array of shape (1, 2)" in refused(
        weigh_labels, np.array([[0.5, 0.5]]), ["x", "y", "z"], numbered_item
    )
    assert "item 2: expected confidences from 0 to 1 as truth" in refused(weighed, [1, 0, 0], [1.5, 0, 0])
    assert "as truth" in refused(weighed, [-0.1, 0.6, 0.5])
    assert "add up to 1, or that of one label alone, found 0.8" in refused(weighed, [0.5, 0.3, 0])
    assert "likelier than others, found 'x' and 'z'" in refused(weighed, [0.4, 0.2, 0.4])
    weighed([0.5, 0.3, 0.2 + 9e-7])
    assert "add up to 1" in refused(weighed, [0.5, 0.3, 0.2 + 1.05e-6])


def test_facts_about_items_are_asked_by_name():
    found = table([[0.5, 0.5], [0.25, 0.75]], columns={"source": ["s", "t"]})
    assert found.column("source", "groups").tolist() == ["s", "t"]
    assert found.column("truth", "groups").tolist() == [0, 0]
    assert "groups: expected one of the columns source, truth, found 'x'" in refused(found.column, "x", "groups")


# Tables.


@pytest.mark.parametrize(("line", "found"), [("a,b;c", ","), ("a;b\tc", ";"), ("a\tb", "\t"), ("a", ",")])
def test_columns_are_separated_by_what_the_header_has(line, found):
    assert separator_of(line) == found


def test_cells_of_parquet_are_as_csv_has_them():
    assert write_texts([None, True, 2.0, 2.5, 3, "x"]).tolist() == ["", "1", "2", "2.5", "3", "x"]


def test_values_are_listed_in_the_order_of_their_first_occurrence():
    values, which = list_values(np.array(["b", "a", "b", "c"]))
    assert (values.tolist(), which.tolist()) == (["b", "a", "c"], [0, 1, 0, 2])


def written(path, text):
    path.write_text(text)
    return path


def test_a_column_about_items_says_the_same_in_all_their_rows(tmp_path):
    head, rows = "item,label,source,truth,a,b\n", "1,x,{},1,0.5,0.5\n1,y,{},0,0.5,0.5\n"
    good = read_table(written(tmp_path / "g.csv", head + rows.format("s", "s")), ["source"])
    assert good.columns["source"].tolist() == ["s"]
    bad = written(tmp_path / "b.csv", head + rows.format("s", "t"))
    assert "b.csv:3: expected one value of 'source' for all rows of an item, found 't'" in refused(
        read_table, bad, ["source"]
    )


def test_rows_of_the_wrong_length_are_named_and_empty_ones_left_out(tmp_path):
    text = "item,truth,a,b\n1,1,1,0\n\n2,0,1,0\n"
    assert len(read_table(written(tmp_path / "g.csv", text))) == 2
    assert "b.csv:5: expected 4 cells as in the header, found 5" in refused(
        read_table, written(tmp_path / "b.csv", text + "3,0,1,0,1\n")
    )


def test_the_first_item_that_comes_again_is_named(tmp_path):
    text = "item,truth,a,b\nx,1,1,0\ny,0,1,0\ny,0,1,0\nx,0,1,0\n"
    said = refused(read_table, written(tmp_path / "b.csv", text))
    assert "b.csv:4: expected each item once, found item 'y' again; it stands at" in said
    assert said.endswith("b.csv:3 too")


# Against a better truth.


def test_a_better_truth_tells_which_records_were_wrong():
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
    assert "two that differ on the record, found none" in refused(calibrate, level, [1, 0])
    assert "a model that gives probabilities" in refused(
        calibrate, answers, [1, 1, 1, 0], vt.annotation_errors.AtMost(2)
    )


def test_a_better_truth_is_read_in_the_order_of_the_items(tmp_path):
    answers = read_table(written(tmp_path / "a.csv", "item,truth,a,b\nx,1,1,0\ny,0,1,0\n"))
    assert read_truth(written(tmp_path / "t.csv", "item,truth\ny,1\nx,0\n"), answers) == ["0", "1"]
    assert "expected every item of the table, found none for 'y'" in refused(
        read_truth, written(tmp_path / "t.csv", "item,truth\nx,0\n"), answers
    )
    assert "expected a header item,truth, found 'item,better'" in refused(
        read_truth, written(tmp_path / "t.csv", "item,better\nx,0\n"), answers
    )
