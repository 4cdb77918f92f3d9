"""Leaderboards of trackers: sequences and blocks resampled, annotation errors of tracks, by hand and against track."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import verite as vt
from verite.leaderboards.track_leaderboard import TrackErrors, TrackLeaderboard, rank_trackers, sequence_boxes

SEQUENCES, FRAMES = "abcdef", 10


def tracks(*, confidence: float | None = None, drop: float = 0.0, ids: int = 1, seed: int = 0) -> vt.Annotations:
    """Three boxes far apart in six sequences; some are dropped, and ids change every FRAMES / ids frames."""
    rng = np.random.default_rng(seed)
    rows = [(s, f, t) for s in SEQUENCES for f in range(FRAMES) for t in range(3) if rng.random() >= drop]
    return vt.Annotations.of(
        [f"{s}/{f:06d}" for s, f, _ in rows], ["car"] * len(rows), [[50 * t, 0, 50 * t + 20, 20] for *_, t in rows],
        track=[10 * t + f * ids // FRAMES for _, f, t in rows],
        confidence=None if confidence is None else [confidence] * len(rows),
    )  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, vt.TrackResults]:
    truth = tracks()
    preds = {
        "good": tracks(confidence=1),
        "lossy": tracks(confidence=1, drop=0.3, seed=1),
        "cut": tracks(confidence=1, ids=2),
    }
    return {name: vt.track(truth, pred, name=name, checks="off") for name, pred in preds.items()}


def test_scores_are_those_of_track(results: dict[str, vt.TrackResults]) -> None:
    board = rank_trackers(results, ["HOTA", "IDSW"], draws=20)
    for i, name in enumerate(board.names):
        assert board.boards["HOTA"].scores[i] == pytest.approx(results[name]["HOTA"].value, abs=1e-12)
    assert board.boards["IDSW"].names[-1] == "cut"  # fewer switches are better
    assert board.units == 6


def test_a_resample_of_sequences_is_the_total_of_their_counts(results: dict[str, vt.TrackResults]) -> None:
    """Against `draw_scores` of the protocol, which sums the counts of sequences by itself."""
    from verite.statistics.resampling import SampledUnits

    board = rank_trackers(results, ["HOTA"], draws=10, seed=3)
    weights = SampledUnits(np.arange(6), 6).bootstrap(10, 3)
    names = list(results)
    first = results["lossy"]
    per_image = weights[:, first.sequences.sequence]
    expected = first.draw_scores(["HOTA"], per_image)[:, 0]
    one = board.boards["HOTA"]
    assert one.samples["images"][:, one.names.index("lossy")] == pytest.approx(expected, abs=1e-12)
    assert set(one.names) == set(names)


def test_blocks_and_none(results: dict[str, vt.TrackResults]) -> None:
    board = rank_trackers(results, ["HOTA"], resample="blocks:5", draws=20)
    assert board.units == 12
    assert "intervals of HOTA from blocks are too short" in board.to_text(1000)
    assert "too short" not in rank_trackers(results, ["MOTA"], resample="blocks:5", draws=20).to_text(1000)
    assert "first in (blocks)" in board.shown("HOTA").head
    assert "first in (sequences)" in rank_trackers(results, ["HOTA"], draws=20).shown("HOTA").head
    assert not rank_trackers(results, ["HOTA"], resample="none", draws=20).board.samples
    one = {
        name: vt.track(*(side.where(side.image < FRAMES) for side in (r.truth, r.pred)), checks="off")
        for name, r in results.items()
    }
    with pytest.raises(vt.BadParameter, match="at least 5"):
        rank_trackers(one, ["HOTA"], draws=20)


def test_spurious_tracks_are_removed_and_swaps_keep_the_boxes(results: dict[str, vt.TrackResults]) -> None:
    boxes = sequence_boxes(list(results.values()), 0, "car")
    assert boxes is not None
    assert boxes.annotated == 3
    rng = np.random.default_rng(0)
    kept = [boxes.simulate(TrackErrors(spurious=0.5), rng)[1].sum() / FRAMES for _ in range(400)]
    assert np.mean(kept) == pytest.approx(1.5, abs=3 * np.sqrt(3 / 4 / 400))
    track, there = boxes.simulate(TrackErrors(swapped=0.999), np.random.default_rng(1))
    assert there[: 3 * FRAMES].all()
    assert (track[: 3 * FRAMES] != boxes.track[: 3 * FRAMES]).any()
    for frame in range(FRAMES):  # each frame still has each id once
        assert sorted(track[: 3 * FRAMES][boxes.frame[: 3 * FRAMES] == frame].tolist()) == [0, 1, 2]


def test_missing_tracks_come_from_unmatched_predictions() -> None:
    truth = tracks()
    extra = vt.Annotations.of([f"a/{f:06d}" for f in range(FRAMES)], ["car"] * FRAMES, [[500, 0, 520, 20]] * FRAMES,
                              track=[99] * FRAMES, confidence=[1.0] * FRAMES)  # fmt: skip
    both = vt.Annotations.of(
        [truth.images.name(i) for i in truth.image] + [extra.images.name(i) for i in extra.image],
        ["car"] * (len(truth) + FRAMES), np.r_[truth.regions.boxes, extra.regions.boxes],
        track=np.r_[truth.track, extra.track], confidence=np.ones(len(truth) + FRAMES),
    )  # fmt: skip
    results = {
        "more": vt.track(truth, both, checks="off"),
        "exact": vt.track(truth, tracks(confidence=1), checks="off"),
    }
    boxes = sequence_boxes(list(results.values()), 0, "car")
    assert boxes is not None
    assert int(boxes.track.max()) + 1 - boxes.annotated == 1  # the ten boxes at 500 are the only candidate
    board = rank_trackers(results, ["HOTA"], TrackErrors(missing=0.3), resample="none", draws=60)
    one = board.boards["HOTA"]
    assert one.names[0] == "exact"
    # A sequence has 3 tracks: the candidate is annotated in 1 - exp(-0.9) of the simulations, and then "more" is right.
    share = float((one.samples["errors"][:, 1] >= one.samples["errors"][:, 0]).mean())
    assert share == pytest.approx(1 - np.exp(-0.9), abs=3 * np.sqrt(0.25 / 60))


def test_the_public_function_and_bad_input() -> None:
    truth = tracks()
    preds = {"good": tracks(confidence=1), "lossy": tracks(confidence=1, drop=0.3, seed=1)}
    board = vt.leaderboard(truth, preds, metrics="HOTA", resample="sequence", draws=30, checks="off",
                           errors=TrackErrors(spurious=0.1))  # fmt: skip
    assert isinstance(board, TrackLeaderboard)
    assert board.names == ("good", "lossy")
    again = pickle.loads(pickle.dumps(board))
    assert again.to_json() == board.to_json()
    assert board.to_dict()["metrics"]["HOTA"]["detectors"][0]["p_first"]["images"] == 1
    with pytest.raises(vt.BadParameter, match="resample"):
        vt.leaderboard(truth, preds, metrics="HOTA", resample="blocks:x", checks="off")
    with pytest.raises(vt.BadParameter, match="did you mean 'swapped'"):
        TrackErrors.parse("swaped=0.1")
    with pytest.raises(vt.BadParameter, match="below 1"):
        TrackErrors(missing=1.5)


def test_same_seed_same_numbers(results: dict[str, vt.TrackResults]) -> None:
    one, two = (rank_trackers(results, ["HOTA"], TrackErrors(swapped=0.2), draws=15, seed=5) for _ in range(2))
    assert one.to_json() == two.to_json()
