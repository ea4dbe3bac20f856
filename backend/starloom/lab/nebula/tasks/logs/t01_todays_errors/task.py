"""The file holds exactly today's ERROR lines of both servers, in the order of their times."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    today = world.words["today"]
    for server in SERVERS:
        mine = _errors(world, server, today)
        yield f"those of {server} are there", set(mine) <= set(world.text("desk", "Reports/errors.txt").splitlines()), 1
    errors = sorted(line for server in SERVERS for line in _errors(world, server, today))
    lines = world.text("desk", "Reports/errors.txt").splitlines()
    yield "nothing but those", sorted(lines) == errors, 2
    yield "sorted by time", [line[:20] for line in lines] == [line[:20] for line in errors], 1


def _errors(world: CheckedWorld, server: str, day: str) -> list[str]:
    lines = world.had(server, "logs/app.log").decode().splitlines()
    return [line for line in lines if line.startswith(day) and " ERROR " in line]
