"""A user's own metric: declared with the same decorator, or named package.module:function."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError
from verite.metrics.cards import card, catalogue
from verite.metrics.catalogue import forget


@pytest.fixture
def taller():
    @vt.localization(
        on="box",
        bounds=(0, 1),
        best=1,
        symmetric=True,
        cite="Nobody, 2026",
        aliases={"tall2": {"power": 2}},
        ranges={"power": "(0, 10]"},
    )
    def taller(p, *, power: float = 1.0):
        """Ratio of the heights.

        min(h) / max(h)
        """
        a, b = (box[:, 3] - box[:, 1] for box in (p.truth_box, p.pred_box))
        return (np.minimum(a, b) / np.maximum(a, b)) ** power

    yield taller
    forget("taller")


def test_a_declared_metric_is_like_any_other(taller):
    assert vt.metric("taller")([0, 0, 4, 4], [0, 0, 4, 2]) == 0.5
    assert vt.metric("tall2")([0, 0, 4, 4], [0, 0, 4, 2]) == 0.25
    assert vt.metric("TALLER(power=3)").name == "taller(power=3)"
    assert vt.metric(taller).name == "taller"
    assert str(vt.metric("taller").signature) == "taller|on:box|power:1.00|empty:truth=0,pred=0,both=1|rev:1"
    assert vt.metric("taller")(None, [0, 0, 4, 2]) == 0
    assert vt.metric("taller")(None, None) == 1
    assert "taller" in catalogue().cards
    assert "Nobody, 2026" in str(card("taller"))
    with pytest.raises(BadParameter, match=r"expected power in \(0, 10\], found 11"):
        vt.metric("taller(power=11)")
    assert taller(vt.Pairs.of([[0, 0, 4, 4]], [[0, 0, 4, 2]])).tolist() == [0.5]  # the function stays a function


def test_a_name_that_is_taken_is_refused(taller):
    with pytest.raises(BadParameter, match="expected a new name, found 'iou', which is iou"):

        @vt.localization(bounds=(0, 1), best=1)
        def iou(p):
            """Mine."""

    with pytest.raises(BadParameter, match="found 'HAU', which is hausdorff"):

        @vt.localization(bounds=(0, 1), best=1, aliases=["HAU"])
        def mine(p):
            """Mine."""


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"on": "boxes"}, "did you mean 'box'"),
        ({"bounds": (1, 0)}, "bounds from low to high"),
        ({"bounds": (0, 1), "best": 2}, "expected best within"),
        ({"name": "a b"}, "expected a name of letters"),
    ],
)
def test_facts_that_contradict_themselves_are_refused(facts, words):
    with pytest.raises(BadParameter, match=words):

        @vt.localization(**facts)
        def mine(p):
            """Mine."""


def test_a_parameter_needs_a_default():
    with pytest.raises(BadParameter, match="expected a default for the parameter power"):

        @vt.localization()
        def mine(p, *, power: float):
            """Mine."""


def test_a_function_is_found_by_its_path(tmp_path, monkeypatch):
    (tmp_path / "my_metrics.py").write_text(
        "def area_ratio(p, *, power: float = 1.0):\n"
        "    'Ratio of the areas.'\n"
        "    return (p.pred_area / p.truth_area) ** power\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    metric = vt.metric("my_metrics:area_ratio(power=2)")
    assert metric([0, 0, 4, 4], [0, 0, 4, 2]) == 0.25
    assert metric.name == "my_metrics:area_ratio(power=2)"
    assert vt.metric(metric.name).name == metric.name
    assert metric.best is None
    assert metric.better == "neither way"
    assert "Ratio of the areas." in str(card("my_metrics:area_ratio"))
    sys.modules.pop("my_metrics")


def test_a_function_must_return_one_value_per_pair():
    def wrong(p):
        return np.zeros(3)

    with pytest.raises(DataError, match="wrong: expected 1 values, one per pair, found an array"):
        vt.metric(wrong)([0, 0, 4, 4], [0, 0, 4, 2])


def test_a_function_that_fails_is_named_in_one_line():
    def fails(p):
        raise KeyError("no\nsuch column")

    with pytest.raises(vt.VeriteError, match="fails: expected a value for each pair, found KeyError: ") as caught:
        vt.metric(fails)([0, 0, 4, 4], [0, 0, 4, 4])
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_make_card_a_declared_metric_names_its_module(taller):
    from verite.metrics.cards import make_card

    chosen = vt.metric("taller(power=2)")
    assert chosen.path.endswith("taller(power=2)")
    assert chosen.path.startswith(f"{__name__}:")
    assert chosen.path in make_card(chosen).verb
    assert vt.metric("hausdorff(quantile=0.95)").path == "hausdorff(quantile=0.95)"


def differing(truth, pred, *, weight: float = 1.0):
    """Pixels in one mask only."""
    assert truth.flags.c_contiguous
    return weight * (truth != pred).sum()


def test_a_function_of_two_masks_is_a_metric_everywhere():
    one, two = np.zeros((2, 8, 8), dtype=bool)
    one[:4, :4] = two[:4, 2:6] = True
    assert vt.metric(differing)(one, two) == 16
    assert vt.metric(differing, weight=0.5)(one, two) == 8
    assert vt.metric(f"{__name__}:differing(weight=2)")(one, two) == 32
    assert vt.metric(differing)([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8)) == 16
    np.testing.assert_array_equal(vt.metric(differing).batch([one], [one, two]), [0, 16])


def test_a_function_of_two_masks_must_return_a_number():
    with pytest.raises(DataError, match="expected a number for two masks, found str"):
        vt.metric(lambda a, b: "many")(np.ones((2, 2), bool), np.ones((2, 2), bool))
