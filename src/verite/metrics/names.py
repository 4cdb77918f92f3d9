"""How is a metric written? `hausdorff(quantile=0.95)` is at once code, command-line argument and key."""

from __future__ import annotations

import re
from typing import Any

from verite.errors import BadParameter, excerpt

NAME = re.compile(r"\s*([A-Za-z_][\w.]*(?::[A-Za-z_]\w*)?)\s*(?:\((.*)\))?\s*", re.DOTALL)
ARGUMENT = re.compile(r"""\s*([A-Za-z_]\w*)\s*=\s*("[^"]*"|'[^']*'|[^,'"()\s]+)\s*""")


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a metric as people write it; quotes around words may be left out.

    >>> parse("hausdorff(quantile=0.95)")
    ('hausdorff', {'quantile': 0.95})
    >>> parse("baddeley(p=1, variant=as-run)")
    ('baddeley', {'p': 1, 'variant': 'as-run'})
    """
    whole = NAME.fullmatch(text)
    if whole is None:
        raise BadParameter(f"metric: expected NAME or NAME(PARAMETER=VALUE, …), found {excerpt(text)}")
    name, inside = whole[1], whole[2]
    arguments: dict[str, Any] = {}
    rest = (inside or "").strip()
    while rest:
        found = ARGUMENT.match(rest)
        end = found.end() if found else 0
        if found is None or (end < len(rest) and rest[end] != ",") or rest[end:].strip() == ",":
            raise BadParameter(f"{name}: expected PARAMETER=VALUE, …, found {excerpt(rest)}")
        if found[1] in arguments:
            raise BadParameter(f"{name}: expected {found[1]} once, found it twice")
        arguments[found[1]] = value_of(found[2])
        rest = rest[end + 1 :].strip()
    return name, arguments


def value_of(word: str) -> Any:
    """A number, a truth value or a word.

    >>> [value_of(w) for w in ("2", "0.5", "inf", "true", "'as-run'", "as-run")]
    [2, 0.5, inf, True, 'as-run', 'as-run']
    """
    if word[0] in "\"'":
        return word[1:-1]
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def spell_metric(name: str, parameters: dict[str, Any]) -> str:
    """The inverse of :func:`parse`.

    >>> spell_metric("hausdorff", {"quantile": 0.95, "variant": "pooled"})
    "hausdorff(quantile=0.95, variant='pooled')"
    """
    inside = ", ".join(f"{key}={word_of(value)}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def word_of(value: Any) -> str:
    """A value as it is written; whole numbers without a point.

    >>> word_of(3.0), word_of(0.95), word_of("as-run")
    ('3', '0.95', "'as-run'")
    """
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)
