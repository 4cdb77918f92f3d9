"""COCO JSON, written: whole documents for truth, records for results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verite import _core
from verite.formats.coco_poses import facts_of
from verite.formats.document import check_finite, write_json
from verite.formats.outlines import ring_area
from verite.formats.sizes import need_pixels
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.regions import BOX, MASK, POLYGON, Regions


def write_document(annotations: Annotations, path: Path) -> None:
    write_json(path, document_of(annotations, path))


def document_of(annotations: Annotations, path: Path) -> dict[str, Any]:
    """A whole COCO document; predictions keep their scores."""
    image_ids, label_ids = ids_or_count(annotations.images), ids_or_count(annotations.labels)
    images = [{"id": id, **image_facts(annotations.images, i)} for i, id in enumerate(image_ids)]
    names = annotations.labels.names
    categories = [{"id": id, **({"name": names[i]} if names is not None else {})} for i, id in enumerate(label_ids)]
    for category, skeleton in zip(categories, annotations.labels.skeletons or (), strict=False):
        category.update(facts_of(skeleton))
    objects = records(annotations, path, image_ids, label_ids)
    return {"images": images, "annotations": objects, "categories": categories}


def image_facts(images: Images, i: int) -> dict[str, Any]:
    name = {"file_name": images.names[i]} if images.names is not None else {}
    size = {"width": int(images.widths[i]), "height": int(images.heights[i])} if images.widths[i] else {}
    return {**name, **size}


def ids_or_count(table: Any) -> list[int]:
    """The ids of images or labels; counted from 1, as COCO does, where they have none."""
    return [int(id) for id in table.ids] if table.ids is not None else list(range(1, len(table) + 1))


def records(
    annotations: Annotations,
    path: Path,
    image_ids: Sequence[int | str],
    label_ids: Sequence[int],
    *,
    is_truth: bool = True,
) -> list[dict[str, Any]]:
    """One JSON record an object. Truth gets COCO's usual keys, results only what results have."""
    need_pixels(annotations, path)
    confidence, ids, unscored = annotations.confidence, annotations.ids, annotations.flag("unscored")
    crowd, ignore = annotations.crowd, annotations.ignore
    check_finite(path, "boxes", annotations.regions.values)
    keypoints = annotations.regions.keypoints
    if keypoints is not None:
        check_finite(path, "keypoints", keypoints.points)
        labelled = (
            keypoints.labelled
            if annotations.labelled is None
            else np.where(annotations.labelled < 0, keypoints.labelled, annotations.labelled)
        )
    if confidence is not None:
        check_finite(path, "confidences", np.where(unscored, 0.0, confidence))
    found = []
    for i, box in enumerate(annotations.regions.sizes.tolist()):
        record: dict[str, Any] = {
            "image_id": image_ids[annotations.image[i]],
            "category_id": label_ids[annotations.label[i]],
            "bbox": box,
        }
        if is_truth:
            record["id"] = int(ids[i]) if ids is not None else i + 1
            record["area"] = area_of(annotations, i, box)
            record["iscrowd"] = int(crowd[i])
            if ignore[i]:
                record["ignore"] = 1
        if confidence is not None and not unscored[i]:
            record["score"] = float(confidence[i])
        if annotations.regions.kinds[i] != BOX:
            record["segmentation"] = segmentation(annotations.regions, i, is_compressed=not is_truth)
        if keypoints is not None and len(keypoints[i]):
            record["keypoints"] = keypoints[i].ravel().tolist()
            if is_truth:
                record["num_keypoints"] = int(labelled[i])
        found.append(record)
    return found


def area_of(annotations: Annotations, i: int, box: list[float]) -> float:
    """The area as the file states it; where it does not, of the mask, the polygon or the box."""
    if annotations.area is not None and np.isfinite(annotations.area[i]):
        return float(annotations.area[i])
    regions = annotations.regions
    if regions.kinds[i] == MASK and regions.runs is not None:
        return float(regions.runs[i][1::2].sum(dtype=np.int64))
    if regions.kinds[i] == POLYGON and regions.polygons is not None:
        return sum(ring_area(ring) for ring in regions.polygons[i])
    return box[2] * box[3]


def segmentation(regions: Regions, i: int, *, is_compressed: bool) -> Any:
    """An outline as COCO writes it: polygons, runs in truth files, compressed runs in results."""
    if regions.kinds[i] == POLYGON:
        assert regions.polygons is not None
        return [ring.ravel().tolist() for ring in regions.polygons[i]]
    assert regions.kinds[i] == MASK
    assert regions.runs is not None
    counts = regions.runs[i]
    text = _core.encode_runs(np.ascontiguousarray(counts)).decode() if is_compressed else counts.tolist()
    return {"size": regions.runs.sizes[i].tolist(), "counts": text}
