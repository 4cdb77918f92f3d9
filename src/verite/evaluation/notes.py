"""What does a part know that others do not? Classes that only predictions have, sigmas, what looked suspicious."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.errors import DataError, NotComparable
from verite.records import field_values, record, replace

if TYPE_CHECKING:
    from verite.checks import Finding

FIRST_EXTRA = 1 << 62  # ids of classes that the truth does not have


@record()
class Notes:
    """Notes of one part, or joined: in whatever order and by whatever steps the same."""

    classes: tuple[str, ...] = ()  # that only predictions have
    sigmas: tuple[tuple[str, tuple[float, ...]], ...] = ()  # of the keypoints of classes, as they were used
    findings: tuple[tuple[int, Finding], ...] = ()  # and how many images were looked at

    @staticmethod
    def join(notes: Iterable[Notes]) -> Notes:
        """Of one finding that several parts have, that of the most objects stays."""
        classes: set[str] = set()
        sigmas: dict[str, tuple[float, ...]] = {}
        findings: dict[tuple[str, str], tuple[int, Finding]] = {}
        for own in notes:
            classes |= set(own.classes)
            for name, values in own.sigmas:
                if sigmas.setdefault(name, values) != values:
                    raise NotComparable(
                        f"parts: expected the same sigmas of class {name!r}, found {spell(sigmas[name])} and "
                        f"{spell(values)}; give --sigmas"
                    )
            for said in own.findings:
                key = said[1].code, said[1].side
                findings[key] = min(findings.get(key, said), said, key=weigh)
        worst_first = sorted(findings.values(), key=lambda said: (rank_of(said[1]), said[1].code, said[1].side))
        return Notes(tuple(sorted(classes)), tuple(sorted(sigmas.items())), tuple(worst_first))

    def add(self, findings: Sequence[Finding], images: int) -> Notes:
        """With what looked suspicious about so many images."""
        return Notes.join([self, Notes(findings=tuple((images, finding) for finding in findings))])

    def tell(self, images: int) -> tuple[Finding, ...]:
        """The findings about so many images; what was said of fewer tells so."""
        return tuple(
            finding if seen >= images else replace(finding, message=f"{finding.message} (in a part of {seen} images)")
            for seen, finding in self.findings
        )

    @property
    def class_ids(self) -> dict[int, str]:
        """Classes that the truth does not have, by their ids in every part."""
        return {class_id(name): name for name in self.classes}

    def to_text(self) -> str:
        """Nothing where there is nothing to say."""
        import json

        said: dict[str, Any] = {
            "classes": self.classes,
            "sigmas": dict(self.sigmas),
            "findings": [[seen, write_finding(finding)] for seen, finding in self.findings],
        }
        kept = {key: values for key, values in said.items() if values}
        return json.dumps(kept, ensure_ascii=True, sort_keys=True, separators=(",", ":")) if kept else ""

    @classmethod
    def from_text(cls, text: str) -> Notes:
        """What :meth:`to_text` made; anything else is refused."""
        if not text:
            return cls()
        import json

        try:
            said = json.loads(text)
            made = cls(
                tuple(sorted({expect(name, str) for name in said.get("classes", ())})),
                tuple((name, tuple(map(float, own))) for name, own in sorted(said.get("sigmas", {}).items())),
                tuple((expect(seen, int), read_finding(own)) for seen, own in said.get("findings", ())),
            )
            made = cls.join([made])
            if made.to_text() != text:
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise DataError("part: expected notes as verite writes them, found others") from None
        return made


def class_id(name: str) -> int:
    """The id of a class that is known by its name alone."""
    return FIRST_EXTRA | _core.digest(name.encode("utf-8", "surrogatepass")) >> 2


def spell(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:3]) + (", …" if len(values) > 3 else "")


def weigh(said: tuple[int, Finding]) -> tuple[Any, ...]:
    """The worst first, then that of the most objects, then any order that is always the same."""
    seen, finding = said
    return rank_of(finding), -finding.count, seen, finding.message, finding.examples, str(finding.fix)


def rank_of(finding: Finding) -> int:
    from verite.checks.findings import SEVERITIES

    return SEVERITIES.index(finding.severity)


def write_finding(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    from verite.checks import Fix

    fix = field_values(finding.fix) if isinstance(finding.fix, Fix) else finding.fix
    return field_values(finding) | {"fix": fix, "count": int(finding.count)}


def read_finding(said: Mapping[str, Any]) -> Finding:
    """What :func:`write_finding` made."""
    from verite.checks import Finding, Fix
    from verite.checks.findings import SEVERITIES

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
