"""Records of the report's sections: what they are called, when they are wanted, how they are built and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verite.model.styles import Markup, element
from verite.reporting.report.layout import detector_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import Ranking, ReportDocument, StoredObjects

Data = TypeVar("Data")

MOST_PAIRS = 120  # pairs of detectors that a report compares: all of 16 detectors


@dataclass(frozen=True)
class ReportInputs:
    """What the data of a section are built from."""

    detectors: tuple[EvaluatedDetector, ...]  # best first
    ranking: Ranking | None
    changed: Mapping[str, Any]  # settings of protocol and analysis that are not the defaults, and `audit`
    score_samples: Mapping[str, NDArray[np.float64]]  # scores on bootstrap resamples, [detector, resample]; may be {}


@dataclass(frozen=True)
class Section(Generic[Data]):
    """A section that shows all detectors together.

    Attributes
    ----------
    id
        Anchor of the section in the page, and its key in `ReportDocument.sections`.
    title
        Heading, also in the list of contents.
    place
        Sections are ordered by it.
    wanted
        Whether the section is shown for a document.
    build
        Computes the data: a frozen dataclass whose fields are keys of the embedded JSON document, or None. A tuple has
        one dataclass per detector, whose fields are keys of that detector.
    render
        Draws the data, once.
    images_of
        Positions of the images that the data show; their names and sizes are added to the document.
    """

    id: str
    title: str
    place: int
    wanted: Callable[[ReportDocument], bool]
    build: Callable[[ReportInputs], Data]
    render: Callable[[ReportDocument, ReportImages, Data], Markup]
    images_of: Callable[[Data], Iterable[int]] = lambda data: ()

    def collect(self, inputs: ReportInputs) -> tuple[Any, set[int]]:
        """Return the data and the images they show."""
        data = self.build(inputs)
        return data, set(self.images_of(data))

    def draw(self, document: ReportDocument, images: ReportImages) -> DrawnSection:
        """Draw the section."""
        content = self.render(document, images, document.data_of(self.id))
        title = self.title.replace("AP", "F1") if document.protocol == "f1" else self.title
        return DrawnSection(self.id, title, (content,))


@dataclass(frozen=True)
class DetectorSection(Generic[Data]):
    """A section that shows one detector at a time, the one the reader has chosen.

    As `Section`, but `build` and `render` are called for each detector; `build` gets the detector too, `render` its
    position. `footnote` is added once it is known which objects are stored in the report.
    """

    id: str
    title: str
    place: int
    wanted: Callable[[ReportDocument], bool]
    build: Callable[[ReportInputs, EvaluatedDetector], Data]
    render: Callable[[ReportDocument, ReportImages, int, Data], Markup]
    images_of: Callable[[Data], Iterable[int]] = lambda data: ()
    footnote: Callable[[ReportDocument, int, StoredObjects], Markup] = lambda document, i, stored: Markup()

    def collect(self, inputs: ReportInputs) -> tuple[Any, set[int]]:
        """Return the data of every detector and the images they show."""
        data = tuple(self.build(inputs, one) for one in inputs.detectors)
        return data, {image for one in data for image in self.images_of(one)}

    def draw(self, document: ReportDocument, images: ReportImages) -> DrawnSection:
        """Draw the section for every detector."""
        count = len(document.detectors)
        parts = [self.render(document, images, i, document.data_of(self.id, i)) for i in range(count)]
        return DrawnSection(self.id, self.title, tuple(parts), tuple((i,) for i in range(count)), self.footnote)


@dataclass(frozen=True)
class PairSection(Generic[Data]):
    """A section that shows two detectors at a time, the ones the reader has chosen, the better one first.

    As `Section`, but `render` is called for each of `pairs_of` the document, and gets the positions of both detectors.
    """

    id: str
    title: str
    place: int
    wanted: Callable[[ReportDocument], bool]
    build: Callable[[ReportInputs], Data]
    render: Callable[[ReportDocument, ReportImages, tuple[int, int], Data], Markup]
    images_of: Callable[[Data], Iterable[int]] = lambda data: ()

    def collect(self, inputs: ReportInputs) -> tuple[Any, set[int]]:
        """Return the data and the images they show."""
        data = self.build(inputs)
        return data, set(self.images_of(data))

    def draw(self, document: ReportDocument, images: ReportImages) -> DrawnSection:
        """Draw the section for every pair."""
        data, pairs = document.data_of(self.id), pairs_of(len(document.detectors))
        return DrawnSection(
            self.id, self.title, tuple(self.render(document, images, pair, data) for pair in pairs), tuple(pairs)
        )


def pairs_of(count: int) -> list[tuple[int, int]]:
    """Return the pairs of detectors that a report compares: all, or of very many the nearest in the ranking.

    >>> pairs_of(3), len(pairs_of(12)), len(pairs_of(100)) <= MOST_PAIRS
    ([(0, 1), (0, 2), (1, 2)], 66, True)
    """
    reach = count - 1
    while reach > 1 and sum(min(reach, count - 1 - a) for a in range(count)) > MOST_PAIRS:
        reach -= 1
    return [(a, b) for a in range(count) for b in range(a + 1, min(count, a + reach + 1))][:MOST_PAIRS]


@dataclass(frozen=True)
class DrawnSection:
    """HTML of a section: one part, or one per detector or pair of detectors, of which the chosen one is shown.

    The first part is in the page; the others are packed, and the script puts one of them in its place.
    """

    id: str
    title: str
    parts: tuple[Markup, ...]
    keys: tuple[tuple[int, ...], ...] = ()  # positions of the detectors of each part; none: the part is about all
    footnote: Callable[[ReportDocument, int, StoredObjects], Markup] | None = None

    def finish(self, document: ReportDocument, stored: StoredObjects) -> Markup:
        """Return the section element; a section of one detector names it beside its title."""
        content, chosen, notes = self.parts[0], Markup(), []
        if self.keys:
            is_pair = len(self.keys[0]) > 1
            about = {"data_pair": "-".join(map(str, self.keys[0]))} if is_pair else {}
            content = element("div", content, data_part=self.id, **about)
            if not is_pair and len(document.detectors) > 1:
                chosen = element("span", detector_name(document.detectors[0].name), class_="of")
        if self.footnote is not None:
            for i in range(len(document.detectors)):
                attributes = {"hidden": ""} if i else {}
                note = self.footnote(document, i, stored)
                notes += [element("div", note, data_foot=i, **attributes)] if note else []
        # The result of a section is its heading; its title stands above it.
        is_stated = '<h2 class="finding">' in self.parts[0]
        heading = element("p" if is_stated else "h2", self.title, chosen, id=f"{self.id}-h", class_="title")
        return element("section", heading, content, *notes, id=self.id, aria_labelledby=f"{self.id}-h")
