"""Exactly one mail names the device that was lost, and the time within the run since which it is off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    mails = [str(call.args["subject"]) + " " + str(call.args["text"]) for call in world.calls("desk", "mail.send")]
    yield "one escalation", len(mails) == 1, 1
    yield "it names the device", world.truth["lost"] in mails[0], 1
    match = TIME.search(mails[0])
    at_s = datetime.fromisoformat(match[0]).timestamp() if match is not None else 0.0
    yield "and the time", world.events[0].at_ms / 1000 <= at_s + 1 <= world.events[-1].at_ms / 1000 + 1, 1


def lay(ground: Ground) -> dict[str, Any]:
    """The device that a fault takes away."""
    return {"lost": ground.draw("lost").choice(["srv-a", "srv-b"])}
