"""HTML that is escaped by construction: how does a name become text, and nothing but text?"""

from __future__ import annotations

# What means something to HTML, and what a browser shows as nothing: controls become their pictures.
SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\x7f": "␡"}
PICTURES = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
HIDDEN = {chr(code): "\ufffd" for code in (*range(0x80, 0xA0), *range(0xD800, 0xE000))}
ESCAPES = str.maketrans(SPECIAL | PICTURES | HIDDEN)
VOID = frozenset({"br", "hr", "img", "meta", "link", "input", "wbr"})


class Markup(str):
    """Text that is HTML already. Only :func:`element` and :func:`join_elements` make it."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """Text as HTML shows it.

    >>> escape("<b onclick='x'>")
    '&lt;b onclick=&#39;x&#39;&gt;'
    """
    return text if isinstance(text, Markup) else Markup(text.translate(ESCAPES))


def join_elements(*children: str) -> Markup:
    """Several pieces after each other."""
    return Markup("".join(escape(child) for child in children))


def element(name: str, /, *children: str, **attributes: str | int) -> Markup:
    """An element; `class_` and `for_` are attributes whose names Python keeps for itself.

    >>> element("p", "1 < 2 ", element("b", "yes"), class_="verite-note")
    '<p class="verite-note">1 &lt; 2 <b>yes</b></p>'
    """
    listed = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(v))}"' for key, v in attributes.items())
    return Markup(f"<{name}{listed}>" + ("" if name in VOID else f"{join_elements(*children)}</{name}>"))
