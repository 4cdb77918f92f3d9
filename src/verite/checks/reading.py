"""What is wrong with records that a reader left out? (V402, and the codes of the readers)"""

from __future__ import annotations

from collections.abc import Iterator

from verite.checks.check import every_check
from verite.checks.findings import Finding
from verite.checks.sides import Side


def find_flaws(side: Side) -> Iterator[Finding]:
    """A finding for each kind of record that is not among the annotations."""
    severities = {check.code: check.severity for check in every_check()}
    remedies = {check.code: check.remedy for check in every_check()}
    for flaw in side.annotations.source.flaws:
        what = "record is" if flaw.count == 1 else "records are"
        message = f"{flaw.count:,} {what} left out: {flaw.what}"
        remedy = flaw.remedy or remedies[flaw.code]
        yield Finding(flaw.code, severities[flaw.code], message, flaw.count, flaw.places, remedy, side.name)
