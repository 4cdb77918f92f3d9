"""Memory follows the size of the file, or a named limit refuses it."""

from __future__ import annotations

import pytest

from tests.campaign.proportion import CASES, measure


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_small_file_takes_little_memory_or_is_refused_by_a_named_limit(name, tmp_path):
    found = measure(name, tmp_path)
    assert found.is_in_proportion, f"{found.command}: {found.peak >> 20} MB for {found.size:,} bytes"
    assert found.status == 0 or "VERITE_LIMIT_" in found.said
    assert "Traceback" not in found.said
