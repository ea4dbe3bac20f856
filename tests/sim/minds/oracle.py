"""What must be true of goals, turns, votes, judgements and paces after a schedule, judged from the log and the devices.

Nothing of the core decides here: each rule is said anew, from the durable events, what devices did, and what workers
and people were told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom_protocol.records.entities import decode_entity
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event
from starloom_protocol.values import canonical, parse
from tests.sim.agent import World
from tests.sim.minds.goal_rules import GoalRules
from tests.sim.minds.pace_rules import judge_paces
from tests.sim.minds.plans import COUNT
from tests.sim.minds.tools import inputs_of
from tests.sim.minds.workers import Said
from tests.store.memory import MemoryHistory


def judge(history: MemoryHistory, world: World, said: Said) -> Iterator[str]:
    """Yield every violation, in words."""
    for stream, raws in history.streams.items():
        if stream not in (ACCESS, FLEET):
            yield from _constellation(stream, [decode_event(raw) for raw in raws], said)
    yield from _votes(world)
    yield from _carried(history, world)
    yield from judge_paces(history)


def _constellation(name: str, events: list[Event], said: Said) -> Iterator[str]:
    records: dict[str, Any] = {}
    goals = GoalRules(name, said)
    for event in events:
        puts = {key: None if raw is None else decode_entity(key, bytes(raw)) for key, raw in event.puts.items()}
        # A fork begins with what its origin had decided.
        if event.seq > 1:
            yield from goals.judge(event, puts, records)
            yield from _turns(name, event, puts, records)
            yield from _judged(name, event, puts, records)
            yield from _left_out(name, event, puts, records)
        for key, record in puts.items():
            if record is None:
                records.pop(key, None)
            else:
                records[key] = record
    yield from goals.left(records)


def changed_hubs(history: MemoryHistory) -> int:
    """Return how many goals made steps or answers under more than one term of the shard."""
    terms: dict[tuple[str, str], set[int]] = {}
    for commit in history.commits:
        for event in map(decode_event, commit.events):
            if event.kind in ("goal_stepped", "goal_answered"):
                terms.setdefault((event.stream, event.about), set()).add(commit.term)
    return sum(len(found) > 1 for found in terms.values())


def _turns(name: str, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
    """Turns come one after the other, each once its predecessor has ended well, and no more than may be made."""
    for key, spec in puts.items():
        if not key.startswith("spec/") or spec is None or key in records:
            continue
        group = records.get(f"spec/{spec.group}") if spec.group else None
        repeat = group.for_each.repeat if group is not None and group.for_each is not None else None
        if repeat is None:
            continue
        number = int(spec.id.rpartition(".")[2])
        if number > repeat.most:
            yield f"turn {number} of {name}/{spec.group} is one more than the {repeat.most} that it may make"
        if number == 1:
            continue
        before = records.get(f"task/{spec.group}.{number - 1}")
        if before is None or before.state != "succeeded":
            yield f"turn {number} of {name}/{spec.group} was added while the one before is {before and before.state}"
        elif repeat.until is not None and repeat.in_a_row == 1 and _done(records, f"{spec.group}.{number - 1}"):
            yield f"turn {number} of {name}/{spec.group} was added although the one before met the condition"
    yield from _spacing(name, event, puts, records)


def _done(records: dict[str, Any], task: str) -> bool:
    record = records[f"task/{task}"]
    attempt = records.get(f"attempt/{task}/{record.attempt}")
    text = record.marked if record.marked is not None else attempt.value if attempt is not None else None
    value = parse(text) if text else None
    return isinstance(value, dict) and value.get("done") is True


def _spacing(name: str, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
    """A turn is let go no earlier than its distance after the one before, by the clock of the hub, which may be set."""
    for key, record in puts.items():
        if not key.startswith("task/") or record is None or record.attempt:
            continue
        spec, was = records.get(f"spec/{key.removeprefix('task/')}"), records.get(key)
        group = records.get(f"spec/{spec.group}") if spec is not None and spec.group else None
        repeat = group.for_each.repeat if group is not None and group.for_each is not None else None
        if spec is None or repeat is None or not repeat.every_s or record.state != "ready" or record.reason == "held":
            continue
        number = int(spec.id.rpartition(".")[2])
        before = records.get(f"task/{spec.group}.{number - 1}")
        earlier = records.get(f"attempt/{spec.group}.{number - 1}/{before.attempt}") if before is not None else None
        due_ms = earlier.leased_ms + repeat.every_s * 1000 if earlier is not None else 0
        if record.reason == "moment" and record.not_before_ms != due_ms:
            yield f"{name}/{spec.id} is to begin at {record.not_before_ms}, and {due_ms} is its time"
        waited = was is not None and was.state == "ready"
        if record.reason != "moment" and event.at_ms < due_ms and (was is None or not waited or was.reason == "moment"):
            yield f"{name}/{spec.id} was let go at {event.at_ms}, and {due_ms} is its time"


def _carried(history: MemoryHistory, world: World) -> Iterator[str]:
    """A turn is given what the one before it gave: the number of turns before, where no person wrote a result."""
    marked = {
        (stream, event.about)
        for stream, raws in history.streams.items()
        for event in map(decode_event, raws)
        if event.by.startswith("person:") and any(b'"marked"' in bytes(raw) for raw in event.puts.values() if raw)
    }
    by_hand = {(stream, task.rpartition(".")[0]) for stream, task in marked}
    for at, dispatch in world.dispatched.items():
        args = parse(dispatch.args)
        group, _, number = at.task.rpartition(".")
        if not args.get("counts") or (at.constellation, group) in by_hand:
            continue
        given = inputs_of(dispatch).get("at", args.get("at"))
        if given != int(number) - 1:
            yield f"{at} was given {given}, and the turn before it gave {int(number) - 1}"


def _votes(world: World) -> Iterator[str]:
    """Each call of a vote is one ballot, with its own voter, and no more are counted than were asked for."""
    for at, dispatch in world.dispatched.items():
        if dispatch.tool != COUNT:
            continue
        given = inputs_of(dispatch)
        voters = [voter["task"] for voter in given.get("voters") or []]
        ballots = given.get("ballots") or []
        of = parse(dispatch.args)["of"]
        if len(set(voters)) != len(voters):
            yield f"{at} counts a voter twice: {voters}"
        if len(ballots) != len(voters) or len(ballots) > of:
            yield f"{at} counts {len(ballots)} ballots of {len(voters)} voters, of {of}"
        whose = [ballot.get("who") for ballot in ballots if isinstance(ballot, dict) and "who" in ballot]
        if len(whose) == len(voters) and whose != voters:
            yield f"{at} counts ballots of {whose} as those of {voters}"
        if "chosen" in given and given["chosen"] not in voters:
            yield f"{at} counts a vote for {given['chosen']}, which is none of {voters}"


def _left_out(name: str, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
    """An optional part that has not begun is left out by the hub alone, and nothing that must be done needs it."""
    for key, record in puts.items():
        if record is None or not key.startswith(("task/", "group/")) or record.reason != "left_out":
            continue
        was, part = records.get(key), key.partition("/")[2]
        if was is not None and was.reason == "left_out":
            continue
        spec, head = records[f"spec/{part}"], records["head"]
        if event.by != "engine" or head.state != "active" or not head.policy.drop_below:
            yield f"{name}/{part} was left out by {event.by} while it is {head.state}"
        if not spec.optional or spec.group is not None or was is None or was.state not in ("waiting", "ready"):
            yield f"{name}/{part} was left out, and it is no optional part that has not begun: {was}"
        for gate in (one for key, one in records.items() if key.startswith("dep/") and one.source == part):
            if not gate.optional and not records[f"spec/{gate.target}"].optional:
                yield f"{name}/{part} was left out, and {gate.target} needs it"


def _judged(name: str, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
    """What has a judge succeeds by a yes to this very attempt, of its judge or of a person, or by a person's mark."""
    for key, record in puts.items():
        task = key.removeprefix("task/")
        spec = records.get(f"spec/{task}")
        if record is None or not key.startswith("task/") or spec is None or spec.judge is None:
            continue
        was = records.get(key)
        if record.state != "succeeded" or (was is not None and was.state == "succeeded"):
            continue
        if spec.person is not None and event.kind != EventKind.TASK_MARKED:
            yield from _choice(name, spec, record, {**records, **puts})
            continue
        if event.by.startswith("person:"):
            continue
        about = f"{task}/{record.round}/{record.attempt}"
        now = {**records, **puts}
        given = [one.verdict for key, one in now.items() if key.startswith("job/") and one and one.tasks == [about]]
        if not any(verdict is not None and verdict.holds == "yes" for verdict in given):
            yield f"{name}/{task} has succeeded without a yes of its judge: {canonical([str(one) for one in given])}"


def _choice(name: str, spec: Any, record: Any, now: dict[str, Any]) -> Iterator[str]:
    """A vote with a judge takes one of its calls that gave a result, by the newest verdict on this very round."""
    taken = parse(record.marked)["value"]
    about = [f"{spec.id}/{record.round}/{record.attempt}"]
    given = [one.verdict for key, one in now.items() if key.startswith("job/") and one and one.tasks == about]
    if not any(
        one is not None and one.holds == "yes" and [cite.task for cite in one.cites] == [taken] for one in given
    ):
        yield f"{name}/{spec.id} took {taken} without a verdict for it: {canonical([str(one) for one in given])}"
    call, ended = now.get(f"spec/{taken}"), now.get(f"task/{taken}")
    if call is None or call.group != spec.shows.source or ended is None or ended.state != "succeeded":
        yield f"{name}/{spec.id} took {taken}, which is no call of the vote that gave a result"
