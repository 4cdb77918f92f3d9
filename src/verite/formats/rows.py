"""Collect annotations row by row: what the readers of text and XML formats fill.

`Rows` gathers images, classes and objects; `build` converts them to `Annotations` in pixels. `size_images` finds image
sizes that a file does not state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from verite.arrays import np
from verite.errors import ErrorCollector, ReadError, excerpt
from verite.formats.format import Options, check_name, class_names, too_many_classes
from verite.formats.sizes import check_size, image_files_in, in_pixels, size_of_image_file
from verite.limits import limit
from verite.model.alignment import match_images
from verite.model.annotations import FLAGS, Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images, stem
from verite.model.keypoints import Keypoints
from verite.model.layouts import layout_name
from verite.model.polygons import Polygons, RLEMasks
from verite.model.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Outline(TypedDict, total=False):
    """Arguments of `Rows.add` about the outline of an object: at most one of them."""

    polygon: list[Any]  # rings
    runs: tuple[list[int] | NDArray[np.uint32], tuple[int, int]]  # and height and width of the image


class Rows:
    """Collects images, classes and objects, and applies layout, unit and image sizes to all of them at the end.

    Classes are names, in the order of `names` if given. With `is_numbered` they are numbers, and `names` are the names
    of 0, 1, 2 …; without names only the numbers are known. Errors of single records are collected in `errors`.
    """

    def __init__(
        self, path: Path, options: Options, *, names: Sequence[str] | None = None, is_numbered: bool = False
    ) -> None:
        self.path, self.options = path, options
        self.names, self.is_numbered = names, is_numbered
        self.images: dict[str, tuple[int, int]] = {}
        self.first_places: dict[str, object] = {}  # of images that must come once
        self.image_files_beside: dict[str, list[Path]] = {}  # asked for sizes after the user's own folder
        self.image: list[str] = []
        self.label: list[str | int] = []
        self.boxes: list[Sequence[float]] = []
        self.confidence: list[float | None] = []
        self.polygons: list[list[Any]] = []
        self.keypoints: list[Sequence[float] | None] = []
        self.runs: list[Any] = []
        self.track: list[int | None] = []
        self.flags: dict[str, list[int]] = {name: [] for name in FLAGS}
        self.where: list[str] = []
        self.notes: list[str] = []
        self.remarks: dict[str, tuple[int, str]] = {}  # how often something was left out or changed, and where first
        self.errors = ErrorCollector()

    def add_image(self, where: object, name: str, width: int = 0, height: int = 0) -> None:
        """Add an image, with its size where the file states it. A second image of the same name is an error.

        Parameters
        ----------
        where
            File or element, for messages.
        name
            Name of the image.
        width
            In pixels; 0 if it is not stated.
        height
            In pixels; 0 if it is not stated.
        """
        check_size(where, width, height)
        if name in self.images:
            raise ReadError(where, expected="each image once", found=f"a second {excerpt(name)}",
                            remedy=self.hint_two_folders(where, name))  # fmt: skip
        self.remember_image(where, name, (width, height))
        self.first_places.setdefault(name, where)

    def hint_two_folders(self, where: object, name: str) -> str:
        """Return what to do about an image in two folders: two detectors, or ground truth and predictions.

        Parameters
        ----------
        where
            The second place of the image.
        name
            Name of the image.

        Returns
        -------
        str
            Advice for the message; empty if both places are in one folder.
        """
        first, second = (Path(str(place)).parent for place in (self.first_places.get(name, where), where))
        if first == second:
            return ""
        one = f"name one of the folders instead of {self.path}"
        return f"the first is in {first}; {one}, or both, one by one, if they are the predictions of two detectors"

    def remember_image(self, where: object, name: str, size: tuple[int, int] = (0, 0)) -> None:
        """Register the image of an object, unless it is known.

        Parameters
        ----------
        where
            File or record, for messages.
        name
            Name of the image; it must be valid UTF-8, as results are printed and saved.
        size
            Width and height; 0 if they are not stated.
        """
        if name not in self.images:
            if not name:
                raise ReadError(where, expected="the name of an image", found="an empty one")
            if name != name.encode("utf-8", "replace").decode():
                raise ReadError(where, expected="an image name in UTF-8", found=excerpt(name))
            self.images[name] = size

    def add(
        self,
        where: str,
        image: str,
        label: str | int,
        box: Sequence[float],
        confidence: float | None = None,
        *,
        polygon: list[Any] | None = None,
        keypoints: Sequence[float] | None = None,
        runs: tuple[list[int] | NDArray[np.uint32], tuple[int, int]] | None = None,
        track: int | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Add one object.

        Parameters
        ----------
        where : str
            Its place (`file:line`), for messages.
        image, label : str, str or int
            Name of the image; name of the class, or its number.
        box : sequence of float
            Four numbers in the layout and unit of the format.
        confidence : float, optional
            None for ground truth.
        polygon, keypoints, runs : optional
            Rings of a polygon; x, y, visibility of each keypoint; run lengths of a mask and its height and width.
        track : int, optional
            Id of the object's track within its sequence.
        flags : sequence of str
            Names out of `FLAGS`.
        """
        self.remember_image(where, image)
        if isinstance(label, str):
            check_name(where, label)
        if track is not None and not -(2**63) <= track < 2**63:
            raise ReadError(where, expected="the id of a track, a whole number of 64 bits", found=excerpt(str(track)))
        row = len(self.boxes)
        self.image.append(image)
        self.label.append(label)
        self.boxes.append(box)
        self.confidence.append(confidence)
        self.polygons.append(polygon or [])
        self.keypoints.append(keypoints)
        self.runs.append(runs)
        self.track.append(track)
        for flag in flags:
            self.flags[flag].append(row)
        self.where.append(where)

    def remark(self, what: str, where: str = "", count: int = 1) -> None:
        """Count something that was skipped or changed; the notes of the source give the number and the first place.

        Parameters
        ----------
        what
            The remark, such as `objects of type cuboid left out`.
        where
            First place of it.
        count
            How many objects it is about.
        """
        if count:
            known, first = self.remarks.get(what, (0, where))
            self.remarks[what] = (known + count, first)

    def annotations(self, format: str, *, layout: str, coords: str = "abs", why: str = "") -> Annotations:
        """Convert the rows to annotations.

        `layout` and `coords` are those of the format; the user's options override them.
        """
        self.check_confidences()
        widths, heights = zip(*self.images.values(), strict=True) if self.images else ((), ())
        images = Images(list(self.images), widths=widths, heights=heights)
        order = {name: i for i, name in enumerate(self.images)}
        labels, label = self.labels()
        count = len(self.boxes)
        has_confidence = count > 0 and self.confidence[0] is not None
        flags = {name: np.zeros(count, dtype=np.bool_) for name in self.flags}
        for name, rows in self.flags.items():
            flags[name][rows] = True
        return build(
            self.options,
            self.boxes,
            layout,
            coords,
            images=size_images(images, self.options, self.path, self.image_files_beside),
            image=np.array([order[name] for name in self.image], dtype=np.int32),
            labels=labels,
            label=label,
            polygons=Polygons.of(self.polygons) if any(self.polygons) else None,
            runs=RLEMasks.of(self.runs) if any(r is not None for r in self.runs) else None,
            keypoints=Keypoints.of(self.keypoints) if any(k is not None for k in self.keypoints) else None,
            confidence=np.array(self.confidence, dtype=np.float64) if has_confidence else None,
            track=np.array([-1 if t is None else t for t in self.track], dtype=np.int64)
            if any(t is not None for t in self.track)
            else None,
            flags=flags,
            source=Source(str(self.path), format, why, self.all_notes, self.errors.flaws, by_number=self.by_number),
        )

    @property
    def by_number(self) -> tuple[str, ...]:
        """Tables that are known by number alone."""
        return ("labels",) if self.is_numbered and self.names is None else ()

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Notes, and the counted remarks."""
        counted = sorted(self.remarks.items())
        return (*self.notes, *(f"{n} {what}" + (f" (first: {at})" if at else "") for what, (n, at) in counted))

    def check_confidences(self) -> None:
        """Refuse a mix of objects with confidence (predictions) and without (ground truth)."""
        given = [c is not None for c in self.confidence]
        if not given or any(given) == all(given):
            return
        expected, found = ("a confidence", "none") if given[0] else ("no confidence", "one")
        remedy = "keep truth apart from predictions"
        for row, is_given in enumerate(given):
            if is_given != given[0]:
                with self.errors:
                    place = f"{expected} as in {self.where[0]}"
                    raise ReadError(self.where[row], expected=place, found=found, remedy=remedy)
        self.select([row for row, is_given in enumerate(given) if is_given == given[0]])

    def select(self, rows: list[int]) -> None:
        """Keep only these objects."""
        for name in ("image", "label", "boxes", "confidence", "polygons", "keypoints", "runs", "track", "where"):
            values = getattr(self, name)
            setattr(self, name, [values[row] for row in rows])
        place = {row: i for i, row in enumerate(rows)}
        self.flags = {flag: [place[row] for row in mine if row in place] for flag, mine in self.flags.items()}

    def labels(self) -> tuple[Labels, NDArray[np.int32]]:
        """Return the classes, and the class index of every object.

        The order is that of the format's names, else alphabetical or numerical.
        """
        used = dict.fromkeys(self.label)
        if self.is_numbered and self.names is not None:
            keys: list[Any] = list(range(len(self.names)))
        elif self.names is not None:
            keys = list(dict.fromkeys([*self.names, *used]))
        else:
            keys = sorted(used)
        if len(keys) > limit("classes"):
            raise too_many_classes(self.path, len(keys))
        index = {key: i for i, key in enumerate(keys)}
        label = np.array([index[key] for key in self.label], dtype=np.int32)
        if self.is_numbered:
            return Labels(self.names, keys), label
        return Labels(keys, np.arange(len(keys)) if self.names is not None else None), label


EMPTY: Mapping[str, list[Path]] = {}

Refuse = Callable[[str, Mapping[int, str]], None]  # what was expected, and what was found in which rows


def build(
    options: Options,
    boxes: ArrayLike,
    layout: str,
    coords: str = "abs",
    *,
    images: Images,
    image: NDArray[np.int32],
    polygons: Polygons | None = None,
    runs: RLEMasks | None = None,
    keypoints: Keypoints | None = None,
    **columns: Any,
) -> Annotations:
    """Build annotations from columns. Layout and unit are those of the format; the user's options override them."""
    numbers = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    layout = layout_name(options.boxes or layout)
    regions = Regions(numbers, layout, polygons=polygons, runs=runs, keypoints=keypoints)
    regions, unit = in_pixels(regions, options.coords or coords, images, image)
    return Annotations(images=images, image=image, regions=regions, unit=unit, **columns)


def size_images(images: Images, options: Options, where: object, beside: Mapping[str, list[Path]] = EMPTY) -> Images:
    """Fill in unknown image sizes: from the option `image_size`, the image files, or the ground truth.

    Image files `beside` the annotations are used after those in the folder of the option `images`.
    """
    unknown = np.flatnonzero(images.widths == 0)
    if not len(unknown):
        return images
    sizes = np.stack([images.widths, images.heights], axis=1)
    if options.image_size is not None:
        sizes[unknown] = options.image_size
    elif options.images is not None:
        pictures = image_files_in(options.images)
        for i in unknown.tolist():
            name = stem(images.name(i))
            if name not in pictures:
                remedy = f"is {options.images} the right folder?"
                raise ReadError(where, expected=f"an image file named {name}", found="none", remedy=remedy)
            sizes[i] = size_of_image_file(pictures[name])
    else:
        if options.like is not None:
            found, _ = match_images(images, options.like.images, where)
            theirs = np.stack([options.like.images.widths, options.like.images.heights], axis=1)
            known = unknown[found[unknown] >= 0]
            sizes[known] = theirs[found[known]]
        for i in unknown.tolist() if beside else ():
            if (name := stem(images.name(i))) in beside:
                sizes[i] = size_of_image_file(beside[name])
    return Images(images.names, images.ids, widths=sizes[:, 0], heights=sizes[:, 1], sequences=images.sequences)


def name_class_numbers(
    numbers: NDArray[np.int64], options: Options, refuse: Refuse
) -> tuple[NDArray[np.int32], Labels]:
    """Return class index per row and class table for numeric classes: named by the option `names`, else by number."""
    numbers = numbers + options.label_offset
    names, _ = class_names(options)
    if names is None:
        known, label = np.unique(numbers, return_inverse=True)
        return label.astype(np.int32), Labels(None, known)
    odd = np.flatnonzero((numbers < 0) | (numbers >= len(names))).tolist()
    expected = f"class numbers from 0 to {len(names) - 1}, as there are names (V206)"
    refuse(expected, {row: str(numbers[row]) for row in odd})
    return numbers.astype(np.int32), Labels(names, range(len(names)))
