"""CVAT XML 1.1: one file for all images, with boxes, polygons and masks; "for video" with tracks over its frames.

A rotated box is read as the polygon of its four corners. Points, lines, ellipses, cuboids, skeletons, tags and shapes
without a label (V207) are skipped and counted in the notes. The frames of a video are images named `frame_000000`,
and their objects have the ids of their tracks. CVAT for video is a format of its own (`cvat-video`): tracks are written
as it, one video per file.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from verite.errors import UNLABELLED, ReadError, excerpt, give_sizes
from verite.files import write_atomically
from verite.formats.format import Format, Options, PathProbe, check_name, flags_by_row
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring, parse_runs
from verite.formats.rows import Rows
from verite.formats.sizes import check_size, need_pixels
from verite.formats.text_lines import to_numbers
from verite.formats.xml import Element, check_writable, parse, to_whole
from verite.model.annotations import Annotations
from verite.model.regions import MASK, POLYGON
from verite.model.sequences import Sequences

Ints = NDArray[np.int64]

Segments = tuple[Ints, Ints, Ints]  # line, start, end

BLOCK = 2**22  # pixels laid out at a time: a few bytes of file may stand for all the pixels an image can have


def image_runs(
    counts: NDArray[np.uint32], box: tuple[int, int, int, int], height: int, width: int
) -> NDArray[np.uint32]:
    """COCO's runs over an image of a mask whose row-wise runs fill the box (left, top, width, height).

    >>> image_runs(np.array([0, 1, 1, 2], dtype=np.uint32), (1, 0, 2, 2), height=3, width=3)
    array([3, 2, 2, 1, 1], dtype=uint32)
    """
    left, top, box_width, box_height = box
    column, start, end = transpose(segments(counts, box_width), box_height, box_width)
    return runs((column + left, start + top, end + top), height, width)


def box_runs(counts: NDArray[np.uint32], height: int) -> tuple[NDArray[np.uint32], tuple[int, int, int, int]]:
    """CVAT's runs of a mask, and the box they fill: the smallest around it, one pixel for an empty mask."""
    column, start, end = segments(counts, height)
    if not len(column):
        return np.array([1], dtype=np.uint32), (0, 0, 1, 1)
    left, top = int(column.min()), int(start.min())
    box_width, box_height = int(column.max()) + 1 - left, int(end.max()) - top
    rows = transpose((column - left, start - top, end - top), box_width, box_height)
    return runs(rows, box_width, box_height), (left, top, box_width, box_height)


def segments(counts: NDArray[np.uint32], length: int) -> Segments:
    """The foreground of runs, cut where a line of this length ends."""
    edges = np.cumsum(counts, dtype=np.int64)
    start, end = edges[0::2][: len(edges) // 2], edges[1::2]
    start, end = start[start < end], end[start < end]
    first, last = start // length, (end - 1) // length
    count = last - first + 1
    owner = np.repeat(np.arange(len(start)), count)
    line = first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    begin = np.where(line == first[owner], (start % length)[owner], 0)
    until = np.where(line == last[owner], ((end - 1) % length)[owner] + 1, length)
    return line, begin, until


def transpose(mask: Segments, lines: int, length: int) -> Segments:
    """Segments of the rows of a mask from those of its columns, or the reverse."""
    line, start, end = mask
    parts: list[Segments] = []
    step = max(1, BLOCK // lines)
    for first in range(0, length, step):
        size = min(step, length - first)
        change = np.zeros((lines, size + 1), dtype=np.int8)
        np.add.at(change, (line, np.clip(start - first, 0, size)), 1)
        np.add.at(change, (line, np.clip(end - first, 0, size)), -1)
        pixels = np.cumsum(change, axis=1, dtype=np.int8)[:, :size].T
        edges = np.diff(pixels, axis=1, prepend=np.int8(0), append=np.int8(0))
        (across, begin), (_, until) = np.nonzero(edges == 1), np.nonzero(edges == -1)
        parts.append((across + first, begin, until))
    turned_line, turned_start, turned_end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return turned_line, turned_start, turned_end


def runs(mask: Segments, length: int, lines: int) -> NDArray[np.uint32]:
    """Runs, line after line, of segments in that order."""
    line, start, end = mask
    first, last = line * length + start, line * length + end
    joined = np.flatnonzero(last[:-1] == first[1:])  # over the end of a line
    edges = np.stack([np.delete(first, joined + 1), np.delete(last, joined)], axis=1).ravel()
    total = length * lines
    if len(edges) and edges[-1] == total:
        edges = edges[:-1]
    return np.diff(edges, prepend=0, append=total).astype(np.uint32)


CVAT_FLAGS = ("truncated", "difficult")  # as attributes of a shape, the way CVAT's own VOC export has them

CORNERS = ("xtl", "ytl", "xbr", "ybr")

SIDES = ("left", "top", "width", "height")

FRAMES_AT_MOST = 1_000_000


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is CVAT XML."""
    files = probe.with_suffix(".xml")
    if len(files) == 1 and re.search(r"<annotations[\s>]", PathProbe(files[0]).head):
        return "an XML file with <annotations>"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the boxes, polygons and masks of all images, and the tracks of a video."""
    files = PathProbe(path).with_suffix(".xml")
    if len(files) != 1:
        raise ReadError(path, expected="one file ending in .xml", found=str(len(files)))
    root = parse(files[0])
    if root.tag != "annotations":
        raise ReadError(root.where, expected="<annotations>", found=f"<{root.tag}>")
    rows = Rows(path, options, names=label_names(root) or None)
    for image in root.all("image"):
        with rows.errors:
            add_image(rows, image)
    if root.find("track") is not None:
        # The shapes of a video, frame by frame; those outside of the image are left out.
        # Height, width and number of the frames from <meta>.
        owners = [owner for meta in root.all("meta") for owner in meta.children]
        sizes = [size for owner in [*owners, *root.all("meta")] for size in owner.all("original_size")]
        height, width = (
            (to_whole(sizes[0].number(side), f"whole pixels in <{side}>", sizes[0].where) for side in SIDES[:1:-1])
            if sizes
            else (0, 0)
        )
        check_size(root.where, width, height)
        owner = next((owner for owner in owners if owner.find("size") is not None), None)
        frames = to_whole(owner.number("size"), "a number of frames", owner.where) if owner is not None else 0
        if not 0 <= frames <= FRAMES_AT_MOST:
            raise ReadError(root.where, expected=f"at most {FRAMES_AT_MOST:,} frames in <size>", found=f"{frames:,}")
        size, count = (height, width), frames
        for frame in range(count):
            rows.add_image(root.where, f"frame_{frame:06d}", size[1], size[0])
        # Ids of the tracks; their positions where some track has no whole number, or two have the same.
        ids = [track.attributes.get("id", "") for track in root.all("track")]
        is_numbered = all(word.isdecimal() and len(word) <= 18 for word in ids) and len(set(map(int, ids))) == len(ids)
        numbers = [int(word) for word in ids] if is_numbered else list(range(len(ids)))
        for number, track in zip(numbers, root.all("track"), strict=True):
            with rows.errors:
                add_track(rows, track, size, number)
        rows.remark("tracks, one image per frame", count=sum(1 for _ in root.all("track")))
    if not rows.images:
        raise ReadError(root.where, expected="at least one <image> or <track> in <annotations>", found="none")
    return rows.annotations("cvat" if root.find("track") is None else "cvat-video", layout="xyxy")


def add_image(rows: Rows, image: Element) -> None:
    """The shapes of one image.

    Parameters
    ----------
    rows
        Collects images and objects.
    image
        The <image> element. An object at fault is recorded, and the next one read.
    """
    name = image.attribute("name")
    width, height = (to_whole(image.attribute_number(s), f"whole pixels in {s!r}", image.where) for s in SIDES[2:])
    rows.add_image(image.where, name, width, height)
    for shape in image.children:
        with rows.errors:
            add_shape(rows, name, shape, shape.attributes.get("label"), (height, width))


def add_track(rows: Rows, track: Element, size: tuple[int, int], number: int) -> None:
    """The shapes of one track; frames between two keyframes get the linearly interpolated box.

    Exports of CVAT have every frame; files of other tools have the keyframes alone. As in CVAT a shape lasts until the
    next one, unless that frame says that the object is outside. Polygons and masks are not interpolated, and remarked.
    """
    before: tuple[int, list[float] | None] | None = None
    label = track.attributes.get("label")
    for shape in track.children:
        if shape.attributes.get("outside", "0") == "1":
            before = None
            continue
        with rows.errors:
            frame = to_whole(shape.attribute_number("frame"), "the number of a frame", shape.where)
            if not 0 <= frame <= FRAMES_AT_MOST:
                raise ReadError(shape.where, expected="the number of a frame, from 0", found=str(frame))
            image = f"frame_{frame:06d}"
            rows.remember_image(shape.where, image, (size[1], size[0]))
            add_shape(rows, image, shape, label, size, number)
            is_box = shape.tag == "box" and "rotation" not in shape.attributes
            box = [shape.attribute_number(side) for side in CORNERS] if is_box else None
            if before is not None and frame > before[0] + 1:
                if box is None or before[1] is None:
                    rows.remark("gaps between keyframes of polygons or masks, which are not interpolated", shape.where)
                elif label is not None and label.strip():
                    for between in range(before[0] + 1, frame):
                        part = (between - before[0]) / (frame - before[0])
                        inner = [a + part * (b - a) for a, b in zip(before[1], box, strict=True)]
                        image = f"frame_{between:06d}"
                        rows.remember_image(shape.where, image, (size[1], size[0]))
                        rows.add(shape.where, image, label.strip(), inner, track=number)
                    rows.remark("boxes interpolated between keyframes", shape.where, frame - before[0] - 1)
            before = (frame, box)


def label_names(root: Element) -> list[str]:
    """Return the class names in <meta> of a task, job or project; parts of skeletons may repeat one."""
    meta = root.find("meta")
    owners = meta.children if meta is not None else []
    labels = [label for owner in owners for table in owner.all("labels") for label in table.all("label")]
    names = [label.need("name").text.strip() for label in labels]
    for label, name in zip(labels, names, strict=True):
        check_name(label.where, name)
    return list(dict.fromkeys(names))


def add_shape(
    rows: Rows, image: str, shape: Element, label: str | None, size: tuple[int, int], track: int | None = None
) -> None:
    """A shape, or a remark on why it is none that counts."""
    if shape.tag not in READERS:
        rows.remark(f"<{shape.tag[:60]}> left out: neither box, polygon nor mask")
        return
    if label is None or not label.strip():
        rows.errors.add(UNLABELLED, f"<{shape.tag}> has no label", shape.where, "")
        return
    said = {a.attributes.get("name", ""): a.text.strip().lower() for a in shape.all("attribute")}
    flags = [flag for flag in CVAT_FLAGS if said.get(flag) in ("1", "true")]
    if shape.attributes.get("occluded", "0") == "1":
        flags.append("occluded")
    box, ring, runs = READERS[shape.tag](shape, *size)
    rows.add(shape.where, image, label.strip(), box, polygon=ring and [ring], runs=runs, flags=flags, track=track)


Outline = tuple[list[float], list[float] | None, tuple[NDArray[np.uint32], tuple[int, int]] | None]


def read_box(shape: Element, height: int, width: int) -> Outline:
    """Corners; with a rotation, in degrees around the centre, the polygon they make."""
    left, top, right, bottom = (shape.attribute_number(side) for side in CORNERS)
    angle = math.radians(shape.attribute_number("rotation")) if "rotation" in shape.attributes else 0.0
    if not math.isfinite(angle):
        raise ReadError(shape.where, expected="a finite rotation", found=excerpt(shape.attribute("rotation")))
    if not angle:
        return [left, top, right, bottom], None, None
    x, y, cos, sin = (left + right) / 2, (top + bottom) / 2, math.cos(angle), math.sin(angle)
    corners = [(left - x, top - y), (right - x, top - y), (right - x, bottom - y), (left - x, bottom - y)]
    ring = [v for dx, dy in corners for v in (x + dx * cos - dy * sin, y + dx * sin + dy * cos)]
    return bounds_of_rings([check_ring(shape.where, ring)]), ring, None


def read_polygon(shape: Element, height: int, width: int) -> Outline:
    points = [point for point in shape.attribute("points").split(";") if point.strip()]
    odd = next((point for point in points if point.count(",") != 1), None)
    if odd is not None:
        raise ReadError(shape.where, expected="points 'x,y;x,y;…'", found=excerpt(odd))
    ring = to_numbers(",".join(points).split(","), shape.where, "a number in 'points'") if points else []
    return bounds_of_rings([check_ring(shape.where, ring)]), ring, None


def read_mask(shape: Element, height: int, width: int) -> Outline:
    left, top, box_width, box_height = (
        to_whole(shape.attribute_number(side), f"whole pixels in {side!r}", shape.where) for side in SIDES
    )
    if min(left, top) < 0 or min(box_width, box_height) < 1 or left + box_width > width or top + box_height > height:
        found = f"{box_width} x {box_height} at {left}, {top}"
        raise ReadError(shape.where, expected=f"a mask inside the image of {width} x {height}", found=found)
    check_mask_size(shape.where, height, width)
    words = shape.attribute("rle").replace(",", " ").split()
    odd = next((word for word in words if not word.isdecimal() or len(word) > 9), None)
    if odd is not None:
        raise ReadError(shape.where, expected="whole numbers in 'rle'", found=excerpt(odd))
    counts = parse_runs(shape.where, [int(word) for word in words], box_height, box_width)
    runs = image_runs(counts, (left, top, box_width, box_height), height, width)
    x, y, w, h = bounds_of_runs(runs, height)
    return [x, y, x + w, y + h], None, (runs, (height, width))


READERS = {"box": read_box, "polygon": read_polygon, "mask": read_mask}


def write(annotations: Annotations, path: Path) -> None:
    """Write one XML file for all images."""
    need_pixels(annotations, path)
    images, names = annotations.images, annotations.labels.all_names
    check_writable(path, "class names", names)
    check_writable(path, "image names", images.names or ())
    if not images.sized:
        unsized = int(np.argmin(np.minimum(images.widths, images.heights)))
        found = f"none for {images.name(unsized)!r}"
        raise ReadError(path, expected="the size of every image", found=found, remedy=give_sizes())
    check_mask_frames(annotations, path)
    shapes: list[list[str]] = [[] for _ in range(len(images))]
    corners, flags = annotations.regions.boxes.tolist(), flags_by_row(annotations)
    for row, image in enumerate(annotations.image):
        shapes[image].append(shape_text(annotations, row, corners[row], flags[row]))
    text = ['<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n', meta_text(names)]
    for i, lines in enumerate(shapes):
        size = f'width="{images.widths[i]}" height="{images.heights[i]}"'
        text.append(f'  <image id="{i}" name={quoteattr(images.name(i))} {size}>\n')
        text += [*lines, "  </image>\n"]
    write_atomically(path, "".join([*text, "</annotations>\n"]))


def check_mask_frames(annotations: Annotations, path: Path) -> None:
    """CVAT's masks lie in their image, so both must be of one size."""
    if annotations.regions.runs is None:
        return
    images, frames = annotations.images, annotations.regions.runs.sizes
    sizes = np.stack([images.heights, images.widths], axis=1)[annotations.image]
    odd = np.flatnonzero((annotations.regions.kinds == MASK) & (frames != sizes).any(axis=1))
    if len(odd):
        height, width = sizes[odd[0]]
        found = f"{frames[odd[0], 0]} x {frames[odd[0], 1]} in object {odd[0]}"
        raise ReadError(path, expected=f"a mask of its image's height and width, {height} x {width}", found=found)


def meta_text(names: tuple[str, ...], frames: int | None = None, size: tuple[int, int] = (0, 0)) -> str:
    """The section <meta>: classes and their attributes; of a video also the number of frames, width and height."""
    attribute = "<attribute><name>{}</name><mutable>False</mutable><input_type>checkbox</input_type></attribute>"
    attributes = "".join(attribute.format(flag) for flag in CVAT_FLAGS)
    labels = [f"<label><name>{escape(name)}</name><attributes>{attributes}</attributes></label>" for name in names]
    lines = "".join(f"        {label}\n" for label in labels)
    video = ""
    if frames is not None:
        sides = f"<width>{size[0]}</width><height>{size[1]}</height>"
        video = f"      <size>{frames}</size>\n      <original_size>{sides}</original_size>\n"
    return f"  <meta>\n    <task>\n{video}      <labels>\n{lines}      </labels>\n    </task>\n  </meta>\n"


def shape_text(
    annotations: Annotations,
    row: int,
    box: list[float],
    flags: list[str],
    frame: int | None = None,
    *,
    is_outside: bool = False,
) -> str:
    """A shape; what CVAT has no shape for, a polygon of several rings, is written as its box.

    With a frame it is a keyframe of a track, which has the class; `is_outside` says that the object is not there.
    """
    regions = annotations.regions
    kind = regions.kinds[row]
    if kind == MASK and regions.runs is not None:
        counts, sides = box_runs(regions.runs[row], int(regions.runs.sizes[row, 0]))
        places = " ".join(f'{side}="{v}"' for side, v in zip(SIDES, sides, strict=True))
        tag, shape = "mask", f'rle="{", ".join(map(str, counts.tolist()))}" {places}'
    elif kind == POLYGON and regions.polygons is not None and len(regions.polygons[row]) == 1:
        points = ";".join(f"{x!r},{y!r}" for x, y in regions.polygons[row][0].tolist())
        tag, shape = "polygon", f'points="{points}"'
    else:
        tag, shape = "box", " ".join(f'{side}="{v!r}"' for side, v in zip(CORNERS, box, strict=True))
    label = quoteattr(annotations.labels.name(int(annotations.label[row])))
    attributes = [f'      <attribute name="{flag}">true</attribute>\n' for flag in CVAT_FLAGS if flag in flags]
    occluded = int("occluded" in flags)
    start = f'    <{tag} label={label} source="manual" occluded="{occluded}" {shape} z_order="0">\n'
    if frame is not None:
        when = f'frame="{frame}" keyframe="1" outside="{int(is_outside)}"'
        start = f'    <{tag} {when} occluded="{occluded}" {shape} z_order="0">\n'
    return "".join([start, *attributes, f"    </{tag}>\n"])


def recognise_video(probe: PathProbe) -> str | None:
    """Return why a path is CVAT for video: its XML has tracks and no images."""
    files = probe.with_suffix(".xml")
    if len(files) != 1:
        return None
    start = PathProbe(files[0]).head
    if not re.search(r"<annotations[\s>]", start) or re.search(r"<image\s", start):
        return None
    return "an XML file with <annotations> and <track>" if re.search(r"<track[\s>]", start) else None


def write_video(annotations: Annotations, path: Path) -> None:
    """Write the tracks of one sequence as CVAT for video; frames that count from 1 are counted from 0.

    Every object is a keyframe. Where a track ends or pauses, the next frame says that it is outside.

    Raises
    ------
    ReadError
        If objects have no track ids, there are several sequences, or sizes differ or are unknown.
    """
    need_pixels(annotations, path)
    images, names, track = annotations.images, annotations.labels.all_names, annotations.track
    check_writable(path, "class names", names)
    if track is None or (len(track) and int(track.min()) < 0):
        found = "none" if track is None else "some without"
        raise ReadError(path, expected="objects with track ids", found=found, remedy="choose another format")
    at = Sequences.of(images, path)
    if len(at.names) != 1:
        remedy = "a CVAT video is one sequence: write them one by one"
        raise ReadError(path, expected="one sequence", found=str(len(at.names)), remedy=remedy)
    sizes = {(int(w), int(h)) for w, h in zip(images.widths, images.heights, strict=True)}
    if len(sizes) != 1 or 0 in min(sizes):
        found = f"{len(sizes)} sizes" if len(sizes) > 1 else "none"
        raise ReadError(path, expected="one size of all frames", found=found, remedy=give_sizes())
    check_mask_frames(annotations, path)
    lowest = int(at.frame.min())
    frames = at.frame - (1 if lowest == 1 else 0)
    if lowest < 0:
        raise ReadError(path, expected="frames from 0", found=str(lowest))
    count = int(frames.max()) + 1
    corners, flags = annotations.regions.boxes.tolist(), flags_by_row(annotations)
    text = [
        '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n',
        meta_text(names, count, min(sizes)),
    ]
    rows = np.lexsort((frames[annotations.image], annotations.label, track))
    breaks = np.flatnonzero(np.any(np.diff([track[rows], annotations.label[rows]], axis=1), axis=0)) + 1
    for mine in np.split(rows, breaks) if len(rows) else ():
        label = quoteattr(annotations.labels.name(int(annotations.label[mine[0]])))
        text.append(f'  <track id="{int(track[mine[0]])}" label={label} source="manual">\n')
        at_frame = frames[annotations.image[mine]].tolist()
        for i, (row, frame) in enumerate(zip(mine.tolist(), at_frame, strict=True)):
            following = at_frame[i + 1] if i + 1 < len(at_frame) else count
            text.append(shape_text(annotations, row, corners[row], flags[row], frame))
            if following != frame + 1:
                text.append(shape_text(annotations, row, corners[row], flags[row], frame + 1, is_outside=True))
        text.append("  </track>\n")
    write_atomically(path, "".join([*text, "</annotations>\n"]))


PRESERVES = frozenset(
    {
        "class name",
        "class order",
        "empty image",
        "image folder or suffix",
        "image name",
        "image size",
        "mask",
        "occluded",
        "polygon",
        "unused class",
        "unused class id",
        *CVAT_FLAGS,
    }
)

FORMAT = Format(
    name="cvat",
    title="CVAT XML",
    about="XML for images: boxes, polygons, masks; XML for video, its tracks frame by frame",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"image size"}),
    suffixes=(".xml",),
    sides=("truth",),
)

VIDEO = Format(
    name="cvat-video",
    title="CVAT XML for video",
    about="one video per file: the boxes, polygons and masks of tracks frame by frame, interpolated between keyframes",
    recognise=recognise_video,
    read=read,
    write=write_video,
    preserves=(PRESERVES - {"image folder or suffix", "image name", "unused class id"}) | {"track id"},
    requires=frozenset({"image size", "tracks"}),
    suffixes=(".xml",),
    sides=("truth",),
)
