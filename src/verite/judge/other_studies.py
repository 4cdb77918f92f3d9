"""Other people's studies: choices among several boxes of which names and IoU are known, but not the boxes.

How often people choose the box with the highest IoU, against chance, and how often each kind of alteration is chosen.
Other metrics need boxes, which such files do not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from verite.errors import DataError
from verite.judge.fit import Share, crossed_interval, krippendorff, show
from verite.judge.votes import Choice
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table


@dataclass(frozen=True)
class ChoiceStudy(Display):
    """Choices of a study without boxes.

    Parameters
    ----------
    choices, judges, questions, unusable, checks : int
        Usable choices without attention checks, judges, questions; rows that cannot be used; answers to checks.
    check_passed : float
        Share of attention checks in which the box with the highest IoU was chosen.
    iou : Share
        Share of choices of the box with the highest IoU (ties shared), among questions whose IoUs differ.
    chance : float
        That share if boxes were chosen at random.
    ceiling : Share
        Share of choices that the most frequent choice of the others predicts.
    alpha : float
        Krippendorff's alpha.
    kinds : dict of Share
        Share of choices of each kind of alteration where it was offered.
    """

    choices: int
    judges: int
    questions: int
    unusable: int
    checks: int
    check_passed: float
    iou: Share
    chance: float
    ceiling: Share
    alpha: float
    kinds: dict[str, Share]

    def main_table(self) -> Table:
        """Return the kinds of alteration."""
        order = sorted(self.kinds, key=lambda kind: -self.kinds[kind].agreement)
        heads = {"agreement": "chosen", "low": "low", "high": "high", "votes": "offered"}
        columns = {head: [getattr(self.kinds[kind], key) for kind in order] for key, head in heads.items()}
        return Table.of("alteration", order, columns)

    def contents(self) -> list[Part]:
        return [
            f"{self.choices:,} choices of {self.judges} judges on {self.questions} questions; {self.unusable} rows "
            f"cannot be used; {self.checks} answers to attention checks, {100 * self.check_passed:.0f} % passed",
            self.main_table(),
            f"box with the highest IoU chosen: {show(self.iou)}; by chance {self.chance:.3f}",
            f"human ceiling (most frequent choice of the others): {show(self.ceiling)}; Krippendorff's alpha "
            f"{self.alpha:.3f}",
            "Boxes are not in the file: other metrics, sizes and offsets cannot be judged.",
        ]

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(asdict(self), indent=indent)


CORRECT = "correct"  # folder of the right box of an attention check


def study_choices(choices: Sequence[Choice], unusable: int = 0) -> ChoiceStudy:
    """Evaluate the choices of another study.

    Parameters
    ----------
    choices : sequence of Choice
        The usable choices, attention checks included.
    unusable : int
        Rows that were left out.

    Returns
    -------
    ChoiceStudy

    Raises
    ------
    DataError
        If only attention checks are left.
    """
    kept = [choice for choice in choices if not choice.is_check]
    checks = [choice for choice in choices if choice.is_check]
    if not kept:
        raise DataError("choices: expected some that are no attention checks, found none")
    judges = {name: i for i, name in enumerate(dict.fromkeys(c.judge for c in kept))}
    questions = {name: i for i, name in enumerate(dict.fromkeys(c.question for c in kept))}

    def share(values: Sequence[float], rows: Sequence[Choice]) -> Share:
        """Return the mean with an interval over judges and questions."""
        return crossed_interval(np.array(values, dtype=np.float64), np.array([judges[c.judge] for c in rows]),
                                np.array([questions[c.question] for c in rows]))  # fmt: skip

    differing = [c for c in kept if len(set(c.ious)) > 1]
    hits = [float(c.ious[c.chosen] == max(c.ious)) for c in differing]
    chance = float(np.mean([c.ious.count(max(c.ious)) / len(c.ious) for c in differing])) if differing else float("nan")
    by_question: dict[str, list[Choice]] = {}
    for choice in kept:
        by_question.setdefault(choice.question, []).append(choice)
    predicted, rows = [], []
    for choice in kept:
        others = [c.chosen for c in by_question[choice.question] if c is not choice]
        if others:
            counts = np.bincount(others, minlength=len(choice.kinds))
            best = np.flatnonzero(counts == counts.max())
            predicted.append(float(choice.chosen in best) / len(best))
            rows.append(choice)
    kinds: dict[str, Share] = {}
    for kind in sorted({kind for c in kept for kind in c.kinds}):
        offered = [c for c in kept if kind in c.kinds]
        kinds[kind] = share([float(c.kinds[c.chosen] == kind) for c in offered], offered)
    # The study names the right box of an attention check; its IoU, to one digit, need not be the highest.
    passed = [c.kinds[c.chosen] == CORRECT if CORRECT in c.kinds else c.ious[c.chosen] == max(c.ious) for c in checks]
    alpha = krippendorff([[c.kinds[c.chosen] for c in group] for group in by_question.values()])
    return ChoiceStudy(len(kept), len(judges), len(questions), unusable, len(checks),
                       float(np.mean(passed)) if passed else float("nan"), share(hits, differing), chance,
                       share(predicted, rows), alpha, kinds)  # fmt: skip
