"""Class distances learned from images."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw

import verite as vt
from tests.scene.scenes import refused
from verite.errors import BadParameter, DataError, ReadError
from verite.scene.descriptors import (
    distances_from,
    distinct,
    images_by_class,
    learn_distances,
    read_grey,
    sample_pairs,
    share_of_matches,
)

pytest.importorskip("cv2", reason="needs OpenCV, the extra [vision]")


def picture(path, seed, kind):
    """A picture of one of three patterns on noise: two kinds of rings, and bars."""
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(90, 130, (160, 160)).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = rng.integers(20, 120, 2).tolist()
        if kind == "bars":
            for k in range(4):
                pen.rectangle((x + 9 * k, y, x + 9 * k + 4, y + 34), fill=255)
        else:
            pen.ellipse((x, y, x + 34, y + 34), outline=255, width=5)
            pen.ellipse((x + 11, y + 11, x + 23, y + 23), fill=0 if kind == "rings" else 30)
    image.save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("images")
    for k, kind in enumerate(("rings", "hoops", "bars")):
        (home / kind).mkdir()
        for i in range(6):
            picture(home / kind / f"{i}.png", 100 * k + i, kind)
    return home


def test_classes_that_look_alike_are_near(folder):
    found = vt.learn_distances(images_by_class([folder]), pairs=12)
    assert found.names == ("bars", "hoops", "rings")
    assert found["rings", "hoops"] < found["rings", "bars"]
    assert found["rings", "hoops"] < found["hoops", "bars"]
    assert np.diag(found.matrix).tolist() == [0, 0, 0]
    assert np.array_equal(found.matrix, found.matrix.T)


def test_the_same_seed_gives_the_same_distances(folder):
    chosen = images_by_class([folder / "rings", folder / "bars"])
    first, again = (vt.learn_distances(chosen, pairs=4, points=60, seed=3) for _ in range(2))
    assert np.array_equal(first.matrix, again.matrix)


def test_learned_distances_are_used_like_any_other(folder):
    found = vt.learn_distances(images_by_class([folder]), pairs=4)
    truth = vt.Annotations.of(["a"], ["rings"], [[0, 0, 4, 4]])
    pred = vt.Annotations.of(["a"], ["bars"], [[0, 0, 4, 4]])
    score = vt.scene_score(truth, pred, distance=found, checks="off").score
    assert score == pytest.approx(0.2 * found["rings", "bars"])


def test_shared_points_counted_by_hand():
    # On a line: 0 and 10 against 1 and 19. 0 finds 1 (1 away, then 19), 10 finds none (9 away from both), 1 finds 0
    # (1, then 9), 19 finds 10 (9, then 19): three of four points.
    mine = np.array([[0, 0], [10, 0]], dtype=np.float32)
    theirs = np.array([[1, 0], [19, 0]], dtype=np.float32)
    assert share_of_matches(mine, theirs, 0.8) == 3 / 4


def test_pairs_are_drawn_once_each():
    rng = np.random.default_rng(0)
    assert sample_pairs(3, 3, True, 10, rng) == [(0, 1), (0, 2), (1, 2)]
    many = sample_pairs(20, 20, False, 50, rng)
    assert len(set(many)) == 50


def test_bad_images_and_folders_are_named(tmp_path, folder):
    (tmp_path / "cat").mkdir()
    with pytest.raises(ReadError, match="expected images"):
        images_by_class([tmp_path / "cat"])
    (tmp_path / "cat" / "a.png").write_bytes(b"no picture")
    (tmp_path / "cat" / "b.png").write_bytes(b"no picture")
    with pytest.raises(ReadError, match=r"a\.png: expected an image"):
        vt.learn_distances({"cat": [tmp_path / "cat" / "a.png"], "dog": []})
    with pytest.raises(ReadError, match="found a file"):
        images_by_class([tmp_path / "cat" / "a.png"])
    with pytest.raises(ReadError, match="a second one called 'rings'"):
        images_by_class([folder / "rings", folder])
    with pytest.raises(DataError, match="expected at least two classes, found 1"):
        vt.learn_distances({"rings": list((folder / "rings").iterdir())})


def test_images_without_texture_are_named(tmp_path):
    for name in ("a", "b"):
        Image.new("L", (64, 64), 128).save(tmp_path / f"{name}.png")
    files = sorted(tmp_path.glob("*.png"))
    with pytest.raises(DataError, match="images of 'flat': expected at least two with some texture"):
        vt.learn_distances({"flat": files, "same": files})


def test_settings_are_checked(folder):
    chosen = images_by_class([folder])
    with pytest.raises(BadParameter, match="pairs: expected a whole number from 1 up, found 0"):
        vt.learn_distances(chosen, pairs=0)
    with pytest.raises(BadParameter, match="ratio: expected a number above 0"):
        vt.learn_distances(chosen, ratio=0)
    with pytest.raises(BadParameter, match=r"up to 1, found 1\.5"):
        vt.learn_distances(chosen, ratio=1.5)


def test_without_opencv_the_extra_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(BadParameter, match=r"pip install 'verite\[vision\]'"):
        vt.learn_distances(images_by_class([folder]))


def test_where_every_pair_fits_no_chance_is_spent():
    rng = np.random.default_rng(0)
    assert sample_pairs(3, 3, True, 3, rng) == [(0, 1), (0, 2), (1, 2)]
    assert rng.integers(1 << 30) == np.random.default_rng(0).integers(1 << 30)


def test_large_images_are_made_smaller_and_small_ones_stay(tmp_path):
    for size, found in (((1024, 600), (300, 512)), ((400, 512), (512, 400))):
        Image.new("RGB", size).save(tmp_path / "a.png")
        assert read_grey(tmp_path / "a.png").shape == found


def test_a_match_is_nearer_than_the_share_of_the_second():
    # From 0: 4 and 5 away, a share of exactly 0.8.
    mine, theirs = np.array([[0.0]], np.float32), np.array([[4.0], [5.0]], np.float32)
    squared = (mine - theirs.T) ** 2
    assert distinct(squared, 0.8 + 1e-6).tolist() == [True]
    assert distinct(squared, 0.8 - 1e-6).tolist() == [False]


def test_hidden_folders_are_no_classes(tmp_path):
    for name in ("cat", ".git"):
        (tmp_path / name).mkdir()
        Image.new("L", (8, 8)).save(tmp_path / name / "a.png")
    assert list(images_by_class([tmp_path])) == ["cat"]


def test_one_pair_of_images_and_one_point_may_be_asked_for():
    assert "expected at least two classes" in refused(learn_distances, {}, pairs=1, points=1)
    assert "points: expected a whole number from 1 up" in refused(learn_distances, {}, points=0)


def test_two_points_are_enough_to_compare_an_image(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).touch()
    points = {"a": 2, "b": 3, "c": 1}
    monkeypatch.setattr("verite.scene.descriptors.sift", lambda path, _: np.ones((points[path.name], 128), np.float32))
    a, b, c = (tmp_path / name for name in "abc")
    assert learn_distances({"cat": [a, b, c], "dog": [b, a]}).names == ("cat", "dog")
    assert "images of 'dog': expected at least two" in refused(learn_distances, {"cat": [a, b], "dog": [a, c]})


def test_fifty_pairs_of_four_hundred_points_are_taken_by_default(folder):
    two = {kind: sorted((folder / kind).iterdir())[:2] for kind in ("rings", "bars")}
    assert vt.learn_distances(two).source == "sift-50x400"


def test_what_has_nothing_in_common_with_itself_is_far_from_all():
    assert distances_from(np.array([[0.0, 0.0], [0.0, 0.4]])).tolist() == [[0, 1], [1, 0]]


def test_a_folder_without_images_is_refused(tmp_path):
    said = refused(images_by_class, [tmp_path])
    assert "expected images (.jpg, .jpeg, .png, …), found none" in said


def test_the_ratio_of_nearest_points_is_above_0_and_up_to_1():
    assert "images: expected at least two classes, found 0" in refused(learn_distances, {}, ratio=1)
    for odd in (0, 1.01):
        assert f"ratio: expected a number above 0 and up to 1, found {odd}" in refused(learn_distances, {}, ratio=odd)
