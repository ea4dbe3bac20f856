"""The answer has a row for each server with its p95, to a millisecond, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS

NEAR_MS: Final = 1.0


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    rows = [row for table in world.answer.tables for row in table if set(SERVERS) & set(map(str, row.values()))]
    for server in SERVERS:
        truth = p95(world.had(server, "logs/access.log").decode())
        mine = [row for row in rows if server in row.values()]
        numbers = [value for row in mine for value in row.values() if isinstance(value, int | float)]
        yield f"p95 of {server}", any(abs(number - truth) <= NEAR_MS for number in numbers), 2
    servers = {server for row in rows for server in SERVERS if server in row.values()}
    yield "a row for each server", servers == set(SERVERS), 1


def p95(log: str) -> int:
    """Return the value that 95 % of the response times do not exceed (nearest rank)."""
    times = sorted(int(line.rsplit(" ", 1)[1]) for line in log.splitlines())
    return times[-(-len(times) * 95 // 100) - 1]
