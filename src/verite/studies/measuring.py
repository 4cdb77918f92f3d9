"""Measure every metric on every altered region of a study, in both directions, in threads or processes.

M(truth, result) and M(result, truth) are measured of each row, ground truth and sweep. Metrics of the catalogue run in
threads; users' functions that can be imported may run in new processes. The values do not depend on the number of
either.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from verite._core import Stop
from verite.metrics.catalogue import metric
from verite.model.polygons import RLEMasks
from verite.model.rasters import frames_of, runs_of
from verite.model.regions import Regions
from verite.model.shapes import Shapes
from verite.pairs import Pairs
from verite.studies.rows import PenaltyRule, Row
from verite.studies.sweeps import Sweep
from verite.studies.truths import Truth

T = TypeVar("T")

Named = tuple[tuple[str, str, bool], ...]  # label, path and direction of each row


def can_be_imported(row: Row) -> bool:
    """Whether a new process can import this row's function."""
    path = row.metric.path
    return row.is_own and ":" in path and "<" not in path and not path.startswith("__main__:")


@cache
def find_rows(named: Named) -> tuple[Row, ...]:
    """Look up rows by name, in a new process."""
    return tuple(Row(label, metric(path), is_penalty) for label, path, is_penalty in named)


def call_with_rows(function: Callable[..., T], named: Named, arguments: tuple[Any, ...]) -> T:
    """Call a function of rows, further arguments and a stop signal, in a new process."""
    return function(find_rows(named), *arguments, Stop())


def run_in_processes(
    function: Callable[..., T], rows: Sequence[Row], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, T]]:
    """Call a function of rows in new processes; yield the position and result of each task as it finishes.

    Parameters
    ----------
    function : callable
        Called with the rows, the values of a task, and a :class:`Stop`.
    rows : Sequence of Row
        Metrics that a new process can import; see :func:`can_be_imported`.
    tasks : Sequence of tuple
        Arguments of each call.
    jobs : int
        Largest number of processes.
    """
    if not tasks:
        return
    named = tuple((row.label, row.metric.path, row.is_penalty) for row in rows)
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    leave_interrupts_to_parent = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, leave_interrupts_to_parent) as pool:
        try:
            waiting: dict[Future[T], int] = {
                pool.submit(call_with_rows, function, named, task): i for i, task in enumerate(tasks)
            }
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            # Wait: a pool that ends during interpreter exit prints an error about its closed pipe.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


Floats = NDArray[np.float64]

# Results measured together: an interrupt takes effect between two chunks, and users' functions may be slow.
PART, OWN_PART = 1024, 128

Progress = Callable[[int], None]  # called with the number of results that were measured


@dataclass(frozen=True, eq=False)
class Values:
    """The values of every row for one ground truth under one sweep.

    Parameters
    ----------
    forward, backward : array of float, [row, …]
        M(truth, result) and M(result, truth), in the shape of the sweep.
    is_same : array of bool, […]
        Whether the result equals the ground truth.
    origin : tuple
        Index of the unaltered ground truth.
    """

    forward: Floats
    backward: Floats
    is_same: NDArray[np.bool_]
    origin: tuple[int | slice, ...]

    @property
    def itself(self) -> Floats:
        """M(truth, truth), one value per row."""
        at = self.forward[(slice(None), *self.origin)]
        return at if at.ndim == 1 else at[:, 0]


Measured = Mapping[tuple[str, str], Values]  # by truth and sweep


def tasks_of(truths: Sequence[Truth], sweeps: Sequence[Sweep]) -> list[tuple[Truth, Sweep]]:
    """Return every pair of ground truth and sweep to measure; a sweep may have ground truths of its own."""
    return [(truth, sweep) for sweep in sweeps for truth in (sweep.truths or truths)]


def count_results(truths: Sequence[Truth], sweeps: Sequence[Sweep]) -> int:
    """Return the number of altered regions, without the unaltered ones."""
    return sum(results_of(truth, sweep) for truth, sweep in tasks_of(truths, sweeps))


def results_of(truth: Truth, sweep: Sweep) -> int:
    """Return the number of altered regions of one ground truth under one sweep.

    Parameters
    ----------
    truth
        The ground-truth region.
    sweep
        The alteration with the grid of its parameters.

    Returns
    -------
    int
        The number; the parameters that change nothing are counted out.
    """
    shape = sweep.shape(truth)
    unaltered = np.zeros(shape)[sweep.origin(truth)].size
    return int(np.prod(shape)) - unaltered


def measure_all(
    rows: Sequence[Row],
    truths: Sequence[Truth],
    sweeps: Sequence[Sweep],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    processes: bool = False,
) -> dict[tuple[str, str], Values]:
    """Measure every row, ground truth and sweep; the values are identical for any number of jobs.

    Parameters
    ----------
    rows : Sequence of Row
        The metrics.
    truths, sweeps : Sequence
        Ground truths and alterations; a sweep may have ground truths of its own.
    jobs : int, default 1
        Number of threads.
    progress : callable, optional
        Called with the number of results that were measured.
    processes : bool, default False
        Run users' functions in as many new processes; the metrics of the catalogue run in threads.

    Returns
    -------
    dict of Values
        By name of the ground truth and name of the sweep.
    """
    away = [i for i, row in enumerate(rows) if processes and jobs > 1 and can_be_imported(row)]
    here = [i for i in range(len(rows)) if i not in away]
    tasks, stop = tasks_of(truths, sweeps), Stop()
    parts: list[dict[tuple[str, str], Values]] = []
    if here or not away:
        work = [partial(measure, [rows[i] for i in here], truth, sweep, stop) for truth, sweep in tasks]
        parts.append(collect(run_all(work, jobs, stop), tasks, None if away else progress))
    if away:
        done = run_in_processes(measure, [rows[i] for i in away], tasks, jobs)
        parts.append(collect(done, tasks, progress))
    return merge_rows(parts, np.argsort([*here, *away]))


def collect(
    done: Iterator[tuple[int, Values]], tasks: Sequence[tuple[Truth, Sweep]], progress: Progress | None
) -> dict[tuple[str, str], Values]:
    """Collect results as they finish, and return them in the order of the tasks."""
    found: dict[tuple[str, str], Values] = {}
    for i, values in done:
        truth, sweep = tasks[i]
        found[truth.name, sweep.name] = values
        if progress is not None:
            progress(results_of(truth, sweep))
    return {(truth.name, sweep.name): found[truth.name, sweep.name] for truth, sweep in tasks}


def merge_rows(
    parts: Sequence[dict[tuple[str, str], Values]], order: NDArray[np.integer]
) -> dict[tuple[str, str], Values]:
    """Merge rows that were measured separately, in their order."""
    if len(parts) == 1:
        return parts[0]
    return {
        key: replace(
            values,
            forward=np.concatenate([part[key].forward for part in parts])[order],
            backward=np.concatenate([part[key].backward for part in parts])[order],
        )
        for key, values in parts[0].items()
    }


def run_all(work: Sequence[Callable[[], T]], jobs: int, stop: Stop) -> Iterator[tuple[int, T]]:
    """Run the work in threads; yield the position and result of each as it finishes."""
    if jobs == 1:
        yield from ((i, todo()) for i, todo in enumerate(work))
        return

    def run_one(todo: Callable[[], T]) -> T:
        with stop:  # so that the loops of the core stop with it
            return todo()

    with ThreadPoolExecutor(jobs) as pool:
        try:
            waiting: dict[Future[T], int] = {pool.submit(run_one, todo): i for i, todo in enumerate(work)}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class Stopped(Exception):  # noqa: N818 - not an error: another thread failed or was interrupted
    """The work was cancelled."""


def measure(rows: Sequence[Row], truth: Truth, sweep: Sweep, stop: Stop) -> Values:
    """Measure one ground truth under one sweep.

    Parameters
    ----------
    rows
        The metrics to study.
    truth
        The ground-truth region.
    sweep
        The alteration with the grid of its parameters.
    stop
        Set from another thread to end the work early, in the core too.

    Returns
    -------
    Values
        Values of every metric with the roles of both regions as they are and exchanged, for the test of symmetry.
    """
    shape = sweep.shape(truth)
    forward, backward, is_same = values_of(rows, truth.mask[None], sweep.rasterise(truth), stop)
    full = (len(rows), *shape)
    return Values(forward.reshape(full), backward.reshape(full), is_same.reshape(shape), sweep.origin(truth))


def values_of(
    rows: Sequence[Row],
    truth: NDArray[np.bool_],
    results: RLEMasks,
    stop: Stop | None = None,
    *,
    both_ways: bool = True,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Measure rows on pairs of one ground truth, or as many, and results.

    Parameters
    ----------
    rows : Sequence of Row
        The metrics.
    truth : array of bool, [1 or n, height, width]
        Mask of the ground truth.
    results : RLEMasks
        The n altered regions.
    stop : Stop, optional
        Ends the work early, with :class:`Stopped`.
    both_ways : bool, default True
        Whether M(result, truth) is measured; nan otherwise.

    Returns
    -------
    forward, backward : array of float, [row, result]
        M(truth, result) and M(result, truth).
    is_same : array of bool
        Results equal to the ground truth.
    """
    pairs = pairs_of(runs_of(truth), results)
    both = np.empty((2, len(rows), len(pairs)))
    is_same = np.empty(len(pairs), dtype=np.bool_)
    start = 0
    for part in pairs.chunks(OWN_PART if any(row.is_own for row in rows) else PART):
        end = start + len(part)
        is_same[start:end] = (part.truth_area == part.shared_area) & (part.pred_area == part.shared_area)
        for i, row in enumerate(rows):
            if stop is not None and stop.is_set():
                raise Stopped
            both[0, i, start:end] = row.values(part)
            both[1, i, start:end] = row.values(part.swapped) if both_ways else np.nan
        start = end
    return both[0], both[1], is_same


def select_rows(measured: Measured, rows: slice | NDArray[np.integer]) -> dict[tuple[str, str], Values]:
    """Return the values of some of the rows."""
    return {key: replace(v, forward=v.forward[rows], backward=v.backward[rows]) for key, v in measured.items()}


def penalty_rules_of(rows: Sequence[Row], measured: Measured) -> list[PenaltyRule]:
    """Return the conversion to penalties of each row, from its declaration or from all of its values.

    Parameters
    ----------
    rows
        The metrics.
    measured
        Values of all metrics under all alterations.

    Returns
    -------
    list[PenaltyRule]
        How a value becomes a penalty that grows with the error: similarities are turned round.
    """
    parts = list(measured.values())
    itself = np.stack([part.itself for part in parts])
    means = np.mean([part.forward.reshape(len(rows), -1).mean(axis=1) for part in parts], axis=0)
    return [row.penalty_rule(itself[:, i], float(means[i])) for i, row in enumerate(rows)]


def pairs_of(truth: RLEMasks, results: RLEMasks) -> Pairs:
    """Pair results with one ground truth, or with as many."""
    mine = np.zeros(len(results), dtype=np.int64) if len(truth) == 1 else np.arange(len(results), dtype=np.int64)
    return Pairs.from_shapes(shapes_of(truth), shapes_of(results), mine, np.arange(len(results), dtype=np.int64))


def shapes_of(runs: RLEMasks) -> Shapes:
    """Return masks as regions with their image sizes."""
    return Shapes(Regions(frames_of(runs), runs=runs), runs.sizes)
