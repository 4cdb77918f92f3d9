"""Volumes in three dimensions: by hand, against MedPy, from arrays and files."""

from __future__ import annotations

import io
import json
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.formats.volumes import read_volume
from verite.pairs import Pairs

NAMES = ("iou", "dice", "hausdorff", "hausdorff(quantile=0.95, variant=pooled)", "asd", "assd", "nsd(tolerance=1.5)")


def random_volumes(seed, shape=(9, 12, 14)):
    rng = np.random.default_rng(seed)
    volumes = np.zeros((2, *shape), dtype=np.bool_)
    for volume in volumes:
        low = rng.integers(0, 4, 3)
        high = low + rng.integers(2, 6, 3)
        volume[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
        volume ^= (rng.random(shape) < 0.1) & volume
    return volumes


def values_of(truth, pred, spacing=None):
    metrics = [vt.metric(name) for name in NAMES]
    found = vt.measure(Pairs.of_volumes(truth, pred, spacing=spacing), metrics)
    return [float(found[m.name][0]) for m in metrics]


def test_two_voxels_worked_by_hand():
    truth, pred = np.zeros((2, 4, 5, 6), dtype=np.bool_)
    truth[0, 0, 0] = truth[0, 0, 1] = pred[0, 0, 1] = pred[3, 0, 1] = True
    # Distances with planes 2 apart: pred to truth 0 and 6, truth to pred 1 and 0.
    iou, dice, hausdorff, _, asd, assd, nsd = values_of(truth, pred, (2, 1, 1))
    assert (iou, dice) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert (hausdorff, asd, assd) == (6, 3, pytest.approx(7 / 4))
    assert nsd == pytest.approx(3 / 4)


@pytest.mark.parametrize("spacing", [None, (3.0, 0.7, 0.5)])
def test_values_are_those_of_medpy(spacing):
    binary = pytest.importorskip("medpy.metric.binary", reason="MedPy is not installed")
    for seed in range(10):
        truth, pred = random_volumes(seed)
        iou, dice, *distances, _ = values_of(truth, pred, spacing)
        assert (iou, dice) == (pytest.approx(binary.jc(pred, truth)), pytest.approx(binary.dc(pred, truth)))
        theirs = [f(pred, truth, voxelspacing=spacing) for f in (binary.hd, binary.hd95, binary.asd, binary.assd)]
        assert distances == pytest.approx(theirs, rel=1e-9)


# What MetricsReloaded's BinaryPairwiseMeasures says of random_volumes(0) to (3), planes 3 apart, pixels .7 and .5: IoU,
# Hausdorff, its 95th percentile, average distance, MASD and NSD at 1.5.
RELOADED = (
    (11 / 35, 3.0413812651491097, 3.0413812651491097, 0.7288208171152325, 0.6098042931216783, 19 / 23),
    (0.23076923076923078, 6.0, 6.0, 1.584375, 1.525294117647059, 0.65625),
    (0.0, 12.061923561356208, 12.043627477048688, 8.688305218969763, 8.396794108172337, 0.0),
    (0.0, 7.323933369440221, 7.229505525761391, 5.246573045027085, 5.209275086888001, 0.0),
)  # fmt: skip
SAME = ("iou", "hausdorff", "hausdorff(quantile=0.95)", "assd", "assd(variant=mean)", "nsd(tolerance=1.5)")


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_metrics_reloaded(seed):
    pairs = Pairs.of_volumes(*random_volumes(seed), spacing=(3.0, 0.7, 0.5))
    assert [float(vt.metric(name).values(pairs)[0]) for name in SAME] == pytest.approx(RELOADED[seed], rel=1e-12)


def test_plane_of_a_volume_is_a_mask():
    # One plane is all surface, as a mask one pixel wide is all contour: compare curves.
    truth, pred = np.zeros((2, 1, 12, 12), dtype=np.bool_)
    truth[0, 3, 2:9] = pred[0, 5, 3:11] = True
    expected = [vt.metric(name)(truth[0], pred[0], spacing=0.5) for name in NAMES]
    assert values_of(truth, pred, 0.5) == pytest.approx(expected)


def test_empty_volume_is_a_diagonal_away():
    truth, pred = np.zeros((2, 3, 4, 12), dtype=np.bool_)
    truth[1, 1, 1] = True
    pairs = Pairs.of_volumes(truth, pred)
    assert vt.metric("dice").values(pairs).tolist() == [0]
    assert vt.metric("hausdorff").values(pairs).tolist() == [13]


def test_what_is_not_defined_for_volumes_is_told():
    truth, pred = random_volumes(1)
    with pytest.raises(vt.DataError, match="baddeley: expected regions in images, found volumes"):
        vt.metric("baddeley").values(Pairs.of_volumes(truth, pred))
    with pytest.raises(vt.DataError, match="expected volumes of one shape"):
        Pairs.of_volumes(truth, pred[:2])
    with pytest.raises(vt.BadParameter, match=r"volume: expected truth values or whole numbers \[plane, row, column\]"):
        Pairs.of_volumes(truth[0], pred[0])
    with pytest.raises(vt.BadParameter, match="spacing: expected a number for each of 3 axes, found 2"):
        vt.metric("hausdorff").values(Pairs.of_volumes(truth, pred, spacing=(1, 2)))


def saved(home, kind, name, labels):
    if kind == "npy":
        np.save(home / f"{name}.npy", labels)
        return home / f"{name}.npy"
    if kind == "tif":
        pages = [Image.fromarray(plane) for plane in labels]
        pages[0].save(home / f"{name}.tif", save_all=True, append_images=pages[1:])
        return home / f"{name}.tif"
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed: pip install 'verite[medical]'")
    nibabel.save(nibabel.Nifti1Image(labels, np.diag([3.0, 0.7, 0.5, 1.0])), home / f"{name}.nii.gz")
    return home / f"{name}.nii.gz"


@pytest.mark.parametrize("kind", ["npy", "tif", "nii.gz"])
def test_files_are_compared_label_by_label(tmp_path, kind, capsys):
    sides = [random_volumes(seed) for seed in (1, 2)]
    truth, pred = ((a[i] + 2 * (a[1 - i] & ~a[i]) * (i == i)).astype(np.uint8)
                   for i, a in ((0, sides[0]), (0, sides[1])))  # fmt: skip
    paths = [str(saved(tmp_path, kind, name, v)) for name, v in (("t", truth), ("p", pred))]
    given = [] if kind == "nii.gz" else ["--spacing", "3,0.7,0.5"]
    assert run(["localize", *paths, "-m", "dice", "-m", "hausdorff", "--json", *given]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "|spacing:3,0.7,0.5mm|" in document["signature"]
    assert document["metrics"]["hausdorff"]["unit"] == "mm"
    for label in (1, 2):
        pairs = Pairs.of_volumes(truth == label, pred == label, spacing=(3, 0.7, 0.5))
        found = document["classes"][str(label)]["metrics"]
        assert found["dice"]["mean"] == pytest.approx(float(vt.metric("dice").values(pairs)[0]))
        assert found["hausdorff"]["mean"] == pytest.approx(float(vt.metric("hausdorff").values(pairs)[0]), rel=1e-6)


def test_volumes_without_anything_in_them_are_told(tmp_path, capsys):
    some = np.zeros((4, 4, 4), np.uint8)
    some[1, 1, 1] = 1
    full, empty = (str(saved(tmp_path, "npy", name, v)) for name, v in (("full", some), ("empty", some * 0)))
    assert run(["localize", empty, empty, "-m", "dice"]) == 0
    assert "the ground truth has no objects, so recall and AP are undefined" in capsys.readouterr().out
    assert run(["localize", full, empty, "-m", "dice"]) == 0
    assert (
        f"warning: {empty}: V310 no predictions for 1 object; check that this is the right file"
        in capsys.readouterr().err
    )
    assert run(["localize", full, full, "-m", "dice"]) == 0
    assert "warning" not in capsys.readouterr().err


def folders(home, kind="npy", cases=3):
    """Truths and predictions of so many cases, and the dice of each."""
    sides = [home / "truth", home / "pred"]
    for side in sides:
        (side / "ward").mkdir(parents=True)
    dice = {}
    for k in range(cases):
        volumes = random_volumes(k)
        for side, volume in zip(sides, volumes, strict=True):
            saved(side / "ward", kind, f"case{k}", volume.astype(np.uint8))
        dice[f"ward/case{k}"] = float(vt.metric("dice").values(Pairs.of_volumes(*volumes))[0])
    return *map(str, sides), dice


@pytest.mark.parametrize("kind", ["npy", "tif", "nii.gz"])
def test_folders_of_volumes_are_paired_by_the_names_of_their_files(tmp_path, kind, capsys):
    truth, pred, dice = folders(tmp_path, kind)
    assert run(["localize", truth, pred, "-m", "dice", "--json", "-o", str(tmp_path / "out")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["image"]: one["values"]["dice"] for one in document["objects"]} == pytest.approx(dice)
    assert document["metrics"]["dice"]["mean"] == pytest.approx(np.mean(list(dice.values())))
    assert {"distributions.png", "worst-dice.png"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert vt.localize(truth, pred, "dice").scores["dice"].value == document["metrics"]["dice"]["mean"]


def test_a_case_that_nobody_predicted_counts_as_empty(tmp_path, capsys):
    truth, pred, dice = folders(tmp_path)
    (tmp_path / "pred" / "ward" / "case1.npy").unlink()
    assert run(["localize", truth, pred, "-m", "dice", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["matched"], document["missed"]) == (2, 1)
    assert document["metrics"]["dice"]["mean"] == pytest.approx((sum(dice.values()) - dice["ward/case1"]) / 3)
    missing = {finding.code: finding for finding in vt.localize(truth, pred, "dice").findings}["V413"]
    assert missing.examples == ("ward/case1",)
    assert "1 of 3 cases" in missing.message


def codes_of(truth, pred):
    return {finding.code: finding for finding in vt.localize(truth, pred, "dice").findings}


def test_inverted_volumes_and_values_that_are_not_shared_are_named(tmp_path):
    truth = np.zeros((6, 8, 8), dtype=np.uint8)
    truth[1:4, 2:6, 2:6], truth[4, 2:6, 2:6] = 1, 2
    paths = {}
    for name, values in (
        ("truth", truth),
        ("inverted", (truth == 0).astype(np.uint8)),
        ("scaled", truth * np.uint8(127)),
        ("empty", np.zeros_like(truth)),
    ):
        paths[name] = tmp_path / f"{name}.npy"
        np.save(paths[name], values)
    assert not codes_of(paths["truth"], paths["truth"])
    assert "background" in codes_of(paths["truth"], paths["inverted"])["V412"].message
    found = codes_of(paths["truth"], paths["scaled"])["V411"].message
    assert "1, 2" in found
    assert "127, 254" in found
    assert set(codes_of(paths["truth"], paths["empty"])) == {"V310"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("more", "ward/other.npy: expected cases of the ground truth, such as 'ward/case0', found 'ward/other'"),
        ("twice", "expected one file of each case, found case0.npy and case0.tif"),
        ("file", "case0.npy: expected a folder like the ground truth, found a file"),
    ],
)
def test_folders_that_do_not_fit_are_told_in_one_line(tmp_path, change, sentence, capsys):
    truth, pred, _ = folders(tmp_path, cases=1)
    some = random_volumes(7)[0].astype(np.uint8)
    if change == "more":
        saved(tmp_path / "pred" / "ward", "npy", "other", some)
    if change == "twice":
        saved(tmp_path / "pred" / "ward", "tif", "case0", some)
    if change == "file":
        pred = f"{pred}/ward/case0.npy"
    assert run(["localize", truth, pred, "-m", "dice", "--quiet"]) == 1
    assert sentence in capsys.readouterr().err


def test_spacings_that_differ_from_case_to_case_are_said(tmp_path, capsys):
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed: pip install 'verite[medical]'")
    volume = np.zeros((5, 5, 5), np.uint8)
    volume[2, 2, 2] = 1
    for side, plane in (("truth", 2), ("pred", 3)):
        (tmp_path / side).mkdir()
        for case, step in (("a", 1.0), ("b", 3.0)):
            moved = np.roll(volume, plane - 2, axis=0)
            nibabel.save(nibabel.Nifti1Image(moved, np.diag([step, 1, 1, 1])), tmp_path / side / f"{case}.nii")
    words = ["localize", str(tmp_path / "truth"), str(tmp_path / "pred"), "-m", "hausdorff", "--json"]
    assert run(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["values"]["hausdorff"] for one in document["objects"]] == [1.0, 3.0]
    assert "|spacing:each its own mm|" in document["signature"]
    assert document["metrics"]["hausdorff"]["unit"] == "mm"


def test_a_mirrored_nifti_is_refused(tmp_path, capsys):
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed: pip install 'verite[medical]'")
    labels, paths = random_volumes(3)[0].astype(np.uint8), []
    for name, first in (("t", 3.0), ("same", 3.0001), ("mirrored", -3.0)):
        paths.append(str(tmp_path / f"{name}.nii"))
        nibabel.save(nibabel.Nifti1Image(labels, np.diag([first, 0.7, 0.5, 1.0])), paths[-1])
    assert run(["localize", paths[0], paths[1], "-m", "dice", "--spacing", "3,0.7,0.5"]) == 0
    assert run(["localize", paths[0], paths[2], "-m", "dice"]) == 1
    message = capsys.readouterr().err
    assert "mirrored.nii: expected voxels" in message
    assert "another affine" in message


def test_python_takes_the_same_files_and_volumes(tmp_path):
    truth, pred = random_volumes(5)
    paths = [saved(tmp_path, "npy", name, v) for name, v in (("t", truth), ("p", pred))]
    expected = vt.metric("dice").values(Pairs.of_volumes(truth, pred))[0]
    assert vt.localize(*paths, "dice").scores["dice"].value == pytest.approx(expected)
    volumes = vt.Volume.of(truth), vt.Volume.of(pred)
    assert vt.localize(*volumes, "dice").scores["dice"].value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((3, 3)), "expected three dimensions, found 2"),
        (np.full((2, 2, 2), 0.5), "expected whole numbers, found others; give --mask-threshold"),
        (np.full((2, 2, 2), np.nan), "expected whole numbers, found others"),
        (b"\x93NUMPY nothing", "expected an array as numpy saves it, found "),
    ],
)
def test_broken_volume_gets_one_clear_line(tmp_path, content, message, capsys):
    path = tmp_path / "a.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    assert run(["localize", str(path), str(path), "-m", "dice"]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_threshold_makes_no_mask_of_what_is_not_a_number(tmp_path, capsys):
    path = tmp_path / "a.npy"
    np.save(path, np.full((2, 2, 2), np.nan))
    assert run(["localize", str(path), str(path), "-m", "dice", "--mask-threshold", "0.5", "--quiet"]) == 1
    assert "a.npy: expected numbers, found NaN or infinity" in capsys.readouterr().err


def test_soft_volume_is_cut_at_its_threshold(tmp_path, capsys):
    soft = np.linspace(0, 1, 27).reshape(3, 3, 3)
    np.save(tmp_path / "t.npy", soft)
    np.save(tmp_path / "p.npy", soft >= 0.5)
    words = ["localize", str(tmp_path / "t.npy"), str(tmp_path / "p.npy"), "-m", "dice", "--json"]
    assert run([*words, "--mask-threshold", "0.5"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["dice"]["mean"] == 1


def saved_volume(folder, kind, values):
    """A volume in a file of this kind."""
    path = folder / f"volume{kind}"
    if kind == ".npy":
        np.save(path, values)
    else:
        nibabel = pytest.importorskip("nibabel")
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), path)
    return path


@pytest.mark.parametrize("kind", [".npy", ".nii"])
def test_what_is_written_to_a_file_later_does_not_change_what_was_read(tmp_path, kind):
    values = np.random.default_rng(0).integers(0, 3, (40, 50, 60)).astype(np.uint8)
    path = saved_volume(tmp_path, kind, values)
    volume = read_volume(path)
    whole = path.read_bytes()
    with path.open("r+b") as file:  # in place, as a map would see it
        file.write(whole[:400] + bytes(len(whole) - 400))
    assert np.array_equal(volume.values, values)
    with path.open("r+b") as file:
        file.truncate(10)  # where a map dies of SIGBUS
    assert np.array_equal(volume.values, values)


def broken_arrays():
    whole = io.BytesIO()
    np.save(whole, np.zeros((4, 5, 6), np.uint8))
    good, zipped = whole.getvalue(), io.BytesIO()
    np.savez(zipped, a=np.zeros(3))
    return {
        "a zip": zipped.getvalue(),
        "cut off": good[:-1],
        "cut off in its header": good[:40],
        "empty": b"",
        "indented": good.replace(b"{'descr'", b"\n  {'des"),
        "brackets": good.replace(b"{'descr'", b"(" * 8),
        "larger than it is": good.replace(b"(4, 5, 6)", b"(4, 5,99)"),
        "larger than memory": good.replace(b"(4, 5, 6)", b"(1<<40,1)".replace(b"1<<40", b"9" * 5)),
        "negative": good.replace(b"(4, 5, 6)", b"(4,-5,-6)"),
        "of objects": good.replace(b"|u1", b"|O8"),
        "of another version": good[:6] + b"\x09" + good[7:],
    }


@pytest.mark.parametrize("what", broken_arrays())
def test_a_broken_array_is_refused_with_its_name(tmp_path, what):
    (tmp_path / "a.npy").write_bytes(broken_arrays()[what])
    with pytest.raises(vt.ReadError, match=r"a\.npy: expected"):
        read_volume(tmp_path / "a.npy")


def test_a_tiff_of_several_pages_is_refused_wherever_it_was_cut(tmp_path):
    pages = [Image.fromarray(np.full((9, 9), i, np.uint8)) for i in range(5)]
    path = tmp_path / "a.tif"
    pages[0].save(path, save_all=True, append_images=pages[1:])
    whole = path.read_bytes()
    for cut in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        with suppress(vt.VeriteError):  # in our words, or fewer whole pages
            read_volume(path)
        with suppress(vt.VeriteError):
            vt.read(path)
