"""The page of a study in a real browser: votes arrive exactly, a reload loses nothing, keyboard only, axe-clean."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

import verite as vt
from tests.reporting.report.browser import CHROMIUM, IN_BROWSER, RULES, playwright
from verite.judge.page import make_page
from verite.judge.plan import find_candidates, make_plan
from verite.judge.votes import read_votes

pytestmark = IN_BROWSER
DEMO = files("verite") / "data" / "demo"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    truth = vt.read(DEMO / "truth.json")
    sides = {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "magpie")}
    plan = make_plan(find_candidates(truth, sides), pairs=8, seed=0)
    path = tmp_path_factory.mktemp("study") / "index.html"
    path.write_text(make_page(plan, DEMO / "images"))
    return plan, path


@pytest.fixture(scope="module")
def context():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_context(offline=True, accept_downloads=True)
        browser.close()


@pytest.mark.usefixtures("leaves_no_trace")
def test_votes_by_keyboard_arrive_exactly_and_survive_a_reload(study, context, tmp_path):
    plan, path = study
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    page.fill("#name", "ann")
    page.click("#begin")
    keys, expected = ["ArrowLeft", "ArrowRight", "e", "c", "1", "2"], []
    for i, trial in enumerate(plan.trials):
        if i == 3:  # undo takes one answer back
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("u")
        if i == 5:
            page.reload()
            page.click("#begin")
            assert page.inner_text("#count").startswith("5 of")
        key = keys[i % len(keys)]
        choice = {"e": "equal", "c": "cannot tell"}.get(key) or trial.names[int(key in ("ArrowRight", "2"))]
        expected.append((trial.id, trial.left, trial.right, choice))
        page.keyboard.press(key)
    with page.expect_download() as downloaded:
        page.click("#download")
    assert downloaded.value.suggested_filename == "votes-ann.csv"
    downloaded.value.save_as(tmp_path / "votes-ann.csv")
    votes = read_votes(plan, [tmp_path / "votes-ann.csv"])
    assert [(v.pair, v.left, v.right, v.choice) for v in votes] == expected
    assert all(v.ms >= 0 for v in votes)
    assert not faults
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(study, context, scheme):
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    _, path = study
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto(path.as_uri())
    script = next(Path(axe.__file__).parent.rglob("axe*.js")).read_text()
    for step in ("start", "trial"):
        if step == "trial":
            page.fill("#name", f"bob-{scheme}")
            page.click("#begin")
        if not page.evaluate("'axe' in window"):
            page.evaluate(script)
        found = page.evaluate("async rules => (await axe.run(document, {runOnly: rules})).violations", list(RULES))
        assert [one["id"] for one in found] == []
    page.close()
