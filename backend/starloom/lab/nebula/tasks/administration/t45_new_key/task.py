"""Both servers have the same new key, and the answer has 401 for the old and 200 for the new one on both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground

LENGTH_LEAST: Final = 16


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    new = {world.text(server, "etc/key.txt").strip() for server in SERVERS}
    old = world.had("srv-a", "etc/key.txt").decode().strip()
    yield "one new key", len(new) == 1 and old not in new and len(next(iter(new))) >= LENGTH_LEAST, 2
    values = [value for title, value in world.answer.items]
    yield "the old one is refused on both", world.answer.text.count("401") == len(SERVERS), 1
    yield "the new one is taken on both", bool(values) and world.answer.text.count("200") == len(SERVERS), 1


def lay(ground: Ground) -> dict[str, Any]:
    """The key that both sites want."""
    key = f"{ground.draw('key').getrandbits(128):032x}"
    for server in SERVERS:
        ground.write(server, "etc/key.txt", key + "\n")
    return {}
