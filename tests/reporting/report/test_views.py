"""Interaction with the report: sort, filter, open images, share links, mark annotations."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.browser import IN_BROWSER, Shown
from tests.reporting.report.pages import SYSTEMS, TRUTH
from verite.annotation_errors.detection import Detection
from verite.leaderboards.audit import read_rows
from verite.reporting.draw import Overlay

pytestmark = IN_BROWSER


def test_charts_show_values_on_hover(browser, pages):
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


def test_the_viewer_shows_embedded_images_and_outlines_of_masks(browser, pages):
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


def test_the_viewer_navigates_and_zooms_by_keyboard(browser, pages):
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


def test_zoom_keeps_the_chosen_object_in_view(browser, pages):
    """Also with both detectors side by side, each of which scrolls by itself."""
    inside = """name => [...document.querySelectorAll("dialog figure")].every(box => {
        const at = box.querySelector(name)?.getBoundingClientRect(), whole = box.getBoundingClientRect();
        return !at || at.right > whole.left && at.left < whole.right && at.bottom > whole.top && at.top < whole.bottom;
    })"""
    with Shown(browser, pages["three"]) as shown:
        shown.page.locator("#images-0 tr[data-open] button.open").first.click()
        shown.page.locator("dialog[open] ul.objects button").last.click()
        shown.page.locator("dialog path.hit").wait_for(state="attached")
        shown.page.keyboard.press("s")
        shown.page.wait_for_function("() => document.querySelectorAll('dialog figure').length === 2")
        for _ in range(4):
            shown.page.keyboard.press("+")
            assert shown.page.evaluate(inside, "path.hit")
        size = "text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a"
        assert abs(shown.page.locator("dialog .stage text").evaluate(size) - 13) < 0.1  # readable at any zoom


def test_the_viewer_fits_a_phone(browser, pages):
    with Shown(browser, pages["three"], wide=390) as shown:
        shown.page.locator("tr[data-open] button.open").first.click()
        dialog = shown.page.locator("dialog[open]")
        dialog.locator(".stage svg").wait_for()
        edge = dialog.bounding_box()
        for button in dialog.locator(".top button").all():
            box = button.bounding_box()
            assert box["x"] + box["width"] <= edge["x"] + edge["width"]
            assert box["height"] <= 40  # one line
        assert dialog.locator("h2").bounding_box()["width"] > 50


def test_a_long_list_shows_more_when_asked(browser, tmp_path):
    """A class of 230 missed objects: 200 are listed, then all."""
    where, boxes = [f"{k}.png" for k in range(230)], np.tile([[5.0, 5.0, 40.0, 40.0]], (230, 1))
    truth = vt.Annotations.of(where, ["cat"] * 230, boxes)
    pred = vt.Annotations.of(where[:1], ["cat"], boxes[:1], confidence=[0.9])
    page = vt.report(truth, pred, tmp_path / "a.html", checks="off", pictures="none")
    with Shown(browser, page) as shown:
        shown.page.locator("tr[data-label] button.open").first.click()
        tiles = shown.page.locator("dialog[open] .tile")
        tiles.first.wait_for()
        assert tiles.count() == 200
        shown.page.locator("dialog[open] .all button").click()
        shown.page.wait_for_function("() => document.querySelectorAll('dialog .tile').length === 229")
        assert shown.page.locator("dialog[open] .all").count() == 0


def test_marks_are_copied_as_an_audit_table(browser, pages, tmp_path):
    with Shown(browser, pages["three"]) as shown:
        for k, verdict in enumerate(["wrong", "right", "unsure"]):
            shown.page.locator(f"[name=mark-{k}][value={verdict}]").check()
        shown.page.locator("#copy-marks").click()
        text = shown.page.locator("#marks").input_value()
        selected = "document.activeElement.selectionEnd - document.activeElement.selectionStart"
        assert shown.page.evaluate(selected) == len(text)
    (tmp_path / "audit.csv").write_text(text)
    assert [row.verdict for row in read_rows(tmp_path / "audit.csv")] == ["wrong", "right", "unsure"]
    rates = Detection(spurious=0.02, label=0.02)
    vt.leaderboard(TRUTH, SYSTEMS, errors=rates, audit=tmp_path / "audit.csv", draws=5)


def test_tables_sort_and_state_the_order(browser, pages):
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


@pytest.mark.slow
def test_classes_are_filtered(browser, pages):
    with Shown(browser, pages["many"]) as shown:
        shown.page.locator(".filter").first.fill("class 7")
        names = shown.page.locator("#classes-0 tbody").evaluate(
            "body => [...body.rows].filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)"
        )
        assert names
        assert all("class 7" in name for name in names)


def test_images_are_filtered_and_opened_by_name(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        box = shown.page.locator(".find")
        box.fill("park")
        names = shown.page.locator("#images-0 tbody tr:visible th").all_inner_texts()
        assert names
        assert all("park" in name for name in names)
        box.press("Enter")
        title = shown.page.locator("dialog[open] h2")
        title.filter(has_text="park").wait_for()


def test_a_link_restores_detector_and_threshold(browser, pages):
    with Shown(browser, pages["three"], hash="#at=0.43&pred=magpie") as shown:
        assert shown.page.locator("#a").input_value() == "1"
        assert shown.page.locator('.slider[data-system="1"]').first.input_value() == "43"
        assert shown.page.locator('.slider[data-system="0"]').count() == 0
        shown.page.locator("#a").select_option("2")
        shown.page.wait_for_function("() => location.hash.includes('a=mole')")


def test_a_cell_opens_its_objects_and_escape_returns_focus(browser, pages):
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "hostile"])
def test_a_link_restores_an_open_list(browser, pages, name):
    """Of a cell, and of the errors of a class; also where names hold commas and ampersands, or nothing."""
    queries = ["[data-matrix] td[class^=o] button", "#classes-0 tbody button.open"]
    with Shown(browser, pages[name]) as shown, Shown(browser, pages[name]) as again:
        for query in queries:
            for k in range(0, shown.page.locator(query).count(), 8):
                shown.page.locator(query).nth(k).press("Enter")
                shown.page.locator("dialog[open] li").first.wait_for()
                told = shown.page.locator("dialog[open]").inner_text()
                hash = shown.page.url.partition("#")[2]
                again.page.evaluate("hash => { location.hash = hash }", hash)
                again.page.wait_for_selector("dialog[open] li")
                assert again.page.locator("dialog[open]").inner_text() == told
                for page in (shown.page, again.page):
                    page.keyboard.press("Escape")
                    page.wait_for_function("() => !document.querySelector('dialog').open && !location.hash")
