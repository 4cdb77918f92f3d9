"""Agreement of annotators and the error rates that follow: matching, capture-recapture, Dawid-Skene, jitter, files."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.annotation_errors.agreement import cohen_kappa, krippendorff_alpha
from verite.annotation_errors.annotator_rates import ClassModel, RateModel
from verite.annotation_errors.annotators import read_annotators
from verite.annotation_errors.object_matching import match_objects
from verite.cli import run

SHARED = Path(__file__).parents[2].parent / "shared" / "real" / "annotators"
needs_readers = pytest.mark.skipif(not SHARED.exists(), reason="the real annotators of ../shared are not there")


def annotators_of(patterns: dict[str, int], labels: dict[str, list[str]] | None = None) -> dict[str, vt.Annotations]:
    """Annotators by capture histories: {"110": 3} are three objects that the first two have, an image each."""
    count = len(next(iter(patterns)))
    names = [f"{pattern}-{i}" for pattern, number in patterns.items() for i in range(number)]
    found = {}
    for r in range(count):
        own = [name for name in names if name[r] == "1"]
        classes = [(labels or {}).get(name, ["cat"] * count)[r] for name in own]
        boxes = [[0, 0, 100, 100]] * len(own)
        found["ABCDE"[r]] = vt.Annotations.of(own, classes, np.reshape(boxes, (-1, 4)), images=names, labels=["cat"])
    return found


def test_rates_of_two_annotators_after_adjudication_are_those_by_hand(tmp_path: Path) -> None:
    both = annotators_of({"11": 8, "10": 4, "01": 2})
    table = vt.agree(both, draws=50).single_table()
    path = tmp_path / "singles.csv"
    verdicts = {"A": iter(["right", "right", "wrong", "wrong"]), "B": iter(["right", "wrong"])}
    rows = [",".join([*map(str, row[:-1]), next(verdicts[row[0]])]) for row in table.rows]
    path.write_text("\n".join([",".join(table.head), *rows]) + "\n")
    found = vt.agree(both, adjudicated=path, draws=50)
    # Half of each side's singles are real (2.5 / 5 and 1.5 / 3 under Jeffreys' prior): r10 = 2, r01 = 1, dark = 2 / 8.
    assert found.rate("missing")[0] == pytest.approx((1 + 2 * 1 / 8) / 12)
    assert found.rate("spurious")[0] == pytest.approx(2 / 12)
    assert found.rate("missing", "B")[0] == pytest.approx((2 + 2 * 1 / 8) / 10)
    assert len(found.consensus) == 8 + 3  # confirmed singles belong to it


def test_two_annotators_without_adjudication_leave_the_rates_open() -> None:
    found = vt.agree(annotators_of({"11": 80, "10": 40, "01": 20}), draws=2000)
    low, high = found.rate("spurious")[1:]
    assert low < 0.01
    assert high > 0.32  # the share of singles is 40 / 120
    assert "adjudicated" in str(found)


def test_rates_of_three_annotators_are_capture_recapture_by_hand() -> None:
    counts = {"111": 40, "110": 8, "101": 6, "011": 4, "100": 10, "010": 5, "001": 3}
    found = vt.agree(annotators_of(counts), draws=50)
    p = [40 / 44, 40 / 46, 40 / 48]
    q = [1 - one for one in p]
    twice = p[0] * p[1] * p[2] + p[0] * p[1] * q[2] + p[0] * q[1] * p[2] + q[0] * p[1] * p[2]
    objects = 58 / twice
    assert found.rate("missing")[0] == pytest.approx(q[0] * objects / 64)
    assert found.rate("spurious")[0] == pytest.approx(1 - p[0] * objects / 64)
    assert found.rate("missing", "C")[0] == pytest.approx(q[2] * objects / 53)


def test_an_image_that_two_of_three_annotated_counts_with_their_recalls() -> None:
    three = annotators_of({"111": 40, "110": 8, "101": 6, "011": 4, "100": 10})
    first, second = (
        vt.Annotations.of(["x", "y"], ["cat", "cat"], [[0, 0, 100, 100]] * 2),
        vt.Annotations.of(["x"], ["cat"], [[0, 0, 100, 100]], images=["x", "y"]),
    )
    more = {"A": join(three["A"], first), "B": join(three["B"], second), "C": three["C"]}
    found = vt.agree(more, draws=20)
    p = [40 / 44, 40 / 46, 40 / 48]
    q = [1 - one for one in p]
    twice = p[0] * p[1] * p[2] + p[0] * p[1] * q[2] + p[0] * q[1] * p[2] + q[0] * p[1] * p[2]
    objects = 58 / twice + 1 / (p[0] * p[1])
    assert found.rate("missing")[0] == pytest.approx(q[0] * objects / 66)


def join(one: vt.Annotations, two: vt.Annotations) -> vt.Annotations:
    """Both lists of objects, over the images of both."""
    image = [side.images.name(int(i)) for side in (one, two) for i in side.image]
    images = [side.images.name(i) for side in (one, two) for i in range(len(side.images))]
    boxes = np.concatenate([one.regions.boxes, two.regions.boxes])
    return vt.Annotations.of(image, ["cat"] * len(image), boxes, images=images)


def test_counting_is_wrong_where_recapture_is_right() -> None:
    """Generated annotators with known rates: of 6,000 objects each has 92 %, and 3 % of its boxes are spurious."""
    rng = np.random.default_rng(11)
    names = [f"i{i}" for i in range(1500)]
    found = {}
    has = rng.random((3, 6000)) < 0.92
    for r in range(3):
        own = np.flatnonzero(has[r])
        extra = rng.random(round(len(own) * 0.03 / 0.97)) * 1500
        image = [names[i % 1500] for i in own] + [names[int(i)] for i in extra]
        boxes = [[1000 * (i // 1500), 0, 1000 * (i // 1500) + 100, 100] for i in own]
        boxes += [[9000 + 300 * r, 0, 9100 + 300 * r, 100] for _ in extra]
        found["ABC"[r]] = vt.Annotations.of(image, ["cat"] * len(image), boxes, images=names)
    three = vt.agree(found, draws=200)
    n0 = len(found["A"])
    true_missing, true_spurious = float((~has[0]).sum()) / n0, 1 - float(has[0].sum()) / n0
    assert three.rate("missing")[0] == pytest.approx(true_missing, abs=0.006)
    assert three.rate("spurious")[0] == pytest.approx(true_spurious, abs=0.006)
    assert three.rate("missing")[1] <= true_missing <= three.rate("missing")[2]
    objects = match_objects(read_annotators({name: found[name] for name in "AB"}), 0.5)
    counted = int((objects.has[:, 0] & ~objects.has[:, 1]).sum()) / n0
    assert counted > 3 * true_spurious


def test_strata_of_detectors_raise_the_missing_rate() -> None:
    """Half of the objects are easy (98 % found), half hard (60 %); a detector is confident about the easy ones."""
    rng = np.random.default_rng(5)
    hard = np.arange(4000) % 2 == 1
    has = rng.random((3, 4000)) < np.where(hard, 0.6, 0.98)
    names = [f"i{i}" for i in range(4000)]
    sides = {
        "ABC"[r]: vt.Annotations.of(
            [names[i] for i in np.flatnonzero(has[r])], ["cat"] * int(has[r].sum()),
            [[0, 0, 100, 100]] * int(has[r].sum()), images=names,
        )
        for r in range(3)
    }  # fmt: skip
    confidence = np.where(hard, 0.2, 0.95)
    detector = vt.Annotations.of(names, ["cat"] * 4000, [[0, 0, 100, 100]] * 4000, confidence=confidence)
    true = float((~has[0]).sum()) / float(has[0].sum())
    pooled = vt.agree(sides, draws=20).rate("missing")[0]
    split = vt.agree(sides, detectors=[detector], draws=20).rate("missing")[0]
    assert pooled < true - 0.02
    assert split == pytest.approx(true, abs=0.02)


def test_jitter_of_three_annotators_is_solved_from_their_pairs() -> None:
    names = ["a", "b"]
    shifts = {"A": [0, 0], "B": [3, -3], "C": [0, 4]}
    sides = {
        name: vt.Annotations.of(names, ["cat"] * 2, [[s, s, 100 + s, 100 + s] for s in own])
        for name, own in shifts.items()
    }
    found = vt.agree(sides, draws=20)
    # Mean square differences of the sides, of 100 pixels: A-B 9, A-C 8, B-C (9 + 49) / 2 = 29.
    v = {"AB": 9e-4, "AC": 8e-4, "BC": 29e-4}
    assert found.rate("jitter", "B")[0] == pytest.approx(np.sqrt((v["AB"] + v["BC"] - v["AC"]) / 2))
    assert found.rate("jitter", "C")[0] == pytest.approx(np.sqrt((v["AC"] + v["BC"] - v["AB"]) / 2))
    assert found.rate("jitter", "A")[0] == 0.0  # (9 + 8 - 29) / 2 is negative
    two = vt.agree({name: sides[name] for name in "AB"}, draws=20)
    assert two.rate("jitter")[0] == pytest.approx(np.sqrt(9e-4 / 2))


def test_wrong_classes_of_two_annotators() -> None:
    labels = {f"11-{i}": ["cat", "dog"] if i < 8 else ["cat", "cat"] for i in range(100)}
    found = vt.agree(annotators_of({"11": 100}, labels), draws=100)
    assert found.rate("label")[0] == pytest.approx((1 - np.sqrt(1 - 2 * 0.08)) / 2)
    low, high = found.rate("missing")[1:]  # no error was seen, which does not mean that there is none
    assert low < 0.001 < high < 0.05


def test_dawid_and_skene_side_with_the_majority_and_with_the_reliable() -> None:
    patterns = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, -1, 1]])
    counts = np.array([40.0, 40.0, 10.0, 10.0, 5.0])
    model = ClassModel.fit(patterns, counts)
    best = model.posterior.argmax(axis=1).tolist()
    assert best == [0, 1, 0, 1, 0]  # the third annotator, often alone, loses also against the first alone
    wrong = model.wrong_shares(counts)
    assert wrong[0] < 0.02
    assert wrong[2] == pytest.approx(25 / 105, abs=0.03)


def test_krippendorffs_published_example() -> None:
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), nominal data: alpha = 0.743."""
    votes = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]).T  # fmt: skip
    found = krippendorff_alpha(votes, np.zeros(12, dtype=np.int64), np.ones((1, 1)))
    assert found[0] == pytest.approx(0.743, abs=5e-4)


def test_cohens_kappa_of_a_textbook_table() -> None:
    """20 and 15 agreements, 5 and 10 disagreements of 50: kappa = (0.7 - 0.5) / 0.5."""
    first = np.repeat([0, 0, 1, 1], [20, 5, 10, 15])
    second = np.repeat([0, 1, 0, 1], [20, 5, 10, 15])
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_the_ceiling_is_f1_and_ap_of_annotators_against_each_other() -> None:
    found = vt.agree(annotators_of({"11": 8, "10": 4, "01": 2}), draws=20)
    assert found.ceiling["F1"] == pytest.approx(2 * 8 / (12 + 10))
    # 8 of 12 and 8 of 10 found, at one precision each: 67 of 101 recalls at 8/10, 81 of 101 at 8/12.
    assert found.ceiling["AP"] == pytest.approx((67 / 101 * 0.8 + 81 / 101 * 8 / 12) / 2)
    assert found.ceiling["AP_high"] == pytest.approx((67 + 81) / 202)


def test_each_group_has_one_box_of_each_annotator_and_prefers_its_class() -> None:
    boxes = [[0, 0, 100, 100], [4, 0, 104, 100]]
    first = vt.Annotations.of(["a", "a"], ["cat", "dog"], boxes)
    second = vt.Annotations.of(["a", "a"], ["dog", "cat"], [[1, 0, 101, 100], [3, 0, 103, 100]])
    objects = match_objects(read_annotators({"A": first, "B": second}), 0.5)
    assert objects.member.tolist() == [[0, 1], [1, 0]]  # the nearer boxes have the other class
    far = vt.Annotations.of(["a"], ["cat"], [[60, 0, 160, 100]])
    assert len(match_objects(read_annotators({"A": first.take([0]), "B": far}), 0.5)) == 2
    assert len(match_objects(read_annotators({"A": first.take([0]), "B": far}), 0.2)) == 1


def test_consensus_needs_more_than_half_of_the_annotators(tmp_path: Path) -> None:
    sides = annotators_of({"111": 3, "110": 2, "001": 4}, {"111-0": ["dog", "dog", "cat"]})
    found = vt.agree(sides, draws=20)
    document = found.consensus_document()
    assert sorted(record["votes"] for record in document["annotations"]) == [2, 2, 3, 3, 3]
    names = [found.consensus.labels.name(int(i)) for i in found.consensus.label]
    assert sorted(names) == ["cat"] * 4 + ["dog"]
    assert len(vt.agree(sides, votes=1, draws=20).consensus) == 9
    path = tmp_path / "consensus.json"
    path.write_text(json.dumps(document))
    assert len(vt.read(path)) == 5


def test_draws_of_the_rates_are_the_same_again() -> None:
    sides = annotators_of({"111": 40, "110": 8, "101": 6, "011": 4, "100": 10})
    one, two = (vt.agree(sides, draws=300, seed=3).rates_table() for _ in range(2))
    assert one.rows == two.rows
    assert one.head == ("missing", "spurious", "label", "jitter_share", "jitter_sd", "lit")
    assert len(one.rows) == 300
    assert one.rows[0][-1] is None  # without detectors nothing is known about lit


# -- files


@pytest.fixture
def coco_readers(tmp_path: Path) -> Path:
    """Three readers in one COCO file; the third has no object in the second image."""
    boxes = {"R8": [1, 2], "R9": [1, 2], "R10": [1]}
    records = [
        {"id": 0, "image_id": image, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0, "rad_id": who}
        for who, images in boxes.items()
        for image in images
    ]
    for i, record in enumerate(records):
        record["id"] = i + 1
    images = [{"id": i, "file_name": f"{i}.png", "width": 20, "height": 20} for i in (1, 2, 3)]
    path = tmp_path / "readers.json"
    path.write_text(json.dumps({"images": images, "categories": [{"id": 1, "name": "x"}], "annotations": records}))
    return path


def test_a_key_of_coco_annotations_names_the_annotator(coco_readers: Path) -> None:
    found = read_annotators(coco_readers)
    assert found.names == ("R8", "R9", "R10")
    assert found.annotated.sum(axis=1).tolist() == [2, 2, 1]
    complete = read_annotators(coco_readers, "rad_id", complete=True)
    assert complete.annotated.all()
    packed = coco_readers.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(coco_readers.read_bytes()))
    assert read_annotators(packed).names == found.names


def test_a_row_without_a_box_says_that_nothing_was_found(tmp_path: Path) -> None:
    path = tmp_path / "readers.csv"
    path.write_text(
        "image,label,xmin,ymin,xmax,ymax,reader\n"
        "a.png,cat,0,0,10,10,one\na.png,cat,0,0,10,11,two\n"
        "b.png,No finding,,,,,one\nb.png,cat,0,0,10,10,two\n"
    )
    found = read_annotators(path)
    assert found.annotated.all()
    assert [len(side) for side in found.sides] == [1, 2]


def test_label_studio_has_several_annotations_per_task(tmp_path: Path) -> None:
    def drawn(x: float) -> dict[str, object]:
        value = {"x": x, "y": 10, "width": 20, "height": 20, "rotation": 0, "rectanglelabels": ["cat"]}
        return {"type": "rectanglelabels", "original_width": 100, "original_height": 100, "value": value}

    tasks = [
        {
            "data": {"image": f"{i}.png"},
            "annotations": [
                {"completed_by": 1, "result": [drawn(10)]},
                {"completed_by": {"id": 2, "email": "two@example.org"}, "result": [drawn(12)] if i else []},
                {"completed_by": 3, "was_cancelled": True, "result": [drawn(10)]},
            ],
        }
        for i in range(3)
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    found = read_annotators(path)
    assert found.names == ("1", "two@example.org")
    assert found.annotated.all()  # also the task in which the second drew nothing
    assert [len(side) for side in found.sides] == [3, 2]


def test_crowd_polygons_are_grouped_by_their_object(tmp_path: Path) -> None:
    path = tmp_path / "drawn.csv"
    path.write_text(
        'object_id,worker_id,x_locs,y_locs\n7,1,"[0, 10, 10]","[0, 0, 10]"\n7,2,"[0, 10, 12]","[0, 0, 10]"\n'
        '8,1,"[50, 60, 60]","[0, 0, 10]"\n8,2,"[50, 90, 60]","[0, 0, 10]"\n8,2,"[50, 60","[0, 0, 10]"\n(5 rows)\n'
    )
    (tmp_path / "object.csv").write_text("id,image_id,name\n7,1,dog\n8,1,cat\n(2 rows)\n")
    found = vt.agree(path, object_key="object_id", draws=20)
    assert found.names == ("1", "2")
    assert len(found.objects) == 2
    assert found.images == 1
    assert np.isnan(found.rate("missing")[0])
    assert found.mean_iou == pytest.approx((10 / 12 + 10 / 40) / 2)  # boxes of 10 x 10 in 12 x 10 and 40 x 10


def test_several_files_list_the_images_that_their_annotators_annotated(tmp_path: Path) -> None:
    first = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9]] * 2, images=["a", "b", "c"])
    second = vt.Annotations.of(["b", "c"], ["cat", "dog"], [[0, 0, 9, 9]] * 2)
    found = read_annotators([first, second])
    assert found.annotated.tolist() == [[True, True, True], [False, True, True]]
    assert found.images == 2


def test_overwrite_replaces_files_of_the_output_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    vt.write(vt.Annotations.of(["x"], ["cat"], [[0, 0, 9, 9]]), "a.json", "coco")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "agree.md").write_text("old")
    words = ["agree", "a.json", "a.json", "--draws", "10", "-o", "out", "--no-plot", "-q"]
    assert run(words) == 1
    assert (tmp_path / "out" / "agree.md").read_text() == "old"
    assert run([*words, "--overwrite"]) == 0
    assert (tmp_path / "out" / "agree.md").read_text() != "old"


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a command which fails with exit status 1 prints."""
    assert run(["agree", *words, "-q"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_bad_input_is_answered_with_one_sentence(
    tmp_path: Path, coco_readers: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, image in (("a", "x"), ("b", "y")):
        vt.write(vt.Annotations.of([image], ["cat"], [[0, 0, 9, 9]]), f"{name}.json", "coco")
    assert "at least two annotators annotated, found none" in complaint(capsys, "a.json", "b.json")
    assert "a key that names the annotator" in complaint(capsys, "a.json")
    assert "found one ('R8')" in complaint(capsys, "readers.json", "--only", "R8")
    assert "(reader)" in complaint(capsys, "readers.json", "--annotator", "reader")
    (tmp_path / "empty.csv").write_text("")
    assert "names the annotator" in complaint(capsys, "empty.csv")
    (tmp_path / "singles.csv").write_text("annotator,image,label,x,y,width,height,verdict\nR8,1.png,x,0,0,1,1,right\n")
    line = complaint(capsys, "readers.json", "--adjudicated", "singles.csv")
    assert "singles.csv:2" in line
    assert "'R8' alone has" in line
    assert run(["agree", "readers.json", "--only", "R7", "-q"]) == 2
    assert "R8, R9, R10" in capsys.readouterr().err


def test_the_folder_has_everything_that_the_next_steps_read(coco_readers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["agree", str(coco_readers), "-o", str(out), "-q", "--draws", "50"]) == 0
    names = {path.name for path in out.iterdir()}
    assert {"rates.csv", "singles.csv", "consensus.json", "confusion.csv", "agree.json", "pairs.csv"} <= names
    document = json.loads((out / "agree.json").read_text())
    assert document["annotators"] == ["R8", "R9", "R10"]
    assert set(document["rates"]["R8"]) == {"missing", "spurious", "label", "jitter"}
    assert set(document["ceiling"]) >= {"AP", "F1"}


def test_images_with_most_disagreement_come_first_and_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from verite.reporting.agreement_plots import save_disagreement

    found = vt.agree(annotators_of({"111": 2, "100": 1, "101": 1}, {"111-0": ["cat", "dog", "cat"]}), draws=20)
    assert {row[0] for row in found.disagreement.rows} == {"111-0", "100-0", "101-0"}
    (path,) = save_disagreement(found, tmp_path, 1)
    assert path.read_bytes().startswith(b"\x89PNG")


@needs_readers
def test_three_radiologists_have_the_published_rates_of_the_review() -> None:
    """shared/spec/statistics.md, section 3: 434 images of VinBigData, R8, R9 and R10, at IoU 0.5 and 0.3."""
    found = vt.agree(SHARED / "vinbigdata-3-readers.json.gz", only=["R8", "R9", "R10"], draws=50)
    assert found.images == 434
    readers = ("R8", "R9", "R10")
    assert [round(found.rate("missing", name)[0], 3) for name in readers] == [0.225, 0.140, 0.205]
    assert [round(found.rate("spurious", name)[0], 2) for name in readers] == [0.23, 0.42, 0.32]
    assert [round(found.rate("spurious", name, 0.3)[0], 2) for name in readers] == [0.16, 0.35, 0.22]
    assert [round(found.rate("jitter", name)[0], 3) for name in readers] == [0.089, 0.086, 0.097]
    assert found.alphas["alpha"][0] == pytest.approx(0.886, abs=5e-4)
    assert found.alphas["alpha_with_missing"][0] == pytest.approx(0.281, abs=5e-4)


@needs_readers
def test_ten_readers_of_whom_three_saw_each_image_are_compared_at_once() -> None:
    found = vt.agree(SHARED / "vinbigdata-3-readers.json.gz", draws=20)
    assert found.images == 460
    assert len(found.names) == 10
    assert found.rate("missing", "R8")[0] == pytest.approx(0.225, abs=0.005)


def test_weights_of_one_are_the_data_themselves() -> None:
    sides = annotators_of({"111": 40, "110": 8, "101": 6, "011": 4, "100": 10})
    model = RateModel(match_objects(read_annotators(sides), 0.5))
    missing, _, _ = model.presence_rates(np.ones((1, model.images)), np.random.default_rng(0))
    assert missing[0, 0] == pytest.approx(vt.agree(sides, draws=20).rate("missing")[0])


def mask_document(polygons: list[list[float]]) -> dict[str, object]:
    """One image of 20 x 20 pixels and a polygon per object."""
    records = [
        {"id": i + 1, "image_id": 1, "category_id": 1, "segmentation": [polygon], "iscrowd": 0, "area": 1.0,
         "bbox": [min(polygon[::2]), min(polygon[1::2]), max(polygon[::2]) - min(polygon[::2]),
                  max(polygon[1::2]) - min(polygon[1::2])]}
        for i, polygon in enumerate(polygons)
    ]  # fmt: skip
    images = [{"id": 1, "file_name": "a.png", "width": 20, "height": 20}]
    return {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": records}


def test_masks_are_compared_by_their_pixels() -> None:
    """Two L-shapes with the same box of 10 x 10: 100 − 25 and 100 − 25 pixels, of which 50 are common, of 100."""
    first = [0, 0, 10, 0, 10, 5, 5, 5, 5, 10, 0, 10]  # without the lower right quarter
    second = [0, 0, 5, 0, 5, 5, 10, 5, 10, 10, 0, 10]  # without the upper right quarter
    sides = {"A": vt.read(mask_document([first])), "B": vt.read(mask_document([second]))}
    assert vt.agree(sides, draws=20).mean_iou == 1.0
    masks = vt.agree(sides, on="mask", draws=20)
    assert masks.mean_iou == pytest.approx(0.5)
    assert "jitter" not in masks.error_option
    assert len(vt.agree(sides, on="mask", iou=0.6, draws=20).objects) == 2  # they no longer match
    # Every pixel that one of the two has, since half of two is one.
    (record,) = masks.consensus_document()["annotations"]
    assert (record["area"], record["bbox"]) == (100.0, [0.0, 0.0, 10.0, 10.0])
    again = vt.read(masks.consensus_document())
    whole = vt.Annotations.of(["a.png"], ["cat"], [[0, 0, 10, 10]], confidence=[1.0])
    assert vt.coco(again, whole, checks="off")["AP"].value == pytest.approx(1.0)
    assert pickle.loads(pickle.dumps(masks)).mean_iou == masks.mean_iou


def test_masks_of_files_with_boxes_alone_are_refused() -> None:
    boxes = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    with pytest.raises(vt.DataError, match=r"expected polygons or masks, found boxes only of 'A'; on=.box."):
        vt.agree({"A": boxes, "B": boxes}, on="mask")
