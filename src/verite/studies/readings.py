"""Which formula is meant? The 38 rows of 2010 exactly as they are printed, and as they are best read.

Printed formulas are taken as they are but for what no reader can avoid: a similarity is turned into a penalty, gray
levels are 1 and 2 because their logarithm is taken, and damage of the machine-read text is mended.
"""

from __future__ import annotations

from dataclasses import dataclass

from verite.metrics.tables import JEI_2010_AS_RUN

JEI_PRINTED = JEI_2010_AS_RUN | {
    "SNR": "snr(variant='raw')",
    "BAH": "bhattacharyya(variant='raw')",
    "BAD1": "baddeley(p=1, variant='printed')",
    "BAD2": "baddeley(p=2, variant='printed')",
    "BAD3": "baddeley(p=3, variant='printed')",
}


@dataclass(frozen=True)
class Switch:
    """Rows that are read otherwise than they are printed, and why."""

    rows: dict[str, str]  # metrics by the study's label
    what: str
    why: str

    def __str__(self) -> str:
        return f"{', '.join(self.rows)}: {self.what}, because {self.why}."


SWITCHES = (
    Switch(
        {"SNR": "snr"},
        "1 / (1 + the printed root)",
        "a ratio of signal to noise is good when large, and the published row fails separation and has the signs of "
        "scale of the inverse",
    ),
    Switch(
        {"BAH": "bhattacharyya(background=2, contour=1, variant='raw')"},
        "gray levels 2 off and 1 on the contour",
        "the paper prints no levels, and these give continuity under scale and both signs under rotation",
    ),
    Switch(
        {f"BAD{p}": f"baddeley(p={p}, variant='as-run')" for p in (1, 2, 3)},
        "the root of the sum, divided by the number of contour pixels",
        "divided by the pixels of the image inside the root, as printed, it would be strictly monotonous under "
        "translation, and section 4.2 says it is not",
    ),
)  # fmt: skip
JEI = JEI_PRINTED | {label: name for switch in SWITCHES for label, name in switch.rows.items()}
