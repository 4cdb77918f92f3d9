"""Long work tells how far it is to whoever listens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import verite as vt
from verite.progress import begin, count_files, listen


def test_work_within_work_is_told_apart():
    told = []
    with listen(lambda work: told.append((work.what, work.done))), begin("outer", 2, "things") as advance:
        assert list(count_files("inner", ["a", "b"])) == ["a", "b"]
        advance(2)
    assert told == [("outer", 0), *(("inner", n) for n in (0, 1, 2, 2)), ("outer", 2), ("outer", 2)]


def test_nobody_listens_and_nothing_is_counted():
    with begin("work", 3, "things") as advance:
        advance(3)
    assert list(count_files("reading", range(3))) == [0, 1, 2]


def test_steps_of_several_threads_add_up():
    last = []
    with (
        listen(lambda work: last.append(work.done)),
        begin("work", 4000, "things") as advance,
        ThreadPoolExecutor(4) as pool,
    ):
        list(pool.map(advance, [1] * 4000))
    assert max(last) == last[-1] == 4000


def test_an_error_ends_the_work():
    over = []
    with listen(lambda work: over.append(work.is_over)):
        with pytest.raises(ZeroDivisionError), begin("work", 1, "things"):
            raise ZeroDivisionError
        with begin("next", 1, "things") as advance:
            advance(1)
    assert over == [False, True, False, False, True]


def ranked(errors):
    rng = np.random.default_rng(1)
    answers = {name: (rng.random(50) < right).astype(int) for name, right in (("a", 0.9), ("b", 0.7), ("c", 0.6))}
    told = []
    with listen(lambda work: told.append((work.what, work.done, work.total, work.unit))):
        table = vt.AnswerTable.of(np.ones(50, dtype=int), answers)
        vt.rank(table, errors=errors, method="montecarlo", draws=40_000).to_dict()
    return told


@pytest.mark.parametrize(
    "errors", [vt.annotation_errors.Bernoulli(0.1), vt.annotation_errors.Audit(5, 50)], ids=["independent", "audit"]
)
def test_rank_tells_of_draws_and_of_pairs(errors):
    told = ranked(errors)
    assert ("drawing", 40_000, 40_000, "truths") in told
    assert ("comparing", 3, 3, "pairs") in told


def test_localize_tells_of_values():
    boxes = [[0, 0, 10, 10], [5, 5, 20, 20]]
    truth = vt.Annotations.of(["a", "b"], ["x", "x"], boxes)
    pred = vt.Annotations.of(["a", "b"], ["x", "x"], boxes, confidence=[0.5, 0.6])
    told = []
    with listen(lambda work: told.append((work.what, work.done, work.total, work.unit))):
        vt.localize(truth, pred, "iou", "dice")
    assert told[-1] == ("measuring", 4, 4, "values")
