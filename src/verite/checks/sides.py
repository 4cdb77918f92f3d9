"""What checks look at: one side, or predictions on their truth, with everything that several of them want to know.

The census and the quick fit are plain numbers from the core; nothing here makes an array before a check asks for one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.checks.chance import NATS, surprise
from verite.checks.findings import EXAMPLES
from verite.model.annotations import Annotations
from verite.model.unopened import unopened_pair
from verite.records import record
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks.explanations import Explanation
    from verite.checks.findings import SideName
    from verite.checks.sample import Sample

MANY = 0.1  # share of the images with objects that may be without predictions


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
        unopened, threads = self.annotations.unopened, thread_count()
        if unopened is not None:
            found = _core.coco_census(unopened.truth.file, unopened.file, self.is_truth, threads)
            if found is not None:
                return tallies(found)
        images = self.annotations.images
        sizes = np.stack([images.widths, images.heights], axis=1).astype(np.int32)
        if self.annotations.unit == "rel":
            sizes = np.ones_like(sizes)
        found = _core.census(columns_of(self.annotations, sizes), len(images), self.is_truth, threads)
        unscored, confidence = self.annotations.flags.get("unscored"), self.annotations.confidence
        if unscored is not None and confidence is not None:
            found["unscored"] = first_of(unscored)
            found["confidence_not_finite"] = first_of(~np.isfinite(confidence) & ~unscored)
        found["repeated_names"] = find_repeated(images.names or ()) if self.is_truth else (0, [])
        return tallies(found)

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
        pair = unopened_pair(self.truth, self.pred)
        found = _core.coco_fit(pair[0].file, pair[1].file) if pair else None
        if found is None:
            found = _core.quick_fit(columns_of(self.truth), columns_of(self.pred), len(self.pred.images))
        return found

    @cached_property
    def faults(self) -> dict[str, int]:
        """What may be wrong, by name; zero where it is not."""
        truth, pred, fit = self.truth, self.pred, self.fit
        (_, truth_labels, truth_images), (objects, labels, images) = truth.counts, pred.counts
        unpredicted = fit["unpredicted"][0]
        is_rare = unpredicted <= MANY * fit["asked"] or surprise(unpredicted, fit["expected"]) < NATS
        is_exchanged = truth.unopened is None and truth.confidence is not None and pred.confidence is None
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
        }

    def count(self, fault: str) -> int:
        return int(self.faults[fault])

    @cached_property
    def sample(self) -> Sample | None:
        from verite.checks.sample import draw

        return draw(self.truth, self.pred)

    @cached_property
    def explanations(self) -> tuple[Explanation | None, Explanation | None]:
        """The files as read, and what explains far more than that, if anything does."""
        from verite.checks.geometry import explain

        return explain(self.sample) if self.sample else (None, None)


def columns_of(side: Annotations, sizes: NDArray[np.int32] | None = None) -> tuple[Any, ...]:
    """What the core counts; `sizes` of the images where it is to look for boxes outside."""
    is_corners = side.regions.kept == "xyxy"
    optional = (side.confidence, side.area, side.flags.get("crowd"), side.ids)
    return side.image, side.label, side.regions.values, is_corners, *optional, sizes


def tallies(found: dict[str, tuple[int, list[int]]]) -> dict[str, Tally]:
    return {name: Tally(count, tuple(rows)) for name, (count, rows) in found.items()}


def first_of(flags: NDArray[np.bool_]) -> tuple[int, list[int]]:
    rows = np.flatnonzero(flags)
    return len(rows), rows[:EXAMPLES].tolist()


def find_repeated(names: tuple[str, ...]) -> tuple[int, list[int]]:
    """Which names an earlier one is equal to."""
    if len(set(names)) == len(names):
        return 0, []
    seen: set[str] = set()
    rows = [i for i, name in enumerate(names) if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    return len(rows), rows[:EXAMPLES]
