"""The public names and where each lives, for type checkers and for `verite` itself, which imports them when used."""

from verite import annotation_errors as annotation_errors
from verite.analysis.analyse import Analysis as Analysis
from verite.analysis.analyse import analyse as analyse
from verite.analysis.reconcile import reconcile as reconcile
from verite.checks import inspect as inspect
from verite.errors import BadParameter as BadParameter
from verite.errors import DataError as DataError
from verite.errors import DataWarning as DataWarning
from verite.errors import NotComparable as NotComparable
from verite.errors import ReadError as ReadError
from verite.errors import UnknownMetric as UnknownMetric
from verite.errors import VeriteError as VeriteError
from verite.formats import read as read
from verite.formats import write as write
from verite.formats.volumes import read_volume as read_volume
from verite.leaderboards.leaderboard import leaderboard as leaderboard
from verite.leaderboards.result import Leaderboard as Leaderboard
from verite.metrics.catalogue import localization as localization
from verite.metrics.catalogue import metric as metric
from verite.metrics.localize import localize as localize
from verite.metrics.metric import Empty as Empty
from verite.metrics.metric import Metric as Metric
from verite.metrics.metric import Variant as Variant
from verite.metrics.metric import measure as measure
from verite.model.annotations import Annotations as Annotations
from verite.model.classes import Labels as Labels
from verite.model.comparison import compare as compare
from verite.model.images import Images as Images
from verite.model.polygons import Polygons as Polygons
from verite.model.polygons import RLEMasks as RLEMasks
from verite.model.regions import Regions as Regions
from verite.model.results import Results as Results
from verite.model.results import Score as Score
from verite.model.shapes import Contour as Contour
from verite.model.shapes import Volume as Volume
from verite.pairs import Pairs as Pairs
from verite.protocols.coco import CocoResults as CocoResults
from verite.protocols.coco import coco as coco
from verite.protocols.evaluators import CocoEvaluator as CocoEvaluator
from verite.protocols.evaluators import F1Evaluator as F1Evaluator
from verite.protocols.f1 import F1Results as F1Results
from verite.protocols.f1 import f1 as f1
from verite.protocols.imagenet import imagenet_det as imagenet_det
from verite.protocols.imagenet import imagenet_loc as imagenet_loc
from verite.protocols.lvis import lvis as lvis
from verite.protocols.openimages import openimages as openimages
from verite.protocols.panoptic import panoptic as panoptic
from verite.protocols.semantic import SemanticEvaluator as SemanticEvaluator
from verite.protocols.semantic import semantic as semantic
from verite.protocols.voc import voc as voc
from verite.ranking.answers import AnswerTable as AnswerTable
from verite.ranking.confidence import ScoreTable as ScoreTable
from verite.ranking.detectors import DetectionTable as DetectionTable
from verite.ranking.rank import rank as rank
from verite.ranking.result import Ranking as Ranking
from verite.reporting.draw import draw as draw
from verite.reporting.draw import plot_image as plot_image
from verite.reporting.localization import plot_distributions as plot_distributions
from verite.reporting.localization import plot_pair as plot_pair
from verite.reporting.plot_kinds import plot as plot
from verite.reporting.report.report import read_report as read_report
from verite.reporting.report.report import report as report
from verite.reporting.report.report import save_report as save_report
from verite.reporting.scene_score_plots import plot_distances as plot_distances
from verite.reporting.scene_score_plots import plot_scene as plot_scene
from verite.scale.executors import LostPart as LostPart
from verite.scale.executors import evaluate_parts as evaluate_parts
from verite.scale.partial import PartialResult as PartialResult
from verite.scale.partial import partial as partial
from verite.scene.class_distances import ClassDistances as ClassDistances
from verite.scene.class_distances import class_distances as class_distances
from verite.scene.descriptors import learn_distances as learn_distances
from verite.scene.scene_score import scene_score as scene_score
from verite.scene.taxonomy import Taxonomy as Taxonomy
from verite.scene.trace import Trace as Trace
from verite.signature import Signature as Signature
from verite.studies.judging import Tolerances as Tolerances
from verite.studies.study import Study as Study
from verite.studies.study import study as study

__version__: str
__all__: list[str]
DEPRECATED: dict[str, str]

def __dir__() -> list[str]: ...
