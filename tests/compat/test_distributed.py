"""torch.distributed: two processes, each with its share of the images, both with the numbers of all."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.scale.test_howto import alone, train

torch = pytest.importorskip("torch", reason="torch is not installed: make clients")


def run_rank(rank: int, port: int, seed: int, folder: str) -> None:
    """What a rank of a training run does, with the lines of the how-to."""
    import torch.distributed as dist
    from torch.utils.data import DistributedSampler

    def deal(count: int) -> Iterable[int]:
        return DistributedSampler(range(count), num_replicas=2, rank=rank, shuffle=False)  # type: ignore[arg-type]

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    Path(folder, f"{rank}.json").write_text(json.dumps(train(seed, deal)))
    dist.destroy_process_group()


@pytest.mark.parametrize("seed", [2, 5])  # of 7 images, which the sampler pads to 8, and of 6
def test_two_ranks_have_the_numbers_of_all_images(tmp_path: Path, seed: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(run_rank, args=(port, seed, str(tmp_path)), nprocs=2)
    for rank in range(2):
        assert np.array_equal(json.loads((tmp_path / f"{rank}.json").read_text()), alone(seed), equal_nan=True)
