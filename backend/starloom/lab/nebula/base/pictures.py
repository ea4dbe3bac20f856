"""Small PNGs that differ by seed and number, made with the standard library."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Final

WIDTH: Final = 96
HEIGHT: Final = 64


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(draw: random.Random, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """Return a picture of bands in drawn colours."""
    bands = [bytes(draw.randrange(256) for _ in range(3)) for _ in range(8)]
    rows = b"".join(b"\x00" + bands[y * len(bands) // height] * width for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
