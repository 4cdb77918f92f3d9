"""Votes of judges: CSV files of a plan, and the choices of other people's studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from verite.csv_files import lines_of
from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.files import find_path
from verite.judge.plan import Plan

HEAD = ("plan", "pair", "left", "right", "choice", "ms")
EQUAL, UNSURE = "equal", "cannot tell"


@dataclass(frozen=True)
class Vote:
    """One answer.

    Parameters
    ----------
    judge, pair : str
        Name of the judge, and id of the trial.
    left, right : str
        Results that were shown.
    choice : str
        Name of the chosen result, "equal" or "cannot tell".
    ms : float
        Time of the answer in milliseconds.
    """

    judge: str
    pair: str
    left: str
    right: str
    choice: str
    ms: float

    @property
    def is_decided(self) -> bool:
        """Whether a result was chosen."""
        return self.choice not in (EQUAL, UNSURE)


def read_votes(plan: Plan, paths: Sequence[str | PathLike[str]]) -> list[Vote]:
    """Read the votes of all judges; each judge has one file.

    Raises
    ------
    ReadError
        If a file is no file of votes, or belongs to another plan.
    BadParameter
        If a judge or a file occurs twice.
    """
    votes: list[Vote] = []
    seen: dict[str, Path] = {}
    contents: dict[tuple[tuple[str, ...], ...], Path] = {}
    for given in paths:
        path = find_path(given)
        name = path.stem.removeprefix("votes-") or path.stem
        if name in seen:
            raise BadParameter(f"{path}: expected one file per judge, found {name!r} also in {seen[name]}")
        seen[name] = path
        found = votes_of(plan, path, name)
        answers = tuple((v.pair, v.choice, str(v.ms)) for v in found)
        if answers and answers in contents:
            raise BadParameter(f"{path}: expected the votes of another judge, found those of {contents[answers]} again")
        contents[answers] = path
        votes += found
    if not votes:
        raise DataError("votes: expected at least one answer, found none")
    return votes


def votes_of(plan: Plan, path: Path, name: str) -> list[Vote]:
    """Read one file of votes; a later answer to the same trial replaces an earlier one."""
    rows = [(number, [cell.strip() for cell in row]) for number, row in lines_of(path) if any(row)]
    if not rows or tuple(rows[0][1]) != HEAD:
        raise ReadError(
            path, expected=f"the columns {','.join(HEAD)}", found=excerpt(",".join(rows[0][1]) if rows else "")
        )
    found: dict[str, Vote] = {}
    for number, row in rows[1:]:
        where = f"{path}:{number}"
        if len(row) != len(HEAD):
            raise ReadError(where, expected=f"{len(HEAD)} cells", found=str(len(row)))
        its_plan, pair, left, right, choice, ms = row
        if its_plan != plan.id:
            raise ReadError(where, expected=f"votes of plan {plan.id}", found=f"votes of plan {excerpt(its_plan)}")
        if pair not in plan.by_id:
            raise ReadError(where, expected="a pair of the plan", found=excerpt(pair))
        trial = plan.by_id[pair]
        if choice not in (*trial.names, EQUAL, UNSURE):
            raise ReadError(where, expected=f"{', '.join(trial.names)}, {EQUAL} or {UNSURE}", found=excerpt(choice))
        try:
            found[pair] = Vote(name, pair, left, right, choice, float(ms or "nan"))
        except ValueError:
            raise ReadError(where, expected="milliseconds", found=excerpt(ms)) from None
    return list(found.values())


@dataclass(frozen=True)
class Choice:
    """A choice among several boxes of which only names and IoU are known (another study)."""

    judge: str
    question: str
    label: str
    kinds: tuple[str, ...]
    ious: tuple[float, ...]
    chosen: int
    is_check: bool


LINK = re.compile(r"(?P<folder>[^/]+)/(?P<file>[^/]*?_IoU(?P<iou>[\d.]+?)(?:correct)?)\.png$")


def read_choices(path: str | PathLike[str]) -> tuple[list[Choice], int]:
    """Read choices of a crowd study: columns WorkerId, Input.imageLinkN and Answer.detectionN.N.

    The kind of alteration is the folder of each link, the IoU (one digit) part of the file's name. Questions whose
    links name an attention check are marked.

    Returns
    -------
    choices : list of Choice
        Usable choices: exactly one box is chosen.
    unusable : int
        Rows with no or several chosen boxes, or with links that do not tell the IoU.
    """
    file = find_path(path)
    rows = [(number, row) for number, row in lines_of(file, longest=1_000_000) if any(row)]
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    links = [i for i, name in enumerate(head) if re.fullmatch(r"Input\.imageLink\d+", name)]
    answers = [i for i, name in enumerate(head) if re.fullmatch(r"Answer\.detection\d+\.\d+", name)]
    if "WorkerId" not in head or len(links) < 2 or len(links) != len(answers):
        expected = "the columns WorkerId, Input.imageLink1 … and Answer.detection1.1 …"
        raise ReadError(file, expected=expected, found=excerpt(",".join(head)))
    label_at = head.index("Input.objectClass") if "Input.objectClass" in head else None
    found, unusable = [], 0
    for number, row in rows[1:]:
        if len(row) != len(head):
            raise ReadError(f"{file}:{number}", expected=f"{len(head)} cells", found=str(len(row)))
        matches = [LINK.search(row[i]) for i in links]
        chosen = [k for k, i in enumerate(answers) if row[i].strip().lower() == "true"]
        if len(chosen) != 1 or not all(matches):
            unusable += 1
            continue
        kinds = tuple(m["folder"] for m in matches if m)
        ious = tuple(float(m["iou"]) for m in matches if m)
        label = row[label_at] if label_at is not None else ""
        question = "|".join(row[i] for i in links)
        found.append(
            Choice(row[head.index("WorkerId")], question, label, kinds, ious, chosen[0], "attention" in question)
        )
    if not found:
        raise ReadError(file, expected="rows with one chosen box", found="none")
    return found, unusable
