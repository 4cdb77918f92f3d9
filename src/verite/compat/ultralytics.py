"""A callback for Ultralytics: after every validation, COCO's numbers and an HTML report of what it predicted.

Ultralytics is not imported: the callback reads the attributes of its validator.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, DataError, DataWarning, excerpt

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


def report_after_validation(output: str = "report.html", **settings: Any) -> Callable[[Any], None]:
    """Return a callback that writes a report after `val`.

    Register it with ``model.add_callback("on_val_end", report_after_validation())`` and validate with
    ``save_json=True``; without it Ultralytics keeps no predictions, and a warning says so.

    Parameters
    ----------
    output
        File name of the report, in the folder of the run (`save_dir`) unless it is absolute.
    **settings
        Settings of :func:`verite.report`.

    Examples
    --------
    >>> callback = report_after_validation()    # model.add_callback("on_val_end", callback)
    """

    def on_val_end(validator: Any) -> None:
        if not getattr(validator, "jdict", None):
            warnings.warn(
                "report_after_validation: expected predictions, found none; validate with save_json=True",
                DataWarning,
                stacklevel=2,
            )
            return
        from verite.reporting.report.report import report

        truth, pred = read_validation(validator)
        report(truth, {"val": pred}, Path(validator.save_dir) / output, **settings)

    return on_val_end


def read_validation(validator: Any) -> tuple[Annotations, Annotations]:
    """Return ground truth and predictions of an Ultralytics validator.

    Parameters
    ----------
    validator
        With `data` (the data set, `yaml_file`), `args.split`, `class_map` and `jdict`, the predictions.

    Raises
    ------
    BadParameter
        If the validator does not say which data set it used, its split, or lists of classes and predictions.
    DataError
        If a prediction has a class that the validator does not list.
    """
    from verite.formats import read

    data = getattr(validator, "data", None)
    place = data.get("yaml_file") if isinstance(data, Mapping) else None
    if not isinstance(place, (str, os.PathLike)) or not str(place):
        raise BadParameter("validator: expected data['yaml_file'], found none; is it a validator of detections?")
    split = getattr(getattr(validator, "args", None), "split", None)
    split = "val" if split is None else split
    class_map, given = getattr(validator, "class_map", None), getattr(validator, "jdict", None)
    if not isinstance(split, str) or not isinstance(class_map, Sequence) or not isinstance(given, Sequence):
        raise BadParameter(
            "validator: expected text as args.split and lists as class_map and jdict; is it a validator of detections?"
        )
    truth = read(place, split=split)
    # Class numbers of its records count from 1, or are COCO's; those of data.yaml count from 0.
    numbers = {number: i for i, number in enumerate(class_map) if isinstance(number, int)}
    records = []
    for i, record in enumerate(given):
        number = record.get("category_id") if isinstance(record, Mapping) else record
        if not isinstance(record, Mapping) or not isinstance(number, int) or number not in numbers:
            raise DataError(f"jdict[{i}]: expected a record with a category_id of class_map, found {excerpt(number)}")
        records.append({**record, "category_id": numbers[number]})
    return truth, read(records, like=truth)
