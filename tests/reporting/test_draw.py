"""Ground truth and predictions drawn on their images, by outcome and never by colour alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.reporting.draw import PENS, Overlay, rings_of, thin, trace_mask
from verite.reporting.image_files import ImageFiles, inside, load_pixels

DEMO = Path(__file__).parents[2] / "src" / "verite" / "data" / "demo"
TRUTH, HAWK = DEMO / "truth.json", DEMO / "hawk.json"


@pytest.fixture
def three():
    """Two cats and a dog: a cat detected at 0.9, the dog at 0.2, and a false positive at 0.8."""
    boxes = [[0, 0, 10, 10], [50, 0, 60, 10], [0, 50, 10, 60]]
    sizes = {"a.png": (100, 80), "b.png": (40, 40)}
    truth = vt.Annotations.of(["a.png"] * 3, ["cat", "cat", "dog"], boxes, sizes=sizes)
    found = [[0, 0, 10, 10], [0, 50, 10, 60], [80, 60, 90, 70]]
    pred = vt.Annotations.of(["a.png"] * 3, ["cat", "dog", "cat"], found, confidence=[0.9, 0.2, 0.8])
    return vt.coco(truth, pred, name="mine", checks="off")


def test_outcomes_are_those_of_the_matching(three):
    overlay = Overlay(three, confidence=0.0)
    outcomes = sorted((mark.side, mark.outcome, mark.label) for mark in overlay.marks(0))
    assert outcomes == [
        ("pred", "right", "cat"), ("pred", "right", "dog"), ("pred", "wrong", "cat"),
        ("truth", "found", "cat"), ("truth", "found", "dog"), ("truth", "missed", "cat"),
    ]  # fmt: skip


def test_predictions_below_the_threshold_match_nothing(three):
    overlay = Overlay(three, confidence=0.5)
    assert {mark.row for mark in overlay.marks(0) if mark.outcome == "missed"} == {1, 2}
    assert {name: values[0] for name, values in overlay.by_image.items()} == {"found": 1, "missed": 2, "wrong": 1}


def test_the_default_confidence_is_that_of_the_best_f1(three):
    # By falling confidence: TP, FP, TP. F1 is 2/4, 2/5, 4/6: the lowest confidence is best.
    assert Overlay(three).confidence == 0.2


def test_images_without_errors_are_not_among_the_worst(three):
    assert Overlay(three).worst == [0]


def test_no_two_outcomes_differ_by_colour_alone():
    looks = [(pen.sign, pen.width, pen.dashes, pen.hatch) for pen in PENS.values()]
    assert len(set(looks)) == len(looks)
    assert all(PENS[outcome].dashes is None for outcome in ("found", "missed"))
    assert all(PENS[outcome].dashes for outcome in ("right", "wrong"))


def test_mask_outlines_run_along_the_edges_of_pixels():
    mask = np.zeros((5, 6), dtype=bool)
    mask[1:4, 1:5] = True
    mask[2, 2] = False
    outer, inner = trace_mask(mask)
    assert outer.tolist() == [[1, 1], [5, 1], [5, 4], [1, 4]]
    assert sorted(inner.tolist()) == [[2, 2], [2, 3], [3, 2], [3, 3]]
    assert trace_mask(np.zeros((3, 3), dtype=bool)) == []


def test_pixels_that_touch_at_a_corner_are_traced_completely():
    rings = trace_mask(np.eye(3, dtype=bool))
    area = sum(abs(np.sum(r[:, 0] * np.roll(r[:, 1], -1) - r[:, 1] * np.roll(r[:, 0], -1))) / 2 for r in rings)
    assert area == 3


def test_long_outlines_are_thinned_out():
    assert len(thin(np.zeros((1000, 2)))) == 200


def test_boxes_are_drawn_where_boxes_are_compared():
    truth = vt.read(TRUTH)
    assert rings_of(truth.regions, 0, "box")[0].shape == (4, 2)
    assert any(len(ring) > 4 for i in range(10) for ring in rings_of(truth.regions, i, "mask"))


@pytest.mark.parametrize(
    "name", ["../secret.png", "/etc/passwd.png", "a/../../b.png", "http://x/y.png", "C:\\x.png", ""]
)
def test_image_names_never_lead_out_of_the_folder(name, tmp_path):
    assert inside(tmp_path, name) is None


def test_images_are_found_beside_the_ground_truth_or_in_the_given_folder(tmp_path):
    truth = vt.read(TRUTH)
    assert ImageFiles(truth)[0].name == truth.images.name(0)
    assert ImageFiles(truth).folder == DEMO / "images"
    assert ImageFiles(truth, tmp_path)[0] is None
    moved = tmp_path / "deep" / truth.images.name(0)
    moved.parent.mkdir()
    moved.write_bytes(ImageFiles(truth)[0].read_bytes())
    assert ImageFiles(truth, tmp_path)[0] == moved


def test_an_image_is_rotated_by_its_exif_orientation(tmp_path):
    image = Image.new("RGB", (4, 2), "red")
    exif = image.getexif()
    exif[0x0112] = 6  # rotate by 90°
    image.save(tmp_path / "a.jpg", exif=exif)
    assert load_pixels(tmp_path / "a.jpg").shape == (4, 2, 3)
    assert load_pixels(tmp_path / "a.jpg", (4, 2)).shape == (
        2,
        4,
        3,
    )  # the annotated size is unrotated


def test_an_unreadable_image_is_an_empty_background(tmp_path, three):
    (tmp_path / "a.png").write_bytes(b"\x89PNG no more")
    assert load_pixels(tmp_path / "a.png") is None
    assert vt.plot_image(three, "a.png", tmp_path).axes


def test_the_figure_states_counts_and_classes(three):
    from matplotlib.text import Text

    shown = [text.get_text() for text in vt.plot_image(three, "a.png", confidence=0.0).findobj(Text)]
    assert "2 TP, 1 FP, 1 missed (FN)" in shown
    assert {"missed cat", "✓ cat 0.90", "✗ cat 0.80"} <= set(shown)


def test_labels_stay_inside_the_image_and_keep_their_ends():
    from matplotlib.text import Annotation

    names = ["a plane of the older kind, model 747", "a plane of the older kind, model 787"]
    boxes = [[-15, 20, 5, 30], [90, 50, 99, 60]]
    truth = vt.Annotations.of(["a.png"] * 2, names, boxes, sizes={"a.png": (100, 80)})
    pred = vt.Annotations.of(["a.png"] * 2, names, boxes, confidence=[0.9, 0.8])
    figure = vt.plot_image(vt.coco(truth, pred, checks="off"), "a.png", confidence=0.0)
    figure.draw_without_rendering()
    written = [text for text in figure.findobj(Annotation) if text.get_text()]
    assert {text.get_text()[-14:] for text in written} == {"model 747 0.90", "model 787 0.80"}
    frame = figure.axes[0].bbox
    for text in written:
        assert frame.x0 <= text.get_window_extent().x0
        assert text.get_window_extent().x1 <= frame.x1


def test_names_are_not_parsed_as_formulas():
    truth = vt.Annotations.of(["a.png"], [r"$\frac$"], [[0, 0, 9, 9]], sizes={"a.png": (100, 80)})
    pred = vt.Annotations.of(["a.png"], [r"$\frac$"], [[0, 0, 9, 9]], confidence=[0.9])
    shown = vt.plot_image(vt.coco(truth, pred, checks="off"), "a.png", confidence=0.0)
    assert any(r"$\frac$" in text.get_text() for text in shown.axes[0].texts)


@pytest.mark.thorough
def test_the_command_draws_the_worst_images_or_a_given_one(tmp_path, capsys):
    assert run(["draw", str(TRUTH), str(HAWK), "-o", str(tmp_path), "--worst", "1", "-q"]) == 0
    (first,) = tmp_path.iterdir()
    assert capsys.readouterr().out == f"{first}\n"
    assert (
        run(
            [
                "draw",
                str(TRUTH),
                str(HAWK),
                "-o",
                str(tmp_path),
                "--image",
                "town-3074",
                "--on",
                "mask",
                "-q",
                "--overwrite",
            ]
        )
        == 0
    )
    assert (tmp_path / "town-3074.png").read_bytes() == drawn_again(tmp_path)


def drawn_again(folder):
    (path,) = vt.draw(TRUTH, HAWK, folder / "again", image="town-3074", on="mask")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--image", "nope.png"], 2, "--image: expected one of 36 images, found 'nope.png'"),
        (["--protocol", "imagenet-loc", "--checks", "off"], 2, "expected evaluations that match objects"),
        (["--images", "nowhere"], 1, "nowhere: expected"),
        (["--protocol", "voc", "--on", "mask"], 2, "on: expected box or rotated, found 'mask'"),
    ],
)
def test_errors_of_the_command_are_one_line(tmp_path, capsys, words, status, said):
    assert run(["draw", str(TRUTH), str(HAWK), "-o", str(tmp_path), "-q", *words]) == status
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_poses_are_drawn_as_skeletons_between_labelled_keypoints(tmp_path):
    points = np.zeros((17, 3))
    points[[5, 6, 11, 12]] = [[30, 20, 2], [60, 20, 2], [35, 70, 1], [55, 70, 2]]
    person = {"image_id": 1, "category_id": 1, "bbox": [20, 10, 50, 80], "keypoints": points.ravel().tolist()}
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [{**person, "id": 1, "area": 2000.0, "iscrowd": 0}],
    }
    truth = vt.read(document)
    results = vt.coco(truth, vt.read([{**person, "score": 0.5}], like=truth), on="keypoints")
    mark = Overlay(results).marks(0)[0]
    assert mark.joints.tolist() == points[[5, 6, 11, 12], :2].tolist()
    assert len(mark.bones) == 4  # shoulders, hips and both sides of the trunk
    assert mark.lines == mark.bones  # a box around them would hide them
    assert [path.name for path in vt.draw(truth, results.pred, tmp_path, on="keypoints", image="a.jpg")] == ["a.png"]


@pytest.mark.parametrize("far", [-9.3e18, 9.3e18])
def test_objects_very_far_outside_are_drawn_around(far, tmp_path):
    box = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "bbox": [10, far, 20, 20], "area": 400, "iscrowd": 0, **box}],
    }
    assert vt.draw(truth, [{"bbox": [10, far, 20, 20], "score": 0.5, **box}], tmp_path / "drawn")
