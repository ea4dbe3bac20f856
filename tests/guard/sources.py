"""What the shipped source calls and imports, read from its syntax: for bans that no test of behaviour can show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = ("protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent")


@cache
def modules(*folders: str) -> list[tuple[str, ast.Module]]:
    """Return (path, syntax) of every module in these folders, by default of all that is shipped."""
    return [
        (str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")))
        for folder in folders or SHIPPED
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call with its dotted name, as far as it has one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


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
