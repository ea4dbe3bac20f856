"""Makes a picture smaller by averaging a few samples of each box; pure, bounded work whatever the source's size."""

from __future__ import annotations

from operator import itemgetter

from starloom_agent.toolkit.pictures.png import Picture

_SAMPLES = 4
"""In each direction: sixteen pixels of the source make one, however large the source is."""


def fitted(width: int, height: int, longest_px: int) -> tuple[int, int]:
    """Return the size with the same proportions whose longer side is at most `longest_px`; never larger."""
    longest = max(width, height)
    if longest <= longest_px:
        return width, height
    return max(1, round(width * longest_px / longest)), max(1, round(height * longest_px / longest))


def _samples(size: int, parts: int) -> list[list[int]]:
    """Return, for each of `_SAMPLES` rounds, one source position in each of `parts` equal boxes."""
    rounds = min(_SAMPLES, max(1, size // parts))
    return [
        [(2 * (part * rounds + turn) + 1) * size // (2 * rounds * parts) for part in range(parts)]
        for turn in range(rounds)
    ]


def shrink(picture: Picture, longest_px: int) -> Picture:
    """Return the picture fitted into `longest_px`; the same one if it is small enough."""
    width, height = fitted(picture.width, picture.height, longest_px)
    if (width, height) == (picture.width, picture.height):
        return picture
    stride = picture.width * 3
    pickers = [
        itemgetter(*(3 * x + channel for x in columns for channel in range(3)))
        for columns in _samples(picture.width, width)
    ]
    row_rounds = _samples(picture.height, height)
    count = len(pickers) * len(row_rounds)
    out = bytearray()
    for y in range(height):
        lines: list[tuple[int, ...]] = []
        for rows in row_rounds:
            start = rows[y] * stride
            line = picture.pixels[start : start + stride]
            lines.extend(pick(line) for pick in pickers)
        out += bytes(total // count for total in map(sum, zip(*lines, strict=True)))
    return Picture(width, height, bytes(out), picture.profile)
