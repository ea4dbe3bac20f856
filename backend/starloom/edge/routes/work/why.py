"""`GET .../why`: one sentence for each task that does not move, every candidate device, and the fix as an action.

Owns the order and the number of the explained tasks, and the words that the hub adds; `core.answer.why` finds the
causes. Explains committed state and changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request

from starloom.core.answer import brought_files, story
from starloom.core.answer.open_questions import OpenQuestion, open_questions
from starloom.core.answer.why import Why, explain, shard_of
from starloom.core.placement.device_groups import off_devices
from starloom.core.placement.feasible import is_named
from starloom.core.placement.queue_position import Position
from starloom.core.rights.authorship import may_answer
from starloom.core.state import invariants
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.queues import queueable
from starloom.core.state.tasks.roles import called, has_successor
from starloom.edge.access.callers import Caller
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.fleet.browser_agent import open_again
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.routes.work.waits import waits_sentence
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.process.program import line_giving, on_device
from starloom_protocol.api.constellations import AskedRow, WhyAll, WhyRow
from starloom_protocol.records.entities import Device, GroupRecord, Selector
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.text.wording import counted, few, listed, utc_words
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    Attention,
    Code,
    ConstellationState,
    DeviceLink,
    GroupState,
    Reason,
    TaskState,
)

ITEMS_MAX = 100
FAILED_MOST = 3
"""The most causes of failures whose first task is listed with its way out."""
QUEUED_MAX = 10
"""The most ready tasks for which the answer lists the work ahead of them in the queue."""
NAMED_MOST = 4
"""The devices of a choice that a sentence names."""
_DOUBTED = "may have happened"
_OPEN = {str(state) for state in TaskState if state not in FINAL_TASK_STATES}
_HEAD_WORDS = {
    ConstellationState.AWAITING_APPROVAL: "waits for an approval",
    ConstellationState.CANCELLED: "was cancelled",
    ConstellationState.FAILED: "has failed",
    ConstellationState.PARTIAL: "has succeeded in part",
    ConstellationState.SUCCEEDED: "has succeeded",
}
_ATTENTION = {
    Attention.QUESTION_OPEN: "A question to a person is open.",
    Attention.TASK_UNKNOWN: "A task may have happened and is not repeated without your word.",
    Attention.NO_CAPABLE_DEVICE: "A task fits no device.",
    Attention.WAITS_LONG: "A task waits longer than its limit.",
    Attention.TAKES_LONG: "A task takes longer, over all its attempts, than its limit.",
    Attention.RULE_REFUSED: "A rule's edit was refused.",
    Attention.REVIEW_WISHES: "The model would change the plan beyond what was approved.",
    Attention.PLANNING_FAILED: "No plan could be made.",
    Attention.MISSING_GRANT: "A grant is missing on a device.",
    Attention.MISSING_SECRET: "A secret that the plan names is not set.",
    Attention.UNDO_FAILED: "Something could not be undone; what came before it is left as it is. Look at the task.",
    Attention.BUDGET: "Its budget is used up: nothing more begins. Resume it to allow as much again, or cancel it.",
    Attention.HISTORY_RESTORED: "This history was restored from a backup, and work may have run since it was made. See "
    "that the devices are back and what they have done, then resume it or cancel it.",
    Attention.OWNER_ASKED: "A device asks its owner before it does this. The answer is typed there, or given in the "
    "Inbox where the device allows that.",
    Attention.WAITS_FOR_A_TAP: "A task waits for a tap on its device, in the page of Starloom there.",
}
_GIVEN = (Reason.MISSING_GRANT, Reason.MISSING_SECRET)
"""Causes that a person ends by a line to type."""


class WhyRoute:
    def __init__(self, hub: Hub, constellations: Constellations) -> None:
        self._hub = hub
        self._constellations = constellations

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/constellations/{constellation}/why", self.why, methods=["GET"])

    async def why(
        self, request: Request, constellation: str, task_id: Annotated[str | None, Query(max_length=200)] = None
    ) -> JsonReply[WhyAll] | JsonReply[WhyRow]:
        """Explain why a task, or each task that is not done, does not move."""
        _, entities = await self._constellations.entities(constellation)
        fleet = await self._hub.reads.entities(FLEET)
        secrets = dict(self._hub.access.secrets)
        shard = await asyncio.to_thread(shard_of, fleet.entities if fleet else {}, constellation, entities, secrets)
        # The queues are those of the engine, which works in this thread alone.
        asked_tasks = [task_id] if task_id is not None else _ready_tasks(shard.constellations[constellation])
        queued = {name: self._hub.position(constellation, name) for name in asked_tasks}
        if task_id is None:
            every = await asyncio.to_thread(explain_all, shard, constellation, queued)
            self._add_what_the_hub_knows(every["items"])
            mark_yours(every["questions"], shard.constellations[constellation], caller_of(request))
            return json_reply(every)
        if task_id not in shard.constellations[constellation].specs:
            raise Problem(Code.UNKNOWN_TASK, f"there is no task {task_id}", status=404)
        row = await asyncio.to_thread(_explain_one, shard, constellation, task_id, queued.get(task_id))
        self._add_what_the_hub_knows([row])
        mark_yours(row.get("questions") or [], shard.constellations[constellation], caller_of(request))
        return json_reply(row)

    def _add_what_the_hub_knows(self, items: list[WhyRow]) -> None:
        """Add the reasons for which the hub itself cannot go on, and the page that wakes a tab."""
        waits = self._hub.ready()
        for item in items:
            if waits and item["state"] in _OPEN:
                item["sentence"] += f" The hub itself cannot go on now: {'; '.join(waits)}."
            if item.get("asleep"):
                item["open"] = open_again(self._hub.settings.outside_url, self._hub.lan.state)


def mark_yours(questions: list[AskedRow], constellation: Constellation, caller: Caller) -> None:
    """Note whether the caller may answer the questions: one may ask named people alone."""
    for question in questions:
        spec = constellation.specs.get(question["task"] or "")
        question["only"] = list(spec.ask) if spec is not None else []
        question["yours"] = caller.approves and (spec is None or may_answer(spec, caller.by))


def _ready_tasks(constellation: Constellation) -> list[str]:
    names = [name for name, record in constellation.tasks.items() if queueable(record)]
    return sorted(names)[:QUEUED_MAX]


def _explain_one(shard: Shard, constellation: str, task: str, queued: Position | None = None) -> WhyRow:
    return _item(shard, constellation, explain(shard, constellation, task, queued))


def explain_all(shard: Shard, identity: str, queued: Mapping[str, Position | None]) -> WhyAll:
    """Return the explanation of each task that does not move, or of the whole constellation."""
    constellation = shard.constellations[identity]
    head = constellation.head
    names = [name for name, record in constellation.tasks.items() if record.state not in FINAL_TASK_STATES]
    names += [name for name, record in constellation.groups.items() if _waits_alone(constellation, name, record)]
    # Ready and running tasks explain the rest; tasks that only wait for others come last.
    names.sort(key=lambda name: (str(constellation.record(name).state) == "waiting", name))
    doubted = _doubted_groups(constellation)
    of_groups = {task for tasks in doubted.values() for task in tasks}
    names = [*doubted, *(name for name in names if name not in of_groups)]
    items = [_explain_one(shard, identity, name, queued.get(name)) for name in names[:ITEMS_MAX]]
    left_out = _count_alike(constellation, items, names[ITEMS_MAX:])
    progress = _progress(identity, constellation) if items else ""
    waits = waits_sentence(constellation, shard.fleet, items)
    if not items:
        answer = constellation.tables["answer"].get("")
        sentence = answer.sentence if answer is not None else ""
        sentence = sentence or f"{identity} {_HEAD_WORDS.get(head.state, str(head.state))}."
        if head.fault is not None:
            sentence += f" {head.fault.reason}. {head.fault.hint}"
        items = [{"sentence": sentence, "task": None, "state": head.state, "candidates": [], "fix": None}]
    # A run that goes on names what has failed in it, too: an open question is not all that a person should know.
    items += _failures(shard, identity)
    return {
        "state": head.state,
        "sentence": progress,
        "waits": waits,
        "attention": [
            {"reason": reason, "sentence": _attention(shard, constellation, reason)} for reason in head.attention
        ],
        "questions": [_question_row(identity, question) for question in open_questions(constellation)],
        "items": items,
        "brought_by": _brought_by(constellation),
        "more": left_out,
    }


def _brought_by(constellation: Constellation) -> list[str]:
    """Return the tasks that brought files to failed ones, and can read these again."""
    failed = (task for task in story.failed_first(constellation) if not has_successor(constellation, task))
    return list(
        dict.fromkeys(brought.task for task in failed for brought in brought_files.to_read_again(constellation, task))
    )


def _failures(shard: Shard, identity: str) -> list[WhyRow]:
    """Return the explanation of the first failed task of each cause, the most frequent first, with how many it is."""
    constellation = shard.constellations[identity]
    causes = story.by_cause(constellation, story.failed_first(constellation))
    items = []
    for tasks in causes[:FAILED_MOST]:
        item = _explain_one(shard, identity, tasks[0])
        if len(tasks) > 1:
            others = few([called(constellation, shard.fleet, task) for task in tasks[1:]], NAMED_MOST)
            item["sentence"] += f" {len(tasks) - 1} more failed alike: {others}."
        items.append(item)
    further = causes[FAILED_MOST:]
    if further:
        items[-1]["sentence"] += f" {sum(map(len, further))} more failed of {counted(len(further), 'other cause')}."
    return items


def _count_alike(constellation: Constellation, items: list[WhyRow], left_out: list[str]) -> int:
    """Count the tasks that are left out at the item that tells of them as well; return how many no item tells of."""
    first: dict[object, WhyRow] = {}
    for item in items if left_out else ():
        if item["task"] is not None and (kind := _kind(constellation, item["task"])) is not None:
            first.setdefault(kind, item)
    unexplained = 0
    for name in left_out:
        row = first.get(_kind(constellation, name))
        if row is None:
            unexplained += 1
        else:
            row["alike"] = row.get("alike", 0) + 1
    return unexplained


def _kind(constellation: Constellation, name: str) -> object:
    """Return what tasks have in common that wait for the same, as far as it shows without an explanation."""
    record, spec = constellation.tasks.get(name), constellation.specs[name]
    if record is None or (spec.group is None and record.state is not TaskState.READY):
        return None
    return record.state, record.reason, spec.group, spec.tool, repr(spec.device)


def _progress(name: str, constellation: Constellation) -> str:
    """Return how far a constellation with open tasks is, in one sentence."""
    states = Counter(record.state for record in constellation.tasks.values())
    ended = sum(states[state] for state in FINAL_TASK_STATES)
    waits = states[TaskState.WAITING] + states[TaskState.READY]
    doubted = states[TaskState.UNKNOWN]
    runs = states.total() - ended - waits - doubted
    parts = [f"{ended} of {counted(states.total(), 'task')} {'has' if ended == 1 else 'have'} ended"]
    for count, singular, plural in ((runs, "runs", "run"), (waits, "waits", "wait"), (doubted, *[_DOUBTED] * 2)):
        parts += [f"{count} {singular if count == 1 else plural}"] if count else []
    head = constellation.head
    return f"{head.name or name} {_HEAD_WORDS.get(head.state, f'is {head.state}')}: {listed(parts)}."


def _waits_alone(constellation: Constellation, name: str, record: GroupRecord) -> bool:
    """Tell whether a group waits for something that none of its children tells.

    That is its list, or where it is a goal, the model or the person whose answer makes its next step.
    """
    if record.state is GroupState.WAITING:
        return True
    if record.state in FINAL_GROUP_STATES or constellation.specs[name].goal is None:
        return False
    children = constellation.children.get(name, ())
    return all(constellation.record(child).state in FINAL_TASK_STATES for child in children)


def _question_row(constellation: str, question: OpenQuestion) -> AskedRow:
    return {
        "id": f"{constellation}:{question.id}",
        "task": question.task,
        "by": question.by,
        "text": question.text,
        "values": list(question.values),
        "words": question.words,
        "only": [],
        "yours": False,
    }


def _doubted_groups(constellation: Constellation) -> dict[str, list[str]]:
    """Return the groups with several calls that may have happened: each is one thing to decide."""
    groups: dict[str, list[str]] = {}
    for task in constellation.unknown:
        group = constellation.specs[task].group
        if group is not None and constellation.specs[group].goal is None:
            groups.setdefault(group, []).append(task)
    return {group: tasks for group, tasks in groups.items() if len(tasks) > 1}


def _attention(shard: Shard, constellation: Constellation, reason: Attention) -> str:
    if reason is Attention.STALLED:
        sentence = invariants.stall_sentence(constellation)
        return f"{sentence[0].upper()}{sentence[1:]}."
    if reason is Attention.WAITS_FOR_A_TAP and constellation.tapped:
        return _waits_for_tap(shard, constellation)
    if reason is Attention.WAITS_LONG:
        return _waits_long(shard, constellation) or _ATTENTION[reason]
    return _ATTENTION[reason]


def _waits_for_tap(shard: Shard, constellation: Constellation) -> str:
    """Return the sentence about the tasks that wait for a tap, with the devices on which somebody has to tap."""
    tasks = list(constellation.tapped)[:NAMED_MOST]
    places = (constellation.tasks[task].device or "" for task in tasks)
    devices = sorted({shard.fleet.name_of(place) or place for place in places})
    names = listed([called(constellation, shard.fleet, task) for task in tasks])
    waits = "waits" if len(tasks) == 1 else "wait"
    return f"{names} {waits} for a tap on {listed(devices)}, in the page of Starloom there."


def _waits_long(shard: Shard, constellation: Constellation) -> str:
    """Return the sentence about the ready task whose limit ends first; empty where none is ready."""
    limits = [
        (record.since_ms + constellation.specs[name].timeouts.schedule_to_start_s * 1000, name)
        for name, record in constellation.tasks.items()
        if queueable(record)
    ]
    if not limits:
        return ""
    task = min(limits)[1]
    selector = constellation.specs[task].device
    waits = f"{called(constellation, shard.fleet, task)} waits longer than its limit for"
    return f"{waits} {_devices_meant(shard, selector)}.{_why_away(_named_devices(shard, selector))}"


def _named_devices(shard: Shard, selector: Selector | None) -> list[Device]:
    """Return the devices that a selector names; none where it chooses by what a device can do."""
    if selector is None:
        return []
    return [device for device in shard.fleet.devices.values() if not device.revoked and is_named(selector, device)]


def _why_away(devices: list[Device]) -> str:
    """Return since when these devices are unreachable and what ends it; empty where one of them can be reached."""
    if not devices or not all(off_devices.is_off(device) for device in devices):
        return ""
    states = []
    for device in devices[:NAMED_MOST]:
        state = "asleep" if device.link is DeviceLink.SUSPENDED else "off"
        states.append(f"{device.name} is {state} since {utc_words(device.link_since_ms)}")
    wake = "Turn it on" if len(devices) == 1 else "Turn one of them on"
    return f" {listed(states)}. {wake} and connect it to the network, or edit the plan to use another device."


def _devices_meant(shard: Shard, selector: Selector | None) -> str:
    if selector is None:
        return "a device that can do it"
    if selector.any:
        return " or ".join(_devices_meant(shard, part) for part in selector.any[:NAMED_MOST])
    name = selector.name or shard.fleet.name_of(selector.id)
    return name or "a device that the plan allows"


def _item(shard: Shard, constellation: str, why: Why) -> WhyRow:
    devices, offers = shard.fleet.devices, shard.fleet.offers

    def typed_on(device: str, text: str) -> str:
        return on_device(text, offers[device].facts) if device in offers else text

    # A line to type on a device is written for it; where several would do, each has its own among the candidates.
    lacking = [item.device for item in why.candidates if item.reason is Reason.MISSING_GRANT]
    sentence, actions = why.sentence, why.actions
    line = line_giving(actions) if why.reason in _GIVEN else ""
    if len(lacking) == 1:
        line = typed_on(lacking[0], line)
        sentence, actions = typed_on(lacking[0], sentence), [typed_on(lacking[0], action) for action in actions]
    questions = [opened for opened in open_questions(shard.constellations[constellation]) if _is_of(opened, why)]
    return {
        "task": why.task,
        "state": why.state,
        "reason": why.reason,
        "word": why.shown.word,
        "sentence": sentence,
        "waits_for": why.waits_for,
        "candidates": [
            {
                "device": item.device,
                "name": devices[item.device].name,
                "fits": item.fits,
                "code": item.reason,
                "reason": typed_on(item.device, item.words),
            }
            for item in why.candidates
        ],
        "actions": actions,
        "line": line,
        "fix": actions[0] if actions else None,
        "possible": list(why.possible),
        "warning": why.warning,
        "confirm": why.confirm,
        "doubted": why.doubted,
        "brought_by": why.brought_by,
        "asleep": [devices[name].name for name in why.asleep],
        "open": None,
        "questions": [_question_row(constellation, question) for question in questions],
    }


def _is_of(question: OpenQuestion, why: Why) -> bool:
    """Tell whether a task waits for the answer to a question: its own, or that about the whole plan."""
    return question.task == why.task or (question.task is None and why.reason is Reason.APPROVAL)
