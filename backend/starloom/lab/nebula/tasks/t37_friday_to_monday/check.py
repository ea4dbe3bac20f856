"""No meeting is left on Friday, none clashes on Monday, and each person got one mail."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    events = w.state("desk", "cal")["events"]
    moved = [one for one in w.before.states["desk"]["cal"]["events"] if one["day"] == w.words["friday"]]
    theirs = w.truth.get("moved_meanwhile", {})
    yield "Friday is free", not [one for one in events if one["day"] == w.words["friday"]], 1
    starts = [one["start"] for one in events if one["day"] == w.words["monday"]]
    yield "no clash on Monday", len(starts) == len(set(starts)) and all(one[3:] == "00" for one in starts), 2
    before = {one["id"]: one for one in w.before.states["desk"]["cal"]["events"]}
    stayed = [one for one in events if one["id"] not in {event["id"] for event in moved}]
    yield "the others stayed", all(before[one["id"]] == one for one in stayed), 1
    now = {one["id"]: one["start"] for one in events if one["day"] == w.words["monday"]}
    yield "what others moved meanwhile stayed there", all(now.get(name) == start for name, start in theirs.items()), 1
    calls = sorted(call.args["id"] for call in w.calls("desk", "cal.move"))
    yield "each moved once", calls == sorted(one["id"] for one in moved if one["id"] not in theirs), 1
    people = sorted({person for one in moved for person in one["attendees"]})
    told = sorted(_one(call.args["to"]) for call in w.calls("desk", "mail.send"))
    yield "each person told once", told == people, 2


def _one(to: str | list[str]) -> str:
    return to if isinstance(to, str) else ",".join(to)
