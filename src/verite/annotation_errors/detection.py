"""In what ways may a truth of objects be wrong? Objects are missing, spurious, of another class, in another place.

Rates are shares of the record's own objects: with `missing=0.05` a truth of 1,000 objects lacks 50. A rate that was
found by checking some records again is written as errors of checked, and is then known only so well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from verite.annotation_errors.model import check_count, fingerprint, set_fields, spell_value
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt

Rate = float | tuple[int, int]  # a share, or errors among so many that were checked
KINDS = ("missing", "spurious", "label", "jitter")
SIZES = ("small", "medium", "large")
ANY = "*"
HEADER = "class,size,kind,rate"


@dataclass(frozen=True)
class Detection:
    """What the truth may be, given its record. Crowds and what is ignored do not err.

    >>> print(Detection(missing=0.05, spurious=(1, 60), jitter=(0.05, 0.15)))
    detection(missing=0.05, spurious=1/60, jitter=0.05x0.15, lit=0.7)
    """

    missing: Rate = 0.0  # objects that are not recorded, as a share of those that are
    spurious: Rate = 0.0  # records that are no objects
    label: Rate = 0.0  # records of another class
    jitter: tuple[float, float] = (0.0, 0.0)  # share of boxes, and the sd of their sides as a share of the side
    rates: tuple[tuple[str, str, str, float], ...] = ()  # class, size, kind, rate: where it differs; `*` is any
    lit: float = 0.7  # share of missing objects that some detector may have found
    shared: str | None = None  # records err together: image, label, or a column of the images
    correlation: float = 0.0
    favours: tuple[str, float] | None = None  # errors are so many times as likely where this detector profits

    def __post_init__(self) -> None:
        given = {kind: check_share(kind, getattr(self, kind)) for kind in KINDS[:3]}
        set_fields(self, **given, jitter=check_jitter(self.jitter), lit=check_share("lit", self.lit))
        set_fields(self, rates=tuple(check_row(tuple(row)) for row in self.rates))
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
                raise BadParameter(f"favours: expected NAME:TIMES with a number above 0, found {odds:g}")
            set_fields(self, favours=(str(name), float(odds)))

    @classmethod
    def parse(cls, text: str, **more: Any) -> Detection:
        """From `missing=0.05,spurious=1/60,label=0.01,jitter=0.05x0.15`.

        >>> Detection.parse("missing=0.05,spurious=1/60").spurious
        (1, 60)
        """
        return cls(**(parse_rates(text) | more))

    @property
    def is_none(self) -> bool:
        """Whether nothing is ever wrong."""
        return not any(self.mean(kind) for kind in KINDS) and not any(rate for *_, rate in self.rates)

    def mean(self, kind: str) -> float:
        """The rate of a kind; of one that was found by checking, the mean of Jeffreys' posterior."""
        rate = self.jitter[0] if kind == "jitter" else getattr(self, kind)
        if isinstance(rate, tuple):
            errors, checked = rate
            return float((errors + 0.5) / (checked + 1))
        return float(rate)

    def scale(self, factor: float) -> Detection:
        """The same with every rate so many times as high."""
        rates: dict[str, Any] = {kind: min(1.0, factor * self.mean(kind)) for kind in KINDS[:3]}
        rows = tuple((label, size, kind, min(1.0, factor * rate)) for label, size, kind, rate in self.rates)
        share, deviation = self.jitter
        return replace(self, **rates, jitter=(min(1.0, factor * share), deviation), rates=rows)

    def __str__(self) -> str:
        said = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name == "lit":
                said.append(f"{field.name}={spell_field(field.name, value)}")
        return f"detection({', '.join(said)})"

    @property
    def words(self) -> str:
        """The assumption as a sentence without its full stop."""
        parts = []
        for kind, what in (
            ("spurious", "each record is no object with probability {}"),
            ("label", "each is of another class with probability {}"),
            ("missing", "objects are missing, {} of the number recorded"),
        ):
            if self.mean(kind):
                parts.append(what.format(say_rate(getattr(self, kind))))
        if self.jitter[0]:
            share, deviation = self.jitter
            parts.append(f"the sides of {share:g} of the boxes are moved by {deviation:g} of the side (sd)")
        if self.rates:
            parts.append(f"{len(self.rates)} rates of classes, sizes and kinds differ")
        who = "independently" if self.shared is None else f"with correlation {self.correlation:g} within each "
        who += "" if self.shared is None else {"label": "class"}.get(self.shared, self.shared)
        bias = "" if self.favours is None else f", {self.favours[1]:g} times as likely where {self.favours[0]} profits"
        return f"{'; '.join(parts) or 'no record is wrong'}; {who}{bias}"


def parse_rates(text: str) -> dict[str, Any]:
    """What `kind=rate,kind=rate` says."""
    found: dict[str, Any] = {}
    for word in text.split(","):
        kind, _, value = (part.strip() for part in word.partition("="))
        if kind not in KINDS:
            near = did_you_mean(kind, KINDS)
            raise BadParameter(f"errors: expected {', '.join(KINDS)}, each as KIND=RATE, found {word!r}{near}")
        found[kind] = parse_rate(kind, value)
    return found


def parse_rate(kind: str, text: str) -> Any:
    between, expected = {"jitter": ("x", "SHARExDEVIATION such as 0.05x0.15")}.get(
        kind, ("/", "a share such as 0.05, or ERRORS/CHECKED such as 3/60")
    )
    try:
        parts = text.split(between)
        if kind == "jitter":
            share, deviation = parts
            return float(share), float(deviation)
        if len(parts) == 1:
            return float(text)
        errors, checked = parts
        return int(errors), int(checked)
    except ValueError:
        raise BadParameter(f"{kind}: expected {expected}, found {text!r}") from None


def read_rates(path: str | Path) -> tuple[tuple[str, str, str, float], ...]:
    """A table class,size,kind,rate; `*` or nothing is any class and any size."""
    from verite.csv_files import read_csv

    table = read_csv(path, f"the header {HEADER}", HEADER.split(","), exact=True)
    found_rows = []
    for number, row in table.rows:
        try:
            label, size, kind, rate = (cell.strip() for cell in row)
            found_rows.append(check_row((label or ANY, size or ANY, kind, float(rate))))
        except ValueError as error:
            why = str(error) if isinstance(error, BadParameter) else excerpt(",".join(row))
            raise ReadError(table.where(number), expected=f"values of {HEADER}", found=why) from None
    return tuple(found_rows)


def check_row(row: Any) -> tuple[str, str, str, float]:
    label, size, kind, rate = row
    if size not in (*SIZES, ANY):
        raise BadParameter(f"rates: expected the size {', '.join(SIZES)} or {ANY}, found {size!r}")
    if kind not in KINDS:
        raise BadParameter(f"rates: expected the kind {', '.join(KINDS)}, found {kind!r}{did_you_mean(kind, KINDS)}")
    share = check_share(kind, rate)
    assert isinstance(share, float)
    return str(label), size, kind, share


def check_share(name: str, value: Any) -> Any:
    """A share from 0 to 1, or errors among so many checked."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        errors, checked = check_count(name, value[0]), check_count(name, value[1], 1)
        if errors > checked:
            raise BadParameter(f"{name}: expected at most the {checked} records checked, found {errors}")
        return errors, checked
    try:
        share = float(value)
    except (TypeError, ValueError):
        raise BadParameter(f"{name}: expected a share from 0 to 1, found {value!r}") from None
    if not 0 <= share <= 1:
        raise BadParameter(f"{name}: expected a share from 0 to 1, found {share:g}")
    return share


def check_jitter(value: Any) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise BadParameter(f"jitter: expected a share of boxes and a deviation of their sides, found {value!r}")
    share, deviation = check_share("jitter", value[0]), float(value[1])
    if not 0 <= deviation < 10:
        raise BadParameter(f"jitter: expected a deviation from 0 up, as a share of the side, found {deviation:g}")
    return share, deviation


def spell_field(name: str, value: Any) -> str:
    if name == "rates":
        return fingerprint([list(row) for row in value])
    if name == "favours":
        return f"{value[0]}:{spell_value(value[1])}"
    if isinstance(value, tuple):
        return ("x" if name == "jitter" else "/").join(spell_value(part) for part in value)
    return spell_value(value)


def say_rate(rate: Rate) -> str:
    if isinstance(rate, tuple):
        return f"{rate[0]} in {rate[1]} checked (Beta posterior under Jeffreys' prior)"
    return f"{rate:g}"


def join_rates(*given: Mapping[str, Any]) -> dict[str, Any]:
    """Several ways to say rates as one; a kind that is said twice is refused."""
    joined: dict[str, Any] = {}
    for rates in given:
        for kind, rate in rates.items():
            if kind in joined:
                raise BadParameter(f"{kind}: expected one rate, found {spell_field(kind, joined[kind])} and another")
            joined[kind] = rate
    return joined
