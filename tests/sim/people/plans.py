"""Plans of a schedule with people: short, with secrets, calls that a person allows, and work that may not repeat."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from starloom_protocol.plan.checks.check import plan_hash
from starloom_protocol.records.edits import AddTask, EditOperation, LoweredPlan
from starloom_protocol.records.entities import Policy, UndoCall
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval
from tests.builders import plan, task
from tests.sim.people.owners import ASKED, ASKS

SECRETS = ("one", "two")
NAMES = tuple(f"n{number}" for number in range(10))
"""Names that people give to further calls, in this order; after a restore those that were lost come again."""
TOOLS = ("t.pure", "t.idem", "t.idem", "t.never", ASKS.name, ASKED.name)

LATER_TOOLS = ("t.idem", "t.never", "t.never", ASKS.name, ASKED.name)
"""What may not be repeated comes late, so that a history is put back to before it."""


def make(chance: random.Random, devices: list[str]) -> LoweredPlan:
    """Return a plan of a chain of at most three tasks, or the one call that people come to allow for good."""
    if chance.random() < 0.25:
        call = canonical({"s": 0.5, "value": {"n": chance.randint(1, 2)}})
        return _hashed(plan(task("t0", args=call, tool=ASKS.name), policy=Policy(approval=Approval.RISKY)))
    parts = []
    for number in range(chance.randint(1, 3)):
        args: dict[str, Any] = {
            "s": chance.choice([0.1, 0.5, 5.0, 15.0, 25.0, 80.0]),
            "fails": chance.choice([0, 0, 0, 0, 4]),
            "transient": False,
            # Few different calls, so that those that were allowed for good come again.
            "value": {"n": chance.randint(1, 2), "l": []},
        }
        fields: dict[str, Any] = {"tool": chance.choice(TOOLS if not number else LATER_TOOLS)}
        if fields["tool"] == ASKS.name:
            args = {"s": 0.5, "value": {"n": chance.randint(1, 2)}}
        if chance.random() < 0.25:
            name = chance.choice(SECRETS)
            args["key"], fields["secrets"] = {"secret": name}, [name]
        if chance.random() < 0.3:
            fields["device"] = chance.choice(devices)
        if chance.random() < 0.7 and fields["tool"] != "t.pure":
            fields["undo"] = UndoCall(tool="t.idem", args='{"s":0.2}')
        given = [f"in=t{number - 1}/n"] if number else []
        parts.append(task(f"t{number}", *given, args=canonical(args), **fields))
    approval = chance.choice([Approval.RISKY, Approval.RISKY, Approval.NEVER])
    return _hashed(plan(*parts, policy=Policy(approval=approval)))


def _hashed(made: LoweredPlan) -> LoweredPlan:
    return msgspec.structs.replace(made, hash=plan_hash(made))


def long() -> LoweredPlan:
    """Return a plan that goes on for long, so that much can be added to it."""
    args = canonical({"s": 80.0, "value": {"l": [], "n": 1}})
    policy = Policy(approval=Approval.NEVER)
    return _hashed(plan(task("t0", args=args), task("t1", "in=t0/n", args=args), policy=policy))


def named(chance: random.Random, name: str, devices: list[str]) -> EditOperation:
    """Return an edit that gives a name to one of few calls, on the device that has all of them."""
    args = canonical({"s": chance.choice([0.5, 6.0]), "value": {"l": [], "n": chance.randint(1, 2)}})
    return AddTask(spec=task(name, args=args, device=devices[-1], tool="t.never"))


def kept(text: str) -> LoweredPlan:
    """Return the plan that a schedule keeps."""
    return msgspec.json.decode(text, type=LoweredPlan)


def renamed(new: Schedule, old: Schedule) -> Schedule:
    """Return the choices of a change, for the schedule that it changes."""
    return msgspec.structs.replace(new, id=old.id, name=old.name)
