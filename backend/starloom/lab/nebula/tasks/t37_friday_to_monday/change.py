"""While the task runs, the organizer of Design moves it to Monday afternoon, if it is still on Friday."""

from __future__ import annotations

from typing import Final

from starloom.lab.nebula.base.ground import WORLD, Ground
from starloom.lab.nebula.changes import Meanwhile
from starloom.lab.nebula.world_program import locked

MOVED: Final = "e-3"
START: Final = "16:00"


def change(ground: Ground) -> Meanwhile:
    words = ground.facts.words()
    with locked(ground.root / "desk" / WORLD):
        state = ground.state("desk", "cal")
        event = next(one for one in state["events"] if one["id"] == MOVED)
        if event["day"] != words["friday"]:
            return Meanwhile(f"{event['title']} had been moved already, and nothing changed")
        event["day"], event["start"] = words["monday"], START
        ground.set_state("desk", "cal", state)
    said = f"{event['title']} was moved to {words['monday']} {START} by its organizer"
    return Meanwhile(said, truth={"moved_meanwhile": {MOVED: START}})
