"""Sizes of image files, and conversion between fractions of the image and pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from verite.arrays import np
from verite.errors import IS_COMMAND_LINE, ReadError, VeriteError, give_sizes
from verite.files import read_bytes, reason
from verite.formats.format import frame_of
from verite.limits import limit, remedy
from verite.model.annotations import Annotations
from verite.model.images import IMAGE_SUFFIXES, Images
from verite.model.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

PICTURES = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
FREE_PIXELS = 2**26  # bytes of pixels are decoded from however few bytes: an empty mask is small
PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}  # of a pixel in memory; else 4


def check_size(where: object, width: int, height: int) -> None:
    """Refuse a negative size, a single side of 0, and images above the limits of side and pixels."""
    side, pixels = limit("image_side"), limit("image_pixels")
    if min(width, height) < 0:
        raise ReadError(where, expected="a width and height from 0", found=f"{width} x {height}")
    if max(width, height) > side:
        most = f"a width and height of at most {side} pixels"
        raise ReadError(where, expected=most, found=f"{width} x {height}", remedy=remedy("image_side"))
    if width * height > pixels:
        most = f"at most {pixels:,} pixels"
        raise ReadError(where, expected=most, found=f"{width} x {height}", remedy=remedy("image_pixels"))
    if (width == 0) != (height == 0):
        raise ReadError(where, expected="both width and height or neither", found=f"{width} x {height}")


def check_claim(path: Path, image: Image.Image, pages: int = 1) -> None:
    """Refuse a small file whose header declares a huge image, which would exhaust memory when decoded.

    Parameters
    ----------
    path
        The image file.
    image
        The image, of which only the header has been read.
    pages
        Pages of a multi-page TIFF.
    """
    size, (width, height) = path.stat().st_size, image.size
    most = FREE_PIXELS + limit("pixels_per_byte") * size
    if width * height * pages * PIXEL_BYTES.get(image.mode, 4) > most:
        expected = f"at most {most:,} bytes of pixels in {size:,} bytes"
        found = f"{width} x {height}{f' x {pages}' * (pages > 1)}"
        raise ReadError(path, expected=expected, found=found, remedy=remedy("pixels_per_byte"))


def need_pixels(annotations: Annotations, path: Path) -> None:
    """The error of a writer where boxes are fractions of images of unknown size."""
    if annotations.unit != "px":
        raise ReadError(path, expected="boxes in pixels", found="fractions of the image", remedy=give_sizes())


def fractions(annotations: Annotations, path: Path) -> Regions:
    """The regions as fractions of their images, for formats that write them so."""
    if annotations.unit == "rel":
        return annotations.regions
    images = annotations.images
    sizes = np.stack([images.widths, images.heights], axis=1).astype(np.float64)[annotations.image]
    unsized = np.flatnonzero((sizes <= 0).any(axis=1))
    if len(unsized):
        found = f"none for {images.name(int(annotations.image[unsized[0]]))!r}"
        like = "--like TRUTH" if IS_COMMAND_LINE.get() else "like=TRUTH"
        raise ReadError(path, expected="the size of every image", found=found, remedy=f"{give_sizes()}, or {like}")
    return annotations.regions.scale(1 / sizes)


def check_order(annotations: Annotations, path: Path) -> None:
    """Where corners come in any order, a box of negative size would turn into another one.

    Parameters
    ----------
    annotations
        What is to be written.
    path
        The file, for the message.
    """
    is_turned = (annotations.regions.sizes[:, 2:] < 0).any(axis=1)
    if is_turned.any():
        found = f"object {int(np.argmax(is_turned))} of negative size (V106)"
        raise ReadError(path, expected="boxes from left to right and top to bottom", found=found)


def in_pixels(
    regions: Regions, coords: str, images: Images, image: NDArray[np.int32]
) -> tuple[Regions, Literal["px", "rel"]]:
    """Scale regions to pixels; they stay fractions of the image where its size is not known."""
    frame = frame_of(coords)
    if not frame.is_relative:
        return (regions if frame.factor == 1 else regions.scale(np.full((len(regions), 2), frame.factor))), "px"
    sides = np.stack([images.widths[image], images.heights[image]], axis=1).astype(np.float64)
    is_sized = bool((sides > 0).all())
    scale = (sides if is_sized else np.ones_like(sides)) / [frame.width, frame.height]
    return regions.scale(scale), "px" if is_sized else "rel"


def image_files_in(folder: Path, *, is_deep: bool = True) -> dict[str, list[Path]]:
    """The image files in a folder, and in those below it, by stem."""
    if not folder.is_dir():
        raise ReadError(folder, expected="a folder of images", found="nothing" if not folder.exists() else "a file")
    pictures: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*") if is_deep else folder.iterdir()):
        if path.suffix.lower() in IMAGE_SUFFIXES and not path.name.startswith("."):
            pictures.setdefault(path.stem, []).append(path)
    return pictures


def size_of_image_file(pictures: list[Path]) -> tuple[int, int]:
    """Return width and height of the only image file of a stem, from its header."""
    path, *others = pictures
    if others:
        found = f"{len(pictures)}, also {others[0]}"
        raise ReadError(path, expected=f"one image file named {path.stem}", found=found, remedy="name their folder")
    with open_image(path, is_decoded=False) as image:
        width, height = image.size
    return width, height


@contextmanager
def open_image(path: Path, formats: Sequence[str] = PICTURES, *, is_decoded: bool = True) -> Iterator[Image.Image]:
    """Open an image of one of these formats and check its size, without decoding pixels.

    `is_decoded`: they will be. The file is then read into memory first: Pillow and libtiff map files that they are
    given by name or descriptor, and a map of a file that is cut off by another process ends ours (SIGBUS).
    """
    import warnings

    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's word on size; ours follows
            content = BytesIO(read_bytes(path)) if is_decoded else path.open("rb")
            with content, Image.open(content, formats=list(formats)) as image:
                check_size(path, *image.size)
                if is_decoded:
                    check_claim(path, image)
                yield image
    except VeriteError:
        raise
    except Image.DecompressionBombError as error:
        found = "".join(letter for letter in str(error).partition(")")[0] if letter.isdecimal())
        most = f"at most {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels"
        raise ReadError(path, expected=most, found=f"{int(found):,}" if found else "more") from None
    except MemoryError:  # a broken part of a PNG may claim any length
        raise ReadError(path, expected="an image", found="more bytes than fit into memory") from None
    except Exception as error:  # of broken files Pillow raises whatever its decoders run into
        found = reason(error) if isinstance(error, OSError) and error.strerror else str(error)
        found = "one cut off or broken" if isinstance(error, (KeyError, TypeError, AttributeError)) else found
        raise ReadError(path, expected="an image", found=found[:200] or type(error).__name__) from None
