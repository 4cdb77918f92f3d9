"""Declarative settings: each parameter of an evaluation is declared once.

A setting's name is the keyword argument in Python, the long option on the command line and the key in signatures. Its
default, validation and help text stand beside it, so that function signatures, option parsers and the reference
documentation are derived from the declaration.

>>> class Rules(Settings):
...     iou: Setting[float | Sequence[float], tuple[float, ...]] = Thresholds(0.5, "IoU threshold of a true positive.")
...     pixel: Setting[str, str] = Choice("plus1", "Width of a box.", ("plus1", "continuous"))
...     ties = Constant("stable")
>>> print(Rules(iou=[0.5, 0.75]).signature("ap"))
ap|iou:0.50,0.75|pixel:plus1|ties:stable|rev:1
>>> Rules(pixel="plus2")
Traceback (most recent call last):
verite.errors.BadParameter: pixel: expected plus1 or continuous, found 'plus2'; did you mean 'plus1'?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, isfinite
from operator import index
from os import PathLike
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    overload,
)

from verite.errors import BadParameter, did_you_mean, excerpt
from verite.signature import Signature

if TYPE_CHECKING:
    from inspect import Signature as CallSignature

Given = TypeVar("Given", contravariant=True)
Held = TypeVar("Held", covariant=True)
Plain = TypeVar("Plain")
P = ParamSpec("P")
MAX_THRESHOLDS = 64  # matching keeps one bit per IoU threshold in a 64-bit word


# Sections of the help for names that mean the same in every command; "Options" comes first and has the common ones.
SECTIONS: dict[str, str] = {
    **dict.fromkeys(("on", "iou", "labels", "confidence", "per", "metric", "metrics", "protocol", "errors"), "Options"),
    **dict.fromkeys(("images", "output", "checks", "threads", "quiet"), "Options"),
    **dict.fromkeys(("resample", "draws", "seed", "level", "metadata", "audit", "calibrate"), "Statistics"),
}


class Setting(Generic[Given, Held]):
    """One setting, as a descriptor that validates what is assigned and stores it in one form.

    Parameters
    ----------
    default
        The value if none is given. ``None`` stands for "not set".
    help
        One sentence for the command line and the reference.
    short
        Short option, such as ``-t``.
    long
        The long option without dashes, where it is not the setting's name.
    names
        Further long options without dashes.
    flags
        Options without an argument that stand for one value: ``{"exact": "pycocotools"}``.
    metavar
        Placeholder of the value in the help.
    default_text
        The default in words, where it is not a plain value.
    is_signed
        Whether the setting can change a number and therefore belongs to the signature.
    is_common
        Whether many evaluations share it: listed after the others in help and signatures.
    omit_default
        Whether the signature leaves it out while it has its default.
    has_option
        Whether it is an option of the command line, too.
    section
        Title of its section in the help of a command; by default that of its name in ``SECTIONS``,
        else ``TITLE`` of the class that declares it.
    is_rare
        Whether only ``--help-all`` shows the option.
    is_required
        Whether the command line must give it.
    kind
        What the command line parses: a key of ``verite.cli.options.TYPES``.
    takes
        The type that may be given, for signatures and documentation, where it is not that of the class.
    """

    name: str
    option: str
    kind = "text"
    takes = "Any"  # the type that may be given, as signatures and documentation show it; None is added by the default
    is_repeated = False
    absent: str | None = None  # what signatures show for None; None: nothing

    def __init__(
        self,
        default: Any,
        help: str,
        *,
        short: str = "",
        long: str = "",
        names: Sequence[str] = (),
        flags: Mapping[str, str] | None = None,
        metavar: str | None = None,
        default_text: str = "",
        is_signed: bool = True,
        is_common: bool = False,
        omit_default: bool = False,
        has_option: bool = True,
        section: str = "",
        is_rare: bool = False,
        is_required: bool = False,
        kind: str = "",
        takes: str = "",
    ) -> None:
        self.default, self.help, self.short, self.long, self.names = default, help, short, long, tuple(names)
        self.flags, self.metavar, self.default_text = dict(flags or {}), metavar, default_text
        self.is_signed, self.is_common, self.has_option = is_signed, is_common, has_option
        self.omit_default, self.section, self.is_rare, self.is_required = omit_default, section, is_rare, is_required
        self.kind, self.takes = kind or type(self).kind, takes or type(self).takes

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.option = "--" + (self.long or name.replace("_", "-"))  # the long option of the command line
        self.section = self.section or SECTIONS.get(name, getattr(owner, "TITLE", "Matching"))

    if TYPE_CHECKING:  # values are in the instance's own dictionary, so that reading one calls nothing

        @overload
        def __get__(self, settings: None, owner: type) -> Self: ...
        @overload
        def __get__(self, settings: object, owner: type) -> Held: ...
        def __get__(self, settings: object, owner: type) -> Any: ...

    def __set__(self, settings: object, value: Given) -> None:
        raise AttributeError(f"cannot change {self.name!r} of settings; change(...) returns a changed copy")

    def accept(self, value: Any) -> Any:
        """Return a value as it is stored: validated, the default for ``None``; or raise `BadParameter`."""
        chosen = self.default if value is None else value
        try:
            return None if chosen is None else self.validate(chosen)
        except (TypeError, AttributeError):  # a value of another kind, such as a number for a list of names
            raise self.refuse(f"a value such as {self.default_words or self.kind}", excerpt(value)) from None

    def validate(self, value: Any) -> Any:
        """Return the value in the form in which it is stored, or raise `BadParameter`."""
        return value

    def format(self, value: Any) -> object:
        """Return a value other than ``None`` as signatures show it."""
        return value

    def refuse(self, expected: str, found: object) -> BadParameter:
        """Return the error for a value that is not allowed."""
        return BadParameter(f"{self.name}: expected {expected}, found {found}")

    def validate_number(self, value: Any, is_allowed: Callable[[float], bool], expected: str) -> float:
        """Return a value as a float, or raise `BadParameter` if it is no number or is not allowed."""
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse(expected, excerpt(value)) from None
        if not is_allowed(number):
            raise self.refuse(expected, excerpt(value))
        return number

    @property
    def given_type(self) -> object:
        """The type that may be given, as an annotation."""
        return f"{self.takes} | None" if self.default is None else self.takes

    @property
    def default_words(self) -> str:
        """The default as help and documentation show it."""
        if self.default_text or self.default is None:
            return self.default_text
        return ", ".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)


Option = Setting[Plain, Plain]  # stored as it is given
Overlaps = Setting[float | Sequence[float] | None, tuple[float, ...]]
Texts = Setting[Sequence[str] | None, tuple[str, ...]]


# What other tools call the region types: pycocotools' iouType, Ultralytics' tasks.
OTHER_WORDS = {"bbox": "box", "segm": "mask", "obb": "rotated", "pose": "keypoints", "boxes": "box", "masks": "mask",
               "points": "point"}  # fmt: skip


# What other tools call a setting.
OTHER_NAMES = {"iou_type": "on", "classes": "labels"}


class Choice(Setting[Given, Held]):
    """One of a few words: those of a `Literal`, or a list of them."""

    kind = "choice"

    def __init__(self, default: str | None, help: str, choices: Any, **more: Any) -> None:
        super().__init__(default, help, **more)
        self.choices: tuple[str, ...] = tuple(choices) if isinstance(choices, (tuple, list)) else get_args(choices)

    @property
    def given_type(self) -> object:
        return Literal[self.choices if self.default else (*self.choices, None)]

    def validate(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.choices:
            return value
        if isinstance(value, str) and OTHER_WORDS.get(value) in self.choices:
            return OTHER_WORDS[value]
        words = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}" if self.choices[1:] else self.choices[0]
        raise self.refuse(words, excerpt(value) + (did_you_mean(value, self.choices) if isinstance(value, str) else ""))


class Text(Setting[Given, Held]):
    """Any text."""

    takes = "str"

    def validate(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.refuse("text", excerpt(value))
        return value


class Flag(Setting[Given, Held]):
    """True or False."""

    takes = "bool"
    kind = "flag"

    def validate(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.refuse("True or False", excerpt(value))
        return value


class Number(Setting[Given, Held]):
    """A finite number within bounds."""

    takes = "float"
    kind = "number"

    def __init__(
        self, default: float | None, help: str, *, least: float = -inf, most: float = inf, **more: Any
    ) -> None:
        super().__init__(default, help, **more)
        self.least, self.most = least, most

    def validate(self, value: Any) -> float:
        bounds = "" if self.least == -inf else f" from {self.least:g} "
        bounds += "" if self.least == -inf else "up" if self.most == inf else f"to {self.most:g}"
        return self.validate_number(value, lambda v: self.least <= v <= self.most and isfinite(v), f"a number{bounds}")


class Whole(Setting[Given, Held]):
    """A non-negative integer."""

    takes = "int"
    kind = "whole"

    def validate(self, value: Any) -> int:
        return check_whole(self.name, value, 0)


class Bytes(Setting[Given, Held]):
    """A number of bytes: an integer, or a text such as ``4MB``; kB, MB and GB are powers of 1,000."""

    takes = "int | str"
    kind = "bytes"
    UNITS: ClassVar[dict[str, int]] = {"": 1, "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}

    def validate(self, value: Any) -> int:
        if isinstance(value, str):
            text = value.strip().upper()
            digits = text.rstrip("KMGB")
            try:
                return int(float(digits) * self.UNITS[text[len(digits) :].strip()])
            except (ValueError, KeyError, OverflowError):
                raise self.refuse("bytes such as 4MB or 500kB", excerpt(value)) from None
        return check_whole(self.name, value, 0)


class Count(Setting[Given, Held]):
    """A positive integer."""

    takes = "int"
    kind = "count"

    def validate(self, value: Any) -> Any:
        expected = "a whole number from 1 up"
        return int(self.validate_number(value, lambda v: 1 <= v < 2**31 and v == int(v), expected))


class Counts(Count[Given, Held]):
    """Several positive integers, sorted."""

    takes = "int | Sequence[int]"
    is_repeated = True

    def validate(self, value: Any) -> Any:
        values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        if not values:
            raise self.refuse("whole numbers from 1 up", "none")
        return tuple(sorted({super(Counts, self).validate(v) for v in values}))


class Threshold(Setting[Given, Held]):
    """An IoU threshold in (0, 1]."""

    takes = "float"
    kind = "number"

    def validate(self, value: Any) -> Any:
        return self.validate_number(value, lambda v: 0 < v <= 1, "a threshold above 0 and up to 1")


def parse_numbers(text: str, step: float) -> list[float]:
    """Return the numbers of a text such as `0.5,0.75`, `0.5:0.95` (spaced by `step`) or `0.5:0.05:0.95`.

    A range includes both ends and is spaced as `numpy.linspace` does it. `ValueError` for anything else.
    """
    found: list[float] = []
    for part in text.split(","):
        bounds = [float(word) for word in part.split(":")]
        if len(bounds) > 3:
            raise ValueError
        low, width, high = (bounds[0], step, bounds[-1]) if len(bounds) < 3 else bounds
        if not width > 0 or not 0 <= high - low < 1000 * width:
            raise ValueError
        count = int((high - low) / width + 1e-6)
        last = high if abs(low + count * width - high) < 1e-9 else low + count * width
        found += [low + i * ((last - low) / count) for i in range(count)] + [last] if count else [low]
    return found


STEP = 0.05  # between the IoU thresholds of a range, as COCO's


class Thresholds(Threshold[Given, Held]):
    """Several IoU thresholds, in the order in which they are given, or as the text `0.5:0.95`."""

    takes = "float | Sequence[float]"
    is_repeated = True

    def validate(self, value: Any) -> Any:
        given = value if isinstance(value, Iterable) else [value]
        if isinstance(value, str):
            try:
                given = parse_numbers(value, STEP)
            except ValueError:
                raise self.refuse("numbers such as 0.5, 0.5,0.75 or 0.5:0.95", value) from None
        values = tuple(super(Thresholds, self).validate(v) for v in given)
        if not 0 < len(values) <= MAX_THRESHOLDS:
            raise self.refuse(f"1 to {MAX_THRESHOLDS} thresholds", len(values) or "none")
        if len(set(values)) < len(values):
            raise self.refuse("each threshold once", list(values))
        return values


class Names(Setting[Given, Held]):
    """Some of the names that exist, such as classes. ``None`` means all, and leaves the setting out of signatures."""

    takes = "Iterable[str]"
    is_repeated = True

    def validate(self, value: Any) -> Any:
        names = tuple([value] if isinstance(value, str) else value)
        if not all(isinstance(name, str) for name in names):
            raise self.refuse("names", excerpt(value))
        return names


class FileOrContent(Setting[Given, Held]):
    """The path of a file, or an object with the file's content."""

    takes = "str | PathLike[str] | object"
    kind = "path"
    absent = "none"

    def validate(self, value: Any) -> Any:
        is_ours = type(value).__module__.startswith("verite.")  # class distances, a hierarchy
        if isinstance(value, (bool, int, float)) or not (is_ours or isinstance(value, (str, PathLike, Iterable))):
            raise self.refuse("a file or what is in it", excerpt(value))
        return value

    def format(self, value: Any) -> object:
        return "given"


class Constant:
    """A key of signatures that is not a setting: always the same value, or a function of the settings."""

    is_common = False

    def __init__(self, value: object) -> None:
        self.value = value


@dataclass_transform(kw_only_default=True)
class Settings:
    """Validated settings of one evaluation; subclasses declare them as class attributes."""

    declared: ClassVar[dict[str, Setting[Any, Any]]] = {}
    entries: ClassVar[dict[str, Setting[Any, Any] | Constant]] = {}  # settings and constants, in signature order
    initial: ClassVar[dict[str, Any]] = {}  # the default of each setting, as it is stored
    REVISION: ClassVar[int] = 1
    TITLE: ClassVar[str] = "Matching"  # of the section in the help of a command that has these settings
    __slots__ = ("__dict__", "given")  # the values, and the names of those that were given

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, (Setting, Constant))}
        bases = [base.entries for base in cls.__bases__ if issubclass(base, Settings)]
        inherited = {name: value for base in bases for name, value in base.items() if name not in own}
        every = sorted((inherited | own).items(), key=lambda item: item[1].is_common)
        cls.entries = dict(every)
        cls.declared = {name: value for name, value in every if isinstance(value, Setting)}
        cls.initial = {name: setting.accept(None) for name, setting in cls.declared.items()}

    def __init__(self, **given: Any) -> None:
        given = self.rename(given)
        for name, value in given.items():
            # Words first: other defaults follow from them, whatever another tool calls them.
            if isinstance(self.declared[name], Choice) and value is not None:
                given[name] = self.declared[name].validate(value)
        chosen = {**self.defaults(given), **{name: value for name, value in given.items() if value is not None}}
        self.given = frozenset(name for name, value in given.items() if value is not None)
        vars(self).update(self.initial)
        for name in [name for name in self.declared if name in chosen]:
            vars(self)[name] = self.declared[name].accept(chosen[name])
        self.check()

    @classmethod
    def rename(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return settings by the names that they have here, such as `on` for `iou_type`; refuse names of none."""
        names = {
            name: OTHER_NAMES[name] if name not in cls.declared and name in OTHER_NAMES else name for name in given
        }
        for name, meant in names.items():
            if meant not in cls.declared:
                near = did_you_mean(name, cls.declared)
                raise BadParameter(f"settings: expected {', '.join(cls.declared)}, found {name!r}{near}")
            if meant != name and meant in given:
                raise BadParameter(f"{meant}: expected {meant} or {name}, found both")
        return {names[name]: value for name, value in given.items()}

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return defaults that depend on other settings, such as ten thresholds for boxes but one for keypoints."""
        return {}

    def check(self) -> None:
        """Raise `BadParameter` for values that contradict each other."""

    def for_truth(self, truth: Any) -> Self:
        """Return settings with the defaults of the ground truth's format, such as which flags are ignored."""
        return self

    def change(self, **given: Any) -> Self:
        """Return a copy with some values changed; only these are validated again."""
        given = self.rename(given)
        changed = object.__new__(type(self))
        vars(changed).update(vars(self))
        changed.given = self.given.union(given)
        for name, value in given.items():
            vars(changed)[name] = self.declared[name].accept(value)
        changed.check()
        return changed

    def signature(self, name: str, **one: Any) -> Signature:
        """Return everything that can change a number, defaults included.

        Parameters
        ----------
        name
            What is computed, such as ``coco_ap``.
        **one
            Values of a single score that replace the settings', such as one IoU threshold out of ten.
        """
        present = {key: value for key, value in (self.signed_values | one).items() if value is not None}
        return Signature.of(name, **present, rev=self.REVISION)

    @property
    def signed_values(self) -> dict[str, object]:
        """The keys and values of the signature; ``None`` where a key is left out."""
        values: dict[str, object] = {}
        for key, entry in self.entries.items():
            if isinstance(entry, Constant):
                values[key] = entry.value(self) if callable(entry.value) else entry.value
                continue
            value = vars(self)[key]
            if entry.is_signed and not (entry.omit_default and value == entry.default):
                values[key] = entry.absent if value is None else entry.format(value)
        return values

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(str(self.signature(type(self).__name__)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def check_whole(name: str, value: Any, least: int) -> int:
    """A parameter that is no setting of a protocol, which must be a whole number.

    >>> check_whole("draws", 200, 1)
    200
    """
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number < 2**63:
        raise BadParameter(f"{name}: expected a whole number from {least:,} up, found {excerpt(value)}")
    return number


def call_signature(settings: type[Settings], first: Mapping[str, str], returns: str) -> CallSignature:
    """Return the call signature of a function that takes these settings as keywords after its first arguments.

    Parameters
    ----------
    settings
        The declared settings.
    first
        Names and annotations of the leading arguments.
    returns
        Annotation of the result.
    """
    from inspect import Parameter, Signature

    leading = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind) for name, kind in first.items()]
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=setting.default, annotation=setting.given_type)
        for name, setting in settings.declared.items()
    ]
    return Signature([*leading, *named], return_annotation=returns)


Made = TypeVar("Made", bound=Settings)


class SettingsFunction(Generic[P, Made]):
    """A public function whose keyword arguments are the settings of a class, such as `vt.rank`.

    A subclass has one method, ``__call__(self, what, *args: P.args, **given: P.kwargs)``: its other parameters are the
    leading arguments, its docstring is the function's, and ``self.settings_of(*args, **given)`` are the settings. So
    type checkers, `inspect.signature` and the reference see every declared setting, and none is written again.

    >>> class AreaSettings(Settings):
    ...     pixel: Option[str] = Choice("plus1", "Width of a box.", ("plus1", "continuous"))
    >>> class Area(SettingsFunction[P, AreaSettings]):
    ...     def __call__(self, low: int, high: int, *args: P.args, **given: P.kwargs) -> int:
    ...         return high - low + (self.settings_of(*args, **given).pixel == "plus1")
    >>> area = Area("area", AreaSettings)
    >>> area(2, 5), area(2, 5, pixel="continuous")
    (4, 3)
    >>> from inspect import signature
    >>> print(signature(area))
    (low: 'int', high: 'int', *, pixel: Literal['plus1', 'continuous'] = 'plus1') -> 'int'
    """

    def __init__(self, name: str, settings: Callable[P, Made]) -> None:
        """Make the function `name` of the module in which the subclass is defined."""
        self.__name__ = self.__qualname__ = name
        self.__module__, self.__doc__ = type(self).__module__, type(self).__call__.__doc__
        self.settings = settings

    def settings_of(self, *args: P.args, **given: P.kwargs) -> Made:
        """Return the validated settings; positional arguments beyond the leading ones are refused."""
        if args:
            raise BadParameter(f"{self.__name__}: expected settings by name, found {excerpt(args[0])} without one")
        return self.settings(*args, **given)

    @property
    def __signature__(self) -> CallSignature:
        from inspect import Parameter, signature

        shown = signature(type(self).__call__)
        _, *leading = shown.parameters.values()
        own = [one for one in leading if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
        declared: Any = self.settings
        named = call_signature(declared, {}, "").parameters.values()
        return shown.replace(parameters=[*own, *named])

    def __reduce__(self) -> str:
        return self.__name__  # found again by its name, as functions are

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__name__}>"
