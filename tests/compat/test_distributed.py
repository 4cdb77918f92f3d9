"""torch.distributed: two processes, each with its share of the images, both with the numbers of all."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.protocols.test_incremental import batches, values, whole

torch = pytest.importorskip("torch", reason="torch is not installed: make clients")


def train(rank: int, port: int, seed: int, folder: str) -> None:
    """What a rank of a training run does, with the lines of the how-to."""
    import torch.distributed as dist
    from torch.utils.data import DistributedSampler

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    truth, _, items = batches(seed)
    names = {c["id"]: c["name"] for c in truth["categories"]}
    evaluator = vt.CocoEvaluator(layout="xywh", labels=names, duplicates="first", checks="off")
    sampler = DistributedSampler(range(len(items)), num_replicas=2, rank=rank, shuffle=False)  # type: ignore[arg-type]
    for i in sampler:
        pred, target = ({k: torch.as_tensor(v) for k, v in side.items()} for side in items[i])
        evaluator.update([pred], [target])

    def gather(own: bytes) -> list[bytes]:
        parts: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(parts, own)
        return parts

    results = evaluator.compute(gather=gather)
    Path(folder, f"{rank}.json").write_text(json.dumps(values(results)))
    dist.destroy_process_group()


@pytest.mark.parametrize("seed", [2, 5])  # of 7 images, which the sampler pads to 8, and of 6
def test_two_ranks_have_the_numbers_of_all_images(tmp_path: Path, seed: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, args=(port, seed, str(tmp_path)), nprocs=2)
    truth, results, _ = batches(seed)
    expected = values(whole(tmp_path, truth, results))
    for rank in range(2):
        found = [np.nan if v is None else v for v in json.loads((tmp_path / f"{rank}.json").read_text())]
        assert np.array_equal(found, expected, equal_nan=True)
