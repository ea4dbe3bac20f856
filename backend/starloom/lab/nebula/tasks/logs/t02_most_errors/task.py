"""The answer names service, server and the exact count of errors in the last hour before noon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    server, service, count = worst(world)
    yield "the service", world.answer.says(service), 1
    yield "the server", world.answer.says(server), 1
    rows = [row for table in world.answer.tables for row in table]
    first = next((row for row in rows if service in row.values() and server in row.values()), {})
    yield "the count", count in first.values() or str(count) in world.answer.text.split(), 2
    yield "first of all", not rows or rows[0] == first, 1


def worst(world: CheckedWorld) -> tuple[str, str, int]:
    since = f"{world.words['today']}T11:00"
    counted: Counter[tuple[str, str]] = Counter()
    for server in SERVERS:
        for line in world.had(server, "logs/app.log").decode().splitlines():
            moment, level, service = line.split(" ")[:3]
            if level == "ERROR" and moment >= since:
                counted[server, service] += 1
    (server, service), count = counted.most_common(1)[0]
    return server, service, count
