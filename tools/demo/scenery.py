"""What else is in the picture? Backdrops, and the odds and ends that a hasty detector takes for something else."""

from __future__ import annotations

from dataclasses import dataclass

from demo.canvas import Canvas, Dice, Pen, mix
from demo.things import CREAM, INK, LEAVES, WOOD


@dataclass(frozen=True)
class Mood:
    """Weather, hour and season: the colours of a backdrop."""

    sky: tuple[str, ...]  # bands from the top to the horizon
    sea: str
    hills: tuple[str, str]
    ground: str
    sand: str
    stone: str
    cloud: str
    sun: str
    season: str = "green"
    veil: tuple[str, float] | None = None  # a colour laid over everything


MOODS = {
    "noon": Mood(
        ("#86c5e3", "#9bd0e8", "#b3dcec", "#cbe7f0", "#e0f1f4"), "#3f93b3", ("#a4cdc0", "#86b899"),
        "#93c36c", "#f2deb0", "#a7a39c", "#ffffff", "#fbe08a",
    ),
    "morning": Mood(
        ("#f3c9b5", "#f7d6c0", "#fae2cd", "#fcecdb", "#fdf5e8"), "#7db3bf", ("#d6c3c2", "#b9b59f"),
        "#b3cb82", "#f6e3bf", "#b5a99f", "#fffaf2", "#fff0b3",
    ),
    "evening": Mood(
        ("#56598a", "#7d6a9a", "#b97d9c", "#e29a8d", "#f6bd8f"), "#4b6a93", ("#7a6f94", "#5f6685"),
        "#7f9465", "#d9b690", "#857f8c", "#d9a3a5", "#fbd08a", veil=("#5a2f6b", 0.1),
    ),
    "winter": Mood(
        ("#bccdd8", "#c9d7df", "#d5e0e6", "#e1e9ec", "#edf1f2"), "#6c92a3", ("#d3dde2", "#e3eaec"),
        "#f0f4f5", "#e9e4d8", "#9ba3aa", "#f8fafb", "#fdf6dc", season="winter",
    ),
    "autumn": Mood(
        ("#a9c6cf", "#bdd2d3", "#d2ddd3", "#e5e6d6", "#f3ecda"), "#5c93a0", ("#cbb98f", "#b59a6a"),
        "#c7b56b", "#ecd6a8", "#a1958a", "#fbf6ea", "#fbe3a0", season="autumn",
    ),
    "fog": Mood(
        ("#cdd6d8", "#d3dadc", "#d9dfe0", "#dfe4e4", "#e5e9e8"), "#9fb4ba", ("#cfd8d8", "#c2cccb"),
        "#b4c3a5", "#e6dec9", "#b3b3b0", "#eceff0", "#f4f1e0", veil=("#e3e8e8", 0.3),
    ),
}  # fmt: skip


def whole(canvas: Canvas) -> Pen:
    """A pen in units of the picture's height, u from the left edge, v up from the bottom."""
    return Pen(canvas, 0, canvas.height, canvas.height)


def sky(canvas: Canvas, mood: Mood, horizon: float) -> None:
    pen, bands = whole(canvas), len(mood.sky)
    for k, colour in enumerate(mood.sky):
        pen.box(
            -1,
            horizon + (1 - horizon) * (1 - (k + 1) / bands) - 0.02,
            3,
            2 if k == 0 else 1 - k * (1 - horizon) / bands,
            colour,
        )


def hills(canvas: Canvas, mood: Mood, dice: Dice, horizon: float) -> None:
    pen = whole(canvas)
    for colour, height in zip(mood.hills, (0.16, 0.09), strict=True):
        ridge = [(u / 4 - 0.5, horizon + height * dice.between(0.2, 1.0)) for u in range(12)]
        pen.soft(
            [(-0.6, horizon - 0.1), (-0.6, horizon - 0.1), *ridge, (2.4, horizon - 0.1), (2.4, horizon - 0.1)], colour
        )


def water(canvas: Canvas, mood: Mood, dice: Dice, top: float, bottom: float) -> None:
    """Water from `top` down to `bottom`, with a brighter far edge and dashes of light that grow towards us."""
    pen = whole(canvas)
    pen.box(-1, bottom, 3, top, mood.sea)
    pen.box(-1, top - (top - bottom) * 0.12, 3, top, mix(mood.sea, mood.sky[-1], 0.3))
    for k in range(int(90 * (top - bottom))):
        near = dice.random()
        u, v, long = dice.between(-0.2, 1.6), top - 0.02 - (top - bottom - 0.02) * near, 0.02 + 0.06 * near
        colour = mix(mood.sea, mood.sky[-1] if k % 3 else INK, 0.35 if k % 3 else 0.15)
        pen.soft(
            [(u, v), (u + long, v + 0.003 + 0.003 * near), (u + 2 * long, v), (u + long, v - 0.002 - 0.002 * near)],
            colour,
        )


def harbour(canvas: Canvas, mood: Mood, dice: Dice) -> None:
    sky(canvas, mood, 0.5)
    hills(canvas, mood, dice, 0.5)
    water(canvas, mood, dice, 0.52, 0.18)
    pen = whole(canvas)
    shore = dice.pick(((-1, 0.2, 0.55), (0.8, 1.0, 3)))
    land = [(shore[0], 0.49), (shore[0], 0.535), (shore[1], 0.54), (shore[2], 0.505), (shore[2], 0.49)]
    pen.soft(land, mix(mood.ground, mood.hills[1], 0.3))
    pen.box(-1, 0.11, 3, 0.19, mix(mood.stone, INK, 0.25))
    for k in range(40):
        pen.box(
            k * 0.1 - 1 + 0.05 * (k % 2),
            0.12 + 0.03 * (k % 2),
            k * 0.1 - 0.97 + 0.04 * (k % 2),
            0.135 + 0.03 * (k % 2),
            mood.stone,
        )
    pen.box(-1, -1, 3, 0.16, mix(mood.stone, CREAM, 0.25))
    pen.box(-1, 0.155, 3, 0.17, mix(mood.stone, CREAM, 0.6))
    for k in range(14):
        pen.bar(k * 0.2 - 0.6, 0.155, k * 0.24 - 0.9, -0.05, 0.004, mood.stone)


def park(canvas: Canvas, mood: Mood, dice: Dice) -> None:
    sky(canvas, mood, 0.52)
    hills(canvas, mood, dice, 0.54)
    pen = whole(canvas)
    pen.box(-1, -1, 3, 0.56, mix(mood.ground, mood.hills[1], 0.35))
    for k, height in enumerate((0.5, 0.36, 0.18)):
        rise = dice.between(-0.04, 0.04)
        slope = [(-1, height), (0.3, height + rise), (0.9, height - rise), (2.5, height + rise), (2.5, -1), (-1, -1)]
        pen.soft(slope, mix(mood.ground, CREAM if k == 1 else INK, 0.08 if k == 1 else 0.05 * k))
    bend = dice.between(0.3, 0.9)
    path = [
        (bend + 0.1, 0.5),
        (bend + 0.14, 0.5),
        (bend + 0.4, 0.3),
        (bend - 0.1, 0.16),
        (bend + 0.3, -0.2),
        (bend - 0.3, -0.2),
    ]
    pen.soft([*path, (bend - 0.45, 0.15), (bend + 0.2, 0.32)], mix(mood.sand, mood.ground, 0.15))
    for _ in range(26):
        u, v = dice.between(0, 1.4), dice.between(0.02, 0.4)
        tuft = mix(mood.ground, INK, 0.16)
        for side in (-1, 0, 1):
            pen.poly([(u + side * 0.006, v), (u + side * 0.006 + 0.006, v), (u + side * 0.012, v + 0.016)], tuft)


def pond_park(canvas: Canvas, mood: Mood, dice: Dice) -> None:
    park(canvas, mood, dice)
    pen, middle = whole(canvas), canvas.width / canvas.height / 2
    pen.soft(
        [(middle - 0.8, 0.33), (middle, 0.43), (middle + 0.8, 0.34), (middle + 0.5, 0.2), (middle - 0.6, 0.19)],
        mix(mood.sand, mood.ground, 0.4),
    )
    pen.soft(
        [(middle - 0.76, 0.33), (middle, 0.42), (middle + 0.76, 0.34), (middle + 0.48, 0.215), (middle - 0.56, 0.205)],
        mood.sea,
    )
    for _ in range(12):
        u, v = middle + dice.between(-0.36, 0.3), dice.between(0.25, 0.37)
        pen.soft(
            [(u, v), (u + 0.04, v + 0.004), (u + 0.08, v), (u + 0.04, v - 0.003)], mix(mood.sea, mood.sky[-1], 0.4)
        )


def town(canvas: Canvas, mood: Mood, dice: Dice) -> None:
    sky(canvas, mood, 0.36)
    hills(canvas, mood, dice, 0.4)
    pen = whole(canvas)
    pen.box(-1, -1, 3, 0.4, mix(mood.ground, mood.hills[1], 0.3))
    pen.box(-1, -1, 3, 0.36, mix(mood.stone, CREAM, 0.55))
    for k in range(30):
        pen.bar(k * 0.11 - 0.8, 0.36, k * 0.12 - 0.95, 0.25, 0.003, mix(mood.stone, CREAM, 0.3))
    pen.box(-1, -1, 3, 0.265, mix(mood.stone, CREAM, 0.75))
    pen.box(-1, -1, 3, 0.25, mix(mood.stone, INK, 0.4))
    for k in range(12):
        pen.box(k * 0.22 - 0.6, 0.155, k * 0.22 - 0.49, 0.163, mix(mood.stone, CREAM, 0.6))
    pen.box(-1, -1, 3, 0.075, mix(mood.stone, CREAM, 0.75))
    pen.box(-1, -1, 3, 0.06, mix(mood.stone, CREAM, 0.5))


def beach(canvas: Canvas, mood: Mood, dice: Dice) -> None:
    sky(canvas, mood, 0.58)
    if dice.happens(0.6):
        hills(canvas, mood, dice, 0.57)
    water(canvas, mood, dice, 0.6, 0.36)
    pen = whole(canvas)
    line = [(k * 0.25 - 0.6, 0.4 + 0.02 * (k % 2) + dice.between(-0.01, 0.01)) for k in range(12)]
    pen.soft([(-0.7, -1), *[(u, v + 0.014) for u, v in line], (2.4, -1)], mix(mood.sea, "#ffffff", 0.75))
    pen.soft([(-0.7, -1), *line, (2.4, -1)], mix(mood.sand, mood.sea, 0.18))
    pen.soft([(-0.7, -1), *[(u, v - 0.035) for u, v in line], (2.4, -1)], mood.sand)
    pen.soft(
        [(-1, 0.16), (0.2, 0.2), (0.8, 0.12), (1.6, 0.19), (2.6, 0.1), (2.6, -1), (-1, -1)], mix(mood.sand, CREAM, 0.35)
    )
    for _ in range(30):
        u, v = dice.between(0, 1.4), dice.between(0.02, 0.34)
        pen.disc(u, v, 0.005, 0.003, mix(mood.sand, INK, 0.15))


BACKDROPS = {"harbour": harbour, "park": park, "pond": pond_park, "town": town, "beach": beach}


def sun(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.disc(0, 0.5, 0.5, 0.5, mood.sun)


def cloud(pen: Pen, dice: Dice, mood: Mood) -> None:
    for u, v, r in ((-0.28, 0.13, 0.13), (-0.08, 0.2, 0.2), (0.14, 0.17, 0.17), (0.33, 0.11, 0.11)):
        pen.disc(u, v, r, r, mood.cloud)
    pen.soft([(-0.48, 0.0), (-0.48, 0.12), (0.5, 0.12), (0.5, 0.0)], mood.cloud)


def buoy(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.soft([(-0.36, 0.0), (-0.36, 0.26), (0.36, 0.26), (0.36, 0.0)], "#c4453f")
    pen.poly([(-0.24, 0.24), (-0.09, 0.82), (0.09, 0.82), (0.24, 0.24)], "#d9534a")
    pen.poly([(-0.18, 0.46), (-0.13, 0.64), (0.13, 0.64), (0.18, 0.46)], CREAM)
    pen.disc(0, 0.9, 0.1, 0.1, "#fbe08a")


def lighthouse(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.soft([(-0.36, -0.03), (-0.22, 0.1), (0.2, 0.12), (0.38, -0.03)], mix(mood.stone, INK, 0.4))
    for k in range(5):
        low, high = 0.14 - 0.014 * k, 0.14 - 0.014 * (k + 1)
        v = 0.06 + k * 0.14
        pen.poly([(-low, v), (-high, v + 0.14), (high, v + 0.14), (low, v)], CREAM if k % 2 else "#d9534a")
    pen.box(-0.11, 0.75, 0.11, 0.785, INK)
    pen.box(-0.06, 0.785, 0.06, 0.9, "#fdeea8")
    pen.cap(0, 0.9, 0.085, 0.08, "#c4453f")


def bollard(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.box(-0.2, 0, 0.2, 0.8, INK)
    pen.disc(0, 0.82, 0.34, 0.18, mix(INK, CREAM, 0.15))


def lamp(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.box(-0.05, 0, 0.05, 0.05, INK)
    pen.bar(0, 0, 0, 0.82, 0.026, INK)
    pen.poly([(-0.035, 0.82), (-0.06, 0.95), (0.06, 0.95), (0.035, 0.82)], "#fdeea8")
    pen.cap(0, 0.95, 0.075, 0.05, INK)


def bench(pen: Pen, dice: Dice, mood: Mood) -> None:
    for u in (-0.38, 0.34):
        pen.box(u, 0, u + 0.05, 0.46, INK)
    for v in (0.18, 0.32, 0.42):
        pen.box(-0.5, v, 0.5, v + 0.07, WOOD)


def bush(pen: Pen, dice: Dice, mood: Mood) -> None:
    leaf = mix(dice.pick(LEAVES[mood.season]), INK, 0.12)
    for u, v, r in ((-0.28, 0.18, 0.2), (0.02, 0.26, 0.26), (0.3, 0.17, 0.19)):
        pen.disc(u, v, r, r, leaf)
    pen.soft([(-0.5, 0.0), (-0.46, 0.2), (0.48, 0.2), (0.5, 0.0)], leaf)
    for u, v in ((-0.25, 0.24), (0.0, 0.36), (0.24, 0.2), (0.08, 0.16), (-0.1, 0.14)):
        pen.disc(u, v, 0.03, 0.03, "#f6e3e0" if mood.season == "green" else mix(leaf, CREAM, 0.4))


def parasol(pen: Pen, dice: Dice, mood: Mood) -> None:
    one = dice.pick(("#d9534a", "#3f74a8", "#4c8f7e"))
    pen.bar(0, 0, 0.06, 0.9, 0.03, CREAM)
    pen.cap(0.05, 0.62, 0.5, 0.36, one)
    pen.cap(0.05, 0.62, 0.3, 0.36, CREAM)
    pen.cap(0.05, 0.62, 0.12, 0.36, one)


def ball(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.disc(0, 0.5, 0.5, 0.5, "#efc44f")
    pen.soft([(-0.5, 0.5), (0, 0.75), (0.5, 0.5), (0, 0.32)], "#d9534a")


def postbox(pen: Pen, dice: Dice, mood: Mood) -> None:
    pen.box(-0.14, 0, 0.14, 0.62, "#d9534a")
    pen.cap(0, 0.6, 0.17, 0.2, "#c4453f")
    pen.box(-0.08, 0.46, 0.08, 0.5, INK)


# How an odd end is drawn, how wide and high it is, and what a hasty detector calls it.
ODDS = {
    "sun": (sun, (1.0, 1.0), "kite"),
    "cloud": (cloud, (1.0, 0.4), "bird"),
    "buoy": (buoy, (0.7, 1.0), "boat"),
    "lighthouse": (lighthouse, (0.6, 1.0), "house"),
    "bollard": (bollard, (0.7, 1.0), "dog"),
    "lamp": (lamp, (0.15, 1.0), "person"),
    "bench": (bench, (1.0, 0.5), "car"),
    "bush": (bush, (1.0, 0.5), "tree"),
    "parasol": (parasol, (1.0, 1.0), "kite"),
    "ball": (ball, (1.0, 1.0), "bird"),
    "postbox": (postbox, (0.34, 0.8), "person"),
}
