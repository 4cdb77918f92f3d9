"""Sigmas of object keypoint similarity (OKS): given, from the ground-truth file, or of a known skeleton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt, spell_option
from verite.model.keypoints import SIGMAS, check_sigmas, spell_sigmas
from verite.settings import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.protocols.coco import CocoSettings

POSE_AREA = 0.53  # of a box: what CrowdPose's evaluator (crowdpose-api) and Ultralytics take for the area of a person
SKELETONS = "17 keypoints (COCO) or 14 (CrowdPose)"


class Sigmas(Setting[Any, Any]):
    """One sigma per keypoint, a name out of SIGMAS, a file of numbers, or `truth`: those of the ground-truth file."""

    kind = "path"
    takes = "str | PathLike[str] | Sequence[float]"

    def __init__(self, *, omit_default: bool = False) -> None:
        super().__init__(
            None,
            f"OKS sigma of each keypoint: a file of numbers, {', '.join(SIGMAS)}, or truth.",
            metavar="FILE",
            default_text="the ground truth's, else those of COCO or CrowdPose",
            omit_default=omit_default,
            is_rare=True,
        )

    def validate(self, value: Any) -> Any:
        if isinstance(value, (str, PathLike)):
            word = fspath(value)
            if word == "truth":
                return word
            return SIGMAS[word] if word in SIGMAS else read_sigmas(word)
        return check_sigmas(value)

    def format(self, value: Any) -> object:
        return value if isinstance(value, str) else spell_sigmas(value)


def read_sigmas(path: str) -> tuple[float, ...]:
    """Return sigmas from a file: numbers separated by blanks, commas or lines, or a JSON list."""
    from verite.files import find_path, read_text

    try:
        file = find_path(path)
    except ReadError as error:
        names = (*SIGMAS, "truth")
        raise BadParameter(
            f"sigmas: expected {', '.join(names)} or a file; {error}{did_you_mean(path, names)}"
        ) from None
    words = read_text(file).strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    try:
        return check_sigmas([float(word) for word in words], f"sigmas: {path}")
    except ValueError as error:
        if isinstance(error, BadParameter):
            raise
        odd = next(word for word in words if not is_float(word))
        raise BadParameter(f"sigmas: {path}: expected numbers, found {excerpt(odd)}") from None


def is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def choose_sigmas(settings: CocoSettings, truth: Annotations, pred: Annotations) -> tuple[tuple[float, ...], ...]:
    """Return the sigmas of each class; none unless keypoints are compared."""
    if settings.on != "keypoints":
        return ()
    labels = truth.labels
    sides = [side.columns.count_keypoints(len(labels)) for side in (truth, pred)]
    counts = [max(both) for both in zip(*sides, strict=True)]
    if isinstance(settings.sigmas, tuple):
        return tuple(settings.sigmas if count else () for count in counts)
    stated = [skeleton.sigmas for skeleton in labels.skeletons or ()] or [()] * len(labels)
    known = {len(values): values for values in SIGMAS.values()} if settings.sigmas is None else {}
    chosen = [(own or known.get(count, ())) if count else () for own, count in zip(stated, counts, strict=True)]
    for i, (sigmas, count) in enumerate(zip(chosen, counts, strict=True)):
        if count and not sigmas:
            where = f"{truth.source.path or 'truth'}: class {labels.name(i)!r}"
            expected = "sigmas in its category" if settings.sigmas == "truth" else f"sigmas, or {SKELETONS}"
            raise DataError(
                f"{where}: expected {expected}, found {count} keypoints and none; give {spell_option('sigmas', 'FILE')}"
            )
    return tuple(chosen)


def pose_areas(truth: Annotations) -> NDArray[np.float64]:
    """0.53 · width · height of every box."""
    sizes = truth.regions.sizes
    return np.asarray(sizes[:, 3] * sizes[:, 2] * POSE_AREA)


def fill_crowdpose_areas(truth: Annotations, sigmas: tuple[tuple[float, ...], ...]) -> Annotations:
    """Return the ground truth with CrowdPose's areas if none are stated and CrowdPose's sigmas are used.

    Parameters
    ----------
    truth
        Ground truth with keypoints.
    sigmas
        Fall-offs of OKS per class; CrowdPose's mark the dataset.

    Returns
    -------
    Annotations
        The ground truth; areas that a file states stay.
    """
    classes = [i for i, own in enumerate(sigmas) if own == SIGMAS["crowdpose"]]
    if not classes:
        return truth
    stated = np.full(len(truth), np.nan) if truth.area is None else truth.area
    is_missing = np.isnan(stated) & np.isin(truth.label, classes)
    return replace(truth, area=np.where(is_missing, pose_areas(truth), stated)) if is_missing.any() else truth


def name_sigmas(asked: Any, used: Iterable[tuple[float, ...]]) -> Any:
    """Return the sigmas for the signature: the numbers if all classes have the same, else their source."""
    different = {sigmas for sigmas in used if sigmas}
    return different.pop() if len(different) == 1 else "truth" if different else asked
