"""The notes of decisions: one form, one index, no reference to a note that is not there, none by a number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arch.checkout import ROOT, files, named

NOTES = ROOT / "docs/decisions"
SECTIONS = ["Context", "Decision", "Alternatives that were tried", "Consequences", "Where it is shown"]
BYTES_MOST = 95_000
"""A stranger reads the notes in an hour. A longer set has a subject that belongs into a page of the user."""
LEAST_READ = 1_000
"""Fewer files would mean that the search looks in the wrong place."""
ACCENT = json.loads((ROOT / "tests/arch/accents.json").read_text(encoding="utf-8"))["an accent of the old house"]
_NAMED = re.compile(r"decisions/([\w.-]*\w)")
_BY_NUMBER = re.compile(r"\b[Dd]ecisions? \[?\d{1,4}\b|\bdecisions/\d{4}")
_ROW = re.compile(r"^\| \[[\w-]+\]\(([\w-]+\.md)\) \| (.+) \|$", re.MULTILINE)
_MODULE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|ts|json))`")
_SHOWN = re.compile(r"`(?:tests/|frontend/src/|make |starloom |python )")


def notes() -> list[Path]:
    return [path for path in files(".md", under="docs/decisions") if path.name != "README.md"]


def readable() -> Iterator[tuple[Path, str]]:
    """Yield every file in which a person may name a decision."""
    for path in files(".md", ".py", ".ts", ".tsx", ".mjs", ".toml", ".yaml", ".yml", ".sh"):
        if path != Path(__file__).resolve():
            yield path, path.read_text(encoding="utf-8")
    yield ROOT / "Makefile", (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", notes(), ids=lambda path: path.stem)
def test_a_note_has_its_sections_in_order(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert not re.search(ACCENT, text)
    assert not re.search(r"\d", path.name), "a note is found by its subject"


@pytest.mark.parametrize("path", notes(), ids=lambda path: path.stem)
def test_each_promise_of_a_note_names_its_proof(path: Path) -> None:
    shown = path.read_text(encoding="utf-8").partition(f"## {SECTIONS[-1]}\n")[2]
    rows = [line for line in shown.splitlines() if line.startswith("| ")][1:]
    assert rows
    assert [row for row in rows if not _SHOWN.search(row)] == []


def test_every_module_that_a_note_names_exists() -> None:
    there = [f"/{named(path)}" for path in files(".py", ".ts", ".json")]
    told = {(path.name, module) for path in notes() for module in _MODULE.findall(path.read_text(encoding="utf-8"))}
    assert len(told) >= len(notes())
    assert [one for one in sorted(told) if not any(place.endswith(f"/{one[1]}") for place in there)] == []


def test_the_index_names_each_note_once_in_a_sentence() -> None:
    rows = _ROW.findall((NOTES / "README.md").read_text(encoding="utf-8"))
    assert sorted(name for name, _ in rows) == sorted(path.name for path in notes())
    assert [name for name, sentence in rows if not sentence.endswith(".")] == []


def test_the_notes_stay_short_together() -> None:
    assert sum(len(path.read_bytes()) for path in files(".md", under="docs/decisions")) <= BYTES_MOST


def test_every_reference_leads_to_a_note_and_none_is_a_number() -> None:
    read, dangling, numbered = 0, [], []
    for path, text in readable():
        read += 1
        named_notes = {name for name in _NAMED.findall(text) if name.endswith(".md")}
        dangling += [(named(path), name) for name in sorted(named_notes) if not (NOTES / name).exists()]
        numbered += [(named(path), found) for found in _BY_NUMBER.findall(text)]
    assert read >= LEAST_READ
    assert dangling == []
    assert numbered == []
