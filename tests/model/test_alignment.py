"""Which image and which label of the truth does a prediction speak of?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from verite.model.images import stem


def made(images, labels, image, label, unit="px"):
    boxes = np.tile([0.0, 0.0, 0.5, 0.25], (len(image), 1))
    return vt.Annotations(images, labels, np.array(image), np.array(label), vt.Regions(boxes), unit=unit)


@pytest.fixture
def truth():
    images = vt.Images(["val/0004.jpg", "val/0007.jpg"], [4, 7], widths=[640, 320], heights=[480, 240])
    return made(images, vt.Labels(["cat", "dog"], [17, 18]), [0, 1], [0, 1])


def names(aligned):
    return [(aligned.images.name(i), aligned.labels.name(j)) for i, j in zip(aligned.image, aligned.label, strict=True)]


def test_tables_of_the_truth_are_taken_over_as_they_are(truth):
    pred = made(vt.Images(["val/0007.jpg"]), vt.Labels(["dog"]), [0], [0])
    aligned = pred.like(truth)
    assert aligned.images is truth.images
    assert aligned.labels is truth.labels
    assert names(aligned) == [("val/0007.jpg", "dog")]
    assert aligned.source.notes == ()


@pytest.mark.parametrize("name", ["0007", "0007.png", "other/0007.JPG", "C:\\pictures\\0007.jpg"])
def test_images_are_found_by_stem(truth, name):
    pred = made(vt.Images([name]), vt.Labels(["cat"]), [0], [0])
    assert names(pred.like(truth)) == [("val/0007.jpg", "cat")]


def test_stem_of_two_images_names_neither():
    truth = made(vt.Images(["a/1.jpg", "b/1.jpg"]), vt.Labels(["cat"]), [0, 1], [0, 0])
    pred = made(vt.Images(["1", "b/1.jpg"]), vt.Labels(["cat"]), [0, 1], [0, 0])
    assert names(pred.like(truth)) == [("1", "cat"), ("b/1.jpg", "cat")]
    assert pred.like(truth).image.tolist() == [2, 1]


def test_images_and_labels_are_found_by_id(truth):
    pred = made(vt.Images(None, [7, 4]), vt.Labels(None, [18, 17]), [0, 1], [0, 1])
    aligned = pred.like(truth)
    assert names(aligned) == [("val/0007.jpg", "dog"), ("val/0004.jpg", "cat")]
    assert aligned.images is truth.images


def test_ids_are_found_as_numbers_in_file_names():
    truth = made(vt.Images(["0004.jpg", "0007.jpg"]), vt.Labels(["cat"]), [0], [0])
    pred = made(vt.Images(None, [7]), vt.Labels(["cat"]), [0], [0])
    aligned = pred.like(truth)
    assert names(aligned) == [("0007.jpg", "cat")]
    assert aligned.source.notes == ("image ids taken as the numbers in file names",)


def test_numbers_in_file_names_are_found_as_ids():
    truth = made(vt.Images(None, [4, 7]), vt.Labels(["cat"]), [0], [0])
    pred = made(vt.Images(["0007.txt.jpg", "0007.jpg", "x.jpg"]), vt.Labels(["cat"]), [0, 1, 2], [0, 0, 0])
    aligned = pred.like(truth)
    assert aligned.image.tolist() == [2, 1, 3]
    assert aligned.source.notes == ("numbers in file names taken as image ids",)


def test_numbers_too_long_for_an_id_are_names():
    truth = made(vt.Images(None, [4, 7]), vt.Labels(None, [1]), [0], [0])
    pred = made(vt.Images(["9" * 5000]), vt.Labels(["9" * 5000]), [0], [0])
    aligned = pred.like(truth)
    assert aligned.image.tolist() == [2]
    assert aligned.label.tolist() == [1]


def test_class_names_that_are_numbers_are_found_as_ids(truth):
    pred = made(vt.Images(["0004"]), vt.Labels(["18", "17"]), [0, 0], [0, 1])
    aligned = pred.like(truth)
    assert names(aligned) == [("val/0004.jpg", "dog"), ("val/0004.jpg", "cat")]
    assert aligned.source.notes == ("class names taken as class ids",)


def test_class_ids_are_found_as_names():
    truth = made(vt.Images(["a"]), vt.Labels(["0", "1"]), [0], [0])
    pred = made(vt.Images(["a"]), vt.Labels(None, [1]), [0], [0])
    aligned = pred.like(truth)
    assert aligned.label.tolist() == [1]
    assert aligned.source.notes == ("class ids taken as class names",)


def test_unknown_images_and_labels_come_after(truth):
    pred = made(
        vt.Images(["new.jpg", "0004"], widths=[9, 9], heights=[8, 8]), vt.Labels(["cow", "cat"]), [0, 1], [0, 1]
    )
    aligned = pred.like(truth)
    assert aligned.images.names == ("val/0004.jpg", "val/0007.jpg", "new.jpg")
    assert aligned.images.widths.tolist() == [640, 320, 9]  # the truth's own where it has one
    assert aligned.labels.names == ("cat", "dog", "cow")
    assert names(aligned) == [("new.jpg", "cow"), ("val/0004.jpg", "cat")]


def test_unknown_rows_get_ids_nobody_has(truth):
    pred = made(vt.Images(["new.jpg", "newer.jpg"]), vt.Labels(["cow", "hen"]), [0, 1], [0, 1])
    aligned = pred.like(truth)
    assert aligned.images.ids.tolist() == [4, 7, -1, -2]
    assert aligned.labels.ids.tolist() == [17, 18, -1, -2]


def test_unknown_ids_keep_their_numbers(truth):
    pred = made(vt.Images(None, [5]), vt.Labels(None, [3]), [0], [0])
    aligned = pred.like(truth)
    assert aligned.images.ids.tolist() == [4, 7, 5]
    assert aligned.labels.ids.tolist() == [17, 18, 3]
    assert names(aligned) == [("5", "3")]


def test_unknown_id_that_reads_like_a_known_name_is_told_apart():
    truth = made(vt.Images(["a"]), vt.Labels(["3", "4"], [1, 2]), [0], [0])
    pred = made(vt.Images(["a"]), vt.Labels(None, [3]), [0], [0])
    assert pred.like(truth).labels.names == ("3", "4", "id 3")


def test_truth_without_rows_knows_nothing():
    truth = made(vt.Images(None, []), vt.Labels(None, []), [], [])
    pred = made(vt.Images(None, [5]), vt.Labels(None, [3]), [0], [0])
    assert names(pred.like(truth)) == [("5", "3")]


def test_fractions_become_the_truths_pixels(truth):
    pred = made(vt.Images(["0004", "0007"]), vt.Labels(["cat"]), [0, 1], [0, 0], unit="rel")
    aligned = pred.like(truth)
    assert aligned.unit == "px"
    assert aligned.regions.boxes.tolist() == [[0, 0, 320, 120], [0, 0, 160, 60]]


def test_pixels_become_fractions_where_the_truth_has_nothing_else():
    truth = made(vt.Images(["a"]), vt.Labels(["cat"]), [0], [0], unit="rel")
    pred = made(vt.Images(["a"], widths=[2], heights=[4]), vt.Labels(["cat"]), [0], [0])
    with pytest.raises(vt.DataError, match=r"expected the size of every image \(the truth are fractions"):
        pred.like(truth)
    truth = replace(truth, images=vt.Images(["a"], widths=[2], heights=[4]))
    assert pred.like(truth).regions.boxes.tolist() == [[0, 0, 0.25, 0.0625]]


def test_fractions_without_a_size_name_the_image(truth):
    pred = made(vt.Images(["new.jpg"]), vt.Labels(["cat"]), [0], [0], unit="rel")
    with pytest.raises(
        vt.DataError,
        match=r"found none for 'new\.jpg'; the ground truth has no image of this name .* or give image_size=",
    ):
        pred.like(truth)


def test_fractions_meet_fractions():
    truth = made(vt.Images(["a"]), vt.Labels(["cat"]), [0], [0], unit="rel")
    assert truth.like(truth).unit == "rel"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.jpg", "a"), ("x/y/a.PNG", "a"), ("x\\a.tif", "a"), ("v1.2", "v1.2"), ("a.jpg.jpg", "a.jpg"), ("a", "a")],
)
def test_stem_leaves_out_folders_and_suffixes_of_pictures(name, expected):
    assert stem(name) == expected


def test_tables_need_names_or_ids():
    for table in (vt.Images, vt.Labels):
        with pytest.raises(vt.BadParameter, match="expected names or ids, found neither"):
            table()


def test_tables_of_different_lengths_are_refused():
    with pytest.raises(vt.BadParameter, match="images: expected 2 widths, found 1"):
        vt.Images(["a", "b"], widths=[1])
    with pytest.raises(vt.BadParameter, match="labels: expected an id for each of 2 names, found 1"):
        vt.Labels(["a", "b"], [1])


def test_label_comes_once():
    with pytest.raises(vt.BadParameter, match="labels: expected each name once, found 'a' twice"):
        vt.Labels(["a", "b", "a"])
    with pytest.raises(vt.BadParameter, match="labels: expected each id once, found 3 twice"):
        vt.Labels(None, [3, 3])


def on(names, *, truth):
    """Where images of these names lie among those of a ground truth."""
    one = made(vt.Images(truth), vt.Labels(["cat"]), [0], [0])
    rows = list(range(len(names)))
    return made(vt.Images(names), vt.Labels(["cat"]), rows, [0] * len(rows)).like(one).image.tolist()


def test_paths_match_by_as_many_folders_as_tell_images_apart():
    assert on(["b/1", "a/1"], truth=["root/a/1.jpg", "root/b/1.jpg"]) == [1, 0]
    assert on(["/data/x/b/1.png", "/data/x/a/1.png"], truth=["a/1.jpg", "b/1.jpg"]) == [1, 0]


def test_frames_of_another_sequence_match_no_frame_of_this_one():
    # Sequence 04 has a frame that 02 has, too, and one for which 02 has no predictions: both stay unknown.
    found = on(["s2/1", "s4/1", "s4/2"], truth=["s2/1", "s2/2"])
    assert found == [0, 2, 3]


@pytest.mark.parametrize(
    ("names", "truth", "named"),
    [
        (["hawk/1", "wren/1"], ["campus/1"], ["hawk/1", "wren/1", "campus/1"]),  # two detectors in one folder
        (["hawk/1", "wren/1"], ["1.jpg"], ["hawk/1", "wren/1", "1.jpg"]),
        (["1.jpg", "1.png"], ["1.jpg"], ["1.jpg", "1.png"]),
        (["1"], ["a/1.jpg", "b/1.jpg"], ["1", "a/1.jpg", "b/1.jpg"]),
        (["1"], ["1.jpg", "1.png"], ["1.jpg", "1.png"]),
        (["MOT17-04/1"], ["MOT17-02/1"], ["MOT17-04/1", "MOT17-02/1"]),
        (["train/1.jpg"], ["val/1.jpg"], ["train/1.jpg", "val/1.jpg"]),
    ],
)
def test_a_base_name_that_is_not_one_to_one_is_refused_by_name(names, truth, named):
    with pytest.raises(vt.DataError) as error:
        on(names, truth=truth)
    assert all(name in str(error.value) for name in named)


def test_two_names_of_one_number_are_refused():
    truth = made(vt.Images(None, [1]), vt.Labels(["cat"]), [0], [0])
    pred = made(vt.Images(["a/0001", "b/0001"]), vt.Labels(["cat"]), [0, 1], [0, 0])
    with pytest.raises(vt.DataError, match=r"a/0001.*b/0001.*image id 1"):
        pred.like(truth)
    with pytest.raises(vt.DataError, match=r"image id 1.*a/0001.*b/0001"):
        truth.like(pred)


def test_a_base_name_in_another_folder_of_the_ground_truth_is_another_image():
    truth = made(vt.Images(["cam/1.jpg", "lidar/2.jpg"]), vt.Labels(["cat"]), [0, 1], [0, 0])
    pred = made(vt.Images(["cam/2.jpg"]), vt.Labels(["cat"]), [0], [0])
    with pytest.raises(vt.DataError, match=r"'cam/2\.jpg'.*'lidar/2\.jpg'"):
        pred.like(truth)
    elsewhere = made(vt.Images(["photos/2.jpg"]), vt.Labels(["cat"]), [0], [0])
    assert elsewhere.like(truth).image.tolist() == [1]
