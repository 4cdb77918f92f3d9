"""Parts that many workers evaluate, some of which die: the same bits, and a name for what cannot be done."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.formats.test_shards import write_shards
from tests.oracles.coco_sets import random_set
from verite.scale import executors
from verite.scale.executors import LostPart, evaluate_parts, pair_shards

COUNT = 24


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many small files whose images have ids of their own."""
    folder = tmp_path_factory.mktemp("shards")
    for i in range(COUNT):
        truth, results = random_set(i)
        truth["categories"] = [{"id": c, "name": f"class {c}"} for c in range(90)]
        for record in (*truth["annotations"], *results):
            record["image_id"] += 1000 * i
        for image in truth["images"]:
            image["id"] += 1000 * i
            image["file_name"] = f"{image['id']}.jpg"
        (folder / f"gt-{i:02}.json").write_text(json.dumps(truth))
        (folder / f"dt-{i:02}.json").write_text(json.dumps(results or [dead_result(truth)]))
    return folder


def dead_result(truth: Any) -> Any:
    """A box that finds nothing: results that are empty are refused."""
    return {"image_id": truth["images"][0]["id"], "category_id": 89, "bbox": [0, 0, 1, 1], "score": 0.01}


def sides(folder: Path) -> tuple[list[Path], list[Path]]:
    return sorted(folder.glob("gt-*.json")), sorted(folder.glob("dt-*.json"))


def values(results: vt.Results) -> list[float]:
    return [score.value for score in results.scores.values()]


@pytest.fixture(scope="module")
def expected(shards: Path) -> list[float]:
    truth, pred = sides(shards)
    return values(vt.coco(truth, pred, checks="off"))


def assert_same(found: vt.Results, expected: list[float]) -> None:
    assert np.array_equal(values(found), expected, equal_nan=True)


def test_shards_have_the_numbers_of_the_whole_one_after_the_other_and_in_threads(
    shards: Path, expected: list[float]
) -> None:
    truth, pred = sides(shards)
    assert_same(evaluate_parts(truth, pred, checks="off"), expected)
    assert_same(vt.coco(f"{shards}/gt-*.json", f"{shards}/dt-*.json", checks="off", parts=5), expected)
    with ThreadPoolExecutor(3) as pool:
        assert_same(vt.coco(truth, pred, checks="off", executor=pool, threads=1), expected)
        pairs = list(zip(truth, pred, strict=True))
        assert_same(evaluate_parts(pairs, checks="off", executor=pool), expected)
    assert_same(evaluate_parts([vt.partial(*pair, checks="off") for pair in pairs], name="mine"), expected)


def context() -> Any:
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["verite.scale.executors", "verite.protocols.coco"])
    return made


class Killer(threading.Thread):
    """Kills a worker of whatever pool is there at random moments, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__(daemon=True)
        self.times, self.killed, self.stops = times, 0, threading.Event()
        self.random = random.Random(7)

    def run(self) -> None:
        while self.killed < self.times and not self.stops.wait(self.random.uniform(0.02, 0.3)):
            workers = [p for p in multiprocessing.active_children() if p.is_alive() and p.pid is not None]
            if workers:
                os.kill(self.random.choice(workers).pid or 0, signal.SIGKILL)
                self.killed += 1


@pytest.mark.slow
def test_workers_killed_at_twenty_random_moments_change_no_bit(
    shards: Path, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "TRIES", 25)  # chance may hit one part often; three are tested below
    truth, pred = sides(shards)
    killer = Killer(20)
    killer.start()
    try:
        while killer.killed < 20:
            pool = ProcessPoolExecutor(3, context())
            assert_same(vt.coco(truth, pred, checks="off", executor=pool, threads=1), expected)
            pool.shutdown(wait=False)
    finally:
        killer.stops.set()
        killer.join()
    assert killer.killed == 20


def die(work: Any) -> Any:
    """Kills its own worker on the third file."""
    if "gt-02" in str(work[0]):
        os.kill(os.getpid(), signal.SIGKILL)
    return vt.partial(work[0], work[1], **work[3])


class Deadly(ProcessPoolExecutor):
    def submit(self, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
        return super().submit(die, *args, **more)


def test_a_part_that_kills_its_worker_again_and_again_is_named(shards: Path) -> None:
    truth, pred = sides(shards)
    with pytest.raises(LostPart, match=r"part 3 of 6 \(.*gt-02.json and .*dt-02.json\): .* found 3 that died"):
        vt.coco(truth[:6], pred[:6], checks="off", executor=lambda: Deadly(2, context()), threads=1)


class Flaky(Executor):
    """Loses every part so many times without breaking, as a cluster does; then does it."""

    def __init__(self, losses: int) -> None:
        self.losses, self.tried = losses, dict[str, int]()

    def submit(self, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
        done: Future[Any] = Future()
        key = str(args[0][0])
        self.tried[key] = self.tried.get(key, 0) + 1
        if self.tried[key] <= self.losses:
            done.set_exception(ConnectionError("the worker is gone"))
        else:
            done.set_result(work(*args, **more))
        return done


def test_a_part_lost_on_a_cluster_is_handed_in_again_three_times(shards: Path, expected: list[float]) -> None:
    truth, pred = sides(shards)
    flaky = Flaky(2)
    assert_same(vt.coco(truth, pred, checks="off", executor=flaky), expected)
    assert set(flaky.tried.values()) == {3}
    with pytest.raises(LostPart, match=r"part \d+ of 24"):
        vt.coco(truth, pred, checks="off", executor=Flaky(3))


def test_what_is_wrong_with_the_data_arrives_as_itself_and_at_once(shards: Path, tmp_path: Path) -> None:
    truth, pred = sides(shards)
    broken = tmp_path / "broken.json"
    broken.write_text("[{")
    with ProcessPoolExecutor(1, context()) as pool, pytest.raises(vt.ReadError, match=r"broken.json"):
        vt.coco(truth[:3], [pred[0], broken, pred[2]], checks="off", executor=pool)
    with pytest.raises(vt.BadParameter, match=r"as of the ground truth, found 2 and 3"):
        vt.coco(truth[:3], pred[:2], executor=ThreadPoolExecutor(1))
    with pytest.raises(vt.DataError, match=r"found image \d+ in two of them"):
        vt.coco([truth[0], truth[0]], [pred[0], pred[0]], checks="off", parts=2)
    with pytest.raises(vt.BadParameter, match=r"executor: expected one with submit\(\), found int"):
        vt.coco(truth, pred, executor=3)


def test_shards_are_paired_in_order_and_put_together_to_few_parts(tmp_path: Path) -> None:
    assert pair_shards(["a", "b", "c"], ["x", "y", "z"], 2) == [(["a"], ["x"]), (["b", "c"], ["y", "z"])]
    assert pair_shards("a", "x") == [("a", "x")]
    write_shards(tmp_path, 3)
    found = pair_shards(str(tmp_path / "gt"), tmp_path / "dt", 2)  # folders of shards
    assert [[path.name for path in side] for side in found[1]] == [["1.json", "2.json"]] * 2
    whole = vt.coco(tmp_path / "truth.json", tmp_path / "pred.json", checks="off")
    assert_same(vt.coco(tmp_path / "gt", tmp_path / "dt", parts=3, checks="off"), values(whole))
    with pytest.raises(vt.BadParameter, match="some with the ground truth, or a list of parts instead of both"):
        pair_shards("a", None)


@pytest.fixture
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install verite[dask]")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # dask's own, when workers are killed
def test_dask_evaluates_parts_and_survives_a_killed_worker(shards: Path, expected: list[float], client: Any) -> None:
    truth, pred = sides(shards)
    pool = client.get_executor(retries=3)
    assert_same(vt.coco(truth, pred, checks="off", executor=pool, threads=1), expected)
    killer = threading.Timer(0.3, lambda: client.cluster.workers[0].process.process.kill())
    killer.start()
    assert_same(vt.coco(truth, pred, checks="off", executor=pool, threads=1), expected)
    killer.join()
