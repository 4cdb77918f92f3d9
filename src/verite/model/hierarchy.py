"""Which classes are kinds of which others? A tree of names, in which a class may stand in several places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from verite.errors import DataError, did_you_mean


@dataclass(frozen=True)
class Hierarchy:
    """For each class the classes above it and those below it; the root, which is everything, is no class.

    >>> tree = Hierarchy.of([("animal", "cat"), ("animal", "dog"), ("dog", "pug")])
    >>> sorted(tree.above["pug"]), sorted(tree.below["animal"])
    (['animal', 'dog'], ['cat', 'dog', 'pug'])
    """

    above: dict[str, frozenset[str]]
    below: dict[str, frozenset[str]]

    @classmethod
    def of(cls, pairs: list[tuple[str, str]]) -> Hierarchy:
        """From (class, a class directly below it)."""
        children: dict[str, list[str]] = {}
        for parent, child in pairs:
            children.setdefault(parent, []).append(child)
        roots = [name for name in children if name not in {child for _, child in pairs}]
        if pairs and not roots:
            raise DataError(f"hierarchy: expected a tree, found a circle through {pairs[0][0]!r}")

        def paths(name: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
            if name in path:
                raise DataError(f"hierarchy: expected a tree, found {name!r} below itself")
            yield (*path, name)
            for child in children.get(name, ()):
                yield from paths(child, (*path, name))

        return cls.of_paths(path for root in roots for path in paths(root, ()))

    @classmethod
    def of_paths(cls, paths: Iterator[tuple[str, ...]]) -> Hierarchy:
        """From every node's path, itself last. A class that stands in several places has all their ancestors."""
        above: dict[str, set[str]] = {}
        below: dict[str, set[str]] = {}
        for *ancestors, name in paths:
            above.setdefault(name, set()).update(ancestors)
            below.setdefault(name, set())
            for ancestor in ancestors:
                below.setdefault(ancestor, set()).add(name)
        for name, others in above.items():
            both = others & below[name]
            if both:
                other = min(both)
                raise DataError(f"hierarchy: expected a tree, found {name!r} both above and below {other!r}")
        return cls({k: frozenset(v) for k, v in above.items()}, {k: frozenset(v) for k, v in below.items()})

    def need(self, name: str, where: str) -> None:
        """The class must be in the hierarchy."""
        if name not in self.above:
            near = did_you_mean(name, self.above)
            raise DataError(f"{where}: expected classes of the hierarchy, found {name!r}, which is not in it{near}")

    def __len__(self) -> int:
        return len(self.above)
