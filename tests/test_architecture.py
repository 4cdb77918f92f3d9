"""The architecture: imports go down only, and nothing heavy is imported before it is needed."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import verite

SOURCE = Path(verite.__file__).parent if "src" in verite.__file__ else Path(__file__).parent.parent / "src" / "verite"
NATIVE = Path(__file__).parent.parent / "cpp"
# Layers from the bottom up; a module may import from lower layers and from its own package, no other of its layer.
LAYERS = (
    {"hooks"},
    {"arrays", "errors", "_core", "__init__"},
    {"limits", "plotting", "progress", "signature", "statistics", "threads"},
    {"files", "settings"},
    {"csv_files"},
    {"model"},
    {"formats", "checks"},
    {"evaluation"},
    {"pairs"},
    {"protocols", "metrics"},
    {"scene"},
    {"annotation_errors"},
    {"studies", "leaderboards", "ranking"},
    {"analysis", "judge"},
    {"reporting"},
    {"reproductions"},
    {"compat", "scale"},
    {"cli"},
    {"__main__"},
)
HEAVY = ("scipy", "matplotlib", "rich", "pandas", "PIL", "msgspec", "pyarrow", "cv2", "dask", "torch", "jinja2")


def package(module: str) -> str:
    """The first part of a module's name below verite."""
    return module.split(".")[1] if "." in module else "__init__"


def layer(name: str) -> int:
    found = [i for i, packages in enumerate(LAYERS) if name in packages]
    assert found, f"verite.{name} has no layer"
    return found[0]


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules a file imports, and whether at its top; imports for the type checker alone do not count."""
    tree = ast.parse(path.read_text())
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.append((f"{node.module}", id(node) in top))
            found += [
                (f"{node.module}.{alias.name}", id(node) in top) for alias in node.names if node.module == "verite"
            ]
    return found


FILES = sorted(SOURCE.rglob("*.py"))


def test_imports_go_down_only():
    assert len(FILES) > 20
    upward = []
    for path in FILES:
        relative = path.relative_to(SOURCE)
        mine = relative.parts[0].removesuffix(".py")
        targets = {package(module) for module, _ in imports(path) if module.startswith("verite.")}
        targets -= {"__version__", mine}
        upward += [f"{relative} imports verite.{other}" for other in targets if layer(other) >= layer(mine)]
    assert not upward


OWN_DOCUMENTS = {"reporting/report/score_report.py"}  # what a board has just written


def unguarded(tree: ast.AST) -> list[ast.Call]:
    """Calls of json.loads that no `except` for too deep a nesting surrounds."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any("RecursionError" in ast.unparse(one.type or node) for one in node.handlers)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads"]
    return [node for node in calls if id(node) not in guarded]


def test_json_of_others_is_read_with_a_guard_against_deep_nesting():
    found = {str(path.relative_to(SOURCE)) for path in FILES if unguarded(ast.parse(path.read_text()))}
    assert found == OWN_DOCUMENTS
    assert unguarded(ast.parse("try:\n    json.loads(x)\nexcept ValueError:\n    pass"))


# Calls that open a file. Our own functions of such a name (`coco.open`) and writing are excluded below.
OPENERS = re.compile(
    r"open|(.*\.)?(open|read_bytes|read_text|(Zip|Tar|Gzip|LZMA|BZ2|Zstd|Parquet)File|read_schema|memmap|mmap)"
    r"|np\.(load|fromfile|loadtxt|genfromtxt)|nibabel\.load|(.*\.)?(parquet|csv|feather)\.(read_table|read_csv)"
    r"|(pandas|pd)\.read_\w+|(json|tomllib|pickle|marshal|yaml)\.load|(.*\.)?(ElementTree|minidom)\.(parse|iterparse)"
    r"|csv\.(reader|DictReader)|(.*\.)?(imread|loadmat)"
)
OWN_RESOURCES = re.compile(r"__file__|RESOURCES|files\('verite'\)|os\.devnull")
# Functions that open files of users, and why not by `files.read_bytes`, `read_text` and `read_lines` or `csv_files`.
READERS = {
    "files.py: find_path": "the function itself: may it be read?",
    "files.py: read_bytes": "the function itself",
    "files.py: unpack_bytes": "the function itself",
    "formats/__init__.py: read_path": "a pipe, which is saved to a file first",
    "formats/archives.py: start_of": "the first bytes of what was unpacked",
    "formats/archives.py: unpack_gzip": "archives, which are unpacked into a folder under limits",
    "formats/archives.py: unpack_zstd": "as above",
    "formats/archives.py: unpack_zip": "as above",
    "formats/archives.py: unpack_tar": "as above",
    "formats/format.py: head_of": "the first 64 KiB, for recognition",
    "formats/format.py: tail_of": "the last 64 KiB, for recognition",
    "formats/registry.py: unknown_format": "may it be read?",
    "formats/sizes.py: open_image": "the one opener of pictures",
    "formats/supervisely.py: runs_of_bitmap": "a picture inside a JSON document",
    "formats/volumes.py: read_nifti": "checked by find_path and read whole; unpacked under the limit of voxels",
    "judge/page.py: do_POST": "votes that it has just written itself",
    "reproductions/advice.py: main_table": "a table of a paper, which verite ships with",
    "reproductions/comparison.py: read_table": "as above",
    "ranking/tables.py: is_table": "the names of the columns at the end of a Parquet file",
    "compat/pycocotools/coco.py: open_for": "a method of ours",
}


def opened_files(tree: ast.AST, name: str = "") -> Iterator[tuple[str, str]]:
    """Calls that open a file to read it, with the function around them; what verite ships with does not count."""
    for node in ast.iter_child_nodes(tree):
        is_named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if isinstance(node, ast.Call) and OPENERS.fullmatch(called := ast.unparse(node.func)):
            # After one of these functions what is read is in memory, which opens nothing; what is written is not read.
            words = [ast.unparse(one) for one in (*node.args, *(word.value for word in node.keywords))]
            is_written = any(re.fullmatch(r"'[wax]b?'|.*O_WRONLY.*", word) for word in words)
            is_in_memory = called.endswith("read_table") and any("BufferReader" in word for word in words)
            is_reader = called in ("read_bytes", "read_text")
            if not (is_written or is_in_memory or is_reader or OWN_RESOURCES.search(ast.unparse(node))):
                yield name, called
        yield from opened_files(node, node.name if is_named else name)


def test_files_of_users_are_opened_by_the_common_functions_alone():
    """They refuse what is no file or too large, unpack under a limit, and name the file whatever goes wrong.

    No function keeps a memory map, which follows later writes to the file and ends the process if it becomes shorter.
    """
    found = {}
    for path in FILES:
        for function, called in opened_files(ast.parse(path.read_text())):
            found[f"{path.relative_to(SOURCE)}: {function}"] = called
    assert found.keys() == READERS.keys()
    assert not [place for place, called in found.items() if "mmap" in called or called.endswith((".load", "memmap"))]


@pytest.mark.parametrize(
    "line",
    ["np.load(path)", "np.load(path, mmap_mode='r')", "open(path)", "path.open('rb')", "Path(x).read_bytes()",
     "csv.reader(file)", "mmap.mmap(f, 0)", "pandas.read_csv(path)", "pyarrow.parquet.read_table(path)", "json.load(f)",
     "nibabel.load(path)", "Image.open(path)", "zipfile.ZipFile(path)", "path.read_text('utf-8')"],
)  # fmt: skip
def test_a_reader_beside_the_common_functions_is_found(line):
    assert [name for name, _ in opened_files(ast.parse(f"def read(path):\n    return {line}"))] == ["read"]


@pytest.mark.parametrize("line", ["read_bytes(path)", "path.open('w')", "parquet.read_table(BufferReader(data))"])
def test_what_is_written_or_was_read_is_no_reader(line):
    assert not list(opened_files(ast.parse(f"def read(path):\n    return {line}")))


def test_pythons_csv_module_reads_the_papers_tables_and_writes():
    """Its limit of a cell's length is the process's, and its errors are foreign: `csv_files` reads what users give."""
    users = {str(path.relative_to(SOURCE)) for path in FILES for module, _ in imports(path) if module == "csv"}
    writers = {"reporting/report/sections/suspicious.py"}
    assert users == {"reproductions/advice.py", "reproductions/comparison.py", *writers}
    assert not [name for name in writers if "reader" in (SOURCE / name).read_text().lower()]


# Texts that are cut into lines by `str.splitlines`, which also cuts at form feeds and U+2028: starts of files that are
# looked at to recognise them, bytes (which it cuts at line ends alone), and texts that are no files.
CUT_INTO_LINES = {
    "analysis/parts.py: part.json",
    "formats/coco_results.py: read_bytes(path).removeprefix(b'\\xef\\xbb\\xbf')",
    "formats/exports.py: data",
    "formats/labelbox.py: record.url",
    "protocols/protocol.py: self.__doc__.strip()",
    "reporting/report/layout.py: source",
}


def test_files_are_cut_at_line_ends_alone():
    found = {
        f"{path.relative_to(SOURCE)}: {ast.unparse(node.func.value)}"
        for path in FILES
        if path.parent.name != "reproductions"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "splitlines"
    }
    assert {one for one in found if not re.search(r": (head_of\(.*\)|.*\.head)$", one)} == CUT_INTO_LINES


def test_only_the_study_command_imports_the_reproductions():
    users = {
        str(path.relative_to(SOURCE))
        for path in FILES
        if path.parent.name != "reproductions"
        for module, _ in imports(path)
        if module.startswith("verite.reproductions")
    }
    assert users == {"cli/study.py"}


def test_heavy_packages_are_imported_where_they_are_used():
    early = []
    for path in FILES:
        # Readers of one format may import their parser: a format is imported only to read it.
        heavy = set(HEAVY) - ({"msgspec"} if "formats" in path.parts else set())
        at_top = {module.split(".")[0] for module, is_top in imports(path) if is_top}
        early += [f"{path.relative_to(SOURCE)} imports {module}" for module in at_top & heavy]
    assert not early


def test_numpy_is_imported_lazily_in_one_place():
    """A module imports numpy at its top, or has it from `verite.arrays`, which waits until something of it is used."""
    inner = [
        str(path.relative_to(SOURCE))
        for path in FILES
        for module, is_top in imports(path)
        if module.split(".")[0] == "numpy" and not is_top
    ]
    assert not inner


@pytest.mark.parametrize(
    "program",
    [
        "import verite",
        "import verite.cli as c; c.run(['--help'])",
        "import verite.cli as c; c.run(['voc', '--help'])",
        "import verite as v; v.read; v.voc; v.Annotations",
    ],
)
def test_nothing_heavy_is_loaded_to_say_hello(program):
    script = (
        f"{program}\nimport sys; print('LOADED', sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "LOADED []"


PLAIN = {
    "coco": "v.coco(t, p)",
    "classes together": "v.coco(t, p, class_agnostic=True)",
    "odd ways": "v.coco(t, p, quirks='pycocotools')",
    "masks": "v.coco(t, p, on='mask')",
    "boundaries": "v.coco(t, p, on='boundary')",
    "voc": "v.voc(t, p)",
    "command": "__import__('verite.cli').cli.run(['coco', {truth!r}, {pred!r}, '--quiet'])",
}


@pytest.mark.parametrize("way", PLAIN)
def test_nothing_but_the_core_is_loaded_from_files_to_numbers(tmp_path, way):
    image = {"id": 1, "width": 90, "height": 90, "file_name": "a.jpg"}
    classes = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    box, ring = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 50]}, [[0, 0, 50, 0, 50, 50, 0, 50]]
    flat = {**box, "bbox": [1, 1, 0, 5], "segmentation": {"size": [90, 90], "counts": [8100]}, "score": 0.25}
    truth, pred = str(tmp_path / "truth.json"), str(tmp_path / "pred.json")
    objects = [{**box, "id": 1, "area": 2500, "iscrowd": 0, "segmentation": ring}]
    Path(truth).write_text(json.dumps({"images": [image], "categories": classes, "annotations": objects}))
    Path(pred).write_text(json.dumps([{**box, "segmentation": ring, "score": 0.5}, flat]))
    program = f"import verite as v; t = v.read({truth!r}); p = v.read({pred!r}, like=t); print({PLAIN[way]})"
    program = program.replace("{truth!r}", repr(truth)).replace("{pred!r}", repr(pred))
    heavy = {*HEAVY, "numpy"} - {"msgspec"}
    script = f"{program}\nimport sys; print('LOADED', sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "LOADED []"


def test_help_does_not_even_load_numpy():
    script = "import verite.cli as c, sys; c.run(['--help']); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")


@pytest.mark.parametrize(
    "program",
    [
        "import verite.formats.panoptic, verite.formats.lvis, verite.formats.coco, verite.formats.coco_results",
        "import verite.model.results, verite.model.annotations, verite.model.alignment",
        "import verite.checks, verite.protocols.coco",
        "import verite as v; v.read; v.inspect; v.Annotations; v.Regions; v.Results; v.compare; v.coco; v.CocoResults",
    ],
)
def test_numpy_is_not_loaded_before_cocos_files_are_read(program):
    script = f"{program}\nimport sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def options_named(node: ast.AST, is_said: bool = False) -> Iterator[str]:
    """Texts of errors and remedies below a node that name an option, unless chosen for the command line."""
    if isinstance(node, ast.IfExp) and {"IS_COMMAND_LINE", "is_option"} & set(ast.unparse(node.test).split(".")):
        return
    names = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
    is_said = is_said or isinstance(node, ast.Raise) or bool(names & {"remedy", "message", "hint", "expected"})
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    if is_said and re.search(r"(?<![\w-])--[a-z]", text) and "verite " not in text:
        yield text
    for inner in ast.iter_child_nodes(node):
        yield from options_named(inner, is_said)


def test_messages_below_the_command_line_name_no_option_outright():
    """Python callers are told arguments: `spell_option` spells a name as either."""
    found = {
        f"{path.relative_to(SOURCE)}: {text}"
        for path in SOURCE.rglob("*.py")
        if "cli" not in path.relative_to(SOURCE).parts
        for text in options_named(ast.parse(path.read_text()))
    }
    assert not found


def test_every_package_of_a_layer_exists():
    for name in set().union(*LAYERS):
        there = [SOURCE / name / "__init__.py", SOURCE / f"{name}.py", SOURCE / f"{name}.pyi"]
        assert any(path.exists() for path in there), f"verite.{name}"


# What each package of the core may include besides itself; bind/ alone knows Python.
NATIVE_LAYERS = (
    {"columns"},
    {"json", "regions", "ranking"},
    {"similarity", "pairs"},
    {"evaluation"},
    {"tracking"},
    {"bind"},
)


def test_packages_of_the_core_include_downwards_only():
    height = {name: i for i, names in enumerate(NATIVE_LAYERS) for name in names}
    files = sorted(NATIVE.rglob("*.?pp"))
    assert {path.parent.name for path in files} == set(height)
    for path in files:
        mine, text = path.parent.name, path.read_text()
        for line in text.splitlines():
            if line.startswith('#include "'):
                theirs = line.split('"')[1].split("/")[0]
                assert theirs == mine or height[theirs] < height[mine], f"{path.relative_to(NATIVE)}: {line}"
        assert mine == "bind" or "nanobind" not in text, path.relative_to(NATIVE)
