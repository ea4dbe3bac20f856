"""Reads product code for words of a vocabulary: where each is made and where it is read. Runs nothing of it.

Python is read as a syntax tree, the page and the tab as text without their generated files and tests. A word is *read*
where it is compared, matched, looked up or part of a set, and *made* wherever else it stands.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.arch.checkout import files, named, nodes

PYTHON = ("protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent")
SCRIPT = ("frontend/src", "device_agents/browser/src")
_ENUMS = frozenset({"StrEnum", "IntEnum", "Enum"})
_SETS = frozenset({"frozenset", "set"})


@dataclass(slots=True)
class Uses:
    """How often each word is made and read, by (vocabulary, member)."""

    made: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    read: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))


@cache
def _modules() -> list[Path]:
    return [path for room in PYTHON for path in files(".py", under=room)]


@cache
def script(*rooms: str) -> str:
    """Return what the page or the tab is made of, as one text."""
    return "\n".join(
        path.read_text(encoding="utf-8")
        for room in rooms
        for suffix in (".ts", ".tsx")
        for path in files(suffix, under=room)
        if "generated" not in path.parts and ".test." not in path.name
    )


@cache
def vocabularies(*rooms: str) -> dict[str, dict[str, object]]:
    """Return every enum of these rooms (of the product, if none is named) with its members' values, by name.

    Each worker asks this while it collects, so a module that does not name an enum is not parsed.
    """
    found: dict[str, dict[str, object]] = {}
    for path in _modules():
        if not named(path).startswith(rooms or PYTHON) or "Enum" not in path.read_text(encoding="utf-8"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and _ENUMS & {_name(base) for base in node.bases}:
                assert node.name not in found, f"{node.name} stands twice, in {named(path)} too"
                found[node.name] = {
                    _name(line.targets[0]): ast.literal_eval(line.value)
                    for line in node.body
                    if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
                }
    return found


@cache
def uses() -> Uses:
    """Return where members of enums stand, under their own name or another of their module."""
    found = Uses()
    for path in _modules():
        count(nodes(path), found)
    return found


def count(module: Sequence[ast.AST], found: Uses) -> None:
    """Add the uses of one module, given by its nodes."""
    aliases = _aliases(module)
    words = [
        (node, vocabulary)
        for node in module
        if isinstance(node, ast.Attribute)
        if (vocabulary := aliases.get(_name(node.value))) and node.attr in vocabularies()[vocabulary]
    ]
    if not words:
        return
    parents = {child: node for node in module for child in ast.iter_child_nodes(node)}
    for node, vocabulary in words:
        into = found.read if _is_read(node, parents) else found.made
        into[vocabulary, node.attr] += 1


def _aliases(module: Sequence[ast.AST]) -> dict[str, str]:
    aliases = {name: name for name in vocabularies()}
    for node in module:
        if isinstance(node, ast.ImportFrom):
            aliases |= {item.asname: item.name for item in node.names if item.asname and item.name in aliases}
        elif isinstance(node, ast.Assign) and _name(node.value) in aliases and isinstance(node.targets[0], ast.Name):
            aliases[node.targets[0].id] = aliases[_name(node.value)]
    return aliases


def _is_read(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while True:
        parent = parents.get(node)
        match parent:
            case ast.Compare() | ast.MatchValue() | ast.Subscript():
                return True
            case ast.Dict(keys=keys):
                return node in keys
            case ast.Tuple() | ast.List() | ast.Set() | ast.Starred():
                node = parent
            case ast.Call(func=ast.Name(id=name)) if name in _SETS:
                return True
            case ast.Assign() | ast.AnnAssign():
                return isinstance(node, ast.Set | ast.Tuple)
            case _:
                return isinstance(node, ast.Set)


def names(*rooms: str, of: str) -> set[str]:
    """Return the members of one vocabulary that stand in the Python of these rooms, in whatever use."""
    return {
        member
        for path, found in _attributes().items()
        if named(path).startswith(rooms)
        for vocabulary, member in found
        if vocabulary == of
    }


@cache
def _attributes() -> dict[Path, frozenset[tuple[str, str]]]:
    """Return the attributes of each module with the name before each: a walk costs more than all questions."""
    return {
        path: frozenset((_name(node.value), node.attr) for node in nodes(path) if isinstance(node, ast.Attribute))
        for path in _modules()
    }


@cache
def calls() -> Counter[str]:
    """Return how often each name is called in the product: a struct is made by its call."""
    return Counter(_name(node.func) for path in _modules() for node in nodes(path) if isinstance(node, ast.Call))


@cache
def looked_up(*rooms: str) -> set[str]:
    """Return the names that stand as a key of a table, a pattern or a type to compare with, in these rooms."""
    found: set[str] = set()
    for path in _modules():
        if not named(path).startswith(rooms):
            continue
        for node in nodes(path):
            match node:
                case ast.Dict(keys=keys):
                    found |= {_name(key) for key in keys if key is not None}
                case ast.MatchClass(cls=cls):
                    found.add(_name(cls))
                case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                    found |= {_name(kind) for kind in ast.walk(kinds) if isinstance(kind, ast.Name | ast.Attribute)}
                case ast.BoolOp() | ast.Compare():
                    found |= {_name(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)}
                case _:
                    pass
    return found


def in_script(word: str, *rooms: str) -> bool:
    """Return whether the page or the tab (both, if none is named) has a word as a text or a key."""
    word = re.escape(word)
    return re.search(rf"""["']{word}["']|\b{word}\??:""", script(*(rooms or SCRIPT))) is not None


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
