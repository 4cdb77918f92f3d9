"""The sample files under tests/data/formats: a folder for each format, with good files and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from verite.errors import BadParameter, DataError, ReadError

DATA = Path(__file__).parent.parent / "data" / "formats"
# Folders carry the module's name, users type the format's.
FORMATS = {folder: folder.replace("_", "-") for folder in sorted(p.name for p in DATA.iterdir())}


def sample(*parts: str) -> Path:
    """A sample by its path below tests/data/formats."""
    path = DATA.joinpath(*parts)
    assert path.exists(), path
    return path


def need_packages(folder: str) -> None:
    """Skips where a format is read by a package that is not installed."""
    if folder == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow, which is not installed")


def refused(call, *args, **keywords) -> str:
    """Return the message of the error that a call raises, one of verite's errors for bad input."""
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        call(*args, **keywords)
    return str(error.value)
