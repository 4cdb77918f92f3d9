"""Several files as one side: their columns one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verite.errors import DataError
from verite.faults import Tolerance
from verite.model.annotations import FLAGS, Annotations
from verite.model.joining import join_regions
from verite.model.verdicts import Verdicts

TOGETHER = ("confidence", "area", "ids")  # columns that a file has or has not


def join(shards: Sequence[Annotations], name: str) -> Annotations:
    """One after the other. Tables grow from shard to shard, so that the last one has those of all."""
    last = shards[-1]
    for shard in shards:
        if (shard.confidence is None) != (shards[0].confidence is None) and len(shard) and len(shards[0]):
            raise DataError(f"{name}: expected confidences in every file or in none, found none in {shard.source.path}")
    check_images(shards, name)
    columns = {key: column(shards, key) for key in TOGETHER}
    flags = {
        flag: np.concatenate([shard.flag(flag) for shard in shards])
        for flag in FLAGS
        if any(flag in shard.flags for shard in shards)
    }
    notes = dict.fromkeys(note for shard in shards for note in shard.source.notes)
    tolerance = Tolerance()
    for shard in shards:
        tolerance.add_all(shard.source.flaws)
    why = f"{len(shards)} files, {shards[0].source.why}"
    source = replace(shards[0].source, path=name, why=why, notes=tuple(notes), flaws=tolerance.flaws)
    return Annotations(
        images=last.images,
        labels=last.labels,
        image=np.concatenate([shard.image for shard in shards]),
        label=np.concatenate([shard.label for shard in shards]),
        regions=join_regions([shard.regions for shard in shards]),
        flags=flags,
        verdicts=join_verdicts(shards),
        unit=last.unit,
        source=source,
        **columns,
    )


def check_images(shards: Sequence[Annotations], name: str) -> None:
    """Truths of an image stand in one file: its objects would count twice."""
    if shards[0].confidence is not None:
        return
    seen: set[int] = set()
    for shard in shards:
        own = set(np.unique(shard.image).tolist())
        if twice := seen & own:
            image = shard.images.name(min(twice))
            raise DataError(
                f"{shard.source.path}: expected images that no other file of {name} has, found {image!r}; "
                "is a file there twice?"
            )
        seen |= own


def column(shards: Sequence[Annotations], key: str) -> Any:
    """What all say; nothing where one says nothing, but for areas, which are absent one by one."""
    parts: list[Any] = [getattr(shard, key) for shard in shards if len(shard)]
    if not parts or all(part is None for part in parts):
        return None
    if key == "area":
        rows = [len(shard) for shard in shards if len(shard)]
        parts = [np.full(n, np.nan) if part is None else part for part, n in zip(parts, rows, strict=True)]
    if any(part is None for part in parts):
        return None
    joined = np.concatenate(parts)
    return None if key == "ids" and len(np.unique(joined)) < len(joined) else joined


def join_verdicts(shards: Sequence[Annotations]) -> Verdicts | None:
    said = [shard.verdicts for shard in shards if shard.verdicts is not None]
    if not said:
        return None
    columns = ("image", "label", "kind")
    return Verdicts(*(np.concatenate([getattr(own, name) for own in said]) for name in columns))
