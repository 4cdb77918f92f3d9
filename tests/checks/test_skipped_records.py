"""Records that violate their format are listed by inspect, in every format."""

from __future__ import annotations

import json

import pytest

import verite as vt
from verite import cli
from verite.formats import coco_errors


def document():
    images = [{"id": i, "width": 100, "height": 100, "file_name": f"{i}.jpg"} for i in range(1, 31)]
    boxes = [
        {"id": i, "image_id": 1 + i % 30, "category_id": 1 + i % 2, "bbox": [i, 10, 20 + i, 30], "area": 600 + 30 * i}
        for i in range(60)
    ]
    return {"images": images, "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}], "annotations": boxes}


def spoil(found):
    boxes = found["annotations"]
    boxes[3]["bbox"] = [1, 2, 3]
    boxes[7]["image_id"] = 999
    boxes[9]["category_id"] = 77
    del boxes[20]["image_id"]
    del boxes[31]["bbox"]
    boxes[40]["segmentation"] = {"size": [100, 100], "counts": [1, 2, 3]}
    boxes[41]["segmentation"] = [[1, 2, 3, 4]]
    boxes[50]["bbox"] = [1, 2, 3]
    found["images"][5]["width"] = -3
    return found


def write(path, found):
    path.write_text(json.dumps(found))
    return path


def listed(path, **more):
    """What is listed, by code and place."""
    found = vt.inspect(path, **more).findings
    return {
        (f.code, place.partition(": ")[2].partition(":")[0]) for f in found if f.code[1] in "4" for place in f.examples
    }


def test_every_fault_of_a_coco_file_is_listed_with_its_record(tmp_path):
    path = write(tmp_path / "truth.json", spoil(document()))
    assert listed(path) == {
        ("V402", "annotations[3].bbox"),
        ("V402", "annotations[7].image_id"),
        ("V402", "annotations[9].category_id"),
        ("V402", "annotations[20]"),
        ("V402", "annotations[31]"),
        ("V405", "annotations[40].segmentation"),
        ("V408", "annotations[41].segmentation"),
        ("V402", "annotations[50].bbox"),
        ("V402", "images[5]"),
    }
    kinds = {f.message: f.count for f in vt.inspect(path).findings if f.code == "V402"}
    assert kinds["2 records skipped: expected 4 numbers in bbox"] == 2
    with pytest.raises(vt.ReadError, match=r"truth.json: annotations\[3\]\.bbox: expected 4 numbers in bbox, found 3"):
        vt.read(path)


def test_the_rest_of_the_file_is_looked_at_as_well(tmp_path):
    found = spoil(document())
    found["annotations"][55]["bbox"] = [10, 10, 900, 10]
    inspection = vt.inspect(write(tmp_path / "truth.json", found))
    assert "V109" in [f.code for f in inspection.findings]
    assert inspection.files[0].objects == 60 - 8
    assert inspection.files[0].path == str(tmp_path / "truth.json")


def test_wrong_results_are_listed_beside_their_truth(tmp_path):
    truth = write(tmp_path / "truth.json", document())
    results = [{**box, "score": 0.5 + i / 1000} for i, box in enumerate(document()["annotations"])]
    results[2]["bbox"], results[5]["score"] = [1, 2, 3], "high"
    pred = write(tmp_path / "pred.json", results)
    found = [f for f in vt.inspect(truth, pred).findings if f.code == "V402"]
    assert sorted(place.partition(": ")[2] for f in found for place in f.examples) == [
        "[2].bbox: found 3",
        "[5].score: found a string",
    ]
    assert {f.side for f in found} == {"pred"}


def test_after_a_thousand_wrong_records_the_rest_is_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(coco_errors, "MOST", 5)
    monkeypatch.setattr(coco_errors, "BLOCK", 4)
    found = document()
    for box in found["annotations"]:
        box["bbox"] = [1, 2, 3]
    kinds = {f.message: f.count for f in vt.inspect(write(tmp_path / "truth.json", found)).findings if f.code == "V402"}
    assert kinds["5 records skipped: expected 4 numbers in bbox"] == 5
    assert any("found more: the others were not looked at" in message for message in kinds)


def test_a_file_that_is_cut_off_has_one_fault(tmp_path):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document())[:-200])
    with pytest.raises(vt.ReadError, match=r"was it cut off\? \(V403\)"):
        vt.inspect(path)


def test_ids_that_two_images_have_are_listed(tmp_path):
    found = document()
    found["images"][4]["id"] = found["images"][6]["id"] = 1
    (finding,) = [f for f in vt.inspect(write(tmp_path / "truth.json", found)).findings if f.code == "V218"]
    assert finding.count == 2
    assert [place.partition("found ")[2] for place in finding.examples] == [
        "1 in images[0] and images[4], which are '1.jpg' and '5.jpg'",
        "1 in images[0] and images[6], which are '1.jpg' and '7.jpg'",
    ]


def places(path, **more):
    """Every place at which a record was left out, without the folder."""
    findings = [f for f in vt.inspect(path, **more).findings if f.severity == "error"]
    return sorted(f"{place.split('/')[-1].split(': ')[0]} {f.code}" for f in findings for place in f.examples)


def test_every_wrong_line_of_a_text_folder_is_listed(tmp_path):
    for i in range(3):
        lines = [f"cat {i + n} 2 30 40" for n in range(9)]
        (tmp_path / f"{i}.txt").write_text("\n".join([*lines, "dog 5 6 x 10", "cat 3 4", *lines[:1]]) + "\n")
    with (tmp_path / "1.txt").open("a") as file:
        file.write("cat 0.5 1 2 3 4\n")
    (tmp_path / "3.txt").write_bytes(b"cat 1 2 3 4\n\xff\xfe\n")
    assert places(tmp_path) == [
        *("0.txt:10 V402", "0.txt:11 V402", "1.txt:10 V402", "1.txt:11 V402", "1.txt:13 V402"),
        *("2.txt:10 V402", "2.txt:11 V402", "3.txt:2 V402"),
    ]
    with pytest.raises(vt.ReadError, match=r"0.txt:10: expected a number, found 'x'"):
        vt.read(tmp_path)


def test_every_wrong_line_of_a_yolo_folder_is_listed(tmp_path):
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    good = "\n".join(f"0 0.5 0.5 0.{n} 0.2" for n in range(1, 9))
    (tmp_path / "a.txt").write_text(f"{good}\n7 0.5 0.5 0.1 0.1\n1 0.5 0.5\n")
    (tmp_path / "b.txt").write_text(f"{good}\n1 0.1 0.1 0.2 0.2 0.3\n")
    assert places(tmp_path) == ["a.txt:10 V402", "a.txt:9 V206", "b.txt:9 V402"]


VOC = "<annotation><filename>{}.jpg</filename>{}</annotation>"


BOX = "<object><name>cat</name><bndbox><xmin>{}</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>\n"


def test_every_wrong_object_of_voc_files_is_listed(tmp_path):
    (tmp_path / "a.xml").write_text(VOC.format("a", BOX.format(1) + BOX.format("one") + BOX.format(2)))
    (tmp_path / "b.xml").write_text(VOC.format("b", BOX.format(1))[:-30])
    (tmp_path / "c.xml").write_text(VOC.format("c", BOX.format(1) + "<object><name>dog</name></object>"))
    assert places(tmp_path) == ["a.xml:2 V402", "b.xml:1 V403", "c.xml:2 V402"]
    inspection = vt.inspect(tmp_path)
    assert (inspection.files[0].images, inspection.files[0].objects) == (2, 3)


def test_every_wrong_shape_of_a_cvat_file_is_listed(tmp_path):
    shapes = [
        '<box label="c" xtl="1" ytl="1" xbr="5" ybr="5"/>',
        '<box label="c" xtl="1" ytl="1" xbr="5"/>',
        '<polygon label="c" points="1,2;3,4"/>',
        '<box xtl="1" ytl="1" xbr="5" ybr="5"/>',
    ]
    image = '<image id="0" name="a.jpg" width="9" height="9">\n' + "\n".join(shapes) + "\n</image>"
    (tmp_path / "annotations.xml").write_text(f"<annotations>\n{image}\n</annotations>")
    assert places(tmp_path) == ["annotations.xml:4 V402", "annotations.xml:5 V408"]
    assert "V207" in [f.code for f in vt.inspect(tmp_path).findings]


def test_the_command_lists_them_and_mends_no_file_with_unread_records(tmp_path, capsys):
    path = write(tmp_path / "truth.json", spoil(document()))
    assert cli.run(["inspect", str(path), "--fix", str(tmp_path / "out.json")]) == 1
    said = capsys.readouterr()
    assert said.out.count("error: V4") == 8
    assert "out.json not written: 9 records cannot be read" in said.err
    assert not (tmp_path / "out.json").exists()


def lvis_document():
    found = document()
    for image in found["images"]:
        image |= {"neg_category_ids": [], "not_exhaustive_category_ids": []}
    for category in found["categories"]:
        category["frequency"] = "f"
    return found


def test_every_fault_of_an_lvis_file_is_listed_by_its_own_number(tmp_path):
    found = lvis_document()
    found["images"][2]["id"] = found["images"][1]["id"]  # left out, so that those behind it move up
    del found["images"][7]["neg_category_ids"]
    found["images"][9]["not_exhaustive_category_ids"] = [1, 77]
    del found["categories"][1]["frequency"]
    found["annotations"][3]["bbox"] = [1, 2, 3]
    path = write(tmp_path / "lvis.json", found)
    listed = {(f.code, place.split("lvis.json: ")[-1]) for f in vt.inspect(path).findings for place in f.examples}
    assert listed >= {
        ("V402", "annotations[3].bbox: found 3"),
        ("V414", "images[7]: found none"),
        ("V414", "categories[1]: found none"),
        ("V402", "images[9].not_exhaustive_category_ids: found 77"),
    }
    assert "V218" in {code for code, _ in listed}
    with pytest.raises(vt.ReadError, match=r"annotations\[3\]\.bbox"):
        vt.read(path)


TABLE = "image,label,x,y,width,height,score,iscrowd\n"


def test_every_wrong_row_of_a_table_is_listed(tmp_path):
    lines = [f"{i % 4}.jpg,cat,{i},2,30,40,0.{i + 10},0" for i in range(20)]
    lines[3] = "1.jpg,cat,3,2,30,40,0.5"  # a cell too few
    lines[5] = "1.jpg,,3,2,30,40,0.5,0"
    lines[8] = "1.jpg,cat,3,two,30,40,0.5,0"
    lines[9] = "1.jpg,cat,3,2,30,wide,0.5,0"
    lines[12] = "1.jpg,cat,3,2,30,40,0.5,7"
    lines[13] = "1.jpg,cat,3,2,three,40,0.5,0"
    lines.insert(10, "")  # lines are counted as an editor counts them
    path = tmp_path / "pred.csv"
    path.write_text(TABLE + "\n".join(lines) + "\n")
    assert places(path) == sorted(["pred.csv V402"] * 5 + ["pred.csv:5 V402"])
    told = {place.split("pred.csv")[-1] for f in vt.inspect(path).findings for place in f.examples}
    assert told >= {
        ":5: found 7",
        ": row 7: found none",
        ": row 10: found 'two'",
        ": row 11: found 'wide'",
        ": row 15: found 7.0",
        ": row 16: found 'three'",
    }
    assert vt.inspect(path).files[0].objects == 14
    with pytest.raises(vt.ReadError, match=r"pred.csv:5: expected 8 cells"):
        vt.read(path)
    lines[3] = lines[0]
    path.write_text(TABLE + "\n".join(lines) + "\n")
    with pytest.raises(vt.ReadError, match=r"row 7: expected a text in label, found none"):
        vt.read(path)


def test_every_wrong_row_of_a_parquet_file_is_listed(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    boxes = [[i, 2, 30, 40] for i in range(9)]
    boxes[4], boxes[6] = [1, 2, 3], None
    columns = {"image": ["a.jpg"] * 9, "label": ["cat"] * 7 + [None, "dog"], "bbox": boxes}
    path = tmp_path / "truth.parquet"
    parquet.write_table(arrow.table(columns), path)
    told = {place.split("parquet: ")[-1] for f in vt.inspect(path).findings for place in f.examples}
    assert told >= {"row 8: found none", "row 5: found 3", "row 7: found none"}
    assert vt.inspect(path).files[0].objects == 6


def write_panoptic(folder, change):
    """Four images with two segments each, changed before they are written."""
    from PIL import Image

    folder.mkdir()
    rows = [
        {"image_id": i, "file_name": f"{i}.png", "segments_info": [{"id": s, "category_id": s} for s in (1, 2)]}
        for i in range(4)
    ]
    found = {
        "images": [{"id": i, "width": 4, "height": 4} for i in range(4)],
        "categories": [{"id": c, "name": f"class {c}", "isthing": 1} for c in (1, 2)],
        "annotations": rows,
    }
    for i in range(4):
        picture = Image.new("RGB", (4, 4), (1, 0, 0))
        picture.putpixel((0, 0), (2, 0, 0))
        picture.putpixel((3, 3), (0, 0, 0))
        picture.save(folder / f"{i}.png")
    change(found, folder)
    return write(folder / "truth.json", found)


def test_every_fault_of_a_panoptic_file_is_listed(tmp_path):
    from PIL import Image

    def spoil(found, folder):
        rows = found["annotations"]
        rows[0]["segments_info"][0]["category_id"] = 9
        rows[0]["segments_info"][1]["id"] = 2**31
        Image.new("L", (4, 4)).save(folder / "1.png")
        rows[2]["file_name"] = 3
        rows.append({"image_id": 77, "file_name": "3.png", "segments_info": []})
        found["categories"].append({"id": 2, "name": "again"})

    path = write_panoptic(tmp_path / "set", spoil)
    findings = vt.inspect(path).findings
    told = {(f.code, place.split("set/")[-1]) for f in findings for place in f.examples}
    assert told >= {
        ("V402", "truth.json: annotations[0].segments_info[0].category_id: found 9"),
        ("V402", f"truth.json: annotations[0].segments_info[1].id: found {2**31}"),
        ("V409", "1.png: found L"),
        ("V402", "truth.json: annotations[2].file_name: found a whole number"),
        ("V402", "truth.json: annotations[4].image_id: found 77"),
        ("V402", "truth.json: categories: found 2 twice"),
    }
    assert vt.inspect(path).files[0].objects == 2
    with pytest.raises(vt.ReadError, match=r"annotations\[2\]\.file_name: expected text"):
        vt.read(path)


def test_void_pixels_of_a_panoptic_file_are_noted(tmp_path):
    path = write_panoptic(tmp_path / "set", lambda found, folder: None)
    (finding,) = [f for f in vt.inspect(path).findings if f.code == "V410"]
    assert (finding.severity, finding.count) == ("note", 4)  # one black pixel in each of four pictures
    assert "4 of 64 pixels are void" in finding.message
    assert finding.examples[0].endswith(": 1 of 16")


def test_sizes_of_images_rotated_are_reported_apart():
    images = [{"id": i, "width": w, "height": h} for i, (w, h) in enumerate([(640, 480), (480, 640), (640, 480)])]
    found = vt.inspect({"images": images, "annotations": [], "categories": [{"id": 1, "name": "cat"}]})
    assert "480 x 640 to 640 x 480" in str(found)
