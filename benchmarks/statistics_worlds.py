"""Worlds with a known truth for benchmarks/statistics.py: images, objects, clutter, detectors, imperfect annotation.

Objects have a difficulty: part of it belongs to the image, part to the class, part to the object. Clutter looks more or
less like an object, to all detectors alike. Annotators miss objects and annotate clutter, independently of all else or
by a habit, which some detectors have learned from their training data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import verite as vt

WIDTH, HEIGHT = 640, 480
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Detector:
    """How good a detector is: at finding objects, at placing boxes, at leaving clutter alone, and what it learned."""

    skill: float
    placing: float  # standard deviation of box sides, as a share of the side
    clutter: float  # added to how much clutter looks like an object
    habit: float  # 0: sees things as they are, 1: as annotators do

    @classmethod
    def sample(cls, rng: np.random.Generator, spread: float, habit: float = 0.0) -> Detector:
        """Return a detector that differs from others by about this much."""
        skill, clutter, placing = rng.normal(0, spread, 3)
        return cls(skill, 0.06 * float(np.exp(0.3 * placing)), clutter, habit)


class World:
    """Images of one population; `classes` fixes how hard and how frequent classes are."""

    def __init__(self, rng: np.random.Generator, images: int, class_effects: Floats) -> None:
        self.rng, self.images, self.classes = rng, images, len(class_effects)
        frequency = 1 / np.arange(2, self.classes + 2) ** 0.8
        counts = rng.poisson(rng.gamma(1.2, 6 / 1.2, images))
        self.image = np.repeat(np.arange(images), counts)
        themes = rng.choice(self.classes, (images, 4), p=frequency / frequency.sum())
        self.label = themes[self.image, rng.integers(0, 4, len(self.image))]
        self.box, size = self.sample_boxes(len(self.image))
        image_effect = rng.normal(0, 1.2, images)
        self.difficulty = image_effect[self.image] + class_effects[self.label] - 0.6 * size
        self.difficulty += rng.normal(0, 0.8, len(self.image))
        self.is_omitted = rng.random(len(self.image)) < 0.1  # by the habit of annotators
        count = rng.poisson(4, images)
        self.clutter_image = np.repeat(np.arange(images), count)
        self.clutter_label = themes[self.clutter_image, rng.integers(0, 4, len(self.clutter_image))]
        self.clutter_box, _ = self.sample_boxes(len(self.clutter_image))
        self.look = rng.normal(-2, 1, len(self.clutter_image)) - 0.3 * image_effect[self.clutter_image]
        self.is_annotated = rng.random(len(self.clutter_image)) < 0.08  # by the same habit

    def sample_boxes(self, count: int) -> tuple[Floats, Floats]:
        """Return boxes (corners) and the standardised logarithm of their size."""
        size = self.rng.normal(0, 1, count)
        side, shape = np.exp(4 + size), np.exp(self.rng.normal(0, 0.3, count))
        width, height = np.clip(side * shape, 5, 600), np.clip(side / shape, 5, 450)
        left, top = self.rng.random(count) * (WIDTH - width), self.rng.random(count) * (HEIGHT - height)
        return np.column_stack([left, top, left + width, top + height]), size

    def displace(self, boxes: Floats, by: float) -> Floats:
        """Return boxes with displaced sides."""
        size = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
        moved = boxes + by * size * self.rng.normal(0, 1, boxes.shape)
        return np.column_stack([moved[:, :2], np.maximum(moved[:, 2:], moved[:, :2] + 1)])

    def annotations(self, image: Any, label: Any, boxes: Floats, confidence: Any = None) -> vt.Annotations:
        """Return objects as ground truth or predictions."""
        names, classes = [f"{i:06d}" for i in range(self.images)], [f"class {k}" for k in range(self.classes)]
        more = {} if confidence is None else {"confidence": confidence}
        return vt.Annotations.of(
            [names[i] for i in image], [classes[k] for k in label], boxes, images=names, labels=classes, **more
        )

    @property
    def truth(self) -> vt.Annotations:
        """The true ground truth."""
        return self.annotations(self.image, self.label, self.box)

    def detect(self, detector: Detector) -> vt.Annotations:
        """Return the predictions of a detector."""
        rng = self.rng
        noise = rng.normal(0, 0.7, len(self.image)) - 2 * detector.habit * self.is_omitted
        ease = 0.5 + detector.skill - self.difficulty + noise
        looks = detector.clutter + self.look + 2.5 * detector.habit * self.is_annotated
        looks += rng.normal(0, 0.7, len(self.look))
        found, taken = np.flatnonzero(ease > -1.5), np.flatnonzero(looks > -1.5)
        label = self.label[found].copy()
        is_confused = rng.random(len(found)) < 0.05
        label[is_confused] = rng.integers(0, self.classes, int(is_confused.sum()))
        return self.annotations(
            np.concatenate([self.image[found], self.clutter_image[taken]]),
            np.concatenate([label, self.clutter_label[taken]]),
            self.displace(np.concatenate([self.box[found], self.clutter_box[taken]]), detector.placing),
            1 / (1 + np.exp(-1.5 * np.concatenate([ease[found], looks[taken]]))),
        )

    def annotate(self, kind: str) -> tuple[vt.Annotations, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return imperfect ground truth, which of its annotations are spurious, and which objects are missing.

        `kind` is independent (errors hit everything alike) or habit (the same objects and clutter for all annotators).
        """
        rng = self.rng
        if kind == "habit":
            missing = rng.random(len(self.image)) < np.where(self.is_omitted, 0.8, 0.01)
            extra = np.flatnonzero(self.is_annotated & (rng.random(len(self.look)) < 0.8))
            spurious = self.clutter_image[extra], self.clutter_label[extra], self.clutter_box[extra]
        else:
            missing = rng.random(len(self.image)) < 0.08
            count = rng.poisson(0.03 * len(self.image))
            image = rng.integers(0, self.images, count)
            spurious = image, rng.integers(0, self.classes, count), self.sample_boxes(count)[0]
        columns = [
            np.concatenate([own[~missing], more])
            for own, more in zip((self.image, self.label, self.box), spurious, strict=True)
        ]
        is_spurious = np.arange(len(columns[0])) >= np.count_nonzero(~missing)
        return self.annotations(*columns), is_spurious, missing
