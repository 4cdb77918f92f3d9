"""The command `verite suite`: detectors on several datasets, with macro means, requirements and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verite.cli.gate import NOT_MET, requirements_of
from verite.cli.help import command
from verite.cli.options import INPUT, FolderSettings, OutputSettings, options_for
from verite.cli.output import emit, fit_width, keep_table, note, print_error, warn
from verite.progress import wait_for
from verite.protocols import REPORTED
from verite.settings import Flag, Names, Option, Settings, Texts


class SuiteSettings(Settings):
    """Settings of `verite suite`."""

    requirements: Texts = Names(
        None, 'Exit with status 3 unless it holds: "AP>=0.5" (mean), "AP[street]>=0.3"; may be repeated.',
        long="require", metavar="LINE", section="Gate",
    )  # fmt: skip
    reports: Option[bool] = Flag(False, "Write an HTML report of each dataset into the folder.", section="Output")


@command(
    params=options_for(SuiteSettings, FolderSettings, OutputSettings),
    epilog="""\b
Examples:
  verite suite suite.toml
  verite suite suite.toml --require "AP>=0.4" --require "AP[street]>=base-0.01"
  verite suite suite.toml -o results/ --reports
Exit codes: 0 all requirements met, 1 data error, 2 usage error, 3 one is not met.""",
)
@click.argument("path", type=INPUT, metavar="SUITE.toml")
def suite(path: str, **given: Any) -> None:
    """Evaluate detectors on several datasets: scores per dataset and their macro means.

    The suite is a TOML file; its paths are relative to it. In requirements, base is the first detector.
    """
    from verite.analysis.gate import Saved
    from verite.analysis.suite import SuiteFile, SuiteResults
    from verite.files import fill_folder, write_atomically

    requirements = requirements_of({"sure": None, "base": None, "summary": False, **given})
    if given["reports"] and not given["output"]:
        raise click.UsageError("--reports: expected -o FOLDER to write them to, found none")
    described = SuiteFile.read(path)
    for one in described.datasets if given["reports"] else ():
        if one.protocol.replace("_", "-") not in REPORTED:
            known = ", ".join(REPORTED)
            raise click.UsageError(f"--reports: expected protocols out of {known}, found {one.protocol} ({one.name})")
    results, said = {}, set[str]()
    for one in described.datasets:
        with wait_for(f"evaluating {one.name}"):
            results[one.name] = one.evaluate()
        for name, result in results[one.name].items():
            warn(result.findings, {"truth": str(one.truth), "pred": str(one.preds[name])}, said)
    found = SuiteResults(described, results)
    quiet = given["quiet"] or given["as_json"]
    if given["output"]:
        with fill_folder(Path(given["output"]), overwrite=given["overwrite"]) as place:
            write_atomically(place / "suite.json", found.to_json(indent=1) + "\n")
            keep_table(place / "suite.csv", found.main_table(), given)
            if given["reports"]:
                # Write one HTML report per dataset, named as the dataset.
                from verite.reporting.report.report import report

                for one in found.suite.datasets:
                    own = found.results[one.name]
                    first = next(iter(own.values()))
                    report(
                        first.truth, {name: result.pred for name, result in own.items()}, place / f"{one.name}.html",
                        protocol=one.protocol, title=one.name, draws=0, **one.settings,
                    )  # fmt: skip
        note(f"results in {given['output']}", quiet=quiet)
    emit(found, given)
    means = found.means
    saved = [
        Saved(name, next(iter(results.values()))[name].signature, "", means[name], {}, {
            dataset: {found.headline: found.value(dataset, name)}
            | {key: score.value for key, score in own[name].scores.items()}
            for dataset, own in results.items()
        })
        for name in found.detectors
    ]  # fmt: skip
    judged = saved[1:] if len(saved) > 1 and any(one.has_base for one in requirements) else saved
    base = saved[0] if len(saved) > 1 else None
    verdicts = [(new.name, one.judge(new, base)) for new in judged for one in requirements]
    for name, verdict in verdicts:
        line = verdict.line if len(judged) == 1 else f"{name}: {verdict.line}"
        if not verdict.is_met:
            print_error(fit_width(f"verite: {line}"))
        else:
            note(f"verite: {line}", quiet=quiet)
    if not all(verdict.is_met for _, verdict in verdicts):
        raise click.exceptions.Exit(NOT_MET)
