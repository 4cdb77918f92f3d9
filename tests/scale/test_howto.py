"""The lines of "Evaluate in parts" that need an engine, as they stand: run by it where it is, else by a stand-in."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from importlib.resources import files
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.protocols.test_incremental import batches, values

PAGE = Path(__file__).parent.parent.parent / "docs" / "howto" / "scale.md"


def lines_with(word: str, language: str = "{code-block} python") -> str:
    """The one block of the page that has a word in it."""
    blocks = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if word in block]
    return str(found)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The harbour of the demo in one pair of files, and in three below gt/ and pred/."""
    home = files("verite") / "data" / "demo"
    truth, pred = (json.loads((home / f"{name}.json").read_text()) for name in ("truth", "hawk"))
    for name in ("gt", "pred", "parts"):
        (tmp_path / name).mkdir()
    place = {image["id"]: i % 3 for i, image in enumerate(truth["images"])}
    for name, document in (("truth", truth), ("hawk", pred)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    for i in range(3):
        own = {
            **truth,
            "images": [image for image in truth["images"] if place[image["id"]] == i],
            "annotations": [record for record in truth["annotations"] if place[record["image_id"]] == i],
        }
        (tmp_path / "gt" / f"{i}.json").write_text(json.dumps(own))
        (tmp_path / "pred" / f"{i}.json").write_text(json.dumps([r for r in pred if place[r["image_id"]] == i]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pairs_of(folder: Path) -> list[tuple[Path, Path]]:
    return [(folder / f"gt/{i}.json", folder / f"pred/{i}.json") for i in range(3)]


def expect_printed(printed: list[Any], folder: Path) -> None:
    whole = vt.coco(folder / "truth.json", folder / "hawk.json")
    assert np.array_equal(values(printed[0]), values(whole), equal_nan=True)


class Ray:
    """As much of ray as the lines use: tasks whose arguments and results are pickled."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)

    def remote(self, function: Callable[..., Any]) -> Any:
        def submit(*given: Any) -> Future[Any]:
            work = pickle.dumps((function, given))
            return self.pool.submit(lambda: pickle.dumps(call(*pickle.loads(work))))

        return SimpleNamespace(remote=submit)

    def shutdown(self) -> None:
        self.pool.shutdown()

    def get(self, futures: list[Future[Any]]) -> list[Any]:
        return [pickle.loads(future.result()) for future in futures]


def call(function: Callable[..., Any], given: Any) -> Any:
    return function(*given)


class Rows:
    """As much of Spark as the lines use: what is mapped and reduced goes through pickle, in any order."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def parallelize(self, rows: list[Any], _: int) -> Rows:
        return Rows(rows)

    def map(self, function: Callable[..., Any]) -> Rows:
        return Rows([pickle.loads(pickle.dumps(function(row))) for row in self.rows])

    def stop(self) -> None:
        pass

    def treeReduce(self, join: Callable[[Any, Any], Any]) -> Any:  # noqa: N802 - Spark's name
        return reduce(join, self.rows[::-1])


@pytest.mark.filterwarnings("ignore")
def test_the_lines_for_ray_have_the_numbers_of_the_whole(folder: Path) -> None:
    try:
        import ray  # type: ignore[import-not-found]

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    except ImportError:
        ray = Ray()
    printed: list[Any] = []
    try:
        exec(lines_with("ray.remote"), {"ray": ray, "vt": vt, "pairs": pairs_of(folder), "print": printed.append})
    finally:
        ray.shutdown()
    expect_printed(printed, folder)


@pytest.mark.filterwarnings("ignore")
def test_the_lines_for_spark_have_the_numbers_of_the_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    try:
        import pyspark  # type: ignore[import-not-found]

        sc: Any = pyspark.SparkContext("local[2]")
    except ImportError:
        sc = Rows([])
    printed: list[Any] = []
    try:
        exec(lines_with("treeReduce"), {"sc": sc, "vt": vt, "pairs": pairs_of(folder), "print": printed.append})
    finally:
        sc.stop()
    expect_printed(printed, folder)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["distributed", "ray", "pyspark"])
def test_a_killed_worker_of_an_engine_loses_nothing(engine: str, folder: Path) -> None:
    """The program of the benchmark: the first task kills the process that runs it."""
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    benchmark = runpy.run_path(str(PAGE.parents[2] / "benchmarks" / "scale.py"))
    for i in range(4):  # the last shard is empty
        truth, pred = json.loads((folder / f"gt/{i % 3}.json").read_text()), folder / f"pred/{i % 3}.json"
        (folder / f"gt-{i:03}.json").write_text(
            json.dumps(truth if i < 3 else truth | {"images": [], "annotations": []})
        )
        (folder / f"dt-{i:03}.json").write_text(pred.read_text() if i < 3 else "[]")
    program, flag = folder / "program.py", folder / "killed"
    program.write_text(benchmark["LOSING"] + benchmark["ENGINES"][engine])
    done = subprocess.run([sys.executable, program, folder, flag], capture_output=True, text=True, check=True)
    assert flag.exists()
    whole = vt.coco(folder / "truth.json", folder / "hawk.json", checks="off")
    assert done.stdout.split()[-1] == repr(whole.scores["AP"].value)


@pytest.mark.slow
def test_the_lines_for_slurm_and_make_have_the_numbers_of_the_whole(folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for task in range(3):
        subprocess.run(
            ["sh", "-ec", lines_with("SBATCH", "sh")], env={"PATH": path, "SLURM_ARRAY_TASK_ID": str(task)}, check=True
        )
    parts = sorted((folder / "parts").iterdir())
    assert [part.name for part in parts] == ["0.part", "1.part", "2.part"]
    loaded = [vt.PartialResult.load(part) for part in parts]
    expect_printed([loaded[0].merge(*loaded[1:]).compute()], folder)
    if shutil.which("make") is None:
        return
    before = [part.read_bytes() for part in parts]
    for part in parts:
        part.unlink()
    (folder / "Makefile").write_text(lines_with("parts/%.part", "make"))
    subprocess.run(["make", "-s", *(f"parts/{i}.part" for i in range(3))], env={"PATH": path}, check=True)
    assert [part.read_bytes() for part in parts] == before


def train(seed: int, deal: Callable[[int], Iterable[int]]) -> list[float]:
    """What a rank of a training run does, by the lines of the how-to; it is dealt some out of so many images."""
    truth, _, items = batches(seed)

    def corners(side: Any) -> Any:
        return {**side, "boxes": np.hstack([side["boxes"][:, :2], side["boxes"][:, :2] + side["boxes"][:, 2:]])}

    known = {
        "names": {c["id"]: c["name"] for c in truth["categories"]},
        "loader": [([i], [corners(items[i][1])]) for i in deal(len(items))],
        "model": lambda images: [corners(items[i][0]) for i in images],
    }
    exec(lines_with("all_gather_object"), known)
    results: Any = known["results"]
    return values(results)


def run_rank(rank: int, seed: int, connection: Any) -> None:
    """A process whose `torch.distributed` is a pipe."""
    distributed = ModuleType("torch.distributed")

    def all_gather_object(parts: list[Any], own: Any) -> None:
        connection.send_bytes(pickle.dumps(own))
        parts[:] = [pickle.loads(connection.recv_bytes()) for _ in parts]

    distributed.get_world_size = lambda: 2  # type: ignore[attr-defined]
    distributed.all_gather_object = all_gather_object  # type: ignore[attr-defined]
    torch = ModuleType("torch")
    torch.distributed = distributed  # type: ignore[attr-defined]
    sys.modules.update({"torch": torch, "torch.distributed": distributed})

    def deal(count: int) -> list[int]:
        """As DistributedSampler does: images are repeated, so that both have as many."""
        indices = list(range(count))
        return [*indices, *indices[: -count % 2]][rank::2]

    connection.send_bytes(pickle.dumps(train(seed, deal)))


def alone(seed: int) -> list[float]:
    """The numbers of one process that sees every image once."""
    truth, _, items = batches(seed)
    evaluator = vt.CocoEvaluator(layout="xywh", labels={c["id"]: c["name"] for c in truth["categories"]}, checks="off")
    for pred, target in items:
        evaluator.update(pred, target)
    return values(evaluator.compute())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 5])  # of 7 images, which are padded to 8, and of 6
def test_the_lines_for_training_give_two_processes_the_numbers_of_all_images(seed: int) -> None:
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    ranks = [context.Process(target=run_rank, args=(rank, seed, pipes[rank][1])) for rank in range(2)]
    for rank in ranks:
        rank.start()
    ours = [pipe for pipe, _ in pipes]
    gathered = [pipe.recv_bytes() for pipe in ours]
    for pipe in ours:
        for data in gathered:
            pipe.send_bytes(data)
    for pipe, rank in zip(ours, ranks, strict=True):
        assert np.array_equal(pickle.loads(pipe.recv_bytes()), alone(seed), equal_nan=True)
        rank.join()
        assert rank.exitcode == 0


def test_the_lines_for_training_are_ten() -> None:
    """Beside imports and empty lines."""
    lines = [line for line in lines_with("all_gather_object").splitlines() if line and not line.startswith("import")]
    assert len(lines) <= 10
