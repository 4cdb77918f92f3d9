"""Which scenes is the interpretation score tried on? A set drawn by chance, or the masks of one's own data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.outlines import Runs
from verite.model.rasters import array_of, frames_of, runs_of
from verite.model.regions import Regions

# How many images have so many objects: VOC 2008's segmentation set, images with more than eight left out.
COUNTS = {1: 498, 2: 237, 3: 106, 4: 61, 5: 40, 6: 32, 7: 16, 8: 12}
CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
SIZES = ((500, 375), (375, 500))  # width and height, lying or standing
COVERED = (0.1, 0.6)  # share of the image that its objects would cover if none hid another
EVENNESS = 8.0  # how alike the objects of one image are in size
CANDIDATES = 12  # places to choose the farthest from
SMALLEST = 400  # pixels
CORNERS = 96
WAVES = np.arange(2, 8)
Mask = NDArray[np.bool_]


def synthetic_scenes(seed: int = 0, counts: Mapping[int, int] | None = None) -> Annotations:
    """Images with as many objects as the paper's, of irregular outline, some of them partly hidden by others.

    >>> scenes = synthetic_scenes(counts={1: 2, 3: 1})
    >>> len(scenes.images), len(scenes)
    (3, 5)
    """
    rng = np.random.default_rng(seed)
    masks: list[tuple[NDArray[np.uint32], tuple[int, int]]] = []
    image: list[int] = []
    sizes: list[tuple[int, int]] = []
    for count, images in (COUNTS if counts is None else counts).items():
        for _ in range(images):
            width, height = SIZES[int(rng.random() < 0.3)]
            for mask in draw_silhouettes(count, width, height, rng):
                masks.append((runs_of(mask[None]).counts, (height, width)))
                image.append(len(sizes))
            sizes.append((width, height))
    runs = Runs.of(masks)
    names = [f"scene-{i:04}.png" for i in range(len(sizes))]
    return Annotations(
        images=Images(names, widths=[w for w, _ in sizes], heights=[h for _, h in sizes]),
        labels=Labels(CLASSES),
        image=np.array(image, dtype=np.int32),
        label=rng.integers(0, len(CLASSES), len(image)).astype(np.int32),
        regions=Regions(frames_of(runs), runs=runs),
    )


def draw_silhouettes(count: int, width: int, height: int, rng: np.random.Generator) -> list[Mask]:
    """So many regions that share no pixel: what lies behind is cut, as annotators mark what can be seen.

    Together they would cover 10 to 60 % of the image, each of them a part drawn by chance, far from the others.
    """
    while True:
        taken = np.zeros((height, width), dtype=np.bool_)
        masks: list[Mask] = []
        shares = np.exp(rng.uniform(*np.log(COVERED))) * rng.dirichlet(np.full(count, EVENNESS))
        middles = np.empty((0, 2))
        for share in shares:
            aspect = np.exp(rng.uniform(-0.5, 0.5))
            size = np.sqrt(share * width * height) * np.array([aspect, 1 / aspect])
            inside = np.minimum(size / 2, (width / 2, height / 2))
            places = rng.uniform(inside, (width, height) - inside, (CANDIDATES, 2))
            if len(middles):
                distances = np.abs(places[:, None] - middles[None]).sum(axis=2).min(axis=1)
                places = places[[int(distances.argmax())]]
            middles = np.concatenate([middles, places[:1]])
            mask = draw_ring(blob(rng) * size / 2 + places[0], width, height) & ~taken
            taken |= mask
            masks.append(mask)
        if all(mask.sum() >= SMALLEST for mask in masks):
            return masks


def blob(rng: np.random.Generator) -> NDArray[np.float64]:
    """A closed line around the origin with bays and limbs, at most 1 away from it on either axis."""
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    height = rng.uniform(0.0, 0.55, len(WAVES)) / WAVES**0.5
    phase = rng.uniform(0, 2 * np.pi, len(WAVES))
    radius = np.maximum(0.2, 1 + (height[:, None] * np.cos(WAVES[:, None] * angle + phase[:, None])).sum(axis=0))
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(points / np.abs(points).max(axis=0))


def draw_ring(points: NDArray[np.float64], width: int, height: int) -> Mask:
    """The pixels whose middle lies inside a ring."""
    size = np.array([[height, width]], dtype=np.int32)
    one = np.array([0, 1], dtype=np.int64)
    runs = Runs(*_core.polygon_runs(np.ascontiguousarray(points), one * len(points), one, size, False), size)
    return array_of(runs, 0)
