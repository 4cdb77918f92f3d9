"""Objects of frameworks in memory, by duck typing: stand-ins have the attributes that the frameworks document."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import verite as vt
from verite import _core
from verite.compat.pycocotools.mask import encode
from verite.errors import BadParameter

BOX, OTHER = [10.0, 20.0, 40.0, 60.0], [50.0, 20.0, 70.0, 30.0]
FILLED = {"size": [80, 100], "counts": encode(np.ones((80, 100), dtype=np.uint8, order="F"))["counts"]}


class Tensor:
    """As torch's: NumPy only takes it after detach() and cpu()."""

    def __init__(self, values: Any, *, is_attached: bool = True) -> None:
        self.values, self.is_attached = np.asarray(values), is_attached

    def detach(self) -> Tensor:
        return Tensor(self.values, is_attached=False)

    def cpu(self) -> Tensor:
        return self

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert not self.is_attached, "a tensor that requires a gradient"
        return self.values.astype(dtype) if dtype is not None else self.values


def truth() -> vt.Annotations:
    return vt.read({
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}],
        "categories": [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40]}],
    })  # fmt: skip


def ultralytics(**more: Any) -> Any:
    boxes = SimpleNamespace(xyxy=Tensor([BOX, OTHER]), conf=Tensor([0.9, 0.4]), cls=Tensor([1.0, 0.0]))
    given = {"boxes": boxes, "masks": None, "keypoints": None, "obb": None} | more
    return SimpleNamespace(path="/data/a.jpg", orig_shape=(80, 100), names={0: "cat", 1: "dog"}, **given)


def instances(side: str = "pred") -> Any:
    fields: dict[str, Any] = {
        f"{side}_boxes": SimpleNamespace(tensor=Tensor([BOX, OTHER])), f"{side}_classes": Tensor([1, 0]),
    }  # fmt: skip
    if side == "pred":
        fields["scores"] = Tensor([0.9, 0.4])
    return SimpleNamespace(image_size=(80, 100), get_fields=lambda: fields)


def data_sample() -> Any:
    pred = SimpleNamespace(bboxes=Tensor([BOX, OTHER]), labels=Tensor([1, 0]), scores=Tensor([0.9, 0.4]))
    gt = SimpleNamespace(bboxes=SimpleNamespace(tensor=Tensor([BOX])), labels=Tensor([1]))
    about = {"img_id": 7, "img_path": "x/a.jpg", "ori_shape": (80, 100)}
    return SimpleNamespace(metainfo=about, pred_instances=pred, gt_instances=gt)


def dumped_sample() -> Any:
    """As metrics of mmdetection get it, and as `tools/test.py --out` dumps it: a dictionary, masks as runs."""
    sample = data_sample()
    pred = {**vars(sample.pred_instances), "masks": [FILLED, FILLED]}
    return {**sample.metainfo, "pred_instances": pred, "gt_instances": vars(sample.gt_instances)}


def sahi() -> Any:
    objects = [
        SimpleNamespace(
            bbox=SimpleNamespace(to_xyxy=lambda box=box: box), score=SimpleNamespace(value=score),
            category=SimpleNamespace(id=i, name=name), mask=None,
        )
        for box, score, i, name in ((BOX, 0.9, 1, "dog"), (OTHER, 0.4, 0, "cat"))
    ]  # fmt: skip
    return SimpleNamespace(object_prediction_list=objects, image_width=100, image_height=80)


class FiftyOne:
    """A dataset of one image; boxes are fractions."""

    def __init__(self, *, with_size: bool = True, has_mask_files: bool = False) -> None:
        self.with_size, self.has_mask_files = with_size, has_mask_files

    def get_field_schema(self) -> dict[str, Any]:
        return {"filepath": 0, "metadata": 0, "ground_truth": 0, "predictions": 0}

    def iter_samples(self) -> Any:
        detections = [
            SimpleNamespace(label="dog", bounding_box=[0.1, 0.25, 0.3, 0.5], confidence=0.9, mask=None),
            SimpleNamespace(label="cat", bounding_box=[0.5, 0.25, 0.2, 0.125], confidence=0.4, mask=None),
        ]
        pixels = np.ones((40, 30))
        mask = (
            {"mask": None, "mask_path": "a.png", "get_mask": lambda: pixels}
            if self.has_mask_files
            else {"mask": pixels}
        )
        truths = [SimpleNamespace(label="dog", bounding_box=[0.1, 0.25, 0.3, 0.5], confidence=None, **mask)]
        held = {
            "predictions": SimpleNamespace(detections=detections),
            "ground_truth": SimpleNamespace(detections=truths),
        }
        size = SimpleNamespace(width=100, height=80) if self.with_size else None

        class Sample(SimpleNamespace):
            def __getitem__(self, key: str) -> Any:
                return held[key]

        yield Sample(filepath="/data/a.jpg", metadata=size)


class HuggingFace(list[Any]):
    """Rows of a dataset with features."""

    column_names = ("image_id", "width", "height", "objects")
    features = {"objects": {"category": SimpleNamespace(feature=SimpleNamespace(names=["cat", "dog"]))}}  # noqa: RUF012


PREDICTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ultralytics": (lambda: [ultralytics()], {}),
    "ultralytics-one": (ultralytics, {}),
    "detectron2": (lambda: {"a.jpg": instances()}, {"names": ["cat", "dog"]}),
    "detectron2-output-one": (lambda: {"instances": instances(), "file_name": "x/a.jpg"}, {"names": ["cat", "dog"]}),
    "detectron2-output": (lambda: [{"instances": instances(), "file_name": "x/a.jpg"}], {"names": ["cat", "dog"]}),
    "mmdet": (lambda: [data_sample()], {"names": ["cat", "dog"]}),
    "mmdet-dumped": (lambda: [dumped_sample()], {"names": ["cat", "dog"]}),
    "mmdet-dumped-one": (dumped_sample, {"names": ["cat", "dog"]}),
    "sahi": (lambda: {"a.jpg": sahi()}, {}),
    "sahi-objects": (lambda: {"a.jpg": sahi().object_prediction_list}, {}),
    "fiftyone": (FiftyOne, {"field": "predictions"}),
}


@pytest.mark.parametrize("kind", PREDICTIONS)
def test_predictions_of_a_framework_are_evaluated(kind: str) -> None:
    make, options = PREDICTIONS[kind]
    pred = vt.read(make(), like=truth(), **options)
    assert pred.regions.boxes.tolist() == [BOX, OTHER]
    assert pred.confidence is not None
    assert pred.confidence.tolist() == [0.9, 0.4]
    assert [pred.labels.name(one) for one in pred.label.tolist()] == ["dog", "cat"]
    assert vt.coco(truth(), pred, checks="off")["AP"] == pytest.approx(1)


def test_what_detectron2_saves_is_evaluated_once_it_is_loaded() -> None:
    """Its evaluator saves a list with the COCO results of each image; images without detections have none."""
    results = [
        {"image_id": 7, "category_id": 2, "bbox": [10, 20, 30, 40], "score": 0.9},
        {"image_id": 7, "category_id": 1, "bbox": [50, 10, 20, 30], "score": 0.4},
    ]
    saved = [{"image_id": 5, "instances": []}, {"image_id": 7, "instances": results}]
    pred = vt.read(saved)
    assert pred.regions.boxes.tolist() == [[10, 20, 40, 60], [50, 10, 70, 40]]
    assert pred.confidence is not None
    assert pred.confidence.tolist() == [0.9, 0.4]


@pytest.mark.parametrize(
    "given",
    [
        HuggingFace([{"image_id": "a.jpg", "width": 100, "height": 80, "objects": {
            "bbox": [[10, 20, 30, 40]], "category": [1], "area": [900.0], "iscrowd": [0]}}]),
        {"a.jpg": instances("gt")},
    ],
    ids=["hugging-face", "detectron2"],
)  # fmt: skip
def test_ground_truth_of_a_framework(given: Any) -> None:
    found = vt.read(given, names=["cat", "dog"] if isinstance(given, dict) else None)
    assert found.confidence is None
    assert found.regions.boxes[0].tolist() == BOX
    assert found.labels.name(int(found.label[0])) == "dog"
    assert (found.images.widths[0], found.images.heights[0]) == (100, 80)
    if not isinstance(given, dict):
        assert found.area is not None
        assert found.area.tolist() == [900]


def test_ground_truth_of_a_field() -> None:
    found = vt.read(FiftyOne(), field="ground_truth")
    assert found.confidence is None
    assert found.regions.boxes.tolist() == [BOX]
    assert found.regions.runs is not None  # 30 × 40 pixels of the mask
    in_files = vt.read(FiftyOne(has_mask_files=True), field="ground_truth")
    assert _core.mask_areas(in_files.regions.runs.arrays).tolist() == [30 * 40]
    results = vt.coco(found, vt.read(FiftyOne(), field="predictions", like=found), checks="off")
    assert results["AP"] == pytest.approx(1)
    assert vt.read([data_sample()], field="gt_instances").regions.boxes.tolist() == [BOX]
    assert vt.read([dumped_sample()], field="gt_instances").regions.boxes.tolist() == [BOX]


def test_ignored_instances_of_mmdetection_are_crowds() -> None:
    """Its pipelines put crowds there; its COCO metric, without a file of annotations, takes them as such."""
    sample = data_sample()
    sample.ignored_instances = SimpleNamespace(bboxes=SimpleNamespace(tensor=Tensor([OTHER])), labels=Tensor([0]))
    truth = vt.read([sample], names=["cat", "dog"], field="gt_instances")
    assert truth.flag("crowd").tolist() == [False, True]
    assert truth.regions.boxes.tolist() == [BOX, OTHER]
    assert "crowd" not in vt.read([sample], names=["cat", "dog"]).flags
    assert vt.coco(truth, vt.read([sample], names=["cat", "dog"]))["AP"].value == pytest.approx(1)


def test_masks_of_dumped_samples_are_decoded() -> None:
    found = vt.read([dumped_sample()])
    assert _core.mask_areas(found.regions.runs.arrays).tolist() == [8000, 8000]  # type: ignore[union-attr]


def test_outlines_keypoints_and_oriented_boxes_of_ultralytics() -> None:
    rings = [np.array([[10, 20], [40, 20], [40, 60]]), np.array([[50, 20], [70, 20], [70, 30]])]
    segmented = vt.read([ultralytics(masks=SimpleNamespace(xy=rings))])
    assert segmented.regions.polygons is not None
    assert segmented.regions.polygons.points.tolist()[:3] == rings[0].tolist()
    posed = vt.read([ultralytics(keypoints=SimpleNamespace(data=Tensor(np.ones((2, 5, 3)))))])
    assert posed.regions.keypoints is not None
    corners = [[[10, 20], [40, 20], [40, 60], [10, 60]]]
    oriented = SimpleNamespace(xyxy=Tensor([BOX]), xyxyxyxy=Tensor(corners), conf=Tensor([0.9]), cls=Tensor([1.0]))
    found = vt.read([ultralytics(boxes=None, obb=oriented)])
    assert found.regions.polygons is not None
    assert found.regions.polygons.points.tolist() == corners[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vt.read(FiftyOne()), "field: expected the field with detections.*predictions"),
        (lambda: vt.read(FiftyOne(with_size=False), field="predictions"), "expected metadata.*compute_metadata"),
        (lambda: vt.read([dumped_sample()], field="proposals"), "field: expected pred_instances or gt_instances"),
        (lambda: vt.read([data_sample()], field="proposals"), "field: expected pred_instances or gt_instances"),
        (lambda: vt.read([ultralytics(), ultralytics()]), "expected each image once"),
        (lambda: vt.read([ultralytics(boxes=None)]), "expected boxes, found none in image a.jpg"),
        (lambda: vt.read([{"objects": {"box": [[1, 2, 3, 4]], "category": [1]}}]), "expected objects with bbox"),
        (lambda: vt.read({"a": SimpleNamespace(image_size=(1, 1), get_fields=dict)}), "expected pred_boxes"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(call: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        call()
