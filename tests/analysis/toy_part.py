"""A part of an analysis in one file, for a test: the share of counted predictions above a confidence."""

from __future__ import annotations

from verite.analysis.part import AnalysisPart, PartRecord, part_signature
from verite.model.tables import Table
from verite.settings import Number, Option, Settings


class ToySettings(Settings):
    """Settings of the toy."""

    toy_level: Option[float] = Number(0.5, "Confidence above which the toy counts.", least=0, most=1)


class Toy(AnalysisPart):
    """The share of counted predictions above a confidence."""

    name = "toy"

    def __init__(self, matches, level):
        self.matches, self.level = matches, level
        confidence = matches.confidence[matches.counted_pred]
        self.share = float((confidence >= level).mean())

    @property
    def signature(self):
        return part_signature("toy", self.matches, toy_level=self.level)

    def table(self):
        return Table.of("toy", ["share"], {"value": [self.share]})

    def summary(self):
        return [f"Toy share {self.share:.3f}"]

    def to_dict(self):
        return {"signature": str(self.signature), "share": self.share}


def plot_toy(toy, axes):
    axes.barh([0], [toy.share])
    toy.set_title(axes, "toy")


PART = PartRecord(
    name="toy",
    about="Share of predictions above a confidence, for this test alone.",
    build=lambda analysis: Toy(analysis.matches, analysis.settings.toy_level),
    plot=plot_toy,
    plot_kind="toyplot",
    settings=ToySettings,
    json='"toy": {"signature", "share"}\nThe share is from 0 to 1.',
)
