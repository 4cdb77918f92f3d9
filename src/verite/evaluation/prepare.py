"""Before every evaluation: bring predictions onto the truth's images and labels, and look for everyday mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.checks import Finding, examine_all, stop_on_errors
from verite.errors import BadParameter, DataError
from verite.model.annotations import Annotations
from verite.model.keypoints import Keypoints
from verite.model.regions import Regions
from verite.records import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.outlines import Runs

Checks = Literal["stop", "warn", "off"]
NOT_FINITE = ("V111", "V302", "V424")
NOWHERE = [-1e9, -1e9, 0.0, 0.0]  # left, top, width, height
ABOUT_RANKS = ("V301", "V304")  # what is wrong with predictions only where they are ranked


def prepare(
    truth: Annotations, pred: Annotations, checks: Checks = "stop", *, is_ranked: bool = True, is_exact: bool = False
) -> tuple[Annotations, Annotations, list[Finding]]:
    """Truth and aligned predictions, and what is suspicious about them.

    `stop`: an error among the findings ends the evaluation; `warn`: it is only recorded, and what is not finite is
    found by nothing and finds nothing; `off`: nobody looks. `is_ranked`: the protocol needs confidences. `is_exact`:
    whatever is not finite stays, as in the tool that is repeated.
    """
    if checks not in ("stop", "warn", "off"):
        raise BadParameter(f"checks: expected stop, warn or off, found {checks!r}")
    aligned = pred.like(truth)
    if checks == "off":
        return truth, aligned, []
    findings = [f for f in examine_all(truth, aligned) if is_ranked or f.code not in ABOUT_RANKS]
    if checks == "stop":
        stop_on_errors(findings, {"truth": truth.source.path, "pred": aligned.source.path})
    if is_exact:
        return truth, aligned, findings
    odd = {finding.side for finding in findings if finding.code in NOT_FINITE}
    truth = put_nowhere(truth) if "truth" in odd else truth
    return truth, put_nowhere(aligned) if "pred" in odd else aligned, findings


def put_nowhere(side: Annotations) -> Annotations:
    """The same objects; those whose box or confidence is not finite lie where nothing else is, the least confident."""
    confidence = side.confidence
    is_odd = np.asarray(~np.isfinite(side.regions.values).all(axis=1))
    keypoints = side.regions.keypoints
    if keypoints is not None:
        is_odd[keypoints.owners[~np.isfinite(keypoints.points).all(axis=1)]] = True
    if confidence is not None:
        is_sure = np.isfinite(confidence)
        is_odd = is_odd | ~is_sure
        confidence = np.where(is_sure, confidence, confidence[is_sure].min(initial=0.0))
    old = side.regions
    values = np.where(is_odd[:, None], NOWHERE if old.kept == "xywh" else [*NOWHERE[:2], *NOWHERE[:2]], old.values)
    if keypoints is not None:
        points = np.where(is_odd[keypoints.owners][:, None], [*NOWHERE[:2], 0.0], keypoints.points)
        old = Regions(old.values, old.kept, polygons=old.polygons, runs=old.runs, boxed=old.boxed,
                      keypoints=Keypoints(points, keypoints.objects))  # fmt: skip
    return replace(side, regions=old.with_boxes(values, old.kept), confidence=confidence)


def check_mask_sizes(side: Annotations, rows: NDArray[np.integer[Any]], masks: Runs) -> None:
    """Masks of another size than their image, where both are known, overlap nothing, and nobody would know why."""
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
