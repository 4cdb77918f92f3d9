"""Charts of the report: labels near their lines, never on them or on each other."""

from __future__ import annotations

import re

import verite as vt
from tests.reporting.report.pages import random_pair
from verite.reporting.report.charts import Axes, Line, line_chart


def test_a_label_never_lies_on_its_own_line():
    """The line rises under the name, which is seven units a letter wide."""
    axes = Axes("x", "y")
    points = [(k / 100, 0.5 if k < 55 else 0.9) for k in range(101)]
    drawn = line_chart(axes, [Line("precision", points, "k", 0.5)], "about")
    x, y = (float(value) for value in re.search(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>precision', drawn).groups())
    under = [axes.place(*point) for point in points]
    assert all(y < top for left, top in under if x <= left <= x + 7 * len("precision"))


def test_of_many_lines_the_first_two_are_labelled_and_the_pointer_names_the_others(tmp_path):
    truth, pred = random_pair(2)
    made = vt.report(truth, {f"system {k}": pred for k in range(5)}, tmp_path / "a.html", checks="off", draws=0)
    chart = re.search(r'<section id="detectors".*?<svg.*?</svg>', made.read_text(), re.DOTALL)[0]
    assert re.findall(r">(system \d)</text>", chart) == ["system 1", "system 0"]
    assert sorted(re.findall(r'data-name="(system \d)"', chart)) == [f"system {k}" for k in range(5)]


def test_labels_of_coinciding_lines_do_not_overlap():
    points = [(k / 10, 0.5) for k in range(11)]
    drawn = line_chart(
        Axes("x", "y"), [Line(name, points, "g", at) for name, at in (("a long name", 0.1), ("b", 0.2))], ""
    )
    places = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\w[\w ]*)', drawn)
    }
    assert places["b"][0] < places["a long name"][0] + 7 * len("a long name")
    assert places["b"][1] >= places["a long name"][1] + 13
