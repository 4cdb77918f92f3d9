"""Does the stub of the native core say what the core takes and returns?"""

from tools.stubs import PLACE, describe_core


def test_the_stub_is_what_the_compiled_core_says_of_itself() -> None:
    assert PLACE.read_text(encoding="utf-8") == describe_core(), "the core has changed: run `make stubs`"
