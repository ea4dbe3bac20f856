"""Text of files in an encoding that is known: bytes that do not fit it are refused, never replaced.

A byte order mark (BOM) at the begin of a file names its encoding and is no part of the text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

NAMES: Final = frozenset(
    (
        *("utf-8", "utf-16", "latin-1", "cp437", "cp850", "koi8-r"),
        *(f"windows-{number}" for number in range(1250, 1259)),
        *(f"iso-8859-{number}" for number in range(1, 17) if number != 12),
    )
)
"""The encodings that a call names. A codec of Python that is no encoding of text is none of them."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_WEB_CODECS: Final = {
    "": "utf-8",
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "iso-8859-1": "windows-1252",
    "latin1": "windows-1252",
    "windows-1252": "windows-1252",
    "iso-8859-15": "iso-8859-15",
    "utf-16": "utf-16",
}
"""The codecs of charsets, by name as browsers take them. A server names no other codec of Python."""
GUESS: Final = "guess"
"""UTF-8 where the beginning of the file is some, else the encoding of programs of Windows in Western Europe."""
_GUESSED_BYTES: Final = 1024 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_PARTS_MOST: Final = 4
"""A character has at most so many bytes in each of the encodings."""


class Part(NamedTuple):
    """The text of a part of a file. `encoding` is `utf-8-sig` for UTF-8 after a byte order mark."""

    text: str
    encoding: str
    next_offset: int


def read_part(file: BinaryIO, path: str, offset: int, limit: int, encoding: str) -> Part:
    """Return the text from `offset` on, whole characters only: the last one is read to its end.

    Raises:
        ToolFailed: the encoding is not known, or the bytes are no text in it.
    """
    if encoding == GUESS:
        encoding = _guessed(file)
    if encoding not in NAMES:
        reason = f"{quoted(encoding[:40])} is no encoding that is known here: {GUESS}, {', '.join(sorted(NAMES))}"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    mark, name, codec = _encoding_of(file, encoding)
    start = max(offset, len(mark))
    file.seek(start)
    data = file.read(max(limit - (start - offset), 0))
    skipped = _rest_of_character(data, codec) if offset > len(mark) else 0
    if b"\x00" in data and not codec.startswith("utf-16"):
        raise ToolFailed(Code.TOOL_FAILED, f"{path} is not a text file; hand it on with artifact.put", effect=False)
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        text = decoder.decode(data[skipped:])
        for _ in range(_PARTS_MOST):
            if not decoder.getstate()[0]:
                break
            more = file.read(1)
            data += more
            text += decoder.decode(more, final=not more)
    except UnicodeDecodeError as error:
        at = start + len(data) - len(error.object) + error.start
        raise ToolFailed(
            Code.TOOL_FAILED, _reason(path, encoding, error.object[error.start], at), effect=False
        ) from error
    return Part(text, name, start + len(data))


def text_of_web(data: bytes, charset: str) -> str | None:
    """Return an answer's text in the charset that its header names, UTF-8 without one; None where it does not fit."""
    codec = "utf-8" if data.startswith(codecs.BOM_UTF8) else _WEB_CODECS.get(charset.lower())
    try:
        return None if codec is None else data.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None


def first_fault(context: ToolContext, path: Path) -> tuple[int, int] | None:
    """Return the value and the place of the first byte that is no UTF-8 in a file, or None."""
    decoder, at = codecs.getincrementaldecoder("utf-8")(), 0
    with plain(path, "reading"), context.files.open(path) as file:
        while True:
            data = file.read(_CHUNK_BYTES)
            try:
                decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                return error.object[error.start], at + len(data) - len(error.object) + error.start
            if not data:
                return None
            at += len(data)


def no_text(context: ToolContext, paths: Iterable[Path]) -> str:
    """Return a sentence on the first of these files that is no UTF-8, with the way to read it; empty if all are."""
    for path in paths:
        fault = first_fault(context, path)
        if fault is not None:
            return (
                f"{path.name} is no UTF-8: byte 0x{fault[0]:02x} at {fault[1]}. "
                'Open it with encoding="windows-1252", or with the encoding that it has'
            )
    return ""


def _guessed(file: BinaryIO) -> str:
    """Return the encoding by the beginning of a file, so that each part of it is read in the same one."""
    file.seek(0)
    head = file.read(_GUESSED_BYTES)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "windows-1252"
    return "utf-8"


def _encoding_of(file: BinaryIO, encoding: str) -> tuple[bytes, str, str]:
    """Return the mark of a file, the name of its encoding, and of the codec."""
    file.seek(0)
    head = file.read(3)
    if encoding in ("utf-8", "utf-16"):
        for mark, name, codec in _MARKS:
            if head.startswith(mark):
                return mark, name, codec
    return b"", encoding, "utf-16-le" if encoding == "utf-16" else encoding


def _rest_of_character(data: bytes, codec: str) -> int:
    """Return how many bytes at the begin of a part belong to a character that began before it."""
    if codec != "utf-8":
        return 0
    rest = 0
    while rest < min(len(data), _PARTS_MOST - 1) and data[rest] & 0xC0 == 0x80:
        rest += 1
    return rest


def _reason(path: str, encoding: str, byte: int, at: int) -> str:
    if encoding == "utf-8":
        way = "Read it with `encoding: guess`, or the encoding that it has"
    else:
        way = "Name the encoding that it has"
    return f"{path} is no {encoding}: byte 0x{byte:02x} at {at}. {way}, or hand over the file itself (artifact.put)"
