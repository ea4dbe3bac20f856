"""Explanations of a task's state: one sentence, every candidate device with its reason, and the way out.

Works on entities alone, so that the edge can explain committed state without the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Final

from starloom.core.answer import brought_files, goal_story
from starloom.core.people import controls, escalations
from starloom.core.placement import absent_devices
from starloom.core.placement.device_conditions import full_disk_words, has_full_disk, spared_words, tap_reason
from starloom.core.placement.device_groups.off_devices import is_off
from starloom.core.placement.feasible import OUTSIDE, Candidate, judge_device, nearest, unknown_labels
from starloom.core.placement.pace import PaceIndex, index_of, is_comparable, slow_at, slow_words
from starloom.core.placement.queue_position import Position
from starloom.core.placement.selection import HOLD_MS, full, is_strange, why_then
from starloom.core.placement.waiting import unable_words
from starloom.core.plan import review
from starloom.core.rights.call_effects import FILES_WRITE
from starloom.core.run import hedging, verification
from starloom.core.run.attempts import absence_of
from starloom.core.state.apply import load
from starloom.core.state.model import Constellation, Fleet, Shard
from starloom.core.state.settings import ShardSettings
from starloom.core.state.task_needs import allow_line, missing, needs_in, set_line
from starloom.core.state.tasks.findings import decided_topics
from starloom.core.state.tasks.gates import shut_cause, skipped_by_person
from starloom.core.state.tasks.named_times import NoMoment, named_ms
from starloom.core.state.tasks.roles import called, has_successor, successor
from starloom.core.state.tasks.turns import turns_of
from starloom_protocol.records.entities import (
    Attempt,
    Device,
    Finding,
    GroupRecord,
    Record,
    Secret,
    Selector,
    TaskRecord,
    TaskSpec,
    ToolOffer,
    decode_entity,
)
from starloom_protocol.records.specs import Repeat
from starloom_protocol.text.folder_grants import NO_LINE, plain_grant_line
from starloom_protocol.text.presentation import Presentation, presentation, presentation_of
from starloom_protocol.text.wording import counted, few, found_by, listed, utc_words
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import (
    CODES,
    CONTROLS,
    ENDED_THERE,
    FINAL_TASK_STATES,
    Code,
    ConstellationState,
    DeviceLink,
    GateState,
    GroupState,
    Reason,
    TaskState,
)

_ASLEEP: Final = "is asleep - open it"
_GONE_FOR_GOOD: Final = "Nobody can look there, since the device is gone"
NAMED_MOST: Final = 3
_AS_TASK: Final = {
    GroupState.WAITING: TaskState.WAITING,
    GroupState.EXPANDED: TaskState.RUNNING,
    GroupState.SUCCEEDED: TaskState.SUCCEEDED,
    GroupState.FAILED: TaskState.FAILED,
    GroupState.CANCELLED: TaskState.CANCELLED,
    GroupState.SKIPPED: TaskState.SKIPPED,
}
_NOTHING_DONE: Final = frozenset({Code.FILE_NOT_FOUND, Code.POLICY_REFUSED, Code.TOOL_UNAVAILABLE})
"""The failures of work that did nothing: no person can know that it has succeeded after all."""
_CONTROLS: Final = frozenset(action for offered in CONTROLS.values() for action in offered)


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation of one task. `actions` are controls or command lines, most useful first.

    `asleep` are the browser tabs for which the task waits: a person wakes one by opening its page. `warning` tells the
    consequence of moving the task to another device. `brought_by` are the tasks that brought the files of a failed one
    from a device, and can read them again. `confirm` names the tasks that a retry has to confirm. Of a group,
    `doubted` are the calls that may have happened: one mark ends them all.
    """

    task: str
    state: str
    reason: Reason | None
    shown: Presentation
    sentence: str
    candidates: list[Candidate] = field(default_factory=list)
    waits_for: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    asleep: list[str] = field(default_factory=list)
    possible: tuple[str, ...] = ()
    warning: str = ""
    confirm: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    brought_by: list[str] = field(default_factory=list)


def shard_of(
    fleet: Mapping[str, bytes],
    constellation: str,
    entities: Mapping[str, bytes],
    secrets: Mapping[str, Secret] | None = None,
) -> Shard:
    """Return a shard with the fleet, the records of secrets and one constellation, from stored bytes.

    Slots are counted from this constellation alone: those used by others are not seen.
    """
    shard = Shard()
    load(shard, "fleet", 0, {key: decode_entity(key, raw) for key, raw in fleet.items()})
    load(shard, "access", 0, {f"secret/{name}": record for name, record in (secrets or {}).items()})
    records: dict[str, Record] = {key: decode_entity(key, raw) for key, raw in entities.items()}
    load(shard, constellation, 0, records)
    return shard


def explain(shard: Shard, name: str, task: str, queued: Position | None = None) -> Why:
    """Explain a task of a constellation; `queued` is its position in the queues of the whole fleet, if known.

    Raises:
        KeyError: there is no such task.
    """
    constellation = shard.constellations[name]
    spec = constellation.specs[task]
    group = constellation.groups.get(task)
    if group is not None:
        doubted = [child for child in constellation.leaves(task) if child in constellation.unknown]
        if doubted:
            return explain_doubted(shard, name, task, doubted)
        why = _explain_group(constellation, task, group)
        return replace(why, sentence=why.sentence + _done_by(shard, constellation, task))
    record = constellation.tasks[task]
    reason = _joined_reason(shard, constellation, spec)
    if queued is not None and reason is None and record.state is TaskState.READY:
        reason = Reason.BUSY
    if record.state is TaskState.WAITING:
        explanation = _waiting(shard, constellation, task)
    elif record.state is TaskState.READY:
        explanation = _ready(shard, constellation, spec, reason, queued)
    elif record.state in FINAL_TASK_STATES:
        sentence, actions = _ended(constellation, shard.fleet, task)
        explanation = _Explanation(sentence, actions=actions)
    else:
        explanation = _at_work(shard, constellation, spec)
    possible, has_failed = controls.possible(constellation, task), record.state is TaskState.FAILED
    actions = [action for action in explanation.actions if action not in _CONTROLS or action in possible]
    return Why(
        task=task,
        state=str(record.state),
        reason=reason,
        shown=presentation_of(record, reason),
        sentence=explanation.sentence
        + _instead(spec)
        + _done_by(shard, constellation, task)
        + _findings(shard, constellation, spec),
        candidates=explanation.candidates,
        waits_for=explanation.waits_for,
        actions=actions,
        asleep=explanation.asleep,
        possible=possible,
        warning=absent_devices.move_warning(shard.fleet, spec) if "reassign" in actions else "",
        confirm=controls.confirmed_by_retry(constellation, task) if "retry" in actions else [],
        brought_by=[one.task for one in brought_files.to_read_again(constellation, task)] if has_failed else [],
    )


def _done_by(shard: Shard, constellation: Constellation, task: str) -> str:
    """Return which task did the work of one that ended badly."""
    if not has_successor(constellation, task):
        return ""
    return f" {called(constellation, shard.fleet, successor(constellation, task))} did its work."


def _instead(spec: TaskSpec) -> str:
    return f" Its call is {spec.tool} instead of the one before: {spec.instead_of}." if spec.instead_of else ""


def _findings(shard: Shard, constellation: Constellation, spec: TaskSpec) -> str:
    """Return what a task took by topic, where each finding came from and how old it was then."""
    sentences = []
    if spec.again_of is not None:
        sentences.append(f"It looks again, since the finding of {spec.again_of} had grown too old.")
    for name, topic, finding in decided_topics(constellation, spec.id):
        if finding is None:
            sentences.append(f"There was no finding of “{topic}”, so {name} is the value that the plan gives instead.")
        else:
            device = shard.fleet.name_of(finding.device)
            source = found_by(finding.task, finding.by, device, stranger=bool(finding.stranger))
            age = _age_then(constellation, spec.id, finding)
            sentences.append(f"{name} is the finding “{topic}” of {source}, {age}.")
    return "".join(f" {sentence}" for sentence in sentences)


def _age_then(constellation: Constellation, task: str, finding: Finding) -> str:
    record = constellation.tasks[task]
    attempt = constellation.last_attempt(task)
    took_ms = attempt.leased_ms if attempt is not None else record.since_ms
    return f"{max(took_ms - finding.at_ms, 0) // 1000} s old then"


def explain_doubted(shard: Shard, name: str, group: str, doubted: list[str]) -> Why:
    """Explain the calls of a group that may have happened, as one thing that a person decides."""
    constellation = shard.constellations[name]
    attempts = (constellation.attempt(task, constellation.tasks[task].attempt) for task in doubted)
    devices = {attempt.device: shard.fleet.devices.get(attempt.device) for attempt in attempts}
    names = [device.name if device is not None else key for key, device in devices.items()]
    all_gone = all(device is None or device.revoked for device in devices.values())
    calls = counted(len(doubted), "call")
    them = "it" if len(doubted) == 1 else "them"
    is_not = "it is not" if len(doubted) == 1 else "none is"
    look = _GONE_FOR_GOOD if all_gone else "Look there"
    return Why(
        task=group,
        state=str(TaskState.UNKNOWN),
        reason=Reason.MAY_HAVE_HAPPENED,
        shown=presentation(TaskState.UNKNOWN),
        sentence=f"{calls} of {group} may have happened on {_listed(names)}; {is_not} run twice without your word. "
        f"{look}: then mark {them} together, or retry each with confirm.",
        actions=["mark"],
        possible=("mark",),
        doubted=doubted,
    )


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= NAMED_MOST + 1 else [*names[:NAMED_MOST], f"{len(names) - NAMED_MOST} more devices"]
    return listed(shown)


@dataclass(frozen=True, slots=True)
class _Explanation:
    """The part of an explanation that the state of a task gives; its possible controls are not yet considered."""

    sentence: str
    candidates: list[Candidate] = field(default_factory=list)
    waits_for: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    asleep: list[str] = field(default_factory=list)


def _explain_group(constellation: Constellation, task: str, group: GroupRecord) -> Why:
    children = len(constellation.children.get(task, ()))
    tally = constellation.tally.get(task)
    succeeded = tally.succeeded if tally else 0
    sources = _undecided_sources(constellation, task)
    if constellation.specs[task].goal is not None:
        return Why(
            task=task,
            state=str(group.state),
            reason=group.reason,
            shown=presentation(_AS_TASK[group.state]),
            sentence=goal_story.sentence(constellation, task, _for(sources)),
            waits_for=sources,
            possible=tuple(goal_story.actions(constellation, task)),
        )
    sentence = (
        f"{task} is a group of {children}; {succeeded} are done."
        if children
        else f"{task} is a group that waits for its list{_for(sources)}."
    )
    repeat = each.repeat if (each := constellation.specs[task].for_each) is not None else None
    if children and repeat is not None:
        sentence = _turns(constellation, task, group, repeat)
    if group.review is not None:
        sentence = f"{sentence[:-1]}; it {_waits_for_review(constellation, group.review)}."
    return Why(
        task=task,
        state=str(group.state),
        reason=group.reason,
        shown=presentation(TaskState.WAITING),
        sentence=sentence,
        waits_for=sources,
    )


def _waiting(shard: Shard, constellation: Constellation, task: str) -> _Explanation:
    name = called(constellation, shard.fleet, task)
    sources = _undecided_sources(constellation, task)
    review_job = constellation.tasks[task].review
    sentence = (
        f"{name} waits{_for([called(constellation, shard.fleet, source) for source in sources])}."
        if review_job is None
        else f"{name} {_waits_for_review(constellation, review_job)}."
    )
    if constellation.head.state is ConstellationState.PAUSED:
        sentence = f"{sentence[:-1]}, and the constellation is paused."
        return _Explanation(sentence, waits_for=sources, actions=["resume"])
    return _Explanation(sentence, waits_for=sources)


def _ready(
    shard: Shard, constellation: Constellation, spec: TaskSpec, reason: Reason | None, queued: Position | None
) -> _Explanation:
    # A question and the answer of a goal are done on no device.
    candidates = candidates_of(shard, constellation, spec) if spec.tool else []
    if reason is Reason.MISSING_GRANT:
        candidates = [_as_refused(shard.fleet, constellation, spec, item) for item in candidates]
    if queued is not None:
        candidates = [_as_used(item, queued) for item in candidates]
    name = called(constellation, shard.fleet, spec.id)
    sentence, actions = _held_back(_Ready(shard, constellation, spec, name, reason, candidates))
    if queued is not None and reason is Reason.BUSY:
        sentence += _place_in_queue(queued)
    asleep: list[str] = []
    if reason is Reason.DEVICE_AWAY:
        asleep = [item.device for item in candidates if _sleeps(shard, item.device) and item.reason is reason]
        actions = ["open", *actions] if asleep else actions
    return _Explanation(sentence, candidates, actions=actions, asleep=asleep)


def _as_refused(fleet: Fleet, constellation: Constellation, spec: TaskSpec, candidate: Candidate) -> Candidate:
    """Return a candidate with the grant that it lacks where its tool alone does not show it: its device said so."""
    if candidate.reason not in (None, Reason.BUSY):
        return candidate
    if spec.files_out and FILES_WRITE not in fleet.offers[candidate.device].grants:
        line = plain_grant_line(FILES_WRITE, fleet.devices[candidate.device].os)
        words = f"{FILES_WRITE} is not granted, which `files_out` needs; on the device: {line}"
        return Candidate(candidate.device, False, Reason.MISSING_GRANT, words)
    last = constellation.last_attempt(spec.id)
    if last is None or last.device != candidate.device or last.code is not Code.MISSING_GRANT:
        return candidate
    words = last.detail.rstrip(".").replace(". To allow it, type on the device: ", "; on the device: ")
    return Candidate(candidate.device, False, Reason.MISSING_GRANT, words)


def _at_work(shard: Shard, constellation: Constellation, spec: TaskSpec) -> _Explanation:
    """Explain a task with an open attempt, and the second one beside it."""
    task, record = spec.id, constellation.tasks[spec.id]
    name = called(constellation, shard.fleet, task)
    attempt = constellation.attempt(task, record.attempt)
    device = shard.fleet.devices.get(attempt.device)
    where = device.name if device else attempt.device
    actions: list[str] = []
    asleep: list[str] = []
    if record.state is TaskState.UNKNOWN:
        is_gone = device is None or device.revoked
        needs_tap = tap_reason(device, constellation.name, task, record.attempt) is not None
        sentence = _doubt(constellation, task, name, where, is_gone=is_gone, needs_tap=needs_tap)
        # The other devices do not matter before a person has decided.
        words = "has begun it: no other device may take it until you mark or retry it"
        candidates = [] if device is None else [Candidate(device.id, False, Reason.MAY_HAVE_HAPPENED, words)]
        return _Explanation(sentence, candidates, actions=["mark", "retry"])
    if _sleeps(shard, attempt.device):
        sentence = f"{name} is on {where}, which {_ASLEEP}; it continues there where it was."
        asleep, actions = [attempt.device], ["open"]
    else:
        sentence = _on_device(shard.settings, spec, name, record, attempt, device)
    second = hedging.open_hedge(constellation, task, record)
    if second is not None:
        second_device = shard.fleet.name_of(second.device)
        sentence = f"{sentence} It takes long, so a second attempt runs on {second_device}; the first result counts."
    candidates = candidates_of(shard, constellation, spec)
    if not actions:
        # A task at work lacks nothing: that a device takes no new work, or cannot do this, explains nothing of it.
        candidates = [item for item in candidates if item.fits]
    return _Explanation(sentence, candidates, actions=actions, asleep=asleep)


def _doubt(constellation: Constellation, task: str, name: str, where: str, *, is_gone: bool, needs_tap: bool) -> str:
    """Return the sentence about a task that may have happened on a device, which may be gone for good."""
    verification_words = verification.sentence(constellation, task, where)
    detail = constellation.attempt(task, constellation.tasks[task].attempt).detail
    cause = next((words for words in ENDED_THERE if detail.endswith(words)), "")
    cut = f": it was ended there before it was done, because {cause}" if cause else ""
    start = f"{name} was started on {where} and may have happened{cut}"
    if needs_tap:
        start = f"{name} waited for a tap on {where} when that was last heard of, and happened only if one came since"
    if verification_words:
        return f"{start}; {verification_words} You can mark it, too."
    way = f"{_GONE_FOR_GOOD}: mark it as you know it" if is_gone else "Look there, then mark it"
    return f"{start}; it is not run twice without your word. {way}, or retry it with confirm."


def _on_device(
    settings: ShardSettings, spec: TaskSpec, task: str, record: TaskRecord, attempt: Attempt, device: Device | None
) -> str:
    where = device.name if device else attempt.device
    after_ms, then = absence_of(settings, spec, attempt, record.absent_since_ms)
    # Only a device that is off can say that work has stopped which no fence of its own ends there.
    if record.state is TaskState.CANCELLING and device is not None and is_off(device) and then == "wait":
        return (
            f"{task} was asked to stop on {where}, which is off; it counts as cancelled once {where} is back and "
            f"confirms. If {where} does not come back, revoke it: then you decide whether {spec.id} has happened."
        )
    if record.absent_since_ms:
        return f"{task} is on {where}, which does not answer{_absence_words(after_ms, then)}."
    if device is not None and has_full_disk(device):
        return (
            f"{task} is on {where}, which {full_disk_words(device)}: nothing begins there and no result leaves "
            "until there is room. Free some space there; it then continues without a restart."
        )
    if record.reason is Reason.MOVING:
        return f"{task} is moved away from {where}, which drains, to another device once it has stopped there."
    if record.reason is Reason.OVERDUE:
        most_s = spec.timeouts.start_to_close_s
        return f"{task} runs on {where} for longer than its {most_s} s; {where} was told to stop it."
    if record.state is TaskState.CANCELLING:
        return f"{task} is being stopped on {where}; it counts as cancelled once {where} confirms."
    if record.reason is Reason.TAP:
        return f"{task} waits for a tap on {where}: somebody has to tap there, in the page of Starloom."
    tap = ""
    if device is not None and device.os == TAB_OS and record.state is TaskState.RUNNING:
        tap = f" It runs in the page of Starloom on {where}, where a tap may be needed."
    return f"{task} is on {where} because {why_then(attempt.why)}; attempt {record.attempt}.{tap}"


def _as_used(candidate: Candidate, queued: Position) -> Candidate:
    """Return a candidate with the slots used by the whole fleet, which one constellation does not see."""
    used, slots = queued.used.get(candidate.device, (0, 0))
    if candidate.reason is not None or used < slots or not slots:
        return candidate
    return Candidate(candidate.device, False, Reason.BUSY, f"is busy ({used} of {slots} slots)")


def _place_in_queue(queued: Position) -> str:
    if not queued.tasks:
        return f" It is next, after work of {' and '.join(queued.running)}." if queued.running else " It is next."
    count = f"{queued.tasks} tasks go" if queued.tasks > 1 else "1 task goes"
    return f" {count} before it{', of ' + ' and '.join(queued.plans) if queued.plans else ''}."


def sleeps(device: Device) -> bool:
    """Tell whether a device is a browser tab in the background; it is back once its page is opened."""
    return device.os == TAB_OS and device.link is not DeviceLink.ONLINE and not device.revoked


def _sleeps(shard: Shard, device: str) -> bool:
    record = shard.fleet.devices.get(device)
    return record is not None and sleeps(record)


def _absence_words(after_ms: int, then: str) -> str:
    if then == "wait":
        return "; its work waits for it"
    return f"; its work {'begins anew' if then == 'reassign' else 'is given up'} after {after_ms // 1000} s of that"


def _for(names: list[str]) -> str:
    if not names:
        return ""
    return " for " + (names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1])


def _undecided_sources(constellation: Constellation, task: str) -> list[str]:
    """Return the tasks that a task waits for: the sources of its gates that are not decided yet."""
    sources: dict[str, None] = {}
    for key, dependency in constellation.incoming.get(task, {}).items():
        if constellation.gate[key] is GateState.UNDECIDED:
            sources[dependency.source] = None
    return list(sources)


def _joined_reason(shard: Shard, constellation: Constellation, spec: TaskSpec) -> Reason | None:
    record = constellation.tasks[spec.id]
    if record.state is not TaskState.READY or record.reason is not None:
        return record.reason
    if constellation.head.state is ConstellationState.PAUSED:
        return Reason.PAUSED
    if constellation.head.state is ConstellationState.AWAITING_APPROVAL:
        return Reason.APPROVAL
    if full(constellation, spec):
        return Reason.QUOTA
    return nearest({candidate.reason for candidate in candidates_of(shard, constellation, spec)})


def candidates_of(shard: Shard, constellation: Constellation, spec: TaskSpec) -> list[Candidate]:
    """Return every device as a candidate with its reason, the fitting ones first."""
    selector = spec.device or Selector()
    needs = needs_in(shard.access, constellation, spec)
    candidates = [
        judge_device(shard.fleet, device, spec.tool or "", selector, needs)
        for device in shard.fleet.devices.values()
        if not device.revoked
    ]
    candidates = [
        replace(item, words=_ASLEEP) if item.reason is Reason.DEVICE_AWAY and _sleeps(shard, item.device) else item
        for item in candidates
    ]
    index = index_of(shard.fleet)
    tool, tools = spec.tool or "", shard.fleet.tools
    offers = [tools[item.device].get(tool) if item.device in tools else None for item in candidates]
    candidates = [
        _with_drawbacks(item, index, shard.fleet.devices[item.device], tool, offer)
        for item, offer in zip(candidates, offers, strict=True)
    ]
    return sorted(candidates, key=lambda candidate: (not candidate.fits, shard.fleet.devices[candidate.device].name))


def _with_drawbacks(
    candidate: Candidate, index: PaceIndex, device: Device, tool: str, offer: ToolOffer | None
) -> Candidate:
    """Return a candidate with what speaks against it and does not exclude it: its owner's needs, and past runs."""
    if candidate.reason not in (None, Reason.BUSY):
        return candidate
    courtesy = spared_words(device)
    tenths = slow_at(index, tool, device.id) if offer is not None and is_comparable(offer) else 0
    drawbacks = [f"is taken last, because {courtesy}"] if courtesy else []
    drawbacks += [slow_words(tenths, tool)] if tenths else []
    return replace(candidate, words=", ".join([candidate.words, *drawbacks])) if drawbacks else candidate


@dataclass(frozen=True, slots=True)
class _Ready:
    """A ready task that runs nowhere yet, with its display name, its reason and every device as a candidate."""

    shard: Shard
    constellation: Constellation
    spec: TaskSpec
    name: str
    reason: Reason | None
    candidates: list[Candidate]

    @property
    def record(self) -> TaskRecord:
        return self.constellation.tasks[self.spec.id]

    @property
    def concerned(self) -> list[Candidate]:
        """The devices that the task's reason speaks of."""
        return [item for item in self.candidates if item.reason is self.reason]

    def device_words(self, candidates: list[Candidate]) -> str:
        """Return the words about each device; those that the plan leaves out are a count where they are many."""
        outside = [item for item in candidates if item.words == OUTSIDE]
        unnamed = outside if len(outside) > NAMED_MOST else []
        clauses = [f"{self.device(item).name} {item.words}" for item in candidates if item not in unnamed]
        if unnamed:
            others = "other devices" if clauses else "devices"
            clauses.append(f"{len(unnamed)} {others} are not what the plan asks for")
        return "; ".join(clauses)

    def device(self, candidate: Candidate) -> Device:
        return self.shard.fleet.devices[candidate.device]


def _held_back(ready: _Ready) -> tuple[str, list[str]]:
    """Return why a task is not given to a device, with the ways out: people and the plan first, then devices."""
    spec, record = ready.spec, ready.record
    match ready.reason:
        case Reason.JUDGE:
            question = spec.judge.question if spec.judge is not None else ""
            if spec.person is not None:
                return f"{ready.name} waits for its judge to choose a result: {question}", []
            return f"{ready.name} has its result and waits for its judge: {question}", []
        case Reason.PERSON:
            return _asks_person(spec, ready.name, record), ["answer"]
        case Reason.REVIEW if record.review is not None:
            return f"{ready.name} {_waits_for_review(ready.constellation, record.review)}.", []
        case Reason.HELD:
            return f"{ready.name} is held by a person.", ["release"]
        case Reason.BACKOFF:
            return f"{ready.name} is tried again soon, after attempt {record.attempt} did not succeed.", []
        case Reason.MOMENT:
            return f"{ready.name} waits for its time: it begins at {utc_words(record.not_before_ms)}.", []
        case Reason.PAUSED:
            return f"{ready.name} is ready, but the constellation is paused.", ["resume"]
        case Reason.APPROVAL:
            return f"{ready.name} waits until the plan is approved.", ["approve"]
        case Reason.QUOTA:
            return f"{ready.name} waits because its group runs as many at once as it may.", []
        case _:
            return _without_device(ready)


def _asks_person(spec: TaskSpec, name: str, record: TaskRecord) -> str:
    if spec.judge is not None and record.code is None:
        return f"{name} waits for a person, since its judge did not say: {spec.judge.question}"
    if spec.person is None:
        title = CODES[record.code].title if record.code else "it failed"
        return f"{name} failed ({title}) and waits for a person to say what becomes of it."
    whom = f"the answer of {_listed(spec.ask)}, which alone counts" if spec.ask else "a person"
    return f"{name} waits for {whom}: {spec.person}"


def _without_device(ready: _Ready) -> tuple[str, list[str]]:
    """Return what the devices lack for a task, with the ways out."""
    spec, fleet, concerned = ready.spec, ready.shard.fleet, ready.concerned
    concerned_words = ready.device_words(concerned)
    match ready.reason:
        case Reason.MISSING_GRANT:
            lacks = "; ".join(f"on {ready.device(item).name}, {item.words}" for item in concerned)
            return f"{ready.name} waits for a grant: {lacks}.", [item.words for item in concerned]
        case Reason.MISSING_SECRET:
            unset = missing(needs_in(ready.shard.access, ready.constellation, spec))
            return f"{ready.name} waits for a secret that is not set: {', '.join(unset)}.", list(map(set_line, unset))
        case Reason.OWNER_ASKED:
            attempt = ready.constellation.attempt(spec.id, ready.record.attempt)
            return f"{ready.name} waits for the owner of {fleet.devices[attempt.device].name}: {attempt.detail}.", []
        case Reason.DEVICE_AWAY:
            away = [f"{ready.device(item).name} {absent_devices.away_words(fleet, item)}" for item in concerned]
            ways = [*absent_devices.switch_on(fleet, concerned), "reassign"]
            return f"{ready.name} waits for a device that is away: {'; '.join(away)}.", ways
        case Reason.DEVICE_ASIDE:
            aside = [ready.device(item) for item in concerned]
            lines = [f"starloom device resume {quote(device.name)}" for device in aside if device.draining]
            lines += [f"starloom device share {quote(device.name)}" for device in aside if device.reserved]
            return f"{ready.name} waits for a device that takes no work now: {concerned_words}.", [*lines, "reassign"]
        case Reason.NO_CAPABLE_DEVICE:
            return _incapable(ready)
        case Reason.BUSY:
            return f"{ready.name} waits for a free slot: {concerned_words}.", []
        case _:
            free = [item.device for item in ready.candidates if item.fits]
            if free and all(is_strange(fleet, ready.constellation, spec, device) for device in free):
                until = utc_words(ready.record.since_ms + HOLD_MS)
                others = listed([fleet.name_of(device) for device in free])
                owner = "a busy device of the person whose values it takes"
                return f"{ready.name} waits for {owner}, until {until} at the latest; then another may: {others}.", []
            return f"{ready.name} is about to start: {ready.device_words(ready.candidates)}.", []


def _incapable(ready: _Ready) -> tuple[str, list[str]]:
    spec, fleet = ready.spec, ready.shard.fleet
    if gone_devices := absent_devices.gone_devices(fleet, spec):
        devices = " and for ".join(absent_devices.gone_words(device) for device in gone_devices)
        return f"{ready.name} waits for {devices}.", ["reassign", "edit", "cancel"]
    unknown, labels = unknown_labels(spec.device or Selector(), fleet.devices.values())
    if unknown:
        hint = f"labels that there are: {few(labels, NAMED_MOST)}" if labels else "no device has any"
        lines = [f"starloom device label DEVICE {quote(label)}" for label in unknown]
        word = "label" if len(unknown) == 1 else "labels"
        return f"{ready.name} waits for a device with the {word} {listed(unknown)}; {hint}.", [*lines, "edit", "cancel"]
    words = ready.device_words(ready.candidates) or "there are none"
    if lines := _lines_that_give_secret(ready.shard, ready.constellation, spec):
        return f"{ready.name} waits because no device may have its secret: {words}.", [*lines, "edit", "skip"]
    ways = ["reassign", "edit", "cancel"] if absent_devices.names_devices(spec.device) else ["enroll"]
    # Each other device of a list has a call of its own already.
    if spec.key and spec.device is not None and spec.device.id == spec.key:
        ways[0] = "skip"
    return f"{ready.name} waits because no device can do {spec.tool}: {words}.", ways


def _lines_that_give_secret(shard: Shard, constellation: Constellation, spec: TaskSpec) -> list[str]:
    """Return the lines that give a task's secret to devices which lack nothing else."""
    needs = needs_in(shard.access, constellation, spec)
    if needs is None:
        return []
    fleet, tool = shard.fleet, spec.tool or ""
    lines = (
        allow_line(needs, device, tool, fleet.devices)
        for device in fleet.devices.values()
        if judge_device(fleet, device, tool, spec.device or Selector()).reason is not Reason.NO_CAPABLE_DEVICE
    )
    return list(dict.fromkeys(line for line in lines if line is not None))[:NAMED_MOST]


def _waits_for_review(constellation: Constellation, name: str) -> str:
    """Return what a held task waits for, with the moment at which its review ends at the latest."""
    job = constellation.jobs[name]
    tasks = ", ".join(dict.fromkeys(key.rpartition("/")[0] for key in job.tasks[:NAMED_MOST]))
    if any(question.id.endswith(job.id) for question in escalations.open_wishes(constellation)):
        return f"waits until a person decides what the review of {tasks} asks for"
    until = utc_words(review.latest_end_ms(job))
    return f"waits for a review of {tasks} by the model until {until} at the latest"


def _words_of_judge(constellation: Constellation, task: str, record: TaskRecord) -> str:
    """Return why a vote took no result, in the words of its judge or of a person; empty for any other task."""
    if constellation.specs[task].judge is None or record.code is not Code.NO_WINNER or record.marked is None:
        return ""
    return str(parse(record.marked)["text"])


def _wrong_time(constellation: Constellation, task: str, record: TaskRecord) -> str:
    moment = constellation.specs[task].not_before
    try:
        at_ms = named_ms(constellation, moment, record.since_ms) if moment is not None else 0
    except NoMoment as error:
        return f": {error}"
    return f": the time was {utc_words(at_ms)}" if at_ms else ""


def _turns(constellation: Constellation, task: str, group: GroupRecord, repeat: Repeat) -> str:
    count = len(constellation.children.get(task, ()))
    words = f"{task} has had {count} of at most {repeat.most} turns"
    if group.code is Code.CONDITION_UNMET:
        return f"{task} failed: its condition is not met after {count} turns. {CODES[group.code].hint}"
    if group.state is GroupState.SUCCEEDED:
        return f"{words} and is done{', since its condition is met' if repeat.until is not None else ''}."
    if group.state is not GroupState.EXPANDED:
        return f"{words} and is {group.state}."
    last = turns_of(constellation, task)[-1]
    due_ms = constellation.tasks[last].not_before_ms
    return f"{words}; {last} begins at {utc_words(due_ms)}." if due_ms else f"{words}; {last} is the present one."


def _ways_of_a_skipped(constellation: Constellation, task: str) -> list[str]:
    """Return the retry that lets a skipped task run: its own, or that of the task that skips it."""
    if not controls.is_shut(constellation, task):
        return ["retry"]
    _, cause = shut_cause(constellation, task)
    if cause not in constellation.tasks or "retry" not in controls.possible(constellation, cause):
        return []
    return [controls.retry_line(constellation, cause)]


def _hint(code: Code | None, detail: str) -> str:
    """Return the way out of a failure; a refusal whose words offer no line has none that could be typed.

    A device that says why a tool cannot be used has said what to fix.
    """
    if code is None or (code is Code.POLICY_REFUSED and NO_LINE in detail):
        return ""
    return "" if code is Code.TOOL_UNAVAILABLE and detail else CODES[code].hint


def _left_out_by_skip(constellation: Constellation, task: str) -> str:
    """Return what a constellation leaves out if it continues without a failed task; empty if nothing waits for that."""
    if has_successor(constellation, task) or "skip" not in controls.possible(constellation, task):
        return ""
    group = constellation.specs[task].group
    if group is not None and group in constellation.groups:
        children = constellation.children.get(group, {})
        count = sum(constellation.record(child).state == "succeeded" for child in children)
        part = f" Going on without it leaves out its part; {count} of {len(children)} of {group} are done."
        return part if count else ""
    skipped = [
        dependency.target
        for dependency in constellation.outgoing.get(task, {}).values()
        if constellation.record(dependency.target).state == "skipped"
    ]
    if not skipped:
        return ""
    return f" Going on without it leaves out {few(list(dict.fromkeys(skipped)), NAMED_MOST)}, too."


def _ended(constellation: Constellation, fleet: Fleet, task: str) -> tuple[str, list[str]]:
    record, name = constellation.tasks[task], called(constellation, fleet, task)
    attempt = constellation.last_attempt(task)
    match record.state:
        case TaskState.SKIPPED if record.reason is Reason.LEFT_OUT:
            ways = _ways_of_a_skipped(constellation, task)
            return f"{name} was left out, because the chance to end in time had become small.", ways
        case TaskState.SKIPPED if record.reason is Reason.NO_CAPABLE_DEVICE:
            ways = _ways_of_a_skipped(constellation, task)
            unable = unable_words(fleet, constellation.specs[task]) or "no device could do it"
            return f"{name} was skipped: it is optional, and {unable}.", ways
        case TaskState.SKIPPED if record.reason is Reason.SKIPPED_BY_PERSON:
            return f"{name} was skipped by a person.", _ways_of_a_skipped(constellation, task)
        case TaskState.SKIPPED:
            cause = record.cause or "not_chosen"
            source = skipped_by_person(constellation, task) if cause == "not_chosen" else ""
            needless = f"a person skipped {source}" if source else "it was not needed"
            words = needless if cause == "not_chosen" else f"{cause} did not succeed"
            return f"{name} was skipped because {words}.", _ways_of_a_skipped(constellation, task)
        case TaskState.FAILED:
            return _failed(constellation, fleet, task, record, attempt)
        case TaskState.CANCELLED if record.reason is Reason.HOPELESS:
            rule = constellation.specs[task].stop_when
            last = attempt.progress.points[-1] if attempt is not None and attempt.progress is not None else None
            figures = f": {rule.name} was {last.value} after {last.lines} reports" if rule and last else ""
            return f"{name} was stopped as hopeless by its plan{figures}.", ["retry"]
        case TaskState.CANCELLED:
            return f"{name} was cancelled.", ["retry"]
        case _:
            return f"{name} is done{', and its result was checked' if record.checked else ''}.", []


def _failed(
    constellation: Constellation, fleet: Fleet, task: str, record: TaskRecord, attempt: Attempt | None
) -> tuple[str, list[str]]:
    """Return why a task failed, with its ways out."""
    title = CODES[record.code].title if record.code else "it failed"
    words = (attempt.detail if attempt is not None else "") or _words_of_judge(constellation, task, record)
    hint = _hint(record.code, words)
    detail = f": {words.rstrip().removesuffix('.')}" if words else ""
    if record.code is Code.MOMENT_OUTSIDE:
        detail = _wrong_time(constellation, task, record)
    has_check_words = any(check.says for check in constellation.specs[task].checks)
    needs_retry = record.code in _NOTHING_DONE or (record.code is Code.CHECK_FAILED and has_check_words)
    ways = ["retry"] if needs_retry else ["retry", "mark"]
    read_again_words, read_again_ways = brought_files.way_out(constellation, fleet, task)
    ways[1:1] = read_again_ways
    can_retry = "retry" in controls.possible(constellation, task)
    if record.code is Code.FILE_NOT_FOUND and can_retry and constellation.specs[task].group is None:
        # A retry of the same path helps only somebody who has put the file there.
        ways.insert(0, f"starloom edit {constellation.name} --editor --retry {quote(task)}")
    if record.code is Code.TIMED_OUT and can_retry:
        longer_s = 2 * constellation.specs[task].timeouts.start_to_close_s
        ways.insert(0, f"{controls.retry_line(constellation, task)} --timeout {longer_s}s")
    cause = detail.removeprefix(": ") if controls.says_all(record, attempt) and detail else title + detail
    left_out_words = _left_out_by_skip(constellation, task)
    ways += ["skip"] if left_out_words else []
    of_file = f" ({file})" if (file := brought_files.file_of(constellation, task)) else ""
    name = called(constellation, fleet, task)
    return f"{name}{of_file} failed: {cause}. {hint}".rstrip() + read_again_words + left_out_words, ways
