"""Records of the report's sections: what they are called, when they are wanted, how they are built and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verite.model.styles import Markup, element, join_elements

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import Ranking, ReportDocument, StoredObjects

Data = TypeVar("Data")


@dataclass(frozen=True)
class ReportInputs:
    """What the data of a section are built from."""

    detectors: tuple[EvaluatedDetector, ...]  # best first
    ranking: Ranking | None
    changed: Mapping[str, Any]  # settings of protocol and analysis that are not the defaults, and `audit`


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
        return DrawnSection(self.id, self.title, tuple(parts), self.footnote)


@dataclass(frozen=True)
class DrawnSection:
    """HTML of a section: one part, or one per detector, of which the chosen one is shown."""

    id: str
    title: str
    parts: tuple[Markup, ...]
    footnote: Callable[[ReportDocument, int, StoredObjects], Markup] | None = None  # None: not per detector

    def __len__(self) -> int:
        """Bytes, about."""
        return sum(map(len, self.parts))

    def finish(self, document: ReportDocument, stored: StoredObjects, names: Sequence[Markup]) -> Markup:
        """Return the section element; `names` are those of the detectors, for its heading."""
        chosen: Sequence[Markup] = ()
        content = join_elements(*self.parts)
        if self.footnote is not None:
            noted = [join_elements(part, self.footnote(document, i, stored)) for i, part in enumerate(self.parts)]
            content = join_elements(*(element("div", part, class_=f"d s{i}") for i, part in enumerate(noted)))
            if len(names) > 1:
                chosen = [element("span", name, class_=f"of d s{i}") for i, name in enumerate(names)]
        heading = element("h2", self.title, *chosen, id=f"{self.id}-h")
        return element("section", heading, content, id=self.id, aria_labelledby=f"{self.id}-h")
