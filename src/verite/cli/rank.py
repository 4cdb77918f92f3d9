"""How sure is a ranking?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verite.cli.options import checks_option, output_options, read_side, reading_options

if TYPE_CHECKING:
    from verite.ranking.result import Ranking
    from verite.truth_errors.models import ErrorModel


HOW_MANY = (
    "expected an error model, found none: --epsilon E if you know the share of wrong records, --audit K/N if you "
    "checked some again (on items where the algorithms disagree), or --at-most M for the worst case"
)


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Two numbers with something between them."""

    def __init__(self, name: str, between: str, number: type) -> None:
        self.name, self.between, self.number = name, between, number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, Any]:
        try:
            one, two = (self.number(part) for part in str(value).split(self.between))
        except ValueError:
            self.fail(f"expected {self.name}, found {value!r}", param, ctx)
        return one, two


class Bound(click.ParamType):  # type: ignore[type-arg]
    """A number of errors, or a share of all records."""

    name = "M|SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        text = str(value)
        try:
            return int(text) if text.isdecimal() else float(text)
        except ValueError:
            self.fail(f"expected a number of errors such as 20 or a share such as 0.05, found {value!r}", param, ctx)


@click.command(
    epilog="""\b
Examples:
  verite rank table.csv --epsilon 0.2
  verite rank table.csv --audit 5/50 -o results/
  verite rank table.csv --epsilon 0.05 --shared interpretation --correlation 0.1
  verite rank table.csv --at-most 20
  verite rank confidences.csv --epsilon 0.1 --loss logloss --zero 1e-6
  verite rank truth.json a.json b.json c.json --epsilon 0.05 --confidence 0.3 --iou 0.5
A table has the columns item[,interpretation],truth,NAME... with 0 and 1 or labels in them, or
item,label,truth,NAME... with a confidence for every label and truth 1 on the true one.
Exit status: 0 done, 1 the data is at fault, 2 the command is."""
)
@click.argument("paths", nargs=-1, required=True, metavar="TABLE | TRUTH PRED PRED...")
@click.option("--epsilon", type=float, metavar="E",
              help="Each record of the truth is wrong with this probability, independently.")  # fmt: skip
@click.option("--asymmetric", type=Numbers("E0,E1", ",", float),
              help="Records that say 0 are wrong at the first rate, those that say 1 at the second.")  # fmt: skip
@click.option("--rates", metavar="COLUMN", help="The table's column with a rate for every item.")
@click.option("--audit", type=Numbers("K/N", "/", int), help="K of N records checked again were wrong.")
@click.option("--shared", metavar="COLUMN",
              help="With --epsilon: errors come in groups named by this column (item, interpretation, truth, one of "
              "the table's own; label or image for detectors).")  # fmt: skip
@click.option("--correlation", type=float, help="Of two errors in one group.  [default: 0.1]")
@click.option("--exactly", type=int, metavar="M", help="Exactly M records are wrong, no matter which.")
@click.option("--at-most", type=Bound(), help="At most M records, or this share, are wrong: the worst case.")
@click.option("--audited", metavar="COLUMN", help="With --at-most: the column with 1 for records known to be right.")
@click.option("--method", type=click.Choice(["auto", "exact", "montecarlo"]), default="auto", show_default=True,
              help="Exact where possible and else drawn, or one of the two.")  # fmt: skip
@click.option(
    "--draws", type=int, default=100_000, show_default=True, help="Truths drawn where nothing exact is known."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Probability asked of an order that holds.")
@click.option("--kind", type=click.Choice(["binary", "labels", "confidences"]), help="Of the table, if in doubt.")
@click.option("--labels", metavar="A,B,...", help="All labels there are, if the table does not have them all.")
@click.option("--confusion", type=click.Path(), help="Table recorded,LABEL...: where wrong labels move to.")
@click.option("--loss", type=click.Choice(["logloss", "kl_printed"]), default="logloss", show_default=True,
              help="Of confidences: D(truth|answer), or D(answer|truth) as the paper prints it.")  # fmt: skip
@click.option("--zero", type=float, default=1e-9, show_default=True, help="Takes the place of zero confidences.")
@click.option("--tolerance", type=float, default=1e-9, show_default=True, help="Losses that differ by less are equal.")
@click.option("--sums", type=click.Choice(["check", "keep", "scale"]), default="check", show_default=True,
              help="What to do with confidences that do not add up to 1.")  # fmt: skip
@click.option("--confidence", type=float, default=0.5, show_default=True, help="Detectors: from here on a find counts.")
@click.option("--iou", type=float, help="Detectors: overlap from which one is found.  [default: 0.5]")
@click.option("--wrong", type=click.Choice(["reverses", "vanishes"]), default="reverses", show_default=True,
              help="Detectors: finding a wrong object is wrong, or counts for nothing.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Folder for the results and plots.")
@click.option("--no-plot", is_flag=True, help="No plots in the output folder.")
@click.option("--plot-format", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True)
@click.option("--published", type=click.Path(), help="Table first,second,epsilon,kept: points to mark in the plot.")
@reading_options
@checks_option
@output_options
def rank(paths: tuple[str, ...], **given: Any) -> None:
    """How likely an order of algorithms stays as it is if the truth has errors.

    TABLE holds every algorithm's answers beside the recorded ones. Or: TRUTH and two or more PREDs, files or folders in
    any known format; then the items are the objects of the truth, found by a detector or not.
    """
    from verite.cli.output import emit, note

    quiet = given["quiet"] or given["as_json"]
    errors = model_of(given)
    ranking = of_table(paths[0], errors, given) if len(paths) == 1 else of_detectors(paths, errors, given, quiet=quiet)
    if given["output"]:
        save_all(ranking, Path(given["output"]), given)
        note(f"results in {given['output']}\n", quiet=quiet)
    emit(ranking, as_json=given["as_json"], save=given["save"], quiet=quiet)


def model_of(given: dict[str, Any]) -> ErrorModel:
    """The one error model that the options name."""
    from verite.truth_errors.models import Asymmetric, AtMost, Audit, Bernoulli, Exactly, PerItem, Shared

    names = ("epsilon", "asymmetric", "rates", "audit", "exactly", "at_most")
    named = [name for name in names if given[name] is not None]
    if len(named) != 1:
        found = " and ".join(f"--{name.replace('_', '-')}" for name in named)
        raise click.UsageError(f"expected one error model, found {found}" if named else HOW_MANY)
    for name, needed in (
        ("shared", "epsilon"),
        ("correlation", "shared"),
        ("audited", "at_most"),
        ("published", "output"),
    ):
        if given[name] is not None and given[needed] is None:
            raise click.UsageError(f"--{name} goes with --{needed.replace('_', '-')}")
    value = given[named[0]]
    if given["shared"] is not None:
        return Shared(value, 0.1 if given["correlation"] is None else given["correlation"], given["shared"])
    if named[0] == "at_most":
        share = isinstance(value, float)
        return AtMost(None if share else value, value if share else None, given["audited"])
    makers: dict[str, Callable[..., ErrorModel]] = {
        "epsilon": lambda e: Bernoulli(e),
        "asymmetric": lambda rates: Asymmetric(*rates),
        "rates": lambda column: PerItem(column),
        "audit": lambda counts: Audit(*counts),
        "exactly": lambda m: Exactly(m),
    }
    return makers[named[0]](value)


def of_table(path: str, errors: ErrorModel, given: dict[str, Any]) -> Ranking:
    """The ranking of a table of answers."""
    from verite.errors import ReadError
    from verite.ranking.rank import rank as assess
    from verite.ranking.tables import HEADER, is_table

    # A file that looks like a table gets the table reader's own words where it is none.
    if Path(path).suffix.lower() not in (".csv", ".tsv", ".parquet") and not is_table(path):
        raise ReadError(
            path, expected=f"a table with {HEADER}", found="none", remedy="name predictions after a detection truth"
        )
    return assess(path, errors=errors, **pick_settings(given))


def of_detectors(paths: tuple[str, ...], errors: ErrorModel, given: dict[str, Any], *, quiet: bool) -> Ranking:
    """The ranking of detectors by the objects they find."""
    from verite.cli.evaluate import system_names
    from verite.cli.output import describe, note
    from verite.errors import BadParameter
    from verite.model.results import distinct_names
    from verite.ranking.rank import rank as assess
    from verite.ranking.tables import is_table

    if is_table(paths[0]):
        raise BadParameter(f"rank: expected nothing after the table {paths[0]}, found {paths[1]}")
    if len(paths) == 2:
        raise BadParameter(f"rank: expected a table, or a truth and at least two predictions, found one: {paths[1]}")
    truth = read_side(paths[0], "truth", given)
    describe("truth", truth, quiet=quiet)
    predictions = {}
    for path, name in zip(paths[1:], distinct_names(system_names(paths[1:])), strict=True):
        predictions[name] = read_side(path, "pred", given, truth)
        describe("pred", predictions[name], quiet=quiet)
    note("", quiet=quiet)
    return assess(truth, predictions, errors=errors, checks=given["checks"], **pick_settings(given))


def pick_settings(given: dict[str, Any]) -> dict[str, Any]:
    """What is passed on as it is; what does not fit the answers is refused there."""
    names = ("method", "draws", "seed", "level", "kind", "confusion", "loss", "zero", "tolerance", "sums")
    passed = {name: given[name] for name in (*names, "confidence", "iou", "wrong")}
    return passed | {"labels": given["labels"].split(",") if given["labels"] else None}


def save_all(ranking: Ranking, folder: Path, given: dict[str, Any]) -> None:
    """The JSON document, both tables and the plots."""
    from verite.files import make_folder, write_atomically
    from verite.reporting.rank_plots import read_published, save_ranking

    points = read_published(given["published"], ranking.order) if given["published"] else []
    home = make_folder(folder)
    write_atomically(home / "ranking.json", ranking.to_json(indent=1) + "\n")
    write_atomically(home / "ranks.csv", ranking.ranks_to_csv())
    write_atomically(home / "pairs.csv", ranking.to_csv())
    if not given["no_plot"]:
        save_ranking(ranking, home, given["plot_format"], points)
