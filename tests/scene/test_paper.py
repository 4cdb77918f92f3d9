"""The paper's worked example, from the matrices it prints (Hemery et al., figure 7)."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt

NAN = np.nan
TRUTHS = ["person", "person", "person", "person", "bus", "aeroplane", "car"]
FOUND = ["truck", "aeroplane", "person", "person"]
OVERLAP = np.array(
    [
        [0, 0, 0, 0.689],
        [0, 0, 0.186, 0],
        [0, 0, 0.235, 0],
        [0, 0, 0.242, 0],
        [0.941, 0, 0, 0],
        [0, 0.746, 0, 0],
        [0.001, 0, 0, 0],
    ]
)
# (row, column): localization, recognition, local score as printed
MATCHES = {
    (0, 3): (0.065, 0, 0.051),
    (2, 2): (0.003, 0, 0.002),
    (3, 2): (0.009, 0, 0.007),
    (4, 0): (0.024, 1, 0.219),
    (5, 1): (0.017, 0, 0.015),
}


def printed(column):
    out = np.zeros((7, 4))
    for place, values in MATCHES.items():
        out[place] = values[column]
    return out


@pytest.fixture(scope="module")
def figure():
    return vt.Trace.of(OVERLAP, printed(0), printed(1), truths=TRUTHS, preds=FOUND)


def test_the_score_of_the_paper(figure):
    assert round(figure.score, 3) == 0.328


def test_correspondence_of_the_paper(figure):
    assert {(int(i), int(j)) for i, j in np.argwhere(figure.correspondence)} == set(MATCHES)


def test_local_scores_of_the_paper(figure):
    for place, (_, _, local) in MATCHES.items():
        # Computed from localization rounded to three digits; the plane's 0.017 is a misprint of 0.019.
        assert figure.local[place] == pytest.approx(local, abs=0.0015)


def test_printed_local_scores_give_the_printed_score():
    trace = vt.Trace.of(OVERLAP, printed(2), np.zeros((7, 4)), alpha=1)
    assert trace.score == pytest.approx((0.051 + 0.002 + 0.007 + 0.219 + 0.015 + 2) / 7)
    assert round(trace.score, 3) == 0.328


def test_two_columns_are_added_for_the_two_that_were_missed(figure):
    assert figure.missed == (1, 6)
    assert figure.spurious == ()
    assert figure.compensation.shape == (7, 6)
    assert figure.compensation.sum() == 7
    assert figure.compensation[1, 4] == figure.compensation[6, 5] == 1
    assert figure.compensated[1, 4] == figure.compensated[6, 5] == 1


def test_missing_and_present_objects_contribute_as_the_paper_says(figure):
    assert len(figure.missed) / np.nansum(figure.compensation) == pytest.approx(0.285, abs=0.001)
    assert np.nansum(figure.local) / 7 == pytest.approx(0.043, abs=0.001)


def test_the_trace_is_told_with_its_objects(figure):
    text = str(figure)
    assert "2 person" in text
    assert "0.186" in text
    assert "score 0.3278" in text


def test_our_own_scene_shows_the_same_situations():
    from importlib.resources import as_file, files

    with as_file(files("verite") / "data" / "scene") as home:
        truth = vt.read(home / "truth.json")
        found = vt.scene_score(truth, vt.read(home / "found.json", like=truth))
    trace = found.trace("street.png")
    assert [t.label for t in trace.truths] == TRUTHS
    assert [p.label for p in trace.preds] == FOUND
    # Three people found as one, of whom one overlaps it too little; the bus called a truck; the car missed.
    assert 0 < trace.overlap[1, 2] < 0.2 <= trace.overlap[2, 2]
    assert np.array_equal(trace.correspondence, (OVERLAP >= 0.2).astype(int))
    assert trace.recognition[4, 0] == 1
    assert trace.missed == (1, 6)
    assert found.score == trace.score
