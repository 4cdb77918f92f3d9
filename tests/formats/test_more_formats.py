"""What is particular about the formats of annotation tools and challenges; their samples are worked by hand."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite import cli
from verite.formats.label_studio import bare, encode_brush
from verite.model.rasters import array_of


def boxes(read):
    return read.regions.boxes.tolist()


def names(read):
    return [read.labels.name(i) for i in read.label]


def test_kitti_keeps_what_is_known_of_an_object_in_the_picture():
    read = vt.read(sample("kitti", "good"))
    assert names(read) == ["Car", "Pedestrian", "DontCare"]
    assert boxes(read)[0] == [599.41, 156.40, 629.75, 189.25]
    assert read.flag("truncated").tolist() == [False, True, False]
    assert read.flag("occluded").tolist() == [False, True, False]
    assert read.ignored.tolist() == [False, False, True]
    assert read.images.names == ("000000", "000001")
    assert "sizes, places and angles in 3-D left out" in read.source.notes
    assert vt.read(sample("kitti", "predictions")).confidence.tolist() == [0.75]


def test_mot_frames_are_images_and_what_does_not_count_is_ignored():
    read = vt.read(sample("mot", "good"))
    assert read.images.names == ("SEQ-01/000001", "SEQ-01/000002", "SEQ-01/000003", "SEQ-02/000001")
    assert read.images.widths.tolist() == [1920, 1920, 1920, 0]
    assert names(read) == ["pedestrian", "static person", "car"]
    assert read.ignored.tolist() == [False, True, False]
    assert boxes(read)[0] == [912, 484, 1009, 593]
    pred = vt.read(sample("mot", "predictions"), like=read)
    assert pred.image.tolist() == [0, 0]
    assert pred.confidence.tolist() == [4.56, 0.5]
    assert "predictions" in pred.source.why


def test_coco_honours_what_mot_and_kitti_mark_as_ignored(tmp_path):
    """A pedestrian that is found; a distractor with flag 0, which is no class to be found (AP 0.5 if it were)."""
    (tmp_path / "gt.txt").write_text("1,1,10,10,50,90,1,1,1\n1,2,200,10,50,90,0,8,1\n")
    (tmp_path / "found.txt").write_text("1,1,10,10,50,90,0.9,-1,-1,-1\n")
    truth = vt.read(tmp_path / "gt.txt", format="mot")
    pred = vt.read(tmp_path / "found.txt", like=truth, format="mot").changed(images=truth.images)
    results = vt.coco(truth, pred)
    assert results["AP"].value == pytest.approx(1)
    assert "ignored:explicit" in str(results.signature)
    assert any("1 objects are marked as ignored and were ignored" in note for note in results.notes)
    assert vt.partial(truth, pred).compute()["AP"].value == results["AP"].value
    counted = vt.coco(truth, pred, ignored="crowd")
    assert counted["AP"].value == pytest.approx(0.5)
    assert any('1 objects are marked as ignored and were counted; ignored="explicit"' in n for n in counted.notes)
    (tmp_path / "labels").mkdir()
    rest = "0 0 0 {} {} {} {} 1 1 1 1 1 1 1"
    lines = ["Car " + rest.format(10, 10, 60, 90), "DontCare " + rest.format(200, 10, 250, 90)]
    (tmp_path / "labels" / "000001.txt").write_text("\n".join(lines) + "\n")
    cars = vt.read(tmp_path / "labels", format="kitti")
    found = vt.Annotations.of(["000001"], ["Car"], [[10, 10, 60, 90]], confidence=[0.9])
    assert vt.coco(cars, found)["AP"].value == pytest.approx(1)


def test_visdrone_marks_what_its_evaluation_ignores(tmp_path):
    truth = vt.read(sample("visdrone", "good"))
    assert truth.source.format == "visdrone"
    assert names(truth) == ["ignored regions", "ignored regions", "car", "pedestrian", "others", "motor"]
    assert truth.ignored.tolist() == [True, True, False, False, True, True]
    assert boxes(truth)[2] == [255, 22, 374, 150]
    assert truth.flag("truncated").tolist() == [False, False, True, False, False, False]
    assert truth.flag("occluded").tolist() == [False, False, True, True, False, False]
    assert truth.confidence is None
    pred = vt.read(sample("visdrone", "predictions"), like=truth)
    assert (pred.confidence.tolist(), names(pred)) == ([0.75], ["car"])
    results = vt.coco(truth, pred)
    assert results["AP"].value == pytest.approx(0.5)  # the car is found, the pedestrian is not, nothing else counts
    assert "ignored:explicit" in str(results.signature)


def test_visdrone_is_no_mot_file_and_mot_is_no_visdrone_file(tmp_path):
    (tmp_path / "seq.txt").write_text("1,1,10,10,50,90,1,1\n1,2,200,10,50,90,1,1\n")
    assert vt.read(tmp_path / "seq.txt").source.format == "mot"  # a height of 90 is no category
    (tmp_path / "image.txt").write_text("10,10,50,90,0.5,1,-1,-1\n")
    assert vt.read(tmp_path / "image.txt").source.format == "visdrone"


def test_visdrone_videos_ignore_what_their_evaluation_ignores(tmp_path):
    # frame, track, box, score, category, truncation, occlusion: a car, an ignored region, a car of score 0, frame 3.
    lines = [
        "1,1,10,10,50,90,1,4,0,0",
        "1,0,300,0,90,90,0,0,0,0",
        "1,2,200,10,50,90,0,4,0,1",
        "3,1,10,10,50,90,1,4,1,0",
    ]
    for folder in ("annotations", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "annotations" / "uav0000086_00000_v.txt").write_text("\n".join(lines) + "\n")
    found = ["1,-1,10,10,50,90,0.9,4,-1,-1", "1,-1,200,10,50,90,0.95,4,-1,-1", "2,-1,10,10,50,90,0.3,4,-1,-1"]
    (tmp_path / "results" / "uav0000086_00000_v.txt").write_text("\n".join(found) + "\n")
    truth = vt.read(tmp_path / "annotations")
    assert truth.source.format == "visdrone"
    assert sorted(truth.images.names) == [f"uav0000086_00000_v/000000{i}" for i in (1, 2, 3)]
    assert names(truth) == ["car", "ignored regions", "car", "car"]
    assert truth.ignored.tolist() == [False, True, True, False]
    pred = vt.read(tmp_path / "results", like=truth)
    assert pred.confidence.tolist() == [0.9, 0.95, 0.3]
    # One of two cars is found before the false positive of frame 2; the car of score 0 counts neither way.
    assert vt.coco(truth, pred)["AP50"].value == pytest.approx(51 / 101)
    assert vt.voc(truth, pred)["mAP"].value == pytest.approx(0.5)


def test_visdrone_videos_of_two_sides_are_no_one_side(tmp_path):
    truth, pred = "1,1,10,10,50,90,1,4,0,0\n", "1,1,10,10,50,90,0.8,4,-1,-1\n"
    for folder, text in (("annotations", truth), ("results", pred)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "uav1.txt").write_text(text)
    with pytest.raises(vt.ReadError, match=r"results/uav1\.txt: expected each sequence once.*annotations or .*results"):
        vt.read(tmp_path)
    (tmp_path / "annotations" / "uav2.txt").write_text(pred)
    with pytest.raises(vt.ReadError, match=r"ground truth \(uav1\.txt\) beside predictions \(uav2\.txt\)"):
        vt.read(tmp_path / "annotations")


def test_visdrone_videos_are_no_mot_files_and_name_their_lines(tmp_path):
    (tmp_path / "SEQ-01.txt").write_text("1,1,10,10,50,90,0.9,-1,-1,-1\n")
    assert vt.read(tmp_path / "SEQ-01.txt").source.format == "mot"  # -1 is no category
    path = tmp_path / "uav.txt"
    path.write_text("1,1,10,10,50,90,1,4,0,0\n0,1,10,10,50,90,1,4,0,0\n")
    with pytest.raises(vt.ReadError, match=r"uav\.txt:2: expected the number of a frame, from 1, found '0'"):
        vt.read(path)


def test_mot_sequences_of_other_names_are_matched_with_a_note(tmp_path):
    (tmp_path / "gt.txt").write_text("1,1,10,10,50,90,1,1,1\n")
    (tmp_path / "test.txt").write_text("1,1,10,10,50,90,0.9,-1,-1,-1\n")
    truth = vt.read(tmp_path / "gt.txt")
    pred = vt.read(tmp_path / "test.txt", like=truth)
    assert pred.image.tolist() == [0]
    note = next(note for note in pred.source.notes if "matched by their file names alone" in note)
    assert "'test/000001'" in note
    assert "'gt/000001'" in note


def test_mot_truth_outside_of_its_folder_is_known_by_its_classes(tmp_path):
    path = tmp_path / "SEQ-01.txt"
    truth = "1,1,912,484,97,109,1,1,1\n2,1,912,484,97,109,0,7,0.5\n"
    for text in (truth, truth.splitlines()[0], truth * 3000):  # one line counts; of a long file the last is cut off
        path.write_text(text)
        assert vt.read(path).confidence is None
    path.write_text(truth + "3,1,912,484,97,109,0.9,-1,-1\n")
    assert vt.read(path).confidence is not None


@pytest.mark.parametrize("key", ["predictions", "results", "detections"])
def test_an_object_around_no_results_is_no_prediction(tmp_path, key):
    path = tmp_path / "nothing.json"
    path.write_text(json.dumps({"model": "a", key: []}))
    read = vt.read(path, like=vt.read(sample("coco", "good", "instances.json")))
    assert (len(read), read.source.why) == (0, f"a JSON object with no {key}")


def test_wider_faces():
    read = vt.read(sample("wider", "good"))
    assert read.images.names == ("0--Parade/a.jpg", "1--Handshaking/b.jpg", "2--Riot/c.jpg")
    assert boxes(read) == [[449, 330, 571, 479], [361, 98, 624, 437], [10, 20, 40, 60]]
    assert read.ignored.tolist() == [False, True, False]
    pred = vt.read(sample("wider", "predictions"), like=read)
    assert pred.image.tolist() == [0]
    assert pred.confidence.tolist() == [0.9]


@pytest.mark.parametrize("name", ["export.json", "project.json"])
def test_via_shapes(name):
    read = vt.read(sample("via", "good", name))
    assert names(read) == ["boat", "gull", "buoy", "buoy"]
    assert boxes(read) == [[10, 20, 40, 60], [0, 0, 10, 8], [40, 50, 60, 70], [10, 15, 30, 25]]
    assert [len(read.regions.polygons[i]) for i in range(4)] == [0, 1, 1, 1]
    assert len(read.images) == 2
    remarks = " ".join(read.source.notes)
    assert "1 shapes of type 'point' left out" in remarks
    (flaw,) = read.source.flaws
    assert (flaw.code, flaw.what, flaw.count) == ("V207", "no label to say their class", 1)


def test_via_table():
    read = vt.read(sample("via", "good", "table.csv"))
    assert boxes(read) == [[10, 20, 40, 60], [0, 0, 10, 8]]
    assert read.images.names == ("pier.jpg", "fog.jpg")


def test_label_studio_shapes_are_percents_of_the_picture():
    read = vt.read(sample("label_studio", "good", "tasks.json"))
    assert names(read) == ["boat", "boat", "gull", "buoy"]
    assert read.images.names == ("pier.jpg", "day/fog.jpg")
    # 200 x 100 pixels; the second box, 20 x 10 at 100, 50, is turned by 90 degrees around that corner.
    for found, expected in zip(
        boxes(read), [[20, 20, 80, 60], [90, 50, 100, 70], [0, 0, 100, 50], [80, 40, 120, 60]], strict=True
    ):
        assert found == pytest.approx(expected)
    remarks = " ".join(read.source.notes)
    assert "1 results of type 'keypointlabels' left out" in remarks
    (flaw,) = read.source.flaws
    assert (flaw.code, flaw.what, flaw.count) == ("V207", "no label", 1)


def test_datumaro_keeps_boxes_polygons_and_masks():
    read = vt.read(sample("datumaro", "good", "default.json"))
    assert names(read) == ["boat", "gull", "gull"]
    assert boxes(read) == [[10, 20, 40, 60], [0, 0, 10, 8], [0, 0, 2, 3]]  # runs 2, 3 cover a pixel and two of 3 x 4
    assert read.regions.runs[2].tolist() == [2, 3, 7]
    assert (read.flag("occluded").tolist(), read.crowd.tolist()) == ([True, False, False], [False, False, True])
    assert read.images.names == ("pier.jpg", "fog.jpg")
    assert (read.images.widths.tolist(), read.images.heights.tolist()) == ([200, 200], [100, 100])
    assert "1 annotations of type 'label' left out" in " ".join(read.source.notes)
    (flaw,) = read.source.flaws
    assert (flaw.code, flaw.what) == ("V207", "no label")
    assert vt.read(sample("datumaro", "good", "scored.json")).confidence.tolist() == [0.75, 0.5]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("http://host/data/a%20b.jpg", "a b.jpg"),
        ("/data/local-files/?d=set/a.jpg", "set/a.jpg"),
        ("set/a.jpg", "set/a.jpg"),
        ("//[a.jpg", "//[a.jpg"),  # no address, whatever its bracket promises
    ],
)
def test_label_studio_names_are_paths_in_urls(text, name):
    assert bare(text) == name


def test_label_studio_brushes_are_masks():
    """Packed by Label Studio's own converter; and what is packed here, its decoder unpacks to the same pixels."""
    read = vt.read(sample("label_studio", "good", "brush.json"))
    mask = [[0, 0, 1, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert array_of(read.regions.runs, 0).astype(int).tolist() == mask
    assert boxes(read) == [[0, 0, 5, 3]]
    packed = encode_brush(read.regions.runs[0], 3, 5)
    # 60 bytes of 8 bits, lengths of 3, 4, 8 and 16 bits; then stretches of 16-bit lengths: 8 zeros, 4 times 255, …
    assert packed[:6] == [0, 0, 0, 60, 57, 27]
    assert f"{int.from_bytes(packed, 'big'):0{8 * len(packed)}b}"[53 : 53 + 54] == (
        f"111{7:016b}{0:08b}" + f"111{3:016b}{255:08b}"
    )


def test_label_studio_predictions_have_the_score_of_the_shape_or_of_the_whole():
    read = vt.read(sample("label_studio", "good", "predictions.json"))
    assert read.confidence.tolist() == [0.75, 0.5]
    assert boxes(vt.read(sample("label_studio", "good", "small.json"))) == [[20, 20, 80, 60]]


def test_cvat_tracks_are_boxes_frame_by_frame():
    read = vt.read(sample("cvat_video", "good"))
    assert read.images.names == ("frame_000000", "frame_000001", "frame_000002")
    assert names(read) == ["boat", "boat", "gull"]
    assert read.image.tolist() == [0, 1, 1]  # in the third frame the boat is outside
    assert boxes(read) == [[10, 20, 40, 60], [11, 20, 41, 60], [0, 0, 10, 8]]
    assert read.flag("occluded").tolist() == [False, True, False]
    assert read.images.widths.tolist() == [640, 640, 640]


def test_cvat_shape_without_label_is_a_finding_and_not_the_end():
    read = vt.read(sample("cvat", "unlabelled"))
    assert names(read) == ["boat"]
    (found,) = [f for f in vt.inspect(read).findings if f.severity != "note"]
    assert (found.code, found.severity, found.count) == ("V207", "warning", 2)
    assert [Path(place).name for place in found.examples] == ["annotations.xml:5", "annotations.xml:6"]
    pred = replace(read, confidence=[0.5])
    assert [f.code for f in vt.voc(read, pred).findings] == ["V207", "V207"]  # either file has them


def test_coco_folder_is_the_file_in_it():
    read = vt.read(sample("coco_folder", "good"))
    assert read.digest == vt.read(sample("coco", "good", "instances.json")).digest
    two = sample("coco_folder", "broken", "two_splits")
    with pytest.raises(vt.ReadError, match=r"found train, valid; .*verite.read\(…, split='train'"):
        vt.read(two)
    assert vt.read(two, split="valid").digest == vt.read(two, split="val").digest == read.digest
    with pytest.raises(vt.BadParameter, match="split: expected one of train, valid, found 'tets'"):
        vt.read(two, split="tets")


def test_data_yaml_is_a_truth_with_its_empty_pictures():
    read = vt.read(sample("data_yaml", "good", "data.yaml"), split="val")
    assert read.images.names == ("fog", "pier")
    assert read.images.widths.tolist() == [4, 4]
    assert names(read) == ["boat", "gull"]
    assert boxes(read) == [[1, 0, 3, 2], [0, 0, 2, 1]]


def test_data_yaml_as_roboflow_writes_it(tmp_path):
    from PIL import Image

    for part in ("train", "valid"):
        for kind in ("images", "labels"):
            (tmp_path / part / kind).mkdir(parents=True)
        Image.new("L", (10, 10)).save(tmp_path / part / "images" / f"{part}.png")
        (tmp_path / part / "labels" / f"{part}.txt").write_text("0 0.5 0.5 1 1\n")
    lists = "train: ../train/images\nval: ../valid/images\n\nnc: 1\nnames: ['boat']\n"
    (tmp_path / "data.yaml").write_text(lists)
    assert vt.read(tmp_path / "data.yaml", split="val").images.names == ("valid",)
    (tmp_path / "data.yaml").write_text("train:\n  - train/images\n  - valid/images  # both\nnames:\n  0: boat\n")
    assert vt.read(tmp_path / "data.yaml").images.names == ("train", "valid")
    (tmp_path / "list.txt").write_text("./valid/images/valid.png\n")
    (tmp_path / "data.yaml").write_text("val: list.txt\nnames: [boat]\n")
    assert boxes(vt.read(tmp_path / "data.yaml")) == [[0, 0, 10, 10]]


@pytest.fixture
def two_splits(tmp_path):
    """A YOLO dataset of two images per split, with classes cat and dog, and the predictions of val."""
    from PIL import Image

    root = tmp_path / "data"
    for part in ("train", "val"):
        for kind in ("images", "labels"):
            (root / kind / part).mkdir(parents=True)
        for i in range(2):
            Image.new("L", (100, 50)).save(root / "images" / part / f"{part}{i}.png")
            (root / "labels" / part / f"{part}{i}.txt").write_text(f"{i} 0.5 0.5 0.2 0.2\n")
    (root / "data.yaml").write_text("train: images/train\nval: images/val\nnames: [cat, dog]\n")
    return root


def predictions(names, ids, **more):
    found = zip(names, ids, strict=True)
    return [{"image_id": n, "category_id": i, "bbox": [40, 20, 20, 10], "score": 0.9, **more} for n, i in found]


@pytest.mark.parametrize("truth", ["", "data.yaml"])
def test_predictions_select_the_split_they_are_on(two_splits, tmp_path, truth):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(predictions(["val0", "val1"], [0, 1])))
    results = vt.coco(two_splits / truth, path)
    assert results.truth.images.names == ("val0", "val1")
    assert "the split val, which has the predicted images" in results.truth.source.why
    assert float(results["AP"]) == pytest.approx(1)  # both boxes are those of the labels


@pytest.mark.parametrize("names", [["val0", "train1"], ["elsewhere", "val1"], ["elsewhere", "nowhere"]])
def test_predictions_on_several_splits_select_none(two_splits, tmp_path, names):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(predictions(names, [0, 1])))
    said = refused(vt.coco, two_splits, path)
    assert f"val ({sum(name.startswith('val') for name in names)} of 2 predicted images)" in said


@pytest.mark.parametrize(("ids", "more", "is_shifted"), [
    ([1, 2], {}, True),  # 2 is the number of classes, and there is no 0
    ([1, 1], {}, False),  # nothing shows where they count from
    ([1, 1], {"file_name": "x.jpg"}, True),  # a key of the versions that count from 1
    ([0, 1], {"file_name": "x.jpg"}, False),
    ([1, 3], {}, False),
])  # fmt: skip
def test_class_ids_of_ultralytics_count_from_one(two_splits, tmp_path, ids, more, is_shifted):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(predictions(["val0", "val1"], ids, **more)))
    pred = vt.read(path, like=vt.read(two_splits, split="val"))
    assert any("count from 1" in note for note in pred.source.notes) == is_shifted
    assert (pred.label.tolist() == [i - 1 for i in ids]) == is_shifted


def test_split_is_an_option_of_the_command_line(tmp_path, capsys):
    data = sample("data_yaml", "good", "data.yaml")
    (tmp_path / "pier.txt").write_text("0 0.5 0.5 0.5 1.0 0.9\n1 0.25 0.25 0.5 0.5 0.8\n")
    assert cli.run(["voc", str(data), str(tmp_path), "--split", "val", "--json"]) == 0
    assert '"mAP":1.0' in capsys.readouterr().out.replace(" ", "")
    two = sample("data_yaml", "broken", "two_splits.yaml")
    (tmp_path / "pier.txt").rename(tmp_path / "elsewhere.txt")  # an image of neither split
    assert cli.run(["voc", str(two), str(tmp_path)]) == 1
    assert "--split train" in capsys.readouterr().err


def test_table_as_csv():
    read = vt.read(sample("table", "good"))
    assert boxes(read) == [[10, 20, 40, 60], [5, 6, 15, 18]]
    assert (read.images.ids.tolist(), read.images.names) == ([7], ("pier.jpg",))
    assert read.crowd.tolist() == [False, True]
    pred = vt.read(sample("table", "predictions"), like=read)
    assert (pred.image.tolist(), pred.label.tolist(), pred.confidence.tolist()) == ([0], [0], [0.75])


def test_table_of_other_names_is_read_by_a_mapping(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("img,kind,l,t,w,h\npier,boat,1,2,3,4\n")
    columns = {"image": "img", "label": "kind", "x": "l", "y": "t", "width": "w", "height": "h"}
    assert boxes(vt.read(path, format="table", columns=columns)) == [[1, 2, 4, 6]]


def test_columns_are_an_option_of_the_command_line(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("img,kind,l,t,w,h\npier,boat,1,2,3,4\n")
    words = ["convert", str(path), str(tmp_path / "b.json"), "--to", "coco", "--format", "table"]
    named = "image=img,label=kind,x=l,y=t,width=w,height=h"
    assert cli.run([*words, "--columns", named]) == 0
    assert boxes(vt.read(tmp_path / "b.json")) == [[1, 2, 4, 6]]
    assert cli.run(words) == 1
    assert "did you mean 'img'?; name it with --columns image=img" in capsys.readouterr().err
    assert cli.run([*words, "--columns", "image"]) == 2
    assert "expected OURS=THEIRS such as image=img,label=kind, found 'image'" in capsys.readouterr().err


def test_parquet_on_the_command_line(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    out = tmp_path / "pred.parquet"
    pred = sample("table", "predictions", "pred.csv")
    assert cli.run(["convert", str(pred), str(out), "--to", "parquet"]) == 0
    assert cli.run(["inspect", str(out)]) == 0
    assert "a file that begins with PAR1" in capsys.readouterr().out
    assert boxes(vt.read(out)) == [[10, 20, 40, 60]]
    out.write_bytes(out.read_bytes()[:50])
    with pytest.raises(vt.ReadError, match="expected a whole Parquet file, found"):
        vt.read(out)


def test_mot_ground_truth_beside_results_is_refused_with_the_choice(tmp_path):
    (tmp_path / "gt.txt").write_text("1,1,10,10,20,20,1,-1,-1,-1\n")
    (tmp_path / "test.txt").write_text("1,3,10,10,20,20,-1,-1,-1,-1\n")
    with pytest.raises(vt.ReadError) as error:
        vt.read(tmp_path)
    assert str(tmp_path / "gt.txt") in str(error.value)
    assert str(tmp_path / "test.txt") in str(error.value)
    assert vt.read(tmp_path / "test.txt", like=vt.read(tmp_path / "gt.txt")).image.tolist() == [0]


def test_mot_results_of_two_detectors_in_a_folder_are_refused(tmp_path):
    (tmp_path / "gt.txt").write_text("1,1,10,10,20,20,1,-1,-1,-1\n")
    (tmp_path / "res").mkdir()
    for name in ("hawk", "wren"):
        (tmp_path / "res" / f"{name}.txt").write_text("1,3,10,10,20,20,0.9,-1,-1,-1\n")
    with pytest.raises(vt.DataError, match=r"hawk/000001.*wren/000001.*gt/000001"):
        vt.coco(tmp_path / "gt.txt", tmp_path / "res")


def test_voc_results_have_their_class_in_the_name_of_the_file():
    read = vt.read(sample("voc_results", "good"))
    assert read.images.names == ("000004", "000006")
    assert names(read) == ["car", "car", "tvmonitor"]
    assert read.confidence.tolist() == [0.702732, 0.870849, 0.25]
    assert boxes(read)[0] == [89, 112, 516, 466]


def test_lines_of_voc_results_end_at_line_feeds_alone(tmp_path):
    # U+0085 and the form feed are no ends of lines: the second line is line 2 for every editor.
    (tmp_path / "comp4_det_test_car.txt").write_text("000004 0.9 1 1 9 9\x0c\r\n000005\x85 0.9 1 1 nine 9\n")
    with pytest.raises(vt.ReadError, match=r"comp4_det_test_car\.txt:2: "):
        vt.read(tmp_path)


def test_voc_results_of_two_detectors_are_refused(tmp_path):
    for name in ("hawk", "wren"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "comp4_det_test_car.txt").write_text("000004 0.9 1 1 9 9\n")
    with pytest.raises(vt.ReadError, match=r"hawk/comp4_det_test.*wren/comp4_det_test"):
        vt.read(tmp_path)
    assert len(vt.read(tmp_path / "wren")) == 1


XML = (
    "<annotation><filename>{}.jpg</filename><object><name>cat</name>"
    "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"
)
LINES = {
    "voc": ("{}/{}.xml", XML),
    "visdrone": ("VisDrone2019-DET-{}/annotations/{}.txt", "10,10,50,90,1,4,0,0"),
    "dota": ("{}/labelTxt/{}.txt", "1 1 9 1 9 9 1 9 plane 0"),
    "wider": ("wider_face_{}_bbx_gt.txt", "{}.jpg\n1\n1 1 9 9 0 0 0 0 0 0"),
    "kitti": ("{}/{}.txt", "Car 0 0 -10 1 1 9 9 -1 -1 -1 -1000 -1000 -1000 -10"),
    "text": ("{}/{}.txt", "cat 10 10 90 90"),
    "yolo": ("labels/{}/{}.txt", "0 0.5 0.5 0.2 0.2"),
    "labelme": ("{}/{}.json", '{{"imagePath": "{}.jpg", "shapes": [{{"label": "cat", "shape_type": "rectangle", '
                '"points": [[1, 1], [9, 9]]}}], "imageHeight": 10, "imageWidth": 10}}'),
    "coco": ("instances_{}2017.json", '{{"images": [{{"id": 1, "file_name": "{}.jpg"}}], "annotations": [{{"id": 1, '
             '"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9]}}], "categories": [{{"id": 1, "name": "cat"}}]}}'),
}  # fmt: skip


@pytest.mark.parametrize("format", LINES)
def test_splits_of_a_dataset_are_asked_for(tmp_path, format):
    place, text = LINES[format]
    for split in ("train", "val"):
        file = tmp_path / place.format(split, f"{split}1")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(f"{split}1"))
    with pytest.raises(vt.ReadError, match=r"train, .*val; .*split='.*train'"):
        vt.read(tmp_path)
    chosen = vt.read(tmp_path, split="val")
    assert chosen.source.format == format
    assert [name.removesuffix(".jpg") for name in chosen.images.names] == ["val1"]


def test_image_sets_of_a_voc_devkit_are_asked_for(tmp_path):
    home = tmp_path / "VOC2007"
    (home / "ImageSets" / "Main").mkdir(parents=True)
    (home / "Annotations").mkdir()
    for split, name in (("train", "000012"), ("val", "000005")):
        (home / "Annotations" / f"{name}.xml").write_text(XML.format(name))
        (home / "ImageSets" / "Main" / f"{split}.txt").write_text(f"{name}\n")
        (home / "ImageSets" / "Main" / f"cat_{split}.txt").write_text(f"{name} -1\n")
    for path in (tmp_path, home):
        with pytest.raises(vt.ReadError, match=r"found train, val; .*split='train'"):
            vt.read(path)
        assert vt.read(path, split="val").images.names == ("000005.jpg",)
    # The folder of the files itself is all of them, and says so.
    both = vt.read(home / "Annotations")
    assert len(both.images) == 2
    assert any("train, val" in note and "split='train'" in note for note in both.source.notes)
    (home / "ImageSets" / "Main" / "val.txt").unlink()
    assert len(vt.read(home).images) == 2  # one list tells no splits apart


def test_folders_of_two_detectors_are_told_apart(tmp_path):
    for detector in ("hawk", "wren"):
        (tmp_path / detector).mkdir()
        (tmp_path / detector / "1.txt").write_text("cat 0.9 10 10 20 20\n")
    with pytest.raises(vt.ReadError, match=r"wren/1\.txt: expected each image once.*'1'.*hawk"):
        vt.read(tmp_path)
    assert len(vt.read(tmp_path / "hawk")) == 1


@pytest.mark.parametrize("evaluate", [vt.openimages, vt.imagenet_det])
def test_protocols_without_ignored_objects_say_that_they_count_them(tmp_path, evaluate):
    (tmp_path / "gt.txt").write_text("1,1,10,10,50,90,1,1,1\n1,2,200,10,50,90,0,1,1\n")
    truth = vt.read(tmp_path / "gt.txt")
    pred = vt.Annotations.of(["gt/000001"], ["pedestrian"], [[10, 10, 60, 100]], confidence=[0.9])
    results = evaluate(truth, pred)
    assert results["mAP"].value == pytest.approx(0.5)  # one of two; by Pascal VOC one of one
    assert any("1 of 2 objects are marked as ignored and were counted" in note for note in results.notes)
    assert vt.voc(truth, pred)["mAP"].value == 1


def test_root_folder_of_kitti_has_calibrations_beside_its_labels(tmp_path):
    shutil.copytree(sample("kitti", "good"), tmp_path / "training" / "label_2")
    (tmp_path / "training" / "calib").mkdir()
    (tmp_path / "training" / "calib" / "000000.txt").write_text("P0: 7.2e+02 0 0\n")
    assert vt.read(tmp_path).digest == vt.read(sample("kitti", "good")).digest


def test_root_folder_of_open_images_has_a_box_file_per_split(tmp_path):
    head = "ImageID,LabelName,XMin,XMax,YMin,YMax\n"
    for part, image in (("validation", "01"), ("test", "02")):
        (tmp_path / f"{part}-annotations-bbox.csv").write_text(f"{head}{image},/m/1,0.1,0.5,0.2,0.6\n,,,,,\n")
    (tmp_path / "class-descriptions-boxable.csv").write_text("/m/1,Boat\n")
    assert vt.read(tmp_path, split="val").images.names == ("01",)
    assert "test, validation" in refused(vt.read, tmp_path)
    pred = tmp_path.parent / "predictions.csv"
    pred.write_text("ImageID,LabelName,Score,XMin,XMax,YMin,YMax\n02,/m/1,0.9,0.1,0.5,0.2,0.6\n")
    results = vt.voc(tmp_path, pred, pixel="continuous")
    assert results.truth.images.names == ("02",)
    assert float(results["mAP"]) == 1


def test_root_folder_of_panoptic_segments_has_a_document_per_split(tmp_path):
    shutil.copytree(sample("panoptic", "good"), tmp_path / "annotations")
    document = next((tmp_path / "annotations").glob("*.json"))
    folder = document.with_suffix("")
    document.rename(document.with_name("panoptic_val2017.json"))
    if folder.is_dir():
        folder.rename(folder.with_name("panoptic_val2017"))
    assert len(vt.read(tmp_path)) == len(vt.read(sample("panoptic", "good")))


def test_annotation_of_the_label_studio_editor_has_its_results_at_the_top(tmp_path):
    value = {"x": 10, "y": 25, "width": 50, "height": 50, "rotation": 0, "rectanglelabels": ["cat"]}
    size = {"original_width": 200, "original_height": 100}
    result = {"type": "rectanglelabels", "from_name": "label", "to_name": "image", "value": value, **size}
    (tmp_path / "a.json").write_text(json.dumps({"id": 1, "data": {"image": "a.jpg"}, "result": [result]}))
    assert boxes(vt.read(tmp_path / "a.json")) == [[20, 25, 120, 75]]


@pytest.mark.parametrize(("name", "text", "said"), [
    ("gt_img_1.txt", "377,117,463,117,465,130,378,130,Theatre\n", "ICDAR"),
    ("gt_img_1.txt", '38, 43, 920, 215, "Tired"\n', "ICDAR"),
    ("mpii.json", '[{"joint_self": [[1, 2, 1]], "objpos": [1, 2]}]', "MPII"),
    ("train.json", '[{"joints_vis": [1], "joints": [[1, 2]], "image": "a.jpg"}]', "MPII"),
])  # fmt: skip
def test_formats_that_are_not_read_are_named(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    assert said in refused(vt.read, tmp_path / name)
