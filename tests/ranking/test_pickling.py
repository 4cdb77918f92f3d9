"""Tables and rankings travel to other processes and back."""

from __future__ import annotations

import copy
import pickle
from importlib.resources import files

import pytest

import verite as vt

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
def test_a_table_and_its_ranking_are_the_same_after_a_journey(name):
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
