"""The COCO class of pycocotools: annotations as dictionaries, with an index."""

from __future__ import annotations

import copy
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.compat.pycocotools import _mask, mask
from verite.compat.pycocotools import mask as masks
from verite.errors import BadParameter, DataError, ReadError, VeriteError, excerpt
from verite.files import find_path, read_bytes
from verite.formats import read
from verite.model.annotations import Annotations
from verite.reporting.plots import need_matplotlib

OPENED = ("dataset", "anns", "cats", "imgs", "imgToAnns", "catToImgs")


@dataclass(frozen=True, eq=False)
class Closed:
    """A file without errors of which no record has been accessed."""

    columns: Annotations
    content: bytes
    truth: Any = None  # the COCO object that results were loaded on

    @property
    def image_ids(self) -> list[int]:
        return np.asarray(self.columns.images.ids).tolist()  # type: ignore[no-any-return]

    @property
    def class_ids(self) -> list[int]:
        return np.asarray(self.columns.labels.ids).tolist()  # type: ignore[no-any-return]


def close(path: Any, truth: Any = None) -> Closed | None:
    """None where the core's reader refuses what pycocotools takes, or an image or class is none of the truth's."""
    like = None if truth is None else truth.closed.columns
    try:
        columns = read(path, like=like, format="coco" if truth is None else "coco-results")
        content = read_bytes(find_path(path))
    except (VeriteError, OSError):
        return None
    if columns.images.ids is None or columns.labels.ids is None:
        return None
    if like is not None and (len(columns.images), len(columns.labels)) != (len(like.images), len(like.labels)):
        return None
    return Closed(columns, content, truth)


def open_for(name: str) -> Any:
    """An attribute of a COCO object that is there once its file is opened."""
    return cached_property(lambda coco: coco.open()[name])


CROWD = np.array([2.0, 166.0, 101.0]) / 255


def show(coco: COCO, anns: Sequence[Record], *, draw_bbox: bool) -> None:
    """Outlines filled with a colour each; captions are printed."""
    if not anns:
        return
    if "caption" in anns[0]:
        for ann in anns:
            print(ann["caption"])
        return
    if "segmentation" not in anns[0] and "keypoints" not in anns[0]:
        raise DataError("showAnns: expected annotations with a segmentation or keypoints, found neither")
    need_matplotlib()
    import matplotlib.pyplot as plt
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Polygon

    axes = plt.gca()
    axes.set_autoscale_on(False)
    patches, colours = [], []
    rng = np.random.default_rng(0)
    for ann in anns:
        colour = (rng.random(3) * 0.6 + 0.4).tolist()
        outline = ann.get("segmentation", [])
        rings = [np.array(ring).reshape(-1, 2) for ring in outline] if isinstance(outline, list) else []
        if isinstance(outline, dict):
            pixels = masks.decode(coco.annToRLE(ann))
            shade = np.ones((*pixels.shape, 3)) * (CROWD if ann.get("iscrowd") else colour)
            axes.imshow(np.dstack((shade, pixels * 0.5)))
        if draw_bbox:
            x, y, w, h = ann["bbox"]
            rings.append(np.array([[x, y], [x, y + h], [x + w, y + h], [x + w, y]]))
        patches += [Polygon(ring) for ring in rings]
        colours += [colour] * len(rings)
        if isinstance(ann.get("keypoints"), list):
            draw_keypoints(axes, coco, ann, colour)
    axes.add_collection(PatchCollection(patches, facecolor=colours, linewidths=0, alpha=0.4))
    axes.add_collection(PatchCollection(patches, facecolor="none", edgecolors=colours, linewidths=2))


def draw_keypoints(axes: Any, coco: COCO, ann: Record, colour: list[float]) -> None:
    x, y, seen = np.array(ann["keypoints"]).reshape(-1, 3).T
    for bone in np.array(coco.cats[ann["category_id"]]["skeleton"]) - 1:
        if np.all(seen[bone] > 0):
            axes.plot(x[bone], y[bone], linewidth=3, color=colour)
    for level, edge in ((0, "k"), (1, colour)):
        kept = seen > level
        axes.plot(x[kept], y[kept], "o", markersize=8, markerfacecolor=colour, markeredgecolor=edge, markeredgewidth=2)


Record = dict[str, Any]

maskUtils = mask  # noqa: N816 - clients look for it under this name


def _isArrayLike(obj: Any) -> bool:  # noqa: N802
    return hasattr(obj, "__iter__") and hasattr(obj, "__len__")


def as_ids(ids: Any) -> Any:
    """A single id as a list of one."""
    return ids if _isArrayLike(ids) else [ids]


def to_plain(thing: Any) -> Any:
    """An id of numpy's as one of Python's, which is found ten times as fast."""
    return thing.item() if isinstance(thing, np.generic) else thing


class NoFile(ReadError, FileNotFoundError):  # noqa: N818
    """A file that is not there. Also a FileNotFoundError, as in pycocotools."""

    def __reduce__(self) -> tuple[object, ...]:
        return NoFile.at, (self.where,)

    @classmethod
    def at(cls, path: object) -> NoFile:
        return cls(path, expected="a file", found="nothing")


class NoResults(DataError, IndexError):  # noqa: N818 - a statement about a list, not about an error
    """An empty list of results. Also an IndexError, which clients of pycocotools catch."""


class COCO:
    """Annotations of a file, or of a `dataset` that is assigned before ``createIndex()``."""

    dataset: Record = open_for("dataset")
    anns: dict[Any, Record] = open_for("anns")
    cats: dict[Any, Record] = open_for("cats")
    imgs: dict[Any, Record] = open_for("imgs")
    imgToAnns: dict[Any, list[Record]] = open_for("imgToAnns")  # noqa: N815
    catToImgs: dict[Any, list[Any]] = open_for("catToImgs")  # noqa: N815

    def __init__(self, annotation_file: Any = None) -> None:
        self.closed: Closed | None = None
        if annotation_file is None:
            self.dataset = {}
            self.index()
            return
        print("loading annotations into memory...")
        start = time.time()
        if type(self) is COCO:  # a client's class may want to see everything at once
            self.closed = close(annotation_file)
        if self.closed is None:
            self.dataset = read_json(annotation_file)
            if not isinstance(self.dataset, dict):
                raise ReadError(annotation_file, expected="a JSON object", found=type(self.dataset).__name__)
        print(f"Done (t={time.time() - start:0.2f}s)")
        if self.closed is None:
            self.createIndex()
        else:
            print("creating index...\nindex created!")

    def open(self) -> Record:
        """Make dictionaries of the records of a file when the first is accessed."""
        closed = self.closed
        if closed is None:
            raise AttributeError("COCO: expected __init__() to be called first")
        document = parse_json(closed.columns.source.path, closed.content)
        self.closed = None
        self.dataset = document if closed.truth is None else make_results(closed.truth, document)
        self.index()
        return vars(self)

    def createIndex(self) -> None:  # noqa: N802
        """Find everything by id. Of several annotations with the same id the last one is found."""
        print("creating index...")
        self.index()
        print("index created!")

    def index(self) -> None:
        if not isinstance(self.dataset, Mapping):
            found = type(self.dataset).__name__
            raise DataError(f"dataset: expected a dictionary with annotations, images and categories, found {found}")
        annotations, images, classes = (self.dataset.get(key, []) for key in ("annotations", "images", "categories"))
        self.anns = dict(zip(values_of(annotations, "id", "annotations"), annotations, strict=True))
        self.imgs = dict(zip(values_of(images, "id", "images"), images, strict=True))
        self.cats = dict(zip(values_of(classes, "id", "categories"), classes, strict=True))
        self.imgToAnns, self.catToImgs = defaultdict(list), defaultdict(list)
        where = values_of(annotations, "image_id", "annotations")
        for image, ann in zip(where, annotations, strict=True):
            self.imgToAnns[image].append(ann)
        if "categories" in self.dataset:
            for image, label in zip(where, values_of(annotations, "category_id", "annotations"), strict=True):
                self.catToImgs[label].append(image)

    def info(self) -> None:
        """Print the `info` section of the file."""
        for key, value in self.dataset["info"].items():
            print(f"{key}: {value}")

    def getAnnIds(  # noqa: N802
        self,
        imgIds: Any = (),  # noqa: N803
        catIds: Any = (),  # noqa: N803
        areaRng: Sequence[float] = (),  # noqa: N803
        iscrowd: Any = None,
    ) -> list[Any]:
        """Ids of the annotations in these images, of these classes, between these areas."""
        images, classes = as_ids(imgIds), as_ids(catIds)
        found: Iterable[Record]
        if len(images):
            found = chain.from_iterable(self.imgToAnns[i] for i in images if i in self.imgToAnns)
        else:
            found = self.dataset["annotations"]
        if len(classes):
            wanted = set(map(to_plain, classes))
            found = (ann for ann in found if ann["category_id"] in wanted)
        if len(areaRng):
            found = (ann for ann in found if areaRng[0] < ann["area"] < areaRng[1])
        if iscrowd is not None:
            found = (ann for ann in found if ann["iscrowd"] == iscrowd)
        return [ann["id"] for ann in found]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Ids of the classes with these names, of these groups, with these ids."""
        wants_all = not any(map(len, map(as_ids, (catNms, supNms, catIds))))
        if self.closed is not None and wants_all:
            return list(self.closed.class_ids)
        found = self.dataset["categories"]
        for key, wanted in (("name", as_ids(catNms)), ("supercategory", as_ids(supNms)), ("id", as_ids(catIds))):
            if len(wanted):
                found = [cat for cat in found if cat[key] in wanted]
        return [cat["id"] for cat in found]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Ids of the images among these that have all of these classes."""
        images, classes = as_ids(imgIds), as_ids(catIds)
        if not len(images) and not len(classes):
            return list(self.imgs) if self.closed is None else self.closed.image_ids
        found = set(images)
        for i, cat in enumerate(classes):
            # The first class fills an empty list of images, as in pycocotools.
            found = set(self.catToImgs[cat]) if i == 0 and not found else found & set(self.catToImgs[cat])
        return list(found)

    def loadAnns(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return [self.anns[i] for i in as_ids(ids)]

    def loadCats(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return [self.cats[i] for i in as_ids(ids)]

    def loadImgs(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return [self.imgs[i] for i in as_ids(ids)]

    def showAnns(self, anns: Sequence[Record], draw_bbox: bool = False) -> None:  # noqa: N802
        """Draw annotations on matplotlib's current axes."""

        show(self, anns, draw_bbox=draw_bbox)

    def loadRes(self, resFile: Any) -> COCO:  # noqa: N802, N803
        """Results on these images: a file, a list of records, or an array [image, x, y, w, h, score, class]."""
        print("Loading and preparing results...")
        start = time.time()
        found = COCO()
        if isinstance(resFile, (str, Path)) and getattr(self, "closed", None) is not None:
            found.closed = close(resFile, self)
        if found.closed is None or not len(found.closed.columns):
            found.closed = None
            if isinstance(resFile, np.ndarray):
                records = self.loadNumpyAnnotations(resFile)
            else:
                records = read_json(resFile) if isinstance(resFile, (str, Path)) else resFile
            found.dataset = make_results(self, records)
        print(f"DONE (t={time.time() - start:0.2f}s)")
        if found.closed is None:
            found.createIndex()
        else:
            print("creating index...\nindex created!")
            for name in OPENED:
                del vars(found)[name]
        return found

    def download(self, tarDir: Any = None, imgIds: Any = ()) -> None:  # noqa: N803
        """Not offered: verite never opens a connection."""
        raise BadParameter("download: verite opens no connections; fetch the images with another tool")

    def loadNumpyAnnotations(self, data: NDArray[Any]) -> list[Record]:  # noqa: N802
        """Records from rows of image, x, y, width, height, score, class."""
        print("Converting ndarray to lists...")
        print(data.shape)
        if data.ndim != 2 or data.shape[1] != 7:
            raise BadParameter(f"results: expected an array of shape (n, 7), found {data.shape}")
        for i in range(0, len(data), 1_000_000):
            print(f"{i}/{len(data)}")
        return [
            {"image_id": int(row[0]), "bbox": list(row[1:5]), "score": row[5], "category_id": int(row[6])}
            for row in data
        ]

    def annToRLE(self, ann: Record) -> Record:  # noqa: N802
        """The mask of an annotation, drawn from polygons where there is none."""
        image = self.imgs[ann["image_id"]]
        outline = ann["segmentation"]
        if isinstance(outline, list):
            return mask.merge(mask.frPyObjects(outline, image["height"], image["width"]))
        if _mask.has_plain_runs(outline):
            return mask.frPyObjects(outline, image["height"], image["width"])  # type: ignore[no-any-return]
        return outline  # type: ignore[no-any-return]

    def annToMask(self, ann: Record) -> NDArray[np.uint8]:  # noqa: N802
        """The pixels of an annotation."""
        return mask.decode(self.annToRLE(ann))


def make_results(truth: COCO, records: Any) -> Record:
    """Return a document of results on the images of the ground truth."""
    if not isinstance(records, list):
        raise DataError(f"results: expected an array of records, found {excerpt(str(records))}")
    if not records:
        raise NoResults("results: expected at least one record, found an empty list; nothing was detected")
    told = set(values_of(records, "image_id", "results"))
    unknown = told - set(truth.getImgIds())
    if unknown:
        raise DataError(
            f"results: expected images of the ground truth, found {len(unknown)} others, e.g. {next(iter(unknown))!r}; "
            "is this the right ground truth?"
        )
    kind = kind_of(records[0])
    complete(records, kind)
    found: Record = {"info": copy.deepcopy(truth.dataset.get("info", {})), "images": list(truth.dataset["images"])}
    if kind == "caption":
        found["images"] = [image for image in found["images"] if image["id"] in told]
    elif kind:
        found["categories"] = copy.deepcopy(truth.dataset["categories"])
    return found | {"annotations": records}


def values_of(records: Sequence[Record], key: str, what: str) -> list[Any]:
    """Return the value of a required key from each record."""
    try:
        return [record[key] for record in records]
    except (KeyError, TypeError, IndexError):
        wrong = (i for i, record in enumerate(records) if not isinstance(record, dict) or key not in record)
        i = next(wrong)
        raise DataError(f"{what}[{i}]: expected a record with {key!r}, found {excerpt(str(records[i]))}") from None


def kind_of(first: Record) -> str:
    """What kind of results they are is read off the first record, as in pycocotools."""
    found = (key for key in ("caption", "bbox", "segmentation", "keypoints") if key in first)
    return next((key for key in found if key != "bbox" or not (_isArrayLike(first[key]) and not len(first[key]))), "")


WANTED = {
    "bbox": "four numbers as bbox",
    "segmentation": "a mask of size and counts as segmentation",
    "keypoints": "x, y and visibility of each point as keypoints",
}


def complete(records: list[Record], kind: str) -> None:
    """Give results what truths have: an id, an area, and a box or an outline where one is missing."""
    i = 0
    try:
        for i, record in enumerate(records):
            if kind:
                record["id"] = i + 1
            if kind == "bbox":
                x, y, w, h = record["bbox"]
                if "segmentation" not in record:
                    record["segmentation"] = [[x, y, x, y + h, x + w, y + h, x + w, y]]
                record["area"] = w * h
                record["iscrowd"] = 0
            elif kind == "segmentation":
                record["area"] = mask.area(record["segmentation"])
                if "bbox" not in record:
                    record["bbox"] = mask.toBbox(record["segmentation"])
                record["iscrowd"] = 0
            elif kind == "keypoints":
                x, y = np.array(record["keypoints"][0::3]), np.array(record["keypoints"][1::3])
                record["area"] = (x.max() - x.min()) * (y.max() - y.min())
                record["bbox"] = [x.min(), y.min(), x.max() - x.min(), y.max() - y.min()]
    except VeriteError as error:
        raise DataError(f"results[{i}]: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        found = records[i].get(kind)
        raise DataError(f"results[{i}]: expected {WANTED[kind]}, found {excerpt(str(found))}") from None


def read_json(path: Any) -> Any:
    """A JSON document; NaN is let through, as pycocotools does."""
    from verite.files import find_path, read_bytes

    if not Path(path).exists():
        raise NoFile.at(path)
    return parse_json(path, read_bytes(find_path(path)))


def parse_json(path: Any, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReadError(path, expected="JSON", found=str(error)) from None
