"""The command `verite compare`: two results side by side, and requirements that fail a CI job."""

from __future__ import annotations

from typing import Any

import click

from verite.cli.evaluate import evaluate_each, finish, system_names
from verite.cli.gate import GateSettings, pass_saved, requirements_of
from verite.cli.help import command
from verite.cli.options import INPUT, READING, FolderSettings, OutputSettings, options_for
from verite.cli.output import print_error
from verite.evaluation.settings import EvaluationSettings
from verite.protocols import REGISTRY, protocol_named
from verite.settings import Choice, Option


class CompareSettings(EvaluationSettings):
    """Settings of `verite compare`."""

    protocol: Option[str] = Choice(
        "coco", f"With TRUTH BASE NEW, the evaluation protocol: {', '.join(REGISTRY)}.", (*REGISTRY,), metavar="NAME"
    )


@command(
    params=options_for(CompareSettings, GateSettings, FolderSettings, *READING, OutputSettings),
    epilog="""\b
Examples:
  verite coco truth.json new.json --save new-results.json
  verite compare main-results.json new-results.json
  verite compare main-results.json new-results.json --require "AP>=base-0.005" --require "AP[person]>=0.6"
  verite compare truth.json old.json new.json --require "AP>=base-0.005" --sure 0.95
  verite compare truth/ old/ new/ --protocol voc --require "mAP>=base"
  verite compare main.part new.part --require "AP>=base-0.005" --sure 0.95
Exit codes: 0 all requirements met, 1 data error, 2 usage error, 3 one is not met.""",
)
@click.argument(
    "paths", type=INPUT, nargs=-1, required=True, metavar="BASE.json NEW.json | BASE.part NEW.part | TRUTH BASE NEW"
)
def compare(paths: tuple[str, ...], **given: Any) -> None:
    """Compare two saved results, or two detectors on one ground truth, and check requirements.

    A quoted glob of partial results ('main/*.part') is one detector.
    """
    if len(paths) == 3:
        finish(evaluate_each(paths[0], paths[1:], given, protocol_named(given["protocol"])), given)
        return
    if len(paths) != 2:
        raise click.UsageError(f"expected BASE.json NEW.json, or TRUTH BASE NEW, found {len(paths)} files")
    if any(is_part(path) for path in paths):
        if not all(is_part(path) for path in paths):
            raise click.UsageError("expected two parts or two saved results, found one of each")
        requirements_of(given)
        from verite.formats.shards import find_shards
        from verite.scale.partial import PartialResult, compute

        results = [
            compute([PartialResult.load(part) for part in find_shards(path)], name=name)
            for path, name in zip(paths, system_names(paths), strict=True)
        ]
        finish(results, given)
        return
    from verite.analysis.gate import SavedComparison, read_saved

    base, new = (read_saved(path) for path in paths)
    for line in dict.fromkeys([*base.findings, *new.findings]):
        print_error(line)
    pass_saved(base, new, SavedComparison(base, new), given)


def is_part(path: str) -> bool:
    return path.endswith(".part")
