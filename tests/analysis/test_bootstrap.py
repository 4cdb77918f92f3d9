"""Bootstrap intervals over images: against loops over resamples, and with groups of images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import sides, write_pair
from tests.oracles.analysis import random_world
from verite.analysis.operating import FROC
from verite.analysis.part import ImageBootstrap
from verite.cli import run
from verite.statistics.resampling import SampledUnits


def doubled(seed: int, images: int = 40) -> tuple[Any, Any]:
    """Every image twice, the copies of a scene in one group."""
    truth, results = random_world(seed, images=images)
    copies = [i | {"id": i["id"] + 1000, "file_name": f"again{i['id']}.jpg"} for i in truth["images"]]
    listed = [i | {"scene": f"s{i['id'] % 1000}"} for i in [*truth["images"], *copies]]
    again = [a | {"id": a["id"] + 10_000, "image_id": a["image_id"] + 1000} for a in truth["annotations"]]
    both = {**truth, "images": listed, "annotations": truth["annotations"] + again}
    return both, [*results, *(d | {"image_id": d["image_id"] + 1000} for d in results)]


def test_images_that_belong_together_are_drawn_together(tmp_path: Path) -> None:
    known, _ = sides(*doubled(1), tmp_path)
    drawn = ImageBootstrap(known, 50, 3, "scene")
    assert (drawn.weights[:, :40] == drawn.weights[:, 40:]).all()
    assert (drawn.weights.sum(axis=1) == 80).all()
    assert not (ImageBootstrap(known, 50, 3).weights[:, :40] == ImageBootstrap(known, 50, 3).weights[:, 40:]).all()


def test_copies_of_images_in_one_group_narrow_no_interval(tmp_path: Path) -> None:
    """Drawn one by one, twice as many images would narrow an interval by √2 and a deviation, too."""
    truth, results = doubled(2)
    pair = sides(truth, results, tmp_path)
    (tmp_path / "once").mkdir()
    once = sides(*random_world(2, images=40), tmp_path / "once")
    alone = vt.analyse(*once, draws=2000)
    grouped, apart = (vt.analyse(*pair, draws=2000, resample=by) for by in ("scene", "images"))

    def width(found: Any) -> float:
        low, high = found.operating.intervals(0.3)["recall"]
        return high - low

    assert width(grouped) == pytest.approx(width(alone), rel=0.1)
    assert width(apart) == pytest.approx(width(alone) / 2**0.5, rel=0.1)
    deviations = [found.errors.deviation["sd"] for found in (alone, grouped, apart)]
    assert deviations[1] == pytest.approx(deviations[0], rel=0.1)
    assert deviations[2] == pytest.approx(deviations[0] / 2**0.5, rel=0.1)
    assert "2,000 bootstrap resamples of groups of images (scene)" in str(grouped)


def test_the_deviation_of_ap_is_that_of_the_leaderboards_draws(tmp_path: Path) -> None:
    from verite.leaderboards.bootstrap import bootstrap_scores

    results = vt.coco(*sides(*random_world(4, images=20), tmp_path))
    found = results.analyse(draws=300, seed=5).errors.deviation
    drawn = bootstrap_scores([results], ["AP"], draws=300, seed=5)[:, 0, 0]
    assert found["sd"] == pytest.approx(np.std(drawn, ddof=1), abs=1e-12)
    assert found["bias"] == pytest.approx(drawn.mean() - results["AP"].value, abs=1e-12)


def test_intervals_of_f_and_froc_are_those_of_a_loop_over_draws(tmp_path: Path) -> None:
    """Images repeated as often as they were drawn, counted one by one."""
    truth, results = random_world(6, images=12, ties=True)
    known, pred = sides(truth, results, tmp_path)
    found = vt.analyse(known, pred, draws=40, seed=1, iou=0.5).operating
    matches, weights = found.matches, found.bootstrap.weights
    image = matches.pred.image
    rows: dict[str, list[float]] = {"f": [], "cpm": []}
    froc = []
    for weight in weights:
        asked = sum(weight[i] for i in matches.truth.image[matches.counted_truth])
        points = []
        for c in sorted(set(matches.confidence[matches.counted_pred]), reverse=True):
            kept = np.flatnonzero(matches.counted_pred & (matches.confidence >= c))
            right = sum(weight[image[k]] for k in kept if matches.is_tp[k])
            points.append((c, right, sum(weight[image[k]] for k in kept) - right))
        _, right, wrong = [p for p in points if p[0] >= 0.4][-1]
        rows["f"].append(2 * right / (asked + right + wrong))
        line = [max([r for _, r, w in points if w <= k * weight.sum()], default=0.0) / asked for k in FROC]
        froc.append(line)
        rows["cpm"].append(float(np.mean(line)))

    def between(values: Any) -> Any:
        return pytest.approx(np.quantile(values, [0.025, 0.975]), abs=1e-12)

    told = found.intervals(0.4)
    assert told["f"] == between(rows["f"])
    each, mean = found.froc_intervals
    assert mean == between(rows["cpm"])
    for values, interval in zip(np.transpose(froc), each, strict=True):
        assert interval == between(values)


def test_froc_of_few_images_with_many_wrong_ones_looks_at_all_that_matter(tmp_path: Path) -> None:
    """Draws in which images with few wrong predictions are frequent need more of the list than others."""
    truth, results = random_world(7, images=10, extra=40)
    found = vt.analyse(*sides(truth, results, tmp_path), draws=60, iou=0.5).operating
    ones = vt.analyse(*sides(truth, results, tmp_path), draws=40, iou=0.5).operating
    ones.bootstrap.weights = np.ones((40, 10))
    assert [low for low, _ in ones.froc_intervals[0]] == pytest.approx(found.froc)
    assert all(low <= recall <= high for recall, (low, high) in zip(found.froc, found.froc_intervals[0], strict=True))


def test_copies_of_images_in_one_group_are_no_evidence_about_a_slice(tmp_path: Path) -> None:
    once = sides(*random_world(3, images=40), tmp_path)
    (tmp_path / "twice").mkdir()
    twice = sides(*doubled(3), tmp_path / "twice")
    alone = vt.analyse(*once, slice="size").slices
    grouped, apart = (vt.analyse(*twice, slice="size", resample=by).slices for by in ("scene", "images"))
    for one, two, three in zip(alone.rows, grouped.rows, apart.rows, strict=True):
        assert one["recall"] == two["recall"]
        assert one["recall_p"] == pytest.approx(two["recall_p"], abs=1e-9)
        assert three["recall_high"] - three["recall_low"] < two["recall_high"] - two["recall_low"]
        assert three["recall_p"] < two["recall_p"]
    assert "resample:scene|draws:1000" in str(grouped.signature)


def test_differences_of_two_systems_have_paired_intervals(tmp_path: Path) -> None:
    from verite.leaderboards.bootstrap import paired_interval

    known, pred = sides(*doubled(5, images=20), tmp_path)
    half = pred.take(np.arange(0, len(pred), 2))
    pair = vt.analyse(known, {"all": pred, "half": half}, draws=100, seed=2).comparison[0]
    expected = paired_interval(pair.one.results, pair.two.results, "AP", draws=100, seed=2)
    assert pair.lead_interval == pytest.approx(expected, abs=1e-12)
    assert pair.to_dict()["AP"]["low"] == pair.lead_interval[0]
    grouped = vt.analyse(known, {"all": pred, "half": half}, resample="scene", draws=100).comparison[0]
    assert grouped.p_images > pair.p_images  # copies are no evidence
    assert grouped.p_objects == pair.p_objects


def test_intervals_over_groups_are_by_student_s_t_of_their_effective_number(tmp_path: Path) -> None:
    """Eight groups of sizes 19, 3, 3, …: Kish's effective number is 40² / 424 = 3.8, rounded down 3, hence t of 2."""
    truth, results = random_world(8, images=40)
    groups = ["large"] * 19 + [f"g{i % 7}" for i in range(21)]
    known, pred = sides(truth, results, tmp_path)
    assert SampledUnits.of([str(i) for i in range(40)], groups).effective == 3
    found = vt.analyse(known, pred, draws=400, resample=groups, iou=0.5).operating
    at = np.bincount(found.matches.pred.image[found.matches.is_tp & (found.matches.confidence >= 0.4)], minlength=40)
    kept = found.matches.counted_pred & (found.matches.confidence >= 0.4)
    below = np.bincount(found.matches.pred.image[kept], minlength=40)
    below += np.bincount(found.matches.truth.image[found.matches.counted_truth], minlength=40)
    f = 2 * (found.bootstrap.weights @ at) / (found.bootstrap.weights @ below)
    value, reach = 2 * at.sum() / below.sum(), 4.302653 * (3 / 2) ** 0.5 * np.std(f, ddof=1)
    assert found.intervals(0.4)["f"] == pytest.approx((value - reach, value + reach), rel=1e-6)
    mean = found.froc_intervals[1]
    assert (mean[0] + mean[1]) / 2 == pytest.approx(found.cpm)


def test_few_groups_of_images_are_warned_about_and_fewer_than_five_refused(tmp_path: Path) -> None:
    known, pred = sides(*random_world(9, images=60), tmp_path)

    def shown(count: int) -> str:
        return " ".join(str(vt.analyse(known, pred, resample=[i % count for i in range(60)])).split())

    assert "warning: 29 groups of images: with fewer than 30, intervals are approximate" in shown(29)
    assert "groups of images: with" not in shown(30)
    with pytest.raises(vt.BadParameter, match="expected at least 5 groups of images, found 4"):
        shown(4)
    two = vt.analyse(known, {"one": pred, "two": pred}, resample=[i % 10 for i in range(60)])
    assert str(two).count("warning: 10 groups of images") == 1


@pytest.mark.parametrize("option", ["--resample", "--group"])
def test_the_bootstrap_unit_is_an_option_of_the_command_line(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_pair(tmp_path, *doubled(1, images=10))
    words = ["analyse", *paths, option, "scene", "--only", "errors,operating", "--draws", "20", "--json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["errors"]["deviation"]["resample"] == "groups of images (scene)"
    assert "resample:scene|draws:20|seed:0" in told["signatures"]["operating"]
    assert set(told["operating"]["intervals"]) == {"precision", "recall", "f"}
    assert set(told["operating"]["classes"]["c1"]["intervals"]) == {"precision", "recall", "f"}


def test_an_unknown_column_and_draws_without_a_unit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_pair(tmp_path, *doubled(1, images=4))
    assert run(["analyse", *paths, "--resample", "scenes"]) == 2
    assert "did you mean 'scene'?" in capsys.readouterr().err
    assert run(["analyse", *paths, "--resample", "none", "--draws", "10"]) == 2
    assert "draws: expected 0 with resample none, found 10" in capsys.readouterr().err
    assert run(["analyse", *paths, "--resample", "none", "--only", "errors", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"]["deviation"] is None
