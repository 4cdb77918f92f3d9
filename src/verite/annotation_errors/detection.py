"""Annotation errors of object detection: missing objects, spurious annotations, wrong classes, jittered boxes.

Rates are shares of the annotated objects: with `missing=0.05`, ground truth of 1,000 objects lacks 50. A rate from an
audit is written as errors / checked; it is then uncertain, with a Beta posterior under Jeffreys' prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from verite.annotation_errors.model import check_count, fingerprint, format_value, set_fields
from verite.errors import IS_COMMAND_LINE, BadParameter, ReadError, did_you_mean, excerpt

Rate = float | tuple[float, float]  # a share, or (errors, checked) of an audit, or effective numbers of these
ERROR_KINDS = ("missing", "spurious", "label", "jitter")
SIZES = ("small", "medium", "large")
ANY = "*"
OPTIONS = {"favours": "bias-toward", "lit": "detectable"}  # parameters whose options have another name
DRAW_COLUMNS = ("missing", "spurious", "label", "jitter_share", "jitter_sd", "lit")  # of posterior draws
HEADER = "class,size,kind,rate"


def parameter_name(name: str) -> str:
    """Return what messages call a parameter of the model: on the command line the name of its option."""
    return OPTIONS.get(name, name) if IS_COMMAND_LINE.get() else name


@dataclass(frozen=True)
class Detection:
    """Rates of annotation errors of ground-truth objects. Crowds and ignored objects have none.

    Parameters
    ----------
    missing : float or (int, int), default 0.0
        Objects that are not annotated, as a share of those that are; a pair is (errors, checked) of an audit.
    spurious : float or (int, int), default 0.0
        Share of annotations that are no objects.
    label : float or (int, int), default 0.0
        Share of annotations whose class is wrong.
    jitter : (float, float), default (0.0, 0.0)
        Share of boxes whose sides are displaced, and the standard deviation as a share of the side.
    rates : sequence of (str, str, str, float), default ()
        Rates that differ: rows of class, size (small, medium, large), kind and rate; `*` is any class or size.
    lit : float, default 0.7
        Share of missing objects that some detector may have detected.
    shared : str, optional
        Errors are correlated within each image, each label (class), or the groups of a column of the images.
    correlation : float, default 0.0
        The correlation of two errors in one group, at least 0 and below 1.
    favours : (str, float), optional
        Bias: errors are this many times as likely where this detector gains from them.
    draws : sequence of rows, default ()
        Posterior draws of the rates, as :func:`verite.agree` makes them: missing, spurious, label, share and deviation
        of the jitter, lit; nan where a rate is unknown. Simulation d takes row d modulo the number of rows.

    Examples
    --------
    >>> print(Detection(missing=0.05, spurious=(1, 60), jitter=(0.05, 0.15)))
    detection(missing=0.05, spurious=1/60, jitter=0.05x0.15, lit=0.7)
    """

    missing: Rate = 0.0
    spurious: Rate = 0.0
    label: Rate = 0.0
    jitter: tuple[float, float] = (0.0, 0.0)
    rates: tuple[tuple[str, str, str, float], ...] = ()
    lit: float = 0.7
    shared: str | None = None
    correlation: float = 0.0
    favours: tuple[str, float] | None = None
    draws: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        set_fields(
            self, **{kind: check_share(parameter_name(kind), getattr(self, kind)) for kind in (*ERROR_KINDS[:3], "lit")}
        )
        if not isinstance(self.jitter, (tuple, list)) or len(self.jitter) != 2:
            raise BadParameter(
                f"jitter: expected a share of boxes and a deviation of their sides, found {self.jitter!r}"
            )
        deviation = float(self.jitter[1])
        if not 0 <= deviation < 10:
            raise BadParameter(f"jitter: expected a deviation from 0 up, as a share of the side, found {deviation:g}")
        set_fields(self, jitter=(check_share("jitter", self.jitter[0]), deviation))
        set_fields(self, rates=tuple(check_rate_row(tuple(row)) for row in self.rates))
        set_fields(self, draws=tuple(check_draw(tuple(row)) for row in self.draws))
        if self.draws and any(self.fixed_mean(kind) for kind in ERROR_KINDS):
            raise BadParameter("draws: expected rates of errors or posterior draws of them, found both")
        if not 0 <= self.correlation < 1:
            raise BadParameter(f"correlation: expected a number from 0 up and below 1, found {self.correlation:g}")
        if (self.shared is not None) != (self.correlation > 0):
            found = "none" if self.shared is None else f"{self.correlation:g}"
            raise BadParameter(
                "shared: expected a group (image, label or a column) and a correlation above 0 together, found "
                f"{self.shared or 'no group'} and {found}"
            )
        if self.favours is not None:
            name, odds = self.favours
            if not odds > 0:
                raise BadParameter(
                    f"{parameter_name('favours')}: expected NAME:TIMES with a number above 0, found {odds:g}"
                )
            set_fields(self, favours=(str(name), float(odds)))

    @classmethod
    def parse(cls, text: str, **fields: Any) -> Detection:
        """Parse rates as they are typed.

        Parameters
        ----------
        text : str
            `KIND=RATE,…` such as `missing=0.05,spurious=1/60,label=0.01,jitter=0.05x0.15`; may be empty.
        **fields
            Further fields of the model, such as `lit` or `shared`.

        Raises
        ------
        BadParameter
            A kind is not known or given twice, or a rate cannot be read.

        Examples
        --------
        >>> Detection.parse("missing=0.05,spurious=1/60").spurious
        (1, 60)
        """
        rates: dict[str, Any] = {}
        for word in text.split(",") if text else ():
            kind, _, value = (part.strip() for part in word.partition("="))
            if kind not in ERROR_KINDS:
                near = did_you_mean(kind, ERROR_KINDS)
                raise BadParameter(
                    f"errors: expected {', '.join(ERROR_KINDS)}, each as KIND=RATE, found {word!r}{near}"
                )
            if kind in rates:
                raise BadParameter(f"{kind}: expected one rate, found {format_field(kind, rates[kind])} and {value}")
            try:
                if kind == "jitter":
                    share, deviation = value.split("x")
                    rates[kind] = float(share), float(deviation)
                elif "/" in value:
                    errors, checked = value.split("/")
                    rates[kind] = int(errors), int(checked)
                else:
                    rates[kind] = float(value)
            except ValueError:
                expected = "a share such as 0.05, or ERRORS/CHECKED such as 3/60"
                if kind == "jitter":
                    expected = "SHARExDEVIATION such as 0.05x0.15"
                raise BadParameter(f"{kind}: expected {expected}, found {value!r}") from None
        return cls(**rates, **fields)

    @property
    def is_none(self) -> bool:
        """Whether all rates are 0."""
        return not any(self.mean(kind) for kind in ERROR_KINDS) and not any(rate for *_, rate in self.rates)

    def mean(self, kind: str) -> float:
        """Return the rate of a kind of error; the mean of its posterior, where it is known so well only."""
        if self.draws:
            return self.draw_means[kind]
        return self.fixed_mean(kind)

    @cached_property
    def draw_means(self) -> dict[str, float]:
        """The mean of each rate over the posterior draws."""
        every = range(len(self.draws))
        return {kind: float(np.mean([self.drawn(kind, row) for row in every])) for kind in ERROR_KINDS}

    def fixed_mean(self, kind: str) -> float:
        """Return the rate that was given; for a rate from an audit, the mean of Jeffreys' posterior.

        Missing objects are no share of the checked annotations, and their rate has a Gamma posterior.
        """
        rate = self.jitter[0] if kind == "jitter" else getattr(self, kind)
        if isinstance(rate, tuple):
            errors, checked = rate
            return float((errors + 0.5) / (checked + (kind != "missing")))
        return float(rate)

    def drawn(self, kind: str, sample: int) -> float:
        """Return a rate of a posterior draw; `jitter_sd` and `lit` are known, too."""
        value = self.draws[sample % len(self.draws)][DRAW_COLUMNS.index("jitter_share" if kind == "jitter" else kind)]
        return (self.lit if kind == "lit" else 0.0) if isnan(value) else value

    def sample_rate(self, kind: str, sample: int, rng: np.random.Generator) -> float:
        """Return the rate of a kind of error in one simulation."""
        if self.draws:
            return self.drawn(kind, sample)
        rate = self.jitter[0] if kind == "jitter" else getattr(self, kind)
        if not isinstance(rate, tuple):
            return float(rate)
        errors, checked = rate
        if kind == "missing":
            return float(rng.gamma(errors + 0.5) / checked)
        return float(rng.beta(errors + 0.5, checked - errors + 0.5))

    def has_fixed_rate(self, kind: str) -> bool:
        """Return whether a rate is the same in every simulation."""
        rate = self.jitter[0] if kind == "jitter" else getattr(self, kind)
        return self.shared is None and not self.draws and not isinstance(rate, tuple)

    def jitter_deviation(self, sample: int) -> float:
        """Return the standard deviation of displaced sides in one simulation."""
        return self.drawn("jitter_sd", sample) if self.draws else self.jitter[1]

    def lit_share(self, sample: int) -> float:
        """Return the share of missing objects that some detector may have detected, in one simulation."""
        return self.drawn("lit", sample) if self.draws else self.lit

    @property
    def assumes_lit(self) -> bool:
        """Whether the share of missing objects that are detectable is the default, which nothing supports."""
        at = DRAW_COLUMNS.index("lit")
        return self.lit == type(self).lit and (not self.draws or all(isnan(row[at]) for row in self.draws))

    def has(self, kind: str) -> bool:
        """Return whether errors of a kind occur at all: at the common rate, or at one that differs."""
        return bool(self.mean(kind)) or any(row[2] == kind for row in self.rates)

    def scale(self, factor: float) -> Detection:
        """Return the model with every rate multiplied by a factor, and limited to 1."""
        missing, spurious, label = (min(1.0, factor * self.mean(kind)) for kind in ERROR_KINDS[:3])
        rows = tuple((label, size, kind, min(1.0, factor * rate)) for label, size, kind, rate in self.rates)
        share, deviation = self.jitter
        if self.draws:
            scaled = [(*(np.minimum(1.0, factor * np.array(row[:4])).tolist()), *row[4:]) for row in self.draws]
            return replace(self, draws=tuple(scaled), rates=rows)
        jitter = min(1.0, factor * share), deviation
        return replace(self, missing=missing, spurious=spurious, label=label, jitter=jitter, rates=rows)

    def __str__(self) -> str:
        """The model and its parameters as in signatures."""
        given = {field: getattr(self, field.name) for field in fields(self)}
        shown = (
            f"{field.name}={format_field(field.name, value)}"
            for field, value in given.items()
            if value != field.default or field.name == "lit"
        )
        return f"detection({', '.join(shown)})"

    @property
    def assumption(self) -> str:
        """The assumption as a sentence without its full stop."""
        parts = []
        for kind, sentence in (
            ("spurious", "each annotation is spurious with probability {}"),
            ("label", "each has a wrong class with probability {}"),
            ("missing", "objects are missing at a rate of {} per annotation"),
        ):
            rate = getattr(self, kind)
            if isinstance(rate, tuple):
                law = "Gamma" if kind == "missing" else "Beta"
                found = f"{rate[0]:.3g} in {rate[1]:.3g} checked ({law} posterior under Jeffreys' prior)"
                parts.append(sentence.format(found))
            elif rate:
                parts.append(sentence.format(f"{rate:g}"))
        if self.jitter[0]:
            share, deviation = self.jitter
            boxes = "all boxes" if share == 1 else f"a share of {share:g} of the boxes"
            parts.append(f"the sides of {boxes} are displaced, with a standard deviation of {deviation:g} of the side")
        if self.draws:
            known = [f"{kind} {self.mean(kind):.3g}" for kind in ERROR_KINDS if self.mean(kind)]
            parts.append(
                f"rates are {len(self.draws):,} joint posterior draws (mean: {', '.join(known) or 'no errors'})"
            )
        if self.rates:
            parts.append(f"{len(self.rates)} rates of classes, sizes and kinds differ")
        how = "errors are independent"
        if self.shared is not None:
            group = "class" if self.shared == "label" else self.shared
            how = f"errors have correlation {self.correlation:g} within each {group}"
        bias = "" if self.favours is None else f", {self.favours[1]:g} times as likely where {self.favours[0]} gains"
        return f"{'; '.join(parts) or 'no annotation is wrong'}; {how}{bias}"


def read_draws(path: str | Path) -> tuple[tuple[float, ...], ...]:
    """Read rates.csv of :func:`verite.agree`: one posterior draw of the rates per row; an empty cell is unknown."""
    from verite.csv_files import read_csv

    table = read_csv(path, f"the header {','.join(DRAW_COLUMNS)}", DRAW_COLUMNS)
    found = []
    for where, row in table.records():
        try:
            found.append(check_draw(tuple(float(row[name]) if row[name].strip() else nan for name in DRAW_COLUMNS)))
        except ValueError as error:
            why = str(error) if isinstance(error, BadParameter) else excerpt(",".join(row.values()))
            raise ReadError(where, expected=f"rates of {', '.join(DRAW_COLUMNS)}", found=why) from None
    if not found:
        raise ReadError(table.path, expected="posterior draws of rates", found="none")
    return tuple(found)


def check_draw(row: Sequence[Any]) -> tuple[float, ...]:
    """Return a posterior draw of the rates; refuse what is no share, except for the deviation of the jitter."""
    if len(row) != len(DRAW_COLUMNS):
        raise BadParameter(f"draws: expected {len(DRAW_COLUMNS)} rates ({', '.join(DRAW_COLUMNS)}), found {len(row)}")
    values = tuple(float(value) for value in row)
    for name, value in zip(DRAW_COLUMNS, values, strict=True):
        if not isnan(value) and not 0 <= value <= (10 if name == "jitter_sd" else 1):
            raise BadParameter(f"draws: expected a share from 0 to 1 of {name}, found {value:g}")
    return values


def read_rates(path: str | Path) -> tuple[tuple[str, str, str, float], ...]:
    """Read a table class,size,kind,rate of rates that differ; `*` or an empty cell is any class or size."""
    from verite.csv_files import read_csv

    table = read_csv(path, f"the header {HEADER}", HEADER.split(","), exact=True)
    found_rows = []
    for number, row in table.rows:
        try:
            label, size, kind, rate = (cell.strip() for cell in row)
            found_rows.append(check_rate_row((label or ANY, size or ANY, kind, float(rate))))
        except ValueError as error:
            why = str(error) if isinstance(error, BadParameter) else excerpt(",".join(row))
            raise ReadError(table.where(number), expected=f"values of {HEADER}", found=why) from None
    return tuple(found_rows)


def check_rate_row(row: Sequence[Any]) -> tuple[str, str, str, float]:
    """Return a row of class, size, kind and rate; refuse unknown sizes and kinds, and rates that are no shares."""
    label, size, kind, rate = row
    if size not in (*SIZES, ANY):
        raise BadParameter(f"rates: expected the size {', '.join(SIZES)} or {ANY}, found {size!r}")
    if kind not in ERROR_KINDS:
        near = did_you_mean(kind, ERROR_KINDS)
        raise BadParameter(f"rates: expected the kind {', '.join(ERROR_KINDS)}, found {kind!r}{near}")
    share = check_share(kind, rate)
    assert isinstance(share, float)
    return str(label), size, kind, share


def check_share(name: str, value: Any) -> Any:
    """Return a share from 0 to 1, or a pair (errors, checked); refuse anything else."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if any(isinstance(part, float) and part % 1 for part in value):  # effective numbers of a weighted sample
            errors, checked = float(value[0]), float(value[1])
            if not 0 <= errors <= checked < inf or not checked:
                raise BadParameter(f"{name}: expected errors among checked annotations, found {errors:g}/{checked:g}")
            return errors, checked
        errors, checked = check_count(name, value[0]), check_count(name, value[1], 1)
        if errors > checked:
            raise BadParameter(f"{name}: expected at most the {checked} annotations checked, found {errors}")
        return errors, checked
    try:
        share = float(value)
    except (TypeError, ValueError):
        raise BadParameter(f"{name}: expected a share from 0 to 1, found {value!r}") from None
    if not 0 <= share <= 1:
        raise BadParameter(f"{name}: expected a share from 0 to 1, found {share:g}")
    return share


def format_field(name: str, value: Any) -> str:
    """Format a field as in signatures, such as 1/60 for an audit and 0.05x0.15 for jitter."""
    if name in ("rates", "draws"):
        return fingerprint([list(row) for row in value])
    if name == "favours":
        return f"{value[0]}:{format_value(value[1])}"
    if isinstance(value, tuple):
        return ("x" if name == "jitter" else "/").join(format_value(part) for part in value)
    return format_value(value)
