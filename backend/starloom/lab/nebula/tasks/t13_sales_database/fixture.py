"""Four rows that cannot be read, two on each server: an amount that is a word, and a field that is missing."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground
from starloom.lab.nebula.base.servers import MONTHS
from starloom.lab.nebula.devices import SERVERS


def lay(ground: Ground) -> dict[str, Any]:
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
