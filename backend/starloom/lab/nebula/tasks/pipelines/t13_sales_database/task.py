"""The database has every good row of both servers, the rejects are exactly the four bad ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.files.servers import MONTHS

NEAR: Final = 0.01


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(world.file("gpu", "sales.db") or b"")
        count, total = database.execute("SELECT count(*), total(amount) FROM sales").fetchone()
        regions = {row[0] for row in database.execute("SELECT DISTINCT region FROM sales")}
    good = [row for server in SERVERS for row in good_rows(world, server)]
    yield "every good row", count == len(good), 2
    yield "the right sum", abs(total - sum(amount for _, amount in good)) < NEAR, 2
    yield "the regions", regions == {region for region, _ in good}, 1
    rejects = world.text("gpu", "rejects.csv")
    bad = world.truth["bad"]
    yield "the four bad rows", all(mark in rejects for mark in bad) and rejects.count("c9") == len(bad), 2


def good_rows(world: CheckedWorld, server: str) -> list[tuple[str, float]]:
    """Return region and amount of each row that can be read; bad ones have customers that begin with c9."""
    rows: list[tuple[str, float]] = []
    for data in world.below(server, "sales/*.csv", before=True).values():
        for line in data.decode().splitlines()[1:]:
            parts = line.split(";" if server == "srv-b" else ",")
            if not any(part.startswith("c9") for part in parts):
                rows.append((parts[1], float(parts[3].replace(",", "."))))
    return rows


def lay(ground: Ground) -> dict[str, Any]:
    """Four rows that cannot be read, two on each server: an amount that is a word, and a field that is missing."""
    bad: list[str] = []
    for number, server in enumerate(SERVERS):
        mark = ";" if server == "srv-b" else ","
        path = f"sales/{MONTHS[number]}.csv"
        lines = ground.read(server, path).splitlines()
        draw = ground.draw(f"bad rows {server}")
        for customer, amount in ((f"c9{number}1", "unknown"), (f"c9{number}2", "")):
            fields = [f"{MONTHS[number]}-15", "north", customer, *([amount] if amount else [])]
            lines.insert(draw.randrange(1, len(lines)), mark.join(fields))
            bad.append(customer)
        ground.write(server, path, "\n".join(lines) + "\n")
    return {"bad": bad}
