"""The lab as the hub sees it: reports of faults, and runs of scenarios. Joins the two; breaks nothing.

A report has the story from the fault on, and how often each task was begun, by the log of the constellations that the
fault names. A device writes a beginning into its ledger before it begins, and reports it, also after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from starloom.lab.attempt_counts import AttemptCounts, count
from starloom.lab.desk.scenario_runs import ScenarioRuns
from starloom.lab.story import FAULT, HEALED, NOTE, Story
from starloom_protocol.api.lab import FaultMeeting
from starloom_protocol.records.entities import Attempt, Head, decode_entity
from starloom_protocol.records.lab import OPEN_FAULT_STATES, LabFault
from starloom_protocol.stream.feed import Event, decode_event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES

PAGE: Final = 500
EVENTS_MOST: Final = 20_000


class Events(Protocol):
    """The part of the log that is read here."""

    async def events(self, stream: str, after: int, limit: int) -> list[bytes]: ...


class _Met:
    """One constellation by its log."""

    def __init__(self, fault: LabFault, names: Mapping[str, str]) -> None:
        self.story = Story(began_ms=fault.began_ms or fault.asked_ms)
        self.head: Head | None = None
        self.attempts: dict[str, Attempt] = {}
        self.over = "it is over"
        self._fault = fault
        self._names = names
        self._from_ms = fault.began_ms or fault.asked_ms

    def take(self, events: list[Event]) -> None:
        for event in events:
            if event.kind == "fault_ended" and event.at_ms == self._fault.ended_ms:
                self.over = event.note
            for key, raw in event.puts.items():
                if raw is None or not (key == "head" or key.startswith("attempt/")):
                    continue
                record = decode_entity(key, raw)
                if isinstance(record, Head):
                    self.head = record
                elif isinstance(record, Attempt):
                    self.attempts[key.removeprefix("attempt/")] = record
        self.story.read([event for event in events if event.at_ms >= self._from_ms], self._names)

    def begun(self) -> AttemptCounts:
        """Count the beginnings of the tasks that had an attempt on the broken device while the fault lasted."""
        met = dict.fromkeys(
            name.rpartition("/")[0] for name, attempt in self.attempts.items() if self._was_met(attempt)
        )
        rows = [
            (self._names.get(attempt.device, attempt.device), name.rpartition("/")[0], attempt.started_ms > 0)
            for name, attempt in self.attempts.items()
            if name.rpartition("/")[0] in met
        ]
        return count(rows)

    def _was_met(self, attempt: Attempt) -> bool:
        fault = self._fault
        over_ms = fault.ended_ms or 2**53
        return (
            attempt.device == fault.device
            and attempt.leased_ms <= over_ms
            and (not attempt.ended_ms or attempt.ended_ms >= fault.began_ms)
        )


async def report(log: Events, fault: LabFault, names: Mapping[str, str], now_ms: int) -> list[FaultMeeting]:
    """Return the story and the counted beginnings of each constellation that the fault affected."""
    return [await _one(log, fault, names, name, now_ms) for name in fault.constellations]


async def _one(log: Events, fault: LabFault, names: Mapping[str, str], constellation: str, now_ms: int) -> FaultMeeting:
    met, after = _Met(fault, names), 0
    if fault.began_ms:
        met.story.note(fault.began_ms, FAULT, fault.note)
    while after < EVENTS_MOST and (page := await log.events(constellation, after, PAGE)):
        events = [decode_event(raw) for raw in page]
        met.take(events)
        after = events[-1].seq
    if fault.ended_ms:
        met.story.note(fault.ended_ms, HEALED, met.over)
    if after >= EVENTS_MOST:
        met.story.note(now_ms, NOTE, f"only the first {EVENTS_MOST} events were read")
    head, counts = met.head, met.begun()
    final = head is not None and head.state in FINAL_CONSTELLATION_STATES
    return {
        "constellation": constellation,
        "name": head.name if head is not None else constellation,
        "state": head.state if head is not None else "",
        "ended": final and fault.state not in OPEN_FAULT_STATES,
        "story": met.story.document(),
        "begun": {task: dict(places) for task, places in counts.begun.items()},
        "begun_lines": counts.lines(),
    }


class Desk:
    """The lab of one hub: the runs of scenarios, whose functions it passes on, and reports on faults."""

    def __init__(self, log: Events, runs: ScenarioRuns) -> None:
        self._log = log
        self.scenarios = runs.scenarios
        self.start = runs.start
        self.run = runs.run
        self.stop = runs.stop
        self.close = runs.close
        self.heard = runs.heard

    async def report(self, fault: LabFault, names: Mapping[str, str], now_ms: int) -> list[FaultMeeting]:
        """Return the report on the work that a fault affected."""
        return await report(self._log, fault, names, now_ms)
