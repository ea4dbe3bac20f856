"""The report has three headed sections with the right numbers, and the answer is short."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS

GIST_WORDS_MOST: Final = 80


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    sections = _sections(world.text("desk", "Reports/status.md"))
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(world.had("srv-a", "orders.db"))
        orders = database.execute("SELECT count(*) FROM orders").fetchone()[0]
    yield "the orders", str(orders) in sections["orders"].split(), 1
    for server in SERVERS:
        lines = world.had(server, "logs/app.log").decode().splitlines()
        errors = sum(line.startswith(world.words["today"]) and " ERROR " in line for line in lines)
        mine = [line for line in sections["errors"].splitlines() if server in line]
        yield f"the errors of {server}", len(mine) == 1 and str(errors) in mine[0].split(), 1
    events = [
        event for event in world.before.states["desk"]["cal"]["events"] if event["day"] == world.words["tomorrow"]
    ]
    yield "the appointments", all(event["title"] in sections["appointments"] for event in events), 1
    texts = [value for _, value in world.answer.items if isinstance(value, str)]
    yield "a short gist", any(str(orders) in one and len(one.split()) <= GIST_WORDS_MOST for one in texts), 1


def _sections(text: str) -> dict[str, str]:
    parts = re.split(r"^#+ *(.+)$", text, flags=re.MULTILINE)
    return {name.strip().lower(): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}
