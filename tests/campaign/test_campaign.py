"""A small part of the campaign in every run: some hundred cases of each kind; `make fuzz` runs as many as you like."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

import verite as vt
from tests.campaign import cases, drop_ins, interrupts, targets
from tests.campaign.__main__ import COMMANDS, watch
from tests.campaign.cases import KINDS, run_case
from tests.campaign.memory import evaluators
from tests.campaign.races import race_files
from tests.campaign.soak import LEFT_OUT, leftovers, list_calls
from tests.cli.examples import commands
from verite.cli.options import INPUT
from verite.files import PACKED
from verite.protocols import REGISTRY
from verite.scale.partial import IN_ONE_PIECE

OURS = [kind for kind in KINDS if "pycocotools" not in kind]
# Kinds whose good files take minutes to make, or whose cases depend on the clock: `make fuzz` runs them.
LONG = ("commands", "truncation races")


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind not in LONG])
def test_every_case_is_a_number_or_refused(kind):
    outcomes = {number: run_case(kind, 7, number) for number in range(120)}
    assert {number: said for number, said in outcomes.items() if said not in ("number", "refused")} == {}
    assert set(outcomes.values()) == {"number", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in OURS if kind not in LONG])
def test_hundreds_more_are_numbers_or_refused(kind):
    outcomes = {number: run_case(kind, 8, number) for number in range(500)}
    assert {number: said for number, said in outcomes.items() if said not in ("number", "refused")} == {}


def test_every_format_is_a_target_and_a_new_one_without_being_listed(monkeypatch):
    from verite import formats
    from verite.formats import all_formats

    monkeypatch.setitem(formats.REGISTRY, "toy", "tests.formats.toy")
    targets.format_targets.cache_clear()
    names = {target.name.split(":")[0].removeprefix("format ") for target in targets.format_targets()}
    targets.format_targets.cache_clear()
    assert names == {format.name for format in all_formats()}
    assert "toy" in names


def test_a_new_format_that_lets_pythons_errors_out_is_caught(monkeypatch):
    """The toy does not count the words of its lines, and nobody told the campaign about it."""
    from verite import formats

    monkeypatch.setitem(formats.REGISTRY, "toy", "tests.formats.toy")
    monkeypatch.setattr(targets, "all_formats", lambda: [formats.format_named("toy")])
    targets.format_targets.cache_clear()
    found = {cases.spoil_one_of(targets.format_targets, random.Random(number)) for number in range(60)}
    targets.format_targets.cache_clear()
    assert any(said.startswith("undocumented ValueError: not enough values to unpack") for said in found)
    assert all("format toy" in said for said in found - {"number", "refused"})


def test_every_archive_and_volume_is_a_target():
    from verite.formats.archives import UNPACKERS

    assert set(UNPACKERS) <= set(targets.PACKERS)
    suffixes = {"".join(target.path.suffixes) for target in targets.volume_targets()}
    assert suffixes == {".npy", ".nii", ".nii.gz", ".tif", ".tiff"}
    assert any(words[-3:] == ["vectors.npy", "--from", "features"] for words in targets.command_lines())
    for target in targets.volume_targets():
        assert '"protocol":"localize"' in target.run().text


def test_a_new_archive_is_fuzzed_without_being_listed(monkeypatch):
    """The toy unpacks nothing and says so in Python's words, which the one reader of archives makes its own."""
    from verite.formats import archives

    given = []

    def unpack(path, folder):
        given.append(path.read_bytes())
        raise LookupError("no members")

    monkeypatch.setitem(archives.UNPACKERS, ".toy", unpack)
    monkeypatch.setattr("verite.formats.PACKED", (*PACKED, ".toy"))
    targets.archive_targets.cache_clear()
    toys = [target for target in targets.archive_targets() if target.path.suffix == ".toy"]
    targets.archive_targets.cache_clear()
    assert len({target.name.split(":")[0] for target in toys}) > 30  # of every format
    said = {cases.spoil(toys[0], random.Random(number)) for number in range(20)}
    assert said == {"refused"}
    assert len(set(given)) > 10


def test_a_new_kind_of_volume_is_fuzzed_without_being_listed(monkeypatch):
    """Its toy reader takes the first byte for a name and lets Python's own error out."""
    from verite.formats import volumes

    def read(path):
        return {0x93: "numpy"}[path.read_bytes()[0]]

    monkeypatch.setattr(volumes, "SUFFIXES", (*volumes.SUFFIXES, ".toy"))
    monkeypatch.setattr(targets, "SUFFIXES", volumes.SUFFIXES)
    monkeypatch.setattr(targets.vt, "read_volume", read)
    monkeypatch.setattr(targets, "measure_volume", lambda path, other: targets.Outcome(read(path), 0))
    targets.volume_targets.cache_clear()
    toys = [target for target in targets.volume_targets() if target.path.suffix == ".toy"]
    targets.volume_targets.cache_clear()
    found = {cases.spoil_one_of(lambda: toys, random.Random(number)).split(":")[0] for number in range(60)}
    assert {"number", "undocumented KeyError"} <= found


class ToyEvaluator:
    """Counts what it is given, and what is no array only when the sum is computed."""

    def __init__(self):
        self.taken = []

    def update(self, preds, targets):
        self.taken += [item["scores"] for item in preds]

    def compute(self):
        return sum(float(len(one)) for one in self.taken)


def test_a_new_evaluator_is_fuzzed_without_being_listed(monkeypatch):
    monkeypatch.setitem(vt.PUBLIC, "ToyEvaluator", __name__)
    monkeypatch.setattr(vt, "ToyEvaluator", ToyEvaluator, raising=False)
    assert "ToyEvaluator" in evaluators()
    monkeypatch.setattr("tests.campaign.memory.evaluators", lambda: {"ToyEvaluator": ToyEvaluator})
    found = {run_case("evaluators", 7, number) for number in range(60)}
    assert any(said.startswith("undocumented") and "ToyEvaluator.update" in said for said in found)
    assert any(said.startswith("lost TypeError") and "ToyEvaluator.compute" in said for said in found)


def test_every_module_of_the_drop_ins_is_fuzzed_and_a_new_one_needs_an_example(tmp_path, monkeypatch):
    assert drop_ins.modules() == set(drop_ins.EXAMPLES)
    (tmp_path / "toy.py").write_text("")
    monkeypatch.setattr("verite.compat.__path__", [*drop_ins.compat.__path__, str(tmp_path)])
    assert drop_ins.modules() - set(drop_ins.EXAMPLES) == {"toy"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", drop_ins.EXAMPLES)
def test_good_data_give_a_number_in_every_module_of_the_drop_ins(name):
    """What is always refused tries nothing. CrowdPose knows no LVIS style, which chance may ask for."""
    make, use = drop_ins.EXAMPLES[name]
    refused = []
    for number in range(20):
        try:
            use(random.Random(number), **make())
        except vt.VeriteError as error:
            refused.append(str(error))
    assert {said.split(":")[0] for said in refused} <= {"lvis_style"}
    assert len(refused) < 3


def test_a_drop_in_that_lets_another_error_out_is_caught(monkeypatch):
    def use(chance, truth):
        return [one.get("id") for one in truth["annotations"]]

    monkeypatch.setattr(drop_ins, "EXAMPLES", {"toy": (lambda: {"truth": drop_ins.TRUTH}, use)})
    found = {run_case("drop-in", 7, number) for number in range(100)}
    assert any(said.startswith("undocumented AttributeError") and "toy(truth)" in said for said in found)


def test_parts_are_of_every_protocol_and_a_new_one_without_being_listed(monkeypatch):
    def protocols():
        cases.whole_parts.cache_clear()
        parts = [vt.PartialResult.from_bytes(part) for pair in cases.whole_parts() for part in pair]
        cases.whole_parts.cache_clear()
        return {part.protocol for part in parts}

    assert protocols() == set(REGISTRY) - set(IN_ONE_PIECE)
    monkeypatch.setitem(REGISTRY, "toy", "verite.protocols.coco")
    with pytest.raises(AttributeError, match="has no attribute 'toy'"):
        protocols()  # the toy is asked for parts, and is not there


def test_a_part_with_impossible_scores_is_silent(monkeypatch):
    part = cases.whole_parts()[0]
    monkeypatch.setattr(cases, "whole_parts", lambda: [part])
    monkeypatch.setattr(cases, "mutated", lambda data, chance: data)
    assert {run_case("parts", 7, number) for number in range(5)} == {"number"}
    broken = SimpleNamespace(scores={"APm": SimpleNamespace(value=6e13)})
    monkeypatch.setattr(vt.PartialResult, "compute", lambda part: broken)
    assert run_case("parts", 7, 1).startswith("silent voc: {'APm': 60000000000000.0}")


@pytest.mark.parametrize(
    ("name", "good", "wanted"),
    [
        ("a.json", b'{"a": [1, 2], "b": "x"}', {b"[" * 10_000, b'{"a":' * 10_000}),
        ("a.yaml", b"names: [cat, dog]\nval: images\n", {b"[" * 10_000, b"- " * 10_000}),
        ("a.xml", b"<a><b>1</b></a>", {b"<object>" * 10_000}),
    ],
)
def test_documents_are_nested_deeply_and_most_of_them_as_their_language_has_it(name, good, wanted):
    from xml.parsers import expat

    made = [cases.nested(good, random.Random(number)) for number in range(200)]
    assert all(any(deep in one for one in made) for deep in wanted)
    if name == "a.xml":
        whole = 0
        for one in made:
            try:
                expat.ParserCreate().Parse(one, True)
            except expat.ExpatError:
                continue
            whole += 1
        assert whole > 80
    if name == "a.json":
        import msgspec

        said = []
        for one in made:
            try:
                msgspec.json.decode(one)
                said.append("whole")
            except RecursionError:
                said.append("deep")
            except msgspec.DecodeError:
                said.append("broken")
        assert said.count("deep") > 30
    assert {cases.worse(good, Path(name), random.Random(number)) for number in range(500)} & set(made)


def unreached() -> set[str]:
    """Files that a command may read and no target gives it."""
    reached = targets.reached_parameters(targets.command_lines())
    return {
        f"{' '.join(words)} {parameter.name}"
        for words, command in commands()
        if words and words[0] not in targets.READ_NOTHING
        for parameter in targets.input_parameters(command)
        if (" ".join(words), parameter.name) not in reached
    }


def test_every_file_that_a_command_reads_is_a_target_and_a_new_option_without_being_listed(monkeypatch):
    from verite.cli import study

    monkeypatch.setattr(study.metrics, "params", [*study.metrics.params, click.Option(["--toy"], type=INPUT)])
    assert unreached() == set()
    assert sum("--toy" in words for words in targets.command_lines()) == len(targets.POOL)


@pytest.mark.slow
def test_every_line_gives_a_number_on_good_files():
    """A line that is always refused reads no file of its option, so that nothing of it is tried."""
    refused = {}
    for target in {target.name.partition(" | ")[0]: target for target in targets.command_targets()}.values():
        try:
            target.run()
        except vt.VeriteError as error:
            refused[target.name.partition(" | ")[0]] = str(error)
    of_partials = {line for line, said in refused.items() if "importance: expected none for partial results" in said}
    assert {line: said for line, said in refused.items() if line not in of_partials} == {}
    assert len(of_partials) == sum(
        words[0] == "partial" and "--importance" in words for words in targets.command_lines()
    )


# What click.Path stands for: files and folders that are written. Whatever is read is an InputPath.
WRITTEN = {"output", "card", "save", "fix", "export", "plot", "target", "folder", "summary"}


def test_a_path_is_written_or_declared_as_read():
    paths = {str(parameter.name) for _, command in commands() for parameter in command.params
             if type(parameter.type) is click.Path}  # fmt: skip
    assert paths <= WRITTEN
    texts = {f"{' '.join(words)} {parameter.opts[-1]}" for words, command in commands() for parameter in command.params
             if any(word in (getattr(parameter, "metavar", "") or "") for word in ("FILE", "FOLDER", "DIR"))
             and not isinstance(parameter.type, click.Path)}  # fmt: skip
    assert texts == set()


def test_every_public_function_that_is_given_data_is_fuzzed(monkeypatch):
    from tests.campaign.memory import data_functions, unknown_parameters

    assert unknown_parameters() == []
    assert {"read", "coco", "voc", "semantic", "rank", "report"} <= set(data_functions())

    def toy(unheard_of):
        """A function of which nothing is known."""

    monkeypatch.setattr("verite.coco", toy)
    assert unknown_parameters() == ["coco(unheard_of)"]


@pytest.mark.slow
def test_files_that_change_while_they_are_read_end_no_process():
    count, outcomes, wrong = race_files(3, 80, float("inf"))
    assert (count, wrong) == (80, [])
    assert outcomes["kinds"] > 35
    assert outcomes["number"] > 0 < outcomes["refused"]


def test_every_public_constructor_from_data_is_fuzzed(monkeypatch):
    from tests.campaign.memory import data_constructors, unknown_constructors

    assert unknown_constructors() == []
    assert {"Annotations.of", "Pairs.of", "ScoreTable.of", "Regions"} <= set(data_constructors())
    monkeypatch.setattr(vt.Volume, "of_slices", classmethod(lambda cls, slices: cls), raising=False)
    assert unknown_constructors() == ["Volume.of_slices(slices)"]


def test_another_number_from_a_file_that_was_cut_off_is_silent(tmp_path, monkeypatch):
    """The judge itself, on a reader that counts bytes and says nothing."""
    path = tmp_path / "a.json"
    path.write_bytes(bytes(100))
    target = targets.Target("toy", path, lambda: targets.Outcome(str(len(path.read_bytes())), 0))
    monkeypatch.setattr(cases, "worse", lambda data, path, chance: data[:50])
    assert cases.spoil(target, random.Random(1)) == "silent 50 of 100 bytes: toy"
    assert len(path.read_bytes()) == 100
    monkeypatch.setattr(cases, "ALLOWED", -(2**40))
    assert cases.spoil(target, random.Random(1)).startswith("memory ")


@pytest.mark.thorough
def test_a_death_and_a_hang_are_counted_and_the_run_goes_on(monkeypatch, tmp_path):
    """The watchdog itself, on workers that end and on one that sleeps."""
    import subprocess
    import sys
    import time

    import tests.campaign.__main__ as campaign

    script = tmp_path / "worker.py"
    script.write_text(
        "import os, sys, time\n"
        "for n in range(int(sys.argv[1]), 6):\n"
        "    print(n, flush=True)\n"
        "    if n == 1: os.abort()\n"
        "    if n == 3: time.sleep(60)\n"
        "    print('undocumented Oops: x' if n == 4 else 'number', flush=True)\n"
    )
    real = subprocess.Popen

    def start(words, **more):
        return real([sys.executable, str(script), words[-2]], **more)

    monkeypatch.setattr(campaign.subprocess, "Popen", start)
    monkeypatch.setattr(campaign, "SILENCE", 8.0)
    count, outcomes, wrong = watch("formats", 1, 0, 6, time.monotonic() + 60)
    assert (count, outcomes) == (6, {"number": 3, "death": 1, "hang": 1, "undocumented": 1})
    assert len(wrong) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("interrupts", "file races")])
def test_commands_under_bad_conditions_do_all_or_nothing(name):
    import time

    run, _ = COMMANDS[name]
    count, outcomes, wrong = run(3, 4, time.monotonic() + 60)
    assert (count, wrong) == (4, [])
    assert set(outcomes) <= {"number", "refused"}


def test_every_command_is_interrupted():
    from verite.cli import verite as program

    context = click.Context(program)
    called = {program.get_command(context, line.split()[0]).name for _, line in interrupts.COMMANDS}
    assert called | interrupts.SHORT == set(program.list_commands(context))
    assert called & interrupts.SHORT == set()


def test_every_public_function_is_called_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def uncalled() -> set[str]:
        functions = {n for n in vt.PUBLIC if callable(getattr(vt, n)) and not isinstance(getattr(vt, n), type)}
        return (functions | set(evaluators()) - {"MeanAveragePrecision"}) - calls - LEFT_OUT

    calls = set(list_calls(tmp_path))
    assert uncalled() == set()
    monkeypatch.setitem(vt.PUBLIC, "find_path", "verite.files")
    assert uncalled() == {"find_path"}


@pytest.mark.filterwarnings("ignore")
def test_what_public_functions_return_pickles(tmp_path: Path) -> None:
    """A new public function is among them: the test above fails where it is not called. Figures are matplotlib's."""
    calls = {name: call for name, call in list_calls(tmp_path).items() if not name.startswith("plot")}
    for name, call in calls.items():
        value = call()
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value), name
        if hasattr(value, "to_json"):
            assert again.to_json() == value.to_json(), name


@pytest.mark.filterwarnings("ignore")
def test_no_public_function_leaves_native_memory_to_the_collector(tmp_path: Path) -> None:
    """What python -m tests.campaign.soak measures in thousands of calls, in one of each."""
    calls = list_calls(tmp_path)
    del calls["rank"]  # its cycles have no native memory: the collector sees them
    left = {name: leftovers(call) for name, call in calls.items()}
    assert {name: kinds for name, kinds in left.items() if kinds} == {}
