"""The graphs that are measured, once as a plan for the hub and once as edges for Dask. Pure: a seed fixes them.

A graph is a list of parents by task number; a task's parents come before it. Values are not what is measured, so every
dependency is one of control: each side waits for exactly the same tasks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PLACES = 3


@dataclass(frozen=True, slots=True)
class Graph:
    """`parents[k]` are the tasks that task `k` waits for."""

    name: str
    parents: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.parents)


def task_id(number: int) -> str:
    """Return a short id: the plan of 10,000 tasks must stay below the limit of a document."""
    text = ""
    for _ in range(_PLACES):
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
    return "t" + text


def fan(width: int) -> Graph:
    """Return 1 -> `width` -> 1."""
    middle = range(1, width + 1)
    return Graph(f"W1 1 -> {width:,} -> 1", ((), *((0,) for _ in middle), tuple(middle)))


def chain(length: int) -> Graph:
    """Return a chain."""
    return Graph(f"W2 chain of {length}", ((), *((k,) for k in range(length - 1))))


def layers(depth: int, width: int, seed: int) -> Graph:
    """Return `depth` layers; a task waits for the one above it and for another of that layer, drawn by the seed."""
    draw = random.Random(seed)
    parents: list[tuple[int, ...]] = [()] * width
    for layer in range(1, depth):
        above = (layer - 1) * width
        for column in range(width):
            other = draw.choice([k for k in range(width) if k != column])
            parents.append((above + column, above + other))
    return Graph(f"W3 {depth} x {width}", tuple(parents))


def plan(graph: Graph, *, repeatability: str | None = None) -> dict[str, Any]:
    """Return the graph as a plan of `lab.echo` calls."""
    given = {"repeatability": repeatability} if repeatability else {}
    names = [task_id(number) for number in range(len(graph))]
    return {
        "starloom": 1,
        "name": graph.name.replace("->", "to").replace(",", ""),
        "tasks": [{"id": name, "tool": "lab.echo", **given} for name in names],
        "dependencies": [
            {"from": names[parent], "to": names[child]}
            for child, parents in enumerate(graph.parents)
            for parent in parents
        ],
    }
