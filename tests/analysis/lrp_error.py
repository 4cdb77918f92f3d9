"""Optimal LRP against its authors' own code: `python -m tests.analysis.lrp_error FOLDER`, a copy of LRP-Error.

Its `cocoeval.py` is run with pycocotools' masks. Without equal confidences both are the same to the last digits; where
there are some, its smallest error may be one that no threshold reaches.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt
from tests.analysis.worlds import write_pair
from tests.oracles.analysis import random_world

KEYS = {"olrp": "oLRP", "olrp_loc": "loc", "olrp_fp": "fp", "olrp_fn": "fn", "lrp_opt_thr": "confidence"}


def load_evaluation(folder: Path) -> Any:
    """Its evaluation, importing pycocotools' masks in the place of its own."""
    text = (folder / "pycocotools" / "pycocotools" / "cocoeval.py").read_text()
    path = Path(tempfile.mkdtemp()) / "lrp_cocoeval.py"
    path.write_text(text.replace("from . import mask as maskUtils", "from pycocotools import mask as maskUtils"))
    spec = importlib.util.spec_from_file_location("lrp_cocoeval", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.COCOeval


def compare(evaluation: Any, seed: int, *, ties: bool, folder: Path) -> list[float]:
    """The largest difference of each class of a random set; infinite where only one of the two is absent."""
    from pycocotools.coco import COCO

    truth, pred = write_pair(folder, *random_world(seed, images=20, classes=5, ties=ties, crowds=seed % 2 == 0))
    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO(truth)
        run = evaluation(known, known.loadRes(pred), "bbox")
        run.evaluate()
        run.accumulate()
    sides = vt.read(truth)
    found = vt.analyse(sides, vt.read(pred, like=sides)).lrp.to_dict()["classes"]
    differences = []
    for k, category in enumerate(run.params.catIds):
        told = found.get(f"c{category}")
        if told is not None:
            theirs = np.array([run.eval[key][k, 0, -1] for key in KEYS])
            ours = np.array([told[key] for key in KEYS.values()])
            same = bool((np.isnan(ours) == np.isnan(theirs)).all())
            differences.append(float(np.nanmax(np.abs(ours - theirs))) if same else np.inf)
    return differences


def main() -> None:
    evaluation = load_evaluation(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as place:
        plain = [d for seed in range(150) for d in compare(evaluation, seed, ties=False, folder=Path(place))]
        tied = [d for seed in range(150, 200) for d in compare(evaluation, seed, ties=True, folder=Path(place))]
    print(f"without equal confidences: {len(plain)} classes, largest difference {max(plain):.2g}")
    print(f"with equal confidences: {sum(d > 1e-12 for d in tied)} of {len(tied)} classes differ")


if __name__ == "__main__":
    main()
