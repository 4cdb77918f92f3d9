"""The catalogue of localization metrics: declare a metric with a decorator, look one up by name.

Metrics of the package live in the modules `METRIC_MODULES`, imported when the first name is looked up. A function of a
user becomes a metric by the decorator :func:`localization`, by its path ``package.module:function``, or as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from verite.arrays import np
from verite.errors import BadParameter, DataError, UnknownMetric, VeriteError, did_you_mean, excerpt
from verite.metrics.metric import (
    Bounds,
    Empty,
    Metric,
    MetricRecord,
    On,
    ParameterValue,
    Variant,
    make_record,
    parse_call,
)
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of
from verite.pairs import Array, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRIC_MODULES = ("box", "contour", "contour_distance", "region", "partition")
F = TypeVar("F", bound=Callable[..., Any])
RECORDS: dict[str, MetricRecord] = {}
ALIASES: dict[str, tuple[str, dict[str, ParameterValue]]] = {}  # folded alias: name and parameters


def localization(
    *,
    on: On = "region",
    bounds: Bounds | Callable[..., Bounds] = (-inf, inf),
    best: float | None = None,
    symmetric: bool = False,
    unit: str = "",
    cite: str = "",
    aliases: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    empty: Empty | None = None,
    ranges: Mapping[str, str] | None = None,
    variants: Mapping[str, str | Variant] | None = None,
    image: bool = False,
    labels: bool = False,
    volumes: bool = False,
    distance: bool | None = None,
    points: bool = False,
    name: str | None = None,
    rev: int = 1,
) -> Callable[[F], F]:
    """Declare a localization metric: a function of `Pairs` that returns one value per pair.

    The function's keyword-only arguments are the metric's parameters. From the function and these facts come its name
    in Python and on the command line, its card (``verite metrics NAME``), its checks and its signature. The first
    paragraph of its docstring is the summary, the second the formula.

    Parameters
    ----------
    on : {"region", "box", "contour"}, default "region"
        What the metric compares.
    bounds : (float, float) or callable, default (-inf, inf)
        Lowest and highest value, or a function of the parameters that returns them.
    best : float, optional
        The value of two identical regions.
    symmetric : bool, default False
        Whether exchanging ground truth and prediction leaves the value unchanged.
    unit : str, default ""
        Unit of the values, e.g. "px" or "%".
    cite : str, default ""
        The publication that defines the metric.
    aliases : sequence of str, or mapping from str to parameters, default ()
        Other names.
    empty : Empty, optional
        Values for empty regions. Default: the best value if both are empty, the worst if one is and it is finite.
    ranges : mapping, optional
        Intervals of numeric parameters, e.g. ``{"quantile": "(0, 1]"}``.
    variants : mapping, optional
        Values of the parameter `variant`, each with a sentence or a `Variant`.
    image : bool, default False
        Whether the size of the image is needed; always so for contours.
    labels : bool, default False
        Whether it is defined for label images of several objects.
    volumes : bool, default False
        Whether it is defined in three dimensions.
    distance : bool, optional
        Whether it measures distances, which are in the unit of a spacing. Default: if its unit is px or px².
    points : bool, default False
        Whether it is defined for two boxes without an area.
    name : str, optional
        Name of the metric. Default: the function's.
    rev : int, default 1
        Revision of the definition, part of the signature.

    Returns
    -------
    callable
        A decorator that declares the function and returns it unchanged.

    Raises
    ------
    BadParameter
        If facts contradict each other, a parameter has no default, or the name belongs to another function.

    Examples
    --------
    >>> import numpy as np
    >>> @localization(on="box", bounds=(0, 1), best=1, symmetric=True)
    ... def width_ratio(p, *, power: float = 1.0):
    ...     "Ratio of the widths."
    ...     a, b = (box[:, 2] - box[:, 0] for box in (p.truth_box, p.pred_box))
    ...     return (np.minimum(a, b) / np.maximum(a, b)) ** power
    >>> metric("width_ratio(power=2)")([0, 0, 2, 2], [0, 0, 4, 2])
    0.25
    >>> forget("width_ratio")
    """

    def declare(function: F) -> F:
        record = make_record(
            function, on=on, bounds=bounds, best=best, symmetric=symmetric, unit=unit, cite=cite, aliases=aliases,
            empty=empty, ranges=ranges, variants=variants, image=image, labels=labels, volumes=volumes,
            distance=distance, points=points, name=name, rev=rev,
        )  # fmt: skip
        for word, parameters in {record.name: {}, **record.aliases}.items():
            known = ALIASES.get(word.casefold())
            # The same declaration is met again when its module is loaded again.
            if known is not None and origin(RECORDS[known[0]].function) != origin(function):
                raise BadParameter(f"metric: expected a new name, found {word!r}, which is {known[0]}")
            record.check(parameters)
            ALIASES[word.casefold()] = (record.name, dict(parameters))
        RECORDS[record.name] = record
        return function

    return declare


def origin(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the module and the qualified name of a function."""
    return function.__module__, function.__qualname__


def forget(name: str) -> None:
    """Remove a metric and its aliases from the catalogue."""
    record = RECORDS.pop(name)
    for alias in (name, *record.aliases):
        ALIASES.pop(alias.casefold(), None)


@cache
def load_builtin() -> None:
    """Import the modules that declare the metrics of the package."""
    for module in METRIC_MODULES:
        import_module(f"verite.metrics.{module}")


def records() -> dict[str, MetricRecord]:
    """Return every declared metric by its name."""
    load_builtin()
    return dict(RECORDS)


def every_metric() -> list[Metric]:
    """Return every declared metric at its defaults."""
    return [Metric(record, record.check({})) for record in records().values()]


def metric(name: str | Metric | Callable[..., Any], **parameters: Any) -> Metric:
    """Look up a localization metric by name, or make one from a function.

    Parameters
    ----------
    name : str, Metric or callable
        A name such as ``gce``, an alias in any case (``MARgce``), a name with parameters
        (``hausdorff(quantile=0.95)``), ``package.module:function``, or a function: of `Pairs` that returns an array, or
        of two masks that returns a number.
    **parameters
        Parameters of the metric; ``verite metrics NAME`` lists them with their ranges and defaults.

    Returns
    -------
    Metric

    Raises
    ------
    UnknownMetric
        If there is no metric or function of this name.
    BadParameter
        If a parameter is unknown, given twice, or outside its range.

    Examples
    --------
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
    word, written = parse_call(name)
    twice = sorted(set(written) & set(parameters))
    if twice:
        raise BadParameter(f"{word}: expected {twice[0]} once, found it in the name and beside it")
    given: Mapping[str, Any] = {}
    if ":" in word:
        # Import the function of a path `package.module:function`.
        module, _, name = word.partition(":")
        try:
            found = getattr(import_module(module), name)
        except VeriteError:
            raise
        except Exception as error:
            raise UnknownMetric(f"metric {word}: expected a function, found {type(error).__name__}: {error}") from None
        if not callable(found):
            raise UnknownMetric(f"metric {word}: expected a function, found {type(found).__name__}")
        record = record_of(found)
    else:
        load_builtin()
        known = ALIASES.get(word.casefold())
        if known is None:
            names = [name for record in RECORDS.values() for name in (record.name, *record.aliases)]
            raise UnknownMetric(
                f"metric: expected one of {len(RECORDS)} metrics (see verite metrics), or package.module:function, "
                f"found {excerpt(word)}{did_you_mean(word, names)}"
            )
        record, given = RECORDS[known[0]], known[1]
    return Metric(record, record.check({**given, **written, **parameters}))


def record_of(function: Callable[..., Any]) -> MetricRecord:
    """Return the record of a declared function, or make one without facts for any other.

    A function with two required positional arguments is called with two masks, any other with `Pairs`.
    """
    for record in RECORDS.values():
        if record.function is function:
            return record
    path = f"{function.__module__}:{function.__qualname__}" if hasattr(function, "__qualname__") else ""
    can_be_imported = path and "<" not in path and not path.startswith("__main__:")
    name = path if can_be_imported else None
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return make_record(function, name=name)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(p.kind in positional and p.default is p.empty for p in parameters) == 2:
        return make_record(apply_to_masks(function), name=name or plain_name(function), image=True)
    return make_record(function, name=name)


def plain_name(function: Callable[..., Any]) -> str:
    """Return the name of a function as a word, "own" for a lambda and the like."""
    found = getattr(function, "__name__", type(function).__name__)
    return found if found.isidentifier() else "own"


class MaskArrays:
    """The masks of one side of many pairs as arrays; the last one is cached, as the next pair often has it again."""

    def __init__(self, runs: RLEMasks, rows: NDArray[np.integer]) -> None:
        self.runs, self.rows = runs, rows
        self.last: tuple[int, NDArray[np.bool_]] | None = None

    def __getitem__(self, i: int) -> NDArray[np.bool_]:
        row = int(self.rows[i])
        if self.last is None or self.last[0] != row:
            mask = array_of(self.runs, row)
            mask.flags.writeable = False  # it may be passed again
            self.last = row, mask
        return self.last[1]


def apply_to_masks(function: Callable[..., Any]) -> Callable[..., Array]:
    """Turn a function of two masks into one of `Pairs`, with the same keyword-only parameters and docstring."""

    def measure(pairs: Pairs, **parameters: Any) -> Array:
        truth, pred = (MaskArrays(RLEMasks(side.counts, side.objects, side.sizes), side.rows) for side in pairs.sides())
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
    measure.__wrapped__ = function  # type: ignore[attr-defined]  # an error is reported with the user's own line
    return measure
