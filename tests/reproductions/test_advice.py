"""Which metric should I use: published scores by representation, and the joint Robin metric."""

from __future__ import annotations

import json

import pytest

import verite as vt
from verite.cli import run
from verite.reproductions.advice import KINDS, Advice, lacking


@pytest.mark.parametrize("kind", KINDS)
def test_advice_names_metrics_that_exist(kind, capsys):
    assert run(["metrics", "--advise", kind, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for row in found["metrics"]:
        vt.metric(row["metric"])
    assert found["advice"]


def test_scores_are_the_published_ones():
    rows = {row[1]: row for row in Advice("mask").main_table().rows}
    assert rows["MARgce"][3] == 22  # table 8
    assert lacking("MARgce") == []
    assert Advice("contour").main_table().rows[0][1] in ("BAD1", "FOM", "BAD2", "BAD3")
    assert run(["metrics", "iou", "--advise", "box"]) == 2
    assert run(["metrics", "--advise", "voxel"]) == 2


def test_the_joint_robin_metric_by_hand():
    truth, shifted, taller = [0, 0, 4, 4], [4, 0, 8, 4], [0, -2, 4, 6]
    # One width away: 1/2, 0, 0. Twice as tall: 0, 1/2, 2/π · atan(1) = 1/2.
    assert vt.metric("robin")(truth, shifted) == pytest.approx(1 / 6)
    assert vt.metric("robin")(truth, taller) == pytest.approx(1 / 3)
    assert vt.metric("robin(variant='max')")(truth, taller) == pytest.approx(0.5)


@pytest.mark.slow
def test_jointly_robin_has_19_of_22_properties_on_boxes():
    """Counted by an independent program; alone each ignores an alteration, and loses its five points."""
    names = ["robin", "robin_loc", "robin_com", "robin_cor"]
    found = vt.study(names, "boxes", jobs=2).scores
    assert found["robin"] == 19
    assert max(found[name] for name in names[1:]) <= 22 - 5
