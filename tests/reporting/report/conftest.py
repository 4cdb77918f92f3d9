"""Reports that tests look at, each created on first use, and a browser to open them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import verite as vt
from tests.reporting.report.pages import (
    SOME_HOSTILE,
    SYSTEMS,
    TRUTH,
    crowded_pair,
    hostile_pair,
    random_pair,
)

FEWER = {
    "sections.costly_errors.MOST_CROPS": 6,
    "sections.classes.MOST_CURVES": 3,
    "sections.images.MOST_LISTED": 6,
    "sections.images.TALL": 5,
    "sections.slices.MOST_SLICES": 8,
    "report.MOST_DECISIVE": 3,
    "sections.suspicious.MOST_SUSPECTS": 4,
}
CROWD = {"checks": "off", "pictures": "none"}


@pytest.fixture(scope="package")
def browser():
    from tests.reporting.report.browser import launch

    yield from launch()


class Pages:
    """Pages by name."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __getitem__(self, name: str) -> Path:
        path = self.home / f"{name}.html"
        if not path.exists():  # another worker may be making the same: the last one stays
            MAKERS[name](self.home / f"{name}-{os.getpid()}.html").replace(path)
        return path


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """In one place for all workers of a run."""
    home = tmp_path_factory.getbasetemp()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    home = home.parent / f"pages-{run}" if run else home / "pages"
    home.mkdir(exist_ok=True)
    return Pages(home)


def make_hostile(output: Path, **names) -> Path:
    truth, pred = hostile_pair(**names)
    systems = {"<b>x</b>": pred, "__proto__": pred, "long " * 80: pred}
    return vt.report(truth, systems, output, checks="off", draws=20)


def with_fewer(make):
    """The same page: every section and every kind of row, but of each fewer."""

    def made(output: Path) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            for limit, most in FEWER.items():
                patch.setattr(f"verite.reporting.report.{limit}", most)
            return make(output)

    return made


def make_short(output: Path) -> Path:
    """A page whose budget leaves a few wrong predictions out."""
    pair = random_pair(3, 2000)
    high = vt.report(*pair, output, **CROWD).stat().st_size
    low = high // 2
    for _ in range(7):
        middle = (low + high) // 2
        left_out = vt.read_report(vt.report(*pair, output, budget=middle, **CROWD))["systems"][0]["packed"]["left_out"]
        low, high = (middle, high) if left_out else (low, middle)
    return vt.report(*pair, output, budget=low, **CROWD)


def make_many(output: Path) -> Path:
    truth, pred = random_pair(80)
    return vt.report(truth, {f"system {k}": pred for k in range(10)}, output, checks="off", draws=5)


MAKERS = {
    "one": lambda output: vt.report(TRUTH, SYSTEMS["hawk"], output, pictures="embed"),
    "three": lambda output: vt.report(TRUTH, SYSTEMS, output, pictures="embed"),
    "hostile": make_hostile,
    "masks": lambda output: vt.report(TRUTH, SYSTEMS["hawk"], output, pictures="none", on="mask"),
    "crowded": lambda output: vt.report(*crowded_pair(), output, **CROWD),
    "free": lambda output: vt.report(*crowded_pair(), output, matching="label-free", **CROWD),
    "short": make_short,
    "tight": lambda output: vt.report(*random_pair(3, 2000), output, budget=200_000, **CROWD),
    "many": make_many,
}
MAKERS |= {f"small {name}": with_fewer(MAKERS[name]) for name in ("one", "three")}
MAKERS["small hostile"] = with_fewer(lambda output: make_hostile(output, names=SOME_HOSTILE))
