"""Parts of an analysis draw themselves, and so do results by the same names."""

from __future__ import annotations

from importlib.resources import files

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import verite as vt


def new_axes() -> Axes:
    """Of a figure that nobody else keeps."""
    return Figure().add_subplot()


@pytest.fixture(scope="module")
def results() -> vt.CocoResults:
    demo = files("verite") / "data" / "demo"
    truth = vt.read(str(demo / "truth.json"))
    return vt.coco(truth, vt.read(str(demo / "hawk.json"), like=truth))


def test_bars_of_errors_are_as_long_as_the_costs(results: vt.CocoResults) -> None:
    found = results.analyse()
    bars = [bar.get_width() for bar in found.errors.plot(new_axes()).patches]
    assert bars == pytest.approx([*found.errors.cost.values(), *found.errors.alone.values()])


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("errors", "AP"),
        ("froc", "wrong per image"),
        ("confusion", "predicted"),
        ("calibration", "confidence"),
        ("slices", "recall"),
        ("lrp", "error"),
        ("worst", "AP gained if all errors of the image were mended one by one"),
        ("suspicious", "records"),
    ],
)
def test_results_analyses_and_parts_draw_the_same(results: vt.CocoResults, kind: str, label: str) -> None:
    found = results.analyse()
    part = {"froc": "operating"}.get(kind, kind)
    for axes in (results.plot(kind, new_axes()), found.plot(kind, new_axes()), getattr(found, part).plot(new_axes())):
        assert axes.get_xlabel() == label
        assert axes.get_title().startswith("hawk: ")


def test_cells_of_the_confusion_are_its_counts(results: vt.CocoResults) -> None:
    found = results.analyse().confusion
    shown = [int(text.get_text()) for text in found.plot(new_axes()).texts]
    assert shown == found.matrix[found.matrix > 0].tolist()


def test_bars_of_two_systems_are_their_costs(results: vt.CocoResults) -> None:
    magpie = vt.read(str(files("verite") / "data" / "demo" / "magpie.json"), like=results.truth)
    pair = vt.analyse(results.truth, {"hawk": results.pred, "magpie": magpie}).comparison[0]
    bars = [bar.get_width() for bar in pair.plot(new_axes()).patches]
    assert bars == pytest.approx([*pair.one.errors.cost.values(), *pair.two.errors.cost.values()])
    assert list(pair.to_frame()["hawk"])[:6] == pytest.approx(list(pair.one.errors.cost.values()))


def test_expected_numbers_of_wrong_records_are_sums_of_probabilities(results: vt.CocoResults) -> None:
    found = results.analyse().suspicious
    bars = [bar.get_width() for bar in found.plot(new_axes()).patches]
    assert sum(bars[5:]) == pytest.approx(sum(one.probability for one in found.listed))
    assert sum(bars[:5]) == len(found.listed)


@pytest.mark.parametrize("kind", ["froc", "lrp", "worst", "suspicious", "slices"])
def test_nothing_is_drawn_of_nothing_without_a_complaint(kind: str) -> None:
    truth = vt.Annotations.of([], [], [], images=["i"], labels=["a"])
    pred = vt.Annotations.of([], [], [], confidence=[])
    assert vt.analyse(truth, pred, checks="off").plot(kind, new_axes()).get_title()
