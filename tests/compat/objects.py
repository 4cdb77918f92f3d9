"""Does `vt.read` take real objects of frameworks? ``python -m tests.compat.objects [FOLDER]`` makes and reads some.

Ultralytics, mmdetection, SAHI, Hugging Face datasets and supervision as installed by ``make clients``; detectron2 from
its source below FOLDER; FiftyOne where it is installed. What mmdetection imports of mmcv's compiled operators is stood
in for; it is not called. The unit tests (tests/formats/test_frameworks.py) have stand-ins of the same attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import verite as vt
from tests.compat.torchvision_operators import define_operators

BOX, OTHER = [10.0, 20.0, 40.0, 60.0], [50.0, 20.0, 70.0, 30.0]  # a dog and a cat in an image of 100 × 80
SCORES, CLASSES, NAMES = [0.9, 0.4], [1, 0], ["cat", "dog"]
PIXELS = np.zeros((2, 80, 100), dtype=np.uint8)
PIXELS[0, 20:60, 10:40] = PIXELS[1, 20:30, 50:70] = 1

Case = tuple[str, Any, dict[str, Any]]


def truth() -> vt.Annotations:
    """The dog alone."""
    return vt.read({
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}],
        "categories": [{"id": i, "name": name} for i, name in enumerate(NAMES)],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40]}],
    })  # fmt: skip


def ultralytics(folder: Path | None) -> Iterator[Case]:
    import torch
    from ultralytics.engine.results import Results

    boxes = torch.tensor([[*box, score, k] for box, score, k in zip((BOX, OTHER), SCORES, CLASSES, strict=True)])
    image, names = np.zeros((80, 100, 3), np.uint8), dict(enumerate(NAMES))
    yield "Results", [Results(image, "/data/a.jpg", names, boxes=boxes)], {}
    yield "Results with masks", [Results(image, "/data/a.jpg", names, boxes=boxes, masks=torch.tensor(PIXELS))], {}
    turned = torch.tensor([[25, 40, 30, 40, 0, 0.9, 1], [60, 25, 20, 10, 0, 0.4, 0]])
    yield "Results with oriented boxes", [Results(image, "/data/a.jpg", names, obb=turned)], {}


def mmdetection(folder: Path | None) -> Iterator[Case]:
    import torch

    for name in ("mmcv.ops", "mmcv.ops.roi_align"):
        sys.modules.setdefault(name, ModuleType(name)).roi_align = None  # type: ignore[attr-defined]
    from mmdet.structures import DetDataSample
    from mmdet.structures.bbox import HorizontalBoxes
    from mmdet.structures.mask import BitmapMasks
    from mmengine.structures import InstanceData

    boxes, labels, scores = torch.tensor([BOX, OTHER]), torch.tensor(CLASSES), torch.tensor(SCORES)
    about = {"img_id": 7, "img_path": "data/a.jpg", "ori_shape": (80, 100)}
    sample = DetDataSample(metainfo=about)
    sample.pred_instances = InstanceData(
        bboxes=HorizontalBoxes(boxes), labels=labels, scores=scores, masks=BitmapMasks(PIXELS, 80, 100)
    )
    yield "DetDataSample", [sample], {"names": NAMES}
    sample.pred_instances = InstanceData(bboxes=boxes, labels=labels, scores=scores)
    yield "dictionary of a DetDataSample", [{**sample.to_dict(), **about}], {"names": NAMES}


def sahi(folder: Path | None) -> Iterator[Case]:
    from PIL import Image
    from sahi.prediction import ObjectPrediction, PredictionResult

    # Found in a slice that starts at (5, 10), and put back.
    objects = [
        ObjectPrediction(
            bbox=[box[0] - 5, box[1] - 10, box[2] - 5, box[3] - 10], category_id=k, category_name=NAMES[k], score=score,
            shift_amount=[5, 10], full_shape=[80, 100],
        ).get_shifted_object_prediction()
        for box, score, k in zip((BOX, OTHER), SCORES, CLASSES, strict=True)
    ]  # fmt: skip
    yield "PredictionResult", {"a.jpg": PredictionResult(objects, Image.new("RGB", (100, 80)))}, {}
    yield "list of ObjectPrediction", {"a.jpg": objects}, {}


def detectron2(folder: Path | None) -> Iterator[Case]:
    import torch

    if folder is None or not (folder / "detectron2" / "detectron2").is_dir():
        raise ImportError("no source of detectron2 in FOLDER")
    sys.path.insert(0, str(folder / "detectron2"))
    from detectron2.structures import BitMasks, Boxes, Instances

    found = Instances((80, 100))
    found.pred_boxes, found.pred_classes = Boxes(torch.tensor([BOX, OTHER])), torch.tensor(CLASSES)
    found.scores = torch.tensor(SCORES)
    yield "Instances", {"a.jpg": found}, {"names": NAMES}
    found.pred_masks = BitMasks(torch.tensor(PIXELS)).tensor
    yield "model output", [{"instances": found, "file_name": "data/a.jpg"}], {"names": NAMES}


def hugging_face(folder: Path | None) -> Iterator[Case]:
    from datasets import ClassLabel, Dataset, Features, Sequence, Value

    objects = {
        "bbox": Sequence(Sequence(Value("float32"), length=4)),
        "category": Sequence(ClassLabel(names=NAMES)),
        "score": Sequence(Value("float32")),
    }
    features = {"image_id": Value("string"), "width": Value("int64"), "height": Value("int64"), "objects": objects}
    boxes = [[10, 20, 30, 40], [50, 20, 20, 10]]
    row = {"image_id": "a.jpg", "width": 100, "height": 80}
    row["objects"] = {"bbox": boxes, "category": CLASSES, "score": SCORES}  # type: ignore[assignment]
    dataset = Dataset.from_list([row], features=Features(features))
    yield "Dataset", dataset, {}
    yield "rows", [dataset[0]], {"names": NAMES}


def supervision(folder: Path | None) -> Iterator[Case]:
    from supervision import Detections

    found = Detections(np.array([BOX, OTHER]), confidence=np.array(SCORES), class_id=np.array(CLASSES))
    yield "Detections", {"a.jpg": found}, {"names": NAMES}


def fiftyone(folder: Path | None) -> Iterator[Case]:
    from fiftyone import Detection, Detections, ImageMetadata, Sample

    sample = Sample(filepath="/data/a.jpg", metadata=ImageMetadata(width=100, height=80))
    objects = zip(([0.1, 0.25, 0.3, 0.5], [0.5, 0.25, 0.2, 0.125]), SCORES, CLASSES, strict=True)
    sample["predictions"] = Detections(
        detections=[Detection(label=NAMES[k], bounding_box=box, confidence=score) for box, score, k in objects]
    )

    class View:
        """A dataset needs a database; its samples do not."""

        def iter_samples(self) -> Iterator[Any]:
            yield sample

        def get_field_schema(self) -> dict[str, Any]:
            return {"predictions": Detections}

    yield "samples, of a stand-in for their dataset", View(), {"field": "predictions"}


FRAMEWORKS: tuple[Callable[[Path | None], Iterator[Case]], ...] = (
    ultralytics, mmdetection, sahi, detectron2, hugging_face, supervision, fiftyone,
)  # fmt: skip


def mistakes(given: Any, options: dict[str, Any]) -> list[str]:
    """What is not as it was put in."""
    found = vt.read(given, like=truth(), **options)
    boxes = found.regions.boxes
    wrong = [] if np.allclose(boxes, [BOX, OTHER], atol=1e-4) else [f"boxes {boxes.tolist()}"]
    if found.confidence is None or not np.allclose(found.confidence, SCORES, atol=1e-6):
        wrong.append(f"confidences {found.confidence}")
    if [found.labels.name(k) for k in found.label.tolist()] != ["dog", "cat"]:
        wrong.append(f"classes {found.label.tolist()}")
    if abs(vt.coco(truth(), found, checks="off")["AP"].value - 1) > 1e-12:
        wrong.append("AP")
    return wrong


def main(folder: Path | None) -> int:
    """Print what was read of each framework; 1 if anything is not as it was put in."""
    define_operators()
    failed = False
    for framework in FRAMEWORKS:
        try:
            for name, given, options in framework(folder):
                wrong = mistakes(given, options)
                failed |= bool(wrong)
                print(f"{framework.__name__}: {name}: {', '.join(wrong) or 'read as it was made'}")
        except ImportError as error:
            print(f"{framework.__name__}: not here ({error})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None))
