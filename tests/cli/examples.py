"""The examples that the helps of all commands print, and the files that they name."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from PIL import Image

import verite as vt
from tests.formats.samples import DATA as SAMPLES
from tests.protocols.test_wider import write_wider_folder
from verite.cli import run
from verite.cli import verite as program
from verite.formats import write
from verite.judge.plan import make_plan, save_plan, study_candidates

DATA = Path(str(files("verite") / "data"))
DEMO, COMPETITIONS = DATA / "demo", DATA / "competitions"
SEQUENCES = ("a", "b", "c", "d", "e")  # fewer are too few to be resampled


def commands(
    command: click.Command = program, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that call it, those of groups among them."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*words, name))


def examples() -> Iterator[str]:
    """The examples of all helps, without the comments behind them and without what they are piped into."""
    for _, command in commands():
        for line in (command.epilog or "").splitlines():
            if line.startswith("  verite "):
                yield re.split(r" {2,}| \| jq ", line.strip())[0].strip()


# What the files of an example hold, by where they come from: the demo's, or those of a sample.
COPIES = {
    DEMO / "hawk.json": "pred.json predictions.json a.json c.json new.json",
    DEMO / "mole.json": "b.json old.json",
    DEMO / "images": "photos",
    DATA / "example" / "truth": "groundtruths",
    DATA / "example" / "pred": "detections",
    DATA / "ranking" / "table2.csv": "table.csv",
    DATA / "class-distances" / "taxonomy-voc.txt": "classes.txt",
    COMPETITIONS / "lvis" / "truth.json": "lvis_v1_val.json",
    COMPETITIONS / "openimages" / "boxes.csv": "boxes.csv validation-boxes.csv",
    COMPETITIONS / "openimages" / "labels.csv": "labels.csv",
    COMPETITIONS / "openimages" / "hierarchy.json": "bbox_labels_500_hierarchy.json",
    COMPETITIONS / "imagenet" / "solution.csv": "LOC_val_solution.csv",
    COMPETITIONS / "panoptic" / "truth": "truth_png",
    COMPETITIONS / "panoptic" / "hawk": "pred_png",
    SAMPLES / "dota" / "good": "labelTxt",
    SAMPLES / "dota" / "predictions": "Task1",
}
# Files of the same names that hold something else for one command.
OF_COMMAND = {
    "openimages": {COMPETITIONS / "openimages" / "hawk.csv": "predictions.csv a.csv b.csv"},
    "imagenet-loc": {COMPETITIONS / "imagenet" / "hawk.csv": "predictions.csv a.csv b.csv"},
    "lvis": {COMPETITIONS / "lvis" / "truth.json": "truth.json"},
    "track": {DATA / "tracks" / "hawk.txt": "results/a.txt results/b.txt"},
    "panoptic": {
        COMPETITIONS / "panoptic" / "truth.json": "truth.json panoptic_val2017.json",
        COMPETITIONS / "panoptic" / "truth": "truth panoptic_val2017",
        COMPETITIONS / "panoptic" / "hawk.json": "pred.json predictions.json a.json b.json",
        COMPETITIONS / "panoptic" / "hawk": "pred predictions a b",
    },
}


def copy_all(copies: dict[Path, str], home: Path) -> None:
    for source, names in copies.items():
        for name in names.split():
            if source.is_dir():
                shutil.rmtree(home / name, ignore_errors=True)
                shutil.copytree(source, home / name)
            else:
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, home / name)


def write_truths(home: Path) -> None:
    """The demo's ground truth as COCO, VOC, YOLO and text."""
    document = json.loads((DEMO / "truth.json").read_text())
    for number, image in enumerate(document["images"]):
        image["video_id"] = number // 6
    for name in ("truth.json", "instances_val.json", "better.json"):
        (home / name).write_text(json.dumps(document))
    visible = [one | {"vis_ratio": 1.0} for one in document["annotations"]]
    (home / "citypersons.json").write_text(json.dumps(document | {"annotations": visible}))
    truth = vt.read(home / "truth.json")
    hawk, mole = (vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "mole"))
    write(truth, home / "Annotations", "voc")
    for folder in ("VOC2008", "VOCdevkit/VOC2008"):
        shutil.copytree(home / "Annotations", home / folder / "Annotations")
    write(hawk, home / "detections.json", "coco")
    masks = replace(truth, confidence=np.linspace(0.1, 0.9, len(truth))).where(~truth.flags["crowd"])
    write(masks, home / "segments.json", "coco-results")
    for name, side in (("truth", truth), ("pred", hawk), ("predictions", hawk), ("old", mole), ("new", hawk)):
        write(side, home / name, "text")
    write(truth, home / "yolo", "yolo")
    (home / "yolo" / "labels").rename(home / "labels")
    for name in ("pictures", "images"):
        shutil.copytree(home / "photos", home / name)
    names = "\n".join(f"  {i}: {name}" for i, name in enumerate(truth.labels.all_names))
    (home / "data.yaml").write_text(f"path: .\nval: images\nnames:\n{names}\n")


def write_tables(home: Path) -> None:
    """Runs of one detector, and tables of numbers, grades, features and confusions."""
    predictions = json.loads((DEMO / "hawk.json").read_text())
    (home / "runs").mkdir(exist_ok=True)
    for cut in (0.2, 0.5, 0.8):
        kept = [one for one in predictions if one["score"] >= cut]
        (home / "runs" / f"conf={cut}.json").write_text(json.dumps(kept))
    (home / "runs.csv").write_text("conf,file\n0.2,runs/conf=0.2.json\n0.5,runs/conf=0.5.json\n")
    (home / "numbers.csv").write_text("item,truth,A,B\n1,10,11,13\n2,20,19,18\n3,30,31,32\n")
    (home / "grades.csv").write_text("item,truth,A,B\n1,low,low,middle\n2,high,high,high\n")
    (home / "features.csv").write_text("class,x,y\ncat,0,0\ndog,0,1\ncar,3,4\n")
    (home / "confusion.csv").write_text("class,cat,dog\ncat,8,2\ndog,1,9\n")
    (home / "weights.csv").write_text("class,weight\nperson,3\n")
    (home / "other.txt").write_text("animal\n  cat\n  dog\nperson\n")
    plan = make_plan(study_candidates(0), pairs=6)
    (home / "study").mkdir(exist_ok=True)
    save_plan(plan, home / "study")
    for judge in (0, 1):
        rows = [f"{plan.id},{t.id},{t.left},{t.right},{t.answer or t.names[judge]},900" for t in plan.trials]
        votes = "\n".join(["plan,pair,left,right,choice,ms", *rows])
        (home / "study" / f"votes-{judge}.csv").write_text(votes + "\n")
    links = [f"https://example.org/{kind}/1_cat0_IoU0.{iou}.png" for kind, iou in (("large", 7), ("small", 5))]
    head = "WorkerId,Input.imageLink1,Input.imageLink2,Answer.detection1.1,Answer.detection2.2"
    (home / "choices.csv").write_text(f"{head}\na,{','.join(links)},true,false\nb,{','.join(links)},false,true\n")


def write_poses(home: Path) -> None:
    """Two people of COCO's 17 keypoints, and a prediction of each."""
    person = {"category_id": 1, "keypoints": [5, 5, 2] * 17, "bbox": [0, 0, 20, 20]}
    people = [{"image_id": image, **person} for image in (1, 2)]
    truth = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 30, "height": 30} for i in (1, 2)],
        "categories": [{"id": 1, "name": "person", "keypoints": [f"point {i}" for i in range(17)], "skeleton": []}],
        "annotations": [dict(one, id=i + 1, area=400, iscrowd=0, num_keypoints=17) for i, one in enumerate(people)],
    }
    (home / "person_keypoints_val.json").write_text(json.dumps(truth))
    (home / "keypoints.json").write_text(json.dumps([dict(one, score=0.5) for one in people]))


def write_pictures(home: Path) -> None:
    """Label maps of two classes, and pictures of three classes in a folder each."""
    values = np.zeros((12, 12), dtype=np.uint8)
    values[2:8, 2:8], values[8:, 8:] = 1, 2
    for name in ("truth", "pred", "a", "b", "predictions", "SegmentationClass"):
        (home / "semantic" / name).mkdir(parents=True)
        Image.fromarray(values).save(home / "semantic" / name / "one.png")
    for name in ("truth.png", "pred.png"):
        Image.fromarray(values).save(home / "semantic" / name)
    mask = np.zeros((64, 64), dtype=np.uint8)
    mask[20:44, 16:48] = 255
    Image.fromarray(mask).save(home / "mask.png")
    (home / "semantic" / "classes.txt").write_text("background\nboat\ngull\n")
    for name, image in (("cat", "beach-4013"), ("dog", "park-2011"), ("car", "town-3007")):
        (home / "learned" / name).mkdir(parents=True)
        for copy in range(2):
            shutil.copy(DEMO / "images" / f"{image}.png", home / "learned" / name / f"{copy}.png")
    shutil.copytree(home / "learned", home / "learned" / "images", dirs_exist_ok=True)


def write_results(home: Path) -> None:
    """What earlier commands have written: saved results, partial results, an audit, a report, class distances."""
    said = [
        "coco truth.json old.json --save main-results.json",
        "coco truth.json old.json --save main.json",
        "coco truth.json new.json --save new-results.json",
        "partial coco truth.json old.json -o main.part",
        "partial coco truth.json new.json -o new.part",
        "leaderboard truth.json a.json b.json --errors missing=0.05 -o board --no-plot",
        "report truth.json a.json b.json -o report.html",
    ]
    truth, pred = (json.loads((home / name).read_text()) for name in ("truth.json", "pred.json"))
    (home / "parts").mkdir()
    for number, name in enumerate(("a", "b")):
        images = truth["images"][number::2]
        ids = {image["id"] for image in images}
        own = [one for one in truth["annotations"] if one["image_id"] in ids]
        theirs = [one for one in pred if one["image_id"] in ids]
        part = vt.partial(truth | {"images": images, "annotations": own}, theirs, "coco").to_bytes()
        for path in (f"{name}.part", f"parts/{name}.part"):
            (home / path).write_bytes(part)
    for line in said:
        assert run([*line.split(), "--quiet"]) == 0, line
    names = [one["name"] for one in truth["categories"]]
    rows = [",".join([a, *("0" if a == b else "1" for b in names)]) for a in names]
    (home / "distances.csv").write_text("\n".join([",".join(["", *names]), *rows]) + "\n")
    (home / "per-class.csv").write_text("class,AP50\nboat,0.5\n")


def write_annotators(home: Path) -> None:
    """Three annotators of the demo's images, as a file each and as one, a project of Label Studio, crowd polygons."""
    document = json.loads((home / "truth.json").read_text())
    records, readers = document["annotations"], []
    for number, name in enumerate(("first", "second", "third")):
        own = [record for i, record in enumerate(records) if i % 7 != number]
        (home / f"{name}.json").write_text(json.dumps({**document, "annotations": own}))
        readers += [{**record, "rad_id": f"R{number + 8}"} for record in own]
    for i, record in enumerate(readers):
        record["id"] = i + 1
    (home / "readers.json").write_text(json.dumps({**document, "annotations": readers}))
    value = {"x": 10, "y": 10, "width": 20, "height": 20, "rotation": 0, "rectanglelabels": ["boat"]}
    drawn = {"type": "rectanglelabels", "original_width": 64, "original_height": 48, "value": value}
    both = [{"completed_by": who, "result": [drawn]} for who in (1, 2)]
    tasks = [{"data": {"image": f"{i}.png"}, "annotations": both} for i in range(3)]
    (home / "tasks.json").write_text(json.dumps(tasks))
    rows = [f'{o},{w},"[{o}, 20, 20]","[{w}, 3, 30]"' for o in (1, 2, 3) for w in (1, 2)]
    (home / "polygons.csv").write_text("\n".join(["object_id,worker_id,x_locs,y_locs", *rows]) + "\n")
    ids = {image["id"] for image in document["images"][:30]}
    own = [record for record in records if record["image_id"] in ids]
    (home / "gold.json").write_text(json.dumps({**document, "annotations": own, "images": document["images"][:30]}))
    scores = [f"{i},{i % 6},{0.5 + i % 3 / 10},{0.6 + i % 2 / 10}" for i in range(30)]
    (home / "scores.csv").write_text("\n".join(["case,patient,one,two", *scores]) + "\n")
    with contextlib.chdir(home):
        assert run(["agree", "first.json", "second.json", "-o", "agreement", "--no-plot", "-q", "--draws", "50"]) == 0
    lines = (home / "agreement" / "singles.csv").read_text().splitlines()
    filled = [line + ("right" if i % 3 else "wrong") for i, line in enumerate(lines[1:])]
    (home / "agreement" / "singles.csv").write_text("\n".join([lines[0], *filled]) + "\n")


def write_competitions(home: Path) -> None:
    """What only competitions have: descriptions, blacklists, masks of Open Images, an archive."""
    ids = sorted({line.split(",")[2] for line in (home / "boxes.csv").read_text().splitlines()[1:]})
    (home / "class-descriptions.csv").write_text("".join(f"{name},{name.strip('/')}\n" for name in ids))
    (home / "blacklist.txt").write_text("harbour-1018.png\n")
    (home / "ILSVRC2014_det_validation_blacklist.txt").write_text("harbour-1018 boat\n")
    (home / "confidences.csv").write_text("item,label,truth,A1,A2\nd1,i1,1,0.3,0.2\nd1,i2,0,0.7,0.8\n")
    with zipfile.ZipFile(home / "export.zip", "w") as archive:
        archive.write(home / "truth.json", "instances.json")


def write_benchmarks(home: Path) -> None:
    """Files of KITTI and WIDER FACE, a suite of two datasets and a video."""
    cars = {"000001": (100, 100, 180, 160), "000002": (40, 50, 120, 130)}
    for folder, score in (("label_2", ""), ("predictions", " 0.9"), ("a", " 0.9"), ("b", " 0.4")):
        (home / "kitti" / folder).mkdir(parents=True)
        for image, box in cars.items():
            line = f"Car 0.00 0 0.00 {' '.join(map(str, box))} 1.5 1.6 4.0 0 0 10 0{score}\n"
            (home / "kitti" / folder / f"{image}.txt").write_text(line)
    volume = np.zeros((2, 8, 8), dtype=np.uint8)
    volume[:, :3, :3], volume[:, 4:7, 4:8] = 1, 2
    for name in ("truth", "pred"):
        (home / "instances" / f"{name}_masks").mkdir(parents=True)
        Image.fromarray(volume[0]).save(home / "instances" / f"{name}_masks" / "cells.png")
        np.save(home / "instances" / f"{name}.npy", volume)
    write_wider_folder(home / "wider")
    (home / "wider" / "ground_truth").mkdir()
    for path in (home / "wider").glob("*.mat"):
        path.rename(home / "wider" / "ground_truth" / path.name)
    (home / "wider" / "pred").rename(home / "wider" / "predictions")
    rows = ("0 0 20 20", "50 0 20 20"), ("10 10 30 30",)
    names = ("0--Parade/one.jpg", "1--Handshaking/two.jpg")
    lines = [
        [name, str(len(own)), *(f"{box} 0 0 0 0 0 0" for box in own)] for name, own in zip(names, rows, strict=True)
    ]
    faces = "\n".join(line for one in lines for line in one) + "\n"
    (home / "wider" / "wider_face_val_bbx_gt.txt").write_text(faces)
    face = {"category_id": 1, "bbox": [0, 0, 20, 20]}
    truth = {
        "images": [{"id": 1, "file_name": "one.jpg", "width": 60, "height": 60}],
        "categories": [{"id": 1, "name": "face"}],
        "annotations": [{"id": 1, "image_id": 1, "area": 400, "iscrowd": 0, **face}],
    }
    (home / "wider" / "faces.json").write_text(json.dumps(truth))
    (home / "wider" / "pred.json").write_text(json.dumps([{"image_id": 1, "score": 0.5, **face}]))
    (home / "wider" / "subsets.csv").write_text("image,face,subset\none.jpg,1,easy\n")
    dataset = 'truth = "truth.json"\npred = "{detector}.json"\n'
    suite = f'metric = "AP"\ndetectors = ["a", "b"]\n\n[datasets.harbour]\n{dataset}\n[datasets.street]\n{dataset}'
    (home / "suite.toml").write_text(suite)
    video = json.loads((home / "truth.json").read_text())
    for number, image in enumerate(video["images"]):
        image |= {"video_id": number // 6, "frame_id": number % 6}
    (home / "video.json").write_text(json.dumps(video))


def make_world(home: Path) -> None:
    """Write every file that an example names into a folder."""
    copy_all(COPIES, home)
    write_truths(home)
    write_poses(home)
    write_pictures(home)
    write_competitions(home)
    write_tables(home)
    write_benchmarks(home)
    for sequence in ("a", "b"):
        copy_all({DATA / "tracks" / "gt.txt": f"MOT17/train/{sequence}/gt/gt.txt gt.txt",
                  DATA / "tracks" / "hawk.txt": "tracker.txt a.txt",
                  DATA / "tracks" / "mole.txt": "b.txt"}, home)  # fmt: skip
    write_annotators(home)
    with contextlib.chdir(home):
        write_results(home)


def write_segments(home: Path) -> None:
    """Masks of Open Images in the texts of its challenge: an object of two pixels, found, in each of two images."""
    word = base64.b64encode(zlib.compress(b"22")).decode()
    head = "ImageID,LabelName,ImageWidth,ImageHeight,XMin,XMax,YMin,YMax,IsGroupOf,Mask"
    truth = [f"{image},/m/cat,2,2,0.5,1,0,1,0,{word}" for image in "ab"]
    pred = [f"{image},2,2,/m/cat 0.5 {word}" for image in "ab"]
    labels = [f"{image},/m/cat,1" for image in "ab"]
    texts = {
        "segments.csv": [head, *truth],
        "predictions.csv": ["ImageID,ImageWidth,ImageHeight,PredictionString", *pred],
        "labels.csv": ["ImageID,LabelName,Confidence", *labels],
    }
    for name, lines in texts.items():
        (home / name).write_text("\n".join(lines) + "\n")


def arrange(words: list[str], home: Path) -> None:
    """Exchange the files that one command or one example wants otherwise, and remove what it writes anew."""
    command = words[1]
    copy_all(OF_COMMAND.get(command, {}), home)
    if command in ("semantic", "class-distance"):
        own = home / ("semantic" if command == "semantic" else "learned")
        copy_all({path: path.name for path in own.iterdir()}, home)
    if "HOTA" in words:  # a folder of sequences per tracker
        tracks = {DATA / "tracks" / f"{name}.txt": folder for name, folder in (("hawk", "a"), ("mole", "b"))}
        copy_all({path: " ".join(f"{folder}/{one}.txt" for one in SEQUENCES) for path, folder in tracks.items()}, home)
        copy_all({DATA / "tracks" / "gt.txt": " ".join(f"MOT17/train/{one}/gt/gt.txt" for one in SEQUENCES)}, home)
    if command in ("kitti", "wider", "instances"):
        copy_all({path: path.name for path in (home / command).iterdir()}, home)
    if command == "openimages":  # an image that has labels and no boxes is unknown where labels are not given
        lines = (home / "predictions.csv").read_text().splitlines(keepends=True)
        (home / "predictions.csv").write_text("".join(line for line in lines if "beach-4126" not in line))
    if "segments.csv" in words:
        write_segments(home)
    if "street.jpg" in words:
        (home / "truth.json").write_text((home / "truth.json").read_text().replace("harbour-1018.png", "street.jpg"))
        (home / "photos" / "harbour-1018.png").rename(home / "photos" / "street.jpg")
    if "VOC2008/Annotations" in words:
        for name, source, format in (("VOC2008/Annotations", "truth", "voc"), ("pred.json", "detections", "coco")):
            shutil.rmtree(home / name, ignore_errors=True)
            write(vt.read(home / f"{source}.json").only(["boat", "person"]), home / name, format)
    for option, name in pairwise(words):
        if option == "-o" and (home / name).is_dir():  # an output folder is new
            shutil.rmtree(home / name)
    if "data.yaml" in words[:3]:
        shutil.copy(home / "detections.json", home / "predictions.json")
    if words[1:3] == ["compare", "main.json"]:
        shutil.copy(home / "new-results.json", home / "new.json")
    if {"--truth-boxes", "--pred-coords"} <= set(words):
        for name, line in (("truth", "boat 60 40 120 80\n"), ("pred", "boat 0.9 0.1 0.1 0.1 0.1\n")):
            shutil.rmtree(home / name)
            (home / name).mkdir()
            (home / name / "one.txt").write_text(line)
    if "gt/0001.json" in words:
        for name, source in (("gt", "truth.json"), ("pred", "pred.json")):
            (home / name).mkdir(exist_ok=True)
            shutil.copy(home / source, home / name / "0001.json")
    if words[1:3] == ["convert", "instances_val.json"]:
        shutil.rmtree(home / "Annotations")
    if command == "convert" and "labels/" in words[3:]:
        shutil.rmtree(home / "labels")
    if "*.part" in words:
        for name in ("main.part", "new.part"):
            (home / name).unlink()
    for module in ("my_package/metrics.py", "mypackage/mymodule.py", "mymodule.py"):
        (home / module).parent.mkdir(exist_ok=True)
        (home / module).write_text("def mine(a, b):\n    return float((a & b).sum())\n\n\nmy_metric = mine\n")
