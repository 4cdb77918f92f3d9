"""Rankings from published scores alone: every overlap enumerated; numbers, grades and places."""

from __future__ import annotations

import itertools
import json

import pytest

from verite.cli import run
from verite.errors import BadParameter, ReadError
from verite.ranking.published_scores import parse_scores, probability_ahead, rank_published
from verite.ranking.values import rank_values, read_values


def brute_force(only_first: int, only_second: int, epsilon: float) -> float:
    """All patterns of wrong annotations on the items on which exactly one is right."""
    total = 0.0
    for wrong in itertools.product([0, 1], repeat=only_first + only_second):
        lead = sum((1 if i < only_first else -1) * (-1 if w else 1) for i, w in enumerate(wrong))
        chance = 1.0
        for w in wrong:
            chance *= epsilon if w else 1 - epsilon
        total += chance * (lead > 0)
    return total


@pytest.mark.parametrize(("first", "second"), [(1, 0), (2, 1), (3, 3), (5, 2), (4, 0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_the_probability_is_that_of_all_patterns(first, second, epsilon):
    assert probability_ahead(first, second, epsilon) == pytest.approx(brute_force(first, second, epsilon))


def test_the_range_is_that_of_every_possible_overlap():
    # 10 items, 6 and 5 right: only the second has right 0 to 4 of them.
    every = [brute_force(1 + x, x, 0.2) for x in range(5)]
    (pair,) = rank_published({"A": 0.6, "B": 0.5}, 10, 0.2).pairs
    assert (pair.first, pair.low, pair.high) == ("A", pytest.approx(min(every)), pytest.approx(max(every)))
    assert {pair.disagree_at_low, pair.disagree_at_high} == {1 + 2 * every.index(v) for v in (min(every), max(every))}


def test_the_range_holds_what_rank_finds_on_answers(tmp_path, capsys):
    """Whatever the answers behind two accuracies are, the exact probability of `rank` is inside the range."""
    rows = [(1, 1, 1)] * 4 + [(1, 1, 0)] * 3 + [(1, 0, 1)] * 2 + [(1, 0, 0)] * 3
    table = "item,truth,A,B\n" + "".join(f"{i},{t},{a},{b}\n" for i, (t, a, b) in enumerate(rows))
    (tmp_path / "table.csv").write_text(table)
    assert run(["rank", str(tmp_path / "table.csv"), "--epsilon", "0.2", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    (pair,) = rank_published({"A": 7 / 12, "B": 6 / 12}, 12, 0.2).pairs
    exact = brute_force(3, 2, 0.2)
    assert pair.low <= exact <= pair.high
    assert f"{exact:.6f}" in {f"{value:.6f}" for value in numbers_in(answers)}


def numbers_in(value: object) -> list[float]:
    if isinstance(value, float):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [number for part in inner for number in numbers_in(part)]


def test_published_scores_on_the_command_line(capsys):
    assert run(["rank", "--scores", "A=0.85,B=84%", "--items", "10000", "--epsilon", "0.1", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert (pair["right_first"], pair["right_second"]) == (8500, 8400)
    assert 0.9 < pair["low"] < pair["high"] <= 1
    assert run(["rank", "--scores", "A=0.85,B=0.84"]) == 2
    assert run(["rank", "--scores", "A=0.85", "--items", "10", "--epsilon", "0.1"]) == 2
    assert run(["rank", "--scores", "A=85,B=84", "--items", "10", "--epsilon", "0.1"]) == 2
    assert "divide percentages by 100" in capsys.readouterr().err
    assert run(["rank"]) == 2
    with pytest.raises(BadParameter, match="expected NAME=SHARE"):
        parse_scores("A0.85")
    with pytest.raises(BadParameter, match="A twice"):
        parse_scores("A=0.85,A=0.84")


def test_the_choice_of_items_is_named_as_not_covered():
    """3 and 1 right of 4: the second alone has 0 or 1 right. McNemar's p of 2 to 0 is 1/2, of 3 to 1 10/16."""
    found = rank_published({"A": 0.75, "B": 0.25}, 4, 0.1)
    (pair,) = found.pairs
    assert (pair.p_items_low, pair.p_items_high) == (pytest.approx(0.5), pytest.approx(10 / 16))
    assert "Not covered: the choice of items" in " ".join(str(found).split())


def test_a_paired_test_over_items_is_beside_other_values(tmp_path):
    """Errors 1, 1, 1, 1 and 2, 4, 3, 3: differences of mean -2, sd sqrt(2/3): t = 4.899 with 3 degrees, p = 0.0163."""
    (tmp_path / "n.csv").write_text("item,truth,A,B\n1,10,11,12\n2,20,19,24\n3,30,31,33\n4,40,41,43\n")
    found = rank_values(read_values(tmp_path / "n.csv", "numbers"), 1.0, draws=10)
    assert found.tests == [pytest.approx(0.0163, abs=5e-5)]
    assert "Paired test over items: A and B p = 0.016." in " ".join(str(found).split())
    (tmp_path / "p.csv").write_text("item,truth,A,B\nx,1,1,2\ny,2,2,1\n")
    places = rank_values(read_values(tmp_path / "p.csv", "places"), 0.3, draws=10)
    assert places.tests == [None]
    assert "Not covered: the choice of items." in " ".join(str(places).split())


def test_numbers_with_normal_errors(tmp_path):
    """Mean errors 1 and 2 by hand; without errors of the annotations the order always holds."""
    (tmp_path / "n.csv").write_text("item,truth,A,B\n1,10,11,12\n2,20,19,18\n3,30,31,32\n")
    table = read_values(tmp_path / "n.csv", "numbers")
    found = rank_values(table, 0.0, draws=10)
    assert found.errors == {"A": 1, "B": 2}
    assert (found.order, found.kept) == (["A", "B"], 1.0)
    assert rank_values(table, 3.0, draws=500).kept < 1
    with pytest.raises(ReadError, match=r"n\.csv"):
        read_values(tmp_path / "n.csv", "places")


def test_grades_move_by_one_step(tmp_path):
    """One item, grades low to high: the annotation 'middle' moves up or down, A keeps 'middle', B says 'high'."""
    (tmp_path / "g.csv").write_text("item,truth,A,B\n1,middle,middle,high\n")
    table = read_values(tmp_path / "g.csv", "grades", ["low", "middle", "high"])
    found = rank_values(table, 0.4, draws=20_000)
    # Kept unless it moves up (probability 0.2): then B is right and A wrong.
    assert found.kept == pytest.approx(0.8, abs=0.01)
    with pytest.raises(BadParameter, match="grades: expected the grades"):
        read_values(tmp_path / "g.csv", "grades")
    with pytest.raises(ReadError, match="expected one of low, high"):
        read_values(tmp_path / "g.csv", "grades", ["low", "high"])


def test_places_of_neighbours_are_exchanged(tmp_path):
    """Two items: A has their order, B the reverse; exchanged with probability 0.3."""
    (tmp_path / "p.csv").write_text("item,truth,A,B\nx,1,1,2\ny,2,2,1\n")
    found = rank_values(read_values(tmp_path / "p.csv", "places"), 0.3, draws=20_000)
    assert found.errors == {"A": 0, "B": 1}
    assert found.kept == pytest.approx(0.7, abs=0.015)


def test_other_values_on_the_command_line(tmp_path, capsys):
    (tmp_path / "n.csv").write_text("item,truth,A,B\n1,10,11,12\n2,20,19,18\n")
    assert run(["rank", str(tmp_path / "n.csv"), "--kind", "numbers", "--sigma", "1", "--draws", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == ["A", "B"]
    assert run(["rank", str(tmp_path / "n.csv"), "--kind", "numbers"]) == 2
    assert run(["rank", str(tmp_path / "n.csv"), "--kind", "grades", "--epsilon", "0.1"]) == 2
    (tmp_path / "bad.csv").write_text("item,truth,A,B\n1,ten,11,12\n")
    assert run(["rank", str(tmp_path / "bad.csv"), "--kind", "numbers", "--sigma", "1"]) == 1
    assert "bad.csv:2: expected a number, found 'ten'" in capsys.readouterr().err
