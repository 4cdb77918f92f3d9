"""What stands for a data set in a few characters, so that two can be told apart?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.model.complaints import in_our_words

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

Fact = tuple[str, int, int]  # what it is, how many bytes, their digest


def digest_of(annotations: Annotations, *, with_outlines: bool) -> str:
    """Sixteen characters that stand for every fact, polygons and masks only if asked for."""
    with in_our_words():
        objects = annotations.columns.facts(with_outlines)
    facts = [*unit_facts(annotations), *annotations.images.table.facts(), *label_facts(annotations), *objects]
    lines = [f"{name}:{size}:{digest:016x}" for name, size, digest in facts]
    return f"{_core.digest(chr(10).join(lines).encode()):016x}"


def fact(name: str, column: Any) -> Fact:
    """Of bytes, or of an array."""
    return name, memoryview(column).nbytes, _core.digest(column)


def unit_facts(annotations: Annotations) -> Iterator[Fact]:
    if annotations.unit != "px":
        yield fact("unit", annotations.unit.encode())


def label_facts(annotations: Annotations) -> Iterator[Fact]:
    """Of classes, and of what is said about them in whole images."""
    labels = annotations.labels
    yield fact("labels", repr(labels.all_names).encode())
    if labels.groups is not None:
        yield fact("groups", repr(labels.groups).encode())
    if labels.skeletons is not None:
        yield fact("skeletons", repr(labels.skeletons).encode())
    if annotations.verdicts is not None:
        for name in ("image", "label", "kind"):
            yield fact(f"verdict {name}", getattr(annotations.verdicts, name))
