"""Scene scores over time: curves per sequence and change points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import verite as vt
from verite.cli import verite as command
from verite.scene.over_time import FrameScores, change_points


def test_a_step_is_found_where_it_is() -> None:
    rng = np.random.default_rng(1)
    series = np.r_[rng.normal(0.2, 0.03, 60), rng.normal(0.5, 0.03, 40), rng.normal(0.2, 0.03, 60)]
    assert change_points(series) == [60, 100]


def test_series_without_a_change_rarely_have_one() -> None:
    """Independent and autocorrelated noise: at most 5 of 100 with a level of 0.01 (probability 0.0005 of more)."""
    rng = np.random.default_rng(2)
    independent = [change_points(rng.normal(0, 1, 100)) for _ in range(100)]
    assert sum(map(bool, independent)) <= 5
    assert change_points(np.full(50, 0.3)) == []
    assert change_points(np.zeros(0)) == []


def video(tmp_path: Path) -> tuple[Path, Path]:
    """Forty frames; in the second half the detector misses the object."""
    lines = [f"{f},1,10,10,50,90,1,1,1" for f in range(1, 41)]
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt" / "gt.txt").write_text("\n".join(lines))
    found = [f"{f},1,10,10,50,90,1.0,-1,-1,-1" for f in range(1, 21)]
    (tmp_path / "pred.txt").write_text("\n".join(found))
    return tmp_path / "gt" / "gt.txt", tmp_path / "pred.txt"


def test_scores_of_a_video_by_hand(tmp_path: Path) -> None:
    truth, pred = video(tmp_path)
    found = FrameScores.of(vt.scene_score(truth, pred, checks="off"))
    (one,) = found.sequences
    assert one.scores.tolist() == [0.0] * 20 + [1.0] * 20
    assert one.changes == (21,)
    assert one.levels == [(1, 20, 0.0), (21, 40, 1.0)]


def test_the_command_prints_and_saves_it(tmp_path: Path) -> None:
    truth, pred = map(str, video(tmp_path))
    done = CliRunner().invoke(command, ["scene-score", truth, pred, "--per", "frame", "--json", "--checks", "off"])
    assert done.exit_code == 0, done.output
    (sequence,) = json.loads(done.stdout)["sequences"].values()
    assert sequence["changes"] == [21]
    out = tmp_path / "out"
    arguments = ["scene-score", truth, pred, "--per", "frame", "-q", "-o", str(out), "--checks", "off"]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert list(out.rglob("over-time.png"))
    assert list(out.rglob("over-time-levels.csv"))


def test_images_that_are_no_frames_are_named() -> None:
    truth = vt.Annotations.of(["cat.jpg"], ["cat"], [[0, 0, 5, 5]])
    with pytest.raises(vt.DataError, match="expected frames named SEQUENCE/NUMBER"):
        FrameScores.of(vt.scene_score(truth, truth, checks="off"))


def test_numbered_images_without_videos_are_named(tmp_path: Path) -> None:
    names = ["street-001.jpg", "street-017.jpg", "pier-002.jpg"]
    single = vt.Annotations.of(names, ["cat"] * 3, [[0, 0, 5, 5]] * 3)
    found = FrameScores.of(vt.scene_score(single, single, checks="off"))
    assert not found.is_stated
    (warning,) = found.warnings
    assert "3 images are taken as frames of 2 sequences ('street', 'pier')" in warning
    assert warning.split()[0] in found.to_text()
    assert found.to_dict()["is_stated"] is False
    truth, pred = video(tmp_path)
    assert not FrameScores.of(vt.scene_score(truth, pred, checks="off")).warnings
