"""Hostile values in memory: every public function and every evaluator, given data in which a value is spoiled."""

from __future__ import annotations

import copy
import inspect
import io
import random
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt
from tests.formats.in_memory import COLUMNS, RESULTS, TRUTH

DEMO = Path(str(files("verite") / "data" / "demo"))
VALUES: list[Any] = [None, "", "x", -1, 0, 0.5, 1e308, 2**31, 2**63, -(2**63) - 1, 10**400, float("nan"), float("inf"),
                     True, [], [[]], {}, b"\xff", "\ud800", [1, 2], np.zeros(3), np.zeros((2, 0))]  # fmt: skip


def worse_value(value: Any, chance: random.Random) -> Any:
    """A copy of nested data in which one value, at any depth, is another one, missing or there twice."""
    if isinstance(value, Mapping) and value and chance.random() < 0.9:
        changed = dict(value)
        key = chance.choice(list(changed))
        if chance.random() < 0.1:
            del changed[key]
        else:
            changed[key] = worse_value(changed[key], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.9:
        changed_list = list(value)
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
    evaluator = evaluators()[name](**({"labels": 3} if name == "SemanticEvaluator" else {}))
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


# What the drop-in raises beside our own errors: what pycocotools raises where a key, type or value is wrong.
AS_PYTHON = (ValueError, TypeError, KeyError, AssertionError)


def spoil_the_drop_in(chance: random.Random) -> str:
    """COCO and COCOeval of the drop-in, given dictionaries of which one value is spoiled."""
    from verite.compat.pycocotools.coco import COCO
    from verite.compat.pycocotools.cocoeval import COCOeval

    truth, results = copy.deepcopy((TRUTH, RESULTS))
    if chance.random() < 0.5:
        truth = worse_value(truth, chance)
    else:
        results = worse_value(results, chance)
    on = chance.choice(["bbox", "segm"])
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            known = COCO()
            known.dataset = truth
            known.createIndex()
            done = COCOeval(known, known.loadRes(results), on)
            done.evaluate()
            done.accumulate()
            done.summarize()
        except (vt.VeriteError, *AS_PYTHON):
            return "refused"
        except Exception as error:
            return f"undocumented {type(error).__name__}: {error}: {on}"
    return "number"
