"""Files in, files out: look at a path, pick its format, and say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import PACKED, find_path, reason
from verite.formats.shards import find_folder_shards, find_shards, is_many, read_shards
from verite.loading import importing

Readable: TypeAlias = Any  # a path, annotations, or what verite.formats.memory lists

if TYPE_CHECKING:
    from verite.formats.archives import Package
    from verite.formats.format import Format, Options, PathProbe
    from verite.model.annotations import Annotations

# The module of each format's record (or module:name), in the order of recognition: the most particular format first.
REGISTRY = {
    "panoptic": "verite.formats.panoptic",
    "lvis": "verite.formats.lvis",
    "datumaro": "verite.formats.datumaro",
    "coco-rotated": "verite.formats.coco_rotated",
    "coco": "verite.formats.coco",
    "coco-results": "verite.formats.coco_results",
    "results-object": "verite.formats.coco_results:RESULTS_OBJECT",
    "json-lines": "verite.formats.coco_results:JSON_LINES",
    "coco-folder": "verite.formats.coco_rotated:COCO_FOLDER",
    "label-studio": "verite.formats.label_studio",
    "via": "verite.formats.via",
    "labelme": "verite.formats.labelme",
    "cvat": "verite.formats.cvat",
    "voc": "verite.formats.voc",
    "voc-results": "verite.formats.voc_results",
    "imagenet-loc": "verite.formats.imagenet_loc",
    "openimages-predictions": "verite.formats.openimages:CHALLENGE_PREDICTIONS",
    "openimages-labels": "verite.formats.openimages:IMAGE_LABELS",
    "openimages-masks": "verite.formats.openimages:OPENIMAGES_MASKS",
    "openimages": "verite.formats.openimages",
    "table": "verite.formats.table",
    "parquet": "verite.formats.table:PARQUET",
    "data-yaml": "verite.formats.data_yaml",
    "wider": "verite.formats.wider",
    "visdrone": "verite.formats.visdrone",
    "mot": "verite.formats.mot",
    "kitti": "verite.formats.kitti",
    "dota": "verite.formats.dota",
    "yolo-pose": "verite.formats.yolo:YOLO_POSE",
    "yolo": "verite.formats.yolo",
    "text": "verite.formats.text",
    "voc-segmentation": "verite.formats.voc:VOC_SEGMENTATION",
    "cityscapes": "verite.formats.cityscapes",
    "mask-pictures": "verite.formats.mask_images",
}


def format_named(name: str) -> Format:
    """The format of this name.

    >>> format_named("voc").title
    'Pascal VOC XML'
    """
    if not isinstance(name, str) or name not in REGISTRY:
        raise BadParameter(
            f"format: expected one of {', '.join(REGISTRY)}, found {name!r}{did_you_mean(name, REGISTRY)}"
        )
    module, _, record = REGISTRY[name].partition(":")
    found: Format = getattr(import_module(module), record or "FORMAT")
    return found


def all_formats() -> list[Format]:
    """Every format, in the order in which they are asked."""
    return [format_named(name) for name in REGISTRY]


def recognise(path: Path, options: Options) -> tuple[Format, str]:
    """The format of a path, and why it is thought to be that."""
    from verite.formats.format import PathProbe

    look = PathProbe(path)
    if look.is_folder and not look.files:
        raise ReadError(path, expected="annotation files", found="an empty folder")
    if not look.is_folder and path.stat().st_size == 0:
        raise ReadError(path, expected="annotations", found="an empty file")
    for name in REGISTRY:
        format = format_named(name)
        why = format.recognise(look)
        if why:
            return format, why
    if options.columns and path.suffix.lower() == ".csv":
        return format_named("table"), f"a CSV file whose columns are named: {', '.join(options.columns)}"
    from verite.formats.unread import name_unread

    check_readable(look)
    unread = name_unread(look)
    if unread is not None:
        found = f"{unread.title}, which is recognised but not read"
        raise ReadError(path, expected=KNOWN, found=found, remedy=unread.remedy)
    raise ReadError(path, expected=KNOWN, found=kind_of(look), remedy=way_out(look, options))


def check_readable(look: PathProbe) -> None:
    """A file that cannot be opened, or a picture too large to be, is no unknown format."""
    from verite.formats.sizes import picture_size
    from verite.model.images import IMAGE_SUFFIXES

    for path in look.files[:1000]:
        try:
            path.open("rb").close()
        except OSError as error:
            raise ReadError(path, expected="a readable file", found=reason(error)) from None
    if all(path.suffix.lower() in IMAGE_SUFFIXES for path in look.files):
        picture_size(look.files[:1])


KNOWN = "annotations in a format known to verite (V401)"
# What files of a kind must have to be one of the formats most people mean.
MEANT = {
    ".json": "COCO's truth is an object with images, annotations and categories, COCO's results are a list of records "
    "with image_id, category_id, bbox and score",
    ".txt": "YOLO has lines of class cx cy w h (confidence), text folders of class (confidence) x y w h, with blanks "
    "between numbers and points in them",
    ".csv": "the first line of a table names its columns, e.g. image,label,x,y,width,height,score",
}


def kind_of(look: PathProbe) -> str:
    """What a path that nobody recognises looks like."""
    if look.is_folder:
        kinds = sorted({p.suffix or p.name for p in look.files[:1000]})
        line = next((" ".join(words) for words in look.lines), "") if kinds == [".txt"] else ""
        return f"files ending in {', '.join(kinds[:5])}" + (f", with lines such as {excerpt(line)}" if line else "")
    start = look.head[:30]
    return "bytes that are no UTF-8 text" if "\ufffd" in start else f"text that begins with {start!r}"


def way_out(look: PathProbe, options: Options) -> str:
    """What to do with a path that nobody recognises: the formats it may be in, by its suffix."""
    if look.is_folder and len(look.files) == 1:
        return f"name the file itself: {look.files[0]}"
    suffix = "" if look.is_folder else look.path.suffix.lower()
    if look.is_folder and look.lines:
        return MEANT[".txt"]
    fitting = [
        format.name for format in all_formats() if (suffix in format.suffixes if suffix else not format.suffixes)
    ]
    named = f"name its format with {options.spell('format', 'NAME')}" + (f": {', '.join(fitting)}" if fitting else "")
    return f"{MEANT[suffix]}; or {named}" if suffix in MEANT else named


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
) -> Annotations:
    """Annotations of any known format, from a file, a folder, or what is in memory already.

    Several files are one side: a list of paths, a glob as ``"gt/*.json"``, a folder of shards, or ``"@files.txt"``,
    a file a line. In memory there may be COCO dictionaries and lists of COCO results, pycocotools' objects, lists of
    torchvision's dictionaries, `supervision.Detections`, tables (anything that speaks Arrow: polars, pyarrow, DuckDB,
    pandas), numpy's structured arrays or dictionaries of columns; ``columns`` says which column is which where names
    are unusual; masks and label images as arrays, one, a list, a stack or a dictionary by image.

    Predictions are read with ``like=truth``: they take over the truth's images and labels, found by name or id.
    What the file was taken for, and why, is in ``.source``. Whatever a file does not say, or says wrongly, can be
    said here: what the four numbers of a box are (``boxes="xyxy"``), in what they are measured (``coords="rel"``), how
    the angle of rotated boxes is written (``angle="radians"``), the size of the images or the folder they are in, the
    names of the classes, numbers to add to ids, what the pixels of mask pictures are (``masks="classes"``) and from
    which grey on a pixel belongs to the object (``mask_threshold=0.5``).

    >>> truth = read("truth.json")                                   # doctest: +SKIP
    >>> pred = read("detections.json", like=truth, boxes="xyxy")     # doctest: +SKIP
    """
    with importing():
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
        like=like,
    )
    if isinstance(source, str) and source.lstrip()[:2] in ("[{", '{"', "[]"):
        raise BadParameter(
            f"annotations: expected a path, found JSON, {excerpt(source, 40)}; hand over json.loads(…) of it"
        )
    if isinstance(source, (str, PathLike)) or is_many(source):
        return read_given(source, format, options)
    if format is not None:
        raise BadParameter(f"format: expected none for what is in memory already, found {format!r}")
    from verite.formats.memory import take

    annotations = take(source, options)
    annotations = annotations.with_source(replace(annotations.source, layout=boxes))
    return annotations if like is None else annotations.like(like)


def read_pair(truth: Readable, pred: Readable, **how: Any) -> tuple[Annotations, Annotations]:
    """Both sides of an evaluation, whatever they come as; predictions that are read take over the truth's tables."""
    from verite.model.annotations import Annotations

    known = truth if isinstance(truth, Annotations) else read(truth, **how)
    return known, pred if isinstance(pred, Annotations) else read(pred, like=known, **how)


def read_given(source: Any, format: str | None, options: Options) -> Annotations:
    """A path that somebody names, packed or not; `-` is standard input. Several paths or a glob are one side."""
    if is_many(source):
        return read_shards(source, options, lambda path, options: read_as(path, format, options))
    if source == "-":
        from verite.formats.archives import new_folder, unpack_standard_input

        with new_folder() as folder:
            return read_package(unpack_standard_input(folder), format, options)
    return read_as(find_path(source), format, options)


def read_as(path: Path, format: str | None, options: Options) -> Annotations:
    """A path in this format, or in the one it looks like; aligned with the truth if there is one."""
    from verite.formats.format import check_offsets, name_unused

    if not path.is_dir() and not path.is_file():
        raise ReadError(path, expected="a file or folder", found="a device or pipe", remedy="save it to a file first")
    if path.suffix.lower() in PACKED and path.is_file():
        from verite.formats.archives import new_folder, unpack

        with new_folder() as folder:
            return read_package(unpack(path, folder), format, options)
    if format is None and path.is_dir():
        shards = find_folder_shards(path, lambda file: name_format(file, options))
        if shards:
            from verite.formats.shards import files_of_split

            shards, _ = files_of_split(path, shards, options, by_name=True)
            return read_shards(shards, options, lambda file, options: read_as(file, None, options), str(path))
    try:
        chosen, why = (format_named(format), "named by the user") if format is not None else recognise(path, options)
        annotations = chosen.read(path, options)
    except OSError as error:
        raise ReadError(error.filename or path, expected="something readable", found=reason(error)) from None
    check_offsets(annotations, chosen, options)
    source = annotations.source
    why = "; ".join(w for w in (why, source.why) if w)
    notes = (*source.notes, *name_unused(chosen, options))
    annotations = annotations.with_source(replace(source, why=why, notes=notes, layout=options.boxes))
    return annotations if options.like is None else annotations.like(options.like)


def list_shards(side: Any) -> list[Any]:
    """The shards of a glob, of a list, or of a folder of them; anything else is one."""
    from verite.formats.format import Options

    if not isinstance(side, (str, PathLike)):
        return list(side) if isinstance(side, (list, tuple)) else [side]
    if is_many(side):
        return list(find_shards(side))
    folder = Path(side)
    shards = find_folder_shards(folder, lambda file: name_format(file, Options())) if folder.is_dir() else []
    return list(shards) or [side]


def name_format(path: Path, options: Options) -> str:
    """The name of the format that a file is in, packed or not."""
    if path.suffix.lower() not in PACKED:
        return recognise(path, options)[0].name
    from verite.formats.archives import new_folder, unpack

    with new_folder() as folder:
        package = unpack(path, folder)
        try:
            return recognise(package.place, options)[0].name
        except ReadError as error:
            raise package.explain(error) from None


def read_package(package: Package, format: str | None, options: Options) -> Annotations:
    """The contents of a package, in whose name everything is said."""
    from verite.formats.archives import load_outlines

    try:
        annotations = load_outlines(read_as(package.place, format, options))
    except ReadError as error:
        raise package.explain(error) from None
    source = annotations.source
    notes = tuple(package.rename(note) for note in source.notes)
    flaws = tuple(replace(flaw, places=tuple(map(package.rename, flaw.places))) for flaw in source.flaws)
    why = package.rename(source.why)
    return annotations.with_source(replace(source, path=package.name, why=why, notes=notes, flaws=flaws))


def write(annotations: Readable, path: str | PathLike[str], format: str) -> tuple[str, ...]:
    """Write annotations, or whatever `read` takes, whole or not at all.

    Returns the facts that the format cannot hold, in words.

    >>> write(truth, "truth-voc", "voc")    # doctest: +SKIP
    ()
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
        raise ReadError(path, expected="a place to write", found=reason(error)) from None
    return tuple(sorted(facts_of(annotations) - chosen.preserves))
