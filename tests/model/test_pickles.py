"""What goes to another process arrives as itself: annotations, their tables, and every error."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import verite as vt
from verite import errors

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


@pytest.mark.parametrize("kind", [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Exception)])
def test_every_error_arrives_as_itself(kind: type[Exception]) -> None:
    error = kind("a.txt:3", expected="5", found="4", remedy="mend") if kind is errors.ReadError else kind("why")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))
