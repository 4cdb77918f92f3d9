"""A torchvision that was built for another torch lacks its native operators; nobody calls them here."""

from __future__ import annotations

import functools
import sys


@functools.cache  # which keeps what is returned: with it the operators would go
def define_operators() -> object:
    """Import torchvision, with stand-ins for what it misses."""
    import torch

    operators = torch.library.Library("torchvision", "FRAGMENT")
    for _ in range(9):
        try:
            import torchvision  # noqa: F401
        except RuntimeError as error:
            missing = str(error).partition("torchvision::")[2].split()[0]
            operators.define(missing + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            for name in [name for name in sys.modules if name.startswith("torchvision")]:
                del sys.modules[name]
    return operators
