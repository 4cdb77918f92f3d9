"""The worked examples of Lamiroy and Pierrot, as printed."""

from __future__ import annotations

from fractions import Fraction

TABLE_2 = {
    "A1": ["0101", "0010", "0110", "0110", "1000"],
    "A2": ["0111", "0001", "0110", "0100", "1000"],
    "A3": ["0101", "1001", "0100", "1100", "1100"],
}
TABLE_2_TRUTH = ["0101", "0001", "0110", "0100", "1000"]

TABLE_3 = {"A1": [0, 1, 1, 1, 1, 0, 0, 0, 0, 1], "A2": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]}
TABLE_3_TRUTH = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0]
# Published Monte-Carlo estimates of the probability that A2 stays ahead, 100 000 draws each.
TABLE_3_PUBLISHED = {0.5: 0.3135, 0.2: 0.5893, 0.1: 0.7517}

# The first row of A1 adds up to 0.8 and the truth of the first item has a second 1 at the fourth label, where both
# algorithms say 0; the first 1 is taken.
TABLE_4 = {
    "A1": [
        [0.3, 0.1, 0.4, 0],
        [0.5, 0.2, 0.1, 0.2],
        [0.6, 0.2, 0.1, 0.1],
        [0.4, 0.2, 0.4, 0],
        [0.1, 0.8, 0.1, 0],
        [0.6, 0.3, 0, 0.1],
    ],
    "A2": [
        [0.2, 0.6, 0.2, 0],
        [0, 0.1, 0.8, 0.1],
        [0.5, 0.3, 0.1, 0.1],
        [0.4, 0.3, 0.2, 0.1],
        [0.9, 0.1, 0, 0],
        [0.2, 0.2, 0.2, 0.4],
    ],
}
TABLE_4_TRUTH = [0, 2, 0, 1, 0, 3]
TABLE_4_PUBLISHED = {0.5: 0.6663, 0.4: 0.7353, 0.2: 0.8665}


def cells(rows: list[str]) -> list[int]:
    """Rows of interpretations as one list of cells."""
    return [int(cell) for row in rows for cell in row]


def table_2() -> tuple[list[int], dict[str, list[int]]]:
    return cells(TABLE_2_TRUTH), {name: cells(rows) for name, rows in TABLE_2.items()}


def kept_in_table_3(e: Fraction) -> Fraction:
    """The polynomial of the worked example; the paper prints 3 e^4 where its own numbers need 3 e^3 in the bracket."""
    return 1 - e * (3 - 6 * e + 7 * e**2 - 3 * e**3)
