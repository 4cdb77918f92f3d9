"""Annotation error models: how the ground truth may be wrong.

::

    Bernoulli(0.05)             every annotation is wrong with the same probability, independently
    Asymmetric(0.02, 0.10)      one rate for annotations of 0, another for those of 1
    PerItem(rates)              a rate for every item
    Audit(5, 50)                an audit found 5 errors among 50 annotations: the rate itself is uncertain
    Shared(0.05, 0.1, groups)   errors come in groups: a class or a source is bad as a whole
    Exactly(20)                 exactly 20 annotations are wrong, every choice of them equally likely
    AtMost(20)                  worst case: up to 20 annotations are wrong, chosen to change the ranking

These are models of single annotations, for `vt.rank`. Ground-truth objects in images can be wrong in more ways, for
`vt.leaderboard`::

    Detection(missing=0.05, spurious=0.02, label=0.01, jitter=(0.05, 0.15))

A model of your own is one class (`ErrorModel`); `parse` reads any of them as signatures print it.

>>> parse("shared(epsilon=0.05, correlation=0.3, groups=source)")
Shared(epsilon=0.05, correlation=0.3, groups='source')
"""

from verite.annotation_errors.dependent import Audit, Exactly, Shared
from verite.annotation_errors.detection import Detection
from verite.annotation_errors.independent import Asymmetric, AtMost, Bernoulli, PerItem
from verite.annotation_errors.model import MODELS, ErrorModel, Option, parse

__all__ = [
    "MODELS",
    "Asymmetric",
    "AtMost",
    "Audit",
    "Bernoulli",
    "Detection",
    "ErrorModel",
    "Exactly",
    "Option",
    "PerItem",
    "Shared",
    "parse",
]
