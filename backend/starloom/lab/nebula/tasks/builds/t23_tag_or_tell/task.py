"""Exactly one mail went to whom it should, and the tag is there only if the tests pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.desk import BROKEN_AT, lay_shop
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    passes = world.truth["passes"]
    mails = [call.args["to"] for call in world.calls("desk", "mail.send")]
    receiver = "team@example.org" if passes else "me@example.org"
    yield "one mail", len(mails) == 1, 1
    yield "to whom it should", [receiver] in (mails, *mails), 2
    tag = world.text("desk", "shop/.git/refs/tags/v2").strip()
    yield "the tag", tag == (world.truth["head"] if passes else ""), 2


def lay(ground: Ground) -> dict[str, Any]:
    """The tests pass in every second world."""
    passes = ground.facts.seed % 2 == 1
    if not passes:
        lay_shop(ground, broken_at=BROKEN_AT)
    return {"passes": passes, "head": ground.read("desk", "shop/.git/refs/heads/main").strip()}
