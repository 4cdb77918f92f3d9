"""Class names of one list mapped to another: `--map classes.csv` with the columns from and to.

Models that write free text have many names for one class. A row maps a name to a class of the ground truth, several
rows may map to the same one, and an empty `to` ignores the objects of that name on both sides. Names without a row are
compared with the ground truth's: exactly, then without regard to case, blanks, `_` and `-`. What is left is listed with
its number of objects. A row `*` maps every name that is neither mapped nor a class of the map, usually to nothing. A
column `id` has the class ids of predictions without names. Maps that come with verite are named: `--map lvis-coco`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, ReadError, excerpt, spell_option

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.classes import Labels

EVERY = "*"  # the row of all other names

# Classes of ignore regions, in which nothing was annotated: KITTI's `DontCare`, VisDrone's ignored regions, and crowds
# of a class that is called ignore (CityPersons and CrowdHuman as COCO JSON). A prediction of any class that matches no
# object and lies in one, by at least half of its own area, is ignored instead of counting as a false positive.
IGNORE_REGIONS = frozenset(
    ("dontcare", "don't care", "dont care", "ignore", "ignored", "ignore region", "ignored region", "ignore regions",
     "ignored regions", "void")
)  # fmt: skip
IGNORE_WORDS = ("care", "ignore", "void")  # each of these names has one of them
LISTED = 10  # names without a class that a note lists


def normalise(name: str) -> str:
    """Return a name without case, and with single blanks for blanks, `_` and `-`.

    >>> normalise(" Traffic_Light ")
    'traffic light'
    """
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


@dataclass(frozen=True)
class ClassMap:
    """Names and the classes they are mapped to; an empty class is ignored.

    >>> cats = ClassMap.of({"kitten": "cat", "shadow": ""})
    >>> cats.find("Kitten"), cats.find("shadow"), cats.find("dog")
    ('cat', '', None)
    """

    rows: tuple[tuple[str, str], ...]
    ids: tuple[tuple[int, str], ...] = ()  # class ids of predictions that have no names, and their classes

    @classmethod
    def of(cls, given: Any) -> ClassMap:
        """Return a map from a file with the columns from and to, or from a mapping.

        Raises
        ------
        ReadError
            If the file has other columns, or maps one name to two classes.
        BadParameter
            If it is neither a path nor a mapping of names.
        """
        if isinstance(given, ClassMap):
            return given
        if isinstance(given, Mapping):
            rows = [(name, "" if to is None else to) for name, to in given.items()]
            if not all(isinstance(name, str) and isinstance(to, str) for name, to in rows):
                raise BadParameter(f"map: expected names of classes, found {excerpt(given)}")
            return cls(tuple(rows))
        if not isinstance(given, (str, PathLike)):
            raise BadParameter(f"map: expected a file or a dictionary of names, found {excerpt(given)}")
        from importlib.resources import files

        from verite.csv_files import read_csv

        if isinstance(given, str) and given.replace("-", "").isalnum():  # perhaps the name of a map of the package
            bundled = files("verite") / "data" / "maps" / f"{given}.csv"
            given = str(bundled) if bundled.is_file() else given
        table = read_csv(given, "the columns from and to", ("from", "to"))
        found: dict[str, str] = {}
        ids: dict[int, str] = {}
        for where, row in table.records():
            name, to = row["from"].strip(), row["to"].strip()
            if not name:
                raise ReadError(where, expected="a name in the column from", found="an empty one")
            if found.setdefault(name, to) != to:
                raise ReadError(where, expected=f"one class for {excerpt(name)}", found=f"{found[name]!r} and {to!r}")
            if number := row.get("id", "").strip():
                if not number.isdecimal() or not to:
                    raise ReadError(where, expected="the id of a class as a whole number", found=excerpt(number))
                ids[int(number)] = to
        return cls(tuple(found.items()), tuple(ids.items()))

    @property
    def digest(self) -> str:
        """Eight digits that differ if the map does, whatever the order of its rows."""
        return f"{_core.digest(repr(sorted(self.rows)).encode('utf-8', 'surrogatepass')):016x}"[:8]

    def find(self, name: str) -> str | None:
        """Return the class of a name, "" if it is ignored, None if the map does not have it."""
        exact = dict(self.rows)
        if name in exact:
            return exact[name]
        found = {normalise(known): to for known, to in self.rows}.get(normalise(name))
        if found is None and EVERY in exact and normalise(name) not in {normalise(to) for to in exact.values()}:
            return exact[EVERY]
        return found


def map_classes(annotations: Annotations, chosen: ClassMap | None, truth: Annotations | None = None) -> Annotations:
    """Return annotations with mapped classes; without a map, names that differ in spelling alone are unified.

    Parameters
    ----------
    annotations
        One side of an evaluation, not yet aligned.
    chosen
        The map, if there is one.
    truth
        The ground truth, if these are predictions.
    """
    from verite.model.classes import Labels

    known = None if truth is None else truth.labels
    names = names_of(annotations.labels, truth)
    if truth is not None and chosen is not None and chosen.ids and annotations.labels.names is None:
        by_id = dict(chosen.ids)
        names = [by_id.get(id, name) for id, name in zip(annotations.labels.numbers or (), names, strict=True)]
    by_spelling = {} if known is None else {normalise(name): name for name in reversed(known.all_names)}
    exact = set() if known is None else set(known.all_names)
    fixed = {} if chosen is None else {name: chosen.find(name) for name in names}
    targets = [fixed.get(name) for name in names]
    for i, (name, target) in enumerate(zip(names, targets, strict=True)):
        if target is None:
            targets[i] = name if name in exact else by_spelling.get(normalise(name), name)
        elif target and target not in exact:
            targets[i] = by_spelling.get(normalise(target), target)
    counts = np.bincount(annotations.label, minlength=len(names))
    kept = list(dict.fromkeys(target for target in targets if target))
    ids = annotations.labels.numbers
    numbers = None if ids is None else [ids[targets.index(name)] for name in kept]
    if truth is not None and chosen is not None and chosen.ids:
        numbers = None  # ids of another list than the ground truth's
    position = {name: k for k, name in enumerate(kept)}
    moved = np.array([position.get(target or "", 0) for target in targets], dtype=np.int32)
    is_kept = np.array([bool(target) for target in targets], dtype=np.bool_)
    notes = list(annotations.source.notes)
    if chosen is not None:
        changed = sum(int(n) for n, a, b in zip(counts, names, targets, strict=True) if b and a != b)
        ignored = int(counts[~is_kept].sum())
        notes.append(f"classes mapped by {spell_option('map')}: {changed:,} objects renamed, {ignored:,} ignored")
    elif any(a != b for a, b in zip(names, targets, strict=True)):
        changed = sum(int(n) for n, a, b in zip(counts, names, targets, strict=True) if a != b)
        first = next((a, b) for a, b in zip(names, targets, strict=True) if a != b)
        notes.append(
            f"{changed:,} objects have classes of the ground truth in another spelling, {first[0]!r} for {first[1]!r}"
        )
    if known is not None:
        notes += list_unmapped({n: int(c) for n, c in zip(targets, counts, strict=True) if n and c and n not in exact})
    if not len(annotations.labels):
        return annotations
    rows = annotations if is_kept.all() else annotations.where(is_kept[annotations.label])
    source = replace(annotations.source, notes=tuple(notes), class_map=chosen.digest if chosen else "")
    source = replace(source, unmapped_labels=annotations.labels if chosen and truth is None else None)
    groups = annotations.labels.groups  # of LVIS: rare, common, frequent
    own = None if groups is None or not kept else tuple(groups[targets.index(name)] for name in kept)
    labels = Labels(kept or ["object"], numbers if kept else None, groups=own)
    verdicts = annotations.verdicts
    if verdicts is not None:
        verdicts = verdicts.move(range(len(annotations.images)), np.where(is_kept, moved, -1))
    return rows.changed(columns=rows.columns.move(labels=moved), labels=labels, source=source, verdicts=verdicts)


def names_of(labels: Labels, truth: Annotations | None) -> list[str]:
    """Return the names of classes; of numbered ones the names that the ground truth had before it was mapped.

    Parameters
    ----------
    labels
        Classes of the annotations to map.
    truth
        Ground truth, whose names stand for ids that the file does not name.

    Returns
    -------
    list[str]
        A name for every class, on the left of the map.
    """
    if labels.names is not None or truth is None:
        return list(labels.all_names)
    before = truth.source.unmapped_labels or truth.labels
    places = before.index_of_id
    return [before.name(places[id]) if id in places else str(id) for id in labels.numbers or ()]


def list_unmapped(counts: Mapping[str | None, int]) -> list[str]:
    """Return a note with the names that the ground truth does not have; none if it has all."""
    if not counts:
        return []
    names = "1 class name" if len(counts) == 1 else f"{len(counts):,} class names"
    fix = f"{spell_option('map', 'FILE')} gives them a class"
    return [f"{names} that the ground truth does not have: {list_counts(counts)}; {fix}"]


def list_counts(counts: Mapping[str | None, int]) -> str:
    """Return names with their numbers of objects, the most frequent first.

    >>> list_counts({"kitty": 2, "puppy": 5})
    "'puppy' (5), 'kitty' (2)"
    """
    order = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    listed = ", ".join(f"{excerpt(name)} ({count:,})" for name, count in order[:LISTED])
    return listed + (f" and {len(order) - LISTED:,} more" if len(order) > LISTED else "")


def mark_ignore_regions(annotations: Annotations) -> Annotations:
    """Flag crowds and ignored objects of a class that is called ignore, DontCare or the like as ignore regions.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["car", "ignore"], [[0, 0, 9, 9], [20, 0, 90, 50]], crowd=[False, True])
    >>> mark_ignore_regions(truth).flag("ignore_region").tolist()
    [False, True]
    """
    labels = annotations.labels
    if labels.names is None:
        return annotations
    together = "\n".join(labels.names).casefold()  # at once: few files have such a class
    if not any(word in together for word in IGNORE_WORDS) or IGNORE_REGIONS.isdisjoint(map(normalise, labels.names)):
        return annotations
    is_region = np.array([normalise(name) in IGNORE_REGIONS for name in labels.names], dtype=np.bool_)[
        annotations.label
    ]
    is_region &= annotations.flag("crowd") | annotations.flag("ignore")
    if not is_region.any():
        return annotations
    return replace(annotations, flags={**annotations.flags, "ignore_region": is_region})
