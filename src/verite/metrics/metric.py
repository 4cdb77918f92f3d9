"""Localization metrics: a declared formula with its parameters, applied to one pair of regions or to many.

A metric (IoU, Dice, Hausdorff distance, …) is declared as a function of :class:`verite.Pairs` plus facts about it:
range, best value, unit, citation, values for empty regions. :class:`MetricRecord` holds the declaration,
:class:`Metric` adds the values of its parameters, and :func:`measure` computes several metrics of the same pairs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isinf
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import (
    BadParameter,
    DataError,
    VeriteError,
    did_you_mean,
    excerpt,
    give_sizes,
    one_line,
)
from verite.model.rasters import PolygonRule
from verite.model.shapes import LABEL_METRICS, Spacing, is_label_image, not_binary
from verite.pairs import Array, Pairs
from verite.pairs.store import Flags, is_flat
from verite.progress import begin
from verite.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NAME = re.compile(r"\s*([A-Za-z_][\w.]*(?::[A-Za-z_]\w*)?)\s*(?:\((.*)\))?\s*", re.DOTALL)
ARGUMENT = re.compile(r"""\s*([A-Za-z_]\w*)\s*=\s*("[^"]*"|'[^']*'|[^,'"()\s]+)\s*""")
ParameterValue = bool | int | float | str
On = Literal["box", "contour", "region"]
COMPARED = ("box", "contour", "region")
Bounds = tuple[float, float]
# The value of a metric where a region is empty: a number, the name of one of EMPTY_VALUES, a description with a
# function of the pairs and the parameters, or None where the formula itself is defined.
EmptyRule = float | str | tuple[str, Callable[..., Array]] | None
EMPTY_VALUES: dict[str, Callable[[Pairs], Array]] = {
    "diagonal": lambda p: p.diagonal,
    "diagonal²": lambda p: p.diagonal**2,
    # The cap of a ratio whose denominator is 0: the pixels of the image, infinity where its size is unknown.
    "pixels": lambda p: p.pixels if p.is_sized else np.full(len(p), inf),
}
CHUNK = 4096  # pairs whose lists of distances are in memory at the same time


def parse_call(text: str) -> tuple[str, dict[str, ParameterValue]]:
    """Parse NAME or NAME(PARAMETER=VALUE, …); quotes around words may be left out.

    >>> parse_call("hausdorff(quantile=0.95)")
    ('hausdorff', {'quantile': 0.95})
    >>> parse_call("baddeley(p=1, variant=as-run)")
    ('baddeley', {'p': 1, 'variant': 'as-run'})
    """
    whole = NAME.fullmatch(text) if isinstance(text, str) else None
    if whole is None:
        raise BadParameter(f"metric: expected NAME or NAME(PARAMETER=VALUE, …), found {excerpt(text)}")
    name, inside = whole[1], whole[2]
    arguments: dict[str, ParameterValue] = {}
    rest = (inside or "").strip()
    while rest:
        found = ARGUMENT.match(rest)
        end = found.end() if found else 0
        if found is None or (end < len(rest) and rest[end] != ",") or rest[end:].strip() == ",":
            raise BadParameter(f"{name}: expected PARAMETER=VALUE, …, found {excerpt(rest)}")
        if found[1] in arguments:
            raise BadParameter(f"{name}: expected {found[1]} once, found it twice")
        arguments[found[1]] = parse_value(found[2])
        rest = rest[end + 1 :].strip()
    return name, arguments


def parse_value(text: str) -> ParameterValue:
    """Parse a parameter value: a number, true or false, or a word.

    >>> [parse_value(w) for w in ("2", "0.5", "inf", "true", "'as-run'", "as-run")]
    [2, 0.5, inf, True, 'as-run', 'as-run']
    """
    if text[0] in "\"'":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def format_call(name: str, parameters: Mapping[str, Any]) -> str:
    """Write NAME(PARAMETER=VALUE, …), the inverse of :func:`parse_call`.

    Parameters
    ----------
    name
        Name of the metric.
    parameters
        Its parameters by keyword.

    Returns
    -------
    str
        The spelling that signatures, tables and the command line use.

    Examples
    --------
    >>> format_call("hausdorff", {"quantile": 0.95, "variant": "pooled"})
    "hausdorff(quantile=0.95, variant='pooled')"
    """
    inside = ", ".join(f"{key}={format_value(value)}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def format_value(value: Any) -> str:
    """Write a parameter value, whole numbers without a decimal point.

    >>> format_value(3.0), format_value(0.95), format_value("as-run")
    ('3', '0.95', "'as-run'")
    """
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)


def format_best(value: float | None) -> str:
    """Write the best value of a metric, "unknown" where none is declared."""
    return "unknown" if value is None else f"{value:g}"


@dataclass(frozen=True)
class Empty:
    """The values of a metric where a region has no pixel.

    Each value is a number; "diagonal", "diagonal²" or "pixels" of the image; a pair (description, function of the pairs
    and the metric's parameters); or None, where the formula itself is defined.

    Parameters
    ----------
    truth : float, str, tuple or None, default None
        Value where only the ground truth is empty.
    pred : float, str, tuple or None, default None
        Value where only the prediction is empty.
    both : float, str, tuple or None, default None
        Value where both are empty.

    Examples
    --------
    >>> str(Empty(truth="diagonal", pred="diagonal", both=0))
    'truth=diagonal,pred=diagonal,both=0'
    """

    truth: EmptyRule = None
    pred: EmptyRule = None
    both: EmptyRule = None

    def cases(self, truth: Flags, pred: Flags) -> list[tuple[EmptyRule, Flags]]:
        """Return each rule with the pairs it applies to, given the flags of empty ground truth and predictions."""
        return [(self.both, truth & pred), (self.truth, truth & ~pred), (self.pred, ~truth & pred)]

    def to_dict(self) -> dict[str, str]:
        """Return the three rules in words, "formula" where there is none."""
        return {case: format_rule(getattr(self, case)) for case in ("truth", "pred", "both")}

    def __str__(self) -> str:
        return ",".join(f"{case}={rule}" for case, rule in self.to_dict().items())


def format_rule(rule: EmptyRule) -> str:
    """Write a rule for empty regions in words."""
    if rule is None:
        return "formula"
    if isinstance(rule, tuple):
        return rule[0]
    return rule if isinstance(rule, str) else f"{rule:g}"


@dataclass(frozen=True)
class Variant:
    """Another definition of the same metric, chosen by its parameter `variant`.

    Parameters
    ----------
    text : str
        What differs, as `verite metrics NAME` shows it.
    is_complement : bool, default False
        Whether the value is 1 - the value of the main definition, e.g. a similarity instead of a distance.
    facts : mapping, optional
        Facts of the declaration that differ with this variant, e.g. ``{"bounds": (0, inf), "best": 0}``.

    Examples
    --------
    >>> Variant("1 is perfect", is_complement=True).facts
    {}
    """

    text: str
    is_complement: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Interval:
    """An interval of numbers in mathematical notation, e.g. "(0, 1]": the values a parameter may have."""

    text: str

    def __contains__(self, value: float) -> bool:
        low, high = (float(end) for end in self.text[1:-1].split(","))
        above = value > low if self.text[0] == "(" else value >= low
        below = value < high if self.text[-1] == ")" else value <= high
        return above and below


@dataclass(frozen=True, eq=False)
class MetricRecord:
    """The declaration of one metric; its card, command-line name, checks and signature are derived from it."""

    name: str
    function: Callable[..., Array]
    on: On
    bounds: Bounds | Callable[..., Bounds]
    best: float | None
    symmetric: bool
    unit: str
    cite: str
    aliases: Mapping[str, Mapping[str, Any]]
    empty: Empty
    ranges: Mapping[str, Interval]
    variants: Mapping[str, Variant]
    image: bool  # needs the size of the image
    labels: bool  # is defined for label images of several objects
    volumes: bool  # is defined in three dimensions
    distance: bool  # measures distances, which are in the unit of the spacing where there is one
    points: bool  # is defined for boxes without an area, which have a position
    rev: int

    @property
    def is_builtin(self) -> bool:
        """Whether the metric comes with the package, rather than from a user."""
        return str(getattr(self.function, "__module__", "")).startswith("verite.")

    @property
    def defaults(self) -> dict[str, ParameterValue]:
        """The parameters with their defaults: the keyword-only arguments of the function."""
        found = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY}

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs of the function's docstring without examples: summary, formula, remarks."""
        text = inspect.getdoc(self.function) or self.name
        parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if not part.lstrip().startswith(">>>")]
        return parts or [self.name]

    def check(self, given: Mapping[str, Any]) -> dict[str, ParameterValue]:
        """Return all parameters, those given checked and converted to the type of their default."""
        known = self.defaults
        for key in given:
            if key not in known:
                takes = f"one of {', '.join(known)}" if known else "no parameters"
                raise BadParameter(f"{self.name}: expected {takes}, found {key!r}{did_you_mean(key, known)}")
        return {key: self.check_value(key, given.get(key, default), default) for key, default in known.items()}

    def check_value(self, key: str, value: Any, default: ParameterValue) -> ParameterValue:
        """Check one parameter against its default's type, its declared range or the declared variants."""
        if key == "variant" and value not in self.variants:
            near = did_you_mean(str(value), self.variants)
            raise BadParameter(
                f"{self.name}: expected variant out of {', '.join(self.variants)}, found {value!r}{near}"
            )
        if key == "variant" or isinstance(default, str):
            return value
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise BadParameter(f"{self.name}: expected {key} true or false, found {value!r}")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise BadParameter(f"{self.name}: expected a number for {key}, found {value!r}")
        number = float(value)
        if isinstance(default, int):
            if isinf(number) or number != int(number):
                raise BadParameter(f"{self.name}: expected a whole number for {key}, found {value}")
            number = int(number)
        allowed = self.ranges.get(key)
        if number != number or (allowed is not None and number not in allowed):
            where = f" in {allowed.text}" if allowed is not None else ""
            raise BadParameter(f"{self.name}: expected {key}{where}, found {value:g}")
        return number

    def fact(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """Return a fact of the declaration for these parameters; a variant may have its own."""
        variant = self.variants.get(parameters.get("variant", ""))
        if variant is not None and name in variant.facts:
            return variant.facts[name]
        found = getattr(self, name)
        if name == "bounds" and callable(found):
            found = found(**parameters)
        if variant is not None and variant.is_complement:
            if name == "best":
                return 1 - found
            if name == "bounds":
                return 1 - found[1], 1 - found[0]
        return found

    def is_complement(self, parameters: Mapping[str, Any]) -> bool:
        """Whether these parameters choose a variant that is 1 - the main definition."""
        variant = self.variants.get(parameters.get("variant", ""))
        return variant is not None and variant.is_complement


def make_record(
    function: Callable[..., Array],
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
) -> MetricRecord:
    """Make the record of a metric from its function and facts, which :func:`verite.localization` documents.

    Without rules for empty regions, two of them get the best value, and one the worst where that is finite.
    """
    title = str(name or getattr(function, "__name__", ""))
    if on not in COMPARED:
        near = did_you_mean(str(on), COMPARED)
        raise BadParameter(f"{title}: expected on= {', '.join(COMPARED)}, found {on!r}{near}")
    if not re.fullmatch(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?", title):
        raise BadParameter(f"metric: expected a name of letters, digits and underscores, found {title!r}")
    if not callable(bounds) and not bounds[0] <= bounds[1]:
        raise BadParameter(f"{title}: expected bounds from low to high, found {bounds}")
    if best is not None and not callable(bounds) and not bounds[0] <= best <= bounds[1]:
        raise BadParameter(f"{title}: expected best within {bounds}, found {best}")
    if empty is None:
        empty = Empty()
        if best is not None and not callable(bounds):
            worst = bounds[1] if best == bounds[0] else bounds[0]
            either = None if isinf(worst) else worst
            empty = Empty(truth=either, pred=either, both=best)
    record = MetricRecord(
        name=title,
        function=function,
        on=on,
        bounds=bounds,
        best=best,
        symmetric=symmetric,
        unit=unit,
        cite=cite,
        aliases=dict(aliases) if isinstance(aliases, Mapping) else {alias: {} for alias in aliases},
        empty=empty,
        ranges={key: Interval(text) for key, text in (ranges or {}).items()},
        variants={key: v if isinstance(v, Variant) else Variant(v) for key, v in (variants or {}).items()},
        image=image or on == "contour",
        labels=labels,
        volumes=volumes,
        distance=unit in ("px", "px²") if distance is None else distance,
        points=points,
        rev=rev,
    )
    for parameter, default in record.defaults.items():
        if default is inspect.Parameter.empty:  # type: ignore[comparison-overlap]
            raise BadParameter(f"{title}: expected a default for the parameter {parameter}, found none")
    return record


@dataclass(frozen=True, eq=False)
class Metric:
    """A localization metric with the values of its parameters; call it with two regions.

    :func:`verite.metric` makes one from a name.

    Parameters
    ----------
    record : MetricRecord
        The declaration: function, range, best value, unit, citation.
    parameters : mapping
        The value of every parameter.

    Examples
    --------
    >>> import verite as vt
    >>> vt.metric("iou")([0, 0, 4, 4], [2, 0, 6, 4])
    0.3333333333333333
    """

    record: MetricRecord
    parameters: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """The name as :func:`verite.metric` accepts it, without parameters at their default."""
        defaults = self.record.defaults
        return format_call(self.record.name, {k: v for k, v in self.parameters.items() if v != defaults[k]})

    @property
    def path(self) -> str:
        """The name by which a new process finds the metric: a user's metric as module:function."""
        record = self.record
        if record.is_builtin or ":" in record.name:
            return self.name
        return f"{record.function.__module__}:{record.function.__qualname__}" + self.name.removeprefix(record.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<metric {self.name}: best {format_best(self.best)}, {self.better} is better>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self.record is other.record and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest value."""
        found: Bounds = self.record.fact("bounds", self.parameters)
        return found

    @property
    def best(self) -> float | None:
        """The value of two identical regions; None where it is not declared."""
        found: float | None = self.record.fact("best", self.parameters)
        return found

    @property
    def symmetric(self) -> bool:
        """Whether exchanging ground truth and prediction leaves the value unchanged."""
        return bool(self.record.fact("symmetric", self.parameters))

    @property
    def unit(self) -> str:
        """Unit of the values, e.g. "px" or "%"; empty for a ratio."""
        return str(self.record.fact("unit", self.parameters))

    def unit_with(self, spacing: Spacing | None) -> str:
        """Return the unit of the values where distances are measured with this spacing."""
        return self.unit.replace("px", spacing.unit) if spacing is not None and self.record.distance else self.unit

    @property
    def needs_image(self) -> bool:
        """Whether the size of the image must be known."""
        return bool(self.record.fact("image", self.parameters))

    @property
    def better(self) -> str:
        """The better direction: "lower", "higher", "nearer X" where values lie on both sides, or "neither way"."""
        low, high = self.bounds
        if self.best is None:
            return "neither way"
        if self.best == low:
            return "lower"
        return "higher" if self.best == high else f"nearer {self.best:g}"

    @property
    def signature(self) -> Signature:
        """Everything that can change the value, defaults included."""
        empty = "complement of " * self.record.is_complement(self.parameters) + str(self.empty)
        return Signature.of(self.record.name, on=self.record.on, **self.parameters, empty=empty, rev=self.record.rev)

    @property
    def empty(self) -> Empty:
        """The values for empty regions."""
        found: Empty = self.record.fact("empty", self.parameters)
        return found

    def __call__(
        self,
        truth: Any,
        pred: Any = None,
        *,
        size: ArrayLike | None = None,
        layout: str = "xyxy",
        polygons: PolygonRule = "coco",
        spacing: Any = None,
    ) -> Any:
        """Compute the metric of one pair of regions, or of `Pairs`.

        Parameters
        ----------
        truth, pred : region or None
            A box (four numbers), a polygon (points, or COCO's lists of coordinates), a mask [height, width], a
            `Contour`, a COCO run-length encoding, or None for no object; for some metrics a label image. `truth` may
            also be `Pairs`, without `pred`.
        size : (width, height), optional
            Size of the image in pixels, where neither region is a mask.
        layout : str, default "xyxy"
            Layout of boxes, e.g. "xywh".
        polygons : str, default "coco"
            Rule by which polygons become pixels.
        spacing : number, (rows, columns) or str, optional
            Distance between neighbouring pixels; distances are in its unit. Default: in pixels.

        Returns
        -------
        float, or an array with one value per pair of `Pairs`

        Raises
        ------
        DataError
            If the metric is not defined for these regions, or needs the size of the image.

        Examples
        --------
        >>> import verite as vt
        >>> vt.metric("hausdorff")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8), spacing=(1, 0.5))
        1.0
        """
        if isinstance(truth, Pairs):
            return self.values(truth)
        for region in (truth, pred):
            if not self.record.labels and is_label_image(region):
                raise not_binary(self.name, np.asarray(region))
        pairs = Pairs.of([truth], [pred], size=size, layout=layout, polygons=polygons, spacing=spacing)
        return float(self.values(pairs)[0])

    def batch(
        self,
        truth: Any,
        pred: Any,
        *,
        size: ArrayLike | None = None,
        layout: str = "xyxy",
        polygons: PolygonRule = "coco",
        spacing: Any = None,
    ) -> Array:
        """Compute the metric of many pairs of regions; the arguments are those of :meth:`verite.Pairs.of`.

        >>> import verite as vt
        >>> vt.metric("iou").batch([[0, 0, 4, 4]], [[0, 0, 4, 4], [2, 0, 6, 4]])
        array([1.        , 0.33333333])
        """
        return self.values(Pairs.of(truth, pred, size=size, layout=layout, polygons=polygons, spacing=spacing))

    def values(self, pairs: Pairs) -> Array:
        """Compute one value per pair; pairs with an empty region get the declared value instead of the formula's."""
        record = self.record
        if pairs.has_labels and not record.labels:
            raise DataError(
                f"{self.name}: expected masks of one object, found label images; metrics for those are {LABEL_METRICS}"
            )
        if pairs.are_volumes and not record.volumes:
            raise DataError(f"{self.name}: expected regions in images, found volumes, for which it is not defined")
        if self.needs_image and not pairs.is_sized:
            raise DataError(
                f"{self.name}: expected the size of the image, whose pixels it counts, found boxes or polygons without "
                f"one; {give_sizes('size=(WIDTH, HEIGHT)')}"
            )
        if not len(pairs):
            return np.empty(0)
        empty = pairs.empty(record.on)
        if empty is None:
            return self.compute(pairs)
        out = np.empty(len(pairs))
        is_defined = np.ones(len(pairs), dtype=np.bool_)
        for rule, case in self.empty.cases(*self.find_absent(pairs, *empty)):
            if rule is not None and case.any():
                out[case] = self.value_of_empty(rule, pairs.take(case))
                is_defined &= ~case
        if is_defined.any():
            out[is_defined] = self.compute(pairs if is_defined.all() else pairs.take(is_defined))
        return out

    def find_absent(self, pairs: Pairs, truth: Flags, pred: Flags) -> tuple[Flags, Flags]:
        """Return which of the empty ground truth and predictions count as no object.

        A box without an area, such as a point, is an object: beside no object it is a missed one, and two points at
        different positions are not equal. Only a metric of positions (`points`) has a value for those.
        """
        truth_positioned, pred_positioned = pairs.has_position
        if self.record.points:
            return truth & ~truth_positioned, pred & ~pred_positioned
        if self.empty.both is None and not self.record.is_builtin:  # a user's formula decides itself
            return truth, pred
        both, (truth_box, pred_box) = truth & pred, (pairs.truth_box, pairs.pred_box)
        are_points = truth_positioned & pred_positioned & is_flat(truth_box) & is_flat(pred_box)
        points = np.flatnonzero(both & are_points & (truth_box != pred_box).any(axis=1))
        if len(points):
            first = " and ".join(str(boxes[points[0]].tolist()) for boxes in (truth_box, pred_box))
            raise DataError(
                f"{self.name}: expected a region with an area on one side at least, found none in {len(points):,} of "
                f"{len(pairs):,} pairs, first {first}; compare points by centre_distance, or leave them out (V110)"
            )
        return truth & ~(both & truth_positioned & ~pred_positioned), pred & ~(
            both & pred_positioned & ~truth_positioned
        )

    def compute(self, pairs: Pairs) -> Array:
        """Apply the formula; an exception of a user's function becomes a DataError that names the metric."""
        try:
            found = np.asarray(self.record.function(pairs, **self.parameters), dtype=np.float64)
        except Exception as error:
            if self.record.is_builtin or isinstance(error, VeriteError):
                raise
            # The innermost line of the user's own file, which called what failed.
            own = getattr(inspect.unwrap(self.record.function), "__code__", None)
            lines = [at.lineno for at in extract_tb(error.__traceback__) if own and at.filename == own.co_filename]
            where = f"{own.co_filename}:{lines[-1]}: " if own and lines else ""
            raise DataError(
                f"{where}{self.name}: expected a value for each pair, found {type(error).__name__}: "
                f"{one_line(str(error))}"
            ) from error
        if found.shape != (len(pairs),):
            raise DataError(f"{self.name}: expected {len(pairs)} values, one per pair, found an array {found.shape}")
        return found

    def value_of_empty(self, rule: float | str | tuple[str, Callable[..., Array]], pairs: Pairs) -> Array | float:
        """Apply a rule for empty regions; all but numbers and "pixels" need the size of the image."""
        if isinstance(rule, (str, tuple)) and rule != "pixels" and not pairs.is_sized:
            raise DataError(
                f"{self.name}: expected the size of the image for the value of an empty region ({format_rule(rule)}), "
                f"found none; {give_sizes('size=(WIDTH, HEIGHT)')}"
            )
        value: Array | float
        if isinstance(rule, tuple):
            value = rule[1](pairs, **self.parameters)
        else:
            value = EMPTY_VALUES[rule](pairs) if isinstance(rule, str) else rule
        return 1 - value if self.record.is_complement(self.parameters) else value


def measure(pairs: Pairs, metrics: Sequence[Metric], *, chunk: int = CHUNK) -> dict[str, Array]:
    """Compute several metrics of the same pairs; statistics that metrics share are computed once.

    Parameters
    ----------
    pairs : Pairs
        The pairs of regions.
    metrics : sequence of Metric
        The metrics, from :func:`verite.metric`.
    chunk : int, default 4096
        Largest number of pairs that are in memory at the same time.

    Returns
    -------
    dict
        The name of each metric with an array of one value per pair.

    Examples
    --------
    >>> import verite as vt
    >>> pairs = vt.Pairs.of([[0, 0, 4, 4]], [[2, 0, 6, 4]])
    >>> vt.measure(pairs, [vt.metric("dice"), vt.metric("giou")])
    {'dice': array([0.5]), 'giou': array([0.33333333])}
    """
    chunks = list(pairs.chunks(chunk))
    chunks = chunks if len(chunks) > 1 else [pairs]
    out = {metric.name: np.empty(len(pairs)) for metric in metrics}
    start = 0
    with begin("measuring", len(pairs) * len(metrics), "values") as advance:
        for part in chunks:
            for metric in metrics:
                out[metric.name][start : start + len(part)] = metric.values(part)
                advance(len(part))
            start += len(part)
    return out
