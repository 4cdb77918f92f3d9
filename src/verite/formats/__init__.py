"""Read and write annotations: COCO, YOLO, Pascal VOC, LVIS, Open Images, CSV tables and some thirty other formats.

`read` recognises the format of a path, reads it and records the reason in `Annotations.source`; it also reads objects
in memory. `write` converts annotations to a format. One module per format (`coco`, `yolo`, `voc` …) holds a `Format`
record with its functions `recognise`, `read` and `write`; `verite.formats.registry` lists these records.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.files import PACKED, find_path, is_many, reason
from verite.formats.registry import REGISTRY as REGISTRY
from verite.formats.registry import all_formats as all_formats
from verite.formats.registry import format_named as format_named
from verite.formats.registry import recognise
from verite.formats.shards import files_of_split, find_folder_shards, find_shards, read_shards

Readable: TypeAlias = Any  # a path, annotations, or one of the objects that verite.formats.memory lists

if TYPE_CHECKING:
    from verite.formats.archives import Archive
    from verite.formats.format import Options
    from verite.model.annotations import Annotations


def read(
    source: Readable,
    like: Annotations | None = None,
    format: str | None = None,
    *,
    boxes: str | None = None,
    coords: str | None = None,
    angle: str | None = None,
    image_size: tuple[int, int] | None = None,
    images: str | PathLike[str] | None = None,
    names: str | PathLike[str] | Sequence[str] | None = None,
    label_offset: int = 0,
    image_offset: int = 0,
    columns: Mapping[str, str] | None = None,
    split: str | None = None,
    masks: str | None = None,
    mask_threshold: float | None = None,
    map: str | PathLike[str] | Mapping[str, str | None] | None = None,
    class_name: str | None = None,
    annotator: str | None = None,
    unknown_images: str | None = None,
    field: str | None = None,
) -> Annotations:
    """Read ground truth or predictions from a file, a folder or an object in memory.

    The format is recognised from the contents; `.source` of the result says which one it is, and why. All keyword
    arguments after `format` state what a file leaves open or states wrongly.

    Parameters
    ----------
    source : path, str or object
        One of:

        - a file or folder of any known format, packed (`.gz`, `.zst`, `.zip`, `.tar.gz`) or not; ``"-"`` is standard
          input;
        - several files that make one dataset: a list of paths, a glob such as ``"gt/*.json"``, a folder of shards, or
          ``"@files.txt"``, a list with one file per line;
        - bytes, or a file object that is open for reading;
        - a COCO dictionary, a list of COCO results, a pycocotools `COCO` object, `supervision.Detections` (one, a list,
          or a dictionary by image name), torchvision dictionaries (a list, or a dictionary by image name), also
          those of Hugging Face's image processors (`class_labels`, `orig_size`);
        - Ultralytics `Results`, detectron2 `Instances`, mmdetection's `DetDataSample`, SAHI's predictions (one, a list,
          or a dictionary by image name), a FiftyOne dataset or view (with `field`), a Hugging Face dataset or its rows
          with `objects`;
        - a table (polars, pyarrow, DuckDB, pandas), a NumPy structured array or a dictionary of columns;
        - masks or label images as arrays: one, a list, a stack, or a dictionary by image.
    like : Annotations, optional
        The ground truth, when predictions are read: they use its images and classes, matched by id or name.
    format : str, optional
        Name of the format (see ``verite formats``). Default: recognised.
    boxes : str, optional
        Meaning of the four numbers of a box: ``"xywh"``, ``"xyxy"``, ``"cxcywh"``, ``"ltwh"`` … Default: the format's.
    coords : str, optional
        ``"abs"`` (pixels), ``"rel"`` (fractions of the image), ``"WIDTHxHEIGHT"`` of the image in which they were
        measured, or ``"*FACTOR"``. Default: the format's.
    angle : str, optional
        Unit and direction of the angle of rotated boxes: ``"degrees"``, ``"radians"``, ``"degrees-ccw"``,
        ``"radians-ccw"``.
    image_size : tuple of int, optional
        Width and height of every image whose size the file does not state.
    images : path, optional
        Folder of the image files; their sizes are read from it.
    names : path or sequence of str, optional
        Class names by number, counted from 0, or a file that lists them.
    label_offset, image_offset : int, default 0
        Number to add to every class id or image id.
    columns : mapping, optional
        Column names of a table: ``{"score": "my_confidence"}`` reads the score from the column `my_confidence`.
    split : str, optional
        Part of a dataset: ``"train"``, ``"val"`` or ``"test"``. Required if there are several.
    masks : str, optional
        Meaning of the pixels of mask images: ``"binary"``, ``"contour"``, ``"objects"``, ``"classes"``,
        ``"instances"`` or ``"every"``. Default: inferred from the values.
    mask_threshold : float, optional
        Share of the largest value at which a grey pixel belongs to the object, above 0 and at most 1.
    map : path or mapping, optional
        Names of classes and the classes they stand for, ``{"kitten": "cat", "shadow": ""}`` or a CSV file with the
        columns from and to; an empty class is ignored. It belongs to both sides of an evaluation.
    class_name : str, optional
        Class of all objects of a table without a column of classes.
    annotator : str, optional
        ``"COLUMN=NAME"`` keeps the objects of one annotator, ``"COLUMN"`` names the column (or COCO key) of annotators.
    unknown_images : {"stop", "drop"}, optional
        Predictions on images that `like` does not have: ``"drop"`` leaves them out with a note. Default: they are kept,
        and an evaluation stops.
    field : str, optional
        Field of a FiftyOne dataset with the detections, such as ``"ground_truth"``; of mmdetection's samples
        ``"gt_instances"`` instead of ``"pred_instances"``.

    Returns
    -------
    Annotations
        Images, classes and one row per object.

    Raises
    ------
    ReadError
        If a file is missing, broken or of unknown format. The message names the place and what to do.
    BadParameter
        If an argument is not one of its values, or the object in memory is of no known kind.
    DataError
        If several files do not make one dataset: predictions beside ground truth, or one image in two files.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.read({
    ...     "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
    ...     "categories": [{"id": 3, "name": "car"}],
    ...     "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [10, 20, 100, 50]}],
    ... })
    >>> len(truth), truth.labels.names, truth.source.why
    (1, ('car',), 'a COCO dictionary')

    Predictions whose boxes are corners:

    >>> results = [{"image_id": 1, "category_id": 3, "bbox": [10, 20, 110, 70], "score": 0.9}]
    >>> vt.read(results, like=truth, boxes="xyxy").regions.sizes.tolist()
    [[10.0, 20.0, 100.0, 50.0]]

    Files are read alike:

    >>> pred = vt.read("runs/val/labels", like=truth, format="yolo")    # doctest: +SKIP
    """
    from verite.formats.format import Options

    options = Options.of(
        boxes=boxes,
        coords=coords,
        angle=angle,
        image_size=image_size,
        images=images,
        names=names,
        label_offset=label_offset,
        image_offset=image_offset,
        columns=columns,
        split=split,
        masks=masks,
        mask_threshold=mask_threshold,
        map=map,
        class_name=class_name,
        annotator=annotator,
        unknown_images=unknown_images,
        field=field,
        like=like,
    )
    return read_with(source, format, options)


def read_with(source: Readable, format: str | None, options: Options) -> Annotations:
    """Read a path, a stream or an object in memory by options that are validated already; arguments as in `read`."""
    if isinstance(source, str) and source.lstrip()[:2] in ("[{", '{"', "[]"):
        raise BadParameter(
            f"annotations: expected a path, found JSON, {excerpt(source, 40)}; hand over json.loads(…) of it"
        )
    if isinstance(source, (str, PathLike)) or is_many(source):
        return read_source(source, format, options)
    if isinstance(source, (bytes, bytearray)) or callable(getattr(source, "read", None)):
        # Read bytes, or a file object that is open for reading; its name, if it has one, gives the suffix.
        from io import BytesIO

        from verite.formats.archives import save_stream, temporary_folder

        name = getattr(source, "name", "")
        name = name if isinstance(name, str) else ""
        stream = BytesIO(source) if isinstance(source, (bytes, bytearray)) else source
        with temporary_folder() as folder:
            return read_archive(save_stream(stream, folder, name or "a stream", Path(name).suffix), format, options)
    if format is not None:
        raise BadParameter(f"format: expected none for an object in memory, found {format!r}")
    from verite.formats.memory import read_object
    from verite.model.shapes import Volume

    if isinstance(source, Volume) and options.masks == "objects":
        from verite.formats.volumes import read_objects

        annotations = read_objects(source, options)
    else:
        annotations = read_object(source, options)
    annotations = annotations.with_source(replace(annotations.source, layout=options.boxes))
    return apply_options(annotations, options)


def apply_options(annotations: Annotations, options: Options) -> Annotations:
    """Apply to annotations what does not depend on their format.

    Their classes are mapped (`map`; those of free text are compared with the ground truth's), crowds and ignored
    objects of a class called ignore become ignore regions, and predictions get the images and classes of the ground
    truth (`like`), without those on unknown images if that is asked (`unknown_images`).

    Parameters
    ----------
    annotations
        What a reader returned.
    options
        Options of the call.

    Returns
    -------
    Annotations
        Annotations whose source remembers the classes before they were mapped.
    """
    truth = options.like
    if options.class_map is not None or (annotations.source.format == "vision-language" and truth is not None):
        from verite.formats.class_map import map_classes

        annotations = map_classes(annotations, options.class_map, truth)
    if {"crowd", "ignore"} & set(annotations.flags) and "ignore_region" not in annotations.flags:
        from verite.formats.class_map import mark_ignore_regions

        annotations = mark_ignore_regions(annotations)
    if truth is None:
        return annotations
    if options.unknown_images == "drop":
        from verite.model.alignment import match_images

        found, _ = match_images(annotations.images, truth.images, annotations.source.path)
        known = found[annotations.image] >= 0
        images = {int(i) for i in annotations.image[~known]}
        if images:
            note = (
                f"{int((~known).sum()):,} predictions on {len(images):,} images that the ground truth does not have "
                "were dropped"
            )
            source = replace(annotations.source, notes=(*annotations.source.notes, note))
            kept = annotations.where(known)
            annotations = only_images(kept, sorted({int(i) for i in kept.image})).with_source(source)
    return annotations.like(truth)


def only_images(annotations: Annotations, rows: Sequence[int]) -> Annotations:
    """Return annotations with these images alone, which must have all objects."""
    from verite.arrays import np
    from verite.model.images import Images

    images = annotations.images
    place = np.full(len(images), -1, dtype=np.int32)
    place[list(rows)] = np.arange(len(rows), dtype=np.int32)
    return replace(
        annotations,
        images=Images(
            [images.name(i) for i in rows] if images.names is not None else None,
            None if images.ids is None else images.ids[list(rows)],
            widths=images.widths[list(rows)],
            heights=images.heights[list(rows)],
            sequences=None if images.sequences is None else images.sequences.take(rows),
        ),
        image=place[annotations.image],
    )


def restrict_images(truth: Annotations, listed: str | PathLike[str]) -> Annotations:
    """Return the ground truth of the images that another annotation file has, with a note.

    Raises
    ------
    DataError
        If no image is in both.
    """
    from verite.arrays import np
    from verite.model.alignment import match_images

    other = read(listed)
    found, _ = match_images(other.images, truth.images, other.source.path)
    rows = sorted({int(i) for i in found if 0 <= i < len(truth.images)})
    if not rows and other.images.ids is not None and truth.images.ids is not None:  # other names for the same ids
        rows = np.flatnonzero(np.isin(truth.images.ids, other.images.ids)).tolist()
    if not rows:
        raise DataError(f"{listed}: expected images of {truth.source.path or 'the ground truth'}, found none of them")
    kept = only_images(truth.where(np.isin(truth.image, rows)), rows)
    note = f"{len(rows):,} of {len(truth.images):,} images are in {listed} and are evaluated"
    return kept.with_source(replace(truth.source, notes=(*truth.source.notes, note)))


def read_pair(truth: Readable, pred: Readable, **settings: Any) -> tuple[Annotations, Annotations]:
    """Read ground truth and predictions, unless they are annotations already.

    Predictions use the images and classes of the ground truth; where that has several splits and none is named,
    their images select one. `settings` are arguments of `read` for both.
    """
    from verite.model.annotations import Annotations

    known = truth if isinstance(truth, Annotations) else read_truth(truth, pred, **settings)
    return known, pred if isinstance(pred, Annotations) else read(pred, like=known, **settings)


def read_truth(truth: Readable, pred: Readable, format: str | None = None, **settings: Any) -> Annotations:
    """Read ground truth; the images of `pred` select the split where there are several and none is named.

    `pred` is a path, or a list or dictionary of the paths of several detectors, of which the first one counts.
    """
    from verite.formats.format import Options

    paths = list(pred.values()) if isinstance(pred, Mapping) else pred if isinstance(pred, (list, tuple)) else [pred]
    first = next(iter(paths), None)
    predictions = first if isinstance(first, (str, PathLike)) else None
    return read_with(truth, format, Options.of(predictions=predictions, **settings))


def read_source(source: Any, format: str | None, options: Options) -> Annotations:
    """Read a path, standard input (`-`), or several files (a list of paths, a glob, `@LIST.txt`) as one dataset."""
    if is_many(source):
        return read_shards(source, options, lambda path, options: read_path(path, format, options))
    if source == "-":
        from verite.formats.archives import save_stream, temporary_folder

        with temporary_folder() as folder:
            return read_archive(save_stream(sys.stdin.buffer, folder, "standard input"), format, options)
    return read_path(find_path(source), format, options)


def read_path(path: Path, format: str | None, options: Options) -> Annotations:
    """Read one file or folder, packed or not, and align it with the ground truth `options.like` if there is one.

    Parameters
    ----------
    path : Path
        A packed file is unpacked to a temporary folder; a folder of several whole documents is read as shards.
    format : str or None
        Name of the format; None recognises it.
    options : Options
        Those that the format does not use are listed in the notes of the source.

    Raises
    ------
    ReadError
        Also for every `OSError` on the way.
    """
    from verite.formats.format import notes_on_unused_options

    if path.is_fifo() and str(path).startswith("/dev/"):  # /dev/stdin, or <(command) of a shell
        from verite.formats.archives import save_stream, temporary_folder

        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer would be waited for
        os.set_blocking(handle, True)
        with temporary_folder() as folder, os.fdopen(handle, "rb") as stream:
            return read_archive(save_stream(stream, folder, str(path)), format, options)
    if not path.is_dir() and not path.is_file():
        raise ReadError(path, expected="a file or folder", found="a device or pipe", remedy="save it to a file first")
    if options.masks == "objects" and format is None:
        from verite.formats.volumes import are_volumes, read_objects

        if are_volumes(path):
            return apply_options(read_objects(path, options), options)
    if path.suffix.lower() in PACKED and path.is_file():
        from verite.formats.archives import temporary_folder, unpack

        with temporary_folder() as folder:
            return read_archive(unpack(path, folder), format, options)
    if format is None and path.is_dir():
        shards = find_folder_shards(path, lambda file: name_format(file, options))
        if shards:
            shards, _ = files_of_split(path, shards, options, by_name=True)
            return read_shards(shards, options, lambda file, options: read_path(file, None, options), str(path))
    try:
        chosen, why = (format_named(format), "named by the user") if format is not None else recognise(path, options)
        annotations = chosen.read(path, options)
    except OSError as error:
        raise ReadError(error.filename or path, expected="something readable", found=reason(error)) from None
    source = annotations.source
    why = "; ".join(w for w in (why, source.why) if w)
    notes = (*source.notes, *notes_on_unused_options(annotations, chosen, options))
    annotations = annotations.with_source(replace(source, why=why, notes=notes, layout=options.boxes))
    return apply_options(annotations, options)


def list_shards(side: Any) -> list[Any]:
    """List the shards of one side of an evaluation: those of a glob, a list or a folder; anything else is one shard."""
    from verite.formats.format import Options

    if not isinstance(side, (str, PathLike)):
        return list(side) if isinstance(side, (list, tuple)) else [side]
    if is_many(side):
        return list(find_shards(side))
    folder = Path(side)
    shards = find_folder_shards(folder, lambda file: name_format(file, Options())) if folder.is_dir() else []
    return list(shards) or [side]


def name_format(path: Path, options: Options) -> str:
    """Return the name of the format of a file, packed or not."""
    if path.suffix.lower() not in PACKED:
        return recognise(path, options)[0].name
    from verite.formats.archives import temporary_folder, unpack

    with temporary_folder() as folder:
        package = unpack(path, folder)
        try:
            return recognise(package.place, options)[0].name
        except ReadError as error:
            raise package.explain(error) from None


def read_archive(package: Archive, format: str | None, options: Options) -> Annotations:
    """Read the contents of an unpacked archive; messages, notes and source name the archive itself."""
    from verite.formats.archives import load_masks

    try:
        annotations = load_masks(read_path(package.place, format, options))
    except ReadError as error:
        raise package.explain(error) from None
    source = annotations.source
    notes = tuple(package.rename(note) for note in source.notes)
    flaws = tuple(replace(flaw, places=tuple(map(package.rename, flaw.places))) for flaw in source.flaws)
    why = package.rename(source.why)
    return annotations.with_source(replace(source, path=package.name, why=why, notes=notes, flaws=flaws))


def write(annotations: Readable, path: str | PathLike[str], format: str) -> tuple[str, ...]:
    """Write annotations to a file or folder in a format; either all of it is written or nothing.

    Parameters
    ----------
    annotations : Annotations, path or object
        Ground truth or predictions; anything that `read` takes.
    path : path
        The file to write, or the folder for formats of one file per image. A folder must not exist or be empty.
    format : str
        Name of the format (see ``verite formats``), such as ``"coco"``, ``"coco-results"``, ``"yolo"``, ``"voc"``.

    Returns
    -------
    tuple of str
        The facts that the format cannot hold and that are therefore lost, such as ``"crowd"`` in YOLO files; empty if
        everything was kept.

    Raises
    ------
    BadParameter
        If the format is unknown or can only be read.
    ReadError
        If the path cannot be written, or the format needs something that the annotations lack: an image size,
        confidences, class names without blanks.

    Examples
    --------
    >>> import tempfile
    >>> import verite as vt
    >>> truth = vt.read({
    ...     "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
    ...     "categories": [{"id": 3, "name": "car"}],
    ...     "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [10, 20, 100, 50]}],
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lost = vt.write(truth, f"{folder}/labels", "voc")
    ...     again = vt.read(f"{folder}/labels")
    >>> again.labels.names, again.regions.sizes.tolist()
    (('car',), [[10.0, 20.0, 100.0, 50.0]])
    >>> "class id" in lost
    True
    """
    from verite.formats.format import facts_of
    from verite.model.annotations import Annotations

    chosen = format_named(format)
    if chosen.write is None:
        raise BadParameter(f"format: {chosen.title} can be read, not written")
    annotations = annotations if isinstance(annotations, Annotations) else read(annotations)
    try:
        chosen.write(annotations, Path(path))
    except OSError as error:
        raise ReadError(path, expected="a file that can be written", found=reason(error)) from None
    return tuple(sorted(facts_of(annotations) - chosen.preserves))
