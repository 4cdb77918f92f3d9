"""What do other tools do? Each tool's ways as settings of a protocol, and what it calls the scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
class Way:
    """What a tool does, or did up to some version: a protocol and its settings."""

    title: str
    verb: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool, the likeliest of its ways first, and which score of ours is which of theirs."""

    name: str
    ways: tuple[Way, ...]
    scores: Mapping[str, str] = field(default_factory=dict)


COCO_NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl")

LIMITS = ("1", "10", "100")

TORCH_NAMES = ("map", "map_50", "map_75", "map_small", "map_medium", "map_large")

TORCH_RECALLS = {f"mar_{limit}": f"AR{limit}" for limit in LIMITS} | {
    f"mar_{size}": f"AR{size[0]}" for size in ("small", "medium", "large")
}

OPENMMLAB_NAMES = ("mAP", "mAP_50", "mAP_75", "mAP_s", "mAP_m", "mAP_l")

DETECTRON = {"max_image_dets": 100, "confidence": 0.05}

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("pycocotools", (Way("pycocotools", "coco", {"quirks": "pycocotools"}),)),
        Tool(
            "torchmetrics",
            (
                Way("torchmetrics", "coco", {"quirks": "torchmetrics"}),
                Way("torchmetrics told of crowds", "coco", {"quirks": "torchmetrics", "ignored": "crowd"}),
                Way(
                    "torchmetrics told of crowds and areas",
                    "coco",
                    {"quirks": "torchmetrics", "ignored": "crowd", "area_from": "file"},
                ),
                Way("torchmetrics, average micro", "coco", {"quirks": "torchmetrics", "class_agnostic": True}),
            ),
            dict(zip(TORCH_NAMES, COCO_NAMES, strict=True)) | TORCH_RECALLS,
        ),
        Tool(
            "ultralytics",
            (
                Way("ultralytics since 8.4.176", "voc", {"quirks": "ultralytics"}),
                Way("ultralytics 8.4.37 to 8.4.175", "voc", {"quirks": "ultralytics", "matching": "best"}),
                Way("ultralytics up to 8.4.36", "voc", {"quirks": "ultralytics-8.3"}),
            ),
            {"mAP50-95": "AP", "mAP50": "AP50", "mAP75": "AP75", "precision": "P", "recall": "R"},
        ),
        Tool(
            "detectron",
            (
                Way("detectron2", "coco", {"quirks": "pycocotools"}),
                Way("detectron2 with its limits", "coco", {"quirks": "pycocotools", **DETECTRON}),
            ),
        ),
        Tool(
            "detectron-voc",
            (
                Way("detectron2 on Pascal VOC", "voc", {"quirks": "detectron2"}),
                Way("detectron2 on Pascal VOC 2007", "voc", {"quirks": "detectron2", "interpolation": "11"}),
            ),
        ),
        Tool(
            "mmdetection",
            (Way("mmdetection", "coco", {"quirks": "pycocotools", "max_dets": (100, 300, 1000)}),),
            dict(zip(OPENMMLAB_NAMES, COCO_NAMES, strict=True)) | {f"AR@{n}": f"AR{n}" for n in (100, 300, 1000)},
        ),
        Tool(
            "supervision",
            (Way("supervision", "coco", {"ignored": "count", "area_from": "box", "ties": "file"}),),
            {"map50_95": "AP", "map50": "AP50", "map75": "AP75"},
        ),
        Tool(
            "voc2007",
            (
                Way("Pascal VOC 2007", "voc", {"interpolation": "11"}),
                Way("py-faster-rcnn's VOC 2007", "voc", {"interpolation": "11", "quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool(
            "voc2010",
            (
                Way("Pascal VOC since 2010", "voc"),
                Way("py-faster-rcnn's VOC 2010", "voc", {"quirks": "py-faster-rcnn"}),
            ),
        ),
        Tool("object-detection-metrics", (Way("Object-Detection-Metrics", "voc"),)),
    )
}


def tool_named(name: str) -> Tool:
    if not isinstance(name, str) or name not in TOOLS:
        near = did_you_mean(name, TOOLS) if isinstance(name, str) else ""
        raise BadParameter(f"tool: expected {', '.join(TOOLS)}, found {excerpt(name)}{near}")
    return TOOLS[name]


Change = tuple[str, Any]

GRID = tuple(percent / 100 for percent in range(50, 100, 5))

# Values that other tools are known to use where a setting has no list of choices.
USUAL: dict[str, dict[str, tuple[Any, ...]]] = {
    "coco": {
        "iou": ((0.5,), (0.75,), GRID[:-1]),
        "max_dets": ((1, 10, 300), (1, 10, 500), (1, 10, 1000), (100, 300, 1000)),
    },
    "voc": {"iou": ((0.3,), (0.4,), (0.5,), (0.75,), (0.9,), GRID, GRID[:-1]), "max_dets": (100,)},
}

FLOORS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5)

EVERYWHERE: dict[str, tuple[Any, ...]] = {"confidence": FLOORS, "max_image_dets": (100, 300)}

AT_POINTS = ("P", "R", "F1")  # scores that there are at one point of the curves only

KEPT = 8  # evaluations at hand

MOST_CHANGES = 4  # a tool's way is one of them

MOST_VARIED = 3  # ways that give the numbers

MOST_COMBINED = 14  # single changes, the most effective ones, of which that many are combined


@dataclass(frozen=True, eq=False)
class Attempt:
    """A tool's way or a protocol as it is, with some settings changed, and what comes out."""

    way: Way
    more: tuple[Change, ...]
    scores: dict[str, float]
    shared: dict[str, str]  # names that protocols share, and which score that is here
    signature: Signature

    @property
    def verb(self) -> str:
        return self.way.verb

    @property
    def changes(self) -> dict[str, Any]:
        return {**self.way.changes, **dict(self.more)}

    @property
    def effort(self) -> tuple[int, bool, int]:
        """How many changes a reader has to follow from a protocol as it is: a tool's way, which has a name, is one, and
        comes before a change that has none; of two tools the one that does less otherwise.
        """
        return len(self.more) + bool(self.way.changes), not self.way.changes, len(self.changes)

    @property
    def words(self) -> str:
        if not self.more:
            return self.way.title
        told = ", ".join(f"{name} {spell_value(self.verb, name, value)}" for name, value in self.more)
        return f"{self.verb}: {told}" if not self.way.changes else f"{self.way.title}, {told}"

    def name_of(self, score: str) -> str:
        """What a score is called here, of one class or of all."""
        head, bracket, label = score.partition("[")
        return (head if head in self.scores else self.shared.get(head, head)) + bracket + label

    def value(self, score: str) -> float:
        return self.scores.get(self.name_of(score), nan)

    def distance(self, number: PrintedNumber) -> tuple[float, str]:
        """How far the score is, or the nearest of those that tools print first, and which one it is."""
        asked = [number.key] if number.score else dict.fromkeys(("AP", "AP50", "AP75", "mAP"))
        known = {self.name_of(name): self.value(name) for name in asked if not isnan(self.value(name))}
        nearest = min(known, key=lambda name: abs(known[name] - number.value), default="")
        return (abs(known[nearest] - number.value), nearest) if nearest else (inf, number.key)

    def is_aside(self, number: PrintedNumber) -> bool:
        """Is a number without a name not the score that is printed first?"""
        return not number.score and self.distance(number)[1] != next(iter(self.scores))

    def reaches(self, numbers: Iterable[PrintedNumber]) -> bool:
        return all(self.distance(number)[0] <= number.tolerance * (1 + 1e-9) for number in numbers)

    def command(self, truth: str, pred: str, options: Sequence[str] = ()) -> str:
        """What prints these numbers."""
        declared = protocol_named(self.verb).settings.declared
        words: list[str] = []
        for name, value in self.changes.items():
            if isinstance(declared[name], Flag):
                words += [declared[name].option] if value else []
            elif isinstance(value, tuple):
                words += [word for one in value for word in (declared[name].short or declared[name].option, str(one))]
            else:
                words += [declared[name].option, str(value)]
        return " ".join(["verite", self.verb, truth, pred, *options, *words])


def spell_value(verb: str, name: str, value: Any) -> str:
    if name == "iou" and len(value) > 1:
        return f"{value[0]:.2f}:{value[-1]:.2f}"
    return spell(value) if value is not None else "none"


class Trial:
    """Two sides, evaluated again and again; settings that do not change who takes whom share one evaluation."""

    def __init__(self, sides: tuple[Annotations, Annotations], numbers: Sequence[PrintedNumber]) -> None:
        self.sides, self.numbers = sides, numbers
        self.has_classes = any(number.label for number in numbers)
        self.kept: OrderedDict[tuple[str, Settings], Results] = OrderedDict()
        self.known: dict[str, Attempt | None] = {}

    def attempt(self, way: Way, more: Sequence[Change] = ()) -> Attempt | None:
        """None: the data do not allow it, such as masks of boxes."""
        key = self.key(way, more)
        if key not in self.known:
            protocol, given = protocol_named(way.verb), {**way.changes, **dict(more)}
            try:
                results = self.evaluate(protocol, protocol.settings(checks="off", **given))
                scores, shared = self.scores(results), shared_names(results)
                self.known[key] = Attempt(way, tuple(more), scores, shared, results.signature)
            except (BadParameter, DataError):
                self.known[key] = None
        return self.known[key]

    def recall(self, way: Way, more: Sequence[Change]) -> Attempt | None:
        """None: it was not tried, or cannot be."""
        return self.known.get(self.key(way, more))

    def key(self, way: Way, more: Sequence[Change]) -> str:
        return f"{way.verb} {sorted({**way.changes, **dict(more)}.items())}"

    def evaluate(self, protocol: Protocol[Any, Any], settings: Settings) -> Results:
        readings: dict[str, Any] = {name: settings.declared[name].default for name in getattr(settings, "READINGS", ())}
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
        found = {name: score.value for name, score in results.scores.items()}
        if self.has_classes:
            for name, values in results.class_scores().items():
                found |= {f"{name}[{label}]": v for label, v in zip(results.class_names, values, strict=True)}
        return found

    def distance(self, attempt: Attempt) -> float:
        """Of the number that is farthest."""
        return max(attempt.distance(number)[0] for number in self.numbers)


def shared_names(results: Any) -> dict[str, str]:
    """Which score of a protocol of curves is COCO's AP, AP50 and AP75; and which of COCO's is the mAP."""
    if "AP" in results.scores:
        return {"mAP": "AP"}
    if "mAP" in results.scores:
        name = {0.5: "AP50", 0.75: "AP75"}.get(results.settings.iou[0], "AP")
        return {"AP": "mAP", name: "mAP"}
    mean = next((name for name in results.scores if ":" in name), "")
    return {"AP50": "mAP@0.50", "AP75": "mAP@0.75"} | ({"AP": mean, "mAP": mean} if mean else {})


def conventions(way: Way, numbers: Iterable[PrintedNumber] = ()) -> Iterator[Change]:
    """Every single change of a way's settings that is worth a try; whose quirks they are is for ways to say."""
    protocol = protocol_named(way.verb)
    settings = protocol.settings(**way.changes)
    has_points = any(number.score in AT_POINTS for number in numbers)
    for setting in protocol.settings.declared.values():
        if not setting.is_signed or setting.name == "quirks" or (setting.name == "point" and not has_points):
            continue
        values: Sequence[Any] = EVERYWHERE.get(setting.name, USUAL.get(way.verb, {}).get(setting.name, ()))
        if isinstance(setting, Choice):
            values = setting.choices
        elif isinstance(setting, Flag):
            values = (False, True)
        yield from ((setting.name, value) for value in values if value != getattr(settings, setting.name))


class Search:
    """What was tried, and which single changes do something."""

    def __init__(self, trial: Trial, tries: int) -> None:
        self.trial, self.tries = trial, tries
        self.attempts: list[Attempt] = []
        self.inert: dict[str, None] = {}

    def run(self, first: Sequence[Way], others: Sequence[Way]) -> None:
        """`first`: whose single changes are tried, and combined where none gives the numbers; `others` as they are."""
        with begin("trying conventions", self.tries, "ways") as advance:
            self.advance = advance
            self.try_all((way, ()) for way in (*first, *others))
            effective = {id(way): self.single_changes(way) for way in first}
            if self.is_reached:
                return
            nearest = [a.way for a in self.nearest() if a.way in others and not a.more][:2]
            effective |= {id(way): self.single_changes(way) for way in nearest}
            starts = [*first, *nearest]
            for total in range(2, MOST_CHANGES + 1):
                share = self.left if total == MOST_CHANGES else self.left // 2
                if self.is_reached or share <= 0:
                    break
                counts = {id(way): total - bool(way.changes) for way in starts}
                candidates = [(w, more) for w in starts for more in self.combine(effective[id(w)], counts[id(w)])]
                self.try_all(nsmallest(share, candidates, key=lambda candidate: self.expected_distance(*candidate)))
            self.try_all(list(self.variations())[: self.left])

    @property
    def left(self) -> int:
        return max(0, self.tries - len(self.attempts))

    def variations(self) -> Iterator[tuple[Way, tuple[Change, ...]]]:
        """What gives the numbers with another value of one of its changes: does that give them as well?"""
        for attempt in [a for a in self.nearest() if a.reaches(self.trial.numbers)][:MOST_VARIED]:
            for other in conventions(attempt.way, self.trial.numbers):
                more = tuple(other if other[0] == name else (name, value) for name, value in attempt.more)
                if more != attempt.more and self.trial.recall(attempt.way, more) is None:
                    yield attempt.way, more

    @property
    def is_reached(self) -> bool:
        return any(attempt.reaches(self.trial.numbers) for attempt in self.attempts)

    def nearest(self) -> list[Attempt]:
        """Of equally near ones those with fewer changes first; those with the same settings once."""
        order = sorted(self.attempts, key=lambda a: (self.trial.distance(a), a.effort))
        return list({str(attempt.signature): attempt for attempt in reversed(order)}.values())[::-1]

    def try_all(self, candidates: Iterable[tuple[Way, Sequence[Change]]]) -> list[Attempt]:
        found = []
        for way, more in candidates:
            attempt = self.trial.attempt(way, more)
            self.advance(1)
            if attempt is not None:
                found.append(attempt)
        self.attempts += found
        return found

    def single_changes(self, way: Way) -> list[Change]:
        """Those that change a score, by what they change most; the others are kept by name."""
        base = self.trial.attempt(way)
        if base is None:
            return []
        effects: dict[Change, float] = {}
        for change in conventions(way, self.trial.numbers):
            attempt = self.trial.attempt(way, (change,))
            self.advance(1)
            if attempt is None:
                continue
            effect = self.effect(base, attempt)
            if effect > 0:
                effects[change] = effect
                self.attempts.append(attempt)
            else:
                self.inert[f"{change[0]} {spell_value(way.verb, *change)}"] = None
        return sorted(effects, key=lambda change: -effects[change])

    def effect(self, base: Attempt, attempt: Attempt) -> float:
        """How much the numbers change that are asked for; a score that only one of them has changes, too."""
        names = [number.key for number in self.trial.numbers if number.score] or ["AP", "AP50", "AP75"]
        pairs = [(base.value(name), attempt.value(name)) for name in names]
        changes = [abs(one - two) if isnan(one) == isnan(two) else 1.0 for one, two in pairs]
        return max((change for change in changes if not isnan(change)), default=0.0)

    def combine(self, changes: Sequence[Change], count: int) -> Iterator[tuple[Change, ...]]:
        """Of single changes, which were tried already, at least two."""
        if count < 2:
            return
        most = len(changes) if count == 2 else 2 * MOST_COMBINED if count == 3 else MOST_COMBINED
        for more in combinations(changes[:most], count):
            if len({name for name, _ in more}) == count:
                yield more

    def expected_distance(self, way: Way, more: Sequence[Change]) -> float:
        """As if what single changes do, and what two of them do beyond that where both were tried, added up."""
        base = self.trial.attempt(way)
        assert base is not None
        singles = {change: self.trial.attempt(way, (change,)) or base for change in more}
        pairs = [(one, two, self.trial.recall(way, (one, two))) for one, two in combinations(more, 2)]
        far = 0.0
        for number in self.trial.numbers:
            away = []
            for name in [number.key] if number.score else ["AP", "AP50", "AP75"]:
                start = base.value(name)
                gains = {change: single.value(name) - start for change, single in singles.items()}
                beyond = [p.value(name) - start - gains[one] - gains[two] for one, two, p in pairs if p is not None]
                value = start + sum(gains.values()) + sum(beyond)
                away.append(inf if isnan(value) else abs(value - number.value))
            far = max(far, min(away))
        return far
