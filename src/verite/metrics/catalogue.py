"""Which localization metrics are there? The shelf they are declared on, and the way from a name to a metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from verite.arrays import np
from verite.errors import BadParameter, DataError, UnknownMetric, VeriteError, did_you_mean, excerpt
from verite.metrics.metric import Metric, Record, make_record, parse
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of
from verite.pairs import Array, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRIC_MODULES = ("box", "contour", "contour_distance", "region", "partition")

F = TypeVar("F", bound=Callable[..., Any])

RECORDS: dict[str, Record] = {}

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {}  # folded alias: name and parameters


def localization(**facts: Any) -> Callable[[F], F]:
    """Declare a metric: a function from `Pairs` to one value a pair; its keyword-only arguments are its parameters.

    From the function and these facts come its name in Python and on the command line, its card, its checks and its
    signature:

    on        "box", "contour" or "region": what it looks at
    bounds    lowest and highest value      best    what two identical regions get
    symmetric does exchanging truth and pred change nothing?
    unit      "px", "%", …                  cite    where it comes from
    aliases   other names, or a mapping from names to parameters
    empty     what it says where a region is empty (`Empty`); usually the best if both are, the worst if one is
    ranges    what parameters may be, e.g. {"quantile": "(0, 1]"}
    variants  values of its parameter `variant`, each with a sentence
    distance  does it measure distances, in pixels or in the unit of a spacing? Usually where its unit is px or px²
    volumes   is it defined in three dimensions, too?
    points    is it defined for boxes without an area? Usually two of them are refused
    image     does it need the size of the image?    labels  is it defined for images of several objects?

    >>> import numpy as np
    >>> @localization(on="box", bounds=(0, 1), best=1, symmetric=True)
    ... def wider(p, *, power: float = 1.0):
    ...     "Ratio of the widths."
    ...     a, b = (box[:, 2] - box[:, 0] for box in (p.truth_box, p.pred_box))
    ...     return (np.minimum(a, b) / np.maximum(a, b)) ** power
    >>> metric("wider(power=2)")([0, 0, 2, 2], [0, 0, 4, 2])
    0.25
    >>> forget("wider")
    """

    def declare(function: F) -> F:
        register(make_record(function, **facts))
        return function

    return declare


def register(record: Record) -> None:
    """Put a record on the shelf; a name that another function has is refused."""
    names = {record.name: {}, **record.aliases}
    for name, parameters in names.items():
        key = name.casefold()
        taken = ALIASES.get(key)
        if taken is not None and not is_same(RECORDS[taken[0]], record):
            raise BadParameter(f"metric: expected a new name, found {name!r}, which is {taken[0]}")
        record.check(parameters)
        ALIASES[key] = (record.name, dict(parameters))
    RECORDS[record.name] = record


def is_same(a: Record, b: Record) -> bool:
    """The same declaration, met again because its module was loaded again."""
    return (a.function.__module__, a.function.__qualname__) == (b.function.__module__, b.function.__qualname__)


def forget(name: str) -> None:
    """Take a metric off the shelf."""
    record = RECORDS.pop(name)
    for alias in (name, *record.aliases):
        ALIASES.pop(alias.casefold(), None)


def records() -> dict[str, Record]:
    """Every declared metric by its name."""
    stock()
    return dict(RECORDS)


@cache
def stock() -> None:
    for shelf in METRIC_MODULES:
        import_module(f"verite.metrics.{shelf}")


def metric(name: str | Metric | Callable[..., Any], **parameters: Any) -> Metric:
    """The metric of this name, with parameters in the name or beside it.

    A name is `gce`, an alias in any spelling of case (`MARgce`), `hausdorff(quantile=0.95)`, or
    `package.module:function` for a function of your own; the function itself will do, too. It takes `Pairs` and returns
    an array, or takes two masks and returns a number.

    >>> metric("gce")
    <metric gce: best 0, lower is better>
    >>> metric("HAU", quantile=0.95).name
    'hausdorff(quantile=0.95)'
    """
    if isinstance(name, Metric):
        return Metric(name.record, name.record.check({**name.parameters, **parameters}))
    if callable(name):
        record = record_of(name)
        return Metric(record, record.check(parameters))
    word, written = parse(name)
    twice = sorted(set(written) & set(parameters))
    if twice:
        raise BadParameter(f"{word}: expected {twice[0]} once, found it in the name and beside it")
    if ":" in word:
        record, given = record_of(import_function(word)), {}
    else:
        stock()
        found = ALIASES.get(word.casefold())
        if found is None:
            raise UnknownMetric(
                f"metric: expected one of {len(RECORDS)} (see verite metrics), or package.module:function, "
                f"found {excerpt(word)}{did_you_mean(word, known_names())}"
            )
        record, given = RECORDS[found[0]], found[1]
    return Metric(record, record.check({**given, **written, **parameters}))


def known_names() -> list[str]:
    """Every name and alias as it is written."""
    stock()
    return [name for record in RECORDS.values() for name in (record.name, *record.aliases)]


def record_of(function: Callable[..., Any]) -> Record:
    """The record of a function: as it was declared, or with no more facts than a function has."""
    for record in RECORDS.values():
        if record.function is function:
            return record
    path = f"{function.__module__}:{function.__qualname__}" if hasattr(function, "__qualname__") else ""
    is_found_again = path and "<" not in path and not path.startswith("__main__:")
    name = path if is_found_again else None
    if takes_two(function):
        return make_record(over_masks(function), name=name or plain_name(function), image=True)
    return make_record(function, name=name)


def import_function(path: str) -> Callable[..., Any]:
    """The function behind `package.module:function`."""
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except VeriteError:
        raise
    except Exception as error:
        raise UnknownMetric(f"metric {path}: expected a function, found {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UnknownMetric(f"metric {path}: expected a function, found {type(found).__name__}")
    return found


def every_metric() -> list[Metric]:
    """Every declared metric at its defaults."""
    return [Metric(record, record.check({})) for record in records().values()]


def takes_two(function: Callable[..., Any]) -> bool:
    """Does a function want two regions, rather than pairs of them?"""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is p.empty for p in parameters) == 2


def plain_name(function: Callable[..., Any]) -> str:
    found = getattr(function, "__name__", type(function).__name__)
    return found if found.isidentifier() else "own"


class Masks:
    """One side of many pairs as arrays; a mask that is asked for again is not drawn again."""

    def __init__(self, runs: RLEMasks, rows: NDArray[np.integer]) -> None:
        self.runs, self.rows = runs, rows
        self.last: tuple[int, NDArray[np.bool_]] | None = None

    def __getitem__(self, i: int) -> NDArray[np.bool_]:
        row = int(self.rows[i])
        if self.last is None or self.last[0] != row:
            mask = array_of(self.runs, row)
            mask.flags.writeable = False  # it may be shown again
            self.last = row, mask
        return self.last[1]


def over_masks(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of two masks as one of many pairs."""

    def measure(pairs: Pairs, **parameters: Any) -> Array:
        truth, pred = (Masks(RLEMasks(side.counts, side.objects, side.sizes), side.rows) for side in pairs.sides())
        found = np.empty(len(pairs))
        for i in range(len(pairs)):
            value = function(truth[i], pred[i], **parameters)
            try:
                found[i] = value
            except (TypeError, ValueError):
                name = plain_name(function)
                raise DataError(f"{name}: expected a number for two masks, found {type(value).__name__}") from None
        return found

    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    pairs = inspect.Parameter("pairs", inspect.Parameter.POSITIONAL_ONLY)
    measure.__signature__ = inspect.Signature([pairs, *parameters])  # type: ignore[attr-defined]
    measure.__doc__, measure.__name__ = function.__doc__, plain_name(function)
    measure.__module__ = getattr(function, "__module__", None) or "own"
    return measure
