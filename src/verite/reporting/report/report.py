"""Write the HTML report of one or several detectors, read it back, and verify it against the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import verite
from verite.analysis.analyse import Analyses, Analysis
from verite.errors import BadParameter, DataError, ReadError
from verite.files import find_path, path_of, read_text, write_atomically
from verite.formats import Readable
from verite.formats.json_documents import decode_bytes
from verite.model.comparison import Comparison, distinct_names
from verite.model.results import Results, to_json
from verite.model.styles import Markup
from verite.protocols import REGISTRY, protocol_named
from verite.reporting.report import (
    calibration,
    classes,
    comparison,
    confusion,
    costs,
    images,
    operating,
    provenance,
    ranking,
    slices,
    suspicious,
)
from verite.reporting.report.crops import Photos
from verite.reporting.report.document import ANALYSIS, REVISION, ReportSettings, System
from verite.reporting.report.header import head
from verite.reporting.report.layout import Section, attach, document, embed_json
from verite.reporting.report.packed import Packer
from verite.reporting.report.summary import build, tell_board

SPARE = 90_000  # bytes reserved for script, style, header and the layout of the objects
UNSAID = ("name", "threads")  # settings that change no number


def report(
    truth: Readable,
    preds: Readable | Mapping[str, Readable],
    output: str | PathLike[str],
    *,
    protocol: str = "coco",
    images: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    **settings: Any,
) -> Path:
    """Write a self-contained HTML report: summary, scores, error analysis, ranking, and provenance.

    The same input gives the same bytes.

    Parameters
    ----------
    truth
        Ground truth: a path or an object that `vt.read` accepts.
    preds
        Predictions of one detector, or of several by name or in a list.
    output
        The HTML file to write.
    protocol
        Evaluation protocol: coco, voc, lvis or openimages.
    images
        Folder with the images; by default folders beside the ground truth are searched.
    audit
        Table of checked annotations (audit.csv), as the report exports it.
    **settings
        Settings of the report, of the protocol and of `vt.analyse`. Those of the report: `title`; `pictures` (auto,
        link: link to the image files; embed: store crops in the report; none: outlines only); `budget` and
        `picture_budget`, the maximum bytes without images and of images; `draws`, the number of bootstrap resamples;
        `errors`, simulated annotation errors such as "missing=0.05,spurious=0.02".

    Returns
    -------
    pathlib.Path
        The path of the report.

    Raises
    ------
    BadParameter
        If a setting is unknown or out of range.
    ReadError
        If a file cannot be read.

    Examples
    --------
    >>> vt.report("truth.json", {"a": "a.json", "b": "b.json"}, "report.html", images="photos/")   # doctest: +SKIP
    """
    if not isinstance(protocol, str) or protocol not in REGISTRY:
        raise BadParameter(f"protocol: expected one of {', '.join(REGISTRY)}, found {protocol!r}")
    images = None if images is None else path_of(images, "images")
    own = ReportSettings(**{key: settings.pop(key) for key in ReportSettings.names() if key in settings})
    asked = {key: settings.pop(key) for key in ANALYSIS if key in settings}
    chosen = protocol_named(protocol)
    known, found = chosen.read(truth, preds)
    named = found if isinstance(found, dict) else {None: found}
    results = [chosen(known, pred, **{"name": name, **settings} if name else settings) for name, pred in named.items()]
    changed = settings | asked | ({} if audit is None else {"audit": audit})
    page = render_report(analyse_all(results, asked), Path(output), own, images=images, changed=changed)
    write_atomically(output, page)
    return Path(output)


def save_report(
    analyses: Analysis | Analyses,
    output: str | PathLike[str],
    *,
    images: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    **settings: Any,
) -> Path:
    """Write the HTML report of existing analyses, as ``analysis.save_report("report.html")`` does.

    Parameters
    ----------
    analyses
        Result of `vt.analyse`, of one detector or several.
    output
        The HTML file to write.
    images
        Folder with the images; by default folders beside the ground truth are searched.
    audit
        Table of checked annotations (audit.csv).
    **settings
        Settings of the report: `title`, `pictures`, `budget`, `picture_budget`, `draws`, `errors` (see `vt.report`).

    Returns
    -------
    pathlib.Path
        The path of the report.

    Raises
    ------
    BadParameter
        If a setting is unknown.

    Examples
    --------
    >>> vt.analyse("truth.json", "pred.json").save_report("report.html", pictures="embed")      # doctest: +SKIP
    """
    unknown = set(settings) - set(ReportSettings.names())
    if unknown:
        listed = ", ".join(ReportSettings.names())
        raise BadParameter(f"save_report: expected settings out of {listed}, found {unknown.pop()!r}")
    images = None if images is None else path_of(images, "images")
    systems = {analyses.name: analyses} if isinstance(analyses, Analysis) else analyses.systems
    made = [System(name, one.results, one if len(one.results.truth) else None) for name, one in systems.items()]
    first = next(iter(systems.values()))
    changed = changed_settings(first) | ({} if audit is None else {"audit": audit})
    page = render_report(made, Path(output), ReportSettings(**settings), images=images, changed=changed)
    write_atomically(output, page)
    return Path(output)


def changed_settings(analysis: Analysis) -> dict[str, Any]:
    """Return the settings of protocol and analysis that differ from the defaults."""
    found: dict[str, Any] = {}
    given: tuple[tuple[Any, Any], ...] = ((analysis.results, None), (analysis, ANALYSIS))
    for holder, chosen in given:
        asked = holder.settings
        usual = type(asked)()
        for key in chosen or asked.declared:
            value = getattr(asked, key)
            if value != getattr(usual, key) and key not in (*UNSAID, "checks"):
                found[key] = value
    return found


def analyse_all(results: Sequence[Results], asked: Mapping[str, Any]) -> list[System]:
    """Analyse the results of each detector."""
    named = zip(distinct_names([one.name for one in results]), results, strict=True)
    return [System(name, one, analyse(one, asked)) for name, one in named]


def render_report(
    systems: list[System],
    output: Path | None,
    own: ReportSettings,
    *,
    images: Any = None,
    changed: Mapping[str, Any] | None = None,
) -> str:
    """Return the report as HTML text."""
    Comparison([one.results for one in systems])  # raises NotComparable
    photos = Photos(systems[0].results.truth, images, own.pictures, output, own.picture_budget)
    systems = sorted(systems, key=lambda one: -np.nan_to_num(next(iter(one.results.scores.values())).value, nan=-1.0))
    telling = {key: value for key, value in (changed or {}).items() if key not in UNSAID}
    doc = build(systems, photos, own, telling, tell_board(systems, own, telling.get("audit")))
    drawn = {one.id: one for section in SECTIONS if (one := section.draw(doc, photos)) is not None}
    doc["pictures"]["broken"] = sorted(set(photos.broken))
    doc["images"]["links"] |= photos.links_inside
    spent = sum(len(one.content) for one in drawn.values()) + len(to_json(doc))
    blobs = pack_all(doc, systems, own.budget - spent)
    for section in LAST:
        if (again := section.draw(doc, photos)) is not None:
            drawn[section.id] = again
    data = [embed_json("verite", to_json(doc)), *blobs]
    return document(doc, head(doc), list(drawn.values()), [photos.store(), *data])


def analyse(results: Results, asked: Mapping[str, Any]) -> Any:
    """Analyse results; None without ground truth, or where the protocol keeps no matches."""
    if not len(results.truth):
        return None
    try:
        return verite.analyse(results, **asked)
    except BadParameter:
        if asked:
            raise
        return None


@dataclass(frozen=True)
class Chapter:
    """A section of the report: id, title, and the function that renders it."""

    id: str
    title: str
    make: Callable[[dict[str, Any], Photos], Markup | None]
    is_of_one: bool = False  # shows the selected detector only

    def draw(self, doc: dict[str, Any], photos: Photos) -> Section | None:
        """Render the section, or return None where it is empty."""
        content = self.make(doc, photos)
        return None if content is None else Section(self.id, self.title, content, self.is_of_one)


SECTIONS = (
    Chapter("missing", "Where AP is lost", lambda doc, _: costs.show_missing(doc)),
    Chapter("sides", "Comparison", lambda doc, _: comparison.sides(doc)),
    Chapter("order", "Is the ranking reliable?", ranking.show_board),
    Chapter("look", "Errors with the highest cost", costs.look, True),
    Chapter("classes", "Classes", lambda doc, _: classes.classes(doc), True),
    Chapter("operating", "Operating point", lambda doc, _: operating.show_operating(doc), True),
    Chapter("confusion", "Confusion matrix", lambda doc, _: confusion.show_confusion(doc), True),
    Chapter("calibration", "Calibration", lambda doc, _: calibration.show_calibration(doc), True),
    Chapter("slices", "Slices", lambda doc, _: slices.show_slices(doc), True),
    Chapter("suspicious", "Suspicious annotations", suspicious.show_suspicious),
    Chapter("images", "Images", images.images, True),
    Chapter("how", "How this was computed", lambda doc, _: provenance.how(doc)),
)
LAST = SECTIONS[-2:]  # rendered again: they report how many objects were stored and which images could not be read


def pack_all(doc: dict[str, Any], systems: list[System], budget: int) -> list[Markup]:
    """Return the objects as compressed bytes, within the budget."""
    tables = [[row["image"] for row in told["images"]] for told in doc["systems"]]
    shown = [int(image) for image in doc["images"]["sizes"]]
    packer = Packer([one.tally for one in systems], shown)
    data, layout = packer.pack_truth(systems[0].tally)
    doc["packed"] = {"scale": packer.scale, "layout": layout}
    if not packer.can_be_opened.all():
        doc["packed"]["opened"] = int(packer.can_be_opened.sum())
    if packer.outlined and len(packer.outlined) < packer.can_be_opened.sum():
        doc["packed"]["outlined"] = len(packer.outlined)
    blobs = [attach("objects", data)]
    share = max(0, (budget - SPARE - len(blobs[0])) // len(systems))
    for i, (told, system, rows) in enumerate(zip(doc["systems"], systems, tables, strict=True)):
        data, told["packed"] = packer.pack_system(system.tally, share, rows)
        blobs.append(attach(f"objects-{i}", data))
    return blobs


# Reading back

DATA = re.compile(r'<script type="application/json" id="verite">(.*?)</script>', re.DOTALL)


def read_report(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the data of a report: every number it shows.

    Parameters
    ----------
    path
        A report written by `vt.report`.

    Returns
    -------
    dict
        The JSON document of the report.

    Raises
    ------
    ReadError
        If the file is not a report, or has another revision.

    Examples
    --------
    >>> vt.read_report("report.html")["systems"][0]["scores"]["AP"]      # doctest: +SKIP
    """
    place = find_path(path)
    found = DATA.search(read_text(place))
    if not found:
        raise ReadError(place, expected="a report written by verite report", found="no report data")
    document = decode_bytes(place, found[1].encode())
    if not isinstance(document, dict) or document.get("report") != REVISION:
        raise ReadError(place, expected=f"a report of revision {REVISION}", found="another; create the report again")
    return document


def report_settings(path: str | PathLike[str]) -> ReportSettings:
    """Return the settings a report was written with."""
    document = read_report(path)
    settings = document.get("settings", {})
    settings = settings.get("page", {}) if isinstance(settings, dict) else None
    if not isinstance(settings, dict):
        raise ReadError(path, expected="a report written by verite report", found="settings that are not an object")
    try:
        return ReportSettings(**{key: settings[key] for key in ReportSettings.names() if key in settings})
    except (TypeError, AttributeError, ValueError) as error:
        raise ReadError(
            path, expected="a report written by verite report", found=f"invalid settings ({error})"
        ) from None


def check_report(path: str | PathLike[str], page: str) -> None:
    """Verify that a report equals the one made from the files; raise DataError with the first difference."""
    old, new = read_report(path), DATA.search(page)
    assert new is not None
    difference = differ(old, decode_bytes(Path(path), new[1].encode()))
    if difference is not None:
        raise DataError(f"{path}: {difference}; the files, verite or the report have changed")
    if read_text(Path(path)) != page:
        raise DataError(f"{path}: the data are equal, but the HTML differs; the report was edited")


def differ(old: Any, new: Any, where: str = "") -> str | None:
    """Return the path and both values of the first difference, or None."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(key for key in old if key not in new)]:
            place = f"{where}.{key}".lstrip(".")
            if (key in old) != (key in new):
                return f"{place}: expected {'none' if key in old else 'one'}, found {'one' if key in old else 'none'}"
            found = differ(old[key], new[key], place)
            if found is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{where}: expected {len(new)} values, found {len(old)}"
        return next(
            (found for k, (a, b) in enumerate(zip(old, new, strict=True)) if (found := differ(a, b, f"{where}[{k}]"))),
            None,
        )
    return None if old == new else f"{where}: expected {new!r}, found {old!r}"
