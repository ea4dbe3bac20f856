"""Results that are kept when their tasks succeed, and taken over by equal tasks of later runs.

A result is kept whole, so it outlives the history of its constellation. It stands only as long as its device would
still be given the work under the terms of that time; a result that names a file is not kept, because its bytes may be
gone. Never asks a device, and never lets a result of one device count where another one has to look.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from starloom.core.placement.feasible import judge_device
from starloom.core.plan.reuse.keys import Unkeyed, key_of, list_devices
from starloom.core.rights.call_effects import adds
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.queues import ANY
from starloom.core.state.work import Put, Work, change_task, moved
from starloom_protocol.plan.lowering.patterns.reuse import PROGRAMS
from starloom_protocol.records.entities import Attempt, KeptResult, TaskRecord, TaskSpec, ToolOffer
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical, holds, parse, point
from starloom_protocol.vocabulary import (
    AttemptEnd,
    ConstellationState,
    Effect,
    EffectSeen,
    Reason,
    Repeatability,
    TaskState,
)

VALUE_BYTES_MOST: Final = 8 * 1024
"""A longer result is made again: the hub holds all kept results in memory."""
_NAMES_FILE: Final = re.compile(r'"artifact":"')
_LATER: Final = (None, Reason.BUSY, Reason.DEVICE_AWAY)
"""The obstacles that do not touch a result: its device could do the work once it is free or back."""


def keep(work: Work, constellation: Constellation, task: str) -> None:
    """Keep the result of a task that has just succeeded, if later runs may take it over."""
    spec, record = constellation.specs.get(task), constellation.tasks.get(task)
    most = work.shard.settings.kept_results_most
    if spec is None or spec.reuse is None or record is None or not most:
        return
    ended = constellation.last_attempt(task)
    if ended is None or not _is_keepable(record, ended) or not _is_valid(work.shard.fleet, spec, ended.device):
        return
    try:
        key = key_of(constellation, spec)
    except Unkeyed:
        return
    access = work.shard.access
    result = KeptResult(
        at_ms=work.at_ms,
        constellation=constellation.name,
        detail=ended.detail,
        device=ended.device,
        task=f"{task}/{record.attempt}",
        terms=_terms(work.shard.fleet, ended.device, spec.tool or ""),
        value=ended.value or "",
    )
    puts: list[Put] = [("kept", key, result)]
    if key not in access.kept and len(access.kept) >= most:
        by_age = sorted(access.kept, key=lambda old: (access.kept[old].at_ms, old))
        puts = [*(("kept", old, None) for old in by_age[: len(by_age) - most + most // 16 + 1]), *puts]
    work.emit(access, EventKind.RESULT_KEPT, f"{constellation.name}/{task}", puts, by=ENGINE)


def take_over(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> bool:
    """Let a task that may begin succeed by a kept result; False if it has to run.

    A task that a person runs again, or that was tried before, makes its result itself.
    """
    if spec.reuse is None or record.attempt or record.round > 1 or record.held or record.review is not None:
        return False
    if constellation.head.state is not ConstellationState.ACTIVE or spec.not_before is not None:
        return False
    try:
        result = work.shard.access.kept.get(key_of(constellation, spec))
    except Unkeyed:
        return False
    if result is None or work.at_ms - result.at_ms > spec.reuse.fresh_s * 1000:
        return False
    fleet = work.shard.fleet
    if not _is_valid(fleet, spec, result.device) or result.terms != _terms(fleet, result.device, spec.tool or ""):
        return False
    if not _may_tell(fleet, constellation, spec, result) or not _meets_checks(spec, result.value):
        return False
    attempt = Attempt(
        bytes=len(result.value.encode()),
        detail=result.detail,
        device=result.device,
        effect=EffectSeen.NONE,
        end=AttemptEnd.OK,
        ended_ms=work.at_ms,
        incarnation=work.shard.incarnation,
        leased_ms=work.at_ms,
        origin=result.constellation,
        origin_ms=result.at_ms,
        origin_task=result.task,
        repeatability=Repeatability.PURE,
        round=record.round,
        started_ms=work.at_ms,
        value=result.value,
        why="its result was taken over",
    )
    done = moved(work, record, TaskState.SUCCEEDED, attempt=1, checked=bool(spec.checks), device=result.device)
    note = f"from {result.task.rpartition('/')[0]} of {result.constellation}"
    also: Put = ("attempt", f"{spec.id}/1", attempt)
    change_task(work, constellation, spec.id, EventKind.TASK_REUSED, done, also, note=note, by=ENGINE)
    work.fire_rules(constellation, spec.id, "succeeded")
    return True


def _is_keepable(record: TaskRecord, ended: Attempt) -> bool:
    """Tell whether a success is a device's own result that stands for itself."""
    if record.state is not TaskState.SUCCEEDED or record.marked is not None or ended.origin is not None:
        return False
    value = ended.value
    if ended.end is not AttemptEnd.OK or value is None or len(value.encode()) > VALUE_BYTES_MOST:
        return False
    return not _NAMES_FILE.search(value)


def _is_valid(fleet: Fleet, spec: TaskSpec, device: str) -> bool:
    """Tell whether a device would be given this work today, now or once it is free, and whether it may be reused."""
    record, offer = fleet.devices.get(device), fleet.tools.get(device, {}).get(spec.tool or "")
    if record is None or offer is None or record.quarantined or device in fleet.health or not _is_reusable(spec, offer):
        return False
    selector = spec.device or ANY
    if record.demo and selector == ANY:
        return False
    return judge_device(fleet, record, offer.name, selector).reason in _LATER


def _is_reusable(spec: TaskSpec, offer: ToolOffer) -> bool:
    """Tell whether a call gives the same for the same key, by the offer of its device."""
    if adds(spec) or spec.secrets or spec.judge is not None or spec.look or spec.reuse is None:
        return False
    if offer.name in PROGRAMS:
        return spec.repeatability is Repeatability.PURE
    if offer.repeatability is not Repeatability.PURE or set(offer.effects) - {Effect.READ}:
        return False
    return Effect.READ not in offer.effects or spec.reuse.key is not None


def _may_tell(fleet: Fleet, constellation: Constellation, spec: TaskSpec, result: KeptResult) -> bool:
    """Tell whether the key of a call that looks at its device comes from that very device.

    Another device could name an old hash, and so keep this one from being looked at.
    """
    offer = fleet.tools[result.device][spec.tool or ""]
    if Effect.READ not in offer.effects or offer.name in PROGRAMS:
        return True
    return list_devices(constellation, spec) == {result.device}


def _terms(fleet: Fleet, device: str, tool: str) -> str:
    """Return the hash of all that a device said about a tool and allows: with other words an old result is void."""
    record, offer = fleet.devices[device], fleet.offers[device]
    offer_values = msgspec.to_builtins(fleet.tools[device][tool])
    text = canonical([sorted(offer.grants), str(record.profile), offer_values, record.version])
    return hashlib.sha256(text.encode()).hexdigest()


def _meets_checks(spec: TaskSpec, value: str) -> bool:
    output = parse(value)
    return all(
        holds(check.op, point(output, check.output), parse(check.value) if check.value is not None else None)
        for check in spec.checks
    )
