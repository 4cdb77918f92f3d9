"""A file whose columns are still in the core. Who asks for numbers alone need not wait for arrays to be made."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verite import _core
    from verite.model.annotations import Annotations


class Unopened:
    """A COCO file in which everything has its place, so that nothing can turn out to be wrong when it is opened later.

    The core works on its columns as long as they are there; the first who wants an array takes them all. Annotations
    let go of it when they are opened.
    """

    def __init__(
        self,
        file: _core.CocoFile,
        open: Callable[[], Annotations],
        limits: tuple[int, int, int, int],
        truth: Unopened | None = None,
    ) -> None:
        """`limits` of polygons and masks; `truth` is the file with the images and classes, if this one has none."""
        self.file, self.limits, self._truth = file, limits, truth
        self._open, self._opened, self._opening = open, None, Lock()

    _opened: Annotations | None

    @property
    def truth(self) -> Unopened:
        """The file with the images and classes."""
        return self if self._truth is None else self._truth

    @property
    def opened(self) -> Annotations:
        """The same for everybody who asks."""
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
            return self._opened


def unopened_pair(truth: Annotations, pred: Annotations) -> tuple[Unopened, Unopened] | None:
    """Both files, where it is known without a look that images and labels of the predictions are the truth's own."""
    mine, other = pred.unopened, truth.unopened  # once: another thread may open them meanwhile
    return (other, mine) if mine is not None and other is not None and mine.truth is other else None
