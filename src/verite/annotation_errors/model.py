"""Annotation error models: the base class, its registry, and how models are written and parsed.

A model says which annotations err together (`groups_of`) and how many of such a group are wrong (`log_pmf`); without
groups each annotation is wrong independently, at a rate of its own (`rates_of`). That is all a ranking asks, so a new
model is one class: its checks, `assumption`, and whichever of these methods differ from the base class. Its printed
form, its option on the command line and its place in JSON documents follow from the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from inspect import signature
from numbers import Real
from re import fullmatch, sub
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from verite.arrays import np
from verite.errors import BadParameter, VeriteError, did_you_mean
from verite.metrics.metric import parse_call
from verite.settings import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Ints = NDArray[np.int64]

FINGERPRINT = r"\d+:[0-9a-f]{8}"
BLOCK = 2_000_000  # sampled numbers of wrong annotations that are held in memory at a time
WHY_HALF = (
    "beyond one half the ground truth is more often wrong than right, and no ranking can be derived from it"
)  # fmt: skip


class AnnotatedItems(Protocol):
    """A table of annotated items as error models see it: the annotations, and further columns about the items."""

    @property
    def kind(self) -> str:
        """The kind of answers: `binary`, `labels`, `confidences` or `found`."""
        ...

    @property
    def truth(self) -> NDArray[Any]:
        """The recorded annotation of every item."""
        ...

    def __len__(self) -> int: ...

    def column(self, name: str, purpose: str) -> NDArray[Any]:
        """A column about the items; `purpose` is the argument that messages name."""
        ...


class Option(Setting[str | None, Mapping[str, Any] | None]):
    """A command-line option of an error model: a setting whose text stands for arguments of the model.

    Parameters
    ----------
    name
        The option is this name with dashes.
    metavar, help
        Placeholder of the value, and one sentence for the help.
    read
        Turns the text into arguments of the model.
    needed
        Whether the model is meant only where this option is given.
    """

    def __init__(
        self, name: str, metavar: str, help: str, read: Callable[[str], dict[str, Any]], needed: bool = True
    ) -> None:
        super().__init__(None, help, metavar=metavar, section="Options")
        self.read, self.needed = read, needed
        self.__set_name__(ErrorModel, name)

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return self.option

    def validate(self, value: Any) -> Mapping[str, Any]:
        try:
            return self.read(str(value))
        except BadParameter as error:
            raise BadParameter(f"{self.name}: {error}") from None


class ErrorModel:
    """A probability model (or worst case) of wrong annotations. Subclasses are frozen dataclasses.

    A subclass registers itself under its name in snake case as soon as it has an `assumption`; `vt.rank`, `--errors`
    and `parse` know it from then on.

    Examples
    --------
    >>> from verite.annotation_errors import Bernoulli
    >>> print(Bernoulli(0.05)), Bernoulli(0.05).assumption
    bernoulli(epsilon=0.05)
    (None, 'each annotation is wrong with probability 0.05, independently of the others')
    """

    name: ClassVar[str]  # as in signatures
    options: ClassVar[tuple[Option, ...]]  # of the command line; one with all fields unless the class has its own
    is_scattered: ClassVar[bool] = True  # errors are scattered at random: the result states that caveat
    is_worst_case: ClassVar[bool] = False  # no probabilities: a ranking is certain within a bound, or not
    rate_zero_is_verified: ClassVar[bool] = False  # an annotation of rate 0 is known to be right

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        if cls.assumption is not ErrorModel.assumption:  # otherwise it is a common base of models
            MODELS[cls.name] = cls

    @property
    def assumption(self) -> str:
        """The assumption as a sentence without its full stop."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The model and its parameters as in signatures; `parse` reads it back."""
        given = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        shown = (f"{name}={format_value(value)}" for name, value in given if value is not None)
        return f"{self.name}({', '.join(shown)})"

    @property
    def columns(self) -> list[str]:
        """The columns of a table that the model uses."""
        return []

    @property
    def is_independent(self) -> bool:
        """Whether every annotation is wrong independently of the others."""
        return type(self).groups_of is ErrorModel.groups_of

    def check(self, items: int) -> None:
        """Refuse parameters that are impossible for a table of this many items."""

    def rates_of(self, table: AnnotatedItems) -> tuple[Array, Ints | None]:
        """Return the distinct error rates, and for every item the index of its rate (None: all have the first)."""
        raise NotImplementedError

    def groups_of(self, table: AnnotatedItems) -> Ints | None:
        """Return for every item the number of the group within which errors are correlated; None without groups."""
        return None

    def log_pmf(self, size: int, items: int) -> Array | None:
        """Return log P(k of `size` annotations of a group are wrong) for k = 0 … size.

        Given k, every choice of k annotations is equally likely (errors are exchangeable). `items` is the number of all
        items. None: the distribution is not known, and errors are sampled.
        """
        return None

    def log_mean(self, log_at: Callable[[float], Array], degree: int) -> Array | None:
        """Return log E exp(log_at(rate)) over a common rate that is itself uncertain; None without such a rate.

        `degree` is that of these probabilities as polynomials in the rate.
        """
        return None

    def sample(self, sizes: Ints, items: int, samples: int, rng: np.random.Generator) -> Iterator[Any]:
        """Sample how many annotations of each group are wrong: blocks of samples × groups, `sizes` those of groups."""
        from verite.annotation_errors.distributions import Sampler

        samplers = {}
        for size in np.unique(sizes).tolist():
            logs = self.log_pmf(size, items)
            if logs is None:
                raise NotImplementedError(f"{self.name}: expected log_pmf or sample, found neither")
            samplers[size] = Sampler.of_pmf(np.exp(logs))
        for begin in range(0, samples, block := max(1, BLOCK // len(sizes))):
            wrong = np.empty((min(block, samples - begin), len(sizes)), dtype=np.int32)
            for size, sampler in samplers.items():
                mine = np.flatnonzero(sizes == size)
                wrong[:, mine] = sampler.sample(len(wrong) * len(mine), rng).reshape(len(wrong), len(mine))
            yield wrong

    def with_rate(self, epsilon: float) -> ErrorModel:
        """Return the model with this error rate; where it has none of its own, independent errors at this rate."""
        from verite.annotation_errors.independent import Bernoulli

        return Bernoulli(epsilon)

    def expected_errors(self, table: AnnotatedItems) -> int:
        """Return the expected number of wrong annotations, rounded down; where the model has a bound, the bound."""
        rates, which = self.rates_of(table)
        counts = [len(table)] if which is None else np.bincount(which, minlength=len(rates)).tolist()
        # Of the decimal numbers that were written: 0.29 of 100 is 29.
        return int(sum(Fraction(repr(float(rate))) * count for rate, count in zip(rates, counts, strict=True)))


MODELS: dict[str, type[ErrorModel]] = {}


def parse(text: str) -> ErrorModel:
    """Parse an error model as signatures print it.

    Parameters
    ----------
    text : str
        `name(field=value, …)` of a known model, or `package.module:Class(field=value, …)` of one of your own.

    Returns
    -------
    ErrorModel

    Raises
    ------
    BadParameter
        The model is not known, or its arguments are not those of its class.

    Examples
    --------
    >>> parse("audit(errors=5, checked=50)")
    Audit(errors=5, checked=50)
    """
    name, arguments = parse_call(text)
    model = MODELS.get(name)
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            model = getattr(import_module(module), attribute)
        except VeriteError:
            raise
        except Exception as error:
            raise BadParameter(f"errors: {name}: expected a class, found {type(error).__name__}: {error}") from None
        if not (isinstance(model, type) and issubclass(model, ErrorModel)):
            raise BadParameter(f"errors: {name}: expected a class of error models, found {model!r}")
    if model is None:
        raise BadParameter(f"errors: expected one of {', '.join(MODELS)}, found {name!r}{did_you_mean(name, MODELS)}")
    for field, value in arguments.items():
        if isinstance(value, str) and fullmatch(FINGERPRINT, value):
            raise BadParameter(
                f"errors: {name}: expected {field} as the name of a column, found {value}, the fingerprint of "
                f"{value.partition(':')[0]} values, which cannot be restored from it"
            )
    try:
        signature(model).bind(**arguments)
    except TypeError as error:
        raise BadParameter(f"errors: {name}: expected other arguments: {error}") from None
    return model(**arguments)


def options_of(model: type[ErrorModel]) -> tuple[Option, ...]:
    """Return the command-line options of a model: its own, or one that takes all its fields."""
    if "options" in vars(model):
        return model.options
    names = [f.name for f in fields(model)]  # type: ignore[arg-type]
    metavar = ",".join(name.upper() for name in names)
    summary = (model.__doc__ or "").strip().partition("\n")[0]

    def convert(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    return (Option(model.name, metavar, summary, lambda text: split_arguments(text, metavar, ",", convert, names)),)


def split_arguments(
    text: str, metavar: str, separator: str, convert: Callable[[str], Any], names: list[str]
) -> dict[str, Any]:
    """Split the text of an option into named arguments of a model; `metavar` is what messages say was expected."""
    parts = text.split(separator)
    try:
        values = [convert(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != len(names):
        raise BadParameter(f"expected {metavar}, found {text!r}")
    return dict(zip(names, values, strict=True))


def format_value(value: Any) -> str:
    """Format a parameter of a model as in signatures: a number, a word, or the fingerprint of an array.

    >>> format_value(0.05), format_value(1.0), format_value(1 / 3), format_value("source"), format_value("a column")
    ('0.05', '1', '0.3333333333333333', 'source', "'a column'")
    """
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if isinstance(value, Real):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return fingerprint(value)


def fingerprint(values: Any) -> str:
    """Return the number of values and a hash of eight characters, which distinguishes arrays in signatures.

    >>> fingerprint([0.1, 0.2]) == fingerprint((0.1, 0.2)), fingerprint([0.1, 0.2]) == fingerprint([0.2, 0.1])
    (True, False)
    """
    from hashlib import blake2b

    listed = np.asarray(values).tolist()
    return f"{len(listed)}:{blake2b(repr(listed).encode(), digest_size=4).hexdigest()}"


def check_rate(name: str, value: float) -> float:
    """Return an error rate; refuse one that is not from 0 to 0.5. `name` is the argument that messages name.

    Parameters
    ----------
    name
        The argument that messages name.
    value
        The share of wrong annotations. Above one half, the annotation would rather be the wrong answer.

    Returns
    -------
    float
        The rate as a float.
    """
    if not isinstance(value, Real):
        raise BadParameter(f"{name}: expected a share of wrong annotations from 0 to 0.5, found {value!r}")
    if not 0 <= value <= 0.5:
        raise BadParameter(f"{name}: expected a share of wrong annotations from 0 to 0.5, found {value:g}; {WHY_HALF}")
    return float(value)


def check_count(name: str, value: int, least: int = 0) -> int:
    """Return a whole number of at least `least`; refuse anything else.

    Parameters
    ----------
    name
        The argument that messages name.
    value
        The number to check; 3.0 is a whole number, 3.5 is not.
    least
        The smallest number that is accepted.

    Returns
    -------
    int
        The number as an int.
    """
    if not isinstance(value, Real) or value % 1 or value < least:
        raise BadParameter(f"{name}: expected a whole number of at least {least}, found {value!r}")
    return int(value)


def set_fields(model: object, **values: Any) -> None:
    """Replace fields of a frozen dataclass by their checked values."""
    for name, value in values.items():
        object.__setattr__(model, name, value)
