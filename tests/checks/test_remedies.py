"""Whatever reading a check names, its remedy brings the AP of the right files back.

Sets are generated from seeds: 60 images of various sizes with four objects each, predictions about a pixel off. A
mistake is written into one file; the printed fix is applied as options of `verite.read`, or by hand where it is advice
to write the file again; then COCO's AP is that of the files without the mistake.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite.checks import examine_all
from verite.checks.check import Fix

IMAGES, SEEDS = 40, (5, 6)


def generate(seed):
    """Ground truth and results in COCO's formats: image ids from 11, class ids with gaps, quadrilaterals as masks."""
    rng = np.random.default_rng((77, seed))
    images, objects, found = [], [], []
    for i in range(IMAGES):
        width, height = (int(v) for v in rng.integers([150, 120], [260, 200]))
        images.append({"id": 11 + i, "file_name": f"frame{i:04d}.jpg", "width": width, "height": height})
        for quarter in ((0, 0), (1, 0), (0, 1), (1, 1)):
            wh = rng.uniform(0.15, 0.4, 2) * (width, height)
            x, y = np.array(quarter) * (width / 2, height / 2) + rng.uniform(0, 0.1, 2) * (width, height)
            label = int(rng.choice([1, 2, 5, 9]))
            box = np.array([x, y, *wh])
            common = {"image_id": 11 + i, "category_id": label}
            objects.append({**common, "id": len(objects) + 1, "bbox": box.tolist(), "area": wh[0] * wh[1] / 2,
                            "iscrowd": 0, "segmentation": [diamond(*box)]})  # fmt: skip
            if rng.random() < 0.9:
                near = box + rng.normal(0, 0.7, 4)
                found.append({**common, "bbox": near.tolist(), "score": float(rng.random())})
    categories = [{"id": label, "name": f"class{label}"} for label in (1, 2, 5, 9)]
    return {"images": images, "categories": categories, "annotations": objects}, found


def diamond(x, y, w, h):
    """A quadrilateral that touches all sides of its box, none of them in the middle."""
    return [float(v) for v in (x + 0.4 * w, y, x + w, y + 0.7 * h, x + 0.6 * w, y + h, x, y + 0.2 * h)]


def sizes_of(truth):
    return {image["id"]: (image["width"], image["height"]) for image in truth["images"]}


def rewritten(truth, found, change):
    """The results with boxes changed by a function of box, width and height."""
    sizes = sizes_of(truth)
    return [{**r, "bbox": [float(v) for v in change(*r["bbox"], *sizes[r["image_id"]])]} for r in found]


# Boxes as left, top, width, height of an image of W x H, and the four numbers that are written for them.
LAYOUTS = {
    "corners": ("V101", lambda x, y, w, h, wide, high: (x, y, x + w, y + h)),
    "centre": ("V102", lambda x, y, w, h, wide, high: (x + w / 2, y + h / 2, w, h)),
    "fractions": ("V103", lambda x, y, w, h, wide, high: (x / wide, y / high, w / wide, h / high)),
    "fractions of corners": (
        "V103",
        lambda x, y, w, h, wide, high: (x / wide, y / high, (x + w) / wide, (y + h) / high),
    ),
    "fractions of centres": (
        "V103",
        lambda x, y, w, h, wide, high: ((x + w / 2) / wide, (y + h / 2) / high, w / wide, h / high),
    ),
    "y first": ("V104", lambda x, y, w, h, wide, high: (y, x, h, w)),
    "corners, y first": ("V104", lambda x, y, w, h, wide, high: (y, x, y + h, x + w)),
    "stretched": (
        "V105",
        lambda x, y, w, h, wide, high: (x / wide * 640, y / high * 640, w / wide * 640, h / high * 640),
    ),
    "half": ("V105", lambda x, y, w, h, wide, high: (x / 2, y / 2, w / 2, h / 2)),
    "thousandths, y first": (
        "V105",
        lambda x, y, w, h, wide, high: (y / high * 1000, x / wide * 1000, (y + h) / high * 1000, (x + w) / wide * 1000),
    ),
}
# Mistakes for which there is advice only: the code, what is written, a word of the advice, and what it says to do.
ADVISED = {
    "y upward": (
        "V118",
        lambda x, y, w, h, wide, high: (x, high - y - h, w, h),
        "write y downward: top = image height - y - box height",
        lambda x, y, w, h, wide, high: (x, high - y - h, w, h),
    ),
    "y upward from the upper edge": (
        "V118",
        lambda x, y, w, h, wide, high: (x, high - y, w, h),
        "write y downward: top = image height - y",
        lambda x, y, w, h, wide, high: (x, high - y, w, h),
    ),
    "mirrored": (
        "V118",
        lambda x, y, w, h, wide, high: (wide - x - w, y, w, h),
        "left = image width - x - box width",
        lambda x, y, w, h, wide, high: (wide - x - w, y, w, h),
    ),
    "sides exchanged": (
        "V118",
        lambda x, y, w, h, wide, high: (x, y, h, w),
        "write width before height",
        lambda x, y, w, h, wide, high: (x, y, h, w),
    ),
}


def average_precision(truth, found, on="box"):
    return vt.coco(truth, found, on=on, checks="off")["AP"].value


def only_error(truth, pred):
    """The one error of the checks."""
    errors = [finding for finding in examine_all(truth, pred) if finding.severity == "error"]
    assert len(errors) == 1, errors
    return errors[0]


def applied(finding, path, truth):
    """The predictions, read with the options of the finding's fix."""
    assert isinstance(finding.fix, Fix), finding
    return vt.read(path, like=truth, **dict(finding.fix.options))


@pytest.fixture
def files(tmp_path):
    def write(truth, found):
        (tmp_path / "truth.json").write_text(json.dumps(truth))
        (tmp_path / "pred.json").write_text(json.dumps(found))
        read = vt.read(tmp_path / "truth.json")
        return read, vt.read(tmp_path / "pred.json", like=read), tmp_path / "pred.json"

    return write


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", LAYOUTS)
def test_the_options_of_a_box_format_give_the_right_ap_back(files, mistake, seed):
    code, write = LAYOUTS[mistake]
    truth, found = generate(seed)
    right = average_precision(*files(truth, found)[:2])
    read, wrong, path = files(truth, rewritten(truth, found, write))
    assert average_precision(read, wrong) < right / 2
    finding = only_error(read, wrong)
    assert (finding.code, finding.side) == (code, "pred")
    assert average_precision(read, applied(finding, path, read)) == pytest.approx(right, abs=0.005)


@pytest.mark.parametrize("mistake", ["corners", "centre", "fractions", "y first"])
def test_the_options_of_the_ground_truth_give_the_right_ap_back(files, tmp_path, mistake):
    code, write = LAYOUTS[mistake]
    truth, found = generate(SEEDS[0])
    right = average_precision(*files(truth, found)[:2])
    plain = {**truth, "annotations": [{k: v for k, v in a.items() if k not in ("segmentation", "area")}
                                      for a in truth["annotations"]]}  # fmt: skip
    read, pred, _ = files({**plain, "annotations": rewritten(truth, plain["annotations"], write)}, found)
    finding = only_error(read, pred)
    assert (finding.code, finding.side) == (code, "truth")
    again = vt.read(tmp_path / "truth.json", **dict(finding.fix.options))
    assert average_precision(again, vt.read(tmp_path / "pred.json", like=again)) == pytest.approx(right, abs=0.005)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", ADVISED)
def test_advice_on_boxes_gives_the_right_ap_back(files, mistake, seed):
    code, write, words, correct = ADVISED[mistake]
    truth, found = generate(seed)
    right = average_precision(*files(truth, found)[:2])
    mistaken = rewritten(truth, found, write)
    read, wrong, _ = files(truth, mistaken)
    finding = only_error(read, wrong)
    assert finding.code == code
    assert words in finding.remedy
    read, fixed, _ = files(truth, rewritten(truth, mistaken, correct))
    assert average_precision(read, fixed) == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("offset", [-1, 1, -11, 489])
@pytest.mark.parametrize("seed", SEEDS)
def test_offsets_of_image_ids_and_frames_give_the_right_ap_back(files, offset, seed):
    truth, found = generate(seed)
    right = average_precision(*files(truth, found)[:2])
    read, wrong, path = files(truth, [{**r, "image_id": r["image_id"] + offset} for r in found])
    finding = only_error(read, wrong)
    assert (finding.code, finding.fix.options) == ("V211", (("image_offset", -offset),))
    assert average_precision(read, applied(finding, path, read)) == right


def test_frames_that_begin_later_have_their_own_offset(files):
    """The first of the predicted frames is not the first of the ground truth, the last one is the last."""
    truth, found = generate(SEEDS[0])
    late = [r for r in found if r["image_id"] >= 15]
    right = average_precision(*files(truth, late)[:2])
    read, wrong, path = files(truth, [{**r, "image_id": r["image_id"] + 1000} for r in late])
    finding = only_error(read, wrong)
    assert finding.fix.options == (("image_offset", -1000),)
    assert average_precision(read, applied(finding, path, read)) == right


@pytest.mark.parametrize("offset", [-1, 1])
def test_offsets_of_class_ids_give_the_right_ap_back(files, offset):
    truth, found = generate(SEEDS[0])
    dense = {1: 1, 2: 2, 5: 3, 9: 4}
    truth["categories"] = [{"id": i, "name": f"class{i}"} for i in dense.values()]
    for record in (*truth["annotations"], *found):
        record["category_id"] = dense[record["category_id"]]
    right = average_precision(*files(truth, found)[:2])
    read, wrong, path = files(truth, [{**r, "category_id": r["category_id"] + offset} for r in found])
    finding = only_error(read, wrong)
    assert (finding.code, finding.fix.options) == ("V201", (("label_offset", -offset),))
    assert average_precision(read, applied(finding, path, read)) == right


@pytest.mark.parametrize("start", [0, 1])
def test_positions_of_classes_are_named_as_positions_and_not_as_a_shift(files, start):
    truth, found = generate(SEEDS[0])
    right = average_precision(*files(truth, found)[:2])
    place = {label: start + i for i, label in enumerate((1, 2, 5, 9))}
    read, wrong, _ = files(truth, [{**r, "category_id": place[r["category_id"]]} for r in found])
    finding = only_error(read, wrong)
    assert (finding.code, finding.remedy) == (
        "V202",
        "write the ground truth's category ids instead of positions in the list of classes",
    )
    assert f"positions from {start}" in finding.message
    assert average_precision(read, wrong) < right


@pytest.mark.parametrize("start", [0, 1])
def test_positions_of_images_are_named_only_if_they_fit(files, start):
    truth, found = generate(SEEDS[0])
    ids = {11 + i: 1000 + 7 * i for i in range(IMAGES)}
    for image in truth["images"]:
        image["id"] = ids[image["id"]]
    for record in truth["annotations"]:
        record["image_id"] = ids[record["image_id"]]
    positions = [{**r, "image_id": r["image_id"] - 11 + start} for r in found]
    read, wrong, _ = files(truth, positions)
    finding = only_error(read, wrong)
    assert finding.code == "V213"
    assert f"positions from {start} in its list of images (index for id)" in finding.message
    # The same ids with boxes of other images are no positions: the fix would be wrong.
    mixed = [{**r, "image_id": start + (7 * (r["image_id"] - start) + 3) % IMAGES} for r in positions]
    read, wrong, _ = files(truth, mixed)
    assert "index for id" not in only_error(read, wrong).message


def test_predictions_of_another_split_are_told_which(tmp_path):
    truth, found = generate(SEEDS[0])
    other, _ = generate(SEEDS[1])
    for image in truth["images"]:
        image["file_name"] = f"train-{image['file_name']}"
    for record in (*other["images"], *other["annotations"]):
        record["id" if "file_name" in record else "image_id"] += 100_003
    (tmp_path / "instances_train.json").write_text(json.dumps(truth))
    (tmp_path / "instances_val.json").write_text(json.dumps(other))
    (tmp_path / "pred.json").write_text(json.dumps(found))
    read = vt.read(tmp_path / "instances_val.json")
    finding = only_error(read, vt.read(tmp_path / "pred.json", like=read))
    assert finding.code == "V213"
    assert finding.remedy.startswith(f"give {tmp_path / 'instances_train.json'} as ground truth")
    train = vt.read(tmp_path / "instances_train.json")
    assert [f.code for f in examine_all(train, vt.read(tmp_path / "pred.json", like=train))] == []


def test_predictions_of_another_folder_of_labels_are_told_which(tmp_path):
    truth, _ = generate(SEEDS[0])
    for split in ("train", "val"):
        (tmp_path / "labels" / split).mkdir(parents=True)
        (tmp_path / "images" / split).mkdir(parents=True)
    for image in truth["images"]:
        stem = image["file_name"][:-4]
        (tmp_path / "labels" / "train" / f"{stem}.txt").write_text("0 0.5 0.5 0.2 0.2\n")
        (tmp_path / "labels" / "val" / f"other{stem}.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    results = tmp_path / "results"
    results.mkdir()
    for image in truth["images"]:
        (results / f"{image['file_name'][:-4]}.txt").write_text("0 0.5 0.5 0.2 0.2 0.9\n")
    read = vt.read(tmp_path / "labels" / "val", image_size=(100, 100))
    pred = vt.read(results, like=read, image_size=(100, 100))
    finding = only_error(read, pred)
    assert finding.code == "V213"
    assert str(tmp_path / "labels" / "train") in finding.remedy or str(tmp_path / "images" / "train") in finding.remedy


def swap(points):
    return [v for x, y in zip(points[::2], points[1::2], strict=True) for v in (y, x)]


def shrink(points, width, height):
    return [v / (width if i % 2 == 0 else height) for i, v in enumerate(points)]


# Polygons in another order or unit: what is written, a word of the advice where there is one, and what it says to do.
POLYGONS = {
    "y first": (lambda p, wide, high: swap(p), "as x, y", lambda p, wide, high: swap(p)),
    "fractions": (
        shrink,
        "multiply the points of polygons by width and height",
        lambda p, wide, high: [v * (wide if i % 2 == 0 else high) for i, v in enumerate(p)],
    ),
    "fractions, y first": (
        lambda p, wide, high: swap(shrink(p, wide, high)),
        "as x, y in pixels",
        lambda p, wide, high: [v * (wide if i % 2 == 0 else high) for i, v in enumerate(swap(p))],
    ),
}


def outlined(truth, found, change, *, boxes):
    """Results with polygons changed by a function, with or without their boxes."""
    sizes = sizes_of(truth)
    out = []
    for record in found:
        points = change(diamond(*record["bbox"]), *sizes[record["image_id"]])
        out.append({k: v for k, v in record.items() if k != "bbox" or boxes} | {"segmentation": [points]})
    return out


@pytest.mark.parametrize("mistake", POLYGONS)
@pytest.mark.parametrize("boxes", [True, False])
def test_polygons_in_another_order_or_unit_are_named_and_fixed(files, mistake, boxes):
    write, words, correct = POLYGONS[mistake]
    truth, found = generate(SEEDS[0])
    plain = outlined(truth, found, lambda p, wide, high: p, boxes=boxes)
    read, good, _ = files(truth, plain)
    assert examine_all(read, good) == []
    right = average_precision(read, good, "mask")
    mistaken = outlined(truth, found, write, boxes=boxes)
    read, wrong, path = files(truth, mistaken)
    assert average_precision(read, wrong, "mask") < right / 2
    finding = examine_all(read, wrong)[0]
    if isinstance(finding.fix, Fix):
        assert average_precision(read, applied(finding, path, read), "mask") == pytest.approx(right, abs=0.005)
        return
    assert finding.code == ("V407" if boxes else "V104" if mistake == "y first" else "V103")
    assert words in finding.remedy
    sizes = sizes_of(truth)
    fixed = [{**r, "segmentation": [correct(r["segmentation"][0], *sizes[r["image_id"]])]} for r in mistaken]
    read, again, _ = files(truth, fixed)
    assert average_precision(read, again, "mask") == pytest.approx(right, abs=1e-6)


def masks_of(truth, found, order, size=None):
    """Results as uncompressed RLE, along columns ("F") or rows ("C"), of the images' size or another."""
    from PIL import Image, ImageDraw

    sizes, out = sizes_of(truth), []
    for record in found:
        image = Image.new("L", sizes[record["image_id"]])
        ImageDraw.Draw(image).polygon(diamond(*record["bbox"]), fill=1)
        mask = np.array(image if size is None else image.resize(size, 0))
        flat = mask.ravel(order=order)
        edges = np.flatnonzero(np.diff(flat, prepend=0)).tolist()
        counts = np.diff([0, *edges, flat.size]).tolist()
        out.append({k: v for k, v in record.items() if k != "bbox"} | {
            "segmentation": {"size": list(mask.shape), "counts": counts}})  # fmt: skip
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_masks_written_row_by_row_are_named(files, seed):
    truth, found = generate(seed)
    read, good, _ = files(truth, masks_of(truth, found, "F"))
    assert examine_all(read, good) == []
    right = average_precision(read, good, "mask")
    read, wrong, _ = files(truth, masks_of(truth, found, "C"))
    assert average_precision(read, wrong, "mask") < right / 2
    finding = only_error(read, wrong)
    assert finding.code == "V407"
    assert "asfortranarray" in finding.remedy


def test_masks_on_shifted_image_ids_are_named_and_fixed(files):
    truth, found = generate(SEEDS[0])
    shifted = [{**record, "image_id": record["image_id"] + 1000} for record in masks_of(truth, found, "F")]
    read, wrong, path = files(truth, shifted)
    finding = only_error(read, wrong)
    assert (finding.code, finding.remedy) == ("V211", "add --pred-image-offset -1000")
    assert average_precision(read, applied(finding, path, read), "mask") > 0.5


def test_masks_written_row_by_row_beside_right_boxes_are_a_warning(files):
    truth, found = generate(SEEDS[0])
    rows = [{**mask, "bbox": box["bbox"]} for mask, box in zip(masks_of(truth, found, "C"), found, strict=True)]
    read, wrong, _ = files(truth, rows)
    (finding,) = examine_all(read, wrong)
    assert (finding.code, finding.severity) == ("V407", "warning")
    assert "asfortranarray" in finding.remedy


def test_masks_of_another_size_than_their_image_are_told_to_be_resized(files):
    truth, found = generate(SEEDS[0])
    read, wrong, _ = files(truth, masks_of(truth, found, "F", size=(160, 160)))
    finding = only_error(read, wrong)
    assert (finding.code, finding.fix) == ("V105", "resize masks to the size of their images before encoding them")
    few = [f.code for f in vt.inspect(read, wrong).findings]
    assert "V406" not in few  # it follows from the other one
