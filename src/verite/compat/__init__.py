"""Stand-ins for other packages, so that code written for them runs on verite."""

from __future__ import annotations

PARTS = ("coco", "cocoeval", "mask")


def install_as_pycocotools() -> None:
    """From here on ``import pycocotools`` finds verite: the same classes, functions and numbers, much faster.

    >>> install_as_pycocotools()
    >>> from pycocotools import mask
    >>> mask.area({"size": [2, 2], "counts": b"13"})
    np.uint32(3)
    """
    import sys
    from importlib import import_module

    base = import_module("verite.compat.pycocotools")
    sys.modules["pycocotools"] = base
    for part in PARTS:
        module = import_module(f"verite.compat.pycocotools.{part}")
        sys.modules[f"pycocotools.{part}"] = module
        setattr(base, part, module)
    sys.modules["pycocotools._mask"] = sys.modules["pycocotools.mask"]
