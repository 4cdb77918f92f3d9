"""The reference of the protocols, from their declarations: what each computes and everything it can be asked."""

from __future__ import annotations

from typing import Any

from verite.protocols import HOMES, protocol_named
from verite.protocols.protocol import Protocol
from verite.settings import Choice, Setting


def protocols_page() -> str:
    """The page of all protocols, as Markdown."""
    protocols = [protocol_named(verb) for verb in HOMES]
    lines = ["# Protocols", "", "Every protocol, generated from its declaration.", ""]
    lines += ["| verb | Python | what it computes |", "|---|---|---|"]
    lines += [f"| [verite {p.verb}](#verite-{p.verb}) | `vt.{p.__name__}` | {p.summary} |" for p in protocols]
    lines += ["", "A setting's name is the parameter in Python, the long option on the command line and, where it can"]
    lines += ["change a number, the key in signatures.", ""]
    return "\n".join(lines + [line for p in protocols for line in section(p)])


def section(protocol: Protocol[Any, Any]) -> list[str]:
    """The settings of one protocol as a table."""
    rows = [setting_row(s) for s in protocol.settings.declared.values() if s.has_option]
    head = ["| setting | option | values | default | in signatures | says |", "|---|---|---|---|---|---|"]
    return [f"## verite {protocol.verb}", "", *head, *rows, ""]


def setting_row(setting: Setting[Any, Any]) -> str:
    options = ", ".join(f"`{word}`" for word in [setting.option, *([setting.short] if setting.short else [])])
    values = ", ".join(f"`{word}`" for word in setting.choices) if isinstance(setting, Choice) else setting.kind
    values += ", repeated" if setting.is_repeated else ""
    cells = (f"`{setting.name}`", options, values, setting.default_words, "yes" if setting.is_signed else "no")
    return f"| {' | '.join(cells)} | {setting.help} |"
