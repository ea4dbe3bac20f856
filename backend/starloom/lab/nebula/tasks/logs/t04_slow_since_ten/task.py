"""The answer names the cause and the server, and quotes lines that really stand in its log."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    yield "the cause", world.answer.says("db timeout"), 2
    yield "the connection", world.answer.says("conn=7"), 1
    yield "the server", world.answer.says("srv-b"), 1
    log = world.had("srv-b", "logs/app.log").decode().splitlines()
    quoted = [line for line in log if "db timeout" in line and line in world.answer.text]
    yield "three lines as evidence", len(quoted) >= 3, 2
