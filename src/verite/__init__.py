"""Evaluate object detectors: official metrics, error analysis, reliable comparisons.

>>> import verite as vt
>>> truth = vt.read("truth.json")                   # doctest: +SKIP
>>> pred = vt.read("detections.json", like=truth)   # doctest: +SKIP
>>> print(vt.voc(truth, pred))                      # doctest: +SKIP
"""

from __future__ import annotations

__version__ = "0.1.0"


def read_stub() -> dict[str, str]:
    """Where each public name lives, from the lines `from HOME import NAME as NAME` that type checkers read."""
    with open(f"{__file__}i", encoding="utf-8") as stub:
        words = [line.split() for line in stub if line.startswith("from ")]
    return {name: home for _, home, _, _, _, name in words}


PUBLIC = read_stub()
# Names of version 0.1 and what they are called now; each still works for one version, with a DeprecationWarning.
DEPRECATED = {
    "Answers": "AnswerTable",
    "Confidences": "ScoreTable",
    "Finds": "DetectionTable",
    "Partial": "PartialResult",
    "Runs": "RLEMasks",
    "draw_distances": "plot_distances",
    "draw_distributions": "plot_distributions",
    "draw_image": "plot_image",
    "draw_pair": "plot_pair",
    "draw_scene": "plot_scene",
    "explain": "reconcile",
    "interpret": "scene_score",
    "save_page": "save_report",
    "truth_errors": "annotation_errors",
}
__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> object:
    """A public name, its module imported when it is first used."""
    # Here, not above: an interrupt is answered from `__main__` on, which comes behind this file.
    from importlib import import_module

    if name in DEPRECATED:
        from warnings import warn

        warn(f"verite.{name} is now called verite.{DEPRECATED[name]}", DeprecationWarning, stacklevel=2)
        return __getattr__(DEPRECATED[name])
    if name not in PUBLIC:
        raise AttributeError(f"module 'verite' has no attribute {name!r}")
    home = PUBLIC[name]
    value = import_module(f"verite.{name}") if home == "verite" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
