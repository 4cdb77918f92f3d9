"""Are records dataclasses to those who look, and cheap to those who look often?"""

from __future__ import annotations

import dataclasses

from verite.records import record


@record()
class Point:
    x: float
    y: float = 0.0


@record()
class Pin(Point):
    name: str = ""


class Plain(Point):
    """A record's child that declares nothing."""


def test_fields_are_compiled_once():
    assert Point.__dataclass_fields__ is Point.__dataclass_fields__


def test_a_child_has_its_own_fields_whoever_is_looked_at_first():
    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y"]
    assert [field.name for field in dataclasses.fields(Pin)] == ["x", "y", "name"]
    assert [field.name for field in dataclasses.fields(Plain)] == ["x", "y"]


def test_replace_keeps_the_kind_and_changes_what_is_asked():
    moved = dataclasses.replace(Pin(1.0, 2.0, "home"), y=3.0)
    assert moved == Pin(1.0, 3.0, "home")
    assert dataclasses.replace(Point(1.0), x=4.0) == Point(4.0, 0.0)
