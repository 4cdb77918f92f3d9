"""Every public function takes every kind of annotations, and gets the same numbers from each."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import verite as vt

SIZE = 40, 30
LABELS = {3: "boat", 5: "gull"}
# Image, class, left, top, right and bottom edge of what is there, and of what was found, with how sure it is.
THERE = [(7, 3, 2, 2, 12, 12), (7, 5, 20, 4, 30, 14), (9, 3, 1, 15, 21, 25)]
FOUND = [(7, 3, 2, 2, 12, 12, 0.9), (7, 5, 21, 4, 31, 14, 0.8), (9, 3, 1, 15, 21, 20, 0.7), (9, 5, 30, 1, 38, 9, 0.4)]
NAMES = {7: "pier.png", 9: "fog.png", 11: "void.png"}  # nothing is in the last one


def mask(x1, y1, x2, y2):
    """The pixels of a box, column by column, as runs."""
    width, height = SIZE
    pixels = np.zeros((height, width), dtype=np.uint8)
    pixels[y1:y2, x1:x2] = 1
    flat = pixels.T.ravel()
    edges = np.flatnonzero(np.diff(flat, prepend=0, append=0))
    return pixels, np.diff(edges, prepend=0, append=len(flat)).tolist()


def coco(rows, **more):
    """Rows as COCO's records."""
    return [
        {"image_id": image, "category_id": label, "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1),
         "segmentation": {"size": SIZE[::-1], "counts": mask(x1, y1, x2, y2)[1]}, "iscrowd": 0, "id": i + 1,
         **({"score": score[0]} if score else {})}
        for i, (image, label, x1, y1, x2, y2, *score) in enumerate(rows)
    ]  # fmt: skip


TRUTH = {
    "images": [{"id": id, "file_name": name, "width": SIZE[0], "height": SIZE[1]} for id, name in NAMES.items()],
    "categories": [{"id": id, "name": name} for id, name in LABELS.items()],
    "annotations": coco(THERE),
}
RESULTS = coco(FOUND)


def make_paths(folder):
    for name, content in (("truth", TRUTH), ("pred", RESULTS)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return str(folder / "truth.json"), folder / "pred.json"


def make_annotations(folder):
    truth = vt.read(TRUTH)
    return truth, vt.read(RESULTS, like=truth)


def make_pycocotools(folder):
    reference = pytest.importorskip("pycocotools.coco")
    theirs = reference.COCO()
    theirs.dataset = json.loads(json.dumps(TRUTH))
    theirs.createIndex()
    # Their loadRes would take boxes for given and make rectangles of masks.
    found = reference.COCO()
    found.dataset = json.loads(json.dumps({**TRUTH, "annotations": RESULTS}))
    found.createIndex()
    return theirs, found


def by_image(rows):
    return {id: [row for row in rows if row[0] == id] for id in NAMES}


def make_torchvision(folder):
    def record(id, rows):
        boxes = np.array([row[2:6] for row in rows], dtype=np.float32).reshape(-1, 4)
        masks = np.array([mask(*row[2:6])[0] for row in rows]).reshape(-1, *SIZE[::-1])
        scores = {"scores": [row[6] for row in rows]} if not rows or len(rows[0]) > 6 else {}
        return {"image_id": id, "boxes": boxes, "labels": [row[1] for row in rows], "masks": masks, **scores}

    return tuple([record(id, rows) for id, rows in by_image(side).items()] for side in (THERE, FOUND))


def make_supervision(folder):
    supervision = pytest.importorskip("supervision")

    def detections(rows):
        if not rows:
            return supervision.Detections.empty()
        return supervision.Detections(
            xyxy=np.array([row[2:6] for row in rows], dtype=np.float64),
            class_id=np.array([row[1] for row in rows]),
            confidence=np.array([row[6] for row in rows]) if len(rows[0]) > 6 else None,
            mask=np.array([mask(*row[2:6])[0] for row in rows]).astype(bool),
        )

    return tuple({NAMES[id]: detections(rows) for id, rows in by_image(side).items()} for side in (THERE, FOUND))


def columns_of(rows):
    """Rows as columns, with a row for every image without objects."""
    empty = [id for id, own in by_image(rows).items() if not own]
    padded = [*rows, *((id, None, None, None, None, None, None) for id in empty)]
    runs = [mask(*row[2:6])[1] for row in rows]
    encode = pytest.importorskip("verite")._core.encode_runs
    found = {
        "image_id": [row[0] for row in padded],
        "file_name": [NAMES[row[0]] for row in padded],
        "image_width": [SIZE[0]] * len(padded),
        "image_height": [SIZE[1]] * len(padded),
        "category_id": [row[1] for row in padded],
        "label": [LABELS.get(row[1]) for row in padded],
        **{name: [row[2 + i] for row in padded] for i, name in enumerate(("x1", "y1", "x2", "y2"))},
        "mask": [*(encode(np.array(one, dtype=np.uint32)).decode() for one in runs), *(None for _ in empty)],
        "mask_height": [SIZE[1]] * len(padded),
        "mask_width": [SIZE[0]] * len(padded),
    }
    return found | ({"score": [row[6] for row in padded]} if len(rows[0]) > 6 else {})


def make_tables(make):
    return lambda folder: (make(columns_of(THERE)), make(columns_of(FOUND)))


def make_arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def make_duckdb(columns):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(make_arrow(columns))


def make_structured(columns):
    kinds = {"file_name": object, "label": object, "mask": object, "category_id": float, "score": float}
    array = np.empty(len(columns["image_id"]), [(name, kinds.get(name, float)) for name in columns])
    for name, values in columns.items():
        array[name] = [np.nan if value is None and kinds.get(name) is not object else value for value in values]
    return array


class OldPandas:
    """A table of pandas before it spoke Arrow: columns and nothing else."""

    def __init__(self, columns):
        self.frame = pytest.importorskip("pandas").DataFrame(columns)
        self.columns = self.frame.columns

    def __getitem__(self, name):
        return self.frame[name]

    def to_numpy(self):
        raise NotImplementedError


IN_MEMORY_FORMATS = {
    "paths": make_paths,
    "annotations": make_annotations,
    "COCO dictionaries": lambda folder: (TRUTH, {**TRUTH, "annotations": RESULTS}),
    "list of results": lambda folder: (TRUTH, RESULTS),
    "pycocotools": make_pycocotools,
    "torchvision": make_torchvision,
    "supervision": make_supervision,
    "pandas": make_tables(lambda columns: pytest.importorskip("pandas").DataFrame(columns)),
    "old pandas": make_tables(OldPandas),
    "polars": make_tables(lambda columns: pytest.importorskip("polars").DataFrame(columns)),
    "pyarrow": make_tables(make_arrow),
    "DuckDB": make_tables(make_duckdb),
    "structured arrays": make_tables(make_structured),
    "columns": make_tables(dict),
}


def scores(results):
    return {name: score.value for name, score in results.scores.items()}


def with_lists(truth):
    """A dictionary that says, as LVIS does, which classes were looked for; None where a kind cannot say it."""
    if not isinstance(truth, dict) or "images" not in truth:
        return None
    images = [{**image, "neg_category_ids": [], "not_exhaustive_category_ids": []} for image in truth["images"]]
    return {**truth, "images": images, "categories": [{**one, "frequency": "c"} for one in truth["categories"]]}


def take_lvis(truth, pred, folder):
    lists = with_lists(truth)
    if lists is None:
        with pytest.raises(vt.DataError, match="expected LVIS ground truth, found one without neg_category_ids"):
            vt.lvis(truth, pred)
        lists = with_lists(TRUTH)
    return scores(vt.lvis(lists, pred))


def take_report(truth, pred, folder):
    page = vt.read_report(vt.report(truth, {"a": pred, "b": pred}, folder / "page.html", draws=20))
    alone = vt.read_report(vt.report(truth, pred, folder / "alone.html"))
    return [one["scores"] for one in (*page["systems"], *alone["systems"])]


def take_write(truth, pred, folder):
    for name, side in (("there", truth), ("found", pred)):
        vt.write(side, folder / f"{name}.json", "coco")
    return scores(vt.coco(folder / "there.json", folder / "found.json"))


def take_draw(truth, pred, folder):
    pytest.importorskip("matplotlib")
    photos = folder / "photos"
    photos.mkdir(exist_ok=True)
    image = pytest.importorskip("PIL.Image")
    for id, name in NAMES.items():
        for stem in (name, f"{id}.png"):
            image.new("RGB", SIZE).save(photos / stem)
    vt.draw(truth, pred, folder / "drawn", images=photos, worst=1)
    return len(list((folder / "drawn").rglob("*.png")))


# What each function makes of a truth and predictions; every one is asked for something that depends on both.
FUNCTIONS = {
    "coco": lambda truth, pred, _: (scores(vt.coco(truth, pred)), scores(vt.coco(truth, pred, on="mask"))),
    "voc": lambda truth, pred, _: scores(vt.voc(truth, pred)),
    "lvis": take_lvis,
    "openimages": lambda truth, pred, _: scores(vt.openimages(truth, pred)),
    "imagenet_det": lambda truth, pred, _: scores(vt.imagenet_det(truth, pred)),
    "imagenet_loc": lambda truth, pred, _: scores(vt.imagenet_loc(truth, pred)),
    "panoptic": lambda truth, pred, _: scores(vt.panoptic(truth, pred)),
    "semantic": lambda truth, pred, _: scores(vt.semantic(truth, pred)),
    "miss_rate": lambda truth, pred, _: scores(vt.miss_rate(truth, pred, iou=0.75)),
    "kitti": lambda truth, pred, _: scores(vt.kitti(truth, pred)),
    "wider": lambda truth, pred, _: scores(vt.wider(truth, pred)),
    "f1": lambda truth, pred, _: scores(vt.f1(truth, pred)),
    "instances": lambda truth, pred, _: scores(vt.instances(truth, pred)),
    "oc_cost": lambda truth, pred, _: scores(vt.oc_cost(truth, pred)),
    "localize": lambda truth, pred, _: scores(vt.localize(truth, pred, "iou", "hausdorff")),
    "scene_score": lambda truth, pred, _: scores(vt.scene_score(truth, pred)),
    "analyse": lambda truth, pred, _: (
        vt.analyse(truth, pred).errors.cost,
        json.loads(vt.analyse(truth, {"a": pred, "b": pred}).to_json())["systems"]["b"]["errors"]["cost"],
    ),
    "reconcile": lambda truth, pred, _: vt.reconcile(truth, pred, 0.5).to_dict()["answer"],
    "inspect": lambda truth, pred, _: [finding.code for finding in vt.inspect(truth, pred).findings],
    "partial": lambda truth, pred, _: scores(vt.partial(truth, pred).compute()),
    "evaluate_parts": lambda truth, pred, _: scores(vt.evaluate_parts([(truth, pred)])),
    "leaderboard": lambda truth, pred, _: [
        board.scores.tolist() for board in vt.leaderboard(truth, {"a": pred, "b": pred}, draws=20).boards.values()
    ],
    "rank": lambda truth, pred, _: (
        vt.rank(vt.DetectionTable.of(truth, {"a": pred, "b": pred}), vt.annotation_errors.Bernoulli(0.1)).scores
    ),
    "report": take_report,
    "draw": take_draw,
    "write": take_write,
}
# Of these, plot_pair compares two regions, Empty says what an absent one is worth, and track needs track ids, which no
# kind above has.
OTHERS = {
    "plot_pair",
    "Empty",
    "AnswerTable",
    "ScoreTable",
    "DetectionTable",
    "Leaderboard",
    "Results",
    "Score",
    "track",
    "TrackResults",
}


def takes_annotations(name):
    try:
        parameters = set(inspect.signature(getattr(vt, name)).parameters)
    except (TypeError, ValueError):
        return False
    return "truth" in parameters or "annotations" in parameters


def test_every_public_function_is_asked():
    """`rank` takes what `DetectionTable.of` makes of both sides."""
    assert {name for name in vt.__all__ if takes_annotations(name)} - OTHERS == set(FUNCTIONS) - {"rank"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What every function says of annotations, worked out once."""
    folder = tmp_path_factory.mktemp("plain")
    return {name: repr(take(*make_annotations(folder), folder)) for name, take in FUNCTIONS.items()}


@pytest.mark.parametrize("kind", IN_MEMORY_FORMATS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_takes_this_kind(function, kind, plain, tmp_path, capsys):
    truth, pred = IN_MEMORY_FORMATS[kind](tmp_path)
    assert repr(FUNCTIONS[function](truth, pred, tmp_path)) == plain[function]


def test_numbers_are_those_worked_out_by_hand(tmp_path):
    """Of two boats one is found exactly, the other by half; of one gull 9 of 11 columns."""
    found = vt.coco(*make_annotations(tmp_path))
    overlaps = vt.localize(*make_annotations(tmp_path), "iou").scores["iou"].value
    assert overlaps == pytest.approx((1 + 9 / 11 + 1 / 2) / 3)
    # Thresholds .50 to .80 for the gull (7 of 10); for boats all at .50, and one of two at the other nine.
    assert found["AR100"].value == pytest.approx((0.7 + (1 + 9 * 0.5) / 10) / 2)


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("wrong", [3, {"a": 1}, [1, 2]], ids=repr)
def test_wrong_type_is_told_in_one_sentence_what_is_taken(function, wrong, tmp_path):
    with pytest.raises(vt.BadParameter, match="expected a path or annotations, a COCO dictionary, a list of") as caught:
        FUNCTIONS[function](wrong, RESULTS, tmp_path)
    assert "\n" not in str(caught.value)
