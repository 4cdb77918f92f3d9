"""Size, elements and speed of the HTML report on COCO val2017 with 1, 2 and 12 real detectors.

    python benchmarks/report.py [--draws 200]

Needs ../shared/real (see benchmarks/README.md), and Chromium with playwright for the figures of the browser.
"""

from __future__ import annotations

import argparse
import re
import shutil
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import verite as vt

REAL = Path(__file__).parents[2] / "shared" / "real" / "coco_val2017"
STEP = """async () => {
    const slider = document.querySelector(".slider"), times = [];
    for (let k = 40; k < 60; k++) {
        const start = performance.now();
        slider.value = k;
        slider.removeAttribute("aria-valuetext");
        slider.dispatchEvent(new Event("input"));
        while (!slider.getAttribute("aria-valuetext")) await new Promise(done => setTimeout(done));
        document.body.offsetHeight;
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[10];
}"""


def main() -> None:
    """Write the reports and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=0, help="bootstrap resamples")
    draws = parser.parse_args().draws
    if not REAL.exists():
        raise SystemExit(f"expected {REAL}, found none: the real detectors are not part of the repository")
    files = [path for path in sorted((REAL / "results").glob("*.json.gz")) if "tensorrt" not in path.name]
    named = {path.name.removesuffix(".json.gz"): path for path in files}
    print(f"{'detectors':>9} {'CPU s':>7} {'MB':>6} {'stored':>7} {'elements':>9} {'ready s':>8} {'slider s':>9}")
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        for count in (1, 2, 12):
            start = time.process_time()
            chosen = dict(list(named.items())[:count])
            page = vt.report(REAL / "truth.json.gz", chosen, Path(folder) / f"{count}.html", draws=draws)
            spent = time.process_time() - start
            packed = [one["packed"] for one in vt.read_report(page)["systems"]]
            kept, left = (sum(one[key] for one in packed) for key in ("kept", "left_out"))
            figures = measure(page) if shutil.which("chromium") else (float("nan"),) * 3
            size = page.stat().st_size / 1e6
            shown = f"{count:9} {spent:7.1f} {size:6.2f} {kept / (kept + left):7.0%} {figures[0]:9,.0f}"
            print(f"{shown} {figures[1]:8.2f} {figures[2]:9.3f}")


def measure(page: Path) -> tuple[float, float, float]:
    """Return the number of elements, seconds until the page is ready, and seconds of one step of the slider."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1440, "height": 900})
        shown.goto(page.as_uri())
        shown.wait_for_selector("[data-ready]", state="attached")
        ready = float(re.sub(r"[^\d.]", "", shown.locator("#viewer").get_attribute("data-ready") or "nan"))
        found = shown.evaluate("document.querySelectorAll('*').length"), ready / 1000, shown.evaluate(STEP) / 1000
        browser.close()
    return found


if __name__ == "__main__":
    main()
