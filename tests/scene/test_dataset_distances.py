"""Class distances from data: colours, supercategories, features, confusion, similarity, and two taxonomies."""

from __future__ import annotations

import json
from importlib.resources import files
from math import sqrt

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.errors import DataError, ReadError
from verite.scene.dataset_distances import (
    edit_distance,
    from_confusion,
    from_dataset,
    from_features,
    from_histograms,
    from_supercategories,
    read_features,
    read_square,
)
from verite.scene.taxonomy import Taxonomy


def test_colours_of_objects_are_compared(tmp_path):
    """Two red classes and a half red, half blue one: Hellinger's distance √(1 - √(1 · 1/2))."""
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    pixels[:, :20, 0] = 255
    pixels[:, 20:, 2] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    boxes = [[0, 0, 10, 10], [5, 5, 15, 15], [10, 0, 30, 20]]
    truth = vt.Annotations.of(["a.png"] * 3, ["apple", "cherry", "flag"], boxes)
    found = from_dataset(truth, tmp_path)
    assert found["apple", "cherry"] == 0
    assert found["apple", "flag"] == pytest.approx(sqrt(1 - sqrt(0.5)))
    with pytest.raises(ReadError, match="expected a file or folder"):
        from_dataset(truth, tmp_path / "none")
    with pytest.raises(DataError, match="expected an image of every class, found none for"):
        from_dataset(vt.Annotations.of(["b.png"], ["pear"], [[0, 0, 5, 5]]), tmp_path)


def test_histograms_features_and_confusions_by_hand():
    histograms = {"cat": [1, 1, 0], "dog": [1, 1, 0], "car": [0, 0, 2]}
    assert from_histograms(histograms)["cat", "dog"] == pytest.approx(0, abs=1e-7)
    assert from_histograms(histograms)["cat", "car"] == 1
    # Means (0, 1), (0, 2) and (4, 1): distances 1, 4 and √17, divided by √17.
    features = from_features(["cat", "cat", "dog", "car"], [[0, 0], [0, 2], [0, 2], [4, 1]])
    assert features["cat", "dog"] == pytest.approx(1 / sqrt(17))
    assert features["dog", "car"] == 1
    # 2 of 10 cats are called dogs, 1 of 10 dogs cats: 1 - 0.2 - 0.1.
    assert from_confusion(["cat", "dog"], [[8, 2], [1, 9]])["dog", "cat"] == pytest.approx(0.7)
    assert from_confusion(["cat", "dog"], [[5, 5], [5, 5]])["dog", "cat"] == 0
    with pytest.raises(DataError, match="features: expected one finite vector"):
        from_features(["cat"], [[0.0, float("nan")]])


def test_supercategories_are_a_taxonomy_of_two_levels(tmp_path):
    above = {"cat": "animal", "dog": "animal", "car": "vehicle"}
    categories = [{"id": i, "name": name, "supercategory": s} for i, (name, s) in enumerate(above.items())]
    (tmp_path / "truth.json").write_text(json.dumps({"images": [], "annotations": [], "categories": categories}))
    found = from_supercategories(tmp_path / "truth.json")
    assert (found["cat", "dog"], found["cat", "car"]) == (0.5, 1.0)  # 2 and 4 steps
    (tmp_path / "plain.json").write_text(json.dumps({"categories": [{"id": 1, "name": "cat"}]}))
    with pytest.raises(ReadError, match="a COCO file with supercategories"):
        from_supercategories(tmp_path / "plain.json")


def test_broken_features_and_categories_are_one_line(tmp_path):
    """Each of these let Python's or numpy's own errors out."""
    (tmp_path / "a.txt").write_text("cat\ndog\n")
    for content in (b"", b"none", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x06\x00{'a'\n"):
        (tmp_path / "a.npy").write_bytes(content)
        with pytest.raises(ReadError, match=r"a\.npy: expected an array as numpy saves it, found"):
            read_features(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(ReadError, match=r"a\.txt:1: expected UTF-8 text"):
        read_features(tmp_path / "a.npy")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ReadError, match="levels of nesting"):
        from_supercategories(tmp_path / "deep.json")


def test_features_are_read_from_csv_and_npy(tmp_path):
    (tmp_path / "f.csv").write_text("class,x,y\ncat,0,0\ncat,0,2\ndog,0,2\ncar,4,1\n")
    assert read_features(tmp_path / "f.csv")["cat", "dog"] == pytest.approx(1 / sqrt(17))
    np.save(tmp_path / "g.npy", np.array([[0.0, 1], [0, 2], [4, 1]]))
    with pytest.raises(ReadError, match=r"g\.txt"):
        read_features(tmp_path / "g.npy")
    (tmp_path / "g.txt").write_text("cat\ndog\ncar\n")
    assert read_features(tmp_path / "g.npy")["cat", "dog"] == pytest.approx(1 / sqrt(17))
    (tmp_path / "bad.csv").write_text("cat,0,0\ndog,0\n")
    with pytest.raises(ReadError, match=r"bad\.csv:2: expected a class and as many numbers"):
        read_features(tmp_path / "bad.csv")


def test_edits_between_taxonomies_are_added_removed_and_moved_nodes():
    a = Taxonomy({"animal": None, "cat": "animal", "dog": "animal"})
    b = Taxonomy({"animal": None, "pet": "animal", "cat": "pet", "dog": "pet", "cow": "animal"})
    assert edit_distance(a, a) == 0
    assert edit_distance(a, b) == edit_distance(b, a) == 4  # pet and cow added, cat and dog moved


def test_distances_of_data_on_the_command_line(tmp_path, capsys):
    demo = files("verite") / "data" / "demo"
    assert run(["class-distance", str(demo / "truth.json"), "--images", str(demo / "images"), "--json"]) == 0
    matrix = np.array(json.loads(capsys.readouterr().out)["distances"])
    assert matrix.shape == (8, 8)
    assert (matrix == matrix.T).all()
    (tmp_path / "confusion.csv").write_text("class,cat,dog,background\ncat,8,2,0\ndog,1,9,3\n")
    assert read_square(tmp_path / "confusion.csv")[0] == ["cat", "dog"]
    assert run(["class-distance", str(tmp_path / "confusion.csv"), "--from", "confusion", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["distances"][0][1] == pytest.approx(0.7)
    (tmp_path / "s.csv").write_text("class,cat,dog\ncat,1,0.75\ndog,0.75,1\n")
    assert run(["class-distance", str(tmp_path / "s.csv"), "--from", "similarity", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["distances"][0][1] == 0.25
    assert run(["class-distance", str(tmp_path / "s.csv"), "--from", "confusion", "--images", str(tmp_path)]) == 2
    assert run(["class-distance", "a.csv", "b.csv", "--from", "confusion"]) == 2
    (tmp_path / "empty.csv").write_text("")
    assert run(["class-distance", str(tmp_path / "empty.csv"), "--from", "confusion"]) == 1
    assert run(["class-distance", str(tmp_path / "empty.csv"), "--from", "features"]) == 1
