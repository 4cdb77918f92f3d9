"""Input of the reports in the tests: the demo dataset, random detections, and names that try to inject markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import verite as vt

DEMO = Path(__file__).parents[3] / "src" / "verite" / "data" / "demo"
TRUTH = DEMO / "truth.json"
SYSTEMS = {name: DEMO / f"{name}.json" for name in ("hawk", "magpie", "mole")}
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "</script><script>alert(2)</script>",
    "</style><style>*{display:none}</style>",
    "</title><h1>x</h1>",
    "<!--",
    "]]>",
    "javascript:alert(1)",
    "evil\u202edrow",
    "line\u2028break",
    "nul\x00here",
    "lone\ud800surrogate",
    "long " * 2000,
    "missed",
    "__proto__",
    "constructor",
    "a,b",
    "' onmouseover='alert(1)",
    "{{7*7}}${7*7}",
    "",
    " missed ",
    "http://example.org/x.png",
    "a&amp;b",
    "\\u003cscript\\u003e",
)


# One of each kind: markup, what ends an element, a link, turned and broken lines, no letters, too many, words of ours.
SOME_HOSTILE = tuple(HOSTILE[k] for k in (0, 2, 7, 8, 10, 12, 13, 14, 19))


def hostile_pair(names: tuple[str, ...] = HOSTILE) -> tuple[vt.Annotations, vt.Annotations]:
    """An object of each hostile class in images of such names, half of them found, half called something else."""
    count = len(names)
    at = np.arange(count) * 12.0
    boxes = np.stack([at, at, at + 10, at + 10], axis=1)
    images = [f"{name}.png" for name in names]
    sizes = dict.fromkeys(images, (400, 300))
    truth = vt.Annotations.of(images, list(names), boxes, sizes=sizes)
    called = [name if k % 2 else names[(k + 1) % count] for k, name in enumerate(names)]
    pred = vt.Annotations.of(images, called, boxes, sizes=sizes, labels=names, confidence=np.linspace(0.2, 0.9, count))
    return truth, pred


def random_pair(classes: int, images: int = 20, seed: int = 0) -> tuple[vt.Annotations, vt.Annotations]:
    """Objects that are found more or less, of so many classes."""
    rng = np.random.default_rng(seed)
    count = 4 * max(classes, images)
    corners = rng.integers(0, 400, (count, 2)).astype(float)
    boxes = np.concatenate([corners, corners + rng.integers(20, 90, (count, 2))], axis=1)
    names = [f"class {k}" for k in rng.integers(0, classes, count)]
    where = [f"{k}.png" for k in rng.integers(0, images, count)]
    sizes = {f"{k}.png": (500, 500) for k in range(images)}
    labels = [f"class {k}" for k in range(classes)]
    truth = vt.Annotations.of(where, names, boxes, sizes=sizes, labels=labels)
    called = [name if rng.random() > 0.2 else labels[rng.integers(classes)] for name in names]
    moved = boxes + rng.normal(0, 6, boxes.shape)
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 2)
    pred = vt.Annotations.of(where, called, moved, sizes=sizes, labels=labels, confidence=rng.random(count).round(3))
    return truth, pred


def crowded_pair(classes: int = 3, images: int = 6, seed: int = 0) -> tuple[vt.Annotations, vt.Annotations]:
    """Objects that lie on each other, each claimed several times under several names."""
    rng = np.random.default_rng(seed)
    count = 5 * images
    corners = rng.integers(0, 40, (count, 2)).astype(float)
    boxes = np.concatenate([corners, corners + rng.integers(20, 50, (count, 2))], axis=1)
    where = [f"{k % images}.png" for k in range(count)]
    labels = [f"class {k}" for k in range(classes)]
    truth = vt.Annotations.of(where, [labels[k] for k in rng.integers(classes, size=count)], boxes, labels=labels)
    moved = np.tile(boxes, (4, 1)) + rng.normal(0, 2, (4 * count, 4))
    called = [labels[k] for k in rng.integers(classes, size=4 * count)]
    sure = rng.random(4 * count).round(2)
    return truth, vt.Annotations.of(where * 4, called, moved, labels=labels, confidence=sure)


class Text(HTMLParser):
    """What a reader without scripts sees, and which elements and attributes there are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.silent = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.silent += tag in ("script", "style")
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_endtag(self, tag):
        self.silent -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)
