"""COCO-VID: track ids of COCO annotations and results, and the videos of COCO images.

Annotations and results have `track_id` or `instance_id`; images have `video_id` and the number of their frame
(`frame_id`, `frame_index`, `mot_frame_id`), and `videos` the names of the sequences. Images without a frame number are
counted in their order. The file is parsed a second time only where some place of it has one of these keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from verite.arrays import np
from verite.errors import ReadError, excerpt
from verite.formats.json_documents import ANYWHERE, decode
from verite.model.annotations import Annotations
from verite.model.sequences import Sequences

TRACK = ("track_id", "instance_id")

FRAME = ("frame_id", "frame_index", "frame_idx", "mot_frame_id")


def with_tracks_of_file(annotations: Annotations, path: Path, keys: Collection[str]) -> Annotations:
    """Return the annotations of a COCO file with its track ids and videos, if `keys` of its records name them."""
    if not any(key in keys for key in (*TRACK, "video_id")):
        return annotations
    return with_tracks(annotations, decode(path, Any, nan_in=ANYWHERE), path)


def with_tracks(annotations: Annotations, document: Any, where: object) -> Annotations:
    """Return annotations with the track ids and videos of their COCO document or list of results.

    Parameters
    ----------
    annotations
        Read from the document: one object per record, in its order. With other numbers of objects, as after invalid
        records were left out, nothing is added.
    document
        The parsed JSON.
    where
        The file, for messages.

    Raises
    ------
    ReadError
        If a track id is neither a whole number nor a text.
    """
    is_document = isinstance(document, Mapping)
    records = document.get("annotations") if is_document else document
    if isinstance(records, list) and len(records) == len(annotations) and annotations.track is None:
        # The track id of each record, -1 where it has none; None if no record has one. Ids that are texts are
        # numbered in the order in which they occur.
        key = next(
            (key for key in TRACK for one in records if isinstance(one, Mapping) and one.get(key) is not None), None
        )
        if key is None:
            track = None
        else:
            numbers: dict[str, int] = {}
            found = []
            for i, one in enumerate(records):
                value = one.get(key) if isinstance(one, Mapping) else None
                if isinstance(value, str):
                    value = numbers.setdefault(value, len(numbers))
                if value is None:
                    value = -1
                if (
                    isinstance(value, bool)
                    or not isinstance(value, (int, float))
                    or value != int(value)
                    or abs(value) >= 2**63
                ):
                    raise ReadError(f"{where}: [{i}].{key}", expected="the id of a track", found=excerpt(value))
                found.append(int(value))
            track = np.array(found, dtype=np.int64)
        if track is not None:
            annotations = replace(annotations, track=track)
    if is_document and annotations.images.sequences is None:
        sequences = sequences_of(document.get("images"), document.get("videos"), len(annotations.images))
        if sequences is not None:
            images = annotations.images.with_sequences(sequences)
            sequences.check_unique(images, where)
            annotations = annotations.changed(images=images)
    return annotations


def sequences_of(images: Any, videos: Any, count: int) -> Sequences | None:
    """Return the video and frame number of each image; None where some image has no `video_id`."""
    if not isinstance(images, list) or len(images) != count or not count:
        return None
    if not all(isinstance(one, Mapping) and isinstance(one.get("video_id"), (int, str)) for one in images):
        return None
    # Names of the videos by id: `name` or `file_name`, as far as these are distinct.
    found = {
        one["id"]: str(one.get("name") or one.get("file_name"))
        for one in (videos if isinstance(videos, list) else ())
        if isinstance(one, Mapping)
        and isinstance(one.get("id"), (int, str))
        and (one.get("name") or one.get("file_name"))
    }
    names = found if len(set(found.values())) == len(found) else {}
    known: dict[Any, int] = {}
    sequence = [known.setdefault(one["video_id"], len(known)) for one in images]
    key = next((key for key in FRAME if all(is_frame(one.get(key)) for one in images)), None)
    if key is not None:
        frame = [int(one[key]) for one in images]
    else:
        counts = [0] * len(known)
        frame = []
        for at in sequence:
            frame.append(counts[at])
            counts[at] += 1
    return Sequences(
        tuple(names.get(key, str(key)) for key in known),
        np.array(sequence, dtype=np.int64),
        np.array(frame, dtype=np.int64),
        is_stated=True,
    )


def is_frame(value: Any) -> bool:
    """Tell whether a value can be the number of a frame: a whole number from 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value) and value >= 0
