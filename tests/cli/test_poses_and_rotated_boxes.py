"""Analysis, leaderboard and page of poses and of rotated boxes, as they are typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.people import people
from verite.cli import run


def ships(seed: int, off_px: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Rotated boxes on a grid, and predictions off by so many pixels."""
    rng = np.random.default_rng(7)
    noise = np.random.default_rng(seed)
    records, results = [], []
    for i in range(60):
        box = [
            60 + 80 * (i % 6),
            60 + 80 * (i // 6 % 2),
            rng.uniform(30, 60),
            rng.uniform(10, 25),
            rng.uniform(-80, 80),
        ]
        facts = {"image_id": 1 + i // 12, "category_id": 1 + i % 2}
        records.append({"id": i + 1, **facts, "bbox": box, "iscrowd": 0})
        if i % 7:
            found = [*(np.array(box[:2]) + noise.normal(0, off_px, 2)).tolist(), *box[2:]]
            results.append({**facts, "bbox": found, "score": float(noise.random())})
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 600, "height": 200} for i in range(1, 6)]
    categories = [{"id": 1, "name": "ship"}, {"id": 2, "name": "plane"}]
    return {"images": images, "annotations": records, "categories": categories}, results


def blur(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Poses a little worse, and told apart from wrong ones no better than by chance."""
    rng = np.random.default_rng(1)
    return [
        {**one, "keypoints": (np.array(one["keypoints"]) + rng.normal(0, 3, 51)).tolist(), "score": float(rng.random())}
        for one in results
    ]


@pytest.fixture(params=["keypoints", "rotated"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """What is compared; a truth, better and worse predictions."""
    truth, better = people(1, 20) if request.param == "keypoints" else ships(1, 1.0)
    worse = blur(better) if request.param == "keypoints" else ships(2, 4.0)[1]
    names = []
    for name, content in (("truth", truth), ("better", better), ("worse", worse)):
        names.append(str(tmp_path / f"{name}.json"))
        Path(names[-1]).write_text(json.dumps(content))
    return request.param, names


def test_an_analysis_says_what_is_missing(files: tuple[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    on, (truth, better, _) = files
    assert run(["analyse", truth, better, "--on", on, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = vt.coco(truth, better, on=on).scores["AP"].value
    costs = found["errors"]["cost"]
    assert found["errors"]["AP"] == pytest.approx(expected)
    assert sum(costs.values()) == pytest.approx(1 - expected)
    assert costs["localization"] > 0
    assert costs["missed"] > 0
    assert f"|on:{on}|" in found["errors"]["signature"]
    assert run(["analyse", truth, better, "--on", on, "--quiet"]) == 0
    told = capsys.readouterr().out
    assert ("1 − OKS of true positives" in told) == (on == "keypoints")
    assert ("1 − rotated IoU of true positives" in told) == (on == "rotated")


def test_sigmas_are_asked_of_the_analysis_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, results = people(2, 8)
    for name, content in (("truth", truth), ("pred", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "wide.txt").write_text(" ".join(["0.5"] * 17))
    words = [str(tmp_path / "truth.json"), str(tmp_path / "pred.json"), "--on", "keypoints", "--json", "--quiet"]
    assert run(["analyse", *words]) == 0
    usual = json.loads(capsys.readouterr().out)["errors"]["AP"]
    assert run(["analyse", *words, "--sigmas", str(tmp_path / "wide.txt")]) == 0
    assert json.loads(capsys.readouterr().out)["errors"]["AP"] > usual + 0.1


def test_pictures_and_pages_of_other_skeletons_take_sigmas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, results = people(1, 4)
    for record in (*truth["annotations"], *results):
        record["keypoints"] = record["keypoints"][:15]
    del truth["categories"][0]["keypoints"]
    names = [str(tmp_path / name) for name in ("truth.json", "pred.json", "sigmas.txt")]
    for name, text in zip(names, (json.dumps(truth), json.dumps(results), "0.05 " * 5), strict=True):
        Path(name).write_text(text)
    for verb, home in (("draw", "drawn"), ("report", "page.html")):
        command = [verb, *names[:2], "--on", "keypoints", "-q", "-o", str(tmp_path / home)]
        assert run(command) == 1
        assert "found 5 keypoints and none; give --sigmas FILE" in capsys.readouterr().err
        assert run([*command, "--sigmas", names[2]]) == 0


@pytest.mark.parametrize("errors", [[], ["--errors", "missing=0.05,spurious=0.02"]])
def test_a_leaderboard_orders_them(
    files: tuple[str, list[str]], errors: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    on, names = files
    assert (
        run(["leaderboard", *names, "--on", on, "--draws", "20", "--json", "--quiet", "--checks", "off", *errors]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    own = [vt.coco(names[0], name, on=on).scores["AP"].value for name in names[1:]]
    assert own[0] > own[1]
    assert f"|on:{on}|" in str(found)
    assert str(found).index("better") < str(found).index("worse")


def test_pascal_voc_orders_rotated_boxes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, better = ships(1, 1.0)
    names = [str(tmp_path / f"{name}.json") for name in ("truth", "better", "worse")]
    for name, content in zip(names, (truth, better, ships(2, 4.0)[1]), strict=True):
        Path(name).write_text(json.dumps(content))
    assert run(["leaderboard", *names, "--protocol", "voc", "--on", "rotated", "--draws", "20", "--json", "-q"]) == 0
    assert "|on:rotated|" in capsys.readouterr().out
    assert run(["leaderboard", *names, "--protocol", "voc", "--on", "keypoints"]) == 2
    assert "on: expected box or rotated with Pascal VOC, found keypoints" in capsys.readouterr().err


def test_a_page_shows_them(files: tuple[str, list[str]], tmp_path: Path) -> None:
    on, names = files
    page = tmp_path / "page.html"
    assert run(["report", *names, "--on", on, "--draws", "20", "-o", str(page), "-q"]) == 0
    assert {"keypoints": "COCO, poses", "rotated": "COCO, rotated boxes"}[on] in page.read_text()
    words = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page.read_text(), flags=re.DOTALL)
    if on == "keypoints":
        assert "at OKS 0.5" in words
        assert "AP by OKS threshold" in words
        assert "correct class, OKS too low" in words
        assert not re.search(r"\bIoU\b|\bbox(es)?\b", words)
    else:
        assert "at rotated IoU 0.5" in words
        assert "AP by rotated IoU threshold" in words
        assert not re.search(r"(?<![Rr]otated )\b(IoU|box|boxes)\b", words)
