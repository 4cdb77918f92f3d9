"""The package `lvis` as a live oracle. It was written for an older numpy, and draws pictures that nobody needs here."""

from __future__ import annotations

import sys
import types
import warnings

import numpy as np

KEYS = {"AR@300": "AR300", "ARs@300": "ARs", "ARm@300": "ARm", "ARl@300": "ARl"}


def numbers(truth_path, results, iou_type, max_dets=300):
    """The thirteen numbers by the names that verite uses; None where the package says -1."""
    if not hasattr(np, "float"):
        np.float = float  # noqa: NPY001
    sys.modules.setdefault("cv2", types.ModuleType("cv2"))
    from lvis import LVIS, LVISEval, LVISResults

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its logging
        truth = LVIS(str(truth_path))
        evaluation = LVISEval(truth, LVISResults(truth, results, max_dets=max_dets), iou_type)
        evaluation.run()
    found = evaluation.get_results().items()
    return {KEYS.get(key, key): None if value == -1 else float(value) for key, value in found}
