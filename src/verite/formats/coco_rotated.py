"""COCO JSON with rotated boxes (oriented bounding boxes, OBB): centre x, centre y, width, height and angle.

The five numbers are in `bbox`, or in `obb` or `rotated` beside it. The angle turns clockwise as seen on the screen, in
degrees; in `obb` it is in radians, as hotcoco writes it. The option `angle` overrides this: detectron2 writes
`degrees-ccw`, mmrotate `radians`. Each rotated box becomes the polygon of its corners with its bounding box.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import ReadError, to_format
from verite.formats import coco, lvis, panoptic
from verite.formats.format import Format, Options, PathProbe
from verite.formats.shards import choose_split, image_key
from verite.model.annotations import FIVE_NUMBERS, Annotations
from verite.model.layouts import Floats
from verite.model.polygons import Polygons
from verite.model.regions import Regions, boxes_of, corners_of, quads_of

if TYPE_CHECKING:
    from verite.files import JsonObject

ANGLE, OBB_ANGLE = "degrees", "radians"  # as numbers in bbox or rotated, and in obb, are read

TURN = 6.2832  # once around, in radians

FEWEST = 8  # different angles before their unit is called wrong


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is COCO JSON with rotated boxes: some box near the beginning has five numbers."""
    why = coco.recognise_document(probe)
    return f"{why}, and boxes of five numbers" if why and not coco.recognise(probe) else None


def read(path: Path, options: Options) -> Annotations:
    """Read a COCO document whose boxes are rotated."""
    found = coco.read(path, options)
    return found.with_source(replace(found.source, format="coco-rotated"))


def turn(path: Path, file: _core.CocoFile, regions: _core.Regions, options: Options) -> tuple[_core.Regions, str]:
    """Convert boxes of five numbers to polygons.

    Returns
    -------
    tuple[_core.Regions, str]
        Bounding boxes with polygons of four corners, and a note on the unit and direction of the angle.
    """
    angles = file.angles
    assert angles is not None
    four = int(np.isnan(angles).sum())
    if four:
        raise ReadError(path, expected="five numbers in every box", found=f"{four} of {len(angles)} with four or none")
    name = options.angle or (OBB_ANGLE if file.has_obb else ANGLE)
    check_unit(path, angles, name, options)
    from verite.model.ragged import offsets_of

    kept = Regions.over(regions)
    corners = corners_of(np.column_stack([kept.values, angles]), name)
    count = np.arange(len(corners))
    polygons = Polygons(corners.reshape(-1, 2), offsets_of(count * 0 + 4), offsets_of(count * 0 + 1))
    bounds = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    turned = Regions(bounds, "xyxy", polygons=polygons, keypoints=kept.keypoints)
    side = "counterclockwise" if name.endswith("ccw") else "clockwise"
    return turned.native, f"{FIVE_NUMBERS} in {name.removesuffix('-ccw')}, {side}"


def check_unit(path: Path, angles: Floats, name: str, options: Options) -> None:
    """Refuse angles that cannot be in the stated unit (V430), or that are unlikely in the default one.

    Radians end at 2π, so larger values are degrees. Many different angles, all below 2π, are probably radians; a unit
    given by the user is not questioned then.
    """
    widest = float(np.abs(angles).max(initial=0.0))
    is_turned = np.unique(angles[angles != 0]).size >= FEWEST
    if name.startswith("radians") and widest > 2 * TURN:
        expected = "angles in radians (V430)"
        raise ReadError(path, expected=expected, found=f"{widest:g}", remedy=options.spell("angle", "degrees"))
    if options.angle is None and name == ANGLE and is_turned and widest <= TURN:
        expected = "angles in degrees (V430)"
        remedy = f"are these radians? say {options.spell('angle', 'radians')} or {options.spell('angle', 'degrees')}"
        raise ReadError(path, expected=expected, found=f"none beyond {widest:.3g}", remedy=remedy)


def write(annotations: Annotations, path: Path) -> None:
    """Write a COCO document with rotated boxes, angles in degrees clockwise. Objects with confidences get a `score`."""
    from verite.formats.coco import document_of
    from verite.formats.json_documents import write_json

    quads = quads_of(annotations.regions)
    if quads is None:
        raise refuse(path, "polygons of more or fewer corners, or masks")
    boxes, is_box = boxes_of(quads, ANGLE)
    if not is_box.all():
        raise refuse(path, f"{int((~is_box).sum())} quadrilaterals that are none")
    document: JsonObject = document_of(annotations, path)
    for record, box in zip(document["annotations"], boxes.tolist(), strict=True):
        record["bbox"] = box
        record.pop("segmentation", None)
    write_json(path, document)


def refuse(path: Path, found: str) -> ReadError:
    """Return the error for shapes that are no rotated boxes."""
    remedy = f"write {to_format('dota')} or {to_format('coco')}, which hold corners"
    return ReadError(path, expected="rotated boxes (rectangles)", found=found, remedy=remedy)


FORMAT = Format(
    name="coco-rotated",
    title="COCO JSON with rotated boxes",
    about="as `coco`, each `bbox` of centre, width, height and angle; `angle` says its unit and direction",
    recognise=recognise,
    read=read,
    write=write,
    preserves=coco.PRESERVES
    - {"mask", "polygon", "polygon of several rings", "box apart from its mask", "box apart from its polygon"},
    requires=frozenset({"four corners", "rectangles"}),
    options=coco.FORMAT.options,
    suffixes=(".json",),
)

FILE = "_annotations.coco.json"
FOLDER, KINDS = "annotations", ("instances_", "person_keypoints_", "")  # the files of COCO's own root folder


def recognise_coco_folder(probe: PathProbe) -> str | None:
    """Return why a path is a folder of COCO JSON: as Roboflow exports it, or COCO's own root folder."""
    found = documents(probe.path) if probe.is_folder else {}
    if not found:
        return None
    is_roboflow = any(file.name == FILE for file in found.values())
    return f"a folder with {FILE if is_roboflow else f'{FOLDER}/*.json'}"


def documents(path: Path) -> dict[str, Path]:
    """Return the annotation files by split; a file without the name of one is the split "".

    Roboflow's splits are the folders of its files. COCO's root folder has `annotations/instances_val2017.json`, others
    `annotations/val.json`; files for another task (captions, keypoints beside boxes) are no splits.
    """
    if (path / FILE).is_file():
        return {"": path / FILE}
    if found := {file.parent.name: file for file in sorted(path.glob(f"*/{FILE}"))}:
        return found
    files = []
    for file in sorted((path / FOLDER).glob("*.json")):
        probe = PathProbe(file)
        is_coco = file.is_file() and coco.recognise_document(probe) and not panoptic.recognise(probe)
        if is_coco and "caption" not in file.stem:
            files.append(file)
    for kind in KINDS:
        if found := {file.stem.removeprefix(kind): file for file in files if file.name.startswith(kind)}:
            return found
    return {}


def read_coco_folder(path: Path, options: Options) -> Annotations:
    """Read the COCO document of one split."""
    found = documents(path)
    name, file = choose_split(path, found, options, expected=f"{FILE} or {FOLDER}/*.json", images_of=image_keys)
    is_chosen = options.split is None and len(found) > 1
    read_document = lvis.read if lvis.recognise(PathProbe(file)) else coco.read
    annotations = read_document(file, replace(options, split=None))
    why = f"the split {name}" + (", which has the predicted images" if is_chosen else "") if name else ""
    return annotations.with_source(replace(annotations.source, path=str(path), format="coco-folder", why=why))


def image_keys(file: Path) -> set[str]:
    """Return ids and file names of the images of a COCO document, as predictions may name them."""
    try:
        images = coco.read(file, Options()).images
    except ReadError:
        return set()
    ids = [] if images.ids is None else images.ids.tolist()
    return {image_key(word) for word in (*ids, *(images.names or ()))}


COCO_FOLDER = Format(
    name="coco-folder",
    title="COCO folder",
    about=f"COCO's root folder (`annotations/instances_*.json`), or a folder that Roboflow exported (`{FILE}` beside "
    "the images); `split` chooses one of several files",
    recognise=recognise_coco_folder,
    read=read_coco_folder,
    options=coco.FORMAT.options | {"split"},
    sides=("truth",),
)
