"""Panoptic files for tests: JSON, and PNGs in a folder beside it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = [(1, "sky", 0), (2, "cat", 1), (5, "road", 0), (9, "dog", 1)]


def save_png(path: Path, ids) -> None:
    """A picture whose colours are segment ids."""
    values = np.array(ids, dtype=np.uint32)
    Image.fromarray(np.stack([values >> shift & 255 for shift in (0, 8, 16)], axis=-1).astype(np.uint8)).save(path)


def write_side(folder: Path, name: str, images, *, is_truth: bool = True, **changes) -> Path:
    """`images` maps an id to (rows of segment ids, {segment: (class, is crowd)}); `changes` replace keys in JSON."""
    pictures = folder / name
    pictures.mkdir(parents=True, exist_ok=True)
    annotations, listed = [], []
    for id, (ids, segments) in images.items():
        save_png(pictures / f"{id}.png", ids)
        flat = [v for row in ids for v in row]
        infos = [
            {"id": s, "category_id": c} | ({"iscrowd": int(crowd), "area": flat.count(s)} if is_truth else {})
            for s, (c, crowd) in segments.items()
        ]
        annotations.append({"image_id": id, "file_name": f"{id}.png", "segments_info": infos})
        listed.append({"id": id, "file_name": f"{id}.jpg", "width": len(ids[0]), "height": len(ids)})
    document = {"annotations": annotations}
    if is_truth:
        document |= {"images": listed, "categories": [{"id": i, "name": n, "isthing": t} for i, n, t in CLASSES]}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document | changes))
    return path
