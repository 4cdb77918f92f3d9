"""What does one detector see that the other does not, and how sure is the difference?"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import ceil, isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

import verite
from verite.analysis.errors import TYPES
from verite.analysis.influence import count_to_turn
from verite.analysis.matches import UNLIMITED
from verite.analysis.parts import interval, sign, tell_set_aside
from verite.evaluation.evaluation import EVERY_AREA, Evaluation
from verite.evaluation.settings import ClassThresholds
from verite.model.results import to_json
from verite.model.tables import Display, Table
from verite.statistics.mcnemar import mcnemar_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import Bools, Floats, Ints
    from verite.model.tables import Part
    from verite.signature import Signature

FATES = ("right", *TYPES)
RIGHT, MISSED = 0, len(TYPES)
FLIPS = 10_000  # of signs
BLOCK = 500
SHOWN = 5


class SystemPair(Display):
    """Two systems on the same truth: labels, objects, errors. Differences are those of the second less the first."""

    name = "comparison"

    def __init__(self, one: Analysis, two: Analysis, names: tuple[str, str]) -> None:
        self.one, self.two, self.names = one, two, names
        self.matches, self.drawn, self.seed = one.matches, one.drawn, one.settings.seed

    @cached_property
    def found(self) -> tuple[Bools, Bools]:
        """Of each truth, whether each system finds it from its own confidence on."""
        return find_objects(self.one), find_objects(self.two)

    @cached_property
    def objects(self) -> dict[str, int]:
        one, two, asked = *self.found, self.matches.is_asked
        return {
            "both": int((one & two).sum()),
            "only_first": int((one & ~two).sum()),
            "only_second": int((two & ~one).sum()),
            "neither": int((asked & ~one & ~two).sum()),
        }

    @property
    def p_objects(self) -> float:
        """McNemar's exact test, as if objects were independent."""
        return mcnemar_exact(self.objects["only_first"], self.objects["only_second"])

    @cached_property
    def p_images(self) -> float:
        """The same with images, or groups of them, as units: signs of what each adds are flipped at random."""
        one, two = self.found
        unit: Ints = self.matches.truth.image.astype(np.int64)
        if self.drawn is not None and self.drawn.groups is not None:
            unit = np.unique(self.drawn.groups, return_inverse=True)[1][unit]
        count = int(unit.max(initial=-1)) + 1
        lead = np.bincount(unit[one & ~two], minlength=count) - np.bincount(unit[two & ~one], minlength=count)
        lead = lead[lead != 0].astype(np.float64)
        if not len(lead):
            return 1.0
        random = np.random.Generator(np.random.PCG64(self.seed))
        own, more = abs(lead.sum()), 0
        for _ in range(FLIPS // BLOCK):
            signs = random.integers(0, 2, (BLOCK, len(lead))) * 2.0 - 1
            more += int((np.abs(signs @ lead) >= own - 1e-9).sum())
        return (more + 1) / (FLIPS + 1)

    @cached_property
    def decisive(self) -> dict[str, int | None]:
        """How many wrong records, in the worst places, make both find equally many, reverse who finds more, and turn
        the order by AP.
        """
        lead = abs(self.objects["only_first"] - self.objects["only_second"])
        turned = count_to_turn((self.one.matches, self.two.matches), (self.one.influence, self.two.influence))
        return {"errors_to_tie": ceil(lead / 2), "errors_to_reverse": lead // 2 + 1, "errors_to_turn_AP": turned}

    @cached_property
    def swing(self) -> Floats:
        """Of each record of the truth: by how much AP of the second less the first changes if it is wrong."""
        return self.two.influence - self.one.influence

    @cached_property
    def doubt(self) -> Floats:
        """Of each record of the truth the larger probability that it is wrong."""
        return np.maximum(*(system.suspicious.suspicion_of_truths() for system in (self.one, self.two)))

    @cached_property
    def lead_interval(self) -> tuple[float, float]:
        """Of AP of the second less the first, on the same drawn images; not a number where nothing is drawn."""
        if self.drawn is None:
            return nan, nan
        score = next(iter(self.one.results.scores))
        one, two = (system.results.draw_scores([score], self.drawn.weights)[:, 0] for system in (self.one, self.two))
        return interval(two - one)

    @cached_property
    def difference(self) -> dict[str, float]:
        """By how much each type costs the second more; they add up to AP of the first less AP of the second."""
        one, two = self.one.errors.cost, self.two.errors.cost
        return {key: two[key] - one[key] for key in one}

    @cached_property
    def migration(self) -> Ints:
        """[fate under the first, under the second]: how many truths."""
        asked = self.matches.is_asked
        one, two = (find_fates(system)[asked] for system in (self.one, self.two))
        counts = np.zeros((len(FATES), len(FATES)), dtype=np.int64)
        np.add.at(counts, (one, two), 1)
        return counts

    @cached_property
    def only_wrong(self) -> tuple[int, int]:
        """Wrong predictions of each that no prediction of the other, of its label, overlaps enough."""
        return count_lonely(self.one, self.two), count_lonely(self.two, self.one)

    @cached_property
    def labels(self) -> list[dict[str, Any]]:
        """AP of each label and its difference, with an interval over the choice of images where draws are asked for."""
        one, two = self.one.errors.label_ap, self.two.errors.label_ap
        present = [self.matches.names[k] for k in self.matches.present]
        drawn = self.draw_labels(present) if self.drawn is not None and present else None
        found = []
        for i, name in enumerate(present):
            low, high = (nan, nan) if drawn is None else interval(drawn[:, i])
            found.append({"label": name, "first": one[name], "second": two[name], "difference": two[name] - one[name],
                          "low": low, "high": high})  # fmt: skip
        return found

    def draw_labels(self, names: Sequence[str]) -> Floats:
        """[draw, label]: differences on the same drawn images."""
        assert self.drawn is not None
        weights = self.drawn.weights
        score = next(iter(self.one.results.scores))
        one, two = (system.results.draw_class_scores(score, weights, names) for system in (self.one, self.two))
        return np.asarray(two - one)

    def flips(self) -> Table:
        """Objects that one system finds and the other does not, those to be looked at first on top: by the probability
        that the record is wrong times what that would change.
        """
        one, two = self.found
        rows = np.flatnonzero(one ^ two)
        known = np.where(np.isnan(self.swing), 1.0, np.abs(self.swing))[rows]
        rows = rows[np.lexsort((-self.doubt[rows], -self.doubt[rows] * known))]
        truth, names = self.matches.truth, self.matches.names
        boxes = truth.regions.boxes[rows]
        columns: dict[str, list[Any]] = {
            "label": [names[k] for k in self.matches.truth_label[rows]],
            "found by": [self.names[0] if one[row] else self.names[1] for row in rows],
            **{side: boxes[:, k].tolist() for k, side in enumerate(("x1", "y1", "x2", "y2"))},
        }
        for name, system in zip(self.names, (self.one, self.two), strict=True):
            columns[f"confidence of {name}"] = self.confidences(system, rows)
        columns |= {"P(record wrong)": self.doubt[rows].tolist(), "swing of AP": self.swing[rows].tolist()}
        columns["row"] = rows.tolist()
        return Table.of("image", [self.matches.image_name(int(i)) for i in truth.image[rows]], columns)

    @staticmethod
    def confidences(system: Analysis, rows: Ints) -> list[float]:
        """Of the predictions that took these truths, at any confidence; NaN for none."""
        pred = system.matches.outcomes.pred[rows]
        found = np.append(system.matches.confidence, nan)[pred]  # the last one where nobody took it
        return [float(value) for value in found]

    def sentences(self) -> list[str]:
        counts, (first, second) = self.objects, self.names
        lead = self.two.errors.base - self.one.errors.base
        least = self.decisive
        turned = least["errors_to_turn_AP"]
        by_ap = "" if turned is None else f", {turned:,} turn the order by AP"
        low, high = self.lead_interval
        between = "" if isnan(low) else f" [{low:+.4f}, {high:+.4f}]"
        return [
            f"{second} − {first}: AP {lead:+.4f}{between}; objects found by both {counts['both']:,}, only by {first} "
            f"{counts['only_first']:,}, only by {second} {counts['only_second']:,}, by neither {counts['neither']:,}: "
            f"p {self.p_objects:.2g} if objects were independent, {self.p_images:.2g} with images as units",
            f"{least['errors_to_tie']:,} wrong records in the worst places make both find equally many, "
            f"{least['errors_to_reverse']:,} reverse it{by_ap}; wrong predictions of its own: {first} "
            f"{self.only_wrong[0]:,}, {second} {self.only_wrong[1]:,}",
        ]

    def cost_table(self) -> Table:
        one, two = self.one.errors.cost, self.two.errors.cost
        columns = {self.names[0]: list(one.values()), self.names[1]: list(two.values())}
        columns["difference"] = list(self.difference.values())
        return Table.of("cost", TYPES, columns, mean={key: sum(values) for key, values in columns.items()})

    def label_table(self, most: int | None = None) -> Table:
        """Labels by how much they differ."""
        rows = sorted(self.labels, key=lambda one: -abs(one["difference"]))[:most]
        keys = {
            self.names[0]: "first",
            self.names[1]: "second",
            "difference": "difference",
            "from": "low",
            "to": "high",
        }
        if self.drawn is None:
            keys = {head: key for head, key in keys.items() if key not in ("low", "high")}
        return Table.of("class", [one["label"] for one in rows], {h: [one[k] for one in rows] for h, k in keys.items()})

    def migration_table(self) -> Table:
        columns = {f"{name} ({self.names[1]})": self.migration[:, i].tolist() for i, name in enumerate(FATES)}
        return Table.of(f"truths under {self.names[0]}", FATES, columns)

    def main_table(self) -> Table:
        return self.cost_table()

    def contents(self) -> list[Part]:
        aside = [
            f"{name}: {tell_set_aside(one.matches)}" for name, one in zip(self.names, (self.one, self.two), strict=True)
        ]
        return [*self.sentences(), self.cost_table(), self.label_table(SHOWN), *aside, self.signature]

    @property
    def signature(self) -> Signature:
        drawn = {"draws": 0} if self.drawn is None else self.drawn.settings
        floors = {str(system.confidence) if isinstance(system.confidence, ClassThresholds) else system.confidence
                  for system in (self.one, self.two)}  # fmt: skip
        at = floors.pop() if len(floors) == 1 else "each its own"
        more: dict[str, Any] = {"seed": self.seed, **drawn}
        return sign("comparison", self.matches, at=at, flips=FLIPS, **more)

    def to_frame(self) -> Any:
        """Costs as a pandas DataFrame (pandas must be installed)."""
        return self.main_table().to_frame()

    def plot(self, ax: Any = None) -> Any:
        """A picture on matplotlib's axes, which are returned."""
        return verite.plot(self, self.name, ax)

    def tables(self) -> dict[str, Table]:
        return {"costs": self.cost_table(), "labels": self.label_table(), "migration": self.migration_table(),
                "flips": self.flips()}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "signature": str(self.signature),
            "first": self.names[0],
            "second": self.names[1],
            "AP": {"first": self.one.errors.base, "second": self.two.errors.base,
                   "difference": self.two.errors.base - self.one.errors.base,
                   "low": self.lead_interval[0], "high": self.lead_interval[1]},
            "cost_difference": self.difference,
            "objects": self.objects,
            "p_objects": self.p_objects,
            "p_images": self.p_images,
            "flips_of_signs": FLIPS,
            "seed": self.seed,
            "draws": 0 if self.drawn is None else self.drawn.count,
            **self.decisive,
            "wrong_alone": {"first": self.only_wrong[0], "second": self.only_wrong[1]},
            "fates": list(FATES),
            "migration": self.migration.tolist(),
            "labels": self.labels,
        }  # fmt: skip

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def compare_pairs(systems: dict[str, Analysis]) -> list[SystemPair]:
    """Every two systems, the order they were given in."""
    return [SystemPair(systems[a], systems[b], (a, b)) for a, b in combinations(systems, 2)]


def join_tables(pairs: Sequence[SystemPair]) -> dict[str, Table]:
    """The tables of all pairs by the names of the files they are kept in; rows begin with the two they are about."""
    found: dict[str, Table] = {}
    for pair in pairs:
        alike = copy(pair)  # with what it has found already
        alike.names = ("first", "second")
        for name, table in alike.tables().items():
            before = found[name].rows if name in found else ()
            rows = tuple((*pair.names, *row) for row in table.all_rows)
            found[name] = Table(("first system", "second system", *table.head), (*before, *rows))
    return found


def find_objects(system: Analysis) -> Bools:
    """Truths that a prediction takes from the system's own confidence on."""
    matches, floor = system.matches, system.confidence
    least: Any = (
        matches.of_preds(floor.of_labels(matches.names), -np.inf) if isinstance(floor, ClassThresholds) else floor
    )
    kept = matches.is_right & np.asarray(matches.confidence >= least)
    found = np.zeros(len(matches.truth), dtype=np.bool_)
    found[matches.outcomes.truth[kept]] = True
    return found


def find_fates(system: Analysis) -> Ints:
    """Of each truth at any confidence: right, the type of the best prediction that is after it, or missed."""
    types = system.errors.types
    fates = np.full(len(types.is_taken), MISSED)
    mended = np.flatnonzero(types.is_mended)
    fates[types.target[mended]] = types.kind[mended] + 1
    fates[types.is_taken] = RIGHT
    return fates


def count_lonely(one: Analysis, two: Analysis) -> int:
    """Wrong predictions of the one that nothing of the other overlaps enough, both from their confidences on."""
    sides = []
    for system, chosen in ((two, two.confusion.is_kept), (one, one.confusion.is_kept & ~one.matches.is_right)):
        sides.append(system.matches.pred.where(chosen))
    if not len(sides[1]):
        return 0
    matches = one.matches
    rules = replace(
        matches.rules, thresholds=(matches.thresholds[matches.single],), ranges=(EVERY_AREA,), limits=(UNLIMITED,),
        recalls=(), image_limit=0, ignored=(), shared=(),
    )  # fmt: skip
    offsets = Evaluation(sides[0], sides[1], rules, matches.evaluation.threads).stages.candidates[0]
    return int((np.diff(offsets) == 0).sum())
