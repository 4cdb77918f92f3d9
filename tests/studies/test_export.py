"""The data base of a study: what was altered how, and what every metric said."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask

import verite as vt
from verite.errors import BadParameter
from verite.studies.alterations import alter
from verite.studies.export import export
from verite.studies.truths import truths_of


@pytest.fixture(scope="module")
def study():
    return vt.study(["iou", "pixel_recall"], ["small square"], ["translation(reach=2)", "bite(reach=2, every=40)"])


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # pycocotools 2.0 and numpy 2
def test_every_result_is_there_with_its_parameters_runs_and_raw_values(study, tmp_path):
    with export(study, tmp_path, format="csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(row["alteration"] == "translation(reach=2)" for row in rows) == 25  # the unaltered square included
    by_place = {(row["alteration"], float(row["x"]), float(row["y"])): row for row in rows}
    one = by_place["translation(reach=2)", 1, 2]
    shifted = np.roll(truths_of("small square")[0].mask, (1, 2), axis=(0, 1))
    decoded = mask.decode({"size": [int(one["height"]), int(one["width"])], "counts": one["runs"].encode()})
    np.testing.assert_array_equal(decoded, shifted)
    # 63 · 62 pixels shared of 64² each.
    shared = 63 * 62
    assert float(one["iou"]) == shared / (2 * 64**2 - shared)
    assert float(one["pixel_recall"]) == pytest.approx(1 - shared / 64**2)
    assert one["pixel_recall, exchanged"] == one["pixel_recall"]
    bites = [row for row in rows if row["alteration"].startswith("bite")]
    assert {row["y"] for row in bites} == {"0.0", "1.0"}  # not at all, and by a radius of 2
    assert [float(row["iou"]) for row in bites if row["y"] == "0.0"] == [1.0] * (len(bites) // 2)


def test_parquet_holds_what_csv_holds(study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(export(study, tmp_path)).to_pydict()
    with export(study, tmp_path, format="csv", overwrite=True).open() as file:
        rows = list(csv.DictReader(file))
    assert list(table) == list(rows[0])
    assert table["runs"] == [row["runs"] for row in rows]
    assert table["iou, exchanged"] == [float(row["iou, exchanged"]) for row in rows]


def test_masks_are_drawn_if_asked_for(study, tmp_path):
    export(study, tmp_path, format="csv", pictures=True)
    found = np.asarray(Image.open(tmp_path / "masks" / "small-square" / "translation-reach-2" / "+1_+2.png"))
    truth = truths_of("small square")[0].mask
    np.testing.assert_array_equal(found, alter(truth, "translation", 1, 2))


def test_another_format_is_refused(study, tmp_path):
    with pytest.raises(BadParameter, match="expected parquet or csv, found 'xlsx'"):
        export(study, tmp_path, format="xlsx")


def test_curves_are_in_the_document_on_request(study):
    assert "curves" not in study.to_dict()
    assert study.curves()["small square"]["translation(reach=2)"]["iou"][2][2] == 0
