"""What is compared, and what is it called when two of them overlap? The words of every way to compare objects."""

from __future__ import annotations

from verite.records import record


@record()
class Words:
    """What sentences, axes and titles say."""

    one: str
    many: str
    overlap: str

    def at(self, overlap: float) -> str:
        """
        >>> words_of("keypoints").at(0.5)
        'OKS 0.5'
        """
        return f"{self.overlap} {overlap:g}"


BOXES = Words("box", "boxes", "IoU")
MASKS = Words("mask", "masks", "IoU")
WORDS = {
    "mask": MASKS,
    "boundary": MASKS,
    "keypoints": Words("pose", "poses", "OKS"),
    "rotated": Words("rotated box", "rotated boxes", "rotated IoU"),
}


def words_of(similarity: str) -> Words:
    """Of what `--on` says, or of a similarity of the core; boxes of every kind are boxes."""
    return WORDS.get(similarity, BOXES)
