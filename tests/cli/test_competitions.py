"""The verbs of the competitions: good files, wrong ones and empty ones, as a user types them."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_command_line import DATA, complaint, typed  # noqa: F401

HOME = DATA / "competitions"
OPENIMAGES = (
    "--image-labels",
    HOME / "openimages" / "labels.csv",
    "--hierarchy",
    HOME / "openimages" / "hierarchy.json",
)
# Verb, truth, two systems, options, and the key of the headline.
GOOD = {
    "lvis": (HOME / "lvis" / "truth.json", DATA / "demo" / "hawk.json", DATA / "demo" / "magpie.json", (), "AP"),
    "openimages": (HOME / "openimages" / "boxes.csv", HOME / "openimages" / "hawk.csv",
                   HOME / "openimages" / "magpie.csv", OPENIMAGES, "mAP"),
    "imagenet-loc": (HOME / "imagenet" / "solution.csv", HOME / "imagenet" / "hawk.csv",
                     HOME / "imagenet" / "magpie.csv", (), "top5_error"),
    "imagenet-det": (DATA / "demo" / "truth.json", DATA / "demo" / "hawk.json", DATA / "demo" / "magpie.json", (),
                     "mAP"),
    "panoptic": (HOME / "panoptic" / "truth.json", HOME / "panoptic" / "hawk.json", HOME / "panoptic" / "magpie.json",
                 (), "PQ"),
}  # fmt: skip


@pytest.mark.parametrize("verb", GOOD)
def test_verb_prints_a_table_with_its_signature(typed, verb):  # noqa: F811
    truth, hawk, _, options, key = GOOD[verb]
    status, out, err = typed(verb, truth, hawk, *options)
    assert status == 0
    assert key in out
    assert "|rev:1" in out
    assert "read as" in err


@pytest.mark.parametrize("verb", GOOD)
def test_json_is_one_document_and_nothing_else(typed, verb):  # noqa: F811
    truth, hawk, _, options, key = GOOD[verb]
    status, out, err = typed(verb, truth, hawk, *options, "--json", "--checks", "off")
    assert status == 0
    document = json.loads(out)
    assert document["protocol"] == verb
    assert 0 <= document[key] <= 1
    assert document["name"] == "hawk"
    assert err == ""


@pytest.mark.parametrize("verb", GOOD)
def test_two_systems_stand_side_by_side(typed, verb):  # noqa: F811
    truth, hawk, magpie, options, _ = GOOD[verb]
    status, out, _ = typed(verb, truth, hawk, magpie, *options, "--quiet")
    assert status == 0
    for word in ("hawk", "magpie", "difference", "boat"):
        assert word in out


@pytest.mark.thorough
@pytest.mark.parametrize("verb", GOOD)
def test_results_are_kept(typed, verb, tmp_path):  # noqa: F811
    truth, hawk, magpie, options, key = GOOD[verb]
    status, _, _ = typed(verb, truth, hawk, magpie, *options, "-o", tmp_path / "kept", "--save", tmp_path / "all.json")
    assert status == 0
    assert key in json.loads((tmp_path / "kept" / "hawk" / "results.json").read_text())
    assert (tmp_path / "kept" / "magpie" / "classes.csv").read_text().startswith("class,")
    assert (tmp_path / "kept" / "comparison.csv").exists()
    assert set(json.loads((tmp_path / "all.json").read_text())["systems"]) == {"hawk", "magpie"}
    plots = list((tmp_path / "kept").rglob("pr-all-classes.png"))
    assert len(plots) == (2 if verb in ("openimages", "imagenet-det") else 0)


@pytest.mark.parametrize("verb", GOOD)
@pytest.mark.parametrize(
    ("name", "text"), [("empty.json", ""), ("odd.csv", "a,b\n1,2\n"), ("cut.json", '{"images": [')]
)
def test_wrong_file_is_one_line_and_status_1(typed, verb, tmp_path, name, text):  # noqa: F811
    truth, hawk, _, options, _ = GOOD[verb]
    path = tmp_path / name
    path.write_text(text)
    for sides in ((path, hawk), (truth, path)):
        status, out, err = typed(verb, *sides, *options, "--quiet")
        assert (status, out) == (1, "")
        assert str(path) in complaint(err)


@pytest.mark.parametrize("verb", GOOD)
def test_missing_file_is_one_line(typed, verb, tmp_path):  # noqa: F811
    truth, _, _, options, _ = GOOD[verb]
    status, _, err = typed(verb, truth, tmp_path / "nowhere.json", *options, "--quiet")
    assert status == 1
    assert "found nothing" in complaint(err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("imagenet-det", "-t", "2"), "--iou: expected a threshold above 0 and up to 1, found 2.0"),
        (("imagenet-det", "--tolerance", "-3"), "--tolerance: expected a number from 0 up, found -3.0"),
        (("imagenet-loc", "-t", "0"), "--iou: expected a threshold"),
        (("openimages", "--group-of-weight", "-1"), "--group-of-weight: expected a number from 0 up"),
        (("openimages", "--class", "ship"), "--class: expected one of"),
        (("lvis", "-t", "7"), "--iou: expected a threshold"),
        (("panoptic", "--class", "ship"), "--class: expected one of"),
        (("openimages", "--metric", "v3"), "'v3' is not one of"),
    ],
)
def test_wrong_setting_is_status_2(typed, words, message):  # noqa: F811
    verb, *rest = words
    truth, hawk, _, options, _ = GOOD[verb]
    status, _, err = typed(verb, truth, hawk, *options, *rest, "--quiet")
    assert status == 2
    assert message in complaint(err)


def test_table_of_a_class_is_printed(typed):  # noqa: F811
    truth, hawk, _, options, _ = GOOD["openimages"]
    status, out, _ = typed("openimages", truth, hawk, *options, "--table", "animal", "--quiet")
    assert status == 0
    assert "acc TP" in out
