"""Do the test suites of peers pass on verite? ``python -m tests.compat.peers FOLDER`` runs those that are there.

As a plugin of pytest it puts verite under the name of pycocotools, and under that of faster-coco-eval when asked.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Below FOLDER: the name of a repository, the tests in it, and what fails for which reason.
SUITES: dict[str, tuple[str, dict[str, str]]] = {
    "cocoapi": ("tests/test_cases.py", {}),
    "torchmetrics": ("tests/unittests/detection/test_map.py", {}),
    "faster_coco_eval": ("tests", {}),
}


def run(folder: Path, name: str) -> bool:
    """Run a suite; say how much of it passes, and whether everything that fails has a reason."""
    tests, reasons = SUITES[name]
    place = folder / name
    if not (place / tests).exists():
        print(f"{name}: not in {folder}")
        return True
    # Without options of its own project, which may ask for plugins.
    words = ["-m", "pytest", "-q", "-rfEs", "-p", "tests.compat.peers", "-p", "no:cacheprovider", "--tb=no"]
    words += ["-o", "addopts=", "-W", "ignore"]
    paths = [str(ROOT), str(place / "tests"), os.environ.get("PYTHONPATH", "")]
    settings = {**os.environ, "VERITE_PEER": name, "PYTHONPATH": os.pathsep.join(paths)}
    where = (place / tests) if (place / tests).is_dir() else (place / tests).parent
    done = subprocess.run(
        [sys.executable, *words, str(place / tests)],
        cwd=where,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    explained = {test: reason for test in failed for pattern, reason in reasons.items() if re.search(pattern, test)}
    print(f"{name}: {(done.stdout.strip() or done.stderr.strip()).splitlines()[-1]}")
    for reason, count in Counter(explained.values()).items():
        print(f"  {count} fail: {reason}")
    for count, reason in re.findall(r"^SKIPPED \[(\d+)\] \S+: (.+)$", done.stdout, re.MULTILINE):
        print(f"  {count} skipped: {reason}")
    for test in sorted(set(failed) - set(explained)):
        print(f"  {test} fails: no reason known")
    return set(failed) == set(explained) and done.returncode in (0, 1)


def stand_in() -> None:
    """Put verite where the suite looks for its own package."""
    import verite.compat
    from tests.compat.torchvision_operators import define_operators

    with contextlib.suppress(ImportError):
        define_operators()
    verite.compat.install_as_pycocotools()
    if os.environ["VERITE_PEER"] == "faster_coco_eval":
        verite.compat.install_as_faster_coco_eval()


if __name__ == "__main__":
    passed = [run(Path(sys.argv[1]).resolve(), name) for name in SUITES]
    sys.exit(not all(passed))
elif "VERITE_PEER" in os.environ:
    stand_in()
