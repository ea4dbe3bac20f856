"""What must be true after a schedule, judged from what clients were told, the agents' world and the durable log."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.core.run.hedge_opening import WHY as HEDGED
from starloom.core.state.apply import full_key, load
from starloom.core.state.model import Shard
from starloom_protocol.records.entities import (
    Attempt,
    Finding,
    Record,
    TaskRecord,
    TaskSpec,
    decode_entity,
    encode_entity,
)
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event, fold, state_hash
from starloom_protocol.vocabulary import REPEATABLE, AttemptEnd, Attention, Outcome, Repeatability
from starloom_protocol.wire.frames import LeaseRef
from tests.sim.agent import World
from tests.sim.client import Told
from tests.store.memory import MemoryHistory, MemoryRedis


def judge(
    shard: Shard, redis: MemoryRedis, history: MemoryHistory, world: World, told: Told, *, lives_from: int = 0
) -> Iterator[str]:
    """Yield every violation, in words. The shard is completed with what has left it.

    Where the history was restored, devices are judged by the lives `lives_from` that restore on.
    """
    yield from told.problems
    yield from _log(shard, redis, history)
    yield from _left(shard, redis, history)
    yield from _promises(shard, history, told)
    yield from _devices(shard, world, lives_from)
    yield from _findings(shard, history)
    for device in () if lives_from else shard.fleet.devices.values():
        if device.remembers:
            yield f"{device.remembers}, and no history was restored"
    if world.remembered and not lives_from:
        yield f"a device refused work {world.remembered} times that it had begun, and no history was restored"
    for name in shard.live:
        found = shard.constellations[name]
        states = {task: f"{record.state} {record.reason or ''}" for task, record in found.tasks.items()}
        groups = {group: str(record.state) for group, record in found.groups.items()}
        yield f"stuck: {name} is {found.head.state} {found.head.attention}: {states} {groups}"


def _log(shard: Shard, redis: MemoryRedis, history: MemoryHistory) -> Iterator[str]:
    """The log has no gap and folds to the same bytes in the history, in Redis and in the engine."""
    positions = [commit.pos for commit in history.commits]
    if positions != list(range(1, len(positions) + 1)):
        yield f"the history has gaps: {positions}"
    for stream, raws in history.streams.items():
        events = [decode_event(raw) for raw in raws]
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            yield f"the log of {stream} has gaps"
        folded = fold({}, events)
        if stream in redis.heads and folded != redis.entities.get(stream, {}):
            yield f"the history and Redis differ in {stream}"
        yield from (f"stalled: {stream}: {event.note}" for event in events if event.about == Attention.STALLED)
        if stream not in (ACCESS, FLEET, *shard.constellations):
            continue
        found = shard.stream(stream)
        live = {full_key(kind, key): encode_entity(record) for kind, key, record in found.records()}
        if state_hash(live) != state_hash(folded):
            yield f"the engine's {stream} is not the fold of its log"


def _left(shard: Shard, redis: MemoryRedis, history: MemoryHistory) -> Iterator[str]:
    """Whatever is over and quiet has left memory and Redis, and nothing else has."""
    held = {ACCESS, FLEET, *shard.constellations}
    for name in shard.constellations:
        if name not in shard.live:
            yield f"{name} has ended and is still held"
    for stream in redis.heads:
        if stream not in held:
            yield f"{stream} has left memory and is still in Redis"
    for stream in sorted(history.streams.keys() - held):
        load(shard, stream, *_records(history, stream))
        if stream in shard.live:
            yield f"{stream} is not over and is not held"
    for stream in held & history.streams.keys() - redis.heads.keys():
        yield f"{stream} is held and not in Redis"


def _records(history: MemoryHistory, stream: str) -> tuple[int, dict[str, Record]]:
    whole = history.whole(stream)
    return whole.seq, {key: decode_entity(key, raw) for key, raw in whole.entities.items()}


def _promises(shard: Shard, history: MemoryHistory, told: Told) -> Iterator[str]:
    """Nothing accepted is lost; every version answered is in the plan's history, made by that edit."""
    for name in told.accepted:
        if name not in shard.constellations:
            yield f"lost: {name} was accepted and is gone"
    for name, origin in told.forks.items():
        if name not in shard.constellations:
            yield f"lost: {name} was accepted as a fork of {origin} and is gone"
    seen: dict[tuple[str, int], str] = {}
    for token, (name, number) in told.edits.items():
        version = shard.constellations[name].versions.get(str(number)) if name in shard.constellations else None
        if version is None or version.reason != token:
            yield f"lost: edit {token} was answered version {number} of {name}"
        if seen.setdefault((name, number), token) != token:
            yield f"{token} and {seen[(name, number)]} were both answered version {number} of {name}"
    for name in told.cancelled:
        found = shard.constellations.get(name)
        if found is not None and found.head.state != "cancelled" and not _reopened(history, name):
            yield f"lost: the cancel of {name} was accepted; it is {found.head.state}"


def _reopened(history: MemoryHistory, name: str) -> bool:
    """Whether somebody had something of it done after its last cancel: an undo, a retry."""
    kinds = [decode_event(raw).kind for raw in history.streams[name]]
    last = max((at for at, kind in enumerate(kinds) if kind == "cancelling"), default=-1)
    return last >= 0 and "reopened" in kinds[last:]


def _devices(shard: Shard, world: World, lives_from: int) -> Iterator[str]:
    begun: dict[tuple[str, str], list[LeaseRef]] = {}
    for _at_s, device, at, repeatability in world.begun:
        if at.incarnation < lives_from:
            continue
        attempt = _attempt(shard, at)
        if repeatability == Repeatability.NEVER:
            begun.setdefault((at.constellation, at.task), []).append(at)
            if attempt is None:
                yield f"{at} may not be repeated, was begun on {device}, and the log does not know it"
        if attempt is None:
            continue
        if attempt.device != device:
            yield f"{at} was begun on {device}, its lease is that of {attempt.device}"
        earlier = [
            number
            for number in range(1, at.attempt)
            if (other := _attempt(shard, at, number)) is not None
            and other.round == attempt.round
            and other.end is AttemptEnd.OK
        ]
        # A hedge runs beside an earlier attempt, which may end well after it began.
        if earlier and attempt.why != HEDGED:
            yield f"{at} was begun though attempt {earlier[-1]} of its round had ended well"
    for (name, task), refs in begun.items():
        if len(refs) > 1:
            yield f"twice: {name}/{task} may not be repeated and was begun {len(refs)} times: {refs}"
    for at, report in world.acknowledged.items():
        attempt = _attempt(shard, at)
        if attempt is None or at.incarnation < lives_from:
            continue
        if report.outcome is not Outcome.OK:
            continue
        if attempt.end in (AttemptEnd.LOST, AttemptEnd.REVOKED, AttemptEnd.TIMEOUT):
            if attempt.late is None and attempt.end is not AttemptEnd.REVOKED:
                yield f"lost: the late result of {at} was acknowledged and left no trace"
        elif attempt.end not in (AttemptEnd.OK, AttemptEnd.ERROR, *_ended_otherwise(world, at)):
            yield f"lost: the result of {at} was acknowledged; the attempt is {attempt.end}"
        elif attempt.repeatability not in REPEATABLE and attempt.value is None:
            yield f"lost: the value of {at}"


def _findings(shard: Shard, history: MemoryHistory) -> Iterator[str]:
    """Whatever a task took by topic was published before from a result that stands, and as fresh as it must be."""
    for name, found in shard.constellations.items():
        there: dict[str, Finding] = {}
        seen: dict[str, dict[str, str]] = {}
        for event in map(decode_event, history.streams.get(name, ())):
            for key, raw in event.puts.items():
                kind, _, of = key.partition("/")
                record = decode_entity(key, raw) if kind in ("finding", "task") and raw is not None else None
                if isinstance(record, Finding):
                    if of in there:
                        yield f"the finding {of} of {name} was changed"
                    there[of] = record
                if isinstance(record, TaskRecord) and record.took != seen.get(of, {}):
                    seen[of] = record.took
                    spec = found.specs.get(of)
                    # A fork brings along what was taken before.
                    if spec is not None and event.kind != EventKind.FORKED:
                        yield from _taken(f"{name}/{of}", spec, record.took, there, event.at_ms)
        for number, finding in there.items():
            attempt = found.attempts.get(f"{finding.task}/{finding.attempt}")
            marked = finding.device is None
            if not marked and (attempt is None or attempt.end is not AttemptEnd.OK):
                yield f"the finding {number} of {name} is of no result: {finding.task}/{finding.attempt}"


def _taken(where: str, spec: TaskSpec, took: dict[str, str], there: dict[str, Finding], at_ms: int) -> Iterator[str]:
    for item in spec.inputs:
        number = took.get(item.name)
        if not item.topic or not number:
            continue
        finding = there.get(number)
        if finding is None or finding.topic != item.topic:
            yield f"{where} took {number}, which is no finding of {item.topic}"
        elif item.fresh_s and at_ms - finding.at_ms > item.fresh_s * 1000:
            yield f"{where} took a finding that is {at_ms - finding.at_ms} ms old, and {item.fresh_s} s are allowed"


def _attempt(shard: Shard, at: LeaseRef, number: int = 0) -> Attempt | None:
    found = shard.constellations.get(at.constellation)
    attempt = found.attempts.get(f"{at.task}/{number or at.attempt}") if found else None
    if attempt is None or (not number and attempt.incarnation != at.incarnation):
        return None
    return attempt


def _ended_otherwise(world: World, at: LeaseRef) -> set[Outcome]:
    """Return how an attempt that ended well ended in other lives of its agent: a crash forgets pure work.

    Then the end that comes first counts. Within one life there is one end.
    """
    said = world.ended.get(at, [])
    good = {life for life, outcome in said if outcome is Outcome.OK}
    return {outcome for life, outcome in said if life not in good}
