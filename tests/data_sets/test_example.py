"""The worked example: 7 images, 15 persons, 24 predictions, and the AP that its tables come to."""

from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest

import verite as vt
from tests.data_sets import plain_voc

EXAMPLE = Path(str(files("verite") / "data" / "example"))
THRESHOLD = Fraction(3, 10)

# Table 1 of Padilla et al., A Survey on Performance Metrics for Object-Detection Algorithms: letter, percent, TP or FP.
TABLE = {
    "image-1": "A 88 FP, B 70 TP, C 80 FP",
    "image-2": "D 71 FP, E 54 TP, F 74 FP",
    "image-3": "G 18 TP, H 67 FP, I 38 FP, J 91 TP, K 44 FP",
    "image-4": "L 35 FP, M 78 FP, N 45 FP, O 14 FP",
    "image-5": "P 62 TP, Q 44 FP, R 95 TP, S 23 FP",
    "image-6": "T 45 FP, U 84 FP, V 43 FP",
    "image-7": "X 48 TP, Y 95 FP",
}
ROWS = [(image, *row.split()) for image, rows in TABLE.items() for row in rows.split(", ")]
DUPLICATES = set("IKQS")


def corners(words):
    x, y, width, height = map(Fraction, words)
    return x, y, x + width, y + height


def lines(folder):
    return [
        (path.stem, line.split())
        for path in sorted((EXAMPLE / folder).iterdir())
        for line in path.read_text().splitlines()
    ]


@pytest.fixture
def truths():
    return [(image, corners(words[1:]), False) for image, words in lines("truth")]


@pytest.fixture
def preds():
    return [(image, Fraction(words[1]), corners(words[2:])) for image, words in lines("pred")]


def test_verite_reads_the_counts_of_the_paper():
    truth = vt.read(EXAMPLE / "truth")
    pred = vt.read(EXAMPLE / "pred", like=truth)
    assert (len(truth.images), len(truth), len(pred)) == (7, 15, 24)
    assert truth.labels.names == ("person",)
    assert pred.images is truth.images
    assert [(truth.images.name(i), round(100 * c)) for i, c in zip(pred.image, pred.confidence, strict=True)] == [
        (image, int(percent)) for image, _, percent, _ in ROWS
    ]


def test_every_box_lies_in_a_picture_of_200_by_200(truths, preds):
    for _, (x1, y1, x2, y2) in [t[:2] for t in truths] + [(p[0], p[2]) for p in preds]:
        assert 0 <= x1 < x2 <= 200
        assert 0 <= y1 < y2 <= 200


def test_outcomes_are_those_of_table_1_letter_by_letter(truths, preds):
    found, order = plain_voc.outcomes(truths, preds, THRESHOLD)
    assert [
        (image, percent, outcome)
        for (image, confidence, _), outcome in zip(preds, found, strict=True)
        for percent in [str(int(100 * confidence))]
    ] == [(image, percent, outcome) for image, _, percent, outcome in ROWS]
    assert "".join(ROWS[i][1] for i in order) == "RYJAUCMFDBHPEXNTKQVILSGO"  # table 2


def test_no_outcome_hangs_on_a_hair(truths, preds):
    for (image, _, box), (_, letter, _, outcome) in zip(preds, ROWS, strict=True):
        best = max(plain_voc.iou(box, truth) for other, truth, _ in truths if other == image)
        if outcome == "TP" or letter in DUPLICATES:
            assert best > Fraction(2, 5), letter
        else:
            assert best < Fraction(1, 5), letter


def test_average_precision_is_that_of_the_paper(truths, preds):
    points = plain_voc.curve(truths, preds, THRESHOLD)
    F = Fraction  # noqa: N806
    areas = F(1, 15) * 1 + F(1, 15) * F(2, 3) + F(4, 15) * F(3, 7) + F(1, 15) * F(7, 23)
    assert plain_voc.average_precision(points) == areas
    assert f"{float(areas):.2%}" == "24.57%"
    eleven = plain_voc.average_precision(points, steps=11)
    assert eleven == (1 + F(2, 3) + 3 * F(3, 7)) / 11
    assert f"{float(eleven):.2%}" == "26.84%"
