"""Which masks, volumes and colours are in a picture? A few pixels each, at the point where a rule turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.formats.samples import refused
from verite.errors import ReadError
from verite.formats import label_images as pixels
from verite.formats import mask_images, volumes
from verite.formats import voc as voc_segmentation
from verite.formats.format import Options, PathProbe
from verite.formats.label_images import Pixels, check_range, is_soft, mean_stretches, read_colours, split
from verite.formats.label_studio import Bits, decode_brush
from verite.formats.mask_images import Picture, choose_kind, label_table

HERE = Path("a.png")


def save(path, array, **more):
    Image.fromarray(np.array(array, dtype=np.uint8)).save(path, **more)
    return path


# Colours and shades.


def test_grey_written_as_colour_is_grey_and_colours_are_numbers():
    grey = read_colours(HERE, np.array([[[7, 7, 7], [0, 0, 0]]], np.uint8), is_lossy=True)
    assert (grey.values.tolist(), grey.is_colour, grey.is_lossy) == ([[7, 0]], False, True)
    for colour in ((1, 2, 3), (5, 5, 0), (5, 0, 5)):
        number = colour[0] + 256 * colour[1] + 65_536 * colour[2]
        found = read_colours(HERE, np.array([[colour]], np.uint8), is_lossy=False)
        assert (found.values.tolist(), found.is_colour) == ([[number]], True)
    assert "1 colours of a lossy format, as photos" in refused(read_colours, HERE, np.array([[[1, 2, 3]]]), True)


def test_more_than_4096_colours_are_a_photo():
    every = np.arange(4097)
    colours = np.stack([every % 256, every // 256, np.full(4097, 9)], axis=-1)[None]
    assert len(np.unique(read_colours(HERE, colours[:, :4096], is_lossy=False).values)) == 4096
    assert "found 4,097 colours, as photos have them" in refused(read_colours, HERE, colours, is_lossy=False)


def test_pixels_are_whole_numbers_or_fractions():
    for good in ([[0.0, 1.0]], [[0, 65_535]]):
        check_range(HERE, np.array(good))
    for odd, said in (
        ([[-1, 2]], "expected pixels from 0 up, found -1"),
        ([[-0.5, 0.5]], "expected pixels from 0 up, found -0.5"),
        ([[0.0, 1.5]], "expected fractions from 0 to 1, found 1.5"),
        ([[0, 65_536]], "expected values below 65,536, found 65536"),
        ([[0.0, np.nan]], "expected finite pixels, found some that are not"),
        ([], "expected pixels, found none"),
    ):
        assert said in refused(check_range, HERE, np.array(odd))


def test_pixels_stand_side_by_side_in_stretches():
    values, lengths = mean_stretches(np.array([[1, 1, 2], [2, 2, 1]]))
    assert (values.tolist(), lengths.tolist()) == ([1, 2], [1.5, 3.0])


def test_three_shades_in_short_stretches_are_soft():
    def soft(*rows, **more):
        return is_soft(Pixels(np.array(rows, dtype=np.uint8), **more))

    ramp = [0, 40, 80, 120, 255]
    assert soft(ramp, ramp)
    assert not soft(ramp, ramp, is_palette=True)
    assert not soft(ramp, ramp, is_colour=True)
    assert not soft([0, 40, 80, 255], [0, 40, 80, 255])  # two shades between black and white
    assert soft(np.repeat(ramp, 2), np.repeat(ramp, 2))  # two pixels each, across and down
    assert not soft(*[np.repeat(ramp, 3)] * 3)
    assert soft(*[np.repeat(ramp, 2)] * 3)  # across is short, however long they are down
    assert is_soft(Pixels(np.array([[0.0, 0.5, 1.0]])))
    assert not is_soft(Pixels(np.array([[0.0, 1.0]])))
    assert not is_soft(Pixels(np.array([[False, True]])))


def test_transparency_that_says_nothing_is_left_out():
    layers = np.dstack([np.full((1, 2), v, np.uint8) for v in (1, 2, 3, 9)])
    assert pixels.without_alpha(HERE, layers).tolist() == [[[1, 2, 3]] * 2]
    assert pixels.without_alpha(HERE, layers[..., 2:]).tolist() == [[3, 3]]
    layers[0, 1, -1] = 8
    assert "found transparency that varies" in refused(pixels.without_alpha, HERE, layers)


def test_a_picture_that_viewers_turn_is_refused(tmp_path):
    for turn, is_fine in ((1, True), (6, False)):
        exif = Image.Exif()
        exif[0x0112] = turn
        save(tmp_path / "a.png", [[0, 1]], exif=exif)
        if is_fine:
            assert pixels.read_pixels(tmp_path / "a.png").values.tolist() == [[0, 1]]
        else:
            assert "found EXIF orientation 6" in refused(pixels.read_pixels, tmp_path / "a.png")


# Masks.


def picture(rows, place="a", image="a"):
    return Picture(place, image, split(np.array(rows)))


def ring(height, width, thick=1):
    rows = np.ones((height, width), int)
    rows[thick:-thick, thick:-thick] = 0
    return rows


def test_a_curve_is_its_own_outline_and_encloses_as_much_again():
    def kind(pixels):
        return choose_kind([picture(pixels)], has_names=False)

    assert kind(ring(6, 8)) == "contour"  # 24 pixels around 24
    assert kind(ring(6, 7)) == "binary"  # 22 around 20
    assert kind(ring(30, 30, thick=3)) == "binary"  # 324 pixels around 576, and not all of them an outline
    assert kind([[0, 0, 0], [1, 1, 1]]) == "binary"


def test_pixels_are_a_curve_black_and_white_objects_or_classes():
    black, line, curve = picture([[0, 0]]), picture([[0, 5]]), picture(9 * ring(7, 7))
    assert choose_kind([black], has_names=False) == choose_kind([], has_names=False) == "binary"
    assert choose_kind([curve, black], has_names=True) == "contour"
    assert choose_kind([line], has_names=True) == "binary"
    assert choose_kind([picture(5 * ring(7, 7)), line], has_names=True) == "binary"
    assert choose_kind([curve, line], has_names=False) == "objects"
    assert choose_kind([curve, line], has_names=True) == "classes"


def found(kind, rows):
    got = mask_images.FINDERS[kind]([picture(rows)])
    runs = got.segments[0].runs
    masks = [runs[i].tolist() for i in range(len(runs))]
    return masks, got.labels[0].tolist(), got.crowds[0].tolist()


def test_values_become_objects_in_six_ways():
    row = [[0, 3, 255, 3]]
    assert found("binary", row) == ([[1, 3]], [0], [False])
    assert found("binary", [[0, 0]])[0] == []
    assert found("objects", row) == ([[1, 1, 1, 1], [2, 1, 1]], [0, 0], [False, False])
    assert found("classes", row) == ([[1, 1, 1, 1]], [3], [False])
    assert found("every", row)[1] == [0, 3, 255]
    assert found("contour", ring(3, 3)) == ([[0, 9]], [0], [False])


def test_instances_are_a_class_times_a_thousand_and_a_number():
    masks, labels, crowds = found("instances", [[0, 255, 999, 1000, 26_001]])
    assert (len(masks), labels, crowds) == (3, [999, 1, 26], [True, False, False])


def test_classes_have_names_where_somebody_gives_them():
    ids = np.array([2, 2, 9])
    assert label_table(ids, {}, "classes", "").numbers == (2, 9)
    named = label_table(ids, {1: "cat", 2: "dog"}, "classes", "")
    assert (named.names, list(named.ids)) == (("cat", "dog", "9"), [1, 2, 9])
    assert label_table(ids, {0: "none", 1: "cat"}, "binary", "").names == ("cat",)
    assert label_table(ids, {0: "none", 1: "cat", 2: "dog"}, "objects", "").names == ("object",)
    assert label_table(ids, {}, "contour", "").names == ("object",)


def loaded(values, **options):
    got = mask_images.load("a", "a", Pixels(np.array(values)), Options(**options))
    return got.segments.values.tolist()


def test_a_threshold_is_a_share_of_white():
    read = np.array([[127, 128]], np.uint8)
    assert vt.read(read, mask_threshold=0.5).regions.runs[0].tolist() == [1, 1]
    assert vt.read(read.astype(np.uint16) * 257, mask_threshold=0.5).regions.runs[0].tolist() == [1, 1]
    assert vt.read(read.astype(np.int64) * 257, mask_threshold=0.5).regions.runs[0].tolist() == [1, 1]
    assert vt.read(np.array([[0.49, 0.5]]), mask_threshold=0.5).regions.runs[0].tolist() == [1, 1]


def test_fractions_and_numbers_below_zero_are_no_objects():
    assert loaded([[0.0, 3.0]], masks="objects") == [0, 3]
    assert "expected whole numbers, found fractions" in refused(loaded, [[0.0, 2.5]], masks="objects")
    assert "expected values from 0 up, found -2" in refused(loaded, [[0.0, -2.0]], masks="objects")
    assert "expected numbers, found NaN or infinity" in refused(loaded, [[0.0, np.nan]])
    assert "expected values from 0 up, found -2" in refused(vt.read, np.array([[0, -2]]))
    assert vt.read(np.array([[0, 70_000]]), masks="classes").labels.numbers == (70_000,)
    assert "expected arrays [row, column] of numbers" in refused(mask_images.from_arrays, [np.ones(2)], Options())


def test_parts_of_an_image_are_black_and_white_and_share_no_pixel():
    def are_parts(*rows):
        pictures = [picture(one) for one in rows]
        rule = type("Rule", (), {"pictures": pictures})
        return mask_images.are_parts(pictures, rule)

    assert are_parts([[0, 1, 0]], [[9, 0, 0]])
    assert not are_parts([[0, 1, 0]], [[0, 9, 0]])
    assert not are_parts([[0, 1, 2]], [[9, 0, 0]])
    assert not are_parts([[0, 1, 0]], [[9, 0]])
    assert are_parts([[1, 1]])


def test_pictures_of_an_image_have_one_size():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]], sizes={"a": (2, 1)})
    assert mask_images.sizes_of([picture([[0, 1]])], Options(like=truth)) == {"a": (1, 2)}
    said = refused(mask_images.sizes_of, [picture([[0, 1, 1]])], Options(like=truth))
    assert "expected 2 × 1 pixels as image 'a' has elsewhere, found 3 × 1" in said
    assert "found 2 × 1" in refused(mask_images.sizes_of, [picture([[1]]), picture([[0, 1]])], Options())


def test_a_folder_of_masks_may_hold_a_photo(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (8, 8, 3))
    save(tmp_path / "a.jpg", noise)
    assert mask_images.recognise(PathProbe(tmp_path)) is None
    save(tmp_path / "b.png", [[0, 1]])
    assert mask_images.recognise(PathProbe(tmp_path)) == "a folder that holds only images"
    (tmp_path / "c.txt").write_text("x")
    assert mask_images.recognise(PathProbe(tmp_path)) is None
    assert mask_images.recognise(PathProbe(tmp_path / "a.jpg")) is None
    assert mask_images.recognise(PathProbe(tmp_path / "b.png")) == "a mask image"


# VOC's colours.


def test_colours_of_voc_are_indices():
    # By VOC's rule index 1 is (128, 0, 0), 2 is (0, 128, 0), 4 is (0, 0, 128) and 255 is (224, 224, 192).
    colours = np.array([[0, 128, 128 * 256, 128 * 65_536, 224 + 224 * 256 + 192 * 65_536]])
    assert voc_segmentation.index_colours(colours).tolist() == [[0, 1, 2, 4, 255]]
    assert voc_segmentation.index_colours(np.array([[0, 127]])) is None
    assert voc_segmentation.index_colours(np.array([[255 + 255 * 256 + 255 * 65_536]])) is None


def write_voc(folder, objects, classes):
    for name, rows in (("SegmentationObject", objects), ("SegmentationClass", classes)):
        (folder / name).mkdir(exist_ok=True)
        save(folder / name / "a.png", rows)
    return folder


def test_the_class_of_an_object_is_what_most_of_its_pixels_have(tmp_path):
    write_voc(tmp_path, [[1, 1, 1, 254, 255, 0]], [[2, 2, 3, 20, 255, 5]])
    read = vt.read(tmp_path)
    assert [read.labels.name(i) for i in read.label] == ["bicycle", "tvmonitor"]
    assert read.source.notes == ("1 of 6 pixels are void, of no object (V410)",)
    # Background and void are no class, however many pixels have them.
    write_voc(tmp_path, [[1, 1, 1, 1, 1]], [[0, 0, 255, 255, 7]])
    assert vt.read(tmp_path).label.tolist() == [6]
    write_voc(tmp_path, [[1, 1]], [[0, 255]])
    assert "expected a class from 1 to 20 for object 1, found only background" in refused(vt.read, tmp_path)
    write_voc(tmp_path, [[1, 1]], [[21, 21]])
    assert "for object 1, found index 21" in refused(vt.read, tmp_path)
    write_voc(tmp_path, [[1, 1]], [[1, 1, 1]])
    assert "expected 2 × 1 pixels as " in refused(vt.read, tmp_path)
    for file in (tmp_path / "SegmentationObject").iterdir():
        file.unlink()
    assert "expected files ending in .png, found none" in refused(voc_segmentation.read_segmentation, tmp_path)


def test_voc_has_numbers_for_254_objects(tmp_path):
    def write(count):
        image = vt.read(np.arange(1, count + 1)[None], masks="objects")
        vt.write(replace(image, labels=type(image.labels)(["cat"])), tmp_path / str(count), "voc-segmentation")

    write(254)
    assert "expected at most 254 objects an image, found 255 in '0'" in refused(write, 255)


# Strokes.


def test_bits_come_the_highest_first():
    bits = Bits(bytes([0b10110011, 0b01000000]))
    assert [bits.take(n) for n in (1, 2, 7, 3)] == [1, 1, 0b1001101, 0]
    with pytest.raises(EOFError):
        bits.take(4)
    assert bits.take(3) == 0


def test_strokes_may_be_written_pixel_by_pixel():
    # 8 numbers of 8 bits, lengths of 3, 4, 8 and 16 bits; not repeated, the first length, 7 + 1 numbers.
    head = f"{8:032b}{7:05b}{2:04b}{3:04b}{7:04b}{15:04b}"

    def decode(words):
        text = head + words
        text += "0" * (-len(text) % 8)
        return decode_brush(list(int(text, 2).to_bytes(len(text) // 8, "big")), 1, 2, "a").tolist()

    values = "".join(f"{v:08b}" for v in (0, 0, 0, 0, 9, 9, 9, 255))
    assert decode("0" + "00" + "111" + values) == [1, 1]
    # The same as two stretches of four equal numbers.
    assert decode("100011" + "0" * 8 + "100011" + "1" * 8) == [1, 1]
    assert decode("100111" + "1" * 8) == [0, 2]
    assert "which end too soon" in refused(decode, "0" + "00" + "111")
    assert "expected a brush mask of 3 x 2 pixels (V405), found 8 bytes" in refused(
        decode_brush, list(int(head + "000", 2).to_bytes(7, "big")), 3, 2, "a"
    )
    for odd in ([256], [-1], "x", [1.5]):
        assert "expected a brush mask of 1 x 2 pixels (V405)" in refused(decode_brush, odd, 1, 2, "a")


# Volumes.


def npy(path, shape=(2, 2, 2)):
    path.parent.mkdir(exist_ok=True)
    np.save(path, np.ones(shape, np.uint8))
    return path


def test_volumes_are_known_by_name_and_tiffs_by_their_pages(tmp_path):
    assert volumes.is_volume("x.NPY")
    assert volumes.is_volume("x.nii.gz")
    assert not volumes.is_volume("x.png")
    assert not volumes.is_volume(tmp_path / "none.tif")
    pages = [Image.fromarray(np.full((2, 3), i, np.uint8)) for i in range(2)]
    pages[0].save(tmp_path / "one.tif")
    pages[0].save(tmp_path / "two.tif", save_all=True, append_images=pages[1:])
    assert not volumes.is_volume(tmp_path / "one.tif")
    assert volumes.is_volume(tmp_path / "two.tif")
    assert volumes.read_volume(tmp_path / "two.tif").values.tolist() == [[[0] * 3] * 2, [[1] * 3] * 2]
    (tmp_path / "bad.tif").write_bytes(b"x")
    assert not volumes.is_volume(tmp_path / "bad.tif")


def test_pages_of_a_volume_have_one_size_and_are_grey(tmp_path):
    for name, second in (("size", np.zeros((3, 3), np.uint8)), ("colour", np.zeros((2, 3, 3), np.uint8))):
        first = Image.fromarray(np.zeros_like(second)[:2])
        first.save(tmp_path / f"{name}.tif", save_all=True, append_images=[Image.fromarray(second)])
        assert "expected pages of one size, in grey" in refused(volumes.read_volume, tmp_path / f"{name}.tif")


def test_cases_are_the_volumes_of_a_folder(tmp_path):
    a, b = npy(tmp_path / "t" / "a.npy"), npy(tmp_path / "t" / "b.npy")
    npy(tmp_path / "t" / ".c.npy")
    assert volumes.list_cases(tmp_path / "t") == {"a": a, "b": b}
    assert volumes.list_cases(a) == volumes.list_cases(tmp_path / "none") == {}
    assert volumes.are_volumes(tmp_path / "t", a)
    assert not volumes.are_volumes(tmp_path / "t", tmp_path / "none")
    found = npy(tmp_path / "p" / "b.npy")
    assert volumes.pair_cases(tmp_path / "t", tmp_path / "p") == {"a": (a, None), "b": (b, found)}
    assert volumes.pair_cases(a, found) == {"volume": (a, found)}
    assert "expected a folder like the ground truth, found a file" in refused(volumes.pair_cases, tmp_path / "t", found)
    assert "expected a file like the ground truth, found a folder" in refused(volumes.pair_cases, a, tmp_path / "p")
    npy(tmp_path / "p" / "x.npy")
    said = refused(volumes.pair_cases, tmp_path / "t", tmp_path / "p")
    assert "expected cases of the ground truth, such as 'a', found 'x'" in said
    (tmp_path / "t" / "a.nii").write_bytes(b"")
    assert "expected one file of each case, found a.nii and a.npy" in refused(volumes.list_cases, tmp_path / "t")


def test_volumes_are_whole_numbers_or_soft_masks(tmp_path):
    def whole(values, threshold=None):
        return volumes.whole_numbers(HERE, np.array(values), threshold).tolist()

    assert whole([0.0, 3.0]) == [0, 3]
    assert whole([0, 3]) == [0, 3]
    assert whole([0.4, 0.5], 0.5) == [False, True]
    assert whole([True, False], 0.5) == [True, False]
    assert whole([99, 100, 200], 0.5) == [False, True, True]  # half of the largest
    assert "expected whole numbers, found others" in refused(whole, [0.5])
    assert "expected whole numbers, found others" in refused(whole, [np.inf])
    assert "expected numbers, found NaN or infinity" in refused(whole, [np.nan], 0.5)
    assert "expected numbers, found others" in refused(whole, ["x"], 0.5)
    assert "expected three dimensions, found 2" in refused(volumes.read_volume, npy(tmp_path / "a.npy", (2, 2)))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # in pycocotools
@pytest.mark.parametrize("block", [1, 7, 64, 2**19])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.bool_])
def test_masks_of_values_are_those_of_pycocotools_whatever_is_looked_at_together(block, kind, monkeypatch):
    from pycocotools import mask

    monkeypatch.setattr(pixels, "BLOCK", block)
    rng = np.random.default_rng(block)
    for height, width in ((1, 1), (1, 9), (9, 1), (7, 11), (16, 16)):
        values = rng.integers(0, 2 if kind is np.bool_ else 5, (height, width)).astype(kind)
        found = split(values)
        assert found.values.tolist() == np.unique(values).tolist()
        for i, value in enumerate(found.values):
            counts = found.take(np.array([i])).counts
            encoded = mask.frPyObjects({"size": [height, width], "counts": counts.tolist()}, height, width)
            assert np.array_equal(mask.decode(encoded), values == value)


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_stretches_across_blocks_are_one(block, monkeypatch):
    monkeypatch.setattr(pixels, "BLOCK", block)
    values, lengths = mean_stretches(np.array([[1, 1, 2], [2, 2, 1], [1, 1, 1]]))
    assert (values.tolist(), lengths.tolist()) == ([1, 2], [3.0, 3.0])  # 2 and 4 pixels of 1, 3 of 2


def test_a_file_of_very_many_runs_is_refused_by_name(tmp_path, monkeypatch):
    stripes = np.zeros((40, 40), np.uint8)
    stripes[::2] = 1
    Image.fromarray(stripes).save(tmp_path / "a.png")
    monkeypatch.setattr(pixels, "FREE_RUNS", 1)
    monkeypatch.setenv("VERITE_LIMIT_RUNS_PER_BYTE", "1")
    with pytest.raises(ReadError, match=r"a\.png: expected at most \d+ runs .*VERITE_LIMIT_RUNS_PER_BYTE"):
        vt.read(tmp_path / "a.png")
    monkeypatch.setenv("VERITE_LIMIT_RUNS_PER_BYTE", "100")
    assert len(vt.read(tmp_path / "a.png")) == 1


@pytest.mark.parametrize(("mode", "each"), [("1", 1), ("L", 1), ("P", 1), ("I;16", 2), ("RGB", 4)])
def test_bytes_of_pixels_are_bounded_by_those_of_the_file(mode, each, tmp_path, monkeypatch):
    from verite.formats import sizes

    Image.new(mode, (30, 20)).save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as opened:
        each = 4 if opened.mode == "I" else each  # Pillow 10 opens 16 bits as 32
    size = (tmp_path / "a.png").stat().st_size
    monkeypatch.setenv("VERITE_LIMIT_PIXELS_PER_BYTE", "1")
    monkeypatch.setattr(sizes, "FREE_PIXELS", 600 * each - size)
    pixels.read_pixels(tmp_path / "a.png")
    monkeypatch.setattr(sizes, "FREE_PIXELS", 600 * each - size - 1)
    with pytest.raises(ReadError, match=rf"a\.png: .* {600 * each - 1:,} bytes of pixels .*_PIXELS_PER_BYTE"):
        pixels.read_pixels(tmp_path / "a.png")
    assert sizes.size_of_image_file([tmp_path / "a.png"]) == (30, 20)  # nothing is decoded for it


@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16", "RGB", "RGBA", "LA", "I", "F"])
def test_pictures_are_the_same_in_stripes(mode, monkeypatch):
    grey = Image.fromarray(np.random.default_rng(1).integers(0, 200, (23, 17)).astype(np.uint8))
    image = grey if mode == "L" else grey.convert("I").convert(mode) if mode == "I;16" else grey.convert(mode)
    whole = np.asarray(image)
    for block in (1, 17, 100, 390):
        monkeypatch.setattr(pixels, "BLOCK", block)
        found = pixels.decode_pixels(image)
        assert found.dtype == whole.dtype
        assert np.array_equal(found, whole)


def test_a_volume_of_many_voxels_in_few_bytes_is_refused_by_name(tmp_path, monkeypatch):
    pytest.importorskip("nibabel")
    import nibabel

    nibabel.save(nibabel.Nifti1Image(np.zeros((20, 20, 20), np.uint8), np.eye(4)), tmp_path / "a.nii.gz")
    monkeypatch.setattr(volumes, "FREE_VOXELS", 100)
    with pytest.raises(ReadError, match=r"a\.nii\.gz: .* 20 x 20 x 20 of 1 bytes; .*VERITE_LIMIT_PIXELS_PER_BYTE"):
        vt.read_volume(tmp_path / "a.nii.gz")
    monkeypatch.setenv("VERITE_LIMIT_PIXELS_PER_BYTE", "1000")
    assert vt.read_volume(tmp_path / "a.nii.gz").values.shape == (20, 20, 20)
