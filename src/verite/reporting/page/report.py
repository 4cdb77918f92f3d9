"""One page of several systems on one truth: made, written, read back, and held against the files again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import verite
from verite.errors import BadParameter, DataError, ReadError
from verite.files import find_path, read_text, write_atomically
from verite.formats import Readable, read
from verite.model.annotations import Annotations
from verite.model.comparison import Comparison, distinct_names
from verite.model.elements import Markup
from verite.model.results import Results, to_json
from verite.protocols import HOMES, protocol_named
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
from verite.reporting.page.packed import MOST_IMAGES as MOST_OPENED
from verite.reporting.page.packed import pack_system, pack_truth, scale_of
from verite.reporting.page.summary import build, tell_board

MEGABYTE = 1_000_000
BUDGET, PICTURE_BUDGET = 4 * MEGABYTE, 8 * MEGABYTE
UNSAID = ("name", "threads")  # settings that change no number
DRAWS = 200
PAGE_SETTINGS = ("title", "pictures", "budget", "picture_budget", "draws", "errors")
PICTURES = ("auto", "link", "embed", "none")


def report(
    truth: Readable,
    preds: Readable | Mapping[str, Readable],
    output: str | PathLike[str],
    *,
    protocol: str = "coco",
    images: str | PathLike[str] | None = None,
    pictures: str = "auto",
    budget: int = BUDGET,
    picture_budget: int = PICTURE_BUDGET,
    title: str | None = None,
    draws: int = DRAWS,
    errors: str | None = None,
    **settings: Any,
) -> Path:
    """Write one self-contained page: the verdict, the numbers, the errors that matter, and how it was computed.

    `preds` are predictions, or several by name. Photos are looked for in `images`, else beside the truth; `pictures`
    says whether the page links to them (auto, link), holds small pieces of them (embed) or shows outlines alone (none).
    Of several systems the page says how sure their order is: `draws` sets of other images, and of truths with `errors`
    such as "missing=0.05,spurious=0.02". `budget` and `picture_budget` are the most bytes of the page without pictures
    and of the pictures. Other settings are those of the protocol. The same input gives the same bytes.

    >>> vt.report("truth.json", {"a": "a.json", "b": "b.json"}, "report.html", images="photos/")   # doctest: +SKIP
    """
    if protocol not in HOMES:
        raise BadParameter(f"protocol: expected one of {', '.join(HOMES)}, found {protocol!r}")
    known = truth if isinstance(truth, Annotations) else read(truth)
    named = name_preds(preds)
    results = [
        protocol_named(protocol)(known, pred, **{"name": name, **settings} if name else settings)
        for name, pred in named
    ]
    page = make_page(
        results,
        Path(output),
        images=images,
        pictures=pictures,
        budget=budget,
        picture_budget=picture_budget,
        title=title,
        draws=draws,
        errors=errors,
        changed=settings,
    )
    write_atomically(output, page)
    return Path(output)


def name_preds(preds: Any) -> list[tuple[str | None, Any]]:
    """Systems with their names; a single one is called after its file."""
    if isinstance(preds, Mapping) and not {"images", "annotations"} & set(preds):
        if not preds:
            raise BadParameter("report: expected at least one system, found none")
        return [(str(name), pred) for name, pred in preds.items()]
    if isinstance(preds, (list, tuple)) and preds and all(isinstance(one, (str, PathLike)) for one in preds):
        names = distinct_names([Path(one).stem for one in preds])
        return list(zip(names, preds, strict=True))
    return [(None, preds)]


def make_page(
    results: Sequence[Results],
    output: Path | None,
    *,
    images: Any = None,
    pictures: str = "auto",
    budget: int = BUDGET,
    picture_budget: int = PICTURE_BUDGET,
    title: str | None = None,
    draws: int = DRAWS,
    errors: str | None = None,
    changed: Mapping[str, Any] | None = None,
) -> str:
    """The page as text."""
    if pictures not in PICTURES:
        raise BadParameter(f"pictures: expected {', '.join(PICTURES[:-1])} or {PICTURES[-1]}, found {pictures!r}")
    for word, value in (("budget", budget), ("picture_budget", picture_budget)):
        if value < 0:
            raise BadParameter(f"{word}: expected bytes from 0 up, found {value}")
    Comparison(results)  # what does not compare is said
    photos = Photos(results[0].truth, images, pictures, output, picture_budget)
    systems = [
        System(name, one, analyse(one))
        for name, one in zip(distinct_names([one.name for one in results]), results, strict=True)
    ]
    systems.sort(key=lambda one: -np.nan_to_num(next(iter(one.results.scores.values())).value, nan=-1.0))
    own = {"title": title, "pictures": pictures, "budget": budget, "picture_budget": picture_budget}
    own |= {"draws": draws, "errors": errors}
    telling = {key: value for key, value in (changed or {}).items() if key not in UNSAID}
    doc = build(systems, photos, own, telling, tell_board(systems, draws, errors))
    drawn = show(doc, photos)  # pictures are made here, and what is wrong with them is known then
    doc["pictures"]["broken"] = sorted(set(photos.broken))
    drawn = show(doc, photos) if photos.broken else drawn
    blobs = pack_all(doc, systems, budget - len(to_json(doc)) - sum(len(one.content) for one in drawn))
    drawn = show(doc, photos)
    data = [embed_json("verite", to_json(doc)), *blobs]
    return document(doc["title"], doc["systems"], head(doc), drawn, data)


def analyse(results: Results) -> Any:
    """Why the number is what it is; nothing where nothing is to be found, or the protocol keeps no matches."""
    if not len(results.truth):
        return None
    try:
        return verite.analyse(results)
    except BadParameter:
        return None


def show(doc: dict[str, Any], photos: Photos) -> list[Section]:
    """The sections that have something to say, in their order."""
    made: list[tuple[str, str, Markup | None, bool]] = [
        ("missing", "What is missing to 1", costs.show_missing(doc), False),
        ("sides", "Side by side", sides.sides(doc), False),
        ("order", "How sure is the order?", board.show_board(doc, photos), False),
        ("look", "Look at these first", costs.look(doc, photos), True),
        ("classes", "Classes", classes.classes(doc), True),
        ("operating", "Operating point", operating.show_operating(doc), True),
        ("confusion", "Confusion", confusion.show_confusion(doc), True),
        ("calibration", "Calibration", calibration.show_calibration(doc), True),
        ("slices", "Slices", slices.show_slices(doc), True),
        ("suspicious", "Suspicious truths", suspicious.show_suspicious(doc, photos), False),
        ("images", "Images", images.images(doc, photos), True),
        ("how", "How this was computed", how.how(doc), False),
    ]
    return [Section(id, title, content, is_of_one) for id, title, content, is_of_one in made if content is not None]


def pack_all(doc: dict[str, Any], systems: list[System], budget: int) -> list[Markup]:
    """Objects as bytes, as far as the budget goes."""
    truth = systems[0].results.truth
    if len(truth.images) > MOST_OPENED:
        return []
    scale = max(scale_of(truth, one.overlay.pred) for one in systems)
    data, layout = pack_truth(truth, systems[0].overlay.finds.asked, scale)
    doc["packed"] = {"scale": scale, "layout": layout}
    blobs = [attach("objects", data)]
    share = max(0, (budget - 60_000 - len(blobs[0])) // len(systems))
    for i, (told, system) in enumerate(zip(doc["systems"], systems, strict=True)):
        data, told["packed"] = pack_system(system.tally, scale, share)
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


def page_settings(path: str | PathLike[str]) -> dict[str, Any]:
    """With which settings of its own a page was made."""
    settings = read_report(path).get("settings", {}).get("page", {})
    return {key: settings[key] for key in PAGE_SETTINGS if key in settings}


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
