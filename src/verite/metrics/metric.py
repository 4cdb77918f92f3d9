"""A metric ready to measure: a record with its parameters, for one pair, a batch, or many metrics at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from verite.errors import DataError, VeriteError, one_line
from verite.metrics import names
from verite.metrics.record import Bounds, Empty, Record, Settled, needs_size, settle, spell_settled
from verite.model.partitions import is_label_image
from verite.model.rasters import PolygonRule
from verite.model.spacing import Spacing
from verite.pairs import Array, Pairs
from verite.progress import begin
from verite.signature import Signature

CHUNK = 4096  # pairs whose lists of distances may be in memory together


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric with its parameters; call it with two regions.

    >>> from verite.metrics.catalogue import metric
    >>> metric("iou")([0, 0, 4, 4], [2, 0, 6, 4])
    0.3333333333333333
    """

    record: Record
    parameters: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """As people write it; parameters at their default are left out."""
        defaults = self.record.defaults
        return names.spell_metric(self.record.name, {k: v for k, v in self.parameters.items() if v != defaults[k]})

    @property
    def path(self) -> str:
        """How a new process finds it: one's own metric by its module, too, which has to be loaded first."""
        record = self.record
        if record.is_ours or ":" in record.name:
            return self.name
        return f"{record.function.__module__}:{record.function.__qualname__}" + self.name.removeprefix(record.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<metric {self.name}: best {spell_best(self.best)}, {self.better} is better>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self.record is other.record and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def bounds(self) -> Bounds:
        found: Bounds = self.record.fact("bounds", self.parameters)
        return found

    @property
    def best(self) -> float | None:
        """What two identical regions get."""
        found: float | None = self.record.fact("best", self.parameters)
        return found

    @property
    def symmetric(self) -> bool:
        return bool(self.record.fact("symmetric", self.parameters))

    @property
    def unit(self) -> str:
        return str(self.record.fact("unit", self.parameters))

    def unit_with(self, spacing: Spacing | None) -> str:
        """The unit where pixels lie so far apart."""
        return self.unit.replace("px", spacing.unit) if spacing is not None and self.record.distance else self.unit

    @property
    def needs_image(self) -> bool:
        return bool(self.record.fact("image", self.parameters))

    @property
    def better(self) -> str:
        """Which way is better: "lower", "higher", or "nearer …" where values lie on both sides of the best."""
        low, high = self.bounds
        if self.best is None:
            return "neither way"
        if self.best == low:
            return "lower"
        return "higher" if self.best == high else f"nearer {self.best:g}"

    @property
    def signature(self) -> Signature:
        """Everything that can change the number."""
        empty = "complement of " * self.record.is_complement(self.parameters) + str(self.empty)
        return Signature.of(self.record.name, on=self.record.on, **self.parameters, empty=empty, rev=self.record.rev)

    @property
    def empty(self) -> Empty:
        found: Empty = self.record.fact("empty", self.parameters)
        return found

    def __call__(
        self,
        truth: Any,
        pred: Any = None,
        *,
        size: ArrayLike | None = None,
        layout: str = "xyxy",
        polygons: PolygonRule = "coco",
        spacing: Any = None,
    ) -> Any:
        """The value of one pair of regions, as a float; of `Pairs`, as an array.

        A region is four numbers, a polygon (points, or COCO's rings), a mask (an array of rows and columns), a
        `Contour`, COCO's runs, or None for no object; for some metrics a label image. `size` is the (width, height) of
        the image where neither region is a mask. With a `spacing`, of rows and of columns, distances are in its unit.

        >>> from verite.metrics.catalogue import metric
        >>> metric("hausdorff")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8), spacing=(1, 0.5))
        1.0
        """
        if isinstance(truth, Pairs):
            return self.values(truth)
        if not self.record.labels and (is_label_image(truth) or is_label_image(pred)):
            self.refuse_labels(truth if is_label_image(truth) else pred)
        pairs = Pairs.of([truth], [pred], size=size, layout=layout, polygons=polygons, spacing=spacing)
        return float(self.values(pairs)[0])

    def batch(self, truth: Any, pred: Any, **how: Any) -> Array:
        """The values of many pairs: lists of regions, boxes [n, 4], masks [n, row, column]; one may serve them all.

        >>> from verite.metrics.catalogue import metric
        >>> metric("iou").batch([[0, 0, 4, 4]], [[0, 0, 4, 4], [2, 0, 6, 4]])
        array([1.        , 0.33333333])
        """
        return self.values(Pairs.of(truth, pred, **how))

    def values(self, pairs: Pairs) -> Array:
        """A value for each pair; empty regions are settled by the metric's rule before its formula is asked."""
        record = self.record
        if pairs.has_labels and not record.labels:
            self.refuse_labels(None)
        if pairs.are_volumes and not record.volumes:
            raise DataError(f"{self.name}: expected regions in images, found volumes, for which it is not defined")
        if self.needs_image and not pairs.is_sized:
            raise DataError(
                f"{self.name}: expected the size of the image, whose pixels it counts, found boxes or polygons without "
                "one; give size=(width, height) (--image-size WIDTH,HEIGHT or --images FOLDER on the command line)"
            )
        if not len(pairs):
            return np.empty(0)
        empty = pairs.empty(record.on)
        if empty is None:
            return self.compute(pairs)
        out = np.empty(len(pairs))
        is_open = np.ones(len(pairs), dtype=np.bool_)
        for rule, case in self.empty.cases(*empty):
            if rule is not None and case.any():
                out[case] = self.settle(rule, pairs.take(case))
                is_open &= ~case
        if is_open.any():
            out[is_open] = self.compute(pairs if is_open.all() else pairs.take(is_open))
        return out

    def compute(self, pairs: Pairs) -> Array:
        """What the formula says."""
        try:
            found = np.asarray(self.record.function(pairs, **self.parameters), dtype=np.float64)
        except Exception as error:
            if self.record.is_ours or isinstance(error, VeriteError):
                raise
            raise DataError(
                f"{self.name}: expected a value for each pair, found {type(error).__name__}: {one_line(str(error))}"
            ) from error
        if found.shape != (len(pairs),):
            raise DataError(f"{self.name}: expected {len(pairs)} values, one a pair, found an array {found.shape}")
        return found

    def settle(self, rule: Settled, pairs: Pairs) -> Array | float:
        """What the rule for empty regions says."""
        if needs_size(rule) and not pairs.is_sized:
            raise DataError(
                f"{self.name}: expected the size of the image to settle an empty region ({spell_settled(rule)}), "
                "found none; give size=(width, height)"
            )
        value = settle(rule, pairs, self.parameters)
        return 1 - value if self.record.is_complement(self.parameters) else value

    def refuse_labels(self, image: Any) -> None:
        from verite.model.shapes import LABEL_METRICS, not_binary

        if image is not None:
            raise not_binary(self.name, np.asarray(image))
        raise DataError(
            f"{self.name}: expected masks of one object, found label images; metrics for those are {LABEL_METRICS}"
        )


def measure(pairs: Pairs, metrics: Sequence[Metric], *, chunk: int = CHUNK) -> dict[str, Array]:
    """Many metrics on the same pairs, a name each: what they share is computed once."""
    parts = list(pairs.chunks(chunk))
    parts = parts if len(parts) > 1 else [pairs]
    out = {metric.name: np.empty(len(pairs)) for metric in metrics}
    start = 0
    with begin("measuring", len(pairs) * len(metrics), "values") as advance:
        for part in parts:
            for metric in metrics:
                out[metric.name][start : start + len(part)] = metric.values(part)
                advance(len(part))
            start += len(part)
    return out


def spell_best(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
