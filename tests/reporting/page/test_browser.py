"""The page in a real browser: nothing runs but its own script, everything can be reached, and counts stay exact."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.reporting.page.pages import SYSTEMS, TRUTH, hostile_pair, random_pair
from verite.reporting.overlays import Overlay
from verite.reporting.page.tally import ConfidenceTally

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium"),
    # All in one process of the tests: one browser serves them all.
    pytest.mark.xdist_group("page"),
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages that all tests look at."""
    home = tmp_path_factory.mktemp("pages")
    truth, pred = hostile_pair()
    many = random_pair(80)
    return {
        "one": vt.report(TRUTH, SYSTEMS["hawk"], home / "one.html", pictures="embed"),
        "three": vt.report(TRUTH, SYSTEMS, home / "three.html", pictures="embed"),
        "hostile": vt.report(truth, {"<b>x</b>": pred, "__proto__": pred}, home / "hostile.html", checks="off"),
        "many": vt.report(
            many[0], {f"system {k}": many[1] for k in range(10)}, home / "many.html", checks="off", draws=20
        ),
    }


class Shown:
    """A page in a browser that has no network, and what happened there."""

    def __init__(
        self, browser, path: Path, *, script: bool = True, wide: int = 1400, scheme: str = "light", hash: str = ""
    ):
        self.context = browser.new_context(
            offline=True, java_script_enabled=script, color_scheme=scheme, viewport={"width": wide, "height": 900}
        )
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + hash)
        if script:
            self.page.wait_for_selector("html[data-ready]", state="attached")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def violations(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    source = next(Path(axe.__file__).parent.rglob("axe*.js")).read_text()
    page.evaluate(source)
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["one", "three", "hostile"])
def test_page_is_accessible(browser, pages, name, scheme):
    with Shown(browser, pages[name], scheme=scheme) as shown:
        assert violations(shown.page) == []


def test_opened_viewer_is_accessible(browser, pages):
    with Shown(browser, pages["three"]) as shown:
        shown.page.locator(".d.s0 tr[data-open] button.open").first.click()
        assert violations(shown.page) == []


@pytest.mark.parametrize("name", ["one", "three", "hostile", "many"])
def test_nothing_is_loaded_and_nothing_goes_wrong(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        shown.page.locator(".slider").first.fill("30")
        shown.page.locator("tr[data-open] button.open").first.click()
        shown.page.keyboard.press("Escape")
        assert [url for url in shown.requests if not url.startswith("data:")] == [pages[name].as_uri()]
        assert shown.faults == []


def test_names_become_text_in_the_viewer_too(browser, pages):
    with Shown(browser, pages["hostile"]) as shown:
        for button in shown.page.locator(".d.s0 tr[data-open] button.open").all()[:6]:
            button.click()
            shown.page.locator("dialog[open]").wait_for()
            assert shown.page.locator("dialog img, dialog script, dialog style, dialog b").count() == 0
            shown.page.keyboard.press("Escape")
            shown.page.locator("dialog[open]").wait_for(state="detached")
        assert shown.faults == []


def test_numbers_are_there_without_a_script(browser, pages):
    with Shown(browser, pages["three"], script=False) as shown:
        text = shown.page.locator("body").inner_text()
        first = vt.read_report(pages["three"])["systems"][0]
        values = [*list(first["scores"].values())[:4], *first["errors"]["cost"].values()]
        values += [value for row in first["classes"]["rows"] for value in row[1:5]]
        assert [value for value in values if f"{value:.3f}" not in text] == []
        for row in first["confusion"]["matrix"]:
            assert all(f"{count:,}" in text for count in row if count)
        assert not shown.page.locator(".slider").first.is_visible()


def test_counts_at_every_step_are_those_of_python(browser, pages):
    truth, pred = vt.read(TRUTH), vt.read(SYSTEMS["hawk"], like=vt.read(TRUTH))
    tally = ConfidenceTally(Overlay(vt.coco(truth, pred)))
    at = [tally.at(k / 100) for k in range(101)]
    with Shown(browser, pages["one"]) as shown:
        found = shown.page.evaluate(
            """async () => {
                const slider = document.querySelector(".slider"), found = [];
                const read = word => document.querySelector(`[data-read="0.${word}"]`).textContent;
                for (let k = 0; k <= 100; k++) {
                    slider.value = k;
                    slider.removeAttribute("aria-valuetext");
                    slider.dispatchEvent(new Event("input"));
                    while (!slider.getAttribute("aria-valuetext")) await new Promise(done => setTimeout(done, 1));
                    found.push([read("right"), read("wrong"), read("missed")]);
                }
                return found;
            }"""
        )
    assert found == [[f"{one[word]:,}" for word in ("right", "wrong", "missed")] for one in at]


def test_slider_moves_by_keys_and_the_rest_follows(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        slider = shown.page.locator(".slider")
        slider.focus()
        start = int(slider.input_value())
        shown.page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == start + 1
        shown.page.keyboard.press("PageUp")
        assert int(slider.input_value()) == start + 11
        assert "right" in shown.page.locator("#said").inner_text()
        assert f"at={(start + 11) / 100:.2f}" in shown.page.url
        shown.page.wait_for_selector("#classes-0 td.at:not([hidden])")
        cells = shown.page.locator('#classes-0 td[data-label$=".right"]').all_inner_texts()
        overlay = Overlay(vt.coco(TRUTH, SYSTEMS["hawk"]), confidence=(start + 11) / 100)
        assert sum(map(int, cells)) == int((overlay.fates[0] == 0).sum())


def test_tables_sort_and_say_so(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        head = shown.page.locator("#classes-0 thead th", has_text="AP75")
        head.locator("button").click()
        values = shown.page.locator("#classes-0 tbody tr").evaluate_all(
            "rows => rows.map(row => parseFloat(row.cells[4].textContent))"
        )
        assert head.get_attribute("aria-sort") == "descending"
        assert values == sorted(values, reverse=True)
        head.locator("button").press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"


def test_classes_are_filtered(browser, pages):
    with Shown(browser, pages["many"]) as shown:
        shown.page.locator(".filter").first.fill("class 7")
        names = shown.page.locator("#classes-0 tbody tr:visible th").all_inner_texts()
        assert names
        assert all("class 7" in name for name in names)


def test_a_link_shows_the_same_view(browser, pages):
    with Shown(browser, pages["three"], hash="#at=0.43&pred=magpie") as shown:
        assert shown.page.locator("#p1").is_checked()
        assert shown.page.locator('.slider[data-system="1"]').input_value() == "43"
        assert shown.page.locator(".d.s0").first.is_hidden()
        shown.page.locator("#p2").check()
        assert "pred=mole" in shown.page.url


def test_a_cell_opens_its_objects_and_escape_gives_focus_back(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        cell = shown.page.locator(".mx td.o1 button, .mx td.o2 button, .mx td.o3 button").first
        count = int(cell.inner_text())
        cell.focus()
        shown.page.keyboard.press("Enter")
        dialog = shown.page.locator("dialog[open]")
        dialog.wait_for()
        assert dialog.locator("ul.objects button").count() == count
        assert "cell=" in shown.page.url
        dialog.locator("ul.objects button").first.press("Enter")
        shown.page.wait_for_selector("dialog .stage svg rect")
        shown.page.keyboard.press("Escape")
        assert shown.page.locator("dialog[open]").count() == 0
        assert shown.page.evaluate("document.activeElement.textContent") == str(count)


def test_viewer_goes_on_by_keys_and_grows(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        rows = shown.page.locator("tr[data-open] button.open")
        names = rows.all_inner_texts()
        rows.first.press("Enter")
        title = shown.page.locator("dialog h2")
        title.wait_for()
        assert title.inner_text() == names[0]
        shown.page.keyboard.press("j")
        shown.page.wait_for_function("name => document.querySelector('dialog h2').textContent === name", arg=names[1])
        shown.page.keyboard.press("k")
        shown.page.wait_for_function("name => document.querySelector('dialog h2').textContent === name", arg=names[0])
        shown.page.keyboard.press("+")
        assert shown.page.locator("dialog .stage svg").evaluate("svg => svg.style.width") == "150%"


def test_skip_link_is_first_and_every_control_can_be_reached(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        shown.page.keyboard.press("Tab")
        assert shown.page.evaluate("document.activeElement.className") == "skip"
        unreachable = shown.page.evaluate(
            "[...document.querySelectorAll('button, a, input')].filter(e => e.tabIndex < 0).length"
        )
        assert unreachable == 0


@pytest.mark.parametrize("wide", [320, 390, 768, 1400])
@pytest.mark.parametrize("name", ["three", "hostile", "many"])
def test_page_never_scrolls_sideways(browser, pages, name, wide):
    with Shown(browser, pages[name], wide=wide) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= wide


def test_page_prints_on_a_few_sheets(browser, pages, tmp_path):
    with Shown(browser, pages["three"]) as shown:
        shown.page.pdf(path=tmp_path / "a.pdf", prefer_css_page_size=True)
    sheets = (tmp_path / "a.pdf").read_bytes().count(b"/Type /Page\n") or (tmp_path / "a.pdf").read_bytes().count(
        b"/Type /Page"
    )
    assert 3 <= sheets <= 16


@pytest.mark.slow
def test_a_large_page_is_ready_in_two_seconds(browser, tmp_path):
    """5,000 images, 500,000 predictions: within its budget, painted and ready in time."""
    rng = np.random.default_rng(0)
    images, per_truth, per_pred = 5000, 7, 100
    sizes = {f"{k:012d}.jpg": (640, 480) for k in range(images)}
    names, labels = list(sizes), [f"class {k}" for k in range(80)]

    def side(count):
        corners = rng.random((images * count, 2)) * [500, 350]
        boxes = np.concatenate([corners, corners + 20 + rng.random((images * count, 2)) * 100], axis=1)
        where = [names[k // count] for k in range(images * count)]
        return where, [labels[k] for k in rng.integers(0, 80, images * count)], boxes

    truth = vt.Annotations.of(*side(per_truth), sizes=sizes, labels=labels)
    pred = vt.Annotations.of(*side(per_pred), sizes=sizes, labels=labels, confidence=rng.random(images * per_pred))
    page = vt.report(truth, {"a": pred}, tmp_path / "large.html", checks="off", pictures="none")
    assert page.stat().st_size <= 4_000_000
    with Shown(browser, page) as shown:
        painted = shown.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
        ready = shown.page.evaluate("performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart")
        heap = shown.page.evaluate("performance.memory.usedJSHeapSize")
        assert heap <= 150e6
        assert painted <= 4000  # one second on a quiet machine; tests share theirs
        assert ready <= 8000
        assert "counted, but cannot be opened" in shown.page.locator("body").inner_text()
