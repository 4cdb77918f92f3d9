"""The page: its numbers are those of the evaluation, the same bytes come out, and no name can do anything."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.reporting.page.pages import HARBOUR, HOSTILE, SYSTEMS, TRUTH, crowded_pair, hostile_pair, random_pair
from verite.cli import run
from verite.reporting.overlays import Overlay
from verite.reporting.page.charts import Axes, Stroke, lines
from verite.reporting.page.frame import embed_json
from verite.reporting.page.mixups import find_mixups
from verite.reporting.page.packed import Packer
from verite.reporting.page.summary import exact_mcnemar
from verite.reporting.page.tally import STEPS, ConfidenceTally


class Text(HTMLParser):
    """What a reader without scripts sees, and which elements and attributes there are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.silent = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.silent += tag in ("script", "style")
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_endtag(self, tag):
        self.silent -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return vt.report(TRUTH, SYSTEMS, tmp_path_factory.mktemp("page") / "report.html", title="Harbour")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    truth, pred = hostile_pair()
    return vt.report(truth, {"</script>": pred, "a": pred}, tmp_path_factory.mktemp("page") / "h.html", checks="off")


def test_the_document_has_the_numbers_of_the_evaluation(page):
    document = vt.read_report(page)
    for system in document["systems"]:
        results = vt.coco(TRUTH, SYSTEMS[system["name"]])
        assert system["scores"] == {key: score.value for key, score in results.scores.items()}
        assert system["signature"] == str(results.signature)
        rows = sorted((list(row[:2]) for row in results.class_table().rows), key=lambda row: row[1])
        assert [row[:2] for row in system["classes"]["rows"]] == rows
    assert [system["name"] for system in document["systems"]] == ["hawk", "magpie", "mole"]


def test_every_number_can_be_read_without_a_script(page):
    text, document = Text(page.read_text()).text, vt.read_report(page)
    shown = []
    for system in document["systems"]:
        shown += list(system["scores"].values())[:4]
        shown += [value for row in system["classes"]["rows"] for value in row[1:5]]
        shown += [value for one in system["thresholds"] for value in [one["AP"]]]
        shown += [*system["errors"]["cost"].values(), *system["errors"]["alone"].values()]
        for k in range(5, 100, 10):
            right, wrong = system["steps"]["right"][k], system["steps"]["wrong"][k]
            shown += [right / (right + wrong), right / system["steps"]["truths"]]
    missing = [value for value in shown if f"{value:.3f}" not in text]
    assert not missing


def test_verdict_comes_first_in_a_sentence(page):
    text = Text(page.read_text()).text
    assert re.search(r"Harbour\s+hawk\s+leads\s+magpie\s+by 0.080", text)
    assert text.index("leads") < text.index("0.725")


def test_same_input_gives_the_same_bytes_in_any_surroundings(tmp_path):
    program = (
        "import sys, verite as vt; h = sys.argv[1];"
        "t, p = h + '/truth.json', {'hawk': h + '/hawk.json'};"
        "vt.report(t, p, sys.argv[2], pictures='embed', threads=int(sys.argv[3]))"
    )
    moved = tmp_path / "elsewhere" / "deep"
    shutil.copytree(HARBOUR, moved, ignore=shutil.ignore_patterns("truth-voc"))
    found = []
    for home, seed, threads, zone, place in (
        (HARBOUR, "1", "1", "UTC", "C"),
        (moved, "77", "2", "Asia/Tokyo", "C.UTF-8"),
    ):
        out = tmp_path / f"{seed}.html"
        surroundings = os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": place}
        subprocess.run([sys.executable, "-c", program, home, out, threads], check=True, env=surroundings, cwd=tmp_path)
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert str(tmp_path).encode() not in found[0]


def test_page_loads_nothing_and_styles_nothing_inline(page, hostile):
    for path in (page, hostile):
        seen = Text(path.read_text())
        assert not [one for one in seen.attributes if one[1] == "style" or one[1].startswith("on")]
        links = [value for _, key, value in seen.attributes if key in ("href", "src")]
        assert all(value.startswith(("#", "data:image/webp;base64,")) or "images/" in value for value in links)
        assert seen.tags.count("script") == 2 + 1 + len(vt.read_report(path)["systems"])
        policy = next(v for _, key, v in seen.attributes if key == "content" and "default-src" in v)
        assert "unsafe" not in policy


def test_hostile_names_stay_names(hostile):
    page = hostile.read_text()
    assert "<script>alert" not in page
    assert "onerror=alert(1)>" not in page.replace("onerror=alert(1)&gt;", "")
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "\u202e" not in re.sub(r"<bdi[^>]*>[^<]*</bdi>|(title|aria-label|data-row)=\"[^\"]*\"", "", shown)
    labels = vt.read_report(hostile)["truth"]["labels"]
    assert labels == [name.encode("utf-8", "replace").decode() for name in HOSTILE]
    assert len(page) < 3_000_000


def test_page_is_valid_html(page, hostile):
    html5lib = pytest.importorskip("html5lib")
    for path in (page, hostile):
        html5lib.HTMLParser(strict=True).parse(path.read_text())


def test_json_in_the_page_cannot_end_its_element():
    text = embed_json("verite", json.dumps("</script><!--\u2028&", ensure_ascii=False))
    assert text.count("</script>") == 1
    assert json.loads(text[text.index(">") + 1 : text.rindex("<")]) == "</script><!--\u2028&"


@pytest.mark.parametrize("classes", [1, 2, 80])
def test_slider_counts_are_those_of_leaving_predictions_out(classes):
    truth, pred = random_pair(classes)
    tally = ConfidenceTally(Overlay(vt.coco(truth, pred, checks="off")))
    counts = tally.by_label.falling
    images = [tally.by_image(np.arange(len(truth.images)), is_right).falling for is_right in (True, False)]
    for k in range(0, STEPS, 10):
        again = vt.coco(truth, pred, confidence=k / 100, checks="off")
        fates = again.objects(0.5).columns
        side, fate, label = fates["side"].values, fates["fate"].values, fates["label"].values
        for place, word in ((0, "right"), (1, "wrong")):
            chosen = (side == 1) & (fate == list(fates["fate"].names).index(word))
            assert np.bincount(label[chosen], minlength=classes).tolist() == counts[:, place, k].tolist()
            where = fates["image"].values[chosen]
            assert np.bincount(where, minlength=len(truth.images)).tolist() == images[place][:, k].tolist()


def matrix_at(columns, labels, at):
    """What a page's script sums up."""
    step, truth, pred, many = (columns[f"m_{name}"] for name in ("at", "truth", "pred", "many"))
    chosen = (step >= at) & (step < STEPS) if at < STEPS else step == at
    matrix = np.zeros((labels, labels), dtype=np.int64)
    np.add.at(matrix, (truth[chosen], pred[chosen]), many[chosen])
    return matrix


@pytest.mark.parametrize("matching", ["same-first", "label-free"])
@pytest.mark.parametrize("seed", [0, 1])
def test_confusion_at_every_step_and_choice_is_that_of_the_analysis(matching, seed):
    results = vt.coco(*crowded_pair(seed=seed), checks="off")
    analysis = vt.analyse(results, matching=matching)
    tally = ConfidenceTally(Overlay(results), analysis)
    columns = find_mixups(tally)
    # Where right ones come first, one that enters takes its truth back.
    assert (columns["m_many"] < 0).any() == (matching == "same-first")
    for k in range(STEPS):
        again = vt.analyse(results, matching=matching, confidence=k / 100).confusion.counts
        assert matrix_at(columns, 3, k).tolist() == again[:3, :3].tolist()
    for place, floors in enumerate((tally.confidence, vt.analyse(results).operating.thresholds, "lrp")):
        again = vt.analyse(results, matching=matching, confidence=floors).confusion.counts
        assert matrix_at(columns, 3, STEPS + place).tolist() == again[:3, :3].tolist()


@pytest.mark.parametrize("seed", [0, 1])
def test_errors_of_each_type_at_every_step_are_those_of_leaving_predictions_out(seed):
    truth, pred = crowded_pair(seed=seed)
    results = vt.coco(truth, pred, checks="off")
    tally = ConfidenceTally(Overlay(results), vt.analyse(results))
    for k in range(0, STEPS, 7):
        counts = vt.analyse(vt.coco(truth, pred, confidence=k / 100, checks="off")).errors.counts
        wrong = dict(zip(tally.types[1:], tally.by_label.falling[:, 1:, k].sum(axis=0).tolist(), strict=True))
        assert wrong | {"missed": tally.truths.sum() - tally.reached.falling[:, k].sum()} == counts


def test_confidences_that_are_no_shares_have_steps_between_their_extremes():
    truth, pred = random_pair(2)
    scores = vt.Annotations.of(
        [pred.images.name(i) for i in pred.image], [pred.labels.name(i) for i in pred.label], pred.regions.boxes,
        confidence=pred.confidence * 20 - 10,
    )  # fmt: skip
    tally = ConfidenceTally(Overlay(vt.coco(truth, scores, checks="off")))
    assert tally.steps[0] == scores.confidence.min()
    assert tally.by_label.steps.sum() == len(pred)


def test_what_does_not_fit_is_counted_and_said():
    truth, pred = random_pair(5, images=40)
    tally = ConfidenceTally(Overlay(vt.coco(truth, pred, checks="off")))
    packer = Packer([tally], [])
    data, about = packer.pack_system(tally, 10_000_000)
    assert about["left_out"] == 0
    budget = int(4 / 3 * len(data) * 0.9)
    small, cut = packer.pack_system(tally, budget)
    assert 4 * len(small) // 3 <= budget
    assert cut["left_out"] > 0
    assert cut["kept"] + cut["left_out"] == about["kept"]
    assert cut["kept"] >= int((tally.kind == 0).sum())


def test_of_many_images_those_on_the_page_can_be_opened_and_the_page_says_so(tmp_path, monkeypatch):
    for module in ("packed", "summary"):
        monkeypatch.setattr(f"verite.reporting.page.{module}.MOST_IMAGES", 20)
    monkeypatch.setattr("verite.reporting.page.document.MOST_IMAGES", 5)
    truth, pred = random_pair(2, images=200)
    made = vt.report(truth, pred, tmp_path / "a.html", checks="off")
    document = vt.read_report(made)
    opened = document["packed"]["opened"]
    assert 5 <= opened == len(document["images"]["names"]) < 200
    assert f"Of 200 images the {opened} that are named on this page can be opened" in Text(made.read_text()).text
    assert document["systems"][0]["packed"]["kept"] < len(pred)


def test_of_too_many_classes_the_worst_have_all_numbers_and_all_have_one(tmp_path, monkeypatch):
    monkeypatch.setattr("verite.reporting.page.summary.MOST_ROWS", 20)
    monkeypatch.setattr("verite.reporting.page.summary.LEAST_ROWS", 5)
    truth, pred = random_pair(30)
    made = vt.report(truth, {"a": pred, "b": pred}, tmp_path / "a.html", checks="off", draws=0)
    document, scores = vt.read_report(made), vt.coco(truth, pred, checks="off").class_scores()["AP"]
    rows = document["systems"][0]["classes"]["rows"]
    assert [row[1] for row in rows] == sorted(score for score in scores if score == score)[:10]
    assert [one[0] for one in document["classes"]["scores"]] == [round(score, 6) for score in scores if score == score]
    assert "The 10 worst of 30 classes" in Text(made.read_text()).text


def test_an_analysis_saves_the_page_that_a_report_is(tmp_path):
    analysis = vt.analyse(TRUTH, {name: str(path) for name, path in SYSTEMS.items()}, on="box", prior=0.1)
    one = analysis.save_page(tmp_path / "a.html", pictures="none", title="x", draws=0)
    other = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none", title="x", draws=0, prior=0.1)
    assert one.read_text() == other.read_text()
    with pytest.raises(vt.BadParameter, match="save_page: expected settings out of title, pictures"):
        analysis.save_page(tmp_path / "a.html", colour="red")


def test_marks_go_to_the_leaderboard_and_back_to_the_page(tmp_path):
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", pictures="none", draws=0)
    lines = [value for tag, key, value in Text(made.read_text()).attributes if (tag, key) == ("li", "data-row")]
    head = next(value for _, key, value in Text(made.read_text()).attributes if key == "data-head")
    verdicts = ["wrong", "right", "unsure"] * len(lines)
    (tmp_path / "audit.csv").write_text("\n".join([head, *(a + b for a, b in zip(lines, verdicts, strict=False)), ""]))
    board = vt.leaderboard(TRUTH, SYSTEMS, audit=tmp_path / "audit.csv", draws=20)
    assert board.signature
    again = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none", draws=20, audit=tmp_path / "audit.csv")
    assert [one["verdict"] for one in vt.read_report(again)["suspects"]] == verdicts[: len(lines)]
    assert again.read_text().count('type="radio"') - again.read_text().count('name="pred"') > len(lines)
    assert "--audit audit.csv" in vt.read_report(again)["command"]


def test_exact_mcnemar_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    for a, b in ((0, 0), (1, 5), (12, 51), (400, 430)):
        expected = stats.binomtest(min(a, b), a + b).pvalue if a + b else 1.0
        assert exact_mcnemar(a, b) == pytest.approx(expected, abs=1e-12)


def test_pictures_are_linked_embedded_or_left_out(tmp_path):
    copied = tmp_path / "set"
    shutil.copytree(HARBOUR, copied, ignore=shutil.ignore_patterns("truth-voc"))
    pages = {
        mode: vt.report(copied / "truth.json", SYSTEMS["hawk"], tmp_path / f"{mode}.html", pictures=mode).read_text()
        for mode in ("link", "embed", "none")
    }
    assert 'href="set/images/' in pages["link"]
    assert "data:image/webp" in pages["embed"]
    assert "<image" not in pages["none"]
    assert "data:image" not in pages["link"]
    small = vt.report(
        copied / "truth.json", SYSTEMS["hawk"], tmp_path / "s.html", pictures="embed", picture_budget=9000
    )
    assert 0 < small.read_text().count("data:image/webp") < pages["embed"].count("data:image/webp")


def test_a_broken_picture_is_an_empty_ground_and_is_told(tmp_path):
    copied = tmp_path / "set"
    shutil.copytree(HARBOUR, copied, ignore=shutil.ignore_patterns("truth-voc"))
    for path in (copied / "images").iterdir():
        path.write_bytes(b"\x89PNG no more")
    made = vt.report(copied / "truth.json", SYSTEMS["hawk"], tmp_path / "a.html", pictures="embed")
    assert vt.read_report(made)["pictures"]["broken"]
    assert "could not be read" in made.read_text()


def small(names=("a",), truths=1, preds=1, confidence=0.5, sizes=True):
    box = [[0, 0, 10, 10]]
    images = {f"{k}.png": (20, 20) for k in range(max(truths, preds, 1))} if sizes else {}
    truth = vt.Annotations.of(
        [f"{k}.png" for k in range(truths)], [names[k % len(names)] for k in range(truths)], box * truths,
        sizes=images or None, images=["0.png"], labels=names,
    )  # fmt: skip
    pred = vt.Annotations.of(
        [f"{k}.png" for k in range(preds)], [names[k % len(names)] for k in range(preds)], box * preds,
        confidence=[confidence] * preds, labels=names, images=["0.png"],
    )  # fmt: skip
    return truth, pred


@pytest.mark.parametrize(
    "pair",
    [
        small(preds=0),
        small(truths=0),
        small(),
        small(truths=5, preds=5),
        small(sizes=False),
        small(names=("", " "), truths=4),
    ],
    ids=["no predictions", "no truths", "one of each", "equal confidences", "no sizes", "no names"],
)
def test_small_and_empty_sets_make_a_page(pair, tmp_path):
    made = vt.report(*pair, tmp_path / "a.html", checks="off")
    assert vt.read_report(made)["systems"]
    assert "nan" not in Text(made.read_text()).text.lower().split()


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "systems"), [(1203, 1), (80, 10), (1203, 10)])
def test_many_labels_and_many_systems_make_a_page_of_four_megabytes(tmp_path, labels, systems):
    truth, pred = random_pair(labels)
    made = vt.report(truth, {f"system {k}": pred for k in range(systems)}, tmp_path / "a.html", checks="off")
    assert made.stat().st_size <= 4_000_000


def test_other_protocols_have_a_page_too(tmp_path):
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", protocol="voc", iou=0.5)
    system = vt.read_report(made)["systems"][0]
    assert system["headline"] == vt.voc(TRUTH, SYSTEMS[system["name"]])["mAP"].value


# The command


def typed(capsys, *words):
    status = run(["report", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_command_writes_the_page_that_python_writes(capsys, tmp_path):
    status, out, _ = typed(capsys, TRUTH, *SYSTEMS.values(), "-o", tmp_path / "a.html", "-q", "--pictures", "none")
    assert (status, out) == (0, f"{tmp_path / 'a.html'}\n")
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none")
    assert (tmp_path / "a.html").read_bytes() == made.read_bytes()


def test_check_says_equal_or_what_differs(capsys, tmp_path):
    page = tmp_path / "a.html"
    files = [TRUTH, SYSTEMS["hawk"]]
    assert typed(capsys, *files, "-o", page, "-q", "--title", "x")[0] == 0
    assert typed(capsys, *files, "--check", page, "-q")[:2] == (0, f"{page}: equal, every number recomputed\n")
    text = page.read_text()
    value = vt.read_report(page)["systems"][0]["scores"]["AP75"]
    page.write_text(text.replace(f'"AP75":{value}', f'"AP75":{value + 0.001}'))
    status, _, err = typed(capsys, *files, "--check", page, "-q")
    assert status == 1
    assert "systems[0].scores.AP75: expected" in err
    page.write_text(text.replace(f"<dd>{value:.3f}</dd>", "<dd>0.999</dd>"))
    status, _, err = typed(capsys, *files, "--check", page, "-q")
    assert status == 1
    assert "what it shows is not" in err
    assert typed(capsys, TRUTH, SYSTEMS["mole"], "--check", page, "-q")[0] == 1


def test_findings_come_before_any_number(capsys, tmp_path):
    records = json.loads(SYSTEMS["hawk"].read_text())
    for one in records:
        x, y, width, height = one["bbox"]
        one["bbox"] = [x, y, x + width, y + height]
    (tmp_path / "wrong.json").write_text(json.dumps(records))
    status, _, _ = typed(capsys, TRUTH, tmp_path / "wrong.json", "-o", tmp_path / "a.html", "-q", "--checks", "warn")
    assert status == 0
    text = Text((tmp_path / "a.html").read_text()).text
    assert text.index("look here before any number") < text.index("AP50")
    assert "--pred-boxes" in text


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "expected -o PAGE or --check PAGE"),
        (["-o", "x.html", "--budget", "much"], 2, "expected bytes such as 4MB"),
        (["-o", "nowhere/x.html"], 1, "expected a place to write"),
        (["--check", TRUTH], 1, "expected a page made by verite report"),
        (["-o", "x.html", "--protocol", "voc", "--on", "mask"], 2, "on: expected box or rotated, found 'mask'"),
    ],
)
def test_what_cannot_be_done_is_one_line(capsys, tmp_path, monkeypatch, words, status, said):
    monkeypatch.chdir(tmp_path)
    found, _, err = typed(capsys, TRUTH, SYSTEMS["hawk"], "-q", *words)
    assert found == status
    assert said in err
    assert err.count("\n") == 1


def test_script_is_small_enough():
    source = (Path(vt.__file__).parent / "reporting" / "page" / "page.js").read_text()
    assert len(source.encode()) <= 20_000
    assert len(source.splitlines()) <= 500


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read the script")
def test_script_is_javascript():
    source = Path(vt.__file__).parent / "reporting" / "page" / "page.js"
    subprocess.run(["node", "--input-type=module", "--check"], input=source.read_bytes(), check=True)


def test_two_systems_on_a_truth_without_objects_make_a_page_without_an_order(capsys, tmp_path):
    empty = json.loads(Path(TRUTH).read_text()) | {"annotations": []}
    (tmp_path / "truth.json").write_text(json.dumps(empty))
    words = [str(tmp_path / "truth.json"), SYSTEMS["hawk"], SYSTEMS["mole"], "-o", str(tmp_path / "page.html"), "-q"]
    status, _, err = typed(capsys, *words)
    assert (status, err) == (0, "")
    assert "How sure is the order?" not in (tmp_path / "page.html").read_text()


def test_without_predictions_the_page_tells_what_is_missed(tmp_path):
    truth, _ = random_pair(3, 6)
    none = vt.Annotations.of([], [], np.zeros((0, 4)), confidence=np.zeros(0))
    made = vt.report(truth, none, tmp_path / "a.html", checks="off")
    text, rows = Text(made.read_text()).text, vt.read_report(made)["systems"][0]["images"]
    assert sum(row["missed"] for row in rows) == len(truth)
    assert "No image has an error" not in text
    assert "All classes are alike, at AP 0.000." in text
    assert "No prediction counts." in text


def test_images_without_a_row_have_no_error(page):
    for system in vt.read_report(page)["systems"]:
        told = sum(row["wrong"] + row["missed"] for row in system["images"])
        assert told == system["best"]["wrong"] + system["best"]["missed"]


@pytest.mark.parametrize(("checks", "is_said"), [("off", False), ("warn", True)])
def test_files_nobody_checked_are_not_called_unsuspicious(tmp_path, checks, is_said):
    made = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", pictures="none", checks=checks)
    assert ("nothing suspicious in the files" in Text(made.read_text()).text) == is_said


def test_a_name_never_lies_on_its_own_line():
    """The line rises under the name, which is seven units a letter wide."""
    axes = Axes("x", "y")
    points = [(k / 100, 0.5 if k < 55 else 0.9) for k in range(101)]
    drawn = lines(axes, [Stroke("precision", points, "k", 0.5)], "about")
    x, y = (float(value) for value in re.search(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>precision', drawn).groups())
    under = [axes.place(*point) for point in points]
    assert all(y < top for left, top in under if x <= left <= x + 7 * len("precision"))


def test_of_many_lines_only_the_first_two_are_named_and_the_pointer_tells_the_others(tmp_path):
    truth, pred = random_pair(2)
    made = vt.report(truth, {f"system {k}": pred for k in range(5)}, tmp_path / "a.html", checks="off", draws=0)
    chart = re.search(r'<section id="sides".*?<svg.*?</svg>', made.read_text(), re.DOTALL)[0]
    assert re.findall(r">(system \d)</text>", chart) == ["system 1", "system 0"]
    assert sorted(re.findall(r'data-name="(system \d)"', chart)) == [f"system {k}" for k in range(5)]


def test_lines_of_a_signature_break_between_its_parts(page):
    signature = vt.read_report(page)["systems"][0]["signature"]
    assert f"<code>{signature.replace('|', '|<wbr>')}</code>" in page.read_text()


def test_masks_have_outlines_in_all_images_and_the_page_says_where_they_have_not(tmp_path, monkeypatch):
    every = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", on="mask", pictures="none")
    assert "have their outlines when opened" not in Text(every.read_text()).text
    for module, name in (("document", "MOST_IMAGES"), ("document", "MOST_CROPS"), ("outlines", "MOST_OBJECTS")):
        monkeypatch.setattr(f"verite.reporting.page.{module}.{name}", 3)
    monkeypatch.setattr("verite.reporting.page.summary.MOST_SUSPECTS", 0)
    some = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "b.html", on="mask", pictures="none")
    outlined = vt.read_report(some)["packed"]["outlined"]
    assert 3 <= outlined <= 7
    assert f"In {outlined}\u00a0images masks have their outlines when opened" in Text(some.read_text()).text


def test_names_of_lines_that_coincide_stand_below_each_other():
    points = [(k / 10, 0.5) for k in range(11)]
    drawn = lines(
        Axes("x", "y"), [Stroke(name, points, "g", at) for name, at in (("a long name", 0.1), ("b", 0.2))], ""
    )
    places = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\w[\w ]*)', drawn)
    }
    assert places["b"][0] < places["a long name"][0] + 7 * len("a long name")
    assert places["b"][1] >= places["a long name"][1] + 13
