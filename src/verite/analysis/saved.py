"""What did an earlier run measure? Results as `--save` and `--json` wrote them, enough to compare scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import Any

from verite.errors import ReadError
from verite.files import read_text
from verite.model.comparison import check_alike, distinct_names
from verite.model.display import Display, Part
from verite.model.results import Results, to_json
from verite.model.tables import Table
from verite.records import record
from verite.signature import Signature

SHOWN = 5  # classes that fell most


@record()
class Saved:
    """The scores of one evaluation, of all classes and of each."""

    name: str
    signature: Signature
    truth: str  # its digest
    scores: dict[str, float]
    thresholds: dict[str, float]  # the same at one threshold each, as AP@0.50
    classes: dict[str, dict[str, float]]

    @classmethod
    def of(cls, found: Results | Mapping[str, Any]) -> Saved:
        """Of results, or of the document that they are saved as."""
        document = found.to_dict() if isinstance(found, Results) else found
        thresholds = {
            f"{key}@{one['iou']:.2f}": value
            for one in document.get("thresholds", ())
            for key, value in means_of(one).items()
            if key != "iou"
        }
        classes = {name: means_of(values) for name, values in document.get("classes", {}).items()}
        signature = Signature.parse(document["signature"])
        digest = document["truth"]["digest"]
        return cls(document["name"], signature, digest, means_of(document), thresholds, classes)


def means_of(values: Mapping[str, Any]) -> dict[str, float]:
    """The scores among the values of a document: every number that is no count, and the means of metrics."""
    found = {key: nan if v is None else float(v) for key, v in values.items() if v is None or isinstance(v, float)}
    return found | {key: nan if v["mean"] is None else v["mean"] for key, v in values.get("metrics", {}).items()}


def read_saved(path: str | Path) -> Saved:
    """Results of one system from the file that `--save` wrote."""
    expected = "results that --save or --json wrote"
    try:
        document = json.loads(read_text(Path(path)))
    except ValueError as error:
        raise ReadError(path, expected=expected, found=f"no JSON ({error})") from None
    if isinstance(document, dict) and "systems" in document:
        raise ReadError(path, expected="one system", found=f"{len(document['systems'])}", remedy="save them one by one")
    try:
        return Saved.of(document)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ReadError(
            path, expected=expected, found="another document", remedy="verite coco TRUTH PRED --save FILE"
        ) from None


class SavedComparison(Display):
    """Two saved results side by side: every score, and the classes that fell most."""

    def __init__(self, base: Saved, new: Saved) -> None:
        check_alike((base.name, new.name), (base.signature, new.signature), (base.truth, new.truth))
        self.base, self.new = base, new
        self.names = distinct_names([base.name, new.name])

    def table(self) -> Table:
        """A row for each score."""
        pairs = {key: (value, self.new.scores.get(key, nan)) for key, value in self.base.scores.items()}
        return self.beside("score", pairs)

    def fallen(self) -> Table | None:
        """The classes whose first score fell most."""
        score = next((key for values in self.base.classes.values() for key in values), None)
        both = {
            name: (values.get(score or "", nan), self.new.classes.get(name, {}).get(score or "", nan))
            for name, values in self.base.classes.items()
        }
        fell = sorted((name for name, (old, new) in both.items() if new < old), key=lambda n: both[n][1] - both[n][0])
        if not fell:
            return None
        return self.beside("class", {name: both[name] for name in fell[:SHOWN]}, f"{score} fell most")

    def beside(self, key: str, pairs: Mapping[str, tuple[float, float]], title: str = "") -> Table:
        old, new = ([pair[i] for pair in pairs.values()] for i in range(2))
        columns = {self.names[0]: old, self.names[1]: new, "difference": [b - a for a, b in pairs.values()]}
        return Table.of(key, list(pairs), columns, title=title)

    def contents(self) -> list[Part]:
        fallen = self.fallen()
        return [self.table(), *([fallen] if fallen else []), self.base.signature]

    def to_dict(self) -> dict[str, Any]:
        scores = {key: {"base": a, "new": b, "difference": d} for key, a, b, d in self.table().rows}
        return {"signature": str(self.base.signature), "base": self.names[0], "new": self.names[1], "scores": scores}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)
