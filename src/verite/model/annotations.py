"""The objects of a data set, truth and predictions alike: one column per fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import BadParameter, did_you_mean
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.regions import Regions, frozen
from verite.model.unopened import Unopened, unopened_pair
from verite.records import record

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import ArrayLike, NDArray

    from verite.model.verdicts import Verdicts

# What a file may say about an object besides where and what it is. `unscored`: a prediction without a confidence
# among others that have one.
FLAGS = ("ignore", "crowd", "difficult", "group_of", "truncated", "occluded", "depiction", "inside", "unscored")


@record()
class Source:
    """Where annotations came from, how they were read, and why so."""

    path: str = ""
    format: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()


@record(eq=False)
class Annotations:
    """Objects in images. Nothing in it can be changed; every filter returns a new one.

    >>> truth = Annotations.of(["a.jpg", "a.jpg", "b.jpg"], ["cat", "dog", "cat"],
    ...                        [[0, 0, 9, 9], [5, 5, 20, 20], [1, 1, 4, 4]])
    >>> truth
    Annotations: 3 objects of 2 labels in 2 images
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
    verdicts: Verdicts | None = None  # what is said about classes in whole images
    unit: Literal["px", "rel"] = "px"  # rel: fractions of an image whose size is not known
    source: Source = field(default_factory=Source)

    def __post_init__(self) -> None:
        count = len(self.regions)
        for name, dtype in (("image", "int32"), ("label", "int32"), *OPTIONAL.items()):
            column = getattr(self, name)
            if column is None:
                continue
            if len(column) != count:
                raise BadParameter(f"{name}: expected {count} values, one a region, found {len(column)}")
            object.__setattr__(self, name, frozen(column, dtype))
        for name, column in self.flags.items():
            if name not in FLAGS:
                raise BadParameter(f"flags: expected names out of {', '.join(FLAGS)}, found {name!r}")
            if len(column) != count:
                raise BadParameter(f"{name}: expected {count} values, one a region, found {len(column)}")
        # A flag that no object carries is no fact: left out, so that two ways of saying no are equal.
        kept = {name: frozen(self.flags[name], np.bool_) for name in FLAGS if np.any(self.flags.get(name, False))}
        object.__setattr__(self, "flags", kept)
        for name, column, table in (("image", self.image, self.images), ("label", self.label, self.labels)):
            if count and (column.min() < 0 or column.max() >= len(table)):
                raise BadParameter(f"{name}: expected positions from 0 to {len(table) - 1}")

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
        **flags: ArrayLike,
    ) -> Annotations:
        """From plain lists: an image name, a label name and a box for each object.

        `sizes` gives (width, height) per image; `images` and `labels` name those that have no object, too.
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
            # Copies: what the caller does to the arrays later must not show here.
            regions=Regions(np.array(boxes, dtype=np.float64), layout),
            confidence=None if confidence is None else np.array(confidence, dtype=np.float64),
            flags={name: np.array(values, dtype=np.bool_) for name, values in flags.items()},
        )

    @classmethod
    def later(cls, unopened: Unopened, labels: Labels, source: Source) -> Annotations:
        """The objects of a file that is opened when somebody asks for more than is said here."""
        same = object.__new__(cls)
        vars(same).update(_unopened=unopened, labels=labels, verdicts=None, unit="px", source=source)
        return same

    @property
    def unopened(self) -> Unopened | None:
        """The file these objects are in, as long as nobody has asked for a column."""
        return vars(self).get("_unopened")

    if not TYPE_CHECKING:  # a type checker would believe in every attribute

        def __getattr__(self, name: str) -> object:
            """A field that is not there yet: open the file."""
            unopened = self.unopened
            if unopened is not None and name in self.__dataclass_fields__:
                for field, value in vars(unopened.opened).items():
                    vars(self).setdefault(field, value)
                vars(self).pop("_unopened", None)
            return object.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__dataclass_fields__})

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many objects, labels and images there are; no file is opened for that."""
        unopened = self.unopened
        if unopened is not None:
            return unopened.file.object_count, len(self.labels), unopened.truth.file.image_count
        return len(self.regions), len(self.labels), len(self.images)

    def __len__(self) -> int:
        return self.counts[0]

    def __repr__(self) -> str:
        what = "objects" if self.confidence is None else "predictions"
        where = f" ({self.source.format}: {self.source.path})" if self.source.path else ""
        objects, labels, images = self.counts
        return f"Annotations: {objects} {what} of {labels} labels in {images} images{where}"

    def said_to_be(self, source: Source) -> Annotations:
        """The same objects with another word on where they came from."""
        same = object.__new__(Annotations)
        same.__dict__.update(self.__dict__, source=source)
        return same

    def flag(self, name: str) -> NDArray[np.bool_]:
        """A flag for every object, False where the file does not say."""
        found = self.flags.get(name)
        return found if found is not None else np.zeros(len(self), dtype=np.bool_)

    @property
    def ignore(self) -> NDArray[np.bool_]:
        """Objects that an explicit `ignore` of the file sets aside."""
        return self.flag("ignore")

    @property
    def crowd(self) -> NDArray[np.bool_]:
        """Regions that cover many objects (COCO)."""
        return self.flag("crowd")

    @property
    def difficult(self) -> NDArray[np.bool_]:
        """Objects too hard to be asked for (Pascal VOC)."""
        return self.flag("difficult")

    @property
    def group_of(self) -> NDArray[np.bool_]:
        """Boxes around more than five touching objects (Open Images)."""
        return self.flag("group_of")

    @property
    def ignored(self) -> NDArray[np.bool_]:
        """Objects that neither reward nor punish, whatever their file calls that."""
        return self.ignore | self.crowd | self.difficult | self.group_of

    def take(self, rows: NDArray[np.integer]) -> Annotations:
        """These objects, in this order; images and labels stay."""
        rows = np.asarray(rows, dtype=np.int64)
        optional = {name: getattr(self, name) for name in OPTIONAL}
        columns: dict[str, Any] = {name: None if c is None else c[rows] for name, c in optional.items()}
        return replace(
            self,
            image=self.image[rows],
            label=self.label[rows],
            regions=self.regions.take(rows),
            flags={name: column[rows] for name, column in self.flags.items()},
            **columns,
        )

    def where(self, mask: NDArray[np.bool_]) -> Annotations:
        """The objects for which `mask` is true."""
        return self.take(np.flatnonzero(mask))

    def only(self, labels: Iterable[str]) -> Annotations:
        """The objects with one of these labels; the other labels are left out of the table as well."""
        names = self.labels.all_names
        wanted = list(dict.fromkeys(labels))
        for name in wanted:
            if name not in names:
                raise BadParameter(f"label: expected one of {len(names)}, found {name!r}{did_you_mean(name, names)}")
        keep = np.array([i for i, name in enumerate(names) if name in wanted], dtype=np.int64)
        new = np.full(len(names), -1, dtype=np.int32)
        new[keep] = np.arange(len(keep))
        chosen = self.where(new[self.label] >= 0)
        said = self.verdicts.moved(np.arange(len(self.images)), new) if self.verdicts is not None else None
        return replace(chosen, label=new[chosen.label], labels=self.labels.take(keep), verdicts=said)

    def like(self, truth: Annotations) -> Annotations:
        """The same objects with the truth's images and labels, found by name or id; unknown ones come after."""
        if unopened_pair(truth, self):
            return self
        from verite.model.alignment import align

        return align(self, truth)

    def _repr_html_(self) -> str:
        from verite.model.fates import show_annotations
        from verite.model.styles import render

        return render(show_annotations(self), "html")

    def to_pandas(self) -> pandas.DataFrame:
        """The objects as a table for pandas; `verite.read` takes it back."""
        from verite.model.frames import to_pandas

        return to_pandas(self)

    def to_arrow(self) -> pyarrow.Table:
        """The objects as an Arrow table, for pyarrow, polars and DuckDB; `verite.read` takes it back."""
        from verite.model.frames import to_arrow

        return to_arrow(self)

    @cached_property
    def digest(self) -> str:
        """Sixteen characters that stand for every fact in it."""
        from verite.model.digests import digest_of

        return digest_of(self, with_outlines=True)

    @cached_property
    def box_digest(self) -> str:
        """The same for every fact but polygons and masks: all that an evaluation of boxes depends on."""
        from verite.model.digests import digest_of

        return digest_of(self, with_outlines=False)


OPTIONAL = {"confidence": "float64", "area": "float64", "ids": "int64"}
