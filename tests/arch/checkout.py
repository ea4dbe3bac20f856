"""What the house rules look at: the files of the checkout that are ours, without anything generated or installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ("protocol", "backend", "device_agents", "scripts", "tests")
_PASSED_OVER = frozenset(
    {
        *("node_modules", ".venv", ".git", ".starloom", "dist", "build", "screenshots", "__pycache__", "_web"),
        *(".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache"),
    }
)


def files(*suffixes: str, under: str = ".") -> Iterator[Path]:
    """Yield our files with one of these endings (all without one), in order."""
    for path in sorted((ROOT / under).iterdir()):
        if path.name in _PASSED_OVER or path.name.endswith(".egg-info") or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(*suffixes, under=str(path.relative_to(ROOT)))
        elif not suffixes or path.suffix in suffixes:
            yield path


def modules() -> Iterator[Path]:
    """Yield every Python module of the repository."""
    for folder in PYTHON:
        yield from files(".py", under=folder)


def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of one module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of one module of the product: several rules read each. Those of all tests would fill memory."""
    return tuple(ast.walk(parsed(path)))


def named(path: Path) -> str:
    """Return a path as it is written in the repository."""
    return path.relative_to(ROOT).as_posix()
