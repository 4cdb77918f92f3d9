"""`vt.agree`: how far annotators agree, and the error rates of the ground truth that follow from it.

The rates go into `verite leaderboard` as `--errors` or, with their uncertainty, as `--rates-draws rates.csv`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isnan, nan
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verite import __version__
from verite.annotation_errors.agreement import (
    MOST_COMPARED,
    AnnotatorPair,
    compare_pairs,
    krippendorff_alpha,
)
from verite.annotation_errors.annotator_rates import (
    KINDS,
    AdjudicatedShares,
    DetectorSupport,
    RateDraws,
    RateModel,
    bayesian_weights,
)
from verite.annotation_errors.annotators import AnnotatorSet, read_annotators
from verite.annotation_errors.object_matching import Compared, MatchedObjects, match_objects
from verite.csv_files import read_csv
from verite.errors import BadParameter, DataError, ReadError, excerpt, spell_option
from verite.formats import read
from verite.model.annotations import Annotations
from verite.model.results import to_json
from verite.model.tables import ABSENT, Display, Legend, Part, Table
from verite.settings import Choice, Count, Names, Number, Option, Overlaps, Setting, Settings, Thresholds, Whole
from verite.signature import Signature
from verite.statistics.intervals import check_level
from verite.statistics.resampling import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SINGLE_COLUMNS = ("annotator", "image", "label", "x", "y", "width", "height", "verdict")
RATE_COLUMNS = ("missing", "spurious", "label", "jitter_share", "jitter_sd", "lit")
VERDICTS = ("right", "wrong", "unsure", "")
SAME_BOX = 1e-6  # coordinates that differ by no more are the same
RATE_STREAM, ORDER_STREAM, ALPHA_STREAM = 20, 21, 22  # of random numbers
ENOUGH_IMAGES = 100  # with fewer, intervals of missing objects are too narrow where objects differ in difficulty
MOST_SHOWN = 20  # annotators in a printed table
LEGEND = Legend(
    "missing: objects that are not annotated, as a share of those that are; a lower bound, since objects that are hard "
    "for one annotator are hard for all. spurious: annotations that are no objects. class: wrong classes. jitter: "
    "standard deviation of a side, as a share of the side. Intervals are from the Bayesian bootstrap of images. "
    "kappa: Cohen's, of the classes of objects that both have. F1 and AP: one annotator against the other, AP as mean "
    "of both directions with the same confidence for all boxes; up to: with the best order of the boxes."
)


class AgreeSettings(Settings):
    """The IoU thresholds of matching, what counts as consensus, and how uncertainty is sampled."""

    TITLE: ClassVar[str] = "Annotators"
    on: Option[Compared] = Choice("box", "Compare boxes or masks.", Compared, omit_default=True)
    iou: Overlaps = Thresholds((0.5, 0.3), "IoU threshold of a match; the first is the main one.")
    only: Setting[str | Sequence[str] | None, tuple[str, ...] | None] = Names(
        None, "Annotators to compare, in this order; the first is the ground truth in question.", metavar="NAME",
        default_text="all",
    )  # fmt: skip
    votes: Option[int | None] = Count(
        None, "Annotators that must have an object of the consensus.", default_text="more than half"
    )
    draws: Option[int] = Count(1000, "Number of posterior draws of the rates.")
    seed: Option[int] = Whole(0, "Seed of the random numbers.")
    level: Option[float] = Number(0.95, "Probability of the intervals.")

    def check(self) -> None:
        check_level(self.level)


def agree(
    annotators: Any,
    *,
    annotator: str | None = None,
    object_key: str | None = None,
    complete: bool = False,
    detectors: Any = None,
    adjudicated: str | PathLike[str] | None = None,
    on: Compared = "box",
    iou: float | Sequence[float] = (0.5, 0.3),
    only: str | Sequence[str] | None = None,
    votes: int | None = None,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Agreement:
    """Compare annotators of the same images, and estimate the error rates of each.

    Counting objects that only one of two annotators has takes the second one's misses for the first one's spurious
    annotations. Here rates come from capture-recapture (three annotators or more), or from an adjudicated random sample
    of the objects that only one of them has.

    Parameters
    ----------
    annotators : mapping, sequence, or path
        A mapping from names to files or annotations, several of them, or one file that names the annotator of each
        object: COCO JSON with a key such as `rad_id`, a CSV table with such a column, Label Studio's JSON.
    annotator : str, optional
        The key or column that names the annotator; recognised by its name if it is not given.
    object_key : str, optional
        The column that names the object, in a table of polygons around objects that were given to the annotators.
    complete : bool, default False
        Whether every annotator annotated every image of one file. Otherwise those with an object in it did.
    detectors : sequence of paths or annotations, optional
        Predictions, whose confidence forms strata of easy and hard objects; this raises the lower bound of `missing`.
    adjudicated : path, optional
        The table singles.csv with verdicts: right (an object), wrong (none), unsure or nothing.
    on : {"box", "mask"}, default "box"
        Whether objects are matched by the IoU of their boxes or of their masks, which the consensus has then, too.
    iou : float or sequence of float, default (0.5, 0.3)
        IoU thresholds of a match; the first is the main one.
    only : sequence of str, optional
        The annotators to compare; the first is the ground truth in question.
    votes : int, optional
        Annotators that must have an object of the consensus; more than half of those of the image by default.
    draws, seed : int
        Number of posterior draws, and the seed of the random numbers.
    level : float, default 0.95
        The probability of the intervals.

    Returns
    -------
    Agreement
        Rates, agreement, the ceiling for detectors, the consensus, and the objects to adjudicate.

    Raises
    ------
    DataError
        There are fewer than two annotators, or no image has two of them.

    Examples
    --------
    >>> boxes = [[10 * i, 0, 10 * i + 9, 9] for i in range(4)]
    >>> first = Annotations.of(["a", "a", "b", "b"], ["cat"] * 4, boxes)
    >>> second = Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], boxes[:3])
    >>> found = agree({"first": first, "second": second}, draws=100)
    >>> found.images, len(found.objects), len(found.consensus)
    (2, 4, 3)
    """
    for key, word in (("annotator", annotator), ("object_key", object_key)):
        if word is not None and not isinstance(word, str):
            raise BadParameter(f"{key}: expected the name of a key or column, found {excerpt(word)}")
    settings = AgreeSettings(on=on, iou=iou, only=only, votes=votes, draws=draws, seed=seed, level=level)
    found = read_annotators(annotators, annotator, object_key=object_key, complete=complete)
    if isinstance(detectors, (str, PathLike, Annotations)):
        detectors = [detectors]
    if detectors is not None and not isinstance(detectors, (Mapping, Sequence)):
        raise BadParameter(f"detectors: expected predictions of detectors, found {excerpt(detectors)}")
    given = list(detectors.values() if isinstance(detectors, Mapping) else detectors or ())
    preds = [one if isinstance(one, Annotations) else read(one, like=found.sides[0]) for one in given]
    return Agreement.of(found, settings, preds, adjudicated)


@dataclass(frozen=True, eq=False)
class ThresholdRates:
    """Matched objects and rates at one IoU threshold."""

    objects: MatchedObjects
    model: RateModel
    rates: RateDraws


@dataclass(frozen=True)
class Single:
    """An object that only one annotator has, as a row of singles.csv."""

    annotator: str
    image: str
    label: str
    x: float
    y: float
    width: float
    height: float
    verdict: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Display):
    """The agreement of annotators and their error rates: the result of :func:`verite.agree`.

    Parameters
    ----------
    annotators : AnnotatorSet
        The annotators; the first one is the ground truth in question.
    settings : AgreeSettings
        The settings.
    by_iou : dict of float to ThresholdRates
        Matched objects and rates by IoU threshold, the main one first.
    pairs : list of AnnotatorPair
        Every two annotators that have images in common.
    verdicts : dict of int to bool
        Whether each adjudicated object of the main threshold is real, by its position.
    detectors : int
        The number of detectors whose confidence forms strata.

    Examples
    --------
    The second annotator has one object less, and calls another a dog:

    >>> import verite as vt
    >>> boxes = [[10 * i, 0, 10 * i + 9, 9] for i in range(4)]
    >>> first = vt.Annotations.of(["a", "a", "b", "b"], ["cat"] * 4, boxes)
    >>> second = vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], boxes[:3])
    >>> found = vt.agree({"first": first, "second": second}, draws=100)
    >>> isinstance(found, vt.Agreement), found.names, found.mean_iou
    (True, ('first', 'second'), 1.0)
    >>> [(one.annotator, one.image, one.label) for one in found.singles]
    [('first', 'b', 'cat')]
    """

    annotators: AnnotatorSet
    settings: AgreeSettings
    by_iou: dict[float, ThresholdRates]
    pairs: list[AnnotatorPair]
    verdicts: dict[int, bool]  # by object of the main threshold
    detectors: int = 0

    @classmethod
    def of(
        cls,
        annotators: AnnotatorSet,
        settings: AgreeSettings,
        detectors: Sequence[Annotations] = (),
        adjudicated: str | PathLike[str] | None = None,
    ) -> Agreement:
        """Match the objects of all annotators at each threshold, and estimate the rates."""
        if settings.only is not None:
            annotators = annotators.only(settings.only)
        annotators.check()
        by_iou: dict[float, ThresholdRates] = {}
        verdicts: dict[int, bool] = {}
        for k, threshold in enumerate(settings.iou):
            objects = match_objects(annotators, threshold, settings.on)
            support = DetectorSupport.of(objects, detectors) if detectors else None
            decided = read_verdicts(adjudicated, objects, is_main=k == 0) if adjudicated is not None else {}
            verdicts = verdicts or decided
            model = RateModel(objects, support, count_verdicts(objects, support, decided) if decided else None)
            rng = generator(settings.seed, k, RATE_STREAM)
            rates = model.draw(settings.draws, rng, objects_given=annotators.objects is not None)
            by_iou[threshold] = ThresholdRates(objects, model, rates)
        main = next(iter(by_iou.values())).objects
        return cls(annotators, settings, by_iou, compare_pairs(main), verdicts, len(detectors))

    @property
    def main(self) -> ThresholdRates:
        """Matched objects and rates at the first threshold."""
        return next(iter(self.by_iou.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The annotators."""
        return self.annotators.names

    @property
    def images(self) -> int:
        """The number of images that at least two annotators annotated."""
        return self.annotators.images

    @property
    def objects(self) -> MatchedObjects:
        """The matched objects at the first threshold."""
        return self.main.objects

    def rate(self, kind: str, name: str | None = None, iou: float | None = None) -> tuple[float, float, float]:
        """Return the rate of an annotator, by default of the first one, and its interval.

        Parameters
        ----------
        kind : {"missing", "spurious", "label", "jitter"}
            The kind of error.
        name : str, optional
            The annotator.
        iou : float, optional
            The IoU threshold; the first one by default.

        Returns
        -------
        tuple of float
            Estimate, lower and upper end.
        """
        if kind not in (*KINDS, "lit"):
            raise BadParameter(f"rate: expected one of {', '.join(KINDS)}, found {kind!r}")
        if name is not None and name not in self.names:
            raise BadParameter(f"rate: expected one of {', '.join(self.names)}, found {name!r}")
        row = 0 if name is None else self.names.index(name)
        found = self.main if iou is None else self.by_iou[iou]
        return found.rates.interval(kind, row, self.settings.level)

    @cached_property
    def alphas(self) -> dict[str, tuple[float, float, float]]:
        """Krippendorff's alpha with its interval: of classes, and with "no object" as one (`alpha_with_missing`)."""
        model, labels = self.main.model, self.objects.label
        rng = generator(self.settings.seed, 0, ALPHA_STREAM)
        weights = bayesian_weights(model.images, self.settings.draws, rng)
        found = dict.fromkeys(("alpha", "alpha_with_missing"), (nan, nan, nan))
        shown = {"alpha": labels, "alpha_with_missing": np.where(model.annotated[model.image], labels + 1, -1)}
        if self.annotators.objects is not None:
            return found
        ends = [(1 - self.settings.level) / 2, (1 + self.settings.level) / 2]
        for key, votes in shown.items():
            drawn = krippendorff_alpha(votes, model.image, weights)
            known = drawn[1:][~np.isnan(drawn[1:])]
            low, high = np.quantile(known, ends) if len(known) else (nan, nan)
            found[key] = float(drawn[0]), float(low), float(high)
        return found

    @cached_property
    def mean_iou(self) -> float:
        """The mean IoU of all pairs of matched boxes."""
        pairs = [(pair.mean_iou, pair.matched) for pair in self.pairs if pair.matched]
        total = sum(matched for _, matched in pairs)
        return sum(iou * matched for iou, matched in pairs) / total if total else nan

    @property
    def ceiling(self) -> dict[str, float]:
        """Mean AP and F1 of every two annotators: no detector can be told from a person above this."""
        return {
            key: mean_of_known([getattr(pair, key) for pair in self.pairs]) for key in ("AP", "AP_high", "F1")
        }  # fmt: skip

    def mean_f1(self, name: str) -> float:
        """Return the mean F1 of an annotator against the others."""
        return mean_of_known([pair.F1 for pair in self.pairs if name in (pair.first, pair.second)])

    def mean_iou_of(self, name: str) -> float:
        """Return the mean IoU of an annotator's boxes with those of the others that match them."""
        row, objects = self.names.index(name), self.objects
        if len(self.names) > MOST_COMPARED:
            return nan
        found = [objects.pair_ious(row, s)[1] for s in range(len(self.names)) if s != row]
        every = np.concatenate(found)
        return float(every.mean()) if len(every) else nan

    @cached_property
    def consensus_rows(self) -> tuple[Ints, Ints]:
        """The objects of the consensus, and the class of each.

        These are the objects that more than half of the annotators of their image have, or `votes` of them, and those
        that the adjudication confirmed. The class is the likeliest one by Dawid and Skene's model, or with two
        annotators that of the first.
        """
        objects, votes = self.objects, self.objects.has.sum(axis=1)
        of_image = self.annotators.annotated.sum(axis=0)[objects.image]
        needed = of_image // 2 + 1 if self.settings.votes is None else np.full(len(objects), self.settings.votes)
        kept = votes >= needed
        for row, is_real in self.verdicts.items():
            kept[row] = is_real
        rows, labels = np.flatnonzero(kept), objects.label
        classes = self.main.model.classes
        likeliest = classes.true_classes() if classes is not None else {}
        found = []
        for votes_of in labels[rows]:
            given = votes_of[votes_of >= 0].tolist()
            most = max(given, key=given.count)  # of equally many the first annotator's
            found.append(likeliest.get(votes_of.tobytes(), most))
        return rows, np.array(found, dtype=np.int64)

    @property
    def consensus(self) -> Annotations:
        """The ground truth of the consensus: mean boxes of the objects that enough annotators have."""
        rows, labels = self.consensus_rows
        first = self.annotators.sides[0]
        return Annotations(
            images=first.images,
            labels=first.labels,
            image=self.objects.image[rows].astype(np.int32),
            label=labels.astype(np.int32),
            regions=self.objects.consensus_regions(rows),
            unit=first.unit,
        )

    def consensus_document(self) -> JsonObject:
        """Return the consensus as COCO JSON, with `votes` and `annotators` (names) of every object."""
        rows, labels = self.consensus_rows
        first, shared = self.annotators.sides[0], np.flatnonzero(self.annotators.shared)
        images, names, has = first.images, self.names, self.objects.has
        regions = self.objects.consensus_regions(rows)
        boxes, runs = regions.sizes.tolist(), regions.runs
        ids = images.ids if images.ids is not None else np.arange(1, len(images) + 1)
        records = []
        for number, (row, label) in enumerate(zip(rows.tolist(), labels.tolist(), strict=True)):
            record: JsonObject = {"id": number + 1, "image_id": int(ids[self.objects.image[row]])}
            record |= {"category_id": label + 1, "bbox": boxes[number], "area": boxes[number][2] * boxes[number][3]}
            if runs is not None:
                counts = runs.take(np.array([number])).counts.tolist()
                record |= {"segmentation": {"size": runs.sizes[number].tolist(), "counts": counts}}
                record["area"] = float(sum(counts[1::2]))
            record |= {"iscrowd": 0, "votes": int(has[row].sum())}
            records.append(
                record | {"annotators": [name for name, is_in in zip(names, has[row], strict=True) if is_in]}
            )
        sizes = [(int(images.widths[i]), int(images.heights[i])) for i in shared]
        return {
            "images": [
                {"id": int(ids[i]), "file_name": images.name(int(i)), **({"width": w, "height": h} if w and h else {})}
                for i, (w, h) in zip(shared, sizes, strict=True)
            ],
            "categories": [{"id": i + 1, "name": first.labels.name(i)} for i in range(len(first.labels))],
            "annotations": records,
        }

    @property
    def singles(self) -> list[Single]:
        """Objects that only one annotator has, in random order: a random sample, wherever checking them stops."""
        objects, has = self.objects, self.objects.has
        rows = np.flatnonzero(has.sum(axis=1) == 1)
        rows = generator(self.settings.seed, 0, ORDER_STREAM).permutation(rows)
        words = {row: "right" if is_real else "wrong" for row, is_real in self.verdicts.items()}
        return [single_of(objects, row, words.get(row, "")) for row in rows.tolist()]

    @property
    def disagreement(self) -> Table:
        """One row per image with any disagreement, the most first."""
        objects, labels = self.objects, self.objects.label
        votes, of_image = objects.has.sum(axis=1), self.annotators.annotated.sum(axis=0)
        known = np.where(labels < 0, labels.max(axis=1, initial=-1)[:, None], labels)
        differs = known.min(axis=1, initial=2**31) != labels.max(axis=1, initial=-1)
        count = len(of_image)
        columns = [
            np.bincount(objects.image[rows], minlength=count)
            for rows in (votes > 0, votes < of_image[objects.image], votes == 1, differs)
        ]
        doubt = columns[1] + columns[3]
        order = [int(i) for i in np.argsort(-doubt, kind="stable") if doubt[i]]
        images = self.annotators.sides[0].images
        rows = tuple((images.name(i), int(of_image[i]), *(int(column[i]) for column in columns)) for i in order)
        return Table(("image", "annotators", "objects", "not by all", "by one only", "classes differ"), rows)

    @property
    def error_option(self) -> str:
        """The rates of the first annotator as `verite leaderboard --errors` takes them."""
        words = []
        for kind in KINDS:
            value = self.rate(kind)[0]
            if not isnan(value) and not (kind == "jitter" and self.settings.on == "mask"):  # masks are not displaced
                words.append(f"jitter=1x{value:.4g}" if kind == "jitter" else f"{kind}={min(value, 1.0):.4g}")
        return ",".join(words)

    def rates_table(self) -> Table:
        """Return posterior draws of the rates of the first annotator, one row per draw: rates.csv."""
        rates = self.main.rates
        columns = [np.clip(getattr(rates, kind)[1:, 0], 0.0, 1.0) for kind in KINDS[:3]]
        jitter = rates.jitter[1:, 0]
        columns += [np.where(np.isnan(jitter), nan, 1.0), jitter, rates.lit[1:, 0]]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return Table(RATE_COLUMNS, tuple(tuple(None if isnan(v) else v for v in row) for row in rows))

    def confusion_table(self) -> Table:
        """Return which classes wrong annotations of each class have: `verite leaderboard --confusion` reads it.

        Rows are classes of the first annotator, columns the likeliest true ones; with two annotators the other's.
        """
        labels, objects = self.annotators.sides[0].labels, self.objects
        size, votes = len(labels), objects.label
        counts = np.zeros((size, size))
        classes = self.main.model.classes
        several = (votes[:, 0] >= 0) & ((votes >= 0).sum(axis=1) >= 2)
        if classes is None:
            np.add.at(counts, (votes[several, 0], votes[several, 1]), 1)
        else:
            place = {pattern.tobytes(): i for i, pattern in enumerate(classes.patterns)}
            for row in votes[several]:
                counts[row[0], classes.classes] += classes.posterior[place[row.tobytes()]]
        np.fill_diagonal(counts, 0.0)
        names = [labels.name(i) for i in range(size)]
        return Table(
            ("recorded", *names), tuple((name, *row) for name, row in zip(names, counts.tolist(), strict=True))
        )

    def single_table(self) -> Table:
        """Return singles.csv: the objects to adjudicate."""
        return Table(SINGLE_COLUMNS, tuple(tuple(asdict(single).values()) for single in self.singles))

    def rate_table(self, iou: float | None = None) -> Table:
        """Return one row per annotator with plain numbers: images, objects, rates with intervals, agreement."""
        found = self.main if iou is None else self.by_iou[iou]
        shared = self.annotators.shared
        columns: dict[str, list[Any]] = {
            "images": [int((own & shared).sum()) for own in self.annotators.annotated],
            "objects": [int(count) for count in found.objects.has.sum(axis=0)],
        }
        for kind in KINDS:
            values = [found.rates.interval(kind, r, self.settings.level) for r in range(len(self.names))]
            for at, end in enumerate(("", " low", " high")):
                columns[f"{kind}{end}"] = [value[at] for value in values]
        if iou is None:
            columns["mean IoU"] = [self.mean_iou_of(name) for name in self.names]
            columns["F1"] = [self.mean_f1(name) for name in self.names]
        return Table.of("annotator", list(self.names), columns)

    def main_table(self) -> Table:
        """The rates at the first threshold."""
        return self.rate_table()

    def pair_table(self) -> Table:
        """Return one row per pair of annotators."""
        columns: dict[str, list[Any]] = {
            "second": [pair.second for pair in self.pairs],
            "images": [pair.images for pair in self.pairs],
            "matched": [pair.matched for pair in self.pairs],
            "mean IoU": [pair.mean_iou for pair in self.pairs],
            "kappa": [pair.kappa for pair in self.pairs],
            "F1": [pair.F1 for pair in self.pairs],
            "AP": [pair.AP for pair in self.pairs],
            "up to": [pair.AP_high for pair in self.pairs],
        }
        return Table.of("first", [pair.first for pair in self.pairs], columns)

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of their files."""
        found = {"annotators": self.rate_table(), "pairs": self.pair_table(), "disagreement": self.disagreement}
        for threshold in list(self.by_iou)[1:]:
            found[f"annotators-{threshold:g}"] = self.rate_table(threshold)
        if self.annotators.objects is None:
            found |= {"singles": self.single_table(), "rates": self.rates_table(), "confusion": self.confusion_table()}
        return found

    def shown_rates(self, iou: float) -> Table:
        """Return the printed table of rates at one threshold."""
        found, level = self.by_iou[iou], self.settings.level
        columns: dict[str, list[Any]] = {"objects": [int(count) for count in found.objects.has.sum(axis=0)]}
        kinds = {"missing": "missing, at least", "spurious": "spurious", "label": "class", "jitter": "jitter"}
        for kind, title in kinds.items():
            cells = []
            for r in range(len(self.names)):
                value, low, high = found.rates.interval(kind, r, level)
                cells.append(ABSENT if isnan(value) else f"{value:.3f} [{low:.3f}, {high:.3f}]")
            if any(cell != ABSENT for cell in cells):
                columns[title] = cells
        title = f"error rates at IoU {iou:g}, with {100 * level:g} % intervals"
        table = Table.of("annotator", list(self.names), columns, title=title)
        if len(table.rows) <= MOST_SHOWN:
            return table
        most = sorted(table.rows, key=lambda row: -row[1])[:MOST_SHOWN]
        return Table(table.head, tuple(most), title=f"{title}; the {MOST_SHOWN} annotators with the most objects")

    def contents(self) -> list[Part]:
        """Everything that is printed, from top to bottom."""
        alone = int((self.objects.has.sum(axis=1) == 1).sum())
        parts: list[Part] = [
            f"{self.images:,} images annotated by at least two of {len(self.names)} annotators; {len(self.objects):,} "
            f"objects, {alone:,} of them by one annotator only"
        ]
        is_given = self.annotators.objects is not None
        parts += [self.shown_rates(iou) for iou in list(self.by_iou)[: 1 if is_given else None]]
        many = len(self.pairs) > MOST_COMPARED
        parts += (
            [] if many else [Table(self.pair_table().head, self.pair_table().rows, title="agreement of annotators")]
        )
        alpha, missing = self.alphas["alpha"], self.alphas["alpha_with_missing"]
        known = [("of classes", alpha), ('with "no object" as a class', missing)]
        listed = [f"{v:.3f} [{low:.3f}, {high:.3f}] {what}" for what, (v, low, high) in known if not isnan(v)]
        parts += [f"Krippendorff's alpha: {', '.join(listed)}"] if listed else []
        what = "masks" if self.settings.on == "mask" else "boxes"
        parts.append(f"mean IoU of matched {what}: {self.mean_iou:.3f}")
        ceiling = self.ceiling
        if not isnan(ceiling["F1"]):
            parts.append(
                f"ceiling: annotators reach F1 {ceiling['F1']:.3f} and AP {ceiling['AP']:.3f} (up to "
                f"{ceiling['AP_high']:.3f} with the best confidences) against each other; above this a score no longer "
                "tells a detector from a person"
            )
        return [*parts, *self.notes, LEGEND, self.signature]

    @property
    def notes(self) -> list[str]:
        """What the rates assume, what would improve them, and how to use them."""
        if self.annotators.objects is not None:
            return ["the objects were given to the annotators: no rates of missing or spurious objects"]
        notes = []
        if self.verdicts:
            notes.append(f"{len(self.verdicts):,} objects that one annotator has were adjudicated")
        elif self.main.model.is_adjudicated:
            notes.append(
                "two annotators alone do not tell missing from spurious objects: fill in verdicts in the first 60 rows "
                f"or more of singles.csv (verite agree -o DIR), and give it to {spell_option('adjudicated')}"
            )
        if not self.detectors:
            notes.append(
                f"missing assumes objects of equal difficulty; {spell_option('detectors')} forms strata and raises the "
                "bound"
            )
        if self.images < ENOUGH_IMAGES:
            notes.append(
                f"{self.images} images: with fewer than {ENOUGH_IMAGES}, intervals of missing are too narrow where "
                "objects differ in difficulty"
            )
        if self.error_option:
            notes.append(f"for {self.names[0]} as ground truth: verite leaderboard … --errors {self.error_option}")
        return notes

    @property
    def signature(self) -> Signature:
        """Everything that can change a number."""
        return self.settings.signature(
            "agree", annotators=len(self.names), detectors=self.detectors, adjudicated=len(self.verdicts)
        )

    def rates_dict(self, iou: float) -> JsonObject:
        """Return the documented keys of the rates at one threshold."""
        found = self.by_iou[iou].rates
        return {
            name: {
                kind: dict(zip(("value", "low", "high"), found.interval(kind, r, self.settings.level), strict=True))
                for kind in KINDS
            }
            for r, name in enumerate(self.names)
        }

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        thresholds, table = list(self.by_iou), self.rate_table()
        about = dict(zip(table.head, zip(*table.rows, strict=True), strict=True))
        quality = zip(*(about[key] for key in ("images", "objects", "mean IoU", "F1")), strict=True)
        return {
            "annotators": list(self.names),
            "signature": str(self.signature),
            "images": self.images,
            "objects": len(self.objects),
            "iou": thresholds[0],
            "rates": self.rates_dict(thresholds[0]),
            "rates_at": {f"{iou:g}": self.rates_dict(iou) for iou in thresholds[1:]},
            "quality": {
                name: dict(zip(("images", "objects", "mean_iou", "F1"), values, strict=True))
                for name, values in zip(self.names, quality, strict=True)
            },
            "agreement": {
                "alpha": self.alphas["alpha"][0],
                "alpha_interval": list(self.alphas["alpha"][1:]),
                "alpha_with_missing": self.alphas["alpha_with_missing"][0],
                "alpha_with_missing_interval": list(self.alphas["alpha_with_missing"][1:]),
                "mean_iou": self.mean_iou,
                "pairs": [asdict(pair) for pair in self.pairs],
            },
            "ceiling": self.ceiling,
            "consensus": len(self.consensus_rows[0]),
            "singles": len(self.singles),
            "adjudicated": len(self.verdicts),
            "errors": self.error_option or None,
            "level": self.settings.level,
            "draws": self.settings.draws,
            "seed": self.settings.seed,
            "version": __version__,
        }

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The rates as a pandas DataFrame; pandas must be installed."""
        return self.rate_table().to_frame()


def mean_of_known(values: Sequence[float]) -> float:
    """Return the mean of the values that are not nan; nan if there are none."""
    known = [value for value in values if not isnan(value)]
    return sum(known) / len(known) if known else nan


def single_of(objects: MatchedObjects, row: int, verdict: str = "") -> Single:
    """Return the row of singles.csv of an object that only one annotator has.

    Parameters
    ----------
    objects
        The objects of all annotators, grouped by what they depict.
    row
        The group; exactly one annotator has an object in it.
    verdict
        What a reviewer said about the object, empty before the review.

    Returns
    -------
    Single
        Annotator, image, class and box (x, y, width, height in pixels), with the verdict.
    """
    r = int(np.flatnonzero(objects.has[row])[0])
    side = objects.annotators.sides[r]
    own = int(objects.member[row, r])
    x, y, width, height = (float(value) for value in side.regions.sizes[own])
    image, label = side.images.name(int(side.image[own])), side.labels.name(int(side.label[own]))
    return Single(objects.annotators.names[r], image, label, x, y, width, height, verdict)


def read_verdicts(path: str | PathLike[str], objects: MatchedObjects, *, is_main: bool = True) -> dict[int, bool]:
    """Read a singles.csv with verdicts, and return by object whether it is real.

    Raises
    ------
    DataError
        No row has a verdict, or a row is about an object that is not there. At further IoU thresholds such an object
        has been matched, and its row is left out.
    """
    table = read_csv(path, f"the columns {','.join(SINGLE_COLUMNS)}", SINGLE_COLUMNS)
    known: dict[tuple[str, str, str], list[tuple[int, Floats]]] = {}
    for row in np.flatnonzero(objects.has.sum(axis=1) == 1).tolist():
        single = single_of(objects, row)
        box = np.array([single.x, single.y, single.width, single.height])
        known.setdefault((single.annotator, single.image, single.label), []).append((row, box))
    found = {}
    for where, cells in table.records():
        verdict = cells["verdict"].strip().lower()
        if verdict not in VERDICTS:
            raise ReadError(where, expected="right, wrong, unsure or nothing", found=excerpt(verdict))
        if verdict not in VERDICTS[:2]:
            continue
        try:
            box = np.array([float(cells[side]) for side in SINGLE_COLUMNS[3:7]])
        except ValueError:
            raise ReadError(where, expected="four numbers of a box", found=excerpt(",".join(cells.values()))) from None
        candidates = known.get((cells["annotator"], cells["image"], cells["label"]), [])
        place = next((row for row, own in candidates if np.abs(own - box).max() <= SAME_BOX), None)
        if place is not None:
            found[place] = verdict == "right"
        elif is_main:
            raise DataError(
                f"{where}: expected an object that {cells['annotator']!r} alone has, found {cells['label']!r} at "
                f"{cells['x']}, {cells['y']} in {cells['image']!r}; are these the same annotators?"
            )
    if is_main and not found:
        raise DataError(f"{path}: expected rows with the verdict right or wrong, found none")
    return found


def count_verdicts(
    objects: MatchedObjects, support: DetectorSupport | None, verdicts: dict[int, bool]
) -> AdjudicatedShares:
    """Count adjudicated and real objects by annotator and, with detectors, by stratum of their support."""
    stratum = np.zeros(1, np.int64) if support is None else support.share_stratum
    checked, real = (np.zeros((objects.has.shape[1], int(stratum.max()) + 1)) for _ in range(2))
    for row, is_real in verdicts.items():
        annotator = int(np.flatnonzero(objects.has[row])[0])
        place = annotator, int(stratum[0 if support is None else support.bin[row]])
        checked[place] += 1
        real[place] += is_real
    return AdjudicatedShares(checked, real)
