"""The file holds exactly today's ERROR lines of both servers, in the order of their times."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    today = w.words["today"]
    for server in SERVERS:
        mine = _errors(w, server, today)
        yield f"those of {server} are there", set(mine) <= set(w.text("desk", "Reports/errors.txt").splitlines()), 1
    wanted = sorted(line for server in SERVERS for line in _errors(w, server, today))
    got = w.text("desk", "Reports/errors.txt").splitlines()
    yield "nothing but those", sorted(got) == wanted, 2
    yield "sorted by time", [line[:20] for line in got] == [line[:20] for line in wanted], 1


def _errors(w: CheckedWorld, server: str, day: str) -> list[str]:
    lines = w.had(server, "logs/app.log").decode().splitlines()
    return [line for line in lines if line.startswith(day) and " ERROR " in line]
