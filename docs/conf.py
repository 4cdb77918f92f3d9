"""Documentation: built offline, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

import verite

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import reference_pages

project = "verite"
author = "The verite developers"
copyright = "2026, the verite developers"
version = release = verite.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"verite {version}"
exclude_patterns = ["_build", "reference/api.md"]  # the latter repeats reference/python.md for the repository
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

reference_pages.write_pages()
