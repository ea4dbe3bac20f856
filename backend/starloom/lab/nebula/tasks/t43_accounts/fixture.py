"""Accounts on both servers: most on both, some on one only."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("accounts")
    names = [f"user{number:02d}" for number in range(1, 31)]
    alone = draw.sample(names, 7)
    for number, server in enumerate(("srv-a", "srv-b")):
        mine = [name for name in names if name not in alone or alone.index(name) % 2 == number]
        draw.shuffle(mine)
        ground.write(server, "etc/accounts", "".join(f"{name}:{1000 + int(name[4:])}:/bin/sh\n" for name in mine))
    return {}
