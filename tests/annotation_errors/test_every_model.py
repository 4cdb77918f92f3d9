"""What every error model must do, asked of each of them in the same way: of a new one, too."""

from __future__ import annotations

import pickle
from math import exp, isnan
from pathlib import Path

import numpy as np
import pytest

from tests.annotation_errors.toy import TwoRates
from tests.ranking.paper import TABLE_3, TABLE_3_TRUTH, TABLE_4, TABLE_4_TRUTH, table_2
from verite.annotation_errors import MODELS, Asymmetric, AtMost, Audit, Bernoulli, Exactly, PerItem, Shared, parse
from verite.annotation_errors.model import options_of
from verite.errors import BadParameter
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.contest import contest_of
from verite.ranking.rank import rank

# One of each model for a table of n items: with errors, and without any.
EXAMPLES = {
    "bernoulli": (lambda n: Bernoulli(0.2), lambda n: Bernoulli(0)),
    "asymmetric": (lambda n: Asymmetric(0.1, 0.3), lambda n: Asymmetric(0, 0)),
    "per_item": (lambda n: PerItem(np.linspace(0, 0.5, n)), lambda n: PerItem([0] * n)),
    "audit": (lambda n: Audit(2, 10), None),  # that nothing was found wrong does not say that nothing is
    "shared": (lambda n: Shared(0.2, 0.3, [i % 3 for i in range(n)]), lambda n: Shared(0, 0.3, [0] * n)),
    "exactly": (lambda n: Exactly(2), lambda n: Exactly(0)),
    "at_most": (lambda n: AtMost(1), lambda n: AtMost(0)),
    "two_rates": (lambda n: TwoRates(0.1, 0.4), lambda n: TwoRates(0, 0)),
}
TABLES = {
    "two": AnswerTable.of(TABLE_3_TRUTH, TABLE_3),
    "three": AnswerTable.of(*table_2()),
    "labels": AnswerTable.of(list("xyzxyzxy"), {"a": list("xyzxyxyx"), "b": list("xyyxzzyz"), "c": list("zyzxyzxy")}),
    "confidences": ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep"),
}
MANY = 40_000


def example(name, table):
    return EXAMPLES[name][0](len(table))


def suits(model, table):
    return not (isinstance(model, Asymmetric) and table.kind in ("labels", "confidences"))


def test_there_is_an_example_of_every_model():
    assert set(EXAMPLES) == set(MODELS)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("kind", TABLES)
def test_what_is_exact_equals_what_is_drawn(name, kind):
    table = TABLES[kind]
    model = example(name, table)
    if not suits(model, table):
        with pytest.raises(BadParameter, match="expected a table of 0 and 1, found labels"):
            rank(table, model)
        return
    exact = rank(table, model)
    if model.is_worst_case:
        assert exact.methods["pairs"] == "worst case"
        return
    drawn = rank(table, model, method="montecarlo", draws=MANY, seed=3)
    assert exact.methods["pairs"] == "exact"
    # Four standard errors of each of the numbers of this file together are left once in a thousand runs.
    for one, two in zip(exact.pairs, drawn.pairs, strict=True):
        for side in ("first_ahead", "tie", "second_ahead"):
            p = getattr(one, side)
            assert getattr(two, side) == pytest.approx(p, abs=4.5 * (p * (1 - p) / MANY) ** 0.5 + 1e-12)
    assert drawn.whole == pytest.approx(exact.whole, abs=4.5 * 0.5 / MANY**0.5)
    assert np.allclose(drawn.ranks, exact.ranks, atol=4.5 * 0.5 / MANY**0.5)


@pytest.mark.parametrize("name", [name for name, (_, none) in EXAMPLES.items() if none])
@pytest.mark.parametrize("kind", TABLES)
def test_without_errors_the_order_is_certain(name, kind):
    table = TABLES[kind]
    model = EXAMPLES[name][1](len(table))
    if not suits(model, table):
        return
    for method in ("auto",) if model.is_worst_case else ("auto", "montecarlo"):
        found = rank(table, model, method=method, draws=50)
        assert [pair.kept for pair in found.pairs] == pytest.approx([1] * len(found.pairs), rel=1e-12)
        assert found.whole == pytest.approx(1, rel=1e-12)
        assert found.pairs[0].bound == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_three_outcomes_make_up_everything(name):
    table = TABLES["three"]
    contest = contest_of(table, example(name, table))
    found = contest.pair(0, 1)
    assert (found is None) == contest.model.is_worst_case
    if found is not None:
        assert exp(found.below) + exp(found.level) + exp(found.above) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_signature_document_and_words_name_the_model(name):
    table = TABLES["three"]
    model = example(name, table)
    found = rank(table, model)
    assert f"|model:{model}|" in str(found.signature)
    assert found.to_dict()["model"] == str(model)
    assert found.to_dict()["assumption"].startswith(model.words)
    assert str(model).startswith(f"{name}(")


COLUMNS = {"per_item": PerItem("rate"), "shared": Shared(0.05, 0.25, "a source")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_spelling_is_read_back(name):
    model = COLUMNS.get(name) or example(name, TABLES["two"])
    again = parse(str(model))
    assert type(again) is type(model)
    assert str(again) == str(model)
    assert vars(again) == vars(model)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_pickled_model_gives_the_same_numbers(name):
    table = TABLES["two"]
    model = example(name, table)
    again = pickle.loads(pickle.dumps(model))
    assert str(again) == str(model)
    kept = [rank(table, m).pairs[0].kept for m in (model, again)]
    assert kept[0] == kept[1] or (isnan(kept[0]) and isnan(kept[1]))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_model_has_an_option_of_its_own(name):
    mine = {option.name for option in options_of(MODELS[name]) if option.needed}
    others = [{o.name for o in options_of(model) if o.needed} for key, model in MODELS.items() if key != name]
    assert mine
    assert mine not in others


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_largest_rate_is_one_at_which_the_order_holds(name):
    """The curve over the rate passes through the level at the rate that is printed."""
    table = TABLES["two"]
    found = rank(table, example(name, table))
    rate = found.pairs[0].largest_epsilon
    assert found.kept_at("A1", "A2", [rate])[0] == pytest.approx(0.95, rel=1e-9)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.__module__.startswith("verite.")])
@pytest.mark.parametrize("page", ["docs/explain/ranking.md", "docs/reference/python.md"])
def test_the_documentation_names_every_model(name, page):
    text = (Path(__file__).parent.parent.parent / page).read_text()
    kind = MODELS[name].__name__
    assert f"annotation_errors.{kind}" in text
    if page.startswith("docs/explain"):
        row = next(
            line for line in text.splitlines() if line.startswith("| `--") and f"annotation_errors.{kind}(" in line
        )
        assert all(option.flag in row for option in options_of(MODELS[name]) if option.needed)
