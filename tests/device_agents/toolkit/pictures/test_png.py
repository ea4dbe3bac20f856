"""The PNG codec: what it writes it reads, every filter and colour type, and nothing damaged passes."""

from __future__ import annotations

import struct
import zlib
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_agent.toolkit.pictures.png import SIGNATURE, NotReadable, Picture, decode, encode, size_of

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    width, height = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    size = 3 * width * height
    return Picture(width, height, draw(st.binary(min_size=size, max_size=size)))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(line: bytes, above: bytes, step: int, kind: int) -> bytes:
    """Filter a line as the specification says, written apart from the codec."""
    out = bytearray()
    for index, value in enumerate(line):
        left = line[index - step] if index >= step else 0
        up = above[index]
        corner = above[index - step] if index >= step else 0
        estimate = left + up - corner
        paeth = min((left, up, corner), key=lambda near: (abs(estimate - near),))
        out.append((value - (0, left, up, (left + up) // 2, paeth)[kind]) % 256)
    return bytes(out)


def png_of(width: int, height: int, colour: int, raw: bytes, kinds: list[int], *, extra: bytes = b"") -> bytes:
    step = CHANNELS[colour]
    stride, above, body = width * step, bytes(width * step), b""
    for row in range(height):
        line = raw[row * stride : (row + 1) * stride]
        kind = kinds[row % len(kinds)]
        body += bytes([kind]) + filtered(line, above, step, kind)
        above = line
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


@given(pictures())
def test_what_is_written_is_read_again(picture: Picture) -> None:
    data = encode(picture)
    assert decode(data) == picture
    assert size_of(data) == (picture.width, picture.height)


@given(st.data(), st.integers(1, 9), st.integers(1, 9), st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_every_filter_is_undone(data: st.DataObject, width: int, height: int, kinds: list[int]) -> None:
    raw = data.draw(st.binary(min_size=3 * width * height, max_size=3 * width * height))
    assert decode(png_of(width, height, 2, raw, kinds)).pixels == raw


@pytest.mark.parametrize(("colour", "kind"), list(product((0, 4, 6), range(5))))
def test_grey_and_transparent_pictures_are_laid_over_white(colour: int, kind: int) -> None:
    raw = {0: bytes([0, 128, 255, 7]), 4: bytes([0, 255, 0, 0, 50, 255, 255, 128])}.get(
        colour, bytes([1, 2, 3, 255, 9, 9, 9, 0, 0, 0, 0, 255, 5, 6, 7, 255])
    )
    wanted = {
        0: bytes([0, 0, 0, 128, 128, 128, 255, 255, 255, 7, 7, 7]),
        4: bytes([0, 0, 0, 255, 255, 255, 50, 50, 50, 255, 255, 255]),
        6: bytes([1, 2, 3, 255, 255, 255, 0, 0, 0, 5, 6, 7]),
    }
    assert decode(png_of(2, 2, colour, raw, [kind])).pixels == wanted[colour]


def test_a_palette_gives_its_colours_and_its_transparency() -> None:
    extra = chunk(b"PLTE", bytes([10, 20, 30, 40, 50, 60])) + chunk(b"tRNS", bytes([255, 0]))
    found = decode(png_of(2, 1, 3, bytes([0, 1]), [0], extra=extra))
    assert found.pixels == bytes([10, 20, 30, 255, 255, 255])


def test_a_colour_beyond_the_palette_is_damage() -> None:
    data = png_of(2, 1, 3, bytes([0, 9]), [0], extra=chunk(b"PLTE", bytes([10, 20, 30])))
    with pytest.raises(NotReadable, match="colour that its palette lacks"):
        decode(data)


@given(pictures(), st.data())
def test_a_changed_or_cut_file_never_passes(picture: Picture, data: st.DataObject) -> None:
    whole = encode(picture)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(NotReadable):
        decode(whole[:cut])
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(NotReadable):
        decode(bytes(changed))


def test_what_is_not_supported_is_named() -> None:
    def head(*values: int) -> bytes:
        return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", *values)) + chunk(b"IEND", b"")

    for data, words in (
        (b"\xff\xd8\xff\xe0", "not a PNG"),
        (head(4, 4, 16, 2, 0, 0, 0), "16 bits"),
        (head(4, 4, 8, 2, 0, 0, 1), "interlaced"),
        (head(60_000, 60_000, 8, 2, 0, 0, 0), "at most"),
        (head(4, 4, 8, 2, 0, 0, 0), "no picture"),
    ):
        with pytest.raises(NotReadable, match=words):
            decode(data)


def test_pixels_that_do_not_fill_the_picture_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fill"):
        encode(Picture(2, 2, b"123"))
