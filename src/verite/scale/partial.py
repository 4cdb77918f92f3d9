"""Partial results: the evaluation of some images of a dataset, to be merged with those of the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.errors import BadParameter, DataError, NotComparable, ReadError, did_you_mean, one_line, spell_option
from verite.evaluation.partial import MergedNumbers
from verite.evaluation.points import MaxDistance
from verite.evaluation.settings import ClassThresholds, ObjectNumbers, count_merged
from verite.evaluation.state import EvaluationState
from verite.files import find_path, read_bytes, write_atomically
from verite.formats import Readable, read_pair
from verite.model.annotations import Source
from verite.model.classes import Labels
from verite.protocols import REGISTRY, protocol_named
from verite.settings import FileOrContent
from verite.threads import thread_count, use_threads

if TYPE_CHECKING:
    from verite.checks import Finding
    from verite.files import JsonObject
    from verite.model.results import Results
    from verite.protocols.protocol import Protocol
    from verite.settings import Settings

IN_ONE_PIECE = ("imagenet-loc", "semantic", "track")  # protocols that are not evaluated in parts
IN_ORDER = "parts know images, not the order of a file"
DIGEST = "digest "
Duplicates = Literal["error", "first"]


class PartialResult:
    """The evaluation of some images by a protocol, without boxes and masks, to be merged with those of other images.

    `partial` makes them; merged, they give the scores of the whole dataset to the last bit. They can be pickled, saved
    and sent.

    Parameters
    ----------
    part : EvaluationState
        The kept matches and counts of an evaluation; made by :func:`verite.partial` or read from a file.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> whole = vt.partial(truth, pred)
    >>> whole, round(whole.compute()["AP"], 4)
    (Partial: coco of 2 images, 1 predictions, 0.505)
    """

    def __init__(self, part: EvaluationState) -> None:
        self.part = part
        try:
            said = part.kept.about
            if said.startswith("("):
                raise ValueError("that of an evaluator")
            about = json.loads(said)
            self.protocol: str = about["protocol"]
            self.given: JsonObject = about["settings"]
            self.labels = Labels(**about["labels"])
            chosen = protocol_of(self.protocol)
            if describe_rules(chosen, chosen.settings(**self.given), self.labels) != said:
                raise ValueError("other settings and classes than it writes")
            self.notes = part.notes
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            found = one_line(str(error))[:200] or type(error).__name__
            raise DataError(f"part: expected one of `verite partial` or vt.partial, found {found}") from None

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.part)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of the checks about these images."""
        return self.notes.tell(len(self))

    @property
    def predictions(self) -> int:
        """Number of predictions that are kept, or of the rows that a protocol keeps in their place."""
        return self.part.kept.row_count

    def __repr__(self) -> str:
        if not protocol_of(self.protocol).results.keeps_predictions:
            return f"Partial: {self.protocol} of {len(self)} images"
        return f"Partial: {self.protocol} of {len(self)} images, {self.predictions} predictions"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartialResult, (self.part,)

    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, PartialResult) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def merge(
        self, *others: PartialResult, duplicates: Duplicates = "error", threads: int | None = None
    ) -> PartialResult:
        """Return the partial result of all images; order and grouping of merges do not change a byte.

        Parameters
        ----------
        *others : PartialResult
            Partial results of other images with the same protocol, settings and classes.
        duplicates : {'error', 'first'}, default 'error'
            For an image in two of them: raise an error, or take the first.
        threads : int, optional
            Number of threads; one per core by default.

        Raises
        ------
        NotComparable
            If protocol, settings or classes differ.
        DataError
            If an image is in two of them.
        """
        partials = check_alike((self, *others))
        merged = EvaluationState.merge(
            *(p.part for p in partials), takes_first=takes_first(duplicates), threads=thread_count(threads)
        )  # fmt: skip
        return PartialResult(merged)

    def compute(self, **more: Any) -> Results:
        """Return the results of the protocol: bit for bit those of one evaluation of all images.

        Parameters
        ----------
        **more
            Settings that change no number: ``name``, ``per``, ``curves``, ``threads``.
        """
        return compute([self], **more)

    def to_bytes(self) -> bytes:
        """Return the partial result as bytes, 4 to 7 per prediction.

        The same images give the same bytes however they were merged, except for the findings of the checks.
        """
        return self.part.to_bytes()

    @classmethod
    def from_bytes(cls, data: Any) -> PartialResult:
        """Return a partial result from the bytes of :meth:`to_bytes`; raise `DataError` for any others."""
        return cls(EvaluationState.from_bytes(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the partial result to a file, atomically."""
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PartialResult:
        """Return a partial result from a file of :meth:`save`; raise `ReadError` for any other file."""
        data = read_bytes(find_path(path))
        try:
            return cls.from_bytes(data)
        except DataError as error:
            expected, _, found = str(error).removeprefix("part: ").removeprefix("expected ").partition(", found ")
            raise ReadError(path, expected=expected, found=found or "something else") from None


def partial(truth: Readable, pred: Readable, protocol: str = "coco", **settings: Any) -> PartialResult:
    """Evaluate some images of a dataset, to be merged with the partial results of the others.

    Merged, the partial results of all images give the scores of the whole dataset to the last bit. Every image belongs
    to one of them.

    Parameters
    ----------
    truth, pred : Annotations or anything `verite.read` takes
        Ground truth and predictions of these images.
    protocol : str, default 'coco'
        The protocol: any but imagenet-loc, semantic and track.
    **settings
        Settings of the protocol.

    Returns
    -------
    PartialResult
        Merge it with others and call ``compute``.

    Raises
    ------
    BadParameter
        If the protocol or a setting is unknown, or cannot be evaluated in parts.
    ReadError
        If a file cannot be read.
    DataError
        If ground truth and predictions do not fit together.

    Examples
    --------
    >>> import verite as vt
    >>> truth = [vt.Annotations.of([image], ["cat"], [[0, 0, 9, 9]]) for image in "ab"]
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> none = vt.Annotations.of([], [], [], confidence=[], images=["b"], labels=["cat"])
    >>> parts = [vt.partial(truth[0], pred, "voc"), vt.partial(truth[1], none, "voc")]
    >>> parts[0].merge(parts[1]).compute()["mAP"].value
    0.5
    """
    chosen = protocol_of(protocol)
    asked = chosen.settings(**settings)
    if settings.get("importance") is not None:
        raise BadParameter(
            "importance: expected none for partial results, whose objects are not kept; evaluate in one piece"
        )
    with use_threads(getattr(asked, "threads", None)):
        sides = read_pair(truth, pred)
        asked = asked if settings.get("ignored") is not None else asked.for_truth(sides[0])
        if chosen.kept is None:
            results = (chosen.of_shard or chosen.evaluate)(*sides, asked)
            own, given = protocol_of(results.protocol), results.given_settings  # completed by the ground truth
            part: EvaluationState = results.part(lambda labels: describe_rules(own, given, labels))
            if part.kept.moved:
                raise DataError(
                    f"{results.pred.source.path or 'predictions'}: expected equal confidences in the order of images, "
                    f"found {part.kept.moved} that are not; {IN_ORDER}: give {spell_option('ties', 'image')}, also in "
                    "one piece"
                )
            return PartialResult(part.add(results.findings))
        evaluation, findings = chosen.kept(*sides, asked)
    return PartialResult(evaluation.part(describe_rules(chosen, asked, evaluation.truth.labels)).add(findings))


def compute(
    partials: Sequence[PartialResult], *, duplicates: Duplicates = "error", is_in_order: bool = False, **more: Any
) -> Results:
    """Return the results of all images without merging first: memory is that of the largest class.

    `is_in_order` states that the images are in the order of the file. If they are not, and equal confidences in several
    images have different outcomes, the signature says ``ties:image``: the order of images decides.
    """
    first = check_alike(partials)[0]
    chosen = protocol_of(first.protocol)
    settings = chosen.settings(**first.given, **more)
    threads = thread_count(getattr(settings, "threads", None))
    numbers = MergedNumbers(
        [p.part for p in partials],
        first.labels,
        class_agnostic=bool(getattr(settings, "class_agnostic", False)),
        takes_first=takes_first(duplicates),
        threads=threads,
        source=Source(path=more.get("name") or "", format="part"),
    )
    if not is_in_order and first.given.get("ties") == "stable" and numbers.merger.count_ties(threads):
        settings = settings.change(ties="image")
    results: Results = chosen.results.of_parts(numbers, settings)
    results.findings = numbers.notes.tell(numbers.merger.image_count)
    if results.keeps_predictions:
        left = sum(p.predictions for p in partials)
        results.threshold_note = count_merged(left, getattr(settings, "confidence", None))
    return results


def check_order(partials: Sequence[PartialResult]) -> None:
    """Raise `DataError` if equal confidences would come in another order than when all shards are read as one."""
    if partials[0].given.get("ties") != "stable":
        return
    parts = [p.part.kept for p in partials if len(p)]
    if all(one.is_before(two) for one, two in pairwise(parts)):
        return
    if tied := _core.Merger(parts).count_ties(thread_count(None)):
        raise DataError(
            f"shards: expected images that rise from shard to shard, found {tied} equal confidences; {IN_ORDER}: "
            f"give {spell_option('ties', 'image')}, also in one piece"
        )


def protocol_of(name: str) -> Protocol[Any, Any]:
    known = [verb for verb in REGISTRY if verb not in IN_ONE_PIECE]
    verb = str(name).replace("_", "-")
    if verb not in known:
        words = f"{', '.join(known[:-1])} or {known[-1]}"
        raise BadParameter(f"protocol: expected {words}, found {name!r}{did_you_mean(verb, known)}")
    return protocol_named(verb)


def takes_first(duplicates: str) -> bool:
    if duplicates not in ("error", "first"):
        raise BadParameter(f"duplicates: expected error or first, found {duplicates!r}")
    return duplicates == "first"


def describe_rules(protocol: Protocol[Any, Any], settings: Settings, labels: Labels) -> str:
    """Return the protocol, settings and classes that must agree between merged partial results, as JSON."""
    quirks = getattr(settings, "quirks", "none")
    if quirks != "none":
        raise BadParameter(f"parts: expected quirks none, found {quirks}, which depend on all images")
    if getattr(settings, "ties", "") == "unstable":
        raise BadParameter("parts: expected ties stable or image, found unstable, which depends on all images")
    signed = settings.signed_values
    said = {name: plain_setting(s, getattr(settings, name)) for name, s in settings.declared.items() if name in signed}
    about = {
        "protocol": protocol.verb,
        "revision": settings.REVISION,
        "settings": said,
        "labels": {"names": labels.names, "ids": labels.numbers, "groups": labels.groups},
    }
    return json.dumps(about, sort_keys=True, separators=(",", ":"))


def plain_setting(setting: Any, value: Any) -> Any:
    """Return a setting's value for JSON; a digest in place of a file."""
    if isinstance(value, ClassThresholds):
        return value.to_dict()
    if isinstance(value, MaxDistance):
        return asdict(value)
    if isinstance(setting, ObjectNumbers):  # of the objects of one shard
        return None if value is None else []
    if not isinstance(setting, FileOrContent) or value is None:
        return value if not isinstance(value, float) or isfinite(value) else None
    if isinstance(value, str) and value.startswith(DIGEST):
        return value
    if isinstance(value, (str, PathLike)):
        path = find_path(value)
        data = b"".join(map(read_bytes, sorted(path.glob("*.mat")))) if path.is_dir() else read_bytes(path)
    else:
        data = repr(value).encode()
    return f"{DIGEST}{_core.digest(data):016x}"


def check_alike(partials: Sequence[PartialResult]) -> Sequence[PartialResult]:
    """Raise `NotComparable` unless all partial results have the same protocol, settings and classes."""
    if not partials:
        raise BadParameter("merge: expected at least one part, found none")
    first = partials[0]
    for other in partials[1:]:
        if not isinstance(other, PartialResult):
            raise BadParameter(f"merge: expected parts, found {type(other).__name__}")
        if other.part.kept.about == first.part.kept.about:
            continue
        if other.protocol != first.protocol:
            raise NotComparable(f"parts: expected one protocol, found {first.protocol} and {other.protocol}")
        for key, value in first.given.items():
            if other.given.get(key) != value:
                raise NotComparable(f"parts: expected the same {key}, found {value} and {other.given.get(key)}")
        one, two = first.labels, other.labels
        tables = ((one.all_names, two.all_names), (one.numbers, two.numbers), (one.groups, two.groups))
        pairs = (pair for mine, theirs in tables for pair in zip(mine or (), theirs or (), strict=False))
        difference = next((f"{a!r} and {b!r}" for a, b in pairs if a != b), "one has more")
        raise NotComparable(
            f"parts: expected the same classes in all of them, found {len(one)} and {len(two)} ({difference})"
        )
    return partials
