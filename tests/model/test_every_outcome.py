"""Every outcome there is, in every style and in a notebook: plain, with hostile names, and empty."""

from __future__ import annotations

import csv
import io
import pkgutil
from html.parser import HTMLParser
from importlib import import_module

import pytest

import verite as vt
import verite.leaderboards.calibration
import verite.leaderboards.settings
from tests.model.test_styles import HOSTILE
from verite import leaderboards
from verite.analysis.saved import Saved, SavedComparison
from verite.metrics.cards import card, catalogue
from verite.model.display import STYLES, Display
from verite.model.tables import Table
from verite.ranking.calibration import calibrate
from verite.studies.sensitivity import sensitivity

PLAIN = ["cat", "dog"]
NAMES = {"plain": PLAIN, "hostile": [name for name in HOSTILE if name.strip()], "empty": []}
BOX = [0.0, 0.0, 9.0, 9.0]
PARTS = ("errors", "worst", "lrp", "operating", "confusion", "calibration", "slices", "suspicious")


def side(names, **more):
    """An object of each class in an image of the same name."""
    count = len(names)
    return vt.Annotations.of(list(names), list(names), [BOX] * count, labels=list(names) or PLAIN, **more)


def pair(names):
    return side(names), side(names, confidence=[0.9] * len(names))


def compare_many(names):
    truth, pred = pair(names)
    return vt.compare(*(vt.voc(truth, pred, name=name, checks="off") for name in [*names, *PLAIN, *"abcdef"]))


def rank_answers(names):
    answers = {name: [1, 0, i % 2, 1] for i, name in enumerate([*names, *PLAIN][:4])}
    return vt.Answers.of([1, 0, 1, 1], answers)


def rank(names):
    return vt.rank(rank_answers(names), vt.truth_errors.Bernoulli(0.1))


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
    errors = vt.truth_errors.Detection(missing=0.05, spurious=0.02)
    return leaderboards.calibration.calibrate(
        truth, truth, systems, errors, leaderboards.settings.LeaderboardSettings(draws=20, checks="off")
    )


EXAMPLES = {
    **{part: lambda names, part=part: getattr(analyse(names), part) for part in PARTS},
    "analysis": analyse,
    "analyses": analyse_two,
    "pair_of_systems": lambda names: analyse_two(names).comparison[0],
    "leaderboard": lead,
    "calibrated_order": calibrate_order,
    "voc": lambda names: vt.voc(*pair(names), name=(names or ["x"])[0], checks="off"),
    "coco": lambda names: vt.coco(*pair(names), name=(names or ["x"])[0], checks="off"),
    "openimages": lambda names: vt.openimages(*pair(names), checks="off"),
    "imagenet_loc": lambda names: vt.imagenet_loc(*pair(names), checks="off"),
    "imagenet_det": lambda names: vt.imagenet_det(*pair(names), checks="off"),
    "localize": lambda names: vt.localize(*pair(names), "iou", checks="off"),
    "interpret": lambda names: vt.interpret(*pair(names), checks="off"),
    "trace": lambda names: vt.Trace.of([[0.6]], [[0.25]], [[0.0]], truths=[(names or ["x"])[0]], preds=["y"]),
    "compare": compare_many,
    "compare_saved": compare_saved,
    "objects": lambda names: vt.voc(*pair(names), checks="off").objects(),
    "inspect": lambda names: vt.inspect(*pair(names)),
    "rank": rank,
    "rank_calibration": lambda names: calibrate(rank_answers(names), [1, 0, 0, 1]),
    "explanation": lambda names: vt.explain(*pair([*names, *PLAIN]), 0.5, protocols=["voc"]),
    "study": study,
    "property_table": lambda names: study(names).tables["distance"],
    "sensitivity": lambda names: sensitivity(study(names)),
    "class_distances": lambda names: vt.class_distances("voc"),
    "card": lambda names: card("gce"),
    "catalogue": lambda names: catalogue(),
    "table": lambda names: Table.of("class", names, {"AP": [0.5] * len(names)}),
}
# Made elsewhere: they take long, or need files; what they show is what their base class shows, or is tested there.
ELSEWHERE = {"JeiReproduction", "GretsiReproduction", "InterpretationStudy", "LvisResults", "PanopticResults", "Traces"}


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
                       "tr", "th", "td"), tag  # fmt: skip
        assert {key for key, _ in attrs} <= {"class", "scope"}
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


def test_is_shown_in_a_notebook_without_anything_that_runs_or_loads(outcome):
    for shown in (outcome._repr_html_(), outcome.to_html()):
        reader = Strict()
        reader.feed(shown)
        assert not reader.open
    assert len(outcome._repr_html_()) <= 60_000


def test_there_is_an_example_of_every_outcome():
    for module in pkgutil.walk_packages(vt.__path__, "verite."):
        if not module.name.startswith(("verite._core", "verite.compat")):
            import_module(module.name)

    def leaves(cls):
        below = [c for c in cls.__subclasses__() if c.__module__.startswith("verite.")]
        return {cls} if not below else {leaf for one in below for leaf in leaves(one)}

    made = {type(make(PLAIN)) for make in EXAMPLES.values()}
    missing = {cls.__name__ for cls in leaves(Display) - made}
    assert missing == ELSEWHERE
