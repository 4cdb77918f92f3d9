"""What do programs and their type checkers see of verite? Every public name is declared once, in the stub."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from verite.annotation_errors.agree import AgreeSettings
from verite.leaderboards.leaderboard import LeaderboardSettings
from verite.leaderboards.score_tables import ScoreSettings
from verite.metrics.localize import LocalizeSettings
from verite.protocols import REGISTRY, protocol_named
from verite.ranking.rank import RankSettings
from verite.reporting.draw import DrawSettings
from verite.settings import Settings

RIGHT = """
import verite as vt

truth: vt.Annotations = vt.read("truth.json")
pred = vt.read("pred.json", like=truth)
results = vt.coco(truth, pred, iou=[0.5, 0.75], class_agnostic=True, quirks="pycocotools")
value: float = results.scores["AP"].value
vt.voc(truth, pred, iou=0.3, ignored="count", name="mine").accumulate("cat")
vt.openimages(truth, pred, group_of_weight=0.5, threads=2)
vt.scene_score(truth, pred, matching="one-to-one", alpha=0.5).score
vt.localize(truth, pred, "iou", unmatched="score")
vt.leaderboard(truth, {"a": pred, "b": pred}, metrics=["AP", "AP50"], draws=200, resample="video_id").table()
"""
# Each wrong line and what a type checker says of it.
WRONG = {
    'vt.coco(truth, pred, iou="half")': '"iou" to "__call__" of "Protocol" has incompatible type "str"',
    "vt.coco(truth, pred, ios=0.5)": 'Unexpected keyword argument "ios"',
    'vt.voc(truth, pred, pixel="plus2")': '"pixel" to "__call__" of "Protocol" has incompatible type',
    'vt.rank("t.csv", draws="many")': '"draws" to "__call__" of "RankFunction" has incompatible type "str"',
    "vt.nonsense": 'Module has no attribute "nonsense"',
}


def check(tmp_path: Path, text: str) -> str:
    """What mypy says of a program."""
    program = tmp_path / "program.py"
    program.write_text(text)
    words = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", str(program)]
    # Away from the sources, so that the package is found as its users find it.
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path).stdout


@pytest.mark.slow
def test_a_type_checker_sees_names_and_settings(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    said = check(tmp_path, RIGHT + "\n".join(WRONG) + "\n")
    for line, message in WRONG.items():
        assert message in said, line
    assert f"Found {len(WRONG)} errors" in said


def test_help_shows_the_type_of_every_setting() -> None:
    for protocol in map(protocol_named, REGISTRY):
        found = inspect.signature(protocol)
        assert found.return_annotation.endswith("Results")
        assert not [one for one in found.parameters.values() if one.annotation is one.empty]
    types = {name: str(one.annotation) for name, one in inspect.signature(vt.openimages).parameters.items()}
    assert types["truth"] == "Readable"
    assert types["metric"] == "typing.Literal['challenge', 'v2']"
    assert types["unverified"] == "typing.Literal['drop', 'count', None]"
    assert types["iou"] == "float | Sequence[float]"
    assert types["labels"] == "Iterable[str] | None"


def test_every_public_name_is_there_and_nothing_else() -> None:
    for name in vt.__all__:
        assert getattr(vt, name) is not None
    assert set(dir(vt)) == set(vt.__all__)
    assert len(set(vt.__all__)) == len(vt.__all__) > 50


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        vt.nonsense  # noqa: B018


def test_a_star_takes_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from verite import *", names)
    assert names["coco"] is vt.coco
    assert set(names) >= set(vt.__all__)


@pytest.mark.parametrize(("old", "new"), vt.DEPRECATED.items())
def test_earlier_names_still_work_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"verite.{old} is now called verite.{new}"):
        found = getattr(vt, old)
    assert found is getattr(vt, new)
    assert old not in dir(vt)


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (vt.rank, RankSettings),
        (vt.leaderboard, LeaderboardSettings),
        (vt.score_leaderboard, ScoreSettings),
        (vt.draw, DrawSettings),
        (vt.localize, LocalizeSettings),
        (vt.agree, AgreeSettings),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_functions_list_and_document_every_declared_setting(function: Any, settings: type[Settings]) -> None:
    found = inspect.signature(function).parameters
    documented = {
        name
        for line in inspect.getdoc(function).partition("Returns\n")[0].splitlines()
        for name in line.partition(" : ")[0].replace("*", "").split(", ")
    }
    public = {name: one for name, one in settings.declared.items() if one.has_option or name in found}
    assert public
    for name, setting in public.items():
        assert name in found, name
        assert name in documented, name
        assert settings.declared[name].accept(found[name].default) == setting.accept(None), name


def test_an_argument_without_a_name_is_refused() -> None:
    with pytest.raises(vt.BadParameter, match="leaderboard: expected settings by name, found 'b' without one"):
        vt.leaderboard("truth.json", "a", "b")
    with pytest.raises(vt.BadParameter, match="did you mean 'seed'"):
        vt.score_leaderboard({"a": [1.0], "b": [2.0]}, seeds=1)
