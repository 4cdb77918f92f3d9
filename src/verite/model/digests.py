"""What stands for a data set in a few characters, so that two can be told apart?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.model.texts import Texts

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.regions import Regions

Fact = tuple[str, int, int]  # what it is, how many bytes, their digest


def digest_of(annotations: Annotations, *, with_outlines: bool) -> str:
    """Sixteen characters that stand for every fact, polygons and masks only if asked for."""
    tables, objects, outlines = facts_in_core(annotations, with_outlines=with_outlines) or (
        table_facts(annotations.images),
        object_facts(annotations),
        outline_facts(annotations.regions) if with_outlines else (),
    )
    facts = [*unit_facts(annotations), *tables, *label_facts(annotations), *objects, *outlines]
    lines = [f"{name}:{size}:{digest:016x}" for name, size, digest in facts]
    return f"{_core.digest(chr(10).join(lines).encode()):016x}"


def facts_in_core(annotations: Annotations, *, with_outlines: bool) -> tuple[Sequence[Fact], ...] | None:
    """Of images, objects and outlines of a file that nobody has opened."""
    unopened = annotations.unopened
    if unopened is None:
        return None
    return _core.coco_facts(unopened.truth.file, unopened.file, with_outlines, unopened.limits)


def fact(name: str, column: Any) -> Fact:
    """Of bytes, or of an array."""
    return name, memoryview(column).nbytes, _core.digest(column)


def unit_facts(annotations: Annotations) -> Iterator[Fact]:
    if annotations.unit != "px":
        yield fact("unit", annotations.unit.encode())


def table_facts(images: Images) -> Iterator[Fact]:
    names = texts_of(images)
    yield fact("images", np.ascontiguousarray(names.letters))
    yield fact("image offsets", np.ascontiguousarray(names.offsets))
    yield fact("widths", np.ascontiguousarray(images.widths))
    yield fact("heights", np.ascontiguousarray(images.heights))


def label_facts(annotations: Annotations) -> Iterator[Fact]:
    """Of classes, and of what is said about them in whole images."""
    labels = annotations.labels
    yield fact("labels", repr(labels.all_names).encode())
    if labels.groups is not None:
        yield fact("groups", repr(labels.groups).encode())
    if annotations.verdicts is not None:
        for name in ("image", "label", "kind"):
            yield fact(f"verdict {name}", getattr(annotations.verdicts, name))


def object_facts(annotations: Annotations) -> Iterator[Fact]:
    regions = annotations.regions
    for name in ("image", "label", "confidence", "area"):
        column = getattr(annotations, name)
        if column is not None:
            yield fact(name, column)
    for name, column in annotations.flags.items():
        yield fact(name, column)
    yield fact(regions.kept, regions.values)


def texts_of(images: Images) -> Texts:
    """The names of images; the ids of those that have none."""
    if isinstance(images.texts, Texts):
        return images.texts
    return Texts.of(images.name(i) for i in range(len(images)))


def outline_facts(regions: Regions) -> Iterator[Fact]:
    for part in regions.outlines:
        if part is not None:
            for column in part.__dataclass_fields__:
                yield fact(column, np.ascontiguousarray(getattr(part, column)))
