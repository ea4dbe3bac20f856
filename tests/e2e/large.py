"""Plans of many tasks, in layers or in one group, as the tests and the bench of the page draw them."""

from __future__ import annotations

from typing import Any

LAYER_TASKS = 50


def layered(size: int, tool: str = "system.info") -> dict[str, Any]:
    """Return a plan whose tasks stand in layers of 50; each waits for two of the layer before it."""
    names = [f"t{number}" for number in range(size)]
    links = [
        {"from": names[source], "to": name, "when": "success"}
        for number, name in enumerate(names)
        if number >= LAYER_TASKS
        for source in {number - LAYER_TASKS, number - number % LAYER_TASKS - LAYER_TASKS + (number * 7) % LAYER_TASKS}
    ]
    tasks = [{"id": name, "tool": tool} for name in names]
    return {
        "starloom": 1,
        "name": f"Layered {size}",
        "policy": {"approval": "never"},
        "tasks": tasks,
        "dependencies": links,
    }


def grouped(size: int, tool: str = "system.info") -> dict[str, Any]:
    """Return a plan of one group with this many items, and one task behind it."""
    names = [f"i{number}" for number in range(size)]
    tasks = [
        {"id": "list", "tool": "lab.echo", "args": {"value": names}},
        {"id": "each", "tool": tool, "for_each": {"from": "list", "output": "/value"}},
        {"id": "last", "tool": tool},
    ]
    links = [{"from": "each", "to": "last", "when": "success"}]
    return {
        "starloom": 1,
        "name": f"Grouped {size}",
        "policy": {"approval": "never"},
        "tasks": tasks,
        "dependencies": links,
    }
