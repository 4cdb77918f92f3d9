"""pycocotools' own interface, computed by verite: modules `coco`, `cocoeval` and `mask`.

Code that imports pycocotools by name runs unchanged after ``verite.compat.install_as_pycocotools()``. Numbers are those
of pycocotools 2.0.11 to the last bit, its quirks included.
"""

from __future__ import annotations

__author__ = "The verite developers"
__version__ = "2.0.11"
