"""How are parts evaluated by many processes or machines, some of which may die on the way?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
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
AT_ONCE = 1000  # parts that are handed in together where nobody knows how many workers there are


class LostPart(VeriteError, RuntimeError):  # noqa: N818 - it is what is missing
    """A part whose worker died again and again."""


def evaluate_parts(
    truth: Any,
    pred: Any = None,
    protocol: str = "coco",
    *,
    executor: Executor | Callable[[], Executor] | None = None,
    parts: int | None = None,
    **settings: Any,
) -> Results:
    """The results of many parts, each of which some worker evaluates: to the last bit those of all images at once.

    `truth` and `pred` are lists, quoted globs, folders or lists in files (`@files.txt`) of as many shards, the first of
    the truth with the first of the predictions; or `truth` is a list of such pairs or of parts, and `pred` is left out.
    `parts` puts neighbouring shards together to so many parts.

    `executor` is any :class:`concurrent.futures.Executor`, for example a process pool or dask's
    ``Client.get_executor()``, or a function that makes one; without it parts are evaluated here, one after the other. A
    part that is lost with its worker is handed in again, up to three times, in a new pool if the old one broke; then it
    is named. What is wrong with the data ends the evaluation at once.
    """
    pairs = pair_shards(truth, pred, parts)
    if pairs and all(isinstance(pair, PartialResult) for pair in pairs):
        return compute(pairs, **settings)
    named = {key: settings.pop(key) for key in ("name", "per", "curves", "duplicates") if key in settings}
    work = [(one, two, protocol, settings) for one, two in pairs]
    found = list(map(evaluate_one, work)) if executor is None else run_all(work, executor)
    check_order(found)
    return compute(found, is_in_order=True, **named)


def evaluate_one(work: tuple[Any, Any, str, dict[str, Any]]) -> PartialResult:
    """What a worker does."""
    truth, pred, protocol, settings = work
    return partial(truth, pred, protocol, **settings)


def pair_shards(truth: Any, pred: Any, parts: int | None = None) -> list[Any]:
    """Shards of truth and predictions side by side; neighbours together where there are to be fewer parts."""
    if pred is None:
        if not isinstance(truth, Sequence) or isinstance(truth, str):
            raise BadParameter(
                "predictions: expected some beside the truth, or a list of parts instead of both, found none"
            )
        return list(truth)
    truths, preds = (list_shards(side) for side in (truth, pred))
    if len(truths) != len(preds):
        raise BadParameter(
            f"parts: expected as many shards of predictions as of the truth, found {len(preds)} and {len(truths)}; "
            "the first belongs to the first"
        )
    if parts is None or check_whole("parts", parts, 1) >= len(truths):
        return list(zip(truths, preds, strict=True))
    cuts = [len(truths) * i // parts for i in range(parts + 1)]
    return [(truths[a:b], preds[a:b]) for a, b in pairwise(cuts)]


def run_all(work: Sequence[Any], executor: Executor | Callable[[], Executor]) -> list[PartialResult]:
    """What workers made of all parts, in their order; lost ones are handed in again."""
    found: dict[int, PartialResult] = {}
    lost: dict[int, int] = {}
    with Pools(executor) as pools:
        while len(found) < len(work):
            # After a pool broke, what was under way is tried one by one, so that the innocent are not blamed again.
            suspects = [i for i in lost if i not in found]
            waiting = suspects or [i for i in range(len(work)) if i not in found]
            try:
                hand_in(work, deque(waiting), 1 if suspects else pools.at_once, pools, found, lost)
            except BrokenPool:
                pools.renew()
    return [found[i] for i in range(len(work))]


class BrokenPool(Exception):  # noqa: N818 - never leaves this module
    """The executor takes no more work."""


def hand_in(
    work: Sequence[Any],
    waiting: deque[int],
    at_once: int,
    pools: Pools,
    found: dict[int, PartialResult],
    lost: dict[int, int],
) -> None:
    """Keeps so many parts under way until none waits."""
    futures: dict[Future[PartialResult], int] = {}

    def settle(future: Future[PartialResult]) -> None:
        i = futures.pop(future)
        try:
            found[i] = future.result()
        except Exception as error:
            if not is_loss(error):
                raise
            blame(i, work, lost, error)
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


def blame(i: int, work: Sequence[Any], lost: dict[int, int], error: Exception) -> None:
    """Counts the loss of a part, and names it when there were too many."""
    lost[i] = lost.get(i, 0) + 1
    if lost[i] >= TRIES:
        where = one_line(f"{work[i][0]} and {work[i][1]}")[:200]
        raise LostPart(
            f"part {i + 1} of {len(work)} ({where}): expected a worker that lives, found {TRIES} that died "
            f"({type(error).__name__}); is there enough memory?"
        ) from None


def is_loss(error: BaseException) -> bool:
    """Did the worker die, rather than say what is wrong?"""
    if isinstance(error, VeriteError):
        return False
    kinds = (BrokenExecutor, CancelledError, ConnectionError, EOFError, TimeoutError)
    return isinstance(error, kinds) or type(error).__module__.partition(".")[0] == "distributed"


class Pools:
    """An executor, and its successors when it breaks; what was made here is closed here."""

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
        """Parts that may be under way: what a broken pool loses are only these."""
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
        """Another pool of the same kind."""
        old = self.current
        if self.make is not None:
            self.current = self.make()
        elif isinstance(old, ProcessPoolExecutor):
            shape = [vars(old)[name] for name in ("_max_workers", "_mp_context", "_initializer", "_initargs")]
            self.current = ProcessPoolExecutor(*shape)
        else:
            raise BadParameter(f"executor: expected one that can be made again, found a broken {type(old).__name__}")
        self.own.append(self.current)
