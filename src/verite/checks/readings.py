"""Box formats that a file may use: the layout of the four numbers (xywh, xyxy, cxcywh ...) and their unit.

A `Reading` combines both. It converts the numbers of a file to corners in pixels and back, and names the arguments of
`verite.read` that select it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verite.arrays import np
from verite.checks.check import Fix, SideName
from verite.model.annotations import Annotations
from verite.model.layouts import Floats, keep_layout, spell_as, to_corners

# abs     pixels of the image
# rel     fractions of the image
# factor  pixels of the image, times a number common to all images
# frame   pixels of a fixed size to which every image was stretched
# longest pixels of the image after its longer side was resized to a common length
# padded  the same, and then centred on a square ("letterbox")
# up      pixels with the y axis upward from the lower edge of the image; a box begins at its lower edge ...
# hanging ... or at its upper edge
# mirrored pixels from the right edge of the image, as of images that were flipped for augmentation
# exchanged pixels, width and height in each other's place
Measure = Literal["abs", "rel", "factor", "frame", "longest", "padded", "up", "hanging", "mirrored", "exchanged"]
MEASURES: tuple[Measure, ...] = ("abs", "rel", "factor", "frame", "longest", "padded")
SCALED = MEASURES[2:]
FLIPS: dict[Measure, str] = {
    "up": "with the y axis upward",
    "hanging": "with the y axis upward, from the upper edge of the box",
    "mirrored": "in images mirrored from left to right",
    "exchanged": "with width and height exchanged",
}
FLIP_FIXES: dict[Measure, str] = {
    "up": "write y downward: top = image height - y - box height",
    "hanging": "write y downward: top = image height - y",
    "mirrored": "undo the horizontal flip: left = image width - x - box width",
    "exchanged": "write width before height",
}


@dataclass(frozen=True)
class Reading:
    """A box format: the layout of the four numbers, and the measure they are in.

    Attributes
    ----------
    layout : str
        One of `NAMES`: "xywh", "xyxy", "cxcywh", "yxhw", "yxyx".
    measure : Measure
        Pixels, fractions, or pixels of a resized image.
    unit : (float, float)
        The numbers in x and y that make one unit of the measure, e.g. the size of the resized image.
    image_size : (float, float) or None
        The size of every image, where it is unknown and was estimated.
    """

    layout: str
    measure: Measure = "abs"
    unit: tuple[float, float] = (1.0, 1.0)
    image_size: tuple[float, float] | None = None

    def corners(self, numbers: Floats, sizes: Floats) -> Floats:
        """Convert numbers of a file, [box, 4], to corners in pixels of images of these sizes, [box, 2]."""
        if self.measure == "exchanged":
            numbers = numbers[:, [0, 1, 3, 2]]
        boxes = to_corners(*keep_layout(numbers, self.layout))
        if self.measure in FLIPS:
            left, top, right, bottom = boxes.T
            width, height = sizes.T
            if self.measure == "mirrored":
                left, right = width - right, width - left
            elif self.measure == "up":
                top, bottom = height - bottom, height - top
            elif self.measure == "hanging":
                top, bottom = height - top, height - top + (bottom - top)
            return np.stack([left, top, right, bottom], axis=1)
        if self.measure == "abs":
            return np.ascontiguousarray(boxes)
        if self.image_size is not None:
            sizes = np.broadcast_to(np.array(self.image_size, dtype=np.float64), sizes.shape)
        scale, pad = scale_and_pad(self.measure, sizes)
        return boxes * np.tile(scale / self.unit, 2) - np.tile(pad, 2)

    def numbers(self, corners: Floats, sizes: Floats) -> Floats:
        """Convert corners in pixels to the numbers that a file in this format has; the inverse of `corners`."""
        scale, pad = scale_and_pad(self.measure, sizes)
        return spell_as((corners + np.tile(pad, 2)) * np.tile(self.unit / scale, 2), self.layout)

    @property
    def coords(self) -> str | None:
        """The argument `coords` of `verite.read`; None where it has none for this measure."""
        match self.measure:
            case "abs" | "rel":
                return self.measure
            case "factor":
                return f"*{1 / self.unit[0]:.6g}"
            case "frame":
                return f"{self.unit[0]:.6g}x{self.unit[1]:.6g}"
        return None

    @property
    def words(self) -> str:
        """The description in messages."""
        match self.measure:
            case "abs":
                return NAMES[self.layout]
            case "rel":
                return f"{NAMES[self.layout]} in fractions of the image"
            case "factor":
                return f"{NAMES[self.layout]}, {self.unit[0]:.4g} times as large as the image's"
            case "frame":
                return f"{NAMES[self.layout]} in images stretched to {self.unit[0]:.6g} x {self.unit[1]:.6g}"
            case "up" | "hanging" | "mirrored" | "exchanged":
                return f"{NAMES[self.layout]} {FLIPS[self.measure]}"
            case "longest":
                return f"{NAMES[self.layout]} in images whose longer side is {self.unit[0]:.6g}"
        return f"{NAMES[self.layout]} in images padded to {self.unit[0]:.6g} x {self.unit[1]:.6g}"


NAMES = {
    "xywh": "left, top, width, height",
    "xyxy": "corners (x1 y1 x2 y2)",
    "cxcywh": "centre and size (cx cy w h)",
    "yxhw": "top, left, height, width",
    "yxyx": "corners with y first (y1 x1 y2 x2)",
}

SIDE_WORDS: dict[SideName, str] = {"truth": "ground-truth", "pred": "predicted"}

# The formats that need no estimate, the likelier ones first; scaled ones are estimated in scaling.py.
READINGS = tuple(Reading(layout, measure) for measure in MEASURES[:2] for layout in NAMES)


def are_like_corners(values: Floats, along: float) -> bool:
    """Whether boxes look like corners: the second point exceeds the first in all of them and correlates with it.

    `along` is the rank correlation to exceed, in x and in y; widths and heights rarely correlate with positions.
    """
    first, second = values[:, :2], values[:, 2:]
    if not np.isfinite(values).all() or not np.all(second > first):
        return False
    if not (np.ptp(first, axis=0).all() and np.ptp(second, axis=0).all()):
        return False
    return min(rank_correlation(first[:, i], second[:, i]) for i in (0, 1)) > along


def rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's rank correlation with dense ranks, which single outliers do not change."""
    ranks = np.stack([np.unique(column, return_inverse=True)[1].ravel() for column in (one, other)])
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def scale_and_pad(measure: Measure, sizes: Floats) -> tuple[Floats, Floats]:
    """Return the size of one unit in pixels of each image, and the padding added before measuring, each [image, 2]."""
    none = np.zeros_like(sizes)
    if measure in ("abs", "factor"):
        return np.ones_like(sizes), none
    if measure in ("rel", "frame"):
        return sizes, none
    longest = np.broadcast_to(sizes.max(axis=1, keepdims=True, initial=0), sizes.shape)
    return longest, (longest - sizes) / 2 if measure == "padded" else none


def usual_reading(format: str, measure: Measure = "abs") -> Reading:
    """Return the default box format of a file format."""
    if format == "yolo":
        return Reading("cxcywh", "rel")
    if format == "openimages":
        return Reading("xyxy", "rel")
    if format == "voc":
        return Reading("xyxy")
    if format == "text" and measure in ("rel", "frame"):  # as in the tool that text folders come from
        return Reading("cxcywh")
    return Reading("xywh")


def as_read(annotations: Annotations) -> Reading:
    """Return the box format in which annotations were read, from their source and how their boxes are stored."""
    source = annotations.source
    is_centre = source.format == "text" and "taken as centre" in source.why
    usual = Reading("cxcywh", "rel") if is_centre else usual_reading(source.format)
    stored = "xyxy" if usual.layout in ("xyxy", "yxyx") else "xywh"
    layout = usual.layout if stored == annotations.regions.kept else annotations.regions.kept
    return Reading(layout, "rel" if annotations.unit == "rel" else usual.measure)


def code_of(was: Reading, found: Reading) -> str:
    """Return the code of the mistake: boxes in format `found` were read as `was`."""
    if found.measure in FLIPS:
        return "V118"
    if found.measure in SCALED:
        return "V105"
    if found.measure != was.measure:
        return "V103"
    layouts = {was.layout, found.layout}
    if layouts & {"yxhw", "yxyx"}:
        return "V104"
    return "V102" if "cxcywh" in layouts else "V101"


def fix_of(side: SideName, format: str, was: Reading, found: Reading) -> Fix | str:
    """Return the arguments that read a file in format `found`, or advice where no argument does."""
    if found.measure in FLIPS:
        return FLIP_FIXES[found.measure]
    coords = found.coords
    takes_size = format in ("text", "yolo")
    if coords is None or (found.image_size is not None and not takes_size):
        resized = (
            f"scale the boxes back to the images before writing {'them' if side == 'pred' else 'the ground truth'}"
        )
        return (
            resized
            if found.measure in SCALED
            else f"write the {SIDE_WORDS[side]} boxes in pixels, or the image sizes into the ground truth"
        )
    usual = usual_reading(format, found.measure)
    options: list[tuple[str, object]] = []
    if not found.layout == usual.layout == was.layout:
        # In text folders relative xywh means the centre; ltwh is unambiguous.
        is_renamed = format == "text" and found.layout == "xywh" and found.measure in ("rel", "frame")
        options.append(("boxes", "ltwh" if is_renamed else found.layout))
    if coords != usual.measure or found.measure != was.measure:
        options.append(("coords", coords))
    if found.image_size is not None:
        options.append(("image_size", found.image_size))
    return Fix(side, tuple(options))
