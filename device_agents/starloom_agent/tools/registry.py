"""The modules that hold tools, in the order in which the tools are listed; decides nothing about whether they may run.

A tool process must not import this: it gets the module of its tool from the agent (`module_of`).
"""

from __future__ import annotations

import functools
import importlib
from types import MappingProxyType

from starloom_agent.tools.interface import Tool

MODULES: tuple[str, ...] = (
    "system",
    "disk",
    "processes",
    "services",
    "kill",
    "containers",
    "adb",
    "logs",
    "packages",
    "net",
    "find",
    "read",
    "write",
    "digest",
    "shift",
    "archives",
    "artifacts",
    "data",
    "grouping",
    "image",
    "sheet",
    "web",
    "wait",
    "person",
    "clipboard",
    "screen",
    "desktop",
    "browser",
    "python",
    "git",
    "sqlite",
    "shell",
    "lab",
)


def tools_of(module: str) -> tuple[Tool, ...]:
    """Import one tool module and return its tools."""
    found: tuple[Tool, ...] = importlib.import_module(f"starloom_agent.tools.{module}").TOOLS
    return found


@functools.cache
def module_of() -> MappingProxyType[str, str]:
    """Return the module that holds each tool, by tool name.

    Raises:
        ValueError: if two modules offer a tool of the same name.
    """
    found: dict[str, str] = {}
    for module in MODULES:
        for tool in tools_of(module):
            if tool.name in found:
                raise ValueError(f"{tool.name} is in {found[tool.name]} and in {module}")
            found[tool.name] = module
    return MappingProxyType(found)


def all_tools() -> tuple[Tool, ...]:
    """Return every tool of this agent, in listing order."""
    return tuple(tool for module in MODULES for tool in tools_of(module))
