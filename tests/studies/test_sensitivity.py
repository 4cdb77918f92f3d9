"""How verdicts change with tolerances and truths."""

from __future__ import annotations

import csv
import io

import verite as vt
from verite.studies.sensitivity import cells_of, sensitivity


def test_every_other_setting_is_judged_on_the_same_values():
    study = vt.study(["iou", "hausdorff", "pixel_recall"], ["small square", "tall", "bird"], ["perspective(reach=8)"])
    found = sensitivity(study, agreement=lambda other: len(cells_of(other)))
    changes = {(c.setting, c.value): c for c in found.changes}
    assert changes["as it is", ""].changed == 0
    # Without any tolerance no curve of pixels is symmetric.
    strict = changes["axial", "0"]
    assert strict.lost > 0
    assert strict.gained == 0
    assert strict.most == f"axial {strict.changed}"
    assert {"without bird", "box only", "silhouette only"} <= {value for name, value in changes if name == "truths"}
    assert found.cells == 3 * (3 + 5)
    assert all(change.agreement == found.cells for change in found.changes)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(rows) == len(found.changes)
    assert "published cells" in str(found)
    assert found.to_dict()[0]["setting"] == "as it is"


def test_judging_by_some_truths_equals_a_study_of_those_alone():
    both = vt.study(["iou", "rms"], ["wide", "bird"], "translation(reach=5)")
    alone = vt.study(["iou", "rms"], ["wide"], "translation(reach=5)")
    part = vt.Study(both.evidence.with_truths([both.truths[0]]), both.tolerances)
    assert cells_of(part) == cells_of(alone)
