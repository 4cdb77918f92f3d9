"""Write the pictures of the page and of the overlays in the documentation; needs playwright and a chromium.

python tools/picture_page.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from PIL import Image

import verite as vt

ROOT = Path(__file__).parent.parent
HARBOUR = ROOT / "src" / "verite" / "data" / "demo"
IMAGES = ROOT / "docs" / "images"
WIDE, HIGH = 1400, 1180
ERRORS = "missing=0.02,spurious=0.02,label=0.02"  # as in the demo


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        systems = {name: HARBOUR / f"{name}.json" for name in ("hawk", "magpie", "mole")}
        page = vt.report(
            HARBOUR / "truth.json", systems, home / "report.html", pictures="embed", title="Harbour", errors=ERRORS
        )
        photograph(page, home / "page.png")
        shrink(home / "page.png", IMAGES / "report.png", 900)
        (drawn,) = vt.draw(HARBOUR / "truth.json", systems["hawk"], home, image="park-2052.png")
        shrink(drawn, IMAGES / "draw-park.png", 800)


def photograph(page: Path, target: Path) -> None:
    """The first screen of a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_context(viewport={"width": WIDE, "height": HIGH}, color_scheme="light").new_page()
        shown.goto(page.as_uri())
        shown.wait_for_selector("html[data-ready]")
        shown.screenshot(path=target)
        browser.close()


def shrink(source: Path, target: Path, width: int) -> None:
    """A small picture of few colours."""
    with Image.open(source) as image:
        small = image.convert("RGB").resize(
            (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
        )
    small.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
