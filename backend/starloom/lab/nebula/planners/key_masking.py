"""The masking of a model's own keys in everything that a run keeps: its recordings, its report, its log. Pure.

A key is replaced in each form in which it may be written, and looked for once more by decoding, which knows no list of
forms. A text that still holds it is not kept.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from starloom_protocol.text.scrubbing import Scrubber

KEY_CHARS_LEAST: Final = 4
"""A shorter key is a part of many words, so that no mask of it is possible."""
_DEPTH: Final = 2
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){4,}")
_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_BETWEEN: Final = re.compile(r"(?:\\[nrt]|[\s\"'`,+\\])+")


class KeyMask:
    """Replaces keys by `***`. Keys that are too short to be masked are in `short`."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        distinct = [key for key in dict.fromkeys(keys) if key]
        self.short = tuple(key for key in distinct if len(key) < KEY_CHARS_LEAST)
        self._keys = tuple(key for key in distinct if len(key) >= KEY_CHARS_LEAST)
        self._scrubber = Scrubber(self._keys)

    def text(self, text: str) -> str:
        """Return a text without the keys."""
        return self._scrubber.text(text)

    def value(self, value: Any) -> Any:
        """Return a JSON value without the keys."""
        return self._scrubber.value(value)

    def left_in(self, text: str) -> str:
        """Return the encoding in which a text still holds a key; empty where it holds none."""
        # A text in parts has lost the signs between them, which a key may have as well.
        forms = {form for key in self._keys for form in (key, _BETWEEN.sub("", key))}
        folded = [form.casefold() for form in forms if len(form) >= KEY_CHARS_LEAST]
        for how, read in _readings(text, _DEPTH) if folded else ():
            seen = read.casefold()
            if any(key in seen or key[::-1] in seen for key in folded):
                return how
        return ""


def _readings(text: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield a text as it may be read, each with the way to read it so."""
    yield "as it is", text
    if not depth:
        return
    for how, read in _READERS.items():
        reading = read(text)
        if reading and reading != text:
            for further, inner in _readings(reading, depth - 1):
                yield (how if further == "as it is" else f"{how}, {further}"), inner


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    return plain.replace("\\", "")


def _from_base64(text: str) -> str:
    """Return all that runs of base64 say, wherever the key begins in them."""
    texts = []
    for run in _RUN.findall(text):
        letters = run.replace("-", "+").replace("_", "/")
        for start in range(4):
            whole = letters[start : start + (len(letters) - start) // 4 * 4]
            texts.append(_decoded(base64.b64decode, whole))
            texts.append(_decoded(base64.b64decode, letters[start:] + "=" * (-len(letters[start:]) % 4)))
    return "\n".join(texts)


def _from_hex(text: str) -> str:
    return "\n".join(_decoded(bytes.fromhex, run) for run in _HEX.findall(text))


def _decoded(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode(text).decode("latin-1")
    except (ValueError, binascii.Error):
        return ""


_READERS: Final[dict[str, Callable[[str], str]]] = {
    "in a URL": urllib.parse.unquote,
    "in HTML": html.unescape,
    "escaped": _unescaped,
    "as base64": _from_base64,
    "as hex": _from_hex,
    "in parts": lambda text: _BETWEEN.sub("", text),
}
