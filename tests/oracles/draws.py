"""The kernel that draws wrong records, word for word in plain Python; and truths drawn item by item."""

from __future__ import annotations

from math import log, log1p

import numpy as np

MASK = 2**64 - 1


class Random:
    """xoshiro256++ seeded through splitmix64, a stream for every draw."""

    def __init__(self, seed: int, stream: int) -> None:
        self.x = seed & MASK
        self.x = self.mixed() ^ stream
        self.state = [self.mixed() for _ in range(4)]

    def mixed(self) -> int:
        self.x = (self.x + 0x9E3779B97F4A7C15) & MASK
        z = self.x
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def bits(self) -> int:
        s = self.state
        result = (turned((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = turned(s[3], 45)
        return result

    def unit(self) -> float:
        return ((self.bits() >> 11) + 1) * 2.0**-53

    def below(self, bound: int) -> int:
        most = MASK - MASK % bound
        while True:
            x = self.bits()
            if x < most:
                return x % bound


def turned(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


def add_wrong(kind, ways, change, random, row):
    way = 0
    if ways.shape[1] > 1:
        u = random.unit()
        while way + 1 < ways.shape[1] and u > ways[kind, way]:
            way += 1
    row += change[kind, way]


def independent_changes(kind, ways, change, rate, share, draws, seed, first_draw):
    total = np.zeros((draws, change.shape[2]))
    scale = 1 / log1p(-rate) if 0 < rate < 1 else 0.0
    for draw in range(draws if rate > 0 else 0):
        random = Random(seed, first_draw + draw)
        item = 0
        while True:
            skipped = log(random.unit()) * scale
            if not skipped < len(kind) - item:
                break
            item += int(skipped)
            if item >= len(kind):
                break
            if not len(share) or random.unit() <= share[item]:
                add_wrong(kind[item], ways, change, random, total[draw])
            item += 1
    return total


def chosen_changes(kind, ways, change, groups, wrong, seed, first_draw):
    total = np.zeros((len(wrong), change.shape[2]))
    for draw, counts in enumerate(wrong):
        random = Random(seed, first_draw + draw)
        for group, many in enumerate(counts):
            place = list(range(int(groups[group]), int(groups[group + 1])))
            for k in range(many):
                other = k + random.below(len(place) - k)
                place[k], place[other] = place[other], place[k]
                add_wrong(kind[place[k]], ways, change, random, total[draw])
    return total


def item_by_item(right, rates, draws, rng):
    """Scores under independently drawn truths, every item of every truth drawn: algorithms in columns."""
    wrong = rng.random((draws, len(rates))) < rates
    return np.stack([(right[:, j][None, :] ^ wrong).sum(axis=1) for j in range(right.shape[1])], axis=1)
