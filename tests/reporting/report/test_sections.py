"""Every section of the report: listed, drawn once, from a document that does not change; one file adds a section."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH
from verite.reporting.report import report as report_module
from verite.reporting.report import sections
from verite.reporting.report.sections import all_sections
from verite.reporting.report.sections.classes import with_sizes
from verite.reporting.report.settings import ReportSettings


def records(value: Any) -> list[Any]:
    """Every dataclass inside a document."""
    if is_dataclass(value):
        return [value, *(one for field in fields(value) for one in records(getattr(value, field.name)))]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [one for part in inner for one in records(part)]


def check_sections(output: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a report and check what holds for all its sections."""
    built, drawn = [], []

    def build(*given: Any) -> Any:
        built.append(build_document(*given))
        drawn.append(str(built[-1].to_plain()))
        return built[-1]

    build_document = report_module.build_document
    monkeypatch.setattr(report_module, "build_document", build)
    page = vt.report(TRUTH, SYSTEMS, output, pictures="none", draws=20)
    text, (document,) = page.read_text(), built
    wanted = [one for one in all_sections() if one.wanted(document)]
    listed = re.findall(r'<li><a href="#([\w-]+)">([^<]*)</a></li>', text)
    assert listed == [(one.id, one.title) for one in wanted]
    assert re.findall(r'<section id="([\w-]+)"', text) == [one.id for one in wanted]
    assert len({one.id for one in wanted}) == len(wanted) == len({one.place for one in wanted})
    assert str(document.to_plain()) == drawn[0]  # drawing changes nothing
    for one in records(document):
        with pytest.raises(FrozenInstanceError):
            setattr(one, fields(one)[0].name, None)
    return page


def test_every_section_is_listed_and_drawn_in_its_order(tmp_path, monkeypatch):
    check_sections(tmp_path / "a.html", monkeypatch)


def test_every_section_is_drawn_once(tmp_path, monkeypatch):
    calls: list[str] = []

    def counting(section: Any) -> Any:
        def render(*given: Any) -> Any:
            calls.append(section.id)
            return section.render(*given)

        return type(section)(**{one.name: getattr(section, one.name) for one in fields(section)} | {"render": render})

    monkeypatch.setattr(report_module, "all_sections", lambda: [counting(one) for one in all_sections()])
    vt.report(TRUTH, SYSTEMS["hawk"], tmp_path / "a.html", pictures="none")
    assert len(calls) == len(set(calls)) > 8


def test_one_file_adds_a_section_to_page_contents_and_data(tmp_path, monkeypatch):
    shutil.copy(Path(__file__).with_name("toy_section.py"), tmp_path / "toy.py")
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    try:
        page = check_sections(tmp_path / "a.html", monkeypatch)
    finally:
        sys.modules.pop(f"{sections.__name__}.toy", None)
    counts = [system["steps"]["wrong"][0] for system in vt.read_report(page)["systems"]]
    assert vt.read_report(page)["toy_false_positives"] == counts
    assert f"{sum(counts)} in all" in page.read_text()
    assert (
        page.read_text().index('id="order"') < page.read_text().index('id="toy"') < page.read_text().index('id="look"')
    )


def test_signatures_list_the_settings_of_the_report():
    from inspect import signature

    for function in (vt.report, vt.save_report):
        shown = signature(function).parameters
        assert {one: shown[one].default for one in ReportSettings.declared} == ReportSettings().to_dict()
    assert signature(vt.report).parameters["prior"].default == 0.05


def test_the_table_of_classes_has_ap_by_size():
    truth, pred = TRUTH, SYSTEMS["hawk"]
    results = vt.coco(truth, pred)
    table = with_sizes(results.class_table(), results)
    assert table.head[:7] == ("class", "AP", "AP50", "AP75", "APs", "APm", "APl")
    person = next(row for row in table.rows if row[0] == "person")
    alone = vt.coco(truth, pred, labels=["person"])  # the same scores, of this class alone
    assert person[4:7] == pytest.approx([alone[key].value for key in ("APs", "APm", "APl")], abs=5e-5, nan_ok=True)
    assert table.mean[4:7] == pytest.approx([results[key].value for key in ("APs", "APm", "APl")])
    voc = vt.voc(truth, pred)
    assert with_sizes(voc.class_table(), voc) == voc.class_table()
