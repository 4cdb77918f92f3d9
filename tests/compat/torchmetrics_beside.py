"""torchmetrics' metric beside ours, or on ours: run by test_torchmetrics in a process of its own."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import torch

from tests.compat.torchvision_operators import define_operators

warnings.simplefilter("ignore")
define_operators()
SIDE = 60


def draw_batch(rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Two images with ties, crowds, images without anything, areas that are given, not given or 0."""
    preds, target = [], []
    for _ in range(2):
        n, m = rng.integers(0, 7, 2)
        corners = torch.tensor(rng.random((n, 2)) * 30), torch.tensor(rng.random((m, 2)) * 30)
        boxes = [torch.cat([c, c + 4 + 25 * torch.tensor(rng.random(c.shape))], 1).float() for c in corners]
        both = min(n, m)
        boxes[1][:both] = boxes[0][:both] + torch.tensor(rng.normal(0, 1, (both, 4))).float()
        masks = [torch.zeros((len(b), SIDE, SIDE), dtype=torch.bool) for b in boxes]
        for pixels, side in zip(masks, boxes, strict=True):
            for one, (a, b, c, d) in zip(pixels, side.int().tolist(), strict=True):
                one[max(b, 0) : d, max(a, 0) : c] = True
        scores = torch.tensor(rng.choice([0.2, 0.5, 0.5, 0.9], n)).float()
        labels = [torch.tensor(rng.integers(0, 3, count)) for count in (n, m)]
        preds.append({"boxes": boxes[0], "masks": masks[0], "scores": scores, "labels": labels[0]})
        crowds = torch.tensor((rng.random(m) < 0.2).astype(int))
        target.append({"boxes": boxes[1], "masks": masks[1], "labels": labels[1], "iscrowd": crowds})
        if rng.random() < 0.5:
            target[-1]["area"] = torch.tensor(rng.choice([0, 900.0, 2000.0], m)).float()
    return preds, target


def same(ours: Any, theirs: Any, what: object) -> None:
    """The same keys, types, shapes and bits."""
    if isinstance(theirs, dict):
        mine = {str(key): value for key, value in ours.items()}
        assert set(mine) == set(map(str, theirs)), what
        for key, value in theirs.items():
            same(mine[str(key)], value, (what, key))
    elif isinstance(theirs, list):
        assert ours == theirs, what
    else:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), what
        assert ours.numpy().tobytes() == theirs.numpy().tobytes(), (what, ours, theirs)


def choose_settings(rng: np.random.Generator, seed: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "iou_type": ("bbox", "segm", ("bbox", "segm"))[seed % 3],
        "class_metrics": bool(rng.random() < 0.6),
        "extended_summary": bool(rng.random() < 0.4),
        "average": str(rng.choice(["macro", "micro"], p=[0.7, 0.3])),
        "box_format": str(rng.choice(["xyxy", "xywh", "cxcywh"])),
    }
    if seed % 3 == 2 and chosen["average"] == "micro":
        chosen["class_metrics"] = False  # torchmetrics forgets to be micro for masks then: see the page on deviations
    if rng.random() < 0.3:
        chosen["iou_thresholds"] = [0.5, 0.7]
    if rng.random() < 0.3:
        chosen["max_detection_thresholds"] = [[2, 1, 100], [1, 2, 3]][int(rng.integers(2))]
    if rng.random() < 0.2:
        chosen["rec_thresholds"] = [0.0, 0.3, 0.9]
    return chosen


def compare_metrics(seeds: int) -> None:
    import torchmetrics
    from torchmetrics.detection import MeanAveragePrecision as Theirs

    from verite.compat.torchmetrics import MeanAveragePrecision as Ours

    assert issubclass(Ours, torchmetrics.Metric)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        settings = choose_settings(rng, seed)
        ours, theirs = Ours(**settings, backend="pycocotools"), Theirs(**settings)
        for _ in range(int(rng.integers(0, 5))):
            batch = draw_batch(rng)
            if rng.random() < 0.3:
                same(ours(*batch), theirs(*batch), ("forward", settings, seed))
            else:
                ours.update(*batch)
                theirs.update(*batch)
        same(ours.compute(), theirs.compute(), (settings, seed))
        first, second, whole = (Ours(**settings) for _ in range(3))
        for part in (first, second):
            batch = draw_batch(rng)
            part.update(*batch)
            whole.update(*batch)
        first.merge(second)
        same(first.compute(), whole.compute(), ("merge", settings, seed))
    print("the same", seeds)


def synchronise(rank: int, place: str) -> None:
    """Two processes with different numbers of images: every one has the numbers of all of them."""
    import torch.distributed as dist

    from verite.compat.torchmetrics import MeanAveragePrecision

    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
    batches = [draw_batch(np.random.default_rng(seed)) for seed in range(5)]
    metric, whole = (MeanAveragePrecision(iou_type=("bbox", "segm"), class_metrics=True) for _ in range(2))
    for i, batch in enumerate(batches):
        if (i >= 2) == (rank == 1):
            metric.update(*batch)
        whole.update(*batch)
    found = metric.compute()
    dist.destroy_process_group()
    same(found, whole.compute(), "two processes")
    print("synchronised", rank)


def evaluate_on(backend: str) -> None:
    """torchmetrics' own metric, unchanged, on pycocotools or on verite under its name."""
    if backend == "verite":
        import verite.compat

        verite.compat.install_as_pycocotools()
    from torchmetrics.detection import MeanAveragePrecision

    for kind in ("bbox", "segm"):
        metric = MeanAveragePrecision(iou_type=kind, class_metrics=True, extended_summary=True, backend="pycocotools")
        for seed in range(12):
            metric.update(*draw_batch(np.random.default_rng(seed)))
        for key, value in sorted(metric.compute().items()):
            bits = {str(k): np.asarray(v).tobytes().hex() for k, v in value.items()} if key == "ious" else None
            print(kind, key, bits or np.asarray(value).tobytes().hex())
    print(sys.modules["pycocotools.cocoeval"].COCOeval.__module__)


if __name__ == "__main__":
    job, *words = sys.argv[1:]
    if job == "compare":
        compare_metrics(int(words[0]))
    elif job == "synchronise":
        synchronise(int(words[0]), words[1])
    else:
        evaluate_on(job)
