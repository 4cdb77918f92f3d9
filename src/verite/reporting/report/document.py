"""The document of a report: every number it shows, as frozen dataclasses that are embedded as JSON.

The document is built once, before anything is drawn; sections read it and never change it. Names in Python are those of
the field, keys of the JSON are those that earlier versions wrote: `KEYS` of a record names the keys that differ from
its fields (None: the field is not embedded). A field whose default is None is embedded only where it has a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from verite.model.layouts import Words

REVISION = 1

Json: TypeAlias = Any  # plain values as JSON has them, written by another package's `to_dict`
Outline: TypeAlias = list[list[list[float]]]  # closed rings of [x, y] in pixels
Value = TypeVar("Value")

NUMBERS = frozenset({int, float, bool, type(None)})
PLAIN = NUMBERS | {str}


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A record read from JSON that another package writes.

    Its fields are what the report shows; `json` is embedded as it is.
    """

    json: Mapping[str, Json]


def to_plain(value: Any) -> Json:
    """Return a dataclass, a collection or a number as plain values, by the keys of the JSON document."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list or kind is tuple:
        return [inner if type(inner) in PLAIN else to_plain(inner) for inner in value]
    if isinstance(value, Quoted):
        return to_plain(value.json)
    if is_dataclass(value):
        keys = getattr(kind, "KEYS", {})
        found = {}
        for one in fields(value):
            key, inner = keys.get(one.name, one.name), getattr(value, one.name)
            if key is not None and not (inner is None and one.default is None):
                found[key] = to_plain(inner)
        return found
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    return [to_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def clean(value: Value) -> Value:
    """Return a copy whose texts can be written as UTF-8: a lone surrogate becomes a question mark."""
    found: Any = value
    if type(value) in NUMBERS:
        return value
    if isinstance(value, str):
        found = value if value.isprintable() else value.encode("utf-8", "replace").decode()
    elif isinstance(value, (list, tuple)):
        found = type(value)(inner if type(inner) in NUMBERS else clean(inner) for inner in value)
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{one.name: clean(getattr(value, one.name)) for one in fields(value)})
    elif isinstance(value, Mapping):
        found = {clean(key): clean(inner) for key, inner in value.items()}
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True)
class GroundTruth:
    """File and size of the ground truth, and the number of objects of each class.

    Attributes
    ----------
    file, format, digest
        Name of the file without its folder, its format, and a digest of what the scores depend on.
    objects, ignored
        Objects that are counted, and those that are ignored (crowd, difficult, outside the area range).
    images, classes
        Number of images, and of classes with objects.
    class_names, class_objects
        Names of all classes, and the number of counted objects of each.
    unit
        Unit of lengths, such as px.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {
        "ignored": "set_aside",
        "class_names": "labels",
        "class_objects": "asked",
    }

    file: str
    format: str
    digest: str
    objects: int
    ignored: int
    images: int
    classes: int  # those with objects
    class_names: tuple[str, ...]
    class_objects: tuple[int, ...]
    unit: str


@dataclass(frozen=True)
class OperatingPoint:
    """Counts and rates at one confidence threshold.

    Attributes
    ----------
    confidence
        The threshold: predictions with at least this confidence are counted.
    true_positives, false_positives, missed
        Counts over all classes; missed objects are false negatives.
    precision, recall, f1
        Micro averages over all objects; None where they are undefined.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {"true_positives": "right", "false_positives": "wrong"}

    confidence: float
    true_positives: int
    false_positives: int
    missed: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class ThresholdCounts:
    """True and false positives of all classes at each of 101 confidence thresholds.

    Attributes
    ----------
    confidences
        Rising thresholds.
    true_positives, false_positives
        Counts at each threshold.
    objects, images
        Number of counted ground-truth objects and of images.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {
        "confidences": "steps",
        "true_positives": "right",
        "false_positives": "wrong",
        "objects": "truths",
    }

    confidences: tuple[float, ...]
    true_positives: tuple[int, ...]
    false_positives: tuple[int, ...]
    objects: int
    images: int

    def rates(self, k: int) -> tuple[float, float, float]:
        """Return precision, recall and F1 at threshold k; NaN where no prediction is left."""
        right, wrong, objects = self.true_positives[k], self.false_positives[k], self.objects
        nan = float("nan")
        return (
            right / (right + wrong) if right + wrong else nan,
            right / objects if objects else nan,
            2 * right / (right + wrong + objects) if right + wrong + objects else nan,
        )

    @property
    def is_constant(self) -> bool:
        """Whether every threshold keeps the same predictions, as where they have no confidences."""
        return len({*self.true_positives}) <= 1 and len({*self.false_positives}) <= 1

    def nearest(self, confidence: float) -> int:
        """Return the position of the threshold nearest to a confidence."""
        return min(range(len(self.confidences)), key=lambda k: abs(self.confidences[k] - confidence))


@dataclass(frozen=True)
class ThresholdScore:
    """AP and AR at one IoU threshold."""

    KEYS: ClassVar[Mapping[str, str | None]] = {"ap": "AP", "ar": "AR"}

    iou: float
    ap: float
    ar: float | None


@dataclass(frozen=True, kw_only=True)
class ErrorCosts(Quoted):
    """Cost in AP, gain if fixed alone, and count of each TIDE error type; the costs sum to 1 − AP.

    Attributes
    ----------
    ap
        The score that is explained.
    cost, alone
        By error type: mean gain over every order of fixing the types, and gain if only this type were fixed.
    counts
        Number of errors at IoU threshold `iou`, at all confidences.
    """

    ap: float
    cost: Mapping[str, float]
    alone: Mapping[str, float]
    counts: Mapping[str, int]
    iou: float

    @classmethod
    def of(cls, part: Mapping[str, Json]) -> ErrorCosts:
        """Read the JSON of the analysis part `errors`."""
        keys = ("cost", "alone", "counts", "iou")
        return cls(ap=part["F1" if "F1" in part else "AP"], **{key: part[key] for key in keys}, json=part)

    def falling(self) -> list[tuple[str, float]]:
        """Return (error type, cost in AP) by falling cost, without types that cost less than 0.0005."""
        known = [(kind, value) for kind, value in self.cost.items() if value is not None and value >= 0.0005]
        return sorted(known, key=lambda one: -one[1])


@dataclass(frozen=True)
class Detector:
    """One detector: its file, scores, counts by confidence threshold, and what its errors cost.

    Attributes
    ----------
    name, file, digest, signature
        What was evaluated, and with which settings.
    predictions, ignored
        Number of predictions, and of those that are neither true nor false positives.
    headline, scores
        The first score of the protocol, by which detectors are ranked, and all scores.
    thresholds
        AP and AR at each IoU threshold.
    types, choices
        Names of the types of predictions ("right", then error types) and of per-class confidence thresholds, as the
        script knows them.
    steps, best
        Counts at every confidence threshold, and at the confidence of the best F1.
    iou
        IoU threshold of a true positive in all counts.
    errors, signatures
        Error costs, and the signature of each part of the analysis; None without one.
    cut_at
        The lowest confidence in the file where predictions were cut at a threshold; None if they were not.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {"predictions": "preds", "ignored": "set_aside", "iou": None}

    name: str
    file: str
    digest: str
    signature: str
    predictions: int
    ignored: int
    headline: float  # the first score of the protocol
    scores: Mapping[str, float]
    thresholds: tuple[ThresholdScore, ...]
    types: tuple[str, ...]  # "right" and the error types of predictions
    choices: tuple[str, ...]  # names of per-class thresholds; "" for the default one
    steps: ThresholdCounts
    best: OperatingPoint  # at the confidence of the best F1
    iou: float  # of true positives
    errors: ErrorCosts | None = None
    signatures: Mapping[str, str] | None = None  # of each part of the analysis
    cut_at: float | None = None  # lowest confidence, where predictions were cut at a threshold (V308)


@dataclass(frozen=True)
class Gap:
    """Difference of a score to the next detector, with its 95 % confidence interval (paired bootstrap)."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RankedDetector:
    """Row of the leaderboard: a score, and how reliable its rank is by source of uncertainty.

    Attributes
    ----------
    score, sd, bias
        The score, its bootstrap standard deviation, and by how much it lies above that on infinitely many images.
    gap
        Difference to the next detector; None for the last.
    p_first, p_keeps
        Shares of simulations in which it is first and keeps its rank: annotation errors, bootstrap of images, and both.
    ranks
        Lowest and highest rank that cannot be excluded.
    flip
        Smallest number of annotations found whose removal swaps this detector with the next.
    p_first_images
        Probability of being first on all images, by shrinkage of the scores.
    """

    name: str
    score: float
    sd: float | None
    bias: float | None
    gap: Gap | None
    p_first: Mapping[str, float | None]
    p_keeps: Mapping[str, float | None]
    ranks: tuple[int, int]  # those that cannot be excluded
    flip: int | None
    p_first_images: float | None = None

    @property
    def keeps(self) -> float | None:
        """Share of simulations in which the rank is kept, of annotation errors and images where both were simulated."""
        known = (self.p_keeps.get(key) for key in ("both", "images", "errors"))
        return next((value for value in known if value is not None and value == value), None)


@dataclass(frozen=True)
class DecisiveAnnotation:
    """An annotation that changes a gap between neighbouring ranks most, if wrong; `truth` or `pred` is its outline."""

    image: int
    label: str
    reason: str
    truth: Outline | None = None
    pred: Outline | None = None
    window: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Ranking(Quoted):
    """Reliability of the ranking by the first score, and the annotations that decide it.

    Attributes
    ----------
    metric, signature
        The score by which detectors are ranked, and the signature of the leaderboard.
    draws, resample, assumption
        Number of resamples, what is resampled, and the simulated annotation errors in words.
    detectors
        Rows of the leaderboard, best first.
    groups
        Groups of statistically tied detectors.
    whole_order
        Share of simulations in which the whole ranking is kept, by source of uncertainty.
    decisive
        Annotations with the largest influence on the first rank.
    """

    metric: str
    signature: str
    draws: int
    resample: str
    assumption: str
    detectors: tuple[RankedDetector, ...]
    groups: tuple[tuple[str, ...], ...]  # of statistically tied detectors
    whole_order: Mapping[str, float | None]
    decisive: tuple[DecisiveAnnotation, ...]

    @classmethod
    def of(cls, board: Mapping[str, Json], decisive: tuple[DecisiveAnnotation, ...]) -> Ranking:
        """Read the JSON of a leaderboard."""
        rows = []
        for one in board["detectors"]:
            gap = one.get("gap")
            rows.append(
                RankedDetector(
                    one["name"], one["score"], one.get("sd"), one.get("bias"),
                    Gap(gap["value"], gap["low"], gap["high"]) if gap else None,
                    one.get("p_first") or {}, one.get("p_keeps") or {}, tuple(one["places"]), one.get("flip"),
                    one.get("p_first_images"),
                )
            )  # fmt: skip
        return cls(
            metric=board["metric"],
            signature=board.get("signature") or "",
            draws=board["draws"],
            resample=board.get("resample") or "",
            assumption=board.get("assumption") or "",
            detectors=tuple(rows),
            groups=tuple(tuple(group) for group in board.get("groups") or ()),
            whole_order=board.get("whole_order") or {},
            decisive=decisive,
            json=dict(board) | {"look": to_plain(decisive)},
        )

    def of_detector(self, name: str) -> RankedDetector | None:
        """Return the row of a detector."""
        return next((one for one in self.detectors if one.name == name), None)


@dataclass(frozen=True)
class Images:
    """Names, sizes and links of images, by position in the ground truth (as text, the key of JSON objects)."""

    names: Mapping[str, str]
    sizes: Mapping[str, tuple[float, float]]  # of those shown in the report
    links: Mapping[str, str]  # to image files

    def name(self, image: int) -> str:
        """Return the name of an image; "" where it is not listed."""
        return self.names.get(str(image), "")

    def size(self, image: int) -> tuple[float, float] | None:
        """Return width and height of an image that the report shows."""
        return self.sizes.get(str(image))


@dataclass(frozen=True, kw_only=True)
class Finding(Quoted):
    """A finding of the checks and the detector it concerns, or "truth"."""

    code: str
    severity: str
    of: str
    message: str
    fix: str
    options: str


@dataclass(frozen=True)
class StoredPredictions:
    """Which predictions of a detector are stored in the report, to be opened by its script.

    Attributes
    ----------
    layout
        Name, JavaScript array type, bytes and compressed bytes of each packed column.
    kept, left_out
        Number of predictions that are stored, and that did not fit the budget.
    left_out_below
        Highest confidence of those that are not stored.
    """

    layout: list[list[Json]]
    kept: int
    left_out: int
    left_out_below: float | None = None  # the highest confidence of those that are not stored


@dataclass(frozen=True)
class StoredObjects:
    """The objects stored in the report, as compressed columns.

    Attributes
    ----------
    scale, fine
        Pixels of one unit of a coordinate, and levels of confidence between two thresholds.
    layout
        Name, JavaScript array type, bytes and compressed bytes of each packed column of the ground truth.
    opened, outlined
        Number of images that can be opened, and of those whose objects have outlines, where not all do.
    predictions
        What is stored of each detector.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {"predictions": None}

    scale: float  # pixels of one unit of a coordinate
    fine: int  # levels of confidence between two thresholds
    layout: list[list[Json]]
    opened: int | None = None  # images that can be opened, where not all can
    outlined: int | None = None  # images whose objects have outlines, where not all have
    predictions: tuple[StoredPredictions, ...] = ()

    def add_to(self, plain: dict[str, Json]) -> dict[str, Json]:
        """Add to a document what is stored, of the ground truth and of each detector."""
        plain["packed"] = to_plain(self)
        for place, one in zip(plain["systems"], self.predictions, strict=True):
            place["packed"] = to_plain(one)
        return plain


@dataclass(frozen=True)
class ReportDocument:
    """Everything a report shows.

    The fields of a section's data are keys of the embedded JSON document: of the whole one, or of each detector where
    the section shows one detector at a time.

    Attributes
    ----------
    report
        Revision of the document.
    title, protocol, measured
        Title, evaluation protocol, and in words what is compared, such as "COCO, boxes".
    words
        What the compared objects and their similarity are called: boxes and IoU, poses and OKS.
    changed, settings
        Settings of protocol and analysis that are not the defaults, and settings of the report.
    truth, detectors
        Ground truth, and detectors, the best first.
    is_error
        Whether the first score is an error: lower is better.
    ranking
        Reliability of the ranking; None for one detector.
    findings, is_checked
        Findings of the checks, and whether the checks ran.
    images, image_mode
        Names, sizes and links of images, and how they are included: link, embed or none.
    command, check
        Commands that reproduce and verify the report.
    sections
        Data of each section by its id; of a section per detector a tuple.
    """

    KEYS: ClassVar[Mapping[str, str | None]] = {
        "changed": None,
        "settings": None,
        "detectors": "systems",
        "ranking": "leaderboard",
        "image_mode": None,
        "sections": None,
        "is_error": None,
    }

    report: int  # revision of the document
    title: str
    protocol: str
    measured: str  # protocol and what is compared, such as "COCO, boxes"
    words: Words
    version: str
    changed: Mapping[str, str]  # settings of protocol and analysis that are not the defaults
    settings: Mapping[str, Json]  # of the report
    truth: GroundTruth
    detectors: tuple[Detector, ...]
    ranking: Ranking | None
    findings: tuple[Finding, ...]
    is_checked: bool
    images: Images
    image_mode: str
    command: str
    check: str
    sections: Mapping[str, Any]
    is_error: bool = False

    @property
    def score(self) -> str:
        """Name of the first score, by which detectors are ranked."""
        return next(iter(self.detectors[0].scores), "AP")

    def data_of(self, id: str, detector: int | None = None) -> Any:
        """Return the data of a section, or of one detector in it; None where it has none."""
        data = self.sections.get(id)
        return data if detector is None or data is None else data[detector]

    def to_plain(self, links: Mapping[str, str] | None = None, unreadable: Sequence[str] = ()) -> dict[str, Json]:
        """Return the document as JSON has it.

        `links` (to images inside the report) are known once the sections are drawn; so is which image files were
        `unreadable`.
        """
        plain: dict[str, Json] = to_plain(self)
        plain["settings"] = {"changed": dict(self.changed), "page": dict(self.settings)}
        plain["pictures"] = {"mode": self.image_mode, "broken": list(unreadable)}
        plain["images"]["links"] |= links or {}
        for data in self.sections.values():
            for place, one in zip(plain["systems"], data, strict=True) if isinstance(data, tuple) else [(plain, data)]:
                place |= {} if one is None else to_plain(one)
        return plain
