"""Reads the documents: fenced blocks with what is said about them, links, and commands that texts name.

A block is opened by ``` and a language; after it may stand `exit=N` (the exit code that is right), `skip=WHY` (not run,
by one of the reasons of the test), `device` (typed on a device) or `plan` (a plan to be checked).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.arch.checkout import ROOT, files, named

AT_THE_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
WRITTEN_BY_PROGRAMS = frozenset(
    {
        "docs/tools.md",
        "docs/errors.md",
        "docs/benchmarks.md",
        "docs/recipes.md",
        "docs/states.md",
        "docs/nebula-lures.md",
    }
)

_FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block and where it stands."""

    place: str
    language: str
    flags: frozenset[str]
    text: str

    def value(self, name: str) -> str:
        """Return what `name=` says, or nothing."""
        return next((flag.partition("=")[2] for flag in self.flags if flag.startswith(name + "=")), "")


def documents() -> list[Path]:
    """Return what people read."""
    return [*(ROOT / name for name in AT_THE_ROOT), *files(".md", under="docs")]


def blocks() -> list[Block]:
    """Return every fenced block of what people wrote, in order."""
    found = []
    for path in documents():
        if named(path) in WRITTEN_BY_PROGRAMS:
            continue
        text = path.read_text()
        for match in _FENCE.finditer(text):
            language, *flags = match[1].split() or [""]
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(f"{named(path)}:{line}", language, frozenset(flags), match[2]))
    return found


def links() -> list[tuple[str, str]]:
    """Return (document, target) of every relative link."""
    return [
        (named(path), target.partition("#")[0])
        for path in documents()
        for target in _LINK.findall(path.read_text())
        if "://" not in target and not target.startswith("#")
    ]
