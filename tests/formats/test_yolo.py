"""YOLO txt files and the data sets they come in."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite.errors import list_faults
from verite.formats import yolo
from verite.formats.format import Options, PathProbe
from verite.formats.rows import name_class_numbers
from verite.formats.yolo import shape_from_lines, shape_from_truth, split_keypoints
from verite.model.keypoints import Keypoints
from verite.model.regions import Regions


def picture(path, width, height):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (width, height)).save(path)


def folder(path, **files):
    path.mkdir()
    for name, text in files.items():
        (path / f"{name}.txt").write_text(text)
    return path


def test_data_set_with_labels_and_data_yaml():
    truth = vt.read(sample("yolo", "good"))
    assert truth.source.format == "yolo"
    assert truth.images.names == ("fog", "pier")
    assert truth.labels.names == ("boat", "gull", "crane")
    assert truth.labels.ids.tolist() == [0, 1, 2]
    assert truth.image.tolist() == [1, 1]
    assert truth.label.tolist() == [0, 1]
    assert truth.confidence is None
    assert truth.source.why.startswith("a folder with data.yaml and labels/; class names from ")


def test_box_is_centre_and_size_and_polygon_has_the_box_around_it():
    truth = vt.read(sample("yolo", "good"))
    assert truth.unit == "rel"
    np.testing.assert_allclose(truth.regions.boxes, [[0.375, 0.1875, 0.625, 0.3125], [0.1, 0.2, 0.5, 0.6]])
    assert truth.regions.polygons[0] == []
    assert truth.regions.polygons[1][0].tolist() == [[0.1, 0.2], [0.5, 0.2], [0.5, 0.6]]


def test_names_are_found_from_inside_the_data_set():
    for place in ("labels/val", "labels", "labels/val/pier.txt"):
        assert vt.read(sample("yolo", "good", *place.split("/"))).labels.names == ("boat", "gull", "crane")


def test_file_of_somebody_else_above_is_not_taken_for_names(tmp_path):
    (tmp_path / "dataset.yaml").write_text("licence: MIT\n")
    assert vt.read(folder(tmp_path / "preds", a="3 0.5 0.5 0.2 0.2\n")).labels.ids.tolist() == [3]


def test_darknet_data_set_and_its_lists():
    truth = vt.read(sample("yolo", "darknet"))
    assert truth.images.names == ("pier",)
    assert truth.labels.names == ("boat", "gull")
    assert truth.label.tolist() == [1]
    assert vt.read(sample("yolo", "darknet", "obj_train_data")).labels.names == ("boat", "gull")


def test_predictions_end_with_their_confidence():
    pred = vt.read(sample("yolo", "predictions"))
    assert pred.confidence.tolist() == [0.875, 0.5]
    assert len(pred.regions.polygons[1][0]) == 3


def test_classes_without_names_are_known_by_number():
    pred = vt.read(sample("yolo", "predictions"))
    assert pred.labels.names is None
    assert pred.labels.ids.tolist() == [0, 7]
    assert pred.label.tolist() == [1, 0]
    assert pred.source.why.endswith("no class names found, classes known by number")


def test_numbers_meet_the_ids_of_the_truth():
    truth = vt.read(sample("yolo", "good"), image_size=(100, 100))
    pred = vt.read(sample("yolo", "predictions"), like=truth)
    assert [pred.labels.name(i) for i in pred.label] == ["7", "boat"]
    assert pred.unit == "px"  # sizes come with the truth
    np.testing.assert_allclose(pred.regions.boxes[0], [37.5, 18.75, 62.5, 31.25])


def test_names_given_by_the_user_go_first(tmp_path):
    truth = vt.read(sample("yolo", "good"), names=["a", "b"])
    assert truth.labels.names == ("a", "b")
    (tmp_path / "my.yaml").write_text("names: [x, y]")
    assert vt.read(sample("yolo", "good"), names=tmp_path / "my.yaml").labels.names == ("x", "y")


def test_offset_moves_numbers_before_names_are_looked_up():
    truth = vt.read(sample("yolo", "good"), label_offset=1)
    assert [truth.labels.name(i) for i in truth.label] == ["gull", "crane"]
    assert vt.read(sample("yolo", "predictions"), label_offset=1).labels.ids.tolist() == [1, 8]


def test_sizes_come_from_the_images_beside_the_labels(tmp_path):
    shutil.copytree(sample("yolo", "good"), tmp_path / "set")
    picture(tmp_path / "set" / "images" / "val" / "pier.png", 80, 40)
    truth = vt.read(tmp_path / "set")
    assert truth.unit == "px"  # the image without a picture has no object either
    assert truth.images.widths.tolist() == [0, 80]
    np.testing.assert_allclose(truth.regions.boxes[0], [30, 7.5, 50, 12.5])
    np.testing.assert_allclose(truth.regions.polygons[1][0], [[8, 8], [40, 8], [40, 24]])


def test_sizes_come_from_pictures_among_the_files(tmp_path):
    shutil.copytree(sample("yolo", "darknet"), tmp_path / "set")
    picture(tmp_path / "set" / "obj_train_data" / "pier.jpg", 80, 40)
    assert vt.read(tmp_path / "set").images.widths.tolist() == [80]


def test_sizes_come_from_the_users_folder_before_all_others(tmp_path):
    shutil.copytree(sample("yolo", "good"), tmp_path / "set")
    picture(tmp_path / "set" / "images" / "val" / "pier.png", 80, 40)
    for name in ("pier", "fog"):
        picture(tmp_path / "mine" / f"{name}.png", 160, 80)
    assert vt.read(tmp_path / "set", images=tmp_path / "mine").images.widths.tolist() == [160, 160]
    assert vt.read(tmp_path / "set", image_size=(10, 20)).images.widths.tolist() == [10, 10]


def test_picture_missing_from_the_users_folder_is_named(tmp_path):
    picture(tmp_path / "pier.png", 160, 80)
    with pytest.raises(vt.ReadError, match=r"expected an image file named fog, found none; is .* the right folder"):
        vt.read(sample("yolo", "good"), images=tmp_path)


def test_two_pictures_of_one_stem_are_not_guessed_between(tmp_path):
    picture(tmp_path / "a" / "pier.png", 160, 80)
    picture(tmp_path / "b" / "pier.png", 80, 160)
    with pytest.raises(vt.ReadError, match=r"a.pier.png: .* one image file named pier, found 2, also .*b.pier.png"):
        vt.read(sample("yolo", "predictions"), images=tmp_path)


def test_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "pier.png").write_text("no picture")
    with pytest.raises(vt.ReadError, match=r"pier.png: expected an image, found cannot identify image file"):
        vt.read(sample("yolo", "predictions"), images=tmp_path)


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ("0 0.5 0.5 0.2 0.2", "yolo"),
        ("0 0.5 0.5 0.2 0.2 0.9", "yolo"),  # read as text, the box 0.5 0.2 0.2 0.9 would leave the image
        ("0 0.9 0.5 0.5 0.2 0.2", "text"),  # read as YOLO, the box 0.9 0.5 0.5 0.2 would
        ("0 0.5 0.5 0.5 0.5 0.5", "yolo"),  # fits both
        ("0 0.1 0.1 0.5 0.1 0.5 0.5", "yolo"),
        ("0 10 20 30 40", "text"),
        ("0 0.9 10 20 30 40", "text"),
        ("boat 0.5 0.5 0.2 0.2", "text"),
        ("1.5 0.5 0.5 0.2 0.2", "text"),
    ],
)
def test_yolo_and_text_are_told_apart(tmp_path, line, format):
    assert vt.read(folder(tmp_path / "in", a=line)).source.format == format


def test_reason_counts_the_boxes_that_leave_the_image(tmp_path):
    path = folder(tmp_path / "in", a="0 0.5 0.5 0.2 0.2 0.9\n0 0.5 0.5 0.5 0.5 0.5\n")
    why = vt.read(path).source.why
    assert (
        "confidence after the box, because of 2 boxes 0 leave the image if the confidence comes last, "
        "1 if it comes first" in why
    )


def test_user_says_the_numbers_are_corners(tmp_path):
    path = folder(tmp_path / "in", a="0 0.1 0.2 0.3 0.4\n0 0.1 0.2 0.5 0.2 0.5 0.6\n")
    truth = vt.read(path, boxes="xyxy")
    np.testing.assert_allclose(truth.regions.boxes, [[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.5, 0.6]])


def test_written_data_set_has_labels_and_data_yaml(tmp_path):
    truth = vt.Annotations.of(
        ["p/a.jpg"],
        ["boat"],
        [[32, 64, 64, 192]],
        sizes={"p/a.jpg": (128, 256), "b": (1, 1)},
        labels=["boat", "a: #'\""],
    )
    lost = vt.write(truth, tmp_path / "out", "yolo")
    assert lost == ("image folder or suffix", "image size")
    assert (tmp_path / "out" / "labels" / "a.txt").read_text() == "0 0.375 0.5 0.25 0.5\n"
    assert (tmp_path / "out" / "labels" / "b.txt").read_text() == ""
    again = vt.read(tmp_path / "out", like=truth)
    assert again.labels is truth.labels or again.labels.names == truth.labels.names
    np.testing.assert_allclose(again.regions.boxes, truth.regions.boxes)


def test_sizes_are_needed_to_write(tmp_path):
    truth = vt.Annotations.of(["a.jpg"], ["boat"], [[10, 20, 30, 60]])
    for format in ("yolo", "openimages"):
        with pytest.raises(
            vt.ReadError, match=r"expected the size of every image, found none for 'a\.jpg'; give image_size="
        ):
            vt.write(truth, tmp_path / format, format)
    assert not list(tmp_path.iterdir())


def test_polygon_of_several_rings_is_written_as_its_box(tmp_path):
    truth = vt.read(sample("coco", "good", "instances.json"))
    lost = vt.write(truth, tmp_path / "out", "yolo")
    assert {"polygon of several rings", "mask", "crowd", "area", "object id", "class id", "image id"} <= set(lost)
    assert "polygon" not in lost
    again = vt.read(tmp_path / "out", like=truth)
    np.testing.assert_allclose(again.regions.boxes, truth.regions.boxes[[2, 3, 0, 1]])  # by file name
    assert again.regions.polygons is None


def test_boxes_beside_polygons_are_written_as_rectangles(tmp_path):
    """Ultralytics leaves out every file whose lines are of both kinds."""
    truth = vt.read(
        {
            "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}],
            "categories": [{"id": 1, "name": "boat"}],
            "annotations": [
                {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20],
                 "segmentation": [[10, 10, 30, 10, 30, 30]]},
                {"id": 2, "image_id": 1, "category_id": 1, "bbox": [50, 5, 10, 20]},
            ],
        }
    )  # fmt: skip
    vt.write(truth, tmp_path / "both", "yolo")
    lines = (tmp_path / "both" / "labels" / "a.txt").read_text().splitlines()
    assert lines == ["0 0.1 0.2 0.3 0.2 0.3 0.6", "0 0.5 0.1 0.6 0.1 0.6 0.5 0.5 0.5"]
    vt.write(truth.take([1]), tmp_path / "box", "yolo")
    words = (tmp_path / "box" / "labels" / "a.txt").read_text().split()
    assert [float(word) for word in words] == pytest.approx([0, 0.55, 0.3, 0.1, 0.4])


def test_poses_stay_with_their_boxes_where_a_line_is_left_out(tmp_path):
    """A line with a confidence among others without one is listed, and the rest is whole."""
    (tmp_path / "labels").mkdir()
    (tmp_path / "data.yaml").write_text("kpt_shape: [1, 2]\nnames: [boat]\n")
    lines = ["0 0.5 0.5 0.2 0.2 0.41 0.42", "0 0.5 0.5 0.2 0.2 0.51 0.52 0.9", "0 0.5 0.5 0.2 0.2 0.61 0.62"]
    (tmp_path / "labels" / "a.txt").write_text("\n".join(lines) + "\n")
    with list_faults():
        read = vt.read(tmp_path)
    assert len(read) == 2
    assert [read.regions.keypoints[row][0, :2].tolist() for row in range(2)] == [[0.41, 0.42], [0.61, 0.62]]


def posed(*points, confidence=None):
    side = vt.Annotations.of(
        ["a"] * len(points), ["hand"] * len(points), [[32, 32, 96, 96]] * len(points), confidence=confidence,
        sizes={"a": (256, 128)},
    )  # fmt: skip
    regions = Regions(side.regions.boxes, keypoints=Keypoints.of(list(points)))
    return replace(side, regions=regions)


def test_poses_are_written_behind_their_boxes(tmp_path):
    # Of 256 x 128: centre 64, 64 and size 64, 64.
    vt.write(posed([64, 64, 2, 128, 32, 1], None, confidence=[0.75, 0.5]), tmp_path / "out", "yolo-pose")
    box = "0 0.25 0.5 0.25 0.5"
    assert (tmp_path / "out" / "labels" / "a.txt").read_text().splitlines() == [
        f"{box} 0.25 0.5 2.0 0.5 0.25 1.0 0.75",
        f"{box} 0.0 0.0 0.0 0.0 0.0 0.0 0.5",
    ]
    text = (tmp_path / "out" / "data.yaml").read_text()
    assert text.startswith("kpt_shape: [2, 3]\n")
    assert text.endswith('names:\n  0: "hand"\n')


def test_poses_of_different_lengths_are_not_written(tmp_path):
    uneven = posed([50, 50, 2], [50, 50, 2, 60, 60, 2])
    assert "as many keypoints in every object, found [1, 2] in different objects" in refused(
        vt.write, uneven, tmp_path / "out", "yolo-pose"
    )


def shape(*lines):
    return shape_from_lines([line.split() for line in lines])


def test_keypoints_are_betrayed_by_visibilities():
    box = "0 0.5 0.5 0.2 0.2"
    assert shape(f"{box} 0.1 0.2 2") == (1, 3)
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0", f"{box} 0.1 0.2 1 0.3 0.4 0") == (2, 3)
    assert shape(f"{box} 0.1 0.2 1") is None  # nobody is seen: it may be a polygon
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0.5") is None
    assert shape(f"{box} 0.1 0.2") is None
    assert shape(box) is None
    assert shape(f"{box} 0.1 0.2 2", box) is None
    assert shape(f"{box} 0.1 x 2") is None


def test_predictions_have_as_many_keypoints_as_the_truth():
    regions = vt.Regions([[0, 0, 1, 1]], keypoints=Keypoints.of([[1, 2, 2, 3, 4, 2]]))
    truth = replace(vt.Annotations.of(["a"], ["x"], [[0, 0, 1, 1]]), regions=regions)

    def found(many):
        return shape_from_truth([["0"] * (5 + many)], Options(like=truth))

    assert [found(many) for many in (6, 7, 4, 5)] == [(2, 3), (2, 3), (2, 2), (2, 2)]
    assert [found(many) for many in (3, 8, 0)] == [None] * 3
    assert shape_from_truth([], Options(like=truth)) is None
    assert shape_from_truth([["0"] * 11], Options()) is None


def test_points_below_zero_are_unknown_where_nothing_says_so():
    assert split_keypoints("a", [0.1, 0.2, -1, 0.3, 0, 0], (3, 2)) == ([0.1, 0.2, 2, -1, 0.3, 0, 0, 0, 2], None)
    assert split_keypoints("a", [0.1, 0.2, 1, 0.75], (1, 3)) == ([0.1, 0.2, 1], 0.75)
    assert "found 10 words" in refused(split_keypoints, "a", [0.1] * 5, (1, 3))
    assert "found 7 words" in refused(split_keypoints, "a", [0.1] * 2, (1, 3))


def test_poses_begin_with_a_box_within_the_image(tmp_path):
    def recognised(line):
        (tmp_path / "a.txt").write_text(line)
        return yolo.recognise_yolo_pose(PathProbe(tmp_path / "a.txt")) is not None

    assert recognised("0 0.5 0.5 0.2 0.2 0.1 0.2 2\n")
    for odd in ("0 5 0.5 0.2 0.2", "0 0.5 5 0.2 0.2", "0 0.5 0.5 5 0.2", "0 0.5 0.5 0.2 5", "0 -1 0.5 0.2 0.2"):
        assert not recognised(f"{odd} 0.1 0.2 2\n")


def lines(tmp_path, *given, name="a.txt"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in given))
    return PathProbe(tmp_path / name)


def test_poses_are_told_by_their_number(tmp_path):
    told = "text files with a class number, a box and 2 keypoints per line"
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 0.5 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) == told
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 1.01 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) == told
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 1.02 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) is None
    assert (
        yolo.recognise_yolo_pose(lines(tmp_path, "0 0.5 0.5 0.2 0.2 7 0.2 2 0.3 0.4 1")) == told
    )  # points may be outside


def test_objects_without_a_pose_are_written_with_points_of_zeros(tmp_path):
    given = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 10, 10]] * 2, sizes={"a": (20, 20)})
    points = Keypoints.of([[[5, 10, 2], [20, 0, 1]], None])
    vt.write(
        replace(given, regions=vt.Regions([[0, 0, 10, 10]] * 2, "xyxy", keypoints=points)), tmp_path / "o", "yolo-pose"
    )
    first, second = (tmp_path / "o" / "labels" / "a.txt").read_text().splitlines()
    assert first == "0 0.25 0.25 0.5 0.5 0.25 0.5 2.0 1.0 0.0 1.0"
    assert second == "0 0.25 0.25 0.5 0.5 " + " ".join(["0.0"] * 6)


def test_names_are_written_as_they_are():
    assert yolo.yaml_of(("café", 'a "b"')).splitlines()[-2:] == ['  0: "café"', '  1: "a \\"b\\""']


def test_class_numbers_are_those_of_names():
    def numbers(*given, **options):
        said = {}
        label, labels = name_class_numbers(
            np.array(given), Options(**options), lambda expected, odd: said.update({expected: odd})
        )
        return label.tolist(), labels.numbers, {key: odd for key, odd in said.items() if odd}

    assert numbers(7, 3, 7) == ([1, 0, 1], (3, 7), {})
    assert numbers(0, 1, names=["a", "b"])[0] == [0, 1]
    told = "class numbers from 0 to 1, as there are names (V206)"
    assert numbers(0, 2, -1, names=["a", "b"])[2] == {told: {1: "2", 2: "-1"}}
    assert numbers(1, 2, names=["a", "b"], label_offset=-1)[0] == [0, 1]
