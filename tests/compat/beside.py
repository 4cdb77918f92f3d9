"""The same client on pycocotools and on verite: what it printed, and what it found."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np

Modules = SimpleNamespace


def modules(package: str) -> Modules:
    """`coco`, `cocoeval` and `mask` of pycocotools, or of verite under its name."""
    return Modules(**{name: importlib.import_module(f"{package}.{name}") for name in ("coco", "cocoeval", "mask")})


OURS, THEIRS = "verite.compat.pycocotools", "pycocotools"


def load(module: Any, document: Any) -> Any:
    """A COCO object of a document, of its own copy."""
    api = module.COCO()
    api.dataset = json.loads(json.dumps(document))
    api.createIndex()
    return api


def compare(client: Any, *data: Any, **settings: Any) -> list[Any]:
    """Run `client(modules, *data)` on both; the text must be the same but for times. What both returned, ours first."""
    found, texts = [], []
    for package in (OURS, THEIRS):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            found.append(client(modules(package), *data, **settings))
        texts.append(re.sub(r"t=\d+\.\d+s", "t=0s", printed.getvalue()))
    assert texts[0] == texts[1]
    assert texts[0]
    return found


def same_bits(ours: Any, theirs: Any, what: object = "") -> None:
    """Equal through and through: types of arrays, bits, order in memory."""
    if isinstance(theirs, np.ndarray) and theirs.dtype != object:
        assert isinstance(ours, np.ndarray), what
        assert ours.dtype == theirs.dtype, what
        assert ours.shape == theirs.shape, what
        assert ours.tobytes() == theirs.tobytes(), what
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous, what
    elif isinstance(theirs, dict):
        assert set(ours) == set(theirs), what
        for key in theirs:
            same_bits(ours[key], theirs[key], (what, key))
    elif isinstance(theirs, (list, tuple, np.ndarray)):
        assert len(ours) == len(theirs), what
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            same_bits(mine, other, (what, i))
    else:
        assert ours == theirs or (ours != ours and theirs != theirs), what
