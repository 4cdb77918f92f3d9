"""Volumes: NumPy arrays, NIfTI and TIFF files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.formats.samples import refused
from verite.formats import volumes
from verite.formats.volumes import are_volumes, check_voxels, is_volume, read_volume, whole_numbers


def pages(path, *planes):
    first, *others = (Image.fromarray(np.array(plane, np.uint8)) for plane in planes)
    first.save(path, save_all=True, append_images=others)
    return path


def test_volumes_are_known_by_name_and_tiffs_by_their_pages(tmp_path):
    assert is_volume("a.NII.gz")
    assert is_volume("a.npy")
    assert not is_volume("a.png")
    assert not is_volume(tmp_path / "absent.tif")
    assert is_volume(pages(tmp_path / "two.tif", [[1]], [[2]]))
    assert not is_volume(pages(tmp_path / "one.tif", [[1]]))
    (tmp_path / "broken.tif").write_text("none")
    assert not is_volume(tmp_path / "broken.tif")
    assert are_volumes("a.npy", "b.nii")
    assert not are_volumes("a.npy", "b.png")
    assert not are_volumes("a.npy", 3)


def test_volumes_are_read_from_arrays_and_pages(tmp_path):
    values = np.arange(8).reshape(2, 2, 2)
    np.save(tmp_path / "a.npy", values)
    found = read_volume(tmp_path / "a.npy", spacing="1,2,3")
    assert found.values.tolist() == values.tolist()
    assert str(found.spacing).startswith("1,2,3")
    stack = read_volume(pages(tmp_path / "a.tif", [[1, 2]], [[3, 4]]))
    assert stack.values.tolist() == [[[1, 2]], [[3, 4]]]


def test_what_is_no_volume_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    assert "expected three dimensions, found 2" in refused(read_volume, tmp_path / "a.npy")
    (tmp_path / "b.npy").write_text("none")
    assert "expected an array as numpy saves it, found" in refused(read_volume, tmp_path / "b.npy")
    other = pages(tmp_path / "a.tif", [[1, 2]], [[3, 4, 5]])
    assert "expected pages of one size, in grey, found others" in refused(read_volume, other)


def test_nifti_has_a_spacing_of_its_own(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    values = np.arange(8, dtype=np.int16).reshape(2, 2, 2)
    nibabel.save(nibabel.Nifti1Image(values, np.diag([0.5, 0.5, 3, 1])), tmp_path / "a.nii")
    found = read_volume(tmp_path / "a.nii")
    assert found.values.tolist() == values.tolist()
    assert str(found.spacing).startswith("0.5,0.5,3")
    (tmp_path / "b.nii").write_text("none")
    assert "b.nii: expected a NIfTI volume, found" in refused(read_volume, tmp_path / "b.nii")


@pytest.mark.parametrize("kind", ["Nifti1Image", "Nifti2Image"])
def test_damaged_and_cut_nifti_archives_are_refused(tmp_path, kind):
    """The checksum of a .gz file is behind the voxels, where nibabel stops: one changed bit gave other voxels."""
    nibabel = pytest.importorskip("nibabel")
    values = np.random.default_rng(1).integers(0, 3, (4, 9, 9)).astype(np.uint8)
    nibabel.save(getattr(nibabel, kind)(values, np.eye(4)), tmp_path / "a.nii.gz")
    assert (read_volume(tmp_path / "a.nii.gz").values == values).all()
    whole = (tmp_path / "a.nii.gz").read_bytes()
    for at in range(0, len(whole) - 8, 7):
        changed = bytearray(whole)
        changed[at] ^= 16
        (tmp_path / "a.nii.gz").write_bytes(changed)
        with suppress(vt.ReadError):  # read are changes of the archive's own header alone, as its date
            assert (read_volume(tmp_path / "a.nii.gz").values == values).all()
    for length in range(len(whole) - 12, len(whole)):
        (tmp_path / "a.nii.gz").write_bytes(whole[:length])
        assert "expected a NIfTI volume, found" in refused(read_volume, tmp_path / "a.nii.gz")


def test_volumes_have_so_many_voxels_at_most(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_IMAGE_PIXELS", "8")
    file = tmp_path / "a.npy"
    file.write_bytes(b"")
    check_voxels(file, (2, 2, 2))
    assert "at most 8 voxels, found 3 x 3 x 1" in refused(check_voxels, file, (3, 3, 1))


def test_soft_masks_need_a_threshold():
    def found(values, threshold=None):
        return whole_numbers(Path("a"), np.array(values), threshold).tolist()

    assert found([0.0, 2.0]) == [0, 2]
    assert found([0.25, 0.5], 0.5) == [False, True]
    assert found(np.array([0, 100, 200], np.uint8), 0.5) == [False, True, True]  # of the largest value
    for odd in ([0.5], [np.nan], [np.inf], ["x"]):
        assert "expected whole numbers, found others; give mask_threshold=" in refused(found, odd)


def test_spacings_of_volumes_are_rounded_to_six_digits(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.diag([0.7, 0.7, 3, 1])), tmp_path / "a.nii")
    assert volumes.read_volume(tmp_path / "a.nii").spacing.steps == (0.7, 0.7, 3.0)
