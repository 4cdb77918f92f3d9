"""Video sequences: which images are the frames of which video, and aligning two sides by sequence and frame number.

Sequence and frame number come from the file where it states them (MOTChallenge, COCO-VID, KITTI tracking …). Otherwise
they are read off the names of images, as in `MOT17-02/img1/000042.jpg`: the folder is the sequence, the last number of
the file name is the frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.errors import DataError, excerpt
from verite.model.images import Images, path_parts, split_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        For each image its frame number, as the file or the image's name states it.
    is_stated
        Whether the file states them beside the names of images, from which they may differ.
    """

    names: tuple[str, ...]
    sequence: NDArray[np.int64]
    frame: NDArray[np.int64]
    is_stated: bool = False

    @classmethod
    def of(cls, images: Images, where: object = "annotations") -> Sequences:
        """Return the sequences of some images: those of the file, else by the images' names.

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
        if images.sequences is not None:
            return images.sequences
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
        made.check_unique(images, where)
        return made

    def check_unique(self, images: Images, where: object) -> None:
        """Raise `DataError` if two images are the same frame of a sequence."""
        seen: dict[tuple[int, int], int] = {}
        for i, key in enumerate(zip(self.sequence.tolist(), self.frame.tolist(), strict=True)):
            if seen.setdefault(key, i) != i:
                raise DataError(
                    f"{where}: expected each frame once, found frame {key[1]} of sequence {self.names[key[0]]!r} as "
                    f"{excerpt(images.name(seen[key]))} and as {excerpt(images.name(i))}"
                )

    def take(self, rows: Sequence[int]) -> Sequences:
        """Return the frames of some images."""
        chosen = np.asarray(rows, dtype=np.int64)
        return Sequences(self.names, self.sequence[chosen], self.frame[chosen], self.is_stated)

    def extend(self, other: Sequences, rows: NDArray[np.int64]) -> Sequences:
        """Return these frames followed by some of another table, sequences of the same name being the same."""
        names = list(dict.fromkeys([*self.names, *other.names]))
        if len(self.names) == len(other.names) == 1:
            names, place = list(self.names), np.zeros(1, dtype=np.int64)
        else:
            place = np.array([names.index(name) for name in other.names], dtype=np.int64)
        return Sequences(
            tuple(names),
            np.concatenate([self.sequence, place[other.sequence[rows]]]),
            np.concatenate([self.frame, other.frame[rows]]),
            self.is_stated or other.is_stated,
        )

    def match_names(self, other: Sequences) -> list[int] | None:
        """Return for each sequence of `other` its position here, -1 if there is none; None where names cannot tell.

        Where both sides have one sequence it is the same one, unless the names are numbered differently (MOT17-02 and
        MOT17-04) or are two splits of a dataset.
        """
        if len(self.names) == len(other.names) == 1 and self.names != other.names:
            counted = [re.sub(r"\d+", "#", names[0]) for names in (self.names, other.names)]
            splits = {split_of(names[0]) for names in (self.names, other.names)}
            return None if counted[0] == counted[1] or (None not in splits and len(splits) == 2) else [0]
        place = {name: i for i, name in enumerate(self.names)}
        return [place.get(name, -1) for name in other.names]

    def find(self, other: Sequences) -> NDArray[np.int32] | None:
        """Return the position of each frame of `other` in this table, -1 if it is not there.

        None where some sequence has no counterpart of the same name, so that the names of images must decide.
        """
        place = self.match_names(other)
        if place is None or -1 in place:
            return None
        span = int(max(self.frame.max(initial=0), other.frame.max(initial=0))) + 1
        keys = self.sequence * span + self.frame
        if not len(keys):
            return np.full(len(other.frame), -1, dtype=np.int32)
        order = np.argsort(keys, kind="stable")
        wanted = np.array(place, dtype=np.int64)[other.sequence] * span + other.frame
        at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        return np.where(keys[order][at] == wanted, order[at], -1).astype(np.int32)


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
    more = (
        pred.images.sequences.take(extra.tolist())
        if pred.images.sequences is not None
        else Sequences.of(Images([pred.images.name(i) for i in extra.tolist()]), pred.source.path or "predictions")
    )
    occurring = [more.names[i] for i in np.unique(more.sequence).tolist()]
    unknown = [name for name in occurring if name not in names]
    if unknown and not (len(names) == len(more.names) == 1):
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected sequences of the ground truth ({shown}), found "
            f"{excerpt(unknown[0])}{f' and {len(unknown) - 1} more' if unknown[1:] else ''}; a sequence is named by "
            "its folder or file"
        )
    place = np.array([names.index(name) if name in names else 0 for name in more.names], dtype=np.int64)
    sequence = np.concatenate([ours.sequence, place[more.sequence]])
    frame = np.concatenate([ours.frame, more.frame])
    lowest = int(frame.min(initial=0))
    span = int(frame.max(initial=0)) - lowest + 1
    keys, position = np.unique(sequence * span + (frame - lowest), return_inverse=True)
    position = position.reshape(-1).astype(np.int32)
    table = np.zeros(max(len(pred.images), known), dtype=np.int32)
    table[:known], table[extra] = position[:known], position[known:]
    sizes = np.zeros((2, len(keys)), dtype=np.int32)
    sizes[:, position[:known]] = truth.images.widths, truth.images.heights
    sequences = Sequences(tuple(names), keys // span, keys % span + lowest, ours.is_stated)
    images = Images(
        [f"{names[s]}/{f:06d}" for s, f in zip(sequences.sequence.tolist(), sequences.frame.tolist(), strict=True)],
        widths=sizes[0],
        heights=sizes[1],
        sequences=sequences,
    )
    truth, pred = (
        truth.changed(images=images, columns=truth.columns.move(images=table[:known])),
        pred.changed(images=images, columns=pred.columns.move(images=table)),
    )
    return truth, pred.like(truth), sequences
