"""Do the evaluators of others find the same on verite? ``python -m tests.compat.evaluators FOLDER`` asks those there.

Below FOLDER are their sources, unchanged, each under the name of its repository. Their files are run on the same random
sets with pycocotools and faster-coco-eval, and with verite under their names: what they print, log and return must be
equal to the last bit. What they import of frameworks is stood in for.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import logging
import pickle
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.compat import drives
from tests.compat.beside import same_bits
from tests.compat.stand_ins import StandIns
from tests.compat.torchvision_operators import define_operators

ROOT = Path(__file__).parents[2]


# What detectron2 says of it among much else; YOLOX has it beside the source.
BINDING = """
#include "cocoeval.h"
using namespace detectron2::COCOeval;
PYBIND11_MODULE(fast, m) {
  m.def("COCOevalAccumulate", &Accumulate);
  m.def("COCOevalEvaluateImages", &EvaluateImages);
  pybind11::class_<InstanceAnnotation>(m, "InstanceAnnotation")
      .def(pybind11::init<uint64_t, double, double, bool, bool>());
  pybind11::class_<ImageEvaluation>(m, "ImageEvaluation").def(pybind11::init<>());
}
"""


def compile_fast(source: Path) -> Any:
    """The module of a fast class, from its source, with the headers that torch brings."""
    import torch

    place = Path(tempfile.mkdtemp())
    own = "PYBIND11_MODULE" in (source / "cocoeval.h").read_text()
    (place / "bind.cpp").write_text("" if own else BINDING)
    built = place / f"fast{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = [source, Path(torch.__file__).parent / "include", sysconfig.get_path("include")]
    options = ["-O1", "-shared", "-fPIC", "-std=c++17", *["-DTORCH_EXTENSION_NAME=fast"] * own]
    options += [f"-I{one}" for one in headers]
    subprocess.run(["g++", *options, str(place / "bind.cpp"), str(source / "cocoeval.cpp"), "-o", built], check=True)
    spec = importlib.util.spec_from_file_location("fast", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Metric:
    """What mmengine's BaseMetric is here."""

    def __init__(self, **named: Any) -> None:
        self.results: list[Any] = []


@dataclass(frozen=True)
class Client:
    """A file of a repository, how it is driven, and what it finds of what it imports."""

    repository: str
    module: str
    drive: Callable[..., Iterator[Any]]
    files: dict[str, str]
    packages: tuple[str, ...] = ()
    said: dict[str, dict[str, Any]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    fast: tuple[str, str] | None = None  # where the source of its fast class is, and the module it becomes


ALONE = {"all_gather": lambda one: [one]}
CLIENTS = {
    "DETR": Client("detr", "coco_eval", drives.drive_detr, {"coco_eval": "datasets/coco_eval.py"}, ("util",),
                   {"util.misc": ALONE}),
    "Deformable DETR": Client("Deformable-DETR", "coco_eval", drives.drive_detr, {"coco_eval": "datasets/coco_eval.py"},
                              ("util",), {"util.misc": ALONE}),
    "DINO": Client("DINO", "coco_eval", drives.drive_detr, {"coco_eval": "datasets/coco_eval.py"}, ("util",),
                   {"util.misc": ALONE}),
    "rf-detr": Client("rf-detr", "rfdetr.datasets.coco_eval", drives.drive_detr,
                      {"rfdetr.datasets.coco_eval": "rfdetr/datasets/coco_eval.py"}, ("rfdetr", "supervision"),
                      {"rfdetr.util.misc": ALONE, "supervision": {"xyxy_to_xywh": lambda b: np.concatenate(
                          [b[:, :2], b[:, 2:] - b[:, :2]], 1)}}, {"max_dets": 50}),
    "rf-detr from 1.10": Client("rf-detr", "rfdetr.evaluation.coco_eval", drives.drive_rfdetr,
                                {"rfdetr.evaluation.coco_eval": "rfdetr/evaluation/coco_eval.py"}, ("rfdetr",),
                                {"rfdetr.utilities.distributed": ALONE,
                                 "rfdetr.utilities.logger": {"get_logger": drives.Logger}}),
    "torchvision's reference": Client("vision", "coco_eval", drives.drive_detr,
                                      {"coco_eval": "references/detection/coco_eval.py"}, ("utils",),
                                      {"utils": ALONE}),
    "detectron2": Client(
        "detectron2", "detectron2.evaluation.coco_evaluation", drives.drive_detectron2,
        {f"detectron2.evaluation.{one}": f"detectron2/evaluation/{one}.py"
         for one in ("coco_evaluation", "fast_eval_api", "evaluator")},
        ("detectron2", "tabulate"),
        {"detectron2.utils.file_io": {"PathManager": SimpleNamespace(get_local_path=str)},
         "detectron2.data": {"MetadataCatalog": SimpleNamespace(get=lambda name: drives.Metadata(drives.CATALOG))},
         "detectron2.utils.logger": {"create_small_table": str}, "detectron2.config": {"CfgNode": Metric},
         "tabulate": {"tabulate": lambda rows, **named: str(list(rows))}},
        fast=("detectron2/layers/csrc/cocoeval", "detectron2._C")),
    "mmdetection": Client(
        "mmdetection", "mmdet.evaluation.metrics.coco_metric", drives.drive_mmdet,
        {"mmdet.evaluation.metrics.coco_metric": "mmdet/evaluation/metrics/coco_metric.py",
         **{f"mmdet.datasets.api_wrappers{one}": f"mmdet/datasets/api_wrappers/{file}.py" for one, file in
            (("", "__init__"), (".coco_api", "coco_api"), (".cocoeval_mp", "cocoeval_mp"))}},
        ("mmdet", "mmengine", "terminaltables", "tqdm"),
        {"mmengine.evaluator": {"BaseMetric": Metric},
         "mmengine.fileio": {"dump": lambda thing, path: Path(path).write_text(json.dumps(thing)),
                             "load": lambda path: json.loads(Path(path).read_text()),
                             "get_local_path": lambda path, **named: contextlib.nullcontext(path)},
         "mmengine.logging": {"MMLogger": type("MMLogger", (), {"get_current_instance": staticmethod(drives.Logger)})},
         "terminaltables": {"AsciiTable": lambda rows: SimpleNamespace(table=str(rows))},
         "tqdm": {"tqdm": lambda things, **named: things}}),
    "YOLOX": Client("YOLOX", "yolox.evaluators.coco_evaluator", drives.drive_yolox,
                    {"yolox.evaluators.coco_evaluator": "yolox/evaluators/coco_evaluator.py"},
                    ("yolox", "loguru", "tabulate", "tqdm"),
                    {"yolox.utils": {"is_main_process": lambda: True}, "loguru": {"logger": drives.Logger()},
                     "tabulate": {"tabulate": lambda rows, **named: str(list(rows))},
                     "yolox.layers": {"__strict__": True}}),
    "YOLOX, fast": Client("YOLOX", "yolox.evaluators.coco_evaluator", drives.drive_yolox,
                          {"yolox.evaluators.coco_evaluator": "yolox/evaluators/coco_evaluator.py",
                           "yolox.layers.fast_coco_eval_api": "yolox/layers/fast_coco_eval_api.py"},
                          ("yolox", "loguru", "tabulate", "tqdm"),
                          {"yolox.utils": {"is_main_process": lambda: True}, "loguru": {"logger": drives.Logger()},
                           "tabulate": {"tabulate": lambda rows, **named: str(list(rows))}},
                          fast=("yolox/layers/cocoeval", "yolox.layers.jit_ops")),
    "transformers": Client("transformers", "run_object_detection", drives.drive_transformers,
                           {"run_object_detection": "examples/pytorch/object-detection/run_object_detection.py"},
                           ("albumentations", "datasets")),
    "ultralytics": Client("ultralytics", "ultralytics.models.yolo.detect.val", drives.drive_ultralytics,
                          {"ultralytics.models.yolo.detect.val": "ultralytics/models/yolo/detect/val.py"},
                          ("ultralytics",), {"ultralytics.utils": {"LOGGER": drives.Logger()}}),
}  # fmt: skip


def run_client(client: Client, folder: Path) -> tuple[str, list[str], list[Any]]:
    """What a client prints, logs and finds."""
    files = {name: folder / client.repository / path for name, path in client.files.items()}
    said = dict(client.said)
    if client.fast is not None:
        source, name = client.fast
        built = compile_fast(folder / client.repository / source)
        said[name] = {**vars(built), "FastCOCOEvalOp": lambda: SimpleNamespace(load=lambda: built)}
    drives.LOG.clear()
    printed = io.StringIO()
    with StandIns(client.packages, files, said), contextlib.redirect_stdout(printed):
        if client.repository == "YOLOX" and client.fast:
            layers = importlib.import_module("yolox.layers")
            layers.COCOeval_opt = importlib.import_module("yolox.layers.fast_coco_eval_api").COCOeval_opt
        found = list(client.drive(importlib.import_module(client.module), **client.options))
    hide = re.compile(r"t=\d+\.\d+s|in \d+\.\d+ seconds|/tmp/\S+")
    return hide.sub("…", printed.getvalue()), [hide.sub("…", line) for line in drives.LOG], found


def run_all(folder: Path, package: str, out: Path) -> None:
    """Every client that is there, on one package; what each finds, or the error it ends with."""
    import warnings

    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):
        define_operators()
    if package == "verite":
        import verite.compat

        verite.compat.install_as_pycocotools()
        verite.compat.install_as_faster_coco_eval()
    import transformers.utils

    # A script of tomorrow on today's package, without what it trains on.
    transformers.utils.check_min_version = lambda version: None
    transformers.utils.versions.require_version = lambda *words: None
    logging.disable(logging.WARNING)
    found: dict[str, Any] = {}
    for name, client in CLIENTS.items():
        if not all((folder / client.repository / file).is_file() for file in client.files.values()):
            continue
        try:
            found[name] = run_client(client, folder)
        except Exception as error:
            import traceback

            found[name] = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    out.write_bytes(pickle.dumps(found))


def compare_all(folder: Path) -> bool:
    """Do all that are there find the same?"""
    with tempfile.TemporaryDirectory() as place:
        sides = []
        for package in ("pycocotools", "verite"):
            out = Path(place, package)
            words = [sys.executable, "-m", "tests.compat.evaluators", str(folder), package, str(out)]
            subprocess.run(words, check=True, cwd=ROOT)
            sides.append(pickle.loads(out.read_bytes()))
    theirs, ours = sides
    is_same = True
    for name, client in CLIENTS.items():
        if name not in ours:
            print(f"{name}: no such version of {client.repository} in {folder}")
            continue
        try:
            for side in (theirs, ours):
                assert not isinstance(side[name], str), side[name]
            same_bits(ours[name], theirs[name])
            print(f"{name}: the same text, log and bits in {len(ours[name][2])} evaluations")
        except AssertionError as error:
            print(f"{name}: differs: {error}")
            is_same = False
    return is_same


if __name__ == "__main__":
    if len(sys.argv) == 4:
        run_all(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(not compare_all(Path(sys.argv[1]).resolve()))
