"""What came out: scores with their signatures, and whether two of them may be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import verite
from verite.arrays import np
from verite.errors import BadParameter, NotComparable
from verite.model.annotations import Annotations
from verite.model.tables import ABSENT, Table
from verite.records import record
from verite.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record()
class Score:
    """A number, what exactly it measures, and of what."""

    name: str
    value: float  # not a number: absent
    signature: Signature
    truth: Annotations
    pred: Annotations

    @property
    def version(self) -> str:
        return verite.__version__

    @property
    def truth_digest(self) -> str:
        return digest_for(self.signature, self.truth)

    @property
    def pred_digest(self) -> str:
        return digest_for(self.signature, self.pred)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name} = {ABSENT if isnan(self.value) else f'{self.value:.4f}'}  [{self.signature}]"


@record(eq=False)
class Finds:
    """Which objects of a truth were to be found, and what found them."""

    iou: float  # overlap from which on a prediction may take an object
    asked: NDArray[np.bool_]  # for every object of the truth
    taken: NDArray[np.int64]  # the row of the prediction that took it, -1 where none did
    least: float | None = None  # confidence below which no prediction was looked at


class Results:
    """The scores of one evaluation. Each protocol adds what it has per class, and its keys for JSON."""

    def __init__(
        self,
        *,
        protocol: str,
        signature: Signature,
        scores: Mapping[str, tuple[float, Signature]],
        truth: Annotations,
        pred: Annotations,
        name: str | None = None,
        findings: Sequence[Any] = (),
    ) -> None:
        self.protocol, self.signature, self.truth, self.pred = protocol, signature, truth, pred
        self.scores = {key: Score(key, float(value), signed, truth, pred) for key, (value, signed) in scores.items()}
        self.name = name or system_name(pred)
        self.findings = tuple(findings)

    @property
    def class_names(self) -> list[str]:
        raise NotImplementedError

    def class_scores(self) -> dict[str, list[float]]:
        """For each score its value for every class."""
        raise NotImplementedError

    def class_table(self) -> Table:
        """What a person wants to see per class."""
        raise NotImplementedError

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of the files they are kept in."""
        return {"classes": self.class_table()}

    def details(self) -> dict[str, Any]:
        """The protocol's own keys of the JSON document."""
        raise NotImplementedError

    def finds(self, iou: float | None = None) -> Finds:
        """Object by object what was found, at one of the thresholds (None: at the only one)."""
        raise BadParameter(
            f"results: expected evaluations that match objects, such as vt.voc's, found {type(self).__name__}"
        )

    @property
    def notes(self) -> list[str]:
        """What is printed below the numbers."""
        count = len(self.findings)
        return [f"{count} warning{'s' if count > 1 else ''}, see verite inspect"] if count else []

    def __str__(self) -> str:
        headline = "   ".join(
            f"{key} {ABSENT if isnan(score.value) else f'{score.value:.4f}'}" for key, score in self.scores.items()
        )
        return "\n".join(
            [f"{self.name}   {headline}", "", str(self.class_table()), "", str(self.signature), *self.notes]
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; the keys are documented and stay."""
        return {
            "protocol": self.protocol,
            "signature": str(self.signature),
            "name": self.name,
            **self.details(),
            "version": verite.__version__,
            "truth": {"path": self.truth.source.path, "digest": digest_for(self.signature, self.truth)},
            "pred": {"path": self.pred.source.path, "digest": digest_for(self.signature, self.pred)},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self, *, indent: int = 0) -> str:
        """One JSON document; what is absent is null."""
        return to_json(self.to_dict(), indent=indent)

    def to_csv(self) -> str:
        """The table per class as comma-separated values."""
        return self.class_table().to_csv()

    def to_frame(self) -> Any:
        """The table per class as a pandas DataFrame (pandas must be installed)."""
        try:
            import pandas
        except ImportError:
            raise BadParameter(
                "to_frame: expected pandas, found none; install it, or use to_csv() or to_dict()"
            ) from None
        table = self.class_table()
        return pandas.DataFrame(list(table.rows), columns=list(table.head))


MANY = 6  # scores from which a comparison begins with a summary


class Comparison:
    """Several systems on the same truth by the same rules, side by side."""

    def __init__(self, results: Sequence[Results]) -> None:
        if not results:
            raise BadParameter("compare: expected at least one result, found none")
        first = results[0]
        for other in results[1:]:
            check_comparable(first, other)
        self.results = tuple(results)
        self.names = distinct_names([r.name for r in results])

    def table(self, score: str | None = None) -> Table:
        """A row for each class and a column for each system; with two systems also their difference."""
        first = self.results[0]
        chosen = score or next(iter(first.scores))
        classes = list(dict.fromkeys(name for r in self.results for name in r.class_names))
        columns: dict[str, list[float]] = {}
        mean: dict[str, float] = {}
        for name, result in zip(self.names, self.results, strict=True):
            values = dict(zip(result.class_names, result.class_scores()[chosen], strict=True))
            columns[name] = [values.get(label, float("nan")) for label in classes]
            mean[name] = result.scores[chosen].value
        if len(self.results) == 2:
            one, two = self.names
            columns["difference"] = [b - a for a, b in zip(columns[one], columns[two], strict=True)]
            mean["difference"] = mean[two] - mean[one]
        return Table.of("class", classes, columns, mean=mean)

    def summary(self) -> Table:
        """A row for each score and a column for each system; with two systems also their difference."""
        keys = list(self.results[0].scores)
        columns = {
            name: [result.scores[key].value for key in keys]
            for name, result in zip(self.names, self.results, strict=True)
        }
        if len(self.results) == 2:
            one, two = self.names
            columns["difference"] = [b - a for a, b in zip(columns[one], columns[two], strict=True)]
        return Table.of("score", keys, columns)

    def __str__(self) -> str:
        first = self.results[0]
        if len(first.scores) > MANY:  # all of them at a glance, and the first one class by class
            headline = next(iter(first.scores))
            return "\n".join([str(self.summary()), "", headline, str(self.table()), "", str(first.signature)])
        parts = []
        for score in first.scores:
            parts += [*([score] if len(first.scores) > 1 else []), str(self.table(score)), ""]
        return "\n".join([*parts, str(first.signature)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        first = self.results[0]
        systems = {name: result.to_dict() for name, result in zip(self.names, self.results, strict=True)}
        return {"protocol": first.protocol, "signature": str(first.signature), "systems": systems}

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_csv(self) -> str:
        return self.table().to_csv()


def compare(*results: Results) -> Comparison:
    """Put results side by side; an error says why where they do not compare.

    >>> print(compare(vt.voc(truth, a), vt.voc(truth, b)))    # doctest: +SKIP
    """
    return Comparison(results)


def check_comparable(first: Results, other: Results) -> None:
    """Two results compare if they measure the same thing on the same truth."""
    differences = first.signature.differences(other.signature)
    if differences:
        listed = ", ".join(f"{key} ({a} / {b})" for key, (a, b) in differences.items())
        raise NotComparable(f"{first.name} and {other.name}: expected the same signature, found different {listed}")
    digests = [digest_for(first.signature, result.truth) for result in (first, other) if first.truth is not other.truth]
    if len(set(digests)) > 1:
        raise NotComparable(
            f"{first.name} and {other.name}: expected the same truth, found different ones ({' and '.join(digests)})"
        )


def digest_for(signature: Signature, annotations: Annotations) -> str:
    """The digest of what a score depends on: an evaluation of boxes does not look at polygons and masks."""
    return annotations.box_digest if dict(signature).get("on") == "box" else annotations.digest


def choose_threshold(thresholds: Sequence[float], iou: float | None) -> int:
    """Which of several thresholds is meant.

    >>> choose_threshold((0.5, 0.75), 0.75), choose_threshold((0.5,), None)
    (1, 0)
    """
    known = ", ".join(f"{t:g}" for t in thresholds)
    if iou is None:
        if len(thresholds) > 1:
            raise BadParameter(f"iou: expected one of {known}, at which these results were made, found none")
        return 0
    near = [i for i, t in enumerate(thresholds) if abs(t - iou) < 1e-9]
    if not near:
        raise BadParameter(f"iou: expected {known}, at which these results were made, found {iou:g}")
    return near[0]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names that can head columns: repeated ones get a number."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def system_name(pred: Annotations) -> str:
    """What to call a system: the name of the file its predictions came from."""
    return PurePath(pred.source.path).stem or "predictions"


def to_json(document: Any, *, indent: int = 0) -> str:
    """Strict JSON: a number that is not one becomes null."""
    import msgspec

    data = msgspec.json.encode(document)
    return (msgspec.json.format(data, indent=indent) if indent else data).decode()


def to_small_json(document: Any, *, indent: int = 0) -> str:
    """The same for documents without long lists, for which loading a fast encoder would take longer than encoding."""
    import json

    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(without_nan(document), indent=indent or None, separators=separators, ensure_ascii=False)


def without_nan(value: Any) -> Any:
    """Plain values with None for every number that is not one."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value
