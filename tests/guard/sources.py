"""What the shipped source calls and imports, read from its syntax: for bans that no test of behaviour can show."""

from __future__ import annotations

import ast
from functools import cache

from tests.arch.checkout import ROOT, named, parsed

SHIPPED = ("protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent")


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Return (path, syntax) of every module that is shipped."""
    return [(named(path), parsed(path)) for folder in SHIPPED for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def calls(tree: ast.Module) -> list[tuple[str, ast.Call]]:
    """Return every call with its dotted name, which begins with a dot where what is before it has no name."""
    return [(_dotted(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _dotted(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return f"{_dotted(called.value)}.{called.attr}"
    return called.id if isinstance(called, ast.Name) else ""


@cache
def imported(tree: ast.Module) -> set[str]:
    """Return the top and dotted names of every import."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
