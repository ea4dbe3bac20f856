"""Exactly one mail went to whom it should, and the tag is there only if the tests pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.desk import BROKEN_AT, lay_shop
from starloom.lab.nebula.world.files.ground import Ground


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    passes = w.truth["passes"]
    mails = [call.args["to"] for call in w.calls("desk", "mail.send")]
    wanted = "team@example.org" if passes else "me@example.org"
    yield "one mail", len(mails) == 1, 1
    yield "to whom it should", [wanted] in (mails, *mails), 2
    tag = w.text("desk", "shop/.git/refs/tags/v2").strip()
    yield "the tag", tag == (w.truth["head"] if passes else ""), 2


def lay(ground: Ground) -> dict[str, Any]:
    """The tests pass in every second world."""
    passes = ground.facts.seed % 2 == 1
    if not passes:
        lay_shop(ground, broken_at=BROKEN_AT)
    return {"passes": passes, "head": ground.read("desk", "shop/.git/refs/heads/main").strip()}
