"""The tools of this agent: every file of the package `tools` and of its rooms.

A tool is added by adding its file. Decides nothing about whether a tool may run. A tool process must not import this
module: it gets the name of its tool's module (`module_of`).
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from starloom_agent import tools
from starloom_agent.toolkit.interface import Tool

_FOLDER = Path(str(tools.__file__)).parent


def _module_names(folder: Path, room: str = "") -> Iterator[str]:
    for module in pkgutil.iter_modules([str(folder)]):
        if module.ispkg:
            yield from _module_names(folder / module.name, f"{room}{module.name}.")
        elif not module.name.startswith("_"):
            yield f"{room}{module.name}"


MODULES: tuple[str, ...] = tuple(sorted(_module_names(_FOLDER), key=lambda name: (name.rpartition(".")[2], name)))
"""The modules that hold tools, in the order of their own names, each with its room: files of the package's own folder,
wherever else its path leads.
"""


def tools_of(module: str) -> tuple[Tool, ...]:
    """Import one tool module and return its tools."""
    tools: tuple[Tool, ...] = importlib.import_module(f"starloom_agent.tools.{module}").TOOLS
    return tools


@functools.cache
def module_of() -> MappingProxyType[str, str]:
    """Return the module that holds each tool, by tool name.

    Raises:
        ValueError: if two modules offer a tool of the same name.
    """
    modules: dict[str, str] = {}
    for module in MODULES:
        for tool in tools_of(module):
            if tool.name in modules:
                raise ValueError(f"{tool.name} is in {modules[tool.name]} and in {module}")
            modules[tool.name] = module
    return MappingProxyType(modules)


def all_tools() -> tuple[Tool, ...]:
    """Return every tool of this agent, in listing order."""
    return tuple(tool for module in MODULES for tool in tools_of(module))
