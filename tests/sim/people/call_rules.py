"""What must be true of calls that a device keeps: a result counts for its own call alone, whatever has its name now.

After a restore a hub may give the name of a lost call to another one. The device that began the first tells of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom_protocol.records.entities import Attempt
from starloom_protocol.stream.feed import Event
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import AttemptEnd
from starloom_protocol.wire.frames import Dispatch, LeaseRef
from tests.sim.agent import World
from tests.sim.people.course import Course, Puts
from tests.sim.people.site import PutBack


class CallRules:
    """`taken_up` has each attempt that a restored hub took from a device's report, and whether it is the same call."""

    def __init__(self, world: World, restores: list[PutBack]) -> None:
        self._dispatched = world.dispatched
        self._restores = restores
        self.taken_up: dict[LeaseRef, bool] = {}

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        there = now.streams.get(event.stream, {})
        records = there | puts
        for key, record in puts.items():
            if not isinstance(record, Attempt) or record.origin is not None or record.origin_task:
                continue
            task, _, number = key.removeprefix("attempt/").rpartition("/")
            at = LeaseRef(attempt=int(number), constellation=event.stream, incarnation=record.incarnation, task=task)
            began, before = self._dispatched.get(at), there.get(key)
            if began is None:
                continue
            if (before is None or before.incarnation != at.incarnation) and at.incarnation < self._lives_from(now):
                yield from self._taken_up(records, at, record, began)
            if record.end is AttemptEnd.OK and (before is None or before.end is not AttemptEnd.OK):
                spec = records[f"spec/{task}"]
                if not _is_call(spec, began):
                    yield f"the result of {began.tool} {began.args} counts for {at}, which is {spec.tool} {spec.args}"
                if not self.taken_up.get(at, True):
                    yield f"{at} has succeeded by what its device kept of another call"

    def _lives_from(self, now: Course) -> int:
        return max((one.incarnation for one in self._restores if one.pos <= now.pos), default=0)

    def _taken_up(self, records: Puts, at: LeaseRef, attempt: Attempt, began: Dispatch) -> Iterator[str]:
        """A device has told of an attempt of a lost history."""
        same = self.taken_up[at] = _asks_for(records, at.task, began)
        if same and attempt.other_call:
            yield f"{at} is that of a device that began the same call, and does not count"
        if not same and not attempt.other_call:
            yield f"{at} counts, and its device began {began.tool} {began.args}: {records[f'spec/{at.task}'].args}"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()


def _asks_for(records: Puts, task: str, began: Dispatch) -> bool:
    """Tell whether a task asks for the call that a device began, with the same values of what it reads."""
    spec = records[f"spec/{task}"]
    read = {one.name: [(part.value, part.output) for part in one.parts] for one in began.inputs}
    reads = {one.name: [(_result(records, one.source), one.output)] for one in spec.inputs if one.source}
    return _is_call(spec, began) and read == reads


def _is_call(spec: Any, began: Dispatch) -> bool:
    args = parse(began.args)
    for handle in began.secrets:
        args = _named(args, handle)
    return bool(spec.tool == began.tool and parse(spec.args) == args)


def _named(args: dict[str, Any], handle: str) -> dict[str, Any]:
    """Return arguments with the name of a secret in place of its handle, which each dispatch has anew."""
    secret = {"secret": handle.rpartition("#")[0]}
    return {key: secret if value == {"secret": handle} else value for key, value in args.items()}


def _result(records: Puts, task: str) -> str | None:
    record = records[f"task/{task}"]
    if record.marked is not None:
        return str(record.marked)
    attempt = records.get(f"attempt/{task}/{record.attempt}")
    return attempt.value if attempt is not None else None
