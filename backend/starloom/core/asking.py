"""Facts asked after the end: a later edit hangs a condition on a finished result that only its device can look into.

Until the device answers, that gate is undecided; the question is asked again whenever the device connects.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.effects import SendFetch
from starloom.core.inputs import FactsReported
from starloom.core.model import Constellation
from starloom.core.work import Work
from starloom_protocol.frames import LeaseRef
from starloom_protocol.vocabulary import AttemptEnd


def ask(work: Work, constellation: Constellation, dependencies: list[str]) -> None:
    """Ask for the facts of those dependencies that no answer of their source's device has decided."""
    for key in dependencies:
        if key not in constellation.unasked:
            continue
        dependency = constellation.deps[key]
        attempt = constellation.last_attempt(dependency.source)
        if attempt is None or dependency.condition is None:
            continue
        number = constellation.tasks[dependency.source].attempt
        at = LeaseRef(
            attempt=number,
            constellation=attempt.origin or constellation.name,
            incarnation=attempt.incarnation,
            task=dependency.source,
        )
        work.order(SendFetch(at=at, device=attempt.device, wants=[dependency.condition.output]))


def ask_again(work: Work, device: str) -> None:
    """A device has connected: ask it whatever is still open."""
    for name in work.shard.live:
        constellation = work.shard.constellations[name]
        open_here = []
        for key in constellation.unasked:
            attempt = constellation.last_attempt(constellation.deps[key].source)
            if attempt is not None and attempt.device == device:
                open_here.append(key)
        ask(work, constellation, open_here)


def on_facts(work: Work, item: FactsReported) -> None:
    """A device has looked: a pointer that found nothing, is too big, or whose value is gone decides as `no_value`."""
    at = item.frame.at
    key = f"{at.task}/{at.attempt}"
    for name in work.shard.live:
        forked = work.shard.constellations[name]
        known = forked.attempts.get(key) if forked.unasked and forked.head.origin is not None else None
        if known is not None and known.origin == at.constellation:
            _told(work, forked, item, key)
    _told(work, work.shard.constellations.get(at.constellation), item, key)


def _told(work: Work, constellation: Constellation | None, item: FactsReported, key: str) -> None:
    frame = item.frame
    attempt = constellation.attempts.get(key) if constellation else None
    if constellation is None or attempt is None or attempt.device != item.device or attempt.end is not AttemptEnd.OK:
        reason = "facts of no finished attempt of this device"
        if attempt is not None and attempt.device != item.device and attempt.incarnation == frame.at.incarnation:
            work.refuse(item.device, "report", reason)
        work.ignore(reason)
        return
    facts = dict(attempt.facts)
    for dependency in (constellation.deps[name] for name in constellation.unasked):
        pointer = dependency.condition.output if dependency.condition else ""
        if dependency.source != frame.at.task:
            continue
        if pointer in frame.facts:
            facts[pointer] = frame.facts[pointer]
        else:
            facts[f"!{pointer}"] = str(frame.facts_too_big.get(pointer, 0))
    if facts == attempt.facts:
        work.ignore("facts that nobody waits for")
        return
    told = replace(attempt, facts=dict(sorted(facts.items())))
    note = "" if frame.kept else "the device does not have the value any more"
    work.emit(constellation, "facts_told", frame.at.task, [("attempt", key, told)], note=note)
