"""The invariants of a shard after every step, by the numbers that code and tests use for them.

`check` walks the whole shard; `check_touched` only the entities in a step's journal, so that its cost follows the step.
I4 to I6, I8 and I13 to I16 are listed here and checked where they belong: in the handlers, the store, the edge, the
agent and their tests. A live constellation that cannot continue (I11) is a bug of the hub: the step that causes it asks
for a person's attention. Repairs nothing: a person skips or cancels.

I1   the tasks of a constellation form no cycle
I2   a task is leased only when all its gates are open
I3   a task has at most one open attempt, two while a hedge of repeatable work is open; numbers of attempts only rise
I4   a report counts only if it names the open lease of the log and came from the leased device
I5   state and result of a final round of a task never change
I6   an edit touches only tasks that have not started, and dependencies on them
I7   versions rise by one, logs have no gap, and the fold of the events is the state
I8   no acknowledged request or result is missing from the durable history
I9   work that must not be repeated is begun once, unless a person has confirmed another attempt
I10  each constellation and each task is counted once: as final, live, or replaced by its successor
I11  a live constellation has something that can move it, or a person has paused it
I12  no device holds more tasks than it has slots
I13  every queue, buffer and log stays within its limit
I14  every input names the connection that it came from and its scope
I15  every call of a tool was permitted by the policy of its device
I16  the audit chain verifies
I17  nothing that a judge has to pass has succeeded without its yes
I18  a task begins with a finding of the topic for each input by topic, or with the value that the plan gives instead
"""

from __future__ import annotations

from collections.abc import Iterable

from starloom.core.state.model import Constellation, Shard
from starloom.core.state.tasks.gates import READ_BY_CORE, decide
from starloom.core.state.tasks.graph import find_cycle
from starloom.core.state.tasks.roles import successor
from starloom.core.state.work import Work, attend, is_at_a_moment, unattend
from starloom_protocol.records.entities import Answer, TaskRecord, TaskSpec
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    REPEATABLE,
    AttemptEnd,
    Attention,
    ConstellationState,
    GateState,
    Reason,
    TaskState,
)

STALLED_NAMED_MOST = 5


def is_stalled(constellation: Constellation) -> bool:
    """Tell whether no task runs, is ready, held, asked about or waits for a device, and yet the constellation is live.

    A paused constellation waits for a person. Back-off, holds and waiting for devices are reasons of ready tasks; work
    in doubt keeps its attempt open.
    """
    state = constellation.head.state
    if state in FINAL_CONSTELLATION_STATES or state is ConstellationState.PAUSED:
        return False
    if constellation.returning:
        return False
    if (
        constellation.open_attempts
        or constellation.ready
        or constellation.open_questions
        or constellation.awaiting_facts
    ):
        return False
    return all(job.state == "done" for job in constellation.jobs.values())


def waiting_in(constellation: Constellation) -> list[str]:
    """Return the tasks and groups of a stalled constellation that wait, in the order of the plan."""
    tasks = [task for task, record in constellation.tasks.items() if record.state is TaskState.WAITING]
    return [*(group for group, record in constellation.groups.items() if record.state == "waiting"), *tasks]


def stall_sentence(constellation: Constellation) -> str:
    """Return the sentence about a stall, with the way out."""
    names = waiting_in(constellation)
    what = f"{few(names, STALLED_NAMED_MOST)} cannot start" if names else "it does not end"
    return f"nothing in it can go on: {what}; this is a fault of the hub. Skip these tasks, or cancel it"


def watch_stalls(work: Work, names: Iterable[str]) -> None:
    """Ask once for attention for each of these constellations that is stalled, and end it for one that moves again."""
    for name in names:
        constellation = work.shard.constellations.get(name)
        if constellation is None or name not in work.shard.live:
            continue
        if is_stalled(constellation):
            attend(work, constellation, Attention.STALLED, note=stall_sentence(constellation))
        elif Attention.STALLED in constellation.head.attention:
            unattend(work, constellation, Attention.STALLED)


_LIVE = frozenset({TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING, TaskState.UNKNOWN})


class Violated(AssertionError):
    """An invariant does not hold."""


def _violated(number: str, words: str) -> Violated:
    """Return the error. Its words are made only when an invariant is violated, because every step of a hub checks."""
    return Violated(f"{number}: {words}")


def check(shard: Shard) -> None:
    """Check the invariants that a shard alone shows, all but I4 to I6, I8 and I13 to I16, over the whole of it."""
    used: dict[str, int] = {}
    for constellation in shard.constellations.values():
        cycle = find_cycle(constellation, constellation.specs)
        if cycle is not None:
            raise _violated("I1", f"{constellation.name} has a cycle {cycle}")
        if sorted(int(number) for number in constellation.versions) != list(range(1, constellation.head.version + 1)):
            raise _violated("I7", f"versions of {constellation.name} have a gap")
        for task in constellation.tasks:
            check_task(constellation, task)
            record = constellation.tasks[task]
            if record.state in (TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING) and record.device:
                used[record.device] = used.get(record.device, 0) + 1
        for key in constellation.open_attempts:
            attempt = constellation.attempts[key]
            if attempt.hedge:
                used[attempt.device] = used.get(attempt.device, 0) + 1
        check_indexes(constellation)
        check_successors(constellation)
        check_verdict(constellation)
        check_moving(shard, constellation)
    for device, count in used.items():
        offer = shard.fleet.offers.get(device)
        if shard.fleet.used.get(device, 0) != count:
            raise _violated("I12", f"slots of {device} are miscounted")
        if offer is not None and count > offer.slots:
            raise _violated("I12", f"{device} holds {count} of {offer.slots}")


def check_touched(shard: Shard) -> None:
    """Check the entities in the journal of the current batch."""
    seen: dict[tuple[str, str], None] = {}
    for stream, kind, key, _old, _seq in shard.journal:
        if not isinstance(stream, Constellation):
            continue
        task = key.rpartition("/")[0] if kind == "attempt" else key
        if kind in ("task", "attempt", "spec") and (stream.name, task) not in seen:
            seen[(stream.name, task)] = None
            if task in stream.tasks:
                check_task(stream, task)


def check_task(constellation: Constellation, task: str) -> None:
    """Check one task, its attempts and its gates."""
    record = constellation.tasks[task]
    spec = constellation.specs.get(task)
    where = f"{constellation.name}/{task}"
    if spec is None:
        raise _violated("I7", f"{where} has no spec")
    open_numbers = []
    started = 0
    for number in range(1, max(record.attempt, record.hedge) + 1):
        attempt = constellation.attempts.get(f"{task}/{number}")
        if attempt is None:
            continue
        if attempt.end is None:
            open_numbers.append(number)
        if attempt.round == record.round and attempt.end not in (AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED):
            started += attempt.repeatability not in REPEATABLE
    last = max(record.attempt, record.hedge)
    if f"{task}/{last + 1}" in constellation.attempts:
        raise _violated("I3", f"{where} has an attempt above its last")
    hedge = constellation.attempts.get(f"{task}/{record.hedge}") if record.hedge > record.attempt else None
    if hedge is not None and hedge.end is None:
        first = constellation.attempts.get(f"{task}/{record.attempt}")
        allowed = hedge.repeatability in REPEATABLE and first is not None and first.device != hedge.device
        if not allowed or not hedge.hedge:
            raise _violated("I3", f"{where} has a hedge that may not be")
        open_numbers.remove(record.hedge)
    if len(open_numbers) > 1:
        raise _violated("I3", f"{where} has open attempts {open_numbers}")
    if open_numbers and open_numbers[0] != record.attempt:
        raise _violated("I3", f"{where} has an open attempt that is not its last")
    if (record.state in _LIVE) != bool(open_numbers):
        raise _violated("I3", f"{where} is {record.state}, open: {open_numbers}")
    is_judged = spec.judge is not None and record.state is TaskState.SUCCEEDED and record.marked is None
    if is_judged and record.judged != record.attempt:
        raise _violated("I17", f"{where} succeeded, and no judge let attempt {record.attempt} pass")
    if spec.retry.max_attempts <= 1 and started > 1 and not record.confirmed:
        attempts = (constellation.attempts.get(f"{task}/{number}") for number in range(1, record.attempt + 1))
        if not any(attempt is not None and attempt.effect == "none" for attempt in attempts):
            raise _violated("I9", f"{where} may have run {started} times")
    if record.state in (TaskState.LEASED, TaskState.RUNNING) and record.started:
        shut = [k for k in constellation.incoming.get(task, {}) if constellation.gate[k] is not GateState.OPEN]
        if shut:
            raise _violated("I2", f"{where} is leased with gates {shut}")
        if not _has_taken(constellation, spec, record):
            raise _violated("I18", f"{where} is leased with {record.took}")


def _has_taken(constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> bool:
    for item in spec.inputs:
        finding = constellation.findings.get(record.took.get(item.name, ""))
        instead = record.took.get(item.name) == "" and item.otherwise is not None
        if item.topic and not instead and (finding is None or finding.topic != item.topic):
            return False
    return True


def check_indexes(constellation: Constellation) -> None:
    """Check that the indexes agree with the entities."""
    undecided: dict[str, int] = {}
    shut: dict[str, int] = {}
    for key, dependency in constellation.deps.items():
        state = decide(constellation, dependency)
        if constellation.gate[key] is not state:
            raise _violated("I7", f"gate {key} is {constellation.gate[key]}, should be {state}")
        if state is GateState.UNDECIDED:
            undecided[dependency.target] = undecided.get(dependency.target, 0) + 1
        elif state is GateState.SHUT:
            shut[dependency.target] = shut.get(dependency.target, 0) + 1
    for task in constellation.specs:
        if constellation.undecided.get(task, 0) != undecided.get(task, 0):
            raise _violated("I7", f"{task}: undecided miscounted")
        if constellation.shut.get(task, 0) != shut.get(task, 0):
            raise _violated("I7", f"{task}: shut miscounted")
    read = {(of.source, key) for key, of in constellation.deps.items() if of.condition or of.input in READ_BY_CORE}
    if {(source, key) for source, gates in constellation.read.items() for key in gates} != read:
        raise _violated("I7", f"{constellation.name}: gates that read a result miscounted")
    top = sum(
        1
        for task, record in constellation.tasks.items()
        if constellation.specs[task].group is None and record.state not in FINAL_TASK_STATES
    ) + sum(1 for record in constellation.groups.values() if record.state not in FINAL_GROUP_STATES)
    moments = {task for task, record in constellation.tasks.items() if is_at_a_moment(record)}
    if constellation.moments.keys() != moments:
        raise _violated("I10", f"{constellation.name}: tasks at a moment miscounted")
    if constellation.tapped.keys() != {
        task for task, record in constellation.tasks.items() if record.reason is Reason.TAP
    }:
        raise _violated("I10", f"{constellation.name}: tasks that wait for a tap miscounted")
    if constellation.unfinished_top != top:
        raise _violated("I10", f"{constellation.name}: unfinished miscounted")
    for group in constellation.groups:
        children = [constellation.record(child) for child in constellation.children.get(group, ())]
        tally = constellation.tally.get(group)
        unfinished = sum(1 for child in children if child.state not in FINAL_TASK_STATES)
        if (tally.unfinished if tally else 0) != unfinished:
            raise _violated("I10", f"{group}: children miscounted")


def check_successors(constellation: Constellation) -> None:
    """Check that successors form no ring, and that a success rests on none that did not succeed."""
    for task, spec in constellation.specs.items():
        if spec.superseded_by is None:
            continue
        visited, following = {task}, constellation.specs.get(spec.superseded_by)
        while following is not None:
            if following.id in visited:
                raise _violated("I10", f"{constellation.name}: {task} is superseded in a ring")
            visited.add(following.id)
            following = constellation.specs.get(following.superseded_by or "")
        if constellation.head.state is ConstellationState.SUCCEEDED and spec.group is None and not spec.optional:
            end = constellation.record(successor(constellation, task)).state
            if end != "succeeded":
                raise _violated("I10", f"{constellation.name} succeeded, the successor of {task} is {end}")


def check_verdict(constellation: Constellation) -> None:
    """I17: a constellation with a judge of the whole has succeeded only with its yes."""
    head, answer = constellation.head, constellation.tables["answer"].get("")
    if head.state is ConstellationState.SUCCEEDED and head.policy.judge is not None and head.undone_from is None:
        holds = answer.verdict.holds if isinstance(answer, Answer) and answer.verdict is not None else "nothing"
        if holds != "yes":
            raise _violated("I17", f"{constellation.name} succeeded, and its judge said {holds}")


def check_moving(shard: Shard, constellation: Constellation) -> None:
    """I11: a live constellation has ready work, an open attempt, question, job or fact, or a person paused it."""
    ready = sum(record.state is TaskState.READY for record in constellation.tasks.values())
    if constellation.ready != ready:
        raise _violated("I11", f"{constellation.name}: ready tasks miscounted")
    stalled = constellation.name in shard.live and is_stalled(constellation)
    if stalled:
        raise _violated("I11", f"{constellation.name} is {constellation.head.state} and nothing moves")
