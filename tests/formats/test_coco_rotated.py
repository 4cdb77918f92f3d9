"""COCO JSON with rotated boxes: units of the angle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.formats.samples import refused
from verite.formats import coco_rotated
from verite.formats.format import Options


def test_angles_are_as_wide_as_their_unit_allows():
    def check(*angles, name="degrees", **given):
        coco_rotated.check_unit(Path("x"), np.array(angles), name, Options(**given))

    turn = coco_rotated.TURN
    check(2 * turn, -2 * turn, name="radians")
    assert "expected angles in radians (V430)" in refused(check, 2.1 * turn, name="radians")
    several = [0.1 * (i + 1) for i in range(coco_rotated.FEWEST)]
    assert "expected angles in degrees (V430)" in refused(check, *several)
    check(*several[1:])  # too few to say
    check(*several[1:], 0.0)
    check(*several, angle="degrees")
    check(*several, turn + 0.1)
    assert "V430" in refused(check, *several, turn)
