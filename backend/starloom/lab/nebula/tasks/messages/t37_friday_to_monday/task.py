"""No meeting is left on Friday, none clashes on Monday, and each person got one mail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint, Meanwhile
from starloom.lab.nebula.world.files.ground import WORLD, Ground
from starloom.lab.nebula.world.world_program import locked


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    events = world.state("desk", "cal")["events"]
    moved = [one for one in world.before.states["desk"]["cal"]["events"] if one["day"] == world.words["friday"]]
    theirs = world.truth.get("moved_meanwhile", {})
    yield "Friday is free", not [one for one in events if one["day"] == world.words["friday"]], 1
    starts = [one["start"] for one in events if one["day"] == world.words["monday"]]
    yield "no clash on Monday", len(starts) == len(set(starts)) and all(one[3:] == "00" for one in starts), 2
    before = {one["id"]: one for one in world.before.states["desk"]["cal"]["events"]}
    stayed = [one for one in events if one["id"] not in {event["id"] for event in moved}]
    yield "the others stayed", all(before[one["id"]] == one for one in stayed), 1
    now = {one["id"]: one["start"] for one in events if one["day"] == world.words["monday"]}
    yield "what others moved meanwhile stayed there", all(now.get(name) == start for name, start in theirs.items()), 1
    calls = sorted(call.args["id"] for call in world.calls("desk", "cal.move"))
    yield "each moved once", calls == sorted(one["id"] for one in moved if one["id"] not in theirs), 1
    people = sorted({person for one in moved for person in one["attendees"]})
    receivers = sorted(_one(call.args["to"]) for call in world.calls("desk", "mail.send"))
    yield "each person told once", receivers == people, 2


def _one(to: str | list[str]) -> str:
    return to if isinstance(to, str) else ",".join(to)


MOVED: Final = "e-3"
START: Final = "16:00"


def change(ground: Ground) -> Meanwhile:
    """While the task runs, the organizer of Design moves it to Monday afternoon, if it is still on Friday."""
    words = ground.facts.words()
    with locked(ground.root / "desk" / WORLD):
        state = ground.state("desk", "cal")
        event = next(one for one in state["events"] if one["id"] == MOVED)
        if event["day"] != words["friday"]:
            return Meanwhile(f"{event['title']} had been moved already, and nothing changed")
        event["day"], event["start"] = words["monday"], START
        ground.set_state("desk", "cal", state)
    notice = f"{event['title']} was moved to {words['monday']} {START} by its organizer"
    return Meanwhile(notice, truth={"moved_meanwhile": {MOVED: START}})


def lay(ground: Ground) -> dict[str, Any]:
    """Four meetings on Friday, two on Monday at the same times, people who take part in several."""
    words = ground.facts.words()
    people = [f"{name}@example.org" for name in ("ann", "ben", "cyd", "dan")]
    rows = [
        ("Planning", "friday", "09:00", people[:2]),
        ("Budget", "friday", "10:00", people[1:3]),
        ("Design", "friday", "13:00", people[:1]),
        ("Retrospective", "friday", "15:00", people),
        ("Board", "monday", "09:00", []),
        ("Interview", "monday", "13:00", []),
    ]
    events = [
        {"id": f"e-{number}", "title": title, "day": words[day], "start": start, "minutes": 60, "attendees": attendees}
        for number, (title, day, start, attendees) in enumerate(rows, 1)
    ]
    ground.set_state("desk", "cal", {"events": events})
    return {}
