"""What is known of a localization metric: the one record from which its name, card, checks and signature come."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isinf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, did_you_mean
from verite.pairs import Array, Pairs

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
