"""Plans with goals, repeats, votes, judges and times from results, written as people write them, drawn from chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability

READ, STRANGER, NOTE, ONCE, COUNT = "t.pure", "web.page", "fs.note", "t.never", "data.vote"
FOLDER: Final = "notes"
VOTERS_COUNTED: Final = 2
"""Votes of more calls have a judge, which chooses between them."""
_PLACE: Final = '{"properties":{"path":{"type":"string"}},"type":"object"}'
OFFERS: Final = [
    ToolOffer(name=STRANGER, repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name=NOTE, args=_PLACE, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name=COUNT, repeatability=Repeatability.PURE),
]
"""The tools beside the usual ones of a schedule."""
BEYOND: Final = frozenset({ONCE, NOTE, "t.idem"})
"""The tools that do more than read."""


def make(chance: random.Random, devices: Sequence[str]) -> LoweredPlan:
    """Return a plan of one to four parts, each with what a mind or the core decides on the way."""
    makers = [_goal, _repeat, _vote, _judged, _moment, _goal, _repeat]
    tasks: list[dict[str, Any]] = []
    for number in range(chance.randint(1, 4)):
        tasks += chance.choice(makers)(chance, f"p{number}", devices)
    policy = {"approval": "never", "drop_optional_below": 0.9}
    found = check_plan({"starloom": 1, "name": "Minds", "policy": policy, "tasks": tasks})
    assert found.plan is not None, found.faults
    return found.plan


def _takes(chance: random.Random) -> dict[str, Any]:
    return {"s": chance.choice([0.1, 0.5, 2.0]), "fails": chance.choice([0, 0, 0, 0, 1])}


def _goal(chance: random.Random, name: str, devices: Sequence[str]) -> list[dict[str, Any]]:
    goal: dict[str, Any] = {
        "id": name,
        "goal": f"Find {name}.",
        "gives": {"cause": "text"},
        "until": [{"output": "/cause", "op": "not_empty"}],
        "budget": {
            "steps": chance.randint(1, 8),
            "tokens": chance.choice([1_000, 3_000, 60_000]),
            "within_s": chance.choice([10, 60, 300]),
        },
    }
    if chance.random() < 0.6:
        goal["device"] = {"name": chance.choice(devices)}
    if chance.random() < 0.7:
        goal["may"] = {
            "tools": sorted({READ, *chance.sample([STRANGER, NOTE, ONCE], chance.randint(0, 3))}),
            "paths": [FOLDER] if chance.random() < 0.5 else [],
        }
    if chance.random() < 0.3:
        goal["judge"] = {"question": "Does it hold?", "unclear": chance.choice(["ask", "fail"])}
    # Drawn from nothing, so that every known seed keeps the rest of its plan.
    goal["finds"] = {"topics": [name]}
    budget = goal["budget"]
    if budget["steps"] > 1:
        goal["milestones"] = [
            {"says": "much was found", "tool": READ, "output": "/n", "op": "ge", "value": 8, "steps": 2},
            {"says": "something was found", "output": "/n", "op": "exists", "within_s": budget["within_s"] // 2},
        ]
    takes = {"n": {"finding": name, "else": 0}}
    tasks = [goal, {"id": f"{name}takes", "tool": READ, "args": {"s": 0.1}, "inputs": takes, "optional": True}]
    if chance.random() < 0.3:
        tasks.insert(0, {"id": f"{name}seen", "tool": chance.choice([READ, STRANGER]), "args": _takes(chance)})
        goal["inputs"] = {"seen": {"from": f"{name}seen"}}
    if chance.random() < 0.5:
        given = {"cause": {"from": name, "output": "/cause"}}
        tasks.append({"id": f"{name}use", "tool": READ, "args": _takes(chance), "inputs": given})
    return tasks


def _repeat(chance: random.Random, name: str, _devices: Sequence[str]) -> list[dict[str, Any]]:
    most = chance.randint(1, 5)
    repeat: dict[str, Any] = {"max": most, "carry": {"at": "/at"}}
    if chance.random() < 0.8:
        repeat["until"] = {"output": "/done", "op": "eq", "value": True}
        repeat["in_a_row"] = chance.choice([1, 1, min(2, most)])
    if chance.random() < 0.4:
        repeat["every_s"] = chance.choice([1, 5, 20])
    args = {"at": 0, "counts": True, "enough": chance.randint(1, 6), **_takes(chance)}
    turns = {"id": name, "tool": chance.choice([READ, READ, "t.idem"]), "repeat": repeat, "args": args}
    reader = {"id": f"{name}use", "tool": READ, "args": _takes(chance)}
    reader["inputs"] = {"x": {"from": name, "output": "/at", "all": chance.random() < 0.5}}
    return [turns, reader]


def _vote(chance: random.Random, name: str, _devices: Sequence[str]) -> list[dict[str, Any]]:
    vote: dict[str, Any] = {"n": chance.randint(2, 4), "on": "/v"}
    if vote["n"] > VOTERS_COUNTED:
        # Drawn from nothing, so that every known seed keeps the rest of its plan.
        vote["rule"] = {"judge": {"question": "Which is right?", "unclear": "ask" if vote["n"] == 3 else "fail"}}
    tasks = [{"id": name, "tool": READ, "args": {"voices": True, **_takes(chance)}, "vote": vote}]
    if chance.random() < 0.5:
        tasks.append(
            {"id": f"{name}use", "tool": READ, "args": {}, "inputs": {"x": {"from": name, "output": "/winner"}}}
        )
    return tasks


def _judged(chance: random.Random, name: str, _devices: Sequence[str]) -> list[dict[str, Any]]:
    judge = {"question": "Is it right?", "unclear": chance.choice(["ask", "fail"])}
    tool = chance.choice([READ, READ, ONCE])
    made = {"id": name, "tool": tool, "args": _takes(chance), "judge": judge, "optional": chance.random() < 0.2}
    use = {"id": f"{name}use", "tool": READ, "args": _takes(chance), "inputs": {"x": {"from": name}}}
    return [made, use]


def _moment(chance: random.Random, name: str, _devices: Sequence[str]) -> list[dict[str, Any]]:
    clock = {"id": f"{name}at", "tool": READ, "args": {"when_s": chance.choice([-5, 3, 15, 40]), **_takes(chance)}}
    moment = {"from": f"{name}at", "output": "/when", "within_s": 3600, "past": chance.choice(["go", "go", "fail"])}
    return [clock, {"id": name, "tool": READ, "args": _takes(chance), "not_before": moment}]
