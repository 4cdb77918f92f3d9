"""The commands `verite partial` (evaluate one shard) and `verite merge` (merge partial results)."""

from __future__ import annotations

from functools import partial as bind
from typing import TYPE_CHECKING, Any, ClassVar

import click

from verite.cli import COMMANDS, GROUPS
from verite.cli.evaluate import finish, system_names
from verite.cli.gate import GateSettings
from verite.cli.help import Command, Group, command
from verite.cli.options import INPUT, READING, Given, OutputSettings, options_for, read_side, settings_given
from verite.evaluation.settings import THREADS
from verite.protocols import REGISTRY, protocol_named
from verite.settings import Choice, Flag, Option, Setting, Settings

if TYPE_CHECKING:
    from verite.model.results import Results
    from verite.protocols.protocol import Protocol


class PartialSettings(Settings):
    """Settings of `verite partial`, beside those of the protocol."""

    output: Option[str | None] = Setting(
        None, "File for the partial result.", short="-o", kind="output_file", is_required=True
    )
    quiet: Option[bool] = Flag(False, "Print nothing.", short="-q")


class MergeSettings(Settings):
    """Settings of `verite merge`."""

    output: Option[str | None] = Setting(
        None, "Write the merged partial result to this file.", short="-o", kind="output_file"
    )
    TITLE: ClassVar[str] = "Partial results"
    duplicates: Option[str] = Choice(
        "error", "An image in two partial results: error (refuse it) or first (the first one counts).",
        ("error", "first"),
    )  # fmt: skip
    per: Option[str | None] = Choice(None, "One row of COCO's table per class or threshold.", ("class", "threshold"))
    name: Option[str | None] = Setting(None, "Name of the detector.")
    threads: Option[int | None] = THREADS


class PartialCommands(Group):
    """A subcommand of `partial` per protocol, imported when it is run."""

    def list_commands(self, context: click.Context) -> list[str]:
        from verite.scale.partial import IN_ONE_PIECE

        listed = [name for name, _, _ in GROUPS["Evaluate"] if name in REGISTRY]
        return [name for name in dict.fromkeys([*listed, *REGISTRY]) if name not in IN_ONE_PIECE]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.list_commands(context):
            # The command that evaluates one shard by a protocol.
            protocol = protocol_named(name)
            sides = [click.Argument(["truth"], type=INPUT), click.Argument(["pred"], type=INPUT)]
            return Command(
                protocol.verb,
                callback=bind(evaluate_shard, protocol),
                params=[*sides, *options_for(protocol.settings, PartialSettings, *READING)],
                help=f"Evaluate one shard. {protocol.summary}\n\n{protocol.files}.",
                short_help=COMMANDS.get(protocol.verb, ("", protocol.summary))[1],
            )
        return None


@click.group(
    cls=PartialCommands,
    epilog="""\b
Examples:
  verite partial coco gt/0001.json pred/0001.json -o 0001.part
  verite partial voc truth/ pred/ -t 0.5 -t 0.75 -o a.part
  verite merge *.part""",
)
def partial() -> None:
    """Evaluate one shard and write a partial result: matches and confidences, no boxes and no masks.

    Every image belongs to one shard. The numbers of `verite merge` are, to the last bit, those of all images at once.
    """


def evaluate_in_parts(
    protocol: Protocol[Any, Any], truth: str, preds: tuple[str, ...], given: Given, settings: Given
) -> list[Results]:
    """Return the results of every detector; shards are read and evaluated a few at a time to save memory."""
    from verite.cli.output import note, warn
    from verite.scale.executors import pair_shards
    from verite.scale.partial import check_order, compute
    from verite.scale.partial import partial as evaluate_part

    found = []
    settings = {**settings, "checks": given["checks"]}
    said: set[str] = set()
    more = {key: given[key] for key in ("per", "curves", "threads") if given.get(key)}
    for pred, name in zip(preds, system_names(preds), strict=True):
        pairs = pair_shards(truth, pred, given["parts"])
        parts = []
        for one, two in pairs:
            truths = read_side(one, "truth", given)
            parts.append(evaluate_part(truths, read_side(two, "pred", given, truths), protocol.verb, **settings))
            warn(parts[-1].findings, {"truth": truth, "pred": pred}, said)
        check_order(parts)
        found.append(compute(parts, name=name, **more))
        note(f"{pred}: {len(parts)} parts", quiet=given["quiet"] or given["as_json"])
    return found


def evaluate_shard(protocol: Protocol[Any, Any], truth: str, pred: str, **given: Any) -> None:
    """Evaluate one shard and write the partial result."""
    from verite.cli.output import describe_reading, note, warn
    from verite.scale.partial import partial as evaluate_part

    settings = settings_given(protocol.settings, given)
    protocol.settings(**settings)
    truths = read_side(truth, "truth", given)
    preds = read_side(pred, "pred", given, truths)
    for what, side in (("truth", truths), ("pred", preds)):
        describe_reading(what, side, quiet=given["quiet"])
    part = evaluate_part(truths, preds, protocol.verb, **{**settings, "checks": given["checks"]})
    warn(part.findings, {"truth": truth, "pred": pred}, set())
    part.save(given["output"])
    note(f"{part} in {given['output']}", quiet=given["quiet"])


@command(
    params=options_for(MergeSettings, GateSettings, OutputSettings),
    epilog="""\b
Examples:
  verite merge parts/*.part
  verite merge a.part b.part --json | jq .AP
  verite merge a.part b.part -o ab.part            a partial result of both, to be merged further
  verite merge parts/*.part --require "AP>=0.4"\
""",
)
@click.argument("parts", type=INPUT, nargs=-1, required=True, metavar="PART...")
def merge(parts: tuple[str, ...], **given: Any) -> None:
    """Compute the scores of all shards, or write one merged partial result; the order of PARTs does not matter."""
    from verite.cli.output import note, warn
    from verite.formats.shards import find_shards
    from verite.scale.partial import PartialResult, compute

    quiet = given["quiet"] or given["as_json"]
    partials = [PartialResult.load(path) for word in parts for path in find_shards(word)]
    if given["output"]:
        merged = partials[0].merge(*partials[1:], duplicates=given["duplicates"], threads=given["threads"])
        merged.save(given["output"])
        note(f"{merged} in {given['output']}", quiet=quiet)
        return
    more = {key: given[key] for key in ("per", "name", "threads") if given[key] is not None}
    results = compute(partials, duplicates=given["duplicates"], **{"name": "merged", **more})
    warn(results.findings, {"truth": "truth", "pred": results.name}, set())
    finish([results], {**given, "output": None})
