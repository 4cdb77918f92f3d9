"""A setting of a wrong type or value, at every public function: a documented error, never one of Python's own."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from verite.errors import excerpt
from verite.reporting.report.settings import ReportSettings

WRONG: tuple[Any, ...] = (None, "x", [], {}, object(), nan, -1, 2**70, True, inf, 10**400, b"x", [[]], [None],
                          "\0", np.array([1, 2]), np.array(["x"]))  # fmt: skip
PROTOCOLS = ("coco", "voc", "lvis", "openimages", "imagenet_loc", "imagenet_det", "panoptic", "semantic", "f1",
             "track", "miss_rate", "kitti", "wider", "instances", "oc_cost")  # fmt: skip
FUNCTIONS = (*PROTOCOLS, "partial", "localize", "scene_score", "analyse", "reconcile", "leaderboard", "rank", "report",
             "draw", "read", "write", "CocoEvaluator", "F1Evaluator", "SemanticEvaluator", "inspect", "compare",
             "read_volume",
             "metric", "measure", "class_distances", "learn_distances", "evaluate_parts", "read_report", "save_report",
             "suite", "agree", "score_leaderboard", "plot", "plot_image", "plot_pair", "plot_scene", "plot_distances",
             "plot_distributions")  # fmt: skip
# A decorator, whose facts are looked at when it is used, and one that takes minutes; both have tests of their own.
ELSEWHERE = {"localization", "study"}
WITHOUT = {"compare", "inspect", "suite", "read_report", "plot_distances", "plot_distributions"}  # settings
BOX = [10.0, 10.0, 40.0, 40.0]


def suite_of(folder: Path) -> Path:
    """A suite of the two files in a folder."""
    path = folder / "suite.toml"
    path.write_text('[datasets.one]\ntruth = "truth.json"\npred = "pred.json"\n')
    return path


@pytest.fixture
def calls(tmp_path: Path) -> dict[str, tuple[Any, ...]]:
    """What each function is given besides its settings: one object, found."""
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX, "area": 1600, "iscrowd": 0}],
    }
    pred = [{"image_id": 1, "category_id": 1, "bbox": BOX, "score": 0.5}]
    sides = tmp_path / "truth.json", tmp_path / "pred.json"
    for path, content in zip(sides, (truth, pred), strict=True):
        path.write_text(json.dumps(content))
    (tmp_path / "table.csv").write_text("item,truth,a,b\n1,1,1,0\n2,1,1,1\n3,0,0,1\n")
    np.save(tmp_path / "volume.npy", np.ones((3, 3, 3), np.uint8))
    found, distances = vt.coco(*sides), {"a": {"a": 0.0}}
    vt.report(*sides, tmp_path / "page.html")
    return {
        "compare": (found, found),
        "read_volume": (tmp_path / "volume.npy",),
        "metric": ("iou",),
        "measure": (vt.Pairs.of([[0, 0, 9, 9]], [[0, 0, 9, 8]]), [vt.metric("iou")]),
        "class_distances": (distances,),
        "learn_distances": ({"a": [], "b": []},),
        "read_report": (tmp_path / "page.html",),
        "suite": (suite_of(tmp_path),),
        "save_report": (vt.analyse(*sides), tmp_path / "saved.html"),
        "plot": (found,),
        "plot_image": (found, "a.jpg"),
        "plot_pair": ([0, 0, 9, 9], [0, 0, 9, 8]),
        "plot_scene": (vt.scene_score(*sides).trace("a.jpg"),),
        "plot_distances": (vt.class_distances(distances),),
        "plot_distributions": (vt.localize(*sides, "iou"),),
        "leaderboard": (sides[0], {"a": sides[1], "b": sides[1]}),
        "rank": (tmp_path / "table.csv",),
        "agree": ([sides[0], sides[0]],),
        "score_leaderboard": ({"a": [0.1] * 9, "b": [0.2] * 9},),
        "report": (*sides, tmp_path / "page.html"),
        "draw": (*sides, tmp_path / "drawn"),
        "read": (sides[0],),
        "write": (vt.read(sides[0]), tmp_path / "written.json"),
        "localize": (*sides, "iou"),
        "reconcile": (*sides, 0.5),
        "CocoEvaluator": (),
        "F1Evaluator": (),
        "SemanticEvaluator": (),
    } | dict.fromkeys((*PROTOCOLS, "partial", "scene_score", "analyse", "inspect", "evaluate_parts"), sides) | {
        "track": [vt.Annotations.of(["v/01", "v/02"], ["cat"] * 2, [BOX] * 2, track=[1, 1])] * 2,
    }  # fmt: skip


def settings_of(function: Callable[..., Any], given: tuple[Any, ...], needed: dict[str, Any]) -> Iterator[str]:
    """The names of its settings: its parameters, and those that it names when it is given another."""
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[len(given) :]:
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            yield parameter.name
    if function in (vt.report, vt.save_report):
        yield from ReportSettings.declared
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        with pytest.raises(vt.BadParameter, match=r"expected .*, found 'no_such_setting'") as refused:
            function(*given, **needed, no_such_setting=1)
        yield from re.findall(r"\w+", str(refused.value).partition("expected")[2].partition(", found")[0])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_every_setting_of_a_wrong_kind_is_a_documented_error(name: str, calls: dict[str, tuple[Any, ...]]) -> None:
    function, given = getattr(vt, name), calls[name]
    needed = {"labels": ["cat"]} if function is vt.SemanticEvaluator else {}
    names = list(settings_of(function, given, needed))
    assert names or name in WITHOUT
    for setting in names:
        for value in WRONG:
            try:
                function(*given, **needed | {setting: value})
            except vt.VeriteError:
                pass
            except Exception as error:  # told with what was given
                pytest.fail(f"{name}({setting}={excerpt(value)}): {type(error).__name__}: {error}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("setting", ReportSettings.declared)
def test_settings_of_the_report_itself_are_refused_too(setting: str, calls: dict[str, tuple[Any, ...]]) -> None:
    truth, pred, page = calls["report"]
    # None stands for the default, as in every other setting.
    allowed = (str, type(None)) if setting == "title" else (type(None),)
    for value in (*WRONG, 1.5):
        is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
        if isinstance(value, allowed) or is_count:
            continue
        with pytest.raises(vt.BadParameter):
            vt.report(truth, {"a": pred, "b": pred}, page, **{setting: value})


def test_every_public_function_and_evaluator_is_among_them():
    public = {name: getattr(vt, name) for name in vt.PUBLIC}
    functions = {name for name, one in public.items() if callable(one) and not isinstance(one, type)}
    evaluators = {name for name, one in public.items() if isinstance(one, type) and hasattr(one, "update")}
    assert functions | evaluators == {*FUNCTIONS, *ELSEWHERE}
