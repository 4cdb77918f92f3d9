"""The share card: its size, its formats, and what it refuses."""

from __future__ import annotations

import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH
from verite.cli import run

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'verite[plots]'")


def test_the_card_has_the_size_of_previews(tmp_path):
    from PIL import Image

    vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", pictures="none", draws=5, card=tmp_path / "card.png")
    with Image.open(tmp_path / "card.png") as image:
        assert image.size == (1200, 630)
    vt.report(TRUTH, SYSTEMS, tmp_path / "a.html", pictures="none", draws=5, card=tmp_path / "card.svg")
    text = (tmp_path / "card.svg").read_text()
    assert f"{vt.coco(TRUTH, SYSTEMS['hawk'])['AP'].value:.3f}" in text
    assert "hawk leads magpie" in text


def test_the_command_writes_the_card_and_refuses_other_formats(capsys, tmp_path):
    words = ["report", str(TRUTH), str(SYSTEMS["hawk"]), "--pictures", "none", "-q", "-o", str(tmp_path / "a.html")]
    assert run([*words, "--card", str(tmp_path / "card.png")]) == 0
    assert (tmp_path / "card.png").exists()
    capsys.readouterr()
    assert run([*words, "--card", str(tmp_path / "card.gif")]) == 2
    assert "card: expected a file name ending in .png" in capsys.readouterr().err
