"""Video sequences: which images are the frames of which video, and aligning two sides by sequence and frame number.

Frames are images named `SEQUENCE/000042`, as the MOT reader names them and as COCO-VID files usually do
(`MOT17-02/img1/000042.jpg`): the folder is the sequence, the last number of the file name is the frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.errors import DataError, excerpt
from verite.model.images import Images, path_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

FRAME = re.compile(r"(.*?)(\d{1,9})")  # a file name without suffix: what comes before the last number, and that number

FRAME_FOLDERS = frozenset({"img1", "img", "images", "frames", "gt", "det"})  # below the folder of a sequence


@dataclass(frozen=True, eq=False)
class Sequences:
    """The sequence and frame number of each image.

    Attributes
    ----------
    names
        Names of the sequences, in the order in which they first occur.
    sequence
        For each image the position of its sequence in `names`.
    frame
        For each image its frame number as its name states it.
    """

    names: tuple[str, ...]
    sequence: NDArray[np.int64]
    frame: NDArray[np.int64]

    @classmethod
    def of(cls, images: Images, where: object = "annotations") -> Sequences:
        """Return the sequences of some images, by their names.

        Parameters
        ----------
        images
            The images.
        where
            The file they are from, for messages.

        Raises
        ------
        DataError
            If an image's name has no frame number, or a frame occurs twice.

        Examples
        --------
        >>> found = Sequences.of(Images(["a/000001", "a/000002", "b/img1/000001.jpg"]))
        >>> found.names, found.sequence.tolist(), found.frame.tolist()
        (('a', 'b'), [0, 0, 1], [1, 2, 1])
        """
        names: dict[str, int] = {}
        sequence, frame = [], []
        for i in range(len(images)):
            name = images.name(i)
            *folders, stem = path_parts(name)
            found = FRAME.fullmatch(stem)
            if found is None:
                raise DataError(
                    f"{where}: expected frames named SEQUENCE/NUMBER, such as MOT17-02/000042.jpg, found "
                    f"{excerpt(name)}"
                )
            while len(folders) > 1 and folders[-1].lower() in FRAME_FOLDERS:
                folders.pop()
            prefix = found[1].rstrip("_-. ")
            folder = "/".join([*folders, prefix] if prefix and not folders else folders)
            sequence.append(names.setdefault(folder, len(names)))
            frame.append(int(found[2]))
        made = cls(tuple(names), np.array(sequence, dtype=np.int64), np.array(frame, dtype=np.int64))
        seen: dict[tuple[int, int], int] = {}
        for i, key in enumerate(zip(sequence, frame, strict=True)):
            if key in seen:
                raise DataError(
                    f"{where}: expected each frame once, found frame {key[1]} of sequence {made.names[key[0]]!r} as "
                    f"{excerpt(images.name(seen[key]))} and as {excerpt(images.name(i))}"
                )
            seen[key] = i
        return made


def share_frames(truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations, Sequences]:
    """Return both sides over one table of frames, in the order of sequences and frames, and the sequences.

    Where both sides have one sequence, it is the same one, whatever the files are called. Frames that only the
    predictions have belong to their sequence, too: a prediction there is a false positive.

    Raises
    ------
    DataError
        If predictions are on a sequence that the ground truth lacks.
    """
    pred = pred.like(truth)
    ours = Sequences.of(truth.images, truth.source.path or "truth")
    known, names = len(truth.images), list(ours.names)
    used = np.unique(pred.image)
    extra = used[used >= known]
    more = Sequences.of(Images([pred.images.name(i) for i in extra.tolist()]), pred.source.path or "predictions")
    unknown = [name for name in more.names if name not in names]
    if unknown and not (len(names) == len(more.names) == 1):
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected sequences of the ground truth ({shown}), found "
            f"{excerpt(unknown[0])}{f' and {len(unknown) - 1} more' if unknown[1:] else ''}; a sequence is named by "
            "its folder or file"
        )
    place = np.array([names.index(name) if name in names else 0 for name in more.names], dtype=np.int64)
    keys = np.stack(
        [
            np.concatenate([ours.sequence, place[more.sequence]]),
            np.concatenate([ours.frame, more.frame]),
        ]
    )
    frames, position = np.unique(keys, axis=1, return_inverse=True)
    position = position.reshape(-1).astype(np.int32)
    table = np.zeros(max(len(pred.images), known), dtype=np.int32)
    table[:known], table[extra] = position[:known], position[known:]
    sizes = np.zeros((2, frames.shape[1]), dtype=np.int32)
    sizes[:, position[:known]] = truth.images.widths, truth.images.heights
    images = Images(
        [f"{names[sequence]}/{frame:06d}" for sequence, frame in frames.T.tolist()], widths=sizes[0], heights=sizes[1]
    )
    truth, pred = (
        truth.changed(images=images, columns=truth.columns.move(images=table[:known])),
        pred.changed(images=images, columns=pred.columns.move(images=table)),
    )
    return truth, pred.like(truth), Sequences(tuple(names), frames[0], frames[1])
