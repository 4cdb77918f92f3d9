"""Small scenes for tests: boxes in images, and scenes drawn by hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import verite as vt
from verite.errors import VeriteError
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.rasters import frames_of, runs_of
from verite.model.regions import Regions

LABELS = ("cat", "dog", "car")
SIDE = 12


def scene(boxes, labels=None, confidence=None, image="a", images=("a",)):
    """Boxes of one image."""
    count = len(boxes)
    return vt.Annotations.of(
        [image] * count,
        labels or ["cat"] * count,
        np.array(boxes, dtype=float).reshape(-1, 4),
        confidence=confidence,
        sizes=dict.fromkeys(images, (100, 100)),
        labels=LABELS,
    )


def refused(ask, *args, **given):
    """The message of the error that a call raises."""
    with pytest.raises(VeriteError) as error:
        ask(*args, **given)
    return str(error.value)


def scored(truth, pred, **how):
    """Scene scores without checks of the inputs."""
    return vt.scene_score(truth, pred, checks="off", **how)


def of_masks(masks, labels, image, images, confidence=None):
    """Masks as annotations."""
    stack = np.array(masks, dtype=bool).reshape(-1, SIDE, SIDE)
    runs = runs_of(stack)
    return vt.Annotations(
        images=Images([f"i{k}" for k in range(images)], widths=[SIDE] * images, heights=[SIDE] * images),
        labels=Labels(LABELS),
        image=np.array(image, dtype=np.int32),
        label=np.array(labels, dtype=np.int32),
        regions=Regions(frames_of(runs), runs=runs) if len(stack) else Regions(np.empty((0, 4))),
        confidence=None if confidence is None else np.array(confidence, dtype=float),
    )


@st.composite
def boxes_in_images(draw, most=5, images=2, confident=False):
    """A few boxes on a grid, so that overlaps, ties and containment are frequent."""
    count = draw(st.integers(0, most))
    edge = st.integers(0, 6)
    boxes = [(draw(edge), draw(edge), draw(st.integers(1, 5)), draw(st.integers(1, 5))) for _ in range(count)]
    label = [draw(st.sampled_from(LABELS)) for _ in range(count)]
    where = [f"i{draw(st.integers(0, images - 1))}" for _ in range(count)]
    confidence = [draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in range(count)] if confident else None
    return vt.Annotations.of(
        where,
        label,
        np.array([(x, y, x + w, y + h) for x, y, w, h in boxes], dtype=float).reshape(-1, 4),
        confidence=confidence,
        sizes={f"i{k}": (SIDE, SIDE) for k in range(images)},
        labels=LABELS,
    )
