"""What several tests need."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from verite.metrics import catalogue

os.environ["COLUMNS"] = "300"  # tests look at what is printed, not at where a terminal of 80 columns wraps it
ROOT = Path(__file__).parent.parent
QUICK = 1  # set of parameters
SHARE = 10  # of a loop's random cases one in ten


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="Nothing that takes half a second, the first parameters of each."
    )


def pytest_configure(config: pytest.Config) -> None:
    """With --quick a tenth of the examples that hypothesis would invent."""
    if config.getoption("quick"):
        from hypothesis import settings

        settings.register_profile("quick", max_examples=settings().max_examples // SHARE)
        settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --quick a look at everything, in a minute."""
    if not config.getoption("quick"):
        return
    seen: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        marks = {mark.name for mark in item.iter_markers()}  # a folder may have the name of a mark
        is_kept = seen[name] <= QUICK and not {"slow", "thorough", "page"} & marks
        (kept if is_kept else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(scope="session")
def many(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How many random cases a loop tries: `many(5000)` are 5000, and a tenth of that with --quick."""
    return lambda count: count // SHARE if request.config.getoption("quick") else count


# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would all they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """pyplot keeps every figure until somebody closes it, and warns from the twenty-first on."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published material beside the project; tests that need it are skipped where it is absent."""
    found = ROOT.parent / "shared"
    if not (found / "oracles").is_dir():
        pytest.skip("needs the folder 'shared' with published data beside the project")
    return found


@pytest.fixture
def leaves_no_trace() -> Iterator[None]:
    """Examples may declare metrics and put verite in the place of other tools: afterwards everything is as it was."""
    catalogue.records()  # all of ours are on the shelf
    shelves = dict(catalogue.RECORDS), dict(catalogue.ALIASES)
    reference = {name: module for name, module in sys.modules.items() if is_reference(name)}
    yield
    for shelf, kept in zip((catalogue.RECORDS, catalogue.ALIASES), shelves, strict=True):
        shelf.clear()
        shelf.update(kept)
    for name in filter(is_reference, list(sys.modules)):
        del sys.modules[name]
    sys.modules.update(reference)


def is_reference(module: str) -> bool:
    return module.partition(".")[0] in ("pycocotools", "faster_coco_eval", "lvis")
