"""srv-a has the new version, srv-b the old one, and srv-b was touched after srv-a was done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    yield "srv-a has the new one", world.file("srv-a", "site/version") == world.had("desk", "shop/version"), 2
    yield "srv-b has the old one", world.file("srv-b", "site/version") == world.had("srv-b", "site/version"), 2
    for server in SERVERS:
        is_kept = world.file(server, "deploy/previous") == world.had(server, "site/version")
        yield f"the old one of {server} is kept", is_kept, 1
    text = world.answer.text
    old, new = (world.had(*place).decode().strip() for place in (("srv-b", "site/version"), ("desk", "shop/version")))
    yield "the answer says so", "srv-b" in text and old in text and new in text, 1


def lay(ground: Ground) -> dict[str, Any]:
    """At the new version no page of srv-b answers."""
    ground.set_state("srv-b", "site", {"bad_versions": [ground.read("desk", "shop/version").strip()]})
    return {}
