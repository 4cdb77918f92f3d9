"""YouTube-VIS: videos with the masks of each track, one list entry per frame; also OVIS and TrackEval's copies of it.

Ground truth is an object with `videos` (`file_names` of the frames) and `annotations`, one per track, with
`segmentations` (RLE, polygons or null) and `bboxes` by frame. Results are an array of tracks with `video_id`,
`category_id`, `score` and `segmentations`; each object has the score of its track. Results refer to videos and classes
by number: with a YouTube-VIS ground truth these are looked up in its file.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np

from verite.errors import ReadError, excerpt
from verite.formats.format import Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring, parse_runs
from verite.formats.rows import Outline, Rows
from verite.model.annotations import Annotations
from verite.model.sequences import Sequences

FRAMES_AT_MOST = 1_000_000


class TrackMask(msgspec.Struct):
    """A mask as run lengths: COCO's text, or numbers, and height and width."""

    counts: str | list[int]
    size: tuple[int, int]


class Track(msgspec.Struct):
    """One track: what it is, and where it is in each frame of its video; null where it is not."""

    video_id: int | str
    category_id: int
    id: int | None = None
    segmentations: list[TrackMask | list[list[float]] | None] | None = None
    bboxes: list[tuple[float, float, float, float] | None] | None = None
    iscrowd: int = 0
    score: float | None = None


class Video(msgspec.Struct):
    """A video: its frames' names and size."""

    id: int | str
    file_names: list[str] = []
    width: int = 0
    height: int = 0
    length: int | None = None


class VisCategory(msgspec.Struct):
    """A class."""

    id: int
    name: str


class VideoSection(msgspec.Struct):
    """The videos and classes of a ground truth, without its tracks."""

    videos: list[Video]
    categories: list[VisCategory]


class VisDocument(VideoSection):
    """A whole ground truth."""

    annotations: list[Track]


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is YouTube-VIS: tracks with lists of segmentations or boxes by `video_id`."""
    start = "" if probe.is_folder else probe.head.lstrip()
    has_lists = re.search(r'"(segmentations|bboxes)"\s*:\s*\[', start) and '"video_id"' in start
    if start.startswith("["):
        return "a JSON array of tracks with video_id and a list by frame" if has_lists else None
    is_document = start.startswith("{") and '"images"' not in start
    if is_document and (has_lists or ('"videos"' in start and '"file_names"' in start)):
        return "a JSON object with videos, and tracks with a list by frame"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the tracks of a ground truth or of results; frames are images named as the videos' files."""
    if PathProbe(path).head.lstrip().startswith("["):
        return read_results(path, options)
    document = decode(path, VisDocument)
    videos: dict[int | str, Video] = {}
    for i, video in enumerate(document.videos):
        where, count = f"{path}: videos[{i}]", len(video.file_names)
        if video.id in videos:
            raise ReadError(where, expected="each video once", found=f"a second {excerpt(video.id)}")
        if not 0 < count <= FRAMES_AT_MOST:
            raise ReadError(where, expected=f"1 to {FRAMES_AT_MOST:,} names in file_names", found=str(count))
        if video.length is not None and video.length != count:
            raise ReadError(where, expected=f"{video.length} file_names, its length", found=str(count))
        videos[video.id] = video
    names: dict[int, str] = {}
    for i, category in enumerate(document.categories):
        if category.id in names or category.name in names.values():
            found = f"a second {category.name!r}"
            raise ReadError(f"{path}: categories[{i}]", expected="each class once", found=found)
        names[category.id] = category.name
    rows = Rows(path, options, names=list(names.values()))
    frames = add_frames(rows, path, videos)
    for i, track in enumerate(document.annotations):
        with rows.errors:
            number = i if track.id is None else track.id
            add_track(rows, f"{path}: annotations[{i}]", track, number, (videos, names, frames), is_pred=False)
    return with_videos(rows.annotations("youtube-vis", layout="xyxy"), videos)


def read_results(path: Path, options: Options) -> Annotations:
    """Read an array of predicted tracks; videos and classes are those of the ground truth's file, else numbers."""
    tracks: list[Track] = decode(path, list[Track])
    source = None if options.like is None else options.like.source
    if source is not None and source.format == "youtube-vis" and Path(source.path).is_file():
        known = decode(Path(source.path), VideoSection)
        videos = {video.id: video for video in known.videos}
        names: dict[int, str] | None = {one.id: one.name for one in known.categories}
    else:
        lengths: dict[int | str, int] = {}
        for track in tracks:
            count = max(len(track.segmentations or ()), len(track.bboxes or ()))
            lengths[track.video_id] = max(lengths.get(track.video_id, 0), count)
        videos = {key: Video(key, [f"{key}/{f:05d}" for f in range(n)]) for key, n in lengths.items()}
        names = None
    rows = Rows(path, options, names=None if names is None else list(names.values()), is_numbered=names is None)
    frames = add_frames(rows, path, videos)
    for i, track in enumerate(tracks):
        with rows.errors:
            add_track(rows, f"{path}: [{i}]", track, i, (videos, names, frames), is_pred=True)
    return with_videos(rows.annotations("youtube-vis", layout="xyxy", why="an array of predicted tracks"), videos)


def add_frames(rows: Rows, path: Path, videos: dict[int | str, Video]) -> dict[int | str, list[str]]:
    """Add the frames of all videos as images, and return their names by video.

    Parameters
    ----------
    rows
        Collects images and objects.
    path
        The file, for messages.
    videos
        Videos by id.

    Returns
    -------
    dict[int | str, list[str]]
        Names of the frames in order, by id of the video: objects refer to them by position.
    """
    frames = {}
    for video in videos.values():
        frames[video.id] = [name.replace("\\", "/") for name in video.file_names]
        for name in frames[video.id]:
            rows.add_image(f"{path}: video {video.id}", name, video.width, video.height)
    return frames


def add_track(
    rows: Rows,
    where: str,
    track: Track,
    number: int,
    tables: tuple[dict[int | str, Video], dict[int, str] | None, dict[int | str, list[str]]],
    *,
    is_pred: bool,
) -> None:
    """Add the objects of one track, one per frame in which it has a mask or a box."""
    videos, names, frames = tables
    if track.video_id not in videos:
        raise ReadError(where, expected="the video_id of a video", found=excerpt(track.video_id))
    if names is not None and track.category_id not in names:
        raise ReadError(where, expected="the category_id of a class", found=str(track.category_id))
    if is_pred and track.score is None:
        raise ReadError(where, expected="a key 'score'", found="none")
    shapes, boxes = track.segmentations, track.bboxes
    count = len(frames[track.video_id])
    for key, values in (("segmentations", shapes), ("bboxes", boxes)):
        if values is not None and len(values) != count:
            expected = f"{count} {key}, one per frame of video {track.video_id}"
            raise ReadError(where, expected=expected, found=str(len(values)))
    if shapes is None and boxes is None:
        raise ReadError(where, expected="segmentations or bboxes", found="neither")
    label: str | int = track.category_id if names is None else names[track.category_id]
    flags = ("crowd",) if track.iscrowd else ()
    for frame in range(count):
        shape, box = None if shapes is None else shapes[frame], None if boxes is None else boxes[frame]
        if shape is None and box is None:
            continue
        place = f"{where}.{'bboxes' if shape is None else 'segmentations'}[{frame}]"
        outline: Outline = {}
        if isinstance(shape, TrackMask):
            height, width = shape.size
            check_mask_size(place, height, width)
            runs = parse_runs(place, shape.counts, height, width)
            outline["runs"] = (runs, (height, width))
            around = bounds_of_runs(runs, height)
            if not around[2]:
                continue  # an empty mask: the object is not in this frame
            corners = [around[0], around[1], around[0] + around[2], around[1] + around[3]]
        elif shape is not None:
            rings = [list(check_ring(place, ring)) for ring in shape]
            if not rings:
                continue
            outline["polygon"] = rings
            corners = bounds_of_rings(rings)
        if box is not None:
            corners = [box[0], box[1], box[0] + box[2], box[1] + box[3]]
        confidence = track.score if is_pred else None
        rows.add(place, frames[track.video_id][frame], label, corners, confidence, track=number, flags=flags, **outline)


def with_videos(found: Annotations, videos: dict[int | str, Video]) -> Annotations:
    """Return annotations whose images are the frames of these videos, counted from 0."""
    names = []
    for video in videos.values():
        folder = video.file_names[0].replace("\\", "/").rpartition("/")[0] if video.file_names else ""
        names.append(folder or str(video.id))
    if len(set(names)) < len(names):
        names = [str(key) for key in videos]
    lengths = [len(video.file_names) for video in videos.values()]
    frame = np.concatenate([np.zeros(0, np.int64), *(np.arange(n) for n in lengths)]).astype(np.int64)
    sequences = Sequences(tuple(names), np.repeat(np.arange(len(lengths)), lengths), frame, is_stated=True)
    return found.changed(images=found.images.with_sequences(sequences))


FORMAT = Format(
    name="youtube-vis",
    title="YouTube-VIS JSON",
    about="tracks with a list of masks or boxes by frame of their video; results as an array of tracks",
    recognise=recognise,
    read=read,
    options=frozenset(),
    suffixes=(".json",),
)
