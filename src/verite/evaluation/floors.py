"""From which confidence on does a prediction count? One number, or one for each label, as an analysis finds them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, ReadError, excerpt
from verite.records import record
from verite.settings import Setting, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations


@record()
class LabelFloors:
    """A confidence for each label; predictions of labels that are not named all count."""

    by_label: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "confidence") -> LabelFloors:
        """What is null says nothing."""
        said = {name: value for name, value in values.items() if value is not None}
        for name, value in said.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
                raise BadParameter(f"{where}: expected a confidence for {name!r}, found {excerpt(value)}")
        return cls(tuple((str(name), float(value)) for name, value in said.items()))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> LabelFloors:
        """From a file `{label: confidence}`."""
        import json
        from pathlib import Path

        from verite.files import read_text

        expected = "confidences by label, such as the thresholds.json of verite analyse -o"
        try:
            document = json.loads(read_text(Path(path)))
        except ValueError as error:
            raise ReadError(str(path), expected=expected, found=f"no JSON ({error})") from None
        if not isinstance(document, dict):
            raise ReadError(str(path), expected=expected, found=f"a {type(document).__name__}")
        return cls.of(document, str(path))

    def of_labels(self, names: tuple[str, ...] | list[str]) -> NDArray[np.float64]:
        """The floor of each of these labels."""
        known = dict(self.by_label)
        return np.array([known.get(name, -np.inf) for name in names])

    def to_dict(self) -> dict[str, float]:
        return dict(self.by_label)

    def __str__(self) -> str:
        import json
        from hashlib import sha256

        spelled = json.dumps(sorted(self.by_label), separators=(",", ":"))
        return f"by label {sha256(spelled.encode()).hexdigest()[:8]}"


class Floor(Setting[Any, Any]):
    """A confidence, confidences by label, or a file of them; None: no prediction is left out."""

    kind = "text"

    def hold(self, value: Any) -> float | LabelFloors:
        if isinstance(value, LabelFloors):
            return value
        if isinstance(value, Mapping):
            return LabelFloors.of(value)
        if isinstance(value, PathLike) or (isinstance(value, str) and not is_number(value)):
            return LabelFloors.read(value)
        return number_of(self, value, isfinite, "a number")


def hold_floor(value: Any) -> float | LabelFloors:
    """A floor out of a number, confidences by label, or a file of them."""
    setting = Floor(None, "")
    setting.name = "confidence"
    return setting.hold(value)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def highest_floor(floor: float | LabelFloors | None) -> float | None:
    """The confidence from which on no prediction is left out, whatever its class."""
    return max(dict(floor.by_label).values(), default=None) if isinstance(floor, LabelFloors) else floor


def sure_enough(pred: Annotations, floor: float | LabelFloors) -> NDArray[np.bool_]:
    """Which predictions reach their floor; all where there are no confidences."""
    if pred.confidence is None:
        return np.ones(len(pred), dtype=np.bool_)
    least = floor.of_labels(pred.labels.all_names)[pred.label] if isinstance(floor, LabelFloors) else floor
    return np.asarray(pred.confidence >= least)
