"""The page in a real browser: nothing runs but its own script, everything can be reached, and counts stay exact."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.reporting.page.pages import SYSTEMS, TRUTH, crowded_pair, hostile_pair, random_pair
from verite.leaderboards.audit import read_rows
from verite.reporting.overlays import Overlay
from verite.reporting.page.costs import KINDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium"),
    # All in one process of the tests: one browser serves them all.
    pytest.mark.xdist_group("page"),
]
COLOURS = ["color-contrast", "link-in-text-block"]  # all that another scheme can change
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Windows:
    """Of one browser: a window without network for pages with a script, and one for pages without. Opening a window
    takes longer than loading a page.
    """

    def __init__(self, browser) -> None:
        self.browser, self.windows = browser, {}

    def __getitem__(self, script: bool):
        if script not in self.windows:
            self.windows[script] = self.browser.new_context(offline=True, java_script_enabled=script)
            self.windows[script].set_default_timeout(30000)
        return self.windows[script]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Windows(opened)
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages that all tests look at."""
    home = tmp_path_factory.mktemp("pages")
    truth, pred = hostile_pair()
    many = random_pair(80)
    crowded, crowd = crowded_pair(), {"checks": "off", "pictures": "none"}
    return {
        "one": vt.report(TRUTH, SYSTEMS["hawk"], home / "one.html", pictures="embed"),
        "three": vt.report(TRUTH, SYSTEMS, home / "three.html", pictures="embed"),
        "hostile": vt.report(
            truth,
            {"<b>x</b>": pred, "__proto__": pred, "long " * 80: pred},
            home / "hostile.html",
            checks="off",
            draws=20,
        ),
        "masks": vt.report(TRUTH, SYSTEMS["hawk"], home / "masks.html", pictures="none", on="mask"),
        "crowded": vt.report(*crowded, home / "crowded.html", **crowd),
        "free": vt.report(*crowded, home / "free.html", matching="label-free", **crowd),
        "short": make_short(home, **crowd),
        "tight": vt.report(*random_pair(3, 2000), home / "tight.html", budget=450_000, **crowd),
        "many": vt.report(
            many[0], {f"system {k}": many[1] for k in range(10)}, home / "many.html", checks="off", draws=5
        ),
    }


def make_short(home: Path, **settings) -> Path:
    """A page whose budget leaves a few wrong predictions out."""
    pair = random_pair(3, 2000)
    for budget in range(493_000, 400_000, -3000):
        made = vt.report(*pair, home / "short.html", budget=budget, **settings)
        if vt.read_report(made)["systems"][0]["packed"]["left_out"]:
            return made
    raise AssertionError("everything fits")


class Shown:
    """A page in a browser that has no network, and what happened there."""

    def __init__(
        self, browser, path: Path, *, script: bool = True, wide: int = 1400, scheme: str = "light", hash: str = ""
    ):
        self.page = browser[script].new_page()
        self.page.set_viewport_size({"width": wide, "height": 900})
        self.page.emulate_media(color_scheme=scheme)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + hash)
        if script:
            self.page.wait_for_selector("[data-ready]", state="attached")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()


def violations(page, within: str = "body", rules=RULES) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate(next(Path(axe.__file__).parent.rglob("axe*.js")).read_text())
    # Of what passes nothing is told: naming its elements takes four fifths of the time.
    script = """async ([where, rules]) => {
        const found = await axe.run(where === "body" ? document : where, {runOnly: rules, resultTypes: ["violations"]});
        return found.violations.map(one => `${one.id}: ${one.nodes[0].html.slice(0, 160)}`);
    }"""
    return page.evaluate(script, [within, list(rules)])


@pytest.mark.parametrize("name", ["one", "three", "hostile"])
def test_page_is_accessible_also_with_a_viewer_and_a_cell_open(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        states = {"page": "", "viewer": ".d.s0 tr[data-open] button.open", "cell": "[data-matrix] td[class^=o] button"}
        for state, query in states.items():
            if query:
                shown.page.locator(query).first.click()
                shown.page.locator("dialog[open] ul.objects li").first.wait_for()
            for scheme, rules in (("light", RULES), ("dark", COLOURS)):
                shown.page.emulate_media(color_scheme=scheme)
                # What is behind a dialog cannot be reached.
                found = violations(shown.page, "dialog" if query else "body", rules)
                assert (state, scheme, found) == (state, scheme, [])
            shown.page.keyboard.press("Escape")


@pytest.mark.parametrize("name", ["one", "three", "hostile", "masks"])
def test_the_script_at_first_changes_no_number(browser, pages, name):
    """What it computes at the confidence where the page begins is what Python wrote."""
    texts = []
    for script in (False, True):
        with Shown(browser, pages[name], script=script) as shown:
            cells = shown.page.locator(".read dd, [data-matrix] td, .images td, [data-count]").all_inner_texts()
            texts.append(cells)
    assert texts[0] == texts[1]
    assert len(texts[0]) > 60


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
    expected, results = [], vt.coco(truth, pred)
    for k in range(101):
        again = vt.analyse(vt.coco(truth, pred, confidence=k / 100))
        matrix = vt.analyse(results, confidence=k / 100).confusion.counts
        right, missed = int(matrix.diagonal().sum()), len(again.matches.truth_label[again.matches.is_asked])
        counts = [right, int(again.matches.is_counted.sum()) - right, missed - right]
        cells = [int(many) for row in matrix[:-1] for many in row] + [int(many) for many in matrix[-1, :-1]]
        expected.append([counts, cells, [again.errors.counts[kind] for kind in KINDS if kind in again.errors.counts]])
    with Shown(browser, pages["one"]) as shown:
        found = shown.page.evaluate(
            """async () => {
                const slider = document.querySelector(".slider"), found = [];
                const list = query => [...document.querySelectorAll(query)].map(cell => Number(cell.textContent));
                for (let k = 0; k <= 100; k++) {
                    slider.value = k;
                    slider.removeAttribute("aria-valuetext");
                    slider.dispatchEvent(new Event("input"));
                    while (!slider.getAttribute("aria-valuetext")) await new Promise(done => setTimeout(done, 1));
                    const cells = list(".mx tbody tr:not(:last-child) td:not(.gap):not(.plainly)");
                    found.push([list(".read dd").slice(4, 7), cells, list("[data-count]")]);
                }
                return found;
            }"""
        )
    assert found == expected


@pytest.mark.parametrize(("word", "floors"), [("best F1", None), ("LRP", "lrp")])
def test_buttons_set_the_confidence_of_each_class(browser, pages, word, floors):
    results = vt.coco(TRUTH, SYSTEMS["hawk"])
    floors = floors or vt.analyse(results).operating.thresholds
    matrix = vt.analyse(results, confidence=floors).confusion.counts
    with Shown(browser, pages["one"]) as shown:
        shown.page.locator("#confusion button", has_text=word).click()
        shown.page.wait_for_function("word => document.querySelector('#said').textContent.includes(word)", arg=word)
        rows = shown.page.locator("[data-matrix] tbody tr:not(:last-child)").evaluate_all(
            "rows => rows.map(row => [...row.querySelectorAll('td:not(.gap):not(.plainly)')]"
            ".map(cell => Number(cell.textContent)))"
        )
        assert [row[:9] for row in rows[:-1]] == matrix[:-1].tolist()
        assert rows[-1] == matrix[-1, :-1].tolist()
        right, wrong = (int(text) for text in shown.page.locator(".read dd").all_inner_texts()[4:6])
        assert (right, right + wrong) == (matrix.diagonal().sum(), matrix[:, :-1].sum())
        url = shown.page.url
    with Shown(browser, pages["one"], hash=f"#{url.partition('#')[2]}") as shown:
        assert shown.page.locator(".read dd").all_inner_texts()[4] == str(right)


def test_cells_say_counts_or_shares(browser, pages):
    matrix = vt.read_report(pages["one"])["systems"][0]["confusion"]["matrix"]
    with Shown(browser, pages["one"]) as shown:
        first = shown.page.locator("[data-matrix] tbody tr").first.locator("td").first
        assert first.inner_text() == str(matrix[0][0])
        for value, total in (("row", sum(matrix[0])), ("column", sum(row[0] for row in matrix))):
            shown.page.locator(f"[name=share-0][value={value}]").check()
            assert first.inner_text() == f"{100 * matrix[0][0] / total:.0f}"


# Every cell of the matrix and of the table of errors that can be opened: what it says, and how long its list is.
OPEN_ALL = """async query => {
    const rest = () => new Promise(done => setTimeout(done, 5)), dialog = document.querySelector("dialog"), found = [];
    for (let k = 0; k < document.querySelectorAll(query).length; k++) {
        const button = document.querySelectorAll(query)[k];
        dialog.querySelector(".note").textContent = "";
        button.click();
        while (!dialog.querySelector(".note").textContent) await rest();
        const note = dialog.querySelector(".note").textContent;
        found.push([button.textContent, note, dialog.querySelectorAll("li").length]);
        dialog.close();
    }
    return found;
}"""
CELLS = "[data-matrix] td button, [data-count] button"


@pytest.mark.parametrize("name", ["crowded", "free"])
def test_a_list_is_as_long_as_its_cell_says(browser, pages, name):
    """Where a truth is claimed under several names, under either way to pair them."""
    with Shown(browser, pages[name]) as shown:
        for at in ("", "0.00", "0.37", "best F1", "LRP"):
            if at:
                shown.page.evaluate("at => { location.hash = 'at=' + at }", at)
                shown.page.wait_for_function("at => document.querySelector('.read dd').textContent === at", arg=at)
            found = shown.page.evaluate(OPEN_ALL, CELLS)
            assert len(found) > 12
            assert [(text, f": {text} objects" in note, str(many)) for text, note, many in found] == [
                (text, True, text) for text, _, _ in found
            ]


def test_a_list_says_what_of_its_cell_the_budget_left_out(browser, pages):
    kept = vt.read_report(pages["short"])["systems"][0]["packed"]
    assert kept["left_out"] > 0
    with Shown(browser, pages["short"], hash="#at=0.00") as shown:
        found = shown.page.evaluate(OPEN_ALL, CELLS)
    short = [one for one in found if "only counted" in one[1]]
    assert all(f" of {text} objects kept, the others are only counted" in note for text, note, _ in short)
    assert all(f": {text} objects" in note for text, note, _ in found if "only counted" not in note)
    # Lists show the first 200.
    said = [int(note.split(": ")[1].split(" of ")[0].replace(",", "")) for _, note, _ in short]
    assert (
        sum(int(text.replace(",", "")) - many for (text, _, _), many in zip(short, said, strict=True))
        == 2 * kept["left_out"]
    )


def test_a_list_that_lacks_its_claims_says_so(browser, pages):
    with Shown(browser, pages["tight"], hash="#at=0.00") as shown:
        found = shown.page.evaluate(OPEN_ALL, CELLS)
    for text, note, _ in found:
        many = note.split(": ")[1].split(" ")[0].replace(",", "")
        more = int(many) - int(text.replace(",", ""))
        said = {0: f": {text} objects", 1: f", {text} count: claims", -1: f" of {text} objects kept"}
        assert said[int(np.sign(more))] in note
    assert any("claims on the others are not kept" in note for _, note, _ in found)


def test_charts_tell_their_numbers_under_the_pointer(browser, pages):
    steps = vt.read_report(pages["one"])["systems"][0]["steps"]
    with Shown(browser, pages["one"]) as shown:
        chart = shown.page.locator("svg.chart[data-chart]")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        recall = steps["right"][60] / steps["truths"]
        at = 36 + 390 * 0.6, 256 - 230 * recall
        shown.page.mouse.move(box["x"] + at[0] * box["width"] / 440, box["y"] + at[1] * box["height"] / 300)
        assert chart.locator("text.hover").inner_html() == f"confidence 0.60: recall {recall:.3f}"
        shown.page.mouse.move(0, 0)
        assert chart.locator("text.hover").inner_html() == ""


def test_bars_counts_and_slices_open_their_objects(browser, pages):
    document = vt.read_report(pages["one"])["systems"][0]
    with Shown(browser, pages["one"], hash="#at=0.00") as shown:
        note = shown.page.locator("dialog .note")
        bar = shown.page.locator("li[data-system] rect[data-kind=localization]")
        bar.focus()
        shown.page.keyboard.press("Enter")
        note.wait_for()
        assert f": {document['errors']['counts']['localization']} objects" in note.inner_text()
        shown.page.keyboard.press("Escape")
        for kind, count in document["errors"]["counts"].items():
            shown.page.locator(f'[data-count="0.{kind}"] button').click()
            note.wait_for()
            assert f": {count} objects" in note.inner_text()
            shown.page.keyboard.press("Escape")
        slices = sorted(
            (one for one in document["slices"] if one["recall"] is not None),
            key=lambda one: (not one["is_ranked"], one["recall"]),
        )[:3]
        for one, row in zip(slices, shown.page.locator("tr[data-slice] button.open").all(), strict=False):
            row.press("Enter")
            note.wait_for()
            assert f": {one['truths']} objects" in note.inner_text()
            shown.page.keyboard.press("Escape")


def test_viewer_shows_an_embedded_photo_and_outlines_of_masks(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        shown.page.locator("tr[data-open] button.open").first.click()
        use = shown.page.locator("dialog .stage use")
        use.wait_for(state="attached")
        assert shown.page.locator(use.get_attribute("href")).get_attribute("href").startswith("data:image/webp")
    with Shown(browser, pages["masks"]) as shown:
        shown.page.locator("tr[data-open] button.open").first.click()
        shown.page.locator("dialog .stage path.tru").first.wait_for()
        paths = shown.page.locator("dialog .stage path.tru").evaluate_all(
            "all => all.map(one => one.getAttribute('d'))"
        )
        name = shown.page.locator("dialog h2").inner_text()
    overlay = Overlay(vt.coco(TRUTH, SYSTEMS["hawk"], on="mask"))
    rows = np.flatnonzero(overlay.truth.image == overlay.position(name))
    rings = [overlay.mark("truth", int(row)).rings for row in rows]
    assert [path.count("L") + path.count("M") for path in paths] == [sum(map(len, ring)) for ring in rings]
    found = np.array(
        [float(x) for x in paths[0].strip("MZ").replace("Z", "").replace("M", "L").replace("L", " ").split()]
    )
    assert np.abs(found - np.concatenate(rings[0]).ravel()).max() <= 0.125


def test_marks_are_copied_as_a_table_of_checked_records(browser, pages, tmp_path):
    with Shown(browser, pages["three"]) as shown:
        for k, verdict in enumerate(["wrong", "right", "unsure"]):
            shown.page.locator(f"[name=mark-{k}][value={verdict}]").check()
        shown.page.locator("#copy-marks").click()
        text = shown.page.locator("#marks").input_value()
        selected = "document.activeElement.selectionEnd - document.activeElement.selectionStart"
        assert shown.page.evaluate(selected) == len(text)
    (tmp_path / "audit.csv").write_text(text)
    assert [row.verdict for row in read_rows(tmp_path / "audit.csv")] == ["wrong", "right", "unsure"]
    vt.leaderboard(TRUTH, SYSTEMS, audit=tmp_path / "audit.csv", draws=5)


def test_without_a_way_to_unpack_the_page_says_so(browser, pages):
    page = browser[True].new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(pages["one"].as_uri())
    page.wait_for_selector("[data-ready]", state="attached")
    assert page.locator("#old").is_visible()
    assert not page.locator(".slider").first.is_visible()
    page.close()


def test_slider_moves_by_keys_and_the_rest_follows(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        slider = shown.page.locator(".slider").first
        slider.focus()
        start = int(slider.input_value())
        shown.page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == start + 1
        shown.page.keyboard.press("PageUp")
        assert int(slider.input_value()) == start + 11
        assert "right" in shown.page.locator("#said").inner_text()
        assert f"at={(start + 11) / 100:.2f}" in shown.page.url
        shown.page.wait_for_selector("#classes-0 td.at:not([hidden])")
        cells = shown.page.locator("#classes-0 tbody td.at:nth-last-child(4)").all_inner_texts()
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
        names = shown.page.locator("#classes-0 tbody").evaluate(
            "body => [...body.rows].filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)"
        )
        assert names
        assert all("class 7" in name for name in names)


def test_a_link_shows_the_same_view(browser, pages):
    with Shown(browser, pages["three"], hash="#at=0.43&pred=magpie") as shown:
        assert shown.page.locator("#p1").is_checked()
        assert shown.page.locator('.slider[data-system="1"]').first.input_value() == "43"
        assert shown.page.locator(".d.s0").first.is_hidden()
        shown.page.locator("#p2").check()
        assert "pred=mole" in shown.page.url


def test_a_cell_opens_its_objects_and_escape_gives_focus_back(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        cell = shown.page.locator("[data-matrix] tr:nth-child(-n+8) td:nth-child(-n+9):is(.o1, .o2, .o3) button").first
        count = int(cell.inner_text())
        cell.focus()
        shown.page.keyboard.press("Enter")
        dialog = shown.page.locator("dialog[open]")
        dialog.wait_for()
        assert dialog.locator("ul.objects button").count() == count
        assert "cell=" in shown.page.url
        dialog.locator("ul.objects button").first.press("Enter")
        shown.page.wait_for_selector("dialog .stage svg path")
        shown.page.keyboard.press("Escape")
        assert shown.page.locator("dialog[open]").count() == 0
        assert shown.page.evaluate("document.activeElement.textContent") == str(count)


@pytest.mark.parametrize("name", ["one", "hostile"])
def test_a_link_opens_the_same_list(browser, pages, name):
    """Of a cell, and of the errors of a class; also where names hold commas and ampersands."""
    queries = ["[data-matrix] td[class^=o] button", "#classes-0 tbody button.open"]
    with Shown(browser, pages[name]) as shown, Shown(browser, pages[name]) as again:
        for query in queries:
            for k in range(0, shown.page.locator(query).count(), 5):
                shown.page.locator(query).nth(k).press("Enter")
                shown.page.locator("dialog[open] li").first.wait_for()
                told = shown.page.locator("dialog[open]").inner_text()
                hash = shown.page.url.partition("#")[2]
                if "(no name)" in told:  # a class without a name cannot be named in a link
                    shown.page.keyboard.press("Escape")
                    continue
                again.page.evaluate("hash => { location.hash = hash }", hash)
                again.page.wait_for_selector("dialog[open] li")
                assert again.page.locator("dialog[open]").inner_text() == told
                for page in (shown.page, again.page):
                    page.keyboard.press("Escape")
                    page.wait_for_function("() => !document.querySelector('dialog').open && !location.hash")


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


@pytest.mark.parametrize("name", ["three", "hostile", "many"])
def test_page_never_scrolls_sideways(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        for wide in (1400, 768, 390, 320):
            shown.page.set_viewport_size({"width": wide, "height": 900})
            assert (wide, shown.page.evaluate("document.documentElement.scrollWidth")) <= (wide, wide)
            # A name of 10,000 letters is whole in the text, and six lines high.
            rows = "Math.max(...[...document.querySelectorAll('tbody tr')].map(row => row.offsetHeight))"
            assert shown.page.evaluate(rows) <= 200


def test_page_prints_on_six_sheets_at_most(browser, pages, tmp_path):
    with Shown(browser, pages["three"]) as shown:
        shown.page.pdf(path=tmp_path / "a.pdf", prefer_css_page_size=True)
    sheets = (tmp_path / "a.pdf").read_bytes().count(b"/Type /Page\n") or (tmp_path / "a.pdf").read_bytes().count(
        b"/Type /Page"
    )
    assert 3 <= sheets <= 6


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
    best: list[float] = []
    for _ in range(3):  # the best of three: tests share their machine
        with Shown(browser, page) as shown:
            script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
            found = [
                shown.page.evaluate(script),
                float(shown.page.locator("#viewer").get_attribute("data-ready")),
            ]
            assert shown.page.evaluate("performance.memory.usedJSHeapSize") <= 150e6
            assert "counted, but cannot be opened" in shown.page.locator("body").inner_text()
        best = found if not best else [min(pair) for pair in zip(best, found, strict=True)]
    painted, ready = best
    assert painted <= 1000
    assert ready <= 2000
