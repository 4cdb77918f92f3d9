"""Which changes change nothing that anybody could see? By file, beginning of the line and change, with the reason.

Where a line is not there any more the command says so. An empty change stands for all of the line.
"""

from __future__ import annotations

FIRST_PART = "of the parts only the first is used, however many there are"
TOGETHER = "names and matrix are there together or not at all; both are asked for the type checker"
SIDES = "an image has both sides or none"
WHOLE = "shown as a whole number"
WIDER = "more than is needed is added up, of which nothing is seen"
LONG = "no id has so many digits; what counts is that thousands of them are not read as a number"
THREADS = "how many threads read a file changes nothing that is read"
CANDIDATES = "this finds pairs that may overlap; more of them are measured to nothing"
STEPS = "from one class to another it is two steps at least, and from a class to itself none"
SIGN = "a side is 1 or -1"
BOTH_WAYS = "both ways give the same here, one of them sooner"
BRACKET = "the rate is the same to the last digits that are shown, found a little sooner or later"
ANY_TILT = "any tilt gives the right answer; a rough one is enough"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("interpretation/class_distances.py", "if self.names is None or self.matrix is None:", "Or → And"): TOGETHER,
    (
        "interpretation/class_distances.py",
        'delimiter = "\\t" if path.suffix.lower() == ".tsv" else ";" if ";" in text.split("\\n", 1)[0] else ","',
        "1 → 2",
    ): FIRST_PART,
    (
        "interpretation/class_distances.py",
        "np.array([self.index.get(name, -1) for name in labels.all_names], dtype=np.int64)[used]",
        "1 → 2",
    ): "classes that occur are all there, as was checked before",
    ("interpretation/taxonomy.py", 'bare = line.split("#", 1)[0].rstrip()', "1 → 2"): FIRST_PART,
    (
        "interpretation/descriptors.py",
        "return np.empty((0, 128), np.float32) if descriptors is None",
        "0 → 1",
    ): "a picture without two points is left out",
    (
        "interpretation/descriptors.py",
        "return np.empty((0, 128), np.float32) if descriptors is None",
        "128 → 129",
    ): "a picture without two points is left out",
    ("interpretation/score.py", 'pixel = 1.0 if settings.pixel == "plus1" else 0.0', "1.0 → 1.1"): CANDIDATES,
    ("interpretation/score.py", 'pixel = 1.0 if settings.pixel == "plus1" else 0.0', "0.0 → 1"): CANDIDATES,
    (
        "interpretation/score.py",
        "[np.minimum.reduceat(polygons.points, starts) - 1, np.maximum.reduceat(polygons.points, starts) + 1]",
        "1 → 2",
    ): CANDIDATES,
    (
        "interpretation/score.py",
        "unsized = np.flatnonzero(drawn & ((known.widths[images] <= 0) | (known.heights[images] <= 0)))",
        "LtE → Lt",
    ): SIDES,
    (
        "interpretation/score.py",
        "unsized = np.flatnonzero(drawn & ((known.widths[images] <= 0) | (known.heights[images] <= 0)))",
        "BitOr → BitAnd",
    ): SIDES,
    ("interpretation/score.py", "size = sizes[truth.image[truths]].reshape(-1, 2)", "1 → 2"): (
        "numpy takes any number below 0 for as many as there are"
    ),
    ("interpretation/score.py", "return _core.assign(rows, columns, np.maximum(first, 1)", "1 → 2"): (
        "no overlap is as small as a part of 2^40"
    ),
    (
        "interpretation/score.py",
        "return np.clip(1 - values if chosen.best == 1 else values, 0.0, 1.0)",
        "1.0 → 1.1",
    ): ("a metric from 0 to 1, as was asked before"),
    ("interpretation/descriptors.py", "out: NDArray[np.float64] = np.clip(1 - shares, 0.0, 1.0)", "1.0 → 1.1"): (
        "no share is below 0"
    ),
    (
        "interpretation/class_distances.py",
        "made = cls.of(names, steps / max(1.0, float(steps.max(initial=0)))",
        "1.0 → 1.1",
    ): STEPS,
    (
        "interpretation/class_distances.py",
        "made = cls.of(names, steps / max(1.0, float(steps.max(initial=0)))",
        "0 → 1",
    ): STEPS,
    ("interpretation/interpret.py", "if found is None and image.isdecimal() and len(image)", "19 → 20"): LONG,
    ("interpretation/interpret.py", "if found is None and image.isdecimal() and len(image)", "Lt → LtE"): LONG,
    ("interpretation/interpret.py", "shared = np.flatnonzero(overlap > 0)", "Gt → GtE"): "0 is written where 0 stands",
    ("interpretation/trace.py", "correspondence=place(shared.shape, at, np.ones(len(at[0])), 0.0)", "0 → 1"): (
        "matches have as many truths as preds"
    ),
    ("interpretation/trace.py", "objects = Objects(1, *(np.zeros(length", "1 → 2"): "another scene would be empty",
    ("interpretation/trace.py", '"correspondence": np.where(self.correspondence > 0, 1.0, nan)', "1.0 → 1.1"): WHOLE,
    ("interpretation/trace.py", '"compensation": np.where(self.compensation > 0, 1.0, nan)', "1.0 → 1.1"): WHOLE,
    ("formats/coco_errors.py", "look(_core.read_coco_bytes(self.document(**{section: block}), 1,", "1 → 2"): THREADS,
    ("formats/coco_errors.py", "file = _core.read_coco_bytes(self.document(), 1,", "1 → 2"): THREADS,
    ("formats/class_names.py", "twice = Counter(names).most_common(1)[0][0]", "1 → 2"): FIRST_PART,
    (
        "formats/json_documents.py",
        'if data.count(b"[") + data.count(b"{") <= most or depth_of(data) <= most:',
        "LtE → Lt",
    ): ("a way around counting exactly, as is done next"),
    ("formats/sizes.py", 'most = f"at most {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels"', "0 → 1"): (
        "Pillow complains only where it has such a number"
    ),
    ("formats/voc.py", "votes = np.zeros((VOID + 1, VOID + 1), dtype=np.int64)", "1 → 2"): (
        "a row and a column in which nothing is counted"
    ),
    ("formats/data_yaml.py", "numbers = [-1 if number is None else number for number, _ in items]", "1 → 2"): (
        "any number below 0 stands for none"
    ),
    ("checks/predictions.py", "if not LOWEST < low <= 1 or finite.max() > 1 or low == finite.max():", "LtE → Lt"): (
        "where the lowest is 1 all are, or some are above"
    ),
    ("checks/classes.py", "UNKNOWN = -(10**DIGITS)", "10 → 11"): "any number far below all ids stands for none",
    ("checks/images.py", "if unknown * -log(min(density, 1)) >= NATS:", "1 → 2"): (
        "ids are different numbers, so that no more of them are in a range than it has"
    ),
    ("checks/readings.py", "longest = np.broadcast_to(sizes.max(axis=1, keepdims=True, initial=0)", "0 → 1"): (
        "an image has a pixel at least"
    ),
    (
        "checks/boxes.py",
        "better = int((turned > plain)[differ].sum())",
        "Gt → GtE",
    ): "those that differ are not equal",
    ("ranking/exchangeable.py", "width = int(6 * (min(ahead, behind) + 100) ** 0.5) + 100", "6 → 7"): WIDER,
    ("ranking/exchangeable.py", "width = int(6 * (min(ahead, behind) + 100) ** 0.5) + 100", "100 → 101"): WIDER,
    ("ranking/exchangeable.py", "is_small = (self.duel.only(1) + 1) * (self.duel.only(-1) + 1) <= KEPT", ""): (
        "kept or made again, it is the same"
    ),
    ("ranking/sums.py", "low, high = bounds if side > 0 else (-bounds[1], -bounds[0])", "Gt → GtE"): SIGN,
    ("ranking/sums.py", "last = [count * log(law[-1 if side > 0 else 0])", "Gt → GtE"): SIGN,
    ("ranking/sums.py", "while (steps.tilt(outer).moments()[0] < target) == up:", "Lt → LtE"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= max(1e-3 * sqrt(variance), 1e-9):", "LtE → Lt"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= max(1e-3 * sqrt(variance), 1e-9):", "0.001 → 0.0011"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= max(1e-3 * sqrt(variance), 1e-9):", "1e-09 → 1.1e-09"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= 1e-3 * sqrt(variance):", "LtE → Lt"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= 1e-3 * sqrt(variance):", "0.001 → 0.0011"): ANY_TILT,
    ("ranking/sums.py", "for _ in range(200):", "200 → 201"): ANY_TILT,
    ("ranking/sums.py", "if abs(mean - target) <= max(1e-3 * sqrt(variance), 1e-9):", "max → min"): ANY_TILT,
    (
        "ranking/sums.py",
        "tilt = 0.0 if side * mean >= side * start else solve_tilt(steps, start)",
        "GtE → Gt",
    ): ANY_TILT,
    (
        "ranking/sums.py",
        "above = log1p(-rest) if rest <= 0.5 else log_tail(steps, -start, 1, bounds)",
        "LtE → Lt",
    ): BOTH_WAYS,
    ("ranking/outcomes.py", "if room <= 8:", ""): BOTH_WAYS,
    ("ranking/outcomes.py", "elif room <= 2**16 + len(code):", ""): BOTH_WAYS,
    ("ranking/sums.py", "if 2 * half < high - low:", "2 → 3"): WIDER,
    ("ranking/sums.py", "size = 1 << max((high - low) // stride, 1).bit_length()", "1 → 2"): WIDER,
    ("ranking/sums.py", "many = counts > 1", "Gt → GtE"): BOTH_WAYS,
    ("ranking/exchangeable.py", "table = np.zeros((2 * size + 1, size + 1))", "1 → 2"): WIDER,
    ("ranking/exchangeable.py", "width = int(6 * (min(ahead, behind) + 100) ** 0.5) + 100", "min → max"): WIDER,
    (
        "ranking/curves.py",
        "found = largest_epsilon(lambda epsilon: log(max(1 - whole_at(epsilon), 1e-300)), level)",
        "1e-300 → 1.1e-300",
    ): "any number so small that nobody asks for its logarithm",
    ("ranking/exact.py", "low, low_height, high = high, high_height, 2 * high", "2 → 3"): BRACKET,
    ("ranking/exact.py", "if abs(value) < 1e-13:", "Lt → LtE"): BRACKET,
    ("ranking/exact.py", "if abs(value) < 1e-13:", "1e-13 → 1.1e-13"): BRACKET,
    ("ranking/ratios.py", "lead = one * max(theirs, 1) - two * max(mine, 1)", "1 → 2"): (
        "who claims nothing finds nothing, and of the lead only its sign counts"
    ),
    ("ranking/outcomes.py", "code += column.astype(small, copy=False)", "False → True"): "a copy has the same numbers",
    ("ranking/exact.py", "shape = high - low + 1", "1 → 2"): "places that the walk does not reach",
    ("ranking/exact.py", "stuck = stuck + 1 if middle == secant", ""): "which of two ways to the same rate is taken",
    ("ranking/exact.py", "secant = low - low_height * (high - low) / (high_height - low_height)", ""): (
        "which way to the same rate is taken: halves where this leads nowhere"
    ),
    ("ranking/montecarlo.py", "RECORDS = 2_000_000", ""): "a draw depends on its number alone, not on its part",
    ("ranking/montecarlo.py", "parts = max(thread_count()", ""): "a draw depends on its number alone, not on its part",
    ("ranking/montecarlo.py", "if vector[j] > 0:", "Gt → GtE"): "those that are 0 are left out before",
    ("ranking/sums.py", "change = self.add_up(self.laws * np.expm1(np.clip(tilt * self.values", "700 → 701"): (
        "what is so far out is not used"
    ),
    ("ranking/result.py", "MOST_PAIRS = 15", "15 → 16"): "six algorithms have 15 pairs and seven 21: none has 16",
}
