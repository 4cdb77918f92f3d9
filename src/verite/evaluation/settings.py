"""Settings that protocols share: classes, confidence thresholds, checks, shards and threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import IS_COMMAND_LINE, BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.files import read_bytes
from verite.settings import Choice, Count, FileOrContent, Names, Number, Option, Setting, Settings, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from verite.model.annotations import Annotations


# For type checkers: the similarities of the core; a test compares the two lists.
On = Literal["box", "mask", "boundary", "keypoints", "rotated", "point"]

SIMILARITIES: dict[str, str] = dict(_core.similarities())


def on_setting(default: On | None = "box") -> Any:
    """Return the setting `on` of a protocol that can compare by any similarity."""
    *others, last = SIMILARITIES.values()
    return Choice(default, f"Compare {', '.join(others)}, or {last}.", tuple(SIMILARITIES))


LARGEST = float_info.max


@dataclass(frozen=True)
class ClassThresholds:
    """A confidence threshold per class; predictions of classes without one all count."""

    by_label: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "confidence") -> ClassThresholds:
        """Return thresholds from a mapping of class names to confidences; null means no threshold."""
        said = {name: value for name, value in values.items() if value is not None}
        for name, value in said.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
                raise BadParameter(f"{where}: expected a confidence for {name!r}, found {excerpt(value)}")
        return cls(tuple((str(name), float(value)) for name, value in said.items()))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> ClassThresholds:
        """Return thresholds from a JSON file ``{class: confidence}``."""
        from verite.files import find_path
        from verite.formats.json_documents import decode

        expected = "confidences by label, such as the thresholds.json of verite analyse -o"
        document = decode(find_path(path), Any)
        if not isinstance(document, dict):
            raise ReadError(str(path), expected=expected, found=f"a {type(document).__name__}")
        return cls.of(document, str(path))

    def of_labels(self, names: tuple[str, ...] | list[str]) -> NDArray[np.float64]:
        """Return the threshold of each of these classes; -inf for those without one."""
        known = dict(self.by_label)
        return np.array([known.get(name, -np.inf) for name in names])

    def to_dict(self) -> dict[str, float]:
        return dict(self.by_label)

    def __str__(self) -> str:
        import json
        from hashlib import sha256

        spelled = json.dumps(sorted(self.by_label), separators=(",", ":"))
        return f"by label {sha256(spelled.encode()).hexdigest()[:8]}"


class ThresholdSetting(Setting[float | Mapping[str, float] | str | PathLike[str] | ClassThresholds | None, Any]):
    """A confidence threshold, one per class, or a file with one per class; None keeps every prediction."""

    kind = "text"
    takes = "float | Mapping[str, float] | str | PathLike[str]"

    def validate(self, value: Any) -> float | ClassThresholds:
        if isinstance(value, ClassThresholds):
            return value
        if isinstance(value, Mapping):
            return ClassThresholds.of(value)
        if isinstance(value, PathLike) or (isinstance(value, str) and not is_number(value)):
            return ClassThresholds.read(value)
        return self.validate_number(value, isfinite, "a number")


def validate_threshold(value: Any) -> float | ClassThresholds:
    """Return a confidence threshold from a number, a mapping of classes to confidences, or a file with one."""
    setting = ThresholdSetting(None, "")
    setting.name = "confidence"
    return setting.validate(value)


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def highest_threshold(threshold: float | ClassThresholds | None) -> float | None:
    """Return the confidence at and above which predictions of all classes count."""
    if isinstance(threshold, ClassThresholds):
        return max(dict(threshold.by_label).values(), default=None)
    return threshold


def above_threshold(pred: Annotations, threshold: float | ClassThresholds) -> NDArray[np.bool_]:
    """Return which predictions reach the threshold of their class; all if there are no confidences.

    Parameters
    ----------
    pred
        Predictions of all classes.
    threshold
        One confidence threshold, or one per class.

    Returns
    -------
    NDArray[np.bool_]
        A flag per prediction; a confidence equal to the threshold passes.
    """
    if pred.confidence is None:
        return np.ones(len(pred), dtype=np.bool_)
    minimum = (
        threshold.of_labels(pred.labels.all_names)[pred.label] if isinstance(threshold, ClassThresholds) else threshold
    )
    return np.asarray(pred.confidence >= minimum)


def count_left(pred: Annotations, threshold: float | ClassThresholds | None, *, stops: bool = True) -> str:
    """How many predictions reach a confidence threshold, as a sentence; "" where there is no threshold.

    Parameters
    ----------
    pred
        The predictions of the classes that are evaluated.
    threshold
        The threshold, or one per class.
    stops
        Whether a threshold that no prediction reaches is an error: everything evaluated after it would be 0.

    Raises
    ------
    DataError
        If no prediction reaches the threshold, with the highest confidence there is.
    """
    if threshold is None or pred.confidence is None or not len(pred):
        return ""
    left, total = int(above_threshold(pred, threshold).sum()), len(pred)
    said = "of its class" if isinstance(threshold, ClassThresholds) else f"{threshold:g}"
    if left or not stops:
        return f"confidence threshold {said}: {left:,} of {total:,} predictions are left"
    highest = float(np.max(pred.confidence, initial=-np.inf, where=np.isfinite(pred.confidence)))
    message = (
        f"{pred.source.path or 'predictions'}: expected a confidence threshold that some of {total:,} predictions "
        f"reach, found {said}; the highest confidence is {highest:.4g}"
    )
    if not isinstance(threshold, ClassThresholds) and 2 <= threshold <= 100 and highest <= 1:
        remaining = int(above_threshold(pred, threshold / 100).sum())
        option = "--confidence " if IS_COMMAND_LINE.get() else "confidence="
        message += f" ({option}{threshold / 100:g} leaves {remaining:,})" if remaining else ""
    raise DataError(message)


def count_merged(left: int, threshold: float | ClassThresholds | None) -> str:
    """Return the same sentence for merged partial results, which have only the predictions that are left.

    Parameters
    ----------
    left
        Number of predictions in the partial results.
    threshold
        The confidence threshold; None if there was none.

    Returns
    -------
    str
        The sentence, empty without a threshold. It asks whether the threshold is too high if no prediction is left.
    """
    if threshold is None:
        return ""
    said = "of its class" if isinstance(threshold, ClassThresholds) else f"{threshold:g}"
    return f"confidence threshold {said}: {left:,} predictions are left" + ("; is it too high?" if not left else "")


class ObjectNumbers(Setting[Any, Any]):
    """One number per ground-truth object, in their order, such as the visible share; by default those of the file."""

    def validate(self, value: Any) -> Any:
        try:
            given = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("one number per ground-truth object", excerpt(value)) from None
        if given.ndim != 1:
            raise self.refuse("one number per ground-truth object", excerpt(value))
        return tuple(given.tolist())

    def format(self, value: Any) -> object:
        return "given"


Regions = Literal["common", "box", "given"]

Pixel = Literal["continuous", "plus1"]

Ignored = Literal["skip", "count"]

PolygonRule = Literal["coco", "centre"]


class EvaluationSettings(Settings):
    """Settings of every evaluation."""

    name: Option[str | None] = Text(
        None, "Name of the detector in tables and reports.", is_signed=False, is_common=True, has_option=False
    )
    checks: Option[Literal["stop", "warn", "off"]] = Choice(
        "stop", "Response to suspicious input.", ("stop", "warn", "off"), is_signed=False, is_common=True
    )


class ClassSettings(EvaluationSettings):
    """Settings of evaluations with classes."""

    labels: Setting[Iterable[str] | None, tuple[str, ...] | None] = Names(
        None, "Evaluate only this class; may be repeated.", long="class", metavar="NAME", is_common=True
    )

    def check_labels(self, names: Sequence[str]) -> None:
        """Raise `BadParameter` if a chosen class is not among these."""
        for label in self.labels or ():
            if label not in names:
                raise BadParameter(
                    f"labels: expected one of {len(names)} classes, found {label!r}{did_you_mean(label, names)}"
                )

    def describe_threshold(self, pred: Annotations) -> str:
        """How many predictions of the chosen classes reach the confidence threshold; "" where none was given.

        Raises
        ------
        DataError
            If none does, unless checks are off.
        """
        threshold = getattr(self, "confidence", None)
        if threshold is None or pred.confidence is None:
            return ""
        if self.labels is not None:
            pred = pred.only([name for name in pred.labels.all_names if name in set(self.labels)])
        return count_left(pred, threshold, stops=self.checks == "stop")

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Return both sides with the chosen classes alone.

        Parameters
        ----------
        truth
            Ground truth.
        pred
            Predictions, which may lack a chosen class: a detector that never predicts it is not at fault.

        Returns
        -------
        tuple[Annotations, Annotations]
            Both sides; objects of other classes are removed, not ignored.
        """
        if self.labels is None:
            return truth, pred
        return truth.only(self.labels), pred.only([n for n in pred.labels.all_names if n in set(self.labels)])


class ShardedSettings(ClassSettings):
    """Settings of evaluations that can be made in parts."""

    executor: Option[Executor | Callable[[], Executor] | None] = Setting(
        None,
        "Evaluate shards by this concurrent.futures.Executor.",
        is_signed=False,
        is_common=True,
        has_option=False,
        takes="Executor | Callable[[], Executor]",
    )
    parts: Option[int | None] = Count(
        None,
        "Evaluate shards in this many parts, one after another, to save memory.",
        default_text="all at once",
        is_signed=False,
        is_common=True,
        is_rare=True,
    )


THREADS: Option[int | None] = Count(
    None, "Number of threads.", short="-j", default_text="all", is_signed=False, is_common=True
)

IGNORE_REGIONS: Option[float] = Number(
    0.5,
    "Ignore an unmatched prediction of any class with at least this share of its area in an ignore region; 0: none.",
    least=0, most=1, omit_default=True, is_rare=True, metavar="SHARE",
)  # fmt: skip

MAX_IMAGE_DETS: Option[int | None] = Count(
    None, "Predictions per image that count, over all classes.", default_text="all", omit_default=True, is_rare=True
)


class Weights(FileOrContent[Any, Any]):
    """Weights of objects or pixels: a table, a folder of images, or numbers; signatures show a digest of them."""

    def validate(self, value: Any) -> Any:
        found = super().validate(value)
        if isinstance(found, (str, PathLike)):
            return found
        try:
            return tuple(float(weight) for weight in found)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("a file or one weight per object", excerpt(value)) from None

    def format(self, value: Any) -> object:
        if not isinstance(value, (str, PathLike)):
            return f"{_core.digest(repr(value).encode()):016x}"[:8]
        path = Path(value)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        content = [part for file in files if file.is_file() for part in (file.name.encode(), read_bytes(file))]
        return f"{_core.digest(repr([_core.digest(part) for part in content]).encode()):016x}"[:8]


IMPORTANCE: Option[Any] = Weights(
    None,
    "Also AP by weighted recall: a table with the column weight and image, class or id; other objects have weight 1.",
    metavar="FILE",
    is_signed=False,
    is_rare=True,
)

BELOW = "Drop predictions below this confidence; FILE: thresholds.json of verite analyse."


class RankedSettings(ShardedSettings):
    """Settings of evaluations that rank predictions by confidence."""

    confidence: ThresholdSetting = ThresholdSetting(None, BELOW, metavar="C|FILE", default_text="none", is_common=True)

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Return both sides with the chosen classes alone, and predictions that reach the confidence threshold.

        Parameters
        ----------
        truth
            Ground truth.
        pred
            Predictions; without confidences the threshold does not apply.

        Returns
        -------
        tuple[Annotations, Annotations]
            Both sides as they enter matching. Classes go first, so that thresholds per class need only name those
            chosen.
        """
        if self.labels is not None:
            truth, pred = super().choose(truth, pred)
        if self.confidence is not None and pred.confidence is not None:
            pred = pred.where(above_threshold(pred, self.confidence))
        return truth, pred


class Confidence(ThresholdSetting):
    """A confidence threshold that signatures always show."""

    absent = "all"


class ComparisonSettings(ClassSettings):
    """Settings of evaluations that compare regions of different kinds."""

    regions: Option[Regions] = Choice(
        "common", "Compare what both sides have, boxes always, or each region as it is.", Regions, is_common=True
    )
    pixel: Option[Pixel] = Choice(
        "continuous", "A box's width is x2 - x1, or x2 - x1 + 1 (pixel indices).", Pixel, is_common=True, is_rare=True
    )
    polygons: Option[PolygonRule] = Choice(
        "coco",
        "Which pixels a polygon covers: COCO's rule, or those whose middle is inside.",
        PolygonRule,
        is_common=True,
    )
    confidence: Confidence = Confidence(None, BELOW, metavar="C|FILE", default_text="none", is_common=True)
    ignored: Option[Ignored] = Choice(
        "skip",
        "Crowds, groups and difficult objects: skip (ignore them) or count.",
        Ignored,
        is_common=True,
    )
