"""Scoring bundles of challenges: the programs are run as the platforms run them, without a container."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

import verite as vt
from verite.cli import run

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, PRED = DEMO / "truth.json", DEMO / "hawk.json"


def score(bundle: Path, home: Path, submission: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of a Codabench bundle on a submission."""
    shutil.copytree(bundle / "reference_data", home / "in" / "ref")
    (home / "in" / "res").mkdir()
    shutil.copy(submission, home / "in" / "res")
    command = yaml.safe_load((bundle / "scoring_program" / "metadata.yaml").read_text())["command"]
    words = command.replace("$input", str(home / "in")).replace("$output", str(home / "out")).split()
    assert words[:2] == ["python3", "score.py"]
    return subprocess.run(
        [sys.executable, *words[1:]], cwd=bundle / "scoring_program", capture_output=True, text=True, check=False
    )


def test_codabench_scores_a_submission(tmp_path: Path) -> None:
    place = tmp_path / "bundle"
    assert run(["bundle", str(TRUTH), "-o", str(place), "--score", "AP50", "--score", "AP"]) == 0
    done = score(place, tmp_path, PRED)
    assert (done.returncode, done.stderr) == (0, "")
    truth = vt.read(TRUTH)
    expected = vt.coco(truth, vt.read(PRED, like=truth))
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores == {"AP50": expected["AP50"].value, "AP": expected["AP"].value}
    assert "AP50" in (tmp_path / "out" / "detailed_results.html").read_text()
    competition = yaml.safe_load((place / "competition.yaml").read_text())
    (board,) = competition["leaderboards"]
    assert [(column["key"], column["sorting"]) for column in board["columns"]] == [("AP50", "desc"), ("AP", "desc")]
    for page in (competition["image"], competition["terms"], competition["pages"][0]["file"]):
        assert (place / page).is_file()
    for key in ("reference_data", "scoring_program"):
        assert (place / competition["tasks"][0][key]).is_dir()


def test_a_broken_submission_is_one_line_and_no_score(tmp_path: Path) -> None:
    assert run(["bundle", str(TRUTH), "-o", str(tmp_path / "bundle")]) == 0
    (tmp_path / "broken.json").write_text("[{")
    done = score(tmp_path / "bundle", tmp_path, tmp_path / "broken.json")
    assert done.returncode == 1
    assert "broken.json" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_evalai_evaluates_a_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "bundle"
    words = ["--platform", "evalai", "--protocol", "f1", "--set", "iou=0.5", "--score", "F1"]
    assert run(["bundle", str(TRUTH), "-o", str(place), *words]) == 0
    monkeypatch.syspath_prepend(str(place))
    program = importlib.import_module("evaluation_script")
    try:
        found = program.evaluate(str(place / "annotations" / "truth.json"), str(PRED), "test", submission_metadata={})
        truth = vt.read(TRUTH)
        expected = vt.f1(truth, vt.read(PRED, like=truth), iou=0.5)["F1"].value
        assert found == {"result": [{"test": {"F1": expected}}], "submission_result": {"F1": expected}}
        (tmp_path / "broken.json").write_text("[{")
        with pytest.raises(ValueError, match=r"broken\.json"):
            program.evaluate(str(TRUTH), str(tmp_path / "broken.json"), "test")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "evaluation_script"]:
            del sys.modules[name]
    config = yaml.safe_load((place / "challenge_config.yaml").read_text())
    assert config["leaderboard"][0]["schema"]["default_order_by"] == "F1"
    assert (place / config["challenge_phases"][0]["test_annotation_file"]).is_file()


def test_errors_rank_in_rising_order(tmp_path: Path) -> None:
    assert run(["bundle", str(TRUTH), "-o", str(tmp_path / "b"), "--protocol", "miss-rate", "-q"]) == 0
    (board,) = yaml.safe_load((tmp_path / "b" / "competition.yaml").read_text())["leaderboards"]
    assert [(column["key"], column["sorting"]) for column in board["columns"]] == [("MR-2", "asc")]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--score", "AP5"], 2, "AP50"),
        (["--set", "iou"], 2, "NAME=VALUE"),
        (["--set", "iou=2"], 2, "iou"),
        (["--protocol", "nothing"], 2, "--protocol"),
    ],
)
def test_wrong_options_are_named(words: list[str], status: int, said: str, tmp_path: Path, capsys) -> None:
    assert run(["bundle", str(TRUTH), "-o", str(tmp_path / "b"), *words]) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_a_folder_with_files_is_kept(tmp_path: Path, capsys) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["bundle", str(TRUTH), "-o", str(tmp_path)]) != 0
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


ACTION = Path(__file__).parents[2] / "action.yml"


def test_the_action_evaluates_and_keeps_the_status(tmp_path: Path) -> None:
    action = yaml.safe_load(ACTION.read_text())
    assert action["runs"]["using"] == "composite"
    (step,) = [one for one in action["runs"]["steps"] if one.get("id") == "evaluate"]
    for arguments, status in (("", "0"), ("--summary --require 'AP>=0.99'", "3")):
        home = tmp_path / f"status {status}"
        home.mkdir()
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "GITHUB_OUTPUT": str(home / "output"),
            "GITHUB_STEP_SUMMARY": str(home / "summary"),
            "RUNNER_TEMP": str(home),
            "GITHUB_ACTIONS": "true",
            "ARGUMENTS": f"coco {TRUTH} {PRED} {arguments}",
            "TITLE": "hawk",
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", step["run"]],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr  # the last step fails, after the comment is written
        assert f"status={status}" in (home / "output").read_text()
        comment = (home / "verite-comment.md").read_text()
        assert comment.startswith("<!-- verite: hawk -->")
        assert "0.5518" in comment
        # Annotations go to the log, where the runner reads them, and messages into the comment.
        assert done.stdout.startswith("::error") == (status == "3")
        assert ("not met: AP>=0.99" in comment) == (status == "3")
        assert "::" not in comment
    last = action["runs"]["steps"][-1]
    assert last["env"]["STATUS"] == "${{ steps.evaluate.outputs.status }}"
    assert subprocess.run(["bash", "-c", last["run"]], env={"STATUS": "3"}, check=False).returncode == 3


# What actions/github-script gives to a script, over a server that stands in for the platform's interface.
HARNESS = """
const [url, file] = process.argv.slice(1);
const call = async (method, path, body) => {
  const answer = await fetch(url + path, {method, body: body && JSON.stringify(body)});
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
  return answer.json();
};
const place = ({owner, repo}) => `/repos/${owner}/${repo}/issues`;
const issues = {
  listComments: (where) => call("GET", `${place(where)}/${where.issue_number}/comments?page=${where.page ?? 1}`),
  updateComment: (where) => call("PATCH", `${place(where)}/comments/${where.comment_id}`, {body: where.body}),
  createComment: (where) => call("POST", `${place(where)}/${where.issue_number}/comments`, {body: where.body}),
};
const paginate = async (list, where) => {
  const found = [];
  for (let page = 1, some; (some = await list({...where, page})).length; page++) found.push(...some);
  return found;
};
const context = {repo: {owner: "harbour", repo: "boats"}, issue: {number: 7}};
const Script = Object.getPrototypeOf(async () => {}).constructor;
const core = {warning: (words) => console.log(`::warning::${words}`)};
const script = new Script("github", "context", "core", "require", require("fs").readFileSync(file, "utf8"));
script({rest: {issues}, paginate}, context, core, require);
"""


@contextmanager
def comments_of(pull_request: int, comments: list[dict[str, Any]]) -> Iterator[str]:
    """Serve the comments of a pull request, two per page, on this machine; changes go into the list."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self, found: Any) -> None:
            self.send_response(200 if found is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def body(self) -> str:
            return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

        def do_GET(self) -> None:
            path, _, page = self.path.partition("?page=")
            start = 2 * (int(page) - 1)
            self.answer(
                comments[start : start + 2] if path == f"/repos/harbour/boats/issues/{pull_request}/comments" else None
            )

        def do_POST(self) -> None:
            comments.append({"id": 100 + len(comments), "body": self.body()})
            self.answer(comments[-1])

        def do_PATCH(self) -> None:
            found = next((one for one in comments if self.path.endswith(f"/issues/comments/{one['id']}")), None)
            if found is not None:
                found["body"] = self.body()
            self.answer(found)

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(shutil.which("node") is None, reason="the script of the step needs node")
def test_the_action_keeps_one_comment_per_title(tmp_path: Path) -> None:
    (step,) = [one for one in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if one.get("name") == "Comment"]
    script = tmp_path / "script.js"
    script.write_text(step["with"]["script"])
    comments: list[dict[str, Any]] = [{"id": i, "body": f"comment {i} about verite: hawk"} for i in range(3)]

    def comment(title: str, table: str, pull_request: int = 7) -> str:
        (tmp_path / "verite-comment.md").write_text(f"<!-- verite: {title} -->\n### {title}\n{table}")
        environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "TITLE": title}
        with comments_of(pull_request, comments) as url:
            words = ["node", "-e", HARNESS, url, str(script)]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    comment("hawk", "AP 0.5")
    comment("mole", "AP 0.4")
    comment("hawk", "AP 0.6 " + "x" * 70_000)
    assert [one["body"][:40] for one in comments[:3]] == [f"comment {i} about verite: hawk" for i in range(3)]
    assert [one["body"].splitlines()[0] for one in comments[3:]] == ["<!-- verite: hawk -->", "<!-- verite: mole -->"]
    assert "AP 0.6" in comments[3]["body"]
    assert len(comments[3]["body"]) == 65_000  # a longer one is refused by the platform
    assert "AP 0.4" in comments[4]["body"]
    assert comment("hawk", "AP 0.7", pull_request=8) == "::warning::no comment written: GET " + (
        "/repos/harbour/boats/issues/7/comments?page=1: 404\n"
    )
    assert len(comments) == 5


def test_the_dockerfile_installs_the_wheel_and_runs_the_command() -> None:
    lines = (ACTION.parent / "Dockerfile").read_text().splitlines()
    assert any(line.startswith("FROM python:") for line in lines)
    assert any("pip install" in line and ".whl" in line for line in lines)
    assert 'ENTRYPOINT ["verite"]' in lines
