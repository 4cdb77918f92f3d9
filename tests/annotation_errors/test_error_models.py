"""Annotation error models: the same properties of every model, and of a custom model that is a single class."""

from __future__ import annotations

import json
import pickle
from importlib.resources import files
from itertools import product
from math import exp, isnan
from pathlib import Path

import numpy as np
import pytest

from tests.annotation_errors.toy import TwoRates
from tests.ranking.paper import TABLE_3, TABLE_3_TRUTH, TABLE_4, TABLE_4_TRUTH, table_2
from verite.annotation_errors import MODELS, Asymmetric, AtMost, Audit, Bernoulli, Exactly, PerItem, Shared, parse
from verite.annotation_errors.model import options_of
from verite.cli import run
from verite.errors import BadParameter
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.problem import ranking_problem
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
def test_exact_probabilities_equal_simulated_ones(name, kind):
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
    # 4.5 standard errors: all comparisons of this file together exceed them once in a thousand runs.
    for one, two in zip(exact.pairs, drawn.pairs, strict=True):
        for side in ("first_ahead", "tie", "second_ahead"):
            p = getattr(one, side)
            assert getattr(two, side) == pytest.approx(p, abs=4.5 * (p * (1 - p) / MANY) ** 0.5 + 1e-12)
    assert drawn.whole == pytest.approx(exact.whole, abs=4.5 * 0.5 / MANY**0.5)
    assert np.allclose(drawn.ranks, exact.ranks, atol=4.5 * 0.5 / MANY**0.5)


@pytest.mark.parametrize("name", [name for name, (_, none) in EXAMPLES.items() if none])
@pytest.mark.parametrize("kind", TABLES)
def test_without_errors_the_ranking_is_certain(name, kind):
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
def test_loss_tie_and_win_add_up_to_one(name):
    table = TABLES["three"]
    problem = ranking_problem(table, example(name, table))
    found = problem.pair(0, 1)
    assert (found is None) == problem.model.is_worst_case
    if found is not None:
        assert exp(found.loss) + exp(found.tie) + exp(found.win) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_signature_and_json_name_the_model_and_its_assumption(name):
    table = TABLES["three"]
    model = example(name, table)
    found = rank(table, model)
    assert f"|model:{model}|" in str(found.signature)
    assert found.to_dict()["model"] == str(model)
    assert found.to_dict()["assumption"].startswith(model.assumption)
    assert str(model).startswith(f"{name}(")


COLUMNS = {"per_item": PerItem("rate"), "shared": Shared(0.05, 0.25, "a source")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_printed_model_is_parsed_back(name):
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
def test_the_largest_rate_is_where_the_probability_falls_to_the_level(name):
    """The curve over the rate passes through the level at the rate that is printed."""
    table = TABLES["two"]
    found = rank(table, example(name, table))
    rate = found.pairs[0].largest_epsilon
    assert found.kept_at("A1", "A2", [rate])[0] == pytest.approx(0.95, rel=1e-9)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.__module__.startswith("verite.")])
@pytest.mark.parametrize("page", ["docs/explanation/ranking.md", "docs/reference/python.md"])
def test_the_documentation_names_every_model(name, page):
    text = (Path(__file__).parent.parent.parent / page).read_text()
    kind = MODELS[name].__name__
    assert f"annotation_errors.{kind}" in text
    if page.startswith("docs/explanation"):
        row = next(
            line for line in text.splitlines() if line.startswith("| `--") and f"annotation_errors.{kind}(" in line
        )
        assert all(option.flag in row for option in options_of(MODELS[name]) if option.needed)


DEMO_TABLE = files("verite") / "data" / "ranking" / "table3.csv"


def run_rank(capsys, *words):
    status = run(["rank", *(str(word) for word in words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_a_custom_model_gives_the_probabilities_of_a_full_enumeration():
    expected = 0.0
    for wrong in product((0, 1), repeat=10):
        real = [t ^ w for t, w in zip(TABLE_3_TRUTH, wrong, strict=True)]
        one, two = (sum(a == t for a, t in zip(TABLE_3[name], real, strict=True)) for name in ("A1", "A2"))
        weight = sum(0.5 * e ** sum(wrong) * (1 - e) ** (10 - sum(wrong)) for e in (0.1, 0.4))
        expected += weight * (two > one)
    found = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), TwoRates(0.1, 0.4))
    assert found.methods["pairs"] == "exact"
    assert found.pairs[0].kept == pytest.approx(expected, rel=1e-12)


def test_help_lists_the_option_of_a_custom_model(capsys):
    _, out, _ = run_rank(capsys, "--help")
    assert "--two-rates CAREFUL,CARELESS" in out
    assert "The annotators were careful or careless" in out


@pytest.mark.parametrize(
    "words",
    [
        ("--two-rates", "0.1,0.4"),
        ("--errors", "two_rates(careful=0.1, careless=0.4)"),
        ("--errors", "tests.annotation_errors.toy:TwoRates(careful=0.1, careless=0.4)"),
    ],
)
def test_the_command_line_takes_a_custom_model(capsys, words):
    status, out, _ = run_rank(capsys, DEMO_TABLE, *words, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["model"] == "two_rates(careful=0.1, careless=0.4)"
    assert "|model:two_rates(careful=0.1, careless=0.4)|" in document["signature"]
    assert document["assumption"].startswith("all annotations are wrong at a rate of 0.1 or all at 0.4")
    assert document["pairs"][0]["kept"] == rank(str(DEMO_TABLE), TwoRates(0.1, 0.4)).pairs[0].kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--two-rates", "0.1"), "expected CAREFUL,CARELESS, found '0.1'"),
        (("--two-rates", "0.1,0.9"), "careless: expected a share of wrong annotations from 0 to 0.5, found 0.9"),
        (("--two-rates", "0.1,0.2", "--exactly", "1"), "expected one error model, found --exactly and --two-rates"),
        (("--errors", "exactly(errors=1)", "--exactly", "1"), "expected one error model, found --errors and --exactly"),
        (("--errors", "two_rate(careful=0)"), "found 'two_rate'; did you mean 'two_rates'"),
        (("--errors", "exactly(mistakes=1)"), "exactly: expected other arguments: missing a required argument"),
        (("--errors", "per_item(rates=3:0a1b2c3d)"), "expected rates as the name of a column, .* 3 values"),
        (("--errors", "json:loads(errors=1)"), "json:loads: expected a class of error models"),
        (("--errors", "nowhere:Model(errors=1)"), "nowhere:Model: expected a class, found ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_wrong_models_are_refused_in_one_line(capsys, words, message):
    status, out, err = run_rank(capsys, DEMO_TABLE, *words)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(err)


def test_rank_refuses_an_object_that_is_no_error_model():
    class Unknown:
        assumption = "anything goes"

    with pytest.raises(BadParameter, match="errors: expected an error model such as"):
        rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Unknown())


def test_parse_refuses_text_that_is_no_model():
    with pytest.raises(BadParameter, match=r"expected NAME or NAME\(PARAMETER=VALUE"):
        parse("bernoulli 0.1")
