"""The report of twelve real detectors on COCO val2017: size, elements, names, print, accessibility."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import verite as vt
from tests.reporting.report.browser import IN_BROWSER, OF_COLOURS, RULES, Shown, violations

REAL = Path(__file__).parents[4] / "shared" / "real" / "coco_val2017"
pytestmark = [
    *IN_BROWSER,
    pytest.mark.slow,
    pytest.mark.skipif(not REAL.exists(), reason="needs COCO val2017 and results of detectors in ../shared/real"),
]


def real_files() -> dict[str, Path]:
    files = [path for path in sorted((REAL / "results").glob("*.json.gz")) if "tensorrt" not in path.name]
    return {path.name.removesuffix(".json.gz"): path for path in files}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    named = real_files()
    assert len(named) == 12
    return vt.report(REAL / "truth.json.gz", named, tmp_path_factory.mktemp("real") / "a.html", draws=40)


@pytest.fixture(scope="module", params=[1, 2])
def smaller_page(request, tmp_path_factory):
    named = dict(list(real_files().items())[5 : 5 + request.param])
    return vt.report(REAL / "truth.json.gz", named, tmp_path_factory.mktemp("real") / "b.html", draws=20)


def test_the_page_keeps_its_budget_and_every_prediction_of_any_pair(page):
    assert page.stat().st_size <= 4_000_000
    stored = [one["packed"] for one in vt.read_report(page)["systems"]]
    assert [one["left_out"] for one in stored] == [0] * 12


def test_predictions_of_a_chosen_pair_are_those_of_its_files(browser, page):
    """Of ten images: as many as their row counts, each with a box of the file, to the pixel."""
    chosen = ("ssd-mobilenet-v1-non-quantized-mlperf", "ssd-mobilenet-v1-quantized-mlperf")
    pred = vt.read(REAL / "results" / f"{chosen[0]}.json.gz", like=vt.read(REAL / "truth.json.gz"))
    places = {pred.images.name(k): k for k in range(len(pred.images))}
    shapes = "paths => paths.map(path => path.getAttribute('d').match(/-?[\\d.]+/g).map(Number))"
    total = 0
    with Shown(browser, page, hash=f"#a={chosen[0]}&b={chosen[1]}") as shown:
        rows = shown.page.locator("#images tbody tr[data-open]")
        for k in range(10):
            counted = [int(text.replace(",", "")) for text in rows.nth(k).locator(".n").all_inner_texts()[:2]]
            rows.nth(k).locator("button.open").click()
            shown.page.locator("dialog[open] .stage path.tru").first.wait_for(state="attached")
            image = shown.page.locator("dialog h2").inner_text()
            drawn = shown.page.eval_on_selector_all("dialog .stage path.prd", shapes)
            shown.page.keyboard.press("Escape")
            assert (image, len(drawn)) == (image, sum(counted))
            mine = pred.regions.sizes[pred.image == places[image]]
            assert all(abs(mine - box[:4]).max(axis=1).min() <= 1 for box in drawn)  # two rounded sides
            total += len(drawn)
    assert total > 10


def test_elements_and_width(browser, page):
    with Shown(browser, page, wide=1440) as shown:
        assert shown.page.evaluate("document.querySelectorAll('*').length") <= 20_000
        for wide in (1440, 1024, 390):
            shown.page.set_viewport_size({"width": wide, "height": 900})
            assert (wide, shown.page.evaluate("document.documentElement.scrollWidth")) <= (wide, wide)
            box = shown.page.locator("svg.heat").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= wide  # the whole matrix, without scrolling


def test_names_are_never_cut_until_equal(browser, page):
    names = {one["name"] for one in vt.read_report(page)["systems"]}
    with Shown(browser, page, wide=1440) as shown:
        for query in (".stack b bdi", ".costs tbody th bdi", "#detectors tbody th bdi", ".whatif bdi", "#a option"):
            texts = shown.page.locator(query).all_inner_texts()
            assert len(set(texts)) >= len(names)
        clipped = "[...document.querySelectorAll('bdi.det')].filter(one => one.scrollWidth > one.clientWidth + 1 && "
        clipped += "getComputedStyle(one).overflow === 'hidden').length"
        assert shown.page.evaluate(clipped) == 0


def test_print_loses_no_column(browser, page):
    with Shown(browser, page) as shown:
        shown.page.set_viewport_size({"width": 710, "height": 1040})  # A4 without its margins
        shown.page.emulate_media(media="print")
        script = "Math.max(...[...document.querySelectorAll('main table')].map(t => t.getBoundingClientRect().right))"
        assert shown.page.evaluate(script) <= 711
        assert shown.page.locator(".costs tbody tr").count() == 12


def test_the_cut_of_the_files_is_shown(browser, page):
    with Shown(browser, page) as shown:
        assert "V308" in shown.page.locator(".findings").inner_text()
        assert "checks" not in shown.page.locator(".facts").inner_text()
        assert len(re.findall("not in the file", shown.page.locator("#operating").inner_html())) >= 3


@pytest.mark.parametrize(("scheme", "rules"), [("light", RULES), ("dark", OF_COLOURS)])
def test_twelve_detectors_are_accessible(browser, page, scheme, rules):
    with Shown(browser, page, scheme=scheme) as shown:
        assert violations(shown.page, "body", rules) == []


@pytest.mark.parametrize(("scheme", "rules"), [("light", RULES), ("dark", OF_COLOURS)])
def test_one_and_two_detectors_are_accessible_and_small(browser, smaller_page, scheme, rules):
    assert smaller_page.stat().st_size <= 4_000_000
    stored = [one["packed"] for one in vt.read_report(smaller_page)["systems"]]
    assert [one["left_out"] for one in stored] == [0] * len(stored)
    with Shown(browser, smaller_page, scheme=scheme) as shown:
        assert violations(shown.page, "body", rules) == []
        assert [url for url in shown.requests if not url.startswith("data:")] == [smaller_page.as_uri()]
        assert shown.faults == []


def test_ap_under_the_iou_slider_is_that_of_an_evaluation_of_each_file(browser, page):
    """COCO's AP and AP75 of all twelve, to 1e-6."""
    truth = vt.read(REAL / "truth.json.gz")
    scores = {name: vt.coco(truth, file) for name, file in real_files().items()}
    with Shown(browser, page) as shown:
        for step, key in ((0, "AP"), (6, "AP75")):
            shown.page.locator("#whatif [type=range]").fill(str(step))
            for i, one in enumerate(vt.read_report(page)["systems"]):
                value = float(shown.page.locator(f'#whatif [data-ap="{i}"] b').get_attribute("data-value"))
                assert value == pytest.approx(scores[one["name"]][key].value, abs=1e-6)


def test_no_name_is_cut_until_it_equals_another(browser, page):
    """Of detectors, classes and images: what is shown of two different names differs, on a wide screen and a phone."""
    script = """() => {
        const cut = one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2;
        const boxes = [...document.querySelectorAll("main bdi")].filter(one => one.checkVisibility());
        return boxes.filter(one => getComputedStyle(one).overflow === "hidden" && cut(one)).map(one => one.textContent);
    }"""
    for wide in (1440, 1024, 390):
        with Shown(browser, page, wide=wide) as shown:
            cut = shown.page.evaluate(script)
            assert cut == []


def test_the_map_of_classes_can_be_tapped_on_a_phone(browser, page):
    """A tap chooses the nearest cell that is not empty, a button opens it, and Enlarge shows the names."""
    with Shown(browser, page, wide=390) as shown:
        heat = shown.page.locator("svg.heat")
        heat.scroll_into_view_if_needed()
        box = heat.bounding_box()
        shown.page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"] + 3)
        opens = shown.page.locator(".readout button")
        opens.wait_for()
        opens.click()
        shown.page.locator("dialog[open] li").first.wait_for()
        shown.page.keyboard.press("Escape")
        assert not shown.page.locator(".heat .names").is_visible()
        shown.page.locator(".enlarge").click()
        assert shown.page.locator(".heat .names").is_visible()
        assert heat.bounding_box()["width"] > 1000
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_chosen_pair_can_be_read_without_script(browser, page):
    with Shown(browser, page, script=False) as shown:
        text = shown.page.locator("main").inner_text()
        for one in vt.read_report(page)["systems"]:
            assert one["name"] in text
            assert f"{one['scores']['AP']:.3f}" in text
        assert shown.page.locator("tr[data-differs]").count() == 80
