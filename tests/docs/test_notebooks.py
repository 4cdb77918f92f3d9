"""Every tutorial runs from top to bottom, and the text shown in it is what comes out.

`VERITE_UPDATE_DOCS=1 pytest tests/docs` stores new outputs; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_snippets import leave_drawn_images
from verite.cli.demo import FOLDERS

ROOT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
TIME_LIMIT = 300  # seconds per cell, on a busy machine


def shown_text(outputs: list[Any]) -> str:
    """Text that a reader of the notebook sees: printed lines, then the text form of displayed values.

    Memory addresses and trailing blanks are left out; images and HTML tables are not compared.
    """
    parts = []
    for output in outputs:
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type in ("execute_result", "display_data"):
            parts.append(output.data.get("text/plain", ""))
        else:
            parts.append(f"{output.ename}: {output.evalue}")
    lines = "\n".join(parts).splitlines()
    return "\n".join(re.sub(r" at 0x[0-9a-f]+", "", line).rstrip() for line in lines).strip()


def keep_stable(cell: Any) -> None:
    """Leave only what is the same on every machine: no execution times, no widget state."""
    cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
    merged: list[Any] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            output.text = output.text.replace("\r\n", "\n")
        if merged and output.output_type == merged[-1].output_type == "stream" and output.name == merged[-1].name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    cell.outputs = merged


def test_there_are_seven_tutorials():
    assert len(NOTEBOOKS) == 7


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_shows_what_comes_out(notebook, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="needs the dependency group 'notebooks'")
    nbclient = pytest.importorskip("nbclient", reason="needs the dependency group 'notebooks'")
    pytest.importorskip("ipykernel", reason="needs the dependency group 'notebooks'")
    for source, name in FOLDERS.items():
        shutil.copytree(str(files("verite") / "data" / source), tmp_path / name)
    leave_drawn_images(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")  # the kernel runs commands in a terminal
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    stored = nbformat.read(notebook, as_version=4)
    run = nbformat.read(notebook, as_version=4)
    client = nbclient.NotebookClient(run, timeout=TIME_LIMIT, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    for number, cell in enumerate(run.cells, 1):
        if cell.cell_type == "code":
            keep_stable(cell)
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
            if not os.environ.get("VERITE_UPDATE_DOCS"):
                assert shown_text(cell.outputs) == shown_text(stored.cells[number - 1].outputs), f"cell {number}"
    if os.environ.get("VERITE_UPDATE_DOCS"):
        run.metadata = stored.metadata
        nbformat.write(run, notebook)
