"""Signatures of scores: one string with everything that can change a number, as in sacrebleu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """The name of a score and every setting that can change it, defaults included.

    Two scores may be compared if their signatures are equal.

    Parameters
    ----------
    name : str
        Name of the score.
    settings : tuple of (str, str)
        Names and printed values of the settings.

    Examples
    --------
    >>> s = Signature.of("voc_ap", on="box", iou=0.3)
    >>> print(s)
    voc_ap|on:box|iou:0.30
    >>> s.differences(Signature.of("voc_ap", on="box", iou=0.5))
    {'iou': ('0.30', '0.50')}
    """

    name: str
    settings: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str, **settings: object) -> Signature:
        """Return a signature from plain values: floats get at least two decimals, sequences are joined by commas."""
        return cls(name, tuple((key, spell(value)) for key, value in settings.items()))

    def replace(self, name: str, **settings: object) -> Signature:
        """Return the signature of another score, in which some of the settings have other values.

        >>> print(Signature.of("coco", on="box", iou=[0.5, 0.75]).replace("coco_ap", iou=0.5))
        coco_ap|on:box|iou:0.50
        """
        return Signature(name, tuple({**dict(self.settings), **dict(Signature.of("", **settings).settings)}.items()))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Return a signature from its printed form.

        >>> Signature.parse("voc_ap|on:box|iou:0.30") == Signature.of("voc_ap", on="box", iou=0.3)
        True
        """
        name, *words = text.split("|")
        settings: list[tuple[str, str]] = []
        for word in words:
            key, colon, value = word.partition(":")
            if colon or not settings:
                settings.append((key, value))
            else:  # a value had a bar in it
                settings[-1] = (settings[-1][0], f"{settings[-1][1]}|{word}")
        return cls(name, tuple(settings))

    def __str__(self) -> str:
        return "|".join([self.name, *(f"{key}:{value}" for key, value in self.settings)])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter((("score", self.name), *self.settings))

    def differences(self, other: Signature) -> dict[str, tuple[str, str]]:
        """Return the settings in which two signatures differ, with both values; ``absent`` for a missing one."""
        mine, theirs = dict(self), dict(other)
        return {
            key: (mine.get(key, "absent"), theirs.get(key, "absent"))
            for key in mine | theirs
            if mine.get(key) != theirs.get(key)
        }


def spell(value: object) -> str:
    """Return a setting's value as signatures print it.

    >>> spell(0.5), spell(0.333), spell([0.5, 0.75]), spell(True)
    ('0.50', '0.333', '0.50,0.75', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = f"{value:.2f}"
        return short if float(short) == value else repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(spell(v) for v in value)
    if isinstance(value, Mapping):
        return ",".join(f"{k}={spell(v)}" for k, v in value.items())
    return str(value)
