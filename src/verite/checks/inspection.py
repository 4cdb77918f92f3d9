"""The result of `verite.inspect` (a summary per file with its findings), and safe fixes of annotation files.

`fix_annotations` implements `verite inspect FILE --fix OUT`: it removes exact duplicates, clips boxes to their images
and trims class names. Nothing that would need a guess is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.checks.check import Finding
from verite.errors import one_line
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.regions import BOX
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table, Verbatim

if TYPE_CHECKING:
    from verite.files import JsonObject


def fix_annotations(annotations: Annotations) -> tuple[Annotations, list[str]]:
    """Return the annotations with safe fixes applied, and one line per kind of change.

    >>> twice = Annotations.of(["a", "a"], ["cat", "cat"], [[-9, 0, 9, 9], [-9, 0, 9, 9]], sizes={"a": (20, 20)})
    >>> fixed, changes = fix_annotations(twice)
    >>> fixed.regions.boxes.tolist(), changes[0]
    ([[0.0, 0.0, 9.0, 9.0]], 'removed 1 of 2 objects, exact duplicates of another one')
    """
    changes: list[str] = []
    for change in (drop_duplicates, clip_boxes, trim_names):
        annotations, lines = change(annotations)
        changes += lines
    return annotations, changes


def drop_duplicates(old: Annotations) -> tuple[Annotations, list[str]]:
    """Keep the first of objects that agree in everything except their id."""
    polygons, runs = old.regions.outlines
    optional = [column for column in (old.confidence, old.area, *old.flags.values()) if column is not None]
    columns = np.column_stack([old.image, old.label, *old.regions.values.T, *optional])
    _, group, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    seen: set[tuple[int, bytes]] = set()
    kept = np.ones(len(old), dtype=np.bool_)
    for row in np.flatnonzero(counts[group] > 1).tolist():
        rings = [ring.tobytes() for ring in polygons[row]] if polygons is not None else []
        key = (int(group[row]), b"|".join([*rings, runs[row].tobytes() if runs is not None else b""]))
        kept[row] = key not in seen
        seen.add(key)
    if kept.all():
        return old, []
    count = int((~kept).sum())
    return old.where(kept), [f"removed {count:,} of {len(old):,} objects, exact duplicates of another one"]


def clip_boxes(old: Annotations) -> tuple[Annotations, list[str]]:
    """Clip boxes to their images, where the image size is known; polygons and masks are left alone.

    A stated area that was the area of the box is recomputed.
    """
    sizes = np.stack([old.images.widths, old.images.heights], axis=1)[old.image].astype(np.float64)
    boxes = old.regions.boxes
    limits = np.tile(sizes if old.unit == "px" else np.ones_like(sizes), 2)
    is_known = (limits > 0).all(axis=1) & np.isfinite(boxes).all(axis=1) & (old.regions.kinds == BOX)
    clipped = np.clip(boxes, 0, limits)
    is_moved = is_known & (clipped != boxes).any(axis=1)
    if not is_moved.any():
        return old, []
    new = np.where(is_moved[:, None], clipped, boxes)
    regions = old.regions.with_boxes(new, "xyxy")
    area = old.area
    if area is not None:
        before, after = (np.prod(b[:, 2:] - b[:, :2], axis=1) for b in (boxes, new))
        area = np.where(is_moved & np.isclose(area, before), after, area)
    flat = int((is_moved & (clipped[:, 2:] <= clipped[:, :2]).any(axis=1)).sum())
    empty = f"; {flat:,} of them lay outside of their image and have zero size now" if flat else ""
    line = f"clipped {int(is_moved.sum()):,} of {len(old):,} boxes to their images{empty}"
    return replace(old, regions=regions, area=area), [line]


def trim_names(old: Annotations) -> tuple[Annotations, list[str]]:
    """Remove white space around class names, unless two classes would become one."""
    names = old.labels.names
    if names is None:
        return old, []
    trimmed = [name.strip() for name in names]
    if list(names) == trimmed:
        return old, []
    if len(set(trimmed)) < len(trimmed):
        return old, ["class names with white space not trimmed: two classes would become one"]
    count = sum(a != b for a, b in zip(names, trimmed, strict=True))
    ids = None if old.labels.ids is None else old.labels.ids.tolist()
    labels = Labels(trimmed, ids, groups=old.labels.groups, skeletons=old.labels.skeletons)
    return replace(old, labels=labels), [f"trimmed {count:,} of {len(names):,} class names"]


QUANTILES = {"smallest": 0.0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "largest": 1.0}

SHOWN_CLASSES = 10


@dataclass(frozen=True)
class FileSummary:
    """A summary of one file: images, objects, classes, box sizes and confidences.

    Attributes
    ----------
    path, format, why, notes
        Where it was read from, as which format, why this format was chosen, and what the reader reports.
    is_truth : bool
        Ground truth, or predictions.
    images, images_with_objects, objects : int
        Counts.
    sizes : pair of (width, height), or None
        The smallest and the largest image by area; None if sizes are unknown.
    labels : dict of str to int
        Objects per class, the most frequent first.
    unit : {"px", "rel"}
        Pixels, or fractions of the image.
    box_sides : dict of str to float, or None
        Quantiles of the square root of the box area.
    confidences : (float, float) or None
        The lowest and the highest finite confidence.
    flags : dict of str to int
        Objects with each flag, e.g. "crowd".
    poses : dict of str to int, or None
        Objects with keypoints, the largest number of keypoints, and objects with a labelled keypoint.
    """

    path: str
    is_truth: bool
    format: str
    why: str
    notes: tuple[str, ...]
    images: int
    images_with_objects: int
    sizes: tuple[tuple[int, int], tuple[int, int]] | None
    objects: int
    labels: dict[str, int]
    unit: str
    box_sides: dict[str, float] | None
    confidences: tuple[float, float] | None
    flags: dict[str, int]
    poses: dict[str, int] | None

    @staticmethod
    def of(annotations: Annotations, *, is_truth: bool) -> FileSummary:
        """Summarise annotations."""
        images, source = annotations.images, annotations.source
        used = np.bincount(annotations.image, minlength=len(images)) > 0
        counts = np.bincount(annotations.label, minlength=len(annotations.labels))
        order = np.argsort(-counts, kind="stable")
        names = annotations.labels.all_names
        areas = annotations.regions.sizes[:, 2:].prod(axis=1)
        sides = np.sqrt(np.maximum(areas[np.isfinite(areas)], 0))
        confidence = annotations.confidence
        finite = confidence[np.isfinite(confidence)] if confidence is not None else np.empty(0)
        sizes = np.stack([images.widths, images.heights], axis=1)
        by_area = np.lexsort((images.widths, sizes.prod(axis=1, dtype=np.int64)))
        keypoints = annotations.regions.keypoints
        return FileSummary(
            path=source.path,
            is_truth=is_truth,
            format=source.format,
            why=source.why,
            notes=source.notes,
            images=len(images),
            images_with_objects=int(used.sum()),
            sizes=(int_pair(sizes[by_area[0]]), int_pair(sizes[by_area[-1]])) if len(images) and images.sized else None,
            objects=len(annotations),
            labels={names[i]: int(counts[i]) for i in order},
            unit=annotations.unit,
            box_sides={name: float(np.quantile(sides, q)) for name, q in QUANTILES.items()} if len(sides) else None,
            confidences=(float(finite.min()), float(finite.max())) if len(finite) else None,
            flags={name: int(column.sum()) for name, column in annotations.flags.items()},
            poses=None
            if keypoints is None
            else {
                "objects": int((keypoints.counts > 0).sum()),
                "points": int(keypoints.counts.max()),
                "labelled": int((keypoints.labelled > 0).sum()),
            },
        )

    def __str__(self) -> str:
        what = "objects" if self.is_truth else "predictions"
        used = {label: count for label, count in self.labels.items() if count}
        shown = ", ".join(f"{label} {count:,}" for label, count in list(used.items())[:SHOWN_CLASSES])
        rest = len(used) - SHOWN_CLASSES
        unit = "px" if self.unit == "px" else "of the image"
        size_range = ", sizes unknown"
        if self.sizes is not None:
            low_size, high_size = (f"{width} x {height}" for width, height in self.sizes)
            size_range = f", {low_size}" + (f" to {high_size}" if high_size != low_size else "")
        lines = [
            f"{'truth' if self.is_truth else 'pred'}: {self.path or '(not from a file)'}",
            f"  read as      {self.format or 'given in Python'}" + (f": {self.why}" if self.why else ""),
            *(f"               {note}" for note in self.notes),
            f"  images       {self.images:,}, {self.images_with_objects:,} with {what}" + size_range,
            f"  {what:<12} {self.objects:,}" + "".join(f", {count:,} {flag}" for flag, count in self.flags.items()),
            f"  classes      {len(self.labels):,}: {shown}" + (f" and {rest:,} more" if rest > 0 else ""),
        ]
        if self.box_sides:
            low, middle, high = (self.box_sides[name] for name in ("smallest", "median", "largest"))
            lines.append(
                f"  box sides    {low:.4g} to {high:.4g} {unit}, median {middle:.4g} (square root of the area)"
            )
        if self.poses:
            objects, labelled = f"{self.poses['objects']:,} objects", f"{self.poses['labelled']:,} with a labelled one"
            lines.append(f"  keypoints    {self.poses['points']} each, {objects}, {labelled}")
        if self.confidences:
            lines.append(f"  confidences  {self.confidences[0]:.4g} to {self.confidences[1]:.4g}")
        return "\n".join(one_line(line) for line in lines)

    def to_dict(self) -> JsonObject:
        """Return plain values for JSON."""
        return asdict(self)


def int_pair(size: Any) -> tuple[int, int]:
    """Convert width and height of an array to Python integers."""
    return int(size[0]), int(size[1])


@dataclass(frozen=True)
class Inspection(Display):
    """The result of `verite.inspect`: a summary per file with its findings.

    Attributes
    ----------
    files : tuple of FileSummary
        The ground truth first, then the predictions as given.
    by_file : tuple of tuple of Finding
        The findings of each file, errors first.
    """

    files: tuple[FileSummary, ...]
    by_file: tuple[tuple[Finding, ...], ...]

    @staticmethod
    def of(
        truth: Annotations | None, preds: Sequence[Annotations], findings: Sequence[Sequence[Finding]]
    ) -> Inspection:
        """Summarise the files; `findings` has one list per file, that of the ground truth first."""
        summaries = [FileSummary.of(truth, is_truth=True)] if truth is not None else []
        summaries += [FileSummary.of(pred, is_truth=False) for pred in preds]
        return Inspection(tuple(summaries), tuple(tuple(found) for found in findings))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all files."""
        return tuple(finding for found in self.by_file for finding in found)

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return a summary of each file with its findings below, one indented line each."""
        from verite.model.styles import wrap_text

        parts = []
        for summary, found in zip(self.files, self.by_file, strict=True):
            lines = [str(summary)]
            for finding in found:
                lines.append(f"  {finding.severity}: {finding}")
                lines += [f"    {example}" for example in finding.examples]
            lines += [] if found else ["  no findings"]
            parts.append("\n".join(lines))
        return wrap_text("\n\n".join(parts), width)

    def contents(self) -> list[Part]:
        """Return the summaries and one table of findings per file, for display."""
        parts: list[Part] = []
        for summary, found in zip(self.files, self.by_file, strict=True):
            listed = Table.of("finding", [f.code for f in found], tabulate_findings(found))
            parts += [Verbatim(summary), listed if found else "no findings"]
        return parts

    def main_table(self) -> Table:
        """Return a table with one row per finding."""
        paths = [summary.path for summary, found in zip(self.files, self.by_file, strict=True) for _ in found]
        return Table.of("finding", [f.code for f in self.findings], {"file": paths, **tabulate_findings(self.findings)})

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> JsonObject:
        """Return plain values for JSON."""
        return {
            "files": [
                {**summary.to_dict(), "findings": [finding.to_dict() for finding in found]}
                for summary, found in zip(self.files, self.by_file, strict=True)
            ]
        }

    def to_json(self, *, indent: int = 0) -> str:
        """Return a JSON document; `indent` is the number of blanks per level, 0 for one line."""
        return to_json(self.to_dict(), indent=indent)


def tabulate_findings(findings: Sequence[Finding]) -> dict[str, list[Any]]:
    """Return findings as columns of a table."""
    heads = {"severity": "severity", "count": "count", "message": "what", "remedy": "what to do"}
    return {head: [getattr(finding, name) for finding in findings] for name, head in heads.items()}
