"""Files as people have them, made when a test first asks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

MAKER = Path(__file__).parents[2] / "benchmarks" / "coco_data.py"


@pytest.fixture(scope="session")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A folder with COCO's files of so many images: polygons, crowds, boxes in both spellings, masks."""
    spec = importlib.util.spec_from_file_location("coco_data", MAKER)
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)

    @cache
    def make(images: int) -> Path:
        folder = tmp_path_factory.mktemp("realistic")
        maker.make_coco(folder, maker.SEED, images / 5000)
        return folder

    return make
