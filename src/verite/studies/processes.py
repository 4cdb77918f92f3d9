"""Who measures with a slow function of one's own? New processes, which find it by its module and name."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from typing import Any, TypeVar

from verite.metrics.catalogue import metric
from verite.studies.rows import Row

T = TypeVar("T")
Named = tuple[tuple[str, str, bool], ...]  # label, path and direction of each row


def can_move(row: Row) -> bool:
    """Can a new process find this row's function?"""
    path = row.metric.path
    return row.is_own and ":" in path and "<" not in path and not path.startswith("__main__:")


def name_rows(rows: Sequence[Row]) -> Named:
    return tuple((row.label, row.metric.path, row.is_penalty) for row in rows)


@cache
def find_rows(named: Named) -> tuple[Row, ...]:
    """The rows behind names, in the process that was told them."""
    return tuple(Row(label, metric(path), is_penalty) for label, path, is_penalty in named)


def leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_in_processes(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, T]]:
    """Do tasks in so many new processes and give what is done as it comes, with its place."""
    if not tasks:
        return
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, leave_interrupts_to_the_parent) as pool:
        try:
            waiting: dict[Future[T], int] = {pool.submit(function, *task): i for i, task in enumerate(tasks)}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            # Waited for: a pool that ends while Python does complains about its closed pipe.
            pool.shutdown(wait=True, cancel_futures=True)
            raise
