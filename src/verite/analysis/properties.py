"""By which properties can objects and images be told apart? Of boxes, of neighbours, of labels, and of what files say.

A property gives every truth (and, where a box has it by itself, every prediction) one of a few named bins.
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
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Floats, Ints
    from verite.model.annotations import Annotations


def read_metadata(path: str | Path, truth: Annotations) -> dict[str, list[str | None]]:
    """For each column its value of every image of the truth; None for images that the file does not have."""
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
                f"{path}:{number}: V213 expected an image of the truth, found {excerpt(row[0])}{near}; remove the "
                "line, or give names or ids as the truth has them"
            )
        if at in seen:
            raise DataError(f"{path}:{number}: expected each image once, found {excerpt(row[0])} as in line {seen[at]}")
        seen[at] = number
        for name, value in zip(head[1:], row[1:], strict=True):
            columns[name][at] = value or None
    return columns


BORDER_PX = 2.0

MOST_BINS = 5  # of numbers that nobody gave edges for

QUANTILES = "quantiles"

LEAST_SHARE = 0.01  # of the truths, of a text that is a bin of its own


@dataclass(frozen=True, eq=False)
class Property:
    """Names of bins, the bin of each truth, and of each prediction or label where these have it; -1 is none."""

    name: str
    bins: tuple[str, ...]
    of_truths: Ints
    of_preds: Ints | None = None
    of_images: Ints | None = None
    of_labels: Ints | None = None
    note: str = ""
    areas: tuple[tuple[float, float], ...] = ()  # the ranges of areas that the bins are

    @property
    def kind(self) -> str:
        return "image" if self.of_images is not None else "label" if self.of_labels is not None else "object"


def find_property(
    matches: AnalysisMatches, spec: str, meta: dict[str, list[str | None]] | None = None
) -> Property | str:
    """The property of this name; a sentence where the data does not have it. `NAME:1,2` gives edges."""
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
            raise BadParameter(f"slice: expected edges that rise, found {given!r}")
    if name in BUILT_IN:
        return BUILT_IN[name](matches, edges)
    if meta is not None and name in meta:
        return of_column(matches, name, meta[name], edges)
    is_field = name.isprintable() and not set(name) & {"\\", '"'}  # what msgspec accepts as the name of a field
    found = read_extra(matches.truth, name) if is_field else None
    if found is None:
        known = [*BUILT_IN, *(meta or ())]
        raise BadParameter(
            f"slice: expected {', '.join(known)}, or a field of the truth's images or annotations, "
            f"found {name!r}{did_you_mean(name, known)}"
        )
    where, values = found
    return of_column(matches, name, values, edges) if where == "images" else of_field(matches, name, values, edges)


def cut(values: Floats, edges: list[float]) -> Ints:
    """Bins [edge, next edge): which one each value is in; -1 for what is no number."""
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))


def name_bins(edges: list[float]) -> tuple[str, ...]:
    inner = [f"{low:g}–{high:g}" for low, high in pairwise(edges)]
    return (f"< {edges[0]:g}", *inner, f">= {edges[-1]:g}")


def of_boxes(name: str, measure: Callable[[Annotations], Floats], usual: list[float]) -> Callable[..., Property | str]:
    """A number that a box has by itself."""

    def find(matches: AnalysisMatches, edges: list[float] | None) -> Property:
        chosen = edges or usual
        truths, preds = (cut(measure(side), chosen) for side in (matches.truth, matches.pred))
        return Property(name, name_bins(chosen), truths, preds)

    return find


def measure_aspect(side: Annotations) -> Floats:
    sizes = side.regions.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sizes[:, 2] / sizes[:, 3])


def find_size(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """COCO's three, by area as the protocol takes it."""
    if matches.truth.unit == "rel" and edges is None:
        return "size: boxes are fractions of images; give edges of areas as size:0.01,0.1"
    bounds = edges or [32.0**2, 96.0**2]
    names = ("small", "medium", "large") if edges is None else name_bins(bounds)
    ranges = tuple(pairwise([0.0, *bounds, 1e10]))
    preds = np.prod(matches.pred.regions.sizes[:, 2:], axis=1)
    return Property("size", names, cut(measure_area(matches.truth), bounds), cut(preds, bounds), areas=ranges)


def measure_area(truth: Annotations) -> Floats:
    """As it is stated, else of the box."""
    boxes = np.prod(truth.regions.sizes[:, 2:], axis=1)
    return np.asarray(boxes if truth.area is None else np.where(np.isnan(truth.area), boxes, truth.area))


def find_size_quantiles(matches: AnalysisMatches) -> Property | str:
    """Bins of equally many truths."""
    areas = measure_area(matches.truth)[matches.is_asked]
    edges = split_evenly(areas)
    return find_size(matches, edges) if edges else "size: all truths are equally large, or there are none"


def find_aspect_quantiles(matches: AnalysisMatches) -> Property | str:
    """The fifths of each label, narrow to wide: what is narrow for a bus is wide for a person."""
    bins = tuple(f"{i + 1} of {MOST_BINS}" for i in range(MOST_BINS))
    sides = (matches.truth, matches.truth_label), (matches.pred, matches.pred_label)
    measured = [measure_aspect(side) for side, _ in sides]
    found = [np.full(len(side), -1, dtype=np.int64) for side, _ in sides]
    for label in matches.present.tolist():
        edges = split_evenly(measured[0][matches.is_asked & (matches.truth_label == label)])
        for (_, labels), values, place in zip(sides, measured, found, strict=True):
            own = labels == label
            place[own] = cut(values[own], edges) if edges else 0
    note = "aspect: from the narrowest fifth of each label's truths to the widest"
    return Property("aspect", bins, found[0], found[1], note=note)


def split_evenly(values: Floats) -> list[float]:
    """Edges of bins of equally many."""
    values = values[np.isfinite(values)]
    inner = np.linspace(0, 1, MOST_BINS + 1)[1:-1]
    return np.unique(np.quantile(values, inner)).tolist() if len(np.unique(values)) > 1 else []


def find_border(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """Within two pixels of a side of the image: probably cut off."""
    if not matches.truth.images.sized or matches.truth.unit == "rel":
        return "border: the sizes of images are not known"
    images = matches.truth.images
    far = edges[0] if edges else BORDER_PX

    def touches(side: Annotations) -> Ints:
        boxes, known = side.regions.boxes, side.image < len(images)
        at = np.where(known, side.image, 0)
        near = (boxes[:, :2] <= far).any(axis=1)
        near |= (boxes[:, 2] >= images.widths[at] - far) | (boxes[:, 3] >= images.heights[at] - far)
        return np.where(known, near.astype(np.int64), -1)

    return Property("border", ("inside", "at the border"), touches(matches.truth), touches(matches.pred))


def find_position(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """The third of the image in which the middle of the box is, by row and column."""
    is_relative = matches.truth.unit == "rel"
    if not matches.truth.images.sized and not is_relative:
        return "position: the sizes of images are not known"
    images = matches.truth.images

    def place(side: Annotations) -> Ints:
        boxes, known = side.regions.boxes, side.image < len(images)
        at = np.where(known, side.image, 0)
        size = 1.0 if is_relative else np.stack([images.widths[at], images.heights[at]], axis=1)
        thirds = np.clip(np.floor(3 * (boxes[:, :2] + boxes[:, 2:]) / 2 / size), 0, 2).astype(np.int64)
        return np.where(known, 3 * thirds[:, 1] + thirds[:, 0], -1)

    names = tuple(f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right"))
    return Property("position", names, place(matches.truth), place(matches.pred))


def find_crowding(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """How many other truths the image has."""
    bounds = edges or [1.0, 5.0, 10.0]
    counts = np.bincount(matches.truth.image[matches.is_asked], minlength=len(matches.truth.images))
    names = ("0", "1–4", "5–9", ">= 10") if edges is None else name_bins(bounds)
    return Property("crowding", names, cut((counts[matches.truth.image] - 1).astype(np.float64), bounds))


def find_overlap(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """The largest IoU with another truth of the image."""
    most = np.zeros(len(matches.truth))
    pairs = matches.truth_pairs
    np.maximum.at(most, pairs.pred, pairs.overlap)
    np.maximum.at(most, pairs.truth, pairs.overlap)
    if edges:
        return Property("overlap", name_bins(edges), cut(most, edges))
    # (0, .1], (.1, .3], above
    return Property("overlap", ("0", "0–0.1", "0.1–0.3", "> 0.3"), np.searchsorted([0.0, 0.1, 0.3], most))


def find_frequency(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """How many images have the label: LVIS's rare, common and frequent."""
    bounds = edges or [11.0, 101.0]
    asked = matches.is_asked
    cells = np.unique(np.stack([matches.truth_label[asked], matches.truth.image[asked]]), axis=1)
    of_labels = cut(np.bincount(cells[0], minlength=len(matches.names)).astype(np.float64), bounds)
    names = ("<= 10 images", "11–100 images", "> 100 images") if edges is None else name_bins(bounds)
    return Property("frequency", names, of_labels[matches.truth_label], of_labels=of_labels)


def find_label_group(matches: AnalysisMatches, edges: list[float] | None) -> Property | str:
    """The supercategory of the label."""
    groups = matches.truth.labels.groups
    found = dict(zip(matches.truth.labels.all_names, groups, strict=True)) if groups else read_supercategories(matches)
    if not found or matches.rules.class_agnostic:
        return "label-group: the truth has no supercategories"
    words = [found.get(name) or "none" for name in matches.names]
    bins = tuple(dict.fromkeys(words))
    of_labels = np.array([bins.index(word) for word in words])
    return Property("label-group", bins, of_labels[matches.truth_label], of_labels=of_labels)


BUILT_IN: dict[str, Callable[[AnalysisMatches, list[float] | None], Property | str]] = {
    "size": find_size,
    "aspect": of_boxes("aspect", measure_aspect, [0.5, 2.0]),
    "border": find_border,
    "position": find_position,
    "crowding": find_crowding,
    "overlap": find_overlap,
    "frequency": find_frequency,
    "label-group": find_label_group,
}

BY_QUANTILES: dict[str, Callable[[AnalysisMatches], Property | str]] = {
    "size": find_size_quantiles,
    "aspect": find_aspect_quantiles,
}


def of_column(matches: AnalysisMatches, name: str, values: list[Any], edges: list[float] | None) -> Property:
    """Of what is said about images."""
    per_truth = np.bincount(matches.truth.image[matches.is_asked], minlength=len(values))
    bins, of_images, note = name_values(values, per_truth, edges)
    if unsaid := int((of_images < 0).sum()):
        told = f"{name}: nothing is said of {unsaid:,} image{'s' if unsaid > 1 else ''}, which are in no bin"
        note = f"{note}; {told}" if note else told
    return Property(name, bins, of_images[matches.truth.image], of_images=of_images, note=note)


def of_field(matches: AnalysisMatches, name: str, values: list[Any], edges: list[float] | None) -> Property:
    """Of what is said about objects of the truth."""
    bins, of_truths, note = name_values(values, matches.is_asked.astype(np.int64), edges)
    return Property(name, bins, of_truths, note=note)


def name_values(values: list[Any], weight: Ints, edges: list[float] | None) -> tuple[tuple[str, ...], Ints, str]:
    """Numbers in bins of equally many truths, texts by themselves if they are frequent enough."""
    numbers = as_numbers(values)
    if numbers is not None and (edges or len(np.unique(numbers[~np.isnan(numbers)])) > MOST_BINS):
        chosen = edges or split_evenly(np.repeat(numbers, weight)) or [0.0]
        return name_bins(chosen), cut(numbers, chosen), ""
    words = ["" if value is None else str(value) for value in values]
    found, place = np.unique(words, return_inverse=True)
    share = np.bincount(place, weight, minlength=len(found)) / max(int(weight.sum()), 1)
    own = np.flatnonzero((share >= LEAST_SHARE) & (found != ""))
    rest = int(((share < LEAST_SHARE) & (found != "")).sum())
    new = np.full(len(found), -1)
    new[own] = np.arange(len(own))
    if rest:
        new[(share < LEAST_SHARE) & (found != "")] = len(own)
    bins = (*found[own].tolist(), *(["other"] if rest else []))
    return bins, new[place], f"other: {rest} values with less than 1 % of the truths each" if rest else ""


def as_numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """None where one of them is no number; what is not said is NaN."""
    try:
        if any(isinstance(value, bool) for value in values):
            return None
        return np.array([np.nan if value in (None, "") else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def read_extra(truth: Annotations, name: str) -> tuple[str, list[Any]] | None:
    """What a COCO file says of images or objects beyond the format, from the file itself."""
    for where, ids in (("images", truth.images.ids), ("annotations", truth.ids)):
        listed = read_records(truth, where, ("id", name))
        if ids is not None and any(value is not None for _, value in listed):
            said = dict(listed)
            return where, [said.get(int(i)) for i in ids]
    return None


def read_supercategories(matches: AnalysisMatches) -> dict[str, str]:
    listed = read_records(matches.truth, "categories", ("name", "supercategory"))
    return {str(name): str(group) for name, group in listed if group}


def read_records(truth: Annotations, where: str, fields: tuple[str, str]) -> list[tuple[Any, Any]]:
    """Two fields of every record of a list in the JSON behind the truth; none where it came from elsewhere."""
    from pathlib import Path

    path = Path(truth.source.path)
    if not truth.source.format.startswith(("coco", "lvis")) or path.suffix != ".json" or not path.is_file():
        return []
    import msgspec

    from verite.formats.json_documents import ANYWHERE, decode

    one = msgspec.defstruct("Record", [(f"field{i}", Any, None) for i in range(2)],
                            rename=dict(zip(("field0", "field1"), fields, strict=True)))  # fmt: skip
    whole = msgspec.defstruct("Document", [("listed", list[one], [])], rename={"listed": where})  # type: ignore[valid-type]
    found: Any = decode(path, whole | list[Any], nan_in=ANYWHERE)
    if isinstance(found, list):  # a results file, which has no such records
        return []
    return [(record.field0, record.field1) for record in found.listed]
