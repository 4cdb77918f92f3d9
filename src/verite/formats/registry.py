"""The registry of annotation formats: their names, how a path is recognised, and the reference page of all of them.

`recognise` probes a path (first 64 KiB, file names) and asks the formats of `REGISTRY` in order, the most specific one
first. Formats that people have but that verite does not read (TFRecord, VoTT, pickles …) are in `UNSUPPORTED`: the
error names the format and the way to convert it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from verite import _core
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import reason
from verite.formats.format import Format, Options, PathProbe, tail_of
from verite.limits import DEFAULTS, environment_name

# The module of each format's record (or module:name), in the order of recognition: the most specific format first.
REGISTRY = {
    "vision-language": "verite.formats.vision_language",
    "darwin": "verite.formats.darwin",
    "scalabel": "verite.formats.scalabel",
    "sagemaker": "verite.formats.sagemaker",
    "crowdhuman": "verite.formats.crowdhuman",
    "labelbox": "verite.formats.labelbox",
    "superannotate": "verite.formats.superannotate",
    "createml": "verite.formats.createml",
    "supervisely": "verite.formats.supervisely",
    "azure-ml": "verite.formats.azure_ml",
    "vott": "verite.formats.vott",
    "kili": "verite.formats.kili",
    "mmdet": "verite.formats.mmdet",
    "cityscapes-polygons": "verite.formats.cityscapes:POLYGONS",
    "panoptic": "verite.formats.panoptic",
    "youtube-vis": "verite.formats.youtube_vis",
    "lvis": "verite.formats.lvis",
    "datumaro": "verite.formats.datumaro",
    "coco": "verite.formats.coco",
    "coco-results": "verite.formats.coco_results",
    "coco-rotated": "verite.formats.coco_rotated",
    "results-object": "verite.formats.coco_results:RESULTS_OBJECT",
    "json-lines": "verite.formats.coco_results:JSON_LINES",
    "by-image": "verite.formats.by_image",
    "coco-folder": "verite.formats.coco_rotated:COCO_FOLDER",
    "label-studio": "verite.formats.label_studio",
    "via": "verite.formats.via",
    "labelme": "verite.formats.labelme",
    "cvat-video": "verite.formats.cvat:VIDEO",
    "cvat": "verite.formats.cvat",
    "labelme-xml": "verite.formats.labelme:LABELME_XML",
    "voc": "verite.formats.voc",
    "voc-results": "verite.formats.voc:VOC_RESULTS",
    "image-lines": "verite.formats.by_image:IMAGE_LINES",
    "kaggle": "verite.formats.kaggle",
    "imagenet-loc": "verite.formats.imagenet_loc",
    "openimages-predictions": "verite.formats.openimages:CHALLENGE_PREDICTIONS",
    "openimages-labels": "verite.formats.openimages:IMAGE_LABELS",
    "openimages-masks": "verite.formats.openimages:OPENIMAGES_MASKS",
    "openimages": "verite.formats.openimages",
    "table": "verite.formats.table_files",
    "parquet": "verite.formats.table_files:PARQUET",
    "data-yaml": "verite.formats.data_yaml",
    "wider": "verite.formats.wider",
    "visdrone": "verite.formats.visdrone",
    "mots": "verite.formats.mot:MOTS",
    "mot": "verite.formats.mot",
    "kitti": "verite.formats.kitti",
    "kitti-tracking": "verite.formats.kitti:TRACKING",
    "dota": "verite.formats.dota",
    "yolo-pose": "verite.formats.yolo:YOLO_POSE",
    "yolo": "verite.formats.yolo",
    "text": "verite.formats.text",
    "voc-segmentation": "verite.formats.voc:VOC_SEGMENTATION",
    "cityscapes": "verite.formats.cityscapes",
    "mask-pictures": "verite.formats.mask_images",
}


# Of the formats of platforms, a word that their files have: modules of the others are not imported.
MARKS = {
    "darwin": ("slots", "original_filename", "darwin"),
    "scalabel": ("box2d", "poly2d", '"index"'),
    "sagemaker": ("source-ref",),
    "crowdhuman": ('"gtboxes"', '"dtboxes"'),
    "labelbox": ("DataRow ID", "Labeled Data", "data_row", "dataRow"),
    "superannotate": ("className",),
    "createml": ("coordinates",),
    "supervisely": ("classTitle",),
    "azure-ml": ("image_url",),
    "vott": ('"asset',),
    "kili": ("jsonResponse",),
    "by-image": ('"boxes"', '"bbox"'),
    "mmdet": ('"bboxes"', '"scores"'),
    "cityscapes-polygons": ("imgHeight",),
    "youtube-vis": ('"segmentations"', '"bboxes"', '"file_names"'),
    "vision-language": ("box_2d", "<loc", 'g": [', 'G": [', 'g": "', 'G": "'),  # or images as keys of empty answers
}

# The same for documents that may have the word at their end alone.
LATE_MARKS = {
    "datumaro": ('"items"', '"colormap"'),
    "panoptic": ('"segments_info"',),
    "lvis": ('"neg_category_ids"', '"not_exhaustive_category_ids"', '"frequency"'),
}

MARKS_OF = MARKS | LATE_MARKS
ALL_MARKS = [*{mark for marks in MARKS_OF.values() for mark in marks}]


def format_named(name: str) -> Format:
    """Return the format of this name.

    Raises
    ------
    BadParameter
        If no format has this name; the message has the nearest one.

    Examples
    --------
    >>> format_named("voc").title
    'Pascal VOC XML'
    """
    if not isinstance(name, str) or name not in REGISTRY:
        near = did_you_mean(name, REGISTRY)
        raise BadParameter(f"format: expected one of {len(REGISTRY)} (see verite formats), found {name!r}{near}")
    module, _, record = REGISTRY[name].partition(":")
    found: Format = getattr(import_module(module), record or "FORMAT")
    return found


def all_formats() -> list[Format]:
    """Return every format in the order of recognition."""
    return [format_named(name) for name in REGISTRY]


def recognise(path: Path, options: Options, *, is_asked: bool = True) -> tuple[Format, str]:
    """Recognise the format of a file or folder.

    Parameters
    ----------
    path : Path
        An existing file or folder, not packed.
    options : Options
        A CSV file of unusual column names is a table if `options.columns` names them.
    is_asked : bool, default True
        Whether the user named this path; the error then lists folders below it that can be read.

    Returns
    -------
    tuple[Format, str]
        The first format of the registry that recognises the path, and the reason in words.

    Raises
    ------
    ReadError
        If the path is empty, unreadable, or in no known format. The message says what the path looks like, and
        which formats its suffix may stand for (V401).
    """
    probe = PathProbe(path)
    if probe.is_folder and not probe.files:
        raise ReadError(path, expected="annotation files", found="an empty folder")
    if not probe.is_folder and path.stat().st_size == 0:
        raise ReadError(path, expected="annotations", found="an empty file")
    if probe.is_folder:  # with both sides in it, each object would count twice
        folders = {p.name.casefold(): p.name for p in path.iterdir() if p.is_dir()}
        truth = next((folders[name] for name in sorted(folders) if name in TRUTHS), None)
        pred = next((folders[name] for name in sorted(folders) if name in PREDS), None)
        if truth is not None and pred is not None:
            sides = f"{truth}/ and {pred}/ side by side"
            raise ReadError(path, expected="ground truth or predictions", found=sides, remedy="name one of them")
    # Formats with marks are possible where the documents have one, at their beginning or, of some formats, at the end.
    heads = [*probe.documents.values()]
    heads = heads if probe.head.lstrip() in heads else [probe.head, *heads]  # that of a single document once
    start = {mark for head in heads for mark in _core.find_words(head, ALL_MARKS)}
    both = start.union(*(_core.find_words(tail_of(file), ALL_MARKS) for file in probe.documents))
    found = dict.fromkeys(MARKS, start) | dict.fromkeys(LATE_MARKS, both)
    for name in REGISTRY:
        if name in found and found[name].isdisjoint(MARKS_OF[name]):
            continue
        format = format_named(name)
        why = format.recognise(probe)
        if why:
            if name in FILE_PER_IMAGE and probe.is_folder and is_asked and options.split is None:
                check_one_dataset(probe, name, options)
            return format, why
    if options.columns and path.suffix.lower() == ".csv":
        return format_named("table"), f"a CSV file whose columns are named: {', '.join(options.columns)}"
    raise unknown_format(probe, options, is_asked=is_asked)


MOST_NAMED = 8  # formats that the error of an unknown one names


def unknown_format(probe: PathProbe, options: Options, *, is_asked: bool) -> ReadError:
    """Return the error of a path in no known format: what it looks like, and what to do with it."""
    from verite.formats.sizes import size_of_image_file
    from verite.model.images import IMAGE_SUFFIXES

    for file in probe.files[:1000]:
        try:
            file.open("rb").close()
        except OSError as error:
            return ReadError(file, expected="a readable file", found=reason(error))
    if all(file.suffix.lower() in IMAGE_SUFFIXES for file in probe.files):
        size_of_image_file(probe.files[:1])  # refuses an image above the pixel limit
    unsupported = next((format for format in UNSUPPORTED if format.recognise(probe)), None)
    if unsupported is not None:
        what = f"{unsupported.title}, which is recognised but not read"
        return ReadError(probe.path, expected=EXPECTED, found=what, remedy=unsupported.remedy)

    if probe.is_folder:
        suffixes = sorted({p.suffix or p.name for p in probe.files[:1000]})
        line = next((" ".join(words) for words in probe.lines), "") if suffixes == [".txt"] else ""
        found = f"files ending in {', '.join(suffixes[:5])}" + (f", with lines such as {excerpt(line)}" if line else "")
    else:
        start = probe.head[:30]
        found = "bytes that are no UTF-8 text" if "\ufffd" in start else f"text that begins with {start!r}"

    suffix = "" if probe.is_folder else probe.path.suffix.lower()
    remedy = suggest_part(probe, options) if is_asked and probe.is_folder else ""
    if not remedy and probe.is_folder and probe.lines:
        remedy = LAYOUT_HINTS[".txt"]
    elif not remedy:
        fitting = [one.name for one in all_formats() if (suffix in one.suffixes if suffix else not one.suffixes)]
        remedy = f"name its format with {options.spell('format', 'NAME')}"
        remedy += f": {', '.join(fitting)}" if 0 < len(fitting) <= MOST_NAMED else " (see verite formats)"
        remedy = f"{LAYOUT_HINTS[suffix]}; or {remedy}" if suffix in LAYOUT_HINTS else remedy
    return ReadError(probe.path, expected=EXPECTED, found=found, remedy=remedy)


TRUTHS = frozenset({"gt", "gts", "groundtruth", "groundtruths", "ground_truth", "truth"})
PREDS = frozenset(
    {"pred", "preds", "prediction", "predictions", "res", "result", "results", "det", "dets", "detections"}
)


# Formats of one document per image: a folder of them is read file by file.
FILE_PER_IMAGE = frozenset({"darwin", "label-studio", "labelme", "labelme-xml", "scalabel", "superannotate", "voc"})
DOCUMENTS = (".csv", ".json", ".xml")


def check_one_dataset(probe: PathProbe, name: str, options: Options) -> None:
    """Refuse a folder that has annotations of another format too, or in deeper folders: they would be left out."""
    folder, read, left_out = probe.path, set(probe.files), 0
    firsts: dict[tuple[Path, str], Path] = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in DOCUMENTS):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        firsts.setdefault((path.parent, path.suffix), path)
        left_out += path not in read
    found: dict[Path, str] = {}
    for path in list(firsts.values())[:60] if left_out or len(firsts) > 1 else []:
        with suppress(ReadError):
            format, _ = recognise(path, options, is_asked=False)
            if format.name != name or path not in read:
                found[path] = format.name
    if not found:
        return
    first, other = next(iter(found.items()))
    where = "in deeper folders" if other == name else f"of the format {other}"
    choices = folders_below(probe, options) or [f"{path.relative_to(folder)} ({kind})" for path, kind in found.items()]
    raise ReadError(
        folder,
        expected="annotations of one dataset",
        found=f"annotations {where} beside those of the format {name}: {first.relative_to(folder)}",
        remedy=f"name one of them: {', '.join(choices[:6])}",
    )


MOST_TRIED = 60  # folders and files in a folder that are tried


def folders_below(probe: PathProbe, options: Options) -> list[str]:
    """Return the folders below a path, with their formats, that can be read by themselves; of many the first."""
    found = []
    folders = [p for depth in ("*", "*/*", "*/*/*") for p in sorted(probe.path.glob(depth)) if p.is_dir()]
    for folder in folders[:MOST_TRIED]:
        try:
            format, _ = recognise(folder, options, is_asked=False)
        except ReadError:
            continue
        found.append(f"{folder.relative_to(probe.path)} ({format.name})")
    return found[:6]


def suggest_part(probe: PathProbe, options: Options) -> str:
    """Say which folders and files in a folder can be read by themselves; empty if none can."""
    from verite.model.images import IMAGE_SUFFIXES

    below = folders_below(probe, options)
    inside = tuple(probe.path / name.rpartition(" (")[0] for name in below)
    files = []
    for path in probe.files[:MOST_TRIED]:
        with suppress(ReadError):
            if path.suffix.lower() not in IMAGE_SUFFIXES and not any(path.is_relative_to(one) for one in inside):
                files.append((path, recognise(path, options, is_asked=False)[0].name))
    if not below and (len(files) == 1 or len(probe.files) == 1):
        return f"name the file itself: {files[0][0] if files else probe.files[0]}"
    listed = [f"{path.relative_to(probe.path)} ({kind})" for path, kind in files]
    if not below and not listed:
        return ""
    what = "of these" if below and listed else "of the folders" if below else "of the files"
    return f"name one {what} in it: {', '.join([*below[: 6 - min(3, len(listed))], *listed][:6])}"


EXPECTED = "annotations in a format known to verite (V401)"
# What a file of this suffix looks like in the format that most people mean.
LAYOUT_HINTS = {
    ".json": "COCO ground truth is an object with images, annotations and categories, COCO results are a list of "
    "records with image_id, category_id, bbox and score",
    ".txt": "YOLO has lines of class cx cy w h (confidence), text folders of class (confidence) x y w h, with blanks "
    "between numbers and points in them",
    ".csv": "the first line of a table names its columns, e.g. image,label,x,y,width,height,score",
}


EXPORT = "export it as COCO JSON with the tool it comes from"


@dataclass(frozen=True)
class Unsupported:
    """A format that is recognised but not read: its name in messages, how to recognise it, and what to do instead."""

    title: str
    recognise: Callable[[PathProbe], bool]
    remedy: str = EXPORT


def begins(*starts: str) -> Callable[[PathProbe], bool]:
    """Return a test: does the file begin with one of these texts?"""
    return lambda probe: probe.head.startswith(starts)


def has_keys(*keys: str) -> Callable[[PathProbe], bool]:
    """Return a test: is it a JSON document with all of these keys in its first 64 KiB?"""
    return lambda probe: probe.head.lstrip()[:1] in ("{", "[") and all(f'"{key}"' in probe.head for key in keys)


def has_suffix(*suffixes: str) -> Callable[[PathProbe], bool]:
    """Return a test: does one of the first 50 files have one of these suffixes, as a numbered shard or not?"""
    return lambda probe: any(
        re.search(rf"\.({'|'.join(suffixes)})(-\d+-of-\d+)?$", p.name.lower()) for p in probe.files[:50]
    )


def has_line(pattern: str) -> Callable[[PathProbe], bool]:
    """Return a test: does the first line of the first text file have this form?"""

    def fits(probe: PathProbe) -> bool:
        texts = probe.with_suffix(".txt")
        head = probe.head if not probe.is_folder else PathProbe(texts[0]).head if texts else ""
        return bool(texts) and re.fullmatch(pattern, head.partition("\n")[0].strip()) is not None

    return fits


def is_mpii(probe: PathProbe) -> bool:
    """Tell whether a file has MPII's poses: as its MATLAB structure, or as hourglass networks have them."""
    return any(
        has_keys(*keys)(probe) for keys in (("act", "annolist"), ("joint_self", "objpos"), ("joints", "joints_vis"))
    )


def is_utf16(probe: PathProbe) -> bool:
    """Tell whether every other byte is zero, as in UTF-16 text of Windows programs; a byte-order mark may precede."""
    start = probe.head.lstrip("\ufffd\x00")[:40]
    return len(start) > 3 and start[1::2].count("\x00") == len(start) // 2


def is_web_page(probe: PathProbe) -> bool:
    """Tell whether a file is HTML, as saved by a download that failed."""
    return probe.head.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))


VOLUMES = "verite localize compares volumes, two files or two folders of them"

# The unambiguous ones come first.
UNSUPPORTED = (
    Unsupported("UTF-16 text", is_utf16, "save it as UTF-8"),
    Unsupported("a web page", is_web_page, "open it: did a download end in a message?"),
    Unsupported("a pointer of Git LFS", begins("version https://git-lfs."), "get the file itself: git lfs pull"),
    Unsupported("Python's notation", begins("[{'", "{'"), "write JSON: json.dump, not str"),
    Unsupported("a spreadsheet", has_suffix("xlsx", "xls", "ods"), "save it as CSV"),
    Unsupported("a NIfTI volume", has_suffix("nii", r"nii\.gz"), VOLUMES),
    Unsupported(
        "weights or results of PyTorch",
        has_suffix("pth", "pt"),
        "Detectron2 writes coco_instances_results.json beside instances_predictions.pth: name that; or load it where "
        "it is trusted, and hand it to verite.read",
    ),
    Unsupported("a zip file of another name", begins("PK\x03\x04"), "let its name end in .zip"),
    Unsupported("a gzip file of another name", begins("\x1f\ufffd\x08"), "let its name end in .gz"),
    Unsupported("TFRecord", has_suffix("tfrecord", "tfrecords", "record"), "write the examples as COCO JSON first"),
    Unsupported(
        "a NumPy array file",
        begins("\ufffdNUMPY"),
        f"{VOLUMES}; load anything else, and hand it to verite.read",
    ),
    Unsupported("HDF5", begins("\ufffdHDF"), "load it, and hand its columns to verite.read"),
    Unsupported("a MATLAB file", begins("MATLAB 5.0 MAT-file"), "load it, and hand its columns to verite.read"),
    Unsupported("a pickle", has_suffix("pkl", "pickle"), "load it where it is trusted, and hand it to verite.read"),
    Unsupported(
        "Segment Anything's masks (SA-1B), which have no classes",
        has_keys("predicted_iou", "stability_score"),
        "give each mask a class, and write COCO JSON",
    ),
    Unsupported(
        "Dataloop JSON", has_keys("annotations", "datasetId"), "export the dataset as COCO or YOLO: dl.Converter"
    ),
    Unsupported(
        "CVAT's own document of a task",
        has_keys("shapes", "tracks"),
        "export the task as CVAT for images 1.1 or COCO 1.0",
    ),
    Unsupported(
        "ICDAR's text regions (corners and a transcription per line)",
        has_line(r"\ufeff?(\d+\s*,\s*){4}((\d+\s*,\s*){4})?[^,\d\s].*"),
        "write each region as a COCO polygon of the class text",
    ),
    Unsupported(
        "MOTS text (frame, object, class, height, width and RLE per line)",
        has_line(r"\d+ \d+ \d+ \d+ \d+ \S+"),
        "convert it to COCO JSON: the RLE is COCO's own",
    ),
    Unsupported(
        "Label Studio's labelling configuration", begins("<View"), "export the project as JSON, and name that file"
    ),
    Unsupported(
        "tasks of Label Studio without annotations",
        lambda probe: re.match(r'\s*\[\s*\{\s*"data"\s*:\s*\{', probe.head) is not None,
        "export the project as JSON when it is labelled",
    ),
    Unsupported(
        "MTurk results",
        lambda probe: {"AssignmentId", "WorkerId"} <= set(re.findall(r"\w+", probe.head.partition("\n")[0])),
        "parse the column of answers, and write CSV",
    ),
    Unsupported("MPII poses", is_mpii, "convert them to COCO keypoints, as MMPose provides them"),
    Unsupported(
        "an image", begins("\ufffdPNG", "\ufffd\ufffd\ufffd\ufffd\x00\x10JFIF", "GIF8"), "name its annotations"
    ),
)

INTRODUCTION = """\
# Formats

Recognition looks at the first bytes of the files, asks the formats in the order of this table, and says what it decided
and why; `--format`, `--truth-format` and `--pred-format` (`format=` in Python) overrule it.
"""
LIMITS = """\
## Limits
No file is trusted. Each limit appears in its error and can be raised through the environment. XML with a DOCTYPE is
refused.
"""
PACKED = """\
Packed files are read like what is in them: `.gz`, `.zst` (with the extra `[zstd]`) and `.zip`, also of a whole
folder, as tools export it. `-` is standard input. Recognised, but not read, and named as such: {unread}.
"""
OPTIONS = """\
## What each format preserves, and its options
`verite convert` lists the facts that the output format cannot hold; everything else is read back unchanged. Options
that a format does not use are listed as well.
"""


def reference_page() -> str:
    """Return the reference page of all formats as Markdown, generated from their records so that it cannot drift."""

    def table(head: list[str], rows: list[list[str]]) -> str:
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)

    formats, sides = all_formats(), {"truth": "ground truth", "pred": "predictions"}
    overview = [
        [f"`{f.name}`", f.title, " and ".join(sides[side] for side in f.sides), "yes" if f.write else "no", f.about]
        for f in formats
    ]
    details = [
        [
            f"`{f.name}`",
            ", ".join(sorted(f.preserves)) if f.write else "not written",
            ", ".join(sorted(f.requires)),
            ", ".join(f"`{name}`" for name in sorted(f.options)),
        ]
        for f in formats
    ]
    limits = [[name.replace("_", " "), f"{value:,}", f"`{environment_name(name)}`"] for name, value in DEFAULTS.items()]
    return "\n".join(
        [
            INTRODUCTION,
            table(["name", "format", "read as", "written", "description"], overview),
            "",
            PACKED.format(unread=", ".join(format.title for format in UNSUPPORTED)),
            OPTIONS,
            table(["name", "preserves", "requires", "options"], details),
            "",
            LIMITS,
            table(["limit", "value", "raised by"], limits),
            "",
        ]
    )
