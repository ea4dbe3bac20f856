"""Every order of the log is in the database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("today")
    times = sorted(f"{draw.randrange(6, 12):02d}:{draw.randrange(60):02d}" for _ in range(draw.randrange(150, 250)))
    orders = [(90_000 + number, at) for number, at in enumerate(times)]
    path = ground.files("srv-a") / "orders.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE today (id INTEGER PRIMARY KEY, at TEXT)")
        database.executemany("INSERT INTO today VALUES (?, ?)", orders)
        database.commit()
    ground.dated(path, 60.0)
    ground.write("srv-b", "logs/orders.log", "".join(f"{at} {number}\n" for number, at in orders))
    return {"count": sum(at >= "09:00" for at in times)}
