"""COCO: average precision and recall over thresholds, sizes and numbers of predictions, as pycocotools has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean
from verite.evaluation.evaluation import WRONG, Evaluation, Rules
from verite.evaluation.floors import highest_floor
from verite.evaluation.low_scores import explain_low_score
from verite.evaluation.part import Part
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import EvaluationSettings
from verite.model.display import Part as Piece
from verite.model.results import Results, Taken, choose_threshold, to_small_json
from verite.model.tables import ABSENT, Table
from verite.protocols.coco_settings import HIGHEST, CocoSettings, spell_area
from verite.protocols.keypoints import choose_sigmas, name_sigmas
from verite.protocols.protocol import protocol
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.evaluation import Arrays
    from verite.evaluation.parts import MergedNumbers
    from verite.model.annotations import Annotations
    from verite.model.labels import Labels
    from verite.signature import Signature

    Floats = NDArray[np.float64]

SHORT = {"small": "s", "medium": "m", "large": "l"}


@protocol(
    CocoSettings,
    kept=lambda *given: evaluate(*given),
    examples="""
verite coco instances_val.json detections.json
verite coco instances_val.json segments.json --on mask
verite coco person_keypoints_val.json keypoints.json --on keypoints
verite coco instances_val.json a.json b.json c.json
verite coco truth.json pred.json -t 0.3 -t 0.5 --areas all:0:1e10 --areas tiny:0:256
verite coco truth.json pred.json --max-dets 1 --max-dets 10 --max-dets 300
verite coco truth.json pred.json --per image -o results/
verite coco truth.json pred.json --json | jq .AP""",
)
def coco(truth: Annotations, pred: Annotations, settings: CocoSettings) -> CocoResults:
    """COCO's twelve numbers, for boxes or masks, and everything behind them.

    Predictions per class and image are taken by falling confidence, at most ``max(max_dets)`` of them. Each takes
    the truth it overlaps most among those still free; crowds and truths outside an area range neither reward nor
    punish. Precision is read at 101 recalls and averaged over ten thresholds and all classes.

    ``on``: boxes, masks, masks and their boundaries, or keypoints, which have ten numbers of their own, and whose
    ``sigmas`` are given, stated by the truth's file, or those of COCO or CrowdPose. ``iou``, ``areas`` and
    ``max_dets`` replace COCO's own thresholds, area ranges ``{"all": (0, 1e10), "small": (0, 1024), …}`` (the first
    one is the headline) and numbers of predictions; AP follows the largest of them. ``ignored="explicit"`` also
    honours the `ignore` of annotations, which COCO overwrites by `iscrowd`; with ``"count"`` crowds are objects like
    others, with ``"drop"`` they are not there. ``class_agnostic=True`` asks only where objects are, not what they are.
    ``quirks="pycocotools"`` repeats the reference's odd ways, too (see the page on deviations); on sound files they
    change no bit. ``quirks="torchmetrics"`` is what its `MeanAveragePrecision` says when nobody tells it of crowds and
    areas. ``per`` says what the printed table has a row for; ``"image"`` also puts images into the JSON.

    Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> round(coco(truth, pred).scores["AP"].value, 4), coco(truth, pred).scores["AR100"].value
    (0.505, 0.5)
    """
    evaluation, findings = evaluate(truth, pred, settings)
    settings = settings.change(sigmas=name_sigmas(settings.sigmas, evaluation.rules.sigmas))
    return CocoResults(evaluation, settings, settings, findings)


def evaluate(truth: Annotations, pred: Annotations, settings: CocoSettings) -> tuple[Evaluation, list[Finding]]:
    """Truth and predictions by COCO's rules, and what is suspicious about them."""
    truth, pred, findings = prepare(truth, pred, settings.checks, is_exact=settings.is_exact)
    if truth.unit != pred.unit or truth.unit == "rel":
        raise DataError(
            f"{truth.source.path or 'truth'}: expected boxes in pixels, found fractions of the image; "
            "give --image-size WIDTH,HEIGHT or --images FOLDER"
        )
    truth, pred = settings.choose(truth, pred)
    rules = rules_of(settings, choose_sigmas(settings, truth, pred))
    return Evaluation(truth, pred, rules, thread_count(settings.threads)), findings


def rules_of(settings: CocoSettings, sigmas: tuple[tuple[float, ...], ...] = ()) -> Rules:
    """What COCO's settings say to an evaluation; `sigmas` are those of each class, where keypoints are compared."""
    return Rules(
        thresholds=tuple(min(t, HIGHEST) for t in settings.thresholds),
        similarity=settings.on,
        ranges=tuple((low, high) for _, low, high in settings.areas),
        limits=settings.max_dets,
        recalls=settings.recalls,
        is_together=settings.class_agnostic,
        ignored={"crowd": ("crowd",), "explicit": ("crowd", "ignore")}.get(settings.ignored, ()),
        shared=("crowd",) if settings.ignored in ("crowd", "explicit") else (),
        image_limit=settings.max_image_dets or 0,
        repeats_quirks=settings.is_exact,
        sigmas=sigmas,
    )


class CocoResults(Results):
    """The twelve numbers, and on demand the same by class, by threshold and by image, and the arrays they come from."""

    PROTOCOL = "coco"
    SLACK = 2.0**-52

    def __init__(
        self,
        numbers: Evaluation | MergedNumbers,
        settings: CocoSettings,
        asked: EvaluationSettings,
        findings: Sequence[Any] = (),
    ) -> None:
        """`settings` are COCO's, `asked` those of the protocol, which may be another one."""
        self.numbers, self.settings, self.asked = numbers, settings, asked
        super().__init__(
            protocol=self.PROTOCOL,
            signature=asked.signature(self.PROTOCOL),
            scores={key: (self.mean(*part), self.signature_of(*part)) for key, part in self.parts.items()},
            truth=numbers.truth,
            pred=numbers.pred,
            name=asked.name,
            findings=findings,
        )

    def part(self, about: Callable[[Labels], str]) -> Part:
        return self.evaluation.part(about(self.truth.labels))

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> CocoResults:
        """Of what became of all images."""
        settings = settings.change(sigmas=name_sigmas(settings.sigmas, dict(numbers.notes.sigmas).values()))
        return cls(numbers, settings, settings)

    @property
    def per(self) -> str:
        return self.settings.per

    @cached_property
    def parts(self) -> dict[str, tuple[str, int | None, int, int]]:
        """What each score is made of: precision or recall, which threshold (None: all), area range and limit."""
        names, limits = self.settings.area_names, self.settings.max_dets
        last = len(limits) - 1
        # The reference reads AP, and nothing else, at 100 predictions, whatever the largest number is.
        is_fixed = self.settings.is_exact and self.settings.on != "keypoints" and 100 in limits
        first = limits.index(100) if is_fixed else last
        found: dict[str, tuple[str, int | None, int, int]] = {"AP": ("precision", None, 0, first)}
        for key, threshold in (("AP50", 0.5), ("AP75", 0.75)):
            found[key] = ("precision", index_of(self.settings.iou, threshold), 0, last)
        for a, name in enumerate(names[1:], 1):
            found[f"AP{SHORT.get(name, name)}"] = ("precision", None, a, last)
        if self.settings.on == "keypoints":
            found["AR"] = ("recall", None, 0, last)
            for key in ("AP50", "AP75"):
                found[f"AR{key[2:]}"] = ("recall", found[key][1], 0, last)
        for m, limit in enumerate(limits[:-1] if self.settings.on == "keypoints" else limits):
            found[f"AR{limit}"] = ("recall", None, 0, m)
        for a, name in enumerate(names[1:], 1):
            found[f"AR{SHORT.get(name, name)}"] = ("recall", None, a, last)
        return found

    def part_of(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """What a score (also AP@0.50), of all classes or of one, is made of: what draws of the evaluation ask for."""
        key, _, iou = score.partition("@")
        part: tuple[str, int | None, int, int]
        if iou and key in ("AP", "AR"):
            at = {f"{t:.2f}": i for i, t in enumerate(self.settings.iou)}.get(iou, -1)
            part = ("precision" if key == "AP" else "recall", at, 0, len(self.settings.max_dets) - 1)
        else:
            part = self.parts[self[score].name]
        return part if label is None else (*part[:4], flag_class(self.class_names, label))

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        return self.evaluation.draw_means([self.part_of(score, label) for score in scores], weights)

    def draw_class_scores(self, score: str, weights: Floats, labels: Sequence[str]) -> Floats:
        return self.evaluation.draw_means([self.part_of(score, label) for label in labels], weights)

    def bin_means(self, of_truths: Any, of_preds: Any, bins: int, areas: Any = ()) -> list[float]:
        part = self.part_of(next(iter(self.scores)))
        return self.evaluation.bin_means(part, of_truths, of_preds, bins, areas)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Everything the numbers are made of; of merged parts only what does not need boxes."""
        return self.numbers  # type: ignore[return-value]

    def mean(self, kind: str, threshold: int | None, area: int, limit: int) -> float:
        """The mean over everything present."""
        if (
            self.settings.is_exact
        ):  # the reference reads AP at 100 predictions, and all of keypoints at 20, or not at all
            is_fixed = self.settings.on == "keypoints" or (kind, threshold, area) == ("precision", None, 0)
            if is_fixed and (20 if self.settings.on == "keypoints" else 100) not in self.settings.max_dets:
                return nan
        return self.numbers.mean(kind, threshold, area, limit)

    def signature_of(self, kind: str, threshold: int | None, area: int, limit: int) -> Signature:
        one: dict[str, object] = {"areas": spell_area(self.settings.areas[area])}
        if threshold is not None:
            one["iou"] = self.settings.iou[threshold] if threshold >= 0 else nan
        if len(self.settings.max_dets) > 1:
            one["max_dets"] = self.settings.max_dets[limit]
        return self.asked.signature(f"{self.PROTOCOL}_{'ap' if kind == 'precision' else 'ar'}", **one)

    def finds(self, iou: float | None = None) -> Taken:
        """Object by object what was found, of any area, at one of the thresholds; ignored ones were not asked for."""
        threshold = choose_threshold(self.settings.iou, iou)
        found = self.evaluation.outcomes(threshold)
        taken = np.where(found.is_asked, found.pred, -1).astype(np.int64)
        least = highest_floor(self.settings.confidence)
        return Taken(self.settings.iou[threshold], found.is_asked, taken, least, found.state >= WRONG)

    def needed_hits(self, truths: int) -> NDArray[np.int64]:
        return np.searchsorted(np.arange(1, truths + 1) / truths, self.settings.recalls) + 1

    @property
    def notes(self) -> list[str]:
        found = [*explain_low_score(self), *super().notes]
        if self.settings.on == "box" and not self.pred.columns.regions.has_all_boxes:
            hint = "predictions have masks and no boxes: areas are those of the masks, as in pycocotools; see --on mask"
            if self.pred.columns.regions.has_only_boxes:
                hint = "predictions have keypoints and no boxes: boxes are those around the points; see --on keypoints"
            return [hint, *found]
        return found

    @property
    def arrays(self) -> Arrays:
        """precision[T, R, K, A, M], recall[T, K, A, M] and scores[T, R, K, A, M]; what is absent is `nan`.

        ``results.arrays.with_absent(-1)`` are pycocotools' own arrays, bit for bit.
        """
        return self.evaluation.arrays

    @property
    def precision(self) -> Floats:
        return self.arrays.precision

    @property
    def recall(self) -> Floats:
        return self.arrays.recall

    @cached_property
    def class_names(self) -> list[str]:
        """The classes along the K axis: by id, as the reference orders them."""
        if self.settings.class_agnostic:
            return ["all classes"]
        names = self.truth.labels.all_names
        order = self.truth.labels.by_id
        return list(names) if order is None else [names[i] for i in order]

    def class_scores(self) -> dict[str, list[float]]:
        """For each score its value for every class."""
        return {key: self.class_means(*part) for key, part in self.parts.items()}

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        return self.numbers.class_means(kind, threshold, area, limit)

    def class_table(self) -> Table:
        """The headline numbers of each class, and how many objects are behind them."""
        recall = "AR" if self.settings.on == "keypoints" else f"AR{max(self.settings.max_dets)}"
        shown = [key for key in ("AP", "AP50", "AP75", recall) if key in self.parts]
        columns: dict[str, Sequence[Any]] = {key: self.class_means(*self.parts[key]) for key in shown}
        truths, preds = self.numbers.counts
        columns |= {"truths": truths, "preds": preds}
        mean = {key: self.scores[key].value for key in shown} | {"truths": sum(truths), "preds": sum(preds)}
        return Table.of("class", self.class_names, columns, mean=mean)

    def threshold_table(self) -> Table:
        """AP and AR at each threshold."""
        last = len(self.settings.max_dets) - 1
        ap = [self.mean("precision", t, 0, last) for t in range(len(self.settings.iou))]
        ar = [self.mean("recall", t, 0, last) for t in range(len(self.settings.iou))]
        return Table.of(self.words.overlap, [f"{t:.4g}" for t in self.settings.iou], {"AP": ap, "AR": ar})

    def image_table(self) -> Table:
        """For each image its truths, how many are found and missed and how many predictions are false at the first
        threshold, and its AP when it is evaluated alone; the worst image comes first.
        """
        found = self.evaluation.by_image()
        missed = [truths - hits for truths, hits in zip(found["truths"], found["found"], strict=True)]
        mistakes = [wrong + lost for wrong, lost in zip(found["wrong"], missed, strict=True)]
        ap = found["precision"]
        order = sorted(range(len(ap)), key=lambda i: (-2.0 if isnan(ap[i]) else -ap[i], mistakes[i]))[::-1]
        names = [self.truth.images.name(found["image"][i]) for i in order]
        columns = {"AP": ap, "truths": found["truths"], "found": found["found"], "missed": missed}
        columns["false"] = found["wrong"]
        return Table.of("image", names, {key: [values[i] for i in order] for key, values in columns.items()})

    def tables(self) -> dict[str, Table]:
        images = {"images": self.image_table()} if self.numbers.has_objects else {}
        return {"classes": self.class_table(), "thresholds": self.threshold_table(), **images}

    def __str__(self) -> str:
        keys = list(self.scores)
        half = keys.index(next(key for key in keys if key.startswith("AR")))
        lines = [self.name]
        for group in (keys[:half], keys[half:]):
            cells = [
                (key, ABSENT if isnan(self.scores[key].value) else f"{self.scores[key].value:.4f}") for key in group
            ]
            widths = [max(len(key), len(value)) for key, value in cells]
            lines += ["  ".join(key.rjust(w) for (key, _), w in zip(cells, widths, strict=True))]
            lines += ["  ".join(value.rjust(w) for (_, value), w in zip(cells, widths, strict=True))]
        return "\n".join([*lines, "", str(self.chosen_table()), "", str(self.signature), *self.notes])

    def contents(self) -> list[Piece]:
        scores = Table(("system", *self.scores), ((self.name, *(score.value for score in self.scores.values())),))
        return [scores, self.chosen_table(), self.signature, *self.notes]

    def chosen_table(self) -> Table:
        """The table that was asked for."""
        return {"class": self.class_table, "threshold": self.threshold_table, "image": self.image_table}[self.per]()

    def main_table(self) -> Table:
        return self.chosen_table()

    def to_json(self, *, indent: int = 0) -> str:
        return to_small_json(self.to_dict(), indent=indent)

    def details(self) -> dict[str, Any]:
        """The documented keys: the twelve numbers, and the same by class and by threshold."""
        by_class = self.class_scores()
        truths, preds = self.numbers.counts
        classes = {
            name: {key: by_class[key][k] for key in by_class} | {"truths": truths[k], "preds": preds[k]}
            for k, name in enumerate(self.class_names)
        }
        at = self.threshold_table()
        thresholds = [{"iou": t, "AP": ap, "AR": ar} for t, (_, ap, ar) in zip(self.settings.iou, at.rows, strict=True)]
        document: dict[str, Any] = {key: score.value for key, score in self.scores.items()}
        document |= {"classes": classes, "thresholds": thresholds}
        if self.per == "image":
            table = self.image_table()
            document["images"] = {name: dict(zip(table.head[1:], row, strict=True)) for name, *row in table.rows}
        return document


def flag_class(names: Sequence[str], label: str) -> list[bool]:
    """One class of all."""
    if label not in names:
        raise BadParameter(f"class: expected one of {len(names)}, found {label!r}{did_you_mean(label, names)}")
    return [name == label for name in names]


def index_of(thresholds: Sequence[float], wanted: float) -> int:
    """Where a threshold is among those asked for; -1 where it is not."""
    return thresholds.index(wanted) if wanted in thresholds else -1
