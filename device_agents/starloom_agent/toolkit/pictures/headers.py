"""Reads the size of a picture, and the small preview that cameras put into a JPEG, from its first bytes alone."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from starloom_agent.toolkit.pictures import png

_SIZES_IN = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xf0-\xfd\xff]")
"""A marker with a length after it, and the end; in the data of a scan 0xFF stands before 0x00 or is a restart."""
_SCAN, _END = 0xDA, 0xD9
SCANS_MOST = 100
_PARTS_MOST = 4096
"""Parts before the first scan; a colour profile has up to 255."""
_BETWEEN_BYTES_MOST = 64 * 1024
"""Bytes between these parts, of which a picture has none, or some to fill up."""
HEAD_BYTES = 512 * 1024
"""More than the parts before the picture data, the preview of a camera among them (64 KiB each)."""


@dataclass(frozen=True)
class Measured:
    kind: str
    width: int
    height: int


def measure(data: bytes) -> Measured | None:
    """Return kind and size of a PNG, JPEG, GIF or BMP from its head, or None for anything else."""
    if data.startswith(png.SIGNATURE):
        try:
            return Measured("png", *png.size_of(data))
        except png.NotReadable:
            return None
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return Measured("gif", *struct.unpack("<HH", data[6:10]))
    if data[:2] == b"BM" and len(data) >= 26:
        width, height = struct.unpack("<ii", data[18:26])
        return Measured("bmp", width, abs(height))
    if data[:2] == b"\xff\xd8":
        return _measure_jpeg(data)
    return None


def _segments(data: bytes) -> list[tuple[int, bytes]]:
    """Return the marker segments before a JPEG's picture data."""
    segments: list[tuple[int, bytes]] = []
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        if marker == 0xDA or marker == 0xD9:
            break
        (length,) = struct.unpack(">H", data[position + 2 : position + 4])
        segments.append((marker, data[position + 4 : position + 2 + length]))
        position += 2 + length
    return segments


def scans_of(data: bytes) -> int:
    """Return how often a JPEG goes over its pixels, counted to one more than any camera or program makes it do.

    A scan of some bytes takes as long as one of some megabytes, so a small file could keep a decoder for days. None
    counts behind a head that is none: a decoder looks at that byte by byte.
    """
    position, scans, parts, between = 2, 0, 0, 0
    while scans <= SCANS_MOST and (match := _MARKER.search(data, position)):
        if not scans:
            parts, between = parts + 1, between + match.start() - position
        position, marker = match.end(), data[match.end() - 1]
        if marker == _END or parts > _PARTS_MOST or between > _BETWEEN_BYTES_MOST:
            break
        scans += marker == _SCAN
        position += int.from_bytes(data[position : position + 2], "big")
    return scans


def _measure_jpeg(data: bytes) -> Measured | None:
    for marker, body in _segments(data):
        if marker in _SIZES_IN and len(body) >= 5:
            height, width = struct.unpack(">HH", body[1:5])
            return Measured("jpeg", width, height)
    return None


def jpeg_preview(data: bytes) -> bytes | None:
    """Return the preview JPEG that a camera stored in the EXIF part, or None where there is none."""
    for marker, body in _segments(data):
        if marker == 0xE1 and body.startswith(b"Exif\x00\x00"):
            try:
                return _exif_preview(body[6:])
            except struct.error:
                return None
    return None


def _exif_preview(tiff: bytes) -> bytes | None:
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return None
    (first,) = struct.unpack(order + "I", tiff[4:8])
    (count,) = struct.unpack(order + "H", tiff[first : first + 2])
    after = first + 2 + 12 * count
    (second,) = struct.unpack(order + "I", tiff[after : after + 4])
    if not second:
        return None
    (count,) = struct.unpack(order + "H", tiff[second : second + 2])
    values: dict[int, int] = {}
    for index in range(count):
        start = second + 2 + 12 * index
        tag, _, _, value = struct.unpack(order + "HHII", tiff[start : start + 12])
        values[tag] = value
    start, length = values.get(0x0201, 0), values.get(0x0202, 0)
    preview = tiff[start : start + length]
    return preview if length and preview[:2] == b"\xff\xd8" and len(preview) == length else None
