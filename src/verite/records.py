"""Records: frozen dataclasses that cost next to nothing to declare.

`dataclasses` compiles source text for every class, and its import alone takes a tenth of the time from two small files
to COCO's numbers. These are dataclasses to `replace` and `fields` and to type checkers, and share their methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

T = TypeVar("T")
MISSING: Any = object()


class Field:
    """One field: its name and type as written, and what it holds when nothing is given."""

    def __init__(self, name: str, type: Any, default: Any) -> None:
        self.name, self.type = name, type
        self.factory = default.make if isinstance(default, Factory) else None
        self.default = MISSING if self.factory else default


class Factory:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """A default that is made anew for every record."""
    return Factory(default_factory)  # type: ignore[return-value]


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
        own = vars(cls)
        declared: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            declared |= vars(base).get("__record_fields__", {})
        annotations = {name: type for name, type in own.get("__annotations__", {}).items() if "ClassVar" not in type}
        declared |= {name: Field(name, type, own.get(name, MISSING)) for name, type in annotations.items()}
        # Defaults are the initialiser's business: what an object was not given is not there.
        for name in [name for name in annotations if name in own]:
            delattr(cls, name)
        methods: dict[str, Any] = {
            "__record_fields__": declared,
            "__dataclass_fields__": LazyFields(),
            "__match_args__": tuple(declared),
            "__init__": initialiser(cls, declared),
            "__repr__": represent,
            "__setattr__": refuse,
            "__delattr__": refuse,
            "__signature__": LazySignature(),
        }
        if eq:
            methods |= {"__eq__": equal, "__hash__": hash_fields}
        for name, method in methods.items():
            # A class that compares by fields has no hash of its own until it is given one.
            if name not in own or own[name] is None:
                setattr(cls, name, method)
        return cls

    return declare


def replace(record: T, **changes: Any) -> T:
    """The same record with some fields changed."""
    return type(record)(**(field_values(record) | changes))


def initialiser(cls: type, declared: dict[str, Field]) -> Callable[..., None]:
    """Takes fields by place or by name, as the class declares them."""
    names = tuple(declared)
    makers = {f.name: f.factory for f in declared.values() if f.factory}
    defaults = {f.name: f.default for f in declared.values() if f.default is not MISSING}
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


def field_values(record: Any) -> dict[str, Any]:
    """Every field and its value."""
    return {name: getattr(record, name) for name in record.__record_fields__}


def represent(record: Any) -> str:
    inner = ", ".join(f"{name}={value!r}" for name, value in field_values(record).items())
    return f"{type(record).__qualname__}({inner})"


def refuse(record: Any, name: str, value: object = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change {name!r} of a {type(record).__name__}")


def equal(record: Any, other: object) -> bool:
    return field_values(record) == field_values(other) if type(other) is type(record) else NotImplemented


def hash_fields(record: Any) -> int:
    return hash(tuple(field_values(record).values()))


class LazyFields:
    """What `dataclasses` looks at, made when it first does: it compiles, and `replace` looks every time."""

    def __get__(self, instance: object, cls: Any) -> Any:
        from dataclasses import field, make_dataclass

        def spell(declared: Field) -> Any:
            if declared.factory:
                return field(default_factory=declared.factory)
            return field() if declared.default is MISSING else field(default=declared.default)

        declared: dict[str, Field] = cls.__record_fields__
        twin = make_dataclass(cls.__name__, [(f.name, f.type, spell(f)) for f in declared.values()], kw_only=True)
        cls.__dataclass_fields__ = twin.__dataclass_fields__  # type: ignore[attr-defined]
        return cls.__dataclass_fields__


class LazySignature:
    """What `help` and documentation show, made when somebody looks."""

    def __get__(self, instance: object, cls: Any) -> Signature:
        from inspect import Parameter, Signature

        def parameter(declared: Field) -> Parameter:
            default = ... if declared.factory else declared.default
            given = {} if default is MISSING else {"default": default}
            return Parameter(declared.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=declared.type, **given)

        return Signature([parameter(declared) for declared in cls.__record_fields__.values()])
