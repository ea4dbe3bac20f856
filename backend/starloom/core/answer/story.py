"""The answer's sentence, made without a model: work done and its devices, failures, recoveries, skipped tasks.

Owns the words and their order. It reads the constellation as it stands: `outcome` decides how a constellation ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain

from starloom.core.answer import goal_story, undone_files
from starloom.core.answer.brought_files import name_with_file, read_again
from starloom.core.answer.stated import stated
from starloom.core.people.compensation import leaves_something, undoes_now
from starloom.core.people.controls import DEADLINE, says_all
from starloom.core.placement.device_groups import left_out
from starloom.core.rights.authorship import done_elsewhere
from starloom.core.rights.call_effects import TRASH
from starloom.core.rights.first_folders import WRITTEN, first_folders
from starloom.core.run import judgement
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact, skipped_by_person
from starloom.core.state.tasks.roles import (
    called,
    goals_without_answer,
    has_successor,
    is_of_goal,
    successor,
)
from starloom_protocol.records.entities import Finding, TaskRecord
from starloom_protocol.text.wording import counted, few, found_by, listed
from starloom_protocol.tools.ways_back import ADDED, HOLDING, tells_added, way_back
from starloom_protocol.values import MISSING, parse, point
from starloom_protocol.vocabulary import CODES, AttemptEnd, Code, ConstellationState, GroupState, Reason, TaskState

_FINDINGS_NAMED = 3
_FOLDERS_NAMED = 3
_CAUSES_NAMED = 4
_DROPPED_NAMED = 3
_GROUPED_FROM = 3
"""The fewest failures that are grouped by cause. A first failure often leads to a second one, so two are not."""
_NUMBER = re.compile(r"\d+")
_NOTICE = "notify"
_REPLACED = '"replaced":'
_ENDED_AS = {
    ConstellationState.CANCELLED: "was cancelled and",
    ConstellationState.FAILED: "failed and was",
    ConstellationState.PARTIAL: "was done in part and",
    ConstellationState.SUCCEEDED: "was done and",
}
"""The end of a constellation before all of its work was undone, in an answer's words."""
# Bound once, because an answer compares them with every task.
_SUCCEEDED, _FAILED, _SKIPPED = TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED


def sentence(constellation: Constellation, fleet: Fleet, state: ConstellationState, now_ms: int) -> str:
    """Return one or a few plain sentences on how a constellation ended, or how far it is."""
    if not constellation.head.version:
        return _without_plan(constellation, fleet, state)
    lists = bool(constellation.families)
    tasks = {task: record for task, record in constellation.tasks.items() if not constellation.specs[task].look}
    done = [task for task, record in tasks.items() if record.state is _SUCCEEDED]
    total = len(tasks) + (goals_without_answer(constellation) if constellation.groups else 0)
    where = _where(constellation, fleet, done)
    opening = _opening(constellation.head.name, state, len(done), total, where)
    failed, superseded = _split_by_successor(constellation, failed_first(constellation))
    superseded += _groups_with_successor(constellation)
    unseen_notices = [
        task for task in failed if state is ConstellationState.SUCCEEDED and _is_a_courtesy(constellation, task)
    ]
    failed = [task for task in failed if task not in unseen_notices]
    if state is ConstellationState.SUCCEEDED and not done and failed:
        opening = f"{constellation.head.name} ended without a result: all that was tried was optional"
    elif lists and state is ConstellationState.SUCCEEDED and left_out.nobody_asked(constellation):
        opening = f"{constellation.head.name} could ask no device"
    exceptions = left_out.clause(constellation, fleet, now_ms) if lists else ""
    if state is ConstellationState.SUCCEEDED and failed:
        exceptions += f"; failed: {_few(constellation, fleet, failed)}"
    undos = undone_tasks(constellation)
    undo_effects = _undo_effects(constellation, undos)
    in_doubt = state in (ConstellationState.FAILED, ConstellationState.PARTIAL)
    if constellation.head.undone_from is not None and in_doubt and failed_undos(constellation):
        extent = "was only in part taken back" if undos else "was not taken back"
        opening = f"{constellation.head.name} {extent}: its undo failed"
    elif state in _ENDED_AS and undo_effects.back and not _has_work_to_undo(constellation):
        back = _few(constellation, fleet, undo_effects.back)
        opening = f"{constellation.head.name} {_ENDED_AS[state]} then taken back: {back}"
        undo_effects = replace(undo_effects, back=[])
    own_sentence = statement(constellation, fleet, state)
    opening = opening.removesuffix(".")
    parts = [f"{opening}{exceptions}."] if own_sentence is None else [f"{own_sentence}{exceptions}.", f"{opening}."]
    parts.extend(_undo_results(constellation, fleet, undo_effects))
    if constellation.head.undone_from is not None:
        parts.extend(undone_files.moved(constellation, fleet, chain.from_iterable(undos.values())))
        parts.extend(undone_files.not_undone(constellation, fleet))
    checked = sum(1 for task in done if constellation.tasks[task].checked)
    parts.extend(_left_as_it_is(constellation, fleet, done, undos) if undos else [])
    parts.extend(_checks(checked))
    still_done = [task for task in done if task not in undos]
    parts.extend(_folders(constellation, fleet, still_done))
    if trashing := [task for task in still_done if constellation.specs[task].tool == TRASH]:
        parts.extend(undone_files.trashed(constellation, fleet, trashing))
    if replacing := _may_have_replaced(constellation, still_done):
        parts.extend(undone_files.replaced(constellation, fleet, replacing))
    parts.extend(_reused(constellation.progress.reused))
    parts.extend(_findings_taken(constellation, fleet))
    parts.extend(_judged_or_ended_by(constellation))
    parts.extend(_failures(constellation, fleet, failed))
    parts.extend(_unseen_notices(constellation, fleet, unseen_notices))
    parts.extend(_superseded(constellation, fleet, superseded))
    parts.extend(_failed_groups(constellation, state))
    parts.extend(_recoveries(constellation, fleet))
    parts.extend(_changes(constellation))
    parts.extend(_cancelled(constellation, fleet))
    parts.extend(_skips(constellation, fleet))
    return " ".join(parts)


def _may_have_replaced(constellation: Constellation, tasks: list[str]) -> list[str]:
    """Return the tasks whose results have the word for a replaced file; few do, and the others are not parsed."""
    attempts, records = constellation.attempts, constellation.tasks
    return [
        task
        for task in tasks
        if (attempt := attempts.get(f"{task}/{records[task].attempt}")) is not None
        and _REPLACED in (attempt.facts.get(ADDED) or attempt.value or "")
    ]


def _judged_or_ended_by(constellation: Constellation) -> list[str]:
    """Return what the judge says of the whole, and what ended it before its time: its deadline, or the model."""
    head = constellation.head
    parts: list[str] = []
    verdict = judgement.current(constellation) if constellation.jobs else None
    if verdict is not None:
        parts.append(judgement.words(head.policy.judge, verdict))
    if head.cancelled_by == DEADLINE:
        parts.append(f"Its deadline of {head.deadline_s} s had passed.")
    if head.given_up:
        parts.append(f"The model gave it up: {head.given_up.removesuffix('.')}.")
    return parts


def statement(constellation: Constellation, fleet: Fleet, state: ConstellationState) -> str | None:
    """Return the plan's own sentence that opens the answer; None where it has none that holds, or work was undone."""
    return stated(constellation, fleet) if may_state(constellation, state) else None


def may_state(constellation: Constellation, state: ConstellationState) -> bool:
    """Return whether a sentence of the plan may speak for such an end: work was done, and none was undone."""
    if state is not ConstellationState.SUCCEEDED or undone_tasks(constellation):
        return False
    return bool(constellation.head.sentences and constellation.progress.succeeded)


def _without_plan(constellation: Constellation, fleet: Fleet, state: ConstellationState) -> str:
    """Return how a request ended that never had a plan."""
    head = constellation.head
    if state is ConstellationState.SUCCEEDED:
        succeeded = [task for task, record in constellation.tasks.items() if record.state is _SUCCEEDED]
        where = _where(constellation, fleet, succeeded)
        count = "one look" if len(succeeded) == 1 else f"{len(succeeded)} looks"
        return f"The request was answered by {count}{where}; nothing was changed, and no plan was needed."
    if head.cancelled_by == DEADLINE:
        return f"The request had no plan when its deadline of {head.deadline_s} s had passed."
    return "The request was withdrawn before it had a plan."


def so_far(constellation: Constellation, fleet: Fleet) -> str:
    """Return the progress of a live constellation, from maintained counts: the cost does not grow with the graph."""
    progress = constellation.progress
    devices = [device for device, count in progress.devices.items() if count]
    total = len(constellation.tasks) - progress.looks + goals_without_answer(constellation)
    where = _on_devices(sorted(fleet.name_of(device) for device in devices))
    parts = [_opening(constellation.head.name, constellation.head.state, progress.succeeded, total, where)]
    parts.extend(_checks(progress.checked))
    parts.extend(_reused(progress.reused))
    tasks = [task for task in progress.failed if not is_of_goal(constellation, task)]
    failed, superseded = _split_by_successor(constellation, tasks)
    parts.extend(_failures(constellation, fleet, failed))
    parts.extend(_superseded(constellation, fleet, superseded + _groups_with_successor(constellation)))
    parts.extend([] if failed else _failed_group(constellation))
    return " ".join(parts)


def _split_by_successor(constellation: Constellation, failed: list[str]) -> tuple[list[str], list[str]]:
    """Return the failed tasks without a successor that succeeded, and those with one."""
    superseded = [task for task in failed if has_successor(constellation, task)]
    return [task for task in failed if task not in superseded], superseded


def _groups_with_successor(constellation: Constellation) -> list[str]:
    """Return the groups and goals that failed and whose work another task did."""
    failed = [name for name, record in constellation.groups.items() if record.state is GroupState.FAILED]
    return [name for name in failed if has_successor(constellation, name)]


def _superseded(constellation: Constellation, fleet: Fleet, tasks: list[str]) -> list[str]:
    sentences = [
        f"{called(constellation, fleet, task)} failed; {called(constellation, fleet, successor(constellation, task))} "
        "did its work."
        for task in tasks[:3]
    ]
    return [*sentences, f"So it went with {len(tasks) - 3} more."] if len(tasks) > 3 else sentences


def failed_undos(constellation: Constellation) -> list[str]:
    """Return the undo tasks that did not succeed."""
    return [
        task
        for task, spec in constellation.specs.items()
        if spec.undoes is not None and constellation.tasks[task].state in (TaskState.FAILED, TaskState.CANCELLED)
    ]


def undone_tasks(constellation: Constellation) -> dict[str, list[str]]:
    """Return the tasks whose work was undone afterwards, with their undos. One that failed is among the failures."""
    undos: dict[str, list[str]] = {}
    for task, spec in constellation.specs.items() if constellation.head.undone_from is not None else ():
        is_done = spec.undoes is not None and constellation.tasks[task].state is _SUCCEEDED
        if is_done and undoes_now(constellation, task):
            undos.setdefault(spec.undoes or "", []).append(task)
    return undos


def _left_as_it_is(
    constellation: Constellation, fleet: Fleet, done: list[str], undos: dict[str, list[str]]
) -> list[str]:
    """Return the sentences on changes that stay after an undo: of another constellation, or without a way back."""
    stays = [
        task
        for task in done
        if constellation.specs[task].undoes is None and leaves_something(fleet, constellation, task)
    ]
    others = [task for task in done if way_back(constellation.specs[task]) and done_elsewhere(constellation, task)]
    kinds = (
        ("Left as it is, as the work of an earlier run", [task for task in others if task not in undos]),
        ("Left as it is, without a way back", [task for task in stays if task not in undos]),
        ("Other changes than saved files, if there are any, stay", [task for task in stays if task in undos]),
    )
    return [f"{words}: {_few(constellation, fleet, tasks)}." for words, tasks in kinds if tasks]


@dataclass(frozen=True)
class _UndoEffects:
    """The undone tasks: really taken back, those that had added nothing, those whose items were gone."""

    back: list[str]
    nothing: list[str]
    gone: list[str]


def _undo_effects(constellation: Constellation, undos: dict[str, list[str]]) -> _UndoEffects:
    nothing = [task for task, some in undos.items() if all(_left_nothing(constellation, undo) for undo in some)]
    gone = [
        task
        for task, some in undos.items()
        if task not in nothing and all(_found_nothing(constellation, undo) for undo in some)
    ]
    return _UndoEffects([task for task in undos if task not in nothing and task not in gone], nothing, gone)


def _undo_results(constellation: Constellation, fleet: Fleet, effects: _UndoEffects) -> list[str]:
    """Return a sentence for each kind of undone tasks that there is."""
    kinds = (
        ("Taken back afterwards", effects.back),
        ("Nothing to take back, since it added nothing", effects.nothing),
        ("Nothing was there any more to take back", effects.gone),
    )
    return [f"{words}: {_few(constellation, fleet, tasks)}." for words, tasks in kinds if tasks]


def _left_nothing(constellation: Constellation, undo: str) -> bool:
    """Tell whether all that an undo was given of a result is empty: its task had added nothing of its own."""
    spec = constellation.specs[undo]
    task = spec.undoes or ""
    attempt = constellation.attempts.get(f"{task}/{spec.undoes_attempt}") or constellation.last_attempt(task)
    if not spec.inputs or attempt is None or attempt.value is None:
        return False
    value = parse(attempt.value)
    return all(point(value, given.output) in ([], {}, "") for given in spec.inputs)


def _found_nothing(constellation: Constellation, undo: str) -> bool:
    """Tell whether an undo reports that it moved nothing: its items were gone, or were brought back before."""
    attempt = constellation.last_attempt(undo)
    if attempt is None or attempt.value is None:
        return False
    value = parse(attempt.value)
    items = point(value, "/items")
    if not isinstance(items, list) or point(value, "/restored") not in ([], MISSING):
        return False
    return all(isinstance(item, dict) and item.get("moved") is False for item in items)


def _has_work_to_undo(constellation: Constellation) -> bool:
    """Tell whether work that has a way back is done and not undone."""
    undone = undone_tasks(constellation)
    return any(
        way_back(spec) is not None and task not in undone and constellation.tasks[task].state is _SUCCEEDED
        for task, spec in constellation.specs.items()
        if task in constellation.tasks
    )


def _reused(reused: int) -> list[str]:
    return (
        [f"{reused} {'result was' if reused == 1 else 'results were'} taken over from earlier runs."] if reused else []
    )


def _findings_taken(constellation: Constellation, fleet: Fleet) -> list[str]:
    """Return the findings on which the results rest, each with its source; the first few are named."""
    if not constellation.findings:
        return []
    numbers = dict.fromkeys(
        number
        for record in constellation.tasks.values()
        if record.state is _SUCCEEDED
        for number in record.took.values()
    )
    findings = [constellation.findings[number] for number in numbers if number in constellation.findings]
    if not findings:
        return []
    names = [f"{one.topic} from {_source(fleet, one)}" for one in findings[:_FINDINGS_NAMED]]
    more = f", and {len(findings) - len(names)} more" if len(findings) > len(names) else ""
    count = "a finding" if len(findings) == 1 else f"{len(findings)} findings"
    return [f"It rests on {count}: {'; '.join(names)}{more}."]


def _source(fleet: Fleet, finding: Finding) -> str:
    return found_by(finding.task, finding.by, fleet.name_of(finding.device), stranger=bool(finding.stranger))


def _checks(checked: int) -> list[str]:
    return [f"{checked} {'result was' if checked == 1 else 'results were'} checked."] if checked else []


def _opening(name: str, state: ConstellationState, done: int, total: int, where: str) -> str:
    tasks = f"{done} of {total} task{'s' if total != 1 else ''}"
    match state:
        case ConstellationState.SUCCEEDED:
            count = f"{done} task{'s' if done != 1 else ''}"
            return f"{name} is done: {count}{where}." if done else f"{name} is done; nothing had to be done."
        case ConstellationState.PARTIAL:
            return f"{name} is done in part: {tasks} succeeded{where}."
        case ConstellationState.FAILED if done and done == total:
            return f"{name} failed, although {tasks.replace(' of ', ' of its ')} succeeded{where}."
        case ConstellationState.FAILED:
            return f"{name} failed: {tasks} succeeded{where}."
        case ConstellationState.CANCELLED:
            return f"{name} was cancelled after {tasks}{where}."
        case _:
            return f"{name}: {tasks} done so far{where}."


def _folders(constellation: Constellation, fleet: Fleet, done: list[str]) -> list[str]:
    """Return where the files are that tasks wrote: the whole folder on each device, as its calls told it.

    Of a call that tells none, but has written, it is the folder that its plan means by `.`.
    """
    folders_by_device: dict[str, dict[str, None]] = {}
    planned: dict[tuple[str, str], None] = {}
    for task in done:
        spec, device = constellation.specs[task], constellation.tasks[task].device
        if device is None:
            continue
        folder = fact(constellation, task, HOLDING) if tells_added(spec) else MISSING
        if isinstance(folder, str) and folder.startswith("/"):
            folders_by_device.setdefault(device, {})[folder] = None
        elif WRITTEN in spec.args and fact(constellation, task, ADDED) != []:
            planned.update(dict.fromkeys(first_folders(fleet, spec, [device]).items()))
    places = [(device, undone_files.places(folders)) for device, folders in folders_by_device.items()]
    places += [(device, words) for device, words in planned if device not in folders_by_device]
    lines = [f"{folder} on {fleet.name_of(device)}" for device, folder in places]
    if not lines:
        return []
    more = len(lines) - _FOLDERS_NAMED
    shown = [*lines[:_FOLDERS_NAMED], *([f"{more} more"] if more > 0 else [])]
    return [f"Its files are in {listed(shown)}."]


def _where(constellation: Constellation, fleet: Fleet, done: list[str]) -> str:
    devices = dict.fromkeys(constellation.tasks[task].device for task in done)
    return _on_devices(list(dict.fromkeys(fleet.name_of(device) for device in devices if device is not None)))


def _on_devices(names: list[str]) -> str:
    if not names:
        return ""
    if len(names) > 4:
        return f" on {len(names)} devices"
    return f" on {listed(names)}"


def lacking(constellation: Constellation, fleet: Fleet, task: str) -> str:
    """Return the tasks and lists that a task waited for and that gave nothing, each with its state."""
    sources = []
    for dependency in constellation.incoming.get(task, {}).values():
        source = dependency.source
        record, tally = constellation.record(source), constellation.tally.get(source)
        if tally is not None and tally.children and not tally.succeeded:
            sources.append(f"{source} (none succeeded)")
        elif record.state != "succeeded" and not has_successor(constellation, source):
            sources.append(f"{called(constellation, fleet, source)} ({record.state})")
    return few(list(dict.fromkeys(sources)), 3)


def _few(constellation: Constellation, fleet: Fleet, tasks: list[str]) -> str:
    return few([called(constellation, fleet, task) for task in tasks], 3)


def failed_first(constellation: Constellation) -> list[str]:
    """Return the failed tasks, earliest failure first: later ones are seldom the cause."""
    failed = [
        task
        for task, record in constellation.tasks.items()
        if record.state is _FAILED and not constellation.specs[task].look and not is_of_goal(constellation, task)
    ]
    return sorted(failed, key=lambda task: constellation.tasks[task].since_ms)


def _failed_groups(constellation: Constellation, state: ConstellationState) -> list[str]:
    """Return why a group failed, if no task of the constellation failed."""
    if state is ConstellationState.SUCCEEDED or _split_by_successor(constellation, failed_first(constellation))[0]:
        return []
    return _failed_group(constellation)


def _failed_group(constellation: Constellation) -> list[str]:
    """Return why the first group or goal failed, of those whose work no other task did."""
    groups = [
        (record.since_ms, name)
        for name, record in constellation.groups.items()
        if record.state is GroupState.FAILED and not has_successor(constellation, name)
    ]
    if not groups:
        return []
    name = min(groups)[1]
    code = constellation.groups[name].code
    unmet = goal_story.unmet(constellation, name)
    if unmet:
        return [f"First cause: {name} - {unmet}."]
    return [f"First cause: {name} - {CODES[code].title.lower() if code else 'failed'}."]


def _failures(constellation: Constellation, fleet: Fleet, failed: list[str]) -> list[str]:
    if not failed:
        return []
    causes = by_cause(constellation, failed) if len(failed) >= _GROUPED_FROM else []
    if len(causes) < 2:
        more = f"; {len(failed) - 1} more failed" if len(failed) > 1 else ""
        words = f"First cause: {name_with_file(constellation, fleet, failed[0])}"
        words += f" - {_cause(constellation, failed[0])}{more}"
        return [words if words.endswith(" ...") else f"{words}.", *read_again(constellation, failed)]
    causes_words = []
    for tasks in causes[:_CAUSES_NAMED]:
        first = name_with_file(constellation, fleet, tasks[0])
        count = f"{len(tasks)}, {first} first" if len(tasks) > 1 else first
        causes_words.append(f"{_cause(constellation, tasks[0])} ({count})")
    rest = causes[_CAUSES_NAMED:]
    if rest:
        causes_words.append(f"{sum(map(len, rest))} more of {counted(len(rest), 'other cause')}")
    return [f"Causes of {len(failed)} failures: {'; '.join(causes_words)}.", *read_again(constellation, failed)]


def by_cause(constellation: Constellation, failed: list[str]) -> list[list[str]]:
    """Return failed tasks by their cause, the most frequent cause first; of equals the one that came first.

    Tasks fail alike where the code and the first line of the detail are the same, but for numbers and their own names.
    """
    tasks_by_cause: dict[tuple[Code | None, str], list[str]] = {}
    for task in failed:
        attempt = constellation.last_attempt(task)
        detail = _first_line(attempt.detail) if attempt is not None else ""
        plain = _NUMBER.sub("#", re.sub(rf"(?<![\w.-]){re.escape(task)}(?![\w-])", "~", detail))
        tasks_by_cause.setdefault((constellation.tasks[task].code, plain), []).append(task)
    return sorted(tasks_by_cause.values(), key=len, reverse=True)


def _cause(constellation: Constellation, task: str) -> str:
    record, attempt = constellation.tasks[task], constellation.last_attempt(task)
    title = CODES[record.code].title.lower() if record.code else "failed"
    detail = f": {_shortened(attempt.detail)}" if attempt and attempt.detail else ""
    # A device that says why a tool cannot be used does offer it: *there is no program print* is all that failed.
    return detail.removeprefix(": ") if detail and says_all(record, attempt) else title + detail


def _is_a_courtesy(constellation: Constellation, task: str) -> bool:
    """Return whether a task only tells a person that the work is done, and may be missing."""
    spec = constellation.specs[task]
    return spec.optional and spec.tool == _NOTICE


def _unseen_notices(constellation: Constellation, fleet: Fleet, tasks: list[str]) -> list[str]:
    """Return the notices that nobody saw; the work that they tell about is done."""
    sentences = []
    for task in tasks[:3]:
        attempt, device = constellation.last_attempt(task), constellation.tasks[task].device
        why = f": {_shortened(attempt.detail)}" if attempt and attempt.detail else ""
        where = f" on {fleet.name_of(device)}" if device else ""
        sentences.append(f"No notice was shown{where}{why}.")
    return sentences


def _first_line(detail: str) -> str:
    return detail.partition("\n")[0].strip()


def _shortened(detail: str, most: int = 160) -> str:
    """Return the first line without its full stop; a long one is cut after a whole sentence, else after a word."""
    line = _first_line(detail)
    if len(line) > most:
        head = line[:most]
        sentence_end = head.rfind(". ")
        line = head[:sentence_end] if sentence_end > 0 else head.rpartition(" ")[0] + " ..."
    return line.removesuffix(".")


def _recoveries(constellation: Constellation, fleet: Fleet) -> list[str]:
    recovered = []
    for task, record in constellation.tasks.items():
        spec = constellation.specs[task]
        if record.started < 2 and not record.refusals and not spec.instead_of:
            continue  # nearly all
        # A hedge that lost was an attempt, but not a recovery.
        tries = record.started - (record.hedge > record.attempt)
        if record.refusals:
            tries += _fenced(constellation, task, record)
        if record.state is not _SUCCEEDED or (tries < 2 and not spec.instead_of):
            continue
        how = f"by {spec.tool} instead" if spec.instead_of else _broken_by(constellation, task, record)
        name = called(constellation, fleet, task)
        recovered.append(f"{name} ({how})" if how else name)
    if not recovered:
        return []
    return [f"Recovered without help: {few(recovered, 3)}."]


def _fenced(constellation: Constellation, task: str, record: TaskRecord) -> int:
    """Return how many attempts ended by their fences, which used up no try."""
    return sum(one.code is Code.FENCED for one in constellation.tried(task, record.attempt - 1, record.round))


def _broken_by(constellation: Constellation, task: str, record: TaskRecord) -> str:
    for earlier in constellation.tried(task, record.attempt - 1, record.round):
        late = earlier.late or ""
        fenced = earlier.end is AttemptEnd.INTERRUPTED and earlier.code is Code.FENCED
        if fenced or late.startswith(Code.FENCED):
            # The agent lived on, and ended the work itself: its lease ran out without a word of the hub.
            return "its device had lost its line to the hub"
        if earlier.end is AttemptEnd.INTERRUPTED or late.startswith(AttemptEnd.INTERRUPTED):
            return "its device stopped in the middle"
        if earlier.end is AttemptEnd.LOST:
            return "its device was out of reach"
        if earlier.end is AttemptEnd.REVOKED and record.attempt == record.hedge:
            return "a second attempt was faster"
    return "tried again"


def _changes(constellation: Constellation) -> list[str]:
    sentences = []
    for version in constellation.versions.values():
        # An edit that was taken back dropped nothing.
        gone = [task for task in version.removed if task not in constellation.specs]
        if gone:
            why = f" ({version.reason})" if version.reason else ""
            sentences.append(f"{counted(len(gone), 'task')} dropped: {few(gone, _DROPPED_NAMED)}{why}.")
    return sentences[:3]


def _cancelled(constellation: Constellation, fleet: Fleet) -> list[str]:
    """Return the tasks that were stopped one by one; of a whole that was cancelled, the opening says enough."""
    if constellation.head.cancelled_by is not None:
        return []
    tasks_by_word: dict[str, list[str]] = {}
    for task, record in constellation.tasks.items():
        if record.state is TaskState.CANCELLED and not constellation.specs[task].look:
            word = "Stopped as hopeless" if record.reason is Reason.HOPELESS else "Cancelled"
            tasks_by_word.setdefault(word, []).append(task)
    return [
        f"{word}: {few([_with_device(constellation, fleet, task) for task in tasks], 3)}."
        for word, tasks in tasks_by_word.items()
    ]


def _with_device(constellation: Constellation, fleet: Fleet, task: str) -> str:
    """Return the name of a task with the one device that its plan names for it."""
    device = constellation.specs[task].device
    name = called(constellation, fleet, task)
    return f"{name} on {device.name}" if device is not None and device.name is not None else name


def _skips(constellation: Constellation, fleet: Fleet) -> list[str]:
    by_cause: dict[str, list[str]] = {}
    for task, record in constellation.tasks.items():
        if record.state is _SKIPPED and record.reason is not Reason.DEVICE_AWAY:
            by_cause.setdefault(_skip_words(constellation, fleet, task), []).append(task)
    sentences = []
    for words, tasks in by_cause.items():
        sentences.append(f"Skipped {words}: {_few(constellation, fleet, tasks)}.")
    return sentences[:3]


def _skip_words(constellation: Constellation, fleet: Fleet, task: str) -> str:
    record = constellation.tasks[task]
    cause = called(constellation, fleet, record.cause or "")
    match record.reason:
        case Reason.UPSTREAM_FAILED:
            return f"because {cause} failed"
        case Reason.UPSTREAM_CANCELLED:
            return f"because {cause} was cancelled"
        case Reason.ENOUGH:
            return "because enough was done"
        case Reason.SKIPPED_BY_PERSON:
            return "by a person"
        case Reason.NO_CAPABLE_DEVICE:
            return "because no device could do it"
        case Reason.LEFT_OUT:
            return "to end in time, as its plan says"
        case Reason.NOT_CHOSEN if before := skipped_by_person(constellation, task):
            return f"because a person skipped {called(constellation, fleet, before)}"
        case _:
            return "as not needed"
