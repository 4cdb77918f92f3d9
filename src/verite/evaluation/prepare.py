"""Preparation of an evaluation: align predictions with the ground truth, run the checks, explain low scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.checks import Finding, examine_all, stop_on_errors
from verite.checks.check import FEW_MASKS
from verite.errors import BadParameter, DataError, excerpt, give_sizes, ignore_classes
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.results import MatchedResults
from verite.model.annotations import Annotations
from verite.model.keypoints import Keypoints
from verite.model.layouts import words_of
from verite.model.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.model.polygons import RLEMasks
    from verite.model.results import Results


LOW_SCORE = 0.05  # scores below get a note on the likeliest cause

LOW_RECALL = 0.25  # recall without regard to class, below which the boxes are the likeliest cause

SOME_RECALL = 0.05  # the same, from which differing classes may be the cause

HALF = 0.5  # the IoU threshold of these recalls, and the recall from which boxes are no cause


def explain_low_score(results: Results) -> list[str]:
    """Return a note if the first score is below 0.05 although both sides have objects, or if it is absent."""
    score = next(iter(results.scores.values()))
    if score != score and len(results.truth):
        count = f"all {len(results.truth):,} objects of the ground truth"
        return [f"no {score.name}: {count} are crowds or ignored otherwise"]
    if not score < LOW_SCORE or not len(results.truth) or not len(results.pred):
        return []
    # The likeliest cause of a low score, from the recall with classes and the recall without them.
    kept = matches_by_half(results)
    recall, words = first_recall(kept), words_of(kept.rules.similarity)
    # At most twice as many objects can be detected without classes then: classes are not the cause.
    any_recall = recall  # at IoU 0.5 if classes are ignored
    if recall < HALF and len(kept.counts[0]) != 1:
        rules = replace(kept.rules, thresholds=(HALF,), class_agnostic=True, allow_unknown_classes=True)
        any_recall = first_recall(Evaluation(kept.truth, kept.pred, rules, kept.threads))
    is_of_classes = any_recall >= SOME_RECALL and recall < any_recall / 4
    if any_recall < LOW_RECALL and is_of_classes:
        truths, preds = (len(set(side.label.tolist())) for side in (kept.truth, kept.pred))
        cause = (
            f"classes differ: {100 * any_recall:.0f} % of the objects are detected at {words.overlap} {HALF}, "
            f"{100 * recall:.0f} % with their class; ground truth has {truths:,} classes, predictions have {preds:,}: "
            f"do both number the same list of classes? ({ignore_classes()})"
        )
    elif any_recall < LOW_RECALL:
        from verite.checks.images import match_no_better_than_other_images

        share = f"{100 * (1 - any_recall):.0f} % of the objects"
        mixed = ", as with the predictions of other images (are image ids or names mixed up?)"
        cause = f"{words.many} do not match: no prediction reaches {words.overlap} {HALF} with {share}" + (
            mixed if match_no_better_than_other_images(kept.truth, kept.pred) else ""
        )
    elif recall < any_recall / 2:
        shares = f"{100 * any_recall:.0f} % of the objects are detected, {100 * recall:.0f} % with their class"
        cause = f"{words.many} match, classes do not: {shares} ({ignore_classes()})"
    else:
        cause = (
            f"{100 * recall:.0f} % of the objects are detected, but by "
            f"{len(kept.pred) / max(len(kept.truth), 1):.1f} predictions per object, "
            "whose confidences do not separate true from false positives"
        )
    return [f"{score.name} is below {LOW_SCORE}: {cause}; see verite inspect TRUTH PRED"]


def matches_by_half(results: Results) -> Evaluation:
    """Return the matching at IoU 0.5: that of the results if they have it, else one of boxes."""
    kept = results.evaluation if isinstance(results, MatchedResults) else None
    if isinstance(kept, Evaluation) and kept.rules.thresholds[0] == HALF:
        return kept
    return Evaluation(results.truth, results.pred, Rules((HALF,), "corner_box", allow_unknown_classes=True))


def first_recall(kept: Evaluation) -> float:
    """Return the recall at the first IoU threshold, of the objects of all classes."""
    truths, recalls = kept.counts[0], kept.class_means("recall", 0, 0, len(kept.rules.limits) - 1)
    found = sum(recall * count for recall, count in zip(recalls, truths, strict=True) if count)
    return found / max(sum(truths), 1)


Checks = Literal["stop", "warn", "off"]

NOT_FINITE = ("V111", "V302", "V424")
MOST_AREA = 1e300  # of a box, as in V111: the areas of larger ones overflow where they are added

# Left and top of boxes without a size; another place for each side, since by VOC's rules they have a pixel.
NOWHERE = {"truth": (-1e9, -1e9), "pred": (-2e9, -2e9)}

ABOUT_RANKS = ("V301", "V304")  # checks that apply only if predictions are ranked by confidence

ABOUT_SIZES = ("V110", "V113")  # checks of widths, heights and areas, which points do not have

ABOUT_SHAPES = ("V407",)  # checks of polygons and masks, which boxes do not need

ABOUT_AP = ("V308",)  # checks that apply only to average precision, which needs low confidences, too


def prepare(
    truth: Annotations,
    pred: Annotations,
    checks: Checks = "stop",
    *,
    is_ranked: bool = True,
    is_exact: bool = False,
    is_ap: bool = True,
    is_point: bool = False,
    measures: Literal["boxes", "masks", "either"] = "either",
) -> tuple[Annotations, Annotations, list[Finding]]:
    """Align predictions with the ground truth and run the checks.

    Parameters
    ----------
    truth, pred
        Both sides.
    checks
        ``stop``: an error among the findings is raised; ``warn``: it is recorded, and objects that are not finite match
        nothing; ``off``: no checks.
    is_ranked
        Whether the protocol ranks predictions by confidence.
    is_exact
        Whether values that are not finite stay, because another tool is emulated.
    is_ap
        Whether the protocol computes average precision.
    is_point
        Whether points are compared, which have no size.
    measures
        What is compared. For boxes, checks of polygons and masks are left out, which need NumPy; for masks, polygons
        that are rectangles are named, too.

    Returns
    -------
    tuple
        Ground truth, aligned predictions and findings.

    Raises
    ------
    DataError
        If a check finds an error and `checks` is ``stop``.
    """
    if not isinstance(checks, str) or checks not in ("stop", "warn", "off"):
        raise BadParameter(f"checks: expected stop, warn or off, found {excerpt(checks)}")
    aligned = pred.like(truth)
    if checks == "off":
        return truth, aligned, []
    inapplicable = (*(() if is_ranked else ABOUT_RANKS), *(() if is_ranked and is_ap else ABOUT_AP))
    inapplicable = (*inapplicable, *(ABOUT_SIZES if is_point else ()), *(ABOUT_SHAPES if measures == "boxes" else ()))
    findings = [f for f in examine_all(truth, aligned, inapplicable) if f.code not in inapplicable]
    if measures == "masks" and may_be_rectangles(truth):
        from verite.checks.parts import find_masks_that_are_boxes
        from verite.checks.sample import Side

        findings += find_masks_that_are_boxes(Side(truth, is_truth=True))
    if findings and checks == "stop":
        stop_on_errors(findings, {"truth": truth.source.path, "pred": aligned.source.path})
    if is_exact:
        return truth, aligned, findings
    odd = {finding.side for finding in findings if finding.code in NOT_FINITE}
    truth = neutralise_non_finite(truth, NOWHERE["truth"]) if "truth" in odd else truth
    return truth, neutralise_non_finite(aligned, NOWHERE["pred"]) if "pred" in odd else aligned, findings


def may_be_rectangles(truth: Annotations) -> bool:
    """Tell whether most polygons may be boxes, by the areas of a sample: the check itself needs NumPy."""
    if len(truth) < FEW_MASKS:
        return False
    is_xywh, found = truth.regions.kept == "xywh", []
    for row in range(0, len(truth), max(1, len(truth) // 50)):
        _, (x, y, third, fourth), _, _, area = truth.columns.describe(row)
        whole = third * fourth if is_xywh else (third - x) * (fourth - y)
        found.append(area is None or abs(area - whole) <= 1e-3 * whole)
    return 2 * sum(found) > len(found)


def need_pixels(truth: Annotations, reason: str = "", otherwise: str = "") -> None:
    """Raise `DataError` if boxes are fractions of images of unknown size.

    Parameters
    ----------
    truth
        The ground truth; aligned predictions have its unit.
    reason
        What pixels are needed for.
    otherwise
        What else helps than to give the sizes.
    """
    if truth.unit == "rel":
        raise DataError(
            f"{truth.source.path or 'truth'}: expected boxes in pixels{f' for {reason}' * bool(reason)}, found "
            f"fractions of the image; {give_sizes()}{f', or {otherwise}' * bool(otherwise)}"
        )


def probabilities(pred: Annotations, otherwise: str = "") -> NDArray[np.float64]:
    """Return the confidence of predictions, 1 for those without one.

    Parameters
    ----------
    pred
        Predictions.
    otherwise
        What else helps than to divide the confidences.

    Raises
    ------
    DataError
        If one is outside 0 to 1, such as a percentage or a logit.
    """
    if pred.confidence is None:
        return np.ones(len(pred))
    values = np.where(pred.flag("unscored"), 1.0, pred.confidence)
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        where = pred.images.name(int(pred.image[wrong[0]]))
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected confidences from 0 to 1, found {values[wrong[0]]:g} in "
            f"image {where!r}, one of {len(wrong):,}; divide them{f', or give {otherwise}' * bool(otherwise)}"
        )
    return values


def neutralise_non_finite(side: Annotations, place: tuple[float, float]) -> Annotations:
    """Return the same objects; those that are not finite move far away, with the lowest confidence."""
    confidence = side.confidence
    with np.errstate(over="ignore", invalid="ignore"):
        areas, sums = side.regions.sizes[:, 2:].prod(axis=1), side.regions.values.sum(axis=1)
    is_odd = np.asarray(~(np.isfinite(sums) & (np.abs(areas) <= MOST_AREA)))
    keypoints = side.regions.keypoints
    if keypoints is not None:
        is_odd[keypoints.owners[~np.isfinite(keypoints.points).all(axis=1)]] = True
    if confidence is not None:
        is_finite = np.isfinite(confidence)
        is_odd = is_odd | ~is_finite
        confidence = np.where(is_finite, confidence, confidence[is_finite].min(initial=0.0))
    old = side.regions
    values = np.where(is_odd[:, None], [*place, 0.0, 0.0] if old.kept == "xywh" else [*place, *place], old.values)
    if keypoints is not None:
        points = np.where(is_odd[keypoints.owners][:, None], [*place, 0.0], keypoints.points)
        old = Regions(old.values, old.kept, polygons=old.polygons, runs=old.runs, boxed=old.boxed,
                      keypoints=Keypoints(points, keypoints.objects))  # fmt: skip
    return replace(side, regions=old.with_boxes(values, old.kept), confidence=confidence)


def check_mask_sizes(side: Annotations, rows: NDArray[np.integer[Any]], masks: RLEMasks) -> None:
    """Raise `DataError` if a mask has another size than its image: it could overlap nothing."""
    images = side.image[rows]
    wanted = np.stack([side.images.heights[images], side.images.widths[images]], axis=1)
    is_known = (wanted > 0).all(axis=1) & (masks.sizes > 0).all(axis=1)
    odd = np.flatnonzero(is_known & (wanted != masks.sizes).any(axis=1))
    if len(odd):
        (height, width), (rows_found, columns_found) = wanted[odd[0]], masks.sizes[odd[0]]
        raise DataError(
            f"{side.source.path or 'annotations'}: image {side.images.name(int(images[odd[0]]))!r}: expected a mask of "
            f"{width} × {height} pixels as the image, found {columns_found} × {rows_found}; "
            f"{len(odd)} of {len(rows)} differ"
        )
