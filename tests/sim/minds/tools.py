"""What tools give in a schedule with minds: turns that count, voices of a vote, its count, times, pages."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from starloom_agent.tools.vote import Vote, vote
from starloom_protocol.values import MISSING, parse, point
from starloom_protocol.wire.frames import Dispatch, DispatchInput
from tests.sim.minds.plans import COUNT


def inputs_of(dispatch: Dispatch) -> dict[str, Any]:
    """Return the inputs of a call as its tool gets them."""
    return {item.name: _input(item) for item in dispatch.inputs}


def _input(item: DispatchInput) -> Any:
    found = [point(parse(part.value), part.output) for part in item.parts if part.value is not None]
    values = [value for value in found if value is not MISSING]
    return values if item.many else (values[0] if values else None)


class Gives:
    """The results of tools. A vote is counted by the shipped tool."""

    def __init__(self, now_ms: Callable[[], int], seed: int) -> None:
        self._now_ms = now_ms
        self._seed = seed

    def __call__(self, dispatch: Dispatch, args: dict[str, Any]) -> Any:
        """Return what a call gives.

        Raises:
            ToolFailed: a vote has no winner.
        """
        given = inputs_of(dispatch)
        at = dispatch.at
        if dispatch.tool == COUNT:
            return vote(cast(Any, None), msgspec.convert({**args, **given}, Vote))
        if args.get("counts"):
            number = (given.get("at") or args.get("at") or 0) + 1
            return {"at": number, "done": number >= args["enough"], "l": [], "n": 1}
        if args.get("voices"):
            chance = random.Random(f"{self._seed} {at.constellation} {at.task} {at.attempt}")
            return {"v": chance.choice(["yes", "yes", "no"]), "who": at.task}
        if "when_s" in args:
            moment = datetime.fromtimestamp(self._now_ms() // 1000 + args["when_s"], UTC)
            return {"when": moment.isoformat(), "l": [], "n": 1}
        return args.get("value", {"n": 1, "l": [], "seen": f"{at.task} {at.attempt}"})
