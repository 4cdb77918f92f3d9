"""Evaluation of shards by many processes or machines, with retries for workers that die."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, VeriteError, one_line
from verite.formats import Readable, list_shards
from verite.scale.partial import PartialResult, check_order, compute, partial
from verite.settings import check_whole

if TYPE_CHECKING:
    from verite.model.results import Results

Pair = tuple[Readable, Readable]
TRIES = 3
AT_ONCE = 1000  # shards submitted together if the number of workers is unknown


class LostPart(VeriteError, RuntimeError):  # noqa: N818 - it is what is missing
    """The worker of a shard died three times in a row; the message names the shard.

    Parameters
    ----------
    message : str
        One line with the shard and what to do.

    Examples
    --------
    >>> try:
    ...     evaluate_parts("truth/*.json", "pred/*.json", executor=executor)        # doctest: +SKIP
    ... except LostPart as error:
    ...     print(error)                                                           # doctest: +SKIP
    """


def evaluate_parts(
    truth: Any,
    pred: Any = None,
    protocol: str = "coco",
    *,
    executor: Executor | Callable[[], Executor] | None = None,
    parts: int | None = None,
    **settings: Any,
) -> Results:
    """Evaluate the shards of a dataset, by several workers if an executor is given.

    The results are bit for bit those of one evaluation of all images. A shard that is lost with its worker is submitted
    again, up to three times, in a new pool if the old one broke. An error in the data ends the evaluation at once.

    Parameters
    ----------
    truth : sequence, str or path
        Shards of the ground truth: a list, a quoted glob, a folder, or a list in a file (``@files.txt``). Alternatively
        a list of pairs (ground truth, predictions) or of partial results; `pred` is then left out.
    pred : sequence, str or path, optional
        Shards of the predictions, as many as of the ground truth and in the same order.
    protocol : str, default 'coco'
        The protocol: any but imagenet-loc, semantic and track.
    executor : concurrent.futures.Executor or callable, optional
        A process pool, dask's ``Client.get_executor()``, or a function that makes an executor. By default shards are
        evaluated in this process, one after the other.
    parts : int, optional
        Number of parts to which neighbouring shards are joined; by default every shard is a part.
    **settings
        Settings of the protocol.

    Returns
    -------
    Results
        The results of the protocol.

    Raises
    ------
    BadParameter
        If the numbers of shards differ, or a setting is unknown.
    DataError
        If shards do not fit together, for example because an image is in two of them.
    LostPart
        If the workers of a shard died three times.

    Examples
    --------
    >>> import verite as vt
    >>> truth = [vt.Annotations.of([image], ["cat"], [[0, 0, 9, 9]]) for image in "ab"]
    >>> pred = [vt.Annotations.of([image], ["cat"], [[0, 0, 9, 9]], confidence=[0.9]) for image in "ab"]
    >>> vt.evaluate_parts(truth, pred, "voc")["mAP"].value
    1.0
    """
    pairs = pair_shards(truth, pred, parts)
    if pairs and all(isinstance(pair, PartialResult) for pair in pairs):
        return compute(pairs, **settings)
    named = {key: settings.pop(key) for key in ("name", "per", "curves", "duplicates") if key in settings}
    work = [(one, two, protocol, settings) for one, two in pairs]
    found = list(map(evaluate_one, work)) if executor is None else run_all(work, executor)
    check_order(found)
    return compute(found, is_in_order=True, **named)


def evaluate_one(work: tuple[Readable, Readable, str, Mapping[str, Any]]) -> PartialResult:
    """Evaluate one shard; the function that workers run."""
    truth, pred, protocol, settings = work
    return partial(truth, pred, protocol, **settings)


def pair_shards(truth: Any, pred: Any, parts: int | None = None) -> list[Any]:
    """Return pairs of shards of ground truth and predictions, neighbours joined to `parts` parts."""
    if pred is None:
        if not isinstance(truth, Sequence) or isinstance(truth, str):
            raise BadParameter(
                "predictions: expected some with the ground truth, or a list of parts instead of both, found none"
            )
        return list(truth)
    truths, preds = (list_shards(side) for side in (truth, pred))
    if len(truths) != len(preds):
        raise BadParameter(
            f"parts: expected as many shards of predictions as of the ground truth, found {len(preds)} and "
            f"{len(truths)}; shards are paired in order"
        )
    if parts is None or check_whole("parts", parts, 1) >= len(truths):
        return list(zip(truths, preds, strict=True))
    cuts = [len(truths) * i // parts for i in range(parts + 1)]
    return [(truths[a:b], preds[a:b]) for a, b in pairwise(cuts)]


def run_all(work: Sequence[Any], executor: Executor | Callable[[], Executor]) -> list[PartialResult]:
    """Return the partial results of all shards in their order; lost shards are submitted again."""
    found: dict[int, PartialResult] = {}
    lost: dict[int, int] = {}
    with Pools(executor) as pools:
        while len(found) < len(work):
            # After a pool broke, the shards that were running are tried one by one, to find the one that breaks it.
            suspects = [i for i in lost if i not in found]
            waiting = suspects or [i for i in range(len(work)) if i not in found]
            try:
                hand_in(work, deque(waiting), 1 if suspects else pools.at_once, pools, found, lost)
            except BrokenPool:
                pools.renew()
    return [found[i] for i in range(len(work))]


class BrokenPool(Exception):  # noqa: N818 - never leaves this module
    """The executor accepts no more work."""


def hand_in(
    work: Sequence[Any],
    waiting: deque[int],
    at_once: int,
    pools: Pools,
    found: dict[int, PartialResult],
    lost: dict[int, int],
) -> None:
    """Keep `at_once` shards running until none is waiting."""
    futures: dict[Future[PartialResult], int] = {}

    def settle(future: Future[PartialResult]) -> None:
        i = futures.pop(future)
        try:
            found[i] = future.result()
        except Exception as error:
            kinds = (BrokenExecutor, CancelledError, ConnectionError, EOFError, TimeoutError)
            is_lost = isinstance(error, kinds) or type(error).__module__.partition(".")[0] == "distributed"
            if isinstance(error, VeriteError) or not is_lost:  # raised about the data: the worker lives
                raise
            # Count the loss of a shard; raise `LostPart` after `TRIES` losses.
            lost[i] = lost.get(i, 0) + 1
            if lost[i] >= TRIES:
                where = one_line(f"{work[i][0]} and {work[i][1]}")[:200]
                raise LostPart(
                    f"part {i + 1} of {len(work)} ({where}): expected a worker that lives, found {TRIES} that died "
                    f"({type(error).__name__}); is there enough memory?"
                ) from None
            waiting.appendleft(i)

    try:
        while waiting or futures:
            while waiting and len(futures) < at_once:
                futures[pools.submit(work[waiting[0]])] = waiting[0]
                waiting.popleft()
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                settle(future)
            if pools.is_broken:
                raise BrokenPool
    except BrokenPool:
        for future in wait(futures).done:
            settle(future)
        raise
    finally:
        for future in futures:
            future.cancel()


class Pools:
    """An executor and its replacements after it broke; pools made here are shut down here."""

    def __init__(self, given: Executor | Callable[[], Executor]) -> None:
        self.make = given if callable(given) and not hasattr(given, "submit") else None
        self.current: Any = self.make() if self.make else given
        self.own: list[Any] = [self.current] if self.make else []
        if not hasattr(self.current, "submit"):
            raise BadParameter(f"executor: expected one with submit(), found {type(given).__name__}")

    def __enter__(self) -> Pools:
        return self

    def __exit__(self, *error: object) -> None:
        for pool in self.own:
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def at_once(self) -> int:
        """Number of shards that may run at a time: a broken pool loses only these."""
        workers = getattr(self.current, "_max_workers", None)
        return workers + 1 if isinstance(self.current, ProcessPoolExecutor) and workers else AT_ONCE

    @property
    def is_broken(self) -> bool:
        return bool(getattr(self.current, "_broken", False))

    def submit(self, work: Any) -> Future[PartialResult]:
        try:
            future: Future[PartialResult] = self.current.submit(evaluate_one, work)
        except BrokenExecutor:
            raise BrokenPool from None
        return future

    def renew(self) -> None:
        """Replace a broken pool by a new one of the same kind."""
        old = self.current
        if self.make is not None:
            self.current = self.make()
        elif isinstance(old, ProcessPoolExecutor):
            shape = [vars(old)[name] for name in ("_max_workers", "_mp_context", "_initializer", "_initargs")]
            self.current = ProcessPoolExecutor(*shape)
        else:
            raise BadParameter(f"executor: expected one that can be made again, found a broken {type(old).__name__}")
        self.own.append(self.current)
