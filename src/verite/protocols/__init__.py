"""Evaluation protocols of the challenges (COCO, VOC, LVIS, Open Images, ImageNet …), imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verite.protocols.protocol import Protocol

# Each verb and the module that declares it, in the order in which help lists them.
REGISTRY = {
    "voc": "verite.protocols.voc",
    "coco": "verite.protocols.coco",
    "lvis": "verite.protocols.lvis",
    "openimages": "verite.protocols.openimages",
    "imagenet-loc": "verite.protocols.imagenet",
    "imagenet-det": "verite.protocols.imagenet",
    "panoptic": "verite.protocols.panoptic",
    "semantic": "verite.protocols.semantic",
    "f1": "verite.protocols.f1",
    "track": "verite.protocols.track",
    "miss-rate": "verite.protocols.miss_rate",
    "kitti": "verite.protocols.kitti",
    "wider": "verite.protocols.wider",
    "instances": "verite.protocols.instances",
    "oc-cost": "verite.protocols.oc_cost",
}

# Protocols that match no single objects, so that there is nothing to analyse or to report object by object.
WITHOUT_MATCHES = ("imagenet-loc", "semantic", "kitti", "wider", "oc-cost")
REPORTED = tuple(verb for verb in REGISTRY if verb not in WITHOUT_MATCHES)


def protocol_named(verb: str) -> Protocol[Any, Any]:
    """Return the protocol of a command; its module is imported on first use."""
    from verite.protocols.protocol import Protocol

    found = getattr(import_module(REGISTRY[verb]), verb.replace("-", "_"))
    assert isinstance(found, Protocol)
    return found
