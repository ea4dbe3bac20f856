"""Small pictures for fixtures: a number gives always the same pixels, another number others."""

from __future__ import annotations

import random

from starloom_agent.toolkit.pictures.png import Picture

WIDTH, HEIGHT = 40, 30


def speckled(number: int) -> Picture:
    return Picture(WIDTH, HEIGHT, random.Random(number).randbytes(3 * WIDTH * HEIGHT))
