"""Random annotations with every kind of fact, for what must hold of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import verite as vt
from verite.model.annotations import FLAGS

# Letters that mean something to one format or another, and some from far away.
NAMES = st.text("abcXYZ019é漢🚢&<>\"'#:;,[]{}-_.!%", min_size=1, max_size=8)
BLANKED = st.builds("{} {}".format, NAMES, NAMES)
STEMS = st.text("abcXYZ019é漢-_", min_size=1, max_size=6)
SIDES = st.integers(1, 6)
NUMBERS = st.floats(0, 12, width=32).map(lambda v: round(v, 3))
LABEL_KINDS = ("names", "ids", "order", "numbers")
IN_MEMORY_FORMATS = ("box", "polygon", "rings", "mask")


@st.composite
def annotations(
    draw,
    *,
    layouts=("xyxy", "xywh"),
    is_sized=None,
    is_pred=None,
    has_blanks=True,
    label_kinds=LABEL_KINDS,
    kinds=IN_MEMORY_FORMATS,
):
    """Annotations of up to three images, three classes and five objects."""
    image_names, image_ids = draw(image_keys())
    count = len(image_names or image_ids)
    sizes = draw(st.lists(st.tuples(SIDES, SIDES), min_size=count, max_size=count))
    is_sized = draw(st.booleans()) if is_sized is None else is_sized
    images = vt.Images(
        image_names,
        image_ids,
        widths=[w if is_sized else 0 for w, _ in sizes],
        heights=[h if is_sized else 0 for _, h in sizes],
    )
    labels = draw(label_tables(label_kinds, has_blanks))
    rows = draw(st.lists(objects(sizes, len(labels), kinds), max_size=5))
    is_pred = draw(st.booleans()) if is_pred is None else is_pred
    flags = {name: [name in row["flags"] for row in rows] for name in FLAGS}
    confidence = np.array([row["confidence"] for row in rows])
    if is_pred:
        flags["unscored"][:1] = [False] * len(rows[:1])  # only among others that have one is a score missing
        confidence[flags["unscored"]] = np.nan
    else:
        flags["unscored"] = [False] * len(rows)
    return vt.Annotations(
        images,
        labels,
        np.array([row["image"] for row in rows], dtype=np.int32),
        np.array([row["label"] for row in rows], dtype=np.int32),
        vt.Regions(
            np.array([row["box"] for row in rows]).reshape(-1, 4),
            draw(st.sampled_from(layouts)),
            polygons=vt.Polygons.of([row["rings"] for row in rows]),
            runs=vt.RLEMasks.of([row["runs"] for row in rows]),
        ),
        confidence if is_pred and rows else None,
        area=np.array([row["area"] for row in rows]) if rows and draw(st.booleans()) else None,
        ids=np.arange(len(rows)) * 7 + 3 if rows and draw(st.booleans()) else None,
        flags={name: np.array(values, dtype=bool) for name, values in flags.items()},
    )


@st.composite
def image_keys(draw):
    """Names, ids or both; every name has a stem of its own."""
    stems = draw(st.lists(STEMS, min_size=1, max_size=3, unique=True))
    names = [draw(st.sampled_from(["", "x/"])) + stem + draw(st.sampled_from(["", ".jpg"])) for stem in stems]
    ids = draw(st.lists(st.integers(0, 99), min_size=len(stems), max_size=len(stems), unique=True))
    return draw(st.sampled_from([(names, None), (names, ids), (None, ids)]))


@st.composite
def label_tables(draw, kinds, has_blanks):
    """Classes with names, ids, both, or ids that only count."""
    names = draw(st.lists(NAMES | BLANKED if has_blanks else NAMES, min_size=1, max_size=3, unique=True))
    ids = draw(st.lists(st.integers(0, 99), min_size=len(names), max_size=len(names), unique=True))
    match draw(st.sampled_from(kinds)):
        case "names":
            return vt.Labels(names)
        case "ids":
            return vt.Labels(names, ids)
        case "order":
            return vt.Labels(names, range(len(names)))
        case _:
            return vt.Labels(None, ids)


@st.composite
def objects(draw, sizes, label_count, kinds):
    image = draw(st.integers(0, len(sizes) - 1))
    width, height = sizes[image]
    kind = draw(st.sampled_from(kinds))
    row: dict[str, Any] = {
        "image": image,
        "label": draw(st.integers(0, label_count - 1)),
        "box": [draw(NUMBERS) for _ in range(4)],
        "rings": [],
        "runs": None,
        "confidence": draw(st.floats(0, 1)),
        "area": draw(st.floats(0, 1000)),
        "flags": draw(st.sets(st.sampled_from(FLAGS), max_size=2)),
    }
    if kind in ("polygon", "rings"):
        ring = st.lists(NUMBERS, min_size=6, max_size=6) | st.lists(NUMBERS, min_size=8, max_size=8)
        row["rings"] = draw(
            st.lists(ring, min_size=1 if kind == "polygon" else 2, max_size=1 if kind == "polygon" else 3)
        )
    elif kind == "mask":
        bits = draw(st.lists(st.booleans(), min_size=width * height, max_size=width * height))
        row["runs"] = runs_of(bits), (height, width)
    return row


def runs_of(bits: list[bool]) -> list[int]:
    """Runs of pixels in COCO's order, the first of them background."""
    runs, value = [0], False
    for bit in bits:
        if bit != value:
            runs.append(0)
            value = bit
        runs[-1] += 1
    return runs
