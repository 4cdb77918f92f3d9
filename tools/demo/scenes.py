"""Which pictures are there, and what stands where in them?"""

from __future__ import annotations

from dataclasses import dataclass

from demo import things
from demo.canvas import Canvas, Dice, Pen, mix
from demo.scenery import BACKDROPS, MOODS, ODDS, Mood
from demo.things import CREAM, DRAW, FOOTPRINT, INK

# Each line: id, place, mood, format, contents. A word is a thing; `!` is near and large, `.` far and tiny, `~` stands
# against the one before it, `,` on the ground (birds), `*9` is a crowd of nine.
PICTURES = """
1018  harbour noon    wide  boat! boat boat. bird bird person cloud buoy
1025  harbour morning wide  boat boat~ boat. house house~ tree~ bird, lighthouse cloud
1047  harbour evening wide  boat! boat boat. boat. person person~ dog lamp sun
1063  harbour fog     wide  boat boat. buoy bird*9
1088  harbour noon    wide  car person dog boat boat~ house tree~ bird bird, bollard cloud
1109  harbour winter  wide  boat boat house house~ person person~ bird. bird. lighthouse
1131  harbour autumn  tall  boat! boat bird bird person cloud cloud
1156  harbour morning wide  boat*7 bird! sun
1174  harbour evening wide  house house~ tree~ boat boat~ boat bird. person dog bollard lighthouse
1190  harbour noon    tall  boat boat! house bird! bird, kite. buoy
2011  park    noon    wide  tree! tree person dog kite! bird cloud bench
2034  park    autumn  wide  tree tree~ tree! person person~ dog bird, lamp bush
2052  park    morning wide  kite kite kite. person person~ dog~ tree tree. cloud sun
2077  park    winter  wide  tree tree~ tree tree. person! dog! bird, house. bench
2096  pond    noon    wide  boat boat. bird, person tree! tree tree. dog cloud bush
2118  pond    autumn  wide  boat person person~ tree! tree~ bird bird house. bench
2143  park    evening wide  tree! person*11 kite lamp sun
2165  park    noon    tall  tree! person dog~ bird bird. kite cloud bush
2187  park    morning wide  dog! person! tree tree~ bird, bush
2204  pond    winter  wide  tree tree~ tree! house. person person~ dog bird*12
3007  town    noon    wide  house house~ house~ car person tree cloud lamp
3029  town    evening wide  house! house car car~ person person~ dog lamp lamp
3051  town    morning wide  house house tree~ car! person dog bird bird, sun postbox
3074  town    winter  wide  house! house~ tree tree~ person person~ car bird. lamp
3098  town    autumn  wide  house house~ tree~ car car~ person person dog bird, cloud postbox
3113  town    fog     wide  house car person. person lamp
3135  town    noon    tall  house! tree person dog bird kite car cloud
3162  town    morning wide  car! car~ house house person~ bench cloud
3186  town    evening wide  house house~ house~ house tree~ person. person person~ dog car lamp postbox
4013  beach   noon    wide  person person~ kite! kite boat. boat dog parasol ball cloud
4032  beach   morning wide  dog! person bird, bird, boat boat. house sun
4058  beach   evening wide  boat boat~ person. person kite bird. bird. sun
4079  beach   noon    wide  person! kite boat. house house~ dog bird parasol parasol ball
4101  beach   autumn  tall  kite! kite kite. person person~ boat. dog cloud
4126  beach   fog     wide  buoy cloud parasol
4148  beach   noon    wide  person*9 boat boat. bird! bird kite ball parasol cloud
""".strip().splitlines()

FORMATS = {"wide": (320, 240), "tall": (240, 320)}

# Where things stand: v from far to near as a share of the picture's height from below, and their size in pixels there.
Zone = tuple[float, float, float, float]
SKY: dict[str, Zone] = {
    "bird": (0.66, 0.9, 13, 30),
    "kite": (0.6, 0.74, 30, 52),
    "sun": (0.8, 0.82, 26, 32),
    "cloud": (0.74, 0.9, 44, 74),
}
ZONES: dict[str, dict[str, Zone]] = {
    "harbour": {
        "boat": (0.465, 0.215, 30, 96),
        "buoy": (0.42, 0.24, 12, 22),
        "house": (0.525, 0.515, 34, 48),
        "tree": (0.525, 0.515, 26, 40),
        "lighthouse": (0.5, 0.5, 70, 84),
        "person": (0.13, 0.03, 42, 56),
        "dog": (0.12, 0.03, 22, 30),
        "car": (0.13, 0.06, 62, 76),
        "bollard": (0.15, 0.14, 12, 14),
        "lamp": (0.15, 0.13, 80, 90),
        "bird,": (0.155, 0.05, 12, 20),
    },
    "park": {
        "tree": (0.5, 0.2, 50, 130),
        "house": (0.53, 0.49, 40, 56),
        "person": (0.42, 0.06, 26, 68),
        "dog": (0.38, 0.06, 16, 40),
        "bench": (0.36, 0.2, 34, 50),
        "bush": (0.46, 0.12, 28, 56),
        "lamp": (0.4, 0.2, 66, 110),
        "bird,": (0.3, 0.05, 10, 22),
        "boat": (0.36, 0.25, 30, 46),
    },
    "town": {
        "house": (0.37, 0.35, 96, 128),
        "tree": (0.35, 0.3, 60, 84),
        "person": (0.33, 0.28, 34, 42),
        "dog": (0.32, 0.28, 18, 24),
        "car": (0.215, 0.1, 70, 92),
        "lamp": (0.28, 0.275, 84, 96),
        "postbox": (0.3, 0.28, 28, 30),
        "bench": (0.31, 0.29, 36, 40),
        "bird,": (0.05, 0.02, 14, 20),
    },
    "beach": {
        "boat": (0.565, 0.45, 24, 52),
        "buoy": (0.54, 0.46, 10, 14),
        "house": (0.38, 0.33, 44, 60),
        "person": (0.32, 0.05, 32, 64),
        "dog": (0.28, 0.05, 18, 38),
        "parasol": (0.3, 0.14, 44, 66),
        "ball": (0.26, 0.06, 8, 13),
        "bird,": (0.34, 0.06, 10, 20),
        "tree": (0.4, 0.34, 50, 70),
    },
}
ZONES["pond"] = {
    **ZONES["park"],
    "tree": (0.5, 0.42, 60, 96),
    "person": (0.17, 0.05, 40, 66),
    "dog": (0.16, 0.05, 22, 40),
    "bird,": (0.17, 0.05, 14, 22),
    "bench": (0.17, 0.14, 40, 46),
    "bush": (0.46, 0.42, 28, 40),
}


@dataclass(frozen=True)
class Thing:
    """Something in a picture: what, where it stands (pixels), how large, and the seed of its style."""

    kind: str
    x: float
    y: float
    size: float
    depth: float  # what is deeper is drawn first
    seed: int
    flip: bool
    count: int = 1
    stands: bool = False

    @property
    def is_odd(self) -> bool:
        return self.kind in ODDS

    @property
    def label(self) -> str:
        """What it is; for an odd end, what it is taken for."""
        return ODDS[self.kind][2] if self.is_odd else self.kind

    @property
    def box(self) -> tuple[float, float, float, float]:
        """About where it is drawn."""
        width, height = (side * self.size for side in (ODDS[self.kind][1] if self.is_odd else FOOTPRINT[self.kind]))
        spread = self.size * self.count**0.5 * 0.6 if self.count > 1 else 0.0
        return (
            self.x - width / 2 - spread,
            self.y - height - spread / 2,
            self.x + width / 2 + spread,
            self.y + spread / 2,
        )


@dataclass(frozen=True, eq=False)
class Picture:
    """A line of the list, composed and drawn."""

    id: int
    name: str
    canvas: Canvas
    shown: dict[int, Thing]  # by the owner number on the canvas


def pictures() -> list[Picture]:
    """All of them."""
    return [draw(line) for line in PICTURES]


def draw(line: str) -> Picture:
    number, place, mood, form, *words = line.split()
    id = int(number)
    width, height = FORMATS[form]
    cast = compose(Dice(id), place, width, height, words)
    while True:
        canvas = paint(Canvas(width, height), id, place, MOODS[mood], cast)
        hidden = [thing for owner, thing in enumerate(cast, start=1) if is_hidden(canvas, owner)]
        if not hidden:
            name = f"{'park' if place == 'pond' else place}-{id}.png"
            return Picture(id, name, canvas, dict(enumerate(cast, start=1)))
        cast = [thing for thing in cast if thing not in hidden]


def is_hidden(canvas: Canvas, owner: int) -> bool:
    """Is too little to be seen of it for anybody to mark it?"""
    return canvas.visible(owner).sum() < 9 or canvas.shares(owner)[1] < 0.15


def compose(dice: Dice, place: str, width: int, height: int, words: list[str]) -> list[Thing]:
    """Things at places of their zones where they do not stand in each other's way, save those that should."""
    cast: list[Thing] = []
    for k, word in enumerate(words):
        tries = [put(dice, place, width, height, word, cast[-1] if cast else None, k) for _ in range(24)]
        wanted = dice.between(0.3, 0.8) if "~" in word else 0.0
        cast.append(min(tries, key=lambda thing: abs(crowding(thing, cast) - wanted)))
    return sorted(cast, key=lambda thing: thing.depth)


def put(dice: Dice, place: str, width: int, height: int, word: str, last: Thing | None, k: int) -> Thing:
    kind = word.rstrip("!.~,*0123456789")
    count = int(word.partition("*")[2] or 1)
    stands = "," in word
    flies = kind in SKY and not stands
    far, near, small, large = SKY[kind] if flies else ZONES[place][kind + "," * stands]
    share = dice.between(0.85, 1) if "!" in word else dice.between(0, 0.12) if "." in word else dice.between(0.15, 0.8)
    factor = 1.45 if "!" in word else 0.62 if "." in word else 1.0
    size = (small + (large - small) * share) * factor * dice.between(0.92, 1.08) * (0.55 if count > 1 else 1)
    y = (1 - far - (near - far) * share) * height
    x = dice.between(0.06, 0.94) * width
    if "~" in word and last is not None:
        x = min(max(last.x + dice.between(-0.8, 0.8) * (last.box[2] - last.box[0]), 0.03 * width), 0.97 * width)
    elif kind in ("house", "lighthouse", "tree") and place == "harbour":  # where the shore is
        x = (0.36 * x) if kind != "lighthouse" else width - 0.2 * x
    elif kind == "boat" and place == "pond":
        x = (0.25 + 0.5 * x / width) * width
    depth = {"sun": -2, "cloud": -1}.get(kind, (500 if kind == "bird" and dice.happens(0.4) else 0) if flies else y)
    if count > 1:
        x = dice.between(0.3, 0.7) * width
    return Thing(kind, x, y, size, depth, 1000 * k + int(dice.random() * 1000), dice.happens(0.5), count, stands)


def crowding(thing: Thing, cast: list[Thing]) -> float:
    """The largest share that it and another thing hide of the smaller of the two."""
    most = 0.0
    for other in cast:
        a, b = thing.box, other.box
        shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        most = max(most, shared / min((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)))
    return most


def paint(canvas: Canvas, id: int, place: str, mood: Mood, cast: list[Thing]) -> Canvas:
    BACKDROPS[place](canvas, mood, Dice(id))
    for owner, thing in enumerate(cast, start=1):
        pen = Pen(canvas, thing.x, thing.y, thing.size, owner, thing.flip)
        ground(pen, thing, mood)
        if thing.kind == "kite":
            string(canvas, thing, cast)
        if thing.is_odd:
            ODDS[thing.kind][0](pen, Dice(thing.seed), mood)
        else:
            for k, member in enumerate(members(pen, thing)):
                dice = Dice(thing.seed + k)
                if thing.stands:
                    things.standing_bird(member, dice)
                else:
                    DRAW[thing.kind](member, dice, mood.season)
    if mood.veil is not None:
        canvas.fill([(-99, -99), (999, -99), (999, 999), (-99, 999)], mood.veil[0], alpha=mood.veil[1])
    return canvas


def members(pen: Pen, thing: Thing) -> list[Pen]:
    """The pens of a crowd, the farthest first; one pen for a thing alone."""
    if thing.count == 1:
        return [pen]
    dice = Dice(thing.seed)
    spread, flat = (
        thing.size * thing.count**0.5 * (0.5 if thing.kind == "person" else 0.9),
        0.45 if thing.kind in SKY else 0.16,
    )
    places = [(dice.between(-1, 1), dice.between(-1, 1)) for _ in range(thing.count)]
    return [
        Pen(
            pen.canvas,
            pen.x + u * spread,
            pen.y + v * spread * flat,
            pen.size * (1 + 0.12 * v),
            pen.owner,
            dice.happens(0.5),
        )
        for u, v in sorted(places, key=lambda p: p[1])
    ]


def ground(pen: Pen, thing: Thing, mood: Mood) -> None:
    """The shadow under it, or its reflection."""
    if (thing.kind in SKY and not thing.stands) or thing.count > 1:
        return
    width = (ODDS[thing.kind][1] if thing.is_odd else FOOTPRINT[thing.kind])[0]
    if thing.kind in ("boat", "buoy"):
        pen.disc(0, -0.01, width * 0.5, 0.05, mix(mood.sea, INK, 0.35), 0.5)
        pen.disc(0.02, -0.07, width * 0.36, 0.02, CREAM, 0.35)
    elif thing.kind not in ("house", "lighthouse"):
        pen.disc(0.03, 0.0, width * 0.55 if thing.kind != "tree" else 0.2, 0.035, INK, 0.22)


def string(canvas: Canvas, kite: Thing, cast: list[Thing]) -> None:
    """From the kite to the nearest person's hand, or out of the picture."""
    people = [thing for thing in cast if thing.kind == "person"]
    end = min(people, key=lambda p: abs(p.x - kite.x), default=None)
    x, y = (end.x, end.y - end.size * 0.5) if end else (kite.x + 60, canvas.height + 20)
    Pen(canvas, 0, 0, 1).bar(kite.x, -(kite.y - kite.size * 0.4), x, -y, 0.6, CREAM, 0.6)
