"""What goes to another process arrives as itself: annotations, their tables, and every error."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import verite as vt
import verite.scale.executors
from verite import _core, errors
from verite.compat.pycocotools.coco import NoFile

DEMO = Path(vt.__file__).parent / "data" / "demo"


def digest(annotations: vt.Annotations) -> str:
    return annotations.digest


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_annotations_and_read_errors_cross_processes(way: str, tmp_path: Path) -> None:
    truth = vt.read(DEMO / "truth.json")
    (tmp_path / "broken.json").write_text("[1")
    with ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
        assert pool.submit(digest, truth).result() == truth.digest
        with pytest.raises(vt.ReadError) as caught:
            pool.submit(vt.read, tmp_path / "broken.json").result()
    assert caught.value.expected
    assert caught.value.where.startswith(str(tmp_path / "broken.json"))


def test_a_copy_of_annotations_is_the_same() -> None:
    truth = vt.read(DEMO / "truth.json")
    assert copy.deepcopy(truth) is truth
    again = pickle.loads(pickle.dumps((truth, truth.images, truth.labels, truth.regions)))
    assert again[0].digest == truth.digest
    assert again[1].names == truth.images.names
    assert again[2].all_names == truth.labels.all_names
    assert again[3].boxes.tolist() == truth.regions.boxes.tolist()


def list_errors(kind: type[Exception]) -> Iterator[type[Exception]]:
    """An error and those below it, wherever they are declared."""
    yield kind
    for below in kind.__subclasses__():
        yield from list_errors(below)


def test_errors_are_declared_where_they_are_known() -> None:
    """What is declared elsewhere is listed below, too."""
    source = Path(vt.__file__).parent
    declared = {
        name
        for path in source.rglob("*.py")
        for name, above in re.findall(r"^class (\w+)\(([^)]*)\):", path.read_text(), re.M)
        if any(kind.__name__ in above for kind in list_errors(errors.VeriteError))
    }
    assert declared == {kind.__name__ for kind in list_errors(errors.VeriteError)} - {"VeriteError"}


OTHERS = (errors.DataWarning, _core.ParseError, _core.ChangedFileError)


def test_a_file_that_is_not_there_crosses_processes_too() -> None:
    error = NoFile.at("a.txt")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (NoFile, str(error), vars(error))


@pytest.mark.parametrize("kind", [k for k in (*list_errors(errors.VeriteError), *OTHERS) if k is not NoFile])
def test_every_error_arrives_as_itself(kind: type[Exception]) -> None:
    error = kind("a.txt:3", expected="5", found="4", remedy="mend") if kind is errors.ReadError else kind("why")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))
