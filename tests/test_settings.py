"""Public functions and their commands: one declaration of each setting, one default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import verite as vt
from verite.cli.draw import DrawCommandSettings
from verite.cli.leaderboard import BoardSettings, CalibrationSettings, ErrorSettings
from verite.cli.rank import AnswerSettings
from verite.cli.report import ReportCommandSettings
from verite.cli.study import StudySettings
from verite.leaderboards.leaderboard import LeaderboardSettings
from verite.reporting.report.settings import ReportSettings
from verite.settings import Setting, Settings, Thresholds

# A function, what its command declares, and the names that both must have at least.
COMMANDS: dict[str, tuple[Callable[..., Any], tuple[type[Settings], ...], tuple[str, ...]]] = {
    "rank": (vt.rank, (AnswerSettings,), ("errors", "method", "draws", "seed", "level")),
    "leaderboard": (
        vt.leaderboard,
        (LeaderboardSettings, ErrorSettings, BoardSettings, CalibrationSettings),
        ("errors", "protocol", "on", "draws", "seed", "level", "resample", "gold", "plan", "threads", "checks"),
    ),
    "draw": (
        vt.draw,
        (DrawCommandSettings,),
        ("image", "worst", "protocol", "confidence", "on", "iou", "sigmas", "max_distance", "pixel_size", "checks"),
    ),
    "study": (vt.study, (StudySettings,), ("metrics", "truths", "alterations", "tolerances", "quick")),
    "report": (vt.report, (ReportSettings, ReportCommandSettings), ("protocol", "title", "draws", "errors", "card")),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_and_its_command_have_the_same_defaults(name: str) -> None:
    """None on the command line means that the default of the function holds."""
    function, groups, common = COMMANDS[name]
    declared = {key: setting for group in groups for key, setting in group.declared.items()}
    keywords = {
        key: parameter.default
        for key, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    shared = [key for key in keywords if key in declared]
    assert set(common) <= set(shared)
    differing = {key: (keywords[key], declared[key].default) for key in shared if declared[key].default is not None}
    assert {key: pair for key, pair in differing.items() if pair[0] != pair[1]} == {}


def test_every_protocol_shows_its_settings_in_the_signature() -> None:
    from verite.protocols import REGISTRY, protocol_named

    for name in REGISTRY:
        protocol = protocol_named(name)
        shown = inspect.signature(protocol).parameters
        missing = [key for key, one in protocol.settings.declared.items() if key not in shown]
        assert missing == [], name
        for key, one in protocol.settings.declared.items():
            assert shown[key].default in (one.default, None), (name, key)


class IoURules(Settings):
    iou: Setting[Any, tuple[float, ...]] = Thresholds(0.5, "IoU threshold.")


def test_iou_thresholds_are_also_a_text() -> None:
    """COCO's ten thresholds are 0.5 to 0.95 in steps of 0.05, as `numpy.linspace` spaces them."""
    assert IoURules(iou="0.5,0.75").iou == (0.5, 0.75)
    assert IoURules(iou="0.75").iou == (0.75,)
    assert IoURules(iou="0.5:0.95").iou == pytest.approx(np.linspace(0.5, 0.95, 10).tolist(), abs=1e-15)
    assert IoURules(iou="0.1:0.2:0.5").iou == pytest.approx((0.1, 0.3, 0.5), abs=1e-15)
    for text in ("half", "0.9:0.5", "0.5:0.1:0.2:0.9", ""):
        with pytest.raises(vt.BadParameter, match=r"0\.5,0\.75 or 0\.5:0\.95"):
            IoURules(iou=text)


def test_names_of_other_tools_are_accepted():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.5])
    found = vt.coco(truth, pred, iou_type="bbox", classes=["cat"])
    assert str(found.signature) == str(vt.coco(truth, pred, on="box", labels=["cat"]).signature)
    with pytest.raises(vt.BadParameter, match="on: expected on or iou_type, found both"):
        vt.coco(truth, pred, on="box", iou_type="segm")
