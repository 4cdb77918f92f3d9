"""Every outcome there is, in every style and in a notebook: plain, with hostile names, and empty."""

from __future__ import annotations

import csv
import io
import pkgutil
import shutil
import subprocess
from dataclasses import replace
from functools import cache, partial
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import verite as vt
import verite.leaderboards.calibration
import verite.leaderboards.leaderboard
from tests.model.test_styles import HOSTILE, LATEX_HEAD
from verite import leaderboards
from verite.analysis.coherence import Coherence
from verite.analysis.gate import Saved, SavedComparison, Summary
from verite.analysis.parameter_sweep import sweep_runs
from verite.analysis.suite import Dataset, SuiteFile, SuiteResults
from verite.cli.scene_score import Traces
from verite.judge.fit import fit as fit_votes
from verite.judge.other_studies import study_choices
from verite.judge.plan import Plan, Trial
from verite.judge.votes import Choice as ChoiceOfBox
from verite.judge.votes import Vote
from verite.leaderboards.track_leaderboard import rank_trackers
from verite.metrics.cards import card, catalogue
from verite.model.classes import ImageLevelLabels
from verite.model.rasters import runs_of
from verite.model.regions import Regions
from verite.model.tables import STYLES, Display, Table
from verite.protocols import REGISTRY, protocol_named
from verite.protocols.track import track
from verite.ranking.calibration import calibrate
from verite.ranking.published_scores import rank_published
from verite.ranking.values import ValueTable, rank_values
from verite.reproductions import jei
from verite.reproductions.advice import KINDS, Advice
from verite.reproductions.gretsi import reproduce_gretsi
from verite.scene.over_time import FrameScores, SequenceScores
from verite.scene.sweep import distances_between, sweep_settings
from verite.studies.interpretation import study_interpretation
from verite.studies.sensitivity import sensitivity

PLAIN = ["cat", "dog"]
NAMES = {"plain": PLAIN, "hostile": [name for name in HOSTILE if name.strip()], "empty": []}
BOX = [0, 0, 9, 9]
PARTS = ("errors", "worst", "lrp", "operating", "confusion", "calibration", "slices", "suspicious")


def side(names, **more):
    """An object of each class in an image of the same name, with a mask, and all that any protocol asks of a truth."""
    count, known = len(names), list(dict.fromkeys(names)) or PLAIN
    masks = np.zeros((count, 12, 12), dtype=np.bool_)
    masks[:, :9, :9] = True
    made = vt.Annotations.of(list(names), list(names), [BOX] * count, sizes=dict.fromkeys(names, (12, 12)),
                             labels=known, **more)  # fmt: skip
    labels = vt.Labels(known, groups=[("r", "c", "f")[i % 3] for i in range(len(known))])
    return replace(made, regions=Regions(np.reshape([BOX] * count, (-1, 4)), runs=runs_of(masks)), labels=labels,
                   verdicts=None if more else ImageLevelLabels.of([]))  # fmt: skip


def pair(names):
    return side(names), side(names, confidence=[0.9] * len(names))


def evaluate(verb, names):
    return protocol_named(verb)(*pair(names), name=(names or ["x"])[0], checks="off")


def compare_many(names):
    truth, pred = pair(names)
    return vt.compare(*(vt.voc(truth, pred, name=name, checks="off") for name in [*names, *PLAIN, *"abcdef"]))


def rank_answers(names):
    answers = {name: [1, 0, i % 2, 1] for i, name in enumerate([*names, *PLAIN][:4])}
    return vt.AnswerTable.of([1, 0, 1, 1], answers)


def rank(names):
    return vt.rank(rank_answers(names), vt.annotation_errors.Bernoulli(0.1))


def study(names):
    return vt.study(["iou", "hen1"], "boxes", "translation(reach=2)")


def compare_saved(names):
    truth, pred = pair([*names, *PLAIN])
    worse = pred.take([*range(len(names))])
    return SavedComparison(*(Saved.of(vt.coco(truth, p, name="<x>|`y`", checks="off")) for p in (pred, worse)))


def analyse(names):
    truth, pred = pair(names)
    return vt.analyse(truth, pred, checks="off", draws=0)


def analyse_two(names):
    truth, pred = pair(names)
    worse = pred.take([*range(len(names) // 2)])
    return vt.analyse(truth, {(names or ["x"])[0]: pred, "other": worse}, checks="off", draws=20)


def two_systems(names):
    truth, pred = pair([*names, *PLAIN])
    return truth, {(names or ["x"])[0]: pred, "other": pred.take([*range(len(names) + 1)])}


def lead(names):
    return vt.leaderboard(*two_systems(names), draws=20, checks="off")


def calibrate_order(names):
    truth, systems = two_systems(names)
    errors = vt.annotation_errors.Detection(missing=0.05, spurious=0.02)
    return leaderboards.calibration.calibrate(
        truth, truth, systems, errors, leaderboards.leaderboard.LeaderboardSettings(draws=20, checks="off")
    )


def track_objects(names):
    """One track in a sequence of each name, found in two of three frames."""
    frames = [f"{name}/{frame:06d}" for name in names for frame in (1, 2, 3)]
    count = len(frames)
    truth = vt.Annotations.of(frames, ["car"] * count, [BOX] * count, labels=["car"], track=[1] * count)
    pred = truth.take([i for i in range(count) if i % 3])
    return track(truth, replace(pred, confidence=np.ones(len(pred))), name=(names or ["x"])[0], checks="off")


def rank_tracks(names):
    """Three trackers on five sequences; trackers and sequences have the names."""
    shown = [*named_two(names), "x", "y", "z"]
    frames = [f"{name}/{frame:06d}" for name in list(dict.fromkeys(shown))[:5] for frame in (1, 2, 3)]
    count = len(frames)
    truth = vt.Annotations.of(frames, ["car"] * count, [BOX] * count, labels=["car"], track=[1] * count)
    found = {}
    for i, name in enumerate(named_two(names)):
        pred = truth.take([*range(1 + i % 3, count)])
        found[name] = track(truth, replace(pred, confidence=np.ones(len(pred))), checks="off")
    return rank_trackers(found, ("HOTA",), None, draws=20)


def score_frames(names):
    first = (names or ["x"])[0]
    frames = tuple(range(6))
    one = SequenceScores(first, np.array(frames), np.linspace(0, 1, 6), ())
    return FrameScores(first, (one,), evaluate("coco", PLAIN).signature)


def run_suite(names):
    """The same data twice, under two names."""
    datasets = tuple(
        Dataset(name, Path("truth.json"), {"x": Path("x.json")}, "coco", "AP") for name in named_two(names)[:2]
    )
    results = {one.name: {"x": evaluate("coco", names)} for one in datasets}
    return SuiteResults(SuiteFile((names or ["x"])[0], Path("suite.toml"), datasets), results)


def trace(names):
    return vt.Trace.of([[0.6]], [[0.25]], [[0.0]], truths=[(names or ["x"])[0]], preds=["y"])


def study_scenes(names):
    shown = [*names, *PLAIN][:2]
    scenes = vt.Annotations.of([shown[0]] * 2, shown, [[0, 0, 20, 20], [5, 5, 30, 40]], sizes={shown[0]: (60, 60)})
    return study_interpretation(scenes, distance={shown[0]: {shown[1]: 0.5}, shown[1]: {shown[0]: 0.5}})


@cache
def reproduce_jei():
    """All rows of the study on one small truth; no name in it is anybody's."""
    mask = np.zeros((32, 32), dtype=np.bool_)
    mask[12:18, 12:20] = True
    rows = jei.read_formulas(jei.JEI)
    every = [jei.Row(f"{label}: {one.name}", one, is_penalty=True) for label, one in rows.items()]
    base = jei.judge(jei.study(every, {"dot": mask}), rows)
    return jei.JeiReproduction(dict.fromkeys(jei.COLUMNS, base), [], dict.fromkeys(jei.MARTIN, base.scores))


stars = cache(reproduce_gretsi)


def named_two(names):
    """Two names or more: those given, and two plain ones."""
    return list(dict.fromkeys([*names, *PLAIN]))


def f1_errors(names):
    truth, pred = pair(names)
    return vt.analyse(truth, pred, protocol="f1", checks="off", draws=0).errors


def sweep_parameter(names):
    """Runs by the names, on images of the names, each of which is a condition."""
    shown = [*named_two(names), "bird", "cow"]
    truth, pred = pair(shown)
    runs = {name: vt.voc(truth, pred.take([*range(i + 1)]), checks="off") for i, name in enumerate(shown[:3])}
    groups = [truth.images.name(i) for i in range(len(truth.images))]
    return sweep_runs(runs, "mAP", parameter=shown[0], draws=20, groups=groups)


def agree_on(names):
    sides = {name: side(named_two(names)[: i + 2]) for i, name in enumerate(named_two(names)[:3])}
    return vt.agree(sides, draws=20)


def fit_judges(names):
    """Three judges on four objects; the results and the judges have the names."""
    first, second, *_ = named_two(names)
    judges = [*named_two(names), "third"][:3]
    places = [(f"{i}", kind) for i in range(4) for kind in ("pair", "repeat", "catch")]
    boxes = [(0.0, 0.0, 10.0, 10.0), (2.0, 0.0, 12.0, 10.0)]
    trials = [Trial(f"{kind}-{i}", first, second, first, second, kind, i, boxes[0], boxes, (60.0, 60.0),
                    first if kind == "catch" else "") for i, kind in places]  # fmt: skip
    votes = [Vote(judge, one.id, first, second, first if one.kind == "catch" or k else second, 500.0)
             for k, judge in enumerate(judges) for one in trials]  # fmt: skip
    return fit_votes(Plan(trials, 0), votes, draws=20)


def study_other_choices(names):
    kinds = tuple(named_two(names)[:2])
    choices = [ChoiceOfBox(judge, question, kinds[0], kinds, (0.9, 0.5), k % 2, question == "2")
               for k, judge in enumerate([*named_two(names), "third"]) for question in "012"]  # fmt: skip
    return study_choices(choices)


def lead_by_scores(names):
    shown = named_two(names)
    cases = np.linspace(0, 1, 8)
    return vt.score_leaderboard({name: cases + i * (0.1 + cases % 0.3) for i, name in enumerate(shown)},
                                score=shown[0], draws=20)  # fmt: skip


def rank_numbers(names):
    shown = tuple(named_two(names))
    truth = np.arange(5.0)
    return rank_values(ValueTable("numbers", shown, truth, truth + np.arange(len(shown))[:, None]), 0.5, draws=20)


def rank_shares(names):
    return rank_published({name: (i + 1) / 100 for i, name in enumerate(named_two(names))}, 100, 0.1)


def many_systems(names):
    """A detector of each name; each finds one object more than the one before."""
    truth, pred = pair(named_two(names))
    return truth, {name: pred.take([*range(i + 1)]) for i, name in enumerate(named_two(names))}


def measure_coherence(names):
    """Of labelled images with the names, and F1 of each, so that there are correlations."""
    values = np.linspace(0, 1, len(names))
    return Coherence(list(names), {"contrast": values, "zeboudj": values[::-1]},
                     dict(zip(names, values.tolist(), strict=True)))  # fmt: skip


EXAMPLES = {
    **{verb: partial(evaluate, verb) for verb in REGISTRY},
    **{part: lambda names, part=part: getattr(analyse(names), part) for part in PARTS},
    "analysis": analyse,
    "analyses": analyse_two,
    "pair_of_systems": lambda names: analyse_two(names).comparison[0],
    "leaderboard": lead,
    "track_leaderboard": rank_tracks,
    "frame_scores": score_frames,
    "suite": run_suite,
    "calibrated_order": calibrate_order,
    "localize": lambda names: vt.localize(*pair(names), "iou", checks="off"),
    "interpret": lambda names: vt.scene_score(*pair(names), checks="off"),
    "track": track_objects,
    "trace": trace,
    "traces": lambda names: Traces({(names or ["x"])[-1]: trace(names), "other": trace(names)}),
    "compare": compare_many,
    "compare_saved": compare_saved,
    "summary": lambda names: Summary([evaluate("coco", names), evaluate("coco", names)]),
    "objects": lambda names: vt.voc(*pair(names), checks="off").objects(),
    "inspect": lambda names: vt.inspect(*pair(names)),
    "rank": rank,
    "rank_calibration": lambda names: calibrate(rank_answers(names), [1, 0, 0, 1]),
    "explanation": lambda names: vt.reconcile(*pair([*names, *PLAIN]), 0.5, protocols=["voc"]),
    "study": study,
    "property_table": lambda names: study(names).tables["distance"],
    "sensitivity": lambda names: sensitivity(study(names)),
    "study_interpretation": study_scenes,
    "reproduce_gretsi": lambda names: stars(),
    "reproduce_jei": lambda names: reproduce_jei(),
    "f1_errors": f1_errors,
    "parameter_sweep": sweep_parameter,
    "coherence": measure_coherence,
    "agreement": agree_on,
    "judge_fit": fit_judges,
    "choice_study": study_other_choices,
    "score_leaderboard": lead_by_scores,
    "published_ranking": rank_shares,
    "value_ranking": rank_numbers,
    "scene_score_sweep": lambda names: sweep_settings(*many_systems(names)),
    "scene_distances": lambda names: distances_between(many_systems(names)[1]),
    **{f"advice-{kind}": lambda names, kind=kind: Advice(kind) for kind in KINDS},
    "class_distances": lambda names: vt.class_distances("voc"),
    "card": lambda names: card("gce"),
    "catalogue": lambda names: catalogue(),
    "table": lambda names: Table.of("class", names, {"AP": [0.5] * len(names)}),
}


@pytest.fixture(scope="module", params=[(kind, name) for kind in NAMES for name in EXAMPLES], ids="-".join)
def outcome(request):
    kind, name = request.param
    return EXAMPLES[name](NAMES[kind])


class Strict(HTMLParser):
    """Elements must close as they opened, and be none that runs, loads or links."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "style", "p", "br", "bdi", "code", "pre", "table", "caption", "thead", "tbody", "tfoot",
                       "tr", "th", "td", "svg", "rect"), tag  # fmt: skip
        drawn = {"width", "height", "role", "aria-label", "fill", "opacity"} if tag in ("svg", "rect") else set()
        assert {key for key, _ in attrs} <= {"class", "scope"} | drawn
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_is_shown_in_every_style(outcome):
    for style in STYLES:
        assert isinstance(outcome.in_style(style), str)
    text = str(outcome)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len({len(row) for row in csv.reader(io.StringIO(outcome.to_csv(), newline=""))}) <= 1


def test_its_repr_is_what_is_printed(outcome):
    assert repr(outcome) == str(outcome)


def test_is_shown_in_a_notebook_without_anything_that_runs_or_loads(outcome):
    for shown in (outcome._repr_html_(), outcome.to_html()):
        reader = Strict()
        reader.feed(shown)
        assert not reader.open
    assert len(outcome._repr_html_()) <= 60_000


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("kind", NAMES)
def test_every_outcome_compiles(tmp_path, kind):
    names = [name for name in NAMES[kind] if name.isascii()]
    pages = "\n\\newpage\n".join(make(names).to_latex() for make in EXAMPLES.values())
    (tmp_path / "a.tex").write_text(f"{LATEX_HEAD}\n{pages}\n\\end{{document}}\n")
    done = subprocess.run(["pdflatex", "-halt-on-error", "a.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-600:]


@pytest.mark.thorough
def test_there_is_an_example_of_every_outcome():
    """Protocols are found by themselves; whatever else can be shown wants an example above."""
    for module in pkgutil.walk_packages(vt.__path__, "verite."):
        if not module.name.startswith(("verite._core", "verite.compat")):
            import_module(module.name)

    def leaves(cls):
        below = [c for c in cls.__subclasses__() if c.__module__.startswith("verite.")]
        return {cls} if not below else {leaf for one in below for leaf in leaves(one)}

    made = {type(make(PLAIN)) for make in EXAMPLES.values()}
    assert {cls.__name__ for cls in leaves(Display) - made} == set()
