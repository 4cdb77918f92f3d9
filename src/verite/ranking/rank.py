"""How sure is a ranking when the truth has errors?"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from os import PathLike
from typing import Any

from verite.errors import BadParameter
from verite.model.results import Results
from verite.ranking.answers import Answers
from verite.ranking.assessment import Assessment, Method, rank_intervals, whole_interval
from verite.ranking.confidence import Confidences
from verite.ranking.contest import Contest, contest_of
from verite.ranking.detectors import Finds
from verite.ranking.result import Ranking
from verite.ranking.tables import read_table
from verite.signature import Signature
from verite.truth_errors.model import ErrorModel

WHAT = (
    "what: expected a table (a file, vt.Answers, vt.Confidences), vt.Finds or results on one truth, found {}; "
    "a truth and answers beside it are vt.Answers.of(truth, answers), detectors vt.Finds.of(truth, predictions)"
)
HOW = (
    "errors: expected an error model such as vt.truth_errors.Bernoulli(0.05), found {!r}; if no rate is known, check "
    "some records on which the algorithms disagree and give vt.truth_errors.Audit(errors, checked)"
)
ORDERS_ONLY = "these are statements about orders; scores under an assumed error rate are no estimates of true scores"
SCATTERED = (
    "errors are taken as scattered at random, which overstates stability where they come in groups (a class, a source)"
)


def rank(
    what: Any,
    errors: ErrorModel | None = None,
    *,
    method: Method = "auto",
    draws: int = 100_000,
    seed: int = 0,
    level: float = 0.95,
) -> Ranking:
    """How likely an order of algorithms stays as it is if the truth it rests on is partly wrong.

    `what` holds every algorithm's answers beside the recorded ones: a table (a file, `vt.Answers`,
    `vt.Confidences`), or the objects of a detection truth, found or not (`vt.Finds`, or several results on one truth
    such as `vt.voc`'s). What there is to say about the answers is said there.

    `errors` says in what way the truth may be wrong: one of `vt.truth_errors`, or one of your own. Every probability
    is exact where that is possible (`methods` of the result says which are); the others come from so many `draws`
    with a `seed` and carry Wilson intervals. `level` is the probability asked of an order that is to hold.

    Lamiroy and Pierrot, Statistical Performance Metrics for Use with Imprecise Ground-Truth, GREC 2015.

    >>> import verite as vt
    >>> table = vt.Answers.of([0, 1, 1, 0, 0, 1, 0, 1, 1, 0], {"A1": [0, 1, 1, 1, 1, 0, 0, 0, 0, 1],
    ...                                                        "A2": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]})
    >>> found = vt.rank(table, vt.truth_errors.Bernoulli(0.2))
    >>> found.order, round(found.pairs[0].kept, 4), round(found.pairs[0].tie, 4), round(found.pairs[0].reversed, 4)
    (('A2', 'A1'), 0.5888, 0.3264, 0.0848)
    """
    if not isinstance(errors, ErrorModel):
        raise BadParameter(HOW.format(errors))
    table = table_of(what, errors)
    contest = contest_of(table, errors)
    return ranking(contest, table, Assessment(contest, method, draws, seed, level))


def table_of(what: Any, errors: ErrorModel) -> Answers | Confidences:
    """The answers in whichever form they were given."""
    if isinstance(what, (Answers, Confidences)):
        return what
    if isinstance(what, (str, PathLike)):
        return read_table(str(what), errors.columns)
    if is_evaluated(what):
        return Finds.of(what)
    raise BadParameter(WHAT.format(type(what).__name__))


def is_evaluated(given: Any) -> bool:
    """Whether these are results of evaluations."""
    values = list(given.values()) if isinstance(given, Mapping) else given
    return isinstance(values, (list, tuple)) and bool(values) and all(isinstance(v, Results) for v in values)


def ranking(contest: Contest, table: Answers | Confidences, found: Assessment) -> Ranking:
    """Everything an assessment says, under its signature and with its assumption in words."""
    order = tuple(contest.names[int(j)] for j in found.order)
    recorded = {name: contest.show(contest.names.index(name)) for name in order}
    methods = found.methods
    is_drawn = any("Monte-Carlo" in how for how in methods.values())
    signature = Signature.of(
        "rank",
        on=table.kind,
        model=str(contest.model),
        order="strict",
        places="ties-shared",
        level=found.level,
        **table.about,
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
        assumption=table.assume(contest.model),
        caveat=ORDERS_ONLY if not contest.model.is_scattered else f"{SCATTERED}; {ORDERS_ONLY}",
        kind=table.kind,
        items=contest.items,
        score=table.score,
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
        curve_of=found.curves.kept_of,
    )
