"""Many short texts in one array, read one by one when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Texts:
    """Texts one after the other in UTF-8, with offsets.

    >>> texts = Texts.of(["pier.jpg", "buoy.png"])
    >>> texts[1], list(texts)
    ('buoy.png', ['pier.jpg', 'buoy.png'])
    """

    def __init__(self, letters: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.letters, self.offsets = letters, offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        return self.letters[self.offsets[i] : self.offsets[i + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        letters, offsets = self.letters.tobytes(), self.offsets.tolist()
        return (letters[first:last].decode() for first, last in pairwise(offsets))
