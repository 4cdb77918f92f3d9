"""One page of several systems on one truth: made, written, read back, and held against the files again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import verite
from verite.analysis.analyse import Analyses, Analysis
from verite.errors import BadParameter, DataError, ReadError
from verite.files import find_path, read_text, without_suffix, write_atomically
from verite.formats import Readable, read
from verite.formats.memory import are_systems
from verite.model.annotations import Annotations
from verite.model.comparison import Comparison, distinct_names
from verite.model.elements import Markup
from verite.model.results import Results, to_json
from verite.protocols import HOMES, protocol_named
from verite.records import record
from verite.reporting.page import (
    board,
    calibration,
    classes,
    confusion,
    costs,
    how,
    images,
    operating,
    sides,
    slices,
    suspicious,
)
from verite.reporting.page.crops import Photos
from verite.reporting.page.document import REVISION, System
from verite.reporting.page.frame import Section, attach, document, embed_json
from verite.reporting.page.head import head
from verite.reporting.page.packed import Packer
from verite.reporting.page.settings import ANALYSIS, PageSettings
from verite.reporting.page.summary import build, tell_board

SPARE = 90_000  # bytes: script, style, head, and what is told of the objects
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
    """Write one self-contained page: the verdict, the numbers, the errors that matter, and how it was computed.

    `preds` are predictions, or several by name. Photos are looked for in `images`, else beside the truth; `pictures`
    says whether the page links to them (auto, link), holds small pieces of them (embed) or shows outlines alone (none).
    Of several systems the page says how sure their order is: `draws` sets of other images, and of truths with `errors`
    such as "missing=0.05,spurious=0.02" or as a table of checked records says (`audit`, which the page itself can
    give). `budget` and `picture_budget` are the most bytes of the page without pictures and of the pictures, `title` is
    what it is called. Other settings are those of the protocol and of `vt.analyse`. The same input gives the same
    bytes.

    >>> vt.report("truth.json", {"a": "a.json", "b": "b.json"}, "report.html", images="photos/")   # doctest: +SKIP
    """
    if protocol not in HOMES:
        raise BadParameter(f"protocol: expected one of {', '.join(HOMES)}, found {protocol!r}")
    own = PageSettings(**{key: settings.pop(key) for key in PageSettings.names() if key in settings})
    asked = {key: settings.pop(key) for key in ANALYSIS if key in settings}
    known = truth if isinstance(truth, Annotations) else read(truth)
    results = [
        protocol_named(protocol)(known, pred, **{"name": name, **settings} if name else settings)
        for name, pred in name_preds(preds)
    ]
    changed = settings | asked | ({} if audit is None else {"audit": audit})
    page = make_page(analyse_all(results, asked), Path(output), own, images=images, changed=changed)
    write_atomically(output, page)
    return Path(output)


def save_page(
    analyses: Analysis | Analyses,
    output: str | PathLike[str],
    *,
    images: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    **settings: Any,
) -> Path:
    """The same page of what is analysed already: ``analysis.save_page("report.html")``.

    >>> vt.analyse("truth.json", "pred.json").save_page("report.html", pictures="embed")      # doctest: +SKIP
    """
    unknown = set(settings) - set(PageSettings.names())
    if unknown:
        listed = ", ".join(PageSettings.names())
        raise BadParameter(f"save_page: expected settings out of {listed}, found {unknown.pop()!r}")
    systems = {analyses.name: analyses} if isinstance(analyses, Analysis) else analyses.systems
    made = [System(name, one.results, one if len(one.results.truth) else None) for name, one in systems.items()]
    first = next(iter(systems.values()))
    changed = changed_settings(first) | ({} if audit is None else {"audit": audit})
    page = make_page(made, Path(output), PageSettings(**settings), images=images, changed=changed)
    write_atomically(output, page)
    return Path(output)


def changed_settings(analysis: Analysis) -> dict[str, Any]:
    """What differs from the defaults, of the protocol and of the analysis."""
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


def name_preds(preds: Any) -> list[tuple[str | None, Any]]:
    """Systems with their names; a single one is called after its file."""
    if are_systems(preds):
        if not preds:
            raise BadParameter("report: expected at least one system, found none")
        return [(str(name), pred) for name, pred in preds.items()]
    if isinstance(preds, (list, tuple)) and preds and all(isinstance(one, (str, PathLike)) for one in preds):
        names = distinct_names([without_suffix(one).name for one in preds])
        return list(zip(names, preds, strict=True))
    return [(None, preds)]


def analyse_all(results: Sequence[Results], asked: Mapping[str, Any]) -> list[System]:
    """Each system with why its number is what it is."""
    named = zip(distinct_names([one.name for one in results]), results, strict=True)
    return [System(name, one, analyse(one, asked)) for name, one in named]


def make_page(
    systems: list[System],
    output: Path | None,
    own: PageSettings,
    *,
    images: Any = None,
    changed: Mapping[str, Any] | None = None,
) -> str:
    """The page as text."""
    Comparison([one.results for one in systems])  # what does not compare is said
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
    """Why the number is what it is; nothing where nothing is to be found, or the protocol keeps no matches."""
    if not len(results.truth):
        return None
    try:
        return verite.analyse(results, **asked)
    except BadParameter:
        if asked:
            raise
        return None


@record()
class Chapter:
    """How a section is made, and what the list calls it."""

    id: str
    title: str
    make: Callable[[dict[str, Any], Photos], Markup | None]
    is_of_one: bool = False  # of the system that is chosen

    def draw(self, doc: dict[str, Any], photos: Photos) -> Section | None:
        """Nothing where it has nothing to say."""
        content = self.make(doc, photos)
        return None if content is None else Section(self.id, self.title, content, self.is_of_one)


SECTIONS = (
    Chapter("missing", "What is missing to 1", lambda doc, _: costs.show_missing(doc)),
    Chapter("sides", "Side by side", lambda doc, _: sides.sides(doc)),
    Chapter("order", "How sure is the order?", board.show_board),
    Chapter("look", "Look at these first", costs.look, True),
    Chapter("classes", "Classes", lambda doc, _: classes.classes(doc), True),
    Chapter("operating", "Operating point", lambda doc, _: operating.show_operating(doc), True),
    Chapter("confusion", "Confusion", lambda doc, _: confusion.show_confusion(doc), True),
    Chapter("calibration", "Calibration", lambda doc, _: calibration.show_calibration(doc), True),
    Chapter("slices", "Slices", lambda doc, _: slices.show_slices(doc), True),
    Chapter("suspicious", "Suspicious truths", suspicious.show_suspicious),
    Chapter("images", "Images", images.images, True),
    Chapter("how", "How this was computed", lambda doc, _: how.how(doc)),
)
LAST = SECTIONS[-2:]  # they tell what of the objects fits and which pictures could not be read


def pack_all(doc: dict[str, Any], systems: list[System], budget: int) -> list[Markup]:
    """Objects as bytes, as far as the budget goes."""
    tables = [[row["image"] for row in told["images"]] for told in doc["systems"]]
    shown = [int(image) for image in doc["images"]["sizes"]]
    packer = Packer([one.tally for one in systems], shown)
    data, layout = packer.pack_truth(systems[0].tally)
    doc["packed"] = {"scale": packer.scale, "layout": layout}
    if not packer.is_open.all():
        doc["packed"]["opened"] = int(packer.is_open.sum())
    if packer.outlined and len(packer.outlined) < packer.is_open.sum():
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
    """The document of a page: every number that it shows.

    >>> vt.read_report("report.html")["systems"][0]["scores"]["AP"]      # doctest: +SKIP
    """
    import json

    place = find_path(path)
    found = DATA.search(read_text(place))
    if not found:
        raise ReadError(place, expected="a page made by verite report", found="no data of one")
    try:
        document = json.loads(found[1])
    except ValueError as error:
        raise ReadError(place, expected="a page made by verite report", found=f"damaged data: {error}") from None
    if not isinstance(document, dict) or document.get("report") != REVISION:
        raise ReadError(place, expected=f"a page of revision {REVISION}", found="another one; make it again")
    return document


def page_settings(path: str | PathLike[str]) -> PageSettings:
    """With which settings of its own a page was made."""
    settings = read_report(path).get("settings", {}).get("page", {})
    return PageSettings(**{key: settings[key] for key in PageSettings.names() if key in settings})


def check_report(path: str | PathLike[str], page: str) -> None:
    """Is a page the one that its files give? Where it is not, the first thing that differs."""
    old, new = read_report(path), DATA.search(page)
    assert new is not None
    import json

    difference = differ(old, json.loads(new[1]))
    if difference is not None:
        raise DataError(f"{path}: {difference}; the files or verite have changed, or the page has")
    if read_text(Path(path)) != page:
        raise DataError(f"{path}: its data are equal, what it shows is not; somebody changed the page")


def differ(old: Any, new: Any, where: str = "") -> str | None:
    """The first value that differs, and where it is."""
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
