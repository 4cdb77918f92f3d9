"""How sure is a ranking when the truth has errors?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from math import isnan
from os import PathLike
from typing import Any, Literal

from verite.errors import BadParameter
from verite.evaluation.prepare import Checks
from verite.model.annotations import Annotations
from verite.model.results import Results
from verite.ranking.answers import Answers
from verite.ranking.assessment import Assessment, Method, rank_intervals, whole_interval
from verite.ranking.confidence import Confidences, Loss, Sums
from verite.ranking.contest import AnswerContest, ConfidenceContest, Contest
from verite.ranking.outcomes import Wrong
from verite.ranking.result import Ranking
from verite.ranking.tables import check_confusion, read_confusion, read_table
from verite.signature import Signature
from verite.truth_errors.models import AtMost, Bernoulli, ErrorModel, PerItem, Shared, fingerprint

HOW_MANY = (
    "epsilon: expected the share of wrong records, or an error model as errors, found neither; "
    "check some records on which the algorithms disagree and give Audit(errors, checked)"
)
ORDERS_ONLY = "these are statements about orders; scores under an assumed error rate are no estimates of true scores"
SERVES = {  # what some settings are about; elsewhere they would be ignored, and are refused
    "labels": ("labels", "confidences"),
    "confusion": ("labels", "confidences"),
    "loss": ("confidences",),
    "zero": ("confidences",),
    "tolerance": ("confidences",),
    "sums": ("confidences",),
    "confidence": ("found",),
    "iou": ("found",),
    "wrong": ("found",),
}
CALLED = {"binary": "0 and 1", "labels": "labels", "confidences": "confidences", "found": "objects found by detectors"}
SCATTERED = (
    "errors are taken as scattered at random, which overstates stability where they come in groups (a class, a source)"
)


def rank(
    truth: Any,
    answers: Any = None,
    *,
    epsilon: float | None = None,
    errors: ErrorModel | None = None,
    method: Method = "auto",
    draws: int = 100_000,
    seed: int = 0,
    level: float = 0.95,
    kind: Literal["binary", "labels", "confidences"] | None = None,
    labels: Sequence[str] | None = None,
    confusion: Any = None,
    loss: Loss = "logloss",
    zero: float = 1e-9,
    tolerance: float = 1e-9,
    sums: Sums = "check",
    confidence: float = 0.5,
    iou: float | None = None,
    wrong: Wrong = "reverses",
    checks: Checks = "stop",
) -> Ranking:
    """How likely an order of algorithms stays as it is if the truth it rests on is partly wrong.

    The first argument is a table of answers (a file or `Answers`, `Confidences`); or the recorded truth of every
    item, with each algorithm's answers as a mapping beside it; or a detection truth, with each detector's
    predictions; or several results on one truth, such as `vt.voc`'s. For detectors the items are the truth's objects,
    found or not: matched by a prediction of their class with at least `confidence` and `iou` (0.5 for predictions; for
    results one of the thresholds they were made at).

    `errors` says in what way the truth may be wrong, `epsilon` is short for `Bernoulli(epsilon)`. Every probability
    is exact where that is possible (`methods` of the result says which are); the others come from so many `draws`
    with a `seed` and carry Wilson intervals. `level` is the probability asked of an order that is to hold.

    One of several labels, and confidences for labels: a wrong label moves to any other alike, or as a `confusion`
    matrix says. Confidences: `loss` is `logloss` or `kl_printed`; zeros are replaced by `zero`; losses within
    `tolerance` are ties; `sums` says what happens to rows that do not add up to one. Detectors: a `wrong` truth
    object `reverses` what finding it was worth, or `vanishes`.

    Lamiroy and Pierrot, Statistical Performance Metrics for Use with Imprecise Ground-Truth, GREC 2015.

    >>> found = rank([0, 1, 1, 0, 0, 1, 0, 1, 1, 0], {"A1": [0, 1, 1, 1, 1, 0, 0, 0, 0, 1],
    ...                                               "A2": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]}, epsilon=0.2)
    >>> found.order, round(found.pairs[0].kept, 4), round(found.pairs[0].tie, 4), round(found.pairs[0].reversed, 4)
    (('A2', 'A1'), 0.5888, 0.3264, 0.0848)
    """
    given = {name: value for name, value in locals().items() if name in SERVES}
    model = chosen_model(epsilon, errors)
    table, about = table_of(truth, answers, model, kind, labels, sums, confidence=confidence, iou=iou, checks=checks)
    if wrong not in ("reverses", "vanishes"):
        raise BadParameter(f"wrong: expected reverses or vanishes, found {wrong!r}")
    check_served(given, kind, table.kind)
    matrix = confusion_of(confusion, table)
    contest: Contest
    if isinstance(table, Confidences):
        contest = ConfidenceContest(table, model, matrix, loss, zero, tolerance)
        about |= {"loss": loss, "zero": zero, "tolerance": tolerance, "sums": sums}
    else:
        contest = AnswerContest(table, model, matrix, wrong)
        about |= {"wrong": wrong} if table.kind == "found" else {}
    if table.kind in ("labels", "confidences"):
        about["labels"] = len(table.labels)
        about["moves"] = "uniform" if matrix is None else fingerprint(matrix)
    words = assumption(model, table, matrix, wrong)
    return ranking(contest, table, Assessment(contest, method, draws, seed, level), about, words)


def check_served(given: Mapping[str, object], kind: str | None, found: str) -> None:
    """Refuse settings that say nothing about answers of the kind that was found."""
    if kind is not None and kind != found:
        raise BadParameter(f"kind: expected what the answers are, {found!r}, found {kind!r}")
    usual = {name: parameter.default for name, parameter in signature(rank).parameters.items()}
    for name, value in given.items():
        is_usual = value is usual[name] or (isinstance(value, (str, int, float)) and value == usual[name])
        if found not in SERVES[name] and not is_usual:
            wanted = " or ".join(CALLED[served] for served in SERVES[name])
            raise BadParameter(f"{name}: expected {wanted} for this setting, found {CALLED[found]}")


def chosen_model(epsilon: float | None, errors: ErrorModel | None) -> ErrorModel:
    """The error model, named one way or the other."""
    if (epsilon is None) == (errors is None):
        raise BadParameter(HOW_MANY if epsilon is None else "epsilon: expected either epsilon or errors, found both")
    if errors is None:
        assert epsilon is not None
        return Bernoulli(epsilon)
    if not isinstance(errors, ErrorModel):
        raise BadParameter(f"errors: expected an error model such as Bernoulli(0.05), found {errors!r}")
    return errors


def table_of(
    truth: Any,
    answers: Any,
    model: ErrorModel,
    kind: Literal["binary", "labels", "confidences"] | None,
    labels: Sequence[str] | None,
    sums: Sums,
    *,
    confidence: float,
    iou: float | None,
    checks: Checks,
) -> tuple[Answers | Confidences, dict[str, object]]:
    """The answers in whichever form they were given, and what of the settings belongs into the signature."""
    if isinstance(truth, (Answers, Confidences)):
        if answers is not None:
            raise BadParameter("answers: expected none beside a table that holds them")
        return truth, {}
    if answers is None:
        if is_evaluated(truth):
            from verite.ranking.detectors import found_in, values_of

            first = values_of(truth)[0]
            matched = {"iou": first.finds(iou).iou, "matched": f"({first.signature})"}
            return found_in(truth, confidence=confidence, iou=iou), {"confidence": confidence, **matched}
        if not isinstance(truth, (str, PathLike)):
            raise BadParameter("answers: expected each algorithm's answers beside the truth, found none")
        return read_table(str(truth), kind=kind, labels=labels, sums=sums, asked=asked_columns(model)), {}
    if isinstance(truth, (Annotations, str, PathLike)):
        from verite.ranking.detectors import found_objects

        least = 0.5 if iou is None else iou
        found = found_objects(truth, answers, confidence=confidence, iou=least, checks=checks)
        return found, {"confidence": confidence, "iou": least}
    if not isinstance(answers, Mapping):
        raise BadParameter(f"answers: expected a mapping of names to answers, found {type(answers).__name__}")
    if kind == "confidences":
        return Confidences.of(truth, answers, labels=labels, sums=sums), {}
    return Answers.of(truth, answers, kind=kind, labels=labels), {}


def is_evaluated(given: Any) -> bool:
    """Whether these are results of evaluations."""
    values = list(given.values()) if isinstance(given, Mapping) else given
    return isinstance(values, (list, tuple)) and bool(values) and all(isinstance(v, Results) for v in values)


def asked_columns(model: ErrorModel) -> list[str]:
    """The columns of a table that a model names."""
    named: list[Any] = []
    if isinstance(model, PerItem):
        named = [model.rates]
    elif isinstance(model, Shared):
        named = [model.groups]
    elif isinstance(model, AtMost):
        named = [model.audited]
    return [name for name in named if isinstance(name, str)]


def confusion_of(confusion: Any, table: Answers | Confidences) -> Any:
    """A confusion matrix in the order of the table's labels."""
    if confusion is None:
        return None
    if isinstance(confusion, (str, PathLike)):
        return read_confusion(str(confusion), table.labels)
    if isinstance(confusion, Mapping):
        confusion = [[confusion.get(i, {}).get(j, 0.0) for j in table.labels] for i in table.labels]
    return check_confusion(confusion, table.labels)


def ranking(
    contest: Contest, table: Answers | Confidences, found: Assessment, about: dict[str, object], words: str
) -> Ranking:
    """Everything an assessment says, under its signature and with its assumption in words."""
    order = tuple(contest.names[int(j)] for j in found.order)
    if isinstance(table, Confidences):
        recorded = {name: float(-contest.scores[contest.names.index(name)] / contest.items) for name in order}
        what = {"logloss": "log-loss", "kl_printed": "KL divergence"}[str(about["loss"])]
        score = f"{what}: mean over the items, less is better"
    else:
        recorded = {name: int(contest.scores[contest.names.index(name)]) / contest.items for name in order}
        of = "objects found (recall)" if table.kind == "found" else "right answers"
        score = f"tau: share of {of}, more is better"
    methods = found.methods
    is_drawn = any("Monte-Carlo" in how for how in methods.values())
    signature = Signature.of(
        "rank",
        on=table.kind,
        model=str(contest.model),
        order="strict",
        places="ties-shared",
        level=found.level,
        **about,
        method=found.method,
        **({"draws": found.draws, "seed": found.seed} if is_drawn else {}),
        rev=1,
    )
    whole = (
        found.standings[0].whole if found.standings[0] is not None else (1.0 if found.whole_certain else float("nan"))
    )
    return Ranking(
        signature=signature,
        model=str(contest.model),
        assumption=words,
        caveat=ORDERS_ONLY if isinstance(contest.model, (Shared, AtMost)) else f"{SCATTERED}; {ORDERS_ONLY}",
        kind=table.kind,
        items=contest.items,
        score=score,
        order=order,
        scores=recorded,
        pairs=found.pairs,
        ranks=found.places,
        expected_rank=found.expected_rank,
        whole=whole,
        whole_bounds=found.whole_bounds,
        whole_certain=found.whole_certain,
        errors_to_break=found.errors_to_break,
        level=found.level,
        whole_epsilon=found.whole_epsilon,
        methods=methods,
        whole_interval=None if isnan(whole) else whole_interval(found),
        rank_intervals=rank_intervals(found),
        table=table,
        curve_of=lambda one, two: found.curves.kept(contest.names.index(one), contest.names.index(two)),
    )


def assumption(model: ErrorModel, table: Answers | Confidences, matrix: Any, wrong: Wrong) -> str:
    """What is assumed, in words."""
    words = model.words
    if isinstance(model, AtMost):
        return words
    if isinstance(table, Confidences) or table.kind == "labels":
        size = len(table.labels)
        how = f"to any of the other {size - 1} labels alike" if matrix is None else "as the confusion matrix says"
        return f"{words}; a wrong label moves {how}"
    if table.kind == "found":
        if wrong == "vanishes":
            return f"{words}; a wrong record is no object at all, and finding it counts neither for nor against"
        return f"{words}; a wrong record is no such object, so that finding it was wrong and not finding it right"
    return f"{words}; errors do not depend on what the algorithms answered"
