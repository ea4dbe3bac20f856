"""Draws the pictures of the sample: 24 PNG files in 8 folders of 3, the last folder a copy of an earlier one.

`python -m starloom_agent.toolkit.pictures.demo_pictures FOLDER --seed N`. Each picture is a small landscape with film
grain, so that it weighs like a real one; another seed gives other bytes. Not a tool: no device offers it.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from pathlib import Path

from starloom_agent.toolkit.pictures.png import Picture, encode

WIDTH, HEIGHT = 320, 240
EACH = 3
Colour = tuple[int, int, int]

# name: sky above, sky below, far hills, ground
PLACES: dict[str, tuple[Colour, Colour, Colour, Colour]] = {
    "Coast": ((70, 130, 190), (214, 226, 228), (96, 128, 132), (196, 178, 132)),
    "Garden": ((140, 184, 214), (226, 232, 214), (92, 140, 84), (70, 116, 62)),
    "Harbour": ((62, 98, 146), (222, 182, 150), (74, 84, 110), (44, 82, 112)),
    "Hills": ((112, 164, 210), (232, 226, 206), (112, 142, 104), (148, 150, 84)),
    "Lake": ((92, 140, 196), (206, 222, 232), (76, 104, 108), (66, 126, 150)),
    "Market": ((172, 168, 176), (232, 214, 188), (150, 98, 84), (170, 128, 92)),
    "Mountain": ((54, 92, 150), (190, 206, 226), (128, 134, 148), (208, 214, 222)),
}
REPEATED, REPEAT_AS = "Lake", "Zoo trip (copy)"


def _column(length: int, low: int, high: int) -> bytes:
    return bytes(low + (high - low) * row // max(1, length - 1) for row in range(length))


def draw(place: str, chance: random.Random) -> Picture:
    """Return one picture of a place; the same state of `chance` draws the same."""
    above, below, far, ground = PLACES[place]
    phases = [chance.uniform(0, 2 * math.pi) for _ in range(4)]
    steep = chance.uniform(16, 40)
    horizon = chance.randint(HEIGHT * 5 // 10, HEIGHT * 6 // 10)
    sun_x, sun_y, sun_r = chance.randint(40, WIDTH - 40), chance.randint(30, horizon - 60), chance.randint(12, 22)
    shift = chance.randint(-18, 18)
    planes = [bytearray(WIDTH * HEIGHT) for _ in range(3)]
    skies = [_column(HEIGHT, above[channel], below[channel]) for channel in range(3)]
    for x in range(WIDTH):
        ridge = int(horizon - steep * (1 + math.sin(x / 47 + phases[0]) * 0.7 + math.sin(x / 19 + phases[1]) * 0.3))
        shore = int(horizon + 8 + 5 * math.sin(x / 31 + phases[2]) + 3 * math.sin(x / 11 + phases[3]))
        half = math.isqrt(max(0, sun_r * sun_r - (x - sun_x) ** 2))
        for channel, plane in enumerate(planes):
            sky = bytearray(skies[channel])
            if half:
                sky[sun_y - half : sun_y + half] = bytes((250, 238, 196)[channel : channel + 1]) * (2 * half)
            hill = max(0, min(235, far[channel] + shift))
            near = _column(HEIGHT - shore, min(235, ground[channel] + 24), ground[channel] // 2)
            plane[x::WIDTH] = bytes(sky[:ridge]) + bytes([hill]) * (shore - ridge) + near
    pixels = bytearray(3 * WIDTH * HEIGHT)
    for channel, plane in enumerate(planes):
        pixels[channel::3] = plane
    return Picture(WIDTH, HEIGHT, _grain(bytes(pixels), chance))


def _grain(pixels: bytes, chance: random.Random) -> bytes:
    """Lay film grain of three bits over a picture; all bytes at once, as two large numbers."""
    faint = chance.randbytes(len(pixels)).translate(bytes(value & 7 for value in range(256)))
    base = pixels.translate(bytes(min(value, 248) for value in range(256)))
    total = int.from_bytes(base, "little") + int.from_bytes(faint, "little")
    return total.to_bytes(len(pixels), "little")


def paths() -> list[str]:
    """Return the paths of all pictures, relative to their folder."""
    return [name for place in PLACES for number in range(1, EACH + 1) for name in _names_of(place, number)]


def _names_of(place: str, number: int) -> list[str]:
    first = f"{place}/{place.lower()}-{number}.png"
    return [first, f"{REPEAT_AS}/copy of {place.lower()}-{number}.png"] if place == REPEATED else [first]


def draw_all(folder: Path, seed: int) -> int:
    """Write the folders and return the number of bytes; the same seed writes the same files."""
    total = 0
    for place in PLACES:
        for number in range(1, EACH + 1):
            chance = random.Random(f"{seed}/{place}/{number}")  # noqa: S311 - drawing, not secrets
            data = encode(draw(place, chance), level=1)
            for name in _names_of(place, number):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                total += len(data)
    return total


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="demo_pictures", description="Draw the pictures of the sample.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    size = draw_all(options.folder, options.seed)
    sys.stdout.write(f"{(len(PLACES) + 1) * EACH} pictures, {size} bytes, in {options.folder}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
