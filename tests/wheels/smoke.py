"""Does an installed wheel work? Its notices, the demo, and pycocotools' numbers to the last bit.

Runs without any test tool: `python tests/wheels/smoke.py`.
"""

import os
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

# COCOeval of pycocotools 2.0.11 on the demo's truth.json and hawk.json: stats, in order.
STATS = {
    "AP": "0x1.1a80605356e2dp-1",
    "AP50": "0x1.736f95cb27935p-1",
    "AP75": "0x1.429f7cfad285bp-1",
    "APs": "0x1.e9516786bff53p-2",
    "APm": "0x1.85a112d93bb6bp-1",
    "APl": "0x1.8afbc68c40361p-1",
    "AR1": "0x1.c9e24a5c808b8p-2",
    "AR10": "0x1.337035d979850p-1",
    "AR100": "0x1.337035d979850p-1",
    "ARs": "0x1.f8eb51aa030bcp-2",
    "ARm": "0x1.a3d518bf42cfap-1",
    "ARl": "0x1.999999999999ap-1",
}

NOTICES = {"LICENSE", "nanobind.txt", "robin-map.txt"}  # ours, and of what is linked into the core


def check_contents() -> None:
    """The notices are inside, and nothing that draws is installed unless asked for."""
    about = distribution("verite")
    if missing := NOTICES - {Path(str(file)).name for file in about.files or ()}:
        sys.exit(f"expected the notices in the wheel, found no {', '.join(sorted(missing))}")
    if heavy := [one for one in about.requires or () if one.startswith("matplotlib") and "extra ==" not in one]:
        sys.exit(f"expected matplotlib in an extra alone, found {heavy}")


def main() -> None:
    check_contents()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the installed package, not the checkout
        import verite as vt

        subprocess.run([sys.executable, "-m", "verite", "demo", "demo"], check=True, stdout=subprocess.DEVNULL)
        harbour = Path("demo") / "harbour"
        results = vt.coco(harbour / "truth.json", harbour / "hawk.json")
        wrong = {name: float(results[name]).hex() for name, bits in STATS.items() if float(results[name]).hex() != bits}
        os.chdir("/")
    if wrong:
        sys.exit(f"expected pycocotools' bits, found {wrong}")
    print(f"verite {vt.__version__} on {sys.platform}: the demo runs, the numbers equal pycocotools' to the last bit")


if __name__ == "__main__":
    main()
