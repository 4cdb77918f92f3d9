"""What people type, and what they get: output, one clear line, or an exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import verite as vt
from verite.cli import COMMANDS, run
from verite.cli.evaluate import system_names
from verite.formats import REGISTRY

DATA = Path(str(files("verite") / "data"))
TRUTH, PRED = str(DATA / "example" / "truth"), str(DATA / "example" / "pred")


@pytest.fixture
def typed(capsys):
    """Run a command: its exit status, standard output and standard error."""

    def run_words(*words: object):
        status = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return status, out, err

    return run_words


def complaint(err: str) -> str:
    """The one line that says what is wrong."""
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("verite: ")
    return lines[0]


def test_voc_prints_the_published_number(typed):
    status, out, err = typed("voc", TRUTH, PRED, "-t", "0.3")
    assert status == 0
    assert "mAP 0.2457" in out
    assert "read as text folder" in err


def test_eleven_points_are_an_option(typed):
    _, out, _ = typed("voc", TRUTH, PRED, "--iou", "0.3", "--interpolation", "11")
    assert "mAP 0.2684" in out


def test_json_is_the_only_thing_on_standard_output(typed):
    status, out, err = typed("voc", TRUTH, PRED, "-t", "0.3", "--json")
    document = json.loads(out)
    assert status == 0
    assert err == ""
    assert document["protocol"] == "voc"
    assert document["mAP"] == pytest.approx(356 / 1449)


def test_save_writes_the_document(typed, tmp_path):
    target = tmp_path / "results.json"
    typed("voc", TRUTH, PRED, "-t", "0.3", "--save", target, "--quiet")
    assert json.loads(target.read_text())["mAP"] == pytest.approx(356 / 1449)


def test_output_folder_has_results_tables_and_plots(typed, tmp_path):
    typed("voc", TRUTH, PRED, "-t", "0.3", "-o", tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {"results.json", "classes.csv", "pr-all-classes.png", "pr-person.png"}


@pytest.mark.parametrize(("format", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_come_in_three_formats(typed, tmp_path, format, start):
    typed("voc", TRUTH, PRED, "-o", tmp_path, "--plot-format", format)
    assert (tmp_path / f"pr-person.{format}").read_bytes().startswith(start)


def test_no_plot_leaves_the_plots_out(typed, tmp_path):
    typed("voc", TRUTH, PRED, "-o", tmp_path, "--no-plot")
    assert {p.name for p in tmp_path.iterdir()} == {"results.json", "classes.csv"}


def test_several_systems_are_compared(typed, tmp_path):
    harbour = DATA / "demo"
    words = ("voc", harbour / "truth.json", *(harbour / f"{name}.json" for name in ("hawk", "magpie", "mole")))
    status, out, _ = typed(*words, "-o", tmp_path, "--no-plot")
    assert status == 0
    assert out.splitlines()[0].split() == ["class", "hawk", "magpie", "mole"]
    assert {p.name for p in tmp_path.iterdir()} == {"hawk", "magpie", "mole", "comparison.csv", "standing.csv"}
    _, out, _ = typed(*words, "--json")
    assert list(json.loads(out)["systems"]) == ["hawk", "magpie", "mole"]


def test_accumulated_table_is_printed_on_request(typed):
    _, out, _ = typed("voc", TRUTH, PRED, "-t", "0.3", "--table", "person")
    assert "acc TP  acc FP  precision  recall" in out


def test_systems_are_named_by_what_tells_them_apart():
    assert system_names(("a/x.json", "b/x.json", "c.json")) == ["a-x", "b-x", "c"]
    assert system_names(("runs/a/pred", "runs/b/pred")) == ["a-pred", "b-pred"]


@pytest.mark.parametrize("verb", ["", *COMMANDS])
def test_every_help_has_examples(typed, verb):
    status, out, _ = typed(*([verb] if verb else []), "--help")
    assert status == 0
    assert "Examples:" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_all_of_its_options(typed, command):
    """`--help-all` is the whole help; where nothing is left out of `--help`, both are the same."""
    status, whole, _ = typed(command, "--help-all")
    short = typed(command, "--help")[1]
    assert status == 0
    assert whole == short or len(whole) > len(short)
    assert ("--help-all" in short) == (whole != short)


def test_help_finds_formats_and_metrics(typed):
    assert typed("help", "yolo") == typed("formats", "yolo")
    assert typed("help", "AP")[1] == typed("metrics", "AP")[1]
    assert typed("help", "iou")[1].startswith("iou: Intersection over union")
    status, _, said = typed("help", "yollo")
    assert status == 2
    assert "did you mean 'yolo'?" in complaint(said)


def test_commands_of_one_shard_have_the_sections_and_order_of_the_others(typed):
    listed = typed("partial", "--help")[1]
    assert 0 < listed.index("\n  coco ") < listed.index("\n  voc ") < listed.index("\n  oc-cost ")
    out = typed("partial", "coco", "--help")[1]
    assert all(f"\n{title}:" in out for title in ("Options", "Matching", "Ground truth and formats"))
    assert "[default: (" not in out


def test_class_means_one_thing_in_every_help(typed):
    """`--class` restricts the evaluation; the class of tables without classes is `--class-name`; both are accepted."""
    for command in ("coco", "f1", "localize"):
        assert "--class NAME" in typed(command, "--help")[1]
    for command in ("inspect", "convert"):
        out = typed(command, "--help-all")[1]
        assert "--class-name NAME" in out
        assert "--class " not in out
    sides = ("voc", TRUTH, PRED, "-t", "0.3", "--json")
    assert typed(*sides, "--labels", "person") == typed(*sides, "--class", "person")
    assert typed(*sides, "--classes", "person") == typed(*sides, "--class", "person")


def test_version_is_printed(typed):
    assert typed("--version") == (0, f"verite {vt.__version__}\n", "")


def test_wrong_verb_gets_a_suggestion(typed):
    status, out, err = typed("vok", TRUTH, PRED)
    assert (status, out) == (2, "")
    assert "did you mean 'voc'?" in complaint(err)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--iou-thr", "0.5"], ["--iou", "0.5"]),
        (["--threshold=0.75"], ["--iou", "0.75"]),
        (["--score-thr", "0.5"], ["--confidence", "0.5"]),
        (["--conf-thres=0.5"], ["--confidence", "0.5"]),
        (["--iou-type", "bbox"], ["--on", "box"]),
        (["--iouType", "bbox"], ["--on", "box"]),
        (["--maxDets", "1,10,50"], ["-n", "1", "-n", "10", "-n", "50"]),
        (["--jobs", "1"], ["--threads", "1"]),
        (["--per-class"], ["--per", "class"]),
    ],
)
def test_spellings_of_other_tools_mean_the_same_option(typed, words, meant):
    demo = Path(str(files("verite") / "data" / "demo"))
    sides = (str(demo / "truth.json"), str(demo / "hawk.json"), "--json")
    assert typed("coco", *sides, *words) == typed("coco", *sides, *meant)


def test_coco_is_the_format_of_both_sides(typed):
    demo = Path(str(files("verite") / "data" / "demo"))
    sides = (str(demo / "truth.json"), str(demo / "hawk.json"), "-q")
    assert typed("coco", *sides, "--format", "coco") == typed("coco", *sides)


@pytest.mark.parametrize("words", [["--gt", "{truth}", "--dt", "{pred}"], ["--dt={pred}", "--gt={truth}"]])
def test_sides_may_be_named(typed, words):
    demo = Path(str(files("verite") / "data" / "demo"))
    truth, pred = str(demo / "truth.json"), str(demo / "hawk.json")
    named = [word.format(truth=truth, pred=pred) for word in words]
    assert typed("coco", "--json", *named) == typed("coco", "--json", truth, pred)
    assert typed("coco", truth, pred, "--json", "--pred", str(demo / "mole.json")) == typed(
        "coco", truth, pred, str(demo / "mole.json"), "--json"
    )


@pytest.mark.parametrize(
    ("flag", "spelling"),
    [("-gtformat", "--truth-boxes"), ("-detformat", "--pred-boxes"), ("-gtcoords", "--truth-coords"),
     ("-detcoords", "--pred-coords"), ("-imgsize", "--image-size"), ("-sp", "--output"), ("-np", "--no-plot"),
     ("-gt", "TRUTH PRED"), ("-det", "TRUTH PRED"), ("--gtfolder", "TRUTH PRED"), ("--detfolder", "TRUTH PRED")],
)  # fmt: skip
def test_options_of_pascalvoc_are_answered_with_the_spelling_here(typed, flag, spelling):
    """Every option of its help but -h, -v and -t, which are options here, too."""
    assert spelling in complaint(typed("voc", flag, "x")[2])


def test_voc_without_arguments_evaluates_the_folders_of_pascalvoc(typed, tmp_path, monkeypatch):
    """24.57 % at IoU 0.3 is the number of Object-Detection-Metrics' page for its worked example."""
    monkeypatch.chdir(tmp_path)
    status, _, said = typed("voc")
    assert status == 2
    assert "groundtruths/ and detections/" in complaint(said)
    shutil.copytree(TRUTH, "groundtruths")
    status, _, said = typed("voc")
    assert status == 2
    assert "'TRUTH'" in complaint(said)
    shutil.copytree(PRED, "detections")
    assert json.loads(typed("voc", "-t", "0.3", "--json")[1])["mAP"] == pytest.approx(0.2457, abs=5e-5)
    assert typed("voc", "groundtruths")[0] == 2  # one side alone is not completed


def test_words_of_other_tools_work(typed):
    """`--on bbox`, lists and ranges of numbers, and `help COMMAND`."""
    demo = Path(str(files("verite") / "data" / "demo"))
    truth, pred = str(demo / "truth.json"), str(demo / "hawk.json")
    plain = typed("coco", truth, pred, "--json")[1]
    for words in (["--on", "bbox"], ["-t", "0.5:0.95"], ["--iou", "0.5:0.05:0.95"], ["--max-dets", "1,10,100"]):
        assert json.loads(typed("coco", truth, pred, "--json", *words)[1]) == json.loads(plain)
    assert typed("help", "coco")[1] == typed("coco", "--help")[1]
    assert "expected numbers such as" in typed("coco", truth, pred, "-t", "0.5:x")[2]


def test_help_is_short_and_all_of_it_is_there(typed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = typed("coco", "--help")[1], typed("coco", "--help-all")[1]
    assert len(short.splitlines()) <= 90
    assert "--pred-angle" in whole
    assert "--pred-angle" not in short
    for title in ("Options", "Matching", "Ground truth and formats", "Output", "Statistics", "Gate"):
        assert f"\n{title}:" in short
    for summary in (summary for _, summary in COMMANDS.values()):
        assert len(summary) <= 48
        assert summary in typed("--help")[1]


def test_legend_explains_the_scores(typed):
    demo = Path(str(files("verite") / "data" / "demo"))
    sides = (str(demo / "truth.json"), str(demo / "hawk.json"), "--quiet")
    plain, explained = typed("coco", *sides)[1], typed("coco", *sides, "--legend")[1]
    assert "interpolated at 101 recalls" not in plain
    assert "AP: mean over classes of average precision at IoU 0.50 to 0.95" in explained
    assert "small 0 to 1024 px²" in explained


def test_wide_tables_and_lines_fit_the_terminal(typed, monkeypatch):
    demo = Path(str(files("verite") / "data" / "demo"))
    monkeypatch.setenv("COLUMNS", "80")
    signed = ("settings: ", "  signature ")
    for words in (
        ("analyse", str(demo / "truth.json"), str(demo / "hawk.json"), "--quiet"),
        ("metrics",),
        ("metrics", "gce"),
    ):
        wide = [line for line in typed(*words)[1].splitlines() if len(line) > 80 and not line.startswith(signed)]
        assert wide == []


def test_formats_are_listed_and_described(typed):
    out = typed("formats")[1]
    assert all(name in out for name in REGISTRY)
    assert "data.yaml" in typed("formats", "yolo")[1]
    assert "did you mean 'yolo'" in typed("formats", "yollo")[2]


def test_wrong_option_gets_a_suggestion(typed):
    status, _, err = typed("voc", TRUTH, PRED, "--interpolaton", "11")
    assert status == 2
    assert "--interpolation" in complaint(err)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("coco", "--iou", "1.5"), "--iou: "),
        (("coco", "--class", "dogs"), "--class: "),
        (("coco", "--require", "mAP>0.5"), "--require: "),
        (("partial", "coco", "-o", "x.part", "--class", "dogs"), "--class: "),
        (("analyse", "--only", "error"), "--only: "),
        (("localize", "-m", "iuo"), "--metric: "),
        (("rank", "--epsilon", "2"), "--epsilon: "),
        (("convert", "--to", "ylo"), "--to: "),
    ],
)
def test_wrong_values_name_the_option_that_was_typed(typed, words, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo = Path(str(files("verite") / "data" / "demo"))
    table = str(files("verite") / "data" / "ranking" / "table2.csv")
    sides = {"rank": (table,), "convert": (str(demo / "truth.json"), "out")}
    place = 2 if words[0] == "partial" else 1
    inputs = sides.get(words[0], (str(demo / "truth.json"), str(demo / "hawk.json")))
    status, _, err = typed(*words[:place], *inputs, *words[place:])
    assert status == 2
    assert err.splitlines()[-1].startswith(f"verite: {option}")


def test_wrong_class_gets_a_suggestion(typed):
    status, _, err = typed("voc", TRUTH, PRED, "--class", "persn", "--quiet")
    assert status == 2
    assert "did you mean 'person'?" in complaint(err)


def test_wrong_metric_gets_a_suggestion(typed):
    status, _, err = typed("metrics", "voc_app")
    assert status == 2
    assert "did you mean 'voc_ap'?" in complaint(err)


@pytest.mark.parametrize(
    "words",
    [
        ("voc", TRUTH),
        ("voc", TRUTH, PRED, "-t", "x"),
        ("voc", TRUTH, PRED, "-t", "1.5", "-q"),
        ("voc", TRUTH, PRED, "--truth-boxes", "xyzw", "-q"),
        ("voc", TRUTH, PRED, "--pred-coords", "inches", "-q"),
        ("voc", TRUTH, PRED, "--image-size", "600", "-q"),
        ("voc", TRUTH, PRED, "--format", "cocoa", "-q"),
        ("convert", TRUTH, "out", "--to", "xml"),
    ],
)
def test_wrong_command_is_status_2_and_one_line(typed, words):
    status, out, err = typed(*words)
    assert (status, out) == (2, "")
    assert "expected" in complaint(err) or "Missing" in err or "not a valid" in err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "nothing.json", "found nothing"),
        (lambda p: p, "an empty folder"),
        (lambda p: write(p / "empty.json", ""), "an empty file"),
        (lambda p: write(p / "notes.md", "hello"), "a format known to verite"),
        (lambda p: write(p / "cut.json", '[{"image_id": 1, "categ'), "was it cut off?"),
    ],
)
def test_wrong_data_is_status_1_and_one_line(typed, tmp_path, make, message):
    status, out, err = typed("voc", TRUTH, make(tmp_path), "--quiet")
    assert (status, out) == (1, "")
    assert message in complaint(err)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_wrong_data_leaves_no_file_behind(typed, tmp_path):
    status, _, _ = typed("voc", TRUTH, write(tmp_path / "cut.json", "[{"), "--save", tmp_path / "out.json", "-q")
    assert status == 1
    assert [p.name for p in tmp_path.iterdir()] == ["cut.json"]


def corners(tmp_path: Path) -> Path:
    """The hawk's boxes written as corners."""
    records = json.loads((DATA / "demo" / "hawk.json").read_text())
    for record in records:
        x, y, w, h = record["bbox"]
        record["bbox"] = [x, y, x + w, y + h]
    return write(tmp_path / "corners.json", json.dumps(records))


def test_everyday_mistake_stops_with_the_option_that_mends_it(typed, tmp_path):
    truth, wrong = DATA / "demo" / "truth.json", corners(tmp_path)
    status, out, err = typed("voc", truth, wrong, "--quiet")
    assert (status, out) == (1, "")
    assert "V101" in complaint(err)
    assert "--pred-boxes xyxy" in err
    status, mended, _ = typed("voc", truth, wrong, "--quiet", "--pred-boxes", "xyxy")
    _, right, _ = typed("voc", truth, DATA / "demo" / "hawk.json", "--quiet")
    assert status == 0
    assert mended.split()[1:3] == right.split()[1:3]


def test_checks_can_be_overruled(typed, tmp_path):
    status, out, err = typed("voc", DATA / "demo" / "truth.json", corners(tmp_path), "--checks", "warn", "--quiet")
    assert status == 0
    assert "mAP" in out
    assert "V101" in err


def test_inspect_names_the_mistake_and_fails(typed, tmp_path):
    status, out, _ = typed("inspect", DATA / "demo" / "truth.json", corners(tmp_path))
    assert status == 1
    assert "V101" in out


def test_inspect_of_healthy_files_finds_nothing(typed):
    status, out, _ = typed("inspect", DATA / "demo" / "truth.json", DATA / "demo" / "hawk.json", "--json")
    assert status == 0
    found = [[finding["code"] for finding in file["findings"]] for file in json.loads(out)["files"]]
    assert found == [[], ["V308"]]  # a note: the hawk keeps what it is not sure of to itself


def test_convert_says_what_is_lost(typed, tmp_path):
    status, _, err = typed("convert", DATA / "demo" / "truth.json", tmp_path / "out", "--to", "voc")
    assert status == 0
    assert "because Pascal VOC XML cannot hold it: area, class id, crowd, image id" in err
    again = vt.read(tmp_path / "out")
    assert len(again) == len(vt.read(DATA / "demo" / "truth.json"))


def test_demo_is_short_leaves_a_page_and_can_be_run_again(typed, tmp_path):
    for _ in range(2):
        status, out, _ = typed("demo", tmp_path / "tour")
        assert status == 0
        assert out.count("\n") <= 60
    assert vt.read_report(tmp_path / "tour" / "report.html")["systems"]
    for name in ("truth", "hawk", "magpie", "mole"):
        assert (tmp_path / "tour" / "harbour" / f"{name}.json").exists()


@pytest.mark.thorough
def test_quiet_demo_says_where_the_page_is_and_nothing_else(typed, tmp_path):
    status, out, err = typed("demo", tmp_path / "tour", "--quiet")
    assert (status, out, err) == (0, f"{tmp_path / 'tour' / 'report.html'}\n", "")
    assert (tmp_path / "tour" / "report.html").exists()


@pytest.mark.slow
def test_long_demo_runs_every_verb(typed, tmp_path):
    status, out, _ = typed("demo", tmp_path / "tour", "--long")
    assert status == 0
    for verb in set(COMMANDS) - {"demo", "completion"}:
        assert f"$ verite {verb}" in out
    assert (tmp_path / "tour" / "results" / "harbour" / "hawk" / "pr-all-classes.png").exists()


def test_demo_never_writes_over_somebody_elses_files(typed, tmp_path):
    (tmp_path / "mine").write_text("x")
    status, _, err = typed("demo", tmp_path)
    assert status == 1
    assert "a new or empty folder" in complaint(err)
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered_for_three_shells(typed, shell):
    status, out, _ = typed("completion", shell)
    assert status == 0
    assert "_VERITE_COMPLETE" in out


def verite(*words: object, **more):
    program = [sys.executable, "-c", "from verite.cli import main; main()", *map(str, words)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def completed(words: str, shell: str = "bash") -> list[str]:
    """What the shell is told about the last word, line by line."""
    count = str(len(words.split()) - (not words.endswith(" ")))
    last = "" if words.endswith(" ") else words.split()[-1]
    asked = {"COMP_WORDS": words, "COMP_CWORD": last if shell == "fish" else count}
    program = shutil.which("verite", path=str(Path(sys.executable).parent))
    assert program
    environment = os.environ | asked | {"_VERITE_COMPLETE": f"{shell}_complete"}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_completion_completes_verbs():
    assert completed("verite insp") == ["plain,inspect"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("words", ["coco tr", "coco truth.json tr", "merge tr", "coco a b --names tr", "rank tr"])
def test_names_of_files_are_left_to_the_shell(words, shell):
    assert completed(f"verite {words}", shell)[0].split(",")[0] == "file"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("convert a b --to yolo", ["yolo-pose", "yolo"]),
        ("coco a b --truth-format coco-re", ["coco-results"]),
        ("coco a b --pred-boxes xy", ["xyxy", "xywh"]),
        ("localize a b -m hausd", ["hausdorff"]),
        ("metrics voc_", ["voc_ap"]),
        ("voc a b --interpolation 1", ["11", "101"]),
    ],
)
def test_names_are_completed_from_their_lists(words, expected):
    assert completed(f"verite {words}") == [f"plain,{name}" for name in expected]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_the_files_of_the_folder(tmp_path):
    """The function that `verite completion bash` prints, asked as bash asks it; `compopt` works within bash alone."""
    program = shutil.which("verite", path=str(Path(sys.executable).parent))
    script = f"""
        compopt() {{ echo compopt "$@"; }}
        {subprocess.run([program, "completion", "bash"], capture_output=True, text=True, check=True).stdout}
        COMP_WORDS=({program} coco tr); COMP_CWORD=2; _verite_completion {program}
        COMP_WORDS=({program} convert a b --to dot); COMP_CWORD=5; _verite_completion {program}
        echo "${{COMPREPLY[@]}}"
        """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["compopt -o default", "dota"]


@pytest.mark.parametrize("words", [(), ("partial",)])
def test_a_group_without_a_command_prints_its_help(typed, words):
    status, out, err = typed(*words)
    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: {' '.join(('verite', *words))} ")
    assert "\n  voc  " in out


def test_closed_pipe_is_no_error():
    with verite("voc", TRUTH, PRED, "--table", "person", "-q") as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


@pytest.mark.parametrize(("words", "status", "lines"), [((), 0, 0), (("voc", "none", PRED, "--json"), 1, 1)])
def test_closed_pipe_of_help_and_of_errors(words, status, lines):
    """Help without a command and the document of an error are printed after the command itself has ended."""
    with verite(*words) as process:
        process.stdout.close()
        assert len(process.stderr.read().splitlines()) == lines
        assert process.wait() == status


WAITING = """
import sys, time
import verite.formats
from verite.__main__ import main

def wait(*_, **__):
    print("waiting", flush=True)
    time.sleep(30)

verite.formats.read_source = wait
sys.argv[1:] = ["voc", "a", "b"]
main()
"""


def test_interrupt_leaves_with_130():
    words = [sys.executable, "-c", WAITING]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=2) == 130
        assert process.stderr.read() == "verite: interrupted\n"


def test_unexpected_failure_is_one_line_too(monkeypatch, typed):
    import verite.formats

    def fail(*_, **__):
        raise ZeroDivisionError("sky fell")

    monkeypatch.setattr(verite.formats, "read_source", fail)
    status, _, err = typed("voc", TRUTH, PRED)
    assert status == 1
    assert "internal error: ZeroDivisionError: sky fell" in complaint(err)
