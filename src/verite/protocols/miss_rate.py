"""Log-average miss rate (MR⁻², LAMR) of pedestrian detection: Caltech Pedestrians and CityPersons, with subsets.

The miss rate 1 − recall is read where the number of false positives per image (FPPI) reaches 0.01 to 1, at nine points
that are equally far apart on a logarithmic axis. MR⁻² is their geometric mean; lower is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean, excerpt, spell_option
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.kept_rows import KeptRows, count_objects, unlike
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.results import MatchedResults
from verite.evaluation.settings import THREADS, ObjectNumbers, RankedSettings
from verite.model.images import known_images
from verite.model.tables import Legend, Part, Table
from verite.protocols.protocol import protocol
from verite.settings import Number, Option, Setting
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.evaluation.state import EvaluationState
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

FPPI = tuple(10 ** (-2 + i / 4) for i in range(9))  # 0.01 to 1
LEAST = 1e-10  # miss rate whose logarithm is taken instead of that of 0
WIDENED = 1.25  # predictions may be this much lower or higher than the heights of a subset
FLAGS = ("ignore", "crowd", "difficult", "group_of", "ignore_region")
VISIBILITY = ("vis_ratio", "visibility", "vis")  # keys of annotations in COCO JSON
NONE: tuple[float, float] = (-inf, inf)
# Heights in pixels and visible shares of the objects that count, both ends included, as in CityPersons' evaluation.
SUBSETS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "all": (NONE, NONE),
    "reasonable": ((50, inf), (0.65, inf)),
    "small": ((50, 75), (0.65, inf)),
    "heavy": ((50, inf), (0.2, 0.65)),
    "bare": ((50, inf), (0.9, inf)),
    "partial": ((50, inf), (0.65, 0.9)),
    "citypersons-all": ((20, inf), (0.2, inf)),
}
LEGEND = Legend(
    "MR⁻²: geometric mean of the miss rates at nine numbers of false positives per image from 0.01 to 1, lower is "
    "better; miss rate: share of the objects that no prediction matches; FPPI: false positives per image."
)


@dataclass(frozen=True)
class Subset:
    """Which objects count, by height and visible share; the others are ignored.

    >>> Subset.parse("reasonable").height, Subset.parse("height:50-75,visibility:0.65-").visibility
    ((50, inf), (0.65, inf))
    """

    height: tuple[float, float]
    visibility: tuple[float, float]

    @classmethod
    def parse(cls, text: str) -> Subset:
        """Return a subset from its name, or from ranges such as height:50-75,visibility:0.65-1."""
        if text in SUBSETS:
            return cls(*SUBSETS[text])
        found = {"height": NONE, "visibility": NONE}
        for word in text.split(","):
            key, _, span = word.strip().partition(":")
            low, dash, high = span.partition("-")
            try:
                limits = float(low or -inf), float(high or inf)
            except ValueError:
                limits = (nan, nan)
            if key not in found or not dash or not limits[0] < limits[1]:
                expected = f"one of {', '.join(SUBSETS)}, or ranges such as height:50-75,visibility:0.65-1"
                raise BadParameter(
                    f"subset: expected {expected}, found {excerpt(text)}{did_you_mean(text, SUBSETS)}"
                ) from None
            found[key] = limits
        return cls(found["height"], found["visibility"])


class SubsetSetting(Setting[str, str]):
    """The name of a subset, or ranges of height and visible share."""

    def validate(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.refuse("the name of a subset, or ranges", excerpt(value))
        Subset.parse(value)
        return value


class MissRateSettings(RankedSettings):
    """Settings of the log-average miss rate."""

    iou: Option[float] = Number(0.5, "IoU threshold of a match.", short="-t", least=0, most=1)
    subset: SubsetSetting = SubsetSetting(
        "all",
        f"Objects that count: {', '.join(SUBSETS)}, or ranges such as height:50-75,visibility:0.65-1.",
        metavar="NAME|RANGES",
        is_common=True,
    )
    visibility: ObjectNumbers = ObjectNumbers(
        None, "Visible share of each ground-truth object.", default_text="the file's", omit_default=True,
        has_option=False,
    )  # fmt: skip
    threads: Option[int | None] = THREADS


@dataclass(frozen=True, eq=False)
class Curve:
    """Miss rate against false positives per image, of one class, by falling confidence."""

    fppi: Floats
    miss_rate: Floats
    truths: int

    def at(self, fppi: Sequence[float] = FPPI) -> Floats:
        """Return the miss rate at numbers of false positives per image: 1 where the first prediction has more."""
        if not self.truths:
            return np.full(len(fppi), nan)
        place = np.searchsorted(self.fppi, np.asarray(fppi), side="right")
        return np.append(1.0, self.miss_rate)[place]


def log_average(miss_rates: Floats) -> float:
    """Return the geometric mean; 0 if every miss rate is 0, nan if there is none.

    >>> round(log_average(np.array([0.1, 0.4])), 4)
    0.2
    """
    if not len(miss_rates) or np.isnan(miss_rates).any():
        return nan
    if not miss_rates.any():
        return 0.0
    return float(np.exp(np.mean(np.log(np.maximum(miss_rates, LEAST)))))


@dataclass(frozen=True, eq=False)
class CountedPredictions:
    """The predictions of a class that count, by falling confidence, and the images of its objects."""

    image: NDArray[np.integer]
    confidence: Floats
    is_tp: Bools
    truth_image: NDArray[np.integer]  # of each object that counts

    @property
    def is_last_of_ties(self) -> Bools:
        """Which predictions end a step of the curve: the confidence of the next one is lower."""
        return np.append(np.diff(self.confidence) != 0, True)[: len(self.confidence)]


class MissRateResults(MatchedResults):
    """Results: MR⁻² as mean over classes and per class, with the curves of miss rate against FPPI."""

    def __init__(
        self, settings: MissRateSettings, evaluation: Evaluation | MergedNumbers, findings: Sequence[Finding] = ()
    ) -> None:
        """`evaluation` is the matching, or that of merged partial results."""
        self.settings, self.kept_evaluation = settings, evaluation
        signature = settings.signature("mr2")
        super().__init__(
            protocol="miss-rate",
            signature=signature,
            scores={"MR-2": (self.value(), signature)},
            truth=evaluation.truth,
            pred=evaluation.pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def evaluation(self) -> Evaluation | MergedNumbers:
        """The matching."""
        return self.kept_evaluation

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        return (self.settings.iou,)

    def matches(self, iou: float | None = None) -> Any:
        """Which prediction is matched to which ground truth."""
        return self.evaluation.matches((self.settings.iou,), iou, self.settings.confidence)

    def is_error(self, score: str) -> bool:
        return True

    def value(self) -> float:
        """The mean of MR⁻² over the classes with ground truth."""
        known = [log_average(curve.at()) for curve in self.curves.values() if curve.truths]
        return _core.mean(known) if known else nan

    @property
    def class_names(self) -> list[str]:
        return list(self.evaluation.truth.labels.all_names)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        """Return all predictions, with a mark for those that count and one for true positives."""
        evaluation = self.evaluation
        assert isinstance(evaluation, Evaluation)
        truth, pred = evaluation.truth, evaluation.pred
        outcomes, falling = evaluation.outcomes(), evaluation.list_falling(0)
        marks = np.stack([outcomes.state[falling] >= 0, outcomes.state[falling] == 1], axis=1)
        confidence = np.ones(len(falling)) if pred.confidence is None else pred.confidence[falling]
        asked = outcomes.is_asked
        cells = count_objects([(truth.label[asked], truth.image[asked])])
        return KeptRows(pred.label[falling], pred.image[falling], confidence, marks, *cells).part(about, truth, pred)

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: MissRateSettings) -> MissRateResults:
        """Return the results of merged partial results."""
        return cls(settings, numbers)

    @cached_property
    def outcome_rows(self) -> list[CountedPredictions]:
        """The counted predictions of each class by falling confidence, and the images of its objects."""
        evaluation, found = self.evaluation, []
        if not isinstance(evaluation, Evaluation):
            kept = KeptRows.of_merged(evaluation, marks=2, counts=1)
            for k in range(len(self.class_names)):
                rows, cells = (kept.label == k) & kept.marks[:, 0], kept.cell_label == k
                truths = np.repeat(kept.cell_image[cells], kept.counts[cells, 0])
                if kept.marks[rows, 1].sum() > len(truths):
                    raise unlike("no more true positives than objects")
                found.append(CountedPredictions(kept.image[rows], kept.value[rows], kept.marks[rows, 1], truths))
            return found
        truth, pred = evaluation.truth, evaluation.pred
        outcomes, falling = evaluation.outcomes(), evaluation.list_falling(0)
        state, label = outcomes.state[falling], pred.label[falling]
        confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
        for k in range(len(self.class_names)):
            rows = falling[(label == k) & (state >= 0)]
            truths = truth.image[outcomes.is_asked & (truth.label == k)]
            found.append(CountedPredictions(pred.image[rows], confidence[rows], outcomes.state[rows] == 1, truths))
        return found

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The curve of each class; predictions of equal confidence are one step."""
        images = max(len(known_images(self.evaluation.truth, self.evaluation.pred)), 1)
        found = {}
        for name, own in zip(self.class_names, self.outcome_rows, strict=True):
            last, total = own.is_last_of_ties, len(own.truth_image)
            fp, tp = np.cumsum(~own.is_tp)[last], np.cumsum(own.is_tp)[last]
            found[name] = Curve(fp / images, 1 - tp / max(total, 1), total)
        return found

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        """Return MR⁻² on bootstrap samples of the images, [sample, 1], of all classes or one.

        Parameters
        ----------
        scores
            Names of the scores, all of which are MR⁻².
        weights
            How often each image occurs in each sample, [sample, image].
        label
            A class; None for the mean over classes.

        Returns
        -------
        Floats
            The log-average miss rate of each sample.
        """
        values = np.stack([self.draw_class(name, weights) for name in ([label] if label else self.class_names)], axis=1)
        known = ~np.isnan(values)
        sums, counts = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
        found = np.divide(sums, counts, out=np.full(len(values), nan), where=counts > 0)
        return np.repeat(found[:, None], len(scores), axis=1)

    def draw_class_scores(self, score: str, weights: Floats, labels: Sequence[str]) -> Floats:
        return np.stack([self.draw_class(name, weights) for name in labels], axis=1)

    def draw_class(self, label: str, weights: Floats) -> Floats:
        """Return MR⁻² of a class on bootstrap samples of the images."""
        rows = self.outcome_rows[self.class_names.index(label)]
        last = rows.is_last_of_ties
        found = np.empty(len(weights))
        for i, own in enumerate(weights):
            total, mine = own[rows.truth_image].sum(), own[rows.image]
            tp, fp = np.cumsum(mine * rows.is_tp)[last], np.cumsum(mine * ~rows.is_tp)[last]
            curve = Curve(fp / max(own.sum(), 1e-300), 1 - tp / max(total, 1e-300), int(total > 0))
            found[i] = log_average(curve.at())
        return found

    def class_scores(self) -> dict[str, list[float]]:
        return {"MR-2": [log_average(curve.at()) for curve in self.curves.values()]}

    def class_table(self) -> Table:
        """Return one row per class: MR⁻², numbers of objects and predictions, and the miss rates at 0.01, 0.1 and 1."""
        rows = [(name, curve) for name, curve in self.curves.items() if curve.truths] or list(self.curves.items())
        counts = dict(zip(self.class_names, (len(own.image) for own in self.outcome_rows), strict=True))
        columns: dict[str, list[Any]] = {
            "MR⁻²": [log_average(curve.at()) for _, curve in rows],
            **{f"at FPPI {x:g}": [float(curve.at([x])[0]) for _, curve in rows] for x in (0.01, 0.1, 1.0)},
            "truths": [curve.truths for _, curve in rows],
            "preds": [counts[name] for name, _ in rows],
        }
        return Table.of("class", [name for name, _ in rows], columns, mean={"MR⁻²": self.scores["MR-2"].value})

    def curve_table(self) -> Table:
        """Return the miss rate of each class at the nine numbers of false positives per image."""
        columns = {name: curve.at().tolist() for name, curve in self.curves.items()}
        return Table.of("FPPI", [f"{x:.4f}" for x in FPPI], columns)

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "miss-rates": self.curve_table()}

    def contents(self) -> list[Part]:
        value = self.scores["MR-2"].value
        subset = f"subset {self.settings.subset}"
        if isinstance(self.evaluation, Evaluation):
            ignored = int((~self.evaluation.outcomes().is_asked).sum())
            subset = f"{subset}: {ignored:,} of {len(self.truth):,} objects are ignored"
        return [
            f"{self.name}   MR⁻² {'–' if isnan(value) else f'{value:.4f}'} (lower is better)",
            self.class_table(),
            subset,
            LEGEND,
            self.signature,
            *self.notes,
        ]

    def details(self) -> JsonObject:
        """Return MR⁻² and, per class, the miss rates at nine FPPI."""
        classes = {
            name: {"MR-2": log_average(curve.at()), "truths": curve.truths, "miss_rates": curve.at().tolist()}
            for name, curve in self.curves.items()
        }
        return {"MR-2": self.scores["MR-2"].value, "fppi": list(FPPI), "classes": classes}


@protocol(
    MissRateSettings,
    best=0.0,
    examples="""
verite miss-rate truth.json pred.json
verite miss-rate citypersons.json pred.json --subset reasonable
verite miss-rate truth.json a.json b.json --subset height:50-75""",
)
def miss_rate(truth: Annotations, pred: Annotations, settings: MissRateSettings) -> MissRateResults:
    """Log-average miss rate (MR⁻²) of pedestrian detection.

    Matching is COCO's at one IoU threshold. Objects outside the `subset` are ignored, as crowds are: any number of
    predictions may match them, by the intersection over the prediction's area. Predictions below the heights of the
    subset divided by 1.25, or above them times 1.25, are left out. The miss rate is read at nine numbers of false
    positives per image, where the curve last stays at or below them; it is 1 where the first prediction has more.

    References
    ----------
    Dollár et al., Pedestrian Detection: An Evaluation of the State of the Art, TPAMI 2012.
    Zhang et al., CityPersons: A Diverse Dataset for Pedestrian Detection, CVPR 2017.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["person", "person"], [[0, 0, 10, 60], [50, 0, 60, 60]])
    >>> pred = vt.Annotations.of(["a"], ["person"], [[0, 0, 10, 60]], confidence=[0.9])
    >>> round(vt.miss_rate(truth, pred)["MR-2"], 4)
    0.5
    """
    truth, pred, findings = prepare(truth, pred, settings.checks, measures="boxes")
    subset = Subset.parse(settings.subset)
    if subset.height != NONE:
        need_pixels(truth, f"the heights of subset {settings.subset}")
    is_ignored = ~inside(truth, subset, settings.visibility)
    for name in FLAGS:
        is_ignored |= truth.flag(name)
    truth = replace(truth, flags={**truth.flags, "crowd": is_ignored})
    truth, pred = settings.choose(truth, pred)
    heights = pred.regions.boxes[:, 3] - pred.regions.boxes[:, 1]
    low, high = subset.height
    pred = pred.where((heights >= low / WIDENED) & (heights < high * WIDENED)) if subset.height != NONE else pred
    rules = Rules((settings.iou,), ignored=("crowd",), shared=("crowd",), region_share=0.5)
    evaluation = Evaluation(truth, pred, rules, thread_count(settings.threads))
    return MissRateResults(settings, evaluation, findings)


def inside(truth: Annotations, subset: Subset, given: Sequence[float] | None) -> Bools:
    """Return which ground-truth objects are in a subset.

    Raises
    ------
    DataError
        If the subset is one of visible shares, and the ground truth has none.
    """
    heights = truth.regions.boxes[:, 3] - truth.regions.boxes[:, 1]
    found = (heights >= subset.height[0]) & (heights <= subset.height[1])
    if subset.visibility == NONE:
        return np.asarray(found)
    shares = visible_shares(truth) if given is None else np.asarray(given, dtype=np.float64)
    if len(shares) != len(truth):
        raise DataError(f"visibility: expected {len(truth):,} numbers, one per object, found {len(shares):,}")
    return np.asarray(found & (shares >= subset.visibility[0]) & (shares <= subset.visibility[1]))


def visible_shares(truth: Annotations) -> Floats:
    """Return the visible share of each object from the annotations of a COCO file."""
    from verite.formats.coco import read_annotation_records

    path = truth.source.path or "truth"
    records: Mapping[Any, Mapping[str, Any]] = read_annotation_records(truth.source, VISIBILITY)
    ids = truth.ids
    if ids is None or not records:
        raise DataError(
            f"{path}: expected visible shares of objects ({', '.join(VISIBILITY)} in COCO annotations), found none; "
            f"{spell_option('subset', 'height:50-')} needs none"
        )
    shares = []
    for id in ids.tolist():
        record = records.get(id, {})
        key = next((key for key in VISIBILITY if isinstance(record.get(key), (int, float))), None)
        if key is None:
            raise DataError(f"{path}: expected {', '.join(VISIBILITY)} in every annotation, found none in id {id}")
        shares.append(float(record[key]))
    return np.array(shares)
