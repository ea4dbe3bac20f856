"""The answer is the commit at which the test fails for the first time."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.desk import BROKEN_AT, lay_shop
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    broken = world.truth["broken"]
    yield "the commit", broken[:7] in world.answer.text, 3
    yield (
        "no other one",
        bool(world.answer.items) and not any(one[:7] in world.answer.text for one in world.truth["others"]),
        1,
    )


def lay(ground: Ground) -> dict[str, Any]:
    """A repository in which commit 8 breaks test_price."""
    lay_shop(ground, broken_at=BROKEN_AT)
    folder = ground.files("desk") / "shop"
    log = subprocess.run(["git", "log", "--format=%H", "--reverse"], cwd=folder, capture_output=True, check=True)
    commits = log.stdout.decode().split()
    broken = commits[BROKEN_AT - 1]
    return {"broken": broken, "others": [one for one in commits if one != broken]}
