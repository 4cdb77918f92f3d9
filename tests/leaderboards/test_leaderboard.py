"""Leaderboards: what holds for every ranking and its uncertainty."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.leaderboards.datasets import make_detector, make_truth
from tests.leaderboards.test_simulation import read_detectors
from verite.annotation_errors import Bernoulli, Detection
from verite.errors import BadParameter
from verite.evaluation.evaluation import Changes
from verite.leaderboards.audit import CheckedOdds
from verite.leaderboards.bootstrap import bootstrap_differences, resample_images
from verite.leaderboards.simulation import AnnotationErrorSimulation
from verite.statistics.intervals import wilson
from verite.statistics.resampling import SampledUnits

ERRORS = Detection(missing=0.05, spurious=0.05, label=0.05)


def shuffle(side, seed, order):
    """The same objects in another order, with images and classes in another order."""
    rng = np.random.default_rng(seed)
    names = [side.images.name(i) for i in order]
    images = vt.Images(names, [int(side.images.ids[i]) for i in order], widths=side.images.widths[order],
                       heights=side.images.heights[order])  # fmt: skip
    place = np.argsort(order)
    rows = rng.permutation(len(side))
    turned = side.take(rows)
    return replace(turned, images=images, image=place[turned.image].astype(np.int32), ids=None)


def test_without_simulations_it_is_the_plain_table(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, resample="none", metrics=["AP", "AR10"], checks="off")
    for name, pred in preds.items():
        assert board.scores[name] == vt.coco(truth, pred, checks="off")["AP"].value
        assert dict(zip(board.boards["AR10"].names, board.boards["AR10"].scores, strict=True))[name] == (
            vt.coco(truth, pred, checks="off")["AR10"].value
        )
    assert list(board.scores.values()) == sorted(board.scores.values(), reverse=True)
    assert board.draws.shape == (3, 0, 3)
    document = json.loads(board.to_json())
    assert document["detectors"][0]["p_first"] == {"errors": None, "images": None, "both": None}
    assert document["detectors"][-1]["gap"] is None
    assert (document["groups"], document["audit"], document["draws"]) == ([], [], 0)


def test_all_sources_of_uncertainty_share_their_simulations(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    both = vt.leaderboard(truth, preds, errors=ERRORS, draws=60, checks="off")
    alone = vt.leaderboard(truth, preds, errors=ERRORS, resample="none", draws=60, checks="off")
    images = vt.leaderboard(truth, preds, draws=60, checks="off")
    assert both.draws[0].tobytes() == alone.draws[0].tobytes()
    assert both.draws[1].tobytes() == images.draws[1].tobytes()
    assert np.isnan(alone.draws[1:]).all()
    assert np.isnan(images.draws[[0, 2]]).all()
    assert alone.places == [None] * 3
    assert images.board.whole_order["errors"] is None
    document = json.loads(alone.to_json())
    assert document["detectors"][0]["p_first"]["images"] is None
    assert document["detectors"][0]["sd"] is None
    assert document["pairs"][0]["both"] is None


def test_more_simulations_begin_with_the_same_ones(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    many, few = (vt.leaderboard(truth, preds, errors=ERRORS, draws=n, checks="off").draws for n in (230, 40))
    assert many[:, :40].tobytes() == few.tobytes()


@pytest.mark.parametrize("threads", [2, 7])
def test_the_same_bytes_for_any_number_of_threads(tmp_path, threads):
    _, truth, preds = read_detectors(tmp_path, 4)
    one, other = (
        vt.leaderboard(truth, preds, errors=ERRORS, draws=50, threads=n, checks="off", metrics=["AP", "AR1"])
        for n in (1, threads)
    )
    assert one.to_json() == other.to_json()


def test_permuted_files_change_nothing(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 5)
    board = vt.leaderboard(truth, preds, errors=ERRORS, draws=50, checks="off")
    order = np.random.default_rng(1).permutation(len(truth.images))
    turned = shuffle(truth, 1, order)
    others = {name: shuffle(preds[name], 2, order).like(turned) for name in reversed(preds)}
    other = vt.leaderboard(turned, others, errors=ERRORS, draws=50, checks="off")
    assert other.names == board.names
    assert np.allclose(other.draws, board.draws, rtol=0, atol=1e-15)
    assert [row.location for row in other.audit] == [row.location for row in board.audit]


def test_adding_a_detector_changes_no_other_scores_where_the_pool_is_fixed(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 5)
    errors = Detection(missing=0.1, spurious=0.1)
    fixed = {"errors": errors, "missing_from": preds["d2"], "draws": 30, "checks": "off"}
    three = vt.leaderboard(truth, preds, **fixed)
    two = vt.leaderboard(truth, {name: preds[name] for name in ("d0", "d1")}, **fixed)
    for name in ("d0", "d1"):
        mine, theirs = (board.draws[:, :, board.names.index(name)] for board in (two, three))
        assert mine.tobytes() == theirs.tobytes()


def test_two_copies_are_tied_in_every_simulation(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 6)
    board = vt.leaderboard(truth, {**preds, "copy": preds["d0"]}, errors=ERRORS, draws=80, checks="off")
    pair = next(p for p in board.pairs if {p.first, p.second} == {"d0", "copy"})
    assert all(shares == (0.0, 1.0, 0.0) for shares in pair.shares.values())
    assert any({"d0", "copy"} <= set(group) for group in board.groups)
    assert "tied in every simulation: " in str(board)
    assert board.influence["AP"].flip[min(board.names.index("d0"), board.names.index("copy"))] is None


@pytest.mark.thorough
def test_spurious_annotations_alone_agree_with_the_exact_ranking():
    """One class, objects far apart: recall at a confidence is a share with a known distribution."""
    rng = np.random.default_rng(3)
    images = [f"{i}" for i in range(60)]
    box = [[0, 0, 9, 9]] * 60
    truth = vt.Annotations.of(images, ["cat"] * 60, box)
    found = [sorted(rng.choice(60, n, replace=False).tolist()) for n in (44, 42, 38)]
    results = {
        f"d{k}": vt.voc(truth, vt.Annotations.of([images[i] for i in rows], ["cat"] * len(rows), box[: len(rows)],
                                                 confidence=[0.9] * len(rows)), checks="off")
        for k, rows in enumerate(found)
    }  # fmt: skip
    exact = vt.rank(vt.DetectionTable.of(results, wrong="vanishes", confidence=0.5), Bernoulli(0.1))
    draws = 4000
    changes = AnnotationErrorSimulation(truth, np.ones(60, bool), Detection(spurious=0.1), 7).changes(0, draws)
    drawn = np.stack(
        [one.evaluation.bootstrap_means([("recall", 0, 0, 0)], None, changes)[:, 0] for one in results.values()], axis=1
    )
    for i in range(3):
        for j in range(i + 1, 3):
            pair = exact.pair(f"d{i}", f"d{j}")
            i_first = pair.first == f"d{i}"
            lead = (drawn[:, i] - drawn[:, j]) * (1 if i_first else -1)
            for share, expected in (
                ((lead > 1e-12).mean(), pair.kept),
                ((abs(lead) <= 1e-12).mean(), pair.tie),
                ((lead < -1e-12).mean(), pair.reversed),
            ):
                low, high = wilson(float(share), draws, 3.3)
                assert low <= expected <= high


def test_pascal_voc_is_simulated_as_well(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 7)
    board = vt.leaderboard(truth, preds, protocol="voc", errors=ERRORS, draws=40, checks="off")
    assert board.metric == "mAP"
    assert board.scores["d0"] == vt.voc(truth, preds["d0"], checks="off")["mAP"].value
    assert not np.isnan(board.draws).any()


def test_objects_of_federated_ground_truth_are_added_in_verified_classes_only():
    data = Path(vt.__file__).parent / "data"
    truth = vt.read(data / "competitions" / "lvis" / "truth.json", format="lvis")
    preds = {name: vt.read(data / "demo" / f"{name}.json", like=truth) for name in ("hawk", "magpie")}
    errors = Detection(missing=0.3, label=0.3)
    board = vt.leaderboard(truth, preds, protocol="lvis", errors=errors, draws=30, checks="off")
    changes = board.simulation.ground_truths.changes(0, 30)
    looked = set((truth.image * len(truth.labels) + truth.label).tolist())
    said = truth.verdicts.kind == 1
    looked |= set((truth.verdicts.image[said] * len(truth.labels) + truth.verdicts.label[said]).tolist())
    cells = changes.objects.image[changes.added] * len(truth.labels) + changes.labels
    assert len(cells)
    assert set(cells.tolist()) <= looked


@pytest.mark.parametrize("source", ["pool", "file"])
def test_candidates_for_missing_objects_bring_their_masks(tmp_path, source):
    _, truth, preds = read_detectors(tmp_path, 4, masks=True)
    given = {} if source == "pool" else {"missing_from": preds["d2"]}
    errors = Detection(missing=0.5, lit=1.0)
    board = vt.leaderboard(truth, preds, on="mask", errors=errors, draws=20, checks="off", **given)
    changes, pool = board.simulation.ground_truths.changes(0, 20), board.pool
    lit = changes.added[changes.added >= len(truth)]
    assert len(lit)
    for row in lit[:30]:
        mask = changes.objects.regions.runs[int(row)]
        detector, at = (part[row - len(truth)] for part in pool.best)
        own = preds["d2" if detector < 0 else f"d{detector}"]
        assert mask.tolist() == own.regions.runs[int(at)].tolist()
        assert own.image[at] == changes.objects.image[row]


def test_federated_masks_are_simulated(tmp_path):
    document, truth, preds = read_detectors(tmp_path, 4, masks=True)
    document["images"] = [{**i, "neg_category_ids": [1], "not_exhaustive_category_ids": []} for i in document["images"]]
    document["categories"] = [{**c, "frequency": "f"} for c in document["categories"]]
    document["annotations"] = [a for a in document["annotations"] if not a["iscrowd"]]
    (tmp_path / "lvis.json").write_text(json.dumps(document))
    truth = vt.read(tmp_path / "lvis.json", format="lvis")
    others = {name: vt.read(tmp_path / f"{name}.json", like=truth) for name in preds}
    errors = Detection(missing=0.3, label=0.2, spurious=0.1)
    board = vt.leaderboard(truth, others, protocol="lvis", on="mask", errors=errors, draws=20, checks="off")
    assert not np.isnan(board.draws).any()


def test_the_bootstrap_deviation_agrees_with_the_jackknife(tmp_path):
    """Leaving out each image once: another estimate of the same standard deviation."""
    document = make_truth(3, images=150)
    (tmp_path / "truth.json").write_text(json.dumps(document))
    (tmp_path / "pred.json").write_text(json.dumps(make_detector(document, 3)))
    truth = vt.read(tmp_path / "truth.json")
    result = vt.coco(truth, vt.read(tmp_path / "pred.json", like=truth), checks="off")
    part, count = [result.mean_query("AR100")], len(truth.images)
    without = result.evaluation.bootstrap_means(part, np.ones((count, count)) - np.eye(count))[:, 0]
    jackknife = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    drawn = result.evaluation.bootstrap_means(part, resample_images(truth.images, 1500))[:, 0]
    assert drawn.std() == pytest.approx(jackknife, rel=0.1)


def test_several_scores_share_one_matching(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 8)
    several = vt.leaderboard(truth, preds, metrics=["AP50", "AR100"], errors=ERRORS, draws=30, checks="off")
    alone = vt.leaderboard(truth, preds, metrics="AR100", errors=ERRORS, draws=30, checks="off")
    document = json.loads(several.to_json())
    assert list(document["metrics"]) == ["AP50", "AR100"]
    assert document["detectors"] == document["metrics"]["AP50"]["detectors"]
    assert several.boards["AR100"].draws.tobytes() == alone.board.draws.tobytes()


def test_interval_and_deviation_of_a_gap_are_those_of_the_bootstrap(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 9)
    board = vt.leaderboard(truth, preds, draws=200, checks="off").board
    results = {name: vt.coco(truth, pred, checks="off") for name, pred in preds.items()}
    weights = resample_images(truth.images, 200)
    one, two = ([results[n].evaluation.weighted(row).mean("precision", None, 0, 2) for row in weights]
                for n in board.names[:2])  # fmt: skip
    difference = np.array(one) - np.array(two)
    assert board.gaps[0][1:] == pytest.approx(tuple(np.quantile(difference, [0.025, 0.975])), abs=1e-12)
    assert board.spread[0][0] == pytest.approx(np.std(one, ddof=1), abs=1e-12)
    halves = SampledUnits.of([truth.images.name(i) for i in range(len(truth.images))]).half_samples(200)
    half = [results[board.names[0]].evaluation.weighted(row).mean("precision", None, 0, 2) for row in halves]
    bias = (np.mean(half) - board.scores[0]) / (np.sqrt(2) - 1)
    assert board.spread[0][1] == pytest.approx(bias, abs=1e-12)


def test_intervals_around_scores_need_100_images_and_are_those_of_the_results(tmp_path):
    document = make_truth(5, images=120)
    detectors = {f"d{i}": make_detector(document, i, 0.8 - 0.1 * i) for i in range(3)}
    truth, preds = (
        vt.read(document),
        {name: vt.read(found, like=vt.read(document)) for name, found in detectors.items()},
    )
    board = vt.leaderboard(truth, preds, draws=50, checks="off")
    best = vt.coco(truth, preds[board.names[0]], checks="off").interval("AP")
    found = json.loads(board.to_json())["detectors"][0]["interval"]
    assert (found["low"], found["high"], found["for"]) == (best.low, best.high, 120)
    assert "AP ±" in board.to_text()
    assert f"{best.value:.4f} ± {(best.high - best.low) / 2:.4f}" in board.to_text()
    more = vt.leaderboard(truth, preds, draws=50, interval_images="all", resample="none", checks="off")
    assert more.board.intervals[0].images == "all"
    few = vt.leaderboard(truth.take([0]).changed(images=truth.images), preds, draws=5, checks="off")
    assert "no interval around AP: expected at least half of the classes" in few.to_text()
    _, truth, preds = read_detectors(tmp_path, 2)
    with pytest.raises(vt.VeriteError, match="at least 100 images"):
        vt.leaderboard(truth, preds, draws=5, interval=True, checks="off")


def test_the_leader_is_less_likely_first_over_images_than_in_resamples(tmp_path):
    """Winner's curse: scores that differ by less than their noise; two detectors have no such probability."""
    from verite.leaderboards.result import Board

    noise = np.random.default_rng(0).normal(0, 0.02, (1000, 4))
    scores = np.array([0.52, 0.50, 0.49, 0.48])
    board = Board("AP", tuple("abcd"), scores, {"images": scores + noise})
    assert sum(board.p_first_images) == pytest.approx(1.0)
    assert 0.25 < board.p_first_images[0] < board.p_first(0)["images"] - 0.1
    two = Board("AP", tuple("ab"), scores[:2], {"images": (scores + noise)[:, :2]})
    assert two.p_first_images == [None, None]
    copies = Board("AP", tuple("abc"), scores[[0, 0, 0]], {"images": (scores + noise)[:, [0, 0, 0]]})
    assert copies.p_first_images == pytest.approx([1 / 3] * 3)


def test_what_is_about_images_alone_says_so_beside_annotation_errors(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 3)
    images = vt.leaderboard(truth, preds, draws=60, checks="off")
    both = vt.leaderboard(truth, preds, errors=Detection(missing=0.1), draws=60, checks="off")
    for board, head in ((images, "P(first)"), (both, "P(first) images")):
        table = board.shown_table("AP")
        assert head in table.head
        assert board.board.p_first_images == images.board.p_first_images
    assert "not covered: annotation errors" in images.to_text()
    assert "not covered: errors that favour one detector" in both.to_text().replace("\n  ", " ")


def test_the_share_of_detectable_missing_objects_is_shown_at_two_values(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, errors=Detection(missing=0.3), draws=60, checks="off")
    other = vt.leaderboard(truth, preds, errors=Detection(missing=0.3, lit=0.2), draws=60, checks="off")
    for i, name in enumerate(board.names):
        assert board.by_detectable[name][0.7] == board.board.p_first(i)["errors"]
        assert board.by_detectable[name][0.2] == other.board.p_first(other.names.index(name))["errors"]
    assert "(detectable=)" in board.to_text()
    assert not other.by_detectable
    rows = [(0.1, 0.05, 0.0, 0.0, 0.0, lit) for lit in (0.4, 0.6)]
    of_agree = vt.leaderboard(truth, preds, errors=Detection(draws=rows), draws=30, checks="off")
    assert not of_agree.by_detectable  # verite agree knows the share
    unknown = [(*row[:5], float("nan")) for row in rows]
    assert vt.leaderboard(truth, preds, errors=Detection(draws=unknown), draws=30, checks="off").by_detectable


def test_probabilities_of_known_samples():
    from verite.leaderboards.result import Board

    drawn = np.array([[0.5, 0.4], [0.3, 0.4], [0.4, 0.4], [0.6, 0.1]])
    board = Board("AP", ("b", "a"), np.array([0.5, 0.4]), {"errors": drawn[:, ::1]})
    assert board.names == ("b", "a")
    assert board.pairs[0].shares == {"errors": (0.5, 0.25, 0.25), "images": None, "both": None}
    assert board.p_first(0)["errors"] == 0.625  # a tie shares the place
    assert board.whole_order["errors"] == 0.5


def test_a_reversed_mean_order_is_reported():
    from verite.leaderboards.result import Board

    drawn = np.tile([0.3, 0.4], (5, 1))
    board = Board("AP", ("a", "b"), np.array([0.5, 0.4]), {"errors": drawn})
    assert board.turned == [("errors", "a", "b")]


def test_errors_that_shift_a_difference_leave_detectors_tied():
    """On the record a leads by .02; under errors b is ahead by .01 in nearly every simulation."""
    from verite.leaderboards.result import Board

    rng = np.random.default_rng(0)
    samples = {
        source: centre + rng.normal(0, sd, (1000, 2))
        for source, centre, sd in (
            ("images", np.array([0.50, 0.48]), 0.002),
            ("errors", np.array([0.45, 0.46]), 0.002),
            ("both", np.array([0.45, 0.46]), 0.003),
        )
    }
    board = Board("AP", ("a", "b"), np.array([0.50, 0.48]), samples)
    assert board.p_first(0)["both"] < 0.05
    assert board.turned[0][1:] == ("a", "b")
    ahead = Board("AP", ("a", "b"), np.array([0.50, 0.48]), {"images": samples["images"]})
    assert ahead.groups == []
    shaken = {**samples, "errors": samples["errors"][:, ::-1], "both": samples["both"] + rng.normal(0, 0.02, (1000, 2))}
    assert Board("AP", ("a", "b"), np.array([0.50, 0.48]), shaken).groups == [["a", "b"]]


def test_few_groups_of_images_widen_intervals_and_are_named(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 9)
    board = vt.leaderboard(truth, preds, resample="site", draws=60, checks="off")
    assert "5 groups of images: with fewer than 30" in " ".join(board.notes)
    value, low, high = board.board.gaps[0]
    drawn = board.board.images[:, 0] - board.board.images[:, 1]
    # Student's t of four degrees of freedom: 2.776.
    assert (low + high) / 2 == pytest.approx(value)
    assert high - value == pytest.approx(2.776445 * drawn.std(ddof=1) * (5 / 4) ** 0.5, rel=1e-6)


def test_groups_of_images_come_from_a_column_a_file_or_a_list(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 9)
    by_site = vt.leaderboard(truth, preds, resample="site", draws=40, checks="off")
    sites = [f"s{i % 5}" for i in range(1, 21)]
    given = vt.leaderboard(truth, preds, resample=sites, draws=40, checks="off")
    assert by_site.draws.tobytes() == given.draws.tobytes()
    array = vt.leaderboard(truth, preds, resample=np.array(sites), draws=40, checks="off")
    assert array.draws.tobytes() == given.draws.tobytes()
    (tmp_path / "sites.csv").write_text("image,site\n" + "".join(f"{i}.jpg,s{i % 5}\n" for i in range(1, 21)))
    table = vt.leaderboard(truth, preds, resample=f"{tmp_path}/sites.csv:site", draws=40, checks="off")
    assert table.draws.tobytes() == given.draws.tobytes()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics": "AP5"}, "metrics: expected one of AP, AP50"),
        (
            {"resample": "vidoe"},
            "expected images, a column of the ground truth's images .*site.*found 'vidoe'",
        ),
        ({"errors": Detection(spurious=0.1, favours=("d9", 2))}, "favours: expected one of d0, d1, d2, found 'd9'"),
        (
            {"errors": Detection(spurious=0.1, shared="town", correlation=0.1)},
            "shared: expected image, label, a col",
        ),
        ({"errors": Detection(jitter=(0.1, 0.1)), "on": "mask"}, 'jitter: expected on="box", found mask'),
        ({"draws": 0}, "draws: expected a whole number from 1 up"),
        ({"seed": -1}, "seed: expected a whole number from 0 up"),
        ({"level": 1.0}, "level: expected a probability"),
        ({"protocol": "voc", "on": "mask"}, "on: expected box or rotated with Pascal VOC"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, asked, message):
    _, truth, preds = read_detectors(tmp_path, 1, masks=asked.get("on") == "mask")
    with pytest.raises((vt.BadParameter, vt.DataError), match=message):
        vt.leaderboard(truth, preds, **{"draws": 5, "checks": "off", **asked})


@pytest.mark.parametrize("predictions", [None, 0.5, [], {}], ids=str)
def test_fewer_than_two_detectors_are_refused(predictions):
    empty = {"images": [], "annotations": [], "categories": []}
    with pytest.raises(vt.BadParameter, match=r"leaderboard: expected (several|at least two|predictions)"):
        vt.leaderboard([empty, empty] if predictions is None else empty, predictions)


def test_one_detector_is_refused(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 1)
    with pytest.raises(vt.BadParameter, match="expected at least two detectors, found 1"):
        vt.leaderboard(truth, {"d0": preds["d0"]})


def test_ground_truth_without_objects_is_refused(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 1)
    for errors in (ERRORS, None):
        with pytest.raises(vt.DataError, match="expected objects that count, found none: 'd0' has no AP"):
            vt.leaderboard(truth.take([]), preds, errors=errors, draws=5, checks="off")
    assert (
        bootstrap_differences([vt.coco(truth.take([]), pred, checks="off") for pred in preds.values()], list(preds))
        == []
    )


def test_a_leaderboard_pickles_and_prints_in_every_style(tmp_path):
    import pickle

    _, truth, preds = read_detectors(tmp_path, 1)
    board = vt.leaderboard(truth, preds, errors=ERRORS, draws=20, checks="off")
    again = pickle.loads(pickle.dumps(board))
    assert again.to_json() == board.to_json()
    assert "<table" in board._repr_html_()
    assert "|" in board.to_markdown()
    assert "tabular" in board.to_latex()
    assert board.to_csv().splitlines()[0].startswith("detector,place,score")


def test_the_simulated_changes_are_available(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 1)
    board = vt.leaderboard(truth, preds, errors=ERRORS, draws=20, checks="off")
    changes = board.simulation.ground_truths.changes(0, 20)
    assert isinstance(changes, Changes)
    assert len(changes) == 20


def test_keypoints_of_any_skeleton_take_their_own_sigmas():
    """One point of two, 12 px off on an object of 10,000 px²: OKS is the mean of 1 and exp(-144 / (8 · 10⁴ σ²))."""
    person = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 100, 100]}
    truth = {
        "images": [{"id": 1, "width": 200, "height": 200, "file_name": "a.jpg"}],
        "categories": [{"id": 1, "name": "hand", "keypoints": ["palm", "tip"]}],
        "annotations": [
            {**person, "id": 1, "area": 1e4, "iscrowd": 0, "num_keypoints": 2, "keypoints": [9, 9, 2, 90, 90, 2]}
        ],
    }
    near, far = ([{**person, "score": 0.9, "keypoints": [9, 9, 2, 90 + off, 90, 2]}] for off in (0, 12))
    # σ = 0.1: exp(-0.18) = 0.835, OKS 0.918, nine of ten thresholds; σ = 0.02: exp(-4.5) = 0.011, OKS 0.506, one.
    for sigmas, expected in (([0.1, 0.1], 0.9), ([0.1, 0.02], 0.1)):
        board = vt.leaderboard(truth, {"near": near, "far": far}, on="keypoints", sigmas=sigmas, draws=10, checks="off")
        assert board.names == ("near", "far")
        assert board.to_dict()["detectors"][1]["score"] == pytest.approx(expected)
        assert "|sigmas:" in str(board.signature)
    with pytest.raises(BadParameter, match="sigmas: expected nothing but with on=keypoints"):
        vt.leaderboard(truth, {"near": near, "far": far}, sigmas=[0.1, 0.1])


def test_the_pooling_bias_does_not_depend_on_favoured_detectors(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    plain = vt.leaderboard(truth, preds, errors=ERRORS, resample="none", draws=20, checks="off")
    biased = vt.leaderboard(
        truth, preds, errors=replace(ERRORS, favours=("d0", 4)), resample="none", draws=20, checks="off"
    )
    assert plain.pooling.keys() == preds.keys()
    assert biased.pooling == pytest.approx(plain.pooling, abs=1e-15)


def test_the_pooling_bias_is_about_the_first_score_only(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, metrics=["AP", "AP50"], errors=ERRORS, resample="none", draws=10, checks="off")
    assert "own boxes" in board.table().head
    assert "own boxes" not in board.table("AP50").head
    without = replace(ERRORS, missing=0.0)
    assert not vt.leaderboard(truth, preds, errors=without, resample="none", draws=10, checks="off").pooling


def test_a_large_tied_group_is_printed_by_its_ranks(tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    same = {f"copy {i}": next(iter(preds.values())) for i in range(8)}
    assert "statistically tied: ranks 1–8" in str(vt.leaderboard(truth, same, draws=20, checks="off"))


@pytest.mark.parametrize(
    ("odds", "gamma", "said"),
    [
        ((0.9, 0.4, 2.0), 2.2, "Γ 2.20, odds … 0.9 [0.4, 2]: no sign that errors favour"),
        (
            (1.5, 0.7, 3.2),
            2.2,
            "Γ 2.20, odds … 1.5 [0.7, 3.2]: errors may favour {} enough to tie",
        ),
        (
            (9.5, 2.1, 44.0),
            2.2,
            "Γ 2.20, odds … 9.5 [2.1, 44]: errors do favour {}, perhaps enough",
        ),
        ((3.0, 1.2, 7.5), 20.0, "Γ 20.00, odds … 3 [1.2, 7.5]: errors favour {}, but not enough"),
        ((3.0, 1.2, 7.5), None, "no Γ, odds … 3 [1.2, 7.5]: errors favour {}, but not enough"),
    ],
)
def test_observed_odds_stand_beside_gamma(odds, gamma, said, tmp_path):
    _, truth, preds = read_detectors(tmp_path, 2)
    board = vt.leaderboard(truth, preds, errors=Detection(spurious=0.02), draws=20, checks="off")
    found = board.influence["AP"]
    assert "odds of checked" not in board.to_text()  # nothing was checked
    first = [CheckedOdds(*odds), *found.odds[1:]]
    board.influence["AP"] = replace(found, gamma=[gamma, *found.gamma[1:]], odds=first)
    said = said.replace("…", "of checked annotations").format(board.names[0])
    assert said in " ".join(board.to_text().split())
    assert board.to_dict()["detectors"][0]["checked_odds"] == {"value": odds[0], "low": odds[1], "high": odds[2]}
