"""Compensation: finished work is undone by the way back of its tasks, in reverse order of completion.

Each undo is an ordinary task with its own attempt and ledger entry, on the device that did the work, and must be safe
to repeat. A failed one stops the rest and asks for a person, who may undo again: that retries it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from types import MappingProxyType

from msgspec.structs import replace

from starloom.core.people.controls import open_round
from starloom.core.plan.edits import apply_edit
from starloom.core.plan.starting import activate
from starloom.core.rights.authorship import check_undo
from starloom.core.rights.call_effects import CHANGING, effects_of_task, offers_in
from starloom.core.state.inputs import ControlRequested, UndoRequested
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact, is_known, size_left_out
from starloom.core.state.tasks.graph import redone
from starloom.core.state.tasks.roles import is_over
from starloom.core.state.work import Refusal, Work, fault, named_constellation
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    Fault,
    Input,
    OnAbsence,
    Selector,
    TaskSpec,
    UndoCall,
)
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import counted
from starloom_protocol.tools.ways_back import ADDED, leaves_saved, way_back
from starloom_protocol.values import MISSING
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    FINAL_TASK_STATES,
    STARTED_TASK_STATES,
    Code,
    ConstellationState,
    Gate,
    Repeatability,
    TaskState,
)

UNDO_ID_MOST = 60
_MARK_CHARS = 8
_SAID_MOST = 20
"""A terminal shows them all."""
_WAYS = {
    "fs.restore": "{files} of {name}: back from the trash of {device}, to where they were",
    "fs.trash": "{files} of {name}: into the trash of {device}, from where they can be taken back",
    "put_back": "the files that {name} moved on {device}: back to where they were, unless somebody changed them since",
}
_BEING_UNDONE = "is being undone"
_PUT_BACK = "put_back"
_FOUND_MOVED = (
    "found its file moved already, by an attempt of it whose result was lost or by others, so its undo has nothing to"
    " put back; move it back by a task with fs.move"
)
_SAVED_UNTOLD = (
    "was done by an agent that did not tell yet which files it saved, so its undo knows none of them; its log has the"
    " tickets of those that it replaced, for fs.restore"
)


def on_undo(work: Work, item: UndoRequested) -> None:
    """Add the calls that undo finished work, in reverse order, as one version of the plan.

    Raises:
        Refusal: there is nothing to undo, it is not the work of this author, a named task cannot be undone, or work
            is still under way.
    """
    constellation = named_constellation(work, item.constellation)
    head = constellation.head
    check_undo(constellation, work.by, approves=item.approves)
    if not head.version or head.state is ConstellationState.CANCELLING:
        ended = head.state in FINAL_CONSTELLATION_STATES
        reason = "it ended before it had a plan, so it did nothing" if ended else f"the constellation is {head.state}"
        hint = "There is nothing to undo." if ended else "Wait until it has ended."
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason, "", hint))
    again = _to_retry(constellation, item)
    chosen = [] if again else _chosen(constellation, item)
    busy = [task for task, record in constellation.tasks.items() if record.state in STARTED_TASK_STATES]
    if not item.tasks and busy:
        names = ", ".join(busy[:10])
        raise Refusal(fault(Code.DOWNSTREAM_STARTED, f"under way: {names}", "", "Cancel it or wait, then undo."))
    order = {task: at for at, task in enumerate(constellation.tasks)}
    chosen.sort(key=lambda found: (found[2].ended_ms, order[found[0]]), reverse=True)
    undoing = [*again, *(found[0] for found in chosen)]
    left = [task for task in _done(constellation) if task not in undoing]
    told = {
        "undoing": undoing,
        "cannot_be_undone": [task for task in left if leaves_something(work.shard.fleet, constellation, task)],
    }
    if item.preview:
        says = _said(work.shard.fleet, constellation, undoing)
        work.answer({"version": head.version, **told, "says": says})
        return
    why = item.reason or "undo"
    if again:
        retry = ControlRequested(
            action="retry", approves=item.approves, by=item.by, constellation=item.constellation, id=item.id, reason=why
        )
        open_round(work, constellation, list(again.values()), retry)
        work.answer({"version": head.version, **told})
        return
    operations = _operations(constellation, chosen)
    if head.state in FINAL_CONSTELLATION_STATES:
        noted = replace(head, undone_from=head.undone_from or head.state)
        work.emit(constellation, EventKind.UNDO_ASKED, "", [("head", "", noted)], note=why)
        activate(work, constellation, EventKind.REOPENED, why)
    number = apply_edit(work, constellation, operations, author=work.by, reason=why, trigger="undo")
    work.answer({"version": number, **told})


def _said(fleet: Fleet, constellation: Constellation, undoing: list[str]) -> list[str]:
    """Return in words what each undo moves and where to, in their order; tasks of one list on one device together."""
    files: dict[tuple[str, str, str], list[int | None]] = {}
    for task in undoing:
        spec, attempt = constellation.specs[task], constellation.last_attempt(task)
        call = way_back(spec)
        if call is not None and attempt is not None:
            name = spec.group or task
            way = _PUT_BACK if _PUT_BACK in call.outputs else call.tool
            key = (name, fleet.name_of(attempt.device), way)
            files.setdefault(key, []).append(count_of_files(constellation, task))
    words = [
        _WAYS.get(way, "{way} runs for {name} on {device}, which cannot be undone itself").format(
            device=device, files=_counted(counts), name=name, way=way
        )
        for (name, device, way), counts in files.items()
    ]
    return [*words[:_SAID_MOST], *([f"{len(words) - _SAID_MOST} more"] if len(words) > _SAID_MOST else [])]


def _counted(counts: list[int | None]) -> str:
    known = [one for one in counts if one is not None]
    return counted(sum(known), "file") if len(known) == len(counts) else "the files"


def count_of_files(constellation: Constellation, task: str) -> int | None:
    """Return how many files the undo of a task moves, by its result; None where that does not tell them."""
    call = way_back(constellation.specs[task])
    lists = [fact(constellation, task, pointer) for pointer in call.outputs.values()] if call is not None else []
    if not lists or not all(isinstance(found, list) for found in lists):
        return None
    items = [item for found in lists if isinstance(found, list) for item in found]
    return sum(not (isinstance(item, dict) and item.get("folder")) for item in items)


def _operations(constellation: Constellation, chosen: list[tuple[str, UndoCall, Attempt]]) -> list[EditOperation]:
    """Return the calls that take back work, each behind the one before it."""
    operations: list[EditOperation] = []
    taken: dict[str, TaskSpec] = {}
    before: str | None = None
    for task, call, attempt in chosen:
        made = _compensation(constellation, task, call, attempt, taken)
        taken[made.id] = made
        operations.append(AddTask(spec=made))
        if before is not None:
            gate = Dependency(changed_in=0, gate=Gate.SUCCESS, source=before, target=made.id)
            operations.append(AddDependency(dependency=gate))
        before = made.id
    return operations


def _to_retry(constellation: Constellation, item: UndoRequested) -> dict[str, str]:
    """Return the named tasks, or all, whose undo ended without success, each with it; empty if others can be undone.

    An undo behind that of a named task was asked for with it, and goes on with it.
    """
    tried = {
        spec.undoes: name
        for name, spec in constellation.specs.items()
        if spec.undoes is not None
        and undoes_now(constellation, name)
        and is_over(constellation, name)
        and constellation.tasks[name].state is not TaskState.SUCCEEDED
    }
    if not item.tasks:
        return {} if any(_can_be(constellation, task) for task in constellation.tasks) else tried
    if not tried.keys() >= {*item.tasks}:
        return {}
    part, _ = redone(constellation, [tried[task] for task in item.tasks])
    return {task: name for task, name in tried.items() if name in part}


def _chosen(constellation: Constellation, item: UndoRequested) -> list[tuple[str, UndoCall, Attempt]]:
    wanted: dict[str, None] = {}
    faults: list[Fault] = []
    for name in item.tasks:
        if name in constellation.groups:
            wanted.update((task, None) for task in constellation.leaves(name) if _can_be(constellation, task))
        elif name in constellation.tasks:
            wanted[name] = None
        else:
            faults.append(fault(Code.UNKNOWN_TASK, f"there is no task {name}", "tasks"))
    if not item.tasks:
        wanted.update((task, None) for task in constellation.tasks if _can_be(constellation, task))
    found: list[tuple[str, UndoCall, Attempt]] = []
    for task in wanted:
        why = _why_not(constellation, task)
        call, attempt = way_back(constellation.specs[task]), constellation.last_attempt(task)
        if why or call is None or attempt is None:
            faults.append(fault(Code.ILLEGAL_CONTROL, f"{task} {why}", "tasks"))
        else:
            found.append((task, call, attempt))
    if not faults and not found:
        faults.append(_nothing_left(constellation))
    if faults:
        raise Refusal(*faults)
    return found


def _nothing_left(constellation: Constellation) -> Fault:
    """Return why no task can be undone: none says how, all are undone, or they are just being undone."""
    done = [
        task
        for task, spec in constellation.specs.items()
        if way_back(spec) is not None and _is_done(constellation, task)
    ]
    undone = [task for task in done if not _why_nothing(constellation, task)]
    if done and not undone:
        return fault(Code.ILLEGAL_CONTROL, f"{done[0]} {_why_nothing(constellation, done[0])}")
    whys = {_why_not(constellation, task) for task in undone}
    if _BEING_UNDONE in whys:
        hint = "Wait for its end: `starloom watch`."
        return fault(Code.ILLEGAL_CONTROL, "its work is being undone", "", hint)
    if undone:
        hint = "Nothing is left to do; `starloom show` has the calls that took it back."
        return fault(Code.ILLEGAL_CONTROL, "all of its work that can be undone is undone already", "", hint)
    reason = "no finished task says how it is undone"
    return fault(Code.ILLEGAL_CONTROL, reason, "", "A task says so with `undo` (docs/plans.md).")


def _is_done(constellation: Constellation, task: str) -> bool:
    record = constellation.tasks.get(task)
    return record is not None and record.state is TaskState.SUCCEEDED


def _done(constellation: Constellation) -> list[str]:
    return [
        task
        for task, record in constellation.tasks.items()
        if record.state is TaskState.SUCCEEDED and constellation.specs[task].undoes is None
    ]


def leaves_something(fleet: Fleet, constellation: Constellation, task: str) -> bool:
    """Whether finished work changed something and says no way back of it; a call that only read does not count."""
    spec = constellation.specs[task]
    if leaves_saved(spec) or _why_nothing(constellation, task):
        return True
    # The way back of saved files takes back nothing else that the tool did.
    spec = replace(spec, files_out=[])
    if spec.tool is None or way_back(spec) is not None:
        return False
    offers = offers_in(fleet)
    silent = any(not offer.effects and offer.repeatability is not Repeatability.PURE for offer in offers(spec.tool))
    return silent or bool(effects_of_task(spec, offers) & CHANGING)


def _why_nothing(constellation: Constellation, task: str) -> str:
    """Return why a result names nothing that an undo could take back, "" if it does.

    A move found its work done: nothing proves that an attempt of it did that, so no undo moves the file. Or an agent of
    an earlier version saved files.
    """
    spec = constellation.specs[task]
    call = way_back(spec)
    if call is None:
        return ""
    if _PUT_BACK in call.outputs and fact(constellation, task, call.outputs[_PUT_BACK]) == []:
        return _FOUND_MOVED
    attempt = constellation.last_attempt(task)
    if not spec.files_out or ADDED not in call.outputs.values() or attempt is None:
        return ""
    untold = fact(constellation, task, ADDED) is MISSING and is_known(constellation, task, ADDED)
    return _SAVED_UNTOLD if untold and not size_left_out(attempt, ADDED) else ""


def _can_be(constellation: Constellation, task: str) -> bool:
    return way_back(constellation.specs[task]) is not None and not _why_not(constellation, task)


def _why_not(constellation: Constellation, task: str) -> str:
    """Return why a task cannot be undone now, "" if it can."""
    record, spec = constellation.tasks[task], constellation.specs[task]
    if way_back(spec) is None:
        return "does not say how it is undone"
    if record.state is not TaskState.SUCCEEDED:
        return f"is {record.state}, so there is nothing to undo"
    if constellation.last_attempt(task) is None:
        return "was not done by a device"
    if untold := _why_nothing(constellation, task):
        return untold
    known = constellation.tasks.get(_name(constellation, task))
    if known is not None and known.state not in FINAL_TASK_STATES:
        return _BEING_UNDONE
    if known is not None and known.state is TaskState.SUCCEEDED:
        return "is undone"
    if known is not None:
        return f"was tried to be undone, and {_name(constellation, task)} is {known.state}: retry that"
    return ""


def undoes_now(constellation: Constellation, undo: str) -> bool:
    """Return whether a task takes back the present round of its work, and not one after which that was done again."""
    task = constellation.specs[undo].undoes
    return task in constellation.tasks and _name(constellation, task) == undo


def _name(constellation: Constellation, task: str, taken: Mapping[str, TaskSpec] = MappingProxyType({})) -> str:
    """Return the name of the task that undoes this round of another; `taken` are tasks that are about to be added.

    A plan may have a task of that name, and long names may be equal once they are shortened: those undo nothing here.
    """
    of_round = constellation.tasks[task].round
    base = f"undo-{task.replace('.', '-')}"[:UNDO_ID_MOST]
    name = base if of_round == 1 else f"{base}-{of_round}"[: UNDO_ID_MOST + 4]
    for number in count(1):
        found = constellation.specs.get(name) or taken.get(name)
        if found is None or found.undoes == task:
            break
        mark = sha256(f"{task}/{of_round}/{number}".encode()).hexdigest()[:_MARK_CHARS]
        name = f"{base[: UNDO_ID_MOST - _MARK_CHARS - 1]}-{mark}"
    return name


def _compensation(
    constellation: Constellation, task: str, call: UndoCall, attempt: Attempt, taken: Mapping[str, TaskSpec]
) -> TaskSpec:
    inputs = [Input(name=name, output=pointer, source=task) for name, pointer in call.outputs.items()]
    return TaskSpec(
        args=call.args,
        changed_in=0,
        device=Selector(id=attempt.device),
        id=_name(constellation, task, taken),
        inputs=inputs,
        on_absence=OnAbsence(then="wait"),
        repeatability=Repeatability.IDEMPOTENT,
        tool=call.tool,
        undoes=task,
    )
