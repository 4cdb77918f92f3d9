"""A model that is one class is known everywhere: in rankings, on the command line, in documents and common tests."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import product

import pytest

from tests.annotation_errors.test_every_model import EXAMPLES
from tests.annotation_errors.toy import TwoRates
from tests.ranking.paper import TABLE_3, TABLE_3_TRUTH
from verite.annotation_errors import MODELS, parse
from verite.cli import run
from verite.errors import BadParameter
from verite.ranking.answers import AnswerTable
from verite.ranking.rank import rank

TABLE = files("verite") / "data" / "ranking" / "table3.csv"


def typed(capsys, *words):
    status = run(["rank", *(str(word) for word in words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_its_numbers_are_those_of_all_truths_there_could_be():
    expected = 0.0
    for wrong in product((0, 1), repeat=10):
        real = [t ^ w for t, w in zip(TABLE_3_TRUTH, wrong, strict=True)]
        one, two = (sum(a == t for a, t in zip(TABLE_3[name], real, strict=True)) for name in ("A1", "A2"))
        weight = sum(0.5 * e ** sum(wrong) * (1 - e) ** (10 - sum(wrong)) for e in (0.1, 0.4))
        expected += weight * (two > one)
    found = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), TwoRates(0.1, 0.4))
    assert found.methods["pairs"] == "exact"
    assert found.pairs[0].kept == pytest.approx(expected, rel=1e-12)


def test_help_shows_it(capsys):
    _, out, _ = typed(capsys, "--help")
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
def test_the_command_line_takes_it(capsys, words):
    status, out, _ = typed(capsys, TABLE, *words, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["model"] == "two_rates(careful=0.1, careless=0.4)"
    assert "|model:two_rates(careful=0.1, careless=0.4)|" in document["signature"]
    assert document["assumption"].startswith("all records are wrong at a rate of 0.1 or all at one of 0.4")
    assert document["pairs"][0]["kept"] == rank(str(TABLE), TwoRates(0.1, 0.4)).pairs[0].kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--two-rates", "0.1"), "expected CAREFUL,CARELESS, found '0.1'"),
        (("--two-rates", "0.1,0.9"), "careless: expected a share of wrong records from 0 to 0.5, found 0.9"),
        (("--two-rates", "0.1,0.2", "--exactly", "1"), "expected one error model, found --exactly and --two-rates"),
        (("--errors", "exactly(errors=1)", "--exactly", "1"), "expected one error model, found --errors and --exactly"),
        (("--errors", "two_rate(careful=0)"), "found 'two_rate'; did you mean 'two_rates'"),
        (("--errors", "exactly(mistakes=1)"), "exactly: expected other arguments: missing a required argument"),
        (("--errors", "per_item(rates=3:0a1b2c3d)"), "expected rates as the name of a column, .* stands for 3 values"),
        (("--errors", "json:loads(errors=1)"), "json:loads: expected a class of error models"),
        (("--errors", "nowhere:Model(errors=1)"), "nowhere:Model: expected a class, found ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(capsys, words, message):
    status, out, err = typed(capsys, TABLE, *words)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(err)


def test_the_common_tests_ask_it():
    assert MODELS["two_rates"] is TwoRates
    assert isinstance(EXAMPLES["two_rates"][0](3), TwoRates)


def test_what_is_no_model_is_refused():
    class Unknown:
        words = "anything goes"

    with pytest.raises(BadParameter, match="errors: expected an error model such as"):
        rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Unknown())


def test_a_text_that_is_no_model_is_refused():
    with pytest.raises(BadParameter, match=r"expected NAME or NAME\(PARAMETER=VALUE"):
        parse("bernoulli 0.1")
