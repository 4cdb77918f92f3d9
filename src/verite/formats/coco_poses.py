"""What does a COCO file say of the keypoints of its classes? Names, a skeleton, and sigmas where it has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verite import _core
from verite.errors import BadParameter, ReadError, excerpt
from verite.model.skeletons import Skeleton, check_sigmas


def skeletons_of(path: Path, file: _core.CocoFile) -> list[Skeleton] | None:
    """A skeleton for each class; None where no class has one."""
    poses = file.class_poses()
    if not any(any(texts) for texts in poses):
        return None
    return [skeleton_of(f"{path}: categories[{i}]", *texts) for i, texts in enumerate(poses)]


def skeleton_of(place: str, keypoints: str, skeleton: str, sigmas: str) -> Skeleton:
    """One class, from the JSON of its three keys; edges that lead nowhere are left out."""
    import json

    names, edges, spreads = (json.loads(text) if text else [] for text in (keypoints, skeleton, sigmas))
    if not is_list_of(names, str):
        raise ReadError(f"{place}.keypoints", expected="a list of names", found=excerpt(keypoints))
    if not isinstance(edges, list) or not all(is_list_of(edge, int) and len(edge) == 2 for edge in edges):
        raise ReadError(f"{place}.skeleton", expected="pairs of keypoints, counted from 1", found=excerpt(skeleton))
    if not is_list_of(spreads, (int, float)):
        raise ReadError(f"{place}.sigmas", expected="a list of numbers", found=excerpt(sigmas))
    try:
        known = check_sigmas(spreads) if spreads else ()
    except BadParameter as error:
        raise ReadError(f"{place}.sigmas", expected="numbers above 0", found=str(error).split("found ")[-1]) from None
    within = range(1, len(names) + 1)
    return Skeleton(tuple(names), tuple((a - 1, b - 1) for a, b in edges if a in within and b in within), known)


def is_list_of(values: Any, kind: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def facts_of(skeleton: Skeleton) -> dict[str, Any]:
    """The same as a category has it."""
    edges = [[a + 1, b + 1] for a, b in skeleton.edges]
    found = {"keypoints": list(skeleton.names), "skeleton": edges, "sigmas": list(skeleton.sigmas)}
    return {key: value for key, value in found.items() if value}
