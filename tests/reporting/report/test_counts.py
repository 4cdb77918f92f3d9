"""Counts of the script equal those of Python at every confidence, and lists are as long as they state."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.browser import IN_BROWSER, Shown
from tests.reporting.report.pages import SYSTEMS, TRUTH
from verite.reporting.draw import Overlay
from verite.reporting.report.sections.error_costs import ERROR_TYPES

pytestmark = IN_BROWSER


@pytest.mark.parametrize("name", ["one", "three", "hostile", pytest.param("masks", marks=pytest.mark.slow)])
def test_the_script_changes_no_number_when_it_starts(browser, pages, name):
    """Counts at the default confidence are those that Python wrote."""
    texts = []
    for script in (False, True):
        with Shown(browser, pages[name], script=script) as shown:
            cells = shown.page.locator(".read dd, [data-matrix] td, .images td, [data-count]").all_inner_texts()
            texts.append(cells)
    assert texts[0] == texts[1]
    assert len(texts[0]) > 60


def test_counts_at_every_threshold_are_those_of_python(browser, pages):
    truth, pred = vt.read(TRUTH), vt.read(SYSTEMS["hawk"], like=vt.read(TRUTH))
    expected, results = [], vt.coco(truth, pred)
    last = int(100 * pred.confidence.max())  # a threshold that leaves no prediction is refused
    for k in range(last + 1):
        again = vt.analyse(vt.coco(truth, pred, confidence=k / 100))
        matrix = vt.analyse(results, confidence=k / 100).confusion.counts
        right, missed = int(matrix.diagonal().sum()), len(again.matches.truth_label[again.matches.counted_truth])
        counts = [right, int(again.matches.counted_pred.sum()) - right, missed - right]
        cells = [int(many) for row in matrix[:-1] for many in row] + [int(many) for many in matrix[-1, :-1]]
        expected.append(
            [counts, cells, [again.errors.counts[kind] for kind in ERROR_TYPES if kind in again.errors.counts]]
        )
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
                    found.push([list(".read dd").slice(4, 7), cells, list("span[data-count]")]);
                }
                return found;
            }"""
        )
    assert found[: last + 1] == expected
    assert all(counts[:2] == [0, 0] for counts, _, _ in found[last + 1 :])


@pytest.mark.parametrize(("word", "floors"), [("best F1", None), ("LRP", "lrp")])
def test_buttons_set_the_threshold_of_each_class(browser, pages, word, floors):
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


def test_cells_show_counts_or_shares(browser, pages):
    matrix = vt.read_report(pages["one"])["systems"][0]["confusion"]["matrix"]
    with Shown(browser, pages["one"]) as shown:
        first = shown.page.locator("[data-matrix] tbody tr").first.locator("td").first
        assert first.inner_text() == str(matrix[0][0])
        for value, total in (("row", sum(matrix[0])), ("column", sum(row[0] for row in matrix))):
            shown.page.locator(f"[name=share-0][value={value}]").check()
            assert first.inner_text() == f"{100 * matrix[0][0] / total:.0f}"


# Open every cell of the matrix and of the cost table; return its text, the note, and the length of its list.
OPEN_ALL = """async query => {
    const rest = () => new Promise(done => setTimeout(done, 5)), dialog = document.querySelector("dialog"), found = [];
    for (let k = 0; k < document.querySelectorAll(query).length; k++) {
        const button = document.querySelectorAll(query)[k];
        dialog.querySelector(".note").textContent = "";
        button.click();
        while (!dialog.querySelector(".note").textContent) await rest();
        const note = dialog.querySelector(".note").textContent;
        found.push([button.textContent, note, dialog.querySelectorAll("li").length]);
        const closed = new Promise(done => dialog.addEventListener("close", done, {once: true}));
        dialog.close();
        await closed;
    }
    return found;
}"""
CELLS = "[data-matrix] td button, [data-count] button"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crowded", "free"])
def test_a_list_is_as_long_as_its_cell_states(browser, pages, name):
    """Also where several classes are predicted for an object, with either matching."""
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


def test_a_list_states_how_many_objects_are_not_stored(browser, pages):
    kept = vt.read_report(pages["short"])["systems"][0]["packed"]
    assert kept["left_out"] > 0
    with Shown(browser, pages["short"], hash="#at=0.00") as shown:
        found = shown.page.evaluate(OPEN_ALL, CELLS)
    short = [one for one in found if "only counted" in one[1]]
    assert all(f" of {text} objects stored, the others are only counted" in note for text, note, _ in short)
    assert all(f": {text} objects" in note for text, note, _ in found if "only counted" not in note)
    # Lists show the first 200.
    said = [int(note.split(": ")[1].split(" of ")[0].replace(",", "")) for _, note, _ in short]
    assert (
        sum(int(text.replace(",", "")) - many for (text, _, _), many in zip(short, said, strict=True))
        == 2 * kept["left_out"]
    )


def test_a_list_without_stored_predictions_states_so(browser, pages):
    with Shown(browser, pages["tight"], hash="#at=0.00") as shown:
        found = shown.page.evaluate(OPEN_ALL, CELLS)
    for text, note, _ in found:
        many = note.split(": ")[1].split(" ")[0].replace(",", "")
        more = int(many) - int(text.replace(",", ""))
        said = {0: f": {text} objects", 1: f", {text} count: predictions", -1: f" of {text} objects stored"}
        assert said[int(np.sign(more))] in note
    assert any("predictions on the others are not stored" in note for _, note, _ in found)


def test_bars_counts_and_slices_open_their_objects(browser, pages):
    document = vt.read_report(pages["one"])["systems"][0]
    with Shown(browser, pages["one"], hash="#at=0.00") as shown:
        note = shown.page.locator("dialog .note")
        bar = shown.page.locator('.stack rect[data-count="0.localization"]')
        bar.focus()
        shown.page.keyboard.press("Enter")
        note.filter(has_text=f": {document['errors']['counts']['localization']} objects").wait_for()
        shown.page.keyboard.press("Escape")
        for kind, count in document["errors"]["counts"].items():
            shown.page.locator(f'[data-count="0.{kind}"] button').click()
            note.filter(has_text=f": {count} objects").wait_for()
            shown.page.keyboard.press("Escape")
        shown.page.locator('.stack rect[data-count="0.right"]').press("Enter")
        note.filter(has_text=f": {document['steps']['right'][0]} objects").wait_for()
        shown.page.keyboard.press("Escape")
        assert shown.faults == []
        known = [one for one in document["slices"] if one["recall"] is not None]
        worst = sorted(known, key=lambda one: (not one["is_ranked"], one["recall"]))
        assert len({one["slice"] for one in worst[:9]}) > 1
        # Property by property, that of the lowest recall first
        properties = shown.page.locator("tr[data-slice] .sl").all_inner_texts()
        assert list(dict.fromkeys(properties)) == list(dict.fromkeys(one["slice"] for one in worst))
        assert len(properties) == len(known)
        for one in worst[:3]:
            row = shown.page.locator(f'tr[data-slice="0 {one["place"][0]} {one["place"][1]}"] button.open')
            row.press("Enter")
            note.filter(has_text=f": {one['truths']} objects").wait_for()
            shown.page.keyboard.press("Escape")


def test_the_slider_moves_by_keyboard_and_all_counts_follow(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        slider = shown.page.locator(".slider").first
        slider.focus()
        start = int(slider.input_value())
        shown.page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == start + 1
        shown.page.keyboard.press("PageUp")
        assert int(slider.input_value()) == start + 11
        assert "TP" in shown.page.locator("#said").inner_text()
        assert f"at={(start + 11) / 100:.2f}" in shown.page.url
        shown.page.wait_for_selector("#classes-0 td.at:not([hidden])")
        cells = shown.page.locator("#classes-0 tbody td.at:nth-last-child(4)").all_inner_texts()
        overlay = Overlay(vt.coco(TRUTH, SYSTEMS["hawk"]), confidence=(start + 11) / 100)
        assert sum(map(int, cells)) == int((overlay.outcomes[0] == 0).sum())


def test_buttons_choose_the_threshold_of_a_precision_and_of_the_lowest_cost(browser, pages):
    """Worked out from the numbers of true and false positives at each step."""
    steps = vt.read_report(pages["one"])["systems"][0]["steps"]
    right, wrong, objects = np.array(steps["right"]), np.array(steps["wrong"]), steps["truths"]
    precision = right / np.maximum(right + wrong, 1)
    wanted = {f"precision ≥ {p}": steps["steps"][int(np.argmax(precision >= p))] for p in (0.8, 0.9)}
    for ratio in (2, 10):
        cost = wrong + ratio * (objects - right)
        wanted[f"a missed object costs {ratio} false positives"] = steps["steps"][
            int(np.flatnonzero(cost == cost.min())[-1])
        ]
    assert len(set(wanted.values())) > 1
    with Shown(browser, pages["one"]) as shown:
        for word, confidence in wanted.items():
            shown.page.locator(f'.goal button[aria-label$="{word}"]').click()
            shown.page.wait_for_function(
                "at => document.querySelector('[data-read] dd').textContent === at", arg=f"{confidence:.2f}"
            )
            assert f"at={confidence:.2f}" in shown.page.url


def test_a_small_curve_opens_the_errors_of_its_class(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        curve = shown.page.locator(".mini li[data-label]").nth(1)
        name = curve.locator("bdi").inner_text()
        curve.locator("svg").click()
        shown.page.locator("dialog[open] li").first.wait_for()
        assert shown.page.locator("dialog h2").inner_text() == f"Errors of {name}"
        assert f"label={name}" in shown.page.url


def test_printed_classes_have_their_true_and_false_positives(browser, pages):
    with Shown(browser, pages["one"]) as shown:
        shown.page.emulate_media(media="print")
        cells = shown.page.locator("#classes-0 tbody td.at")
        assert cells.count() >= 2
        assert all(cell.is_visible() and cell.inner_text() for cell in cells.all())
