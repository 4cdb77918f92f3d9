"""Drop-in replacements for pycocotools, faster-coco-eval, lvis and torchmetrics: code written for them runs on verite.

``install_as_pycocotools()``, ``install_as_faster_coco_eval()`` and ``install_as_lvis()`` put verite where these
packages are imported from; :func:`backend` is the triple that frameworks resolve a COCO backend to.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any

# Modules of each package, and of which below verite.compat they are.
MODULES: dict[str, dict[str, str]] = {
    "pycocotools": {name: f"pycocotools.{name}" for name in ("_mask", "coco", "cocoeval", "mask")},
    "faster_coco_eval": {
        "core": "faster_coco_eval.core",
        "core.coco": "faster_coco_eval.core.coco",
        "core.cocoeval": "faster_coco_eval.core.faster_eval_api",
        "core.faster_eval_api": "faster_coco_eval.core.faster_eval_api",
        "core.mask": "faster_coco_eval.core.mask",
        "extra": "faster_coco_eval.extra",
        "extra.curves": "faster_coco_eval.extra.curves",
        "extra.display": "faster_coco_eval.extra.display",
        "extra.extra": "faster_coco_eval.extra.extra",
        "mask_api_new_cpp": "pycocotools._mask",
    },
    "lvis": {"lvis": "lvis", "results": "lvis", "eval": "lvis"},
}


class Installed:
    """The handle of an installed drop-in: permanent, or removed at the end of a ``with`` block."""

    def __init__(self, name: str, before: dict[str, ModuleType]) -> None:
        self.name, self.before = name, before

    def __enter__(self) -> Installed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_package(self.name)
        sys.modules.update(self.before)


def install(name: str) -> Installed:
    """Put the drop-in of a package where it is imported from.

    Modules of the package that verite does not have (plots, tools of its own) are still imported from it, if it is
    installed; what they import from the package is verite's.
    """
    before = remove_package(name)
    found = find_spec(name) if name == "faster_coco_eval" else None
    places = list(found.submodule_search_locations or ()) if found else []
    remove_package(name)
    for module, ours in (("", name), *MODULES[name].items()):
        own = import_module(f"verite.compat.{ours}")
        if places and hasattr(own, "__path__"):  # another object: its path leads to the installed package
            # A package with the same contents whose other modules are found in these folders.
            made = ModuleType(f"{name}.{module}".rstrip("."), own.__doc__)
            vars(made).update({key: value for key, value in vars(own).items() if not key.startswith("__")})
            for key in ("__all__", "__author__", "__version__"):
                if hasattr(own, key):
                    setattr(made, key, getattr(own, key))
            made.__path__ = [f"{one}/{module}" for one in places]
            own = made
        sys.modules[f"{name}.{module}".rstrip(".")] = own
    return Installed(name, before)


def install_as_pycocotools() -> Installed:
    """Make ``import pycocotools`` import verite's drop-in replacement.

    Classes, functions and numbers are those of pycocotools. Modules that imported pycocotools before keep the original.

    Returns
    -------
    Installed
        A context manager: used with ``with``, the original pycocotools is restored at the end of the block. Otherwise
        the replacement stays until the process ends.

    Examples
    --------
    >>> with install_as_pycocotools():
    ...     from pycocotools import mask
    >>> int(mask.area({"size": [2, 2], "counts": b"13"}))
    3
    """
    return install("pycocotools")


def install_as_faster_coco_eval() -> Installed:
    """Make ``import faster_coco_eval`` import verite's drop-in replacement.

    Numbers, keys and printed text are those of faster-coco-eval 1.8. Its plots and its evaluator for distributed
    training come from the installed package, if there is one, and run on verite.

    Returns
    -------
    Installed
        A context manager, as for :func:`install_as_pycocotools`.

    Examples
    --------
    >>> with install_as_faster_coco_eval():
    ...     from faster_coco_eval import COCO, COCOeval_faster
    >>> truth = COCO({
    ...     "images": [{"id": 1}],
    ...     "categories": [{"id": 1, "name": "cat"}],
    ...     "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0}],
    ... })
    >>> pred = truth.loadRes([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.9}])
    >>> evaluator = COCOeval_faster(truth, pred, "bbox")
    >>> evaluator.run()
    >>> round(evaluator.stats_as_dict["AP_50"], 4)
    1.0
    """
    return install("faster_coco_eval")


def install_as_lvis() -> Installed:
    """Make ``import lvis`` import verite's drop-in replacement (LVIS, LVISResults, LVISEval).

    Returns
    -------
    Installed
        A context manager, as for :func:`install_as_pycocotools`.

    Examples
    --------
    >>> with install_as_lvis():
    ...     from lvis import LVIS, LVISEval, LVISResults
    """
    return install("lvis")


@dataclass(frozen=True)
class Backend:
    """What frameworks take a COCO evaluator to be: a class of annotations, a class that evaluates, functions of masks.

    Attributes
    ----------
    coco
        The class of annotations.
    cocoeval
        The class that evaluates.
    mask_utils
        The module of mask functions.
    """

    coco: Any
    cocoeval: Any
    mask_utils: Any

    @property
    def COCO(self) -> Any:  # noqa: N802 - as packages call it
        """The same as `coco`."""
        return self.coco

    @property
    def COCOeval(self) -> Any:  # noqa: N802
        """The same as `cocoeval`."""
        return self.cocoeval

    @property
    def mask(self) -> Any:
        """The same as `mask_utils`."""
        return self.mask_utils


def backend(like: str = "faster_coco_eval") -> Backend:
    """Return the triple (coco, cocoeval, mask_utils) that torchmetrics and RF-DETR resolve a COCO backend to.

    Parameters
    ----------
    like
        ``"faster_coco_eval"`` (any area ranges and limits of detections, the first AP at the highest limit) or
        ``"pycocotools"`` (the first AP at 100 detections, whatever is set).

    Examples
    --------
    >>> triple = backend()
    >>> triple.cocoeval.__name__, triple.coco.__name__
    ('COCOeval_faster', 'COCO')
    """
    from verite.errors import BadParameter

    if like not in ("faster_coco_eval", "pycocotools"):
        raise BadParameter(f"like: expected faster_coco_eval or pycocotools, found {like!r}")
    mask = import_module(
        f"verite.compat.{'pycocotools.mask' if like == 'pycocotools' else 'faster_coco_eval.core.mask'}"
    )
    if like == "pycocotools":
        from verite.compat.pycocotools.coco import COCO
        from verite.compat.pycocotools.cocoeval import COCOeval

        return Backend(COCO, COCOeval, mask)
    from verite.compat.faster_coco_eval import COCO as FASTER_COCO
    from verite.compat.faster_coco_eval import COCOeval_faster

    return Backend(FASTER_COCO, COCOeval_faster, mask)


def remove_package(name: str) -> dict[str, ModuleType]:
    """Remove all modules of a package from `sys.modules` and return them."""
    names = [module for module in sys.modules if module.partition(".")[0] == name]
    return {module: sys.modules.pop(module) for module in names}
