"""What do other tools do? Each tool's ways as settings of a protocol, and what it calls the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verite.errors import BadParameter, did_you_mean
from verite.records import field, record


@record()
class Way:
    """What a tool does, or did up to some version: a protocol and its settings."""

    title: str
    verb: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@record()
class Tool:
    """A tool, the likeliest of its ways first, and which score of ours is which of theirs."""

    name: str
    ways: tuple[Way, ...]
    scores: Mapping[str, str] = field(default_factory=dict)


COCO_NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl")
LIMITS = ("1", "10", "100")
TORCH_NAMES = ("map", "map_50", "map_75", "map_small", "map_medium", "map_large")
TORCH_RECALLS = {f"mar_{limit}": f"AR{limit}" for limit in LIMITS} | {
    f"mar_{size}": f"AR{size[0]}" for size in ("small", "medium", "large")
}
OPENMMLAB_NAMES = ("mAP", "mAP_50", "mAP_75", "mAP_s", "mAP_m", "mAP_l")
DETECTRON = {"max_image_dets": 100, "confidence": 0.05}

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("pycocotools", (Way("pycocotools", "coco", {"quirks": "pycocotools"}),)),
        Tool(
            "torchmetrics",
            (
                Way("torchmetrics", "coco", {"quirks": "torchmetrics"}),
                Way("torchmetrics told of crowds", "coco", {"quirks": "torchmetrics", "ignored": "crowd"}),
                Way(
                    "torchmetrics told of crowds and areas",
                    "coco",
                    {"quirks": "torchmetrics", "ignored": "crowd", "area_from": "file"},
                ),
                Way("torchmetrics, average micro", "coco", {"quirks": "torchmetrics", "class_agnostic": True}),
            ),
            dict(zip(TORCH_NAMES, COCO_NAMES, strict=True)) | TORCH_RECALLS,
        ),
        Tool(
            "ultralytics",
            (
                Way("ultralytics since 8.4.176", "voc", {"quirks": "ultralytics"}),
                Way("ultralytics 8.4.37 to 8.4.175", "voc", {"quirks": "ultralytics", "matching": "best"}),
                Way("ultralytics up to 8.4.36", "voc", {"quirks": "ultralytics-8.3"}),
            ),
            {"mAP50-95": "AP", "mAP50": "AP50", "mAP75": "AP75", "precision": "P", "recall": "R"},
        ),
        Tool(
            "detectron",
            (
                Way("detectron2", "coco", {"quirks": "pycocotools"}),
                Way("detectron2 with its limits", "coco", {"quirks": "pycocotools", **DETECTRON}),
            ),
        ),
        Tool(
            "detectron-voc",
            (
                Way("detectron2 on Pascal VOC", "voc", {"quirks": "detectron2"}),
                Way("detectron2 on Pascal VOC 2007", "voc", {"quirks": "detectron2", "interpolation": "11"}),
            ),
        ),
        Tool(
            "mmdetection",
            (Way("mmdetection", "coco", {"quirks": "pycocotools", "max_dets": (100, 300, 1000)}),),
            dict(zip(OPENMMLAB_NAMES, COCO_NAMES, strict=True)) | {f"AR@{n}": f"AR{n}" for n in (100, 300, 1000)},
        ),
        Tool(
            "supervision",
            (Way("supervision", "coco", {"ignored": "count", "area_from": "box", "ties": "file"}),),
            {"map50_95": "AP", "map50": "AP50", "map75": "AP75"},
        ),
        Tool(
            "voc2007",
            (
                Way("Pascal VOC 2007", "voc", {"interpolation": "11"}),
                Way("py-faster-rcnn's VOC 2007", "voc", {"interpolation": "11", "quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool(
            "voc2010",
            (
                Way("Pascal VOC since 2010", "voc"),
                Way("py-faster-rcnn's VOC 2010", "voc", {"quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool("object-detection-metrics", (Way("Object-Detection-Metrics", "voc"),)),
    )
}


def tool_named(name: str) -> Tool:
    if name not in TOOLS:
        raise BadParameter(f"tool: expected {', '.join(TOOLS)}, found {name!r}{did_you_mean(name, TOOLS)}")
    return TOOLS[name]
