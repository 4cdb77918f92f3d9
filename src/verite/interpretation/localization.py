"""How badly is one object localized, from 0 to 1? The paper's own measure, or any bounded metric of the catalogue."""

from __future__ import annotations

import numpy as np

from verite.errors import BadParameter
from verite.metrics.catalogue import metric
from verite.metrics.metric import Metric
from verite.metrics.ratios import ratio
from verite.metrics.record import make_record
from verite.pairs import Array, Pairs

CITE = "Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images, eq. 6"


def martin(p: Pairs) -> Array:
    """Share of either region outside the other, whichever is less: 0 where one contains the other.

    min(|T \\ P| / |T|, |P \\ T| / |P|)

    >>> PAPER.values(Pairs.of([[0, 0, 4, 4]], [[2, 0, 4, 4], [3, 0, 9, 4]]))
    array([0.  , 0.75])
    """
    return np.minimum(
        ratio(p.truth_area - p.shared_area, p.truth_area), ratio(p.pred_area - p.shared_area, p.pred_area)
    )


PAPER = Metric(make_record(martin, on="region", bounds=(0, 1), best=0, symmetric=True, cite=CITE, name="martin"), {})


def localization_metric(name: str | Metric) -> Metric:
    """The metric of this name, if a scene can be scored with it."""
    chosen = PAPER if name == "martin" else metric(name)
    if chosen.bounds != (0, 1) or chosen.best not in (0, 1):
        low, high = chosen.bounds
        raise BadParameter(
            f"localization: expected a metric from 0 to 1 with its best at one end, such as martin, iou or gce, "
            f"found {chosen.name} from {low:g} to {high:g}"
        )
    return chosen


def localization_score(chosen: Metric, pairs: Pairs) -> Array:
    """Its values with 0 as the best."""
    values = chosen.values(pairs)
    # Areas of boxes are rounded, so that a difference of equal ones may miss 0 by a hair.
    return np.clip(1 - values if chosen.best == 1 else values, 0.0, 1.0)
