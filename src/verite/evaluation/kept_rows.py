"""Partial results of protocols that keep numbers of their own: rows and counts per class and image.

KITTI keeps the steps of its curves, OC-cost the costs of its pairs, `instances` areas and IoUs. Such a number is a row
with marks (which kind of number it is, at which thresholds it counts); numbers of objects are counts. They are stored
and merged as the outcomes of predictions are, so that order and grouping of merges change no byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import int64s
from verite.evaluation.state import EvaluationState, PartialMetadata, class_id, tell_as
from verite.model.classes import Labels
from verite.model.images import known_images

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.partial import MergedNumbers
    from verite.model.annotations import Annotations

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Positions = NDArray[np.integer[Any]]

MOST_COUNTS = 24  # numbers of objects per class and image
BLOCK = 16  # marks per word


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows and counts of some images; `label` and `image` are positions among the classes and images.

    Merged rows of a class come by falling value, equal ones by image.
    """

    label: Positions
    image: Positions
    value: Floats
    marks: Bools  # [row, mark]
    cell_label: Ints
    cell_image: Ints
    counts: Ints  # [cell, count]

    def part(
        self,
        about: Callable[[Labels], str],
        truth: Annotations,
        pred: Annotations,
        notes: PartialMetadata | None = None,
    ) -> EvaluationState:
        """Return the partial result; classes that only predictions have are identified by their names."""
        names = list(truth.labels.all_names)
        more = pred.labels.all_names[len(names) :]
        images = known_images(truth, pred)
        order = np.argsort(self.image, kind="stable")
        ranges = self.counts.shape[1]
        words = np.zeros((len(order), 1 + -(-self.marks.shape[1] // BLOCK) * ranges), dtype=np.uint32)
        for mark, own in enumerate(self.marks[order].T):
            words[own, 1 + mark // BLOCK * ranges] |= np.uint32(1 << (mark % BLOCK + BLOCK))
        kept = self.counts.any(axis=1)
        joined = PartialMetadata.join([notes or PartialMetadata(), PartialMetadata(classes=tuple(sorted(more)))])
        with tell_as(DataError):
            made = _core.EvaluationState.of(
                about=about(Labels(names)),
                ids=images.ids,
                names=None if images.ids is not None else images.names or [images.name(i) for i in range(len(images))],
                labels=int64s([*range(len(names)), *map(class_id, more)]),
                thresholds=self.marks.shape[1],
                ranges=ranges,
                rows=_core.PredictionRows(
                    label=self.label[order].astype(np.int32),
                    image=self.image[order].astype(np.int32),
                    confidence=np.ascontiguousarray(self.value[order], dtype=np.float64),
                    words=words,
                ),
                cells=_core.TruthCounts(
                    label=self.cell_label[kept].astype(np.int32),
                    image=self.cell_image[kept].astype(np.int32),
                    counts=np.ascontiguousarray(self.counts[kept], dtype=np.uint32),
                ),
            )
        return EvaluationState(made, joined)

    @classmethod
    def of_merged(cls, numbers: MergedNumbers, marks: int, counts: int) -> KeptRows:
        """Return the rows and counts of merged partial results, class by class.

        Raises
        ------
        DataError
            If they have other numbers of marks and counts.
        """
        rules = numbers.merger.rules
        if (len(rules.thresholds), len(rules.area_ranges)) != (marks, counts):
            raise unlike("the rules of its settings")
        found = [numbers.gather(k) for k in range(len(numbers.merger.labels))]
        lengths, cells = [len(own.image) for own in found], [len(own.cell_image) for own in found]
        places = np.arange(len(found))
        return cls(
            label=np.repeat(places, lengths),
            image=joined([own.image for own in found]),
            value=np.concatenate([np.empty(0), *(own.confidence for own in found)]),
            marks=np.stack([np.concatenate([np.empty(0, np.bool_), *(own.is_spared(mark) for own in found)])
                            for mark in range(marks)], axis=1),
            cell_label=np.repeat(places, cells),
            cell_image=joined([own.cell_image for own in found]),
            counts=np.concatenate([np.empty((0, counts), np.int64), *(own.counts.astype(np.int64) for own in found)]),
        )  # fmt: skip


def joined(columns: Iterable[NDArray[np.uint32]]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *(own.astype(np.int64) for own in columns)])


def unlike(expected: str) -> DataError:
    """Return the error of a partial result that no evaluation could have written."""
    return DataError(f"part: expected {expected}, found others; make it again")


def count_objects(
    kinds: Sequence[tuple[Positions, Positions]],
) -> tuple[Ints, Ints, Ints]:
    """Return class and image of the cells that have objects, and the number of each kind, [cell, kind].

    Parameters
    ----------
    kinds
        For each kind the class and the image of every object.

    Returns
    -------
    tuple[Ints, Ints, Ints]
        Class, image and counts of the cells.
    """
    width = max((int(image.max(initial=-1)) for _, image in kinds), default=-1) + 1
    keys = [label.astype(np.int64) * width + image for label, image in kinds]
    cells = np.unique(np.concatenate([np.empty(0, np.int64), *keys]))
    counts = [np.bincount(np.searchsorted(cells, own), minlength=len(cells)) for own in keys]
    return cells // max(width, 1), cells % max(width, 1), np.stack(counts, axis=1).astype(np.int64)
