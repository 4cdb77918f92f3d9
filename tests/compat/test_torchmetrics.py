"""torchmetrics, unchanged, on verite; and its metric under verite's own name."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

TORCHMETRICS = """
import sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "verite":
    import verite.compat
    verite.compat.install_as_pycocotools()
import numpy as np, torch
# A torchvision that was built for another torch lacks its native operators. Nobody calls them here.
operators = torch.library.Library("torchvision", "FRAGMENT")
for _ in range(9):
    try:
        import torchvision
    except RuntimeError as error:
        missing = str(error).partition("torchvision::")[2].split()[0]
        operators.define(missing + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
from torchmetrics.detection import MeanAveragePrecision
rng = np.random.default_rng(1)
for kind in ("bbox", "segm"):
    metric = MeanAveragePrecision(iou_type=kind, class_metrics=True, extended_summary=True, backend="pycocotools")
    for _ in range(12):
        preds, target = [], []
        for _ in range(2):
            n, m = rng.integers(0, 6, 2)
            corners = torch.tensor(rng.random((n, 2)) * 40), torch.tensor(rng.random((m, 2)) * 40)
            boxes = [torch.cat([c, c + 4 + 30 * torch.tensor(rng.random(c.shape))], 1).float() for c in corners]
            boxes[1][: min(n, m)] = boxes[0][: min(n, m)] + torch.tensor(rng.normal(0, 1, (min(n, m), 4))).float()
            masks = [torch.zeros((len(b), 80, 80), dtype=torch.bool) for b in boxes]
            for pixels, side in zip(masks, boxes):
                for one, (a, b, c, d) in zip(pixels, side.int().tolist()):
                    one[b:d, a:c] = True
            shape = [{"boxes": b} if kind == "bbox" else {"masks": p} for b, p in zip(boxes, masks)]
            scores = torch.tensor(rng.choice([0.2, 0.5, 0.5, 0.9], n)).float()
            preds.append({**shape[0], "scores": scores, "labels": torch.tensor(rng.integers(0, 3, n))})
            target.append({**shape[1], "labels": torch.tensor(rng.integers(0, 3, m)),
                           "iscrowd": torch.tensor((rng.random(m) < 0.2).astype(int))})
        metric.update(preds, target)
    result = metric.compute()
    for key in sorted(result):
        value = result[key]
        if isinstance(value, dict):
            value = {str(k): np.asarray(v).tobytes().hex() for k, v in value.items()}
        else:
            value = np.asarray(value).tobytes().hex()
        print(kind, key, value)
print(sys.modules["pycocotools.cocoeval"].COCOeval.__module__)
"""


def test_torchmetrics_gives_identical_results_on_verite() -> None:
    if not all(find_spec(name) for name in ("torch", "torchvision", "torchmetrics")):
        pytest.skip("torch, torchvision and torchmetrics are not installed: make clients")
    answers = []
    for backend in ("pycocotools", "verite"):
        words = [sys.executable, "-c", TORCHMETRICS, backend]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        *lines, module = done.stdout.splitlines()
        assert ("verite" in module) == (backend == "verite"), module
        answers.append(lines)
    assert len(answers[0]) > 30
    assert answers[0] == answers[1]
