"""Properties to slice an evaluation by: object size, aspect ratio, position, crowding, class frequency, metadata.

A property puts every ground truth (and, where a box has it by itself, every prediction) into one of a few named bins.
Built-in properties are declared by `@built_in`; others come from fields of a COCO file or columns of a metadata table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.csv_files import read_csv
from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt

if TYPE_CHECKING:
    from verite.analysis.matches import AnalysisMatches, Floats, Ints
    from verite.model.annotations import Annotations

Edges = list[float]

BORDER_PX = 2.0
QUANTILE_BINS = 5  # also of numbers without given edges
QUANTILES = "quantiles"
SMALLEST_SHARE = 0.01  # of the ground truths, for a text that has its own bin


@dataclass(frozen=True, eq=False)
class Property:
    """Names of the bins, and the bin of each ground truth, prediction, image or class that has one; -1 for none."""

    name: str
    bins: tuple[str, ...]
    of_truths: Ints
    of_preds: Ints | None = None
    of_images: Ints | None = None
    of_labels: Ints | None = None
    note: str = ""
    areas: tuple[tuple[float, float], ...] = ()  # area ranges, where the bins are such

    @property
    def kind(self) -> str:
        """Whether the property is one of images, classes ("label") or objects."""
        return "image" if self.of_images is not None else "label" if self.of_labels is not None else "object"


Finder = Callable[["AnalysisMatches", "Edges | None"], "Property | str"]
BUILT_IN: dict[str, Finder] = {}
BY_QUANTILES: dict[str, Callable[[AnalysisMatches], Property | str]] = {}


def built_in(name: str) -> Callable[[Finder], Finder]:
    """Declare a function of matches and edges as a built-in property; it returns a sentence where data are missing."""

    def declare(find: Finder) -> Finder:
        BUILT_IN[name] = find
        return find

    return declare


def find_property(
    matches: AnalysisMatches, spec: str, meta: dict[str, list[str | None]] | None = None
) -> Property | str:
    """Return the property that a specification NAME, NAME:EDGE,EDGE or NAME:quantiles names.

    Returns a sentence instead where the data lack what a built-in property needs.

    Raises
    ------
    BadParameter
        If there is no such property, or the edges are no increasing numbers.
    """
    name, _, given = str(spec).partition(":")
    edges = None
    if given == QUANTILES:
        if name not in BY_QUANTILES:
            raise BadParameter(f"slice: expected {QUANTILES} of {' or '.join(BY_QUANTILES)}, found {spec!r}")
        return BY_QUANTILES[name](matches)
    if given:
        try:
            edges = [float(word) for word in given.split(",")]
        except ValueError:
            raise BadParameter(
                f"slice: expected NAME:EDGE,EDGE such as aspect:0.5,2, or size:{QUANTILES}, found {spec!r}"
            ) from None
        if sorted(set(edges)) != edges:
            raise BadParameter(f"slice: expected increasing edges, found {given!r}")
    if name in BUILT_IN:
        return BUILT_IN[name](matches, edges)
    if meta is not None and name in meta:
        return property_of_images(matches, name, meta[name], edges)
    # A field of a COCO file that the format does not define, from the file itself.
    is_field = name.isprintable() and not set(name) & {"\\", '"'}  # what msgspec accepts as the name of a field
    for where, ids in (("images", matches.truth.images.ids), ("annotations", matches.truth.ids)):
        listed = read_fields(matches.truth, where, ("id", name)) if is_field else []
        if ids is not None and any(value is not None for _, value in listed):
            known = dict(listed)
            values = [known.get(int(i)) for i in ids]
            if where == "images":
                return property_of_images(matches, name, values, edges)
            bins, of_truths, note = bin_values(values, matches.counted_truth.astype(np.int64), edges)
            return Property(name, bins, of_truths, note=note)
    names = [*BUILT_IN, *(meta or ())]
    raise BadParameter(
        f"slice: expected {', '.join(names)}, or a field of the ground truth's images or annotations, "
        f"found {name!r}{did_you_mean(name, names)}"
    )


def cut(values: Floats, edges: Edges) -> Ints:
    """The bin [edge, next edge) of each value; -1 for NaN."""
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))


def name_bins(edges: Edges) -> tuple[str, ...]:
    """Names of the bins between edges.

    >>> name_bins([0.5, 2])
    ('< 0.5', '0.5–2', '>= 2')
    """
    inner = [f"{low:g}–{high:g}" for low, high in pairwise(edges)]
    return (f"< {edges[0]:g}", *inner, f">= {edges[-1]:g}")


def quantile_edges(values: Floats) -> Edges:
    """Edges of bins of equally many values; none where all values are equal."""
    values = values[np.isfinite(values)]
    inner = np.linspace(0, 1, QUANTILE_BINS + 1)[1:-1]
    return np.unique(np.quantile(values, inner)).tolist() if len(np.unique(values)) > 1 else []


def truth_areas(truth: Annotations) -> Floats:
    """Areas as the ground truth states them, else of the boxes."""
    boxes = np.prod(truth.regions.sizes[:, 2:], axis=1)
    return np.asarray(boxes if truth.area is None else np.where(np.isnan(truth.area), boxes, truth.area))


@built_in("size")
def find_size(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """Area, by default COCO's small, medium and large."""
    if matches.truth.unit == "rel" and edges is None:
        return "size: boxes are fractions of images; give edges of areas as size:0.01,0.1"
    bounds = edges or [32.0**2, 96.0**2]
    names = ("small", "medium", "large") if edges is None else name_bins(bounds)
    ranges = tuple(pairwise([0.0, *bounds, 1e10]))
    preds = np.prod(matches.pred.regions.sizes[:, 2:], axis=1)
    return Property("size", names, cut(truth_areas(matches.truth), bounds), cut(preds, bounds), areas=ranges)


def find_size_quantiles(matches: AnalysisMatches) -> Property | str:
    """Area in bins of equally many ground truths."""
    edges = quantile_edges(truth_areas(matches.truth)[matches.counted_truth])
    return find_size(matches, edges) if edges else "size: all objects have the same area, or there are none"


def aspect_ratios(side: Annotations) -> Floats:
    """Width over height of each box."""
    sizes = side.regions.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sizes[:, 2] / sizes[:, 3])


@built_in("aspect")
def find_aspect(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """Aspect ratio of the box."""
    chosen = edges or [0.5, 2.0]
    truths, preds = (cut(aspect_ratios(side), chosen) for side in (matches.truth, matches.pred))
    return Property("aspect", name_bins(chosen), truths, preds)


def find_aspect_quantiles(matches: AnalysisMatches) -> Property | str:
    """Aspect ratio in fifths of each class: what is narrow for a bus is wide for a person."""
    bins = tuple(f"{i + 1} of {QUANTILE_BINS}" for i in range(QUANTILE_BINS))
    sides = (matches.truth, matches.truth_label), (matches.pred, matches.pred_label)
    ratios = [aspect_ratios(side) for side, _ in sides]
    found = [np.full(len(side), -1, dtype=np.int64) for side, _ in sides]
    for label in matches.present.tolist():
        edges = quantile_edges(ratios[0][matches.counted_truth & (matches.truth_label == label)])
        for (_, labels), values, codes in zip(sides, ratios, found, strict=True):
            own = labels == label
            codes[own] = cut(values[own], edges) if edges else 0
    note = "aspect: from the narrowest fifth of each class's ground truths to the widest"
    return Property("aspect", bins, found[0], found[1], note=note)


BY_QUANTILES |= {"size": find_size_quantiles, "aspect": find_aspect_quantiles}


@built_in("border")
def find_border(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """Whether the box is within two pixels of the border of the image, so probably truncated."""
    if not matches.truth.images.sized or matches.truth.unit == "rel":
        return "border: the sizes of images are not known"
    images, distance, found = matches.truth.images, edges[0] if edges else BORDER_PX, []
    for side in (matches.truth, matches.pred):
        boxes, known = side.regions.boxes, side.image < len(images)
        at = np.where(known, side.image, 0)
        near = (boxes[:, :2] <= distance).any(axis=1)
        near |= (boxes[:, 2] >= images.widths[at] - distance) | (boxes[:, 3] >= images.heights[at] - distance)
        found.append(np.where(known, near.astype(np.int64), -1))
    return Property("border", ("inside", "at the border"), found[0], found[1])


@built_in("position")
def find_position(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """The third of the image that contains the centre of the box, by row and column."""
    is_relative = matches.truth.unit == "rel"
    if not matches.truth.images.sized and not is_relative:
        return "position: the sizes of images are not known"
    images, found = matches.truth.images, []
    for side in (matches.truth, matches.pred):
        boxes, known = side.regions.boxes, side.image < len(images)
        at = np.where(known, side.image, 0)
        size = 1.0 if is_relative else np.stack([images.widths[at], images.heights[at]], axis=1)
        thirds = np.clip(np.floor(3 * (boxes[:, :2] + boxes[:, 2:]) / 2 / size), 0, 2).astype(np.int64)
        found.append(np.where(known, 3 * thirds[:, 1] + thirds[:, 0], -1))
    names = tuple(f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right"))
    return Property("position", names, found[0], found[1])


@built_in("crowding")
def find_crowding(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """How many other ground truths the image has."""
    bounds = edges or [1.0, 5.0, 10.0]
    counts = np.bincount(matches.truth.image[matches.counted_truth], minlength=len(matches.truth.images))
    names = ("0", "1–4", "5–9", ">= 10") if edges is None else name_bins(bounds)
    return Property("crowding", names, cut((counts[matches.truth.image] - 1).astype(np.float64), bounds))


@built_in("overlap")
def find_overlap(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """The highest IoU with another ground truth of the image."""
    most = np.zeros(len(matches.truth))
    pairs = matches.truth_pairs
    np.maximum.at(most, pairs.pred, pairs.overlap)
    np.maximum.at(most, pairs.truth, pairs.overlap)
    if edges:
        return Property("overlap", name_bins(edges), cut(most, edges))
    # (0, 0.1], (0.1, 0.3], above
    return Property("overlap", ("0", "0–0.1", "0.1–0.3", "> 0.3"), np.searchsorted([0.0, 0.1, 0.3], most))


@built_in("frequency")
def find_frequency(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """In how many images the class occurs: LVIS's rare, common and frequent."""
    bounds = edges or [11.0, 101.0]
    counted = matches.counted_truth
    cells = np.unique(np.stack([matches.truth_label[counted], matches.truth.image[counted]]), axis=1)
    of_labels = cut(np.bincount(cells[0], minlength=len(matches.names)).astype(np.float64), bounds)
    names = ("<= 10 images", "11–100 images", "> 100 images") if edges is None else name_bins(bounds)
    return Property("frequency", names, of_labels[matches.truth_label], of_labels=of_labels)


@built_in("label-group")
def find_label_group(matches: AnalysisMatches, edges: Edges | None) -> Property | str:
    """The supercategory of the class."""
    groups = matches.truth.labels.groups
    if groups:
        found = dict(zip(matches.truth.labels.all_names, groups, strict=True))
    else:
        listed = read_fields(matches.truth, "categories", ("name", "supercategory"))
        found = {str(name): str(group) for name, group in listed if group}
    if not found or matches.rules.class_agnostic:
        return "label-group: the ground truth has no supercategories"
    words = [found.get(name) or "none" for name in matches.names]
    bins = tuple(dict.fromkeys(words))
    of_labels = np.array([bins.index(word) for word in words])
    return Property("label-group", bins, of_labels[matches.truth_label], of_labels=of_labels)


def property_of_images(matches: AnalysisMatches, name: str, values: list[Any], edges: Edges | None) -> Property:
    """Return a property from one value per image, such as a column of a metadata table.

    Parameters
    ----------
    matches
        Matched objects of the evaluation.
    name
        Name of the property, such as `weather`.
    values
        The value of every image; None where it is not known.
    edges
        Limits between the bins of a number; None to choose them.

    Returns
    -------
    Property
        The bin of every ground-truth object and image, with a note on images left out.
    """
    truths_per_image = np.bincount(matches.truth.image[matches.counted_truth], minlength=len(values))
    bins, of_images, note = bin_values(values, truths_per_image, edges)
    if missing := int((of_images < 0).sum()):
        text = f"{name}: no value for {missing:,} image{'s' if missing > 1 else ''}, which are in no bin"
        note = f"{note}; {text}" if note else text
    return Property(name, bins, of_images[matches.truth.image], of_images=of_images, note=note)


def bin_values(values: list[Any], weight: Ints, edges: Edges | None) -> tuple[tuple[str, ...], Ints, str]:
    """Return names of bins, the bin of each value (-1 for absent ones), and a note.

    Numbers are put into bins of equally many ground truths (`weight` per value) unless there are edges or few distinct
    numbers. Texts are bins by themselves; those with less than 1 % of the ground truths become "other".
    """
    numbers = None
    if not any(isinstance(value, bool) for value in values):
        try:
            numbers = np.array([np.nan if value in (None, "") else float(value) for value in values])
        except (TypeError, ValueError):
            numbers = None
    if numbers is not None and (edges or len(np.unique(numbers[~np.isnan(numbers)])) > QUANTILE_BINS):
        chosen = edges or quantile_edges(np.repeat(numbers, weight)) or [0.0]
        return name_bins(chosen), cut(numbers, chosen), ""
    words = ["" if value is None else str(value) for value in values]
    found, position = np.unique(words, return_inverse=True)
    share = np.bincount(position, weight, minlength=len(found)) / max(int(weight.sum()), 1)
    is_rare = (share < SMALLEST_SHARE) & (found != "")
    own, rest = np.flatnonzero((share >= SMALLEST_SHARE) & (found != "")), int(is_rare.sum())
    codes = np.full(len(found), -1)
    codes[own] = np.arange(len(own))
    codes[is_rare] = len(own)
    bins = (*found[own].tolist(), *(["other"] if rest else []))
    return bins, codes[position], f"other: {rest} values with less than 1 % of the ground truths each" if rest else ""


def read_metadata(path: str | Path, truth: Annotations) -> dict[str, list[str | None]]:
    """Read a CSV file of metadata: for each column its value of every image; None for images that it lacks.

    Raises
    ------
    ReadError
        If the file is no table of a column of images and others.
    DataError
        If an image is not in the ground truth, or occurs twice.
    """
    table = read_csv(path, "a header: a column of images and others")
    head = table.head
    if not table.rows or len(head) < 2:
        expected = "a header and rows: a column of images and others"
        raise ReadError(path, expected=expected, found=f"{len(head)} columns and {len(table.rows)} rows")
    images = truth.images
    columns: dict[str, list[str | None]] = {name: [None] * len(images) for name in head[1:]}
    seen: dict[int, int] = {}
    for number, row in table.rows:
        at = images.find(row[0])
        if at is None and row[0].removeprefix("-").isdecimal() and len(row[0]) < 20:
            at = images.index_of_id.get(int(row[0]))
        if at is None:
            known = list(images.names or ()) or [str(i) for i in images.index_of_id]
            near = did_you_mean(row[0], known[:10_000])
            raise DataError(
                f"{path}:{number}: V213 expected an image of the ground truth, found {excerpt(row[0])}{near}; remove "
                "the line, or use the names or ids of the ground truth"
            )
        if at in seen:
            raise DataError(f"{path}:{number}: expected each image once, found {excerpt(row[0])} as in line {seen[at]}")
        seen[at] = number
        for name, value in zip(head[1:], row[1:], strict=True):
            columns[name][at] = value or None
    return columns


def read_fields(truth: Annotations, where: str, fields: tuple[str, str]) -> list[tuple[Any, Any]]:
    """Read two fields of every entry of a list in the JSON file of the ground truth; nothing if it is no COCO file."""
    path = Path(truth.source.path)
    if not truth.source.format.startswith(("coco", "lvis")) or path.suffix != ".json" or not path.is_file():
        return []
    import msgspec

    from verite.formats.json_documents import ANYWHERE, decode

    one = msgspec.defstruct("Record", [(f"field{i}", Any, None) for i in range(2)],
                            rename=dict(zip(("field0", "field1"), fields, strict=True)))  # fmt: skip
    whole = msgspec.defstruct("Document", [("listed", list[one], [])], rename={"listed": where})  # type: ignore[valid-type]
    found: Any = decode(path, whole | list[Any], nan_in=ANYWHERE)
    if isinstance(found, list):  # a results file, which has no such lists
        return []
    return [(record.field0, record.field1) for record in found.listed]
