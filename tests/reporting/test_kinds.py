"""Results draw themselves; what does not fit them is refused with what does."""

from __future__ import annotations

import io

import pytest
from matplotlib.figure import Figure
from PIL import Image

import verite as vt
from verite.reporting.plots import plot_class, render


@pytest.fixture
def results():
    truth = vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29], [0, 0, 9, 9]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [50, 0, 59, 9]], confidence=[0.9, 0.8])
    return vt.voc(truth, pred, name="mine")


def test_first_kind_is_precision_against_recall(results):
    assert results.plot().get_xlabel() == "recall"
    assert vt.coco(results.truth, results.pred).plot().get_ylabel() == "precision"


def test_f1_is_that_of_precision_and_recall(results):
    # The first prediction is right: precision 1, recall 1/2, F1 2/3; then precision 1/2, recall 1/2, F1 1/2.
    lines = [line for line in results.plot("f1").get_lines() if line.get_label().startswith("cat")]
    assert lines[0].get_ydata().tolist() == pytest.approx([2 / 3, 1 / 2])
    for shown in (vt.coco(results.truth, results.pred), vt.coco(results.truth, results.pred).analyse()):
        lines = [line for line in shown.plot("f1").get_lines() if line.get_label().startswith("cat")]
        assert lines[0].get_ydata().tolist() == pytest.approx([2 / 3, 1 / 2])


def test_bars_are_as_long_as_the_scores(results):
    axes = results.plot("classes")
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cat", "dog"]
    assert len(vt.compare(results, results).plot().patches) == 4


def test_axes_of_ones_own_are_used_and_returned(results):
    axes = Figure().add_subplot()
    assert results.plot("pr", ax=axes) is axes


def test_unknown_kind_is_refused_with_those_that_fit(results):
    with pytest.raises(vt.BadParameter, match=r"plot: expected pr or f1 or classes or errors or .*, found 'f2'"):
        results.plot("f2")
    with pytest.raises(vt.BadParameter, match="expected compare"):
        vt.compare(results, results).plot("pr")


def test_pictures_carry_the_signature(results):
    picture = Image.open(io.BytesIO(render(results.plot().figure, "png")))
    assert picture.text["Description"] == str(results.signature)
    assert picture.text["Software"] == f"verite {vt.__version__}"


def test_pictures_that_a_person_saves_carry_it_too(results, tmp_path):
    results.plot().figure.savefig(tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").text["Description"] == str(results.signature)
    results.plot().figure.savefig(tmp_path / "b.png", metadata={"Description": "mine"})
    assert Image.open(tmp_path / "b.png").text["Description"] == "mine"
    results.plot().figure.savefig(tmp_path / "c.svg")
    assert str(results.signature) in (tmp_path / "c.svg").read_text()
    results.plot().figure.savefig(tmp_path / "d.jpg")


def test_names_are_not_taken_for_formulas():
    names = ["$x^2$", "a_b", "$\\frac$"]
    truth = vt.Annotations.of(["a"] * 3, names, [[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]])
    results = vt.voc(truth, truth.take([0, 1, 2]), name="$\\frac$", checks="off")
    for kind in ("pr", "f1", "classes"):
        assert r"$\frac$" in render(results.plot(kind).figure, "svg").decode()
    assert r"$\frac$" in render(plot_class(results, "$\\frac$"), "svg").decode()
