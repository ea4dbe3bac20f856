"""Late facts: a later edit needs a fact of a finished result, for a condition or a list, that its device must read.

Until the device answers, the gate is undecided; the device is asked again whenever it connects.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from starloom.core.state.inputs import FactsReported
from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendFetch
from starloom.core.state.tasks.gates import pointer_of, size_key, unread_tasks
from starloom.core.state.work import Work
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import AttemptEnd
from starloom_protocol.wire.frames import LeaseRef


def ask(work: Work, constellation: Constellation, dependencies: Iterable[str], device: str | None = None) -> None:
    """Ask for the facts of undecided dependencies, of one device or of all that hold results."""
    for key in dependencies:
        if key not in constellation.awaiting_facts:
            continue
        dependency = constellation.deps[key]
        pointer = pointer_of(constellation, dependency)
        for task in unread_tasks(constellation, dependency):
            attempt = constellation.last_attempt(task)
            if attempt is None or pointer is None or device not in (None, attempt.device):
                continue
            at = LeaseRef(
                attempt=constellation.tasks[task].attempt,
                constellation=attempt.origin or constellation.name,
                incarnation=attempt.incarnation,
                task=task,
            )
            work.order(SendFetch(at=at, device=attempt.device, wants=[pointer]))


def ask_again(work: Work, device: str) -> None:
    """Ask a device that has connected for all facts that are still open."""
    for name in work.shard.live:
        constellation = work.shard.constellations[name]
        ask(work, constellation, constellation.awaiting_facts, device)


def on_facts(work: Work, item: FactsReported) -> None:
    """Take a device's facts. A pointer that finds nothing, a value too big or a lost value decides as `no_value`."""
    at = item.frame.at
    key = f"{at.task}/{at.attempt}"
    for name in work.shard.live:
        fork = work.shard.constellations[name]
        attempt = fork.attempts.get(key) if fork.awaiting_facts and fork.head.origin is not None else None
        if attempt is not None and attempt.origin == at.constellation:
            _take(work, fork, item, key)
    _take(work, work.shard.constellations.get(at.constellation), item, key)


def _take(work: Work, constellation: Constellation | None, item: FactsReported, key: str) -> None:
    frame = item.frame
    attempt = constellation.attempts.get(key) if constellation else None
    if constellation is None or attempt is None or attempt.device != item.device or attempt.end is not AttemptEnd.OK:
        reason = "facts of no finished attempt of this device"
        if attempt is not None and attempt.device != item.device and attempt.incarnation == frame.at.incarnation:
            work.refuse(item.device, "report", reason)
        work.ignore(reason)
        return
    facts = dict(attempt.facts)
    for dependency in (constellation.deps[name] for name in constellation.awaiting_facts):
        pointer = pointer_of(constellation, dependency)
        if pointer is None or frame.at.task not in unread_tasks(constellation, dependency):
            continue
        if pointer in frame.facts:
            facts[pointer] = frame.facts[pointer]
        else:
            facts[size_key(pointer)] = str(frame.facts_too_big.get(pointer, 0))
    if facts == attempt.facts:
        work.ignore("facts that were not asked for")
        return
    with_facts = replace(attempt, facts=dict(sorted(facts.items())))
    note = "" if frame.kept else "the device does not have the value any more"
    work.emit(constellation, EventKind.FACTS_TOLD, frame.at.task, [("attempt", key, with_facts)], note=note)
