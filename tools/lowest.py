"""The oldest of everything: prints the lower bound of each dependency and extra as pip takes it, for `make lowest`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
print(*(re.sub(r"\s*>=\s*", "==", one.partition(",")[0]) for one in wanted))
