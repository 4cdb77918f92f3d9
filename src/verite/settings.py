"""What can be asked of an evaluation? Every setting is declared once: its name is the parameter in Python, the long
option on the command line and the key in signatures; its check and its help are declared beside it.

>>> class Rules(Settings):
...     iou: Setting[float | Sequence[float], tuple[float, ...]] = Thresholds(0.5, "IoU from which a box is right.")
...     pixel: Setting[str, str] = Choice("plus1", "How wide a box is.", ("plus1", "continuous"))
...     ties = Fact("stable")
>>> print(Rules(iou=[0.5, 0.75]).signature("ap"))
ap|iou:0.50,0.75|pixel:plus1|ties:stable|rev:1
>>> Rules(pixel="plus2")
Traceback (most recent call last):
verite.errors.BadParameter: pixel: expected plus1 or continuous, found 'plus2'; did you mean 'plus1'?
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import inf, isfinite
from os import PathLike
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
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
MOST_THRESHOLDS = 64  # the core keeps a bit for each in one word


class Setting(Generic[Given, Held]):
    """One setting, as a descriptor: what is given is checked and held in one form.

    `short` is its short option, `names` are other long ones, `flags` options that stand for one value. `is_signed`:
    it can change a number, and signatures have it; an `is_quiet` one only where it is not the default. `is_common` ones
    come after the others, in help and signatures.
    None stands for the default, which `default_text` tells a person where it is not a plain value.
    """

    name: str
    kind = "text"  # what the command line parses
    is_repeated = False

    def __init__(
        self,
        default: Any,
        help: str,
        *,
        short: str = "",
        names: Sequence[str] = (),
        flags: Mapping[str, str] | None = None,
        metavar: str | None = None,
        default_text: str = "",
        is_signed: bool = True,
        is_common: bool = False,
        omit_default: bool = False,
        has_option: bool = True,
    ) -> None:
        self.default, self.help, self.short, self.names = default, help, short, tuple(names)
        self.flags, self.metavar, self.default_text = dict(flags or {}), metavar, default_text
        self.is_signed, self.is_common, self.has_option = is_signed, is_common, has_option
        self.omit_default = omit_default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, settings: None, owner: type) -> Self: ...
    @overload
    def __get__(self, settings: object, owner: type) -> Held: ...
    def __get__(self, settings: object, owner: type) -> Any:
        return self if settings is None else vars(settings)[self.name]

    def __set__(self, settings: object, value: Given) -> None:
        if self.name in vars(settings):
            raise AttributeError(f"cannot change {self.name!r} of settings; change(...) makes others")
        asked = self.default if value is None else value
        try:
            vars(settings)[self.name] = None if asked is None else self.hold(asked)
        except (TypeError, AttributeError):  # a value of another kind, such as a number for a list of names
            raise self.refuse(f"a value such as {self.default_words or self.kind}", excerpt(value)) from None

    def hold(self, value: Any) -> Any:
        """The value in the form in which it is kept; wrong ones are refused."""
        return value

    def spell(self, value: Any) -> object:
        """The value as signatures have it; None: they do not mention it."""
        return value

    def refuse(self, expected: str, found: object) -> BadParameter:
        return BadParameter(f"{self.name}: expected {expected}, found {found}")

    @property
    def default_words(self) -> str:
        """The default as a person reads it."""
        if self.default_text or self.default is None:
            return self.default_text
        return ", ".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)

    @property
    def option(self) -> str:
        """The long option."""
        return "--" + self.name.replace("_", "-")


Option = Setting[Plain, Plain]  # one that is held as it is given
Overlaps = Setting[float | Sequence[float] | None, tuple[float, ...]]


# What other tools call the kinds of regions: pycocotools' iouType, Ultralytics' tasks.
OTHER_WORDS = {"bbox": "box", "segm": "mask", "obb": "rotated", "pose": "keypoints", "boxes": "box", "masks": "mask"}


class Choice(Setting[Given, Held]):
    """One of a few words: those of a Literal, or listed."""

    kind = "choice"

    def __init__(self, default: str | None, help: str, choices: Any, **more: Any) -> None:
        super().__init__(default, help, **more)
        self.choices: tuple[str, ...] = tuple(choices) if isinstance(choices, (tuple, list)) else get_args(choices)

    def hold(self, value: Any) -> Any:
        value = OTHER_WORDS.get(value, value) if isinstance(value, str) and value not in self.choices else value
        if value not in self.choices:
            words = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}" if self.choices[1:] else self.choices[0]
            raise self.refuse(words, f"{value!r}{did_you_mean(str(value), self.choices)}")
        return value


class Flag(Setting[Given, Held]):
    """Yes or no."""

    kind = "flag"

    def hold(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.refuse("True or False", excerpt(value))
        return value


class Number(Setting[Given, Held]):
    """A number within bounds."""

    kind = "number"

    def __init__(
        self, default: float | None, help: str, *, least: float = -inf, most: float = inf, **more: Any
    ) -> None:
        super().__init__(default, help, **more)
        self.least, self.most = least, most

    def hold(self, value: Any) -> float:
        bounds = "" if self.least == -inf else f" from {self.least:g} "
        bounds += "" if self.least == -inf else "up" if self.most == inf else f"to {self.most:g}"
        return number_of(self, value, lambda v: self.least <= v <= self.most and isfinite(v), f"a number{bounds}")


class Whole(Setting[Given, Held]):
    """A whole number from 0 up."""

    kind = "whole"

    def hold(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            raise self.refuse("a whole number from 0 up", repr(value))
        return value


class Count(Setting[Given, Held]):
    """A whole number from 1 up."""

    kind = "count"

    def hold(self, value: Any) -> int:
        return count_of(self, value)


class Counts(Count[Given, Held]):
    """Several whole numbers, by size."""

    is_repeated = True

    def hold(self, value: Any) -> Any:
        values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        if not values:
            raise self.refuse("whole numbers from 1 up", "none")
        return tuple(sorted({count_of(self, v) for v in values}))


class Threshold(Setting[Given, Held]):
    """An overlap above 0 and up to 1."""

    kind = "number"

    def hold(self, value: Any) -> Any:
        return number_of(self, value, lambda v: 0 < v <= 1, "a threshold above 0 and up to 1")


class Thresholds(Threshold[Given, Held]):
    """Several overlaps, in the order in which they are asked for."""

    is_repeated = True

    def hold(self, value: Any) -> Any:
        values = tuple(super(Thresholds, self).hold(v) for v in (value if isinstance(value, Iterable) else [value]))
        if not 0 < len(values) <= MOST_THRESHOLDS:
            raise self.refuse(f"1 to {MOST_THRESHOLDS} thresholds", len(values) or "none")
        if len(set(values)) < len(values):
            raise self.refuse("each threshold once", list(values))
        return values


class Names(Setting[Given, Held]):
    """Some of the names that there are; None: all of them, and signatures do not mention it."""

    is_repeated = True

    def hold(self, value: Any) -> Any:
        names = tuple([value] if isinstance(value, str) else value)
        if not all(isinstance(name, str) for name in names):
            raise self.refuse("names", excerpt(value))
        return names


class FileOrContent(Setting[Given, Held]):
    """A file, or what is in it."""

    kind = "path"

    def hold(self, value: Any) -> Any:
        is_ours = type(value).__module__.startswith("verite.")  # class distances, a hierarchy
        if isinstance(value, (bool, int, float)) or not (is_ours or isinstance(value, (str, PathLike, Iterable))):
            raise self.refuse("a file or what is in it", excerpt(value))
        return value

    def spell(self, value: Any) -> object:
        return "none" if value is None else "given"


class Constant:
    """What signatures say besides the settings: always the same, or following from them."""

    is_signed, is_common = True, False

    def __init__(self, value: object) -> None:
        self.value = value

    def of(self, settings: Settings) -> object:
        return self.value(settings) if callable(self.value) else self.value


@dataclass_transform(kw_only_default=True)
class Settings:
    """The settings of one evaluation. A subclass declares them; an object holds values that have been checked."""

    declared: ClassVar[dict[str, Setting[Any, Any]]] = {}
    entries: ClassVar[dict[str, Setting[Any, Any] | Constant]] = {}  # the settings, and the facts between them
    REVISION: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, (Setting, Constant))}
        bases = [base.entries for base in cls.__bases__ if issubclass(base, Settings)]
        inherited = {name: value for base in bases for name, value in base.items() if name not in own}
        every = sorted((inherited | own).items(), key=lambda item: item[1].is_common)
        cls.entries = dict(every)
        cls.declared = {name: value for name, value in every if isinstance(value, Setting)}

    def __init__(self, **given: Any) -> None:
        for name in given:
            if name not in self.declared:
                near = did_you_mean(name, self.declared)
                raise BadParameter(f"settings: expected {', '.join(self.declared)}, found {name!r}{near}")
        usual = self.usual(given)
        for name, setting in self.declared.items():
            value = given.get(name)
            setattr(self, name, usual.get(name, setting.default) if value is None else value)
        self.check()

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Defaults that follow from what is given, where they are not those declared."""
        return {}

    def check(self) -> None:
        """Refuses values that do not go together."""

    def for_truth(self, truth: Any) -> Self:
        """The same with defaults that follow from the ground truth's format, e.g. what it marks as ignored."""
        return self

    def change(self, **given: Any) -> Self:
        """The same with other values for some."""
        return type(self)(**(vars(self) | given))

    def signature(self, name: str, **one: Any) -> Signature:
        """Everything that can change a number, defaults included; `one` gives the values of a single score."""
        present = {key: value for key, value in (self.facts | one).items() if value is not None}
        return Signature.of(name, **present, rev=self.REVISION)

    @property
    def facts(self) -> dict[str, object]:
        """What signatures say, by key; None where they say nothing."""
        return {
            key: entry.of(self) if isinstance(entry, Constant) else entry.spell(getattr(self, key))
            for key, entry in self.entries.items()
            if entry.is_signed and not (isinstance(entry, Setting) and self.is_unsaid(entry))
        }

    def is_unsaid(self, setting: Setting[Any, Any]) -> bool:
        return setting.omit_default and getattr(self, setting.name) == setting.default

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(str(self.signature(type(self).__name__)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def number_of(setting: Setting[Any, Any], value: Any, is_fine: Callable[[float], bool], expected: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise setting.refuse(expected, excerpt(value)) from None
    if not is_fine(number):
        raise setting.refuse(expected, excerpt(value))
    return number


def count_of(setting: Setting[Any, Any], value: Any) -> int:
    expected = "a whole number from 1 up"
    return int(number_of(setting, value, lambda v: 1 <= v < 2**31 and v == int(v), expected))


def call_signature(settings: type[Settings], first: Mapping[str, str], returns: str) -> CallSignature:
    """What `help` and documentation show of a function that takes these settings after its first arguments."""
    from inspect import Parameter, Signature

    leading = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind) for name, kind in first.items()]
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=setting.default, annotation=given_type(settings, name))
        for name, setting in settings.declared.items()
    ]
    return Signature([*leading, *named], return_annotation=returns)


def given_type(settings: type[Settings], name: str) -> object:
    """The type of what may be given for a setting, as its declaration says it; of a choice, its words."""
    setting = settings.declared[name]
    if isinstance(setting, Choice):
        return Literal[setting.choices if setting.default else (*setting.choices, None)]
    owner = next(one for one in settings.__mro__ if name in vars(one))
    said = vars(owner).get("__annotations__", {}).get(name, type(setting).__name__)
    if said.startswith(("Option[", "Setting[")):
        return first_argument(said.partition("[")[2][:-1])
    alias = getattr(sys.modules[owner.__module__], said)
    return getattr(alias, "__orig_bases__", [alias])[0].__args__[0]


def first_argument(text: str) -> str:
    """``a[b, c]`` of ``a[b, c], d``."""
    depths = accumulate((char in "[(") - (char in "])") for char in text)
    end = next((at for at, depth in enumerate(depths) if depth == 0 and text[at] == ","), len(text))
    return text[:end]
