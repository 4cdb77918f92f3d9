"""What do all parts of an analysis have? Tables, plain values, a signature, and how to be printed and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import verite
from verite.analysis.matches import REASONS
from verite.model.display import Display
from verite.model.results import to_json
from verite.signature import Signature

if TYPE_CHECKING:
    from verite.analysis.matches import Matches
    from verite.model.display import Part as Content
    from verite.model.tables import Table

REVISION = "1"


class AnalysisPart(Display):
    """One part of an analysis: its `name` is its key in the JSON and the name of its plot."""

    name: str
    picture: str = ""  # the kind of its plot, where that has another name
    matches: Matches

    def table(self) -> Table:
        """The table that stands for the part."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; the keys are documented and stay."""
        raise NotImplementedError

    def main_table(self) -> Table:
        return self.table()

    def tables(self) -> dict[str, Table]:
        """All tables, by the names of the files they are kept in."""
        return {self.name: self.table()}

    def contents(self) -> list[Content]:
        return [self.table(), tell_set_aside(self.matches), self.signature]

    @property
    def signature(self) -> Signature:
        return sign(self.name, self.matches)

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (pandas must be installed)."""
        return self.table().to_frame()

    def plot(self, ax: Any = None) -> Any:
        """A picture on matplotlib's axes, which are returned."""
        return verite.plot(self, self.picture or self.name, ax)


def sign(name: str, matches: Matches, *, at_single: bool = True, **more: object) -> Signature:
    """What a part is made of: the protocol's own settings, and what the part adds; `at_single`, of one threshold."""
    of = next(iter(matches.results.scores.values())).signature
    own = Signature.of(name, **more).settings
    changed = {key: value for key, value in of.settings if key != "rev"}
    if at_single:
        changed["iou"] = dict(Signature.of("", iou=matches.iou).settings)["iou"]
    return Signature(name, (("of", of.name), *changed.items(), *own, ("rev", REVISION)))


def tell_set_aside(matches: Matches) -> str:
    """How many predictions no part looks at, and why."""
    found = matches.set_aside
    if not found:
        return "no prediction is set aside"
    reasons = "; ".join(f"{count:,} {REASONS[key]}" for key, count in found.items())
    total = sum(found.values())
    return f"{total:,} prediction{'s are' if total > 1 else ' is'} set aside: {reasons}"
