"""Multi-object tracking: HOTA, CLEAR MOT and Identity against TrackEval's numbers, an oracle, and by hand."""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import verite as vt
from tests.oracles.tracking import track_metrics
from verite.cli import verite as command
from verite.errors import DataError
from verite.protocols.track import track

TRACKS = Path(__file__).parents[3] / "shared" / "real" / "tracks" / "mot.tar.gz"


@pytest.fixture(scope="module")
def tracks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not TRACKS.is_file():
        pytest.skip("needs ../shared/real/tracks/mot.tar.gz, MOT17 with TrackEval's numbers")
    home = tmp_path_factory.mktemp("tracks")
    with tarfile.open(TRACKS) as archive:
        archive.extractall(home, filter="data")
    return home


def moving(tracks: dict[int, list[tuple[int, float]]], confidence: float | None = None) -> vt.Annotations:
    """Boxes of 10 × 10 pixels at these frames and places, by track."""
    rows = [(frame, x, key) for key, places in tracks.items() for frame, x in places]
    return vt.Annotations.of(
        [f"v/{frame:06d}" for frame, _, _ in rows],
        ["car"] * len(rows),
        [[x, 0, x + 10, 10] for _, x, _ in rows],
        confidence=None if confidence is None else [confidence] * len(rows),
        track=[key for _, _, key in rows],
    )


def test_an_identity_switch_by_hand() -> None:
    truth = moving({1: [(1, 0), (2, 1), (3, 2)]})
    pred = moving({7: [(1, 0), (2, 1)], 8: [(3, 2)]}, 1.0)
    found = track(truth, pred)
    assert found["AssA"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert found["HOTA"] == pytest.approx((5 / 9) ** 0.5)
    assert found["MOTA"] == pytest.approx(2 / 3)
    assert found["IDF1"] == pytest.approx(2 / 3)
    assert (found["IDSW"], found["Frag"], found["MT"], found["ML"]) == (1, 0, 1, 0)


def test_a_track_that_is_lost_for_a_frame_is_fragmented_not_switched() -> None:
    truth = moving({1: [(f, 0) for f in range(1, 6)], 2: [(f, 50) for f in range(1, 6)]})
    pred = moving({1: [(1, 0), (2, 0), (4, 0), (5, 0)], 2: [(f, 50) for f in range(1, 6)]}, 1.0)
    found = track(truth, pred)
    assert (found["IDSW"], found["Frag"], found["MT"], found["PT"]) == (0, 1, 1, 1)
    assert found["MOTA"] == pytest.approx(9 / 10)


def test_frames_beyond_the_ground_truth_hold_false_positives() -> None:
    truth = moving({1: [(1, 0), (2, 0)]})
    pred = moving({1: [(1, 0), (2, 0), (3, 0), (4, 0)]}, 1.0)
    assert track(truth, pred)["MOTA"] == pytest.approx(0)


def test_perfect_tracks_and_permuted_ids_and_objects() -> None:
    truth = moving({1: [(1, 0), (2, 3)], 2: [(1, 40), (2, 41)]})
    pred = moving({9: [(1, 40), (2, 41)], 4: [(1, 0), (2, 3)]}, 1.0)
    found = track(truth, pred.take([3, 0, 2, 1]))
    assert [found[name].value for name in ("HOTA", "MOTA", "IDF1")] == [1, 1, 1]


@pytest.mark.parametrize("seed", range(40))
def test_random_sequences_equal_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = int(rng.integers(1, 8))
    sides: list[dict[int, list[tuple[int, float]]]] = [{}, {}]
    for side in sides:
        for key in range(int(rng.integers(1, 5))):
            start = float(rng.uniform(0, 40))
            places = [(f + 1, start + 2 * f + float(rng.normal(0, 2))) for f in range(frames) if rng.random() < 0.8]
            if places:
                side[key] = places
    if not all(sides):
        sides = [{0: [(1, 0.0)]}, {0: [(1, 1.0)]}]
    truth, pred = moving(sides[0]), moving(sides[1], 1.0)
    by_frame: list[list[dict[int, float]]] = [
        [{k: x for k, places in side.items() for at, x in places if at == f + 1} for f in range(frames)]
        for side in sides
    ]

    def iou(a: float, b: float) -> float:
        shared = max(0.0, 10 - abs(a - b))
        return shared / (20 - shared)

    similarity = [
        np.array([[iou(a, b) for b in p.values()] for a in t.values()]).reshape(len(t), len(p))
        for t, p in zip(*by_frame, strict=True)
    ]
    expected = track_metrics(*by_frame, similarity)
    found = track(truth, pred, checks="off")
    assert {name: found[name].value for name in expected} == pytest.approx(expected, abs=1e-9)


COLUMNS = {"IDSW": "IDSW", "Frag": "Frag", "MT": "MT", "PT": "PT", "ML": "ML", "MOTA": "MOTA", "MOTP": "MOTP"}
COLUMNS |= {"IDF1": "IDF1", "IDP": "IDP", "IDR": "IDR", "TP": "CLR_TP", "FP": "CLR_FP", "FN": "CLR_FN"}
COLUMNS |= {"IDTP": "IDTP", "IDFP": "IDFP", "IDFN": "IDFN", "truth_tracks": "GT_IDs", "pred_tracks": "IDs"}
COLUMNS |= {name: f"{name}___AUC" for name in ("HOTA", "DetA", "AssA", "DetRe", "DetPr", "AssRe", "AssPr", "LocA")}


@pytest.mark.parametrize("number", ["02", "04", "09", "13"])
def test_mot17_equals_trackeval(tracks: Path, number: str) -> None:
    name = f"MOT17-{number}-FRCNN"
    with (tracks / "mot17" / "trackeval.csv").open(encoding="utf-8") as file:
        expected = next(row for row in csv.DictReader(file) if row["seq"] == name)
    home = tracks / "mot17" / name
    found = track(home / "gt.txt", home / "tracker.txt", checks="off").metrics
    assert {key: found[key] for key in COLUMNS} == pytest.approx(
        {key: float(expected[column]) for key, column in COLUMNS.items()}, rel=0, abs=1e-12
    )


def test_tud_campus_equals_motmetrics(tracks: Path) -> None:
    home = tracks / "tud-campus"
    found = track(home / "gt.txt", home / "test.txt", checks="off")
    # The table in py-motmetrics' README: IDF1 55.8 %, IDP 73.0 %, IDR 45.1 %, MOTA 52.6 %, MOTP 0.277 (a distance).
    shown = [round(100 * found[name], 1) for name in ("IDF1", "IDP", "IDR", "MOTA")]
    assert shown == [55.8, 73.0, 45.1, 52.6]
    assert round(1 - found["MOTP"], 3) == 0.277
    assert (found["IDSW"], found["Frag"], found["MT"], found["PT"], found["ML"]) == (7, 7, 1, 6, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda side: vt.Annotations.of(["v/000001"], ["car"], [[0, 0, 5, 5]], confidence=[1.0]), "track id"),
        (lambda side: vt.Annotations.of(["v/000001"] * 2, ["car"] * 2, [[0, 0, 5, 5]] * 2, confidence=[1.0] * 2,
                                        track=[3, 3]), "track 3 twice in frame 1"),
        (lambda side: vt.Annotations.of(["w/000007"], ["car"], [[0, 0, 5, 5]], confidence=[1.0], track=[3]), "'w'"),
        (lambda side: vt.Annotations.of(["frame"], ["car"], [[0, 0, 5, 5]], confidence=[1.0], track=[3]), "'frame'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(change: Any, message: str) -> None:
    truth = vt.Annotations.of(["v/000001", "u/000001"], ["car"] * 2, [[0, 0, 5, 5]] * 2, track=[1, 1])
    with pytest.raises(DataError, match=message):
        track(truth, change(truth), checks="off")


CVAT = """<annotations><meta><task><size>3</size><original_size><width>100</width><height>80</height></original_size>
</task></meta>{tracks}</annotations>"""
SHAPE = '<box frame="{frame}" xtl="{x}" ytl="10" xbr="{right}" ybr="40" outside="0" occluded="0"/>'


def test_tracks_of_cvat_and_visdrone_are_read(tmp_path: Path) -> None:
    """The same two tracks in both: one is lost in the last frame by the predictions."""
    places = {1: [(0, 10), (1, 12), (2, 14)], 2: [(0, 60), (1, 60), (2, 60)]}
    shapes = {
        key: "".join(SHAPE.format(frame=frame, x=x, right=x + 20) for frame, x in track)
        for key, track in places.items()
    }
    tracks = "".join(f'<track id="{key}" label="car">{inner}</track>' for key, inner in shapes.items())
    (tmp_path / "truth.xml").write_text(CVAT.format(tracks=tracks))
    lines = [f"{f + 1},{key},{x},10,20,30,{{score}},4,0,0" for key, track in places.items() for f, x in track]
    (tmp_path / "gt").mkdir()
    (tmp_path / "pred").mkdir()
    (tmp_path / "gt" / "v.txt").write_text("\n".join(line.format(score=1) for line in lines))
    found = [line.format(score=0.5).removesuffix("0,0") + "-1,-1" for line in lines[:-1]]
    (tmp_path / "pred" / "v.txt").write_text("\n".join(found))
    cvat = vt.read(tmp_path / "truth.xml")
    assert cvat.track is not None
    assert cvat.track.tolist() == [1, 1, 1, 2, 2, 2]
    results = track(tmp_path / "gt", tmp_path / "pred", checks="off")
    assert results["MOTA"] == pytest.approx(5 / 6)
    assert results["IDF1"] == pytest.approx(10 / 11)
    assert track(cvat, cvat, checks="off")["HOTA"] == 1


def test_a_bootstrap_takes_whole_sequences() -> None:
    """Twice one sequence and none of the other is that sequence alone."""
    frames = ["a/01", "a/02", "b/01", "b/02"]
    boxes = [[0, 0, 10, 10]] * 4
    truth = vt.Annotations.of(frames, ["car"] * 4, boxes, track=[1, 1, 1, 1])
    pred = vt.Annotations.of(frames[:3], ["car"] * 3, boxes[:3], track=[1, 2, 1], confidence=[1.0] * 3)
    results = track(truth, pred, checks="off")
    drawn = results.draw_scores(["MOTA", "IDF1"], np.array([[2.0, 2, 0, 0], [1, 1, 1, 1]]))
    assert drawn[0].tolist() == pytest.approx([1 / 2, 1 / 2])  # one switch in two objects; one of two identities
    assert drawn[1].tolist() == pytest.approx([results[name].value for name in ("MOTA", "IDF1")])
    with pytest.raises(vt.BadParameter, match="sequences"):
        results.draw_scores(["MOTA"], np.array([[1.0, 2, 0, 0]]))


def two_sequences(*, confidence: bool = False) -> vt.Annotations:
    """Sequence b is twice as long as a, and has a track more."""
    rows = [("a", f, 1) for f in range(4)] + [("b", f, t) for f in range(8) for t in (1, 2)]
    rows = [row for i, row in enumerate(rows) if not (confidence and i % 5 == 3)]
    return vt.Annotations.of(
        [f"{s}/{f:06d}" for s, f, _ in rows], ["car"] * len(rows),
        [[30 * t, f, 30 * t + 20, f + 20] for _, f, t in rows],
        track=[t + (confidence and f > 5) for _, f, t in rows],
        confidence=[0.9] * len(rows) if confidence else None,
    )  # fmt: skip


def test_the_command_saves_plots(tmp_path: Path) -> None:
    data = Path(vt.__file__).parent / "data" / "tracks"
    out = tmp_path / "out"
    words = ["track", str(data / "gt.txt"), str(data / "mole.txt"), "-q", "-o", str(out)]
    assert CliRunner().invoke(command, words).exit_code == 0
    assert {path.name for path in out.glob("*.png")} == {"hota.png", "switches.png", "tracks-gt.png"}


def test_switches_over_time_are_within_the_axes() -> None:
    """The line ends in the last frame at the number of switches."""
    truth = moving({1: [(f, 0) for f in range(1, 31)]})
    pred = moving({f // 10: [(g, 0) for g in range(f, f + 10)] for f in (1, 11, 21)}, 1.0)
    axes = vt.plot(track(truth, pred, checks="off"), "switches")
    (line,) = axes.lines
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (30, 2)
    assert axes.get_xlim()[1] >= 30
    assert axes.get_ylim()[1] >= 2


def test_coco_per_sequence_is_each_sequence_alone() -> None:
    truth, pred = two_sequences(), two_sequences(confidence=True)
    results = vt.coco(truth, pred, per="sequence", checks="off")
    table = results.sequence_table()
    assert table.head == ("sequence", "AP", "AP50", "AP75", "AR100", "frames", "truths", "preds")
    for name, *row in table.rows:
        alone = [side.where(np.array([side.images.name(i)[0] == name for i in side.image])) for side in (truth, pred)]
        expected = vt.coco(*alone, checks="off")
        assert row[:4] == pytest.approx([expected[key].value for key in ("AP", "AP50", "AP75", "AR100")])
        assert row[4:] == [{"a": 4, "b": 8}[name], len(alone[0]), len(alone[1])]
    assert set(results.to_dict()["sequences"]) == {"a", "b"}
    cat = vt.Annotations.of(["cat"], ["cat"], [[0, 0, 5, 5]])
    single = vt.coco(cat, cat, per="sequence", checks="off")
    with pytest.raises(DataError, match="SEQUENCE/NUMBER"):
        single.sequence_table()


def test_images_are_grouped_by_their_sequence() -> None:
    from verite.leaderboards.bootstrap import image_groups

    assert image_groups(two_sequences(), "sequence", "resample").tolist() == ["a"] * 4 + ["b"] * 8
