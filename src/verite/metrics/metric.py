"""A metric ready to measure: a record with its parameters, for one pair, a batch, or many metrics at once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isinf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

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
from verite.model.shapes import Spacing, is_label_image
from verite.pairs import Array, Pairs
from verite.pairs.store import flat
from verite.progress import begin
from verite.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

NAME = re.compile(r"\s*([A-Za-z_][\w.]*(?::[A-Za-z_]\w*)?)\s*(?:\((.*)\))?\s*", re.DOTALL)

ARGUMENT = re.compile(r"""\s*([A-Za-z_]\w*)\s*=\s*("[^"]*"|'[^']*'|[^,'"()\s]+)\s*""")


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a metric as people write it; quotes around words may be left out.

    >>> parse("hausdorff(quantile=0.95)")
    ('hausdorff', {'quantile': 0.95})
    >>> parse("baddeley(p=1, variant=as-run)")
    ('baddeley', {'p': 1, 'variant': 'as-run'})
    """
    whole = NAME.fullmatch(text) if isinstance(text, str) else None
    if whole is None:
        raise BadParameter(f"metric: expected NAME or NAME(PARAMETER=VALUE, …), found {excerpt(text)}")
    name, inside = whole[1], whole[2]
    arguments: dict[str, Any] = {}
    rest = (inside or "").strip()
    while rest:
        found = ARGUMENT.match(rest)
        end = found.end() if found else 0
        if found is None or (end < len(rest) and rest[end] != ",") or rest[end:].strip() == ",":
            raise BadParameter(f"{name}: expected PARAMETER=VALUE, …, found {excerpt(rest)}")
        if found[1] in arguments:
            raise BadParameter(f"{name}: expected {found[1]} once, found it twice")
        arguments[found[1]] = value_of(found[2])
        rest = rest[end + 1 :].strip()
    return name, arguments


def value_of(word: str) -> Any:
    """A number, a truth value or a word.

    >>> [value_of(w) for w in ("2", "0.5", "inf", "true", "'as-run'", "as-run")]
    [2, 0.5, inf, True, 'as-run', 'as-run']
    """
    if word[0] in "\"'":
        return word[1:-1]
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def spell_metric(name: str, parameters: dict[str, Any]) -> str:
    """The inverse of :func:`parse`.

    >>> spell_metric("hausdorff", {"quantile": 0.95, "variant": "pooled"})
    "hausdorff(quantile=0.95, variant='pooled')"
    """
    inside = ", ".join(f"{key}={word_of(value)}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def word_of(value: Any) -> str:
    """A value as it is written; whole numbers without a point.

    >>> word_of(3.0), word_of(0.95), word_of("as-run")
    ('3', '0.95', "'as-run'")
    """
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)


On = Literal["box", "contour", "region"]

KINDS = ("box", "contour", "region")

Bounds = tuple[float, float]

# A value for pairs with an empty region: a number, a word, (words, function of the pairs and the parameters), or None
# where the formula itself has an answer.
Settled = float | str | tuple[str, Callable[..., Array]] | None

WORDS: dict[str, Callable[[Pairs], Array]] = {
    "diagonal": lambda p: p.diagonal,
    "diagonal²": lambda p: p.diagonal**2,
    # The cap of a ratio whose denominator is empty: as many as the image has pixels, without bound where it is unknown.
    "pixels": lambda p: p.pixels if p.is_sized else np.full(len(p), inf),
}


@dataclass(frozen=True)
class Empty:
    """What a metric says where one region, or both, have no pixel."""

    truth: Settled = None  # only the truth is empty
    pred: Settled = None  # only the pred is empty
    both: Settled = None

    def cases(self, truth: NDArray[np.bool_], pred: NDArray[np.bool_]) -> list[tuple[Settled, NDArray[np.bool_]]]:
        """Each rule with the pairs it is for."""
        return [(self.both, truth & pred), (self.truth, truth & ~pred), (self.pred, ~truth & pred)]

    def __str__(self) -> str:
        return ",".join(f"{case}={spell_settled(getattr(self, case))}" for case in ("truth", "pred", "both"))


def spell_settled(rule: Settled) -> str:
    """A rule in words."""
    if rule is None:
        return "formula"
    if isinstance(rule, tuple):
        return rule[0]
    return rule if isinstance(rule, str) else f"{rule:g}"


def needs_size(rule: Settled) -> bool:
    """Does a rule look at the image? A cap does without."""
    return isinstance(rule, tuple) or (isinstance(rule, str) and rule != "pixels")


def settle(rule: Settled, pairs: Pairs, parameters: Mapping[str, Any]) -> Array | float:
    """The values a rule gives."""
    if isinstance(rule, tuple):
        return rule[1](pairs, **parameters)
    if isinstance(rule, str):
        return WORDS[rule](pairs)
    assert rule is not None
    return rule


@dataclass(frozen=True)
class Variant:
    """Another definition of the same metric, and the facts that differ with it."""

    text: str
    is_complement: bool = False  # 1 - the value: a similarity instead of a distance
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Interval:
    """Which numbers a parameter may be, written as in mathematics: "(0, 1]"."""

    text: str

    def __contains__(self, value: float) -> bool:
        low, high = (float(part) for part in self.text[1:-1].split(","))
        above = value > low if self.text[0] == "(" else value >= low
        below = value < high if self.text[-1] == ")" else value <= high
        return above and below


@dataclass(frozen=True, eq=False)
class Record:
    """One metric. Everything else is derived from these facts."""

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
    labels: bool  # is defined for images of several objects
    volumes: bool  # is defined in three dimensions
    distance: bool  # measures distances, which are in the unit of the spacing where there is one
    points: bool  # is defined for boxes without an area, which have a place all the same
    rev: int

    @property
    def is_ours(self) -> bool:
        """Does the metric come with the package, or is it somebody's own?"""
        return str(getattr(self.function, "__module__", "")).startswith("verite.")

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters and what they are when nobody says: the function's keyword-only arguments."""
        found = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY}

    @property
    def paragraphs(self) -> list[str]:
        """The docstring, its examples left out: a sentence, the formula, remarks."""
        text = inspect.getdoc(self.function) or self.name
        parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if not part.lstrip().startswith(">>>")]
        return parts or [self.name]

    @property
    def summary(self) -> str:
        return self.paragraphs[0]

    @property
    def formula(self) -> str:
        return self.paragraphs[1] if len(self.paragraphs) > 1 else ""

    @property
    def remarks(self) -> list[str]:
        return self.paragraphs[2:]

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, those given checked and brought to the type of their default."""
        known = self.defaults
        for key in given:
            if key not in known:
                takes = f"one of {', '.join(known)}" if known else "no parameters"
                raise BadParameter(f"{self.name}: expected {takes}, found {key!r}{did_you_mean(key, known)}")
        return {key: self.check_value(key, given.get(key, default), default) for key, default in known.items()}

    def check_value(self, key: str, value: Any, default: Any) -> Any:
        if key == "variant" or isinstance(default, str):
            choices = list(self.variants) if key == "variant" else [default]
            if key == "variant" and value not in choices:
                near = did_you_mean(str(value), choices)
                raise BadParameter(f"{self.name}: expected variant out of {', '.join(choices)}, found {value!r}{near}")
            return value
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise BadParameter(f"{self.name}: expected {key} true or false, found {value!r}")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise BadParameter(f"{self.name}: expected a number for {key}, found {value!r}")
        number = float(value)
        if isinstance(default, int):
            if number != int(number) if not isinf(number) else True:
                raise BadParameter(f"{self.name}: expected a whole number for {key}, found {value}")
            number = int(number)
        allowed = self.ranges.get(key)
        if number != number or (allowed is not None and number not in allowed):
            where = f" in {allowed.text}" if allowed is not None else ""
            raise BadParameter(f"{self.name}: expected {key}{where}, found {value:g}")
        return number

    def fact(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """A fact of the metric with these parameters: a variant may have its own."""
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
) -> Record:
    """A record from a function and its facts; what contradicts itself is said at once."""
    title = str(name or getattr(function, "__name__", ""))
    if on not in KINDS:
        raise BadParameter(f"{title}: expected on= {', '.join(KINDS)}, found {on!r}{did_you_mean(str(on), KINDS)}")
    if not re.fullmatch(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?", title):
        raise BadParameter(f"metric: expected a name of letters, digits and underscores, found {title!r}")
    if not callable(bounds) and not bounds[0] <= bounds[1]:
        raise BadParameter(f"{title}: expected bounds from low to high, found {bounds}")
    if best is not None and not callable(bounds) and not bounds[0] <= best <= bounds[1]:
        raise BadParameter(f"{title}: expected best within {bounds}, found {best}")
    record = Record(
        name=title,
        function=function,
        on=on,
        bounds=bounds,
        best=best,
        symmetric=symmetric,
        unit=unit,
        cite=cite,
        aliases=dict(aliases) if isinstance(aliases, Mapping) else {alias: {} for alias in aliases},
        empty=empty if empty is not None else usual_empty(bounds, best),
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
        if default is inspect.Parameter.empty:
            raise BadParameter(f"{title}: expected a default for the parameter {parameter}, found none")
    return record


def usual_empty(bounds: Bounds | Callable[..., Bounds], best: float | None) -> Empty:
    """Both empty: nothing was there and nothing was said, the best. One empty: the worst, where there is a worst."""
    if best is None or callable(bounds):
        return Empty()
    worst = bounds[1] if best == bounds[0] else bounds[0]
    one = None if isinf(worst) else worst
    return Empty(truth=one, pred=one, both=best)


Flags: TypeAlias = "NDArray[np.bool_]"

CHUNK = 4096  # pairs whose lists of distances may be in memory together


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric with its parameters; call it with two regions.

    >>> from verite.metrics.catalogue import metric
    >>> metric("iou")([0, 0, 4, 4], [2, 0, 6, 4])
    0.3333333333333333
    """

    record: Record
    parameters: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """As people write it; parameters at their default are left out."""
        defaults = self.record.defaults
        return spell_metric(self.record.name, {k: v for k, v in self.parameters.items() if v != defaults[k]})

    @property
    def path(self) -> str:
        """How a new process finds it: one's own metric by its module, too, which has to be loaded first."""
        record = self.record
        if record.is_ours or ":" in record.name:
            return self.name
        return f"{record.function.__module__}:{record.function.__qualname__}" + self.name.removeprefix(record.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<metric {self.name}: best {spell_best(self.best)}, {self.better} is better>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self.record is other.record and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def bounds(self) -> Bounds:
        found: Bounds = self.record.fact("bounds", self.parameters)
        return found

    @property
    def best(self) -> float | None:
        """What two identical regions get."""
        found: float | None = self.record.fact("best", self.parameters)
        return found

    @property
    def symmetric(self) -> bool:
        return bool(self.record.fact("symmetric", self.parameters))

    @property
    def unit(self) -> str:
        return str(self.record.fact("unit", self.parameters))

    def unit_with(self, spacing: Spacing | None) -> str:
        """The unit where pixels lie so far apart."""
        return self.unit.replace("px", spacing.unit) if spacing is not None and self.record.distance else self.unit

    @property
    def needs_image(self) -> bool:
        return bool(self.record.fact("image", self.parameters))

    @property
    def better(self) -> str:
        """Which way is better: "lower", "higher", or "nearer …" where values lie on both sides of the best."""
        low, high = self.bounds
        if self.best is None:
            return "neither way"
        if self.best == low:
            return "lower"
        return "higher" if self.best == high else f"nearer {self.best:g}"

    @property
    def signature(self) -> Signature:
        """Everything that can change the number."""
        empty = "complement of " * self.record.is_complement(self.parameters) + str(self.empty)
        return Signature.of(self.record.name, on=self.record.on, **self.parameters, empty=empty, rev=self.record.rev)

    @property
    def empty(self) -> Empty:
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
        """The value of one pair of regions, as a float; of `Pairs`, as an array.

        A region is four numbers, a polygon (points, or COCO's rings), a mask (an array of rows and columns), a
        `Contour`, COCO's runs, or None for no object; for some metrics a label image. `size` is the (width, height) of
        the image where neither region is a mask. With a `spacing`, of rows and of columns, distances are in its unit.

        >>> from verite.metrics.catalogue import metric
        >>> metric("hausdorff")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8), spacing=(1, 0.5))
        1.0
        """
        if isinstance(truth, Pairs):
            return self.values(truth)
        if not self.record.labels and (is_label_image(truth) or is_label_image(pred)):
            self.refuse_labels(truth if is_label_image(truth) else pred)
        pairs = Pairs.of([truth], [pred], size=size, layout=layout, polygons=polygons, spacing=spacing)
        return float(self.values(pairs)[0])

    def batch(self, truth: Any, pred: Any, **how: Any) -> Array:
        """The values of many pairs: lists of regions, boxes [n, 4], masks [n, row, column]; one may serve them all.

        >>> from verite.metrics.catalogue import metric
        >>> metric("iou").batch([[0, 0, 4, 4]], [[0, 0, 4, 4], [2, 0, 6, 4]])
        array([1.        , 0.33333333])
        """
        return self.values(Pairs.of(truth, pred, **how))

    def values(self, pairs: Pairs) -> Array:
        """A value for each pair; empty regions are settled by the metric's rule before its formula is asked."""
        record = self.record
        if pairs.has_labels and not record.labels:
            self.refuse_labels(None)
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
        for rule, case in self.empty.cases(*self.absent(pairs, *empty)):
            if rule is not None and case.any():
                out[case] = self.settle(rule, pairs.take(case))
                is_defined &= ~case
        if is_defined.any():
            out[is_defined] = self.compute(pairs if is_defined.all() else pairs.take(is_defined))
        return out

    def absent(self, pairs: Pairs, truth: Flags, pred: Flags) -> tuple[Flags, Flags]:
        """Which of the empty regions count as no object.

        A box without an area, such as a point, is an object all the same: beside no object it is a missed one, and
        two of them in different places are not equal. Only a metric of their places has a value for those.
        """
        placed_truth, placed_pred = pairs.placed
        if self.record.points:
            return truth & ~placed_truth, pred & ~placed_pred
        if self.empty.both is None and not self.record.is_ours:  # a user's own formula knows what it can answer
            return truth, pred
        both, sides = truth & pred, (pairs.truth_box, pairs.pred_box)
        is_flat = placed_truth & placed_pred & flat(sides[0]) & flat(sides[1]) & (sides[0] != sides[1]).any(axis=1)
        points = np.flatnonzero(both & is_flat)
        if len(points):
            first = " and ".join(str(side[points[0]].tolist()) for side in sides)
            raise DataError(
                f"{self.name}: expected a region with an area on one side at least, found none in {len(points):,} of "
                f"{len(pairs):,} pairs, first {first}; compare points by centre_distance, or leave them out (V110)"
            )
        return truth & ~(both & placed_truth & ~placed_pred), pred & ~(both & placed_pred & ~placed_truth)

    def compute(self, pairs: Pairs) -> Array:
        """What the formula says."""
        try:
            found = np.asarray(self.record.function(pairs, **self.parameters), dtype=np.float64)
        except Exception as error:
            if self.record.is_ours or isinstance(error, VeriteError):
                raise
            raise DataError(
                f"{self.name}: expected a value for each pair, found {type(error).__name__}: {one_line(str(error))}"
            ) from error
        if found.shape != (len(pairs),):
            raise DataError(f"{self.name}: expected {len(pairs)} values, one a pair, found an array {found.shape}")
        return found

    def settle(self, rule: Settled, pairs: Pairs) -> Array | float:
        """What the rule for empty regions says."""
        if needs_size(rule) and not pairs.is_sized:
            raise DataError(
                f"{self.name}: expected the size of the image to settle an empty region ({spell_settled(rule)}), "
                f"found none; {give_sizes('size=(WIDTH, HEIGHT)')}"
            )
        value = settle(rule, pairs, self.parameters)
        return 1 - value if self.record.is_complement(self.parameters) else value

    def refuse_labels(self, image: Any) -> None:
        from verite.model.shapes import LABEL_METRICS, not_binary

        if image is not None:
            raise not_binary(self.name, np.asarray(image))
        raise DataError(
            f"{self.name}: expected masks of one object, found label images; metrics for those are {LABEL_METRICS}"
        )


def measure(pairs: Pairs, metrics: Sequence[Metric], *, chunk: int = CHUNK) -> dict[str, Array]:
    """Many metrics on the same pairs, a name each: what they share is computed once."""
    parts = list(pairs.chunks(chunk))
    parts = parts if len(parts) > 1 else [pairs]
    out = {metric.name: np.empty(len(pairs)) for metric in metrics}
    start = 0
    with begin("measuring", len(pairs) * len(metrics), "values") as advance:
        for part in parts:
            for metric in metrics:
                out[metric.name][start : start + len(part)] = metric.values(part)
                advance(len(part))
            start += len(part)
    return out


def spell_best(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
