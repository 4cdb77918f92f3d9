"""Local changes, rough edges, several objects."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter
from verite.model.rasters import array_of
from verite.studies.local import Bite, Bump, Missing, Noise, Stray, rim, scene_truths
from verite.studies.sweeps import sweeps_of
from verite.studies.truths import Truth

MASK = np.zeros((40, 40), dtype=bool)
MASK[10:30, 10:30] = True
SQUARE = Truth("square", MASK)


def drawn(sweep, truth=SQUARE):
    runs = sweep.rasterise(truth)
    places, sizes = sweep.shape(truth)
    return np.array([array_of(runs, i) for i in range(len(runs))]).reshape(places, sizes, *truth.mask.shape)


def test_a_bite_takes_a_disc_and_a_bump_adds_one():
    at = np.array([10, 20])  # on the upper edge
    bite, bump = (kind().change(SQUARE, at, 1) for kind in (Bite, Bump))
    # A disc of radius 1 has 5 pixels: 4 of them inside, 1 above the edge.
    assert (MASK & ~bite).sum() == 4
    assert not (bite & ~MASK).any()
    assert np.argwhere(bump & ~MASK).tolist() == [[9, 20]]


def test_places_run_along_the_whole_contour():
    places = Bite(every=5).places(SQUARE)
    on_edge = (places == 10) | (places == 29)
    assert on_edge.any(axis=1).all()
    for edge in (places[:, 0] == 10, places[:, 0] == 29, places[:, 1] == 10, places[:, 1] == 29):
        assert edge.sum() >= 3
    assert len(Bite(every=1).places(SQUARE)) == 4 * 19


def test_every_growth_starts_from_the_truth_and_only_grows():
    for sweep in (Bite(every=10), Bump(every=10), Noise(draws=2, step=10)):
        masks = drawn(sweep)
        assert (masks[:, 0] == MASK).all()
        changed = masks ^ MASK
        assert (changed[:, 1:] >= changed[:, :-1]).all()
        assert changed[:, -1].any(axis=(1, 2)).all()


def test_noise_stays_on_the_rim_and_is_drawn_anew_for_every_seed():
    masks = drawn(Noise(draws=2, reach=100, step=50))
    around = rim(SQUARE)
    assert around.sum() == 4 * 19 + 4 * 20  # pixels of the contour, and those beside them
    assert not ((masks ^ MASK) & ~around).any()
    assert ((masks[:, -1] ^ MASK) == around).all()
    assert (drawn(Noise(draws=1)) == drawn(Noise(draws=1))).all()
    assert (drawn(Noise(draws=1)) != drawn(Noise(draws=1, seed=1))).any()


def test_objects_are_missed_one_after_the_other():
    four = scene_truths()[0]
    masks = drawn(Missing(), four)
    assert masks.shape[:2] == (4, 4)
    assert masks.sum(axis=(2, 3)).tolist() == [[4 * 2500, 3 * 2500, 2 * 2500, 2500]] * 4


def test_one_object_strays_and_the_others_stay():
    four = scene_truths()[0]
    masks = drawn(Stray(reach=4, step=2), four)
    assert masks.shape[:2] == (4, 3)
    assert (masks.sum(axis=(2, 3)) == 4 * 2500).all()
    # Two pixels: 2 · 50 on either side.
    assert ((masks[:, 1] ^ four.mask).sum(axis=(1, 2)) == 200).all()


@pytest.mark.thorough
def test_a_study_tells_who_notices_what():
    study = vt.study(["iou", "pixel_recall", "mean_distance"], "wide", ["bite(every=20)", "bump(every=20)", "missing"])
    tables = {name: sheet.to_dict() for name, sheet in study.tables.items()}
    assert tables["bite(every=20)"]["iou"]["noticed"] is True
    # Recall does not see what is added, and the mean distance of the pred's contour not what is missing.
    assert tables["bump(every=20)"]["pixel_recall"]["noticed"] is False
    assert tables["missing"]["mean_distance"]["noticed"] is False
    assert tables["missing"]["iou"] == {
        "noticed": True,
        "monotony": True,
        "continuity": True,
        "evenness": True,
        "score": 4,
    }
    assert "missing" in study.verdict("mean_distance").ignores


def test_a_set_beyond_the_paper_is_known_by_its_name():
    names = [sweep.name for sweep in sweeps_of("beyond")]
    assert names[:5] == ["bite", "bump", "noise", "missing", "stray"]
    assert any("+" in name for name in names)


@pytest.mark.parametrize(
    "wrong",
    ["bite(reach=3, step=2)", "bite(every=0)", "noise(reach=200)", "noise(draws=0)", "stray(step=0)", "missing(n=1)"],
)
def test_wrong_parameters_are_told(wrong):
    with pytest.raises(BadParameter):
        sweeps_of(wrong)
