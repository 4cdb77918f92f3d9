"""Parts of an analysis draw themselves, and so do results by the same names."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import verite as vt
from verite.reporting.plots import set_cjk_fonts


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
        ("froc", "false positives per image"),
        ("confusion", "predicted"),
        ("calibration", "confidence"),
        ("slices", "recall"),
        ("lrp", "error"),
        ("worst", "AP gained by fixing the errors of the image one by one"),
        ("suspicious", "annotations"),
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


def test_bars_of_suspicious_annotations_count_those_listed_and_the_most_suspicious(results: vt.CocoResults) -> None:
    found = results.analyse().suspicious
    bars = [bar.get_width() for bar in found.plot(new_axes()).patches]
    assert sum(bars[5:]) == sum(one.suspicion >= 0.5 for one in found.listed)
    assert sum(bars[:5]) == len(found.listed)


@pytest.mark.parametrize("kind", ["froc", "lrp", "worst", "suspicious", "slices"])
def test_plots_of_empty_data_are_drawn(kind: str) -> None:
    truth = vt.Annotations.of([], [], [], images=["i"], labels=["a"])
    pred = vt.Annotations.of([], [], [], confidence=[])
    assert vt.analyse(truth, pred, checks="off").plot(kind, new_axes()).get_title()


LONG = [f"a rather long name of the industrial part number {k} (on the left, rusty)" for k in range(80)]


def many_labels(count: int = 80) -> vt.Analysis:
    """Everything is found, and the last label is taken for the first one once."""
    boxes = [[20 * k, 0, 20 * k + 10, 10] for k in range(count)]
    truth = vt.Annotations.of(["i"] * count, LONG[:count], boxes)
    labels = [*LONG[: count - 1], LONG[0]]
    pred = vt.Annotations.of(["i"] * count, labels, boxes, confidence=[0.9] * count)
    return vt.analyse(truth, pred, checks="off", name="detector-of-a-very-long-name-with-its-version-and-date-v7")


@pytest.mark.parametrize("kind", ["errors", "froc", "confusion", "calibration", "slices", "lrp", "worst", "suspicious"])
def test_titles_and_names_stay_inside_the_figure_and_do_not_overlap(kind: str) -> None:
    axes = many_labels().plot(kind)
    figure: Any = axes.figure
    figure.draw_without_rendering()
    title = axes.title.get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.x1
    for axis in (axes.xaxis, axes.yaxis):
        ticks = [label for label in axis.get_ticklabels() if label.get_text()]
        assert len({label.get_text() for label in ticks}) == len(ticks)
    rows = [label.get_window_extent() for label in axes.yaxis.get_ticklabels() if label.get_text()]
    rows = sorted(rows, key=lambda one: one.y0)
    assert all(low.y1 <= high.y0 + 1.5 for low, high in pairwise(rows))


def test_of_very_many_labels_the_most_confused_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verite.analysis.confusion.PLOTTED_CLASSES", 2)
    axes = many_labels(9).plot("confusion", new_axes())
    counts = [int(text.get_text()) for text in axes.texts]
    assert counts == [1, 1]  # the first label is found, and the last one taken for it
    assert "most confused 2 of 9" in axes.get_title()


def test_bars_of_several_systems_add_up_to_one_and_the_best_is_on_top(results: vt.CocoResults) -> None:
    demo = files("verite") / "data" / "demo"
    preds = {name: vt.read(str(demo / f"{name}.json"), like=results.truth) for name in ("mole", "hawk", "magpie")}
    found = vt.analyse(results.truth, preds)
    axes = found.plot(ax=new_axes())
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == sorted(preds, key=lambda name: -found[name].errors.base)
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches][-3:]
    assert ends == pytest.approx([1, 1, 1])


def test_letters_that_no_font_has_are_no_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are errors here."""
    monkeypatch.setattr("verite.reporting.plots.list_cjk_fonts", tuple)
    truth = vt.Annotations.of(["i"], ["日本語"], [[0, 0, 9, 9]], sizes={"i": (20, 20)})
    pred = vt.Annotations.of(["i"], ["日本語"], [[0, 0, 9, 9]], confidence=[0.9])
    results = vt.coco(truth, pred, checks="off")
    axes = results.analyse().plot("confusion")
    axes.figure.savefig(tmp_path / "confusion.png")
    vt.draw(truth, pred, tmp_path / "drawn", checks="off")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["日本語", "missed"]


def test_wide_letters_come_from_a_font_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verite.reporting.plots.list_cjk_fonts", lambda: ("Noto Sans CJK JP",))
    wide, narrow = (Text(0, 0, name) for name in ("車", "car"))
    for text in (wide, narrow):
        set_cjk_fonts(text)
    assert wide.get_fontfamily() == ["DejaVu Sans", "Noto Sans CJK JP"]
    assert narrow.get_fontfamily() == ["sans-serif"]
