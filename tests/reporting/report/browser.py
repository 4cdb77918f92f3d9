"""A headless Chromium without network, and what happens in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
IN_BROWSER = [
    pytest.mark.page,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium"),
]
# Ten systems and eighty classes take long to be made.
MANY = pytest.param("many", marks=pytest.mark.slow)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
OF_COLOURS = ("color-contrast", "link-in-text-block")  # all else is the same in any scheme

# Why axe leaves open whether a contrast is enough: single letters, signs, clipped text.
UNDECIDABLE = ["shortTextContent", "nonBmp", "elmPartiallyObscured", "elmPartiallyObscuring"]


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


def launch():
    """One browser for as long as somebody iterates."""
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Windows(opened)
        opened.close()


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


def violations(page, within: str = "body", rules: tuple[str, ...] = RULES) -> list[str]:
    """Rules of accessibility that a page or a part of it breaks, each with the first element that does, and those that
    cannot be decided, but for the contrast of letters in drawings, of single ones, of signs and of clipped text.
    """
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate(next(Path(axe.__file__).parent.rglob("axe*.js")).read_text())
    # Of what passes nothing is told: naming its elements takes four fifths of the time.
    script = """async ([where, rules, undecidable]) => {
        const resultTypes = ["violations", "incomplete"];
        const found = await axe.run(where === "body" ? document : where, {runOnly: rules, resultTypes});
        const reason = node => node.any[0]?.data?.messageKey ?? "";
        // axe takes an image that its drawing clips for one that covers the text beside it: ask the browser.
        const isCovered = node => {
            const element = document.querySelector(node.target[0]);
            element.scrollIntoView({block: "center", behavior: "instant"});
            const {x, y, width, height} = element.getBoundingClientRect();
            const at = document.elementFromPoint(x + width / 2, y + height / 2);
            return !at || !(element.contains(at) || at.contains(element));
        };
        const isClipped = node => reason(node) === "bgOverlap" && !isCovered(node);
        const isDecided = node => undecidable.includes(reason(node)) || isClipped(node);
        const isOpen = node => !/^<(text|tspan)/.test(node.html) && !isDecided(node);
        const open = found.incomplete.map(one => ({...one, nodes: one.nodes.filter(isOpen)}));
        const broken = [...found.violations, ...open].filter(one => one.nodes.length);
        return broken.map(one => `${one.id}: ${reason(one.nodes[0])} ${one.nodes[0].html.slice(0, 160)}`);
    }"""
    return page.evaluate(script, [within, list(rules), UNDECIDABLE])
