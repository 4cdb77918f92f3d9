"""Two chosen detectors, the contact sheet, and AP if errors were fixed: numbers of the script equal those of Python."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.browser import IN_BROWSER, Shown
from tests.reporting.report.pages import SYSTEMS, TRUTH, random_pair
from verite.reporting.draw import Overlay
from verite.reporting.report.sections.confusion import block_order

pytestmark = IN_BROWSER


def detected(name: str) -> np.ndarray:
    """Which objects of the demo a detector detects at the confidence of its best F1."""
    overlay = Overlay(vt.coco(TRUTH, SYSTEMS[name]))
    return (overlay.outcomes[0] == 0) & overlay.matches.counted_truth


def test_any_two_detectors_are_compared_class_by_class(browser, pages):
    scores = {}
    for name in ("magpie", "mole"):
        results = vt.coco(TRUTH, SYSTEMS[name])
        scores[name] = dict(zip(results.class_names, results.class_scores()["AP"], strict=True))
    with Shown(browser, pages["three"], hash="#a=mole&b=magpie") as shown:
        rows = shown.page.locator("tr[data-differs]").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
        )
        assert len(rows) == len([value for value in scores["mole"].values() if value == value])
        for name, _, first, second, difference, *_ in rows:
            assert (first, second) == (f"{scores['magpie'][name]:.3f}", f"{scores['mole'][name]:.3f}")
            value = scores["magpie"][name] - scores["mole"][name]
            assert float(difference.replace("−", "-")) == pytest.approx(value, abs=5.1e-4)
        differences = [abs(float(row[4].replace("−", "-"))) for row in rows]
        assert differences == sorted(differences, reverse=True)
        shown.page.locator("#swap").click()
        shown.page.wait_for_function("() => document.querySelector('#classes-1')")  # magpie is now A
        assert shown.faults == []


def test_a_part_that_is_shown_again_has_its_buttons_once(browser, pages):
    with Shown(browser, pages["three"]) as shown:
        for chosen in ("0", "1", "0"):
            shown.page.locator("#a").select_option(chosen)
            shown.page.wait_for_function("a => document.querySelector(`#classes-${a}`)", arg=chosen)
        for section in ("look", "classes", "sides"):
            assert shown.page.locator(f"#{section} .finding .share").count() == 1
        assert shown.page.locator("#classes-0 thead button button").count() == 0
        assert (
            shown.page.locator("#classes .out").count() == shown.page.locator("#classes :is(table, svg.chart)").count()
        )
        assert shown.faults == []


def test_objects_that_only_one_detects_are_shown_as_crops(browser, pages):
    hawk, magpie = detected("hawk"), detected("magpie")
    expected = {"only A": int((hawk & ~magpie).sum()), "only B": int((magpie & ~hawk).sum())}
    with Shown(browser, pages["three"]) as shown:
        shown.page.locator("[data-only] .btn").first.wait_for()
        for text, count in zip(
            shown.page.locator("[data-only] .btn").all_inner_texts(), expected.values(), strict=True
        ):
            assert text == f"All {count} in the contact sheet"
        shown.page.locator("[data-only] .btn").first.click()
        shown.page.wait_for_function(
            "many => document.querySelectorAll('#sheet .tiles li').length === Math.min(48, many)",
            arg=expected["only A"],
        )
        assert "agree=a" in shown.page.url
        url = shown.page.url
    with Shown(browser, pages["three"], hash=f"#{url.partition('#')[2]}") as shown:
        shown.page.locator("#objects-sheet").scroll_into_view_if_needed()
        shown.page.locator('.chip[value="agree:a"][aria-pressed=true]').wait_for()
        said = shown.page.locator("#sheet .said").inner_text()
        assert f"{expected['only A']} objects and 0 false positives of hawk" in said


def test_chips_of_the_contact_sheet_count_what_they_would_show(browser, pages):
    overlay = Overlay(vt.coco(TRUTH, SYSTEMS["hawk"]))
    missed = overlay.matches.counted_truth & ~detected("hawk")
    sizes = overlay.truth.regions.sizes[missed]
    area = sizes[:, 2] * sizes[:, 3]
    small = int((area < 32**2).sum())
    with Shown(browser, pages["three"]) as shown:
        shown.page.locator("#objects-sheet").scroll_into_view_if_needed()
        chip = shown.page.locator('.chip[value="type:missed"]')
        chip.wait_for()
        assert chip.locator("i").inner_text() == f"{missed.sum():,}"
        chip.click()
        shown.page.locator('.chip[value="type:missed"][aria-pressed=true]').wait_for()
        if small:
            assert shown.page.locator('.chip[value="size:0"] i').inner_text() == f"{small:,}"
            shown.page.locator('.chip[value="size:0"]').click()
            shown.page.wait_for_function(
                "many => document.querySelectorAll('#sheet .tiles li').length === Math.min(48, many)", arg=small
            )
        # Arrow keys move from crop to crop; there is one tab stop.
        assert shown.page.locator('#sheet .tiles button[tabindex="0"]').count() == 1
        shown.page.locator("#sheet .tiles button").first.focus()
        shown.page.keyboard.press("ArrowRight")
        assert (
            shown.page.evaluate(
                "[...document.querySelectorAll('#sheet .tiles button')].indexOf(document.activeElement)"
            )
            == 1
        )
        shown.page.keyboard.press("Enter")
        shown.page.locator("dialog[open] .stage svg").wait_for()
        assert "image=" in shown.page.url
        shown.page.go_back()
        shown.page.wait_for_function("() => !document.querySelector('dialog').open")
        assert "type=missed" in shown.page.url
        assert shown.faults == []


def test_an_image_is_split_between_both_detectors(browser, pages):
    with Shown(browser, pages["three"]) as shown:
        shown.page.locator("tr[data-open] button.open").first.click()
        shown.page.locator("dialog[open] .stage figure").wait_for()
        shown.page.keyboard.press("s")
        shown.page.wait_for_function("() => document.querySelectorAll('dialog .stage figure').length === 2")
        assert shown.page.locator("dialog figcaption").all_inner_texts() == ["hawk", "magpie"]


def test_ap_under_the_iou_slider_is_that_of_an_evaluation(browser, pages):
    with Shown(browser, pages["three"]) as shown:
        for step, iou in ((1, 0.5), (6, 0.75), (10, 0.95)):
            shown.page.locator("#whatif [type=range]").fill(str(step))
            for i, name in enumerate(("hawk", "magpie", "mole")):
                value = float(shown.page.locator(f'#whatif [data-ap="{i}"] b').get_attribute("data-value"))
                assert value == pytest.approx(vt.coco(TRUTH, SYSTEMS[name], iou=iou)["AP"].value, abs=1e-6)
        shown.page.locator("#whatif [type=range]").fill("0")
        hawk = shown.page.locator('#whatif [data-ap="0"] b')
        errors = vt.analyse(TRUTH, SYSTEMS["hawk"]).errors
        assert float(hawk.get_attribute("data-value")) == pytest.approx(errors.base, abs=1e-6)
        boxes = shown.page.locator("#whatif [type=checkbox]")
        boxes.first.check()  # localization
        fixed = errors.base + errors.alone["localization"]
        assert float(hawk.get_attribute("data-value")) == pytest.approx(fixed, abs=1e-6)
        for k in range(1, boxes.count()):
            boxes.nth(k).check()
        assert float(hawk.get_attribute("data-value")) == pytest.approx(1.0, abs=1e-6)  # costs sum to 1 − AP


def test_many_classes_are_a_heat_map_with_one_tab_stop(browser, tmp_path):
    truth, pred = random_pair(20)
    page = vt.report(truth, pred, tmp_path / "a.html", checks="off")
    document = vt.read_report(page)["systems"][0]["confusion"]
    with Shown(browser, page) as shown:
        heat = shown.page.locator("svg.heat")
        heat.focus()
        shown.page.keyboard.press("ArrowDown")
        shown.page.keyboard.press("ArrowRight")
        order = [int(one) for one in heat.get_attribute("data-labels").split()]
        names = [f"class {k}" for k in range(20)]
        name = names[order[1]]
        at = document["labels"].index(name)
        assert heat.get_attribute("aria-label").startswith(f"{name} detected: {document['matrix'][at][at]}")
        shown.page.keyboard.press("Enter")
        shown.page.locator("dialog[open] li").first.wait_for()
        assert shown.page.locator("dialog[open] li").count() == document["matrix"][at][at]
        assert shown.faults == []


def test_classes_that_are_confused_lie_side_by_side():
    """Two groups of three classes, confused only within their group, in mixed order."""
    groups = np.array([0, 1, 0, 1, 1, 0])
    matrix = np.zeros((7, 7), dtype=np.int64)
    matrix[:6, :6] = np.where(groups[:, None] == groups[None, :], 5, 0)
    np.fill_diagonal(matrix, 20)
    order, blocks = block_order(matrix)
    assert sorted(order) == list(range(6))
    assert blocks == [3, 3]
    assert len(set(groups[order[:3]])) == len(set(groups[order[3:]])) == 1


def test_a_result_is_copied_with_its_link_and_command(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        shown.page.evaluate(
            "document.execCommand = () => { window.copied = document.activeElement.value; return true; }"
        )
        shown.page.locator("#classes .share").click()
        shown.page.wait_for_function("() => window.copied")  # the clipboard is asked first, and refuses
        said, link, command = shown.page.evaluate("window.copied").split("\n")
        assert said in shown.page.locator("#classes .finding").inner_text()
        assert link.endswith("section=classes")
        assert command == vt.read_report(pages["one"])["command"]


def test_tables_are_saved_as_csv(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        with shown.page.expect_download() as found:
            shown.page.locator("#classes .out button").first.click()
        lines = found.value.path().read_text().splitlines()
        rows = vt.read_report(pages["one"])["systems"][0]["classes"]["rows"]
        assert len(lines) == len(rows) + 2  # head and mean
        assert lines[1].startswith(rows[0][0])
        assert f"{rows[0][1]:.3f}" in lines[1].split(",")
