"""`verite coherence`: contrast of predictions with their surroundings, without ground truth."""

from __future__ import annotations

from typing import Any

import click

from verite.cli.help import command
from verite.cli.options import INPUT, READING, OutputSettings, options_for, read_side
from verite.evaluation.settings import EvaluationSettings
from verite.settings import Option, Setting


class CoherenceSettings(EvaluationSettings):
    """Settings of `verite coherence`."""

    truth: Option[str | None] = Setting(
        None,
        "Ground truth of some images, for the rank correlation of coherence with F1. Also gives names of images and "
        "classes.",
        kind="path",
        metavar="FILE",
        section="Options",
    )
    flipped: Option[str | None] = Setting(
        None,
        "Predictions on images mirrored from left to right: stability.",
        kind="path",
        metavar="FILE",
        section="Options",
    )


@command(
    params=options_for(CoherenceSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite coherence photos/ pred.json --truth truth.json
  verite coherence photos/ pred.json --truth truth.json --flipped b.json""",
)
@click.argument("folder", type=INPUT, metavar="IMAGES")
@click.argument("pred", type=INPUT)
def coherence(folder: str, pred: str, **given: Any) -> None:
    """Measure how far predicted regions differ from their surroundings, without ground truth.

    Coherence is not correctness: with --truth, its rank correlation with F1 per image is printed.
    """
    import verite as vt
    from verite.analysis.coherence import coherence as measure
    from verite.cli.output import describe_reading, emit, note

    quiet = given["quiet"] or given["as_json"]
    truths = read_side(given["truth"], "truth", given) if given["truth"] else None
    predictions = read_side(pred, "pred", given, truths)
    describe_reading("pred", predictions, quiet=quiet)
    flipped = read_side(given["flipped"], "pred", given, truths) if given["flipped"] else None
    quality = None
    if truths is not None:
        found = vt.f1(truths, predictions, checks="off")
        quality = {name: row["F1"] for name, row in found.image_rows().items()}
    note("", quiet=quiet)
    emit(measure(folder, predictions, flipped=flipped, quality=quality), given)
