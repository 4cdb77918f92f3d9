"""What do the four numbers of a box mean? Every way of writing a box, and the way from one to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from verite.arrays import np
from verite.errors import BadParameter, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
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
    "point": Words("point", "points", "similarity"),
}


def words_of(similarity: str) -> Words:
    """Of what `--on` says, or of a similarity of the core; boxes of every kind are boxes."""
    return WORDS.get(similarity, BOXES)


Floats: TypeAlias = "NDArray[np.float64]"

Kept = Literal["xyxy", "xywh"]

LAYOUTS = {
    "xyxy": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "top, left, bottom, right",
    "yxhw": "top, left, height, width",
}

ALIASES = {"xyrb": "xyxy", "xyx2y2": "xyxy", "ltrb": "xyxy", "ltwh": "xywh", "voc": "xyxy", "coco": "xywh"}


def layout_name(name: str) -> str:
    """The layout behind a name or an alias.

    >>> layout_name("xyrb")
    'xyxy'
    """
    layout = ALIASES.get(name, name) if isinstance(name, str) else str(name)
    if layout not in LAYOUTS:
        known = [*LAYOUTS, *ALIASES]
        raise BadParameter(f"box layout: expected one of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}")
    return layout


def keep_layout(values: Floats, layout: str) -> tuple[Floats, Kept]:
    """Boxes of any layout in one of the two that are kept, without rounding where that is possible.

    Left, top, width and height stay as they are, because x + w - x is not w in floating point.
    """
    match layout:
        case "xyxy":
            return values, "xyxy"
        case "xywh":
            return values, "xywh"
        case "yxyx":
            return values[:, [1, 0, 3, 2]], "xyxy"
        case "yxhw":
            return values[:, [1, 0, 3, 2]], "xywh"
        case "cxcywh":
            out = values.copy()
            out[:, :2] -= values[:, 2:] / 2
            return out, "xywh"
    raise AssertionError(layout)


def to_corners(values: Floats, kept: Kept) -> Floats:
    """Corners of boxes as kept.

    Parameters
    ----------
    values
        Four numbers per box, as `kept` says.
    kept
        `xyxy` for corners, `xywh` for left, top, width and height.

    Returns
    -------
    Floats
        x1, y1, x2, y2; the same array where nothing needs to be computed.
    """
    if kept == "xyxy":
        return values
    out = values.copy()
    out[:, 2:] += values[:, :2]
    return out


def spell_as(corners: Floats, layout: str) -> Floats:
    """Corners written in any layout: the inverse of `keep` and `to_corners`, up to rounding.

    >>> spell_as(np.array([[1.0, 2.0, 5.0, 10.0]]), "cxcywh")
    array([[3., 6., 4., 8.]])
    """
    sizes = corners.copy()
    sizes[:, 2:] -= corners[:, :2]
    match layout:
        case "xyxy":
            return corners
        case "xywh":
            return sizes
        case "yxyx":
            return corners[:, [1, 0, 3, 2]]
        case "yxhw":
            return sizes[:, [1, 0, 3, 2]]
        case "cxcywh":
            out = sizes.copy()
            out[:, :2] += sizes[:, 2:] / 2
            return out
    raise AssertionError(layout)
