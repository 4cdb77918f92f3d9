"""What a part of an error analysis is: its record, the base class of its results, and the image bootstrap they share.

A part (error types, confusion matrix, calibration …) is declared in one module by a `PartRecord` called ``PART``: name,
settings, plot and JSON keys. `vt.analyse`, the options and help of `verite analyse`, `vt.plot` and the reference page
all follow from the record, so that a new part touches one file and one line of `verite.analysis.parts.REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import IGNORE_REASONS
from verite.hooks import hook
from verite.leaderboards.bootstrap import image_groups, sampled_units
from verite.leaderboards.leaderboard import NONE
from verite.model.results import to_json
from verite.model.tables import Display
from verite.plotting import MOST_OF_NAME, shorten
from verite.signature import Signature
from verite.statistics.intervals import difference_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import AnalysisMatches, Floats
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.model.tables import Part as Content
    from verite.model.tables import Table
    from verite.settings import Settings

REVISION = "1"  # of the definitions of a part, in its signature
# Parts whose numbers changed. 2: intervals allow for objects of one image, tests have images as units. 3: the variance
# of intervals is the jackknife's, their degrees of freedom follow the effective number of images.
REVISIONS = dict.fromkeys(("operating", "confusion", "calibration", "slices"), "3")
REVISIONS |= dict.fromkeys(("suspicious", "comparison"), "2")
LEVEL = 0.95  # of confidence intervals
IMAGES = "images"  # the bootstrap resamples single images


@dataclass(frozen=True)
class PartRecord:
    """The declaration of one part of an analysis.

    Attributes
    ----------
    name
        Key in the JSON document, word of `--only`, attribute of `Analysis`.
    about
        What the part shows, as a sentence for help and reference.
    build
        Computes the part of one detector; None for a part that compares detectors.
    plot
        Draws the part on matplotlib's axes.
    json
        The keys of the part in the JSON document, in the notation of the reference.
    settings
        Class with the settings that only this part has; they become arguments and options of `analyse`.
    plot_kind
        Name of the plot and of its file, where it is not that of the part.
    rows
        Number of rows below each other in the plot, which make it taller.
    is_square
        Whether the plot has as many columns as rows.
    """

    name: str
    about: str
    build: Callable[[Analysis], AnalysisPart] | None
    plot: Callable[[Any, Axes], None]
    json: str
    settings: type[Settings] | None = None
    plot_kind: str = ""
    rows: Callable[[Any], int] = lambda part: 0
    is_square: bool = False

    @property
    def kind(self) -> str:
        """The name of the plot, as `vt.plot` takes it."""
        return self.plot_kind or self.name


class Document(Display):
    """Base of analyses, their parts and comparisons: JSON and pandas."""

    def to_dict(self) -> Any:
        """Return everything as plain values, the content of the JSON document; the keys are documented and stable."""
        raise NotImplementedError

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def to_frame(self) -> Any:
        """Return the main table as a pandas DataFrame (pandas must be installed)."""
        return self.main_table().to_frame()


class AnalysisPart(Document):
    """The result of one part of an analysis, for one detector."""

    name: str  # that of its record
    matches: AnalysisMatches

    def table(self) -> Table:
        """Return the main table."""
        raise NotImplementedError

    def main_table(self) -> Table:
        """Return the main table."""
        return self.table()

    def tables(self) -> dict[str, Table]:
        """Return all tables by the names of the CSV files that `-o` writes."""
        return {self.name: self.table()}

    def documents(self) -> dict[str, Any]:
        """Return further JSON documents by the names of the files that `-o` writes."""
        return {}

    def summary(self) -> list[Content]:
        """Return the lines and tables shown on the one screen of all parts."""
        return []

    def contents(self) -> list[Content]:
        """Return everything that is printed for the part alone, the signature last."""
        return [self.table(), describe_ignored(self.matches), self.signature]

    @property
    def signature(self) -> Signature:
        """Every setting that can change the numbers of the part."""
        return part_signature(self.name, self.matches)

    def draw(self, axes: Axes) -> None:
        """Draw the part on matplotlib's axes."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Axes:
        """Draw the part on matplotlib's axes, or on new ones; return the axes."""
        from verite.analysis.parts import part_named

        axes: Axes = hook("plot")(self, part_named(self.name).kind, ax)
        return axes

    def set_title(self, axes: Axes, text: str) -> None:
        """Title a plot: the name of the detector, shortened, and what is shown."""
        axes.set_title(f"{shorten(self.matches.results.name, MOST_OF_NAME)}: {text}")


def part_signature(name: str, matches: AnalysisMatches, *, one_threshold: bool = True, **more: object) -> Signature:
    """Return the signature of a part: settings of the protocol, and those that the part adds.

    With `one_threshold`, the IoU threshold is the main one instead of all of the protocol's.
    """
    of = next(iter(matches.results.scores.values())).signature
    own = Signature.of(name, **more).settings
    changed = {key: value for key, value in of.settings if key != "rev"}
    if one_threshold:
        changed["iou"] = dict(Signature.of("", iou=matches.iou).settings)["iou"]
    return Signature(name, (("of", of.name), *changed.items(), *own, ("rev", REVISIONS.get(name, REVISION))))


def describe_ignored(matches: AnalysisMatches) -> str:
    """Say how many predictions the protocol ignores, which are in no part, and why."""
    found = matches.ignored_counts
    if not found:
        return "no prediction is ignored"
    reasons = "; ".join(f"{count:,} {IGNORE_REASONS[key]}" for key, count in found.items())
    total = sum(found.values())
    return f"{total:,} prediction{'s are' if total > 1 else ' is'} ignored: {reasons}"


def find_groups(truth: Annotations, by: Any) -> NDArray[Any] | None:
    """Return the group of each image, by a column or as given; None where units are single images.

    Raises
    ------
    BadParameter
        There are fewer than five groups.
    """
    if isinstance(by, str) and by in (IMAGES, NONE):
        return None
    groups = image_groups(truth, by, "resample")
    sampled_units(truth.images, groups)  # refuses too few
    return groups


class ImageBootstrap:
    """Bootstrap resamples of images, or of groups of images, the same for every detector and part.

    Parameters
    ----------
    truth
        The ground truth, whose images are resampled.
    draws
        Number of resamples.
    seed
        Seed of the random numbers.
    by
        "images", a column that groups images, or a group for each image.
    """

    def __init__(self, truth: Annotations, draws: int, seed: int = 0, by: Any = IMAGES) -> None:
        self.truth, self.count, self.seed, self.by = truth, draws, seed, by

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """The group of each image; None where single images are resampled."""
        return find_groups(self.truth, self.by)

    @property
    def unit(self) -> str:
        """What is resampled, in words."""
        if isinstance(self.by, str):
            return IMAGES if self.by == IMAGES else f"groups of images ({self.by})"
        return "groups of images"

    @cached_property
    def weights(self) -> Floats:
        """How often each image is in each resample, [resample, image]."""
        return sampled_units(self.truth.images, self.groups).bootstrap(self.count, self.seed)

    def sum(self, per_image: NDArray[Any]) -> Floats:
        """Sum values of images in each resample, [resample, …] from [image, …]; images without ground truth have 0."""
        return np.asarray(self.weights @ per_image[: self.weights.shape[1]].astype(np.float64))

    def ratio(self, above: NDArray[Any], below: NDArray[Any]) -> Floats:
        """Divide two sums over images in each resample; NaN where the divisor is 0."""
        total, count = self.sum(above), self.sum(below)
        return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))

    def interval(self, value: float, resampled: Floats) -> tuple[float, float]:
        """Return the 95 % interval of a value from its resamples: percentiles; of groups of images by Student's t."""
        groups = None if self.groups is None else sampled_units(self.truth.images, self.groups).effective
        return difference_interval(value, resampled, LEVEL, groups)

    def describe(self) -> JsonObject:
        """Return number, seed and unit of the resamples, as the JSON document has them."""
        return {"draws": self.count, "seed": self.seed, "resample": self.unit}

    @property
    def settings(self) -> dict[str, object]:
        """The settings of the bootstrap, as signatures have them."""
        return {"resample": self.by if isinstance(self.by, str) else "given", "draws": self.count, "seed": self.seed}
