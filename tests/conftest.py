"""What several tests need."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would all they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published material beside the project; tests that need it are skipped where it is absent."""
    found = ROOT.parent / "shared"
    if not (found / "oracles").is_dir():
        pytest.skip("needs the folder 'shared' with published data beside the project")
    return found
