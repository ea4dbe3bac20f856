"""srv-a has the new version, srv-b the old one, and srv-b was touched after srv-a was done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    yield "srv-a has the new one", w.file("srv-a", "site/version") == w.had("desk", "shop/version"), 2
    yield "srv-b has the old one", w.file("srv-b", "site/version") == w.had("srv-b", "site/version"), 2
    for server in SERVERS:
        kept = w.file(server, "deploy/previous") == w.had(server, "site/version")
        yield f"the old one of {server} is kept", kept, 1
    said = w.answer.text
    old, new = (w.had(*place).decode().strip() for place in (("srv-b", "site/version"), ("desk", "shop/version")))
    yield "the answer says so", "srv-b" in said and old in said and new in said, 1


def lay(ground: Ground) -> dict[str, Any]:
    """At the new version no page of srv-b answers."""
    ground.set_state("srv-b", "site", {"bad_versions": [ground.read("desk", "shop/version").strip()]})
    return {}
