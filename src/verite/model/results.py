"""Results of an evaluation: scores with their signatures, tables, matches and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

from verite import __version__
from verite.arrays import np
from verite.errors import BadParameter, UnknownMetric, did_you_mean, excerpt, spell_option
from verite.files import without_suffix
from verite.hooks import hook
from verite.model.annotations import Annotations
from verite.model.layouts import BOXES, Words, words_of
from verite.model.tables import Display, Part, Table, show_cell
from verite.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.classes import Labels
    from verite.model.outcomes import ObjectOutcomes
    from verite.statistics.half_samples import ScoreInterval


class Score(float):
    """A number with its signature: what exactly it measures, on which ground truth and predictions.

    A score is a `float`: it can be compared, rounded, formatted and put into numpy arrays. Printed, it shows its
    signature.

    Parameters
    ----------
    name : str
        Name of the score, such as ``AP50``.
    value : float
        Its value; `nan` if it is absent, for example AP of a class without objects.
    signature : Signature
        Every setting that can change the value.
    truth : Annotations
        The ground truth.
    pred : Annotations
        The predictions.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> score = vt.voc(truth, pred)["mAP"]
    >>> score, score > 0.4, f"{score:.3f}", round(score, 2)
    (Score('mAP', 0.5), True, '0.500', 0.5)
    """

    name: str
    signature: Signature
    truth: Annotations
    pred: Annotations

    def __new__(cls, name: str, value: float, signature: Signature, truth: Annotations, pred: Annotations) -> Score:
        score = super().__new__(cls, value)
        score.name, score.signature, score.truth, score.pred = name, signature, truth, pred
        return score

    def __reduce__(self) -> tuple[Any, ...]:
        return Score, (self.name, self.value, self.signature, self.truth, self.pred)

    @property
    def value(self) -> float:
        """The number alone; `nan` if the score is absent."""
        return float(self)

    @property
    def version(self) -> str:
        """The version of verite that computed it."""
        return __version__

    @property
    def truth_digest(self) -> str:
        """Digest of the ground truth, as far as the score depends on it."""
        return digest_for(self.signature, self.truth)

    @property
    def pred_digest(self) -> str:
        """Digest of the predictions, as far as the score depends on them."""
        return digest_for(self.signature, self.pred)

    def __repr__(self) -> str:
        return f"Score({self.name!r}, {self.value:.6g})"

    def __str__(self) -> str:
        return f"{self.name} = {show_cell(self.value)}  [{self.signature}]"


@dataclass(frozen=True, eq=False)
class Matches:
    """Which prediction is matched to which ground-truth object at one IoU threshold.

    Attributes
    ----------
    iou
        The IoU threshold of a match.
    counted_truth
        For each ground-truth object, whether it counts as a positive; ignored ones (crowd, difficult) do not.
    matched_pred
        For each ground-truth object, the row of the prediction matched to it; -1 for none.
    confidence_threshold
        Confidence below which no prediction was evaluated; None where there was no threshold.
    counted_pred
        For each prediction, whether it is a true or a false positive; the others are ignored. None: not known.
    """

    iou: float
    counted_truth: NDArray[np.bool_]
    matched_pred: NDArray[np.int64]
    confidence_threshold: float | None = None
    counted_pred: NDArray[np.bool_] | None = None

    @classmethod
    def of_pairs(
        cls,
        iou: float,
        sizes: tuple[int, int],
        pairs: tuple[NDArray[Any], NDArray[Any]],
        missed: NDArray[Any],
        false_positives: NDArray[Any],
        confidence_threshold: float | None = None,
    ) -> Matches:
        """Build matches from lists of rows.

        `sizes` are the numbers of ground-truth objects and predictions; `pairs` the rows of both that are matched,
        of which the last one stands where a ground truth has several; `missed` and `false_positives` the others that
        count.
        """
        matched_pred = np.full(sizes[0], -1, dtype=np.int64)
        matched_pred[pairs[0]] = pairs[1]
        counted_truth = matched_pred >= 0
        counted_truth[missed] = True
        counted_pred = np.zeros(sizes[1], dtype=np.bool_)
        counted_pred[pairs[1]] = counted_pred[false_positives] = True
        return cls(iou, counted_truth, matched_pred, confidence_threshold, counted_pred)


CUT = "V308"  # predictions cut at a confidence threshold: noted wherever AP is printed


def describe_cuts(findings: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return one line per confidence threshold at which predictions were cut; `findings` are by detector.

    Thresholds of more than three detectors are summed up in one line: all warnings name each on its own.
    """
    names: dict[str, list[str]] = {}
    for name, found in findings.items():
        for finding in found:
            if finding.code == CUT:
                names.setdefault(finding.message, []).append(name)
    count = sum(map(len, names.values()))
    if count > 3:
        who = f"all {count}" if count == len(findings) else f"{count} of {len(findings)}"
        return [f"{CUT} {who} detectors have no predictions below a confidence threshold, which lowers their AP"]
    return [
        f"{CUT} {': '.join(part for part in (', '.join(said), message) if part)}" for message, said in names.items()
    ]


class Results(Display):
    """Results of one evaluation: scores, tables per class, matches, JSON.

    The protocols return subclasses of it. ``results["AP"]`` is one of the scores, ``for name in results`` goes through
    their names, ``print(results)`` shows them with the table per class.

    Parameters
    ----------
    protocol : str
        Name of the protocol.
    signature : Signature
        Every setting that can change a score.
    scores : mapping of str to (float, Signature)
        Value and signature of each score.
    truth, pred : Annotations
        Ground truth and predictions.
    name : str, optional
        Name of the detector; by default that of the predictions' file.
    findings : sequence of Finding, optional
        Findings of the checks.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> results = vt.voc(truth, pred)
    >>> list(results), results["mAP"].value, results.class_names
    (['mAP'], 0.5, ['cat'])
    >>> results.flat("val/")
    {'val/mAP': 0.5, 'val/mAP/cat': 0.5}
    """

    settings: Any = None  # those of the protocol by which the scores were computed
    intervals: Mapping[str, ScoreInterval] = {}  # confidence intervals to show with the scores
    threshold_note = ""  # how many predictions reach the confidence threshold, if there is one
    SLACK = 0.0  # added to the number of predictions that precision divides by
    keeps_predictions = True  # whether partial results have a row for each prediction

    def __init__(
        self,
        *,
        protocol: str,
        signature: Signature,
        scores: Mapping[str, tuple[float, Signature]],
        truth: Annotations,
        pred: Annotations,
        name: str | None = None,
        findings: Sequence[Any] = (),
    ) -> None:
        if digest := pred.source.class_map or truth.source.class_map:  # where names of classes were mapped by a table
            signature = signature.replace(signature.name, map=digest)
            scores = {key: (value, own.replace(own.name, map=digest)) for key, (value, own) in scores.items()}
        self.protocol, self.signature, self.truth, self.pred = protocol, signature, truth, pred
        self.scores = {key: Score(key, float(value), signed, truth, pred) for key, (value, signed) in scores.items()}
        self.name = name or system_name(pred)
        self.findings = tuple(findings)

    def __getitem__(self, score: str | tuple[str, str]) -> Score:
        """Return a score by its name, ``results["AP50"]``, or that of one class, ``results["AP50", "boat"]``.

        Raises
        ------
        UnknownMetric
            If there is no such score.
        BadParameter
            If there is no such class.
        """
        if isinstance(score, tuple) and len(score) == 2:
            found, label = self[score[0]], score[1]
            if label not in self.class_names:
                near = did_you_mean(label, self.class_names)
                raise BadParameter(f"class: expected one of {len(self.class_names)} classes, found {label!r}{near}")
            by_class = self.class_scores().get(found.name)
            if by_class is None:
                raise BadParameter(f"class: expected none, found {label!r}: {found.name} has no value per class")
            value = by_class[self.class_names.index(label)]
            return Score(f"{found.name}[{label}]", float(value), found.signature, self.truth, self.pred)
        if score not in self.scores:
            known = ", ".join(self.scores)
            near = did_you_mean(str(score), self.scores)
            raise UnknownMetric(f"score: expected one of {known}, found {excerpt(score)}{near}")
        return self.scores[score]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    @property
    def words(self) -> Words:
        """Words for the compared objects and their similarity: boxes and IoU, keypoints and OKS."""
        return words_of(str(dict(self.signature).get("on", "box")))

    def is_error(self, score: str) -> bool:
        """Return whether a lower value of this score is better."""
        return False

    @property
    def given_settings(self) -> Any:
        """Settings of the protocol as they were given: those by which `vt.partial` can repeat the evaluation."""
        return self.settings

    @property
    def is_checked(self) -> bool:
        """Whether the checks of ground truth and predictions ran."""
        return self.settings is None or self.settings.checks != "off"

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        """IoU thresholds at which objects are matched; none where the protocol has none."""
        return ()

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, in the order of `class_scores`."""
        raise NotImplementedError

    def class_scores(self) -> dict[str, list[float]]:
        """Return for each score its value per class, in the order of `class_names`."""
        raise NotImplementedError

    def class_table(self) -> Table:
        """Return the table with a row per class."""
        raise NotImplementedError

    def summary(self) -> Table:
        """Return a table with a row per score."""
        return Table.of("score", list(self.scores), {self.name: [score.value for score in self.scores.values()]})

    def main_table(self) -> Table:
        """Return the table that CSV and LaTeX output show."""
        return self.class_table()

    def tables(self) -> dict[str, Table]:
        """Return all tables, by the names of the files to which they are written."""
        return {"classes": self.class_table()}

    def details(self) -> JsonObject:
        """Return the protocol's own keys of the JSON document."""
        raise NotImplementedError

    def matches(self, iou: float | None = None) -> Matches:
        """Return the prediction matched with each ground-truth object.

        Parameters
        ----------
        iou : float, optional
            One of the IoU thresholds; the first one by default.

        Raises
        ------
        BadParameter
            If the protocol matches no objects, or the threshold is not one of the evaluation's.
        """
        raise BadParameter(
            f"results: expected evaluations that match objects, such as vt.voc's, found {type(self).__name__}"
        )

    def finds(self, iou: float | None = None) -> Matches:
        """Call `matches` under its earlier name, with a DeprecationWarning."""
        from warnings import warn

        warn("finds is now called matches", DeprecationWarning, stacklevel=2)
        return self.matches(iou)

    def tp_needed_per_recall(self, truths: int) -> NDArray[np.int64]:
        """Return the true positives needed for each recall at which precision is interpolated, for `truths` objects."""
        raise BadParameter(
            f"results: expected evaluations that read precision at recalls, such as vt.coco's, found {self.protocol}"
        )

    def draw_scores(self, scores: Sequence[str], weights: NDArray[np.float64], label: str | None = None) -> Any:
        """Return scores on bootstrap samples of the images, for all classes or one.

        Parameters
        ----------
        scores : sequence of str
            Names of the scores.
        weights : array of float64, shape (samples, images)
            How often each image occurs in each bootstrap sample.
        label : str, optional
            One class.

        Returns
        -------
        array of float64, shape (samples, scores)
        """
        raise BadParameter(
            f"sure: expected a protocol with a bootstrap over images, found {self.protocol}, which has none"
        )

    def interval(
        self,
        score: str,
        images: int | str | None = None,
        *,
        level: float = 0.95,
        groups: Any = None,
        seed: int = 0,
    ) -> ScoreInterval:
        """Return the confidence interval around a score, by 200 random halves of the images.

        AP of few images lies above AP of many, so that there are two questions: how much the score varies between test
        sets of this size (the default), and what it is on another number of images.

        Parameters
        ----------
        score : str
            The name of the score, such as AP.
        images : int or "all", optional
            The number of images that the interval is for; "all" for infinitely many. By default it is for the mean
            over test sets of this size.
        level : float, default 0.95
            The confidence level.
        groups : sequence, optional
            One value per image, such as its video: whole groups are halved.
        seed : int, default 0
            The seed of the random numbers; the number of threads changes nothing.

        Returns
        -------
        ScoreInterval
            With `value`, `low`, `high`, `level` and `images`.

        Raises
        ------
        DataError
            There are fewer than 100 images, or more than half of the classes occur in fewer than 8 images.
        BadParameter
            A parameter is wrong, or the images of these results cannot be drawn again.

        Examples
        --------
        >>> import verite as vt
        >>> names, boxes = [str(i) for i in range(100)], [[0, 0, 9, 9]] * 100
        >>> truth = vt.Annotations.of(names, ["cat"] * 100, boxes)
        >>> pred = vt.Annotations.of(names[:60], ["cat"] * 60, boxes[:60], confidence=[0.9] * 60)
        >>> found = vt.voc(truth, pred).interval("mAP")
        >>> round(found.value, 2), round(found.low, 1), round(found.high, 1), found.images
        (0.6, 0.5, 0.7, 100)
        """
        from verite.statistics.half_samples import HALVES, check_enough_images, check_images, half_sample_interval
        from verite.statistics.resampling import SampledUnits

        value, check = self[score].value, check_images(images)
        names = [self.truth.images.name(i) for i in range(len(self.truth.images))]
        counted = ~self.truth.ignored
        pairs = np.unique(np.stack([self.truth.label[counted], self.truth.image[counted]]), axis=1)
        check_enough_images(len(names), np.bincount(pairs[0]).tolist() if pairs.size else [])
        units = SampledUnits.of(names, groups)
        halves = np.asarray(self.draw_scores([score], units.half_samples(HALVES, seed)))[:, 0]
        count = None if groups is None else units.effective
        return half_sample_interval(score, value, halves, len(names), units=count, images=check, level=level)

    def draw_class_scores(self, score: str, weights: NDArray[np.float64], labels: Sequence[str]) -> Any:
        """Return a score of some classes on bootstrap samples of the images: [sample, class]."""
        return np.stack([self.draw_scores([score], weights, label)[:, 0] for label in labels], axis=1)

    def bin_means(self, of_truths: Any, of_preds: Any, bins: int, areas: Sequence[tuple[float, float]] = ()) -> Any:
        """Return the first score of the objects in each bin; `of_truths` and `of_preds` give the bin of each object."""
        raise BadParameter(f"slices: expected evaluations that match objects, found {self.protocol}")

    def analyse(self, **settings: Any) -> Any:
        """Analyse the errors behind the score; see :func:`verite.analyse`. The evaluation is not repeated.

        Parameters
        ----------
        **settings
            Settings of :func:`verite.analyse`.
        """
        return hook("analyse")(self, **settings)

    def objects(self, iou: float | None = None) -> ObjectOutcomes:
        """Return a table with one row per object: TP, FP, FN or ignored, for pandas, polars and Arrow.

        Parameters
        ----------
        iou : float, optional
            One of the IoU thresholds; the first one by default.
        """
        from verite.model.outcomes import fates_of

        return fates_of(self, iou)

    def part(self, about: Callable[[Labels], str]) -> Any:
        """Return the partial result of these images; `about` describes the settings that must agree in a merge."""
        raise BadParameter(f"parts: expected a protocol that can be merged, found {self.protocol!r}")

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Return all scores, and the first one per class, by names that W&B, MLflow and TensorBoard accept.

        ``wandb.log(results.flat("val/"))``, ``mlflow.log_metrics(results.flat())``; an absent score is `nan`.

        Parameters
        ----------
        prefix : str, default ''
            Text before each name, such as ``val/``.
        """
        found = {key: score.value for key, score in self.scores.items()}
        headline = next(iter(self.scores))
        by_class = zip(self.class_names, self.class_scores()[headline], strict=True)
        return name_flatly(prefix, [*found.items(), *((f"{headline}/{name}", value) for name, value in by_class)])

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Plot the results on matplotlib's axes, and return them.

        Parameters
        ----------
        kind : {'pr', 'f1', 'classes', 'froc', 'confusion', 'calibration', 'slices'}, optional
            The plot; the last four need results that can be analysed.
        ax : matplotlib.axes.Axes, optional
            The axes; new ones by default.
        """
        return hook("plot")(self, kind, ax)

    def remarks(self) -> list[str]:
        """Return lines on what readers of the scores should know, though no check calls it a mistake."""
        return []

    @property
    def notes(self) -> list[str]:
        """Notes that are printed below the scores."""
        found = [str(interval) for interval in self.intervals.values()]
        found += [self.threshold_note] if self.threshold_note else []
        if not len(self.truth) and all(map(isnan, self.scores.values())):  # merged results have scores, but no objects
            found.append("the ground truth has no objects, so recall and AP are undefined")
        is_rotated = any(side.source.format == "dota" or side.source.has_angles for side in (self.truth, self.pred))
        if is_rotated and self.protocol in ("coco", "voc") and self.words is BOXES:
            found.append(
                f"boxes are rotated; the upright ones around them were compared, see {spell_option('on', 'rotated')}"
            )
        if self.findings:
            cut = describe_cuts({"": self.findings})
            count = len(self.findings) - len(cut)
            found += [*cut, *([f"{count} warning{'s' if count > 1 else ''}, see verite inspect"] if count else [])]
        return [*found, *self.remarks()]

    def contents(self) -> list[Part]:
        headline = "   ".join(f"{key} {show_cell(score.value)}" for key, score in self.scores.items())
        return [f"{self.name}   {headline}", self.class_table(), self.signature, *self.notes]

    def _repr_html_(self) -> str:
        """Return the tables for a notebook, with the worst classes first."""
        from verite.model.styles import render_notebook

        headline = next(iter(self.scores), "")
        sign = -1.0 if headline and self.is_error(headline) else 1.0

        def worst_first(part: Part) -> Part:
            if not isinstance(part, Table) or part.head[:2] != ("class", headline.removeprefix("m")):
                return part
            order = sorted(part.rows, key=lambda row: (row[1] != row[1], sign * row[1] if row[1] == row[1] else 0.0))
            return replace(part, rows=tuple(order))

        return render_notebook([worst_first(part) for part in self.contents()])

    def to_dict(self) -> JsonObject:
        """Return everything as plain values, with the documented keys."""
        return {
            "protocol": self.protocol,
            "signature": str(self.signature),
            "name": self.name,
            **self.details(),
            **({"interval": {key: one.to_dict() for key, one in self.intervals.items()}} if self.intervals else {}),
            "version": __version__,
            "truth": {"path": self.truth.source.path, "digest": digest_for(self.signature, self.truth)},
            "pred": {"path": self.pred.source.path, "digest": digest_for(self.signature, self.pred)},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null. `indent` is the number of spaces per level.

        Besides the keys of `to_dict` it has ``schema``, and ``systems`` with this detector alone, so that documents of
        one and of several detectors can be read in the same way.
        """
        return to_json(with_systems(self.name, self.to_dict()), indent=indent)

    def to_frame(self) -> Any:
        """Return the table per class as a pandas DataFrame (pandas must be installed)."""
        return self.class_table().to_frame()


def digest_for(signature: Signature, annotations: Annotations) -> str:
    """Return the digest of everything a score depends on: an evaluation of boxes ignores polygons and masks."""
    return annotations.box_digest if dict(signature).get("on") == "box" else annotations.digest


def choose_threshold(thresholds: Sequence[float], iou: float | None) -> int:
    """Return the position of an IoU threshold; None stands for the only one.

    >>> choose_threshold((0.5, 0.75), 0.75), choose_threshold((0.5,), None)
    (1, 0)
    """
    known = ", ".join(f"{t:g}" for t in thresholds)
    if iou is None:
        if len(thresholds) > 1:
            raise BadParameter(f"iou: expected one of {known}, at which these results were made, found none")
        return 0
    if not isinstance(iou, Real):
        raise BadParameter(f"iou: expected one of {known}, at which these results were made, found {excerpt(iou)}")
    near = [i for i, t in enumerate(thresholds) if abs(t - iou) < 1e-9]
    if not near:
        raise BadParameter(f"iou: expected {known}, at which these results were made, found {iou:g}")
    return near[0]


def name_flatly(prefix: str, values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return values by unique names of letters, digits and `_ - . /`; classes come after a slash.

    >>> name_flatly("", [("mAP@0.50", 0.5), ("AP/a/b", 0.25), ("AP/a b", 1.0), ("AP/..", 0.0)])
    {'mAP_0.50': 0.5, 'AP/a_b': 0.25, 'AP/a_b_2': 1.0, 'AP/_': 0.0}
    """
    found: dict[str, float] = {}
    for key, value in values:
        score, slash, name = key.partition("/")
        words = ["".join(c if c.isalnum() or c in "_-." else "_" for c in word) for word in (score, name)]
        stem = prefix + words[0] + (slash + (words[1] if words[1].strip(".") else "_") if slash else "")
        count = 1
        while (unique := stem if count == 1 else f"{stem}_{count}") in found:
            count += 1
        found[unique] = float(value)
    return found


def system_name(pred: Annotations) -> str:
    """Return the name of a detector: that of the file with its predictions."""
    return without_suffix(pred.source.path).name or "predictions"


SCHEMA = 2  # of every JSON document; it grows when a key changes its meaning, not when keys are added


def to_json(document: Any, *, indent: int = 0) -> str:
    """Return a JSON document with its schema number; NaN becomes null.

    Parameters
    ----------
    document
        Plain values. A dictionary gets the key ``schema`` first; a list stays as it is.
    indent
        Number of spaces per level; 0 for one line.
    """
    return encode_json({"schema": SCHEMA, **document} if isinstance(document, dict) else document, indent=indent)


def encode_json(document: Any, *, indent: int = 0) -> str:
    """Return strict JSON of plain values as they are, without a schema number; NaN becomes null.

    Parameters
    ----------
    document
        Dictionaries, lists, numbers and texts.
    indent
        Spaces per level; 0 for one line.

    Returns
    -------
    str
        JSON text. Infinity and NaN are not JSON, so that absent values are written as null.
    """
    import msgspec

    data = msgspec.json.encode(document)
    return (msgspec.json.format(data, indent=indent) if indent else data).decode()


def to_small_json(document: JsonObject, *, indent: int = 0) -> str:
    """Return what `to_json` does, for a short document: importing msgspec takes longer than encoding it.

    Parameters
    ----------
    document
        Plain values of a result.
    indent
        Spaces per level; 0 for one line.

    Returns
    -------
    str
        JSON text with the schema number first.
    """
    import json

    separators = (",", ": ") if indent else (",", ":")
    versioned = {"schema": SCHEMA, **without_nan(document)}
    return json.dumps(versioned, indent=indent or None, separators=separators, ensure_ascii=False)


def with_systems(name: str, document: JsonObject) -> JsonObject:
    """Return the document of one detector in the shape of several: its keys, and all of them under ``systems``.

    Parameters
    ----------
    name
        Name of the detector.
    document
        JSON document of its result.

    Examples
    --------
    >>> with_systems("hawk", {"AP": 0.5})
    {'AP': 0.5, 'systems': {'hawk': {'AP': 0.5}}}
    """
    return {**document, "systems": {name: document}}


def without_nan(value: Any) -> Any:
    """Return plain values with None instead of NaN and infinity."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value
