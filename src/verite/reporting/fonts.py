"""Which font has the letters of a name? Matplotlib's own has no Chinese, Japanese or Korean ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.text import Text

USUAL = "DejaVu Sans"
# As Linux, Windows and macOS call theirs.
WIDE = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans", "WenQuanYi Zen Hei",
        "WenQuanYi Micro Hei", "IPAGothic", "Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic", "PingFang SC",
        "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS")  # fmt: skip
FIRST_WIDE = "\u1100"  # the first letter of Hangul, before all of these scripts


def find_letters(text: Text) -> None:
    """Let a text of wide letters take them from a font that is installed and has them, if any is."""
    if any(letter >= FIRST_WIDE for letter in text.get_text()):
        text.set_fontfamily([USUAL, *list_wide_fonts()])


@cache
def list_wide_fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return tuple(name for name in WIDE if name in known)


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """A letter that no font has is drawn as a frame, which says it better than a warning for each of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield
