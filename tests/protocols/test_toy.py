"""A protocol of one's own: declared in a few lines, it is a verb, in the help, the reference, signatures and JSON, and
every common test asks it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.protocols import test_properties
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import ClassSettings
from verite.model.tables import Table
from verite.protocols import REGISTRY
from verite.protocols.protocol import protocol
from verite.settings import Choice, Constant, Option


class CountingSettings(ClassSettings):
    on = Constant("count")
    surplus: Option[str] = Choice("punish", "Whether too many objects are as wrong as too few.", ("punish", "forgive"))


class CountingResults(vt.Results):
    def __init__(self, settings: CountingSettings, truth: vt.Annotations, pred: vt.Annotations, findings: Any) -> None:
        self.shares = [share_of(settings, truth, pred, label) for label in range(len(truth.labels))]
        present = [share for share in self.shares if not np.isnan(share)]
        signature = settings.signature("counting")
        super().__init__(
            protocol="counting",
            signature=signature,
            scores={"right": (float(np.mean(present)) if present else np.nan, signature)},
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def class_names(self) -> list[str]:
        return list(self.truth.labels.all_names)

    def class_scores(self) -> dict[str, list[float]]:
        return {"right": self.shares}

    def class_table(self) -> Table:
        return Table.of("class", self.class_names, {"right": self.shares})

    def details(self) -> dict[str, Any]:
        classes = {name: {"right": share} for name, share in zip(self.class_names, self.shares, strict=True)}
        return {"right": self.scores["right"].value, "classes": classes}


def share_of(settings: CountingSettings, truth: vt.Annotations, pred: vt.Annotations, label: int) -> float:
    """The share of the objects of a class that are there in number, whatever their place."""
    wanted, found = int((truth.label == label).sum()), int((pred.label == label).sum())
    if not wanted:
        return np.nan
    worst = max(wanted, found) if settings.surplus == "punish" else wanted
    return min(wanted, found) / worst


@protocol(CountingSettings, examples="\nverite counting truth.json pred.json")
def counting(truth: vt.Annotations, pred: vt.Annotations, settings: CountingSettings) -> CountingResults:
    """Whether there are as many objects of each class as there should be."""
    truth, pred, findings = prepare(truth, pred, settings.checks)
    truth, pred = settings.choose(truth, pred)
    return CountingResults(settings, truth, pred, findings)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one line that a new protocol needs elsewhere."""
    monkeypatch.setitem(REGISTRY, "counting", __name__)
    yield
    test_properties.evaluate.cache_clear()


def common_tests() -> list[str]:
    """The tests of all protocols that need nothing but one."""
    return [
        name
        for name, test in vars(test_properties).items()
        if name.startswith("test_") and "protocol" in inspect.signature(test).parameters
    ]


def test_there_are_common_tests() -> None:
    assert len(common_tests()) > 15


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", common_tests())
def test_a_new_protocol_passes_what_all_are_asked(name: str, tmp_path: Any, capsys: Any) -> None:
    test = getattr(test_properties, name)
    known = {"protocol": counting, "tmp_path": tmp_path, "capsys": capsys, "has_pred": True, "seed": 7}
    given = {key: known[key] for key in inspect.signature(test).parameters}
    test(**given)


def test_its_signature_names_its_settings() -> None:
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    pred = vt.Annotations.of(["a"], ["cat"], [[50, 50, 59, 59]], confidence=[0.5])
    results = counting(truth, pred, checks="off", surplus="forgive")
    assert str(results.signature) == "counting|on:count|surplus:forgive|rev:1"
    assert results.scores["right"].value == 0.5
