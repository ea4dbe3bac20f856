"""Compensation: finished work is undone by the way back of its tasks, in reverse order of completion.

Each undo is an ordinary task with its own attempt and ledger entry, on the device that did the work, and must be safe
to repeat. A failed one stops the rest and asks for a person, who may undo again: that retries it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from starloom.core.people.controls import open_round
from starloom.core.plan.edits import apply_edit
from starloom.core.plan.starting import activate
from starloom.core.rights.authorship import check_undo, done_elsewhere
from starloom.core.rights.call_effects import CHANGING, effects_of_task, offers_in
from starloom.core.state.inputs import ControlRequested, UndoRequested
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact, fact_of, is_known, size_left_out
from starloom.core.state.tasks.graph import tasks_of_new_round
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
from starloom_protocol.tools.ways_back import ADDED, leaves_saved, way_back, way_back_of_stopped
from starloom_protocol.values import MISSING
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    FINAL_TASK_STATES,
    STARTED_TASK_STATES,
    AttemptEnd,
    Code,
    ConstellationState,
    EffectSeen,
    Gate,
    Repeatability,
    TaskState,
)

UNDO_ID_MOST = 60
_MARK_CHARS = 8
_SENTENCES_MOST = 20
"""A terminal shows so many sentences about undos at once."""
_WAYS = {
    "fs.restore": "{files} of {name}: back from the trash of {device}, to where they were",
    "fs.trash": "{files} of {name}: into the trash of {device}, from where they can be taken back",
    "stopped": "{name} was stopped in the middle: the files that it had changed until then on {device} are taken back,"
    " as the device noted them",
    "put_back": "the files that {name} moved on {device}: back to where they were, unless somebody changed them since",
}
_BEING_UNDONE = "is being undone"
_UNDONE = "is undone"
_PUT_BACK = "put_back"
_STOPPED = "stopped"
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
    retries = _undos_to_retry(constellation, item)
    undos = [] if retries else _undos_of(constellation, item)
    busy = [task for task, record in constellation.tasks.items() if record.state in STARTED_TASK_STATES]
    if not item.tasks and busy:
        names = ", ".join(busy[:10])
        raise Refusal(fault(Code.DOWNSTREAM_STARTED, f"under way: {names}", "", "Cancel it or wait, then undo."))
    order = {task: at for at, task in enumerate(constellation.tasks)}
    undos.sort(key=lambda undo: (undo.attempt.ended_ms, order[undo.task]), reverse=True)
    undos = undos or [undo for name in retries if (undo := _undo_of(constellation, name)) is not None]
    undoing = list(dict.fromkeys(undo.task for undo in undos))
    others = [task for task in _succeeded_tasks(constellation) if task not in undoing]
    answer = {
        "undoing": undoing,
        "cannot_be_undone": [task for task in others if leaves_something(work.shard.fleet, constellation, task)],
    }
    if item.preview:
        sentences = [*_sentences(work.shard.fleet, constellation, undos), *_words_of_others(constellation, others)]
        work.answer({"version": head.version, **answer, "says": sentences})
        return
    why = item.reason or "undo"
    if retries:
        retry = ControlRequested(
            action="retry", approves=item.approves, by=item.by, constellation=item.constellation, id=item.id, reason=why
        )
        open_round(work, constellation, retries, retry)
        work.answer({"version": head.version, **answer})
        return
    operations = _operations(constellation, undos)
    if head.state in FINAL_CONSTELLATION_STATES:
        head_after = replace(head, undone_from=head.undone_from or head.state)
        work.emit(constellation, EventKind.UNDO_ASKED, "", [("head", "", head_after)], note=why)
        activate(work, constellation, EventKind.REOPENED, why)
    number = apply_edit(work, constellation, operations, author=work.by, reason=why, trigger="undo")
    work.answer({"version": number, **answer})


class _Undo(NamedTuple):
    """A round of a finished task that is to be undone: its way back, and the attempt that did it.

    `number` is that of the attempt; 0 where a person gave the result of the round.
    """

    task: str
    call: UndoCall
    attempt: Attempt
    number: int
    round: int


def _undo_of(constellation: Constellation, name: str) -> _Undo | None:
    """Return the round that a task of the plan undoes."""
    spec = constellation.specs[name]
    task, number = spec.undoes or "", spec.undoes_attempt
    if task not in constellation.tasks:
        return None
    call, attempt = _way_of(constellation, task, number)
    return _Undo(task, call, attempt, number, attempt.round) if call is not None and attempt is not None else None


def _attempt(constellation: Constellation, task: str, number: int) -> Attempt | None:
    """Return an attempt of a task, the last one for 0."""
    return constellation.attempts.get(f"{task}/{number}") if number else constellation.last_attempt(task)


def _part(constellation: Constellation, task: str, number: int, pointer: str) -> object:
    """Return a part of the result of an attempt, of the present result for 0; or MISSING."""
    attempt = constellation.attempts.get(f"{task}/{number}") if number else None
    return fact_of(attempt, pointer) if attempt is not None else fact(constellation, task, pointer)


def _rounds(constellation: Constellation, task: str) -> dict[int, int]:
    """Return the rounds in which a task was done here and left something, the newest first, each with its attempt.

    Where none left anything, the newest; its undo says so. First comes a round that was stopped in the middle, with 0.
    """
    record, call = constellation.tasks[task], way_back(constellation.specs[task])
    done: dict[int, int] = {}
    last = constellation.last_attempt(task)
    is_marked = last is not None and (record.marked is not None or last.end is not AttemptEnd.OK)
    if record.state is TaskState.SUCCEEDED and last is not None and last.origin is None:
        done[record.round] = 0 if is_marked else record.attempt
    for number in range(max(record.attempt, record.hedge), 0, -1):
        attempt = constellation.attempts.get(f"{task}/{number}")
        if attempt is None or attempt.end is not AttemptEnd.OK or attempt.origin is not None:
            continue
        if number not in done.values():
            done.setdefault(attempt.round, number)
    outputs = call.outputs.values() if call is not None else ()
    left = {one: number for one, number in done.items() if _left(constellation, task, number, outputs)}
    rounds = left or dict(list(done.items())[:1])
    stopped = stopped_attempt(constellation, task)
    return rounds if stopped is None else {stopped.round: 0, **rounds}


def _left(constellation: Constellation, task: str, number: int, outputs: Collection[str]) -> bool:
    """Tell whether an attempt left something that an undo is given; a result that is not brought may name it."""
    parts = [_part(constellation, task, number, pointer) for pointer in outputs]
    attempt = _attempt(constellation, task, number)
    is_away = attempt is not None and attempt.artifact is not None and MISSING in parts
    return is_away or any(part not in (MISSING, None, [], {}, "") for part in parts)


def _sentences(fleet: Fleet, constellation: Constellation, undos: list[_Undo]) -> list[str]:
    """Return sentences about the files that each undo moves, in their order; tasks of a list on a device together."""
    files: dict[tuple[str, str, str], list[tuple[int, int] | None]] = {}
    for undo in undos:
        name = constellation.specs[undo.task].group or undo.task
        way = _PUT_BACK if _PUT_BACK in undo.call.outputs else undo.call.tool
        if not undo.number and stopped_attempt(constellation, undo.task) is not None:
            way = _STOPPED
        key = (name, fleet.name_of(undo.attempt.device), way)
        files.setdefault(key, []).append(_files_and_folders(constellation, undo.task, undo.number))
    moves = {key: counts for key, counts in files.items() if any(one is None or any(one) for one in counts)}
    words = [
        _WAYS.get(way, "{way} runs for {name} on {device}, which cannot be undone itself").format(
            device=device, files=_counted(counts), name=name, way=way
        )
        for (name, device, way), counts in (moves or files).items()
    ]
    others = len(words) - _SENTENCES_MOST
    return [*words[:_SENTENCES_MOST], *([f"{others} more"] if others > 0 else [])]


def _words_of_others(constellation: Constellation, tasks: list[str]) -> list[str]:
    """Return a sentence for each constellation whose work a fork does not take back."""
    origins = {
        origin: None
        for task in tasks
        if way_back(constellation.specs[task]) is not None and (origin := done_elsewhere(constellation, task))
    }
    return [f"the work of {origin} stays as it is: `starloom undo {origin}`" for origin in origins]


def _counted(counts: list[tuple[int, int] | None]) -> str:
    """Return how many files an undo moves, or how many empty folders where it moves no file."""
    numbers = [one for one in counts if one is not None]
    files, folders = (sum(one[at] for one in numbers) for at in (0, 1))
    if len(numbers) < len(counts):
        return "the files"
    return counted(folders, "empty folder") if folders and not files else counted(files, "file")


def count_of_files(constellation: Constellation, task: str, number: int) -> int | None:
    """Return how many files the undo of an attempt moves, by its result; None where that does not tell them."""
    counts = _files_and_folders(constellation, task, number)
    return counts[0] if counts is not None else None


def _files_and_folders(constellation: Constellation, task: str, number: int) -> tuple[int, int] | None:
    """Return how many files the undo of an attempt moves, and how many folders without a counted file."""
    call = way_back(constellation.specs[task])
    outputs = call.outputs.values() if call is not None else ()
    lists = [_part(constellation, task, number, pointer) for pointer in outputs]
    if not lists or not all(isinstance(files, list) for files in lists):
        return None
    counts = [_files_in(item) for files in lists if isinstance(files, list) for item in files]
    files = [count for count in counts if count is not None]
    return (sum(files), files.count(0)) if len(files) == len(counts) else None


def _files_in(item: object) -> int | None:
    """Return how many files an item of an undo stands for; None for a folder whose files were not counted."""
    if not (isinstance(item, dict) and item.get("folder")):
        return 1
    count = item.get("files")
    return count if isinstance(count, int) else None if item.get("holds") else 0


def _operations(constellation: Constellation, undos: list[_Undo]) -> list[EditOperation]:
    """Return the operations that add the undo tasks, each behind the one before it."""
    operations: list[EditOperation] = []
    added: dict[str, TaskSpec] = {}
    before: str | None = None
    for undo in undos:
        spec = _compensation(constellation, undo, added)
        added[spec.id] = spec
        operations.append(AddTask(spec=spec))
        if before is not None:
            gate = Dependency(changed_in=0, gate=Gate.SUCCESS, source=before, target=spec.id)
            operations.append(AddDependency(dependency=gate))
        before = spec.id
    return operations


def _undos_to_retry(constellation: Constellation, item: UndoRequested) -> list[str]:
    """Return the undos of the named tasks, or all, that ended without success; empty if more can be undone.

    An undo behind that of a named task was asked for with it, and is retried with it.
    """
    failed = {
        name: spec.undoes
        for name, spec in constellation.specs.items()
        if spec.undoes is not None
        and (spec.undoes_attempt or undoes_now(constellation, name))
        and is_over(constellation, name)
        and constellation.tasks[name].state is not TaskState.SUCCEEDED
        and not done_elsewhere(constellation, spec.undoes)
    }
    asked = [task for task in item.tasks or constellation.tasks if task in constellation.tasks]
    if any(_can_be_undone(constellation, task) for task in asked):
        return []
    if not item.tasks:
        return list(failed)
    if not {*failed.values()} >= {*item.tasks}:
        return []
    reopened, _ = tasks_of_new_round(constellation, [name for name, task in failed.items() if task in item.tasks])
    return [name for name in failed if name in reopened]


def _undos_of(constellation: Constellation, item: UndoRequested) -> list[_Undo]:
    """Return the finished tasks that a request undoes: those that it names, or all that can be undone.

    Raises:
        Refusal: a named one cannot be undone, or nothing is left to undo.
    """
    tasks: dict[str, None] = {}
    faults: list[Fault] = []
    for name in item.tasks:
        if name in constellation.groups:
            tasks.update((task, None) for task in constellation.leaves(name) if _can_be_undone(constellation, task))
        elif name in constellation.tasks:
            tasks[name] = None
        else:
            faults.append(fault(Code.UNKNOWN_TASK, f"there is no task {name}", "tasks"))
    if not item.tasks:
        tasks.update((task, None) for task in constellation.tasks if _can_be_undone(constellation, task))
    undos: list[_Undo] = []
    for task in tasks:
        why = _why_not(constellation, task)
        if why:
            faults.append(fault(Code.ILLEGAL_CONTROL, f"{task} {why}", "tasks"))
            continue
        for of_round, number in _rounds(constellation, task).items():
            call, attempt = _way_of(constellation, task, number)
            if call is not None and attempt is not None and not _why_not_round(constellation, task, of_round):
                undos.append(_Undo(task, call, attempt, number, of_round))
    if not faults and not undos:
        faults.append(_nothing_left(constellation))
    if faults:
        raise Refusal(*faults)
    return undos


def _nothing_left(constellation: Constellation) -> Fault:
    """Return why no task can be undone: none says how, all are undone, or they are just being undone."""
    with_way_back = [
        task
        for task, spec in constellation.specs.items()
        if way_back(spec) is not None and task in constellation.tasks and _is_done(constellation, task)
    ]
    with_files = [
        task
        for task in with_way_back
        if not _why_nothing(constellation, task) and not done_elsewhere(constellation, task)
    ]
    if with_way_back and not with_files:
        return fault(Code.ILLEGAL_CONTROL, f"{with_way_back[0]} {_why_not(constellation, with_way_back[0])}")
    reasons = {_why_not(constellation, task) for task in with_files}
    if _BEING_UNDONE in reasons:
        hint = "Wait for its end: `starloom watch`."
        return fault(Code.ILLEGAL_CONTROL, "its work is being undone", "", hint)
    if with_files:
        hint = "Nothing is left to do; `starloom show` has the calls that took it back."
        return fault(Code.ILLEGAL_CONTROL, "all of its work that can be undone is undone already", "", hint)
    reason = "no finished task says how it is undone"
    return fault(Code.ILLEGAL_CONTROL, reason, "", "A task says so with `undo` (docs/plans.md).")


def _is_done(constellation: Constellation, task: str) -> bool:
    record = constellation.tasks.get(task)
    return record is not None and (record.state is TaskState.SUCCEEDED or bool(_rounds(constellation, task)))


def _succeeded_tasks(constellation: Constellation) -> list[str]:
    return [
        task
        for task, record in constellation.tasks.items()
        if record.state is TaskState.SUCCEEDED and constellation.specs[task].undoes is None
    ]


def leaves_something(fleet: Fleet, constellation: Constellation, task: str) -> bool:
    """Tell whether finished work changed something that no undo takes back; a call that only read does not count.

    Neither does work of another constellation, whose undo is to be asked for there.
    """
    spec = constellation.specs[task]
    if done_elsewhere(constellation, task):
        return False
    if leaves_saved(spec) or _why_nothing(constellation, task):
        return True
    # The way back of saved files takes back nothing else that the tool did.
    spec = replace(spec, files_out=[])
    if spec.tool is None or way_back(spec) is not None:
        return False
    offers = offers_in(fleet)
    has_unknown_effects = any(
        not offer.effects and offer.repeatability is not Repeatability.PURE for offer in offers(spec.tool)
    )
    return has_unknown_effects or bool(effects_of_task(spec, offers) & CHANGING)


def _why_nothing(constellation: Constellation, task: str) -> str:
    """Return why a result names nothing that an undo could take back, "" if it does.

    A move found its work done: nothing proves that an attempt of it did that, so no undo moves the file. Or an agent of
    an earlier version saved files.
    """
    spec = constellation.specs[task]
    call = way_back(spec)
    if call is None:
        return ""
    number = next(iter(_rounds(constellation, task).values()), 0)
    if _PUT_BACK in call.outputs and _part(constellation, task, number, call.outputs[_PUT_BACK]) == []:
        return _FOUND_MOVED
    attempt = _attempt(constellation, task, number)
    if not spec.files_out or ADDED not in call.outputs.values() or attempt is None:
        return ""
    lacks_files = _part(constellation, task, number, ADDED) is MISSING and is_known(constellation, task, ADDED)
    return _SAVED_UNTOLD if lacks_files and not size_left_out(attempt, ADDED) else ""


def _can_be_undone(constellation: Constellation, task: str) -> bool:
    return way_back(constellation.specs[task]) is not None and not _why_not(constellation, task)


def _why_not(constellation: Constellation, task: str) -> str:
    """Return why a task cannot be undone now, "" if it can."""
    record, spec = constellation.tasks[task], constellation.specs[task]
    if way_back(spec) is None:
        return "does not say how it is undone"
    rounds = _rounds(constellation, task) if record.state in FINAL_TASK_STATES else {}
    if not rounds and record.state is not TaskState.SUCCEEDED:
        return f"is {record.state}, so there is nothing to undo"
    if not rounds and (origin := done_elsewhere(constellation, task)):
        return f"was done by {origin}, and is taken back there: `starloom undo {origin} --task {task}`"
    if not rounds:
        return "was not done by a device"
    if stopped_attempt(constellation, task) is None and (reason := _why_nothing(constellation, task)):
        return reason
    reasons = [_why_not_round(constellation, task, of_round) for of_round in rounds]
    return "" if "" in reasons else next((one for one in reasons if one != _UNDONE), _UNDONE)


def _why_not_round(constellation: Constellation, task: str, of_round: int) -> str:
    """Return why a round of a task cannot be undone now, "" if it can: it has an undo already."""
    name = _undo_name(constellation, task, of_round)
    undo = constellation.tasks.get(name)
    if undo is not None and undo.state not in FINAL_TASK_STATES:
        return _BEING_UNDONE
    if undo is not None and undo.state is TaskState.SUCCEEDED:
        return _UNDONE
    return f"has an undo that did not succeed, and {name} is {undo.state}: retry that" if undo is not None else ""


def stopped_attempt(constellation: Constellation, task: str) -> Attempt | None:
    """Return the newest attempt of a task that ended without success, if it may have changed files; None otherwise.

    It gave no result, and its device has noted its changes.
    """
    record, spec = constellation.tasks[task], constellation.specs[task]
    is_over = record.state in FINAL_TASK_STATES and record.state is not TaskState.SUCCEEDED
    if not is_over or way_back_of_stopped(spec) is None:
        return None
    attempts = (constellation.attempts.get(f"{task}/{number}") for number in range(record.attempt, 0, -1))
    return next((one for one in attempts if one is not None and _may_have_changed(one)), None)


def _may_have_changed(attempt: Attempt) -> bool:
    return attempt.end is not AttemptEnd.OK and bool(attempt.started_ms) and attempt.effect is not EffectSeen.NONE


def _way_of(constellation: Constellation, task: str, number: int) -> tuple[UndoCall | None, Attempt | None]:
    """Return the call that takes back what an attempt did, and the attempt; of 0 the newest work, finished or not."""
    spec, stopped = constellation.specs[task], None if number else stopped_attempt(constellation, task)
    if stopped is not None:
        return way_back_of_stopped(spec), stopped
    return way_back(spec), _attempt(constellation, task, number)


def undoes_now(constellation: Constellation, undo: str) -> bool:
    """Return whether a task takes back the newest work of another, or earlier work with it or since."""
    spec = constellation.specs[undo]
    if spec.undoes not in constellation.tasks:
        return False
    newest = next(iter(_rounds(constellation, spec.undoes)), constellation.tasks[spec.undoes].round)
    of_newest = constellation.specs.get(_undo_name(constellation, spec.undoes, newest))
    return of_newest is not None and of_newest.undoes == spec.undoes and spec.changed_in >= of_newest.changed_in


def _undo_name(
    constellation: Constellation,
    task: str,
    round_number: int,
    added: Mapping[str, TaskSpec] = MappingProxyType({}),
) -> str:
    """Return the name of the task that undoes a round of another; `added` are tasks that are about to be added.

    A plan may have a task of that name, and long names may be equal once they are shortened: those undo nothing here.
    """
    base = f"undo-{task.replace('.', '-')}"[:UNDO_ID_MOST]
    name = base if round_number == 1 else f"{base}-{round_number}"[: UNDO_ID_MOST + 4]
    for number in count(1):
        spec = constellation.specs.get(name) or added.get(name)
        if spec is None or spec.undoes == task:
            break
        mark = sha256(f"{task}/{round_number}/{number}".encode()).hexdigest()[:_MARK_CHARS]
        name = f"{base[: UNDO_ID_MOST - _MARK_CHARS - 1]}-{mark}"
    return name


def _compensation(constellation: Constellation, undo: _Undo, added: Mapping[str, TaskSpec]) -> TaskSpec:
    """Return the task that undoes finished work, on the device that did it."""
    inputs = [Input(name=name, output=pointer, source=undo.task) for name, pointer in undo.call.outputs.items()]
    return TaskSpec(
        args=undo.call.args,
        changed_in=0,
        device=Selector(id=undo.attempt.device),
        id=_undo_name(constellation, undo.task, undo.round, added),
        inputs=inputs,
        on_absence=OnAbsence(then="wait"),
        repeatability=Repeatability.IDEMPOTENT,
        tool=undo.call.tool,
        undoes=undo.task,
        undoes_attempt=undo.number,
    )
