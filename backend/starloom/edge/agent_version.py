"""Comparison of an agent's version with the hub's: the hub hands out the agent of its own version."""

from __future__ import annotations

from importlib.metadata import version

from starloom_protocol.version import release_numbers

VERSION = version("starloom")


def is_older(agent: str, hub: str) -> bool:
    """Whether an agent's version is a number below the hub's; anything that is no number is left alone."""
    numbers = [release_numbers(agent), release_numbers(hub)]
    return all(numbers) and numbers[0] < numbers[1]
