"""Outcome of every object of an evaluation: one row per ground-truth object and prediction, for pandas and polars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.annotations import Annotations
from verite.model.tables import Display, Part, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.results import Results


SIDES = ("truth", "pred")
SIDE_TITLES = ("ground truth", "predictions")

# Values of the column `fate`, in the order of the constants below; what a printed summary calls them.
OUTCOMES = ("found", "missed", "not asked for", "right", "wrong", "left out")
TITLES = ("detected (TP)", "missed (FN)", "ignored", "true positive", "false positive", "ignored")

DETECTED, MISSED, IGNORED_TRUTH, TRUE_POSITIVE, FALSE_POSITIVE, IGNORED_PRED = range(6)


@dataclass(frozen=True, eq=False)
class Column:
    """A column: values, or positions in a list of names; some may be absent."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None
    absent: NDArray[np.bool_] | None = None

    def to_pandas(self, pandas: Any) -> Any:
        if self.absent is not None:
            return pandas.arrays.IntegerArray(self.values.astype(np.int64), self.absent)
        if self.names is None:
            return self.values
        if len(set(self.names)) < len(self.names):
            return np.array(self.names, dtype=object)[self.values]
        return pandas.Categorical.from_codes(self.values, self.names)

    def to_arrow(self, pyarrow: Any) -> Any:
        if self.names is not None:
            return pyarrow.DictionaryArray.from_arrays(self.values.astype(np.int32), pyarrow.array(self.names))
        return pyarrow.array(self.values, mask=self.absent)


@dataclass(frozen=True, eq=False, repr=False)
class ObjectOutcomes(Display):
    """One row per ground-truth object (TP, FN or ignored) and per prediction (TP, FP or ignored).

    `row` is the position in the file, `partner` the row of the matched object on the other side. Ignored predictions
    match an ignored ground-truth object, or were not evaluated.
    """

    columns: dict[str, Column]
    iou: float
    overlap: str = "IoU"  # name of the similarity

    def __len__(self) -> int:
        return len(self.columns["row"].values)

    def contents(self) -> list[Part]:
        side, fate = self.columns["side"].values, self.columns["fate"].values
        counts = [[int(((side == s) & (fate == f)).sum()) for s in range(2)] for f in range(len(OUTCOMES))]
        rows = tuple((SIDE_TITLES[f // 3], TITLES[f], counts[f][f // 3]) for f in range(len(OUTCOMES)))
        return [f"{len(self):,} objects at {self.overlap} {self.iou:g}", Table(("side", "outcome", "objects"), rows)]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; names are categories, numbers are not copied."""
        try:
            import pandas
        except ImportError:
            raise BadParameter("objects: expected pandas, found none; pip install pandas, or use to_arrow()") from None
        return pandas.DataFrame({name: column.to_pandas(pandas) for name, column in self.columns.items()}, copy=False)

    to_frame = to_pandas

    def to_arrow(self) -> Any:
        """Return an Arrow table; names are dictionaries, numbers are not copied."""
        from verite.model.frames import import_pyarrow

        pyarrow = import_pyarrow()
        return pyarrow.table({name: column.to_arrow(pyarrow) for name, column in self.columns.items()})

    def to_polars(self) -> Any:
        """Return a polars DataFrame."""
        try:
            import polars
        except ImportError:
            raise BadParameter("objects: expected polars, found none; pip install polars, or use to_arrow()") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return an Arrow stream, for polars, DuckDB and others."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def fates_of(results: Results, iou: float | None = None) -> ObjectOutcomes:
    """Return the outcome of every object of an evaluation at one IoU threshold."""
    if results.truth.source.format == "part":
        raise BadParameter("objects: expected an evaluation of annotations, found merged parts, which hold no objects")
    matches, truth, pred = results.matches(iou), results.truth, results.pred
    is_found = matches.matched_pred >= 0
    partner = np.full(len(truth) + len(pred), -1, dtype=np.int64)
    partner[: len(truth)] = matches.matched_pred
    partner[len(truth) + matches.matched_pred[is_found]] = np.flatnonzero(is_found)
    of_truths = np.where(is_found, DETECTED, np.where(matches.counted_truth, MISSED, IGNORED_TRUTH))
    of_preds = np.where(partner[len(truth) :] >= 0, TRUE_POSITIVE, FALSE_POSITIVE)
    if matches.counted_pred is not None:
        of_preds[~matches.counted_pred & (of_preds != TRUE_POSITIVE)] = IGNORED_PRED
    if matches.confidence_threshold is not None and pred.confidence is not None:
        of_preds[(pred.confidence < matches.confidence_threshold) & (of_preds != TRUE_POSITIVE)] = IGNORED_PRED
    none = np.full(len(truth), np.nan)
    given = pred.confidence if pred.confidence is not None else np.full(len(pred), np.nan)
    columns = {
        "side": Column(np.repeat(np.arange(2, dtype=np.int8), [len(truth), len(pred)]), SIDES),
        "row": Column(np.concatenate([np.arange(len(truth)), np.arange(len(pred))])),
        "image": join_names(*((image_names(side), side.image) for side in (truth, pred))),
        "label": join_names(*((side.labels.all_names, side.label) for side in (truth, pred))),
        "confidence": Column(np.concatenate([none, given])),
        "fate": Column(np.concatenate([of_truths, of_preds]).astype(np.int8), OUTCOMES),
        "partner": Column(partner, absent=partner < 0),
    }
    return ObjectOutcomes(columns, matches.iou, results.words.overlap)


def image_names(side: Annotations) -> list[str]:
    return [side.images.name(i) for i in range(len(side.images))]


def join_names(one: tuple[Any, NDArray[Any]], two: tuple[Any, NDArray[Any]]) -> Column:
    """Return positions in two lists of names as positions in one; mostly one list begins with the other."""
    mine, theirs = (tuple(names) for names, _ in (one, two))
    longer = max(mine, theirs, key=len)
    if longer[: len(mine)] == mine and longer[: len(theirs)] == theirs:
        return Column(np.concatenate([one[1], two[1]]), longer)
    place: dict[str, int] = {}
    lookups = [np.array([place.setdefault(n, len(place)) for n in names], dtype=np.int64) for names in (mine, theirs)]
    return Column(np.concatenate([lookups[0][one[1]], lookups[1][two[1]]]), tuple(place))


MOST_OBJECTS, MOST_LABELS = 20, 8


def show_annotations(annotations: Annotations) -> list[Part]:
    """Return a summary of annotations for notebooks: counts, and the first objects."""
    counts = np.bincount(annotations.label, minlength=len(annotations.labels))
    order = np.argsort(-counts, kind="stable")
    names = annotations.labels.all_names
    most = Table.of("label", [names[i] for i in order[:MOST_LABELS]], {"objects": counts[order[:MOST_LABELS]].tolist()})
    first = annotations.take(np.arange(min(MOST_OBJECTS, len(annotations))))
    columns: dict[str, list[Any]] = {"label": [names[i] for i in first.label]}
    columns |= {side: first.regions.boxes[:, k].tolist() for k, side in enumerate(("x1", "y1", "x2", "y2"))}
    if first.confidence is not None:
        columns["confidence"] = first.confidence.tolist()
    columns |= {flag: ["yes" if value else "" for value in values.tolist()] for flag, values in first.flags.items()}
    images = [first.images.name(int(i)) for i in first.image]
    more = f"first {len(first)} of {len(annotations):,} objects" if len(annotations) > len(first) else ""
    return [repr(annotations), most, Table.of("image", images, columns, title=more)]
