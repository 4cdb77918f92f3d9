"""Track ids, sequences and frame numbers of every format that has them, and writing them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from verite.model.sequences import Sequences

FRAMES = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
BOXES = [[10.0, 20, 40, 60], [12.0, 20, 40, 60], [14.0, 20, 40, 60], [50.0, 5, 20, 20], [52.0, 5, 20, 20]]
TRACKS = [7, 7, 8, 7, 7]


def coco_vid(key: str = "track_id", frame: str = "frame_id") -> dict:
    """Five frames of two videos with one object each; file names that say nothing about frames."""
    return {
        "videos": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
        "images": [
            {"id": i + 1, "file_name": f"{'xyzuv'[i]}.jpg", "width": 200, "height": 100,
             "video_id": 1 + (v == "b"), frame: f}
            for i, (v, f) in enumerate(FRAMES)
        ],
        "categories": [{"id": 1, "name": "pedestrian"}],
        "annotations": [
            {"id": i + 1, "image_id": i + 1, "category_id": 1, "bbox": BOXES[i], "area": 1, key: TRACKS[i]}
            for i in range(5)
        ],
    }  # fmt: skip


def facts(found: vt.Annotations) -> list[tuple[str, int, int, list[float]]]:
    """Sequence, frame, track and box of every object, sorted."""
    at = Sequences.of(found.images)
    assert found.track is not None
    return sorted(
        (at.names[at.sequence[i]], int(at.frame[i]), int(t), box)
        for i, t, box in zip(found.image.tolist(), found.track, found.regions.sizes.tolist(), strict=True)
    )


EXPECTED = sorted((v, f, t, box) for (v, f), t, box in zip(FRAMES, TRACKS, BOXES, strict=True))


@pytest.mark.parametrize("key", ["track_id", "instance_id"])
@pytest.mark.parametrize("frame", ["frame_id", "frame_index", "unknown"])
def test_coco_vid_files_and_dictionaries(tmp_path: Path, key: str, frame: str) -> None:
    given = coco_vid(key, frame)
    (tmp_path / "vid.json").write_text(json.dumps(given))
    assert facts(vt.read(tmp_path / "vid.json")) == EXPECTED
    assert facts(vt.read(given)) == EXPECTED


def test_coco_results_with_tracks_are_evaluated(tmp_path: Path) -> None:
    (tmp_path / "gt.json").write_text(json.dumps(coco_vid()))
    results = [
        {"image_id": i + 1, "category_id": 1, "bbox": BOXES[i], "score": 0.9, "track_id": [1, 1, 1, 2, 2][i]}
        for i in range(5)
    ]
    (tmp_path / "pred.json").write_text(json.dumps(results))
    found = vt.track(tmp_path / "gt.json", tmp_path / "pred.json", checks="off")
    # All boxes are right; track 7 of video a becomes 8 in its last frame, while the prediction goes on: one switch less
    # than none for MOTA (the new object is matched for the first time), two tracks on one for Identity.
    assert found["DetA"].value == 1
    assert found["MOTA"].value == 1
    assert found["IDF1"] == pytest.approx(2 * 4 / 10)  # 2 of 3 frames of a, both of b
    assert found.sequences.names == ("a", "b")


def test_missing_track_ids_are_named(tmp_path: Path) -> None:
    given = coco_vid()
    del given["annotations"][2]["track_id"]
    truth = vt.read(given)
    assert truth.track is not None
    assert truth.track.tolist() == [7, 7, -1, 7, 7]
    with pytest.raises(vt.DataError, match=r"found 1 of 5 without, the first in 'z\.jpg'"):
        vt.track(truth, vt.read(coco_vid()), checks="off")
    assert "V502" in {finding.code for finding in vt.inspect(truth).findings}


@pytest.mark.parametrize("format", ["coco", "table", "mot", "kitti-tracking", "datumaro"])
def test_tracks_survive_writing_and_reading(tmp_path: Path, format: str) -> None:
    truth = vt.read(coco_vid())
    if format == "datumaro":  # it has no videos but those in the names of items
        names = [f"{v}/{f:06d}" for v, f in FRAMES]
        truth = vt.Annotations.of(names, ["car"] * 5, [[x, y, x + w, y + h] for x, y, w, h in BOXES], track=TRACKS)
    place = tmp_path / {"coco": "out.json", "table": "out.csv", "datumaro": "out.json"}.get(format, "out")
    vt.write(truth, place, format)
    found = vt.read(place)
    shift = 1 if format == "mot" else 0  # MOT counts frames from 1
    assert facts(found) == [(v, f + shift, t, box) for v, f, t, box in EXPECTED]
    assert found.source.format == format


def test_predictions_are_written_as_mot_with_confidences(tmp_path: Path) -> None:
    found = [{"image_id": i + 1, "category_id": 1, "bbox": BOXES[i], "score": 0.25, "track_id": 3} for i in range(3)]
    pred = vt.read(found, like=vt.read(coco_vid()))
    vt.write(pred, tmp_path / "out", "mot")
    assert (tmp_path / "out" / "a.txt").read_text().splitlines()[0] == "1,3,10.0,20.0,40.0,60.0,0.25,-1,-1,-1"


def test_annotations_without_tracks_cannot_be_written_as_tracks(tmp_path: Path) -> None:
    truth = vt.Annotations.of(["a/1"], ["pedestrian"], [[0, 0, 5, 5]])
    for format in ("mot", "mots", "kitti-tracking", "cvat-video"):
        with pytest.raises(vt.ReadError, match="track ids"):
            vt.write(truth, tmp_path / format, format)


def test_kitti_tracking_by_hand() -> None:
    truth = vt.read(sample("kitti_tracking", "good"))
    assert truth.source.format == "kitti-tracking"
    pred = vt.read(sample("kitti_tracking", "predictions"), like=truth)
    results = vt.track(truth, pred, checks="off")
    # Four objects count (DontCare does not): three cars found with one switch, one pedestrian missed.
    assert results["MOTA"] == pytest.approx((3 - 0 - 1) / 4)
    assert int(results["IDSW"]) == 1


def test_mots_masks_by_hand(tmp_path: Path) -> None:
    truth = vt.read(sample("mots", "good"))
    assert truth.source.format == "mots"
    assert truth.images.widths.tolist() == [60] * 3
    rows = np.flatnonzero(~truth.ignored)
    assert truth.track is not None
    assert truth.track[rows].tolist() == [2001, 1001, 2001, 2001]
    vt.write(truth, tmp_path / "out", "mots")
    again = vt.read(tmp_path / "out")
    assert again.digest == truth.with_source(again.source).digest
    results = vt.track(truth, again, on="mask", checks="off")
    assert [results[name].value for name in ("HOTA", "MOTA", "IDF1")] == [1, 1, 1]
    # The pedestrian of frame 1 where it is in frame 2, two of its ten columns further: 160 of 240 pixels are shared.
    moved = (
        (tmp_path / "out" / "0002.txt").read_text().replace("]6d0d000000000000000000Sh1", "m8d0d000000000000000000ce1")
    )
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "0002.txt").write_text(moved)
    results = vt.track(truth, tmp_path / "moved", on="mask", checks="off")
    assert results["MOTP"] == pytest.approx((3 + 2 / 3) / 4)


def test_cvat_keyframes_are_interpolated(tmp_path: Path) -> None:
    shape = '<box frame="{}" xtl="{}" ytl="10" xbr="{}" ybr="40" outside="{}" occluded="0" keyframe="1"/>'
    track = "".join([shape.format(0, 10, 30, 0), shape.format(4, 18, 38, 0), shape.format(6, 18, 38, 1)])
    text = (
        "<annotations><meta><task><size>8</size><original_size><width>100</width><height>80</height></original_size>"
        f'</task></meta><track id="0" label="car">{track}</track></annotations>'
    )
    (tmp_path / "video.xml").write_text(text)
    found = vt.read(tmp_path / "video.xml")
    assert sorted((int(i), box[0]) for i, box in zip(found.image, found.regions.boxes.tolist(), strict=True)) == [
        (0, 10.0), (1, 12.0), (2, 14.0), (3, 16.0), (4, 18.0),
    ]  # fmt: skip
    assert any("3 boxes interpolated between keyframes" in note for note in found.source.notes)


def test_datumaro_track_ids(tmp_path: Path) -> None:
    box = {"type": "bbox", "label_id": 0, "bbox": [0, 0, 5, 5], "attributes": {"track_id": 4}}
    items = [{"id": f"v/{f:06d}", "annotations": [box]} for f in range(2)]
    document = {"categories": {"label": {"labels": [{"name": "car"}]}}, "items": items}
    (tmp_path / "d.json").write_text(json.dumps(document))
    found = vt.read(tmp_path / "d.json")
    assert found.track is not None
    assert found.track.tolist() == [4, 4]


def test_tables_with_tracks_and_frames() -> None:
    table = {
        "image": ["x.jpg", "y.jpg"], "label": ["car"] * 2, "x": [0, 1], "y": [0, 0], "width": [5, 5], "height": [5, 5],
        "track_id": ["left", "left"], "sequence": ["s", "s"], "frame": [3, 4],
    }  # fmt: skip
    found = vt.read(table)
    assert facts(found) == [("s", 3, 0, [0, 0, 5, 5]), ("s", 4, 0, [1, 0, 5, 5])]
    with pytest.raises(vt.ReadError, match="frame 3, as another row"):
        vt.read({**table, "image": ["x.jpg", "x.jpg"]})


def long_sequence(shift: int = 0, tracks: int = 4, frames: int = 12) -> vt.Annotations:
    """Boxes that move ten pixels per frame, so that frames can be distinguished."""
    rows = [(f, t) for t in range(tracks) for f in range(1, frames + 1)]
    return vt.Annotations.of(
        [f"v/{f + shift:06d}" for f, _ in rows], ["car"] * len(rows),
        [[10.0 * f, 50 * t, 10 * f + 30, 50 * t + 40] for f, t in rows], track=[t for _, t in rows],
        confidence=None if not shift else [1.0] * len(rows),
    )  # fmt: skip


@pytest.mark.parametrize("shift", [-1, 1])
def test_frames_off_by_one_are_named(shift: int) -> None:
    codes = {finding.code for finding in vt.inspect(long_sequence(), long_sequence(shift)).findings}
    assert "V505" in codes
    same = long_sequence()
    assert "V505" not in {finding.code for finding in vt.inspect(same, same).findings}


@pytest.mark.parametrize(
    ("tracks", "code"),
    [([1, 1, 1, 1], None), ([1, 2, 3, 4], "V504"), ([1, 1, -1, 1], "V502")],
)
def test_checks_of_single_files(tracks: list[int], code: str | None) -> None:
    side = vt.Annotations.of([f"v/{f}" for f in range(4)], ["car"] * 4, [[0, 0, 9, 9]] * 4, track=tracks)
    codes = {finding.code for finding in vt.inspect(side).findings if finding.code.startswith("V50")}
    assert codes - {"V503"} == ({code} if code else set())


def test_gaps_and_repeated_ids_are_named() -> None:
    gap = vt.Annotations.of(["v/1", "v/2", "v/5", "v/3"], ["car"] * 4, [[0, 0, 9, 9]] * 4, track=[1, 1, 1, 2])
    assert "V503" in {finding.code for finding in vt.inspect(gap).findings}
    twice = vt.Annotations.of(["v/1", "v/1", "v/2"], ["car"] * 3, [[0, 0, 9, 9]] * 3, track=[1, 1, 1])
    assert "V501" in {finding.code for finding in vt.inspect(twice).findings}


def test_sequences_are_pickled_and_in_the_digest() -> None:
    import pickle

    truth = vt.read(coco_vid())
    again = pickle.loads(pickle.dumps(truth))
    assert facts(again) == EXPECTED
    assert again.digest == truth.digest
    other = coco_vid()
    other["images"][0]["frame_id"] = 9
    assert vt.read(other).digest != truth.digest


def test_lines_of_rare_spellings_are_read_like_others(tmp_path: Path) -> None:
    """Signs, blanks, leading zeros and CR LF: what the core leaves is parsed in Python, in the order of lines."""
    plain = "1,1,10,20,30,40,1,1,1\n2,1,11,20,30,40,1,1,1\n3,1,12,20,30,40,0,7,1\n"
    rare = "01,+1, 10 ,20.,30,4e1,1,1,1\r\n\r\n2,1,11,20,30,40,1,1,1\r\n3,1.0,12,020,30,40,0,7,1\r\n"
    for name, text in (("plain", plain), ("rare", rare)):
        (tmp_path / name / "gt").mkdir(parents=True)
        (tmp_path / name / "gt" / "gt.txt").write_text(text, newline="")
    one, two = (vt.read(tmp_path / name / "gt" / "gt.txt", format="mot") for name in ("plain", "rare"))
    assert one.regions.boxes.tolist() == two.regions.boxes.tolist()
    assert [one.track.tolist(), one.ignore.tolist()] == [two.track.tolist(), two.ignore.tolist()]  # type: ignore[union-attr]


def test_youtube_vis_results_beside_their_ground_truth() -> None:
    """By hand: the boat's masks have IoU 1 and 12 / 20, the gull's 1 and 1; the third frame of the boat is empty."""
    truth = vt.read(sample("youtube_vis", "good", "truth.json"))
    pred = vt.read(sample("youtube_vis", "good", "results.json"), like=truth)
    assert [truth.images.name(i) for i in range(3)] == ["quay/00000.jpg", "quay/00005.jpg", "quay/00010.jpg"]
    assert facts(pred)[0] == ("quay", 0, 0, [0, 0, 4, 4])
    assert truth.flag("crowd").tolist() == [False] * 4 + [True] * 2
    found = vt.track(truth, pred, on="mask", checks="off")
    assert found["MOTA"] == 1
    assert found["MOTP"] == pytest.approx((1 + 0.6 + 1 + 1) / 4)
    assert found["IDF1"] == 1


def test_youtube_vis_results_alone_have_numbers() -> None:
    pred = vt.read(sample("youtube_vis", "good", "results.json"))
    assert pred.images.sequences is not None
    assert pred.images.sequences.names == ("3",)
    assert pred.labels.all_names == ("1", "4")
    assert pred.confidence is not None
    assert pred.confidence.tolist() == [0.9, 0.9, 0.5, 0.5]


def test_cvat_video_is_written_with_pauses(tmp_path: Path) -> None:
    """Track 7 pauses in a frame, track 9 ends early: neither may be interpolated or prolonged when read."""
    rows = [(1, 7, 10), (2, 7, 12), (4, 7, 16), (1, 9, 50), (2, 9, 50)]
    truth = vt.Annotations.of(
        [f"v/{f:06d}" for f, _, _ in rows], ["car", "car", "car", "bus", "bus"],
        [[x, 10, x + 20, 40] for *_, x in rows], track=[t for _, t, _ in rows],
        sizes={f"v/{f:06d}": (200, 100) for f in range(1, 5)},
    )  # fmt: skip
    assert "track id" not in vt.write(truth, tmp_path / "v.xml", "cvat-video")
    found = vt.read(tmp_path / "v.xml")
    assert found.source.format == "cvat-video"
    # MOT's frames count from 1, CVAT's from 0.
    assert facts(found) == sorted(("frame", f - 1, t, [x, 10, 20, 30]) for f, t, x in rows)
    assert [found.labels.name(i) for i in found.label] == ["car"] * 3 + ["bus"] * 2
    text = (tmp_path / "v.xml").read_text()
    assert "<size>4</size>" in text
    assert text.count('outside="1"') == 2  # after frame 1 of track 7 and of track 9; frame 3 is the last


def test_cvat_video_holds_one_sequence(tmp_path: Path) -> None:
    with pytest.raises(vt.ReadError, match="expected one sequence, found 2"):
        vt.write(vt.read(coco_vid()), tmp_path / "v.xml", "cvat-video")


def test_track_ids_of_a_few_records_are_found_wherever_they_are(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"image_id": 1, "category_id": 1, "bbox": [i, 0, 9, 9], "score": 0.5} for i in range(5000)
    ]
    records[3111]["track_id"] = 6
    (tmp_path / "pred.json").write_text(json.dumps(records))
    found = vt.read(tmp_path / "pred.json").track
    assert found is not None
    assert found[3111] == 6
    assert (found == -1).sum() == 4999
