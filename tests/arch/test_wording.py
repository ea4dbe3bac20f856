"""Words that people read: the texts of the command line, the hub, the agents and the recipes are plain English.

The same rules hold for the page (`frontend/src/wording.test.ts`). They stand in `accents.json`.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main

from starloom.cli.commands import build
from starloom.planner.recipes.catalogue import built_in_folder
from starloom.planner.recipes.pages import about
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import CODES
from tests.arch.checkout import ROOT, files, named, nodes

RULES: dict[str, str] = json.loads((ROOT / "tests/arch/accents.json").read_text(encoding="utf-8"))
ROOMS = ("backend/starloom", "device_agents/starloom_agent", "protocol/starloom_protocol")
FOR_A_MODEL = ("backend/starloom/planner/model/", "backend/starloom/planner/context/brief_words.py")
"""Texts that a model reads: its prompt may quote values as JSON has them."""
WORDS_LEAST = 3
SCRIPTS = "backend/starloom/store/redis/scripts.py"
"""Lua for Redis."""
_TYPE = re.compile(r"[\w.\[\], |]+\| None\]*")


def faults(text: str) -> list[str]:
    return [name for name, pattern in RULES.items() if re.search(pattern, text)]


def _docstrings(module: Sequence[ast.AST]) -> set[int]:
    found = set()
    for node in module:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {id(line.value) for line in node.body if isinstance(line, ast.Expr)}
    return found


def _joined(node: ast.JoinedStr) -> str:
    """Return a text with values as it is read, `repr` for one that is shown as Python writes it."""
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            parts.append("{'repr'}" if part.conversion == ord("r") else "x")
    return "".join(parts)


def _unread(module: Sequence[ast.AST]) -> set[int]:
    """Return the texts that no person reads: docstrings, of fields too, SQL, log lines, errors of the programmer."""
    found = _docstrings(module)
    for node in module:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {"TypeError", "AssertionError", "KeyError", "compile", "text", "eval", "execute", "DecodeError"}:
                found |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.Assert):
            found |= {id(inner) for inner in ast.walk(node)}
    return found


def texts(path: Path) -> Iterator[tuple[int, str]]:
    module = nodes(path)
    passed_over = _unread(module)
    passed_over |= {id(part) for node in module if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in module:
        if id(node) in passed_over:
            continue
        if isinstance(node, ast.JoinedStr):
            said = _joined(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        else:
            continue
        if len(said.split()) >= WORDS_LEAST and not _TYPE.fullmatch(said):
            yield node.lineno, said


def modules() -> list[Path]:
    found = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return [path for path in found if not str(path.relative_to(ROOT)).startswith((*FOR_A_MODEL, SCRIPTS))]


@functools.cache
def commands() -> dict[str, Any]:
    found: dict[str, Any] = {}

    def walk(name: str, command: Any) -> None:
        found[name] = command
        for inner, one in getattr(command, "commands", {}).items():
            walk(f"{name} {inner}", one)

    walk("starloom", typer.main.get_command(build()))
    return found


def test_the_rules_find_what_they_are_for() -> None:
    bad = (
        "it gave {'a': 1}", "the value is None", "it is <class 'str'>", "it read b'x' there", "/tasks/0/tool is wrong",
        "it goes on by itself", "What ended is kept.", "vm did it: tell", "Put on a clock", "By a line", "Yes",
    )  # fmt: skip
    assert [text for text in bad if not faults(text)] == []
    good = ("None of them is here", "What should happen?", "Row 2, folder: it has no value (/tasks/1/args/folder)")
    assert [(text, faults(text)) for text in good if faults(text)] == []


def test_the_texts_of_hub_agent_and_protocol_are_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}: {said[:140]!r}"
        for path in modules()
        for line, said in texts(path)
        for name in faults(said)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", commands())
def test_the_help_of_each_command_is_plain_english(name: str) -> None:
    command = commands()[name]
    helps = [command.help or "", command.short_help or "", *(getattr(one, "help", "") or "" for one in command.params)]
    assert command.help or name == "starloom", "a command says what it does"
    assert [(text, faults(text)) for text in helps if faults(text)] == []


def test_the_words_of_codes_tools_and_recipes_are_plain_english() -> None:
    said: list[Any] = [words for code in CODES.values() for words in (code.title, code.hint)]
    said += [words for tool in all_tools() for words in (tool.title, getattr(tool, "summary", ""))]
    for path in built_in_folder().glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        said += [about(text), *re.findall(r"(?:title|person|label|text): *([^,}\n]+)", text)]
    assert len(said) > 100
    assert [(text[:80], faults(text)) for text in said if text and faults(text)] == []


def test_no_comment_is_a_banner() -> None:
    """A line that parts a file into chapters says nothing of the code below it: a file that needs one is two."""
    banner = re.compile(r"^[ \t]*(?:#|//|/\*) ?(?:--|==|\*\*)", re.MULTILINE)
    found = [
        f"{named(path)}: {match[0].strip()}"
        for path in files(".py", ".ts", ".tsx", ".css")
        for match in banner.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
