"""How is a data set evaluated in parts? Some images here, others there, and what became of them put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.errors import BadParameter, DataError, NotComparable, ReadError, did_you_mean, one_line
from verite.evaluation.partial import MergedNumbers
from verite.evaluation.settings import ClassThresholds, count_merged
from verite.evaluation.state import Part
from verite.files import find_path, read_bytes, write_atomically
from verite.formats import Readable, read_pair
from verite.model.annotations import Source
from verite.model.classes import Labels
from verite.protocols import REGISTRY, protocol_named
from verite.settings import FileOrContent
from verite.threads import thread_count, use_threads

if TYPE_CHECKING:
    from verite.checks import Finding
    from verite.model.results import Results
    from verite.protocols.protocol import Protocol
    from verite.settings import Settings

IN_ONE_PIECE = ("imagenet-loc", "semantic")  # protocols that are not evaluated in parts
IN_ORDER = "parts know images, not the order of a file: give --ties image, also in one piece"
DIGEST = "digest "
Duplicates = Literal["error", "first"]


class PartialResult:
    """What became of some images by a protocol's rules: no boxes and no masks. Merged, it has the numbers of all.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> whole = partial(truth, pred)
    >>> whole, round(whole.compute().scores["AP"].value, 4)
    (Partial: coco of 2 images, 1 predictions, 0.505)
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        try:
            said = part.kept.about
            if said.startswith("("):
                raise ValueError("that of an evaluator")
            about = json.loads(said)
            self.protocol: str = about["protocol"]
            self.given: dict[str, Any] = about["settings"]
            self.labels = Labels(**about["labels"])
            chosen = protocol_of(self.protocol)
            if describe_rules(chosen, chosen.settings(**self.given), self.labels) != said:
                raise ValueError("other settings and classes than it writes")
            self.notes = part.notes
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            found = one_line(str(error))[:200] or type(error).__name__
            raise DataError(f"part: expected one of `verite partial` or vt.partial, found {found}") from None

    def __len__(self) -> int:
        """How many images it has."""
        return len(self.part)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is suspicious about these images."""
        return self.notes.tell(len(self))

    @property
    def predictions(self) -> int:
        """How many predictions count."""
        return self.part.kept.row_count

    def __repr__(self) -> str:
        return f"Partial: {self.protocol} of {len(self)} images, {self.predictions} predictions"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartialResult, (self.part,)

    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, PartialResult) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def merge(
        self, *others: PartialResult, duplicates: Duplicates = "error", threads: int | None = None
    ) -> PartialResult:
        """One of all images; neither the order nor the steps in between change a byte.

        An image that is in two of them is named and refused; ``duplicates="first"`` takes the first.
        """
        partials = check_alike((self, *others))
        merged = Part.merge(
            *(p.part for p in partials), takes_first=takes_first(duplicates), threads=thread_count(threads)
        )  # fmt: skip
        return PartialResult(merged)

    def compute(self, **more: Any) -> Results:
        """The protocol's results: to the last bit those of one evaluation of all images.

        What does not change a number may be said here: ``name``, ``per``, ``curves``, ``threads``.
        """
        return compute([self], **more)

    def to_bytes(self) -> bytes:
        """The same bytes for the same images, however they were put together; 4 to 7 for a prediction.

        Of what looked suspicious they have what was said of each part.
        """
        return self.part.to_bytes()

    @classmethod
    def from_bytes(cls, data: Any) -> PartialResult:
        """What :meth:`to_bytes` made; anything else is refused."""
        return cls(Part.from_bytes(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the bytes whole or not at all."""
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PartialResult:
        """What :meth:`save` wrote."""
        data = read_bytes(find_path(path))
        try:
            return cls.from_bytes(data)
        except DataError as error:
            expected, _, found = str(error).removeprefix("part: ").removeprefix("expected ").partition(", found ")
            raise ReadError(path, expected=expected, found=found or "something else") from None


def partial(truth: Readable, pred: Readable, protocol: str = "coco", **settings: Any) -> PartialResult:
    """Evaluate some images of a data set; parts of all images merge to the numbers of the whole, to the last bit.

    `protocol` is voc, coco, lvis, openimages, imagenet-det or panoptic, and settings are its own. Truth and predictions
    are whatever :func:`verite.read` takes; every image belongs to one part.

    >>> parts = [vt.partial(f"gt/{i}.json", f"pred/{i}.json") for i in range(8)]       # doctest: +SKIP
    >>> parts[0].merge(*parts[1:]).compute()                                           # doctest: +SKIP
    """
    chosen = protocol_of(protocol)
    asked = chosen.settings(**settings)
    with use_threads(getattr(asked, "threads", None)):
        sides = read_pair(truth, pred)
        asked = asked if settings.get("ignored") is not None else asked.for_truth(sides[0])
        if chosen.kept is None:
            return partial_of(chosen.evaluate(*sides, asked))
        evaluation, findings = chosen.kept(*sides, asked)
    return PartialResult(evaluation.part(describe_rules(chosen, asked, evaluation.truth.labels)).add(findings))


def partial_of(results: Results) -> PartialResult:
    """What results of some images become in a part."""
    chosen = protocol_of(results.protocol)
    asked: Any = getattr(results, "asked", None) or vars(results)["settings"]  # completed by what the truth says
    part: Part = results.part(lambda labels: describe_rules(chosen, asked, labels))
    if part.kept.moved:
        raise DataError(
            f"{results.pred.source.path or 'predictions'}: expected equal confidences in the order of images, found "
            f"{part.kept.moved} that are not; {IN_ORDER}"
        )
    return PartialResult(part.add(results.findings))


def compute(
    partials: Sequence[PartialResult], *, duplicates: Duplicates = "error", is_in_order: bool = False, **more: Any
) -> Results:
    """The results of all images without putting the parts together first: memory is that of the largest class.

    `is_in_order`: the order of images is known to be that of the file. Where it is not, and equal confidences of
    several images have different outcomes, the results are signed ``ties:image``: the order of images decides them.
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
    results.threshold_note = count_merged(sum(p.predictions for p in partials), getattr(settings, "confidence", None))
    return results


def check_order(partials: Sequence[PartialResult]) -> None:
    """In one piece shards are read one after the other: do equal confidences come in the same order from parts?"""
    if partials[0].given.get("ties") != "stable":
        return
    parts = [p.part.kept for p in partials if len(p)]
    if all(one.is_before(two) for one, two in pairwise(parts)):
        return
    if tied := _core.Merger(parts).count_ties(thread_count(None)):
        raise DataError(
            f"shards: expected images that rise from shard to shard, found {tied} equal confidences; {IN_ORDER}"
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
    """What must be the same of parts that are merged: all that can change a number, and the classes."""
    quirks = getattr(settings, "quirks", "none")
    if quirks != "none":
        raise BadParameter(f"parts: expected quirks none, found {quirks}, whose odd ways depend on all images")
    if getattr(settings, "ties", "") == "unstable":
        raise BadParameter("parts: expected ties stable or image, found unstable, which depends on all images")
    signed = [s for s in settings.declared.values() if s.is_in_signature(getattr(settings, s.name))]
    said = {s.name: plain_setting(s, getattr(settings, s.name)) for s in signed}
    about = {
        "protocol": protocol.verb,
        "revision": settings.REVISION,
        "settings": said,
        "labels": {"names": labels.names, "ids": labels.numbers, "groups": labels.groups},
    }
    return json.dumps(about, sort_keys=True, separators=(",", ":"))


def plain_setting(setting: Any, value: Any) -> Any:
    """A value of a setting as JSON has it; of a file a digest."""
    if isinstance(value, ClassThresholds):
        return value.to_dict()
    if not isinstance(setting, FileOrContent) or value is None:
        return value if not isinstance(value, float) or isfinite(value) else None
    if isinstance(value, str) and value.startswith(DIGEST):
        return value
    data = read_bytes(find_path(value)) if isinstance(value, (str, PathLike)) else repr(value).encode()
    return f"{DIGEST}{_core.digest(data):016x}"


def check_alike(partials: Sequence[PartialResult]) -> Sequence[PartialResult]:
    """Parts of the same protocol, settings and classes; whatever differs first is named."""
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
        raise NotComparable(
            f"parts: expected the same classes in all of them, found {len(first.labels)} and {len(other.labels)} "
            f"({first_difference(first.labels, other.labels)})"
        )
    return partials


def first_difference(one: Labels, two: Labels) -> str:
    tables = (
        (one.all_names, two.all_names),
        (one.numbers or (), two.numbers or ()),
        (one.groups or (), two.groups or ()),
    )
    for mine, theirs in tables:
        for a, b in zip(mine, theirs, strict=False):
            if a != b:
                return f"{a!r} and {b!r}"
    return "one has more"
