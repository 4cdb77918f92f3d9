"""Accessibility of the report: WCAG rules, keyboard, no sideways scrolling, printing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.reporting.report.browser import IN_BROWSER, MANY, OF_COLOURS, RULES, Shown, violations

pytestmark = IN_BROWSER


@pytest.mark.parametrize("name", ["one", "three"])
def test_small_reports_have_every_section_and_kind_of_element(pages, name):
    """What is asked of the small ones holds of the others: nothing is on these that is not on those."""
    large, small = (pages[one].read_text() for one in (name, f"small {name}"))
    sections, kinds = re.compile(r'<section id="(\w+)"'), re.compile(r'<(\w+)[^>]*? class="([^"]+)"')
    assert sections.findall(large) == sections.findall(small)
    # An interval of a bin that excludes the diagonal needs more images than a small report has.
    assert set(kinds.findall(large)) - set(kinds.findall(small)) <= {("line", "iv")}


@pytest.mark.parametrize("name", ["small one", "small three", "small hostile"])
def test_the_report_is_accessible_also_with_the_viewer_open(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        states = {"page": "", "viewer": "tr[data-open] button.open", "cell": "[data-matrix] td[class^=o] button"}
        for state, query in states.items():
            if query:
                shown.page.locator(query).first.click()
                shown.page.locator("dialog[open] ul.objects li").first.wait_for()
            for scheme, rules in (("light", RULES), ("dark", OF_COLOURS)):
                shown.page.emulate_media(color_scheme=scheme)
                # What is behind a dialog cannot be reached.
                found = violations(shown.page, "dialog" if query else "body", rules)
                assert (state, scheme, found) == (state, scheme, [])
            shown.page.keyboard.press("Escape")


def test_skip_link_is_first_and_every_control_can_be_reached(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        shown.page.keyboard.press("Tab")
        assert shown.page.evaluate("document.activeElement.className") == "skip"
        unreachable = shown.page.evaluate(
            "[...document.querySelectorAll('button, a, input, select')]"
            ".filter(e => e.tabIndex < 0 && !e.closest('[data-rove]')?.querySelector('[tabindex=\"0\"]')).length"
        )
        assert unreachable == 0


@pytest.mark.parametrize("name", ["three", "hostile", MANY])
def test_the_report_never_scrolls_sideways(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        for wide in (1400, 768, 390, 320):
            shown.page.set_viewport_size({"width": wide, "height": 900})
            assert (wide, shown.page.evaluate("document.documentElement.scrollWidth")) <= (wide, wide)
            # A name of 10,000 letters is whole in the text, and six lines high.
            rows = "Math.max(...[...document.querySelectorAll('tbody tr')].map(row => row.offsetHeight))"
            assert shown.page.evaluate(rows) <= 200


OVERLAPPING = """() => {
    const range = document.createRange(), found = new Set();
    for (const cell of document.querySelectorAll("main table:not(.mx) :is(th, td)")) {
        if (!cell.checkVisibility() || cell.closest(".hide")) continue;
        const box = cell.getBoundingClientRect(), texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const name = texts.currentNode.parentElement.closest("bdi");
            range.selectNodeContents(texts.currentNode);
            const isCut = name && getComputedStyle(name).overflow === "hidden";  // what is cut is not drawn
            const inside = (isCut ? name : range).getBoundingClientRect();
            if (!inside.width) continue;
            if (inside.right > box.right + 1 || inside.left < box.left - 1) found.add(cell.textContent);
        }
    }
    return [...found];
}"""


@pytest.mark.parametrize("name", ["three", "masks", "hostile", MANY])
def test_no_text_of_a_table_runs_into_the_next_column(browser, pages, name):
    with Shown(browser, pages[name]) as shown:
        for wide in (1440, 1024, 390, 320):
            shown.page.set_viewport_size({"width": wide, "height": 900})
            assert (wide, shown.page.evaluate(OVERLAPPING)) == (wide, [])


def test_names_of_images_are_not_broken_into_syllables(browser, pages):
    """On a phone a name of sixteen characters has a line of its own, beside whatever columns."""
    with Shown(browser, pages["masks"], wide=390) as shown:
        heights = "all => all.filter(one => one.textContent.length <= 16).map(one => one.offsetHeight)"
        names = shown.page.eval_on_selector_all("main table bdi.img", heights)
        assert len(names) > 5
        assert max(names) < 30


@pytest.mark.slow
@pytest.mark.parametrize(("wide", "scheme"), [(1400, "light"), (390, "dark")])
def test_screenshots_can_be_taken(browser, pages, tmp_path, wide, scheme):
    """Pictures to look at, not to compare; they are kept where VERITE_PICTURES names a folder."""
    folder = Path(os.environ.get("VERITE_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    with Shown(browser, pages["three"], wide=wide, scheme=scheme) as shown:
        shown.page.screenshot(path=folder / f"three-{scheme}-{wide}.png", full_page=True)
    assert (folder / f"three-{scheme}-{wide}.png").stat().st_size > 100_000


def test_the_report_prints_on_six_sheets_at_most(browser, pages, tmp_path):
    with Shown(browser, pages["three"]) as shown:
        shown.page.pdf(path=tmp_path / "a.pdf", prefer_css_page_size=True)
    sheets = (tmp_path / "a.pdf").read_bytes().count(b"/Type /Page\n") or (tmp_path / "a.pdf").read_bytes().count(
        b"/Type /Page"
    )
    assert 3 <= sheets <= 6
