"""What must hold for every protocol, without a line written for any of them."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from dataclasses import replace
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.test_parts import take_images
from tests.protocols.scenes import (
    LABELS,
    NOWHERE,
    as_quadrilaterals,
    enlarge,
    one_per_image,
    random_sides,
    shuffle,
    video_xml,
    with_tracks,
    without_objects,
)
from tests.scale.test_partial import assert_same, merge_in_any_way, take_verdicts
from verite.cli import COMMANDS, run
from verite.errors import BadParameter
from verite.model.results import Results
from verite.protocols import REGISTRY, REPORTED, protocol_named
from verite.protocols.protocol import Protocol, protocols_page
from verite.scale.partial import IN_ONE_PIECE
from verite.settings import Choice

every = pytest.mark.parametrize("protocol", [protocol_named(verb) for verb in REGISTRY], ids=lambda p: p.verb)


Sides = tuple[vt.Annotations, vt.Annotations]


def sides_of(protocol: Protocol[Any, Any], sides: Sides | None = None) -> Sides:
    """Random objects, or those given, with tracks where the protocol needs them."""
    truth, pred = sides or random_sides(7)
    if protocol.verb == "kitti":  # ignores objects of up to 40 pixels
        truth, pred = enlarge(truth, 5), enlarge(pred, 5)
    return (with_tracks(truth), with_tracks(pred)) if protocol.needs_tracks else (truth, pred)


@cache
def evaluate(protocol: Protocol[Any, Any]) -> vt.Results:
    found: vt.Results = protocol(*sides_of(protocol), checks="off")
    return found


def values(results: vt.Results) -> dict[str, float]:
    return {key: score.value for key, score in results.scores.items()}


def choices(protocol: Protocol[Any, Any]) -> list[tuple[str, str]]:
    """Every other value of every setting that has a few."""
    listed = [s for s in protocol.settings.declared.values() if isinstance(s, Choice)]
    return [(s.name, word) for s in listed for word in s.choices if word != s.default]


def suit(sides: Sides, given: dict[str, str]) -> tuple[vt.Annotations, ...]:
    """Both sides as what is compared wants them: MOTChallenge counts pedestrians alone."""
    if given.get("rules") in ("mot17", "mot20"):
        labels = vt.Labels(["pedestrian", *LABELS.all_names[1:]], LABELS.ids)
        return tuple(replace(side, labels=labels) for side in sides)
    return tuple(map(as_quadrilaterals, sides)) if given.get("on") == "rotated" else sides


# Numbers of tracks and errors, which are no shares from 0 to 1.
TRACK_COUNTS = {"IDSW", "Frag", "MT", "PT", "ML"}


def shares(protocol: Protocol[Any, Any], results: vt.Results) -> dict[str, float]:
    """The scores that are there and are shares from 0 to 1, by name."""
    present = {key: value for key, value in values(results).items() if not isnan(value)}
    return {key: v for key, v in present.items() if not (protocol.needs_tracks and key in TRACK_COUNTS)}


# Ultralytics adds a point of precision 0 at recall 1 and reads a hundred trapezia: perfect predictions get 0.995 there.
ULTRALYTICS = {("interpolation", "trapezoid"), ("interpolation", "sloped")}
ULTRALYTICS |= {("quirks", "ultralytics"), ("quirks", "ultralytics-8.3")}


@every
def test_perfect_predictions_get_the_best_value(protocol: Protocol[Any, Any]) -> None:
    for given in [{}, *({name: word} for name, word in choices(protocol))]:
        results = protocol(*suit(sides_of(protocol, one_per_image()), given), **{"checks": "off", **given})
        present = shares(protocol, results)
        assert present, given
        expected = dict.fromkeys(present, protocol.best)
        if ULTRALYTICS & set(given.items()):
            expected |= {key: 0.995 for key in present if key.startswith("mAP")}
        if protocol.verb == "kitti":  # two objects of a class give precision at two of 41 recalls, 0 and 1/40
            expected = dict.fromkeys(present, 1 / 11 if given == {"recalls": "11"} else 1 / 40)
        if protocol.verb == "oc-cost":  # confidences of 0.9 … 0.4 instead of 1, each missing unit costs 0.25
            expected = {"OC-cost": 0.25 * (0.1 + 0.2 + 0.3 + 0.4 + 0.5 + 0.6) / 6}
        if given == {"metric": "cgf1"}:  # leaves confidences below 0.5 out, and adds 1e-4 to its denominators
            expected |= {key: present[key] for key in ("cgF1", "pmF1", "IL_MCC")}
        assert present == pytest.approx(expected, abs=1e-12), given
        if protocol.needs_tracks:  # each of three classes is one track, of which MOTChallenge's rules leave one
            tracks = 1 if given.get("rules") in ("mot17", "mot20") else 3
            counts = {key: results[key].value for key in TRACK_COUNTS}
            assert counts == {"IDSW": 0, "Frag": 0, "MT": tracks, "PT": 0, "ML": 0}, given


@every
def test_order_of_the_objects_does_not_matter(protocol: Protocol[Any, Any]) -> None:
    truth, pred = sides_of(protocol)
    found = protocol(shuffle(truth, 1), shuffle(pred, 2), checks="off")
    assert values(found) == pytest.approx(values(evaluate(protocol)), rel=0, abs=1e-12, nan_ok=True)
    for key, column in found.class_scores().items():
        expected = evaluate(protocol).class_scores()[key]
        np.testing.assert_allclose(column, expected, rtol=0, atol=1e-12)


def moved(side: vt.Annotations) -> vt.Annotations:
    """Rectangles small to large, with outlines: no IoU is near a threshold."""
    boxes = 10 * side.regions.boxes + np.random.default_rng(len(side)).uniform(0, 4, (len(side), 4))
    return as_quadrilaterals(replace(side, regions=vt.Regions(boxes)))


def without_sizes(side: vt.Annotations, width: float, height: float) -> vt.Annotations:
    """The same as fractions of images of another shape, whose sizes nobody knows."""
    boxes = side.regions.boxes / [width, height, width, height]
    images = vt.Images(side.images.names, side.images.ids)
    return as_quadrilaterals(replace(side, regions=vt.Regions(boxes), unit="rel", images=images))


SUBSETS = {"miss-rate": [{"subset": "reasonable"}, {"subset": "height:5-20"}], "f1": [{"max_distance": 3.0}]}


@every
def test_fractions_of_images_give_the_numbers_of_pixels_or_are_refused(protocol: Protocol[Any, Any]) -> None:
    """Rules in pixels (+1, heights, distances) do not apply to fractions of images of unknown size."""
    truth, pred = map(moved, sides_of(protocol))
    for given in [{}, *({name: word} for name, word in choices(protocol)), *SUBSETS.get(protocol.verb, [])]:
        if "max_distance" in given:
            given = given | {"on": "point"}
        try:
            found = protocol(*(without_sizes(side, 640, 300) for side in (truth, pred)), **{"checks": "off", **given})
        except vt.VeriteError:
            continue
        expected = protocol(truth, pred, **{"checks": "off", **given})
        assert values(found) == pytest.approx(values(expected), rel=0, abs=1e-9, nan_ok=True), given


@every
def test_any_number_of_threads_gives_the_same_bytes(protocol: Protocol[Any, Any]) -> None:
    if "threads" not in protocol.settings.declared:
        pytest.skip("has one thread")
    for threads in (1, 2, 5):
        assert protocol(*sides_of(protocol), checks="off", threads=threads).to_json() == evaluate(protocol).to_json()


@every
def test_a_class_without_objects_is_nan_and_does_not_count(protocol: Protocol[Any, Any]) -> None:
    results = evaluate(protocol)
    if protocol.needs_tracks:  # lists the classes that have tracks
        assert results.class_names == list(json.loads(results.to_json())["classes"]) == ["cat", "dog", "cow"]
        return
    at = results.class_names.index(NOWHERE)
    document = json.loads(results.to_json())["classes"][NOWHERE]
    for key, column in results.class_scores().items():
        assert isnan(column[at])
        assert document.get(key) is None
    assert not any(value == -1 for value in document.values())


@every
def test_a_floor_of_confidence_leaves_weaker_predictions_out(protocol: Protocol[Any, Any]) -> None:
    if "confidence" not in protocol.settings.declared:
        pytest.skip("takes predictions whatever their confidence")
    truth, pred = sides_of(protocol)
    assert pred.confidence is not None
    found = protocol(truth, pred, confidence=0.5, checks="off")
    expected = protocol(truth, pred.where(pred.confidence >= 0.5), checks="off")
    assert values(found) == pytest.approx(values(expected), abs=0, rel=0, nan_ok=True)
    assert values(found) != pytest.approx(values(evaluate(protocol)), nan_ok=True)
    assert ("confidence", "0.50") in found.signature.settings


@every
def test_no_predictions_get_the_worst_value(protocol: Protocol[Any, Any]) -> None:
    truth, pred = sides_of(protocol)
    results = protocol(truth, without_objects(pred), checks="off")
    present = shares(protocol, results)
    expected = dict.fromkeys(present, 1 - protocol.best)
    if protocol.verb == "oc-cost":  # every image has objects, and each missed one costs 0.6
        expected = {"OC-cost": 0.6}
    if truth.track is not None:  # TrackEval takes LocA without any match for 1, and every track is lost
        expected["LocA"] = 1.0
        counts = {key: results[key].value for key in TRACK_COUNTS}
        assert counts == {"IDSW": 0, "Frag": 0, "MT": 0, "PT": 0, "ML": len(np.unique(truth.track))}
    assert present == pytest.approx(expected, abs=1e-15)
    assert set(present) == set(shares(protocol, evaluate(protocol)))


@every
@pytest.mark.parametrize("has_pred", [False, True])
def test_without_truths_there_is_nothing_to_say(protocol: Protocol[Any, Any], has_pred: bool) -> None:
    truth, pred = sides_of(protocol)
    found = protocol(without_objects(truth), pred if has_pred else without_objects(pred), checks="off")
    said = {key: value for key, value in values(found).items() if not isnan(value)}
    expected = dict.fromkeys(said, 1 - protocol.best)
    if protocol.needs_tracks and has_pred:  # TrackEval: MOTA falls by 1 / max(1, truths) for each false positive
        expected |= {"MOTA": -len(pred), "LocA": 1.0}
    # Panoptic quality counts false segments of a class without truths; elsewhere there is nothing to be found.
    assert not said or (has_pred and said == expected)
    json.loads(found.to_json(), parse_constant=pytest.fail)
    assert str(found)


@every
def test_json_has_the_keys_that_all_have(protocol: Protocol[Any, Any]) -> None:
    results = evaluate(protocol)
    document = json.loads(results.to_json(), parse_constant=pytest.fail)
    common = {"protocol", "signature", "name", "classes", "version", "truth", "pred", "findings"}
    assert common | set(results.scores) <= set(document)
    assert document["protocol"] == protocol.verb
    assert document["signature"] == str(results.signature)
    assert list(document["classes"]) == results.class_names


@every
def test_results_say_what_they_are(protocol: Protocol[Any, Any]) -> None:
    results = evaluate(protocol)
    text = str(results)
    assert results.name in text
    assert text.splitlines()[-1] == f"settings: {results.signature}"
    for name in ("cat", "dog", "cow"):
        assert name in text


@every
def test_docstring_and_call_signature_list_every_setting(protocol: Protocol[Any, Any]) -> None:
    parameters = inspect.signature(protocol).parameters
    assert list(parameters)[:2] == ["truth", "pred"]
    assert protocol.__doc__ is not None
    for title in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"\n{title}\n---" in protocol.__doc__ or protocol.__name__ not in vt.PUBLIC
    for name, setting in protocol.settings.declared.items():
        assert parameters[name].default == setting.default
        assert protocol.__doc__.count(f"\n{name} : ") == 1


@every
def test_settings_are_in_the_signature_if_they_can_change_a_number(protocol: Protocol[Any, Any]) -> None:
    settings = protocol.settings
    keys = dict(settings().signature("score"))
    for setting in settings.declared.values():
        if setting.default is not None:
            assert (setting.name in keys) == (setting.is_signed and not setting.omit_default), setting.name
    for name, word in choices(protocol):
        is_other = str(settings(**{name: word}).signature("score")) != str(settings().signature("score"))
        assert is_other == settings.declared[name].is_signed, name


@every
def test_results_of_other_settings_do_not_compare(protocol: Protocol[Any, Any]) -> None:
    declared = protocol.settings.declared
    for name, word in choices(protocol):
        if not declared[name].is_signed or declared[name].default is None:
            continue  # where the default depends on others, one of the words is the default
        other = protocol(*suit(sides_of(protocol), {name: word}), **{"checks": "off", name: word})
        with pytest.raises(vt.NotComparable, match=name):
            vt.compare(evaluate(protocol), other)


WRONG = {"choice": "nonsense", "flag": "perhaps", "number": "much", "count": 0, "area": {"all": (5, 1)}}


@every
def test_a_wrong_value_is_named(protocol: Protocol[Any, Any]) -> None:
    for setting in protocol.settings.declared.values():
        if setting.kind in WRONG:
            with pytest.raises(BadParameter, match=rf"^{setting.name}: expected .*, found "):
                protocol(*one_per_image(), **{setting.name: WRONG[setting.kind]})
    with pytest.raises(BadParameter, match="found 'nonsense'"):
        protocol(*one_per_image(), nonsense=1)


@every
def test_the_verb_has_an_option_for_each_setting(protocol: Protocol[Any, Any], capsys: Any) -> None:
    assert protocol.verb in COMMANDS or protocol.verb in REGISTRY
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert f"\n  {protocol.verb} " in listed
    assert run([protocol.verb, "--help-all"]) == 0
    shown = capsys.readouterr().out
    assert protocol.summary.split()[0] in shown
    for setting in protocol.settings.declared.values():
        if setting.has_option:
            assert setting.option in shown
            assert not setting.short or f"{setting.short}, " in shown


@every
def test_the_reference_lists_every_setting(protocol: Protocol[Any, Any]) -> None:
    page = protocols_page().split(f"## verite {protocol.verb}\n")[1].split("\n## ")[0]
    for setting in protocol.settings.declared.values():
        assert (f"| `{setting.name}` |" in page) == setting.has_option


def write_sides(protocol: Protocol[Any, Any], home: Path) -> tuple[str, str]:
    """Truth and predictions as files that know everything the protocol needs."""
    truth, pred = sides_of(protocol)
    if protocol.needs_tracks:
        for name, side in (("truth", truth), ("pred", pred)):
            (home / f"{name}.xml").write_text(video_xml(side))
        return str(home / "truth.xml"), str(home / "pred.xml")
    vt.write(truth, home / "truth.json", "lvis")
    vt.write(pred, home / "pred.json", "coco-results")
    return str(home / "truth.json"), str(home / "pred.json")


@every
def test_the_command_line_prints_what_python_computes(protocol: Protocol[Any, Any], tmp_path: Any, capsys: Any) -> None:
    truth, pred = write_sides(protocol, tmp_path)
    assert run([protocol.verb, truth, pred, "--json", "--checks", "off"]) == 0
    printed = json.loads(capsys.readouterr().out)
    read = vt.read(truth)
    expected = protocol(read, vt.read(pred, like=read), checks="off", name="pred")
    assert printed == json.loads(expected.to_json())
    assert {key: printed[key] for key in expected.scores} == pytest.approx(
        {key: None if isnan(v) else v for key, v in values(evaluate(protocol)).items()}, abs=1e-12
    )


@every
def test_settings_and_protocols_pickle(protocol: Protocol[Any, Any]) -> None:
    settings = protocol.settings(name="mine")
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert copy.deepcopy(settings) == settings
    assert pickle.loads(pickle.dumps(protocol)) is protocol


@every
def test_results_pickle(protocol: Protocol[Any, Any]) -> None:
    results = evaluate(protocol)
    assert pickle.loads(pickle.dumps(results)).to_json() == results.to_json()
    assert copy.deepcopy(results).to_json() == results.to_json()


@every
def test_results_of_files_pickle(protocol: Protocol[Any, Any], tmp_path: Any) -> None:
    truth, pred = write_sides(protocol, tmp_path)
    read = vt.read(truth)
    results = protocol(read, vt.read(pred, like=read), checks="off")
    assert pickle.loads(pickle.dumps(results)).to_json() == results.to_json()


def test_results_of_files_that_nobody_opened_pickle(tmp_path: Any) -> None:
    truth, pred = random_sides(7)
    vt.write(truth, tmp_path / "truth.json", "coco")
    vt.write(pred, tmp_path / "pred.json", "coco-results")
    results = vt.coco(vt.read(tmp_path / "truth.json"), vt.read(tmp_path / "pred.json"), checks="off")
    assert pickle.loads(pickle.dumps(results)).to_json() == results.to_json()


@every
@pytest.mark.parametrize("seed", [7, 8])
def test_partial_results_merge_to_the_bits_of_the_whole(protocol: Protocol[Any, Any], seed: int) -> None:
    truth, pred = sides_of(protocol, random_sides(seed))
    if protocol.verb in IN_ONE_PIECE or protocol.results.part is Results.part:
        with pytest.raises(BadParameter, match=f"found '{protocol.verb}'"):
            vt.partial(truth, pred, protocol.verb)
        return
    whole, rng = protocol(truth, pred, checks="off"), np.random.default_rng(seed)
    for count in (1, 2, 5):
        place = rng.integers(0, count, len(truth.images))
        parts = [
            vt.partial(take_verdicts(truth, place == i), take_images(pred, place == i), protocol.verb, checks="off")
            for i in range(count)
        ]
        merged = merge_in_any_way(parts, rng)
        assert merged == vt.partial(truth, pred, protocol.verb, checks="off")
        assert_same(merged.compute(), whole)
        assert_same(pickle.loads(pickle.dumps(merged.compute())), whole)
        assert str(whole.signature) in str(merged.compute())
        assert repr(merged.compute().main_table().rows) == repr(whole.main_table().rows)
        weights = rng.multinomial(12, [1 / 12] * 12, size=20).astype(float)
        drawn, expected = (found.draw_scores(list(whole.scores), weights) for found in (merged.compute(), whole))
        np.testing.assert_allclose(drawn, expected, rtol=0, atol=1e-12)


@every
def test_reports_are_made_of_every_protocol_that_matches_objects(
    protocol: Protocol[Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (protocol.verb in REPORTED) == (protocol.results.matches is not Results.matches)
    if protocol.verb not in REPORTED:
        words = ["report", "truth.json", "pred.json", "--protocol", protocol.verb, "-o", str(tmp_path / "r.html")]
        assert run(words) == 2
        assert f"'{protocol.verb}' is not one of" in capsys.readouterr().err
    elif protocol.verb in ("miss-rate", "instances"):  # other tests make reports of the others
        truth, pred = sides_of(protocol)
        place = vt.report(truth, {"random": pred}, tmp_path / "r.html", protocol=protocol.verb, checks="off")
        scores = vt.read_report(place)["systems"][0]["scores"]
        first = next(iter(evaluate(protocol).scores))
        assert scores[first] == pytest.approx(evaluate(protocol)[first].value)
