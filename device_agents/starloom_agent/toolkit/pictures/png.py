"""A small PNG codec in plain Python: reads 8-bit grey, RGB, RGBA, grey with alpha and palette pictures that are not
interlaced, writes RGB. Bytes in, bytes out; no files, no other format.

Transparent parts are laid over white, because a contact sheet has no transparency.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

SIGNATURE = b"\x89PNG\r\n\x1a\n"
PIXELS_MOST = 60_000_000
_PARTS_MOST = 250_000
"""Programs write parts of 8 KiB and more, so a picture of 2 GB has as many."""
_INFLATED_AT_ONCE = 1024 * 1024
PROFILE_BYTES_MOST = 256 * 1024
"""Those of cameras and screens have under 4 KiB, those of printers more than this. A small picture without the profile
of its numbers would have other colours."""
PROFILE_TOO_LARGE = f"its colour profile has more than {PROFILE_BYTES_MOST // 1024} KiB"
FRAMES_LOST = "it has the first of several frames or pages alone"
_GREY = frozenset({0, 4})
"""The types whose pictures become RGB here, for which a profile of greys would be wrong."""
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class NotReadable(Exception):
    """These bytes are no PNG that this codec reads; the message says what they are instead."""


@dataclass(frozen=True)
class Picture:
    """`pixels` are rows of RGB bytes from the top left, without gaps; `profile` is the body of its chunk `iCCP`.

    `lost` says what of the file is not in it, as a sentence's second half.
    """

    width: int
    height: int
    pixels: bytes
    profile: bytes = b""
    lost: str = ""


def encode(picture: Picture, *, level: int = 6) -> bytes:
    """Return the bytes of a PNG file.

    Raises:
        ValueError: if the pixels do not fill the picture.
    """
    stride = picture.width * 3
    if picture.width < 1 or picture.height < 1 or len(picture.pixels) != stride * picture.height:
        raise ValueError(f"{len(picture.pixels)} bytes do not fill {picture.width} x {picture.height} pixels")
    raw = bytearray((stride + 1) * picture.height)
    for row in range(picture.height):
        start = row * (stride + 1) + 1
        raw[start : start + stride] = picture.pixels[row * stride : (row + 1) * stride]
    head = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 2, 0, 0, 0)
    profile = [(b"iCCP", picture.profile)] if picture.profile else []
    parts = ((b"IHDR", head), *profile, (b"IDAT", zlib.compress(raw, level)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


@dataclass(frozen=True)
class _Head:
    width: int
    height: int
    colour: int

    @property
    def channels(self) -> int:
        return _CHANNELS[self.colour]


def size_of(data: bytes) -> tuple[int, int]:
    """Return width and height from the head of a PNG.

    Raises:
        NotReadable: if it is none.
    """
    if not data.startswith(SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 24:
        raise NotReadable("it is not a PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def decode(data: bytes) -> Picture:
    """Return the picture in the bytes of a PNG file.

    Raises:
        NotReadable: for another format, an unsupported kind of PNG, a damaged or an overlarge one.
    """
    head: _Head | None = None
    palette = b""
    clear = b""
    profile = b""
    frames = 1
    packed: list[bytes] = []
    for kind, body in _chunks(data):
        if kind == b"IHDR":
            head = _read_head(body)
        elif kind == b"PLTE":
            palette = body
        elif kind == b"tRNS":
            clear = body
        elif kind == b"acTL":
            frames = int.from_bytes(body[:4], "big")
        elif kind == b"iCCP" and head is not None and head.colour not in _GREY:
            profile = body
        elif kind == b"IDAT":
            packed.append(body)
    if head is None or not packed:
        raise NotReadable("the PNG has no picture in it")
    stride = head.width * head.channels
    rows = _unfilter(_inflate(packed, (stride + 1) * head.height), stride, head.channels)
    if len(profile) > PROFILE_BYTES_MOST:
        raise NotReadable(PROFILE_TOO_LARGE)
    pixels = _to_rgb(rows, head, palette, clear)
    lost = [FRAMES_LOST] if frames > 1 else []
    if _is_clear_somewhere(rows, head, clear):
        lost.append("its transparent parts are white")
    return Picture(head.width, head.height, pixels, profile, "; ".join(lost))


def require_whole(data: bytes) -> None:
    """Read a PNG of any kind to its end, without making its picture.

    Raises:
        NotReadable: a part of it is damaged, is missing, or has nothing in it.
    """
    width, height = size_of(data)
    # Four channels of 16 bits, and room for the passes of an interlaced one.
    most = 2 * (8 * width + 1) * height + 1024
    inflater, inflated = zlib.decompressobj(), 0
    try:
        for kind, body in _chunks(data):
            while kind == b"IDAT" and body:
                inflated += len(inflater.decompress(body, _INFLATED_AT_ONCE))
                if inflated > most:
                    raise NotReadable("the PNG is damaged: it holds more than its picture")
                body = inflater.unconsumed_tail
    except zlib.error:
        raise NotReadable("the PNG is damaged: its picture cannot be unpacked") from None
    if not inflated:
        raise NotReadable("the PNG has no picture in it")
    if not inflater.eof:
        raise NotReadable("the PNG is cut off")


def has_all_parts(file: BinaryIO, size: int) -> bool:
    """Tell whether a PNG of this size has each of its parts to its end; what they hold is not read."""
    position = len(SIGNATURE)
    for _ in range(_PARTS_MOST):
        file.seek(position)
        head = file.read(8)
        position += 12 + int.from_bytes(head[:4], "big")
        if len(head) < 8 or position > size:
            return False
        if head[4:] == b"IEND":
            return True
    return False


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise NotReadable("it is not a PNG")
    position = len(SIGNATURE)
    while position + 12 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        kind = data[position + 4 : position + 8]
        body = data[position + 8 : position + 8 + length]
        end = position + 12 + length
        if end > len(data):
            break
        if struct.pack(">I", zlib.crc32(kind + body)) != data[end - 4 : end]:
            raise NotReadable("the PNG is damaged: a part of it does not match its checksum")
        yield kind, body
        if kind == b"IEND":
            return
        position = end
    raise NotReadable("the PNG is cut off")


def _read_head(body: bytes) -> _Head:
    if len(body) != 13:
        raise NotReadable("the PNG has a damaged head")
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
    if colour not in _CHANNELS or depth != 8:
        raise NotReadable(f"it is a PNG with {depth} bits a channel and colour type {colour}; only 8 bits are read")
    if interlace:
        raise NotReadable("it is an interlaced PNG; only plain ones are read")
    if not width or not height or width * height > PIXELS_MOST:
        raise NotReadable(f"it has {width} x {height} pixels; at most {PIXELS_MOST} are read")
    return _Head(width, height, colour)


def _inflate(packed: list[bytes], size: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(b"".join(packed), size)
    except zlib.error as error:
        raise NotReadable(f"the PNG is damaged: {error}") from error
    if len(raw) != size:
        raise NotReadable("the PNG is damaged: it has too few pixels")
    return raw


def _add_rows(a: bytes, b: bytes) -> bytes:
    """Add two rows byte by byte, modulo 256, as two big numbers: carries between bytes are kept out by the mask."""
    size = len(a)
    low = int.from_bytes(b"\x7f" * size, "little")
    x, y = int.from_bytes(a, "little"), int.from_bytes(b, "little")
    return (((x & low) + (y & low)) ^ ((x ^ y) & ~low & ((1 << 8 * size) - 1))).to_bytes(size, "little")


def _unfilter(raw: bytes, stride: int, step: int) -> list[bytes]:
    rows: list[bytes] = []
    above = bytes(stride)
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], raw[start + 1 : start + 1 + stride]
        match kind:
            case 0:
                row = line
            case 1:
                row = _unfilter_sub(line, step)
            case 2:
                row = _add_rows(line, above)
            case 3:
                row = _unfilter_average(line, above, step)
            case 4:
                row = _unfilter_paeth(line, above, step)
            case _:
                raise NotReadable(f"the PNG is damaged: it has the unknown filter {kind}")
        rows.append(row)
        above = row
    return rows


def _unfilter_sub(line: bytes, step: int) -> bytes:
    row = bytearray(line)
    for index in range(step, len(row)):
        row[index] = (row[index] + row[index - step]) & 255
    return bytes(row)


def _unfilter_average(line: bytes, above: bytes, step: int) -> bytes:
    row = bytearray(line)
    for index in range(len(row)):
        left = row[index - step] if index >= step else 0
        row[index] = (row[index] + (left + above[index] >> 1)) & 255
    return bytes(row)


def _unfilter_paeth(line: bytes, above: bytes, step: int) -> bytes:
    row = bytearray(line)
    for index in range(step):
        row[index] = (row[index] + above[index]) & 255
    for index in range(step, len(row)):
        left, up, corner = row[index - step], above[index], above[index - step]
        by_left, by_up = up - corner, left - corner
        by_corner = abs(by_left + by_up)
        by_left, by_up = abs(by_left), abs(by_up)
        near = left if by_left <= by_up and by_left <= by_corner else up if by_up <= by_corner else corner
        row[index] = (row[index] + near) & 255
    return bytes(row)


def _is_clear_somewhere(rows: list[bytes], head: _Head, clear: bytes) -> bool:
    """Tell whether a pixel lets through what lies behind it, as far as `_to_rgb` looks at that."""
    if head.colour in (4, 6):
        return any(min(row[head.channels - 1 :: head.channels]) < 255 for row in rows)
    see_through = bytes(number for number, alpha in enumerate(clear) if alpha < 255) if head.colour == 3 else b""
    return any(row.translate(None, see_through) != row for row in rows)


def _over_white(value: bytes, alpha: bytes) -> bytes:
    if alpha.count(255) == len(alpha):
        return value
    return bytes((v * a + 255 * (255 - a) + 127) // 255 for v, a in zip(value, alpha, strict=True))


def _interleave(red: bytes, green: bytes, blue: bytes) -> bytes:
    out = bytearray(3 * len(red))
    out[0::3], out[1::3], out[2::3] = red, green, blue
    return bytes(out)


def _to_rgb(rows: list[bytes], head: _Head, palette: bytes, clear: bytes) -> bytes:
    raw = b"".join(rows)
    match head.colour:
        case 2:
            return raw
        case 0:
            return _interleave(raw, raw, raw)
        case 4:
            grey = _over_white(raw[0::2], raw[1::2])
            return _interleave(grey, grey, grey)
        case 6:
            alpha = raw[3::4]
            return _interleave(*(_over_white(raw[channel::4], alpha) for channel in range(3)))
        case _:
            return _from_palette(raw, palette, clear)


def _from_palette(raw: bytes, palette: bytes, clear: bytes) -> bytes:
    count = len(palette) // 3
    if not count or max(raw) >= count:
        raise NotReadable("the PNG is damaged: it names a colour that its palette lacks")
    alpha = clear[:count].ljust(count, b"\xff")
    tables = [_over_white(palette[channel : 3 * count : 3], alpha).ljust(256, b"\x00") for channel in range(3)]
    return _interleave(*(raw.translate(table) for table in tables))
