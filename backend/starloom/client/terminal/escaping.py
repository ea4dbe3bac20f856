"""Texts of others on a terminal: control characters, and those that it cannot show, are escaped."""

from __future__ import annotations

import codecs
import io
import json
import sys
from typing import Final

from starloom_protocol.text.wording import escaped

_SPELLED: Final = "starloom_spelled"


def spell_out() -> None:
    """Have output write out what the terminal's encoding lacks, as JSON writes it, so that JSON stays JSON."""
    codecs.register_error(_SPELLED, _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELLED)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)), error.end


def document_text(document: str) -> str:
    """Return a text of JSON that says the same, without a control character.

    Only a string can have one; JSON itself asks for an escape only below a space.
    """
    if document.replace("\n", "").isprintable():
        return document
    return "".join(sign if sign == "\n" or sign.isprintable() else json.dumps(sign)[1:-1] for sign in document)


def escaped_text(text: str, *, indent: int = 0) -> str:
    """Return a text of several lines, each as `escaped` gives it; tabs stay.

    With an `indent` no line of it but the first looks like one of the product's own.
    """
    lines = ("\t".join(escaped(part) for part in line.split("\t")) for line in text.splitlines())
    return f"\n{' ' * indent}".join(lines)


def escaped_lines(text: str) -> str:
    """Return a text with all its lines, empty ones and the last end of one too, each as `escaped_text` gives it."""
    return "\n".join(escaped_text(line) for line in text.split("\n"))


def write_out(text: str) -> None:
    """Write a text of others as it is into a pipe or a file, and escaped on a terminal."""
    sys.stdout.write(escaped_lines(text) if sys.stdout.isatty() else text)


def tell(line: str) -> None:
    """Print one line with texts of others; a character that controls the terminal or ends the line is escaped."""
    print(escaped(line))
