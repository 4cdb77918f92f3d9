"""Documentation: built offline, warnings are errors."""

from __future__ import annotations

from pathlib import Path

import click

import verite
from verite.analysis.parts import analysis_page
from verite.cli import COMMANDS
from verite.cli import verite as command
from verite.formats.registry import reference_page as formats_page
from verite.metrics.cards import catalogue
from verite.protocols.protocol import protocols_page

project = "verite"
author = "The verite developers"
copyright = "2026, the verite developers"
version = release = verite.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"verite {version}"
exclude_patterns = ["_build"]
nb_execution_mode = "off"  # notebooks show their stored outputs, which tests/docs keeps true
html_extra_path = ["llms.txt"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
maximum_signature_line_length = 100  # longer ones have a parameter a line
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}  # the name, not what it stands for
autodoc_member_order = "bysource"
napoleon_google_docstring = False
default_role = "literal"  # a name in single backticks of a docstring


def write_command_line_page() -> None:
    """The reference of the command line, from the command line itself."""
    parts = ["# Command line", ""]
    context = click.Context(command, info_name="verite")
    parts += ["```text", command.get_help(context), "```", ""]
    for name in COMMANDS:
        verb = command.get_command(context, name)
        assert verb is not None
        inner = click.Context(verb, info_name=name, parent=context)
        parts += [f"## verite {name}", "", "```text", verb.get_help(inner), "```", ""]
        for target in verb.list_commands(inner) if isinstance(verb, click.Group) else ():
            found = verb.get_command(inner, target)
            assert found is not None
            text = found.get_help(click.Context(found, info_name=target, parent=inner))
            parts += [f"### verite {name} {target}", "", "```text", text, "```", ""]
    write_page("command-line.md", "\n".join(parts))


def write_catalogue_page() -> None:
    """The reference of the metrics, from their declarations."""
    write_page("metrics.md", catalogue().to_markdown())


def write_page(name: str, text: str) -> None:
    """A page of the reference, touched only where it changes."""
    page = Path(__file__).parent / "reference" / name
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


write_page("formats.md", formats_page())
write_page("protocols.md", protocols_page())
write_page("analysis.md", analysis_page())
write_command_line_page()
write_catalogue_page()
