"""Whether an agent should be told that there is a newer one: the hub hands out the agent of its own version."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("starloom")


def is_older(agent: str, hub: str) -> bool:
    """Whether an agent's version is a number below the hub's; anything that is no number is left alone."""
    numbers = [_numbers(agent), _numbers(hub)]
    return all(numbers) and numbers[0] < numbers[1]


def _numbers(text: str) -> list[int]:
    parts = text.split("+")[0].split(".")
    return [int(part) for part in parts] if all(part.isdecimal() and len(part) <= 6 for part in parts) else []
