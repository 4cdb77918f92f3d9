"""Do the test suites of peers pass on verite? ``python -m tests.compat.peers FOLDER`` runs those that are there.

As a plugin of pytest it puts verite under the name of pycocotools, and under that of faster-coco-eval when asked.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Below FOLDER: the name of a repository, the tests in it, and a file that some of them need, with their names.
SUITES: dict[str, tuple[str, str, str]] = {
    "cocoapi": ("tests/test_cases.py", "", ""),
    "torchmetrics": (  # its data come by its own `make data`
        "tests/unittests/detection/test_map.py", "tests/_data/detection/instances_val2014_100.json", "",
    ),
    "faster_coco_eval": ("tests", "tests/lvis_dataset/lvis_results_100.json", "TestBaseLvis|test_world_lvis"),
}  # fmt: skip


def run(folder: Path, name: str) -> bool:
    """Run a suite; say how much of it passes, and whether everything that fails has a reason."""
    tests, needed, pattern = SUITES[name]
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
    lacks = bool(needed) and not (place / needed).is_file()
    explained = {test for test in failed if lacks and re.search(pattern, test)}
    print(f"{name}: {(done.stdout.strip() or done.stderr.strip()).splitlines()[-1]}")
    if explained:
        print(f"  {len(explained)} fail: there is no {needed}")
    for count, reason in re.findall(r"^SKIPPED \[(\d+)\] \S+: (.+)$", done.stdout, re.MULTILINE):
        print(f"  {count} skipped: {reason}")
    for test in sorted(set(failed) - explained):
        print(f"  {test} fails: no reason known")
    return set(failed) == explained and (done.returncode in (0, 1) or bool(explained))


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
