"""Angles that turn the wrong way or are in the wrong unit are found; harbours and car parks are left in peace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import verite as vt
from verite.errors import ReadError

KINDS = ((90, 18, "ship"), (22, 10, "vehicle"), (40, 40, "tank"), (60, 25, "container"))  # length, width


def harbour(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A truth and results in degrees: things stand in rows, tanks are as long as wide, and the same box is written with
    its sides exchanged or half a turn on, as detectors do.
    """
    rng = np.random.default_rng([seed, 430])
    records, results = [], []
    for image in range(1, 5):
        for _ in range(rng.integers(1, 4)):
            kind = int(rng.integers(len(KINDS)))
            row, at, step = rng.uniform(-90, 90), rng.uniform(200, 800, 2), 1.3 * KINDS[kind][1]
            for k in range(rng.integers(2, 9)):
                along = np.radians(row + 90)
                centre = at + k * step * np.array([np.cos(along), np.sin(along)])
                size = np.array(KINDS[kind][:2]) * rng.uniform(0.8, 1.2, 2)
                angle = row + rng.normal(0, 2)
                facts = {"image_id": image, "category_id": kind + 1}
                records.append({"id": len(records) + 1, **facts, "bbox": [*centre.tolist(), *size.tolist(), angle]})
                if rng.random() < 0.15:
                    continue
                found, turned = size * rng.normal(1, 0.08, 2), angle + rng.normal(0, 4) + rng.choice([0, 180, -180])
                if rng.random() < 0.4:
                    found, turned = found[::-1], turned + 90
                place = centre + rng.normal(0, 0.05, 2) * size
                box = [*place.tolist(), *found.tolist(), turned]
                results.append({**facts, "bbox": box, "score": float(rng.beta(4, 2))})
    images = [{"id": i, "file_name": f"{i}.png", "width": 1024, "height": 1024} for i in range(1, 5)]
    categories = [{"id": i + 1, "name": kind[2]} for i, kind in enumerate(KINDS)]
    return {"images": images, "categories": categories, "annotations": records}, results


def turn(records: list[dict[str, Any]], factor: float) -> list[dict[str, Any]]:
    return [{**one, "bbox": [*one["bbox"][:4], one["bbox"][4] * factor]} for one in records]


def codes(truth: Any, results: Any, **how: Any) -> set[str]:
    found = vt.read(truth, **how)
    return {finding.code for finding in vt.inspect(found, vt.read(results, like=found, **how)).findings}


@pytest.mark.parametrize("unit", ["degrees", "radians", "degrees-ccw"])
def test_healthy_harbours_are_left_in_peace(unit: str) -> None:
    factor = {"degrees": 1.0, "radians": np.pi / 180, "degrees-ccw": -1.0}[unit]
    told = []
    for seed in range(70):
        truth, results = harbour(seed)
        truth["annotations"] = turn(truth["annotations"], factor)
        told += [(seed, code) for code in codes(truth, turn(results, factor), angle=unit) if code.startswith("V43")]
    assert not told


@pytest.mark.slow
def test_a_thousand_healthy_harbours_are_left_in_peace() -> None:
    told = [(seed, code) for seed in range(1000) for code in codes(*harbour(seed)) if code.startswith("V43")]
    assert not told


@pytest.mark.thorough
def test_harbours_whose_predictions_turn_the_other_way_are_found() -> None:
    missed = [seed for seed in range(100) if "V431" not in codes(*mirrored(seed))]
    assert len(missed) <= 10, missed  # rows along the edges of the image, and tanks, look the same in the mirror


def mirrored(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    truth, results = harbour(seed)
    return truth, turn(results, -1.0)


def test_harbours_in_radians_are_not_taken_for_degrees() -> None:
    for seed in range(30):
        truth, _ = harbour(seed)
        truth["annotations"] = turn(truth["annotations"], np.pi / 180)
        if len(truth["annotations"]) >= 8:
            with pytest.raises(ReadError, match="V430"):
                vt.read(truth)
