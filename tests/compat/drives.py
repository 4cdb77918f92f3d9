"""What training and evaluation do with the evaluators of others: batches in, numbers out, on random sets."""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SEEDS = (5, 7, 10, 35)  # of sets with objects, results that have masks, and several classes
LOG: list[str] = []  # what was told to loggers
NUMBERS = ("precision", "recall", "scores", "counts")


class Logger:
    """Keeps what it is told."""

    def __getattr__(self, level: str) -> Callable[..., None]:
        return lambda text="", *more: LOG.append(str(text))


def make_set(seed: int, *, has_points: bool = False) -> tuple[Any, list[Any]]:
    """A truth with boxes and masks, or keypoints, and results with both a box and a mask."""
    from tests.compat.test_clients import random_keypoint_set
    from tests.oracles.coco_sets import random_mask_set

    truth, results = (random_keypoint_set if has_points else random_mask_set)(seed)
    for one in truth["categories"]:
        one["name"] = f"class {one['id']}"
    return truth, [one for one in results if has_points or isinstance(one["segmentation"], dict)]


def load(truth: Any) -> Any:
    from pycocotools.coco import COCO

    coco = COCO()
    coco.dataset = json.loads(json.dumps(truth))
    coco.createIndex()
    return coco


def to_tensors(records: list[Any]) -> dict[str, Any]:
    """Results of one image as a network hands them over."""
    import torch
    from pycocotools import mask

    said = {
        "scores": torch.tensor([one["score"] for one in records]),
        "labels": torch.tensor([one["category_id"] for one in records]),
    }
    if "keypoints" in records[0]:
        points = torch.tensor([one["keypoints"] for one in records]).reshape(len(records), -1, 3)
        return said | {"keypoints": points, "boxes": torch.zeros(len(records), 4)}
    masks = [one["segmentation"] for one in records]
    corners = torch.tensor(np.array(mask.toBbox(masks)))
    corners[:, 2:] += corners[:, :2]
    pixels = [torch.tensor(mask.decode(one))[None] for one in masks]
    return said | {"boxes": corners, "masks": pixels}


def by_image(records: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for one in records:
        found.setdefault(one["image_id"], []).append(one)
    return found


def drive_detr(module: Any, **options: Any) -> Iterator[Any]:
    """Batches of two images, evaluated one by one, gathered and put back."""
    import torch

    for seed, kinds in itertools.product(SEEDS, (["bbox", "segm"], ["keypoints"])):
        truth, results = make_set(seed, has_points=kinds == ["keypoints"])
        evaluator = module.CocoEvaluator(load(truth), kinds, **options)
        groups = by_image(results)
        images = [one["id"] for one in truth["images"]]
        for i in range(0, len(images), 2):
            batch = {image: to_tensors(groups[image]) if image in groups else {} for image in images[i : i + 2]}
            for said in batch.values():
                if len({one.shape for one in said.get("masks", ())}) == 1:
                    said["masks"] = torch.stack(said["masks"])
            evaluator.update(batch)
        evaluator.synchronize_between_processes()
        evaluator.accumulate()
        evaluator.summarize()
        for kind in kinds:
            done = evaluator.coco_eval[kind]
            yield {key: done.eval[key] for key in NUMBERS}, done.stats, done.evalImgs


def drive_detectron2(module: Any) -> Iterator[Any]:
    module.logging = SimpleNamespace(getLogger=lambda name: Logger())
    for seed, fast, most in itertools.product(SEEDS, (True, False), (None, 5)):
        for points in (False, True):
            truth, results = make_set(seed, has_points=points)
            names = [one["name"] for one in sorted(truth["categories"], key=lambda one: one["id"])]
            with written(truth) as path:
                CATALOG.update(json_file=str(path), thing_classes=names)
                evaluator = module.COCOEvaluator("data", distributed=False, use_fast_impl=fast, max_dets_per_image=most)
            evaluator._predictions = [
                {"image_id": image, "instances": [with_box(one) for one in group]}
                for image, group in by_image(results).items()
            ]
            yield evaluator.evaluate()


CATALOG: dict[str, Any] = {}


class Metadata(dict):  # type: ignore[type-arg]
    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def with_box(record: Any) -> Any:
    from pycocotools import mask

    if "segmentation" not in record:
        return dict(record)
    return {**record, "bbox": mask.toBbox(record["segmentation"]).tolist()}


@contextlib.contextmanager
def written(*documents: Any) -> Iterator[Any]:
    """Files of these documents."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{i}.json") for i in range(len(documents))]
        for path, document in zip(paths, documents, strict=True):
            path.write_text(json.dumps(document))
        yield paths[0] if len(paths) == 1 else paths


def drive_mmdet(module: Any) -> Iterator[Any]:
    for seed, settings in itertools.product(
        SEEDS, ({"metric": ["bbox", "segm"], "classwise": True}, {"metric": "proposal"},
                {"metric": "bbox", "use_mp_eval": True}, {"metric": "bbox", "proposal_nums": (1, 10, 100)}),
    ):  # fmt: skip
        truth, results = make_set(seed)
        with written(truth) as path:
            metric = module.CocoMetric(ann_file=str(path), **settings)
        metric.dataset_meta = {"classes": [one["name"] for one in truth["categories"]]}
        place = {one["id"]: i for i, one in enumerate(truth["categories"])}
        for image, group in by_image(results).items():
            said = to_tensors(group)
            said["labels"] = said["labels"].apply_(place.get)
            pred = {"bboxes": said["boxes"], "scores": said["scores"], "labels": said["labels"]}
            pred["masks"] = [dict(one["segmentation"]) for one in group]
            metric.process({}, [{"img_id": image, "ori_shape": (9, 9), "pred_instances": pred}])
        yield dict(metric.compute_metrics(metric.results))


def drive_yolox(module: Any) -> Iterator[Any]:
    import torch

    for seed in SEEDS:
        truth, results = make_set(seed)
        evaluator = object.__new__(module.COCOEvaluator)
        evaluator.dataloader = SimpleNamespace(batch_size=1, dataset=SimpleNamespace(coco=load(truth)))
        evaluator.testdev, evaluator.per_class_AP, evaluator.per_class_AR = False, True, True
        yield evaluator.evaluate_prediction([with_box(one) for one in results], torch.tensor([1.0, 1.0, 1.0]))


def drive_transformers(module: Any) -> Iterator[Any]:
    """Predictions and targets of a Trainer, in the order of a model's outputs."""
    import torch
    from transformers import DetrImageProcessor
    from transformers.trainer import EvalPrediction

    processor = DetrImageProcessor()
    for seed in SEEDS:
        draw = torch.Generator().manual_seed(seed)
        batches, targets = [], []
        for _ in range(3):
            boxes = torch.rand(2, 6, 4, generator=draw) * 0.4 + 0.3
            logits = torch.randn(2, 6, 5, generator=draw) * 3
            batches.append((np.zeros(1), logits.numpy(), (boxes + 0.02 * torch.randn(2, 6, 4, generator=draw)).numpy()))
            targets.append(
                [
                    {"orig_size": np.array([480, 640]), "boxes": boxes[i].numpy(),
                     "class_labels": logits[i, :, :-1].argmax(-1).numpy()}
                    for i in range(2)
                ]
            )  # fmt: skip
        yield module.compute_metrics(EvalPrediction(predictions=batches, label_ids=targets), processor)


def drive_rfdetr(module: Any) -> Iterator[Any]:
    """As `drive_detr`; RF-DETR from 1.10 on evaluates all records at the end, with faster-coco-eval."""
    import torch

    for seed, kinds in itertools.product(SEEDS, (["bbox", "segm"], ["keypoints"])):
        truth, results = make_set(seed, has_points=kinds == ["keypoints"])
        evaluator = module.CocoEvaluator(load(truth), kinds, max_dets=50)
        groups = by_image(results)
        for image in [one["id"] for one in truth["images"]]:
            said = to_tensors(groups[image]) if image in groups else {}
            if len({one.shape for one in said.get("masks", ())}) == 1:
                said["masks"] = torch.stack(said["masks"])
            elif "masks" in said:
                continue
            evaluator.update({image: said})
        evaluator.synchronize_between_processes()
        evaluator.accumulate()
        evaluator.summarize()
        for kind in kinds:
            done = evaluator.coco_eval[kind]
            arrays = {key: done.eval[key] for key in ("precision", "recall", "scores")} if hasattr(done, "eval") else {}
            yield arrays, np.asarray(done.stats)


def drive_ultralytics(module: Any) -> Iterator[Any]:
    """Files of COCO and of LVIS, and, where a version has it, a ground truth and predictions in memory."""
    for seed, kind in itertools.product(SEEDS, ("coco", "lvis", "memory")):
        truth, results = make_set(seed)
        for one in truth["categories"]:
            one["frequency"] = "rcf"[one["id"] % 3]
        for one in truth["images"]:
            one |= {"neg_category_ids": [], "not_exhaustive_category_ids": []}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "annotations").mkdir()
            file = "lvis_v1_val.json" if kind == "lvis" else "instances_val2017.json"
            (folder / "annotations" / file).write_text(json.dumps(truth))
            boxes = [with_box(one) for one in sorted(results, key=lambda one: one["image_id"])]
            (folder / "predictions.json").write_text(json.dumps(boxes))
            validator = object.__new__(module.DetectionValidator)
            files = [f"{one['id']:012d}.jpg" for one in truth["images"]]
            images = sorted(truth["images"], key=lambda one: one["id"])
            memory = json.loads(json.dumps(truth | {"images": images})) if kind == "memory" else {}
            vars(validator).update(
                args=SimpleNamespace(save_json=True, split="val"), is_coco=kind == "coco", is_lvis=kind == "lvis",
                jdict=boxes, gdict=memory, training=False, _coco_api=None, save_dir=folder, data={"path": folder},
                pred_counts=[sum(b["image_id"] == one["id"] for b in boxes) for one in images],
                metrics=SimpleNamespace(keys=["mAP50", "mAP50-95"]),
                dataloader=SimpleNamespace(dataset=SimpleNamespace(im_files=files)),
            )  # fmt: skip
            stats = validator.eval_json({})
            assert stats, LOG[-1]  # an error of the evaluator is only logged
            yield stats
