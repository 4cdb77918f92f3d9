"""State of an evaluation that can be merged: matches of some images without boxes and masks, and their metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.errors import IS_COMMAND_LINE, DataError, NotComparable, VeriteError, spell_option

if TYPE_CHECKING:
    from verite.checks import Finding
    from verite.evaluation.ap_bounds import ClassOrders
    from verite.evaluation.evaluation import PrecisionRecall
    from verite.files import JsonObject


@contextmanager
def tell_as(kind: type[VeriteError]) -> Iterator[None]:
    """Raise errors of the core as errors of verite."""
    try:
        yield
    except VeriteError:
        raise
    except ValueError as error:
        message = str(error)
        if message.endswith("in two of them"):
            way = "--duplicates first" if IS_COMMAND_LINE.get() else 'duplicates="first"'
            message += f"; {way} takes the first"
        raise kind(message) from None


FIRST_EXTRA = 1 << 62  # ids of classes that the ground truth does not have


@dataclass(frozen=True)
class PartialMetadata:
    """Metadata of a partial result; joined, they are the same in any order and grouping."""

    classes: tuple[str, ...] = ()  # that only predictions have
    sigmas: tuple[tuple[str, tuple[float, ...]], ...] = ()  # of the keypoints of classes, as they were used
    findings: tuple[tuple[int, Finding], ...] = ()  # and how many images were looked at
    has_confidences: bool = False  # of the predictions, where a protocol does without them (f1)
    orders: tuple[tuple[int, ClassOrders], ...] = ()  # by class id: true and false positives over all orders (f1)
    subsets: tuple[str, ...] = ()  # names of subsets of the objects (wider)
    remarks: tuple[str, ...] = ()  # notes about the files

    @staticmethod
    def join(notes: Iterable[PartialMetadata]) -> PartialMetadata:
        """Return the joined metadata; of one finding in several partial results, that of the most objects is kept."""
        classes: set[str] = set()
        sigmas: dict[str, tuple[float, ...]] = {}
        findings: dict[tuple[str, str], tuple[int, Finding]] = {}
        has_confidences = False
        subsets: tuple[str, ...] = ()
        remarks: set[str] = set()
        notes = tuple(notes)
        for own in notes:
            has_confidences |= own.has_confidences
            classes |= set(own.classes)
            remarks |= set(own.remarks)
            if own.subsets and subsets and own.subsets != subsets:
                raise NotComparable(
                    f"parts: expected the same subsets, found {', '.join(subsets)} and {', '.join(own.subsets)}"
                )
            subsets = subsets or own.subsets
            for name, values in own.sigmas:
                if sigmas.setdefault(name, values) != values:
                    raise NotComparable(
                        f"parts: expected the same sigmas of class {name!r}, found {spell(sigmas[name])} and "
                        f"{spell(values)}; give {spell_option('sigmas', 'FILE')}"
                    )
            for said in own.findings:
                key = said[1].code, said[1].side
                findings[key] = min(findings.get(key, said), said, key=weigh)
        worst_first = sorted(findings.values(), key=lambda said: (rank_of(said[1]), said[1].code, said[1].side))
        orders: tuple[tuple[int, ClassOrders], ...] = ()
        if any(own.orders for own in notes):
            from verite.evaluation.ap_bounds import join_orders

            orders = tuple(join_orders(dict(own.orders) for own in notes).items())
        return PartialMetadata(
            tuple(sorted(classes)), tuple(sorted(sigmas.items())), tuple(worst_first), has_confidences, orders,
            subsets, tuple(sorted(remarks)),
        )  # fmt: skip

    def add(self, findings: Sequence[Finding], images: int) -> PartialMetadata:
        """Return the metadata with findings of checks on this number of images."""
        return PartialMetadata.join([self, PartialMetadata(findings=tuple((images, finding) for finding in findings))])

    def tell(self, images: int) -> tuple[Finding, ...]:
        """Return the findings; those about fewer images than all say so."""
        return tuple(
            finding if seen >= images else replace(finding, message=f"{finding.message} (in a part of {seen} images)")
            for seen, finding in self.findings
        )

    @property
    def class_ids(self) -> dict[int, str]:
        """Classes that the ground truth does not have, by their ids in every partial result."""
        return {class_id(name): name for name in self.classes}

    def to_text(self) -> str:
        """Return the metadata as JSON; "" if there are none."""
        import json

        said: JsonObject = {
            "classes": self.classes,
            "sigmas": dict(self.sigmas),
            "findings": [[seen, asdict(finding) | {"count": int(finding.count)}] for seen, finding in self.findings],
            "has_confidences": self.has_confidences,
            "orders": [[label, own.to_list()] for label, own in self.orders],
            "subsets": self.subsets,
            "remarks": self.remarks,
        }
        kept = {key: values for key, values in said.items() if values}
        return json.dumps(kept, ensure_ascii=True, sort_keys=True, separators=(",", ":")) if kept else ""

    @classmethod
    def from_text(cls, text: str) -> PartialMetadata:
        """Return metadata from the text of :meth:`to_text`; raise `DataError` for any other."""
        if not text:
            return cls()
        import json

        from verite.evaluation.ap_bounds import ClassOrders

        try:
            said = json.loads(text)
            made = cls(
                tuple(sorted({expect(name, str) for name in said.get("classes", ())})),
                tuple((name, tuple(map(float, own))) for name, own in sorted(said.get("sigmas", {}).items())),
                tuple((expect(seen, int), read_finding(own)) for seen, own in said.get("findings", ())),
                expect(said.get("has_confidences", False), bool),
                tuple((expect(label, int), ClassOrders.of_list(own)) for label, own in said.get("orders", ())),
                tuple(expect(name, str) for name in said.get("subsets", ())),
                tuple(sorted({expect(text, str) for text in said.get("remarks", ())})),
            )
            made = cls.join([made])
            if made.to_text() != text:
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise DataError("part: expected notes as verite writes them, found others") from None
        return made


def class_id(name: str) -> int:
    """Return the id of a class that has only a name."""
    return FIRST_EXTRA | _core.digest(name.encode("utf-8", "surrogatepass")) >> 2


def spell(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:3]) + (", …" if len(values) > 3 else "")


def weigh(said: tuple[int, Finding]) -> tuple[Any, ...]:
    """Return a sort key: the worst first, then the one with most objects, then a fixed order."""
    seen, finding = said
    return rank_of(finding), -finding.count, seen, finding.message, finding.examples, str(finding.fix)


def rank_of(finding: Finding) -> int:
    from verite.checks.check import SEVERITIES

    return SEVERITIES.index(finding.severity)


def read_finding(said: Mapping[str, Any]) -> Finding:
    """Return a finding from its dictionary in a partial result."""
    from verite.checks import Finding, Fix
    from verite.checks.check import SEVERITIES

    fix = said["fix"]
    if isinstance(fix, dict):
        options = tuple((expect(name, str), tuple(v) if isinstance(v, list) else v) for name, v in fix["options"])
        fix = Fix(choose(fix["side"], ("truth", "pred")), options)
    else:
        expect(fix, str)
    return Finding(
        code=expect(said["code"], str),
        severity=choose(said["severity"], SEVERITIES),
        message=expect(said["message"], str),
        count=expect(said["count"], int),
        examples=tuple(expect(text, str) for text in said["examples"]),
        fix=fix,
        side=choose(said["side"], ("truth", "pred")),
    )


def expect(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


def choose(value: Any, known: Sequence[str]) -> Any:
    if value not in known:
        raise ValueError
    return value


class EvaluationState:
    """Matches of some images without boxes and masks, to be merged with those of other images. Pickles."""

    def __init__(self, kept: _core.EvaluationState, notes: PartialMetadata | None = None) -> None:
        """`notes` replace those it has."""
        self.kept = kept if notes is None else kept.with_notes(notes.to_text())

    def __len__(self) -> int:
        """Return the number of images."""
        return self.kept.image_count

    @property
    def notes(self) -> PartialMetadata:
        """Metadata, which may differ between partial results."""
        with tell_as(DataError):
            return PartialMetadata.from_text(self.kept.notes)

    def add(self, findings: Sequence[Finding]) -> EvaluationState:
        """Return a copy with findings about its images."""
        return EvaluationState(self.kept, self.notes.add(findings, len(self))) if findings else self

    @staticmethod
    def merge(*parts: EvaluationState, takes_first: bool = False, threads: int = 1) -> EvaluationState:
        """Return the state of all these images, the same in any order and grouping.

        An image in several of them is refused, or with `takes_first` taken from the first.
        """
        notes = PartialMetadata.join(part.notes for part in parts)
        with tell_as(DataError):
            merged = _core.Merger([part.kept for part in parts], takes_first=takes_first).merge(threads)
            if notes.orders and merged.image_count < sum(map(len, parts)):  # counts of some images are in twice
                notes = replace(notes, orders=())
            return EvaluationState(merged, notes)

    def numbers(self, threads: int = 1) -> PrecisionRecall:
        """Return precision and recall: bit for bit those of one evaluation of all images."""
        from verite.evaluation.evaluation import PrecisionRecall

        with tell_as(DataError):
            return PrecisionRecall(_core.Merger([self.kept]).numbers(threads))

    def to_bytes(self) -> bytes:
        """Return the state as bytes: the same for the same images, however they were merged."""
        return self.kept.to_bytes()

    @classmethod
    def from_bytes(cls, data: Any) -> EvaluationState:
        with tell_as(DataError):
            return cls(_core.EvaluationState.from_bytes(data))
