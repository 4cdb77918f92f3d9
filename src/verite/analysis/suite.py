"""Suites: detectors on several datasets, with scores per dataset and their means (ODinW, RF100, own test sets).

A suite is a TOML file: a protocol, a score, detectors, and the files of each dataset. Every dataset is evaluated by
itself; the macro mean gives all datasets the same weight, whatever their sizes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import find_path, read_text
from verite.formats import read
from verite.model.results import Results, describe_cuts, to_json
from verite.model.tables import Display, Part, Table
from verite.protocols import REGISTRY, protocol_named
from verite.signature import Signature

if TYPE_CHECKING:
    from verite.files import JsonObject

SUITE_KEYS = ("name", "protocol", "metric", "detectors", "settings", "datasets")
DATASET_KEYS = ("truth", "pred", "protocol", "metric", "settings", "map")
MODEL = "{detector}"
# What the values of keys must be, and how that is said.
TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("name", "protocol", "metric", "truth", "map"), (str, "a text")),
    "detectors": (list, "a list of names"),
    "settings": (dict, "a table"),
    "datasets": (dict, "tables [datasets.NAME]"),
    "pred": ((str, dict), "a file, or a file per detector,"),
}
RESERVED = ("truth", "pred", "name")  # arguments of every protocol that are no settings


@dataclass(frozen=True)
class Dataset:
    """One dataset of a suite: its ground truth, the predictions of each detector, and how it is evaluated."""

    name: str
    truth: Path
    preds: Mapping[str, Path]
    protocol: str
    metric: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    map: Path | str | None = None

    def evaluate(self) -> dict[str, Results]:
        """Return the results of every detector."""
        protocol = protocol_named(self.protocol)
        truth = read(self.truth, map=self.map)
        return {
            name: protocol(truth, read(path, like=truth, map=self.map), name=name, **self.settings)
            for name, path in self.preds.items()
        }


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its TOML file describes it, validated; paths are relative to the file."""

    name: str
    path: Path
    datasets: tuple[Dataset, ...]

    @classmethod
    def read(cls, given: str | PathLike[str]) -> SuiteFile:
        """Read a suite.

        Raises
        ------
        ReadError
            If the file is no TOML, a key is unknown or missing, or detectors differ between datasets.
        """
        path = find_path(given)
        try:
            document = tomllib.loads(read_text(path))
        except RecursionError:
            raise ReadError(path, expected="a suite in TOML", found="values nested too deeply") from None
        except ReadError:
            raise
        except ValueError as error:  # no TOML, numbers of too many digits
            raise ReadError(path, expected="a suite in TOML", found=str(error)) from None
        check_keys(path, "", document, SUITE_KEYS, ("datasets",))
        listed = document["datasets"]
        if not listed:
            raise ReadError(path, expected="tables [datasets.NAME]", found="none")
        datasets = tuple(read_dataset(path, name, own, document) for name, own in listed.items())
        first = tuple(datasets[0].preds)
        for one in datasets:
            if tuple(one.preds) != first:
                expected = f"the detectors {', '.join(first)} in every dataset"
                raise ReadError(path, expected=expected, found=f"{', '.join(one.preds)} in {one.name}")
        return cls(str(document.get("name", path.stem)), path, datasets)


def check_keys(path: Path, where: str, table: Any, known: Sequence[str], needed: Sequence[str]) -> None:
    """Raise `ReadError` for unknown and missing keys of a table."""
    place = f"{path}{where}"
    if not isinstance(table, dict):
        raise ReadError(place, expected="a table", found=excerpt(table))
    for key in table:
        if key not in known:
            raise ReadError(
                place, expected=f"keys out of {', '.join(known)}", found=f"{key!r}{did_you_mean(key, known)}"
            )
        kinds, what = TYPES[key]
        if not isinstance(table[key], kinds):
            raise ReadError(place, expected=f"{what} for {key}", found=excerpt(table[key]))
    for key in needed:
        if key not in table:
            raise ReadError(place, expected=f"a key {key!r}", found=", ".join(table) or "none")
    for key in RESERVED:
        if key in table.get("settings", {}):
            raise ReadError(place, expected="settings of the protocol", found=f"{key!r}, which the suite sets")


def read_dataset(path: Path, name: str, own: Any, document: Mapping[str, Any]) -> Dataset:
    """Return one dataset; its keys take precedence over those of the suite."""
    where = f": datasets.{name}"
    check_keys(path, where, own, DATASET_KEYS, ("truth", "pred"))
    protocol = own.get("protocol", document.get("protocol", "coco"))
    if protocol not in REGISTRY:
        near = did_you_mean(protocol, REGISTRY)
        raise ReadError(f"{path}{where}", expected=f"one of {', '.join(REGISTRY)}", found=f"{excerpt(protocol)}{near}")
    pred, detectors = own["pred"], document.get("detectors", [])
    if isinstance(pred, str) and MODEL in pred:
        if not detectors or not all(isinstance(one, str) for one in detectors):
            raise ReadError(
                f"{path}{where}", expected=f"detectors = [NAMES] for {MODEL} in pred", found=excerpt(detectors)
            )
        preds = {one: pred.replace(MODEL, one) for one in detectors}
    elif isinstance(pred, str):
        preds = {Path(pred).stem if not detectors else str(detectors[0]): pred}
    else:
        preds = dict(pred) if isinstance(pred, dict) else {}
    if not preds or not all(isinstance(file, str) for file in preds.values()):
        raise ReadError(f"{path}{where}", expected="pred: a file, or a file per detector", found=excerpt(pred))
    settings = {**document.get("settings", {}), **own.get("settings", {})}
    home, table = path.parent, own.get("map")
    chosen = None if table is None else home / table if (home / table).exists() else table
    return Dataset(
        name, home / own["truth"], {one: home / file for one, file in preds.items()}, protocol,
        own.get("metric", document.get("metric")), settings, chosen,
    )  # fmt: skip


class SuiteResults(Display):
    """Scores of detectors on several datasets, and their macro means.

    Parameters
    ----------
    suite : SuiteFile
        The suite.
    results : mapping of str to (mapping of str to Results)
        Results by dataset and detector.

    Examples
    --------
    >>> results = suite("suite.toml")    # doctest: +SKIP
    >>> results.means["hawk"]["AP"]    # doctest: +SKIP
    0.4712
    """

    def __init__(self, suite: SuiteFile, results: Mapping[str, Mapping[str, Results]]) -> None:
        self.suite, self.results = suite, results
        self.name = suite.name
        self.detectors = list(next(iter(results.values())))
        self.metrics: dict[str, str] = {}
        for one in suite.datasets:
            first = next(iter(results[one.name].values()))
            if one.metric is not None and one.metric not in first.scores:
                near = did_you_mean(one.metric, first.scores)
                known = ", ".join(first.scores)
                raise BadParameter(f"metric: {one.name}: expected one of {known}, found {one.metric!r}{near}")
            self.metrics[one.name] = one.metric or next(iter(first.scores))

    @property
    def headline(self) -> str:
        """The score that is shown: that of all datasets, or `score` where they differ."""
        names = set(self.metrics.values())
        return names.pop() if len(names) == 1 else "score"

    def value(self, dataset: str, detector: str) -> float:
        """Return the chosen score of a detector on one dataset."""
        return self.results[dataset][detector][self.metrics[dataset]].value

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Macro means over the datasets by detector: of the chosen score, and of all that every dataset has."""
        found = {}
        shared = set.intersection(*(set(one.scores) for own in self.results.values() for one in own.values()))
        first = next(iter(next(iter(self.results.values())).values()))
        for name in self.detectors:
            own = {self.headline: mean_of([self.value(dataset, name) for dataset in self.results])}
            for score in (one for one in first.scores if one in shared and one not in own):
                own[score] = mean_of([of[name][score].value for of in self.results.values()])
            found[name] = own
        return found

    def main_table(self) -> Table:
        """Return one row per dataset with the chosen score of each detector, and the macro means."""
        columns = {name: [self.value(dataset, name) for dataset in self.results] for name in self.detectors}
        truths = [len(next(iter(own.values())).truth) for own in self.results.values()]
        mean = {name: self.means[name][self.headline] for name in self.detectors}
        return Table.of("dataset", list(self.results), {**columns, "truths": truths}, mean=mean, title=self.headline)

    def contents(self) -> list[Part]:
        datasets = len(self.results)
        signatures = {str(next(iter(own.values())).signature) for own in self.results.values()}
        said = "one weight per dataset" + ("" if self.headline != "score" else "; scores: " + ", ".join(
            f"{name} {metric}" for name, metric in self.metrics.items()))  # fmt: skip
        parts: list[Part] = [f"{self.name}   {datasets} datasets, macro mean with {said}", self.main_table()]
        for dataset, own in self.results.items():
            cuts = describe_cuts({name: result.findings for name, result in own.items()})
            parts += [f"{dataset}: {cut}" for cut in cuts]
        return [*parts, *(Signature.parse(one) for one in sorted(signatures))]

    def to_dict(self) -> JsonObject:
        """Return macro means and the scores of each dataset, by detector."""
        means = self.means
        return {
            "suite": self.name,
            "metric": self.headline,
            "detectors": {
                name: {
                    "mean": means[name],
                    "datasets": {
                        dataset: {
                            "protocol": own[name].protocol,
                            "signature": str(own[name].signature),
                            "metric": self.metrics[dataset],
                            "scores": {key: score.value for key, score in own[name].scores.items()},
                            "truth": {"path": own[name].truth.source.path, "objects": len(own[name].truth)},
                        }
                        for dataset, own in self.results.items()
                    },
                }
                for name in self.detectors
            },
        }

    def to_json(self, *, indent: int = 0) -> str:
        """Return one JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean; nan if a value is absent, because another set of datasets is another score."""
    return nan if not values or any(map(isnan, values)) else _core.mean(list(values))


def suite(path: str | PathLike[str]) -> SuiteResults:
    """Evaluate detectors on several datasets, described by a TOML file.

    Parameters
    ----------
    path : path
        The suite: ``protocol``, ``metric``, ``detectors`` and ``settings`` for all, and a table ``[datasets.NAME]``
        with ``truth`` and ``pred`` for each dataset, which may have its own ``protocol``, ``metric``, ``settings`` and
        ``map``.

    Returns
    -------
    SuiteResults
        Scores per dataset and their macro means.

    Raises
    ------
    ReadError
        If the suite or a file of it cannot be read.
    BadParameter
        If a setting or the metric is unknown.

    Examples
    --------
    >>> suite("suite.toml").means["hawk"]["AP"]    # doctest: +SKIP
    0.4712
    """
    found = SuiteFile.read(path)
    return SuiteResults(found, {one.name: one.evaluate() for one in found.datasets})
