"""`verite track` beside TrackEval 1.3.0: KITTI, KITTI MOTS, YouTube-VIS and MOTChallenge; the order of files.

The files and TrackEval's numbers are in tests/data/trackeval; tests/oracles/trackeval_rows.py wrote them.
"""

from __future__ import annotations

import json
import random
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from verite.evaluation.tracking import SequenceCounts, summarise

DATA = Path(__file__).parents[1] / "data" / "trackeval"
EXPECTED = json.loads((DATA / "expected.json").read_text())
REAL = Path(__file__).parents[3] / "shared" / "real" / "tracks" / "mot.tar.gz"
SIDES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "kitti": ("kitti/gt", "kitti/pred", {"rules": "plain"}),
    "mots": ("mots/gt", "mots/pred", {"rules": "plain", "on": "mask"}),
    "youtube_vis": ("youtube_vis/truth.json", "youtube_vis/results.json", {"rules": "plain", "on": "mask"}),
    "mot": ("mot/gt", "mot/pred", {"rules": "mot17"}),
}


@pytest.mark.parametrize("name", SIDES)
def test_every_dataset_equals_trackeval(name: str) -> None:
    """Each sequence and class, and the classes over all sequences."""
    truth, pred, settings = SIDES[name]
    found = vt.track(DATA / truth, DATA / pred, checks="off", **settings)
    for sequence, classes in EXPECTED[name].items():
        for label, expected in classes.items():
            parts = [
                counts
                for (of, own), counts in found.sequence_counts.items()
                if own.lower() == label and sequence in ("COMBINED_SEQ", of)
            ]
            metrics = summarise(SequenceCounts.total(parts))
            assert {key: metrics[key] for key in expected} == pytest.approx(expected, rel=0, abs=1e-12), (
                sequence,
                label,
            )


@pytest.mark.parametrize("name", ["kitti", "mots"])
def test_regions_to_ignore_change_these_numbers(name: str, tmp_path: Path) -> None:
    """Without them some predictions are false positives, so that equality above says something about them."""
    truth, pred, settings = SIDES[name]
    shutil.copytree(DATA / truth, tmp_path / "gt")
    for file in (tmp_path / "gt").iterdir():
        lines = file.read_text().splitlines()
        file.write_text("\n".join(line for line in lines if "DontCare" not in line and " 10000 10 " not in line) + "\n")
    before, after = (vt.track(t, DATA / pred, checks="off", **settings) for t in (DATA / truth, tmp_path / "gt"))
    assert after.metrics["FP"] > before.metrics["FP"]


@pytest.mark.parametrize("name", ["kitti", "mots", "mot"])
def test_the_order_of_files_and_lines_does_not_matter(name: str, tmp_path: Path) -> None:
    """Files are copied in reverse order under names that sort the other way, and their lines are shuffled."""
    truth, pred, settings = SIDES[name]
    chance = random.Random(3)
    renamed = {"0003": "z", "0007": "a"}
    for side, source in (("gt", truth), ("pred", pred)):
        for file in sorted((path for path in (DATA / source).rglob("*") if path.is_file()), reverse=True):
            lines = file.read_text().splitlines()
            if file.suffix == ".txt":
                chance.shuffle(lines)
            words = [renamed.get(word, word) for word in file.relative_to(DATA / source).with_suffix("").parts]
            place = tmp_path / side / Path(*words).with_suffix(file.suffix)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("\n".join(lines) + "\n")
    one = vt.track(DATA / truth, DATA / pred, checks="off", **settings)
    two = vt.track(tmp_path / "gt", tmp_path / "pred", checks="off", **settings)
    assert set(two.sequences.names) == {"a", "z"}
    assert two.metrics == pytest.approx(one.metrics, rel=0, abs=1e-12)
    by_sequence = two.metrics_by(0)
    for old, new in renamed.items():
        assert by_sequence[new] == pytest.approx(one.metrics_by(0)[old], rel=0, abs=1e-12)


def test_four_sequences_of_mot17_combined_equal_trackeval(tmp_path: Path) -> None:
    """TrackEval's COMBINED row for the four sequences, printed by its Evaluator."""
    if not REAL.is_file():
        pytest.skip("needs ../shared/real/tracks/mot.tar.gz, MOT17 and a tracker")
    with tarfile.open(REAL) as archive:
        archive.extractall(tmp_path, filter="data")
    for folder in (tmp_path / "mot17").iterdir():
        if folder.is_dir():
            home = tmp_path / "gt" / folder.name / "gt"
            home.mkdir(parents=True)
            shutil.copy(folder / "gt.txt", home)
            (tmp_path / "pred").mkdir(exist_ok=True)
            shutil.copy(folder / "tracker.txt", tmp_path / "pred" / f"{folder.name}.txt")
    found = vt.track(tmp_path / "gt", tmp_path / "pred", checks="off").metrics
    expected = {
        "HOTA": 0.7826587905749163, "DetA": 0.8260889849034438, "AssA": 0.7445978495683708, "LocA": 0.9055932808041467,
        "MOTA": 0.9240478912219482, "MOTP": 0.8956838571926682, "IDF1": 0.840558062087162, "IDP": 0.8555317398998081,
        "IDR": 0.8260995126647013, "IDSW": 315, "Frag": 289, "MT": 237, "PT": 33, "ML": 11,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=0, abs=1e-12)
