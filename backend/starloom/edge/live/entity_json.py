"""The shapes of entities in the REST API: plain JSON values with RFC 3339 times. Pure; reads no store.

Entities themselves keep hub time in milliseconds; only the log and the live stream show them raw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from starloom.process.computers import Keeping
from starloom.process.settings import VERSION
from starloom_protocol.api.approvals import CallRow, QuestionRow, ShownRow
from starloom_protocol.api.constellations import (
    AnswerPart,
    AnswerShape,
    AttemptRow,
    CiteRow,
    ConstellationRow,
    DependencyRow,
    Metrics,
    Snapshot,
    StopRow,
    TaskRow,
    VersionRow,
    WaitingRow,
)
from starloom_protocol.api.fleet import DeviceRow, DeviceState, EnrollmentRow, ToolRow
from starloom_protocol.api.people import TokenState
from starloom_protocol.records.approvals import Call
from starloom_protocol.records.entities import (
    Answer,
    Attempt,
    Dependency,
    Device,
    Enrollment,
    GroupRecord,
    Head,
    Offer,
    Question,
    Record,
    Shown,
    TaskRecord,
    TaskSpec,
    Token,
    Version,
    decode_entity,
    dependency_id,
)
from starloom_protocol.records.fleet import Health, Stopping
from starloom_protocol.stream.authors import told_name
from starloom_protocol.text.presentation import presentation_of
from starloom_protocol.text.wording import moment
from starloom_protocol.tools.results import returned_by
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import (
    AT_WORK_TASK_STATES,
    FINAL_TASK_STATES,
    Code,
    ConstellationState,
    Reason,
    TaskState,
)
from starloom_protocol.wire.version import is_older

_IDLE: Final = frozenset({Reason.ABSENT, Reason.OVERDUE, Reason.TAP})
"""Why a running task is not at work: its device does not answer, or waits for a tap."""


def iso(at_ms: int) -> str | None:
    """Return RFC 3339 text of hub time; 0 is no time."""
    return moment(at_ms)


def plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON values."""
    fields: dict[str, Any] = msgspec.to_builtins(record)
    return fields


def value_of(text: str | None) -> Any:
    """Return the JSON value of canonical text, null for none."""
    return None if text is None else parse(text)


class Constellation:
    """A constellation's entities, decoded and sorted by kind."""

    def __init__(self, identity: str, seq: int, entities: Mapping[str, bytes]) -> None:
        self.id = identity
        self.seq = seq
        self.tables: dict[str, dict[str, Record]] = {}
        for key, raw in entities.items():
            kind, _, name = key.partition("/")
            self.tables.setdefault(kind, {})[name] = decode_entity(key, raw)

    def table(self, kind: str) -> dict[str, Any]:
        return self.tables.get(kind, {})

    @property
    def head(self) -> Head:
        head: Head = self.table("head")[""]
        return head

    @property
    def answer(self) -> Answer | None:
        return self.table("answer").get("")

    def attempts_of(self, task: str) -> list[tuple[int, Attempt]]:
        """Return (number, attempt) of a task in order."""
        numbered = []
        for key, attempt in self.table("attempt").items():
            name, _, number = key.rpartition("/")
            if name == task:
                numbered.append((int(number), attempt))
        return sorted(numbered)


def row(head: Head, answer: Answer | None, running: int) -> ConstellationRow:
    """Return a line of the list of constellations; what could not be planned has its reason for an answer."""
    return {
        "id": head.id,
        "name": head.name,
        "request": head.request,
        "recipe": head.recipe,
        "schedule": head.schedule,
        "state": head.state,
        "undone_from": head.undone_from,
        "version": head.version,
        "attention": list(head.attention),
        "labels": head.labels,
        "author": head.author,
        "created_at": iso(head.created_ms),
        "ended_at": iso(head.ended_ms),
        "sentence": _sentence(head, answer),
        "alarm": head.state is ConstellationState.SUCCEEDED and answer is not None and answer.alarm,
        "waited_ms": answer.waited_ms if answer else 0,
        "running": running,
    }


def _sentence(head: Head, answer: Answer | None) -> str:
    """Return the sentence of a constellation; that of a denied one begins with who denied its plan, and why."""
    reason = head.fault.reason if head.fault else ""
    if head.fault is None or head.fault.code is not Code.DECLINED or head.cancelled_by is None:
        return answer.sentence if answer else reason
    why = reason.partition(": ")[2].removesuffix(".")
    return f"{told_name(head.cancelled_by)} denied the plan{f': {why}' if why else ''}."


def is_at_work(state: str | None, reason: str | None) -> bool:
    """Tell whether a task is at work on a device: not on one that does not answer, and not before a tap."""
    return state in AT_WORK_TASK_STATES and not (state == TaskState.RUNNING and reason in _IDLE)


def snapshot(state: Constellation, devices: Mapping[str, Device]) -> Snapshot:
    """Return a whole constellation: `{id, name, request, state, version, seq, answer, tasks, ...}`."""
    head = state.head
    tasks = [task_shape(state, name, devices) for name in state.table("spec")]
    return {
        **row(head, state.answer, sum(is_at_work(task["state"], task["reason"]) for task in tasks)),
        "seq": state.seq,
        "origin": head.origin,
        "params": value_of(head.params),
        "policy": head.policy,
        "plan_hash": head.plan_hash,
        "fault": head.fault,
        "answer": answer_shape(state.answer, devices),
        "tasks": tasks,
        "dependencies": [dependency_shape(dep) for dep in state.table("dep").values()],
        "waiting": [_waiting(task) for task in tasks if task["reason"] and task["state"] in ("waiting", "ready")],
        "questions": [question_shape(state.id, question) for question in state.table("question").values()],
        "metrics": metrics(state),
    }


def _waiting(task: TaskRow) -> WaitingRow:
    return {"task": task["id"], "state": task["state"], "reason": task["reason"], "word": task["word"]}


def task_shape(constellation: Constellation, name: str, devices: Mapping[str, Device]) -> TaskRow:
    """Return a task with its spec, where it stands, and how that is shown."""
    spec: TaskSpec = constellation.table("spec")[name]
    record: TaskRecord | None = constellation.table("task").get(name)
    group: GroupRecord | None = constellation.table("group").get(name)
    shape: TaskRow = {
        "id": name,
        "kind": "group" if spec.for_each or spec.nested or spec.goal else ("question" if spec.person else "task"),
        "tool": spec.tool,
        "group": spec.group,
        "family": spec.family,
        "key": spec.key,
        "state": None,
        "reason": None,
        "word": "",
        "glyph": None,
        "tone": None,
        "round": 1,
        "attempt": 0,
        "device": None,
        "device_name": None,
        "code": None,
        "cause": None,
        "checked": False,
        "since": None,
        "attempts": [],
        "reused_from": None,
        "spec": spec,
    }
    if record is not None:
        last: Attempt | None = constellation.table("attempt").get(f"{name}/{record.attempt}")
        if last is not None and last.origin is not None and last.round == record.round:
            shape["reused_from"] = last.origin
        presented = presentation_of(record, record.reason)
        shape |= {
            "state": record.state,
            "reason": record.reason,
            "word": presented.word,
            "glyph": presented.glyph,
            "tone": presented.tone,
            "round": record.round,
            "attempt": record.attempt,
            "device": record.device,
            "device_name": name_of(record.device, devices),
            "code": record.code,
            "cause": record.cause,
            "checked": record.checked,
            "since": iso(record.since_ms),
            "attempts": [attempt_shape(number, item, devices) for number, item in constellation.attempts_of(name)],
        }
    elif group is not None:
        shape |= {
            "state": group.state,
            "reason": group.reason,
            "word": str(group.state).capitalize(),
            "round": group.round,
            "code": group.code,
            "cause": group.cause,
            "count": group.count,
            "since": iso(group.since_ms),
        }
    return shape


def name_of(device: str | None, devices: Mapping[str, Device]) -> str | None:
    """Return a device's name; its id when it is no longer known."""
    if device is None:
        return None
    record = devices.get(device)
    return record.name if record else device


def attempt_shape(number: int, attempt: Attempt, devices: Mapping[str, Device]) -> AttemptRow:
    return {
        "number": number,
        "round": attempt.round,
        "device": attempt.device,
        "device_name": name_of(attempt.device, devices),
        "others": attempt.others,
        "why": attempt.why,
        "end": attempt.end,
        "effect": attempt.effect,
        "code": attempt.code,
        "detail": attempt.detail,
        "value": value_of(attempt.value),
        "artifact": attempt.artifact,
        "bytes": attempt.bytes,
        "tail": attempt.tail,
        "leased_at": iso(attempt.leased_ms),
        "started_at": iso(attempt.started_ms),
        "ended_at": iso(attempt.ended_ms),
        "incarnation": attempt.incarnation,
        "origin": attempt.origin,
        "origin_at": iso(attempt.origin_ms),
        "origin_task": attempt.origin_task,
    }


def dependency_shape(dependency: Dependency) -> DependencyRow:
    shape: DependencyRow = {
        "id": dependency_id(dependency),
        "from": dependency.source,
        "to": dependency.target,
        "when": dependency.gate,
        "input": dependency.input,
        "optional": dependency.optional,
        "changed_in": dependency.changed_in,
    }
    if dependency.condition is not None:
        condition = dependency.condition
        shape["condition"] = {"output": condition.output, "op": condition.op, "value": value_of(condition.value)}
    return shape


def answer_shape(answer: Answer | None, devices: Mapping[str, Device]) -> AnswerShape:
    """Return the answer of a constellation; an absent answer is of state none."""
    if answer is None:
        return {"state": "none", "sentence": "", "items": []}
    items: list[AnswerPart] = [
        {
            "title": item.title,
            "show": item.show,
            "value": value_of(item.value),
            "artifact": item.artifact,
            "bytes": item.bytes,
            "media": item.media,
            "pointer": item.pointer,
            "lacks": item.lacks,
            "checked": item.checked,
            "from": {
                "task": item.task,
                "attempt": item.attempt,
                "device": item.device,
                "device_name": name_of(item.device, devices),
            },
        }
        for item in answer.items
    ]
    shape: AnswerShape = {"state": answer.state, "sentence": answer.sentence, "items": items}
    if answer.words:
        shape["words"] = answer.words
        shape["cites"] = [{"task": cite.task, "pointer": cite.pointer} for cite in answer.cites]
        shape["struck"] = list(answer.struck)
    if answer.verdict is not None:
        verdict = answer.verdict
        cites: list[CiteRow] = [{"task": cite.task, "pointer": cite.pointer} for cite in verdict.cites]
        shape["verdict"] = {"holds": verdict.holds, "because": verdict.because, "by": verdict.by, "cites": cites}
    return shape


def _shown_row(shown: Shown) -> ShownRow:
    return {
        "from": shown.source,
        "output": shown.output,
        "value": parse(shown.value),
        "left_out": shown.left_out,
    }


def question_shape(constellation: str, question: Question) -> QuestionRow:
    return {
        "id": f"{constellation}:{question.id}",
        "constellation": constellation,
        "question": question.id,
        "kind": question.kind,
        "task": question.task,
        "text": question.text,
        "choices": question.choices,
        "effects": list(question.effects),
        "wider": list(question.wider),
        "operations": parse(question.operations) if question.operations else [],
        "action": question.action,
        "version": question.version,
        "opened_at": iso(question.opened_ms),
        "expires_at": iso(question.expires_ms),
        "answer": question.answer,
        "answered_by": question.answered_by,
        "answered_at": iso(question.answered_ms),
        "reason": question.reason,
        "shown": _shown_row(question.shown) if question.shown is not None else None,
        "calls": [call_shape(call) for call in question.calls],
        "once_because": question.once_because,
        "usual": question.usual,
    }


def call_shape(call: Call) -> CallRow:
    return {
        "args": value_of(call.args),
        "devices": call.devices,
        "effects": call.effects,
        "task": call.task,
        "tool": call.tool,
    }


def version_shape(version: Version) -> VersionRow:
    return {
        "number": version.number,
        "author": version.author,
        "trigger": version.trigger,
        "reason": version.reason,
        "at": iso(version.at_ms),
        "added": version.added,
        "changed": version.changed,
        "removed": version.removed,
        "operations": value_of(version.operations),
    }


def metrics(constellation: Constellation) -> Metrics:
    """Return counts by state, and the wall time without what lies between rounds, beside the tasks' times added up."""
    states: dict[str, int] = {}
    for record in constellation.table("task").values():
        states[record.state] = states.get(record.state, 0) + 1
    attempts: Iterable[Attempt] = constellation.table("attempt").values()
    task_ms, count = 0, 0
    for attempt in attempts:
        count += 1
        if attempt.ended_ms:
            task_ms += max(0, attempt.ended_ms - (attempt.started_ms or attempt.leased_ms))
    head = constellation.head
    # One that an earlier release opened again lacks the time between its rounds, so only its last one counts.
    begin_ms = head.created_ms + head.idle_ms if head.idle_ms else head.reopened_ms or head.created_ms
    return {
        "tasks": len(constellation.table("task")),
        "final": sum(count for state, count in states.items() if TaskState(state) in FINAL_TASK_STATES),
        "states": states,
        "attempts": count,
        "task_ms": task_ms,
        "wall_ms": head.ended_ms - begin_ms if head.ended_ms else None,
        "held": sum(1 for record in constellation.table("task").values() if record.reason is Reason.HELD),
    }


def device_shape(
    device: Device, offer: Offer | None, running: int, health: Health | None, slow: str, keeping: Keeping
) -> DeviceRow:
    """Return a device with the names of its tools."""
    tools = sorted(tool.name for tool in offer.tools if not tool.unavailable) if offer else []
    return {**device_state(device, offer, running, health, slow, keeping), "tools": tools}


def device_state(
    device: Device, offer: Offer | None, running: int, health: Health | None, slow: str, keeping: Keeping
) -> DeviceState:
    """Return a device without its tools."""
    return {
        "id": device.id,
        "name": device.name,
        "former_names": device.former_names,
        "os": device.os,
        "labels": device.labels,
        "profile": device.profile,
        "profile_most": device.profile_most,
        "over": device.over,
        "link": device.link,
        "link_since": iso(device.link_since_ms),
        "load": _load(device, offer, running),
        "draining": device.draining,
        "drain_reason": device.drain_reason,
        "drain_until": iso(device.drain_due_ms),
        "reserved": device.reserved,
        "quarantined": device.quarantined,
        "aside": device.aside,
        "refused": device.refused,
        "remembers": device.remembers,
        "health": {"state": health.state, "faults": health.faults} if health else {"state": "ok", "faults": 0},
        "revoked": device.revoked,
        "left": device.left,
        "forgotten": device.forgotten,
        "demo": device.demo,
        # The sample's devices have identities in the data folder, too, and keep nothing.
        "hub_computer": "" if device.demo else keeping,
        "joined_at": iso(device.joined_ms),
        "version": device.version,
        "older_than": VERSION if is_older(device.version, VERSION) else "",
        "session": device.session,
        "condition": device.condition,
        "facts": offer.facts if offer else {},
        "grants": offer.grants if offer else [],
        "slots": offer.slots if offer else 0,
        "running": running,
        "slow": slow,
    }


def stop_shape(row: Stopping, device: Device | None) -> StopRow:
    """Return the part of one device in the last stop-all, and whether it confirmed."""
    return {
        "id": row.device,
        "name": device.name if device else row.device,
        "link": "revoked" if device is None or device.revoked else device.link,
        "link_since": iso(device.link_since_ms) if device else None,
        "asked": row.asked,
        "left": row.attempts,
        "confirmed_at": iso(row.confirmed_ms),
    }


def _load(device: Device, offer: Offer | None, running: int) -> str:
    if device.quarantined:
        return "quarantined"
    if device.draining:
        return "draining"
    return "busy" if offer is not None and running >= max(offer.slots, 1) else "free"


def tools_shape(offer: Offer | None) -> list[ToolRow]:
    """Return a device's tools with their schemas and why one is unavailable."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "effects": list(tool.effects),
            "repeatability": tool.repeatability,
            "grant": tool.grant,
            "self_verified": tool.self_verified,
            "unavailable": tool.unavailable,
            "args": value_of(tool.args),
            "returns": value_of(returned_by(tool) or "null"),
        }
        for tool in (offer.tools if offer else [])
    ]


def enrollment_shape(enrollment: Enrollment) -> EnrollmentRow:
    return {
        "id": enrollment.id,
        "state": enrollment.state,
        "label": enrollment.label,
        "labels": enrollment.labels,
        "name": enrollment.name,
        "os": enrollment.os,
        "device": enrollment.device,
        "words": enrollment.words,
        "profile_most": enrollment.profile_most,
        "replaces": enrollment.replaces,
        "preapproved": enrollment.preapproved,
        "demo": enrollment.demo,
        "owner": enrollment.owner,
        "reason": enrollment.reason,
        "devices": enrollment.devices,
        "used": enrollment.used,
        "code_of": enrollment.code_of,
        "created_at": iso(enrollment.created_ms),
        "expires_at": iso(enrollment.expires_ms),
    }


def token_shape(token: Token, last_used_ms: int) -> TokenState:
    return {
        "id": token.id,
        "kind": token.kind,
        "label": token.label,
        "role": token.role,
        "scopes": token.scopes,
        "principal": token.principal,
        "created_at": iso(token.created_ms),
        "expires_at": iso(token.expires_ms),
        "revoked_at": iso(token.revoked_ms),
        "last_used_at": iso(last_used_ms),
    }
