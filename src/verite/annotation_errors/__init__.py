"""In what ways may a truth be wrong?

::

    Bernoulli(0.05)             every record is wrong with the same probability, independently
    Asymmetric(0.02, 0.10)      one rate for records that say 0, another for those that say 1
    PerItem(rates)              a rate for every item
    Audit(5, 50)                5 errors were found among 50 records checked: the rate itself is uncertain
    Shared(0.05, 0.1, groups)   errors come in groups: a class or a source is bad as a whole
    Exactly(20)                 exactly 20 records are wrong, no matter which
    AtMost(20)                  up to 20 records are wrong, in the worst way there is

These are of single records, for `vt.rank`. Objects in images err in more ways, for `vt.leaderboard`::

    Detection(missing=0.05, spurious=0.02, label=0.01, jitter=(0.05, 0.15))

One of your own is a class; `parse` reads any of them as signatures spell it.

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
