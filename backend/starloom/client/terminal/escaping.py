"""Texts of others on a terminal: signs that would steer it are written out."""

from __future__ import annotations


def escaped_text(text: str) -> str:
    """Return a text of several lines, each as `escaped` gives it; tabs stay."""
    return "\n".join("\t".join(escaped(part) for part in line.split("\t")) for line in text.splitlines())


def tell(line: str) -> None:
    """Print one line with texts of others; a sign that steers the terminal, or ends the line, is written out."""
    print(escaped(line))


def escaped(text: str) -> str:
    """Return a line of a model, a device or a file without a sign that moves or colours the terminal."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
