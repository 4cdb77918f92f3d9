"""A part of an analysis is one record: a toy declared in one file is in `analyse`, help, plots and reference."""

from __future__ import annotations

import inspect
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import verite as vt
from verite import analysis
from verite.analysis import parts
from verite.analysis.parts import AnalyseSettings, all_parts, analysis_page
from verite.cli import run

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, HAWK, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "mole"))
# Of two predictions that count one has a confidence of at least 0.5; the third lies on a crowd and is ignored.
KNOWN = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [30, 30, 80, 80]], crowd=[False, True])
GIVEN = vt.Annotations.of(
    ["a"] * 3, ["cat"] * 3, [[0, 0, 10, 10], [15, 15, 20, 20], [40, 40, 50, 50]], confidence=[0.9, 0.4, 0.8]
)


@pytest.fixture
def toy(monkeypatch):
    """The toy among the parts."""
    monkeypatch.setitem(parts.REGISTRY, "toy", "tests.analysis.toy_part")


def test_toy_is_an_attribute_and_a_key_of_the_document(toy):
    found = vt.analyse(KNOWN, GIVEN)
    assert found.toy.share == 0.5
    assert found.to_dict()["toy"] == {"signature": found.to_dict()["signatures"]["toy"], "share": 0.5}
    assert "Toy share 0.500" in str(found)
    assert list(vt.analyse(KNOWN, GIVEN, only=["toy"]).parts) == ["toy"]


def test_toys_setting_is_an_argument_and_in_the_signature(toy):
    assert inspect.signature(vt.analyse).parameters["toy_level"].default == 0.5
    found = vt.analyse(KNOWN, GIVEN, toy_level=0.2).toy
    assert found.share == 1.0
    assert "toy_level:0.20" in str(found.signature)
    with pytest.raises(vt.BadParameter, match="toy_level: expected a number from 0 to 1, found 2"):
        vt.analyse(KNOWN, GIVEN, toy_level=2)


def test_toy_is_on_the_command_line_and_in_its_help(toy, capsys, tmp_path):
    assert run(["analyse", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--toy-level" in shown
    assert re.search(r"--only SECTION.*comparison, toy", shown)
    words = ["analyse", TRUTH, HAWK, "--only", "toy", "--toy-level", "0", "--json", "-o", str(tmp_path / "out")]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["toy"]["share"] == 1.0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"analysis.json", "toy.csv", "toyplot.png"}


def test_toy_is_a_kind_of_plot(toy):
    found = vt.analyse(KNOWN, GIVEN, name="cats")
    for axes in (found.plot("toyplot", Figure().add_subplot()), found.toy.plot(Figure().add_subplot())):
        assert axes.get_title() == "cats: toy"
        assert [bar.get_width() for bar in axes.patches] == [0.5]


def test_toy_is_in_the_reference(toy):
    page = analysis_page()
    assert "| [toy](#toy) | Share of predictions above a confidence" in page
    assert '```text\n"toy": {"signature", "share"}\n```\nThe share is from 0 to 1.' in page
    assert "`--toy-level` (`toy_level`): Confidence above which the toy counts. Default: 0.5." in page


def test_without_the_toy_nothing_of_it_is_there(capsys):
    found = vt.analyse(KNOWN, GIVEN)
    with pytest.raises(AttributeError, match="toy"):
        found.toy  # noqa: B018
    assert "toy_level" not in inspect.signature(vt.analyse).parameters
    assert run(["analyse", "--help-all"]) == 0
    assert "toy" not in capsys.readouterr().out


def test_every_record_is_registered_and_its_settings_are_typed():
    """A file in analysis/ that declares a PART is in the registry, and its settings are known to type checkers."""
    folder = Path(analysis.__path__[0])
    declared = [path.stem for path in sorted(folder.glob("*.py")) if re.search(r"^PART = ", path.read_text(), re.M)]
    assert sorted(parts.REGISTRY) == declared
    assert [part.name for part in all_parts()] == list(parts.REGISTRY)
    assert all(part.settings is None or issubclass(AnalyseSettings, part.settings) for part in all_parts())


def test_every_part_documents_the_keys_it_has():
    truth = vt.read(TRUTH)
    found = vt.analyse(truth, {name: vt.read(DEMO / f"{name}.json", like=truth) for name in ("hawk", "mole")})
    documents = found["hawk"].to_dict() | {"comparison": found.to_dict()["comparison"]}
    for part in all_parts():
        document = documents[part.name]
        keys = set(document[0] if isinstance(document, list) else document) - {"lead"}
        missing = {key for key in keys if f'"{key}"' not in part.json}
        assert not missing, (part.name, missing)
        assert f'"{part.name}":' in part.json


def test_the_signature_of_analyse_lists_every_setting_with_its_default():
    found = inspect.signature(vt.analyse)
    assert list(found.parameters)[:2] == ["truth", "pred"]
    settings = {name: one.default for name, one in found.parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert settings == {name: one.default for name, one in AnalyseSettings.declared.items()}
    assert settings["background"] == 0.1
    assert settings["confidence"] == "best-f1"
    assert all(f"{name} :" in vt.analyse.__doc__ or name in vt.analyse.__doc__ for name in settings)
