"""Tables of answers: what is read, and what is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ranking.paper import TABLE_2, TABLE_2_TRUTH, TABLE_4, TABLE_4_TRUTH
from verite.annotation_errors import AtMost, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.csv_files import separator_of
from verite.errors import BadParameter, DataError, ReadError, VeriteError
from verite.ranking.answers import (
    AnswerTable,
    as_text,
    describe_moves,
    encode_bits,
    encode_labels,
    first_non_binary,
    numbered_item,
)
from verite.ranking.confidence import ScoreTable
from verite.ranking.rank import rank
from verite.ranking.sheets import check_confusion, read_csv, read_sheet, resolve_confusion, write_texts
from verite.ranking.tables import check_settings, is_table, list_values, read_table

ONE = [1], {"a": [1], "b": [0]}
TABLE, RARE = AnswerTable.of(*ONE), Bernoulli(0.1)
BINARY = "item,truth,a,b\nd1,1,1,0\nd2,0,0,0\nd3,1,1,1\n"
LONG = "item,label,truth,a,b\nd1,x,1,0.7,0.4\nd1,y,0,0.3,0.6\nd2,x,0,0.1,0.2\nd2,y,1,0.9,0.8\n"


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_table_of_zeros_and_ones(written):
    table = read_table(written(BINARY))
    assert (table.kind, table.names, len(table)) == ("binary", ("a", "b"), 3)
    assert table.tau == {"a": 1.0, "b": 2 / 3}


def test_cells_of_items_and_interpretations(written):
    lines = ["item,interpretation,truth,A1,A2,A3"]
    for d, row in enumerate(TABLE_2_TRUTH):
        lines += [f"d{d},i{i},{t}," + ",".join(TABLE_2[n][d][i] for n in TABLE_2) for i, t in enumerate(row)]
    found = rank(written("\n".join(lines)), Bernoulli(0.1))
    assert found.whole == pytest.approx(0.50132601, abs=5e-9)
    assert found.items == 20


def test_a_table_of_labels(written):
    table = read_table(written("item,truth,a,b\n1,cat,cat,dog\n2,dog,cow,dog\n"))
    assert (table.kind, table.labels) == ("labels", ("cat", "cow", "dog"))
    assert table.tau == {"a": 0.5, "b": 0.5}


def test_a_table_of_confidences(written):
    lines = ["item,label,truth,A1,A2"]
    for i, true in enumerate(TABLE_4_TRUTH):
        lines += [f"d{i},i{k},{int(k == true)},{TABLE_4['A1'][i][k]},{TABLE_4['A2'][i][k]}" for k in range(4)]
    found = rank(ScoreTable.read(written("\n".join(lines)), sums="keep"), Bernoulli(0.4))
    assert found.pairs[0].kept == pytest.approx(0.734122, abs=5e-7)


def test_a_truth_in_a_table_may_be_more_or_less_sure(written):
    text = "item,label,truth,a,b\nd1,x,0.8,0.7,0.6\nd1,y,0,0.2,0.1\nd1,z,0,0.1,0.3\n"
    table = ScoreTable.read(written(text))
    assert table.soft[0] == pytest.approx([0.8, 0.1, 0.1])
    # -(0.8 ln 0.7 + 0.1 ln 0.2 + 0.1 ln 0.1), and -(0.8 ln 0.6 + 0.1 ln 0.1 + 0.1 ln 0.3)
    assert rank(table, Bernoulli(0.1)).scores == pytest.approx({"a": 0.6765423, "b": 0.7593163}, abs=1e-7)


def test_labels_of_an_item_may_come_in_any_order(written):
    rows = LONG.splitlines()
    shuffled = "\n".join([rows[0], rows[4], rows[1], rows[3], rows[2]])
    one, two = rank(written(LONG), Bernoulli(0.2)), rank(written(shuffled, "b.csv"), Bernoulli(0.2))
    assert one.pairs[0].kept == pytest.approx(two.pairs[0].kept, rel=1e-14)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_seen_from_the_header(written, separator):
    assert read_table(written(BINARY.replace(",", separator))).tau == {"a": 1.0, "b": 2 / 3}


def test_byte_order_marks_quotes_and_windows_lines_are_read(written):
    text = "\ufeff" + BINARY.replace("d1", '"d,1"').replace("\n", "\r\n") + "\r\n"
    assert len(read_table(written(text))) == 3


def test_parquet_tables_give_the_same_as_csv(tmp_path, written):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"item": ["d1", "d2", "d3"], "truth": [True, False, True], "a": [1, 0, 1], "b": [0.0, 0.0, 1.0]}
    parquet.write_table(pa.table(columns), tmp_path / "table.parquet")
    assert is_table(tmp_path / "table.parquet")
    found = rank(tmp_path / "table.parquet", Bernoulli(0.2))
    assert found.pairs[0].kept == rank(written(BINARY), Bernoulli(0.2)).pairs[0].kept
    long = {"item": ["d", "d"], "label": ["x", "y"], "truth": [1, 0], "a": [0.75, 0.25], "b": [0.5, 0.5]}
    parquet.write_table(pa.table(long), tmp_path / "long.parquet")
    assert read_table(tmp_path / "long.parquet").values.tolist() == [[[0.75, 0.25]], [[0.5, 0.5]]]


def test_parquet_without_pyarrow_names_the_package(tmp_path, monkeypatch):
    import sys

    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and the rest")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ReadError, match=r"expected pyarrow to read Parquet, found none; pip install 'verite\[parquet\]'"
    ):
        read_table(path)


def test_broken_parquet_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and the rest")
    with pytest.raises(ReadError, match=r"t.parquet: expected a Parquet file"):
        read_table(path)


def test_absent_values_in_parquet_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        pa.table({"item": ["x", "y"], "truth": [1, 0], "a": [1, None], "b": [0, 1]}), tmp_path / "t.parquet"
    )
    with pytest.raises(ReadError, match=r"t.parquet: row 2: expected a value for 'a', found nothing; every algorithm"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table.csv: expected a header item.*, found an empty file"),
        ("item,truth,a,b\n", r"table.csv: expected at least one item, found a header alone"),
        ("image,truth,a,b\nd,1,1,1\n", r"table.csv:1: expected a header item\[,interpretation\],truth,NAME…"),
        ("item,Truth,a,b\nd,1,1,1\n", r"table.csv:1: .* found 'item,Truth,a,b'; is 'Truth' the column 'truth'\?"),
        ("item,truth,a\nd,1,1\n", r"table.csv:1: expected at least two algorithms after truth, found a"),
        ("item,truth,a,a\nd,1,1,1\n", r"table.csv:1: expected a name of its own for every column, found 'a' twice"),
        ("item,truth,a,\nd,1,1,1\n", r"table.csv:1: expected a name for every algorithm, found an empty one"),
        (
            "item,a,truth,b,c\nd,1,1,1,0\n",
            r"table.csv:1: expected only columns before truth that are asked for, found 'a'; put",
        ),
        (BINARY + "d4,1,1\n", r"table.csv:5: expected 4 cells as in the header, found 3"),
        (
            BINARY + "d4,1,2,1\n",
            r"table.csv:5: expected 0 or 1 in 'a', found '2'; the truth is all 0 or 1; if these are",
        ),
        (BINARY + "d4,yes,1,1\n", r"table.csv:5: expected 0 or 1 in 'truth', found 'yes'; the answers are all 0 or 1"),
        (
            BINARY + "d4,1,,1\n",
            r"table.csv:5: expected a value for 'a', found nothing; every algorithm must answer the same",
        ),
        (
            BINARY + "d1,1,1,1\n",
            r"table.csv:5: expected each item once, found item 'd1' again; it stands at .*table.csv:2 too",
        ),
        (
            LONG.replace("0.7", "0.5"),
            r"table.csv:2 \(item 'd1'\): expected confidences of 'a' that add up to 1, found 0.8",
        ),
        (LONG.replace("0.7", "x"), r"table.csv:2: expected a number in 'a', found 'x'"),
        (LONG.replace("d1,y,0", "d1,y,1"), r"table.csv:2: expected one true label of item 'd1', found 'x' and 'y'"),
        (LONG.replace("d1,x,1", "d1,x,0"), r"table.csv:2: expected one true label of item 'd1', found none"),
        (
            LONG.replace("d1,x,1", "d1,x,2"),
            r"expected confidences from 0 to 1 as truth, found",
        ),
        (LONG + "d3,x,1,1,1\n", r"table.csv: expected a row for every label of item 'd3', found none for 'y'"),
        (LONG + "d1,x,1,1,1\n", r"table.csv:6: expected each item once, found item 'd1' label 'x' again"),
        ("item,truth,a,b\n\xff,1,1,1\n".encode("latin1"), r"table.csv:2: expected UTF-8 text, found byte 0xff"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(written, text, message):
    with pytest.raises(VeriteError, match=message) as refused:
        rank(written(text), Bernoulli(0.1))
    assert "\n" not in str(refused.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(ReadError, match="expected a table in a file, found a folder"):
        read_table(tmp_path)
    with pytest.raises(ReadError, match="expected a file or folder, found nothing"):
        read_table(tmp_path / "nothing.csv")


def test_labels_that_are_numbers_must_be_named_where_the_truth_has_only_zeros_and_ones(written):
    path = written("item,truth,a,b\n1,0,0,2\n2,1,1,1\n")
    with pytest.raises(DataError, match="set kind to labels"):
        read_table(path)
    assert read_table(path, kind="labels").labels == ("0", "1", "2")


def test_a_kind_that_does_not_fit_the_header_is_refused(written):
    with pytest.raises(ReadError, match="expected a table of kind confidences, found the header item,truth,a,b"):
        read_table(written(BINARY), kind="confidences")
    with pytest.raises(ReadError, match="expected a table of kind binary"):
        read_table(written(LONG), kind="binary")


def test_columns_about_items_give_rates_groups_and_marks(written):
    text = "item,source,rate,checked,truth,a,b\n"
    text += "".join(f"{i},{'xy'[i % 2]},{0.1 * (i % 3)},{i % 2},1,{int(i < 5)},{int(i > 2)}\n" for i in range(7))
    path = written(text)
    with pytest.raises(ReadError, match="found 'source'"):
        rank(path, Bernoulli(0.1))
    narrow = written(
        "\n".join(",".join(v for k, v in enumerate(line.split(",")) if k not in (1, 3)) for line in text.splitlines())
    )
    by_column = rank(narrow, errors=PerItem("rate"))
    given = rank(
        AnswerTable.of([1] * 7, {"a": [1] * 5 + [0] * 2, "b": [0] * 3 + [1] * 4}),
        PerItem([0.1 * (i % 3) for i in range(7)]),
    )
    assert by_column.pairs[0].first_ahead == pytest.approx(given.pairs[0].first_ahead)
    sources = written(
        "\n".join(",".join(v for k, v in enumerate(line.split(",")) if k not in (2, 3)) for line in text.splitlines())
    )
    shared = rank(sources, errors=Shared(0.2, 0.5, "source"))
    assert "errors in the same source are correlated" in shared.assumption
    marks = written(
        "\n".join(",".join(v for k, v in enumerate(line.split(",")) if k not in (1, 2)) for line in text.splitlines())
    )
    assert rank(marks, errors=AtMost(1, audited="checked")).items == 7


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PerItem([0.1, 0.1]), "rates: expected 3 numbers, one per item, found 2"),
        (PerItem("rate"), "rates: expected one of the columns item, truth, found 'rate'"),
        (Shared(0.1, 0.1, "colour"), "groups: expected one of the columns item, truth, found 'colour'"),
        (Shared(0.1, 0.1, ["x"]), "groups: expected 3 names, one per item, found 1"),
        (Exactly(2), "errors: expected at most half of the 3 annotations, found 2; beyond one half"),
        (AtMost(4), "errors: expected at most the 3 annotations there are, found 4"),
    ],
)
def test_models_that_do_not_fit_the_table_are_refused(written, model, message):
    with pytest.raises(BadParameter, match=message):
        rank(written(BINARY), errors=model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli(0.6), "found 0.6; beyond one half the ground truth"),
        (lambda: Bernoulli(-0.1), "epsilon: expected a share .* from 0 to 0.5, found -0.1"),
        (lambda: Bernoulli(float("nan")), "epsilon: expected a share .* found nan"),
        (lambda: rank(TABLE), r"errors: expected an error model .* found None; .* vt.annotation_errors.Audit\("),
        (lambda: rank(TABLE, 0.1), r"errors: expected an error model such as .*, found 0.1"),
        (lambda: rank([1], Bernoulli(0.1)), r"what: expected a table .* found list; .* vt.AnswerTable.of\("),
        (lambda: PerItem([0.1, 0.7]), "found 0.7 for item 2; where an annotation is more likely wrong than right"),
        (lambda: PerItem([[0.1]]), "rates: expected one number per item, found an array of shape"),
        (lambda: Audit(6, 5), "errors: expected at most the 5 annotations checked, found 6"),
        (lambda: Audit(3, 5), "errors: expected at most half of the 5 annotations checked, found 3"),
        (lambda: Audit(0, 0), "checked: expected a whole number of at least 1, found 0"),
        (lambda: Exactly(-1), "errors: expected a whole number of at least 0, found -1"),
        (lambda: Exactly(1.5), "errors: expected a whole number of at least 0, found 1.5"),
        (lambda: Shared(0.1, 1.5, "x"), "correlation: expected a number from 0 to 1, found 1.5"),
        (lambda: rank(TABLE, RARE, method="guess"), "method: expected auto, exact or montecarlo, found 'guess'"),
        (lambda: rank(TABLE, RARE, draws=0), "draws: expected a whole number from 1 up, found 0"),
        (lambda: rank(TABLE, RARE, level=1.0), "level: expected a probability above 0.5 and below 1"),
        (lambda: Bernoulli("x"), "epsilon: expected a share of wrong annotations from 0 to 0.5, found 'x'"),
        (lambda: rank(TABLE, RARE, seed="x"), "seed: expected a whole number from 0 up, found 'x'"),
        (lambda: rank(TABLE, RARE, draws=2.5), "draws: expected a whole number from 1 up, found 2.5"),
        (lambda: PerItem(["a"]), "rates: expected a number for every item"),
        (lambda: rank(TABLE, Shared(0.1, 0.2, [None])), "groups: expected a name for every item, found none"),
        (lambda: rank(TABLE, RARE).kept_at("a", "b", [0.7]), "epsilon: expected a share of wrong annotations"),
        (lambda: check_settings(["wrong"], "binary"), "wrong: expected objects found by detectors for this"),
        (lambda: check_settings(["loss"], "labels"), "loss: expected confidences for this setting, found labels"),
        (lambda: check_settings(["confusion"], "found"), "confusion: expected labels or confidences for this setting"),
        (lambda: AnswerTable.of(*ONE, confusion=np.eye(2)), "confusion: expected labels or confidences"),
        (lambda: AnswerTable.of([1], [[1], [0]]), "answers: expected a mapping of names to answers, found list"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused_in_one_line(make, message):
    with pytest.raises(BadParameter, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("truth", "answers", "message"),
    [
        ([1, 0], {"a": [1, 0]}, "algorithms: expected at least two to compare, found 1"),
        ([1, 0], {"a": [1, 0], "b": [1]}, r"b: expected 2 answers, one per item, found 1"),
        ([1, 0], {"a": [1, 2], "b": [1, 0]}, "item 2: expected 0 or 1 in 'a', found '2'"),
        ([1, 0], {"a": [1, 0.5], "b": [1, 0]}, "item 2: expected 0 or 1 in 'a', found '0.5'"),
        ([], {"a": [], "b": []}, "truth: expected at least one item, found none"),
        ([[1]], {"a": [[1]], "b": [[1]]}, "truth: expected one value per item"),
        ({"x": 1, "y": 0}, {"a": {"x": 1, "y": 0}, "b": {"x": 1}}, "b: expected an answer for every item .* for 'y'"),
        ({"x": 1}, {"a": {"x": 1}, "b": {"x": 1, "z": 0}}, "b: expected answers for .* only, found one for 'z'"),
        ({"x": 1}, {"a": {"x": 1}, "b": [1]}, "b: expected a mapping of items to answers, .* found list"),
    ],
)  # fmt: skip
def test_answers_that_do_not_fit_the_truth_are_refused(truth, answers, message):
    with pytest.raises(DataError, match=message):
        rank(AnswerTable.of(truth, answers), Bernoulli(0.1))


def test_items_may_be_named():
    named = rank(AnswerTable.of({"x": 1, "y": 0}, {"a": {"y": 0, "x": 1}, "b": {"x": 0, "y": 0}}), Bernoulli(0.1))
    assert named.pairs[0].kept == rank(AnswerTable.of([1, 0], {"a": [1, 0], "b": [0, 0]}), Bernoulli(0.1)).pairs[0].kept


def test_a_confusion_matrix_is_read_in_the_order_of_the_labels(written):
    path = written("recorded,y,x\nx,1,0\ny,0,1\n", "confusion.csv")
    assert np.array_equal(resolve_confusion(path, ["x", "y"]), [[0, 1], [1, 0]])
    with pytest.raises(ReadError, match="expected a row and a column for label 'z', found none"):
        resolve_confusion(path, ["x", "z"])
    with pytest.raises(ReadError, match="expected the header recorded,CLASS,CLASS…, found 'label,x'"):
        resolve_confusion(written("label,x\nx,0\n", "c.csv"), ["x"])


def test_tables_are_distinguished_from_annotations(written):
    assert is_table(written(BINARY))
    assert not is_table(written("ImageID,LabelName,XMin\n", "openimages.csv"))
    assert not is_table(written('{"images": []}', "truth.json"))


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def table(values, **more):
    return ScoreTable.of(["x"] * len(values), {"a": values, "b": values}, labels=("x", "y"), **more)


def write_table(path, text):
    path.write_text(text)
    return path


def test_values_are_labels_as_a_table_has_them():
    assert [as_text(v) for v in (2, 2.0, 2.5, "x", np.int64(3), True)] == ["2", "2", "2.5", "x", "3", "True"]


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ([0, 1, 1], None),
        ([True, False], None),
        ([0, 2, 1], 1),
        ([0, -1], 1),
        ([0.0, 1.0], None),
        ([1.0, 0.5], 1),
        (["0", "1"], None),
        (["1", "x", "0"], 1),
    ],
)
def test_the_first_that_is_neither_0_nor_1_is_found(column, row):
    assert first_non_binary(np.array(column)) == row


def test_columns_of_0_and_1_become_bits():
    for column in (["0", "1"], [0, 1], [0.0, 1.0], [False, True]):
        assert encode_bits("a", np.array(column), numbered_item).tolist() == [0, 1]
    assert "item 2: expected 0 or 1 in 'a', found '3'" in refused(encode_bits, "a", np.array([1, 3]), numbered_item)


def test_labels_are_numbered_in_their_own_or_in_the_order_given():
    columns = [np.array(["dog", "cat"]), np.array(["cat", "cat"])]
    names, codes = encode_labels(columns, None)
    assert (names, [code.tolist() for code in codes]) == (("cat", "dog"), [[1, 0], [0, 0]])
    names, codes = encode_labels(columns, ["dog", "owl", "cat"])
    assert (names, [code.tolist() for code in codes]) == (("dog", "owl", "cat"), [[0, 2], [2, 2]])
    assert "expected only the 1 that were named, found 'dog'" in refused(encode_labels, columns, ["cat"])
    assert "expected each label once" in refused(encode_labels, columns, ["cat", "dog", "cat"])


def test_moves_of_labels_are_described():
    assert describe_moves(4, None) == "a wrong label moves to any of the other 3 labels with equal probability"
    assert describe_moves(4, np.eye(4)) == "a wrong label moves as the confusion matrix says"


def test_at_least_two_labels_are_required():
    assert "expected at least two labels, found x" in refused(
        AnswerTable.of, ["x", "x"], {"a": ["x", "x"], "b": ["x", "x"]}
    )
    assert AnswerTable.of(["x"], {"a": ["x"], "b": ["x"]}, labels=["x", "y"]).labels == ("x", "y")


def test_unknown_labels_are_named():
    table = {"a": ["x", ""], "b": ["x", "y"]}
    assert "item 2: expected a label in 'a', found nothing" in refused(AnswerTable.of, ["x", "y"], table, kind="labels")


def test_names_of_algorithms_are_distinct():
    assert "at least two to compare, found 1" in refused(AnswerTable, ("a",), np.zeros(1, int), (np.zeros(1, int),))
    twice = ("a", "b", "b"), np.zeros(1, int), (np.zeros(1, int),) * 3
    assert "a name of its own for each, found 'b' twice" in refused(AnswerTable, *twice)


def test_columns_about_items_have_a_value_for_each():
    assert "source: expected 2 values, one per item, found 1" in refused(
        AnswerTable.of, [1, 0], {"a": [1, 0], "b": [1, 1]}, columns={"source": ["x"]}
    )


def test_rows_of_a_confusion_matrix_add_up_to_one():
    assert check_confusion([[0, 1], [1, 0]], "xy").tolist() == [[0, 1], [1, 0]]
    assert check_confusion([[0, 1 + 9e-7], [1, 0]], "xy")[0].tolist() == [0, 1]
    assert "expected the row of 'x' to add up to 1" in refused(check_confusion, [[0, 1 + 1.05e-6], [1, 0]], "xy")
    assert "0 for 'y' itself, in the row of 'y'" in refused(check_confusion, [[0, 1], [0.9, 0.1]], "xy")
    assert "in the row of 'x'" in refused(check_confusion, [[0, 1.5, -0.5], [1, 0, 0], [1, 0, 0]], "xyz")
    assert "expected 2 rows and columns, one per label, found (1, 2)" in refused(check_confusion, [[0, 1]], "xy")


def test_a_confusion_may_be_a_mapping_of_mappings():
    found = resolve_confusion({"x": {"y": 0.25, "z": 0.75}, "y": {"x": 1}, "z": {"x": 1}}, "xyz")
    assert found.tolist() == [[0, 0.25, 0.75], [1, 0, 0], [1, 0, 0]]
    assert resolve_confusion(None, "xy") is None


def test_columns_about_items_are_looked_up_by_name():
    found = table([[0.5, 0.5], [0.25, 0.75]], columns={"source": ["s", "t"]})
    assert found.column("source", "groups").tolist() == ["s", "t"]
    assert found.column("truth", "groups").tolist() == [0, 0]
    assert "groups: expected one of the columns source, truth, found 'x'" in refused(found.column, "x", "groups")


@pytest.mark.parametrize(("line", "found"), [("a,b;c", ","), ("a;b\tc", ";"), ("a\tb", "\t"), ("a", ",")])
def test_columns_are_separated_by_what_the_header_has(line, found):
    assert separator_of(line) == found


def test_cells_of_parquet_are_as_csv_has_them():
    assert write_texts([None, True, 2.0, 2.5, 3, "x"]).tolist() == ["", "1", "2", "2.5", "3", "x"]


def test_values_are_listed_in_the_order_of_their_first_occurrence():
    values, which = list_values(np.array(["b", "a", "b", "c"]))
    assert (values.tolist(), which.tolist()) == (["b", "a", "c"], [0, 1, 0, 2])


def test_a_column_about_items_says_the_same_in_all_their_rows(tmp_path):
    head, rows = "item,label,source,truth,a,b\n", "1,x,{},1,0.5,0.5\n1,y,{},0,0.5,0.5\n"
    good = read_table(write_table(tmp_path / "g.csv", head + rows.format("s", "s")), ["source"])
    assert good.columns["source"].tolist() == ["s"]
    bad = write_table(tmp_path / "b.csv", head + rows.format("s", "t"))
    assert "b.csv:3: expected one value of 'source' for all rows of an item, found 't'" in refused(
        read_table, bad, ["source"]
    )


def test_rows_of_the_wrong_length_are_named_and_empty_ones_left_out(tmp_path):
    text = "item,truth,a,b\n1,1,1,0\n\n2,0,1,0\n"
    assert len(read_table(write_table(tmp_path / "g.csv", text))) == 2
    assert "b.csv:5: expected 4 cells as in the header, found 5" in refused(
        read_table, write_table(tmp_path / "b.csv", text + "3,0,1,0,1\n")
    )


def test_the_first_item_that_comes_again_is_named(tmp_path):
    text = "item,truth,a,b\nx,1,1,0\ny,0,1,0\ny,0,1,0\nx,0,1,0\n"
    said = refused(read_table, write_table(tmp_path / "b.csv", text))
    assert "b.csv:4: expected each item once, found item 'y' again; it stands at" in said
    assert said.endswith("b.csv:3 too")


def write_named_table(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_tables_of_answers_begin_with_item_or_have_a_truth(tmp_path):
    assert is_table(write_named_table(tmp_path, "item,a,b\n"))
    assert is_table(write_named_table(tmp_path, "name;truth;a\n"))
    assert not is_table(write_named_table(tmp_path, "name,a,item\n"))
    assert not is_table(write_named_table(tmp_path, ""))
    assert not is_table(tmp_path)


def test_blanks_after_commas_are_no_part_of_a_cell(tmp_path):
    sheet = read_csv(write_named_table(tmp_path, 'item, truth, "a, b"\nx, 1, 0\n'))
    assert list(sheet.head) == ["item", "truth", "a, b"]
    assert [column.tolist() for column in sheet.columns] == [["x"], ["1"], ["0"]]
    (tmp_path / "b.parquet").write_text("item,truth\nx,1\n")
    assert "b.parquet" in refused(read_sheet, tmp_path / "b.parquet")  # a broken one is no CSV
