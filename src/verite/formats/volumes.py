"""Volumes (3-D label images) from files: NumPy `.npy`, NIfTI (extra `[medical]`), and TIFF with several pages.

`verite localize` and `vt.localize` compare two volumes, or the volumes of two folders case by case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from gzip import GzipFile
from importlib.util import find_spec
from io import BytesIO
from math import prod
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError, ReadError, excerpt, spell_option
from verite.files import check_file, find_path, read_bytes
from verite.formats.sizes import check_claim, open_image
from verite.limits import limit
from verite.limits import remedy as raise_limit
from verite.model.shapes import Spacing, Volume

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.formats.format import Options
    from verite.model.annotations import Annotations

NIFTI = (".nii", ".nii.gz")
TIFF = (".tif", ".tiff")
SUFFIXES = (".npy", ".nii.gz", ".nii", *TIFF)  # the longer of two that a name may end in comes first


def is_volume(path: Any) -> bool:
    """Tell whether a file is a volume by its suffix; a TIFF is one if it has several pages."""
    name = str(path).lower()
    if name.endswith((".npy", *NIFTI)):
        return True
    if not name.endswith(TIFF) or not Path(path).is_file():
        return False
    try:
        with open_image(Path(path), ["TIFF"], is_decoded=False) as image:
            return getattr(image, "n_frames", 1) > 1
    except ReadError:
        return False


def are_volumes(*sides: Any) -> bool:
    """Tell whether every side is a volume: in memory, a file, or a folder of such files."""
    return all(
        isinstance(side, Volume) or (isinstance(side, (str, PathLike)) and (is_volume(side) or bool(list_cases(side))))
        for side in sides
    )


def list_cases(folder: Any) -> dict[str, Path]:
    """List the volumes in a folder and its subfolders, by their names without suffix.

    Empty if the first candidate is no volume, so that a folder of TIFF images is not mistaken for cases.
    """
    place = Path(folder)
    if not place.is_dir():
        return {}
    files = (path for path in sorted(place.rglob("*")) if path.is_file() and not path.name.startswith("."))
    likely = [path for path in files if path.name.lower().endswith(SUFFIXES)]
    if not likely or not is_volume(likely[0]):
        return {}
    found: dict[str, Path] = {}
    for path in likely:
        # Name of a case: its path without the suffix of a volume.
        name = str(path.relative_to(place))
        ending = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
        name = name[: len(name) - len(ending)]
        if name in found:
            raise ReadError(path, expected="one file of each case", found=f"{found[name].name} and {path.name}")
        found[name] = path
    return found


def pair_cases(truth: Any, pred: Any) -> dict[str, tuple[Any, Any]]:
    """Pair ground truth and prediction of each case, by name.

    Two volumes are one case of the name `volume`. A case without prediction has None in its place; a prediction without
    ground truth is a `ReadError`.
    """
    folders = [isinstance(side, (str, PathLike)) and Path(side).is_dir() for side in (truth, pred)]
    if not any(folders):
        return {"volume": (truth, pred)}
    if not all(folders):
        kinds = ("a folder", "a file") if folders[0] else ("a file", "a folder")
        raise DataError(f"{pred}: expected {kinds[0]} like the ground truth, found {kinds[1]}")
    asked, given = list_cases(truth), list_cases(pred)
    for name, path in given.items():
        if name not in asked:
            known = f"cases of the ground truth, such as {next(iter(asked))!r}"
            raise ReadError(path, expected=known, found=f"{name!r}", remedy="name files alike on both sides")
    return {name: (path, given.get(name)) for name, path in asked.items()}


def read_volume(path: Any, spacing: Any = None, mask_threshold: float | None = None) -> Volume:
    """Read a volume of integers (labels or a binary mask) from a file.

    Parameters
    ----------
    path : path
        `.npy`, `.nii`, `.nii.gz`, or a TIFF with several grey pages. NIfTI needs the extra ``verite[medical]``.
    spacing : Spacing, str or sequence of float, optional
        Size of a voxel along each axis, such as ``"0.7,0.7,3mm"``. Default: that of the NIfTI header, else unknown.
    mask_threshold : float, optional
        Binarise a soft mask at this share of its largest value (of 1 for floats), above 0 and at most 1. Default: the
        values have to be integers.

    Returns
    -------
    Volume
        The values (three dimensions), the spacing, and for NIfTI the affine matrix from voxels to millimetres.

    Raises
    ------
    ReadError
        If the file is missing, broken, too large, not three-dimensional, or has fractions and no `mask_threshold`.
    BadParameter
        If `mask_threshold` or `spacing` is invalid.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import verite as vt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/case.npy", np.array([[[0, 0], [1, 2]]]))
    ...     volume = vt.read_volume(f"{folder}/case.npy", spacing="0.7,0.7,3mm")
    >>> volume.values.shape, str(volume.spacing)
    ((1, 2, 2), '0.7,0.7,3mm')
    """
    if mask_threshold is not None and not (isinstance(mask_threshold, Real) and 0 < mask_threshold <= 1):
        found = excerpt(mask_threshold)
        raise BadParameter(f"mask_threshold: expected a share above 0 and up to 1, found {found}")
    place = find_path(path)
    check_file(place)
    name = place.name.lower()
    own: Spacing | None = None
    affine: NDArray[np.float64] | None = None
    if name.endswith(NIFTI):
        values, own, affine = read_nifti(place)
    elif name.endswith(".npy"):
        values = read_array(place)
    else:
        with open_image(place, ["TIFF"]) as image:
            pages = getattr(image, "n_frames", 1)
            check_voxels(place, (pages, image.size[1], image.size[0]))
            check_claim(place, image, pages)
            planes = []
            for page in range(pages):
                image.seek(page)
                planes.append(np.asarray(image))
        if len({plane.shape for plane in planes}) > 1 or planes[0].ndim != 2:
            raise ReadError(place, expected="pages of one size, in grey", found="others")
        values = np.stack(planes)
    if values.ndim != 3:
        raise ReadError(place, expected="three dimensions", found=f"{values.ndim}")
    values = whole_numbers(place, values, mask_threshold)
    return Volume(values, own if spacing is None else Spacing.of(spacing), affine)


def read_objects(source: Any, options: Options) -> Annotations:
    """Return the objects of volumes, one per value but 0, as masks of images in which the planes lie below each other.

    Parameters
    ----------
    source
        A volume, its file, or a folder of such files, one image each.
    options
        With the ground truth in `like`, the volumes of both sides must have one shape and orientation.
    """
    from verite.formats.mask_images import from_arrays

    path = source if isinstance(source, (str, PathLike)) else ""
    cases: Mapping[str, Any] = (list_cases(source) if path else {}) or {"volume": source}
    pages: dict[str, NDArray[Any]] = {}
    grids: dict[str, tuple[tuple[int, ...], Any]] = {}
    known = {} if options.like is None else options.like.source.volumes
    for name, case in cases.items():
        volume = case if isinstance(case, Volume) else read_volume(case, mask_threshold=options.mask_threshold)
        shape, where = volume.values.shape, case if isinstance(case, (str, PathLike)) else "volume"
        wanted, affine = known.get(name, (shape, None))
        if wanted != shape:
            asked, found = (" × ".join(map(str, one)) for one in (wanted, shape))
            raise DataError(f"{where}: expected {asked} voxels as in the ground truth, found {found}")
        if not volume.is_beside(replace(volume, affine=affine)):
            raise DataError(
                f"{where}: expected voxels where those of the ground truth lie, found another affine matrix"
            )
        grids[name] = shape, volume.affine
        pages[name] = volume.values.reshape(-1, volume.values.shape[2])
    annotations = from_arrays(pages, replace(options, mask_threshold=None))
    why = "volumes; an object for every value but 0, planes below each other"
    return annotations.with_source(replace(annotations.source, path=str(path), why=why, volumes=grids))


FREE_VOXELS = 2**28  # bytes of voxels come from however few bytes: 1024 planes of 512 x 512 labels pack well


def check_voxels(place: Path, shape: tuple[int, ...], bytes_each: int = 1) -> None:
    """Refuse volumes above the limit of voxels, and those that unpack to far more bytes than their file has.

    Parameters
    ----------
    place : Path
        The file; its size bounds what it may unpack to.
    shape : tuple of int
        As the header states it, before anything is decoded.
    bytes_each : int, default 1
        Bytes of one voxel.
    """
    if prod(map(int, shape)) > limit("image_pixels"):
        most = f"at most {limit('image_pixels'):,} voxels"
        found = " x ".join(map(str, shape))
        raise ReadError(place, expected=most, found=found, remedy=raise_limit("image_pixels"))
    claimed = FREE_VOXELS + limit("pixels_per_byte") * place.stat().st_size
    if prod(map(int, shape)) * bytes_each > claimed:
        most = f"at most {claimed:,} bytes of voxels in a file of this size"
        found = f"{' x '.join(map(str, shape))} of {bytes_each} bytes"
        raise ReadError(place, expected=most, found=found, remedy=raise_limit("pixels_per_byte"))


def read_nifti(place: Path) -> tuple[NDArray[Any], Spacing, NDArray[np.float64]]:
    """Read the array, the voxel spacing of its header, and the affine matrix from voxels to millimetres."""
    if find_spec("nibabel") is None:
        raise ReadError(
            place, expected="nibabel, which reads NIfTI", found="none", remedy="pip install 'verite[medical]'"
        )
    import nibabel

    try:
        # From memory: a map would follow what is written to the file later, and two reads may see two files.
        stream: Any = BytesIO(place.read_bytes())
        stream = GzipFile(fileobj=stream) if place.name.lower().endswith(".gz") else stream
        start = stream.read(HEADER)
        kinds: list[Any] = [nibabel.Nifti1Image, nibabel.Nifti2Image]
        kind = next((one for one in kinds if one.header_class.may_contain_header(start)), kinds[0])
        image = kind.from_stream(stream)
        check_voxels(place, image.shape, image.get_data_dtype().itemsize)
        values = np.asanyarray(image.dataobj)
        read_to_end(stream)
        zooms = image.header.get_zooms()[:3]
        affine = np.asarray(image.affine, dtype=np.float64)
    except ReadError:
        raise
    except Exception as error:  # whatever a broken file makes of it
        raise ReadError(place, expected="a NIfTI volume", found=str(error)[:200] or "none") from None
    if len(zooms) < 3 or not all(0 < float(zoom) < 1e9 for zoom in zooms):
        raise ReadError(
            place,
            expected="a spacing above 0 in the header",
            found=f"{zooms}",
            remedy=f"give {spell_option('spacing', 'Z,Y,X')}",
        )
    return values, Spacing(tuple(round(float(zoom), 6) for zoom in zooms)), affine


HEADER = 540  # bytes of the longer of NIfTI's two headers
CHUNK = 1 << 20
MOST_BEHIND = 1 << 26  # bytes behind the voxels that are looked at


def read_to_end(stream: Any) -> None:
    """Read what follows the voxels: at the end of a .gz file is its checksum, which nibabel never sees."""
    for _ in range(MOST_BEHIND // CHUNK):
        if not stream.read(CHUNK):
            return
    raise ValueError(f"more than {MOST_BEHIND:,} bytes behind the voxels")


def read_array(place: Path) -> NDArray[Any]:
    """Read an array in NumPy's format into memory; a memory map would follow later writes to the file."""
    data = read_bytes(place)
    stream = BytesIO(data)
    expected = "an array as numpy saves it"
    try:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = header(stream)
    except Exception as error:  # numpy evaluates the header as Python and lets out whatever that makes of it
        raise ReadError(place, expected=expected, found=str(error)[:200] or type(error).__name__) from None
    check_voxels(place, shape)
    size, start = prod(shape), stream.tell()
    if dtype.kind not in "biuf" or min(shape, default=0) < 0:
        raise ReadError(place, expected="an array of numbers", found=excerpt(f"{dtype}, shape {shape}"))
    if len(data) - start < size * dtype.itemsize:
        found = f"{len(data) - start:,} bytes for {size:,} voxels of {dtype}"
        raise ReadError(place, expected=expected, found=found, remedy="was it cut off? (V403)")
    values = np.frombuffer(data, dtype, size, start).reshape(shape, order="F" if is_fortran else "C")
    return values if values.flags.aligned else values.copy()


def whole_numbers(place: Path, values: NDArray[Any], threshold: float | None) -> NDArray[Any]:
    """Return integer labels unchanged, and binarise a soft mask at its threshold."""
    if threshold is not None:
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ReadError(
                place, expected="numbers", found="NaN or infinity" if values.dtype.kind == "f" else "others"
            )
        return np.asarray(values >= threshold * (1.0 if values.dtype.kind in "fb" else float(values.max(initial=1))))
    if values.dtype.kind in "biu":
        return values
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.rint(values)).any():
        raise ReadError(
            place,
            expected="whole numbers",
            found="others",
            remedy=f"give {spell_option('mask_threshold', 'T')} for a soft mask",
        )
    return np.asarray(values.astype(np.int64))
