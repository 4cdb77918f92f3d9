"""Records: frozen dataclasses that cost next to nothing to declare.

`dataclasses` compiles source text for every class. There are two dozen classes between a file and its first number, and
declaring them took longer than reading a small file. These are dataclasses to `replace` and `fields` and to type
checkers, and share their methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A class with a field for each annotation; with `eq`, records of equal fields are equal.

    >>> @record()
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(2.0), Point(2.0) == Point(x=2.0, y=0.0)
    (Point(x=2.0, y=0.0), True)
    """

    def declare(cls: type[T]) -> type[T]:
        dataclass(init=False, repr=False, eq=False)(cls)
        methods: dict[str, Any] = {
            "__init__": initialiser(cls),
            "__repr__": represent,
            "__setattr__": refuse,
            "__delattr__": refuse,
            "__signature__": LazySignature(),
        }
        if eq:
            methods |= {"__eq__": equal, "__hash__": hash_fields}
        own = vars(cls)
        # Defaults are the initialiser's business: what an object was not given is not there.
        for name in [name for name in cls.__dataclass_fields__ if name in own]:  # type: ignore[attr-defined]
            delattr(cls, name)
        for name, method in methods.items():
            # A class that compares by fields has no hash of its own until it is given one.
            if name not in own or own[name] is None:
                setattr(cls, name, method)
        return cls

    return declare


def initialiser(cls: type) -> Callable[..., None]:
    """Takes fields by place or by name, as the class declares them."""
    declared = fields(cls)
    names = tuple(field.name for field in declared)
    makers = {f.name: f.default_factory for f in declared if f.default_factory is not MISSING}
    defaults = {f.name: f.default for f in declared if f.default is not MISSING}
    has_more = hasattr(cls, "__post_init__")

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        if len(values) > len(names):
            raise TypeError(f"{cls.__name__}: expected at most {len(names)} values, found {len(values)}")
        own = vars(self)
        own.update(zip(names, values, strict=False))
        for name in names[len(values) :]:
            if name in named:
                own[name] = named.pop(name)
            elif name in defaults:
                own[name] = defaults[name]
            elif name in makers:
                own[name] = makers[name]()
            else:
                raise TypeError(f"{cls.__name__}: expected a value for {name!r}, found none")
        if named:
            raise TypeError(f"{cls.__name__}: expected {', '.join(names)}, each once, found {next(iter(named))!r}")
        if has_more:
            self.__post_init__()

    return __init__


def values_of(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in record.__dataclass_fields__)


def represent(record: Any) -> str:
    inner = ", ".join(f"{name}={getattr(record, name)!r}" for name in record.__dataclass_fields__)
    return f"{type(record).__qualname__}({inner})"


def refuse(record: Any, name: str, value: object = None) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of a {type(record).__name__}")


def equal(record: Any, other: object) -> bool:
    return values_of(record) == values_of(other) if type(other) is type(record) else NotImplemented


def hash_fields(record: Any) -> int:
    return hash(values_of(record))


class LazySignature:
    """What `help` and documentation show, made when somebody looks."""

    def __get__(self, instance: object, cls: type) -> Signature:
        from inspect import Parameter, Signature

        def parameter(name: str, declared: Any) -> Parameter:
            has_default = declared.default is not MISSING
            default = declared.default if has_default else ... if declared.default_factory is not MISSING else MISSING
            given = {} if default is MISSING else {"default": default}
            return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=declared.type, **given)

        return Signature([parameter(field.name, field) for field in fields(cls)])
