"""The removal of known values from texts: as they are, and as they appear in JSON, URLs, base64, hex and listings.

Upper and lower case, base32 and UTF-16 (also in base64, as PowerShell has it) are among the forms. Pure; the agent uses
it before anything leaves a device, the hub once more for everything that arrives. It finds a value that was copied or
encoded whole, not one that was cut, reversed or encrypted on purpose: against those a secret is limited to named
devices and tools. A form costs one search of a text, and a value has about 80.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable
from typing import Any, Final

import msgspec

MASK: Final = "***"
_LINE_CHARS_LEAST: Final = 8
_CORE_CHARS_LEAST: Final = 8
_CASE_CHARS_LEAST: Final = 4
FORMS_BYTES_MOST: Final = 16 * 1024
"""A longer value is not looked for in other cases, in base32 and in UTF-16, so that its forms stay small."""
_WIDE: Final = ("utf-16-le", "utf-16-be")
_GLANCE_CHARS: Final = 16


class Scrubber:
    """Replaces every form of the given values by `***`. Empty values are passed over; false if there is none."""

    def __init__(self, values: Iterable[str]) -> None:
        forms: dict[str, None] = {}
        raw: dict[bytes, None] = {}
        for value in values:
            for form in forms_of(value):
                forms[form] = None
            if value and len(value) <= FORMS_BYTES_MOST:
                raw |= dict.fromkeys(value.encode(codec) for codec in _WIDE)
        # The longest first, so that the rest of a longer one never shows.
        self.forms: tuple[str, ...] = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self.form_chars_max = len(self.forms[0]) if self.forms else 0
        self._raw = (*(form.encode() for form in self.forms), *raw)

    def __bool__(self) -> bool:
        return bool(self.forms)

    def text(self, text: str) -> str:
        """Return a text without the values."""
        # Separate searches are many times faster than one pattern of all forms, and most texts contain none.
        present = [form for form in self.forms if form in text]
        return re.sub("|".join(map(re.escape, present)), MASK, text) if present else text

    def finds(self, data: bytes) -> bool:
        """Whether bytes hold one of the values in any form."""
        return any(form in data for form in self._raw)

    def value(self, value: Any) -> Any:
        """Return a JSON value without the values: texts, keys, and numbers that spell one."""
        if not self.forms:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if self.text(str(value)) == str(value) else MASK
        return value

    def held_back(self, text: str) -> int:
        """Return where a tail begins that could become a value when more text follows; the length if none does."""
        cut = len(text)
        for form in self.forms:
            at = text.find(form[0], max(0, len(text) - len(form) + 1), cut)
            while at >= 0:
                if form.startswith(text[at : at + _GLANCE_CHARS]) and form.startswith(text[at:]):
                    cut = at
                    break
                at = text.find(form[0], at + 1, cut)
        return cut


class Stream:
    """A text that comes in parts: a possible beginning of a value is held back until more text follows."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._unread = ""

    def take(self, text: str, *, final: bool = False) -> str:
        """Return the text that can be passed on now. With `final` no text is held back."""
        text = self._scrubber.text(self._unread + text)
        cut = len(text) if final else self._scrubber.held_back(text)
        self._unread = text[cut:]
        return text[:cut]


def forms_of(value: str) -> Iterable[str]:
    """Yield a value and its forms in the usual encodings."""
    if not value:
        return
    yield value
    stripped = value.strip()
    if stripped:
        yield stripped
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE_CHARS_LEAST)
    for whole in dict.fromkeys((value, stripped)):
        if whole:
            yield from _forms_of(whole)


def _forms_of(value: str) -> Iterable[str]:
    yield msgspec.json.encode(value).decode()[1:-1]
    yield json.dumps(value)[1:-1]
    yield value.encode("ascii", "backslashreplace").decode().replace("\n", "\\n").replace("\t", "\\t")
    yield repr(value)[1:-1]
    yield urllib.parse.quote(value, safe="")
    yield urllib.parse.quote(value)
    yield urllib.parse.quote_plus(value)
    raw = value.encode()
    yield from _encoded(raw)
    if len(raw) > FORMS_BYTES_MOST:
        return
    yield from _base32_cores(raw)
    if len(value) >= _CASE_CHARS_LEAST:
        yield from (value.lower(), value.upper(), value.swapcase(), value.capitalize(), value.title())
    for codec in _WIDE:
        wide = value.encode(codec)
        yield from _encoded(wide)
        yield from _base32_cores(wide)
        # UTF-16 output of a program is read here as UTF-8, or byte for byte.
        for read in (wide.decode("utf-8", "replace"), wide.decode("latin-1")):
            if read.strip("\0"):
                yield read.strip("\0")


def _encoded(raw: bytes) -> Iterable[str]:
    if len(raw) >= _CORE_CHARS_LEAST // 2:
        yield raw.hex()
        yield raw.hex().upper()
    for before in range(3):
        core = _base64_core(raw, before)
        if len(core) >= _CORE_CHARS_LEAST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _base32_cores(raw: bytes) -> Iterable[str]:
    """Yield the parts of base32 texts that depend on these bytes alone, wherever they begin in a group of five."""
    for before in range(5):
        text = base64.b32encode(b"\0" * before + raw).decode()
        core = text[-(-before * 8 // 5) : (before + len(raw)) * 8 // 5]
        if len(core) >= _CORE_CHARS_LEAST:
            yield core
            yield core.lower()


def _base64_core(raw: bytes, before: int) -> str:
    """Return the part of a base64 text that depends on these bytes alone, where `before` bytes (mod 3) precede them."""
    text = base64.b64encode(b"\0" * before + raw).decode()
    first = (0, 2, 3)[before]
    over = (before + len(raw)) % 3
    last = len(text) - (0, 3, 2)[over]
    return text[first:last]
