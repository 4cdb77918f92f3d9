"""Hostile values in memory: every public function and every evaluator, given data in which a value is spoiled."""

from __future__ import annotations

import inspect
import io
import random
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import verite as vt
from tests.formats.in_memory import COLUMNS, RESULTS, TRUTH
from tests.formats.test_frameworks import PREDICTIONS, HuggingFace, Tensor, ultralytics

DEMO = Path(str(files("verite") / "data" / "demo"))


def deep(levels: int, *, is_dict: bool) -> Any:
    """A list in a list, or a dictionary in a dictionary, so many times."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if is_dict else [value]
    return value


VALUES: list[Any] = [None, "", "x", -1, 0, 0.5, 1e308, 2**31, 2**63, -(2**63) - 1, 10**400, float("nan"), float("inf"),
                     True, [], [[]], {}, b"\xff", "\ud800", [1, 2], np.zeros(3), np.zeros((2, 0)),
                     deep(20_000, is_dict=False), deep(20_000, is_dict=True)]  # fmt: skip


def worse_value(value: Any, chance: random.Random) -> Any:
    """A copy of nested data in which one value, at any depth, is another one, missing or there twice."""
    if isinstance(value, Mapping) and value and chance.random() < 0.9:
        changed_dict = dict(value)
        key = chance.choice(list(changed_dict))
        if chance.random() < 0.1:
            del changed_dict[key]
        else:
            changed_dict[key] = worse_value(changed_dict[key], chance)
        return changed_dict
    if isinstance(value, SimpleNamespace) and chance.random() < 0.9:
        changed = worse_value(vars(value), chance)
        return type(value)(**changed) if isinstance(changed, dict) else changed
    if isinstance(value, Tensor):
        changed_tensor = worse_value(value.values, chance)
        return Tensor(changed_tensor) if isinstance(changed_tensor, np.ndarray) else changed_tensor
    if callable(value) and chance.random() < 0.9:
        result = worse_value(value(), chance)
        return lambda: result
    if isinstance(value, list) and value and chance.random() < 0.9:
        changed_list = type(value)(value)
        at = chance.randrange(len(value))
        if chance.random() < 0.1:
            changed_list.insert(at, value[at])
        else:
            changed_list[at] = worse_value(value[at], chance)
        return changed_list
    if isinstance(value, np.ndarray) and value.size and chance.random() < 0.5:
        array = value.astype(np.float64)
        array.flat[chance.randrange(array.size)] = chance.choice([np.nan, np.inf, -1, 1e308, 0.5, 2.0**63])
        return array
    return chance.choice(VALUES)


TABLE = {"item": ["a", "b", "c"], "truth": [0, 1, 1], "A1": [0, 1, 0], "A2": [0, 1, 1]}
# Data that functions are given, by the names of their parameters, and the forms that it may have.
DATA: dict[str, list[Any]] = {
    "truth": [TRUTH, COLUMNS],
    "pred": [RESULTS, COLUMNS],
    "preds": [{"a": RESULTS, "b": RESULTS}, RESULTS],
    "predictions": [{"a": RESULTS, "b": RESULTS}],
    "source": [TRUTH, RESULTS, COLUMNS],
    "annotations": [TRUTH, COLUMNS],
    "annotators": [{"a": TRUTH, "b": TRUTH}, [TRUTH, TRUTH]],
    "given": [{"boat": {"boat": 0.0, "gull": 0.5}, "gull": {"boat": 0.5, "gull": 0.0}}],
    "what": [TABLE],
    "scores": [{"a": [0.1, 0.5, 0.9, 0.4, 0.3], "b": [0.2, 0.4, 0.8, 0.1, 0.6]}],
}
# Parameters that are no data: objects of ours, names, files (which the commands read), settings.
OTHERS = {"results", "analyses", "trace", "distances", "pairs", "metrics", "images", "image", "name", "path", "facts",
          "parameters", "settings", "others", "numbers"}  # fmt: skip
BOXES = [[10.0, 10.0, 30.0, 30.0], [50.0, 5.0, 60.0, 15.0]]
MASK = np.pad(np.ones((4, 5), bool), 2)
PAIRS_OF_BOXES = {"plot_pair"}  # whose truth and pred are one object each


@cache
def data_functions() -> dict[str, list[str]]:
    """Every public function that is given data, with the parameters that are data."""
    found = {}
    for name in vt.PUBLIC:
        value = getattr(vt, name)
        if callable(value) and not isinstance(value, type) and name not in PAIRS_OF_BOXES:
            found[name] = [key for key in inspect.signature(value).parameters if key in DATA]
    return {name: keys for name, keys in found.items() if keys}


def unknown_parameters() -> list[str]:
    """Parameters of public functions that must be given and that nothing here knows: their function is not fuzzed."""
    return [
        f"{name}({key})"
        for name in vt.PUBLIC
        if callable(getattr(vt, name)) and not isinstance(getattr(vt, name), type)
        for key, parameter in inspect.signature(getattr(vt, name)).parameters.items()
        if parameter.default is parameter.empty and key not in {*DATA, *OTHERS, "output", "format"}
    ]


def spoil_a_function(chance: random.Random) -> str:
    """A public function with data of which one value is spoiled, evaluated whatever the checks say."""
    name = chance.choice(sorted(data_functions()))
    function, keys = getattr(vt, name), data_functions()[name]
    given = {key: chance.choice(DATA[key]) for key in keys}
    key = chance.choice(keys)
    given[key] = worse_value(given[key], chance)
    if chance.random() < 0.3 and key in ("truth", "pred", "source", "what") and all_lists(given[key]):
        given[key] = as_frame(given[key])
    try:
        call(function, given)
    except vt.VeriteError:
        return "refused"
    except Exception as error:
        return f"undocumented {type(error).__name__}: {error}: {name}({key})"
    return "number"


class Sample(SimpleNamespace):
    """A sample of FiftyOne: its fields are items, too."""

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)


TENSORS = {"image_id": np.array([7]), "boxes": Tensor([[10.0, 10, 30, 30], [50, 5, 60, 15]]), "labels": Tensor([3, 5]),
           "scores": Tensor([0.9, 0.5]), "masks": np.ones((2, 1, 4, 5)), "keypoints": np.ones((2, 3, 3)),
           "area": Tensor([400.0, 100.0]), "iscrowd": np.zeros(2, int)}  # fmt: skip
LABELS = {"image_id": np.array([7]), "class_labels": np.array([2]), "boxes": np.array([[0.5, 0.25, 0.5, 0.5]]),
          "orig_size": np.array([100, 200])}  # fmt: skip
DETECTIONS = [SimpleNamespace(label="dog", bounding_box=[0.1, 0.25, 0.3, 0.5], confidence=0.9, mask=None)]
ROWS = [{"image_id": "a", "width": 100, "height": 80, "objects": {"bbox": [[10, 20, 30, 40]], "category": [1],
         "area": [900.0], "iscrowd": [0]}}]  # fmt: skip
# Objects in memory by what `vt.read` calls them, with the options that they need.
OBJECTS: dict[str, list[tuple[Callable[[], Any], dict[str, Any]]]] = {
    "a COCO dictionary": [(lambda: TRUTH, {})],
    "a list of COCO results": [(lambda: RESULTS, {})],
    "detectron2's instances_predictions": [(lambda: [{"image_id": 1, "instances": RESULTS}], {})],
    "a pycocotools COCO object": [(lambda: SimpleNamespace(dataset=TRUTH, imgs={}, cats={}), {})],
    "torchvision dictionaries": [(lambda: [TENSORS], {}), (lambda: {"a": TENSORS}, {}), (lambda: [LABELS], {})],
    "supervision.Detections": [
        (
            lambda: SimpleNamespace(
                xyxy=np.array(BOXES), class_id=np.array([3, 5]), confidence=np.array([0.9, 0.5]), mask=None
            ),
            {},
        )
    ],
    "Ultralytics Results": [
        PREDICTIONS["ultralytics"],
        PREDICTIONS["ultralytics-one"],
        (
            lambda: [
                ultralytics(
                    keypoints=SimpleNamespace(data=Tensor(np.ones((2, 5, 3)))),
                    masks=SimpleNamespace(xy=[np.array(BOXES).reshape(-1, 2)] * 2),
                )
            ],
            {},
        ),
    ],
    "detectron2 Instances": [PREDICTIONS["detectron2"], PREDICTIONS["detectron2-output"]],
    "mmdetection DetDataSamples": [PREDICTIONS["mmdet"], PREDICTIONS["mmdet-dumped"]],
    "SAHI predictions": [PREDICTIONS["sahi"]],
    "a FiftyOne dataset": [
        (
            lambda: SimpleNamespace(
                get_field_schema=lambda: {"filepath": 0, "metadata": 0, "predictions": 0},
                iter_samples=lambda: [
                    Sample(
                        filepath="/data/a.jpg",
                        metadata=SimpleNamespace(width=100, height=80),
                        predictions=SimpleNamespace(detections=DETECTIONS),
                    )
                ],
            ),
            {"field": "predictions"},
        )
    ],
    "a Hugging Face dataset": [(lambda: HuggingFace(ROWS), {})],
    "a table with __arrow_c_stream__": [(lambda: COLUMNS, {})],  # as the frame that pandas makes of it
    "a pandas table": [],  # what pyarrow cannot hold, see above
    "masks or label images": [(lambda: {"a": MASK, "b": np.array([[1, 2], [3, 4]])}, {})],
    "a numpy structured array": [(lambda: COLUMNS, {})],
    "a dictionary of columns": [(lambda: COLUMNS, {})],
}


def spoil_an_object(chance: random.Random) -> str:
    """An object of another package, of which one value is spoiled, read and evaluated against itself."""
    title = chance.choice([title for title, examples in OBJECTS.items() if examples])
    make, options = chance.choice(OBJECTS[title])
    given = worse_value(make(), chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if title == "a numpy structured array":
                given = np.rec.fromarrays(list(given.values()), names=list(given)).view(np.ndarray)
            elif title == "a table with __arrow_c_stream__":
                given = as_frame(given)
        except Exception:  # whatever numpy makes of it: there is no object
            return "refused"
        try:
            found = vt.read(given, **options)
            pred = found if found.confidence is not None else replace(found, confidence=np.linspace(0, 1, len(found)))
            vt.coco(found, pred, checks="warn")
        except vt.VeriteError:
            return "refused"
        except Exception as error:
            return f"undocumented {type(error).__name__}: {error}: {title}"
    return "number"


def all_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, list) for one in value.values())


def as_frame(columns: dict[str, list[Any]]) -> Any:
    """A pandas table of the columns where they make one, else the columns."""
    import pandas

    try:
        return pandas.DataFrame(columns)
    except Exception:  # whatever pandas makes of it
        return columns


def call(function: Callable[..., Any], given: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = {"output": Path(folder) / "out", "path": Path(folder) / "out.json", "format": "coco"}
        needed = {key: value for key, value in more.items()
                  if key in parameters and parameters[key].default is inspect.Parameter.empty}  # fmt: skip
        first = [
            given[key]
            for key in parameters
            if key in given and parameters[key].kind is not parameters[key].VAR_POSITIONAL
        ]
        metrics = ["iou"] if function is vt.localize else []
        numbers = ["AP=0.5"] if function is vt.reconcile else []
        function(*first, *metrics, *numbers, **needed)


# Data that the constructors of public classes are given, by the names of their parameters; where they differ, by class.
VALUES_OF: dict[str, list[Any]] = {
    "boxes": [BOXES, np.array(BOXES)],
    "image": [["a", "b"]],
    "label": [["boat", "gull"]],
    "confidence": [[0.9, 0.5], np.array([0.9, 0.5])],
    "sizes": [{"a": (100, 100), "b": (100, 50)}],
    "names": [["boat", "gull"]],
    "matrix": [[[0.0, 0.5], [0.5, 0.0]]],
    "name": ["coco_ap"],
    "text": ["coco_ap|on:box|iou:0.50", "missing=0.05,swapped=0.02"],
    "given": [np.pad(np.ones((2, 3, 3), np.uint8), 1)],
    "spacing": [(1.0, 2.0, 2.0), "0.7,0.7,3mm"],
    "parents": [{"animal": None, "cat": "animal", "dog": "animal"}],
    "pixels": [MASK, np.array([[1, 2], [3, 4]])],
    "overlap": [[[0.7, 0.0], [0.0, 0.6]]],
    "localization": [[[0.1, 1.0], [1.0, 0.2]]],
    "recognition": [[[0.0, 1.0], [1.0, 0.0]]],
    "objects": [[[[0, 0, 9, 0, 9, 9]], [[1, 1, 5, 1, 5, 5]]]],
    "truth": [BOXES, [MASK, None], [[[0, 0, 9, 0, 9, 9]]] * 2],
    "pred": [BOXES, [MASK, MASK], [[[0, 0, 9, 0, 9, 8]]] * 2],
    "size": [(100, 100)],
    "layout": ["xyxy", "xywh"],
    "answers": [{"a": [0, 1, 1], "b": [1, 1, 0]}],
    "predictions": [{"a": RESULTS, "b": RESULTS}],
    "ids": [[7, 9]],
    "widths": [[100, 50]],
    "heights": [[50, 100]],
    "groups": [["r", "f"]],
}
OF_CLASS: dict[str, dict[str, list[Any]]] = {
    "RLEMasks.of": {"objects": [[([0, 4], (2, 2)), None]]},
    "Pairs.of_volumes": {"truth": VALUES_OF["given"], "pred": VALUES_OF["given"], "spacing": VALUES_OF["spacing"]},
    "AnswerTable.of": {"truth": [[0, 1, 1]]},
    "ScoreTable.of": {"truth": [[0, 1]], "answers": [{"a": [[0.4, 0.6], [0.1, 0.9]], "b": [[0.5, 0.5], [0.7, 0.3]]}]},
    "DetectionTable.of": {"truth": [TRUTH]},
    "Annotations.of": {"track": [[1, 2]], "images": [["c"]], "labels": [["kite"]]},
}
# Constructors from objects of ours, or from files, which the commands read.
OWN = {"columns", "native", "table", "numbers", "settings", "annotators", "store", "taxonomy", "path", "data", "source",
       "truth_rows", "part", "detectors"}  # fmt: skip


def constructors() -> dict[str, Callable[..., Any]]:
    """Return the ways to make objects of public classes from data: `of`, `parse` and the like, by their names."""
    classes = {name: getattr(vt, name) for name in vt.PUBLIC if isinstance(getattr(vt, name), type)}
    found = {
        f"{name}.{key}": getattr(one, key)
        for name, one in classes.items()
        for key in dir(one)
        if not key.startswith("_") and isinstance(inspect.getattr_static(one, key), (classmethod, staticmethod))
    }
    plain = {
        name: one for name, one in classes.items() if name in ("Regions", "Images", "Labels", "Contour", "Taxonomy")
    }
    return found | plain


def needed_by(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that must be given."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [key for key, one in inspect.signature(function).parameters.items()
            if one.default is inspect.Parameter.empty and one.kind in plain]  # fmt: skip


def values_for(name: str) -> dict[str, list[Any]]:
    """Return what is known for each parameter of a constructor."""
    known = VALUES_OF | OF_CLASS.get(name, {})
    return {key: known[key] for key in inspect.signature(constructors()[name]).parameters if key in known}


@cache
def data_constructors() -> list[str]:
    """Return the constructors of which everything that must be given is known."""
    return [
        name for name, made in constructors().items() if {*needed_by(made)} <= {*values_for(name)} and values_for(name)
    ]


def unknown_constructors() -> list[str]:
    """Return parameters of constructors that must be given and that nothing here knows."""
    return [
        f"{name}({key})"
        for name, made in constructors().items()
        for key in needed_by(made)
        if name not in data_constructors() and key not in {*values_for(name), *OWN} and not {*needed_by(made)} & OWN
    ]


def spoil_a_constructor(chance: random.Random) -> str:
    """Objects of public classes made of data of which one value is spoiled, and pairs of regions measured."""
    name = chance.choice(data_constructors())
    made, known = constructors()[name], values_for(name)
    needed = needed_by(made)
    given = {key: chance.choice(known[key]) for key in known if key in needed or chance.random() < 0.5}
    key = chance.choice(sorted(given) or sorted(known))
    given[key] = worse_value(given[key] if key in given else chance.choice(known[key]), chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one = made(**given)
            str(one)
        except (vt.VeriteError, *OF_TYPES):
            return "refused"
        try:
            use(one, chance)
        except vt.VeriteError:
            return "refused"
        except Exception as error:
            return f"undocumented {type(error).__name__}: {error}: {name}({key})"
    return "number"


# What Python and numpy raise themselves where an argument of a constructor has another type, or too many levels.
OF_TYPES = (TypeError, ValueError, AttributeError, OverflowError, IndexError, KeyError, RecursionError)


def use(one: Any, chance: random.Random) -> None:
    """Evaluate what was made: an object that could be made is sound, or refused in our own words."""
    if isinstance(one, vt.Pairs):
        vt.measure(one, [vt.metric(chance.choice(["iou", "hausdorff", "centre_distance", "dice"]))])
    elif isinstance(one, (vt.AnswerTable, vt.ScoreTable)):
        vt.rank(one, errors=vt.annotation_errors.Bernoulli(0.05))
    elif isinstance(one, vt.Annotations):
        vt.coco(one, one if one.confidence is not None else RESULTS, checks="off")
    elif isinstance(one, vt.Trace):
        float(one.score)
    elif isinstance(one, vt.Volume):
        vt.localize(one, one, "iou")
    elif isinstance(one, vt.Taxonomy):
        vt.ClassDistances.from_taxonomy(one)


def evaluators() -> dict[str, type]:
    """Every public class that is fed batches: it has `update` and `compute`; and the drop-in for torchmetrics."""
    from verite.compat.torchmetrics import MeanAveragePrecision

    found = {name: getattr(vt, name) for name in vt.PUBLIC}
    return {name: value for name, value in found.items() if isinstance(value, type) and hasattr(value, "update")
            and hasattr(value, "compute")} | {"MeanAveragePrecision": MeanAveragePrecision}  # fmt: skip


def batch(name: str) -> tuple[Any, Any]:
    """Predictions and ground truth of an image, as an evaluator is given them."""
    if name == "SemanticEvaluator":
        return np.array([[0, 1], [1, 1]]), np.array([[0, 1], [0, 1]])
    boxes = np.array([[10.0, 10, 30, 30], [50, 5, 60, 15]])
    pred = {"boxes": boxes, "scores": np.array([0.9, 0.5]), "labels": np.array([1, 2])}
    target = {"boxes": boxes, "labels": np.array([1, 2])} | ({"image_id": 1} if name == "CocoEvaluator" else {})
    return [pred], [target]


def spoil_an_evaluator(chance: random.Random) -> str:
    """Batches of which one value is spoiled; what was taken must not be lost when the numbers are asked for."""
    name = chance.choice(sorted(evaluators()))
    made = evaluators()[name]
    evaluator = made(**{key: {"labels": 3}[key] for key in needed_by(made)})
    refusals = (vt.VeriteError, ValueError, TypeError) if name == "MeanAveragePrecision" else (vt.VeriteError,)
    pred, target = batch(name)
    is_refused = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            spoiled = (
                (worse_value(pred, chance), target) if chance.random() < 0.5 else (pred, worse_value(target, chance))
            )
            evaluator.update(*spoiled)
        except refusals:
            is_refused = True
        except Exception as error:
            return f"undocumented {type(error).__name__}: {error}: {name}.update"
        try:
            evaluator.compute()
        except Exception as error:
            if is_refused and isinstance(error, refusals):
                return "refused"  # there is nothing to compute
            return f"lost {type(error).__name__}: {error}: {name}.compute"
    return "refused" if is_refused else "number"
