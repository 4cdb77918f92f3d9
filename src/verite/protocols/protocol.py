"""What is a protocol? A function of truth, predictions and settings, declared once: the Python function, the verb, its
options, the reference and the common tests follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from verite.errors import BadParameter
from verite.evaluation.settings import ClassSettings
from verite.formats import Readable, read, read_pair
from verite.formats.shards import is_many, read_detectors
from verite.protocols import REGISTRY, protocol_named
from verite.settings import Choice, Setting, Settings, call_signature
from verite.threads import use_threads

if TYPE_CHECKING:
    from inspect import Signature

    from verite.checks import Finding
    from verite.evaluation.evaluation import Evaluation
    from verite.model.annotations import Annotations
    from verite.model.results import Results


P = ParamSpec("P")

S = TypeVar("S", bound=Settings)

R = TypeVar("R", bound="Results")

SIDES = {"truth": "Readable", "pred": "Readable"}

FILES = "TRUTH and PRED are files, folders or quoted globs of shards in any known format"


class Protocol(Generic[P, R]):
    """A protocol, called like a function: ``voc(truth, pred, iou=0.5)``."""

    def __init__(
        self,
        evaluate: Callable[[Annotations, Annotations, Any], R],
        settings: type[Settings],
        *,
        examples: str,
        files: str = FILES,
        best: float = 1.0,
        reading: Mapping[str, Any] | None = None,
        kept: Callable[[Annotations, Annotations, Any], tuple[Evaluation, list[Finding]]] | None = None,
    ) -> None:
        """`best` is what perfect predictions get; `reading` says how files are read where nobody says otherwise.

        `kept` makes the evaluation of a part without its numbers.
        """
        self.evaluate, self.settings, self.examples = evaluate, settings, examples
        self.files, self.best, self.reading, self.kept = files, best, dict(reading or {}), kept
        self.__name__, self.__qualname__, self.__module__ = evaluate.__name__, evaluate.__name__, evaluate.__module__
        self.__doc__, self.__wrapped__ = evaluate.__doc__, evaluate

    def __call__(self, truth: Readable, pred: Readable = None, *args: P.args, **given: P.kwargs) -> R:
        """Both sides are annotations or whatever `verite.read` takes; settings are checked before anything is read.

        Several detectors are evaluated side by side: ``{name: pred}``, a list of annotations, or a list of files that
        have predictions for the same images. What is returned is then a comparison, with the results of each detector
        in ``.results``. Files of a list that share no image are the shards of one detector.

        With an ``executor`` or ``parts`` they are shards, evaluated one by one; see :func:`verite.evaluate_parts`.
        """
        settings = self.settings(*args, **given)
        if pred is None or any(getattr(settings, name, None) is not None for name in ("executor", "parts")):
            import verite

            more: dict[str, Any] = dict(given)
            return verite.evaluate_parts(truth, pred, self.verb, **more)  # type: ignore[return-value]
        with use_threads(getattr(settings, "threads", None)):
            known, found = self.read(truth, pred)
            if not isinstance(found, dict):
                is_given = given.get("ignored") is not None
                return self.evaluate_pair(known, found, settings if is_given else settings.for_truth(known))
            from verite.model.comparison import Comparison

            each = [{**given, "name": name} for name in found]
            results = [self(known, one, *args, **more) for one, more in zip(found.values(), each, strict=True)]  # type: ignore[arg-type]
            return Comparison(results)  # type: ignore[return-value]

    def evaluate_pair(self, truth: Annotations, pred: Annotations, settings: Any) -> R:
        """The results of one detector, and how many predictions a confidence threshold leaves."""
        results = self.evaluate(truth, pred, settings)
        if isinstance(settings, ClassSettings) and getattr(settings, "confidence", None) is not None:
            results.threshold_note = settings.describe_threshold(pred.like(truth))
        return results

    def read(self, truth: Readable, pred: Readable) -> tuple[Annotations, Annotations | dict[str, Annotations]]:
        """Both sides of an evaluation; predictions of several detectors by name."""
        from verite.model.annotations import Annotations

        if not isinstance(pred, (Mapping, list, tuple)):
            return read_pair(truth, pred, **self.reading)
        from verite.formats.memory import are_detectors

        known = truth if isinstance(truth, Annotations) else read(truth, **self.reading)

        def read_one(one: Readable) -> Annotations:
            return read_pair(known, one, **self.reading)[1]

        if isinstance(pred, Mapping) and are_detectors(pred):
            if not pred:
                raise BadParameter("predictions: expected at least one detector, found an empty dictionary")
            return known, {str(name): read_one(one) for name, one in pred.items()}
        are_annotations = bool(pred) and all(isinstance(one, Annotations) for one in pred)
        if isinstance(pred, Mapping) or not (are_annotations or is_many(pred)):
            return known, read_one(pred)
        found = read_detectors(pred, read_one)
        if isinstance(found, Annotations):
            return known, found
        from verite.model.comparison import distinct_names
        from verite.model.results import system_name

        return known, dict(zip(distinct_names([system_name(one) for one in found]), found, strict=True))

    @property
    def verb(self) -> str:
        return self.__name__.replace("_", "-")

    @property
    def results(self) -> Any:
        """The class of what comes out."""
        return getattr(sys.modules[self.__module__], self.evaluate.__annotations__["return"])

    @property
    def summary(self) -> str:
        """What it computes, in one sentence."""
        return (self.__doc__ or "").strip().splitlines()[0]

    @property
    def __signature__(self) -> Signature:
        return call_signature(self.settings, SIDES, self.evaluate.__annotations__["return"])

    def __reduce__(self) -> str:
        return self.__name__  # found again by its name, as functions are

    def __repr__(self) -> str:
        return f"<protocol {self.verb}>"


def protocol(
    settings: Callable[P, S], **about: Any
) -> Callable[[Callable[[Annotations, Annotations, S], R]], Protocol[P, R]]:
    """Declares a function of truth, predictions and these settings as a protocol."""

    def declare(evaluate: Callable[[Annotations, Annotations, S], R]) -> Protocol[P, R]:
        made: Protocol[P, R] = Protocol(evaluate, settings, **about)  # type: ignore[arg-type]
        return made

    return declare


def protocols_page() -> str:
    """The page of all protocols, as Markdown."""
    protocols = [protocol_named(verb) for verb in REGISTRY]
    lines = ["# Protocols", "", "Every protocol, generated from its declaration.", ""]
    lines += ["| verb | Python | what it computes |", "|---|---|---|"]
    lines += [f"| [verite {p.verb}](#verite-{p.verb}) | `vt.{p.__name__}` | {p.summary} |" for p in protocols]
    lines += ["", "A setting's name is the parameter in Python, the long option on the command line and, where it can"]
    lines += ["change a number, the key in signatures.", ""]
    return "\n".join(lines + [line for p in protocols for line in section(p)])


def section(protocol: Protocol[Any, Any]) -> list[str]:
    """The settings of one protocol as a table."""
    rows = [setting_row(s) for s in protocol.settings.declared.values() if s.has_option]
    head = ["| setting | option | values | default | in signatures | says |", "|---|---|---|---|---|---|"]
    return [f"## verite {protocol.verb}", "", *head, *rows, ""]


def setting_row(setting: Setting[Any, Any]) -> str:
    options = ", ".join(f"`{word}`" for word in [setting.option, *([setting.short] if setting.short else [])])
    values = ", ".join(f"`{word}`" for word in setting.choices) if isinstance(setting, Choice) else setting.kind
    values += ", repeated" if setting.is_repeated else ""
    cells = (f"`{setting.name}`", options, values, setting.default_words, "yes" if setting.is_signed else "no")
    return f"| {' | '.join(cells)} | {setting.help} |"
