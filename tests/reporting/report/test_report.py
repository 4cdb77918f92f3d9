"""The report: its numbers are those of the evaluation, the same bytes come out, and no name can inject markup."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.panoptic_files import write_side
from tests.reporting.report.pages import DEMO, HOSTILE, SYSTEMS, TRUTH, Text, hostile_pair, random_pair
from verite.annotation_errors import Detection
from verite.reporting.report.document import REVISION
from verite.reporting.report.layout import SCRIPTS, embed_packed, read_resource
from verite.reporting.report.report import report_settings


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


def unpack(layout, digits: str) -> dict[str, bytes]:
    """Columns as the script reads them: 13 bits in two digits of base 91, deflated, all low bytes first."""
    values = {chr(code): k for k, code in enumerate(code for code in range(33, 127) if chr(code) not in "&<>")}
    bits = 0
    for k in range(0, len(digits), 2):
        bits |= values[digits[k]] + 91 * values[digits[k + 1]] << 13 * (k // 2)
    packed, found, at = bits.to_bytes(len(digits) * 13 // 16 + 2, "little"), {}, 0
    for name, kind, size, length in layout:
        raw = zlib.decompress(packed[at : at + length])
        assert len(raw) == size
        wide = int(re.sub(r"\D", "", kind)) // 8
        found[name] = b"".join(raw[k :: size // wide] for k in range(size // wide)) if wide > 1 else raw
        at += length
    return found


def whole_text(page: Path) -> str:
    """What a reader sees, also after choosing other detectors."""
    source = page.read_text()
    blobs = re.findall(r'id="(part-[\d-]+|pieces)" data-layout="(.*?)">(.*?)</script>', source)
    packed = {id: unpack(json.loads(unescape(layout)), digits) for id, layout, digits in blobs}
    pieces = packed.pop("pieces", {"pieces": b""})["pieces"].decode().split("\n")
    parts = []
    for one in packed.values():
        numbers = [*one["numbers"].decode().split("\n"), ""]
        places = np.frombuffer(one["pieces"], dtype=f"<u{len(one['pieces']) // len(numbers)}")
        parts.append(json.loads("".join(pieces[at] + value for at, value in zip(places, numbers, strict=True))))
    return " ".join([Text(source).text, *(Text(html).text for part in parts for html in part.values())])


def test_every_number_is_text_in_the_page(page):
    text, document = whole_text(page), vt.read_report(page)
    shown = []
    for system in document["systems"]:
        shown += list(system["scores"].values())[:4]
        shown += [value for row in system["classes"]["rows"] for value in row[1:8] if value is not None]
        shown += [value for one in system["thresholds"] for value in [one["AP"]]]
        shown += [*system["errors"]["cost"].values(), *system["errors"]["alone"].values()]
        for k in range(5, 100, 10):
            if system["steps"]["steps"][k] < system.get("cut_at", 0):
                continue  # not in the file
            right, wrong = system["steps"]["right"][k], system["steps"]["wrong"][k]
            shown += [right / (right + wrong), right / system["steps"]["truths"]]
    missing = [value for value in shown if f"{value:.3f}" not in text]
    assert not missing


def test_the_summary_sentence_comes_before_the_scores(page):
    text = Text(page.read_text()).text
    assert re.search(r"Harbour\s+hawk\s+leads\s+magpie\s+by 0.080", text)
    assert text.index("leads") < text.index("0.725")


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes_in_any_environment(tmp_path):
    program = (
        "import datetime, sys, time, verite as vt; h = sys.argv[1];"
        "now = classmethod(lambda c, tz=None: c(2001, 1, 1, tzinfo=tz));"
        "clock = type('Clock', (datetime.datetime,), {'now': now});"
        "datetime.datetime, time.time = (clock, lambda: 1e9) if sys.argv[3] == '2' else (datetime.datetime, time.time);"
        "t, p = h + '/truth.json', {'hawk': h + '/hawk.json'};"
        "vt.report(t, p, sys.argv[2], pictures='embed', threads=int(sys.argv[3]))"
    )
    moved = tmp_path / "elsewhere" / "deep"
    shutil.copytree(DEMO, moved, ignore=shutil.ignore_patterns("truth-voc"))
    found = []
    for home, seed, threads, zone, place in (
        (DEMO, "1", "1", "UTC", "C"),
        (moved, "77", "2", "Asia/Tokyo", "C.UTF-8"),
    ):
        out = tmp_path / f"{seed}.html"
        surroundings = os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": place}
        subprocess.run([sys.executable, "-c", program, home, out, threads], check=True, env=surroundings, cwd=tmp_path)
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert str(tmp_path).encode() not in found[0]


def test_the_page_loads_nothing_and_has_no_inline_style(page, hostile):
    for path in (page, hostile):
        seen = Text(path.read_text())
        assert not [one for one in seen.attributes if one[1] == "style" or one[1].startswith("on")]
        links = [value for _, key, value in seen.attributes if key in ("href", "src")]
        assert all(value.startswith(("#", "data:image/webp;base64,")) or "images/" in value for value in links)
        count = len(vt.read_report(path)["systems"])
        packed = count - 1 + count * (count - 1) // 2 - 1  # sections of the other detectors and pairs
        packed += packed > 0  # and the pieces that they share
        assert seen.tags.count("script") == 2 + 1 + count + packed
        policy = next(v for _, key, v in seen.attributes if key == "content" and "default-src" in v)
        assert "unsafe" not in policy


def test_hostile_names_are_escaped(hostile):
    page = hostile.read_text()
    assert "<script>alert" not in page
    assert "onerror=alert(1)>" not in page.replace("onerror=alert(1)&gt;", "")
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "\u202e" not in re.sub(r"<bdi[^>]*>[^<]*</bdi>|(title|aria-label|data-row)=\"[^\"]*\"", "", shown)
    labels = vt.read_report(hostile)["truth"]["labels"]
    assert labels == [name.encode("utf-8", "replace").decode() for name in HOSTILE]
    assert len(page) < 3_000_000


def test_the_page_is_valid_html(page, hostile):
    html5lib = pytest.importorskip("html5lib")
    for path in (page, hostile):
        html5lib.HTMLParser(strict=True).parse(path.read_text())


def test_embedded_text_cannot_end_its_element():
    text = embed_packed("verite", "</script><!--\u2028&")
    assert text.count("</script>") == 1
    data = text[text.index(">") + 1 : text.rindex("<")]
    assert not set(data) & set("<>&\u2028")
    assert zlib.decompress(base64.b64decode(data)).decode() == "</script><!--\u2028&"


def test_save_report_of_an_analysis_equals_report(tmp_path):
    analysis = vt.analyse(TRUTH, {name: str(path) for name, path in SYSTEMS.items()}, on="box", prior=0.1)
    one = analysis.save_report(tmp_path / "a.html", pictures="none", title="x", draws=0)
    other = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none", title="x", draws=0, prior=0.1)
    assert one.read_text() == other.read_text()
    with pytest.raises(vt.BadParameter, match="save_report: expected settings out of title, pictures"):
        analysis.save_report(tmp_path / "a.html", colour="red")


@pytest.mark.thorough
def test_exported_marks_are_an_audit_table_of_leaderboard_and_report(tmp_path):
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", pictures="none", draws=0)
    lines = [value for tag, key, value in Text(made.read_text()).attributes if (tag, key) == ("li", "data-row")]
    head = next(value for _, key, value in Text(made.read_text()).attributes if key == "data-head")
    verdicts = ["wrong", "right", "unsure"] * len(lines)
    (tmp_path / "audit.csv").write_text("\n".join([head, *(a + b for a, b in zip(lines, verdicts, strict=False)), ""]))
    rates = Detection(spurious=0.02, label=0.02)
    board = vt.leaderboard(TRUTH, SYSTEMS, errors=rates, audit=tmp_path / "audit.csv", draws=20)
    assert board.signature
    again = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none", draws=20, audit=tmp_path / "audit.csv")
    assert [one["verdict"] for one in vt.read_report(again)["suspects"]] == verdicts[: len(lines)]
    assert again.read_text().count('type="radio"') - again.read_text().count('name="pred"') > len(lines)
    assert "--audit audit.csv" in vt.read_report(again)["command"]


@pytest.mark.thorough
def test_images_are_linked_embedded_or_omitted(tmp_path):
    copied = tmp_path / "set"
    shutil.copytree(DEMO, copied, ignore=shutil.ignore_patterns("truth-voc"))
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


def test_unreadable_images_are_reported(tmp_path):
    copied = tmp_path / "set"
    shutil.copytree(DEMO, copied, ignore=shutil.ignore_patterns("truth-voc"))
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
def test_tiny_and_empty_datasets_give_a_report(pair, tmp_path):
    made = vt.report(*pair, tmp_path / "a.html", checks="off")
    assert vt.read_report(made)["systems"]
    assert "nan" not in Text(made.read_text()).text.lower().split()


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "systems"), [(1203, 1), (80, 10), (1203, 10)])
def test_many_classes_and_detectors_stay_within_four_megabytes(tmp_path, labels, systems):
    truth, pred = random_pair(labels)
    made = vt.report(truth, {f"system {k}": pred for k in range(systems)}, tmp_path / "a.html", checks="off")
    assert made.stat().st_size <= 4_000_000


def test_pascal_voc_has_a_report_too(tmp_path):
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", protocol="voc", iou=0.5)
    system = vt.read_report(made)["systems"][0]
    assert system["headline"] == vt.voc(TRUTH, SYSTEMS[system["name"]])["mAP"].value


def test_one_more_object_is_singular_and_unknown_intervals_are_omitted(tmp_path):
    truth, pred = small(truths=3, preds=3)
    made = vt.report(truth, {"all": pred, "two": pred.take([0, 1])}, tmp_path / "a.html", checks="off", draws=5)
    text = Text(made.read_text()).text
    assert "and detects 1\u00a0more object." in text
    assert "[–" not in text


def test_script_is_small_enough(page):
    script = re.search(r'<script type="module">(.*?)</script>', page.read_text(), re.DOTALL)[1]
    assert 10_000 < len(script.encode()) <= 50_000


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read the script")
def test_script_is_javascript():
    source = "".join(read_resource(f"script/{file}.js") for file in SCRIPTS)
    subprocess.run(["node", "--input-type=module", "--check"], input=source.encode(), check=True)


def test_without_predictions_every_object_is_missed(tmp_path):
    truth, _ = random_pair(3, 6)
    none = vt.Annotations.of([], [], np.zeros((0, 4)), confidence=np.zeros(0))
    made = vt.report(truth, none, tmp_path / "a.html", checks="off")
    text, rows = Text(made.read_text()).text, vt.read_report(made)["systems"][0]["images"]
    assert sum(row["missed"] for row in rows) == len(truth)
    assert "No image has an error" not in text
    assert "All classes have the same AP, 0.000." in text
    assert "No prediction counts." in text


def test_images_that_are_not_listed_have_no_error(page):
    for system in vt.read_report(page)["systems"]:
        told = sum(row["wrong"] + row["missed"] for row in system["images"])
        assert told == system["best"]["wrong"] + system["best"]["missed"]


@pytest.mark.parametrize(("checks", "is_said"), [("off", False), ("warn", True)])
def test_passed_checks_are_stated_only_if_checks_ran(tmp_path, checks, is_said):
    made = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", pictures="none", checks=checks)
    assert ("no errors or warnings of the checks" in Text(made.read_text()).text) == is_said


def test_signatures_may_wrap_between_their_parts(page):
    signature = vt.read_report(page)["systems"][0]["signature"]
    assert f"<code>{signature.replace('|', '|<wbr>')}</code>" in page.read_text()


@pytest.mark.parametrize("settings", ["[]", '{"page": 5}', '{"page": {"budget": []}}', "[" * 5000 + "]" * 5000])
def test_a_report_with_invalid_settings_is_refused(tmp_path, settings):
    data = f'{{"report": {json.dumps(REVISION)}, "settings": {settings}}}'
    (tmp_path / "a.html").write_text(f'<script type="application/json" id="verite">{data}</script>')
    with pytest.raises(vt.ReadError, match=r"a\.html"):
        report_settings(tmp_path / "a.html")


def test_lower_is_better_in_a_report_of_miss_rates(tmp_path):
    truth = vt.Annotations.of([str(i) for i in range(6)], ["person"] * 6, [[0, 0, 50, 100]] * 6)
    few, all_found = (
        vt.Annotations.of([str(i) for i in range(n)], ["person"] * n, [[0, 0, 50, 100]] * n, confidence=[0.9] * n)
        for n in (2, 6)
    )
    path = vt.report(
        truth, {"worse": few, "better": all_found}, tmp_path / "r.html", protocol="miss-rate", checks="off"
    )
    assert [one["name"] for one in vt.read_report(path)["systems"]] == ["better", "worse"]
    page = path.read_text(encoding="utf-8")
    heading = re.sub("<[^>]+>", "", page.split("<h1")[1].split("</h1>")[0].split(">", 1)[1])
    assert heading.startswith("better leads worse by 0.667")  # 1/3 detected at every rate: 2/3 missed


def test_annotations_that_more_detectors_dispute_come_first(tmp_path):
    """Of equal suspicion: 60 good objects, one of which every detector calls a dog, and one that only one does."""
    where, boxes = [f"{k}.png" for k in range(60)], np.tile([[5.0, 5.0, 40.0, 40.0]], (60, 1))
    truth = vt.Annotations.of(where, ["cat"] * 59 + ["dog"], boxes)
    confidence = [0.9] * 60

    def detector(*wrong):
        called = ["dog" if k in (*wrong, 59) else "cat" for k in range(60)]
        return vt.Annotations.of(where, called, boxes, labels=["cat", "dog"], confidence=confidence)

    preds = {"a": detector(3, 7), "b": detector(7), "c": detector(7)}
    path = vt.report(truth, preds, tmp_path / "a.html", checks="off", draws=0, pictures="none")
    suspects = vt.read_report(path)["suspects"]
    disputed = [(one["row"], one["disputed_by"]) for one in suspects if one["kind"] == "label?"]
    assert disputed[:2] == [(7, 3), (3, 1)]
    assert "disputed by 3 of 3 detectors" in path.read_text()


@pytest.mark.parametrize("protocol", ["kitti", "wider", "oc-cost"])
def test_protocols_without_matched_objects_are_refused(protocol, tmp_path):
    with pytest.raises(vt.BadParameter, match=f"protocol: expected one of .*, found '{protocol}'"):
        vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", protocol=protocol)


def test_instances_have_a_report_without_curves(tmp_path):
    path = vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", protocol="instances", pictures="none")
    assert vt.read_report(path)["systems"][0]["curves"]["count"] == 0


def test_a_panoptic_report_lists_classes_by_quality_and_states_no_confidence(tmp_path):
    """Of 16 pixels the upper half is sky, the lower a cat; two pixels of the cat are called sky: IoU 0.8 and 0.75."""
    upper, lower, mixed = [1] * 4, [2] * 4, [2, 2, 1, 1]
    segments = {1: (1, False), 2: (2, False)}
    truth = write_side(tmp_path, "gt", {1: ([upper, upper, lower, lower], segments)})
    pred = write_side(tmp_path, "pred", {1: ([upper, upper, lower, mixed], segments)}, is_truth=False)
    path = vt.report(truth, pred, tmp_path / "a.html", protocol="panoptic", pictures="none", checks="off")
    rows = vt.read_report(path)["systems"][0]["classes"]["rows"]
    assert [row[:3] for row in rows] == [["cat", 0.75, "thing"], ["sky", 0.8, "stuff"],
                                           ["road", None, "stuff"], ["dog", None, "thing"]]  # fmt: skip
    shown = Text(path.read_text(encoding="utf-8")).text
    assert "PQ from 0.750" in shown
    assert "confidence ≥" not in shown
    assert "best-F1 threshold" not in shown


def test_shares_of_resamples_are_not_called_probabilities():
    from types import SimpleNamespace

    from verite.reporting.report.document import Ranking
    from verite.reporting.report.sections.ranking import render

    rates = vt.annotation_errors.Detection(missing=0.05)
    pages = []
    for more in ({}, {"errors": rates}, {"errors": rates, "resample": "none"}):
        board = vt.leaderboard(TRUTH, SYSTEMS, draws=40, checks="off", **more).to_dict()
        for one in board["detectors"]:
            one["places"] = one["places"] or [1, 1]
        document = SimpleNamespace(ranking=Ranking.of(board, ()))
        pages.append(str(render(document, None, None)))  # type: ignore[arg-type]
    for page in pages[:2]:
        assert "% of" in page
        assert "with probability" not in page
        assert "first in</th>" in page
        assert "P(first): probability of being first on all images" in page
        assert "P(rank" not in page
    assert "with probability" in pages[2]
    assert "P(first)</th>" in pages[2]
    assert "all images" not in pages[2]
