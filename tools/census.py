"""Print figures about the code base: size, grain, types, documentation, and the path of one COCO evaluation.

Run by CI as information; nothing fails on a figure. `python tools/census.py --json` prints one JSON document,
`--package formats` the figures of one package and its single-use functions.

Every figure comes from the syntax trees of `src/verite` (Python), from the text of `cpp`, and from one profiled
run of `verite coco` on the bundled dataset.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "verite"
FIELD_WORDS = ("ground truth", "bounding box", "false positive", "false negative", "bootstrap", "confidence interval")


@dataclass(frozen=True)
class Figure:
    """One row of the table: what is counted, its value, and the aim."""

    name: str
    value: float | int | str
    aim: str = ""


def syntax_trees(folder: Path) -> dict[Path, ast.Module]:
    """Return every Python file below a folder as a syntax tree."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py"))}


def docstring_lines(tree: ast.Module) -> int:
    """Count the lines taken by docstrings of a module, its classes and functions."""
    nodes = [
        n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    strings = [node.body[0] for node in nodes if ast.get_docstring(node, clean=False) is not None]
    return sum((s.end_lineno or s.lineno) - s.lineno + 1 for s in strings)


def code_lines(trees: dict[Path, ast.Module]) -> int:
    """Count lines that are neither blank nor part of a docstring."""
    written = sum(1 for path in trees for line in path.read_text("utf-8").splitlines() if line.strip())
    return written - sum(map(docstring_lines, trees.values()))


def native_code_lines() -> int:
    """Count the lines of C++ that are neither blank nor a whole-line comment."""
    lines = (line.strip() for path in (ROOT / "cpp").rglob("*.?pp") for line in path.read_text("utf-8").splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def functions_of(trees: dict[Path, ast.Module]) -> list[ast.FunctionDef]:
    return [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def name_of(node: ast.AST) -> str:
    """Return the name that an expression mentions, the last one of a dotted name, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def single_use_functions(
    trees: dict[Path, ast.Module], chosen: dict[Path, ast.Module]
) -> tuple[list[tuple[Path, ast.FunctionDef]], int]:
    """List the module-level functions of `chosen` that are called in one place and mentioned nowhere else.

    Public names, names that a decorator registers and functions that are passed on as values (the `read` of a format's
    record) do not count as single-use. The second value is the number of functions that were looked at.
    """
    uses: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for tree in trees.values():
        for node in ast.walk(tree):
            uses[name_of(node)] += 1
            if isinstance(node, ast.Call):
                calls[name_of(node.func)] += 1
    public = set(re.findall(r"as (\w+)", (SOURCE / "__init__.pyi").read_text("utf-8")))
    inner = [
        (path, node)
        for path, tree in chosen.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name not in public
    ]
    return [(path, node) for path, node in inner if uses[node.name] == calls[node.name] == 1], len(inner)


def annotation_count(trees: dict[Path, ast.Module], pattern: str) -> int:
    """Count how often a type is written, anywhere in the sources."""
    return sum(len(re.findall(pattern, path.read_text("utf-8"))) for path in trees)


def upward_imports(trees: dict[Path, ast.Module]) -> int:
    """Count modules below the package's top that import the package itself, or a public name of it."""
    found = 0
    for path, tree in trees.items():
        if path.parent == SOURCE or path.relative_to(SOURCE).parts[0] == "cli":
            continue
        names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names if alias.name == "verite"}
            elif isinstance(node, ast.ImportFrom) and node.module == "verite":
                names |= {alias.name for alias in node.names} - {"_core", "__version__"}
        found += bool(names)
    return found


def documented_public_names() -> tuple[int, int]:
    """Count public functions and classes, and those whose docstring lists parameters, results and an example."""
    import verite

    complete = total = 0
    for name in verite.__all__:
        thing = getattr(verite, name)
        if name.startswith("__") or not callable(thing):
            continue
        total += 1
        text = thing.__doc__ or ""
        complete += "Parameters\n" in text and (">>>" in text) and ("Returns\n" in text or isinstance(thing, type))
    return complete, total


def profile_coco() -> tuple[list[tuple[str, str, int]], int]:
    """Run `verite coco` on two small files; return (file, function, line) in the order of first calls, and crossings.

    A crossing is a call from one package into another.
    """
    from verite import cli

    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder))
        functions: dict[tuple[str, str, int], None] = {}
        crossings = 0

        def package(path: str) -> str:
            return Path(path).relative_to(SOURCE).parts[0]

        def watch(frame: object, event: str, _: object) -> None:
            nonlocal crossings
            code = frame.f_code  # type: ignore[attr-defined]
            if event != "call" or not code.co_filename.startswith(str(SOURCE)) or code.co_name.startswith("<"):
                return
            functions[code.co_filename, code.co_qualname, code.co_firstlineno] = None
            caller = frame.f_back  # type: ignore[attr-defined]
            if caller is not None and caller.f_code.co_filename.startswith(str(SOURCE)):
                crossings += package(caller.f_code.co_filename) != package(code.co_filename)

        command = ["coco", f"{folder}/truth.json", f"{folder}/pred.json", "--quiet"]
        with redirect_stdout(StringIO()):
            cli.run(command)  # imports and declarations happen here, once
            sys.setprofile(watch)
            try:
                cli.run(command)
            finally:
                sys.setprofile(None)
    return list(functions), crossings


def print_path() -> None:
    """Print the functions that `verite coco` runs, by file, in the order of first calls."""
    functions, crossings = profile_coco()
    by_file: dict[str, list[str]] = {}
    for path, name, line in functions:
        by_file.setdefault(str(Path(path).relative_to(SOURCE)), []).append(f"{name}:{line}")
    for path, names in by_file.items():
        print(f"{path} ({len(names)}): {', '.join(names)}")
    print(f"{len(by_file)} files, {len(functions)} functions, {crossings} calls between packages")


def write_sample(folder: Path) -> None:
    """Write two small COCO files without any fault."""
    images = [{"id": i, "width": 200, "height": 200, "file_name": f"{i}.jpg"} for i in range(1, 5)]
    classes = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    boxes = [(1 + k % 4, 1 + k % 2, [10.0 * k, 10.0, 40.0, 30.0 + k]) for k in range(12)]
    truth = [
        {"id": k + 1, "image_id": i, "category_id": c, "bbox": b, "area": b[2] * b[3], "iscrowd": 0}
        for k, (i, c, b) in enumerate(boxes)
    ]
    pred = [
        {"image_id": i, "category_id": c, "bbox": [b[0] + 1, *b[1:]], "score": round(0.05 + 0.07 * k, 2)}
        for k, (i, c, b) in enumerate(boxes)
    ]
    document = {"images": images, "categories": classes, "annotations": truth}
    (folder / "truth.json").write_text(json.dumps(document))
    (folder / "pred.json").write_text(json.dumps(pred))


def measure_grain(trees: dict[Path, ast.Module], chosen: dict[Path, ast.Module]) -> list[Figure]:
    """Size and grain of some of the sources: modules, functions, docstrings, loose types."""
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in chosen)
    lengths = [(f.end_lineno or f.lineno) - f.lineno + 1 for f in functions_of(chosen)]
    single, functions = single_use_functions(trees, chosen)
    return [
        Figure("modules", len(chosen), "≤ 300, ≤ 380 with new capabilities"),
        Figure("median lines of a function", statistics.median(lengths), "≥ 9"),
        Figure("single-use functions, %", round(100 * len(single) / max(functions, 1), 1), "≤ 15"),
        Figure("docstrings, % of lines", round(100 * sum(map(docstring_lines, chosen.values())) / lines, 1), "≥ 20"),
        Figure("dict[str, Any]", annotation_count(chosen, r"dict\[str, Any\]"), "≤ 120"),
        Figure("JsonObject (dict[str, Any] of a JSON document)", annotation_count(chosen, r"\bJsonObject\b")),
        Figure("Any", annotation_count(chosen, r"\bAny\b")),
    ]


def print_package(name: str) -> None:
    """Print the figures of one package, and its single-use functions with their lengths."""
    trees = syntax_trees(SOURCE)
    chosen = {path: tree for path, tree in trees.items() if SOURCE / name in path.parents or path.stem == name}
    for figure in [Figure("code lines", code_lines(chosen)), *measure_grain(trees, chosen)]:
        print(f"{figure.name:<30}  {figure.value!s:>9}  {figure.aim}".rstrip())
    for path, node in single_use_functions(trees, chosen)[0]:
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        print(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}, {length} lines, used once")


def measure() -> list[Figure]:
    """Figures of the whole code base, in the order they are printed."""
    trees = syntax_trees(SOURCE)
    tests = syntax_trees(ROOT / "tests")
    path, crossings = profile_coco()
    complete, total = documented_public_names()
    text = "\n".join(path.read_text("utf-8") for path in trees).lower()
    return [
        Figure("code lines, src (without docstrings, blank lines)", code_lines(trees)),
        Figure("code lines, cpp (without comments, blank lines)", native_code_lines()),
        Figure("code lines, tests", code_lines(tests)),
        *measure_grain(trees, trees),
        Figure("verite coco: files", len({file for file, _, _ in path}), "≤ 30"),
        Figure("verite coco: functions", len(path), "≤ 120"),
        Figure("verite coco: calls between packages", crossings, "≤ 250"),
        Figure("hasattr/getattr probes of results", annotation_count(trees, r"(?:has|get)attr\(results?\b"), "0"),
        Figure("upward imports of the package", upward_imports(trees), "0"),
        Figure("public functions and classes with parameters, returns, example", f"{complete} of {total}", "all"),
        *(Figure(f"“{word}” in src", text.count(word)) for word in FIELD_WORDS),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--package", help="figures of one package, such as formats, and its single-use functions")
    parser.add_argument("--path", action="store_true", help="list the functions that `verite coco` runs, by file")
    wanted = parser.parse_args()
    if wanted.path:
        print_path()
        return
    if wanted.package:
        print_package(wanted.package)
        return
    figures = measure()
    if wanted.json:
        print(json.dumps([asdict(figure) for figure in figures], ensure_ascii=False, indent=1))
        return
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        print(f"{figure.name:<{width}}  {figure.value!s:>9}  {figure.aim}".rstrip())


if __name__ == "__main__":
    main()
