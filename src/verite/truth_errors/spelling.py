"""How is an error model written? `bernoulli(epsilon=0.05)` is at once signature, JSON value and argument."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from re import fullmatch
from typing import Any

from verite.errors import BadParameter, VeriteError, did_you_mean
from verite.metrics.names import parse as parse_call
from verite.truth_errors.model import MODELS, ErrorModel

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
