"""Plots: precision-recall curves, F1, bars of classes; without matplotlib one line says what to install."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import verite as vt
from tests.cli.test_command_line import DATA
from verite.compat.pycocotools.coco import COCO
from verite.errors import BadParameter
from verite.plotting import shorten_apart
from verite.reporting.plots import MISSING, file_names, plot_all, plot_class, render, save_curves, stairs


@pytest.fixture
def results():
    truth = vt.Annotations.of(
        ["a"] * 3, ["cat"] * 3, [[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]], labels=["cat", "dog"]
    )
    boxes = [[0, 0, 9, 9], [80, 80, 89, 89], [20, 0, 29, 9]]
    return vt.voc(truth, vt.Annotations.of(["a"] * 3, ["cat"] * 3, boxes, confidence=[0.9, 0.8, 0.7]))


def test_the_title_states_the_average_precision(results):
    # 1/3 · 1 + 1/3 · 2/3 = 5/9
    assert plot_class(results, "cat").axes[0].get_title() == "cat: AP = 55.56 % at IoU 0.5"
    assert "mAP = 55.56 %" in plot_all(results).axes[0].get_title()


def test_area_below_the_interpolated_curve_is_the_average_precision(results):
    recall, precision = stairs(results.curves[0]["cat"])
    area = (np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum()
    assert area == pytest.approx(results.ap("cat"))


def test_raw_and_interpolated_curves_are_drawn(results):
    lines = plot_class(results, "cat").axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["raw", "interpolated, all points"]
    assert lines[0].get_ydata().tolist() == [1, 1, 0.5, pytest.approx(2 / 3)]


def test_a_class_without_ground_truth_gets_no_plot(results, tmp_path):
    assert [p.name for p in save_curves(results, tmp_path)] == ["pr-all-classes.png", "pr-cat.png"]


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_plot_gives_the_same_bytes(results, format):
    assert render(plot_class(results, "cat"), format) == render(plot_class(results, "cat"), format)


def test_class_names_become_safe_file_names():
    assert file_names(["../../etc/passwd", "a b", "a/b", "A-B", "…"]) == [
        "etc-passwd",
        "a-b",
        "a-b-2",
        "A-B-3",
        "class",
    ]


@pytest.fixture
def cats_and_dogs():
    truth = vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29], [0, 0, 9, 9]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [50, 0, 59, 9]], confidence=[0.9, 0.8])
    return vt.voc(truth, pred, name="mine")


def test_the_default_plot_is_precision_against_recall(cats_and_dogs):
    assert cats_and_dogs.plot().get_xlabel() == "recall"
    assert vt.coco(cats_and_dogs.truth, cats_and_dogs.pred).plot().get_ylabel() == "precision"


def test_f1_against_confidence_is_that_of_precision_and_recall(cats_and_dogs):
    # The first prediction is a true positive: precision 1, recall 1/2, F1 2/3; then precision 1/2, recall 1/2, F1 1/2.
    lines = [line for line in cats_and_dogs.plot("f1").get_lines() if line.get_label().startswith("cat")]
    assert lines[0].get_ydata().tolist() == pytest.approx([2 / 3, 1 / 2])
    for shown in (
        vt.coco(cats_and_dogs.truth, cats_and_dogs.pred),
        vt.coco(cats_and_dogs.truth, cats_and_dogs.pred).analyse(),
    ):
        lines = [line for line in shown.plot("f1").get_lines() if line.get_label().startswith("cat")]
        assert lines[0].get_ydata().tolist() == pytest.approx([2 / 3, 1 / 2])


def test_bars_are_the_scores_of_the_classes(cats_and_dogs):
    axes = cats_and_dogs.plot("classes")
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cat", "dog"]
    assert len(vt.compare(cats_and_dogs, cats_and_dogs).plot().patches) == 4


def test_given_axes_are_used_and_returned(cats_and_dogs):
    axes = Figure().add_subplot()
    assert cats_and_dogs.plot("pr", ax=axes) is axes


def test_an_unknown_kind_is_an_error_that_lists_those_that_apply(cats_and_dogs):
    with pytest.raises(vt.BadParameter, match=r"plot: expected pr or f1 or classes or errors or .*, found 'f2'"):
        cats_and_dogs.plot("f2")
    with pytest.raises(vt.BadParameter, match="expected compare"):
        vt.compare(cats_and_dogs, cats_and_dogs).plot("pr")


def test_figures_carry_the_signature_as_metadata(cats_and_dogs):
    image = Image.open(io.BytesIO(render(cats_and_dogs.plot().figure, "png")))
    assert image.text["Description"] == str(cats_and_dogs.signature)
    assert image.text["Software"] == f"verite {vt.__version__}"


def test_figures_saved_by_savefig_carry_the_signature_too(cats_and_dogs, tmp_path):
    cats_and_dogs.plot().figure.savefig(tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").text["Description"] == str(cats_and_dogs.signature)
    cats_and_dogs.plot().figure.savefig(tmp_path / "b.png", metadata={"Description": "mine"})
    assert Image.open(tmp_path / "b.png").text["Description"] == "mine"
    cats_and_dogs.plot().figure.savefig(tmp_path / "c.svg")
    assert str(cats_and_dogs.signature) in (tmp_path / "c.svg").read_text()
    cats_and_dogs.plot().figure.savefig(tmp_path / "d.jpg")


@pytest.mark.parametrize("kind", ["pr", "confusion", "errors", "slices"])
def test_png_of_one_pass_has_the_pixels_of_savefig(cats_and_dogs, kind, tmp_path):
    figure = vt.plot(cats_and_dogs, kind).figure
    with Image.open(io.BytesIO(render(figure, "png", dpi=120))) as image:
        once = np.asarray(image.convert("RGBA"))
    again = vt.plot(cats_and_dogs, kind).figure
    again.savefig(tmp_path / "twice.png", dpi=120)
    with Image.open(tmp_path / "twice.png") as image:
        np.testing.assert_array_equal(once, np.asarray(image.convert("RGBA")))


def test_names_are_not_parsed_as_formulas():
    names = ["$x^2$", "a_b", "$\\frac$"]
    truth = vt.Annotations.of(["a"] * 3, names, [[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]])
    results = vt.voc(truth, truth.take([0, 1, 2]), name="$\\frac$", checks="off")
    for kind in ("pr", "f1", "classes"):
        assert r"$\frac$" in render(results.plot(kind).figure, "svg").decode()
    assert r"$\frac$" in render(plot_class(results, "$\\frac$"), "svg").decode()


TRUTH, HAWK, MOLE = (str(DATA / "demo" / f"{name}.json") for name in ("truth", "hawk", "mole"))


def analysis():
    return vt.analyse(TRUTH, HAWK, only=["errors"])


def show_first():
    coco = COCO(TRUTH)
    coco.showAnns(coco.loadAnns(coco.getAnnIds())[:1])


ENTRY_POINTS = {
    "results": lambda: vt.coco(TRUTH, HAWK).plot(),
    "function": lambda: vt.plot(vt.voc(TRUTH, HAWK)),
    "comparison": lambda: vt.compare(vt.coco(TRUTH, HAWK), vt.coco(TRUTH, MOLE)).plot(),
    "analysis": lambda: analysis().plot(),
    "part of an analysis": lambda: analysis().errors.plot(),
    "image": lambda: vt.plot_image(vt.coco(TRUTH, HAWK), vt.read(TRUTH).images.names[0]),
    "images": lambda: vt.draw(TRUTH, HAWK, "drawn"),
    "pair": lambda: vt.plot_pair([2, 3, 6, 7], [4, 3, 8, 7], size=(10, 10)),
    "distributions": lambda: vt.plot_distributions(vt.localize(TRUTH, HAWK, "iou")),
    "scene": lambda: vt.plot_scene(vt.scene_score(TRUTH, HAWK).trace(0)),
    "class distances": lambda: vt.plot_distances(vt.class_distances("voc")),
    "pycocotools": show_first,
}


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_every_plot_without_matplotlib_says_what_to_install(entry_point, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadParameter) as caught:
        ENTRY_POINTS[entry_point]()
    assert str(caught.value) == MISSING
    assert not list(tmp_path.iterdir())


def test_the_report_needs_no_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    vt.report(TRUTH, HAWK, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_figures_are_created_by_one_function():
    home = Path(vt.__file__).parent
    makers = [path.name for path in home.rglob("*.py") if re.search(r"\bFigure\(", path.read_text())]
    assert makers == ["plots.py"]


def test_shortened_names_stay_apart():
    """Names that differ once, twice, by their length, or nowhere."""
    rng = np.random.default_rng(0)
    words = ["ssd-mobilenet-v1", "quantized", "non-quantized", "mlperf", "tensorrt", "resnet101", "resnet50"]
    for _ in range(200):
        names = ["-".join(rng.choice(words, rng.integers(2, 6))) for _ in range(8)]
        for most in (12, 18, 28):
            short = shorten_apart(names, most)
            assert len(set(short)) == len(set(names))
            if short != names:
                assert max(map(len, short)) <= most


@pytest.mark.thorough
def test_the_first_plot_of_a_notebook_is_shown():
    nbclient = pytest.importorskip("nbclient", reason="needs the dependency group 'notebooks'")
    pytest.importorskip("ipykernel", reason="needs the dependency group 'notebooks'")
    from nbformat.v4 import new_code_cell, new_notebook

    evaluate = """import verite as vt
box = [["a.png"], ["cat"], [[0, 0, 9, 9]]]
results = vt.coco(vt.Annotations.of(*box), vt.Annotations.of(*box, confidence=[0.9]), checks="off")"""
    notebook = new_notebook(cells=[new_code_cell(evaluate), new_code_cell("results.plot();")])
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.create_kernel_manager().kernel_spec.argv[0] = sys.executable
    client.execute()
    (shown,) = notebook.cells[1].outputs
    assert shown.output_type == "display_data"
    assert "image/png" in shown.data
