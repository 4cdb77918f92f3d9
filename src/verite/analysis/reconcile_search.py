"""Conventions of other evaluation tools as settings of our protocols, and the search for those that give a number.

`TOOLS` lists what pycocotools, torchmetrics, Ultralytics, detectron2 and others do. The search tries these conventions,
every single change of a setting and, where none gives the printed numbers, combinations of changes in the order of
their expected distance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, DataError, did_you_mean, excerpt
from verite.progress import begin
from verite.protocols import protocol_named
from verite.settings import Choice, Flag
from verite.signature import spell

if TYPE_CHECKING:
    from verite.analysis.reconcile import PrintedNumber
    from verite.model.annotations import Annotations
    from verite.model.results import Results
    from verite.protocols.protocol import Protocol
    from verite.settings import Settings
    from verite.signature import Signature


@dataclass(frozen=True)
class Convention:
    """What a tool does, or did up to some version: a protocol of ours with changed settings."""

    title: str
    protocol: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool, its conventions with the most likely one first, and which score of ours each of its scores is."""

    name: str
    conventions: tuple[Convention, ...]
    scores: Mapping[str, str] = field(default_factory=dict)


COCO_NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl")
TORCH_NAMES = ("map", "map_50", "map_75", "map_small", "map_medium", "map_large")
TORCH_RECALLS = {f"mar_{limit}": f"AR{limit}" for limit in ("1", "10", "100")} | {
    f"mar_{size}": f"AR{size[0]}" for size in ("small", "medium", "large")
}
OPENMMLAB_NAMES = ("mAP", "mAP_50", "mAP_75", "mAP_s", "mAP_m", "mAP_l")
DETECTRON = {"max_image_dets": 100, "confidence": 0.05}

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("pycocotools", (Convention("pycocotools", "coco", {"quirks": "pycocotools"}),)),
        Tool(
            "torchmetrics",
            (
                Convention("torchmetrics", "coco", {"quirks": "torchmetrics"}),
                Convention("torchmetrics told of crowds", "coco", {"quirks": "torchmetrics", "ignored": "crowd"}),
                Convention(
                    "torchmetrics told of crowds and areas",
                    "coco",
                    {"quirks": "torchmetrics", "ignored": "crowd", "area_from": "file"},
                ),
                Convention("torchmetrics, average micro", "coco", {"quirks": "torchmetrics", "class_agnostic": True}),
            ),
            dict(zip(TORCH_NAMES, COCO_NAMES, strict=True)) | TORCH_RECALLS,
        ),
        Tool(
            "ultralytics",
            (
                Convention("ultralytics since 8.4.176", "voc", {"quirks": "ultralytics"}),
                Convention("ultralytics 8.4.37 to 8.4.175", "voc", {"quirks": "ultralytics", "matching": "best"}),
                Convention("ultralytics up to 8.4.36", "voc", {"quirks": "ultralytics-8.3"}),
            ),
            {"mAP50-95": "AP", "mAP50": "AP50", "mAP75": "AP75", "precision": "P", "recall": "R"},
        ),
        Tool(
            "detectron",
            (
                Convention("detectron2", "coco", {"quirks": "pycocotools"}),
                Convention("detectron2 with its limits", "coco", {"quirks": "pycocotools", **DETECTRON}),
            ),
        ),
        Tool(
            "detectron-voc",
            (
                Convention("detectron2 on Pascal VOC", "voc", {"quirks": "detectron2"}),
                Convention("detectron2 on Pascal VOC 2007", "voc", {"quirks": "detectron2", "interpolation": "11"}),
            ),
        ),
        Tool(
            "mmdetection",
            (Convention("mmdetection", "coco", {"quirks": "pycocotools", "max_dets": (100, 300, 1000)}),),
            dict(zip(OPENMMLAB_NAMES, COCO_NAMES, strict=True)) | {f"AR@{n}": f"AR{n}" for n in (100, 300, 1000)},
        ),
        Tool(
            "supervision",
            (Convention("supervision", "coco", {"ignored": "count", "area_from": "box", "ties": "file"}),),
            {"map50_95": "AP", "map50": "AP50", "map75": "AP75"},
        ),
        Tool(
            "voc2007",
            (
                Convention("Pascal VOC 2007", "voc", {"interpolation": "11"}),
                Convention("py-faster-rcnn's VOC 2007", "voc", {"interpolation": "11", "quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool(
            "voc2010",
            (
                Convention("Pascal VOC since 2010", "voc"),
                Convention("py-faster-rcnn's VOC 2010", "voc", {"quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool("object-detection-metrics", (Convention("Object-Detection-Metrics", "voc"),)),
    )
}


def tool_named(name: str) -> Tool:
    """Return a tool by its name.

    Raises
    ------
    BadParameter
        If there is none, with the names of all.
    """
    if not isinstance(name, str) or name not in TOOLS:
        near = did_you_mean(name, TOOLS) if isinstance(name, str) else ""
        raise BadParameter(f"tool: expected {', '.join(TOOLS)}, found {excerpt(name)}{near}")
    return TOOLS[name]


Change = tuple[str, Any]  # the name of a setting and its value

GRID = tuple(percent / 100 for percent in range(50, 100, 5))
# Values that other tools are known to use for settings without a list of choices, by protocol.
KNOWN_VALUES: dict[str, dict[str, tuple[Any, ...]]] = {
    "coco": {
        "iou": ((0.5,), (0.75,), GRID[:-1]),
        "max_dets": ((1, 10, 300), (1, 10, 500), (1, 10, 1000), (100, 300, 1000)),
    },
    "voc": {"iou": ((0.3,), (0.4,), (0.5,), (0.75,), (0.9,), GRID, GRID[:-1]), "max_dets": (100,)},
}
CONFIDENCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5)
COMMON_VALUES: dict[str, tuple[Any, ...]] = {"confidence": CONFIDENCES, "max_image_dets": (100, 300)}
POINT_SCORES = ("P", "R", "F1")  # at one operating point only
UNNAMED = ("AP", "AP50", "AP75")  # what a number without a name may be
KEPT = 8  # evaluations in memory
MOST_CHANGES = 4  # at once; a tool's convention is one of them
MOST_VARIED = 3  # attempts that give the numbers, of which values are varied
MOST_COMBINED = 14  # single changes, those with the largest effect, of which four are combined


@dataclass(frozen=True, eq=False)
class Attempt:
    """The scores of a convention with some settings changed."""

    convention: Convention
    more: tuple[Change, ...]
    scores: dict[str, float]
    shared: dict[str, str]  # names that protocols share, and which score each is here
    signature: Signature

    @property
    def protocol(self) -> str:
        """The protocol that is evaluated."""
        return self.convention.protocol

    @property
    def changes(self) -> dict[str, object]:
        """All settings that differ from the protocol's defaults."""
        return {**self.convention.changes, **dict(self.more)}

    @property
    def effort(self) -> tuple[int, bool, int]:
        """A sort key: how many changes a reader has to follow from the protocol's defaults.

        A tool's convention is one change and precedes a change without a name; of two tools the one that changes less.
        """
        return len(self.more) + bool(self.convention.changes), not self.convention.changes, len(self.changes)

    @property
    def words(self) -> str:
        """The conventions in words."""
        if not self.more:
            return self.convention.title
        changed = ", ".join(f"{name} {format_value(name, value)}" for name, value in self.more)
        if self.convention.changes:
            return f"{self.convention.title}, {changed}"
        return f"{self.protocol}: {changed}"

    def name_of(self, score: str) -> str:
        """The name of a shared score here, overall or of one class."""
        head, bracket, label = score.partition("[")
        return (head if head in self.scores else self.shared.get(head, head)) + bracket + label

    def value(self, score: str) -> float:
        """The value of a score by its shared name; NaN where there is none."""
        return self.scores.get(self.name_of(score), nan)

    def distance(self, number: PrintedNumber) -> tuple[float, str]:
        """Distance of the score to a printed number, and its name; of a number without a name, the nearest score."""
        names = [number.key] if number.score else [*UNNAMED, "mAP"]
        known = {self.name_of(name): self.value(name) for name in names if not isnan(self.value(name))}
        nearest = min(known, key=lambda name: abs(known[name] - number.value), default="")
        return (abs(known[nearest] - number.value), nearest) if nearest else (inf, number.key)

    def is_secondary(self, number: PrintedNumber) -> bool:
        """Whether a number without a name is not the first score of the protocol."""
        return not number.score and self.distance(number)[1] != next(iter(self.scores))

    def reaches(self, numbers: Iterable[PrintedNumber]) -> bool:
        """Whether all numbers are given to their printed digits."""
        return all(self.distance(number)[0] <= number.tolerance * (1 + 1e-9) for number in numbers)

    def command(self, truth: str, pred: str, options: Sequence[str] = ()) -> str:
        """Return the command that prints these scores."""
        declared = protocol_named(self.protocol).settings.declared
        words: list[str] = []
        for name, value in self.changes.items():
            if isinstance(declared[name], Flag):
                words += [declared[name].option] if value else []
            elif isinstance(value, tuple):
                words += [word for one in value for word in (declared[name].short or declared[name].option, str(one))]
            else:
                words += [declared[name].option, str(value)]
        return " ".join(["verite", self.protocol, truth, pred, *options, *words])


def format_value(name: str, value: Any) -> str:
    """Return the value of a setting in words.

    Parameters
    ----------
    name
        Name of the setting.
    value
        Its value in the protocol's settings.

    Returns
    -------
    str
        The value as it is typed on the command line; IoU thresholds as first:last.
    """
    if name == "iou" and len(value) > 1:
        return f"{value[0]:.2f}:{value[-1]:.2f}"
    return spell(value) if value is not None else "none"


class Trial:
    """Evaluates one pair of annotations by many conventions; settings that do not change matches share an evaluation.

    Parameters
    ----------
    sides
        Ground truth and aligned predictions.
    numbers
        The printed numbers.
    """

    def __init__(self, sides: tuple[Annotations, Annotations], numbers: Sequence[PrintedNumber]) -> None:
        self.sides, self.numbers = sides, numbers
        self.has_classes = any(number.label for number in numbers)
        self.kept: OrderedDict[tuple[str, Settings], Results] = OrderedDict()
        self.known: dict[str, Attempt | None] = {}

    def attempt(self, convention: Convention, more: Sequence[Change] = ()) -> Attempt | None:
        """Return the scores of a convention with further changes; None where the data do not allow it."""
        key = self.key(convention, more)
        if key not in self.known:
            protocol, given = protocol_named(convention.protocol), {**convention.changes, **dict(more)}
            try:
                results = self.evaluate(protocol, protocol.settings(checks="off", **given))
                scores, shared = self.scores(results), shared_names(results)
                self.known[key] = Attempt(convention, tuple(more), scores, shared, results.signature)
            except (BadParameter, DataError):
                self.known[key] = None
        return self.known[key]

    def recall(self, convention: Convention, more: Sequence[Change]) -> Attempt | None:
        """Return an attempt that was made already; None where it was not, or failed."""
        return self.known.get(self.key(convention, more))

    def key(self, convention: Convention, more: Sequence[Change]) -> str:
        """Identify an attempt by its protocol and settings."""
        return f"{convention.protocol} {sorted({**convention.changes, **dict(more)}.items())}"

    def evaluate(self, protocol: Protocol[Any, Any], settings: Settings) -> Results:
        """Evaluate by these settings, reusing matches where only the reading of curves differs."""
        readings: dict[str, object] = {
            name: settings.declared[name].default for name in getattr(settings, "READINGS", ())
        }
        if not readings:
            return protocol.evaluate(*self.sides, settings)  # type: ignore[no-any-return]
        plain = settings.change(**readings)
        key = protocol.verb, plain
        if key not in self.kept:
            self.kept[key] = protocol.evaluate(*self.sides, plain)
        self.kept.move_to_end(key)
        if len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return self.kept[key].read_by(settings)  # type: ignore[attr-defined, no-any-return]

    def scores(self, results: Results) -> dict[str, float]:
        """Return all scores by name, those of classes as `AP[cat]` where a number is about a class."""
        found = {name: score.value for name, score in results.scores.items()}
        if self.has_classes:
            for name, values in results.class_scores().items():
                found |= {f"{name}[{label}]": v for label, v in zip(results.class_names, values, strict=True)}
        return found

    def distance(self, attempt: Attempt) -> float:
        """The distance of an attempt to the printed number that is farthest from it."""
        return max(attempt.distance(number)[0] for number in self.numbers)


def shared_names(results: Any) -> dict[str, str]:
    """Return which score of a protocol of curves is COCO's AP, AP50 and AP75; and which of COCO's is the mAP."""
    if "AP" in results.scores:
        return {"mAP": "AP"}
    if "mAP" in results.scores:
        name = {0.5: "AP50", 0.75: "AP75"}.get(results.settings.iou[0], "AP")
        return {"AP": "mAP", name: "mAP"}
    mean = next((name for name in results.scores if ":" in name), "")
    return {"AP50": "mAP@0.50", "AP75": "mAP@0.75"} | ({"AP": mean, "mAP": mean} if mean else {})


def single_changes(convention: Convention, numbers: Iterable[PrintedNumber] = ()) -> Iterator[Change]:
    """Yield every change of one setting of a convention that is worth a try; quirks belong to whole conventions."""
    protocol = protocol_named(convention.protocol)
    settings = protocol.settings(**convention.changes)
    has_points = any(number.score in POINT_SCORES for number in numbers)
    known = KNOWN_VALUES.get(convention.protocol, {})
    for setting in protocol.settings.declared.values():
        if not setting.is_signed or setting.name == "quirks" or (setting.name == "point" and not has_points):
            continue
        values: Sequence[Any] = COMMON_VALUES.get(setting.name, known.get(setting.name, ()))
        if isinstance(setting, Choice):
            values = [value for value in setting.choices if value != "point"]  # distances are another evaluation
        elif isinstance(setting, Flag):
            values = (False, True)
        yield from ((setting.name, value) for value in values if value != getattr(settings, setting.name))


class Search:
    """The attempts that were made, and the single changes without effect.

    Parameters
    ----------
    trial
        Evaluates conventions.
    tries
        Largest number of attempts.
    """

    def __init__(self, trial: Trial, tries: int) -> None:
        self.trial, self.tries = trial, tries
        self.attempts: list[Attempt] = []
        self.inert: dict[str, None] = {}
        self.advance: Callable[[int], object] = lambda count: None

    def run(self, first: Sequence[Convention], others: Sequence[Convention]) -> None:
        """Try all conventions, single changes of the `first`, and combinations of changes where none gives the numbers.

        Of the `others`, changes are combined only with the two that are nearest.
        """
        with begin("trying conventions", self.tries, "ways") as self.advance:
            self.try_all((convention, ()) for convention in (*first, *others))
            effective = {id(convention): self.effective_changes(convention) for convention in first}
            if self.is_reached:
                return
            nearest = [a.convention for a in self.nearest() if a.convention in others and not a.more][:2]
            effective |= {id(convention): self.effective_changes(convention) for convention in nearest}
            starts = [*first, *nearest]
            for total in range(2, MOST_CHANGES + 1):
                share = self.left if total == MOST_CHANGES else self.left // 2
                if self.is_reached or share <= 0:
                    break
                counts = {id(start): total - bool(start.changes) for start in starts}
                candidates = [(s, more) for s in starts for more in self.combine(effective[id(s)], counts[id(s)])]
                self.try_all(nsmallest(share, candidates, key=lambda candidate: self.expected_distance(*candidate)))
            self.try_all(list(self.variations())[: self.left])

    @property
    def left(self) -> int:
        """How many attempts are left."""
        return max(0, self.tries - len(self.attempts))

    @property
    def is_reached(self) -> bool:
        """Whether an attempt gives all numbers."""
        return any(attempt.reaches(self.trial.numbers) for attempt in self.attempts)

    def nearest(self) -> list[Attempt]:
        """Return the attempts by distance, of equal ones those with fewer changes first; equal settings once."""
        order = sorted(self.attempts, key=lambda a: (self.trial.distance(a), a.effort))
        return list({str(attempt.signature): attempt for attempt in reversed(order)}.values())[::-1]

    def try_all(self, candidates: Iterable[tuple[Convention, Sequence[Change]]]) -> None:
        """Make and keep these attempts."""
        for convention, more in candidates:
            attempt = self.trial.attempt(convention, more)
            self.advance(1)
            if attempt is not None:
                self.attempts.append(attempt)

    def variations(self) -> Iterator[tuple[Convention, tuple[Change, ...]]]:
        """Yield attempts that give the numbers with another value of one change, which may give them as well."""
        for attempt in [a for a in self.nearest() if a.reaches(self.trial.numbers)][:MOST_VARIED]:
            for other in single_changes(attempt.convention, self.trial.numbers):
                more = tuple(other if other[0] == name else (name, value) for name, value in attempt.more)
                if more != attempt.more and self.trial.recall(attempt.convention, more) is None:
                    yield attempt.convention, more

    def effective_changes(self, convention: Convention) -> list[Change]:
        """Try all single changes; return those that change a wanted score, the largest effect first."""
        base = self.trial.attempt(convention)
        if base is None:
            return []
        names = [number.key for number in self.trial.numbers if number.score] or [*UNNAMED]
        effects: dict[Change, float] = {}
        for change in single_changes(convention, self.trial.numbers):
            attempt = self.trial.attempt(convention, (change,))
            self.advance(1)
            if attempt is None:
                continue
            pairs = [(base.value(name), attempt.value(name)) for name in names]
            # A score that only one of the two has counts as changed.
            changes = [abs(one - two) if isnan(one) == isnan(two) else 1.0 for one, two in pairs]
            effect = max((change for change in changes if not isnan(change)), default=0.0)
            if effect > 0:
                effects[change] = effect
                self.attempts.append(attempt)
            else:
                self.inert[f"{change[0]} {format_value(*change)}"] = None
        return sorted(effects, key=lambda change: -effects[change])

    def combine(self, changes: Sequence[Change], count: int) -> Iterator[tuple[Change, ...]]:
        """Yield combinations of at least two changes of different settings.

        Parameters
        ----------
        changes
            Changes of one setting each, the most promising first.
        count
            How many settings differ at once. The more there are, the fewer changes are combined, so that the search
            ends.
        """
        if count < 2:
            return
        most = len(changes) if count == 2 else 2 * MOST_COMBINED if count == 3 else MOST_COMBINED
        for more in combinations(changes[:most], count):
            if len({name for name, _ in more}) == count:
                yield more

    def expected_distance(self, convention: Convention, more: Sequence[Change]) -> float:
        """Estimate the distance of a combination: effects of single changes and of tried pairs add up."""
        base = self.trial.attempt(convention)
        assert base is not None
        singles = {change: self.trial.attempt(convention, (change,)) or base for change in more}
        pairs = [(one, two, self.trial.recall(convention, (one, two))) for one, two in combinations(more, 2)]
        farthest = 0.0
        for number in self.trial.numbers:
            distances = []
            for name in [number.key] if number.score else [*UNNAMED]:
                start = base.value(name)
                gains = {change: single.value(name) - start for change, single in singles.items()}
                beyond = [p.value(name) - start - gains[one] - gains[two] for one, two, p in pairs if p is not None]
                value = start + sum(gains.values()) + sum(beyond)
                distances.append(inf if isnan(value) else abs(value - number.value))
            farthest = max(farthest, min(distances))
        return farthest
