"""What checks look at: one side, or predictions on their truth, with everything that several of them want to know.

The census and the quick fit are plain numbers from the core; nothing here makes an array before a check asks for one.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.checks.chance import NATS, surprise
from verite.model.annotations import Annotations
from verite.model.quads import has_angles
from verite.records import record
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.checks.explanations import Hypothesis
    from verite.checks.findings import SideName
    from verite.checks.sample import Sample

EDGE = 0.1  # of an image's side: what leaves the image by more is outside
MANY = 0.1  # share of the images with objects that may be without predictions
TWICE = 2.0  # times as many as chance would leave without: hard images are without predictions together
CLONES, FEWEST_IMAGES = 0.5, 20  # share of the predictions that surer ones make superfluous; in so many images or more
FEWEST_JUDGED = 20  # predictions that are right, and wrong, before their confidences are compared
REVERSED, SIGMAS = 0.4, 6.0  # share of pairs in which right is surer than wrong; how far from half, beyond chance


@record()
class Tally:
    """How many, and the first few of them."""

    count: int
    rows: tuple[int, ...]


class Side:
    """Truths or predictions."""

    def __init__(self, annotations: Annotations, *, is_truth: bool) -> None:
        self.annotations, self.is_truth = annotations, is_truth

    @property
    def name(self) -> SideName:
        return "truth" if self.is_truth else "pred"

    def __len__(self) -> int:
        return len(self.annotations)

    @cached_property
    def census(self) -> dict[str, Tally]:
        """How many objects have each kind of fault, by name."""
        side = self.annotations
        is_relative = side.unit == "rel"
        counted = tallies(_core.census(side.columns, side.images.table, self.is_truth, is_relative, thread_count()))
        return {**counted, "flaws": Tally(len(side.source.flaws), ()), "poses": Tally(self.odd_poses, ())}

    @property
    def odd_poses(self) -> int:
        """How many faults keypoints have."""
        side = self.annotations
        if not side.columns.regions.has_keypoints:
            return 0
        *others, outside, unlabelled = _core.pose_faults(
            side.columns, side.images.table, self.is_truth, side.unit == "rel", thread_count()
        )
        return sum(others) + unlabelled + (outside if self.is_truth or outside > MANY * len(self) else 0)

    def tally(self, fault: str) -> Tally:
        return self.census[fault]

    def count(self, fault: str) -> int:
        return self.census[fault].count


class Pair:
    """Predictions that are aligned with their truth."""

    def __init__(self, truth: Annotations, pred: Annotations) -> None:
        self.truth, self.pred = truth, pred

    @cached_property
    def fit(self) -> dict[str, Any]:
        """How predictions fit in a sample of the images, in plain numbers."""
        return _core.quick_fit(self.truth.columns, self.pred.columns, len(self.pred.images))

    @cached_property
    def faults(self) -> dict[str, int]:
        """What may be wrong, by name; zero where it is not."""
        truth, pred, fit = self.truth, self.pred, self.fit
        (_, truth_labels, truth_images), (objects, labels, images) = truth.counts, pred.counts
        unpredicted = fit["unpredicted"][0]
        least = max(MANY * fit["asked"], TWICE * fit["expected"])
        is_rare = unpredicted <= least or surprise(unpredicted, fit["expected"]) < NATS
        is_exchanged = truth.columns.has_confidence and not pred.columns.has_confidence
        has_poses = truth.columns.regions.has_keypoints and pred.columns.regions.has_keypoints
        is_text = truth.source.format == pred.source.format == "text"
        return {
            "misfit": not fit["is_good"] or not truth.unit == pred.unit == "px",
            "both_text": is_text,  # both may be wrong in the same way
            "unknown_images": images - truth_images,
            "unknown_labels": labels - truth_labels,
            "exchanges": len(fit["exchanges"]),
            "unpredicted": unpredicted,
            "many_unpredicted": 0 if is_rare or not objects else unpredicted,
            "empty": len(truth) > 0 and not objects,
            "exchanged": is_exchanged and objects > 0,
            "both_confident": truth.columns.has_confidence and pred.columns.has_confidence and len(truth) > 0,
            "clones": fit["clones"] if are_unsuppressed(fit) else 0,
            "reversed": is_reversed(fit["right"], fit["wrong"], fit["surer"]),
            "mirrored": self.mirrored[1] if has_poses else 0,
            "rotated": has_angles(truth) or has_angles(pred),
        }

    @cached_property
    def mirrored(self) -> tuple[int, int]:
        """Of how many poses, and in how many of them, left and right fit when they change places."""
        from verite.model.skeletons import mirrors_of

        counts = self.truth.columns.count_keypoints(len(self.truth.labels))
        others = mirrors_of(self.truth.labels.skeletons, counts)
        return _core.mirrored_poses(self.truth.columns, self.pred.columns, len(self.pred.images), others)

    def count(self, fault: str) -> int:
        return int(self.faults[fault])

    @cached_property
    def sample(self) -> Sample | None:
        from verite.checks.sample import draw

        return draw(self.truth, self.pred)

    @cached_property
    def explanations(self) -> tuple[Hypothesis | None, Hypothesis | None]:
        """The files as read, and what explains far more than that, if anything does."""
        from verite.checks.geometry import weigh_readings

        return weigh_readings(self.sample) if self.sample else (None, None)


def tallies(found: dict[str, tuple[int, list[int]]]) -> dict[str, Tally]:
    return {name: Tally(count, tuple(rows)) for name, (count, rows) in found.items()}


def are_unsuppressed(fit: dict[str, Any]) -> bool:
    """Do most predictions lie on surer ones, in more images than chance could fill so?"""
    return fit["asked"] >= FEWEST_IMAGES and fit["clones"] >= max(1, CLONES * fit["looked_at"])  # type: ignore[no-any-return]


def is_reversed(right: int, wrong: int, surer: float) -> bool:
    """Are wrong predictions surer than right ones, by far more than chance? (Mann and Whitney's test.)"""
    if min(right, wrong) < FEWEST_JUDGED or surer >= REVERSED * right * wrong:
        return False
    return right * wrong / 2 - surer >= SIGMAS * sqrt(right * wrong * (right + wrong + 1) / 12)
