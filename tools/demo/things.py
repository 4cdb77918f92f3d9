"""What is there to find? Eight kinds of things, drawn with a pen, each in a few styles.

A unit is the thing's larger side, so that `size` is about its length or height in pixels.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from demo.canvas import Dice, Pen, mix

INK = "#3b3f4a"
CREAM = "#fbf6e9"
GLASS = "#cfe8ee"
WOOD = "#8a5a3c"
SNOW = "#f7fafa"
STRONG = ("#d9534a", "#e8963e", "#efc44f", "#4c8f7e", "#3f74a8", "#7a5c99", "#c9637e")
WALLS = ("#f2d5a7", "#e9b7a0", "#f5e6cc", "#c8d9d2", "#e8c9c4", "#d7d3e3", "#f0c98b", "#b9cfdd")
ROOFS = ("#a8523f", "#8c4a4a", "#5f6b7a", "#b86b47", "#6d5a6e")
SKINS = ("#f3c9a5", "#d9a47a", "#a9714b", "#7d5238")
HAIRS = ("#4a3527", "#2f2a2a", "#a5673f", "#d8b26a", "#9a9a9a")
COATS = ("#8a5a3c", "#d9b382", "#4a4441", "#f0ece2", "#b5793f")
LEAVES = {
    "green": ("#5e9c5a", "#76b05f", "#4b8a63", "#88b95c"),
    "autumn": ("#d98a3d", "#c9603f", "#e0b04a", "#a8a04f"),
    "winter": ("#5d8078", "#4f7474", "#6b8c80", "#5a7a86"),
}


def boat(pen: Pen, dice: Dice, _: str) -> None:
    dice.pick((sailing_boat, sailing_boat, trawler, rowing_boat if pen.size < 60 else trawler))(pen, dice)


def sailing_boat(pen: Pen, dice: Dice) -> None:
    hull, sail = dice.pick(STRONG), dice.pick((CREAM, CREAM, "#f4d9b0", "#f6e3e0"))
    pen.bar(0.02, 0.1, 0.02, 1.0, 0.022, WOOD)
    pen.soft([(0.05, 0.2), (0.05, 0.2), (0.05, 0.97), (0.05, 0.97), (0.2, 0.55), (0.42, 0.2), (0.42, 0.2)], sail)
    second = dice.pick((hull, "#f4d9b0", "#d9e6ea"))
    pen.soft(
        [(-0.01, 0.2), (-0.01, 0.2), (-0.01, 0.84), (-0.01, 0.84), (-0.2, 0.45), (-0.38, 0.2), (-0.38, 0.2)], second
    )
    if dice.happens(0.6):
        pen.poly([(0.05, 0.62), (0.05, 0.54), (0.228, 0.52), (0.19, 0.6)], hull)
    pen.poly([(0.02, 1.0), (-0.1, 0.965), (0.02, 0.93)], dice.pick(STRONG))
    pen.poly([(-0.44, 0.16), (0.46, 0.14), (0.34, 0), (-0.3, 0)], hull)
    pen.poly([(-0.44, 0.16), (0.46, 0.14), (0.435, 0.105), (-0.405, 0.12)], CREAM)


def trawler(pen: Pen, dice: Dice) -> None:
    hull, trim = dice.pick(STRONG), dice.pick(STRONG)
    pen.bar(-0.14, 0.2, -0.14, 0.74, 0.025, WOOD)
    pen.bar(-0.14, 0.66, -0.4, 0.42, 0.018, WOOD)
    pen.poly([(-0.14, 0.74), (-0.3, 0.7), (-0.14, 0.66)], trim)
    pen.box(0.0, 0.2, 0.3, 0.52, CREAM)
    pen.box(-0.03, 0.5, 0.34, 0.56, trim)
    pen.box(0.2, 0.56, 0.26, 0.66, INK)
    for u in (0.035, 0.17):
        pen.box(u, 0.35, u + 0.1, 0.46, GLASS)
    pen.poly([(-0.5, 0.34), (-0.36, 0.26), (0.5, 0.24), (0.43, 0), (-0.36, 0)], hull)
    pen.poly([(-0.5, 0.34), (-0.36, 0.26), (0.5, 0.24), (0.488, 0.195), (-0.368, 0.21), (-0.478, 0.28)], CREAM)
    pen.box(-0.375, 0, 0.436, 0.035, mix(hull, INK, 0.5))
    for u in (-0.24, -0.1):
        pen.disc(u, 0.13, 0.03, 0.03, CREAM)


def rowing_boat(pen: Pen, dice: Dice) -> None:
    hull = dice.pick(STRONG)
    pen.soft([(-0.5, 0.28), (-0.5, 0.28), (0.5, 0.28), (0.5, 0.28), (0.36, 0.02), (-0.36, 0.02)], hull)
    pen.bar(-0.48, 0.26, 0.48, 0.26, 0.06, mix(hull, CREAM, 0.6))
    pen.bar(-0.05, 0.34, 0.3, 0.04, 0.03, WOOD)
    pen.disc(0.3, 0.04, 0.05, 0.035, WOOD)


def bird(pen: Pen, dice: Dice, _: str) -> None:
    """In the sky a bird flies; `standing_bird` is for the ground."""
    if pen.size < 15 or (pen.size < 24 and dice.happens(0.4)):
        far_bird(pen, dice)
    else:
        near_bird(pen, dice)


def far_bird(pen: Pen, dice: Dice) -> None:
    colour, lift = dice.pick((INK, "#5a5f6e", "#f7f7f2")), dice.between(0.1, 0.24)
    for side in (-1, 1):
        wing = [(0, 0.02), (0.2, lift + 0.1), (0.3, lift + 0.1), (0.5, lift - 0.06), (0.28, lift - 0.03), (0.03, -0.11)]
        pen.poly([(side * u, v + 0.15) for u, v in wing], colour)
    pen.disc(0, 0.13, 0.07, 0.1, colour)


def near_bird(pen: Pen, dice: Dice) -> None:
    body = dice.pick((CREAM, CREAM, "#8fa3b5", "#e6b18c"))
    wing, up = mix(body, INK, 0.35), dice.between(0.55, 0.75)
    pen.poly([(0.02, 0.28), (0.2, 0.3), (0.02, up), (-0.1, up - 0.02)], mix(wing, INK, 0.25))
    pen.soft([(-0.36, 0.26), (-0.52, 0.36), (-0.52, 0.2), (-0.36, 0.18)], wing)
    pen.soft([(-0.42, 0.24), (-0.1, 0.36), (0.26, 0.34), (0.36, 0.24), (0.1, 0.1), (-0.2, 0.12)], body)
    pen.disc(0.33, 0.33, 0.11, 0.1, body)
    pen.poly([(0.42, 0.36), (0.56, 0.31), (0.42, 0.28)], "#e8963e")
    pen.disc(0.36, 0.36, 0.022, 0.022, INK)
    pen.soft([(-0.16, 0.28), (0.12, 0.3), (0.06, 0.28), (-0.3, up - 0.06), (-0.36, up - 0.04), (-0.28, 0.45)], wing)


def standing_bird(pen: Pen, dice: Dice) -> None:
    body = dice.pick((CREAM, "#8fa3b5", "#6d5a4e"))
    for u in (-0.02, 0.08):
        pen.bar(u, 0, u, 0.26, 0.05, "#e8963e")
    pen.soft([(-0.52, 0.42), (-0.1, 0.62), (0.24, 0.7), (0.36, 0.4), (0.1, 0.18), (-0.2, 0.22)], body)
    pen.soft([(-0.6, 0.38), (-0.1, 0.58), (0.12, 0.5), (0.02, 0.32)], mix(body, INK, 0.4))
    pen.disc(0.26, 0.74, 0.17, 0.16, body)
    pen.poly([(0.4, 0.8), (0.6, 0.72), (0.4, 0.68)], "#e8963e")
    pen.disc(0.31, 0.78, 0.035, 0.035, INK)


def house(pen: Pen, dice: Dice, season: str) -> None:
    wall, roof = dice.pick(WALLS), dice.pick(ROOFS)
    half = dice.between(0.3, 0.42)
    style = dice.pick(("gable", "hip", "stepped"))
    door = dice.pick(STRONG)
    if style != "stepped":
        pen.box(half * 0.35, 0.6, half * 0.35 + 0.1, 0.97, mix(roof, INK, 0.3))
    pen.box(-half, 0, half, 0.6, wall)
    pen.box(half * 0.55, 0, half, 0.6, mix(wall, INK, 0.1))
    if style == "gable":
        pen.poly([(-half - 0.06, 0.56), (0, 1), (half + 0.06, 0.56)], roof)
        pen.disc(0, 0.7, 0.06, 0.06, CREAM)
        pen.disc(0, 0.7, 0.04, 0.04, GLASS)
    elif style == "hip":
        pen.poly([(-half - 0.06, 0.56), (-half + 0.1, 0.88), (half - 0.1, 0.88), (half + 0.06, 0.56)], roof)
        pen.box(-half - 0.06, 0.53, half + 0.06, 0.57, mix(roof, INK, 0.35))
    else:
        for k in range(5):
            pen.box(
                -half + k * half / 5, 0.58 + k * 0.085, half - k * half / 5, 0.67 + k * 0.085, mix(wall, roof, 0.55)
            )
        pen.disc(0, 0.74, 0.055, 0.07, GLASS)
        pen.box(-half, 0.56, half, 0.6, CREAM)
    if season == "winter" and style == "gable":
        pen.poly(
            [(-half * 0.42, 0.83), (0, 1.005), (half * 0.42, 0.83), (half * 0.2, 0.86), (0, 0.82), (-half * 0.2, 0.86)],
            SNOW,
        )
    if season == "winter" and style == "hip":
        drips = [(half - 0.06, 0.8), (half * 0.4, 0.83), (half * 0.1, 0.79), (-half * 0.3, 0.83), (-half + 0.06, 0.8)]
        pen.poly([(-half + 0.095, 0.895), (half - 0.095, 0.895), *drips], SNOW)
    pen.box(-0.075, 0, 0.075, 0.25, CREAM)
    pen.box(-0.055, 0, 0.055, 0.23, door)
    pen.disc(0.03, 0.11, 0.012, 0.012, CREAM)
    for u in (-half * 0.62, half * 0.62):
        for v in (0.1, 0.36):
            window(pen, u, v, dice)
    window(pen, 0, 0.36, dice)


def window(pen: Pen, u: float, v: float, dice: Dice) -> None:
    pen.box(u - 0.065, v - 0.01, u + 0.065, v + 0.15, CREAM)
    pen.box(u - 0.048, v + 0.005, u + 0.048, v + 0.135, dice.pick((GLASS, "#a9cbd6", "#f6d98b")))
    pen.bar(u, v, u, v + 0.14, 0.014, CREAM)


def tree(pen: Pen, dice: Dice, season: str) -> None:
    leaf, trunk = dice.pick(LEAVES[season]), dice.pick((WOOD, "#75553f", "#9a7355"))
    light, dark = mix(leaf, CREAM, 0.22), mix(leaf, INK, 0.2)
    style = dice.pick(("round", "round", "poplar", "fir") if season != "winter" else ("fir", "fir", "round"))
    if style == "fir":
        pen.box(-0.045, 0, 0.045, 0.2, trunk)
        for low, high, half in ((0.12, 0.56, 0.32), (0.34, 0.78, 0.25), (0.56, 1.0, 0.18)):
            pen.poly([(-half, low), (0, high), (half, low), (0, low + 0.05)], leaf)
            pen.poly([(0, high), (half, low), (0, low + 0.05)], dark)
            if season == "winter":
                pen.poly([(-half * 0.42, high - 0.185), (0, high), (half * 0.42, high - 0.185), (0, high - 0.13)], SNOW)
    elif style == "poplar":
        pen.box(-0.04, 0, 0.04, 0.3, trunk)
        pen.soft([(-0.2, 0.22), (-0.2, 0.5), (-0.1, 0.95), (0.1, 0.95), (0.2, 0.5), (0.2, 0.22)], leaf)
        pen.soft([(-0.15, 0.34), (-0.14, 0.5), (-0.07, 0.84), (0.0, 0.86), (-0.02, 0.5), (-0.05, 0.34)], light)
    else:
        pen.poly([(-0.06, 0), (-0.035, 0.5), (0.035, 0.5), (0.06, 0)], trunk)
        pen.bar(0, 0.32, 0.13, 0.48, 0.03, trunk)
        pen.disc(0.17, 0.56, 0.22, 0.2, dark)
        pen.disc(-0.19, 0.57, 0.2, 0.19, leaf)
        pen.disc(0, 0.73, 0.26, 0.26, leaf)
        for u, v, r in ((-0.1, 0.82, 0.09), (-0.24, 0.6, 0.07), (0.05, 0.66, 0.06)):
            pen.disc(u, v, r, r * 0.8, light if season != "winter" else SNOW)


def car(pen: Pen, dice: Dice, _: str) -> None:
    paint = dice.pick((*STRONG, "#f2efe6", "#9db8c4"))
    if dice.happens(0.3):
        van = [(-0.5, 0.1), (-0.5, 0.52), (-0.46, 0.56), (0.24, 0.56), (0.4, 0.34), (0.49, 0.3), (0.5, 0.1)]
        pen.poly(van, paint)
        pen.box(-0.5, 0.24, 0.49, 0.29, CREAM)
        pen.poly([(0.08, 0.34), (0.08, 0.5), (0.22, 0.5), (0.33, 0.34)], GLASS)
        pen.box(-0.42, 0.34, -0.2, 0.5, GLASS)
        pen.box(-0.15, 0.34, 0.03, 0.5, GLASS)
    else:
        pen.soft(
            [(-0.5, 0.1), (-0.5, 0.1), (-0.51, 0.32), (-0.2, 0.3), (0.3, 0.3), (0.5, 0.28), (0.5, 0.1), (0.5, 0.1)],
            paint,
        )
        pen.soft([(-0.36, 0.26), (-0.36, 0.26), (-0.26, 0.5), (0.14, 0.5), (0.32, 0.26), (0.32, 0.26)], paint)
        pen.poly([(-0.27, 0.29), (-0.21, 0.42), (-0.06, 0.43), (-0.06, 0.29)], GLASS)
        pen.poly([(-0.01, 0.29), (-0.01, 0.43), (0.11, 0.42), (0.22, 0.29)], GLASS)
        pen.bar(-0.02, 0.22, 0.04, 0.22, 0.02, mix(paint, INK, 0.5))
    pen.box(-0.49, 0.09, 0.49, 0.13, mix(paint, INK, 0.45))
    pen.disc(0.46, 0.22, 0.03, 0.035, "#fdeea8")
    pen.box(-0.5, 0.19, -0.465, 0.26, "#c4453f")
    for u in (-0.29, 0.28):
        pen.disc(u, 0.11, 0.11, 0.11, INK)
        pen.disc(u, 0.11, 0.05, 0.05, "#d5d5d0")


def person(pen: Pen, dice: Dice, season: str) -> None:
    skin, hair, shirt, legs = (
        dice.pick(SKINS),
        dice.pick(HAIRS),
        dice.pick(STRONG),
        dice.pick((INK, "#4f6685", "#7a6a58")),
    )
    wears_dress, waves, step = dice.happens(0.35), dice.happens(0.25), dice.between(0.03, 0.09)
    for side in (-1, 1):
        pen.bar(side * 0.035, 0.42, side * step, 0.03, 0.08, skin if wears_dress else legs)
        pen.box(side * step - 0.04, 0, side * step + 0.07, 0.05, INK)
    pen.bar(-0.1, 0.68, -0.16, 0.4, 0.06, mix(shirt, INK, 0.2))
    pen.disc(-0.16, 0.39, 0.033, 0.033, skin)
    if wears_dress:
        pen.poly([(-0.09, 0.74), (0.09, 0.74), (0.17, 0.26), (-0.17, 0.26)], shirt)
    else:
        pen.poly([(-0.115, 0.74), (0.115, 0.74), (0.1, 0.38), (-0.1, 0.38)], shirt)
        if season == "winter":
            pen.box(-0.1, 0.7, 0.1, 0.755, dice.pick(STRONG))
    hand = (0.2, 0.92) if waves else (0.17, 0.4)
    pen.bar(0.1, 0.7, *hand, 0.06, mix(shirt, INK, 0.12))
    pen.disc(*hand, 0.035, 0.035, skin)
    if wears_dress:
        pen.soft([(-0.14, 0.68), (-0.15, 0.96), (0, 1.02), (0.12, 0.96), (0.08, 0.7)], hair)
    pen.disc(0.01, 0.86, 0.105, 0.12, skin)
    if dice.happens(0.3) or season == "winter":
        hat = dice.pick(STRONG)
        pen.cap(0.01, 0.89, 0.115, 0.12, hat)
        pen.box(-0.11, 0.87, 0.17, 0.9, mix(hat, INK, 0.25))
    else:
        pen.cap(0.0, 0.9, 0.115, 0.1, hair)
    for u in (0.0, 0.07):
        pen.disc(u, 0.845, 0.013, 0.016, INK)


def kite(pen: Pen, dice: Dice, _: str) -> None:
    one, two = dice.pick(STRONG), dice.pick(("#efc44f", CREAM, "#7fc4c1", "#f0a48c"))
    leaning = replace(pen, turn_deg=dice.between(-28, 28), y=pen.y - pen.size * 0.5)
    bends = [(0, -0.2), (0.07, -0.28), (-0.05, -0.36), (0.04, -0.46)]
    for (u0, v0), (u1, v1) in pairwise(bends):
        leaning.bar(u0, v0, u1, v1, 0.025, INK)
    for u, v in bends[1:]:
        for side in (-1, 1):
            leaning.poly([(u, v), (u + side * 0.07, v + 0.04), (u + side * 0.07, v - 0.04)], one if side > 0 else two)
    top, right, bottom, left, middle = (0, 0.5), (0.32, 0.16), (0, -0.24), (-0.32, 0.16), (0, 0.16)
    for corners, colour in (((top, right), one), ((right, bottom), two), ((bottom, left), one), ((left, top), two)):
        leaning.poly([*corners, middle], colour)
    leaning.bar(0, 0.5, 0, -0.24, 0.02, WOOD)
    leaning.bar(-0.32, 0.16, 0.32, 0.16, 0.02, WOOD)


def dog(pen: Pen, dice: Dice, _: str) -> None:
    coat = dice.pick(COATS)
    dark, step = mix(coat, INK, 0.3), dice.between(0.0, 0.05)
    pen.bar(-0.3, 0.5, -0.46, dice.between(0.66, 0.78), 0.06, coat)
    for u, colour in ((-0.2, dark), (0.16, dark), (-0.28, coat), (0.24, coat)):
        pen.bar(u, 0.34, u + (step if colour == coat else -step), 0.0, 0.09, colour)
    pen.soft([(-0.4, 0.28), (-0.38, 0.58), (0.0, 0.56), (0.3, 0.66), (0.4, 0.5), (0.26, 0.24), (-0.1, 0.3)], coat)
    pen.bar(0.26, 0.5, 0.36, 0.7, 0.17, coat)
    pen.disc(0.36, 0.72, 0.13, 0.125, coat)
    pen.soft([(0.36, 0.78), (0.54, 0.72), (0.56, 0.62), (0.36, 0.6)], coat)
    pen.disc(0.53, 0.695, 0.03, 0.027, INK)
    pen.disc(0.4, 0.755, 0.018, 0.018, INK)
    pen.soft([(0.24, 0.84), (0.34, 0.82), (0.34, 0.58), (0.22, 0.56)], dark)
    pen.bar(0.27, 0.52, 0.35, 0.56, 0.05, dice.pick(STRONG))


DRAW = {
    "bird": bird,
    "boat": boat,
    "car": car,
    "dog": dog,
    "house": house,
    "kite": kite,
    "person": person,
    "tree": tree,
}

# Width and height of a thing in units of its size, for the composition.
FOOTPRINT = {
    "bird": (1.0, 0.5),
    "boat": (0.95, 0.85),
    "car": (1.0, 0.55),
    "dog": (1.0, 0.85),
    "house": (0.8, 1.0),
    "kite": (0.6, 1.0),
    "person": (0.36, 1.0),
    "tree": (0.6, 1.0),
}
