"""Files that annotation tools really wrote (`../shared/real`): what is read is what plain Python counts in them.

Counts and boxes were taken from the raw files by a few lines of Python without verite (`json`, `csv`, text search).
The files are not part of the project; without them these tests are skipped.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

import verite as vt

REAL = next((p / "shared" / "real" for p in Path(__file__).parents if (p / "shared" / "real").is_dir()), None)
pytestmark = pytest.mark.skipif(REAL is None, reason="the real files of ../shared/real are not here")

# Archive, path in it, options, format, images, objects, and some boxes (row, left, top, width, height).
ROWS = [
    ("formats/bdd100k", "label/testcases/example_ignore_annotation.json", {}, "scalabel", 2, 2,
     [(0, 1068.0515, 362.7666, 41.6711, 104.5266)]),  # corners included: 1108.72 - 1068.05 + 1
    ("formats/bdd100k", "label/testcases/example_annotation.json", {}, "scalabel", 1, 4, []),
    ("formats/bdd100k", "label/testcases/panseg_bdd100k/panseg_bdd100k.json", {}, "scalabel", 1, 75, []),
    ("formats/bdd100k", "eval/testcases/rle/seg/gt/0.json", {}, "scalabel", 1, 9, []),
    ("formats/darwin_v7", "e2e_tests/data/convert/instance_mask/from", {}, "darwin", 1, 3,
     [(0, 105.8307, 63.5815, 147.2414, 123.8166), (2, 338.0705, 50.1959, 171.3355, 163.3041)]),
    ("formats/darwin_v7", "e2e_tests/data/convert/yolo/from/test_input_with_bboxes_and_polys.json", {}, "darwin", 1, 5,
     [(1, 297.33, 56, 155.33, 105.33)]),
    ("formats/darwin_v7", "e2e_tests/data/convert/semantic_mask/from/221b-2.json", {}, "darwin", 1, 1,
     [(0, 341, 307, 50, 47)]),  # of the 2,253 pixels of its raster layer
    ("formats/darwin_v7", "e2e_tests/data/convert/coco/to/output.json", {}, "coco", 1, 2, []),
    ("formats/kaggle_rsna_pneumonia", "stage_2_train_labels.csv", {}, "table", 26_684, 9_555, []),
    ("formats/label_studio_examples", "image_bbox/annotations/1.json", {"image_size": (1000, 500)}, "label-studio", 1,
     1, [(0, 508, 29.34899, 124, 52.29456)]),  # percent of 1000 and of 500
    ("formats/label_studio_examples", "image_bbox_large/annotations/1.json", {}, "label-studio", 1, 200, []),
    ("formats/label_studio_examples", "image_magic_wand/annotations/1.json", {}, "label-studio", 1, 2,
     [(0, 387, 0, 1220, 494), (1, 0, 0, 1500, 547)]),  # run lengths unpacked bit by bit, as its converter does
    ("formats/label_studio_examples", "image_polygons/annotations/0.json", {}, "label-studio", 1, 1, []),
    ("formats/labelbox", "labelbox_v1/image_export.json", {}, "labelbox", 1, 6, [(0, 965, 1333, 594, 186)]),
    ("formats/labelbox", "labelbox_v1/highly_nested_image.json", {}, "labelbox", 1, 1, []),
    ("formats/labelbox", "ndjson/rectangle_import.json", {}, "labelbox", 1, 1, [(0, 38, 28, 43, 41)]),
    ("formats/labelbox", "ndjson/image_import.json", {}, "labelbox", 1, 2, [(0, 2275, 1352, 139, 350)]),
    ("formats/labelbox", "ndjson/nested_import_name_only.json", {}, "labelbox", 1, 4, [(1, 2089, 1251, 158, 428)]),
    ("formats/labelbox", "ndjson/relationship_import.json", {}, "labelbox", 2, 4, [(1, 400, 500, 200, 200)]),
    ("formats/labelbox", "coco/instances.json", {}, "coco", 10, 62, []),
    ("formats/labelme_examples", "bbox_detection/data_annotated", {}, "labelme", 3, 9, []),
    ("formats/labelme_examples", "instance_segmentation/data_annotated", {}, "labelme", 3, 14, []),  # of 18 shapes
    ("formats/labelme_examples", "video_annotation/data_annotated", {}, "labelme", 5, 15, []),
    ("formats/mmdet_results", "outputs/preds", {}, "mmdet", 1, 300, [(0, 221.3719, 176.1281, 234.8862, 207.1120)]),
    ("formats/mmdet_results", "results.bbox.json", {}, "coco-results", 89, 480, [(0, 0, 103.6198, 331.2956, 407.3802)]),
    ("formats/mmdet_results", "workdirs/out.bbox.json", {}, "coco-results", 83, 491, []),
    ("formats/panoptic_coco_sample", "sample_data/panoptic_examples.json", {}, "panoptic", 2, 50,
     [(0, 282, 207, 48, 149)]),
    ("formats/roboflow_exports", "datasets/chess", {}, "voc", 11, 180, []),
    ("formats/roboflow_exports", "datasets/mosquitos/mosquitos.csv", {}, "table", 4, 4,
     [(0, 1459, 1389, 367, 673), (1, 28, 187, 880, 628)]),
    ("formats/roboflow_exports", "datasets/sharks-tiny-coco", {"split": "train"}, "coco-folder", 7, 44,
     [(0, 36, 23, 190, 143)]),
    ("formats/roboflow_exports", "datasets/sharks-tiny-createml", {"split": "train"}, "createml", 7, 44,
     [(0, 116.2925, 61.3175, 408.9475, 346.6825)]),  # half of its size left of and above its centre
    ("formats/roboflow_exports", "datasets/sharks-tiny-createml/valid", {}, "createml", 2, 10,
     [(0, 60, 60.25, 485, 367.5)]),
    ("formats/roboflow_exports", "datasets/sharks-tiny-yolov9/train", {}, "yolo", 7, 44, []),
    ("formats/superannotate", "sample_project_vector/example_image_1.jpg___objects.json", {}, "superannotate", 1, 22,
     [(0, 437.16, 341.5, 28.07, 15.59)]),  # 5 boxes and 17 polygons; 7 templates have no area
    ("formats/superannotate", "sample_project_vector/example_image_2.jpg___objects.json", {}, "superannotate", 1, 24,
     [(0, 1741, 707, 95, 73)]),
    ("formats/superannotate", "converter_test/COCO/input/toSuperAnnotate/instance_segmentation/instances_test.json", {},
     "coco", 4, 46, []),
    ("formats/via_ntp", "via_region_data.json", {}, "via", 1, 307, [(0, 310, 665, 26, 123)]),
    ("pairs/detectron2_blood_cells", "images/test", {}, "coco-folder", 99, 235, [(0, 283, 926, 170.4, 176)]),
    ("pairs/detectron2_blood_cells", "images", {"split": "valid"}, "coco-folder", 803, 4_124,
     [(0, 1094, 529, 158.4, 148.8)]),
    ("pairs/detectron2_blood_cells", "output/coco_instances_results.json", {}, "coco-results", 98, 249,
     [(0, 292.3773, 925, 169.6702, 178.9785)]),
    ("pairs/detectron2_blood_cells", "output/inference_results.json", {}, "coco-results", 23, 36,
     [(0, 780, 1126, 181, 144)]),
    ("pairs/detectron2_medical_waste", "data/test", {}, "coco-folder", 25, 140, [(0, 509, 499, 19.852, 45.111)]),
    ("pairs/detectron2_medical_waste", "output/coco_instances_results.json", {}, "coco-results", 25, 1_922,
     [(0, 334.4423, 116.9350, 46.6573, 91.6853)]),
    ("formats/labelbox", "coco/rle.json", {}, "coco", 10, 231, [(0, 3, 199, 594, 225)]),
    ("pairs/mmdet_tables", "results.bbox.json", {}, "coco-results", 298, 431,
     [(0, 115.8774, 282.2570, 353.2685, 41.9944)]),
]  # fmt: skip

# Archive, path in it, and what the one line must say: what it is, or what to export.
REFUSED = [
    ("formats/bdd100k", "eval/testcases/ins_seg/pred.json", "bdd100k.label.to_rle"),
    ("formats/bdd100k", "eval/testcases/ins_seg/gt", "bdd100k.label.to_coco"),
    ("formats/bdd100k", "label", "name one of them: testcases (scalabel)"),  # some documents are a level deeper
    ("formats/cvat", "cvat/apps/dataset_manager/tests/assets/annotations.json", "export the task as CVAT for images"),
    ("formats/darwin_v7", "tests/darwin/data/dataloop.example.json", "Dataloop JSON"),
    ("formats/darwin_v7", "e2e_tests/data/convert/nifti/from", "slices of a volume"),
    ("formats/darwin_v7", "e2e_tests/data/convert/nifti/to", "verite localize compares volumes"),
    ("formats/darwin_v7", "e2e_tests/data/convert/pascalvoc", "name one of them: from (darwin), to (voc)"),
    ("formats/label_studio_examples", "image_tools/annotations", "export the project as JSON"),
    ("formats/label_studio_examples", "image_list/tasks.json", "tasks with several images each are not read"),
    ("formats/labelme_examples", "", "bbox_detection (labelme), classification (labelme)"),
    (
        "formats/labelme_examples",
        "bbox_detection",
        "name one of them: data_annotated (labelme), data_dataset",
    ),
    ("formats/roboflow_exports", "datasets", "chess (voc), mosquitos (table), sharks-tiny-coco (coco-folder)"),
    ("formats/label_studio_examples", "image_bbox/config.xml", "Label Studio's labelling configuration"),
    ("formats/label_studio_examples", "image_segmentation/tasks.json", "tasks of Label Studio without annotations"),
    ("formats/labelbox", "coco", "name one of the files in it: instances.json (coco), panoptic.json (panoptic)"),
    ("formats/labelbox", "labelbox_v1", "highly_nested_image.json (labelbox), image_export.json (labelbox)"),
    ("formats/kaggle_rsna_pneumonia", "", "kaggle_rsna_pneumonia/stage_2_train_labels.csv"),
    ("formats/panoptic_coco_sample", "sample_data", "panoptic_examples.json (panoptic)"),
    ("formats/mmdet_results", "", "results.bbox.json (coco-results), workdirs/out.bbox.json (coco-results)"),
    ("pairs/mmdet_tables", "", "results.bbox.json (coco-results), results.segm.json (coco-results), test.json (coco)"),
    ("formats/labelbox", "labelbox_v1/video_export.json", "the frames of a video"),
    ("formats/labelbox", "labelbox_v1/pdf_export.json", "of a PDF"),
    ("formats/labelbox", "labelbox_v1/text_export.json", "objects of other kinds"),
    ("formats/labelbox", "labelbox_v1/tiled_image_export.json", "a tiled map"),
    ("formats/sagemaker_gt_bird", "output.manifest", "a job of type groundtruth/image-classification"),
    ("formats/sagemaker_gt_bird", "input.manifest", "images without labels"),
    ("formats/superannotate", "sample_project_pixel", "export the project as COCO"),
    ("pairs/mmdet_tables", "test.json", "which are 'ar_"),  # 600 images with 220 ids, of which 128 are shared
]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Unpacks an archive once, and returns the path of something in it."""
    folder = tmp_path_factory.mktemp("real")

    def find(archive: str, path: str) -> Path:
        name = archive.rpartition("/")[2]
        if not (folder / name).exists():
            with tarfile.open(REAL / f"{archive}.tar.gz") as packed:
                packed.extractall(folder / name, filter="data")
        return folder / name / name / path

    return find


@pytest.mark.parametrize(("archive", "path", "options", "format", "images", "objects", "boxes"), ROWS)
def test_real_set_is_read_as_it_is(unpacked, archive, path, options, format, images, objects, boxes):
    read = vt.read(unpacked(archive, path), **options)
    assert (read.source.format, len(read.images), len(read)) == (format, images, objects)
    for row, *box in boxes:
        np.testing.assert_allclose(read.regions.sizes[row], box, atol=1e-4)


@pytest.mark.parametrize(("archive", "path", "said"), REFUSED)
def test_real_set_that_is_not_read_is_refused_with_what_to_do(unpacked, archive, path, said):
    with pytest.raises(vt.ReadError) as error:
        vt.read(unpacked(archive, path))
    assert said in str(error.value)


def test_masks_per_instance_are_of_one_image_where_the_ground_truth_says_so(unpacked):
    """Of the three polygons, V7 wrote the masks; their boxes differ by the pixels on the outlines."""
    folder = unpacked("formats/darwin_v7", "e2e_tests/data/convert/instance_mask")
    truth = vt.read(folder / "from")
    masks = vt.read(folder / "to" / "masks", like=truth)
    assert (len(masks.images), len(masks)) == (1, 3)
    np.testing.assert_allclose(masks.regions.sizes, truth.regions.sizes, atol=2)


def test_boxes_beside_polygons_are_not_taken_for_corners(unpacked):
    """Images that share an id have each other's sizes, so that boxes leave them; their polygons show their extent."""
    found = {f.code: f for f in vt.inspect(unpacked("pairs/mmdet_tables", "test.json")).findings}
    assert found["V218"].count == 380  # 600 records of 220 ids
    assert "corners" not in found["V109"].remedy
    assert found["V109"].remedy.startswith("check the image names and sizes")


def test_raster_mask_has_the_pixels_of_its_layer(unpacked):
    read = vt.read(unpacked("formats/darwin_v7", "e2e_tests/data/convert/semantic_mask/from/221b-2.json"))
    assert read.regions.runs[0][1::2].sum() == 2_253


def test_voc2007_is_read_and_evaluated_as_py_faster_rcnn_does(unpacked):
    truth = vt.read(REAL / "voc2007" / "truth.json.gz")
    # Counted by `json`: images, objects, difficult ones.
    assert (len(truth.images), len(truth), int(truth.flag("difficult").sum())) == (4_952, 14_976, 2_944)
    pred = unpacked("voc2007/yolov2.comp4", "").parent / "000150"
    results = vt.voc(truth, pred, interpolation="11", checks="off")
    found = dict(zip(results.class_names, next(iter(results.class_scores().values())), strict=True))
    # From `voc_eval` of py-faster-rcnn, run on the same files.
    expected = {"dog": 0.814569678001838, "aeroplane": 0.7631263076841708, "car": 0.7902951064922686}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    # 144 of 480 potted plants are a recall of exactly 0.3, which `voc_eval` compares with 0.30000000000000004.
    assert found["pottedplant"] == pytest.approx(0.46707676612621474, abs=1e-12)  # its levels as k / 10
    quirky = vt.voc(truth, pred, interpolation="11", quirks="py-faster-rcnn", checks="off")
    found = dict(zip(quirky.class_names, next(iter(quirky.class_scores().values())), strict=True))
    assert found["pottedplant"] == pytest.approx(0.46595272074228705, abs=1e-12)
    assert quirky["mAP"].value == pytest.approx(0.7213806028350517, abs=1e-12)


def test_every_archive_has_a_row():
    archives = {f"{p.parent.name}/{p.name.removesuffix('.tar.gz')}" for p in REAL.glob("*/*.tar.gz")}
    archives = {name for name in archives if name.split("/")[0] in ("formats", "pairs")}
    assert archives == {row[0] for row in [*ROWS, *REFUSED]}
