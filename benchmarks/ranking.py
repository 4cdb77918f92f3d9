"""What a ranking costs: processor time of one process, the least of several runs, against what it may cost.

Data are drawn here: algorithms that are right more or less often, on items that are hard or easy for all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One thread: what is measured is processor time.
os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

import numpy as np

import verite as vt
from verite.annotation_errors import Audit, Bernoulli, Exactly, PerItem, Shared
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.problem import AnswerProblem
from verite.statistics.rankings import rank_probabilities


def tables(rng: np.random.Generator, algorithms: int, items: int) -> tuple[Any, dict[str, Any]]:
    truth = rng.integers(0, 2, items)
    hard = 0.3 * rng.random(items)
    answers = {
        f"m{j}": np.where(rng.random(items) < hard * (1 + 0.01 * j) + 0.02, 1 - truth, truth) for j in range(algorithms)
    }
    return truth, answers


def disagreeing(rng: np.random.Generator, items: int) -> tuple[Any, dict[str, Any]]:
    """Two algorithms that disagree on every item."""
    truth = rng.integers(0, 2, items)
    one = np.where(rng.random(items) < 0.501, truth, 1 - truth)
    return truth, {"one": one, "two": 1 - one}


def least(question: Callable[[], object], repetitions: int) -> float:
    """Processor seconds of the quickest run."""
    times = []
    for _ in range(repetitions):
        started = time.process_time()
        question()
        times.append(time.process_time() - started)
    return min(times)


def pair(truth: Any, answers: dict[str, Any], model: Any) -> None:
    AnswerProblem(AnswerTable.of(truth, answers), model).pair(0, 1)


def all_pairs(truth: Any, answers: dict[str, Any], model: Any) -> None:
    problem = AnswerProblem(AnswerTable.of(truth, answers), model)
    for i in range(len(answers)):
        for j in range(i):
            problem.pair(i, j)


def whole_order(truth: Any, answers: dict[str, Any], model: Any, draws: int) -> None:
    problem = AnswerProblem(AnswerTable.of(truth, answers), model)
    rank_probabilities(problem.draw(draws, np.random.default_rng(0)), problem.scores)


def questions() -> list[tuple[str, float | None, int, Callable[[], object]]]:
    """What is asked, seconds it may take, repetitions, and how it is asked."""
    rng = np.random.default_rng(0)
    million, ten = disagreeing(rng, 1_000_000), tables(rng, 10, 100_000)
    three = tables(rng, 3, 100_000)
    two = tables(rng, 2, 100_000)
    rates = rng.uniform(0, 0.2, 100_000)
    groups = rng.integers(0, 80, 100_000)
    labels = rng.integers(0, 100, 50_000)
    guesses = {f"m{j}": np.where(rng.random(50_000) < 0.75, labels, rng.integers(0, 100, 50_000)) for j in range(10)}
    sure = ScoreTable.of(
        rng.integers(0, 10, 1000), {f"m{j}": rng.dirichlet(np.ones(10), 1000) for j in range(3)}, sums="scale"
    )
    bernoulli, shared = Bernoulli(0.05), Shared(0.05, 0.1, groups)
    return [
        ("two algorithms, 10^6 disagreements, exactly", 0.020, 20, lambda: pair(*million, Bernoulli(0.2))),
        ("all pairs of 10 algorithms, 10^5 items, exactly", 1.0, 5, lambda: all_pairs(*ten, bernoulli)),
        ("whole order of 10, 10^5 items, 10^5 draws", 2.0, 3, lambda: whole_order(*ten, bernoulli, 100_000)),
        ("vt.rank, two algorithms, 10^6 disagreements", None, 10,
         lambda: vt.rank(AnswerTable.of(*million), Bernoulli(0.2))),
        ("vt.rank, 10 algorithms, 10^5 items", None, 2, lambda: vt.rank(AnswerTable.of(*ten), Bernoulli(0.05))),
        ("vt.rank, 3 algorithms, 10^5 items, all exact", None, 3, lambda: vt.rank(AnswerTable.of(*three), Bernoulli(0.05))),  # noqa: E501
        ("two algorithms, 10^5 items, a rate for each", None, 3, lambda: pair(*two, PerItem(rates))),
        ("two algorithms, 10^6, exactly 10^5 errors", None, 3, lambda: pair(*million, Exactly(100_000))),
        ("two algorithms, 10^5 items, audit 20/400", None, 3, lambda: pair(*two, Audit(20, 400))),
        ("whole order of 10, shared errors, 10^4 draws", None, 1, lambda: whole_order(*ten, shared, 10_000)),
        ("vt.rank, 10 algorithms, 100 labels, 5·10^4 items, 10^4 draws", None, 1,
         lambda: vt.rank(AnswerTable.of(labels, guesses, kind="labels"), Bernoulli(0.05), draws=10_000)),
        ("vt.rank, 3 algorithms, confidences for 10 labels, 10^3 items", None, 1, lambda: vt.rank(sure, bernoulli)),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--only", default="", help="questions that contain this")
    given = parser.parse_args()
    figures = {}
    print(f"{'question':<64}{'CPU':>10}{'allowed':>10}")
    for name, allowed, repetitions, question in questions():
        if given.only not in name:
            continue
        figures[name] = least(question, repetitions)
        limit = f"{1000 * allowed:>7.0f} ms" if allowed else ""
        print(f"{name:<64}{1000 * figures[name]:>7.1f} ms{limit}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
