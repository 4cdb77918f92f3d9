"""What is a protocol? A function of truth, predictions and settings, declared once: the Python function, the verb, its
options, the reference and the common tests follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from verite.formats import Readable, read_pair
from verite.settings import Settings, call_signature
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

        With an ``executor`` or ``parts`` they are shards, evaluated one by one; see :func:`verite.evaluate_parts`.
        """
        settings = self.settings(*args, **given)
        if pred is None or any(getattr(settings, name, None) is not None for name in ("executor", "parts")):
            import verite

            more: dict[str, Any] = dict(given)
            return verite.evaluate_parts(truth, pred, self.verb, **more)  # type: ignore[return-value]
        with use_threads(getattr(settings, "threads", None)):
            return self.evaluate(*read_pair(truth, pred, **self.reading), settings)

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
