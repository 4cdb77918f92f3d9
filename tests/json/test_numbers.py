"""Doubles are those of Python's float, to the last bit; integers are exact."""

import random
import struct

import numpy as np
import pytest

from verite import _core


def hostile_numbers(count, seed):
    pick = random.Random(seed)
    digits = lambda n: "".join(pick.choices("0123456789", k=n))  # noqa: E731
    double = lambda: struct.unpack("<d", struct.pack("<Q", pick.getrandbits(64)))[0]  # noqa: E731

    def finite():
        value = abs(double())
        return value if value < float("inf") else 1.5

    def midpoint():
        """Halfway between two doubles, written in full, or off by one in the last digit."""
        value = pick.choice([finite(), pick.uniform(0, 1000), float(2 ** pick.randint(50, 70)), pick.uniform(0, 1)])
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        mantissa, exponent = (bits & (2**52 - 1)) | (2**52 if bits >> 52 else 0), max(bits >> 52, 1) - 1075
        numerator = 2 * mantissa + 1
        exponent -= 1
        if exponent >= 0:
            return str((numerator << exponent) + pick.choice([-1, 0, 1]))
        whole = str(numerator * 5**-exponent + pick.choice([-1, 0, 1])).rjust(-exponent + 1, "0")
        return whole[:exponent] + "." + whole[exponent:]

    kinds = [
        lambda: repr(pick.uniform(0, 1000)),
        lambda: repr(pick.random()),
        lambda: repr(float(np.float32(pick.uniform(0, 700)))),
        lambda: repr(float(np.float32(pick.random() ** 4))),
        lambda: f"{pick.uniform(0, 1000):.{pick.randint(0, 22)}f}",
        lambda: f"{pick.uniform(0, 1):.{pick.randint(1, 25)}f}",
        lambda: str(int("1" + digits(pick.randint(0, 24)))) + "." + digits(pick.randint(1, 24)),
        lambda: "0." + "0" * pick.randint(0, 18) + digits(pick.randint(1, 19)),
        lambda: str(int(digits(pick.randint(1, 8)))) + "." + digits(pick.randint(1, 18)),
        lambda: str(int(digits(pick.randint(1, 25)))),
        lambda: repr(finite()),
        lambda: f"{finite():.{pick.randint(0, 20)}e}",
        lambda: (
            digits(1)
            + "."
            + digits(pick.randint(1, 30))
            + pick.choice("eE")
            + pick.choice(["", "+", "-"])
            + digits(pick.randint(1, 4))
        ),
        midpoint,
        lambda: str(2 ** pick.randint(0, 200) + pick.randint(-1, 1)),
        lambda: "9" * pick.randint(1, 19) + "." + "9" * pick.randint(1, 19),
        lambda: pick.choice(
            [
                "0.0",
                "0",
                "0.5",
                "1e400",
                "1e-400",
                "2.2250738585072014e-308",
                "2.2250738585072011e-308",
                "5e-324",
                "2.4703282292062327e-324",
                "2.4703282292062328e-324",
                "1.7976931348623157e308",
                "1.7976931348623159e308",
                "9007199254740993",
                "9007199254740992.5",
                "0e0",
                "0.0e-999999999999999999999",
                "1e-999999999999999999999",
                "1e999999999999999999999",
                "0." + "0" * 400 + "1e401",
                "1" + "0" * 400 + "e-400",
                "0.1" + "0" * 800 + "1",
                "8388608.00000001",
                "18446744073709551616",
                "0.00000000000000000001",
            ]
        ),
    ]
    for _ in range(count):
        text = pick.choice(kinds)()
        yield ("-" if pick.random() < 0.1 else "") + text


@pytest.mark.parametrize("block", range(10))
def test_doubles_are_pythons_to_the_last_bit(block):
    numbers = list(hostile_numbers(30_000, block))
    blanks = random.Random(block)
    records = []
    for i in range(0, len(numbers), 6):
        x, y, w, h, score, area = numbers[i : i + 6]
        blank = blanks.choice(["", " "])
        records.append(
            f'{{"image_id":1,"category_id":1,"bbox":[{x},{blank}{y},{blank}{w},{blank}{h}],"score":{blank}{score},"area":{blank}{area}}}'
        )
    content = ("[" + ",".join(records) + "]").encode()
    found = _core.read_coco_bytes(content, 2, piece_bytes=1 << 16).annotations
    columns = np.column_stack([found["bbox"], found["score"], found["area"]]).reshape(-1)
    expected = np.array([float(number) for number in numbers])
    wrong = np.flatnonzero(columns.view(np.int64) != expected.view(np.int64))
    assert wrong.size == 0, [(numbers[i], columns[i], expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("-0.0", 0),
        ("0e99999999999999999999", 0),
        ("7", 7),
        ("-7", -7),
        ("42.0", 42),
        ("42.000e0", 42),
        ("4.2e1", 42),
        ("420e-1", 42),
        ("12345678", 12345678),
        ("123456789", 123456789),
        ("123456789012345", 123456789012345),
        ("1234567890123456", 1234567890123456),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807.000", 2**63 - 1),
        ("922337203685477580.7e1", 2**63 - 1),
        ("9007199254740993.0", 2**53 + 1),
        ("0.00000000000000000000000001e26", 1),
        ("1" + "0" * 30 + "e-30", 1),
        ("-1e18", -(10**18)),
    ],
)
def test_integers_in_every_spelling(text, value):
    for pad in range(3):
        content = f'[{{"image_id":{" " * pad}{text},"category_id":{text}}}]'.encode()
        found = _core.read_coco_bytes(content).annotations
        assert found["image_id"].tolist() == [value]
        assert found["category_id"].tolist() == [value]


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808",
        "-9223372036854775809",
        "1e19",
        "0.5",
        "42.5",
        "1e-1",
        "9223372036854775807.5",
        "1e400",
        "12345678901234567890",
        "4.25e1",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0.1e0",
    ],
)
def test_what_is_no_int64_is_refused(text):
    with pytest.raises(
        _core.ParseError, match="expected an integer of 64 bits, found " + text[:20].replace("+", r"\+")
    ) as caught:
        _core.read_coco_bytes(f'[{{"image_id":{text},"category_id":1}}]'.encode())
    assert caught.value.code == "number"
    assert caught.value.byte == 13
