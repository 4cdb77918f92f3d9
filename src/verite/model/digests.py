"""What stands for a data set in a few characters, so that two can be told apart?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.model.texts import Texts

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.regions import Regions

Fact = tuple[str, Any]


def combined(facts: Iterable[Fact]) -> str:
    """One digest of named columns; those that are absent count for nothing."""
    lines = [
        f"{name}:{len(column) if isinstance(column, bytes) else column.nbytes}:{_core.digest(column):016x}"
        for name, column in facts
        if column is not None
    ]
    return f"{_core.digest(chr(10).join(lines).encode()):016x}"


def facts_of(annotations: Annotations) -> Iterator[Fact]:
    """Everything but polygons and masks."""
    images, regions = annotations.images, annotations.regions
    names = texts_of(images)
    yield "unit", None if annotations.unit == "px" else annotations.unit.encode()
    yield "images", np.ascontiguousarray(names.letters)
    yield "image offsets", np.ascontiguousarray(names.offsets)
    yield "widths", np.ascontiguousarray(images.widths)
    yield "heights", np.ascontiguousarray(images.heights)
    yield "labels", repr(annotations.labels.all_names).encode()
    yield "groups", None if annotations.labels.groups is None else repr(annotations.labels.groups).encode()
    if annotations.verdicts is not None:
        for name in ("image", "label", "kind"):
            yield f"verdict {name}", getattr(annotations.verdicts, name)
    for name in ("image", "label", "confidence", "area"):
        yield name, getattr(annotations, name)
    yield from annotations.flags.items()
    yield regions.kept, regions.values


def texts_of(images: Images) -> Texts:
    """The names of images; the ids of those that have none."""
    if isinstance(images.texts, Texts):
        return images.texts
    return Texts.of(images.name(i) for i in range(len(images)))


def outlines_of(regions: Regions) -> Iterator[Fact]:
    for part in regions.outlines:
        if part is not None:
            for column in part.__dataclass_fields__:
                yield column, np.ascontiguousarray(getattr(part, column))
