"""Do the kernels compile elsewhere, and give the same bits there? For Windows, and for 64-bit ARM, which is run.

`make cross` wants the cross compilers and qemu: apt-get install mingw-w64 g++-aarch64-linux-gnu qemu-user.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import verite as vt

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "cross"
DATA = ROOT / "src" / "verite" / "data" / "demo"
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-Icpp"]
NUMBERS = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]


@dataclass(frozen=True)
class Target:
    name: str
    compiler: str
    runs_by: tuple[str, ...] | None  # None: nothing here runs it


TARGETS = (
    Target("native", "g++", ()),
    Target("aarch64", "aarch64-linux-gnu-g++", ("qemu-aarch64",)),
    Target("windows", "x86_64-w64-mingw32-g++-posix", None),
)


def compile_smoke(target: Target) -> Path:
    """Every kernel and the smoke program, as one executable."""
    program = BUILD / f"smoke-{target.name}.exe"
    objects = []
    for source in [*folders_as_pieces(), ROOT / "tests" / "cross" / "smoke.cpp"]:
        made = BUILD / f"{target.name}-{source.stem}.o"
        subprocess.run([target.compiler, *FLAGS, "-c", source, "-o", made], cwd=ROOT, check=True)
        objects.append(made)
    subprocess.run([target.compiler, *FLAGS, *objects, "-o", program], cwd=ROOT, check=True)
    return program


def folders_as_pieces() -> list[Path]:
    """A folder of kernels is one file, as where the package is installed: common headers are read once."""
    BUILD.mkdir(parents=True, exist_ok=True)
    pieces = []
    for folder in sorted(path for path in (ROOT / "cpp").iterdir() if path.is_dir() and path.name != "bind"):
        piece = BUILD / f"{folder.name}.cpp"
        piece.write_text("".join(f'#include "{source}"\n' for source in sorted(folder.glob("*.cpp"))))
        pieces.append(piece)
    return pieces


def wanted_bits(truth: Path, pred: Path) -> list[str]:
    """What the installed package prints, to the last bit."""
    results = vt.coco(truth, pred)
    return [float(results[name]).hex() for name in NUMBERS]


def main() -> int:
    truth, pred = DATA / "truth.json", DATA / "hawk.json"
    wanted = wanted_bits(truth, pred)
    differs = False
    for target in TARGETS:
        if shutil.which(target.compiler) is None:
            print(f"{target.name}: no {target.compiler} here")
            continue
        program = compile_smoke(target)
        if target.runs_by is None:
            print(f"{target.name}: compiles and links; nothing here runs it")
            continue
        printed = subprocess.run(
            [*target.runs_by, program, truth, pred], cwd=ROOT, text=True, capture_output=True, check=True
        ).stdout
        found = [float.fromhex(line).hex() for line in printed.split()]
        differs |= found != wanted
        print(f"{target.name}: {'the same bits' if found == wanted else f'other numbers: {found}, expected {wanted}'}")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
