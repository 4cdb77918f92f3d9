"""Where does a picture begin? Every figure is made here, or it is said what to install."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING = "no plots: expected matplotlib, found none; pip install 'verite[plots]'"


def has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """Before the first import of it, so that who lacks it reads one line."""
    if not has_matplotlib():
        raise BadParameter(MISSING)


def new_figure(size: tuple[float, float], **more: Any) -> Figure:
    """An empty figure of so many inches; unless told otherwise it makes room for what is written around axes."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, **{"layout": "constrained"} | more)
