"""What does an error model say? One class: its numbers, its words, its rates and groups, the law of its errors.

A model says which records err together (`groups_of`), and how many of them are wrong (`law`); without groups each
record errs for itself, at a rate of its own (`rates_of`). That is all a ranking asks, so a new model is one class: its
checks, `words`, and whichever of these methods differ from the base's. Its spelling, its option on the command line and
its place in the documents follow from the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib import import_module
from inspect import signature
from math import isfinite
from numbers import Real
from re import fullmatch, sub
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from verite.arrays import np
from verite.errors import BadParameter, VeriteError, did_you_mean
from verite.metrics.metric import parse_call

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


FINGERPRINT = r"\d+:[0-9a-f]{8}"


def parse(text: str) -> ErrorModel:
    """The model that is spelled `name(field=value, …)`, or `package.module:Class(field=value, …)`.

    >>> print(parse("audit(errors=5, checked=50)"))
    audit(errors=5, checked=50)
    """
    name, arguments = parse_call(text)
    model = import_model(name) if ":" in name else MODELS.get(name)
    if model is None:
        raise BadParameter(f"errors: expected one of {', '.join(MODELS)}, found {name!r}{did_you_mean(name, MODELS)}")
    for field, value in arguments.items():
        if isinstance(value, str) and fullmatch(FINGERPRINT, value):
            raise BadParameter(
                f"errors: {name}: expected {field} as the name of a column, found {value}, which stands for "
                f"{value.partition(':')[0]} values that only the program that had them knows"
            )
    try:
        signature(model).bind(**arguments)
    except TypeError as error:
        raise BadParameter(f"errors: {name}: expected other arguments: {error}") from None
    return model(**arguments)


def import_model(path: str) -> type[ErrorModel]:
    """The class behind `package.module:Class`."""
    module, _, name = path.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
    except VeriteError:
        raise
    except Exception as error:
        raise BadParameter(f"errors: {path}: expected a class, found {type(error).__name__}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, ErrorModel)):
        raise BadParameter(f"errors: {path}: expected a class of error models, found {found!r}")
    return found


WHY_HALF = (
    "beyond one half the record says the opposite of the truth more often than the truth, "
    "and no order can be read off it"
)

HELD = 2_000_000  # numbers of wrong records held at a time


class Records(Protocol):
    """What models ask of a table: its records, and what else it knows about the items."""

    @property
    def kind(self) -> str: ...

    @property
    def truth(self) -> NDArray[Any]: ...

    def __len__(self) -> int: ...

    def column(self, name: str, purpose: str) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Option:
    """One option of the command line, and what its text says about a model."""

    name: str  # the option is this with dashes
    metavar: str
    help: str
    read: Callable[[str], dict[str, Any]]  # arguments of the model
    needed: bool = True  # the model is meant only where it is given

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


class ErrorModel:
    """In what way a truth may be wrong. Subclasses are frozen dataclasses."""

    name: ClassVar[str]  # as signatures spell it
    options: ClassVar[tuple[Option, ...]]  # of the command line; one with all fields unless the class has its own
    is_scattered: ClassVar[bool] = True  # errors are strewn at random: what that hides is said with the answer
    is_worst_case: ClassVar[bool] = False  # no probability: what is certain, and what is not
    knows_right: ClassVar[bool] = False  # a record of rate 0 is known to be right

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        if cls.words is not ErrorModel.words:  # what has no words of its own is a common ground of models
            MODELS[cls.name] = cls

    @property
    def words(self) -> str:
        """The assumption as a sentence without its full stop."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The model and its numbers, as signatures spell them; `parse` reads it back."""
        given = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return f"{self.name}({', '.join(f'{name}={spell_value(value)}' for name, value in given if value is not None)})"

    @property
    def columns(self) -> list[str]:
        """The columns of a table that the model names."""
        return []

    @property
    def is_independent(self) -> bool:
        """Whether every record errs for itself."""
        return type(self).groups_of is ErrorModel.groups_of

    def check(self, items: int) -> None:
        """Refuse numbers that so many records cannot have."""

    def rates_of(self, records: Records) -> tuple[Array, NDArray[np.int64] | None]:
        """The different rates at which records are wrong, and for every record which it has (None: all the first)."""
        raise NotImplementedError

    def groups_of(self, records: Records) -> NDArray[np.int64] | None:
        """For every record the number of its group, whose errors depend on each other; None: there is none."""
        return None

    def law(self, size: int, items: int) -> Array | None:
        """log P(k records are wrong), k = 0 … size, among `size` of a group, every choice of them being as likely as
        any other; `items` is the number of all records. None: no law is known, and errors are drawn.
        """
        return None

    def average(self, logs_at: Callable[[float], Array], degree: int) -> Array | None:
        """The logarithm of the mean of exp(logs_at(rate)) over a common rate that is itself uncertain.

        `degree` is that of these probabilities as polynomials in the rate. None: this is no such model.
        """
        return None

    def draw(self, sizes: NDArray[np.int64], items: int, draws: int, rng: np.random.Generator) -> Iterator[Any]:
        """Block by block, draws × groups: how many records are wrong in each group of so many."""
        from verite.annotation_errors.laws import Sampler

        samplers = {}
        for size in np.unique(sizes).tolist():
            law = self.law(size, items)
            if law is None:
                raise NotImplementedError(f"{self.name}: expected a law or a way to draw")
            samplers[size] = Sampler.of_law(np.exp(law))
        for begin in range(0, draws, block := max(1, HELD // len(sizes))):
            wrong = np.empty((min(block, draws - begin), len(sizes)), dtype=np.int32)
            for size, sampler in samplers.items():
                mine = np.flatnonzero(sizes == size)
                wrong[:, mine] = sampler.draw(len(wrong) * len(mine), rng).reshape(len(wrong), len(mine))
            yield wrong

    def at(self, epsilon: float) -> ErrorModel:
        """The model with this rate; where it has none of its own, independent errors at this rate."""
        from verite.annotation_errors.independent import Bernoulli

        return Bernoulli(epsilon)

    def expected(self, records: Records) -> int:
        """The whole number of wrong records to expect; where the model has a bound, the bound."""
        rates, which = self.rates_of(records)
        counts = [len(records)] if which is None else np.bincount(which, minlength=len(rates)).tolist()
        # Of the decimal numbers that were written: 0.29 of 100 is 29.
        return int(sum(Fraction(repr(float(rate))) * count for rate, count in zip(rates, counts, strict=True)))


MODELS: dict[str, type[ErrorModel]] = {}


def options_of(model: type[ErrorModel]) -> tuple[Option, ...]:
    """The options that name a model: its own, or one that takes all its fields."""
    if "options" in vars(model):
        return model.options
    names = [f.name for f in fields(model)]  # type: ignore[arg-type]
    metavar = ",".join(name.upper() for name in names)
    summary = (model.__doc__ or "").strip().partition("\n")[0]
    return (Option(model.name, metavar, summary, lambda text: dict(split(text, metavar, ",", plain_value, names))),)


def split(
    text: str, metavar: str, between: str, convert: Callable[[str], Any], names: list[str]
) -> Iterator[tuple[str, Any]]:
    """Some arguments out of one text."""
    parts = text.split(between)
    try:
        values = [convert(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != len(names):
        raise BadParameter(f"expected {metavar}, found {text!r}")
    return zip(names, values, strict=True)


def plain_value(text: str) -> Any:
    """A whole number, a number, or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def spell_value(value: Any) -> str:
    """A model's number, word or column as signatures print it.

    >>> spell_value(0.05), spell_value(1.0), spell_value(1 / 3), spell_value("source"), spell_value("a column")
    ('0.05', '1', '0.3333333333333333', 'source', "'a column'")
    """
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if isinstance(value, Real):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return fingerprint(value)


def fingerprint(values: Any) -> str:
    """How many values, and eight characters that stand for them, to tell signatures apart.

    >>> fingerprint([0.1, 0.2]) == fingerprint((0.1, 0.2)), fingerprint([0.1, 0.2]) == fingerprint([0.2, 0.1])
    (True, False)
    """
    from hashlib import blake2b

    listed = np.asarray(values).tolist()
    return f"{len(listed)}:{blake2b(repr(listed).encode(), digest_size=4).hexdigest()}"


def check_rate(name: str, value: float) -> float:
    """A share of wrong records between 0 and one half."""
    if not isinstance(value, Real):
        raise BadParameter(f"{name}: expected a share of wrong records from 0 to 0.5, found {value!r}")
    if not 0 <= value <= 0.5:
        raise BadParameter(f"{name}: expected a share of wrong records from 0 to 0.5, found {value:g}; {WHY_HALF}")
    return float(value)


def check_count(name: str, value: int, least: int = 0) -> int:
    """A whole number, such as one of records."""
    if not isinstance(value, Real) or value % 1 or value < least:
        raise BadParameter(f"{name}: expected a whole number from {least} on, found {value!r}")
    return int(value)


def set_fields(model: object, **values: Any) -> None:
    """Checked values in the place of those a frozen model was given."""
    for name, value in values.items():
        object.__setattr__(model, name, value)


def share_of(epsilon: float, items: int) -> int:
    """The largest whole number of items within a share: floor(epsilon items) of the decimal number that was written.

    >>> share_of(0.29, 100)  # 0.29 * 100 is 28.999999999999996
    29
    """
    if not isfinite(epsilon):
        raise BadParameter(f"epsilon: expected a number, found {epsilon}")
    return int(Fraction(repr(float(epsilon))) * items)
