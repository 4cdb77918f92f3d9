"""Choosing one of several annotators of the same images by `annotator`."""

from __future__ import annotations

import json

import pytest

import verite as vt


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_name_of_an_annotator_is_enough(tmp_path, suffix):
    path = tmp_path / f"truth.{suffix}"
    if suffix == "csv":
        path.write_text("image,label,x1,y1,x2,y2,rater\na,cat,0,0,9,9,ann\na,cat,0,0,8,8,bob\nb,cat,0,0,9,9,ann\n")
    else:
        annotations = [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0, "rater": who}
            for i, who in enumerate(("ann", "bob", "ann"), 1)
        ]
        images, categories = [{"id": 1, "width": 20, "height": 20}], [{"id": 1, "name": "cat"}]
        path.write_text(json.dumps({"images": images, "categories": categories, "annotations": annotations}))
    assert len(vt.read(path, annotator="bob")) == 1
    assert len(vt.read(path, annotator="rater=ann")) == 2
    with pytest.raises(vt.errors.BadParameter, match="carl"):
        vt.read(path, annotator="carl")
