"""Annotations of a dataset, ground truth and predictions alike: one column per attribute of the objects.

The columns (image, class, box, mask, confidence, flags …) live in the C++ core; a numpy array is a view of one of them,
made on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, did_you_mean, excerpt
from verite.files import translate_core_errors
from verite.hooks import hook
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import ArrayLike, NDArray

    from verite.errors import SkippedRecord
    from verite.model.classes import ImageLevelLabels


Constant = tuple[str, int, int]  # what it is, how many bytes, their digest


def digest_of(annotations: Annotations, *, with_outlines: bool) -> str:
    """Return a digest of all columns in 16 hexadecimal characters; `with_outlines` includes polygons and masks."""
    with translate_core_errors():
        objects = annotations.columns.facts(with_outlines)
    images, labels = annotations.images, annotations.labels
    facts = [] if annotations.unit == "px" else [fact("unit", annotations.unit.encode())]
    facts += [*images.table.facts(), fact("labels", repr(labels.all_names).encode())]
    if labels.groups is not None:
        facts.append(fact("groups", repr(labels.groups).encode()))
    if labels.skeletons is not None:
        facts.append(fact("skeletons", repr(labels.skeletons).encode()))
    if annotations.verdicts is not None:
        facts += [fact(f"verdict {name}", getattr(annotations.verdicts, name)) for name in ("image", "label", "kind")]
    facts += objects
    if images.sequences is not None and images.sequences.is_stated:
        facts += [
            fact("sequences", repr(images.sequences.names).encode()),
            fact("sequence", images.sequences.sequence),
            fact("frame", images.sequences.frame),
        ]
    lines = [f"{name}:{size}:{digest:016x}" for name, size, digest in facts]
    return f"{_core.digest(chr(10).join(lines).encode()):016x}"


def fact(name: str, column: Any) -> Constant:
    """Of bytes, or of an array."""
    return name, memoryview(column).nbytes, _core.digest(column)


# The note on boxes that a file gives by centre, width, height and angle.
FIVE_NUMBERS = "boxes of centre, width, height and angle"

# Flags of objects. `unscored`: a prediction without a confidence among others that have one. `ignore_region`: a region
# in which predictions of every class are ignored.
FLAGS = (
    "ignore", "crowd", "difficult", "group_of", "truncated", "occluded", "depiction", "inside", "unscored",
    "ignore_region",
)  # fmt: skip


@dataclass(frozen=True)
class Annotators:
    """Several annotators of the same images: the key that names them, objects per annotator, images with several."""

    key: str
    counts: tuple[tuple[str, int], ...]
    images: int


@dataclass(frozen=True)
class Source:
    """The file and format from which annotations were read, and what was noticed on the way."""

    path: str = ""
    format: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    flaws: tuple[SkippedRecord, ...] = ()  # records that were left out
    by_number: tuple[str, ...] = ()  # which of "images" and "labels" the objects name by number
    annotators: Annotators | None = None  # where several annotated the same images
    layout: str | None = None  # what the four numbers of boxes are, where the user said so
    is_file_per_image: bool = False  # also of images without objects
    missing: tuple[str, ...] = ()  # images of the ground truth without a file, where every image has one
    class_map: str = ""  # digest of the map of class names, if one was applied
    unmapped_labels: Labels | None = None  # classes of the ground truth before it was
    volumes: Mapping[str, Any] = field(default_factory=dict)  # shape and affine matrix, by image
    other_keys: frozenset[str] | None = None  # of COCO records, beside COCO's; None if not known

    @property
    def has_angles(self) -> bool:
        """Whether boxes were written with an angle, which may be misread."""
        return any(note.startswith(FIVE_NUMBERS) for note in self.notes)


@dataclass(frozen=True, eq=False)
class Annotations:
    """Annotated objects of a dataset: ground truth, or predictions if there are confidences.

    Annotations are immutable: filters such as `where` return new ones. `verite.read` makes them from files and
    `Annotations.of` from lists.

    Parameters
    ----------
    images : Images
        The images, also those without objects.
    labels : Labels
        The classes.
    image : array of int32, shape (n,)
        Image of each object, as a position in `images`.
    label : array of int32, shape (n,)
        Class of each object, as a position in `labels`.
    regions : Regions
        Box of each object, and its polygon, mask or keypoints.
    confidence : array of float64, shape (n,), optional
        Confidence of each prediction.
    area : array of float64, shape (n,), optional
        Area of each object as its file states it; `nan` where it does not.
    ids : array of int64, shape (n,), optional
        Ids of the annotations.
    flags : mapping of str to array of bool, optional
        Flags such as ``crowd``, ``ignore``, ``difficult`` and ``group_of``.
    labelled : array of int32, shape (n,), optional
        Number of labelled keypoints as the file states it; -1 where it does not.
    track : array of int64, shape (n,), optional
        Track id of each object within its sequence, where the images are frames of videos.
    verdicts : ImageLevelLabels, optional
        Classes verified to be present or absent in whole images (LVIS, Open Images).
    unit : {'px', 'rel'}, default 'px'
        Coordinates in pixels, or as fractions of an image of unknown size.
    source : Source, optional
        The file and format from which the annotations were read.

    Raises
    ------
    BadParameter
        If columns differ in length, or a position or flag is unknown.

    Examples
    --------
    >>> truth = Annotations.of(["a.jpg", "a.jpg", "b.jpg"], ["cat", "dog", "cat"],
    ...                        [[0, 0, 9, 9], [5, 5, 20, 20], [1, 1, 4, 4]])
    >>> truth
    Annotations: 3 objects of 2 classes in 2 images
    >>> truth.regions.boxes[truth.image == 1]
    array([[1., 1., 4., 4.]])
    """

    images: Images
    labels: Labels
    image: NDArray[np.int32]  # which image, by position in `images`
    label: NDArray[np.int32]  # which label, by position in `labels`
    regions: Regions
    confidence: NDArray[np.float64] | None = None
    area: NDArray[np.float64] | None = None  # as the file states it
    ids: NDArray[np.int64] | None = None
    flags: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    labelled: NDArray[np.int32] | None = None  # keypoints that the file says are labelled; -1 where it does not say
    track: NDArray[np.int64] | None = None  # id of the object's track within its sequence
    verdicts: ImageLevelLabels | None = None  # what is said about classes in whole images
    unit: Literal["px", "rel"] = "px"  # rel: fractions of an image whose size is not known
    source: Source = field(default_factory=Source)

    def __post_init__(self) -> None:
        from verite.model.ragged import freeze

        own = vars(self)
        given = {name: own.pop(name) for name in ("regions", *COLUMNS, "flags")}
        for name in given["flags"]:
            if name not in FLAGS:
                raise BadParameter(f"flags: expected names out of {', '.join(FLAGS)}, found {name!r}")
        columns = {name: None if given[name] is None else freeze(given[name], COLUMNS[name]) for name in COLUMNS}
        flags = {name: freeze(values, "bool") for name, values in given["flags"].items()}
        try:
            own["columns"] = _core.Columns(given["regions"].native, **columns, flags=flags)
        except ValueError as error:
            raise BadParameter(str(error)) from None
        self.check_positions()

    if TYPE_CHECKING:

        @property
        def columns(self) -> _core.Columns:
            """The objects in the core."""

    @classmethod
    def over(
        cls,
        columns: _core.Columns,
        images: Images,
        labels: Labels,
        *,
        verdicts: ImageLevelLabels | None = None,
        unit: Literal["px", "rel"] = "px",
        source: Source | None = None,
    ) -> Annotations:
        """Return annotations over columns that are in the core already."""
        made = object.__new__(cls)
        vars(made).update(columns=columns, images=images, labels=labels, verdicts=verdicts, unit=unit)
        vars(made)["source"] = Source() if source is None else source
        made.check_positions()
        return made

    def check_positions(self) -> None:
        """Raise `BadParameter` if an object's image or class is not in the tables."""
        outside = self.columns.outside(len(self.images), len(self.labels))
        if outside is not None:
            table: Images | Labels = self.images if outside == "image" else self.labels
            raise BadParameter(f"{outside}: expected positions from 0 to {len(table) - 1}")

    def changed(self, **changes: Any) -> Annotations:
        """Return a copy with other columns, images, labels, verdicts, unit or source."""
        kept = {name: getattr(self, name) for name in ("columns", "images", "labels", "verdicts", "unit", "source")}
        return Annotations.over(**(kept | changes))

    def with_source(self, source: Source) -> Annotations:
        """Return a copy with another source, over the same columns."""
        made = object.__new__(Annotations)
        vars(made).update(vars(self), source=source)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (self.columns, self.images, self.labels, self.verdicts, self.unit, self.source)

    def __copy__(self) -> Annotations:
        return self

    def __deepcopy__(self, memo: object) -> Annotations:
        return self

    @classmethod
    def of(
        cls,
        image: Sequence[str],
        label: Sequence[str],
        boxes: ArrayLike,
        layout: str = "xyxy",
        *,
        confidence: ArrayLike | None = None,
        sizes: Mapping[str, tuple[int, int]] | None = None,
        images: Iterable[str] = (),
        labels: Iterable[str] = (),
        track: ArrayLike | None = None,
        **flags: ArrayLike,
    ) -> Annotations:
        """Return annotations from plain lists with one entry per object.

        Parameters
        ----------
        image : sequence of str
            Name of the image of each object.
        label : sequence of str
            Class of each object.
        boxes : array-like, shape (n, 4)
            Box of each object.
        layout : str, default 'xyxy'
            Layout of the boxes: ``xyxy`` (corners), ``xywh`` (left, top, width, height) or ``cxcywh`` (centre).
        confidence : array-like, shape (n,), optional
            Confidence of each prediction; not given for ground truth.
        sizes : mapping of str to (int, int), optional
            Width and height of each image.
        images : iterable of str, optional
            Names of images, also of those without objects.
        labels : iterable of str, optional
            Names of classes, also of those without objects.
        track : array-like of int, shape (n,), optional
            Track id of each object, where the images are frames of videos.
        **flags : array-like of bool, shape (n,)
            Flags such as ``crowd`` or ``difficult``.

        Returns
        -------
        Annotations
            The objects, with images and classes in the order in which they occur.

        Raises
        ------
        BadParameter
            If the lists differ in length, or a flag or the layout is unknown.

        Examples
        --------
        >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 5]], "xywh", confidence=[0.9], sizes={"a": (64, 48)})
        >>> pred.regions.boxes, pred.confidence
        (array([[ 0.,  0., 10.,  5.]]), array([0.9]))
        """
        image_names = list(dict.fromkeys([*images, *(sizes or {}), *image]))
        label_names = list(dict.fromkeys([*labels, *label]))
        known = sizes or {}
        where = {name: i for i, name in enumerate(image_names)}
        what = {name: i for i, name in enumerate(label_names)}
        return cls(
            images=Images(
                image_names,
                widths=[known.get(name, (0, 0))[0] for name in image_names],
                heights=[known.get(name, (0, 0))[1] for name in image_names],
            ),
            labels=Labels(label_names),
            image=np.array([where[name] for name in image], dtype=np.int32),
            label=np.array([what[name] for name in label], dtype=np.int32),
            regions=Regions(boxes, layout),
            confidence=None if confidence is None else np.asarray(confidence, dtype=np.float64),
            track=None if track is None else np.asarray(track, dtype=np.int64),
            flags={name: np.asarray(values, dtype=np.bool_) for name, values in flags.items()},
        )

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of objects, classes and images."""
        return len(self), len(self.labels), len(self.images)

    def __repr__(self) -> str:
        one = "prediction" if self.columns.has_confidence else "object"
        where = f" ({self.source.format}: {self.source.path})" if self.source.path else ""
        named = zip(self.counts, (one, "class", "image"), ("s", "es", "s"), strict=True)
        objects, classes, images = (f"{count} {word}{ending if count != 1 else ''}" for count, word, ending in named)
        return f"Annotations: {objects} of {classes} in {images}{where}"

    def flag(self, name: str) -> NDArray[np.bool_]:
        """Return a flag of every object, such as ``crowd``; False where the file has none."""
        found = self.flags.get(name)
        return found if found is not None else np.zeros(len(self), dtype=np.bool_)

    @property
    def ignore(self) -> NDArray[np.bool_]:
        """Objects that their file flags as ignored."""
        return self.flag("ignore")

    @property
    def crowd(self) -> NDArray[np.bool_]:
        """Crowd regions, which cover many objects (COCO)."""
        return self.flag("crowd")

    @property
    def difficult(self) -> NDArray[np.bool_]:
        """Objects flagged as difficult (Pascal VOC)."""
        return self.flag("difficult")

    @property
    def group_of(self) -> NDArray[np.bool_]:
        """Boxes around more than five touching objects (Open Images)."""
        return self.flag("group_of")

    @property
    def ignored(self) -> NDArray[np.bool_]:
        """Objects to ignore for any reason: `ignore`, `crowd`, `difficult` or `group_of`."""
        return self.ignore | self.crowd | self.difficult | self.group_of

    def take(self, rows: ArrayLike) -> Annotations:
        """Return some objects, in the given order; images and classes stay.

        Parameters
        ----------
        rows : array-like of int
            Positions of the objects.

        Examples
        --------
        >>> truth = Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 9, 9], [1, 1, 4, 4]])
        >>> truth.take([1]).regions.boxes
        array([[1., 1., 4., 4.]])
        """
        from verite.model.ragged import freeze

        return self.changed(columns=self.columns.take(freeze(rows, "int64")))

    def where(self, mask: NDArray[np.bool_]) -> Annotations:
        """Return the objects for which a mask is true; images and classes stay.

        Parameters
        ----------
        mask : array of bool, shape (n,)
            One value per object.

        Examples
        --------
        >>> pred = Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.2])
        >>> pred.where(pred.confidence >= 0.5)
        Annotations: 1 prediction of 1 class in 2 images
        """
        return self.take(np.flatnonzero(mask))

    def only(self, labels: Iterable[str]) -> Annotations:
        """Return the objects of some classes, without the other classes.

        Parameters
        ----------
        labels : iterable of str
            Names of the classes to keep.

        Raises
        ------
        BadParameter
            If a class is unknown.

        Examples
        --------
        >>> truth = Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 9, 9], [1, 1, 4, 4]])
        >>> truth.only(["dog"])
        Annotations: 1 object of 1 class in 2 images
        """
        from array import array

        names = self.labels.all_names
        wanted = list(dict.fromkeys(labels))
        for name in wanted:
            if name not in names:
                raise BadParameter(
                    f"labels: expected one of {len(names)} classes, found {name!r}{did_you_mean(name, names)}"
                )
        keep = [i for i, name in enumerate(names) if name in wanted]
        new = [-1] * len(names)
        for place, old in enumerate(keep):
            new[old] = place
        columns, verdicts = self.columns.only(array("i", new)), self.verdicts
        if verdicts is not None:
            verdicts = verdicts.move(range(len(self.images)), new)
        return self.changed(columns=columns, labels=self.labels.take(keep), verdicts=verdicts)

    def like(self, truth: Annotations) -> Annotations:
        """Return the same objects with the images and classes of the ground truth, found by name or id.

        Parameters
        ----------
        truth : Annotations
            The ground truth. Images and classes that it does not have come after its own.

        Raises
        ------
        BadParameter
            If `truth` is no annotations.
        DataError
            If no image or no class can be found in the ground truth.

        Examples
        --------
        >>> truth = Annotations.of(["val/a.jpg"], ["cat"], [[0, 0, 9, 9]])
        >>> pred = Annotations.of(["a", "a"], ["dog", "cat"], [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.8])
        >>> pred.like(truth).label
        array([1, 0], dtype=int32)
        """
        if not isinstance(truth, Annotations):
            raise BadParameter(f"like: expected annotations, found {excerpt(truth)}")
        if self.images is truth.images and self.labels is truth.labels and self.unit == truth.unit:
            return self
        from verite.model.alignment import align

        return align(self, truth)

    def _repr_html_(self) -> str:
        from verite.model.outcomes import show_annotations
        from verite.model.styles import render

        return render(show_annotations(self), "html")

    @classmethod
    def from_arrow(cls, table: Any, like: Annotations | None = None, **how: Any) -> Annotations:
        """Return annotations from an Arrow stream, with the columns and options of `verite.read`.

        Parameters
        ----------
        table : object with ``__arrow_c_stream__``
            A table of polars, pyarrow, DuckDB or pandas 3.
        like : Annotations, optional
            The ground truth, if these are predictions.
        **how
            Options of `verite.read`.

        Raises
        ------
        BadParameter
            If the table gives no Arrow stream.
        """
        if not hasattr(table, "__arrow_c_stream__"):
            found = type(table).__name__
            raise BadParameter(f"table: expected one with __arrow_c_stream__, found {found}; verite.read takes more")
        annotations: Annotations = hook("read")(table, like, **how)
        return annotations

    def to_pandas(self, *, images: bool = False) -> pandas.DataFrame:
        """Return the objects as a pandas table, which `verite.read` reads again.

        Parameters
        ----------
        images : bool, default False
            Whether to add the sizes of images, and a row without class and box for each image without objects.
        """
        from verite.model.frames import to_pandas

        return to_pandas(self, images=images)

    def to_arrow(self, *, images: bool = False) -> pyarrow.Table:
        """Return the objects as an Arrow table, for pyarrow, polars and DuckDB; `images` as for `to_pandas`."""
        from verite.model.frames import to_arrow

        return to_arrow(self, images=images)

    @cached_property
    def digest(self) -> str:
        """Digest of all columns in 16 hexadecimal characters: equal annotations have equal digests."""
        return digest_of(self, with_outlines=True)

    @cached_property
    def box_digest(self) -> str:
        """Digest of all columns but polygons and masks: of everything that an evaluation of boxes depends on."""
        return digest_of(self, with_outlines=False)


def restore(
    columns: _core.Columns, images: Images, labels: Labels, verdicts: ImageLevelLabels | None, unit: Any, source: Source
) -> Annotations:
    """Return annotations from the content of a pickle.

    Parameters
    ----------
    columns
        Columns of the core: boxes, masks, keypoints, flags.
    images
        Table of images.
    labels
        Table of classes.
    verdicts
        Verified labels of whole images (Open Images); None elsewhere.
    unit
        Unit of the coordinates: `px`, or `rel` for fractions of the image.
    source
        Where they were read from, for messages.
    """
    return Annotations.over(columns, images, labels, verdicts=verdicts, unit=unit, source=source)


COLUMNS = {
    "image": "int32",
    "label": "int32",
    "confidence": "float64",
    "area": "float64",
    "ids": "int64",
    "labelled": "int32",
    "track": "int64",
}


def lazy_column(name: str, make: Callable[[Annotations], object]) -> None:
    """Declare a field of annotations that is computed from the columns on first use and then kept.

    Parameters
    ----------
    name
        Name of the field.
    make
        Computes the column; called at most once per object.
    """
    made = cached_property(make)
    made.__set_name__(Annotations, name)
    setattr(Annotations, name, made)


for name in (*COLUMNS, "flags"):
    lazy_column(name, lambda annotations, name=name: getattr(annotations.columns, name))  # type: ignore[misc]

lazy_column("regions", lambda annotations: Regions.over(annotations.columns.regions))
