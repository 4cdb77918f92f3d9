"""How do numbers, names and sentences look on the page?"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, TypeGuard

from verite.model.elements import Markup, element, escape, join_elements

ABSENT = "–"
GAP = "\u00a0"  # a number stays with its unit
LONGEST = 120  # characters of a name on the page; the whole name is in its data
NAMELESS = "(no name)"


def is_known(value: Any) -> TypeGuard[float]:
    """Is there a number?"""
    return value is not None and isfinite(value)


def number(value: Any, digits: int = 3) -> str:
    """A score, or a dash for none.

    >>> number(0.55231), number(None), number(float("nan")), number(0.5, 2)
    ('0.552', '–', '–', '0.50')
    """
    if value is None or not isfinite(value):
        return ABSENT
    return f"{value:.{digits}f}"


def show_difference(value: Any, digits: int = 3) -> str:
    """A difference, with a sign that is as wide as the other.

    >>> show_difference(0.08), show_difference(-0.1), show_difference(None)
    ('+0.080', '−0.100', '–')
    """
    text = number(value, digits)
    return text if text == ABSENT else text.replace("-", "−") if value < 0 else f"+{text}"


def chance(value: Any) -> str:
    r"""A probability from simulations, never as 0 or 1.

    >>> chance(0.999), chance(0.5), chance(0.001)
    ('>\xa00.99', '0.50', '<\xa00.01')
    """
    if value is None or not isfinite(value):
        return ABSENT
    return f">{GAP}0.99" if value > 0.995 else f"<{GAP}0.01" if value < 0.005 else f"{value:.2f}"


def whole(value: Any) -> str:
    """A count.

    >>> whole(36781), whole(None)
    ('36,781', '–')
    """
    return ABSENT if value is None else f"{int(value):,}"


def overlap_at(doc: dict[str, Any], overlap: float) -> str:
    """A threshold by the name of what the page's systems were compared by: IoU 0.5, OKS 0.5."""
    return f"{doc['words']['overlap']} {overlap:g}"


def count_of(value: int, one: str, many: str = "") -> str:
    """A count and its noun, which stay together.

    >>> count_of(1, "image"), count_of(2, "class", "classes")
    ('1\\xa0image', '2\\xa0classes')
    """
    return f"{value:,}{GAP}{one if value == 1 else many or one + 's'}"


def percent(part: float, total: float) -> str:
    """A share.

    >>> percent(1, 3), percent(0, 0)
    ('33\\xa0%', '–')
    """
    return f"{100 * part / total:.0f}{GAP}%" if total else ABSENT


def name(text: Any, kind: str = "nm", most: int = LONGEST) -> Markup:
    """Somebody's name: text that cannot turn the direction of its line, cut where it is too long."""
    shown = str(text).strip() or NAMELESS
    cut = shown if len(shown) <= most else shown[: most - 1] + "…"
    return element("bdi", cut, class_=kind, title=cut) if len(cut) > 12 else element("bdi", cut, class_=kind)


def plain(text: Any, most: int = 40) -> str:
    """A name inside an attribute or a drawing."""
    shown = str(text).strip() or NAMELESS
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def list_all(parts: Sequence[str]) -> Markup:
    """a, b and c."""
    if len(parts) < 2:
        return join_elements(*parts)
    between = [part for one in parts[:-1] for part in (", ", one)][1:]
    return join_elements(*between, " and ", parts[-1])


def sentence(*parts: str) -> Markup:
    """Words and names after each other."""
    return join_elements(*(part if isinstance(part, Markup) else escape(part) for part in parts))
