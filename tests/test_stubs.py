"""Does the stub of the native core say what the core takes and returns?"""

import pytest


def test_the_stub_is_what_the_compiled_core_says_of_itself() -> None:
    pytest.importorskip("nanobind", reason="nanobind is in the group 'test'")
    from tools.stubs import PLACE, describe_core

    assert PLACE.read_text(encoding="utf-8") == describe_core(), "the core has changed: run `make stubs`"
