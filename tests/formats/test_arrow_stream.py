"""Arrow streams: slices, bits, nulls and absent buffers."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused
from verite.formats.arrow_stream import bits, buffer, nulls, read_bools, read_texts
from verite.formats.arrow_stream import check as check_stream


def test_decimals_of_a_part_of_a_table_are_read():
    pa = pytest.importorskip("pyarrow")
    numbers = [Decimal("1.5"), Decimal("-2.25"), Decimal("30.75"), Decimal("0.5")]
    columns = {name: pa.array(numbers, pa.decimal128(9, 2)) for name in ("x", "y", "width", "height")}
    whole = pa.table({"image": ["a", "b", "c", "d"], "label": ["cat"] * 4, **columns})
    assert vt.read(whole).regions.sizes[:, 0].tolist() == [1.5, -2.25, 30.75, 0.5]
    assert vt.read(whole.slice(1, 2)).regions.sizes[:, 3].tolist() == [-2.25, 30.75]


def test_bits_and_nulls_of_a_part_of_a_table_begin_within_a_byte():
    pa = pytest.importorskip("pyarrow")
    crowd = [i % 3 == 0 for i in range(30)]
    confidence = [None if i % 5 == 0 else i / 100 for i in range(30)]
    columns = {name: [1.0] * 30 for name in ("x", "y", "width", "height")}
    names = [f"{i:02d}" for i in range(30)]
    whole = pa.table({"image": names, "label": ["cat"] * 30, "crowd": crowd, "confidence": confidence, **columns})
    for start, length in ((0, 30), (9, 12), (17, 3)):
        found = vt.read(whole.slice(start, length))
        assert found.crowd.tolist() == crowd[start : start + length]
        assert np.isnan(found.confidence).tolist() == [i % 5 == 0 for i in range(start, start + length)]


def test_a_stream_that_breaks_off_says_why():
    check_stream(SimpleNamespace(), 0, 0)
    silent, loud = (SimpleNamespace(get_last_error=lambda _, said=said: said) for said in (None, b"no disk"))
    assert "expected a stream that can be read, found 'an error'" in refused(check_stream, silent, 0, 5)
    assert "found 'no disk'" in refused(check_stream, loud, 0, 5)


def stretch(*buffers, null_count=-1):
    return SimpleNamespace(buffers=list(buffers), null_count=null_count)


def place(data):
    import ctypes

    held = ctypes.create_string_buffer(bytes(data), len(data))
    return held, ctypes.addressof(held)


def test_bits_are_as_many_as_asked_for_wherever_they_begin():
    held, address = place([0b10101010] * 9)
    for start, length in ((0, 72), (1, 71), (8, 64), (9, 5), (71, 1), (3, 0)):
        assert bits(address, start, length).tolist() == [(start + i) % 2 == 1 for i in range(length)]
    assert len(held) == 9


def test_absent_buffers_are_zeros_and_empty_texts_need_none():
    assert buffer(stretch(None, None), 1, "i4", 0, 3).tolist() == [0, 0, 0]
    held, address = place(np.array([0, 0, 0], np.int32).tobytes())
    assert read_texts(SimpleNamespace(format=b"u"), stretch(None, address, None), 0, 2) == ["", ""]
    assert read_bools(None, stretch(None, None), 0, 0).tolist() == []
    assert nulls(stretch(None), 0, 3) is nulls(stretch(address, null_count=0), 0, 3) is None
    assert nulls(stretch(address), 0, 3).tolist() == [True] * 3
    assert len(held) == 12
