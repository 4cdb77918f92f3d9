"""The plan of a study: pairs of localization results to compare, with repeats, swapped sides and catch trials.

Pairs are chosen where the metrics of the catalogue disagree most, spread over classes and sizes of objects. Every
result is a box around one ground-truth object; the plan holds the boxes, so that any metric can be computed later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, ReadError, excerpt, give_sizes
from verite.files import find_path
from verite.formats.json_documents import decode
from verite.metrics.catalogue import every_metric
from verite.model.annotations import Annotations
from verite.pairs import Pairs
from verite.studies.alterations import alter
from verite.studies.truths import truths_of

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
Scene = list[tuple[str, Box]]  # class and box of every object
VERSION = 1
REPEATS, CATCHES = 0.1, 0.1  # shares of the pairs that are shown again, and of catch trials
LOW_IOU = 0.1  # of a result with its object
KINDS = ("pair", "repeat", "catch")
STUDY_SIZE = 256.0  # width and height of the images of `from_study`
# Alterations of `from_study`: name and the box that it makes of x1, y1, x2, y2 with sides w, h and a power.
ALTERED = {
    "large": lambda b, w, h, p: (b[0] - p * w, b[1] - p * h, b[2] + p * w, b[3] + p * h),
    "small": lambda b, w, h, p: (b[0] + p * w, b[1] + p * h, b[2] - p * w, b[3] - p * h),
    "left": lambda b, w, h, p: (b[0] - 2 * p * w, b[1], b[2] - 2 * p * w, b[3]),
    "right": lambda b, w, h, p: (b[0] + 2 * p * w, b[1], b[2] + 2 * p * w, b[3]),
    "wide": lambda b, w, h, p: (b[0] - 2 * p * w, b[1], b[2] + 2 * p * w, b[3]),
    "tall": lambda b, w, h, p: (b[0], b[1] - 2 * p * h, b[2], b[3] + 2 * p * h),
}


@dataclass(frozen=True)
class Trial:
    """One comparison.

    Parameters
    ----------
    id : str
        Unique in the plan.
    image, label : str
        Name of the image, and class of the object.
    left, right : str
        Names of the results on both sides.
    kind : {"pair", "repeat", "catch"}
        A new pair, a pair shown again, or one with an obvious answer.
    object : str
        The object; cross-validation leaves out whole objects.
    truth : Box
        Box of the object.
    boxes : list of Box
        Boxes of the results, left first; further ones where there are more than two.
    size : (float, float)
        Width and height of the image.
    answer : str
        The obvious answer of a catch trial.
    more : list of str
        Names of further results, with more than two choices.
    objects : list of (str, Box)
        Where whole scenes are compared: class and box of every ground-truth object.
    scenes : list of list of (str, Box)
        Where whole scenes are compared: class and box of every prediction of each result, left first.
    """

    id: str
    image: str
    label: str
    left: str
    right: str
    kind: str
    object: str
    truth: Box
    boxes: list[Box]
    size: tuple[float, float]
    answer: str = ""
    more: list[str] = field(default_factory=list)
    objects: Scene = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of all results, from left to right."""
        return [self.left, self.right, *self.more]

    def to_dict(self) -> JsonObject:
        """Return the trial for plan.json, in which the class is called `class`; scenes only where there are some."""
        found = asdict(self)
        if not self.scenes:
            del found["objects"], found["scenes"]
        return {"id": found.pop("id"), "image": found.pop("image"), "class": found.pop("label"), **found}


@dataclass(frozen=True)
class Plan:
    """All trials of a study.

    Parameters
    ----------
    trials : list of Trial
        In the order in which they are shown.
    seed : int
        Seed of the choice of pairs, sides and order.
    """

    trials: list[Trial]
    seed: int

    @cached_property
    def id(self) -> str:
        """A digest by which votes name their plan."""
        text = json.dumps([trial.to_dict() for trial in self.trials], sort_keys=True)
        return blake2b(text.encode(), digest_size=6).hexdigest()

    @cached_property
    def by_id(self) -> dict[str, Trial]:
        """The trials by id."""
        return {trial.id: trial for trial in self.trials}

    def to_dict(self) -> JsonObject:
        """Return the document of plan.json."""
        return {"plan": self.id, "pairs": [t.to_dict() for t in self.trials], "seed": self.seed, "version": VERSION}


def read_plan(path: str | PathLike[str]) -> Plan:
    """Read plan.json.

    Raises
    ------
    ReadError
        If it is no plan, or of another version.
    """
    file = find_path(path)
    file = file / "plan.json" if file.is_dir() else file
    try:
        document = decode(file, Any)
        if document["version"] != VERSION:
            raise ReadError(file, expected=f"version {VERSION} of a plan", found=excerpt(document["version"]))
        trials = []
        for pair in document["pairs"]:
            known = dict(pair)
            known["label"] = known.pop("class")
            known["truth"], known["size"] = tuple(known["truth"]), tuple(known["size"])
            known["boxes"] = [tuple(box) for box in known["boxes"]]
            known["objects"] = scene_of(known.get("objects", []))
            known["scenes"] = [scene_of(scene) for scene in known.get("scenes", [])]
            trials.append(Trial(**known))
        return Plan(trials, int(document["seed"]))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(file, expected="a plan of verite judge make (plan.json)", found=excerpt(str(error))) from None


def scene_of(given: Sequence[Any]) -> Scene:
    """Return a scene of plan.json: pairs of a class and four numbers."""
    return [(str(label), as_box(box)) for label, box in given]


@dataclass(frozen=True)
class Candidate:
    """An object, or a whole scene, with results that may be compared."""

    image: str
    label: str
    object: str
    truth: Box
    size: tuple[float, float]
    names: tuple[str, ...]
    boxes: tuple[Box, ...]
    objects: tuple[tuple[str, Box], ...] = ()
    scenes: tuple[tuple[tuple[str, Box], ...], ...] = ()


def penalties_of(truth: Sequence[Box], boxes: Sequence[Box], sizes: Sequence[tuple[float, float]]) -> dict[str, Floats]:
    """Return the penalty of every metric of the catalogue on pairs of boxes: 0 is best, larger is worse.

    Boxes are compared at whole pixels of images of at most 256 pixels a side, which keeps contour metrics fast.
    """
    scale = np.array([min(1.0, 256 / max(size)) for size in sizes])[:, None]
    mine, theirs = (np.rint(np.array(side, dtype=np.float64) * scale) for side in (truth, boxes))
    size = np.ceil(np.array(sizes) * scale).clip(min=1)
    limit = np.hstack([size, size])
    mine, theirs = (np.clip(side, 0, limit) for side in (mine, theirs))
    for side in (mine, theirs):  # at least one pixel
        side[:, :2] = np.minimum(side[:, :2], limit[:, :2] - 1)
        side[:, 2:] = np.maximum(side[:, 2:], side[:, :2] + 1)
    pairs = Pairs.of(mine, theirs, size=size)
    found = {}
    for metric in every_metric():
        if metric.best is None:
            continue
        try:
            values = metric.values(pairs)
        except DataError:  # a metric of label images or volumes
            continue
        if np.isfinite(values).all():
            found[metric.name] = np.abs(values - metric.best)
    return found


def find_candidates(truth: Annotations, preds: Mapping[str, Annotations]) -> list[Candidate]:
    """Return the objects that every detector found, with the box of each: the best IoU of the same class."""
    found: list[Candidate] = []
    ignored = truth.ignored
    images = truth.images
    for row in np.flatnonzero(~ignored).tolist():
        image, box = int(truth.image[row]), truth.regions.boxes[row]
        name = images.name(image)
        chosen: list[Box] = []
        for pred in preds.values():
            at = pred.images.find(name) if pred.images.names is not None else image
            rows = np.flatnonzero((pred.image == (image if at is None else at)) & (pred.label == truth.label[row]))
            boxes = pred.regions.boxes[rows]
            low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])
            shared = (high - low).clip(min=0).prod(axis=1)
            areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) + (box[2:] - box[:2]).prod() - shared
            iou = shared / areas.clip(min=1e-9)
            if not len(iou) or iou.max() < LOW_IOU:
                break
            chosen.append(as_box(boxes[int(iou.argmax())]))
        if len(chosen) == len(preds) and len(set(chosen)) > 1:
            width, height = float(images.widths[image]), float(images.heights[image])
            if width <= 0 or height <= 0:
                raise DataError(f"judge: expected the size of every image, found none for {name!r}; {give_sizes()}")
            label = truth.labels.name(int(truth.label[row]))
            found.append(
                Candidate(name, label, f"{name}#{row}", as_box(box), (width, height), tuple(preds), tuple(chosen))
            )
    return found


def as_box(values: Any) -> Box:
    """Return a box as four floats."""
    x1, y1, x2, y2 = (round(float(v), 3) for v in values)
    return x1, y1, x2, y2


def study_candidates(seed: int) -> list[Candidate]:
    """Return shapes of the study of metrics with altered boxes, for a study without photographs."""
    rng = np.random.default_rng(seed)
    found = []
    names = list(ALTERED)
    for truth in truths_of("all"):
        left, top, right, bottom = (float(v) for v in truth.outline.box)
        box, width, height = (left, top, right, bottom), right - left, bottom - top
        for i, first in enumerate(names):
            for second in names[:i]:
                power = float(rng.choice([0.06, 0.1, 0.15]))
                boxes = tuple(as_box(ALTERED[name](box, width, height, power)) for name in (first, second))
                key = f"{truth.name}#{first}-{second}"
                found.append(Candidate(truth.name, truth.name, key, box, (STUDY_SIZE,) * 2, (first, second), boxes))
    return found


def disagreement(candidates: Sequence[Candidate]) -> Floats:
    """Return how much the metrics of the catalogue disagree about the first two results: 0 none, 0.5 most.

    Of scenes it is the disagreement between settings of the scene score.
    """
    if candidates and candidates[0].scenes:
        from verite.judge.scenes import setting_preferences

        differences = setting_preferences(candidates)
        first, second = (differences < -1e-9).mean(axis=0), (differences > 1e-9).mean(axis=0)
        either: Floats = np.minimum(first, second)
        return either
    sides = [penalties_of([c.truth for c in candidates], [c.boxes[k] for c in candidates], [c.size for c in candidates])
             for k in (0, 1)]  # fmt: skip
    differences = np.stack([sides[0][name] - sides[1][name] for name in sides[0]])
    first, second = (differences < -1e-9).mean(axis=0), (differences > 1e-9).mean(axis=0)
    found: Floats = np.minimum(first, second)
    return found


def make_plan(candidates: Sequence[Candidate], *, pairs: int = 60, seed: int = 0) -> Plan:
    """Plan a study: pairs, repeats with swapped sides, catch trials, in random order and with random sides.

    Parameters
    ----------
    candidates : sequence of Candidate
        Objects with results.
    pairs : int, default 60
        Number of pairs; a tenth of them is shown twice, and as many catch trials are added.
    seed : int, default 0
        Seed of sides and order.

    Returns
    -------
    Plan

    Raises
    ------
    DataError
        If there is nothing to compare.
    """
    if not candidates:
        raise DataError("judge: expected objects that every detector found with different boxes, found none")
    if pairs < 2:
        raise BadParameter(f"pairs: expected 2 or more, found {pairs}")
    rng = np.random.default_rng(seed)
    # Choose the candidates on which metrics disagree most, in turn from every class and size. The size of a scene is
    # its number of objects.
    worth = disagreement(candidates)
    areas = np.array(
        [len(c.objects) if c.scenes else (c.truth[2] - c.truth[0]) * (c.truth[3] - c.truth[1]) for c in candidates],
        dtype=np.float64,
    )
    thirds = np.searchsorted(np.quantile(areas, [1 / 3, 2 / 3]), areas)
    buckets: dict[tuple[str, int], list[int]] = {}
    for i in np.argsort(-worth, kind="stable").tolist():
        buckets.setdefault((candidates[i].label, int(thirds[i])), []).append(i)
    positions: list[int] = []
    while len(positions) < min(pairs, len(candidates)):
        for bucket in buckets.values():
            if bucket and len(positions) < pairs:
                positions.append(bucket.pop(0))
    chosen = [candidates[i] for i in positions]
    trials: list[Trial] = []
    for number, candidate in enumerate(chosen):
        order = rng.permutation(len(candidate.names))
        trials.append(trial_of(f"p{number + 1}", candidate, order, "pair"))
    some = rng.permutation(len(chosen))
    for count, at in enumerate(some[: max(1, round(REPEATS * len(chosen)))].tolist()):
        shown = trials[at]
        order = np.array([chosen[at].names.index(name) for name in reversed(shown.names)])
        trials.append(trial_of(f"r{count + 1}", chosen[at], order, "repeat"))
    for count, at in enumerate(some[-max(3, round(CATCHES * len(chosen))) :].tolist()):
        shown_candidate = chosen[at]
        scenes: tuple[tuple[tuple[str, Box], ...], ...] = ()
        if shown_candidate.scenes:
            right = shown_candidate.objects
            scenes = right, tuple((label, move_away(box)) for label, box in right)
        caught = replace(shown_candidate, names=("exact", "far off"), scenes=scenes,
                         boxes=(shown_candidate.truth, move_away(shown_candidate.truth)))  # fmt: skip
        trials.append(trial_of(f"c{count + 1}", caught, rng.permutation(2), "catch", answer="exact"))
    mixed = [trials[i] for i in rng.permutation(len(trials))]
    return Plan(mixed, seed)


def move_away(box: Box) -> Box:
    """Return the box of a catch trial that is visibly wrong: moved by more than half of its sides.

    >>> move_away((0.0, 0.0, 10.0, 10.0))
    (6.0, 5.0, 16.0, 15.0)
    """
    width, height = box[2] - box[0], box[3] - box[1]
    return as_box((box[0] + 0.6 * width, box[1] + 0.5 * height, box[2] + 0.6 * width, box[3] + 0.5 * height))


def trial_of(id: str, candidate: Candidate, order: NDArray[np.integer], kind: str, answer: str = "") -> Trial:
    """Return a trial with the results in this order.

    Parameters
    ----------
    id
        Name of the trial in plan and votes.
    candidate
        A ground-truth object with the boxes of several detectors.
    order
        Positions of the detectors as they are shown; repeats show them on other sides.
    kind
        `pair`, `repeat` (is a judge consistent?) or `catch` (is a judge attentive?).
    answer
        The right answer of a catch trial, empty otherwise.
    """
    names = [candidate.names[i] for i in order]
    boxes = [candidate.boxes[i] for i in order]
    return Trial(id, candidate.image, candidate.label, names[0], names[1], kind, candidate.object, candidate.truth,
                 boxes, candidate.size, answer, names[2:], list(candidate.objects),
                 [list(candidate.scenes[i]) for i in order] if candidate.scenes else [])  # fmt: skip


def silhouette_of(name: str) -> NDArray[np.bool_]:
    """Return the mask of a shape of the study, for the page."""
    return alter(truths_of(name)[0].mask, "translation", 0, 0)


def save_plan(plan: Plan, folder: Path) -> Path:
    """Write plan.json.

    Parameters
    ----------
    plan
        The plan; votes are read against it later.
    folder
        Folder of the study.

    Returns
    -------
    Path
        Path of the file.
    """
    from verite.files import write_atomically

    path = folder / "plan.json"
    write_atomically(path, json.dumps(plan.to_dict(), indent=1) + "\n")
    return path
