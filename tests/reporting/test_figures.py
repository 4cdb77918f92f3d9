"""Without matplotlib every door to a picture says in one line what to install."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import verite as vt
from tests.cli.test_command_line import DATA
from verite.compat.pycocotools.coco import COCO
from verite.errors import BadParameter
from verite.reporting.plots import MISSING

TRUTH, HAWK, MOLE = (str(DATA / "demo" / f"{name}.json") for name in ("truth", "hawk", "mole"))


def analysis():
    return vt.analyse(TRUTH, HAWK, only=["errors"])


def show_first():
    coco = COCO(TRUTH)
    coco.showAnns(coco.loadAnns(coco.getAnnIds())[:1])


DOORS = {
    "results": lambda: vt.coco(TRUTH, HAWK).plot(),
    "function": lambda: vt.plot(vt.voc(TRUTH, HAWK)),
    "comparison": lambda: vt.compare(vt.coco(TRUTH, HAWK), vt.coco(TRUTH, MOLE)).plot(),
    "analysis": lambda: analysis().plot(),
    "part of an analysis": lambda: analysis().errors.plot(),
    "photo": lambda: vt.plot_image(vt.coco(TRUTH, HAWK), vt.read(TRUTH).images.names[0]),
    "photos": lambda: vt.draw(TRUTH, HAWK, "drawn"),
    "pair": lambda: vt.plot_pair([2, 3, 6, 7], [4, 3, 8, 7], size=(10, 10)),
    "distributions": lambda: vt.plot_distributions(vt.localize(TRUTH, HAWK, "iou")),
    "scene": lambda: vt.plot_scene(vt.scene_score(TRUTH, HAWK).trace(0)),
    "class distances": lambda: vt.plot_distances(vt.class_distances("voc")),
    "pycocotools": show_first,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_what_to_install(door, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadParameter) as caught:
        DOORS[door]()
    assert str(caught.value) == MISSING
    assert not list(tmp_path.iterdir())


def test_pages_need_no_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    vt.report(TRUTH, HAWK, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_figures_are_made_in_one_place():
    home = Path(vt.__file__).parent
    makers = [path.name for path in home.rglob("*.py") if re.search(r"\bFigure\(", path.read_text())]
    assert makers == ["plots.py"]
