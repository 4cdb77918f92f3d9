"""Write the HTML report of one or several detectors, read it back, and verify it against the files."""

from __future__ import annotations

import re
import shlex
from base64 import b64decode
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import decompress
from zlib import error as zlib_error

import numpy as np

from verite import __version__
from verite.analysis.analyse import Analyses, Analysis, analyse
from verite.analysis.confusion import BEST_F1, LRP
from verite.analysis.parts import AnalyseSettings
from verite.annotation_errors.detection import Detection
from verite.errors import BadParameter, DataError, ReadError
from verite.files import find_path, path_of, read_text, without_suffix, write_atomically
from verite.formats import Readable
from verite.formats.json_documents import decode_bytes
from verite.leaderboards.leaderboard import LeaderboardSettings, protocol_of_scores, rank_results
from verite.model.comparison import Comparison, distinct_names
from verite.model.results import Results, digest_for, encode_json
from verite.protocols import REPORTED, protocol_named
from verite.reporting.report.crops import ReportImages, window_of
from verite.reporting.report.detector import EvaluatedDetector, file_name
from verite.reporting.report.document import (
    REVISION,
    DecisiveAnnotation,
    Finding,
    GroundTruth,
    Images,
    Ranking,
    ReportDocument,
    StoredObjects,
    StoredPredictions,
    clean,
)
from verite.reporting.report.header import render_header
from verite.reporting.report.layout import assemble_page, embed_bytes, embed_packed
from verite.reporting.report.packed import MOST_IMAGES, pack, pack_objects, smallest
from verite.reporting.report.section import ReportInputs
from verite.reporting.report.sections import all_sections
from verite.reporting.report.settings import ANALYSIS, ReportSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.styles import Markup
    from verite.reporting.report.section import DrawnSection

NOT_STATED = ("name", "threads")  # settings that change no number
MOST_DECISIVE = 12  # decisive annotations
RANKED_SCORES = 6  # the first scores of the protocol, which the bootstrap of the ranking computes
PROTOCOL_NAMES = {
    "coco": "COCO", "voc": "Pascal VOC", "lvis": "LVIS", "openimages": "Open Images", "panoptic": "Panoptic",
    "f1": "F1", "track": "Tracking", "miss-rate": "Miss rate", "kitti": "KITTI", "wider": "WIDER FACE",
    "oc-cost": "OC-cost", "instances": "Instances",
}  # fmt: skip
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")  # in encoded JSON
OPTIONS = {"labels": "--class"}  # settings whose option has another name


def report(
    truth: Readable,
    preds: Readable | Mapping[str, Readable],
    output: str | PathLike[str],
    *,
    protocol: str = "coco",
    images: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    judge: str | PathLike[str] | None = None,
    title: str | None = None,
    pictures: str = "auto",
    budget: int = 4_000_000,
    picture_budget: int = 8_000_000,
    draws: int = 200,
    errors: str | None = None,
    card: str | PathLike[str] | None = None,
    **settings: Any,
) -> Path:
    """Write a self-contained HTML report: summary, scores, error analysis, ranking, and provenance.

    The same input gives the same bytes. The report works without JavaScript, loads nothing but linked images, and holds
    every number it shows as JSON, which `vt.read_report` returns.

    Parameters
    ----------
    truth
        Ground truth: a path or an object that `vt.read` accepts.
    preds
        Predictions of one detector, or of several by name or in a list.
    output
        The HTML file to write.
    protocol
        Evaluation protocol that matches objects: coco, voc, lvis, openimages, miss-rate, instances …, or f1 for
        predictions without confidences.
    images
        Folder with the images; by default folders beside the ground truth are searched.
    audit
        Table of checked annotations (audit.csv), as the report exports it.
    judge
        Result of a study of human judgement (fit.json of ``verite judge fit -o``), shown in a section of its own.
    title
        Title of the report; by default the ground-truth file, the detectors and the number of images.
    pictures
        "auto" (link if found), "link" (to the image files), "embed" (store crops in the report) or "none" (outlines
        only).
    budget
        Maximum bytes without images, 4 MB by default. Predictions beyond it are counted, but cannot be opened.
    picture_budget
        Maximum bytes of embedded images, 8 MB by default.
    draws
        Number of bootstrap resamples and simulations for the reliability of the ranking; 0 for none.
    errors
        Annotation errors to simulate, such as "missing=0.05,spurious=0.02"; by default none.
    card
        Card to share: an image of 1200 × 630 pixels with the result and the cost bars (.png, .svg or .pdf).
    **settings
        Settings of the protocol (`on`, `iou`, `labels`, `checks`, …) and of `vt.analyse` (`confidence`, `matching`,
        `slice`, `prior`, `only`, …); `inspect.signature(vt.report)` lists those of the analysis.

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
    >>> import verite as vt
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> truth = vt.Annotations.of(["a.png", "b.png"], ["cat", "dog"], [[0, 0, 9, 9], [5, 5, 20, 20]])
    >>> pred = vt.Annotations.of(["a.png", "b.png"], ["cat", "dog"], [[0, 0, 9, 9], [6, 6, 20, 20]],
    ...                          confidence=[0.9, 0.8])
    >>> with TemporaryDirectory() as folder:
    ...     path = vt.report(truth, {"mine": pred}, Path(folder) / "report.html", checks="off")
    ...     round(vt.read_report(path)["systems"][0]["scores"]["AP50"], 3)
    1.0
    """
    if not isinstance(protocol, str) or protocol not in REPORTED:
        raise BadParameter(f"protocol: expected one of {', '.join(REPORTED)}, found {protocol!r}")
    images = None if images is None else path_of(images, "images")
    if card is not None:
        from verite.reporting.report.card import card_format

        card = path_of(card, "card")
        card_format(card)  # refused before a large file is read
    own = ReportSettings(
        title=title, pictures=pictures, budget=budget, picture_budget=picture_budget, draws=draws, errors=errors
    )
    analysis = {key: settings.pop(key) for key in ANALYSIS if key in settings}
    if protocol == "f1" and analysis.get("confidence") not in (None, BEST_F1, LRP):
        settings["confidence"] = analysis.pop("confidence")
    if analysis.get("meta") is not None:
        analysis["meta"] = path_of(analysis["meta"], "meta")
    chosen = protocol_named(protocol)
    known, found = chosen.read(truth, preds)
    named = found if isinstance(found, dict) else {None: found}
    results = [chosen(known, pred, **{"name": name, **settings} if name else settings) for name, pred in named.items()]
    given = {"audit": audit, "judge": judge}
    changed = settings | analysis | {key: path for key, path in given.items() if path is not None}
    detectors = analyse_all(results, analysis)
    page = render_report(detectors, Path(output), own, images=images, changed=changed, card=card)
    write_atomically(output, page)
    return Path(output)


def save_report(
    analyses: Analysis | Analyses,
    output: str | PathLike[str],
    *,
    images: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    judge: str | PathLike[str] | None = None,
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
    judge
        Result of a study of human judgement (fit.json of ``verite judge fit -o``).
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
    unknown = set(settings) - set(ReportSettings.declared)
    if unknown:
        listed = ", ".join(ReportSettings.declared)
        raise BadParameter(f"save_report: expected settings out of {listed}, found {unknown.pop()!r}")
    images = None if images is None else path_of(images, "images")
    named = {analyses.name: analyses} if isinstance(analyses, Analysis) else analyses.systems
    detectors = [
        EvaluatedDetector(name, one.results, one if len(one.results.truth) else None) for name, one in named.items()
    ]
    first, changed = next(iter(named.values())), {}
    given: tuple[tuple[Any, Any], ...] = ((first.results, None), (first, ANALYSIS))
    for holder, names in given:
        used = holder.settings
        defaults = type(used)()
        for key in names or used.declared:
            value = getattr(used, key)
            if value != getattr(defaults, key) and key not in (*NOT_STATED, "checks"):
                changed[key] = value
    changed |= {key: path for key, path in {"audit": audit, "judge": judge}.items() if path is not None}
    page = render_report(detectors, Path(output), ReportSettings(**settings), images=images, changed=changed)
    write_atomically(output, page)
    return Path(output)


def list_settings() -> None:
    """Let `inspect.signature` list the settings that `report` and `save_report` accept, with their defaults."""
    from inspect import Parameter, signature

    own = {one.name: one.default for one in ReportSettings.declared.values()}
    analysis = {one: AnalyseSettings.declared[one].default for one in ANALYSIS}
    for function, more in ((report, analysis), (save_report, own)):
        shown = signature(function)
        kept = [one for one in shown.parameters.values() if one.kind != Parameter.VAR_KEYWORD or function is report]
        listed = [Parameter(key, Parameter.KEYWORD_ONLY, default=value) for key, value in more.items()]
        at = len(kept) - (function is report)
        shown = shown.replace(parameters=[*kept[:at], *listed, *kept[at:]])
        function.__dict__["__signature__"] = shown


list_settings()


def analyse_all(results: Sequence[Results], settings: Mapping[str, Any]) -> list[EvaluatedDetector]:
    """Analyse the results of each detector.

    There is no analysis without ground truth, or where the protocol keeps no matches and no settings ask for one.
    """
    found = []
    for distinct, one in zip(distinct_names([one.name for one in results]), results, strict=True):
        analysis: Any = None
        if len(one.truth):
            try:
                analysis = analyse(one, **settings)
            except BadParameter:
                if settings:
                    raise
        found.append(EvaluatedDetector(distinct, one, analysis))
    return found


def render_report(
    detectors: Sequence[EvaluatedDetector],
    output: Path | None,
    settings: ReportSettings,
    *,
    images: Any = None,
    changed: Mapping[str, Any] | None = None,
    card: Path | None = None,
) -> str:
    """Return the report as HTML text.

    The document is built first; then every section is drawn once, objects are packed into the bytes that are left, and
    the page is assembled.

    Parameters
    ----------
    detectors
        Evaluated detectors in any order; their results must be comparable.
    output
        The file that will be written, to which links to images are relative.
    settings
        Settings of the report.
    images
        Folder with the images; None: folders beside the ground truth are searched.
    changed
        Settings of protocol and analysis that are not the defaults, the audit table and the study of human judgement.
    card
        Card to share, if it is to be written.

    Raises
    ------
    NotComparable
        If the results have different signatures or ground truths.
    """
    Comparison([one.results for one in detectors])  # raises NotComparable
    shown_images = ReportImages(detectors[0].results.truth, images, settings.pictures, output, settings.picture_budget)
    headline = next(iter(detectors[0].results.scores))
    sign = 1.0 if detectors[0].results.is_error(headline) else -1.0
    ranked = sorted(detectors, key=lambda d: np.nan_to_num(sign * d.results.scores[headline].value, nan=np.inf))
    stated = {key: value for key, value in (changed or {}).items() if key not in NOT_STATED}
    document = build_document(tuple(ranked), shown_images, settings, stated)
    if card is not None:
        from verite.reporting.report.card import save_card

        save_card(document, card)
    drawn = [section.draw(document, shown_images) for section in all_sections() if section.wanted(document)]
    unreadable, links = sorted(set(shown_images.unreadable)), shown_images.inner_links
    parts = pack_parts(drawn)
    plain = document.to_plain(links, unreadable)
    header, photos = render_header(document, unreadable), shown_images.store()
    # Everything but photos and objects counts first, to know what is left for objects.
    none = StoredObjects(1.0, 1, [], predictions=(StoredPredictions([], 0, 0),) * len(ranked))
    empty = [section.finish(document, none) for section in drawn]
    around = assemble_page(document, header, drawn, empty, [embed_packed("verite", encode_json(plain)), *parts])
    listed = [[row.image for row in data.images] for data in document.sections["images"]]
    shown = [int(image) for image in document.images.sizes]
    left = settings.budget - len(around.encode())
    blobs, stored = pack_objects([one.counts for one in ranked], shown, listed, left)
    contents = [section.finish(document, stored) for section in drawn]
    data = embed_packed("verite", encode_json(stored.add_to(plain)))
    return assemble_page(document, header, drawn, contents, [photos, data, *blobs, *parts])


def pack_parts(drawn: Sequence[DrawnSection]) -> list[Markup]:
    """Return the parts of sections that are not shown at first as compressed JSON, by section.

    There is one script element for each detector ("part-1") and each pair of detectors ("part-0-2"). Their HTML differs
    in little but its numbers: the texts between two numbers ("pieces") are stored once for all of them, and each part
    as the places of its pieces and its numbers, which takes a third less than its HTML deflated.
    """
    found: dict[tuple[int, ...], dict[str, str]] = {}
    for section in drawn:
        for key, part in list(zip(section.keys, section.parts, strict=False))[1:]:
            found.setdefault(key, {})[section.id] = str(part)
    pieces: dict[str, int] = {}
    columns = {}
    for key, parts in sorted(found.items()):
        split = NUMBER.split(encode_json(parts))
        places = np.array([pieces.setdefault(one, len(pieces)) for one in split[::2]], dtype=np.int64)
        numbers = np.frombuffer("\n".join(split[1::2]).encode(), dtype=np.uint8)
        columns["part-" + "-".join(map(str, key))] = {"pieces": smallest(places), "numbers": numbers}
    if columns:
        columns["pieces"] = {"pieces": np.frombuffer("\n".join(pieces).encode(), dtype=np.uint8)}
    blobs = []
    for id, mine in columns.items():
        data, layout = pack(mine)
        blobs.append(embed_bytes(id, data, encode_json(layout)))
    return blobs


def build_document(
    detectors: tuple[EvaluatedDetector, ...],
    images: ReportImages,
    settings: ReportSettings,
    changed: Mapping[str, Any],
) -> ReportDocument:
    """Build the document.

    Parameters
    ----------
    detectors
        Detectors, the best first.
    images
        Where images are linked to.
    settings
        Settings of the report.
    changed
        Settings of the protocol and of the analysis that are not the defaults, the audit table and the study of human
        judgement.
    """
    first, (ranking, samples) = detectors[0], rank_detectors(detectors, settings, changed.get("audit"))
    inputs = ReportInputs(detectors, ranking, changed, samples)
    sections, shown = {}, {one.image for one in (ranking.decisive if ranking else ())}
    for section in all_sections():
        sections[section.id], seen = section.collect(inputs)
        shown |= seen
    truth, known = describe_truth(first), first.results.truth.images
    listed = range(truth.images) if truth.images <= MOST_IMAGES else sorted(shown)
    described = tuple(one.describe() for one in detectors)
    many = f"{len(detectors)} detectors" if len(detectors) > 1 else described[0].name
    title = settings.title or f"{without_suffix(truth.file).name or 'truth'}: {many}, {truth.images:,} images"
    # Of files only their names are stated: folders stay private.
    stated = {
        key: Path(v).name if isinstance(v, PathLike) or (isinstance(v, str) and "/" in v) else v
        for key, v in changed.items()
    }
    protocol, on = first.results.protocol, dict(first.results.signature).get("on", "box")
    compared = "masks and boundaries" if on == "boundary" else first.results.words.many
    words = [truth.file or "TRUTH", *(one.file or one.name for one in described)]
    words += [] if protocol == "coco" else ["--protocol", protocol.replace("_", "-")]
    command = " ".join(["verite report", *map(shlex.quote, [*words, *as_options(stated)])])
    return clean(
        ReportDocument(
            report=REVISION,
            title=title,
            protocol=protocol,
            measured=f"{PROTOCOL_NAMES.get(protocol, protocol)}, {compared}",
            words=first.results.words,
            version=__version__,
            changed={key: str(value) for key, value in stated.items()},
            settings=settings.to_dict(),
            truth=truth,
            detectors=described,
            ranking=ranking,
            findings=collect_findings(detectors),
            is_checked=first.results.is_checked,
            images=Images(
                names={str(i): known.name(i) for i in listed},
                sizes={str(i): first.overlay.size(i) for i in sorted(shown)},
                links={str(i): link for i in listed if (link := images.link(i)) is not None},
            ),
            image_mode=images.mode,
            command=" ".join([command, *map(shlex.quote, as_options(settings.changed)), "-o report.html"]),
            check=f"{command} --check report.html",
            sections=sections,
            is_error=first.results.is_error(next(iter(first.results.scores))),
        )
    )


def describe_truth(detector: EvaluatedDetector) -> GroundTruth:
    """Return file, size and classes of the ground truth."""
    truth, is_counted, counts = detector.results.truth, detector.overlay.matches.counted_truth, detector.counts
    return GroundTruth(
        file=file_name(truth.source.path),
        format=truth.source.format,
        digest=digest_for(detector.results.signature, truth),
        objects=int(is_counted.sum()),
        ignored=int((~is_counted).sum()),
        images=len(truth.images),
        classes=int((counts.objects > 0).sum()),
        class_names=tuple(counts.names),
        class_objects=tuple(counts.objects.tolist()),
        unit=truth.unit,
    )


def collect_findings(detectors: Sequence[EvaluatedDetector]) -> tuple[Finding, ...]:
    """Return the findings of the checks, each once, with the detector it concerns."""
    found: dict[str, Finding] = {}
    for detector in detectors:
        for one in detector.results.findings:
            of = "truth" if one.side == "truth" else detector.name
            plain = one.to_dict() | {"of": of}
            texts = {key: str(plain.get(key) or "") for key in ("code", "severity", "of", "message", "fix", "options")}
            found.setdefault(f"{of}|{one}", Finding(**texts, json=plain))
    return tuple(found.values())


def rank_detectors(
    detectors: Sequence[EvaluatedDetector], settings: ReportSettings, audit: Any
) -> tuple[Ranking | None, dict[str, NDArray[np.float64]]]:
    """Return the reliability of the ranking, and the scores on bootstrap resamples of the images.

    Both are empty for one detector, without resamples, or if the protocol has none. Scores are by metric, [detector,
    resample].
    """
    if len(detectors) < 2 or settings.draws < 1:
        return None, {}
    first = detectors[0]
    metrics = [key for key, score in first.results.scores.items() if np.isfinite(score.value)][:RANKED_SCORES]
    errors = Detection.parse(settings.errors) if settings.errors else None
    try:
        board = rank_results(
            {one.name: one.results for one in detectors},
            errors,
            audit if errors is not None else None,  # verdicts about chosen annotations give no rates
            LeaderboardSettings(
                protocol=protocol_of_scores(metrics), metrics=metrics, draws=settings.draws, audit_size=MOST_DECISIVE
            ),
            influence_on=metrics[:1],
        )
    except BadParameter:
        return None, {}
    samples = {}
    for metric, ranked in board.boards.items():
        places = [ranked.names.index(one.name) for one in detectors]
        samples[metric] = ranked.samples["images"][:, places].T
    plain = board.to_dict()
    decisive = []
    for one in plain.pop("audit", [])[:MOST_DECISIVE]:
        x, y, width, height = (one[key] for key in ("x", "y", "width", "height"))
        ring = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
        image = first.overlay.position(str(one["image"]))
        outline = {"pred" if one["kind"] == "missing" else "truth": [ring]}
        window = window_of([ring], first.overlay.size(image))
        decisive.append(DecisiveAnnotation(image, one["label"], one["reason"], **outline, window=window))
    for one in plain.get("metrics", {}).values():
        one.pop("audit", None)
    plain.pop("truth", None)
    return Ranking.of(plain, tuple(decisive)), samples


def as_options(changed: Mapping[str, Any]) -> list[str]:
    """Return settings as options of the command line."""
    words = []
    for key, value in changed.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [OPTIONS.get(key, "--" + key.replace("_", "-")), str(one)]
    return words


# Reading back

DATA = re.compile(r'<script type="application/(json|octet-stream)" id="verite">(.*?)</script>', re.DOTALL)


def decode_data(place: Path, page: str) -> Any:
    """Return the JSON document of a page: compressed, or plain as earlier versions wrote it; None without one."""
    found = DATA.search(page)
    if not found:
        return None
    if found[1] == "json":
        return decode_bytes(place, found[2].encode())
    try:
        return decode_bytes(place, decompress(b64decode(found[2], validate=True)))
    except (ValueError, zlib_error):
        raise ReadError(place, expected="a report written by verite report", found="damaged report data") from None


def read_report(path: str | PathLike[str]) -> JsonObject:
    """Read the data of a report: every number it shows.

    Parameters
    ----------
    path
        A report written by `vt.report`.

    Returns
    -------
    dict
        The JSON document of the report; `systems` has the detectors, best first.

    Raises
    ------
    ReadError
        If the file is not a report, or has another revision.

    Examples
    --------
    >>> vt.read_report("report.html")["systems"][0]["scores"]["AP"]      # doctest: +SKIP
    0.552
    """
    place = find_path(path)
    document = decode_data(place, read_text(place))
    if document is None:
        raise ReadError(place, expected="a report written by verite report", found="no report data")
    if not isinstance(document, dict) or document.get("report") != REVISION:
        raise ReadError(place, expected=f"a report of revision {REVISION}", found="another; create the report again")
    return document


def report_settings(path: str | PathLike[str]) -> ReportSettings:
    """Return the settings that a report was written with; raise ReadError where they are invalid."""
    document = read_report(path)
    settings = document.get("settings", {})
    settings = settings.get("page", {}) if isinstance(settings, dict) else None
    if not isinstance(settings, dict):
        raise ReadError(path, expected="a report written by verite report", found="settings that are not an object")
    try:
        return ReportSettings(**{key: settings[key] for key in ReportSettings.declared if key in settings})
    except (TypeError, AttributeError, ValueError) as error:
        raise ReadError(
            path, expected="a report written by verite report", found=f"invalid settings ({error})"
        ) from None


def check_report(path: str | PathLike[str], page: str) -> None:
    """Verify that a report equals `page`, the one computed from the files.

    Raises
    ------
    DataError
        With the path and both values of the first number that differs, or if only the HTML differs.
    """
    difference = differ(read_report(path), decode_data(Path(path), page))
    if difference is not None:
        raise DataError(f"{path}: {difference}; the files, verite or the report have changed")
    if read_text(Path(path)) != page:
        raise DataError(f"{path}: the data are equal, but the HTML differs; the report was edited")


def differ(old: Any, new: Any, where: str = "") -> str | None:
    """Return path and values of the first difference of two JSON documents; None if they are equal.

    >>> differ({"a": [1, 2]}, {"a": [1, 3]})
    'a[1]: expected 3, found 2'
    """
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
