"""The answer names every account of one server only, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    accounts = {server: _names(world.had(server, "etc/accounts").decode()) for server in SERVERS}
    alone = accounts["srv-a"] ^ accounts["srv-b"]
    rows = [row for table in world.answer.tables for row in table]
    names = {value for row in rows for value in row.values() if value in accounts["srv-a"] | accounts["srv-b"]}
    yield "all of them", alone <= names, 2
    yield "no other", bool(names) and names <= alone, 1
    where = all(any(name in row.values() and _on(accounts, name) in row.values() for row in rows) for name in alone)
    yield "with their server", where, 1


def _names(text: str) -> set[str]:
    return {line.partition(":")[0] for line in text.splitlines()}


def _on(accounts: dict[str, set[str]], name: str) -> str:
    return next(server for server, names in accounts.items() if name in names)


def lay(ground: Ground) -> dict[str, Any]:
    """Accounts on both servers: most on both, some on one only."""
    draw = ground.draw("accounts")
    names = [f"user{number:02d}" for number in range(1, 31)]
    alone = draw.sample(names, 7)
    for number, server in enumerate(("srv-a", "srv-b")):
        mine = [name for name in names if name not in alone or alone.index(name) % 2 == number]
        draw.shuffle(mine)
        ground.write(server, "etc/accounts", "".join(f"{name}:{1000 + int(name[4:])}:/bin/sh\n" for name in mine))
    return {}
