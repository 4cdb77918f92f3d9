"""The command `verite bundle`: a scoring program for challenge platforms, Codabench and EvalAI."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from verite import __version__
from verite.cli.help import command
from verite.cli.options import INPUT, options_for
from verite.cli.output import note
from verite.errors import BadParameter, UnknownMetric, did_you_mean, excerpt
from verite.protocols import REGISTRY, protocol_named
from verite.settings import Choice, Flag, Names, Option, Setting, Settings, Text, Texts

if TYPE_CHECKING:
    from verite.model.results import Results

Platform = Literal["codabench", "evalai"]
# Protocols that need no further files beside ground truth and predictions.
PROTOCOLS = tuple(verb for verb in REGISTRY if verb not in ("openimages", "track"))


class BundleSettings(Settings):
    """Settings of `verite bundle`."""

    platform: Option[Platform] = Choice(
        "codabench", "Platform of the challenge: codabench or evalai.", Platform, section="Options"
    )
    protocol: Option[str] = Choice("coco", "Protocol that scores submissions.", PROTOCOLS, metavar="NAME")
    scores: Texts = Names(
        None, "Score of the leaderboard, the first one ranks; may be repeated.", long="score", metavar="NAME",
        default_text="the protocol's first", section="Options",
    )  # fmt: skip
    chosen: Texts = Names(
        None, "Setting of the protocol, such as iou=0.5 or ignored=explicit; may be repeated.", long="set",
        metavar="NAME=VALUE", default_text="the protocol's", section="Options",
    )  # fmt: skip
    title: Option[str | None] = Text(
        None, "Title of the challenge.", default_text="the name of the ground truth", section="Options"
    )
    output: Option[str] = Setting(
        "bundle", "Folder to write to.", short="-o", metavar="FOLDER", section="Output", kind="output_folder"
    )
    overwrite: Option[bool] = Flag(False, "Write into a folder that is not empty.", section="Output")
    quiet: Option[bool] = Flag(False, "Print nothing.", short="-q")


SCORE = '''"""Score a submission; written by verite bundle. bundle.json has the protocol, settings and scores."""

import json
import sys
from pathlib import Path

import verite as vt

ABOUT = json.loads((Path(__file__).resolve().parent / "bundle.json").read_text(encoding="utf-8"))


def only_file(folder):
    """Return the file or folder that was submitted; a folder of several files is a dataset itself."""
    found = sorted(p for p in Path(folder).iterdir() if not p.name.startswith((".", "__")) and p.name != "metadata")
    if not found:
        raise vt.DataError(f"{Path(folder).name}: expected a file, found none")
    return found[0] if len(found) == 1 else Path(folder)


def evaluate(truth, submission):
    """Return the scores of the leaderboard and the results."""
    results = getattr(vt, ABOUT["protocol"])(truth, submission, **ABOUT["settings"])
    scores = {name: results[name].value for name in ABOUT["scores"]}
    absent = [name for name, value in scores.items() if value != value]
    if absent:
        raise vt.DataError(f"submission: expected objects to score, found no value for {', '.join(absent)}")
    return scores, results
'''
CODABENCH = '''

def main():
    """Read ref/ and res/ of the input folder; write scores.json and detailed_results.html."""
    given, output = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        scores, results = evaluate(only_file(given / "ref"), only_file(given / "res"))
    except vt.VeriteError as error:
        sys.exit(f"verite: {error}")
    output.mkdir(parents=True, exist_ok=True)
    (output / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    text = str(results).replace("&", "&amp;").replace("<", "&lt;")
    page = f"<!doctype html><meta charset='utf-8'><title>{results.protocol}</title><pre>{text}</pre>"
    (output / "detailed_results.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
'''
EVALAI = '''"""EvalAI calls evaluate; written by verite bundle."""

import verite as vt

from .score import evaluate as score


def evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs):
    """Return the scores of a submission in EvalAI's shape; an invalid one raises an error with one line."""
    try:
        scores, _ = score(test_annotation_file, user_submission_file)
    except vt.VeriteError as error:
        raise ValueError(str(error)) from None
    return {"result": [{phase_codename: scores}], "submission_result": scores}
'''


@command(
    params=options_for(BundleSettings),
    epilog="""\b
Examples:
  verite bundle truth.json -o challenge/
  verite bundle truth.json --platform evalai --score AP50 --score AP -o challenge/
  verite bundle truth.json --protocol f1 --set iou=0.5 -o challenge/""",
)
@click.argument("truth", type=INPUT)
def bundle(truth: str, **given: Any) -> None:
    """Write a scoring program for a challenge on Codabench or EvalAI.

    The folder has the program that scores a submission, the ground truth, and the leaderboard's configuration.
    """
    settings = BundleSettings(**{key: given[key] for key in BundleSettings.declared if given.get(key) is not None})
    # Settings of a protocol from lines NAME=VALUE, validated; values are JSON or text.
    chosen: dict[str, Any] = {}
    for line in settings.chosen or ():
        name, equals, value = line.partition("=")
        if not equals:
            raise BadParameter(f"set: expected NAME=VALUE, found {excerpt(line)}")
        try:
            chosen[name.strip().replace("-", "_")] = json.loads(value)
        except (ValueError, RecursionError):
            chosen[name.strip().replace("-", "_")] = value
    protocol_named(settings.protocol).settings(**chosen)
    # The scores of the leaderboard, which the protocol must have on this ground truth.
    from dataclasses import replace

    from verite.arrays import np

    protocol = protocol_named(settings.protocol)
    known, _ = protocol.read(truth, truth)
    nothing = known.where(np.zeros(len(known), dtype=np.bool_))
    nothing = replace(nothing, confidence=np.empty(0), flags={}, verdicts=None)
    results: Results = protocol(known, nothing, **{**chosen, "checks": "off"})
    scores = list(settings.scores or [next(iter(results.scores))])
    for name in scores:
        if name not in results.scores:
            near = did_you_mean(name, results.scores)
            raise UnknownMetric(f"score: expected one of {', '.join(results.scores)}, found {excerpt(name)}{near}")
    from verite.files import fill_folder

    title = settings.title or Path(truth).stem
    about = {
        "protocol": settings.protocol.replace("-", "_"),
        "settings": chosen,
        "scores": scores,
        "verite": __version__,
    }
    with fill_folder(Path(settings.output), overwrite=settings.overwrite) as place:
        write = write_codabench if settings.platform == "codabench" else write_evalai
        write(place, Path(truth), title, about)
    said = f"{settings.platform} bundle in {settings.output}: {settings.protocol}, ranked by {scores[0]}"
    note(said, quiet=settings.quiet)


def write_program(place: Path, about: Mapping[str, Any], entry: str) -> None:
    """Write the program that scores a submission, with what it scores.

    Parameters
    ----------
    place
        Folder of the scoring program; it must not exist.
    about
        Protocol, settings and scores, and the version of verite that they are pinned to.
    entry
        How the platform calls the program, as Python source.
    """
    place.mkdir(parents=True)
    (place / "score.py").write_text(SCORE + entry, encoding="utf-8")
    (place / "bundle.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    (place / "requirements.txt").write_text(f"verite=={about['verite']}\n", encoding="utf-8")


def copy_truth(truth: Path, folder: Path) -> None:
    """Copy the ground truth, a file or a folder."""
    folder.mkdir(parents=True)
    if truth.is_dir():
        shutil.copytree(truth, folder / truth.name)
    else:
        shutil.copy(truth, folder / truth.name)


def write_codabench(place: Path, truth: Path, title: str, about: Mapping[str, Any]) -> None:
    """Write scoring_program/, reference_data/ and competition.yaml (version 2)."""
    write_program(place / "scoring_program", about, CODABENCH)
    (place / "scoring_program" / "metadata.yaml").write_text("command: python3 score.py $input $output\n")
    copy_truth(truth, place / "reference_data")
    columns = [
        {"title": name, "key": name, "index": i, "sorting": direction(about, name)}
        for i, name in enumerate(about["scores"])
    ]
    document = {
        "version": 2,
        "title": title,
        "description": f"Scored by verite {about['verite']}: {about['protocol']}",
        "docker_image": "python:3.11",
        "image": "logo.png",
        "terms": "terms.md",
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": [
            {
                "index": 0,
                "name": title,
                "description": "Submit one file of predictions.",
                "reference_data": "reference_data",
                "scoring_program": "scoring_program",
            }
        ],
        "phases": [{"index": 0, "name": "Test", "start": "2030-01-01", "tasks": [0]}],
        "leaderboards": [{"title": title, "key": "main", "columns": columns}],
    }
    # JSON is YAML, too.
    (place / "competition.yaml").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (place / "overview.md").write_text(f"# {title}\n", encoding="utf-8")
    (place / "terms.md").write_text("Terms of the challenge.\n", encoding="utf-8")
    from PIL import Image

    Image.new("RGB", (64, 64), "white").save(place / "logo.png")


def write_evalai(place: Path, truth: Path, title: str, about: Mapping[str, Any]) -> None:
    """Write evaluation_script/, annotations/ and challenge_config.yaml."""
    write_program(place / "evaluation_script", about, "")
    (place / "evaluation_script" / "main.py").write_text(EVALAI, encoding="utf-8")
    (place / "evaluation_script" / "__init__.py").write_text("from .main import evaluate\n", encoding="utf-8")
    copy_truth(truth, place / "annotations")
    schema = {
        "labels": about["scores"],
        "default_order_by": about["scores"][0],
        "metadata": {
            name: {"sort_ascending": direction(about, name) == "asc", "description": name} for name in about["scores"]
        },
    }
    document = {
        "title": title,
        "short_description": f"Scored by verite {about['verite']}",
        "evaluation_script": "evaluation_script.zip",
        "leaderboard": [{"id": 1, "schema": schema}],
        "challenge_phases": [
            {"id": 1, "name": "Test", "codename": "test", "test_annotation_file": f"annotations/{truth.name}"}
        ],
        "dataset_splits": [{"id": 1, "name": "Test", "codename": "test"}],
        "challenge_phase_splits": [
            {"challenge_phase_id": 1, "leaderboard_id": 1, "dataset_split_id": 1, "visibility": 3}
        ],
    }
    (place / "challenge_config.yaml").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def direction(about: Mapping[str, Any], score: str) -> str:
    """Return asc for errors, where less is better, else desc."""
    is_error = protocol_named(str(about["protocol"]).replace("_", "-")).best == 0.0
    return "asc" if is_error else "desc"
