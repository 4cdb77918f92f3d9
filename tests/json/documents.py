"""Random COCO files: every order of keys, every blank, every spelling of a value, and now and then something wrong."""

import json
import random


class Writer:
    def __init__(self, seed, fault_rate=0.0):
        self.random = random.Random(seed)
        self.fault_rate = fault_rate
        self.style = self.random.choice(["compact", "python", "wild"])
        self.has_text_ids = self.random.random() < 0.2

    def chance(self, p):
        return self.random.random() < p

    def is_faulty(self):
        return self.fault_rate > 0 and self.chance(self.fault_rate)

    def blank(self, usual=""):
        if self.style == "compact":
            return ""
        if self.style == "python":
            return usual
        return "".join(self.random.choices([" ", "\n", "\t", "\r", ""], k=self.random.randint(0, 3)))

    def string(self, text):
        out = []
        for c in text:
            if c in '"\\' or ord(c) < 32:
                out.append(json.dumps(c)[1:-1] if self.chance(0.7) else f"\\u{ord(c):04x}")
            elif self.style == "wild" and self.chance(0.1):
                out.append(
                    "".join(
                        "\\u" + c.encode("utf-16-be").hex()[i : i + 4]
                        for i in range(0, 2 * len(c.encode("utf-16-be")), 4)
                    )
                )
            elif c == "/" and self.chance(0.2):
                out.append("\\/")
            else:
                out.append(c)
        return '"' + "".join(out) + '"'

    def text(self):
        alphabet = [
            "a",
            "B",
            "7",
            " ",
            "_",
            "/",
            '"',
            "\\",
            "\n",
            "\x7f",
            "é",
            "漢",
            "😀",
            "\u2028",
            "\x00",
            "{",
            "}",
            ",",
            "[",
            "]",
            ":",
        ]
        return "".join(self.random.choices(alphabet, k=self.random.choice([0, 1, 3, 15, 16, 17, 40])))

    def integer(self, low=0, high=1_000_000):
        value = self.random.randint(low, self.random.choice([10, high]))
        if self.is_faulty():
            return self.random.choice(
                [
                    "01",
                    "1.5",
                    "-",
                    "+1",
                    "1e-1",
                    "9223372036854775808",
                    "true",
                    '"7"',
                    "[]",
                    ".5",
                    "1.",
                    "NaN",
                    "0x1",
                    "1e400",
                ]
            )
        if self.chance(0.9):
            return str(value)
        return self.random.choice(
            [
                f"{value}.0",
                f"{value}e0",
                f"{value}.000E+0",
                f"{value * 10}e-1",
                f"-{value}",
                "-0",
                "9223372036854775807",
                "-9223372036854775808",
                f"{value + 1}00000000000000000000e-20",
            ]
        )

    def double(self, allows_constants=True):
        if self.is_faulty():
            return self.random.choice(
                [
                    "nan",
                    "-NaN",
                    "inf",
                    "Infinit",
                    "1.",
                    ".1",
                    "00.1",
                    "1e",
                    "1e+",
                    "--1",
                    '"1"',
                    "null",
                    "{}",
                    "1.2.3",
                    "- 1",
                    "0x10",
                    "1_0",
                    "1,",
                ]
            )
        if allows_constants and self.chance(0.03):
            return self.random.choice(["NaN", "Infinity", "-Infinity"])
        value = self.random.uniform(-1000, 1000) if self.chance(0.2) else self.random.uniform(0, 700)
        return self.random.choice(
            [
                lambda: repr(value),
                lambda: f"{value:.2f}",
                lambda: f"{value:.3f}",
                lambda: f"{value:.1f}",
                lambda: str(int(value)),
                lambda: f"{value:.17g}",
                lambda: f"{value:.6e}",
                lambda: f"{value:.25f}",
                lambda: f"{value:.0e}".replace("e", "E"),
                lambda: "0." + "0" * self.random.randint(0, 20) + str(self.random.randint(0, 10**18)),
                lambda: str(self.random.randint(0, 10**25)),
                lambda: "-0.0",
                lambda: "0",
                lambda: "0.0",
                lambda: "1e400",
                lambda: "-1e-400",
                lambda: "5e-324",
            ]
        )()

    def identifier(self, allows_text=True):
        if allows_text and self.has_text_ids != self.is_faulty():
            return self.string(self.random.choice(["a", "img_", ""]) + str(self.random.randint(0, 99)))
        return self.integer()

    def flag(self):
        if self.is_faulty():
            return self.random.choice(["2", "-1", '"0"', "0.5", "True", "[]"])
        return self.random.choice(["0", "1", "true", "false", "0.0", "1e0"])

    def array(self, items):
        inner = ("," + self.blank(" ")).join(self.blank() + item + self.blank() for item in items)
        if self.is_faulty():
            inner = self.random.choice(
                [inner + ",", "," + inner, inner + " 1", inner.replace(",", "", 1), inner.replace(",", ":", 1)]
            )
        return "[" + (inner or self.blank()) + "]"

    def box(self):
        if self.is_faulty():
            return self.random.choice(["[1,2,3]", "[1,2,3,4,5]", "[1,2,3,null]", "5", '["1",2,3,4]', "[[1,2,3,4]]"])
        return "[]" if self.chance(0.03) else self.array([self.double() for _ in range(4)])

    def region(self):
        if self.is_faulty():
            return self.random.choice(["[1,2,3]", '"abc"', "5", "[[1,2,NaN]]", "[{}]", "true", "[[1,2],]", '{"size"}'])
        return self.random.choice(
            [
                lambda: "[]",
                lambda: self.array(
                    [
                        self.array([self.double(False) for _ in range(self.random.choice([0, 2, 6, 9, 30]))])
                        for _ in range(self.random.randint(1, 3))
                    ]
                ),
                lambda: self.object(
                    [
                        ("size", self.array(["4", "5"])),
                        ("counts", self.array([self.integer(0, 20) for _ in range(self.random.randint(0, 12))])),
                    ]
                ),
                lambda: self.object(
                    [("counts", self.string("Sf_15ec08L5K4N0O002MZOk\\Od0Xc0O2O3L;CR^b6")), ("size", "[640, 425]")]
                ),
            ]
        )()

    def anything(self, depth=0):
        if self.is_faulty():
            return self.random.choice(
                [
                    "nul",
                    "NaN",
                    "'a'",
                    '"\\x"',
                    '"\\ud800"',
                    '"\t"',
                    "[",
                    "}",
                    "01",
                    '"\\u12g4"',
                    "{1:2}",
                    '{"a" 1}',
                    "[1 2]",
                    "tru e",
                ]
            )
        kinds = 4 if depth > 3 else 6
        kind = self.random.randrange(kinds)
        if kind == 0:
            return self.random.choice(["null", "true", "false"])
        if kind == 1:
            return self.double(False)
        if kind in (2, 3):
            return self.string(self.text())
        if kind == 4:
            return self.array([self.anything(depth + 1) for _ in range(self.random.randint(0, 4))])
        return self.object([(self.text(), self.anything(depth + 1)) for _ in range(self.random.randint(0, 3))])

    def object(self, pairs):
        pairs = list(pairs)
        if self.style == "wild":
            self.random.shuffle(pairs)
        if pairs and self.is_faulty():
            pairs.append(self.random.choice(pairs))
        inner = ("," + self.blank(" ")).join(
            self.blank() + self.string(key) + self.blank() + ":" + self.blank(" ") + value + self.blank()
            for key, value in pairs
        )
        if self.is_faulty():
            inner = self.random.choice(
                [inner + ",", "," + inner, inner.replace(":", "", 1), inner.replace('"', "", 1), inner + "}"]
            )
        return "{" + (inner or self.blank()) + "}"

    def optional(self, pairs, p):
        return [(key, "null" if self.chance(0.05) else make()) for key, make in pairs if self.chance(p)]

    def record(self, needed, optional, p):
        pairs = [(key, make()) for key, make in needed if not self.is_faulty()] + self.optional(optional, p)
        if self.chance(0.2):
            pairs += [(f"extra_{i}", self.anything()) for i in range(self.random.randint(1, 3))]
        return self.object(pairs)

    def annotations(self, count):
        p = self.random.choice([0, 0.5, 0.9, 1])
        needed = [("image_id", self.identifier), ("category_id", self.integer)]
        optional = [
            ("bbox", self.box),
            ("score", self.double),
            ("area", self.double),
            ("iscrowd", self.flag),
            ("ignore", self.flag),
            ("id", self.identifier),
            ("segmentation", self.region),
        ]
        return [self.record(needed, optional, p) for _ in range(count)]

    def images(self, count):
        needed = [("id", self.identifier)]
        classes = lambda: self.array([self.integer() for _ in range(self.random.randint(0, 4))])  # noqa: E731
        optional = [
            ("file_name", lambda: self.string(self.text())),
            ("width", self.integer),
            ("height", self.integer),
            ("neg_category_ids", classes),
            ("not_exhaustive_category_ids", classes),
            ("coco_url", lambda: self.string(self.text())),
        ]
        return [self.record(needed, optional, 0.8) for _ in range(count)]

    def categories(self, count):
        needed = [("id", self.integer), ("name", lambda: self.string(self.text()))]
        optional = [
            ("supercategory", lambda: self.string(self.text())),
            ("frequency", lambda: self.random.choice(['"r"', '"c"', '"f"'])),
        ]
        return [self.record(needed, optional, 0.7) for _ in range(count)]

    def document(self):
        count = lambda: self.random.choice([0, 1, 2, 5, 12])  # noqa: E731
        if self.chance(0.5):
            text = self.blank() + self.array(self.annotations(count())) + self.blank()
        else:
            sections = [
                ("images", self.array(self.images(count()))),
                ("categories", self.array(self.categories(count()))),
                ("annotations", self.array(self.annotations(count()))),
            ]
            sections = [section for section in sections if self.chance(0.9)]
            sections += [(key, self.anything()) for key in ["info", "licenses", "☃"] if self.chance(0.4)]
            self.random.shuffle(sections)
            text = self.blank() + self.object(sections) + self.blank()
        if self.is_faulty():
            text += self.random.choice(["x", "]", "}", ",", "{}", "\x00"])
        return (b"\xef\xbb\xbf" if self.chance(0.05) else b"") + text.encode()


def random_document(seed, fault_rate=0.0) -> bytes:
    return Writer(seed, fault_rate).document()
