"""Section "Contact sheet": crops of all objects, filtered by error type, class, size, confidence and detector.

The script fills it from the packed objects when it comes into view; the filters are in the address of the report.
Without the script the section is not shown: the numbers are those of the other sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.layout import count_of, finding
from verite.reporting.report.section import Section

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import ReportDocument

ABOUT = (
    "Ground-truth objects and false positives. Choose any combination; counts follow, and the address of the report "
    "holds the choice. Arrow keys move from crop to crop, Enter opens the image."
)


def render(document: ReportDocument, images: ReportImages, data: None) -> Markup:
    """Render the places that the script fills."""
    box = element(
        "div",
        element("div", class_="all-chips"),
        element("p", class_="note said"),
        element("ol", class_="tiles"),
        element("p", element("button", "Show more", type="button", class_="btn more", hidden=""), class_="row"),
        id="sheet",
        class_="js",
        hidden="",
    )
    objects = count_of(document.truth.objects, "object")
    return join_elements(
        finding(f"{objects} and every false positive, by type, class, size and confidence."),
        element("p", ABOUT, class_="sub js", hidden=""),
        element("noscript", element("p", "The contact sheet needs JavaScript.", class_="sub")),
        box,
    )


SECTION = Section(
    id="objects-sheet",
    title="Contact sheet",
    place=45,
    wanted=lambda document: bool(document.truth.objects) and any(one.predictions for one in document.detectors),
    build=lambda inputs: None,
    render=render,
)
