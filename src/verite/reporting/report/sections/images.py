"""Section "Images": the images with the highest cost in AP or the most errors.

Counts are at the confidence of the best F1 and follow the slider. A row opens the image with the outlines of its
objects; which objects are stored in the report depends on its budget, and a footnote states what is only counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Piece, thin_bar
from verite.reporting.report.layout import (
    GAP,
    TALL,
    column,
    count_of,
    finding,
    is_known,
    name,
    number,
    plain,
    scroll,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument, StoredObjects

MOST_SPREAD = 0.01  # share of the errors in one image, below which they are called spread out
MOST_LISTED = 60


@dataclass(frozen=True)
class ImageCounts:
    """Outcomes of the objects of one image at the confidence of the best F1, and the cost of its errors in AP."""

    KEYS: ClassVar[Mapping[str, str | None]] = {
        "objects": "truths",
        "true_positives": "right",
        "false_positives": "wrong",
    }

    image: int
    objects: int
    true_positives: int
    false_positives: int
    missed: int
    cost: float | None

    @property
    def errors(self) -> int:
        """False positives and missed objects."""
        return self.false_positives + self.missed


@dataclass(frozen=True)
class ImagesData:
    """Images with errors, the highest cost or the most errors first."""

    images: tuple[ImageCounts, ...]


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> ImagesData:
    """Return the images with errors."""
    overlay, counts = detector.overlay, detector.overlay.by_image
    objects = np.bincount(overlay.truth.image[overlay.matches.counted_truth], minlength=len(counts["found"]))
    errors = counts["missed"] + counts["wrong"]
    has_cost = detector.analysis is not None and detector.results.protocol != "f1"
    cost = detector.analysis.worst.of_images if detector.analysis is not None and has_cost else None
    key = errors if cost is None else cost[: len(objects)]
    order = np.lexsort((-errors, -key))[:MOST_LISTED]  # an error may cost nothing
    return ImagesData(
        tuple(
            ImageCounts(
                image=int(i),
                objects=int(objects[i]),
                true_positives=int(counts["found"][i]),
                false_positives=int(counts["wrong"][i]),
                missed=int(counts["missed"][i]),
                cost=None if cost is None else float(cost[i]),
            )
            for i in order
            if key[i] > 0 or errors[i] > 0
        )
    )


def render(document: ReportDocument, images: ReportImages, i: int, data: ImagesData) -> Markup:
    """Render the table of images with a search box; the script updates the counts and opens an image."""
    one, rows, total = document.detectors[i], data.images, document.truth.images
    if not rows:
        return finding("No image has an error.")
    has_cost = is_known(rows[0].cost)
    words = ["GT", "TP", "FP", "missed (FN)", *(["cost in AP"] if has_cost else [])]
    heads = [column("image", "l"), column("TP, FP, FN", "l nosort")]
    heads += [column(word, **({"aria_sort": "descending"} if word == "cost in AP" else {})) for word in words]
    most = max(row.objects + row.false_positives for row in rows)
    body = [image_row(document, images, i, k, row, most, has_cost) for k, row in enumerate(rows)]
    at = "All predictions" if one.steps.is_constant else f"At confidence ≥ {number(one.best.confidence, 2)}"
    threshold = element("span", at, data_floor=i)
    caption = join_elements(f"{'Highest cost' if has_cost else 'Most errors'} first. ", threshold, ".")
    drawn = table(caption, heads, body, class_="images", id=f"images-{i}")
    # Typing filters the rows by name; Enter opens the first image of that name, listed or not.
    box = element("input", type="search", class_="find filter", data_system=i, data_rows=f"#images-{i} tbody tr")
    others = "can be found by name" if len(document.images.names) == total else "are counted"
    others = "have no error" if len(rows) < MOST_LISTED else others
    more = f" The other {count_of(total - len(rows), 'image')} {others}." if total > len(rows) else ""
    result: list[str] = ["The image with the most errors is ", name(document.images.names[str(rows[0].image)]), "."]
    if len(rows) > 5 and any(row.errors for row in rows):
        share = sum(row.errors for row in rows[:5]) / (one.best.false_positives + one.best.missed)
        result = [f"Five of {total:,} images have {100 * share:.0f}{GAP}% of the errors."]
        if share < 5 * MOST_SPREAD:
            result = [f"The errors are spread out: {100 * share:.1f}{GAP}% are in the five worst of {total:,} images."]
    return join_elements(
        finding(*result),
        element("p", f"The worst {len(rows)} of {total:,}.{more}", class_="sub"),
        element("p", element("label", "Find an image ", box), class_="row js", hidden=""),
        scroll(f"Table of images, {plain(one.name)}", drawn, kind="tall" if len(rows) > TALL else ""),
    )


def image_row(
    document: ReportDocument, images: ReportImages, i: int, k: int, row: ImageCounts, most: int, has_cost: bool
) -> Markup:
    """Render one image: a thumbnail, a bar of its outcomes, counts and cost.

    Parameters
    ----------
    i, k
        Positions of the detector, and of the row in its table.
    most
        Objects and false positives of the fullest image, which is the length of a whole bar.
    has_cost
        Whether there is a column for the cost in AP.
    """
    title, size, scale = document.images.names[str(row.image)], document.images.size(row.image), max(most, 1)
    bar = thin_bar(
        [
            Piece("TP", row.true_positives / scale, "c-ap"),
            Piece("FP", row.false_positives / scale, "c-loc"),
            Piece("missed (FN)", row.missed / scale, "c-miss"),
        ],
        title,
    )
    thumbnail, link = Markup(), images.link(row.image)
    if size and (link is not None or images.embed_image(row.image, size)):
        about = {"width": f"{size[0]:g}", "height": f"{size[1]:g}"}
        inner = element("use", href=f"#photo-{row.image}") if link is None else element("image", href=link, **about)
        box = f"0 0 {size[0]:g} {size[1]:g}"
        thumbnail = element("svg", inner, viewBox=box, class_="thumb", aria_hidden="true")
    cells = [th(thumbnail, name(title, "nm img")), td(bar, kind="wide"), td(whole(row.objects), kind="q")]
    cells += [td(whole(count), kind="n") for count in (row.true_positives, row.false_positives, row.missed)]
    cells += [td(number(row.cost, 4))] if has_cost else []
    return element("tr", *cells, data_open=f"{i} {row.image}", data_row=k, data_truths=row.objects)


def footnote(document: ReportDocument, i: int, stored: StoredObjects) -> Markup:
    """Return which objects are counted but not stored in the report."""
    mine, parts, total = stored.predictions[i], [], document.truth.images
    if not document.data_of("images", i).images:
        return Markup()
    if mine.left_out:
        many = count_of(mine.left_out, "prediction")
        below = f"with confidence ≤ {number(mine.left_out_below, 3)} are counted, but cannot be opened"
        parts.append(f"{many} {below}: create the report with a larger --budget.")
    neither = document.detectors[i].predictions - mine.kept - mine.left_out
    if neither > 0 and stored.opened is None:
        parts.append(
            f"{count_of(neither, 'prediction')} of the file count neither way (they match ignored ground truth or "
            "exceed the limit per image) and cannot be opened."
        )
    if stored.outlined is not None:
        where, many = count_of(stored.outlined, "image"), document.words.many
        parts.append(f"In {where} {many} have outlines when opened; other images show rectangles.")
    if stored.opened is not None:
        parts.append(
            f"Of {total:,} images the {stored.opened:,} listed in this report can be opened; the objects of the others "
            "are counted, but not listed."
        )
    return element("p", " ".join(parts), class_="note") if parts else Markup()


SECTION = DetectorSection(
    id="images",
    title="Images",
    place=110,
    wanted=lambda document: bool(document.truth.images),
    build=build,
    render=render,
    images_of=lambda data: (row.image for row in data.images),
    footnote=footnote,
)
