"""The COCO class of faster-coco-eval: pycocotools' with dictionaries as input and snake-case names, silent."""

from __future__ import annotations

import copy
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from verite.compat.pycocotools import coco as base
from verite.compat.pycocotools.coco import Record, close, make_results, read_json, values_of
from verite.compat.pycocotools.coco import _isArrayLike as _isArrayLike
from verite.errors import BadParameter, DataError, excerpt

logger = logging.getLogger(__name__)


ID_ZERO = (
    "annotations: found an id of 0, which evaluations read as no match; number annotations from 1, or the values are "
    "slightly wrong"
)


class COCO(base.COCO):
    """Annotations of a file, of a dictionary, or of a `dataset` that is assigned before ``createIndex()``.

    Parameters
    ----------
    annotation_file
        A path or a dictionary in COCO's layout.
    use_deepcopy
        Whether a dictionary is copied with everything in it; otherwise its lists are used in place.
    print_function
        Where messages go; to the log by default.
    """

    def __init__(
        self,
        annotation_file: Any = None,
        use_deepcopy: bool = False,
        print_function: Callable[..., Any] = logger.debug,
    ) -> None:
        super().__init__()
        self.print_function, self.use_deepcopy, self.annotation_file = print_function, use_deepcopy, annotation_file
        if annotation_file is None:
            return
        if not isinstance(annotation_file, (str, os.PathLike, dict)):
            raise TypeError(f"annotation_file: expected a path or a dictionary, found {type(annotation_file).__name__}")
        self.print_function("loading annotations into memory...")
        start = time.time()
        if not isinstance(annotation_file, dict) and type(self) is COCO:
            self.closed = close(annotation_file)
        if self.closed is None:
            self.dataset = self.load_json(annotation_file, use_deepcopy)
            if not isinstance(self.dataset, dict):
                raise BadParameter(f"annotation_file: expected a JSON object, found {type(self.dataset).__name__}")
            self.createIndex()
        else:
            for name in base.OPENED:
                del vars(self)[name]
        self.print_function(f"Done (t={time.time() - start:0.2f}s)")

    @staticmethod
    def load_json(json_file: Any, use_deepcopy: bool = False) -> Any:
        """Return the document of a file, or a copy of a dictionary or list."""
        if isinstance(json_file, (str, os.PathLike)):
            return read_json(json_file)
        return copy.deepcopy(json_file) if use_deepcopy else json_file.copy()

    def createIndex(self) -> None:  # noqa: N802
        """Find everything by id; ids of images are whole numbers."""
        self.print_function("creating index...")
        if isinstance(self.dataset, dict):
            for key, name in (("images", "id"), ("annotations", "image_id")):
                for i, record in enumerate(self.dataset.get(key, ())):
                    if isinstance(record, dict) and type(record.get(name, 0)) is not int:
                        try:
                            record[name] = int(record[name])
                        except (TypeError, ValueError, OverflowError):
                            found = excerpt(record[name])
                            raise DataError(f"{key}[{i}]: expected a whole number as {name}, found {found}") from None
        self.index()
        if 0 in self.anns:
            warnings.warn(ID_ZERO, UserWarning, stacklevel=3)
        self.print_function("index created!")

    def info(self) -> None:
        """Print the `info` section of the file."""
        for key, value in self.dataset["info"].items():
            self.print_function(f"{key}: {value}")

    def getAnnIds(self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None) -> list[Any]:  # noqa: N802, N803
        """Ids of the annotations in these images, of these classes, between these areas."""
        images, classes, areas = (() if given is None else given for given in (imgIds, catIds, areaRng))
        if iscrowd is None:
            return super().getAnnIds(images, classes, areas)
        found = super().getAnnIds(images, classes, areas)
        return [one for one in found if int(self.anns[one].get("iscrowd", 0)) == int(iscrowd)]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Ids of the classes with these names, of these groups, with these ids."""
        return super().getCatIds(*(() if given is None else given for given in (catNms, supNms, catIds)))

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Ids of the images among these that have all of these classes."""
        return super().getImgIds(*(() if given is None else given for given in (imgIds, catIds)))

    def loadAnns(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return super().loadAnns(whole_ids(ids))

    def loadCats(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return super().loadCats(whole_ids(ids))

    def loadImgs(self, ids: Any = ()) -> list[Record]:  # noqa: N802
        return super().loadImgs(whole_ids(ids))

    def get_ann_ids(
        self, img_ids: Any = None, cat_ids: Any = None, area_rng: Any = None, iscrowd: Any = None
    ) -> list[Any]:
        """Ids of the annotations in these images, of these classes, between these areas."""
        return self.getAnnIds(img_ids, cat_ids, area_rng, iscrowd)

    def get_cat_ids(self, cat_names: Any = None, sup_names: Any = None, cat_ids: Any = None) -> list[Any]:
        """Ids of the classes with these names, of these groups, with these ids."""
        return self.getCatIds(cat_names, sup_names, cat_ids)

    def get_img_ids(self, img_ids: Any = None, cat_ids: Any = None) -> list[Any]:
        """Ids of the images among these that have all of these classes."""
        return self.getImgIds(img_ids, cat_ids)

    def load_anns(self, ids: Any) -> list[Record]:
        """Annotations with these ids."""
        return self.loadAnns(ids)

    def load_cats(self, ids: Any) -> list[Record]:
        """Classes with these ids."""
        return self.loadCats(ids)

    def load_imgs(self, ids: Any) -> list[Record]:
        """Images with these ids."""
        return self.loadImgs(ids)

    @property
    def img_ann_map(self) -> Any:
        """Annotations of each image."""
        return self.imgToAnns

    @img_ann_map.setter
    def img_ann_map(self, value: Any) -> None:
        self.imgToAnns = value

    @property
    def cat_img_map(self) -> Any:
        """Images of each class."""
        return self.catToImgs

    @cat_img_map.setter
    def cat_img_map(self, value: Any) -> None:
        self.catToImgs = value

    def loadRes(self, resFile: Any, min_score: float = 0.0) -> COCO:  # noqa: N802, N803
        """Results on these images.

        Parameters
        ----------
        resFile
            A file, a list of records, or an array [image, x, y, w, h, score, class]. An empty list is the result of a
            detector that found nothing.
        min_score
            Results of lower confidence are left out.
        """
        say = getattr(self, "print_function", logger.debug)
        say("Loading and preparing results...")
        start = time.time()
        found = COCO()
        is_path = isinstance(resFile, (str, os.PathLike))
        if is_path and min_score == 0.0 and getattr(self, "closed", None) is not None:
            found.closed = close(resFile, self)
        if found.closed is not None and len(found.closed.columns):
            for name in base.OPENED:
                del vars(found)[name]
            return found
        found.closed = None
        if isinstance(resFile, np.ndarray):
            records = COCO.loadNumpyAnnotations(self, resFile)
        elif is_path or isinstance(resFile, (dict, list)):
            records = COCO.load_json(resFile, getattr(self, "use_deepcopy", False))
        else:
            raise TypeError(f"resFile: expected a path, a list or an array, found {type(resFile).__name__}")
        if not isinstance(records, list):
            raise AssertionError("results in not an array of objects")
        if min_score != 0.0:
            values_of(records, "image_id", "results")
            records = [one for one in records if one.get("score", 1) >= min_score]
        if records:
            found.dataset = make_results(self, records)
        else:
            same = {
                key: copy.deepcopy(self.dataset.get(key, empty)) for key, empty in (("info", {}), ("categories", []))
            }
            found.dataset = {**same, "images": list(self.dataset["images"]), "annotations": []}
        found.createIndex()
        say(f"DONE (t={time.time() - start:0.2f}s)")
        return found

    def loadNumpyAnnotations(self, data: Any) -> list[Record]:  # noqa: N802
        """Records from rows of image, x, y, width, height, score, class."""
        if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != 7:
            raise AssertionError(f"results: expected an array of shape (n, 7), found {np.shape(data)}")
        return [
            {"image_id": int(row[0]), "bbox": list(row[1:5]), "score": row[5], "category_id": int(row[6])}
            for row in data
        ]

    def download(self, tarDir: Any = None, imgIds: Any = ()) -> None:  # noqa: N803
        """Not offered: verite never opens a connection."""
        warnings.warn("download: verite opens no connections", DeprecationWarning, stacklevel=2)

    def to_dict(self, separate_fn: bool = False) -> Record:
        """Return a document of everything; missed objects in classes of their own (`name_fn`) if asked for."""
        classes = [dict(one) for one in self.cats.values()]
        records = [dict(one) for one in self.anns.values()]
        if separate_fn:
            shift = max(one["id"] for one in classes)
            classes += [{**one, "id": one["id"] + shift, "name": one["name"] + "_fn"} for one in classes]
            for record in records:
                record["category_id"] += shift if record.get("fn") else 0
        about = {"description": "Created from faster-coco-eval"}
        return {"info": about, "images": list(self.imgs.values()), "annotations": records, "categories": classes}

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self.to_dict().items())

    def dump(self, output_file: Any) -> None:
        """Write a JSON file of everything."""
        with open(output_file, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, ensure_ascii=False, indent=4)

    def __repr__(self) -> str:
        from verite.compat.faster_coco_eval import __author__, __version__

        return f"{type(self).__name__}(annotation_file) # __author__='{__author__}'; __version__='{__version__}';"


def whole_ids(ids: Any) -> list[Any]:
    """One id, several or none as a list; ids of results are whole numbers."""
    if ids is None:
        return []
    values = list(ids) if _isArrayLike(ids) and not isinstance(ids, (str, bytes)) else [ids]
    if any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in values):
        raise TypeError(f"ids: expected whole numbers, found {values[:3]}")
    return values
