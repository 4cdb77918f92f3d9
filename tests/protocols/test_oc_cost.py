"""OC-cost: equal to its authors' code, to a transport problem solved slowly, and by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.oracles import oc_cost as oracle
from verite.cli import run

# Means over the images of `random_images(seed)` from the authors' `ot_cost.py` (its costs in single precision; the
# transport problem solved by scipy), by λ and β.
PUBLISHED = {
    (1, 0.5, 0.6): 0.3505002783735791, (1, 0.8, 0.4): 0.31112540272302036,
    (2, 0.5, 0.6): 0.39472019306430206, (2, 0.8, 0.4): 0.3149595177282343,
    (3, 0.5, 0.6): 0.4070754695246154, (3, 0.8, 0.4): 0.3029860378574532,
}  # fmt: skip
NAMES = ("cat", "dog", "cow")


def sides(images) -> tuple[vt.Annotations, vt.Annotations]:
    """The images of the oracle as annotations."""
    sizes = {f"{i:02}": (120, 120) for i in range(len(images))}
    found = []
    for k in (0, 1):
        rows = [(f"{i:02}", box) for i, pair in enumerate(images) for box in pair[k]]
        more = {"confidence": [box[5] for _, box in rows]} if k else {}
        found.append(
            vt.Annotations.of(
                [name for name, _ in rows],
                [NAMES[box[4]] for _, box in rows],
                [box[:4] for _, box in rows],
                sizes=sizes,
                labels=NAMES,
                **more,
            )
        )
    return found[0], found[1]


@pytest.mark.parametrize(("seed", "balance", "beta"), PUBLISHED)
def test_numbers_are_those_of_its_authors_code(seed, balance, beta):
    results = vt.oc_cost(*sides(oracle.random_images(seed)), balance=balance, beta=beta, checks="off")
    assert results["OC-cost"].value == pytest.approx(PUBLISHED[seed, balance, beta], abs=1e-7)


@pytest.mark.parametrize("seed", range(10, 20))
def test_numbers_are_those_of_the_slow_oracle(seed):
    images = oracle.random_images(seed)
    results = vt.oc_cost(*sides(images), checks="off")
    expected = [oracle.image_cost(*pair) for pair in images]
    assert results["OC-cost"].value == pytest.approx(np.mean(expected), abs=1e-9)
    found = {row[0]: row[1] for row in results.image_table().rows}
    assert [found[f"{i:02}"] for i in range(len(images))] == pytest.approx(expected, abs=1e-9)


def test_parts_by_hand():
    # a: a cat half covered (GIoU 1/2, cost 0.5 · 0.25) of confidence 0.6 (0.5 · 0.2); a dog missed; a cow made up.
    truth = vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], [[0, 0, 10, 10], [50, 0, 60, 10], [0, 0, 9, 9]])
    pred = vt.Annotations.of(
        ["a", "a", "b"], ["cat", "cow", "cat"], [[0, 0, 10, 5], [0, 80, 10, 90], [0, 0, 9, 9]], confidence=[0.6, 1, 1]
    )
    results = vt.oc_cost(truth, pred, checks="off")
    # The dog and the cow together would cost 0.5 · (1 + 0.64) / 2 + 0.5 · 1 > 0.6, so both stay alone.
    assert results["OC-cost"].value == pytest.approx(((0.125 + 0.1 + 0.6 + 0.6) / 3 + 0) / 2)
    parts = json.loads(results.to_json())["parts"]
    assert parts == pytest.approx(
        {"localization": 0.125 / 6, "classification": 0.1 / 6, "extra": 0.6 / 6, "missed": 0.6 / 6}
    )
    assert results["OC-cost", "dog"].value == pytest.approx(0.6)
    assert results["OC-cost", "cat"].value == pytest.approx(0.225 / 2)


def test_flagged_objects_and_predictions_in_them_are_left_out():
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 0, 60, 40]])
    truth = replace(truth, flags={"crowd": np.array([False, True])})
    pred = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 10, 10], [30, 0, 40, 10]], confidence=[1, 1])
    assert vt.oc_cost(truth, pred, checks="off")["OC-cost"].value == 0
    assert vt.oc_cost(replace(truth, flags={}), pred, checks="off")["OC-cost"].value > 0.2


def test_an_object_that_is_found_in_front_of_a_crowd_is_not_missed():
    """IoU 0.5 with the object is enough; below it the prediction is one of the crowd and the object is missed."""
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[30, 0, 40, 10], [20, 0, 60, 40]])
    truth = replace(truth, flags={"crowd": np.array([False, True])})
    for box, expected in (([30, 0, 40, 10], 0), ([30, 0, 40, 20], 0.5 * 0.25), ([30, 0, 40, 21], 0.6)):
        pred = vt.Annotations.of(["a"], ["cat"], [box], confidence=[1])
        assert vt.oc_cost(truth, pred, checks="off")["OC-cost"].value == pytest.approx(expected), box


@pytest.mark.parametrize("confidence", [90, 5.2, -3.1, -1e308])
def test_confidences_that_are_no_probabilities_are_refused(confidence):
    """Percentages and logits would make classification errors of any size."""
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]])
    for label in ("cat", "dog"):
        pred = vt.Annotations.of(["a"], [label], [[0, 0, 10, 10]], confidence=[confidence], labels=["cat", "dog"])
        with pytest.raises(vt.DataError, match="expected confidences from 0 to 1, found"):
            vt.oc_cost(truth, pred, checks="off")


@pytest.mark.parametrize(("option", "value"), [("balance", 1.5), ("beta", -0.1), ("beta", "much")])
def test_wrong_costs_are_named(option, value, capsys):
    with pytest.raises(vt.BadParameter, match=f"^{option}: expected"):
        vt.oc_cost(*sides(oracle.random_images(1)), **{option: value})
    assert run(["oc-cost", "truth.json", "pred.json", f"--{option}", str(value)]) == 2
    assert option in capsys.readouterr().err


def test_the_plot_stacks_the_parts_of_each_class() -> None:
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 10, 10], [50, 0, 60, 10]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.8])
    axes = vt.plot(vt.oc_cost(truth, pred))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all", "dog", "cat"]
    # Localization, classification, extra, missed: of both, of the missed dog, and of the cat of confidence 0.8.
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert widths == [pytest.approx(own) for own in ([0, 0, 0], [0.025, 0, 0.05], [0, 0, 0], [0.3, 0.6, 0])]
