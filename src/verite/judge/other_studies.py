"""Other people's studies: tables of choices with boxes, or with names and IoU of the boxes alone.

A table with boxes becomes a plan with votes, so that every metric can be compared with people. Without boxes it shows
how often people choose the box with the highest IoU, against chance, and how often each alteration is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike

import numpy as np

from verite.csv_files import lines_of
from verite.errors import DataError, ReadError, excerpt
from verite.files import find_path
from verite.judge.fit import Share, crossed_interval, krippendorff, show
from verite.judge.plan import Box, Plan, Trial
from verite.judge.votes import EQUAL, UNSURE, Choice, Vote
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table


@dataclass(frozen=True, repr=False)
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
    iou_over : dict of Share
        For each kind: share of choices for it where its IoU is lower than that of the best other box. What people
        choose although IoU does not.
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
    iou_over: dict[str, Share] = field(default_factory=dict)

    def main_table(self) -> Table:
        """Return the kinds of alteration."""
        return share_table(self.kinds, "alteration")

    def tables(self) -> dict[str, Table]:
        """Return all tables by name, as `verite judge fit -o` saves them."""
        return {"alterations": self.main_table(), "against-iou": share_table(self.iou_over, "against a higher IoU")}

    def contents(self) -> list[Part]:
        return [
            f"{self.choices:,} choices of {self.judges} judges on {self.questions} questions; {self.unusable} rows "
            f"cannot be used; {self.checks} answers to attention checks, {100 * self.check_passed:.0f} % passed",
            *self.tables().values(),
            f"box with the highest IoU chosen: {show(self.iou)}; by chance {self.chance:.3f}",
            f"human ceiling (most frequent choice of the others): {show(self.ceiling)}; Krippendorff's alpha "
            f"{self.alpha:.3f}",
            "Boxes are not in the file: other metrics, sizes and offsets cannot be judged.",
        ]

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(asdict(self), indent=indent)


def share_table(shares: dict[str, Share], title: str) -> Table:
    """Return shares as a table, the highest first.

    Parameters
    ----------
    shares
        By kind of error: how often its result was chosen where it was offered.
    title
        Heading of the first column.

    Returns
    -------
    Table
        Agreement with its confidence interval, and the number of votes it rests on.
    """
    order = sorted(shares, key=lambda kind: -shares[kind].agreement)
    heads = {"agreement": "chosen", "low": "low", "high": "high", "votes": "offered"}
    columns = {head: [getattr(shares[kind], key) for kind in order] for key, head in heads.items()}
    return Table.of(title, order, columns)


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
    against: dict[str, Share] = {}
    for kind in kinds:
        lower = [c for c in kept if kind in c.kinds and c.ious[c.kinds.index(kind)] < max(c.ious)]
        if lower:
            against[kind] = share([float(c.kinds[c.chosen] == kind) for c in lower], lower)
    # The study names the right box of an attention check; its IoU, to one digit, need not be the highest.
    passed = [c.kinds[c.chosen] == CORRECT if CORRECT in c.kinds else c.ious[c.chosen] == max(c.ious) for c in checks]
    alpha = krippendorff([[c.kinds[c.chosen] for c in group] for group in by_question.values()])
    return ChoiceStudy(len(kept), len(judges), len(questions), unusable, len(checks),
                       float(np.mean(passed)) if passed else float("nan"), share(hits, differing), chance,
                       share(predicted, rows), alpha, kinds, against)  # fmt: skip


NEEDED = ("judge", "image", "class", "truth", "choice")
MARGIN = 1.25  # of the reach of all boxes: size of an image whose size is not given
BOX_COLUMNS = "the columns judge, image, class, truth, box1, box2 … and choice"


def has_boxes(path: str | PathLike[str]) -> bool:
    """Return whether a table of choices has boxes: its header names `truth` and `box1`."""
    head = next((row for _, row in lines_of(find_path(path), longest=1_000_000) if any(row)), [])
    return {"truth", "box1"} <= {cell.strip() for cell in head}


def read_study(path: str | PathLike[str]) -> tuple[Plan, list[Vote]]:
    """Read a study with boxes: one row per vote.

    The columns are judge, image, class, truth, box1, box2 … and choice. Boxes are four numbers, x1 y1 x2 y2, apart by
    spaces or semicolons; choice is the number of the chosen box, its name, "equal" or "cannot tell". The columns name1,
    name2 … name the results (else box1, box2 …), object tells objects of one class in an image apart, width and height
    are the size of the image (else the reach of all boxes and a margin).

    Returns
    -------
    plan : Plan
        One trial for each object and set of boxes.
    votes : list of Vote
        Votes of all judges.

    Raises
    ------
    ReadError
        If a column is missing or a cell cannot be read.
    DataError
        If there is no vote.
    """
    file = find_path(path)
    rows = [(number, [cell.strip() for cell in row]) for number, row in lines_of(file, longest=1_000_000) if any(row)]
    head = rows[0][1] if rows else []
    columns = [name for name in head if name.startswith("box") and name[3:].isdecimal()]
    if not set(NEEDED) <= set(head) or len(columns) < 2:
        raise ReadError(file, expected=BOX_COLUMNS, found=excerpt(",".join(head)))
    trials: dict[str, Trial] = {}
    votes: list[Vote] = []
    for number, row in rows[1:]:
        where = f"{file}:{number}"
        if len(row) != len(head):
            raise ReadError(where, expected=f"{len(head)} cells", found=str(len(row)))
        cell = dict(zip(head, row, strict=True))
        given = [(name, cell[name]) for name in columns if cell[name]]
        truth, *boxes = (box_of(text, where) for text in (cell["truth"], *(text for _, text in given)))
        if len(boxes) < 2:
            raise ReadError(where, expected="two boxes or more", found=str(len(boxes)))
        names = [cell.get(f"name{name[3:]}") or name for name, _ in given]
        if len(set(names)) < len(names) or {EQUAL, UNSURE} & set(names):
            raise ReadError(where, expected="results of different names", found=excerpt(", ".join(names)))
        choice = cell["choice"]
        if choice.isdecimal() and 1 <= int(choice) <= len(names) and choice not in names:
            choice = names[int(choice) - 1]
        if choice not in (*names, EQUAL, UNSURE):
            raise ReadError(where, expected=f"a number from 1 to {len(names)}, a name, {EQUAL} or {UNSURE}",
                            found=excerpt(cell["choice"]))  # fmt: skip
        reach = np.array([truth, *boxes])[:, 2:].max(axis=0) * MARGIN
        try:
            size = float(cell.get("width") or reach[0]), float(cell.get("height") or reach[1])
        except ValueError:
            raise ReadError(where, expected="numbers as width and height", found=excerpt(row)) from None
        thing = "|".join((cell["image"], cell["class"], cell.get("object") or cell["truth"]))
        key = f"{thing}|{boxes}|{names}"
        trial = trials.get(key)
        if trial is None:
            trial = Trial(f"p{len(trials) + 1}", cell["image"], cell["class"], names[0], names[1], "pair", thing, truth,
                          boxes, size, "", names[2:])  # fmt: skip
            trials[key] = trial
        votes.append(Vote(cell["judge"], trial.id, names[0], names[1], choice, float("nan")))
    if not votes:
        raise DataError(f"{file}: expected at least one vote, found none")
    return Plan(list(trials.values()), 0), votes


def box_of(text: str, where: str) -> Box:
    """Return a box from its cell, x1 y1 x2 y2."""
    try:
        x1, y1, x2, y2 = (float(word) for word in text.replace(";", " ").split())
    except ValueError:
        raise ReadError(where, expected="a box, x1 y1 x2 y2", found=excerpt(text)) from None
    if not (x2 > x1 and y2 > y1 and np.isfinite([x1, y1, x2, y2]).all()):
        raise ReadError(where, expected="a box with x2 > x1 and y2 > y1", found=excerpt(text))
    return x1, y1, x2, y2
