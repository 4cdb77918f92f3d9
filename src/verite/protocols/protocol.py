"""Evaluation protocols: functions of ground truth, predictions and settings, each declared once.

``@protocol(Settings)`` turns such a function into a `Protocol`. The Python function with its signature and docstring,
the command, its options, the reference page and the tests that all protocols share are derived from the declaration.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from verite.errors import BadParameter
from verite.evaluation.settings import ClassSettings
from verite.files import is_many
from verite.formats import Readable, read_pair, read_truth
from verite.formats.shards import read_detectors
from verite.hooks import hook
from verite.protocols import REGISTRY, protocol_named
from verite.settings import Choice, Settings, call_signature
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


# The sections of a docstring that stand before and after those that are derived from the settings.
SECTIONS = re.compile(r"^(?:References|Examples)\n-+$", re.MULTILINE)

PARAMETERS = """
Parameters
----------
truth : Annotations or anything `verite.read` takes
    The ground truth: annotations, a path, a folder, a table, a COCO dictionary.
pred : Annotations or anything `verite.read` takes
    The predictions. ``{name: predictions}`` or a list of annotations or files with predictions for the same images
    evaluates several detectors side by side; files of a list that share no image are shards of one detector.
"""

RETURNS = """
Returns
-------
{results}
    The scores and everything behind them: ``results["AP"]``-like scores, tables per class, ``to_dict``, ``to_json``.
    For several detectors a comparison with the results of each in ``.results``.

Raises
------
BadParameter
    If a setting is unknown or out of its range.
ReadError
    If a file cannot be read.
DataError
    If ground truth and predictions do not fit together, or a check finds an error and ``checks="stop"``.
"""


def document(evaluate: Callable[..., Any], settings: type[Settings]) -> str:
    """Return a protocol's docstring: its own text, with Parameters, Returns and Raises derived from the declaration."""
    text = cleandoc(evaluate.__doc__ or "")
    found = SECTIONS.search(text)
    end = found.start() if found else len(text)
    parameters = "\n".join(describe_setting(settings, name) for name in settings.declared)
    returns = RETURNS.format(results=evaluate.__annotations__["return"])
    return f"{text[:end].rstrip()}\n{PARAMETERS}{parameters}\n{returns}\n{text[end:]}"


def describe_setting(settings: type[Settings], name: str) -> str:
    """Return one entry of the Parameters section: name, type, default and meaning."""
    setting = settings.declared[name]
    if isinstance(setting, Choice):
        kind = "{" + ", ".join(map(repr, setting.choices)) + "}"
    else:
        kind = str(setting.given_type)
    default = setting.default_text or repr(setting.default)
    # Options as arguments, and nothing about repeating them.
    default, meaning = (re.sub(r"--([\w-]+) (\w+)", r'\1="\2"', words) for words in (default, setting.help))
    return f"{name} : {kind}, default {default}\n    {meaning.replace('; may be repeated', '')}"


def signature_with_settings(
    function: Callable[..., Any], settings: type[Settings], omit: Sequence[str] = (), **defaults: object
) -> Signature:
    """Return the call signature of a method whose ``**settings`` are these settings.

    Parameters
    ----------
    function
        A method; its first parameter (``self``) is left out.
    settings
        The declared settings. Parameters of the method take precedence over settings of the same name.
    omit
        Settings that have no effect in this function.
    **defaults
        Defaults that differ from those of the settings.
    """
    from inspect import Parameter, Signature, signature

    _, *own = signature(function).parameters.values()
    named = [one for one in own if one.kind is not Parameter.VAR_KEYWORD]
    known = {one.name for one in named}.union(omit)
    more = call_signature(settings, {}, "").parameters.values()
    added = [one.replace(default=defaults.get(one.name, one.default)) for one in more if one.name not in known]
    return Signature([*named, *added])


class Protocol(Generic[P, R]):
    """An evaluation protocol, called like a function: ``voc(truth, pred, iou=0.5)``."""

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
        of_shard: Callable[[Annotations, Annotations, Any], R] | None = None,
        needs_tracks: bool = False,
    ) -> None:
        """Declare a protocol.

        Parameters
        ----------
        evaluate
            Function of ground truth, predictions and settings that returns the results.
        settings
            Class that declares the settings.
        examples
            Examples of the command, one per line.
        files
            Which files the command takes, for its help.
        best
            The score of perfect predictions.
        reading
            Options of `verite.read` for files of this protocol.
        kept
            Function that evaluates a shard and returns the evaluation without computing its scores.
        of_shard
            The function that evaluates a shard, where this differs from evaluating a dataset.
        needs_tracks
            Whether the objects of both sides must have track ids.
        """
        self.evaluate, self.settings, self.examples = evaluate, settings, examples
        self.files, self.best, self.reading, self.kept = files, best, dict(reading or {}), kept
        self.of_shard, self.needs_tracks = of_shard, needs_tracks
        self.__name__, self.__qualname__, self.__module__ = evaluate.__name__, evaluate.__name__, evaluate.__module__
        self.__doc__, self.__wrapped__ = document(evaluate, settings), evaluate
        self.verb = self.__name__.replace("_", "-")  # the name of the command
        self.summary = self.__doc__.strip().splitlines()[0]

    def __call__(self, truth: Readable, pred: Readable = None, *args: P.args, **given: P.kwargs) -> R:
        """Evaluate; the settings are validated before any file is read.

        With an ``executor`` or ``parts`` both sides are shards, evaluated one by one: :func:`verite.evaluate_parts`.
        """
        if args:
            raise BadParameter(
                f"{self.__name__}: expected ground truth and predictions, then settings by name, found "
                f"{2 + len(args)} positional arguments; several detectors are one argument: "
                f'{self.__name__}(truth, {{"a": a, "b": b}}) or {self.__name__}(truth, [a, b])'
            )
        settings = self.settings(**given)
        if pred is None or any(getattr(settings, name, None) is not None for name in ("executor", "parts")):
            of_shards: R = hook("evaluate_parts")(truth, pred, self.verb, **given)
            return of_shards
        with use_threads(getattr(settings, "threads", None)):
            known, found = self.read(truth, pred)
            if not isinstance(found, dict):
                return self.run(known, found, settings)
            from verite.model.comparison import Comparison

            return Comparison([self.run(known, one, settings.change(name=name)) for name, one in found.items()])  # type: ignore[return-value]

    def run(self, truth: Annotations, pred: Annotations, settings: Any) -> R:
        """Evaluate one detector with settings that are validated already.

        A setting that was not given may follow from the ground truth's format; a confidence threshold gets a note on
        how many predictions it leaves.
        """
        settings = settings if "ignored" in settings.given else settings.for_truth(truth)
        results = self.evaluate(truth, pred, settings)
        if isinstance(settings, ClassSettings) and getattr(settings, "confidence", None) is not None:
            results.threshold_note = settings.describe_threshold(pred.like(truth))
        return results

    def read(self, truth: Readable, pred: Readable) -> tuple[Annotations, Annotations | dict[str, Annotations]]:
        """Read both sides of an evaluation; predictions of several detectors come back by name."""
        from verite.model.annotations import Annotations

        if not isinstance(pred, (Mapping, list, tuple)):
            return read_pair(truth, pred, **self.reading)
        from verite.formats.memory import are_detectors

        known = truth if isinstance(truth, Annotations) else read_truth(truth, pred, **self.reading)

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
    def results(self) -> Any:
        """The class of the results."""
        return getattr(sys.modules[self.__module__], self.evaluate.__annotations__["return"])

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
    """Declare a function of ground truth, predictions and these settings as an evaluation protocol."""

    def declare(evaluate: Callable[[Annotations, Annotations, S], R]) -> Protocol[P, R]:
        made: Protocol[P, R] = Protocol(evaluate, settings, **about)  # type: ignore[arg-type]
        return made

    return declare


def protocols_page() -> str:
    """Return the reference page of all protocols, as Markdown."""
    protocols = [protocol_named(verb) for verb in REGISTRY]
    lines = ["# Protocols", "", "Every protocol, generated from its declaration.", ""]
    lines += ["| verb | Python | what it computes |", "|---|---|---|"]
    lines += [f"| [verite {p.verb}](#verite-{p.verb}) | `vt.{p.__name__}` | {p.summary} |" for p in protocols]
    lines += ["", "A setting's name is the parameter in Python, the long option on the command line and, where it can"]
    lines += ["change a number, the key in signatures.", ""]
    return "\n".join(lines + [line for p in protocols for line in section(p)])


def section(protocol: Protocol[Any, Any]) -> list[str]:
    """Return the settings of one protocol as a Markdown table."""
    head = ["| setting | option | values | default | in signatures | says |", "|---|---|---|---|---|---|"]
    rows = []
    for setting in protocol.settings.declared.values():
        if not setting.has_option:
            continue
        options = ", ".join(f"`{word}`" for word in [setting.option, *([setting.short] if setting.short else [])])
        values = ", ".join(f"`{word}`" for word in setting.choices) if isinstance(setting, Choice) else setting.kind
        values += ", repeated" if setting.is_repeated else ""
        cells = (f"`{setting.name}`", options, values, setting.default_words, "yes" if setting.is_signed else "no")
        rows.append(f"| {' | '.join(cells)} | {setting.help} |")
    return [f"## verite {protocol.verb}", "", *head, *rows, ""]
