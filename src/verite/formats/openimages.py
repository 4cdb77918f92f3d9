"""Open Images boxes: one CSV, a line per object, corners as fractions of the image.

`ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside` is a
truth; columns come in any order, only ImageID, LabelName and the corners must be there. `ImageWidth,ImageHeight,Mask`
add the size of the image and an encoded mask. A column `Score` or `Conf` makes predictions. `Confidence` does so only
where no `Is…` column stands beside it and some value is not 1: in ground truth it is 1 or empty. Decimal commas and
semicolons as separators occur and are read.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from verite import _core
from verite.arrays import np
from verite.csv_files import SHORT, lines_of
from verite.errors import DataError, ErrorCollector, ReadError, excerpt
from verite.files import find_path, write_atomically
from verite.formats.format import FRAMES, Format, Options, PathProbe, check_ends, check_name, check_words
from verite.formats.imagenet_loc import LONGEST, objects_in, words_per_object
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_runs, check_mask_size, parse_runs
from verite.formats.rows import Rows
from verite.formats.shards import choose_split, image_key
from verite.formats.sizes import check_size, fractions, open_image
from verite.formats.table_files import header_columns, read_csv_table, single_csv_file
from verite.formats.text_lines import to_number
from verite.model.annotations import Annotations, Source
from verite.model.classes import ABSENT, PRESENT, Hierarchy, ImageLevelLabels, Labels
from verite.model.images import Images, split_of
from verite.model.rasters import runs_of
from verite.model.regions import MASK, Regions
from verite.model.styles import csv_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE_PARENT = "give every class one parent (V416)"


class Node(msgspec.Struct):
    LabelName: str
    Subcategory: list[Node] = []


def read_hierarchy(path: str | PathLike[str]) -> Hierarchy:
    """The official JSON: nested `LabelName` and `Subcategory`; `Part` says nothing of kinds. The root is left out."""
    file = find_path(path)
    root = decode(file, Node)

    def paths(node: Node, above: tuple[str, ...], place: str) -> Iterator[tuple[str, ...]]:
        for i, child in enumerate(node.Subcategory):
            where = f"{place}.Subcategory[{i}]"
            check_name(f"{file}: {where}.LabelName".replace(": .", ": "), child.LabelName)
            if child.LabelName in above or child.LabelName == root.LabelName:
                found = f"{excerpt(child.LabelName)} below itself, a circle"
                raise ReadError(
                    f"{file}: {where}".replace(": .", ": "), expected="a tree", found=found, remedy=ONE_PARENT
                )
            mine = (*above, child.LabelName)
            yield mine
            yield from paths(child, mine, where)

    try:
        return Hierarchy.of_paths(paths(root, (), ""))
    except DataError as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(file, expected="a tree", found=str(error).partition("found ")[2], remedy=ONE_PARENT) from None


def read_descriptions(path: str | PathLike[str]) -> dict[str, str]:
    """`/m/01g317,Person` a line, with or without a header; classes of the same name differ by their codes."""
    file = find_path(path)
    found: dict[str, str] = {}
    for number, line in lines_of(file):
        where = f"{file}:{number}"
        if number == 1 and [cell.strip().casefold() for cell in line] == ["labelname", "displayname"]:
            continue
        if len(line) != 2:
            raise ReadError(where, expected="CODE,NAME", found=excerpt(",".join(line)))
        code, name = (cell.strip() for cell in line)
        check_name(where, code)
        check_name(where, name)
        if code in found:
            raise ReadError(where, expected="each class once", found=f"a second {excerpt(code)}")
        found[code] = name
    counts = Counter(found.values())
    return {code: f"{name} ({code})" if counts[name] > 1 else name for code, name in found.items()}


LONGEST_ENCODED = 1 << 26  # bytes of one mask's text, however far it was compressed


def decode_mask(text: str, height: int, width: int, where: str) -> NDArray[np.uint32]:
    """The runs of a mask of this size."""
    check_mask_size(where, height, width)
    expected = "a mask: COCO's run-length text, compressed with zlib, in base 64"
    try:
        packed = base64.b64decode(text.encode("ascii"), validate=True)
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, LONGEST_ENCODED)
    except (binascii.Error, zlib.error, UnicodeEncodeError) as error:
        raise ReadError(where, expected=expected, found=f"{excerpt(text, 30)} ({error})") from None
    if not unpacker.eof or unpacker.unconsumed_tail:
        raise ReadError(where, expected=expected, found=f"{excerpt(text, 30)}, which is cut off or far too long")
    return parse_runs(where, plain.decode("latin-1"), height, width)


def parse_side(cell: str, where: str, column: str) -> int:
    """Width or height of an image in a cell.

    Parameters
    ----------
    cell
        The cell; tables from pandas hold `640.0`.
    where
        File and line, for messages.
    column
        Name of the column, for messages.
    """
    word = cell.strip().removesuffix(".0")
    if not word.isdecimal() or len(word) > 9:
        raise ReadError(where, expected=f"whole pixels in {column}", found=excerpt(cell))
    return int(word)


CORNERS = ("XMin", "YMin", "XMax", "YMax")

REQUIRED = ("ImageID", "LabelName", *CORNERS)

FLAG_COLUMNS = {
    "IsOccluded": "occluded",
    "IsTruncated": "truncated",
    "IsGroupOf": "group_of",
    "IsDepiction": "depiction",
    "IsInside": "inside",
}

SCORES = ("Score", "Conf")

MASKED = ("ImageWidth", "ImageHeight", "Mask")  # the size of the image, and an encoded mask where there is one

COLUMNS = (*REQUIRED, *FLAG_COLUMNS, *SCORES, "Confidence", *MASKED)

YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false", "", "-1", "-1.0")  # -1: not verified

LONGEST_MASK = 1 << 24  # characters of a mask

NO_CONFIDENCE = ("", "1", "1.0")


BOX_FILE = "-annotations-bbox"


def box_files(folder: Path) -> dict[str, Path]:
    """Return the box files of a folder by split: `validation-annotations-bbox.csv`, `oidv6-train-annotations-…`."""
    files = {file.stem.removesuffix(BOX_FILE): file for file in sorted(folder.glob(f"*{BOX_FILE}.csv"))}
    return {name.rpartition("-")[2]: file for name, file in files.items() if split_of(name.rpartition("-")[2])}


def images_of_boxes(file: Path) -> set[str]:
    """Return the images of a box file, as `choose_split` compares them."""
    images = read(file, Options()).images
    return {image_key(images.name(i)) for i in range(len(images))}


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Open Images boxes: a CSV file with its required columns, or a folder of such files."""
    if probe.is_folder and box_files(probe.path):
        return f"a folder with *{BOX_FILE}.csv"
    known = header_columns(probe, REQUIRED)
    return f"a CSV file with the columns {', '.join(REQUIRED)}" if len(known) == len(REQUIRED) else None


def read(path: Path, options: Options) -> Annotations:
    """Read the boxes of an Open Images CSV; of the dataset's folder those of one split."""
    if path.is_dir() and (parts := box_files(path)):
        name, file = choose_split(path, parts, options, expected="boxes of a split", images_of=images_of_boxes)
        found = read(file, replace(options, split=None))
        is_chosen = options.split is None and len(parts) > 1
        why = f"the split {name}" + (", which has the predicted images" if is_chosen else "")
        return found.with_source(replace(found.source, path=str(path), why=f"{why}; {found.source.why}"))
    longest = LONGEST_MASK if header_columns(PathProbe(path), MASKED) else SHORT
    sheet = read_csv_table(path, REQUIRED, COLUMNS, longest=longest)
    if "Mask" in sheet.columns and not all(name in sheet.columns for name in MASKED):
        place = f"{sheet.file}:1"
        raise ReadError(place, expected="columns ImageWidth and ImageHeight beside Mask", found="one alone")
    rows = Rows(path, options)
    score = next((name for name in SCORES if name in sheet.columns), None)
    beside = next((name for name in FLAG_COLUMNS if name in sheet.columns), None)
    is_scored = score is None and has_confidences(sheet.columns, sheet.lines)
    if score is not None:
        why = f"predictions, because there is a column {score}"
    elif beside is not None:
        why = f"ground truth, because there is a column {beside} and none named Score"
    elif is_scored:
        score, why = "Confidence", "predictions, because not every Confidence is 1 or empty"
    else:
        why = "ground truth, because there is no column Score, nor a Confidence other than 1"
    if score is None and is_scored:
        rows.notes.append("Confidence left out: beside IsGroupOf and the like it is the annotators', not a detector's")
    for where, line in sheet.records(rows.errors):
        with rows.errors:
            add_line(rows, where, line, score)
    return rows.annotations("openimages", layout="xyxy", coords="rel", why=why)


def has_confidences(columns: dict[str, int], body: list[tuple[int, list[str]]]) -> bool:
    """Whether a column Confidence has other values than 1 or empty."""
    at = columns.get("Confidence")
    return at is not None and any(line[at].strip() not in NO_CONFIDENCE for _, line in body if at < len(line))


def add_line(rows: Rows, where: str, cells: dict[str, str], score: str | None) -> None:
    box = [decimal(cells[name], where, name) for name in CORNERS]
    confidence = decimal(cells[score], where, score) if score and cells[score].strip() else None
    flags = [flag for column, flag in FLAG_COLUMNS.items() if column in cells and is_yes(cells[column], where, column)]
    runs = None
    if all(name in cells for name in MASKED[:2]):
        width, height = (parse_side(cells[name], where, name) for name in MASKED[:2])
        check_size(where, width, height)
        known = rows.images.get(cells["ImageID"], (width, height))
        if known != (width, height):
            expected = f"{known[0]} x {known[1]} pixels as elsewhere in {excerpt(cells['ImageID'])}"
            raise ReadError(where, expected=expected, found=f"{width} x {height}")
        rows.remember_image(where, cells["ImageID"], (width, height))
        if cells.get("Mask", "").strip():
            runs = (decode_mask(cells["Mask"].strip(), height, width, where), (height, width))
    rows.add(where, cells["ImageID"], cells["LabelName"], box, confidence, runs=runs, flags=flags)


def decimal(cell: str, where: str, column: str) -> float:
    """A number, its decimal point perhaps a comma."""
    is_comma = cell.count(",") == 1 and "." not in cell
    return to_number(cell.replace(",", ".") if is_comma else cell, where, f"a number in {column}")


def is_yes(cell: str, where: str, column: str) -> bool:
    word = cell.strip().lower()
    if word not in YES and word not in NO:
        raise ReadError(where, expected=f"1, 0 or -1 in {column}", found=excerpt(cell))
    return word in YES


def write(annotations: Annotations, path: Path) -> None:
    """Write an Open Images CSV."""
    corners = fractions(annotations, path).boxes.tolist()
    flags = {column: annotations.flag(flag) for column, flag in FLAG_COLUMNS.items()}
    confidence = annotations.confidence
    if confidence is not None:  # predictions carry flags only where they have some
        flags = {column: values for column, values in flags.items() if values.any()}
    rows: list[Sequence[object]] = [
        ["ImageID", "LabelName", *([] if confidence is None else ["Score"]), *CORNERS, *flags]
    ]
    for row, box in enumerate(corners):
        image, label = int(annotations.image[row]), int(annotations.label[row])
        score = [] if confidence is None else [repr(float(confidence[row]))]
        names = [annotations.images.name(image), annotations.labels.name(label)]
        rows.append([*names, *score, *map(repr, box), *(int(values[row]) for values in flags.values())])
    write_atomically(path, csv_text(rows))


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "image folder or suffix",
        "image name",
        *FLAG_COLUMNS.values(),
    }
)

FORMAT = Format(
    name="openimages",
    title="Open Images CSV",
    about="boxes as CSV in fractions; decimal commas are understood; IsGroupOf and the other flags",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"image size"}),
    options=FRAMES | {"split"},
    suffixes=(".csv",),
)

IMAGE_LABELS_REQUIRED = ("ImageID", "LabelName", "Confidence")

SAID = {"1": PRESENT, "1.0": PRESENT, "0": ABSENT, "0.0": ABSENT}


def recognise_image_labels(probe: PathProbe) -> str | None:
    if len(header_columns(probe, IMAGE_LABELS_REQUIRED)) == len(IMAGE_LABELS_REQUIRED) and not header_columns(
        probe, CORNERS
    ):
        return "a CSV file with ImageID, LabelName and Confidence, and no boxes"
    return None


def read_image_labels(path: Path, options: Options) -> Annotations:
    images: dict[str, int] = {}
    labels: dict[str, int] = {}
    rows = []
    errors = ErrorCollector()
    for where, line in read_csv_table(path, IMAGE_LABELS_REQUIRED, IMAGE_LABELS_REQUIRED).records(errors):
        with errors:
            image, label, word = (line[name].strip() for name in IMAGE_LABELS_REQUIRED)
            if not image:
                raise ReadError(where, expected="the name of an image", found="an empty one")
            check_name(where, label)
            if word not in SAID:
                expected = "1 or 0 in Confidence: is the class in the image or not"
                raise ReadError(
                    where, expected=expected, found=excerpt(word), remedy="take labels that people verified"
                )
            rows.append((images.setdefault(image, len(images)), labels.setdefault(label, len(labels)), SAID[word]))
    none = np.empty(0, dtype=np.int32)
    return Annotations(
        images=Images(list(images)),
        labels=Labels(list(labels)),
        image=none,
        label=none,
        regions=Regions(np.empty((0, 4))),
        verdicts=ImageLevelLabels.of(rows),
        unit="rel",
        source=Source(str(path), "openimages-labels", flaws=errors.flaws),
    )


def write_image_labels(annotations: Annotations, path: Path) -> None:
    said = annotations.verdicts
    if said is None or not np.isin(said.kind, (PRESENT, ABSENT)).all():
        found = "none" if said is None else "others, too"
        raise ReadError(path, expected="classes that are in whole images or not", found=found)
    rows: list[Sequence[object]] = [IMAGE_LABELS_REQUIRED]
    for image, label, kind in zip(said.image, said.label, said.kind, strict=True):
        rows.append([annotations.images.name(int(image)), annotations.labels.name(int(label)), int(kind == PRESENT)])
    write_atomically(path, csv_text(rows))


IMAGE_LABELS_HOLDS = frozenset(
    {"class name", "classes of whole images", "empty image", "image folder or suffix", "image name", "unused class"}
)

IMAGE_LABELS = Format(
    name="openimages-labels",
    title="Open Images labels of images",
    about="which classes people verified in each image, as CSV; annotations without objects",
    recognise=recognise_image_labels,
    read=read_image_labels,
    write=write_image_labels,
    preserves=IMAGE_LABELS_HOLDS,
    requires=frozenset({"classes of whole images"}),
    options=frozenset(),
    suffixes=(".csv",),
    sides=("truth",),
)

CHALLENGE_PREDICTIONS_REQUIRED = ("ImageID", "PredictionString")

SIZES = ("ImageWidth", "ImageHeight")

BOX_WORDS, BOX_WORDING = 6, "LABEL CONFIDENCE XMIN YMIN XMAX YMAX"

MASK_WORDS, MASK_WORDING = 3, "LABEL CONFIDENCE MASK"


def recognise_challenge_predictions(probe: PathProbe) -> str | None:
    if len(header_columns(probe, CHALLENGE_PREDICTIONS_REQUIRED)) != len(CHALLENGE_PREDICTIONS_REQUIRED):
        return None
    if len(header_columns(probe, SIZES)) == len(SIZES):
        return "a CSV file with ImageID, sizes and PredictionString, a label, a confidence and a mask per object"
    if words_per_object(probe) == BOX_WORDS:
        return "a CSV file with ImageID and PredictionString, a label and five numbers per object"
    return None


def read_challenge_predictions(path: Path, options: Options) -> Annotations:
    sheet = read_csv_table(
        path, CHALLENGE_PREDICTIONS_REQUIRED, (*CHALLENGE_PREDICTIONS_REQUIRED, *SIZES), longest=LONGEST
    )
    has_masks = all(name in sheet.columns for name in SIZES)
    rows = Rows(path, options)
    for where, line in sheet.records(rows.errors):
        with rows.errors:
            # The objects of one image.
            image = line["ImageID"].strip()
            if has_masks:
                width, height = (parse_side(line[name], where, name) for name in SIZES)
                rows.add_image(where, image, width, height)
                words = line["PredictionString"].split()
                if len(words) % MASK_WORDS:
                    found = f"{len(words)} words ({excerpt(' '.join(words[-MASK_WORDS:]))} at the end)"
                    raise ReadError(where, expected=f"{MASK_WORDS} words per object, {MASK_WORDING}", found=found)
                for i in range(0, len(words), MASK_WORDS):
                    label, word, mask = words[i : i + MASK_WORDS]
                    runs = decode_mask(mask, height, width, where)
                    score = to_number(word, where, f"a number in {MASK_WORDING}")
                    rows.add(where, image, label, bounds_of_runs(runs, height), score, runs=(runs, (height, width)))
            else:
                rows.add_image(where, image)
                for label, (confidence, *box) in objects_in(line["PredictionString"], BOX_WORDS, BOX_WORDING, where):
                    rows.add(where, image, label, box, confidence)
    if has_masks:
        return rows.annotations("openimages-predictions", layout="xywh")
    return rows.annotations("openimages-predictions", layout="xyxy", coords="rel")


def write_challenge_predictions(annotations: Annotations, path: Path) -> None:
    if annotations.confidence is None and len(annotations):
        raise ReadError(path, expected="predictions", found="objects without confidence")
    check_words(path, annotations.labels.all_names)
    check_ends(path, annotations.images.names or (), "image names")
    kinds = annotations.regions.kinds
    has_masks = bool(len(annotations)) and bool((kinds == MASK).all())
    if not has_masks and (kinds == MASK).any():
        found = f"{int((kinds == MASK).sum())} of {len(kinds)}"
        raise ReadError(path, expected="masks for all objects or for none", found=found, remedy="write them apart")
    texts: list[list[str]] = [[] for _ in range(len(annotations.images))]
    boxes = [] if has_masks else fractions(annotations, path).boxes.tolist()
    runs = annotations.regions.runs
    for row, image in enumerate(annotations.image.tolist()):
        assert annotations.confidence is not None
        texts[image] += [annotations.labels.name(int(annotations.label[row])), repr(float(annotations.confidence[row]))]
        if has_masks and runs is not None:
            # A mask as a word without blanks.
            texts[image].append(
                base64.b64encode(zlib.compress(_core.encode_runs(np.ascontiguousarray(runs[row])), 9)).decode()
            )
        else:
            texts[image] += map(repr, boxes[row])
    rows: list[Sequence[object]] = [["ImageID", *(SIZES if has_masks else ()), "PredictionString"]]
    images = annotations.images
    for i, words in enumerate(texts):
        sizes = [int(images.widths[i]), int(images.heights[i])] if has_masks else []
        rows.append([images.name(i), *sizes, " ".join(words)])
    write_atomically(path, csv_text(rows))


CHALLENGE_PREDICTIONS_HOLDS = frozenset(
    {
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image name",
        "mask",
    }
)

CHALLENGE_PREDICTIONS = Format(
    name="openimages-predictions",
    title="Open Images challenge predictions",
    about="a CSV line per image with a `PredictionString` of boxes or masks",
    recognise=recognise_challenge_predictions,
    read=read_challenge_predictions,
    write=write_challenge_predictions,
    preserves=CHALLENGE_PREDICTIONS_HOLDS,
    requires=frozenset({"class names without blanks", "confidence", "image size", "masks for all objects or none"}),
    suffixes=(".csv",),
    sides=("pred",),
)

OPENIMAGES_MASKS_CORNERS = ("BoxXMin", "BoxYMin", "BoxXMax", "BoxYMax")

OPENIMAGES_MASKS_REQUIRED = ("MaskPath", "ImageID", "LabelName", *OPENIMAGES_MASKS_CORNERS)


def recognise_openimages_masks(probe: PathProbe) -> str | None:
    if len(header_columns(probe, OPENIMAGES_MASKS_REQUIRED)) == len(OPENIMAGES_MASKS_REQUIRED):
        return f"a CSV file with the columns {', '.join(REQUIRED)}"
    return None


def read_openimages_masks(path: Path, options: Options) -> Annotations:
    folder = options.images if options.images is not None else single_csv_file(path).parent
    places = {file.name: file for file in sorted(folder.rglob("*.png"), reverse=True)}
    rows = Rows(path, options)
    for where, line in read_csv_table(path, OPENIMAGES_MASKS_REQUIRED, OPENIMAGES_MASKS_REQUIRED).records(rows.errors):
        with rows.errors:
            file_name = line["MaskPath"].strip()
            if file_name not in places:
                remedy = f"name the folder of the PNGs with {options.spell('images', 'FOLDER')}"
                expected = f"a PNG {excerpt(file_name)} below {folder}"
                raise ReadError(where, expected=expected, found="none", remedy=remedy)
            with open_image(places[file_name], ["PNG"]) as image:
                size = image.size
                pixels = np.asarray(image.convert("L")) > 0
            name = line["ImageID"].strip()
            known = rows.images.get(name, size)
            if known != size:
                found = f"{size[0]} x {size[1]} in {places[file_name]}"
                raise ReadError(where, expected=f"masks of {known[0]} x {known[1]} in {name}", found=found)
            rows.remember_image(where, name, size)
            box = [decimal(line[key], where, key) * size[i % 2] for i, key in enumerate(OPENIMAGES_MASKS_CORNERS)]
            rows.add(where, name, line["LabelName"].strip(), box, runs=(runs_of(pixels[None])[0], (size[1], size[0])))
    return rows.annotations("openimages-masks", layout="xyxy")


OPENIMAGES_MASKS = Format(
    name="openimages-masks",
    title="Open Images segmentation CSV",
    about="a CSV line per object that names a PNG; the PNGs are beside it or below `images`",
    recognise=recognise_openimages_masks,
    read=read_openimages_masks,
    options=frozenset({"boxes", "images"}),
    suffixes=(".csv",),
    sides=("truth",),
)
