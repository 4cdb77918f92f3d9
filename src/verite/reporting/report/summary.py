"""Build the JSON document of a report: shared data, comparison of detectors, reliability of the ranking."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import comb, erfc, sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import verite
from verite.analysis.confusion import Confusion
from verite.analysis.suspicious import CHECKED
from verite.errors import BadParameter
from verite.files import without_suffix
from verite.leaderboards.audit import AuditRow, read_rows
from verite.model.results import Results
from verite.reporting.report.crops import Photos, window_of
from verite.reporting.report.document import REVISION, ReportSettings, System, tell_findings, tell_truth
from verite.reporting.report.layout import count_of, is_known
from verite.reporting.report.packed import MOST_IMAGES
from verite.reporting.report.ranking import MOST_RECORDS
from verite.reporting.report.suspicious import MOST as MOST_SUSPECTS

LIKE_COCO = ("coco", "lvis")  # protocols whose reference finds truths by their ids


@dataclass(frozen=True)
class Deviation:
    """A documented deviation from other tools, and a function that counts the cases to which it applies."""

    name: str
    said: str
    count: Callable[[System], int]


def labels_without_truths(system: System) -> int:
    """Count the classes that occur in predictions only."""
    counted = system.tally.kind >= 0
    claimed = np.bincount(system.tally.pred.label[counted], minlength=len(system.tally.names))
    return int(((claimed > 0) & (system.tally.truths == 0)).sum())


def is_empty(system: System) -> int:
    return int(system.results.protocol in LIKE_COCO and not len(system.results.pred))


def truths_named_zero(system: System) -> int:
    ids = ids_of(system)
    return int((ids == 0).sum())


def truths_named_alike(system: System) -> int:
    ids = ids_of(system)
    return len(ids) - len(np.unique(ids))


def ids_of(system: System) -> Any:
    """Return the ground-truth ids where pycocotools uses them and its quirks are not emulated."""
    ids = system.results.truth.ids
    repeats = getattr(getattr(system.results, "settings", None), "is_exact", False)
    return np.zeros(0) if ids is None or repeats or system.results.protocol != "coco" else ids


def has(part: str) -> Callable[[System], int]:
    """Return a counter that is 1 if the report shows this part of the analysis."""
    return lambda system: int(system.analysis is not None and part in system.analysis.settings.only)


def pairs_right_first(system: System) -> int:
    return has("confusion")(system) and int(system.analysis.settings.matching == "same-first")


DEVIATIONS = (
    Deviation("class-without-truths", "{many} without ground truth: undefined, in no mean", labels_without_truths),
    Deviation("no-results", "no predictions: AP is 0, the reference raises an error", is_empty),
    Deviation("truth-id-zero", "a ground-truth object with id 0 can be matched", truths_named_zero),
    Deviation("repeated-truth-ids", "ground-truth objects with a repeated id count separately", truths_named_alike),
    Deviation("tide-adds-up", "costs of error types sum to 1 − AP, unlike TIDE's", has("errors")),
    Deviation("lrp-equal-confidences", "LRP only at confidences that separate predictions", has("lrp")),
    Deviation("confusion-same-label-first", "true positives keep their ground truth", pairs_right_first),
    Deviation("best-f1-exists", "best F1 at a confidence that occurs, not smoothed", has("operating")),
)  # fmt: skip


def tell_deviations(system: System) -> list[dict[str, str]]:
    """Return the deviations that apply to a detector."""
    found = [(one, one.count(system)) for one in DEVIATIONS]
    return [
        {"name": one.name, "said": one.said.format(many=count_of(many, "class", "classes"))}
        for one, many in found
        if many
    ]


MOST_SQUARE = 100  # labels of a matrix that is kept whole; of a larger one, the cells that are not 0

METRICS = 6  # scores whose gaps have intervals

MOST_ROWS, LEAST_ROWS = 1700, 50  # classes with all their numbers: of all systems, and of each

TEN = 10  # pairs of labels that are told


def build(
    systems: list[System], photos: Photos, own: ReportSettings, changed: dict[str, Any], board: dict[str, Any] | None
) -> dict[str, Any]:
    """The document; `changed` are settings of the protocol and of the analysis, and the table of checked records."""
    first = systems[0]
    truth = tell_truth(systems)
    rows = max(LEAST_ROWS, MOST_ROWS // len(systems))
    told = [system.tell(parts_of(system) | {"deviations": tell_deviations(system)}, rows) for system in systems]
    suspects = tell_suspects(systems, changed.get("audit"))
    decisive = [] if board is None else board["look"]
    shown = {item["image"] for one in told for item in (*one["look"], *one["images"])}
    shown |= {item["image"] for item in (*suspects, *decisive)}
    everything = range(truth["images"]) if truth["images"] <= MOST_IMAGES else sorted(shown)
    known = first.results.truth.images
    many = f"{len(systems)} systems" if len(systems) > 1 else told[0]["name"]
    named = own.title or f"{without_suffix(truth['file']).name or 'truth'}: {many}, {truth['images']:,} images"
    files = [one["file"] or one["name"] for one in told]
    telling = {key: tell_setting(value) for key, value in changed.items()}
    protocol = [] if first.results.protocol == "coco" else ["--protocol", first.results.protocol.replace("_", "-")]
    words = [truth["file"] or "TRUTH", *files, *protocol, *spell_options(telling)]
    command = " ".join(["verite report", *map(shlex.quote, words)])
    doc = {
        "report": REVISION,
        "title": named,
        "protocol": first.results.protocol,
        "measured": tell_measured(first.results),
        "words": asdict(first.results.words),
        "version": verite.__version__,
        "settings": {"changed": {key: str(value) for key, value in telling.items()}, "page": own.to_dict()},
        "truth": truth,
        "systems": told,
        "classes": tell_all_classes(systems) if told[0]["classes"]["count"] > rows else None,
        "sides": tell_sides(systems) | {"gaps": tell_gaps(told, board)},
        "leaderboard": board,
        "suspects": suspects,
        "findings": tell_findings(systems),
        "is_checked": getattr(getattr(first.results, "settings", None), "checks", "") != "off",
        "images": {
            "names": {str(i): known.name(i) for i in everything},
            "sizes": {str(i): list(first.overlay.size(i)) for i in sorted(shown)},
            "links": {str(i): link for i in everything if (link := photos.link(i)) is not None},
        },
        "pictures": {"mode": photos.mode, "broken": []},
        "command": " ".join([command, *map(shlex.quote, spell_options(own.changed)), "-o report.html"]),
        "check": f"{command} --check report.html",
    }
    return {key: clean(value) for key, value in doc.items()}


def tell_all_classes(systems: Sequence[System]) -> dict[str, Any]:
    """The first score of every class and system, where there are too many classes for all their numbers."""
    key = next(iter(systems[0].results.scores))
    scores = [dict(zip(one.results.class_names, one.results.class_scores()[key], strict=True)) for one in systems]
    names = [name for name in scores[0] if any(is_known(one.get(name)) for one in scores)]
    return {"score": key, "labels": names, "scores": [[round_off(one.get(name)) for one in scores] for name in names]}


def round_off(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def tell_setting(value: Any) -> Any:
    """A setting; of a file its name alone."""
    return Path(value).name if isinstance(value, PathLike) or (isinstance(value, str) and "/" in value) else value


def clean(value: Any) -> Any:
    """Plain values whose texts can be written: half a pair of surrogates is no letter."""
    if isinstance(value, str):
        return value if value.isprintable() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    return [clean(inner) for inner in value] if isinstance(value, (list, tuple)) else value


# What a setting is called on the command line where it has another name there.
OPTIONS = {"labels": "--class"}


def spell_options(changed: Mapping[str, Any]) -> list[str]:
    """Settings as options."""
    words = []
    for key, value in changed.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [OPTIONS.get(key, "--" + key.replace("_", "-")), str(one)]
    return words


def tell_measured(results: Results) -> str:
    on = dict(results.signature).get("on", "box")
    names = {"coco": "COCO", "voc": "Pascal VOC", "lvis": "LVIS", "openimages": "Open Images"}
    what = "masks and boundaries" if on == "boundary" else results.words.many
    return f"{names.get(results.protocol, results.protocol)}, {what}"


def parts_of(system: System) -> dict[str, Any]:
    """What the analysis has to say, part by part; of each class only what its table shows."""
    analysis = system.analysis
    if analysis is None:
        return {}
    parts = analysis.parts
    told = {name: part.to_dict() for name, part in parts.items() if name not in ("worst", "confusion", "suspicious")}
    for one in told.values():
        if isinstance(one, dict):
            for key in ("classes", "temperatures", "signature"):
                one.pop(key, None)
    if "slices" in told:
        told["slices"] = tell_slices(analysis.slices)
    if "confusion" in parts:
        told["confusion"] = tell_confusion(
            Confusion(analysis.matches, system.tally.confidence, analysis.settings.matching)
        )
    return told | {"signatures": {name: str(part.signature) for name, part in parts.items()}}


def tell_slices(slices: Any) -> list[dict[str, Any]]:
    """Its rows, each with where its objects are told: the property and the bin."""
    places = [(k, code) for k, one in enumerate(slices.properties) for code in range(len(one.bins))]
    return [row | {"place": list(place)} for row, place in zip(slices.rows, places, strict=True)]


def tell_confusion(confusion: Any) -> dict[str, Any]:
    """The matrix of all labels that have objects or predictions at any confidence, and the most frequent pairs."""
    matches = confusion.matches
    used = np.flatnonzero(matches.truth_counts + matches.count_classes(matches.pred_label[matches.counted_pred]))
    matrix = confusion.count_among(used)
    told = {key: value for key, value in confusion.to_dict().items() if key != "signature"}
    told |= {"labels": [matches.names[k] for k in used], "pairs": told["pairs"][:TEN], "matrix": matrix.tolist()}
    if len(used) > MOST_SQUARE:
        del told["matrix"], told["labels"]
        told["places"] = used.tolist()  # of the page's labels
        told["cells"] = [[int(a), int(b), int(matrix[a, b])] for a, b in np.argwhere(matrix)]
    return told


def tell_sides(systems: list[System]) -> dict[str, Any]:
    """Return how many objects both, one or neither of the best two detect, each at its best F1."""
    if len(systems) < 2:
        return {}
    first, second = systems[:2]
    found = [one.overlay.fates[0] == 0 for one in (first, second)]
    asked = first.overlay.finds.counted_truth
    only = [int((mine & ~other & asked).sum()) for mine, other in (found, found[::-1])]
    both = int((found[0] & found[1] & asked).sum())
    return {
        "finds": {
            "iou": first.overlay.iou,
            "both": both,
            "first_only": only[0],
            "second_only": only[1],
            "neither": int(asked.sum()) - both - sum(only),
            "p": exact_mcnemar(*only),
        },
        "fates": tell_fates(first, second),
    }


def tell_fates(first: System, second: System) -> dict[str, Any] | None:
    """Return the matrix of object outcomes under two detectors, at any confidence."""
    if first.analysis is None or second.analysis is None:
        return None
    from verite.analysis.comparison import OUTCOMES, DetectorPair

    pair = DetectorPair(first.analysis, second.analysis, (first.name, second.name))
    return {"names": list(OUTCOMES), "matrix": pair.migration.tolist()}


def exact_mcnemar(a: int, b: int) -> float:
    """Return the two-sided p value of the exact McNemar test.

    >>> round(exact_mcnemar(1, 5), 4), exact_mcnemar(0, 0)
    (0.2188, 1.0)
    """
    n, few = a + b, min(a, b)
    if n > 2000:  # beyond, the normal approximation is equal to all digits shown
        return erfc(max(abs(a - b) - 1, 0) / sqrt(2 * n))
    return float(min(1.0, 2 * sum(comb(n, k) for k in range(few + 1)) / 2**n))


def tell_board(systems: list[System], own: ReportSettings, audit: Any = None) -> dict[str, Any] | None:
    """Return the leaderboard; None for one detector, without resamples, or if the protocol cannot be resampled."""
    if len(systems) < 2 or own.draws < 1:
        return None
    results = {one.name: one.results for one in systems}
    metrics = [key for key, score in systems[0].results.scores.items() if np.isfinite(score.value)][:METRICS]
    doubt = verite.annotation_errors.Detection.parse(own.errors) if own.errors else None
    try:
        board = verite.leaderboard(
            results, errors=doubt, audit=audit, metrics=metrics, draws=own.draws, audit_size=MOST_RECORDS
        )
    except BadParameter:
        return None
    told = board.to_dict()
    audit = told.pop("audit", [])
    for one in told.get("metrics", {}).values():
        one.pop("audit", None)
    told.pop("truth", None)
    return told | {"look": [tell_record(systems[0], one) for one in audit[:MOST_RECORDS]]}


def tell_record(system: System, one: dict[str, Any]) -> dict[str, Any]:
    """Return a decisive annotation with its outline and crop window."""
    x, y, width, height = (one[key] for key in ("x", "y", "width", "height"))
    ring = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
    image = system.overlay.position(str(one["image"]))
    side = "pred" if one["kind"] == "missing" else "truth"
    window = window_of([ring], system.overlay.size(image))
    return {"image": image, "label": one["label"], "reason": one["reason"], side: [ring], "window": window}


def tell_gaps(told: Sequence[dict[str, Any]], board: dict[str, Any] | None) -> dict[str, Any]:
    """Return bootstrap intervals of the differences of neighbours for every resampled score."""
    if board is None:
        return {}
    boards = board.get("metrics") or {board["metric"]: board}
    found = {}
    for metric, one in boards.items():
        order = [each["name"] for each in one["detectors"]]
        kept = {(pair["first"], pair["second"]): pair for pair in one["pairs"]}
        for i, (mine, other) in enumerate(pairwise(told)):
            names = mine["name"], other["name"]
            is_turned = names[::-1] in pairwise(order)  # by this score the other one is ahead
            if is_turned or names in pairwise(order):
                ahead, behind = names[::-1] if is_turned else names
                gap, pair = one["detectors"][order.index(ahead)]["gap"], kept.get((ahead, behind)) or {}
                doubts = [pair[key]["kept"] for key in ("both", "images", "errors") if pair.get(key)]
                low, high = (negate(gap["high"]), negate(gap["low"])) if is_turned else (gap["low"], gap["high"])
                found[f"{i}.{metric}"] = {"low": low, "high": high, "kept": doubts[0] if doubts else None}
    return found


def negate(value: float | None) -> float | None:
    return None if value is None else -value


def tell_suspects(systems: list[System], audit: Any) -> list[dict[str, Any]]:
    """Return suspicious annotations, most probable first, each once, with the verdicts of an audit."""
    best: dict[Any, tuple[float, System, dict[str, Any]]] = {}
    for system in systems:
        if system.analysis is None or "suspicious" not in system.analysis.settings.only:
            continue
        for one in system.analysis.suspicious.to_dict():
            key = ("truth", one["truth"]) if one["truth"] is not None else (one["image"], *one["box"])
            if key not in best or one["probability"] > best[key][0]:
                best[key] = one["probability"], system, one
    chosen = sorted(best.values(), key=lambda one: -one[0])[:MOST_SUSPECTS]
    said = {row.place: row.verdict for row in read_rows(audit)} if audit is not None else {}
    found = []
    for _, system, one in chosen:
        row = audit_row(system, one)
        found.append(system.tell_suspect(one) | {"audit": list(row.place), "verdict": said.get(row.place, "")})
    return found


def audit_row(system: System, one: dict[str, Any]) -> AuditRow:
    """As a table of checked records has it."""
    truth, row = one["truth"], one["truth"] if one["truth"] is not None else one["pred"]
    side = system.results.pred if truth is None else system.results.truth
    kind = CHECKED.get(one["kind"], "box")
    return AuditRow.of(one["image"], one["label"], side.regions.sizes[row], kind, one["probability"], one["reason"])
