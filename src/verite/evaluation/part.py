"""What became of some images, to be merged with what became of others?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite import _core
from verite.errors import DataError
from verite.evaluation.notes import Notes
from verite.evaluation.numbers import Numbers, tell_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.checks import Finding


class Part:
    """What became of some images: no boxes and no masks, to be merged with parts of other images. Pickles."""

    def __init__(self, kept: _core.Part, notes: Notes | None = None) -> None:
        """`notes` instead of those it has."""
        self.kept = kept if notes is None else kept.with_notes(notes.to_text())

    def __len__(self) -> int:
        """How many images it has."""
        return self.kept.image_count

    @property
    def notes(self) -> Notes:
        """What may differ from part to part."""
        with tell_as(DataError):
            return Notes.from_text(self.kept.notes)

    def add(self, findings: Sequence[Finding]) -> Part:
        """The same with what looked suspicious about its images."""
        return Part(self.kept, self.notes.add(findings, len(self))) if findings else self

    @staticmethod
    def merge(*parts: Part, takes_first: bool = False, threads: int = 1) -> Part:
        """One part of all these images, the same in whatever order and by whatever steps.

        An image that is in several parts is refused, or else that of the first of them.
        """
        notes = Notes.join(part.notes for part in parts)
        with tell_as(DataError):
            return Part(_core.Merger([part.kept for part in parts], takes_first=takes_first).merge(threads), notes)

    def numbers(self, threads: int = 1) -> Numbers:
        """To the last bit those of one evaluation of all images."""
        with tell_as(DataError):
            return Numbers(_core.Merger([self.kept]).numbers(threads))

    def to_bytes(self) -> bytes:
        """The same bytes for the same images, however they were put together."""
        return self.kept.to_bytes()

    @classmethod
    def from_bytes(cls, data: Any) -> Part:
        with tell_as(DataError):
            return cls(_core.Part.from_bytes(data))
