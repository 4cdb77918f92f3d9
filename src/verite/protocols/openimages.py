"""Open Images: average precision with groups, verified labels and a hierarchy of classes, as its challenges do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import IGNORED
from verite.evaluation.floors import highest_floor
from verite.evaluation.parts import GONE
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import THREADS
from verite.formats import read
from verite.model.alignment import free_ids
from verite.model.annotations import Annotations
from verite.model.hierarchy import Hierarchy
from verite.model.labels import Labels
from verite.model.results import Taken, choose_threshold
from verite.model.verdicts import ABSENT, PRESENT, Verdicts
from verite.protocols.curve_parts import GroupedResults, merged_group_curves, part_of_curves
from verite.protocols.curve_results import IOU, CurveSettings
from verite.protocols.openimages_evaluation import OpenImagesEvaluation
from verite.protocols.openimages_matching import is_set_aside
from verite.protocols.protocol import protocol
from verite.records import replace
from verite.settings import Choice, Fact, FileOrContent, Number, Option, Overlaps
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.part import Part
    from verite.evaluation.parts import MergedNumbers

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

Path = str | PathLike[str]
On = Literal["box", "mask"]
Metric = Literal["challenge", "v2"]
Unverified = Literal["drop", "count"]
# What a group is worth: hitting one counts as much as finding one object in the challenge for boxes, else nothing.
WEIGHTS = {("challenge", "box"): 1.0, ("challenge", "mask"): 0.0, ("v2", "box"): 0.0, ("v2", "mask"): 0.0}


class OpenImagesSettings(CurveSettings):
    """Everything that can change the number."""

    SCORE = "openimages_ap"
    metric: Option[Metric] = Choice("challenge", "The challenge's metric or that of Open Images V2.", Metric)
    on: Option[On] = Choice("box", "Compare boxes or masks.", On)
    iou: Overlaps = IOU
    interpolation = Fact("all")
    group_of_weight: Option[float | None] = Number(
        None, "What finding a group is worth.", least=0, default_text="1 for boxes of the challenge, else 0"
    )
    unverified: Option[Unverified | None] = Choice(
        None,
        "Predictions of classes that nobody verified in the image.",
        Unverified,
        default_text="count in v2 without labels, else drop",
    )
    hierarchy: Option[Hierarchy | Path | None] = FileOrContent(
        None, "JSON of classes and those below them; boxes count for all above."
    )
    ties = Fact("reversed")
    image_labels: Option[Annotations | Path | None] = FileOrContent(
        None, "CSV of the classes that were verified in each image.", is_signed=False
    )
    descriptions: Option[Mapping[str, str] | Path | None] = FileOrContent(
        None, "CSV of classes and their names, to print names.", is_signed=False
    )
    threads: Option[int | None] = THREADS

    def complete(self, truth: Annotations) -> OpenImagesSettings:
        """With what follows from the metric and the truth, where nobody said it."""
        has_labels = self.image_labels is not None or truth.verdicts is not None
        unverified = self.unverified or ("count" if self.metric == "v2" and not has_labels else "drop")
        weight = WEIGHTS[self.metric, self.on] if self.group_of_weight is None else self.group_of_weight
        return self.change(unverified=unverified, group_of_weight=weight)


class OpenImagesResults(GroupedResults):
    """Average precision per class at each threshold, with the curves it comes from."""

    settings: OpenImagesSettings
    evaluation: OpenImagesEvaluation
    is_reversed = True

    def hold_evaluation(self, kept: Any) -> OpenImagesResults:
        """Whom to ask for more than the numbers."""
        self.evaluation = kept
        return self

    @property
    def group_weight(self) -> float:  # type: ignore[override]
        return self.settings.group_of_weight or 0.0

    def finds(self, iou: float | None = None) -> Taken:
        """Object by object what was found, a group by its best prediction; difficult ones were not asked for."""
        threshold = self.settings.iou[choose_threshold(self.settings.iou, iou)]
        kept = self.evaluation
        if not kept.has_objects:
            raise DataError(f"finds: {GONE}; evaluate in one piece")
        decided, origin, asked = kept.decide(threshold), kept.sides.origin, kept.is_asked
        taken = np.where(asked & (decided.taken >= 0), np.append(origin, -1)[decided.taken], -1)
        claims = np.zeros(len(self.pred), dtype=np.bool_)
        claims[origin[decided.outcome != IGNORED]] = True
        return Taken(threshold, asked, taken, highest_floor(self.settings.confidence), claims)

    def needed_hits(self, truths: int) -> NDArray[np.int64]:
        return np.arange(1, truths + 1)

    def bin_means(self, of_truths: Any, of_preds: Any, bins: int, areas: Any = ()) -> list[float]:
        return self.evaluation.bin_means(of_truths, of_preds, bins)

    def part(self, about: Callable[[Labels], str]) -> Part:
        truth = self.truth
        is_asked = ~is_set_aside(truth, self.settings.on)
        return part_of_curves(
            self, about, (is_asked & ~truth.group_of, is_asked & truth.group_of), is_reversed=True
        )  # fmt: skip

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> OpenImagesResults:
        """Of what became of all images."""
        weight = settings.group_of_weight or 0.0
        curves = merged_group_curves(numbers, len(settings.iou), weight, is_reversed=True)
        found = cls("openimages", settings, curves, numbers.truth, numbers.pred).hold_numbers(numbers)
        return found.hold_evaluation(numbers)


@protocol(
    OpenImagesSettings,
    files="TRUTH is a CSV of boxes, PREDs are the challenge's CSVs or boxes with scores, or any known format",
    examples="""
verite openimages validation-boxes.csv predictions.csv --image-labels labels.csv
verite openimages boxes.csv a.csv b.csv --image-labels labels.csv --hierarchy bbox_labels_500_hierarchy.json
verite openimages boxes.csv predictions.csv --metric v2 --descriptions class-descriptions.csv
verite openimages segments.csv predictions.csv --on mask --image-labels labels.csv""",
)
def openimages(truth: Annotations, pred: Annotations, settings: OpenImagesSettings) -> OpenImagesResults:
    """Average precision as Open Images computes it, with groups, verified labels and the hierarchy of classes.

    By falling confidence a prediction asks for the truth of its class that it overlaps most; a taken one makes it
    false, a difficult one leaves it out. Predictions that are false then, but lie at least by `iou` of their own area
    in a box around a group, are left out; each group that is hit counts once, with the best confidence and
    `group_of_weight`, and so does each group as something to find: 1 in the challenge for boxes, 0 for masks and in V2.

    `image_labels` says which classes people verified in each image: predictions of other classes, that are not among
    the image's boxes either, are dropped in the challenge (``unverified="count"`` keeps them, as V2 does without
    labels). With a `hierarchy` a box is also one of every class above its own, a label that is there goes up and one
    that is not goes down. `descriptions` gives the names to print. With ``on="mask"`` truths without a mask are
    compared by their box, and what finds them is left out.

    Kuznetsova et al., The Open Images Dataset V4, IJCV 2020.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a"], ["cat"], [[0, 0, 8, 8]], group_of=[True])
    >>> pred = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 2, 2], [4, 4, 6, 6]], confidence=[0.9, 0.8])
    >>> openimages(truth, pred).scores["mAP"].value
    1.0
    """
    from verite.formats.openimages_classes import read_descriptions, read_hierarchy

    settings = settings.complete(truth)
    if settings.image_labels is not None:
        truth = with_image_labels(truth, settings.image_labels)
    tree, names = settings.hierarchy, settings.descriptions or {}
    if tree is not None:
        truth = expand(truth, tree if isinstance(tree, Hierarchy) else read_hierarchy(tree))
    if isinstance(names, (str, PathLike)):
        names = read_descriptions(names)
    truth, pred, findings = prepare(truth, pred, settings.checks)
    if settings.labels is not None:
        codes = {names.get(code, code): code for code in truth.labels.all_names}
        wanted = {codes.get(label, label) for label in settings.labels}
        truth = truth.only(wanted)
        pred = pred.only([name for name in pred.labels.all_names if name in wanted])
    pred = settings.choose_sure(pred)
    kept = OpenImagesEvaluation(settings, truth, pred, thread_count(settings.threads))
    curves = [
        {names.get(code, code): replace(c, label=names.get(code, code)) for code, c in kept.curves(iou).items()}
        for iou in settings.iou
    ]
    return OpenImagesResults("openimages", settings, curves, truth, pred, findings).hold_evaluation(kept)


def with_image_labels(truth: Annotations, given: Annotations | Path) -> Annotations:
    """The truth with what was verified in whole images, which may be images without any object."""
    labels = given if isinstance(given, Annotations) else read(given, format="openimages-labels")
    if labels.verdicts is None:
        raise DataError(f"{labels.source.path or 'image labels'}: expected labels of whole images, found none")
    aligned = replace(labels, unit=truth.unit).like(truth)
    return replace(truth, images=aligned.images, labels=aligned.labels, verdicts=aligned.verdicts)


def expand(truth: Annotations, hierarchy: Hierarchy) -> Annotations:
    """Every object once for its class and once for each class above; labels that are there go up, others go down."""
    own = truth.labels.all_names
    said = truth.verdicts if truth.verdicts is not None else Verdicts.of([])
    used = np.unique(np.concatenate([truth.label, said.label]))
    for i in used:
        hierarchy.need(own[i], truth.source.path or "truth")
    new = sorted(set(hierarchy.above) - set(own))
    names = [*own, *new]
    place = {name: i for i, name in enumerate(names)}

    def others(side: dict[str, frozenset[str]]) -> list[NDArray[np.int32]]:
        """For each class of the truth itself and, by name, those on this side of it."""
        return [
            np.array([i, *(place[o] for o in sorted(side.get(name, ())))], dtype=np.int32) for i, name in enumerate(own)
        ]

    above, below = others(hierarchy.above), others(hierarchy.below)
    rows, label = spread(truth.label, above)
    ids = truth.labels.ids
    all_ids = None if ids is None else np.concatenate([ids, free_ids(ids, len(new))])
    wide = replace(truth.take(rows), labels=Labels(names, all_ids), label=label)
    parts = []
    for kind, table in ((PRESENT, above), (ABSENT, below)):
        chosen = np.flatnonzero(said.kind == kind)
        source, moved = spread(said.label[chosen], table)
        parts.append((said.image[chosen][source], moved, np.full(len(moved), kind)))
    columns = (np.concatenate(values) for values in zip(*parts, strict=True))
    return replace(wide, verdicts=Verdicts(*columns) if truth.verdicts is not None else None)


def spread(label: NDArray[np.int32], table: list[NDArray[np.int32]]) -> tuple[Ints, NDArray[np.int32]]:
    """Each row once for every class in its class's list: the row, and that class."""
    lengths = np.array([len(classes) for classes in table], dtype=np.int64)
    rows = np.repeat(np.arange(len(label)), lengths[label] if len(label) else 0)
    flat = [table[i] for i in label.tolist()]
    return rows, np.concatenate(flat) if flat else np.empty(0, dtype=np.int32)
