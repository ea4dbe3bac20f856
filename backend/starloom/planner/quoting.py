"""Quoting: a text from outside as one line that can neither end a fence nor turn the direction of reading. Pure.

Owns the escapes that stand between the texts of devices and a prompt or a preview. It knows no tool and no prompt.
"""

from __future__ import annotations

import json
from typing import Final

_BREAKING: Final = (0x60, *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_ESCAPED: Final = {sign: f"\\u{sign:04x}" for sign in _BREAKING}
_UNREAD: Final = {sign: escape for sign, escape in _ESCAPED.items() if sign != 0x60} | {
    sign: f"\\u{sign:04x}" for sign in range(0x20)
}
"""Signs that no line of a fence has; a single backtick marks what is typed."""


def quoted(text: str, most: int = 120) -> str:
    """Return a text from outside as one JSON string without backticks."""
    cut = text if len(text) <= most else text[: most - 3] + "..."
    return within_a_line(json.dumps(cut, ensure_ascii=False))


def within_a_line(text: str) -> str:
    """Return JSON with its signs that could end a fence or a line, or turn the direction of reading, as escapes."""
    return text.translate(_ESCAPED)


def in_a_fence(text: str, most: int = 2_000) -> str:
    """Return a text of the hub that may repeat names and words of strangers as one line that ends no fence."""
    line = " ".join(text.split()).replace("```", "'''").translate(_UNREAD)
    return line if len(line) <= most else line[: most - 3] + "..."


def plain(text: str, most: int = 120) -> str:
    """Return a text from outside as one line of words, without quotes or backticks."""
    return quoted(" ".join(text.replace("`", "'").split()), most)[1:-1].replace('\\"', "'")
