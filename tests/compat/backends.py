"""Do frameworks find the same with verite as their backend? ``python -m tests.compat.backends FOLDER``.

torchmetrics' own class resolves a backend by its name: the drop-in stands there under the name of faster-coco-eval and
of pycocotools. RF-DETR registers packages as (coco, cocoeval, mask_utils): the triple is one of them. Every number must
be equal to the last bit to that of the package the framework was written for. Below FOLDER is the source of rf-detr
(1.10 or later), if there is one.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from tests.compat.stand_ins import StandIns
from tests.compat.torchvision_operators import define_operators
from verite.compat import backend, install_as_faster_coco_eval, install_as_pycocotools

Batches = list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def make_batches(seed: int, *, with_masks: bool) -> Batches:
    """Batches of a random epoch as tensors: noisy, doubled, missed and invented boxes, crowds, and empty images."""
    import torch

    rng = np.random.default_rng(seed)
    found: Batches = []
    for _ in range(6):
        preds, targets = [], []
        for _ in range(4):
            count = int(rng.integers(0, 8))
            low = rng.uniform(0, 70, (count, 2))
            boxes = np.concatenate([low, low + rng.uniform(4, 50, (count, 2))], axis=1)
            labels = rng.integers(0, 5, count)
            kept = rng.random(count) < 0.8
            noisy = np.concatenate([boxes[kept] + rng.normal(0, 2, (kept.sum(), 4)), rng.uniform(0, 60, (3, 4))])
            noisy[:, 2:] = np.maximum(noisy[:, 2:], noisy[:, :2] + 1)
            guessed = np.concatenate([labels[kept], rng.integers(0, 6, 3)])
            preds.append({"boxes": noisy, "labels": guessed, "scores": rng.integers(1, 20, len(noisy)) / 20})
            targets.append({"boxes": boxes, "labels": labels, "iscrowd": (rng.random(count) < 0.1).astype(np.int64)})
        for items in (preds, targets):
            for item in items:
                if with_masks:
                    item["masks"] = np.zeros((len(item["boxes"]), 128, 128), dtype=np.bool_)
                    for one, (x0, y0, x1, y1) in zip(
                        item["masks"], item["boxes"].clip(0, 127).astype(int), strict=True
                    ):
                        one[y0 : y1 + 1, x0 : x1 + 1] = True
                for key, value in item.items():
                    item[key] = torch.tensor(value, dtype=torch.float32 if value.dtype == np.float64 else None)
        found.append((preds, targets))
    return found


def compute(metric: Any, batches: Batches) -> dict[str, Any]:
    """The numbers of an epoch."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for preds, targets in batches:
            metric.update(preds, targets)
        return {key: np.asarray(value) for key, value in metric.compute().items() if not isinstance(value, dict)}


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Names of the numbers that are not equal to the last bit."""
    if set(found) != set(expected):
        return sorted(set(found) ^ set(expected))
    return [key for key in expected if not np.array_equal(found[key], expected[key])]


def torchmetrics_cases() -> Iterator[tuple[str, list[str]]]:
    """torchmetrics' own class, unchanged, with its backend resolved to the original and to verite."""
    from torchmetrics.detection import MeanAveragePrecision

    installs = {"faster_coco_eval": install_as_faster_coco_eval, "pycocotools": install_as_pycocotools}
    kinds: list[Any] = ["bbox", "segm", ("bbox", "segm")]
    settings: list[dict[str, Any]] = [{}, {"class_metrics": True}, {"average": "micro"}]
    settings += [{"max_detection_thresholds": [1, 5, 20]}]
    for name, install in installs.items():
        for kind in kinds:
            for given in settings:
                for seed in range(3):
                    batches = make_batches(seed, with_masks=kind != "bbox")
                    named: dict[str, Any] = {"iou_type": kind, "backend": name, **given}
                    expected = compute(MeanAveragePrecision(**named), batches)
                    with install():
                        found = compute(MeanAveragePrecision(**named), batches)
                    yield f"torchmetrics, backend={name!r}, {kind}, {given}, seed {seed}", differences(found, expected)


def rfdetr_cases(source: Path) -> Iterator[tuple[str, list[str]]]:
    """RF-DETR's metric with the triple registered beside its own backends."""
    said = {
        "rfdetr.config": {"CocoEvalBackend": Literal["hotcoco"]},
        "rfdetr.utilities.distributed": {
            "all_gather": lambda value: [value],
            "get_world_size": lambda: 1,
            "is_dist_avail_and_initialized": lambda: False,
        },
        "rfdetr.utilities.logger": {"get_logger": lambda: logging.getLogger("rfdetr")},
    }
    with StandIns(("rfdetr",), {"rfdetr.training.coco_map": source}, said):
        from rfdetr.training import coco_map  # type: ignore[import-not-found]

        triple = backend()

        class VeriteBackend(coco_map._PackageCocoBackend):  # type: ignore[misc, name-defined]
            def _package(self) -> Any:
                return SimpleNamespace(COCO=triple.coco, COCOeval=triple.cocoeval, mask=triple.mask_utils)

        coco_map._BACKENDS["verite"] = VeriteBackend
        kinds: list[Any] = ["bbox", ("bbox", "segm")]
        for kind in kinds:
            for limits in ([1, 10, 100], [1, 10, 500]):
                for seed in range(3):
                    batches = make_batches(seed, with_masks=kind != "bbox")
                    numbers = [
                        compute(
                            coco_map.OnePassCocoMeanAveragePrecision(
                                iou_type=kind, max_detection_thresholds=limits, class_metrics=True, backend=name
                            ),
                            batches,
                        )
                        for name in ("verite", "faster_coco_eval")
                    ]
                    yield f"RF-DETR, {kind}, maxDets {limits}, seed {seed}", differences(*numbers)


def main(folder: Path) -> int:
    """Print what differs; 1 if anything does."""
    define_operators()
    cases = list(torchmetrics_cases())
    places = [folder / "rf-detr" / "src", folder / "rf-detr", folder / "rfdetr", folder]
    sources = [place / "rfdetr" / "training" / "coco_map.py" for place in places]
    source = next((one for one in sources if one.is_file()), None)
    if source is None:
        print(f"rf-detr: not in {folder}")
    else:
        cases += rfdetr_cases(source)
    wrong = [(case, keys) for case, keys in cases if keys]
    for case, keys in wrong:
        print(f"{case}: {', '.join(keys)} differ")
    print(f"backends: {len(cases) - len(wrong)} of {len(cases)} cases are equal to the last bit")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
