"""Pictures of masks: what their pixels mean, which image each belongs to, and what is refused."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.formats.samples import refused
from verite.cli import run
from verite.formats import mask_images
from verite.formats.label_images import join, name_by_folder, name_by_number, name_images, name_plainly, split
from verite.formats.mask_images import save as save_label_image
from verite.model.images import Images
from verite.model.rasters import array_of, runs_of

SHAPE = (12, 20)


def blank(value=0, dtype=np.uint8):
    return np.full(SHAPE, value, dtype=dtype)


def rectangle(*corners, value=255, dtype=np.uint8):
    array = blank(dtype=dtype)
    x1, y1, x2, y2 = corners
    array[y1:y2, x1:x2] = value
    return array


def save(home, pictures):
    home.mkdir(parents=True, exist_ok=True)
    for name, array in pictures.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(array).save(home / name)
    return home


def masks_of(annotations):
    """The mask of every object by its image."""
    found = {}
    for i in range(len(annotations)):
        name = annotations.images.name(int(annotations.image[i]))
        found.setdefault(name, []).append(array_of(annotations.regions.runs, i))
    return found


def shapes_of(annotations):
    """The same in any order."""
    return {name: sorted(mask.tolist() for mask in masks) for name, masks in masks_of(annotations).items()}


def labels_of(annotations):
    return [annotations.labels.name(int(i)) for i in annotations.label]


# What pixels mean.


@pytest.mark.parametrize("value", [1, 255])
@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif"])
def test_black_and_white_picture_is_one_object(tmp_path, value, suffix):
    array = rectangle(2, 3, 6, 8, value=value) | rectangle(12, 3, 15, 8, value=value)
    found = vt.read(save(tmp_path, {f"a.{suffix}": array}) / f"a.{suffix}")
    assert np.array_equal(masks_of(found)["a"], [array > 0])
    assert labels_of(found) == ["object"]
    assert found.regions.boxes.tolist() == [[2, 3, 15, 8]]
    assert "binary: one object of all pixels but 0" in found.source.why


def test_one_bit_and_16_bit_pictures_are_read_as_they_are(tmp_path):
    array = rectangle(2, 3, 6, 8)
    Image.fromarray(array > 0).save(tmp_path / "one.png")
    Image.fromarray(rectangle(2, 3, 6, 8, value=40_000, dtype=np.uint16)).save(tmp_path / "many.png")
    Image.fromarray(rectangle(2, 3, 6, 8, value=40_000, dtype=np.uint16)).save(tmp_path / "many.tif")
    for name in ("one.png", "many.png", "many.tif"):
        assert np.array_equal(masks_of(vt.read(tmp_path / name))[name[:-4]], [array > 0])


def test_label_image_has_an_object_for_every_value(tmp_path):
    array = rectangle(0, 0, 5, 5, value=1) + rectangle(5, 0, 9, 5, value=2) + rectangle(9, 6, 15, 12, value=300 % 256)
    found = vt.read(save(tmp_path, {"a.png": array}) / "a.png")
    assert np.array_equal(masks_of(found)["a"], [array == v for v in (1, 2, 44)])
    assert labels_of(found) == ["object"] * 3
    wide = rectangle(0, 0, 5, 5, value=1, dtype=np.uint16) + rectangle(5, 0, 9, 5, value=1000, dtype=np.uint16)
    assert len(vt.read(save(tmp_path, {"b.png": wide}) / "b.png")) == 2


def test_values_are_classes_where_they_have_names(tmp_path):
    array = rectangle(0, 0, 5, 5, value=1) + rectangle(5, 0, 9, 5, value=2)
    array[-1] = 255
    path = save(tmp_path, {"a.png": array}) / "a.png"
    found = vt.read(path, names=["background", "cat", "dog"])
    assert labels_of(found) == ["cat", "dog"]  # neither background nor void
    assert vt.read(path, masks="classes").labels.numbers == (1, 2)
    assert vt.read(path, masks="every").labels.numbers == (0, 1, 2, 255)


def test_contour_picture_is_what_the_curve_encloses(tmp_path):
    curve = rectangle(3, 2, 15, 10) - rectangle(4, 3, 14, 9)
    found = vt.read(save(tmp_path, {"a.png": curve}) / "a.png")
    assert "contour: one object inside a drawn curve" in found.source.why
    assert np.array_equal(masks_of(found)["a"], [rectangle(3, 2, 15, 10) > 0])
    as_drawn = vt.read(tmp_path / "a.png", masks="binary")
    assert np.array_equal(masks_of(as_drawn)["a"], [curve > 0])


def test_soft_mask_asks_for_a_threshold(tmp_path, capsys):
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    soft = np.clip(255 - 30 * np.hypot(y - 6, x - 10), 0, 255).astype(np.uint8)
    path = save(tmp_path, {"a.png": soft}) / "a.png"
    assert run(["inspect", str(path)]) == 1
    assert capsys.readouterr().err.strip() == (
        f"verite: {path}: expected a mask of few values, found shades of grey; give --mask-threshold 0.5 for a soft "
        "mask, or --truth-masks objects if each is an object"
    )
    assert np.array_equal(masks_of(vt.read(path, mask_threshold=0.5))["a"], [soft >= 127.5])
    Image.fromarray((soft / 255).astype(np.float32)).save(tmp_path / "b.tif")
    with pytest.raises(vt.ReadError, match="found shades of grey"):
        vt.read(tmp_path / "b.tif")
    assert np.array_equal(masks_of(vt.read(tmp_path / "b.tif", mask_threshold=0.5))["b"], [soft / 255 >= 0.5])
    with pytest.raises(vt.BadParameter, match="mask threshold: expected a share above 0 and up to 1, found 128"):
        vt.read(path, mask_threshold=128)


def test_smoothed_edge_is_soft_and_few_spread_values_are_not(tmp_path):
    edge = rectangle(4, 2, 16, 10)
    edge[:, 3], edge[:, 16], edge[1], edge[10] = 60, 130, 190, 25
    with pytest.raises(vt.ReadError, match="found shades of grey"):
        vt.read(save(tmp_path, {"a.png": edge}) / "a.png", masks="binary")
    spread = rectangle(0, 0, 5, 5, value=50) + rectangle(5, 0, 9, 5, value=100) + rectangle(9, 0, 15, 5, value=255)
    assert len(vt.read(save(tmp_path, {"b.png": spread}) / "b.png")) == 3


def test_empty_picture_is_an_image_without_objects(tmp_path):
    found = vt.read(save(tmp_path, {"a.png": blank(), "b.png": rectangle(1, 1, 4, 4)}))
    assert found.images.names == ("a", "b")
    assert found.image.tolist() == [1]


def test_unknown_kind_is_named(tmp_path):
    with pytest.raises(vt.BadParameter, match=r"masks: expected one of binary, .* found 'label'"):
        vt.read(tmp_path, masks="label")


# Which image a picture belongs to.


def test_common_ending_is_no_part_of_the_image(tmp_path):
    pictures = {f"ISIC_{i}_segmentation.png": rectangle(i, 1, 9, 9) for i in range(3)}
    found = vt.read(save(tmp_path, pictures))
    assert found.images.names == ("ISIC_0", "ISIC_1", "ISIC_2")
    assert "named IMAGE_segmentation" in found.source.why


def test_object_a_picture_by_word_and_number(tmp_path):
    pictures = {f"{image}_obj{n}.png": rectangle(n, 1, n + 3, 5) for image in ("a", "b") for n in (1, 2)}
    found = vt.read(save(tmp_path, pictures))
    assert found.images.names == ("a", "b")
    assert found.image.tolist() == [0, 0, 1, 1]
    assert "one file per object, named IMAGE_objNUMBER" in found.source.why


def test_numbers_alone_are_objects_where_no_two_share_a_pixel(tmp_path):
    apart = {f"{image}_{n}.png": rectangle(5 * n, 1, 5 * n + 4, 5) for image in ("a", "b") for n in (1, 2)}
    found = vt.read(save(tmp_path / "objects", apart))
    assert found.images.names == ("a", "b")
    assert "named IMAGE_NUMBER" in found.source.why
    slices = {f"{scan}_{n}.png": rectangle(2, 1, 9 + n, 5) for scan in ("a", "b") for n in (1, 2)}
    assert vt.read(save(tmp_path / "slices", slices)).images.names == ("a_1", "a_2", "b_1", "b_2")
    single = {f"view_{n}.png": rectangle(5 * n, 1, 5 * n + 4, 5) for n in (1, 2)}
    assert vt.read(save(tmp_path / "images", single)).images.names == ("view_1", "view_2")


def test_folder_for_each_image(tmp_path):
    pictures = {f"{i}/masks/{n}.png": rectangle(5 * n, 1, 5 * n + 4, 5) for i in ("cell1", "cell2") for n in (1, 2)}
    found = vt.read(save(tmp_path, pictures))
    assert found.images.names == ("cell1", "cell2")
    assert found.image.tolist() == [0, 0, 1, 1]


def test_images_of_the_truth_decide(tmp_path):
    truth = vt.read(save(tmp_path / "truth", {"view_1.png": rectangle(1, 1, 5, 5), "view_2.png": blank()}))
    apart = {f"view_1_{n}.png": rectangle(5 * n, 1, 5 * n + 4, 5) for n in (1, 2)}
    pred = vt.read(save(tmp_path / "pred", apart), like=truth)
    assert pred.images.names == ("view_1", "view_2")
    assert pred.image.tolist() == [0, 0]


# Two single pictures are one pair.


def test_several_label_studio_masks_of_one_task_are_refused(tmp_path):
    names = [f"task-1-annotation-2-by-1-tag-{tag}-0.png" for tag in ("Car", "Traffic light")]
    folder = save(tmp_path / "brush", dict.fromkeys(names, rectangle(2, 3, 6, 8)))
    with pytest.raises(vt.ReadError, match=r"tag-Car-0\.png and .*Traffic light.*Label Studio JSON"):
        vt.read(folder)
    (folder / names[1]).unlink()
    assert vt.read(folder).images.names == (names[0][:-4],)  # one picture a task is one image


def codes_of(results):
    return {finding.code: finding for finding in results.findings}


@pytest.mark.parametrize("evaluate", [lambda *sides: vt.localize(*sides, "dice"), vt.semantic, vt.inspect])
def test_mask_images_without_predictions_are_named(tmp_path, evaluate):
    pictures = {f"{i}.png": rectangle(2 + i, 3, 6 + i, 8, value=1) for i in range(3)}
    truth = save(tmp_path / "truth", pictures)
    pictures["1.png"] = np.zeros_like(pictures["1.png"])  # nothing is predicted in it, and that is written
    assert "V413" not in codes_of(evaluate(truth, save(tmp_path / "empty", pictures)))
    del pictures["2.png"]
    found = codes_of(evaluate(truth, save(tmp_path / "pred", pictures)))["V413"]
    assert (found.severity, found.count, found.examples) == ("warning", 1, ("2",))
    assert "1 of 3 images" in found.message


@pytest.mark.parametrize("evaluate", [lambda *sides: vt.localize(*sides, "dice"), vt.semantic, vt.inspect])
def test_inverted_masks_are_named(tmp_path, evaluate):
    truth = {f"{i}.png": rectangle(2 + i, 3, 6 + i, 8, value=1) for i in range(3)}
    inverted = {name: 1 - array for name, array in truth.items()}
    sides = [save(tmp_path / name, pictures) for name, pictures in (("truth", truth), ("pred", inverted))]
    found = codes_of(evaluate(*sides))["V412"]
    assert found.severity == "warning"
    assert "3 of 3 images" in found.message
    assert found.examples == ("0", "1", "2")
    assert "V412" not in codes_of(evaluate(sides[0], sides[0]))


def test_label_values_that_the_sides_do_not_share_are_named(tmp_path):
    truth = rectangle(2, 3, 6, 8, value=1) + rectangle(12, 3, 15, 8, value=2)
    sides = [save(tmp_path / name, {"a.png": array}) for name, array in (("truth", truth), ("pred", truth * 127))]
    found = codes_of(vt.semantic(*sides, checks="warn"))["V411"].message
    assert "1, 2" in found
    assert "127, 254" in found
    assert "V411" not in codes_of(vt.semantic(sides[0], sides[0]))
    assert "V411" not in codes_of(vt.localize(*sides, "dice"))  # there values only number the objects


def test_two_single_pictures_are_one_pair_whatever_their_overlap(tmp_path, capsys):
    save(tmp_path, {"t.png": rectangle(0, 0, 4, 4), "p.png": rectangle(10, 0, 14, 4, value=1)})
    command = ["localize", str(tmp_path / "t.png"), str(tmp_path / "p.png"), "-m", "iou", "-m", "hausdorff", "--json"]
    assert run(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["matched"], document["missed"], document["spurious"]) == (1, 0, 0)
    assert document["metrics"]["iou"]["mean"] == 0
    assert document["metrics"]["hausdorff"]["mean"] == 10
    assert "|match:image|" in document["signature"]


def test_image_without_a_predicted_mask_counts_as_0(tmp_path):
    save(tmp_path / "t", {"a.png": rectangle(0, 0, 4, 4), "b.png": rectangle(0, 0, 4, 4)})
    save(tmp_path / "p", {"a.png": rectangle(0, 0, 4, 4), "b.png": blank()})
    assert vt.localize(tmp_path / "t", tmp_path / "p", "dice").scores["dice"].value == pytest.approx(0.5)
    assert vt.localize(tmp_path / "t", tmp_path / "p", "dice", match="greedy").scores["dice"].value == 1


def test_several_objects_of_an_image_are_no_single_pair(tmp_path):
    several = rectangle(0, 0, 4, 4, value=1) + rectangle(8, 0, 12, 4, value=2)
    path = save(tmp_path, {"t.png": several}) / "t.png"
    assert ("match", "greedy") in vt.localize(path, path, "iou").signature.settings
    with pytest.raises(vt.DataError, match=r"expected one object per class and image .*found 2 in 't'"):
        vt.localize(path, path, "iou", match="image")


@pytest.mark.parametrize("words", [["interpret"], ["coco", "--on", "mask"], ["localize", "-m", "iou"], ["inspect"]])
def test_verbs_that_take_regions_take_pictures(tmp_path, words, capsys):
    several = rectangle(0, 0, 4, 4, value=1) + rectangle(8, 0, 12, 4, value=2)
    truth, pred = save(tmp_path, {"t.png": several, "p.png": several}), tmp_path / "p.png"
    assert run([*words, str(truth / "t.png"), str(pred), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    expected = {"interpret": ("score", 0), "coco": ("AP", 1), "localize": ("matched", 2)}
    if words[0] in expected:
        key, value = expected[words[0]]
        assert document[key] == pytest.approx(value)


def test_study_takes_a_picture_as_truth(tmp_path, capsys):
    path = save(tmp_path, {"t.png": rectangle(4, 3, 14, 9)}) / "t.png"
    assert run(["study", "-m", "iou", "--truth", str(path), "-a", "translation(reach=2)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["translation(reach=2)"]


def test_masks_in_memory_are_read_like_pictures():
    truth, pred = rectangle(0, 0, 4, 4), rectangle(2, 0, 6, 4)
    assert vt.localize(truth, pred, "iou").scores["iou"].value == pytest.approx(1 / 3)
    assert vt.localize({"a": truth > 0}, {"a": pred > 0}, "iou").scores["iou"].value == pytest.approx(1 / 3)
    assert len(vt.read([truth, pred]).images) == 2
    with pytest.raises(vt.BadParameter, match="expected values from 0 up, found -1"):
        vt.read(np.array([[0, -1]]))


# Written.


def objects_in(names, arrays, labels, classes):
    """Annotations with a mask for each array."""
    runs = runs_of(np.array([a > 0 for a in arrays]))
    images = sorted(set(names))
    return vt.Annotations(
        images=vt.Images(images, widths=[SHAPE[1]] * len(images), heights=[SHAPE[0]] * len(images)),
        labels=vt.Labels(classes),
        image=np.array([images.index(n) for n in names], dtype=np.int32),
        label=np.array([classes.index(label) for label in labels], dtype=np.int32),
        regions=vt.Regions(np.zeros((len(arrays), 4)), runs=runs),
    )


ARRAYS = [rectangle(0, 0, 4, 4), rectangle(5, 0, 9, 6), rectangle(3, 3, 12, 9)]


@pytest.mark.parametrize("format", ["mask-pictures", "voc-segmentation", "cityscapes"])
def test_written_pictures_are_read_again(tmp_path, format):
    before = objects_in(["a", "a", "b"], ARRAYS, ["car", "person", "car"], ["car", "person"])
    lost = vt.write(before, tmp_path / "out", format)
    after = vt.read(tmp_path / "out")
    assert after.source.format == format
    ending = ".jpg" if format == "voc-segmentation" else ""
    assert shapes_of(after) == {name + ending: shapes for name, shapes in shapes_of(before).items()}
    if format != "mask-pictures":
        assert sorted(labels_of(after)) == sorted(labels_of(before))
    assert "mask" not in lost


def test_many_objects_are_written_with_16_bits(tmp_path):
    array = np.arange(300, dtype=np.uint16).reshape(15, 20)
    before = vt.read(array, masks="objects")
    vt.write(before, tmp_path / "out", "mask-pictures")
    with Image.open(tmp_path / "out" / "0.png") as image:
        assert np.array_equal(np.asarray(image), array)


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("voc-segmentation", "expected VOC's class names, found 'kiwi'"),
        ("cityscapes", "expected Cityscapes' class names, found 'kiwi'"),
    ],
)
def test_classes_that_a_format_has_no_number_for_are_refused(tmp_path, format, message):
    with pytest.raises(vt.ReadError, match=message):
        vt.write(objects_in(["a"], ARRAYS[:1], ["kiwi"], ["kiwi"]), tmp_path / "out", format)


def test_overlapping_masks_and_boxes_are_not_painted(tmp_path):
    both = objects_in(["a", "a"], [ARRAYS[0], ARRAYS[0]], ["car", "car"], ["car"])
    with pytest.raises(vt.ReadError, match="expected segments that share no pixel, found pixels of two in 'a'"):
        vt.write(both, tmp_path / "out", "mask-pictures")
    boxes = vt.Annotations.of(["a"], ["car"], [[0, 0, 3, 3]], sizes={"a": (20, 12)})
    with pytest.raises(vt.ReadError, match="expected a mask for every object, found boxes or polygons"):
        vt.write(boxes, tmp_path / "out", "mask-pictures")
    assert not (tmp_path / "out").exists()


# Data sets that have such pictures.


def test_voc_folders_have_objects_or_classes(tmp_path):
    owner = rectangle(0, 0, 5, 5, value=1) + rectangle(5, 0, 9, 5, value=2)
    kind = rectangle(0, 0, 5, 5, value=15) + rectangle(5, 0, 9, 5, value=15)
    owner[-1] = kind[-1] = 255
    save(tmp_path / "SegmentationObject", {"x.png": owner})
    save(tmp_path / "SegmentationClass", {"x.png": kind})
    assert labels_of(vt.read(tmp_path)) == ["person", "person"]
    assert labels_of(vt.read(tmp_path / "SegmentationClass")) == ["person"]
    assert labels_of(vt.read(tmp_path / "SegmentationObject")) == ["object", "object"]
    every = vt.semantic(tmp_path / "SegmentationClass", tmp_path / "SegmentationClass")
    assert every.class_names[:2] == ["background", "aeroplane"]
    assert every.scores["mIoU"].value == 1
    assert every.counts.classes.truth.sum() == 11 * 20  # void is not asked for


def test_cityscapes_ids_are_classes_and_objects(tmp_path):
    ids = rectangle(0, 0, 20, 12, value=7, dtype=np.uint16)
    ids[0:4, 0:4], ids[0:4, 5:9], ids[6:9, 0:9], ids[11] = 26_000, 26_001, 24, 3
    classes = np.where(ids > 999, ids // 1000, ids).astype(np.uint8)
    save(tmp_path / "ulm", {"ulm_01_gtFine_instanceIds.png": ids, "ulm_01_gtFine_labelIds.png": classes})
    found = vt.read(tmp_path)
    assert found.images.names == ("ulm_01",)
    assert sorted(zip(labels_of(found), found.crowd.tolist(), strict=True)) == [
        ("car", False), ("car", False), ("person", True), ("road", True)]  # fmt: skip
    results = vt.semantic(tmp_path, tmp_path)
    present = dict(zip(results.class_names, results.counts.classes.truth[results.rows].tolist(), strict=True))
    assert {name: n for name, n in present.items() if n} == {
        "road": 220 - 32 - 27, "person": 27, "car": 32}  # fmt: skip


# Hostile pictures: one clear line each.


def announce(path, width, height):
    """A picture of one pixel whose head promises others: no more than that may be read of it."""
    Image.new("1", (1, 1)).save(path)
    content = bytearray(path.read_bytes())
    content[16:24] = struct.pack(">II", width, height)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    path.write_bytes(content)


def hostile(path, kind):
    array = rectangle(2, 2, 8, 8)
    if kind == "bomb":
        announce(path, 65_000, 65_000)
    elif kind == "truncated":
        Image.fromarray(np.random.default_rng(1).integers(0, 2, (200, 200), dtype=np.uint8) * 255).save(path)
        path.write_bytes(path.read_bytes()[:-400])
    elif kind == "turned":
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.fromarray(array).save(path, exif=exif)
    elif kind == "alpha":
        Image.fromarray(np.stack([array, array, array, array], axis=-1)).save(path)
    elif kind == "pages":
        frames = [Image.fromarray(array)] * 3
        frames[0].save(path.with_suffix(".tif"), save_all=True, append_images=frames[1:])
        return path.with_suffix(".tif")
    elif kind == "photo":
        colours = np.random.default_rng(1).integers(0, 256, (80, 80, 3), dtype=np.uint8)
        Image.fromarray(colours).save(path)
    elif kind == "cmyk":
        Image.new("CMYK", (8, 8)).save(path.with_suffix(".tif"))
        return path.with_suffix(".tif")
    elif kind == "not finite":
        Image.fromarray(np.full(SHAPE, np.nan, dtype=np.float32)).save(path.with_suffix(".tif"))
        return path.with_suffix(".tif")
    elif kind == "no picture":
        path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("bomb", "expected at most .* pixels, found 4,225,000,000"),
        ("truncated", "expected an image, found "),
        ("turned", "expected a mask that stands upright, found EXIF orientation 6"),
        ("alpha", "expected a mask without an alpha channel, found transparency that varies"),
        ("pages", "expected an image file of one page, found 3 pages"),
        ("photo", "expected a mask, found .* colours, as photos have them"),
        ("cmyk", "expected a black-and-white, grey, palette or colour image, found mode CMYK"),
        ("not finite", "expected finite pixels, found some that are not"),
        ("no picture", "expected an image, found "),
    ],
)
def test_hostile_picture_gets_one_clear_line(tmp_path, kind, message, capsys):
    path = hostile(tmp_path / "a.png", kind)
    assert run(["interpret", str(path), str(path)]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"verite: {path}")
    with pytest.raises(vt.ReadError, match=message):
        vt.read(path)


def test_sizes_that_differ_are_told(tmp_path, capsys):
    Image.fromarray(rectangle(2, 2, 8, 8)).save(tmp_path / "t.png")
    Image.fromarray(rectangle(2, 2, 8, 8)[:6]).save(tmp_path / "p.png")
    assert run(["localize", str(tmp_path / "t.png"), str(tmp_path / "p.png"), "-m", "iou"]) == 1
    assert "p.png: expected 20 × 12 pixels as image 't' has elsewhere, found 20 × 6" in capsys.readouterr().err


def test_palette_counts_by_index_and_constant_alpha_says_nothing(tmp_path):
    array = rectangle(2, 2, 8, 8, value=1)
    image = Image.fromarray(array)
    image.putpalette([255, 255, 255, 0, 0, 0])  # white background, black object
    image.save(tmp_path / "a.png")
    assert np.array_equal(masks_of(vt.read(tmp_path / "a.png"))["a"], [array > 0])
    opaque = np.stack([255 * array] * 3 + [blank(255)], axis=-1)
    Image.fromarray(opaque).save(tmp_path / "b.png")
    assert np.array_equal(masks_of(vt.read(tmp_path / "b.png"))["b"], [array > 0])


def test_colours_are_objects(tmp_path):
    colours = np.zeros((*SHAPE, 3), dtype=np.uint8)
    colours[:4, :4], colours[5:9, 5:9] = (128, 0, 0), (0, 128, 0)
    Image.fromarray(colours).save(tmp_path / "a.png")
    assert len(vt.read(tmp_path / "a.png")) == 2


def test_folder_of_photos_is_none_of_masks(tmp_path):
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (8, 8), (200, 10, 30)).save(tmp_path / name)
    for path in (tmp_path, tmp_path / "a.jpg"):
        with pytest.raises(vt.ReadError, match="found an image, which is recognised but not read"):
            vt.read(path)


def test_a_picture_that_asks_for_more_memory_than_there_is_is_refused(tmp_path):
    """Of a broken PNG, Pillow reads a part of any length that the part claims."""
    from verite.formats.sizes import open_image

    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    said = r"a.png: expected an image, found more bytes than fit into memory"
    with pytest.raises(vt.ReadError, match=said), open_image(tmp_path / "a.png"):
        raise MemoryError


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_a_picture_that_is_cut_off_after_it_was_opened_keeps_its_pixels(tmp_path, compression):
    """A map of the file, as Pillow and libtiff make it, would end the process where the file becomes shorter."""
    from verite.formats.sizes import open_image

    path, values = tmp_path / "a.tif", np.arange(10_000, dtype=np.uint8).reshape(100, 100)
    Image.fromarray(values).save(path, compression=compression)
    with open_image(path) as image:
        os.truncate(path, 200)
        assert np.array_equal(np.asarray(image), values)


def test_a_small_picture_that_claims_many_pixels_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    Image.new("P", (8, 8)).save(tmp_path / "a.gif")
    data = (tmp_path / "a.gif").read_bytes()
    size = (8).to_bytes(2, "little") * 2
    claimed = (12_500).to_bytes(2, "little") + (12_000).to_bytes(2, "little")
    assert data.count(size) == 2  # the screen and its one image
    (tmp_path / "a.gif").write_bytes(data.replace(size, claimed))
    with pytest.raises(vt.ReadError, match=r"a\.gif: .*12500 x 12000; .*VERITE_LIMIT_PIXELS_PER_BYTE"):
        vt.read(tmp_path / "a.gif")
    monkeypatch.setenv("VERITE_LIMIT_PIXELS_PER_BYTE", str(10**9))
    with pytest.raises(vt.ReadError, match=r"an image, found .*truncated"):
        vt.read(tmp_path / "a.gif")


def test_label_images_have_as_few_bits_as_their_values_need(tmp_path):
    for value, depth in ((255, "uint8"), (256, "uint16"), (65_535, "uint16")):
        save_label_image(np.full((2, 3), value, np.uint32), tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as image:
            found = np.asarray(image)
        assert (found.max(), found.astype(depth).max()) == (value, value)
        assert (image.mode == "L") == (depth == "uint8")
    assert "expected values up to 65535, found 65536" in refused(
        save_label_image, np.full((2, 3), 65_536, np.uint32), tmp_path / "a.png"
    )


def test_arrays_are_images_of_the_truth_in_its_order_where_there_are_as_many():
    truth = vt.Annotations.of(["x", "y"], ["cat"] * 2, [[0, 0, 2, 2]] * 2, sizes={"x": (2, 2), "y": (2, 2)})
    assert vt.read([np.ones((2, 2), bool)] * 2, like=truth).image.tolist() == [0, 1]
    assert vt.read([np.ones((2, 2), bool)] * 2).images.names == ("0", "1")


def test_arrays_are_masks_where_all_of_them_are_planes():
    plane, stack = np.zeros((2, 2)), np.zeros((2, 2, 2))
    assert mask_images.are_arrays(plane)
    assert mask_images.are_arrays(stack)
    assert mask_images.are_arrays([plane, plane])
    assert mask_images.are_arrays({"a": plane})
    for odd in ([plane, stack], {"a": plane, "b": stack}, [], {}, np.zeros(3), np.zeros((1, 1, 1, 1)), "x"):
        assert not mask_images.are_arrays(odd)


def test_masks_of_no_picture_are_none():
    none = join([])
    assert (len(none), none.sizes.shape) == (0, (0, 2))
    both = join([split(np.array([[5, 5]])), split(np.array([[1], [2]]))])
    assert both.sizes.tolist() == [[1, 2], [2, 1], [2, 1]]
    assert [both[i].tolist() for i in range(3)] == [[0, 2], [0, 1, 1], [1, 1]]


def named(*names, folder=Path("in")):
    return [folder / name for name in names]


def images_of(rule):
    return [picture.image for picture in rule.pictures]


def test_an_ending_that_all_masks_have_is_no_part_of_the_name():
    assert images_of(name_plainly(named("a_mask.png", "b_mask.png"))) == ["a", "b"]
    assert images_of(name_plainly(named("a_mask.png", "b.png"))) == ["a_mask", "b"]
    assert images_of(name_plainly(named("x/a_mask.png", "y/a_mask.png"))) == ["a_mask", "a_mask"]


def test_numbered_masks_are_objects_of_several_images():
    two = named("a_1.png", "a_2.png", "b_1.png")
    assert images_of(name_by_number(two, least=2)) == ["a", "a", "b"]
    assert not name_by_number(two, least=2).is_sure
    assert name_by_number(named("a_1.png", "a_2.png"), least=2) is None  # perhaps a series of images
    assert images_of(name_by_number(named("a_1.png", "a_2.png"), least=1)) == ["a", "a"]
    assert images_of(name_by_number(named("a_obj1.png", "a_obj2.png"), least=2)) == ["a", "a"]
    assert name_by_number(named("a_obj1.png", "a_obj2.png"), least=2).is_sure
    assert name_by_number(named("a_1.png", "b_1.png"), least=1) is None  # one each
    assert name_by_number(named("a_1.png", "a.png"), least=1) is None


def test_masks_in_a_folder_for_each_image_are_its_objects():
    def by_folder(*names):
        rule = name_by_folder(Path("in"), named(*names))
        return rule and (images_of(rule), rule.is_sure)

    assert by_folder("a/1.png", "a/2.png", "b/1.png") == (["a", "a", "b"], False)
    assert by_folder("a/masks/1.png", "a/masks/2.png") == (["a", "a"], True)
    assert by_folder("a/1.png", "a/2.png") is None
    assert by_folder("a/1.png", "b/1.png") is None
    assert by_folder("a/1.png", "2.png") is None


def test_the_names_of_the_truth_decide_how_masks_are_named(tmp_path):
    files = named("a_1.png", "a_2.png", folder=tmp_path)
    assert images_of(name_images(tmp_path, files, Images(["a"]))) == ["a", "a"]
    assert images_of(name_images(tmp_path, files, Images(["a_1", "a_2"]))) == ["a_1", "a_2"]
    assert images_of(name_images(tmp_path, files, None)) == ["a_1", "a_2"]
    one = tmp_path / "z.png"
    assert images_of(name_images(one, [one], Images(["a"]))) == ["a"]
    assert images_of(name_images(one, [one], Images(["a", "b"]))) == ["z"]
