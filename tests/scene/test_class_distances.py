"""Distances of classes: by hand, from taxonomies, and everything that can be wrong with them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import verite as vt
from tests.scene.scenes import refused, scene, scored
from verite.errors import DataError, ReadError
from verite.scene.class_distances import TOLERANCE, ClassDistances, read_matrix
from verite.scene.taxonomy import Taxonomy, read_taxonomy

GOOD = "class,cat,dog,car\ncat,0,0.25,1\ndog,0.25,0,1\ncar,1,1,0\n"


def written(tmp_path, text, name="distances.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_matrix_by_hand(tmp_path):
    distances = vt.class_distances(written(tmp_path, GOOD))
    assert distances["cat", "dog"] == 0.25
    assert distances["car", "car"] == 0


def test_rows_may_come_in_any_order(tmp_path):
    text = "class,cat,dog,car\ncar,1,1,0\ncat,0,0.25,1\ndog,0.25,0,1\n"
    assert np.array_equal(vt.class_distances(written(tmp_path, text)).matrix, [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]])


def test_what_is_written_is_read_again(tmp_path):
    distances = vt.class_distances("voc")
    again = vt.class_distances(written(tmp_path, distances.to_csv()))
    assert again.names == distances.names
    assert np.array_equal(again.matrix, distances.matrix)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "class,cat,dog\ncat,0,0.5\ndog,0.4,0\n",
            "expected a symmetric matrix, found 0.5 for 'cat' and 'dog', but 0.4",
        ),
        ("class,cat,dog\ncat,0,-0.5\ndog,-0.5,0\n", "no negative distance, found -0.5 for 'cat' and 'dog'"),
        ("class,cat,dog\ncat,0,3\ndog,3,0\n", "distances from 0 to 1, found 3 for 'cat' and 'dog'; divide"),
        ("class,cat,dog\ncat,1,0.2\ndog,0.2,1\n", "did you mean 1 - S?"),
        ("class,cat,dog\ncat,0.1,1\ndog,1,0\n", "a distance of 0 from a class to itself, found 0.1 for 'cat'"),
        ("class,cat,dog\ncat,0,nan\ndog,nan,0\n", "a number for every two classes, found nan"),
        ("class,cat,dog\ncat,0,x\ndog,1,0\n", "csv:2: expected a number from 0 to 1, found 'x'"),
        ("class,cat,dog\ncat,0\ndog,1,0\n", "csv:2: expected 2 numbers, found 1"),
        ("class,cat,dog\ncat,0,1\n", "a row for every class of the header, found none for 'dog'"),
        ("class,cat,dog\ncat,0,1\ncow,1,0\n", "csv:3: expected a class of the header, found 'cow'"),
        ("class,cat,dog\ncat,0,1\ncat,0,1\n", "csv:3: expected each class once, found 'cat' twice"),
        ("class,dog,cat,cat\ndog,0,1,1\ncat,1,0,1\n", "each class once, found 'cat' twice"),
        ("", "found no such rows"),
        ("class,cat\n", "found no such rows"),
    ],
)
def test_a_bad_matrix_is_named(tmp_path, text, said):
    with pytest.raises(ReadError, match=said):
        vt.class_distances(written(tmp_path, text))


def test_asymmetric_distances_are_allowed_when_said(tmp_path):
    path = written(tmp_path, "class,cat,dog\ncat,0,0.5\ndog,0.4,0\n")
    assert vt.class_distances(path, symmetric=False)["dog", "cat"] == 0.4


def test_a_missing_class_is_named_with_the_nearest(tmp_path):
    path = written(tmp_path, "class,cats,dog\ncats,0,1\ndog,1,0\n")
    box = [(0, 0, 4, 4)]
    with pytest.raises(DataError, match=r"found none for 'cat'; did you mean 'cats'\?"):
        scored(scene(box, ["cat"]), scene(box, ["dog"]), distance=path)


def test_a_class_that_never_matches_must_have_distances_too(tmp_path):
    path = written(tmp_path, "class,cat,dog\ncat,0,1\ndog,1,0\n")
    with pytest.raises(DataError, match="found none for 'car'"):
        scored(scene([(0, 0, 4, 4)], ["cat"]), scene([(50, 50, 60, 60)], ["car"]), distance=path)


def test_paths_of_the_voc_taxonomy_counted_by_hand():
    distances = vt.class_distances("voc")
    assert len(distances.names) == 20
    # cat – land animal – dog: 2 of at most 8 steps
    assert distances["cat", "dog"] == 2 / 8
    # cat – land animal – animal – air animal – bird
    assert distances["cat", "bird"] == 4 / 8
    # cat – land animal – animal – animate – human – person
    assert distances["cat", "person"] == 5 / 8
    assert distances["cat", "car"] == 1
    assert distances["bus", "train"] == 2 / 8
    assert distances["person", "pottedplant"] == 4 / 8
    assert distances.matrix.max() == 1


TREE = {
    "text.txt": "animal\n  cat\n  dog\nthing\n  car\n",
    "tabs.txt": "# remark\nanimal\n\tcat\n\tdog # another\n\nthing\n\tcar\n",
    "nested.json": '{"animal": ["cat", "dog"], "thing": {"car": {}}}',
    "lists.json": '[{"animal": ["cat", "dog"]}, {"thing": "car"}]',
    "mixed.json": '{"animal": ["cat", "dog"], "thing": "car"}',
    "parents.json": '{"cat": "animal", "dog": "animal", "car": "thing", "animal": null, "thing": null}',
    "short.json": '{"cat": "animal", "dog": "animal", "car": "thing"}',
}


@pytest.mark.parametrize("name", TREE)
def test_every_way_to_write_a_taxonomy(tmp_path, name):
    distances = vt.class_distances(written(tmp_path, TREE[name], name))
    assert sorted(distances.names) == ["car", "cat", "dog"]
    assert distances["cat", "dog"] == 2 / 4
    assert distances["cat", "car"] == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '{"cat": "animal", "animal": "pet", "pet": "animal"}', "a cycle: 'animal' is its own ancestor"),
        ("a.json", '{"cat": "cat"}', "a cycle: 'cat' is its own ancestor"),
        ("a.json", '{"animal": {"cat": {"animal": "dog"}}}', "a cycle: 'animal' is its own ancestor"),
        ("a.txt", "animal\n  cat\n    animal\n", "txt:3: expected each name once, found a cycle"),
        ("a.txt", "animal\n  cat\nthing\n  cat\n", "txt:4: expected each name once, found 'cat' twice"),
        ("a.json", '{"animal": ["cat"], "animal": ["dog"]}', "each name once, found 'animal' twice"),
        ("a.json", '{"animal": ["cat", 3]}', "names, lists and objects, found 3"),
        ("a.json", '{"animal": [', "json:1: expected JSON"),
        ("a.json", "[" * 100_000, "levels of nesting, found more"),
        ("a.txt", "animal\n    cat\n  dog\n", "txt:3: expected a depth that a line above has"),
        ("a.txt", "  animal\n cat\n", "txt:2: expected a depth that a line above has, found 1 characters"),
        ("a.txt", "animal\n \tcat\n", "txt:2: expected spaces or tabs before the name, found both"),
        ("a.txt", "  \n", "found an empty file"),
        ("a.txt", "# nothing\n", "expected names of classes, found none"),
        ("a.json", "{}", "expected names of classes, found none"),
    ],
)
def test_a_bad_taxonomy_is_named(tmp_path, name, text, said):
    with pytest.raises(ReadError, match=said):
        read_taxonomy(written(tmp_path, text, name))


def test_a_group_is_not_a_class(tmp_path):
    path = written(tmp_path, "animal\n  cat\n  dog\n", "t.txt")
    with pytest.raises(DataError, match=r"'animal' \(a group of the taxonomy, not a class"):
        vt.class_distances(path)["animal", "cat"]


def test_a_single_class_is_no_distance_from_itself(tmp_path):
    assert vt.class_distances(written(tmp_path, "cat\n", "t.txt"))["cat", "cat"] == 0


def test_mappings_and_taxonomies_in_python():
    mapping = vt.class_distances({"cat": {"dog": 0.3}, "dog": {"cat": 0.3}})
    assert mapping["dog", "cat"] == 0.3
    with pytest.raises(ReadError, match="found none for 'cat' and 'dog'"):
        vt.class_distances({"cat": {}, "dog": {"cat": 0.3}})
    tree = vt.class_distances(vt.Taxonomy({"cat": "animal", "dog": "animal"}))
    assert tree["cat", "dog"] == 1


def test_the_default_is_1_for_any_other_class():
    default = vt.class_distances(None)
    assert (default["cat", "cat"], default["cat", "dog"]) == (0, 1)
    assert default.signature_value == "identity"


def test_signatures_tell_matrices_apart():
    a = vt.ClassDistances.of(["cat", "dog"], [[0, 0.3], [0.3, 0]])
    b = vt.ClassDistances.of(["cat", "dog"], [[0, 0.4], [0.4, 0]])
    assert a.signature_value != b.signature_value
    box = [(0, 0, 4, 4)]
    first, second = (scored(scene(box, ["cat"]), scene(box, ["dog"]), distance=d) for d in (a, b))
    with pytest.raises(vt.NotComparable, match="distance"):
        vt.compare(first, second)


def test_no_such_file(tmp_path):
    with pytest.raises(ReadError, match="expected a file or folder, found nothing"):
        vt.class_distances(tmp_path / "nothing.csv")


@pytest.mark.parametrize("content", ["a\rb,c\n", "a," + "x" * 140_000], ids=["a lone CR", "a huge field"])
def test_a_table_that_is_no_table_is_one_line(tmp_path, content):
    (tmp_path / "d.csv").write_bytes(content.encode())
    with pytest.raises(vt.ReadError, match=r"d\.csv.*expected"):
        read_matrix(tmp_path / "d.csv")


def test_the_name_of_a_file_may_be_text(tmp_path):
    assert vt.class_distances(str(written(tmp_path, GOOD)))["cat", "dog"] == 0.25


@pytest.mark.parametrize(("name", "between"), [("d.csv", ";"), ("d.tsv", "\t"), ("D.TSV", "\t")])
def test_semicolons_and_tabs_separate_as_well(tmp_path, name, between):
    assert vt.class_distances(written(tmp_path, GOOD.replace(",", between), name))["cat", "dog"] == 0.25


def test_a_matrix_cannot_be_changed_afterwards(tmp_path):
    distances = vt.class_distances(written(tmp_path, GOOD))
    with pytest.raises(ValueError, match="read-only"):
        distances.matrix[0, 1] = 1


def test_a_matrix_has_a_row_and_a_column_for_each_name():
    with pytest.raises(ReadError, match=r"expected a matrix of 2 × 2, found \(1, 2\)"):
        vt.ClassDistances.of(["cat", "dog"], [[0, 1]])


@pytest.mark.parametrize("off", [0.9e-9, 1.05e-9])
def test_a_difference_of_a_billionth_is_rounding_and_no_more(off):
    matrix = [[0, 0.5], [0.5 + off, 0]]
    if off < 1e-9:
        assert vt.ClassDistances.of(["cat", "dog"], matrix)["dog", "cat"] == 0.5 + off
    else:
        with pytest.raises(ReadError, match="expected a symmetric matrix"):
            vt.ClassDistances.of(["cat", "dog"], matrix)


@pytest.mark.parametrize(
    ("matrix", "is_similarity"),
    [
        ([[0.5, 0.2], [0.2, 0.5]], True),
        ([[1, 1], [1, 1]], True),
        ([[0.5, 0.2], [0.2, 0.1]], False),  # the second class is more like the first than like itself
        ([[0.3]], False),
    ],
)
def test_similarities_are_told_from_a_wrong_diagonal(matrix, is_similarity):
    with pytest.raises(ReadError) as told:
        vt.ClassDistances.of(["cat", "dog"][: len(matrix)], matrix)
    assert ("1 - S" in str(told.value)) is is_similarity


def test_several_classes_without_distances_are_counted(tmp_path):
    path = written(tmp_path, "class,ape,owl\nape,0,1\nowl,1,0\n")
    box = [(0, 0, 4, 4)]
    with pytest.raises(DataError, match=r"found none for 'cat' and 1 more"):
        scored(scene(box * 2, ["cat", "dog"]), scene([]), distance=path)
    with pytest.raises(DataError, match=r"found none for 'cat'$"):
        scored(scene(box, ["cat"]), scene([]), distance=path)


def test_distances_are_shown_as_a_table(tmp_path):
    first, table = vt.class_distances(written(tmp_path, GOOD)).contents()
    assert first == "3 classes, distances"
    assert table.head == ("class", "cat", "dog", "car")
    assert table.rows[1] == ("dog", 0.25, 0, 1)
    assert vt.class_distances(None).contents() == ["1 for any two classes that differ, 0 for the same"]


def test_a_signature_has_eight_digits_of_the_matrix(tmp_path):
    named = vt.class_distances(written(tmp_path, GOOD, "a|b.csv"))
    assert re.fullmatch(r"a-b#[0-9a-f]{8}", named.signature_value)


def test_a_mapping_must_have_every_two_classes_but_not_the_same_twice():
    with pytest.raises(ReadError, match="a number for every two classes, found none for 'cat' and 'car'"):
        vt.class_distances({"cat": {"dog": 0.2}, "dog": {"cat": 0.2, "car": 1}, "car": {"cat": 1, "dog": 1}})
    assert vt.class_distances({"cat": {"dog": 0.2}, "dog": {"cat": 0.2}})["cat", "cat"] == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "a mapping from classes to numbers.*NoneType for 'cat'"),
        ([0, 0.5], "a mapping from classes to numbers.*list for 'cat'"),
        ({"dog": "near"}, "a matrix of numbers"),
        ({"dog": [0.5, 0.5]}, "a matrix of numbers"),
        ({"dog": 10**400}, "a matrix of numbers"),
    ],
    ids=["none", "list", "text", "two numbers", "400 digits"],
)
def test_rows_that_are_not_mappings_to_numbers_are_refused(row, message):
    with pytest.raises(ReadError, match=message):
        vt.class_distances({"cat": row, "dog": {"cat": 0.5}})


def test_distances_as_a_document(tmp_path):
    told = json.loads(vt.class_distances(written(tmp_path, GOOD)).to_json())
    assert told == {
        "schema": 2, "source": "distances", "classes": ["cat", "dog", "car"],
        "distances": [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]],
    }  # fmt: skip
    assert json.loads(vt.class_distances(None).to_json()) == {
        "schema": 2, "source": "", "classes": [], "distances": []
    }  # fmt: skip


def test_empty_lines_and_an_unnamed_first_column_are_read(tmp_path):
    text = ",cat,dog\n\ncat,0,0.5\n,,\ndog,0.5,0\n"
    assert vt.class_distances(written(tmp_path, text))["cat", "dog"] == 0.5


def test_the_place_of_a_bad_matrix_is_its_file_or_what_was_given(tmp_path):
    wrong = "class,cat,dog\ncat,0,0.5\ndog,0.4,0\n"
    with pytest.raises(ReadError, match=r"distances\.csv: expected a symmetric matrix"):
        vt.class_distances(written(tmp_path, wrong))
    with pytest.raises(ReadError, match=r"^class distances: expected a symmetric matrix"):
        vt.ClassDistances.of(["cat", "dog"], [[0, 0.5], [0.4, 0]])


def test_documents_are_one_line_unless_told(tmp_path):
    distances = vt.class_distances(written(tmp_path, GOOD))
    assert "\n" not in distances.to_json().strip()
    assert "\n " in distances.to_json(indent=1)


@pytest.mark.parametrize("several", [False, True])
def test_path_lengths_lead_through_the_closest_common_ancestor(several):
    parents = {"cat": "pet", "dog": "pet", "pet": "animal", "cow": "animal", "car": None if several else "thing"}
    parents |= {} if several else {"thing": "all", "animal": "all"}
    names, steps = Taxonomy(parents).path_lengths()
    found = {(a, b): steps[i, j] for i, a in enumerate(names) for j, b in enumerate(names)}
    assert (found["cat", "cat"], found["cat", "dog"], found["cat", "cow"]) == (0, 2, 3)
    # cat, pet, animal, what joins all, (thing,) car.
    assert found["cat", "car"] == (4 if several else 5)


def test_distances_are_symmetric_within_rounding_and_at_most_1():
    def matrix(there, back, **more):
        return ClassDistances.of(("a", "b"), np.array([[0.0, there], [back, 0.0]]), **more)

    assert matrix(0.0, TOLERANCE).square[1, 0] == TOLERANCE
    assert "expected a symmetric matrix" in refused(matrix, 0.0, 2 * TOLERANCE)
    assert matrix(1.0, 1.0).square[0, 1] == 1
    assert "expected distances from 0 to 1, found 1.1 for 'a' and 'b'" in refused(matrix, 1.1, 1.1)
    assert "expected no negative distance, found -0.1" in refused(matrix, -0.1, -0.1)
    assert "expected a number for every two classes" in refused(matrix, np.nan, np.nan)
