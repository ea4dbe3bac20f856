"""Verification of work in doubt: a verify task's result decides whether it is done, runs again, or needs a person.

A verify task runs the `verify` call of a task, is added by `plan.verify_tasks`, and is about one attempt only. Never
guesses.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact, is_known
from starloom.core.state.work import Work, change_task, moved, unattend
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import MISSING, holds, parse
from starloom_protocol.vocabulary import (
    FINAL_TASK_STATES,
    AttemptEnd,
    Attention,
    Code,
    EffectSeen,
    Op,
    TaskState,
)

ID_MOST: Final = 60
ENDED_IN_DOUBT: Final = "ended_in_doubt"


def name_of(task: str, attempt: int) -> str:
    """Return the name of the verify task for an attempt."""
    base = f"verify-{task.replace('.', '-')}"[:ID_MOST]
    return base if attempt == 1 else f"{base}-{attempt}"


def of(constellation: Constellation, task: str) -> str | None:
    """Return the verify task for the attempt that counts, None if there is none."""
    number = constellation.tasks[task].attempt
    name = name_of(task, number)
    spec = constellation.specs.get(name)
    return name if spec is not None and spec.verifies == f"{task}/{number}" else None


def verdict(constellation: Constellation, verify_task: str) -> bool | None:
    """Return whether the attempt had its effect by a verify task's result; None if that is not known (yet)."""
    if constellation.tasks[verify_task].state is not TaskState.SUCCEEDED:
        return None
    verified = constellation.specs.get((constellation.specs[verify_task].verifies or "").rpartition("/")[0])
    if verified is None or verified.verify is None:
        return None
    met = True
    for check in verified.verify.expect:
        value = fact(constellation, verify_task, check.output)
        if not is_known(constellation, verify_task, check.output) or (value is MISSING and check.op is not Op.EXISTS):
            return None
        expected = parse(check.value) if check.value is not None else None
        met = met and holds(check.op, value, expected)
    return met


def apply_result(work: Work, constellation: Constellation, verify_task: str, *, tries_most: int) -> None:
    """Apply the result of a verify task: its task is done, runs again, fails, or stays with a person."""
    task, _, number = (constellation.specs[verify_task].verifies or "").rpartition("/")
    record = constellation.tasks.get(task)
    if record is None or record.state is not TaskState.UNKNOWN or str(record.attempt) != number:
        work.ignore("the task in doubt is decided already")
        return
    had_effect = verdict(constellation, verify_task)
    if had_effect is None:
        work.ignore("the verify task could not say whether it happened")
        return
    attempt = replace(constellation.attempt(task, record.attempt), end=AttemptEnd.INTERRUPTED, ended_ms=work.at_ms)
    key = f"{task}/{number}"
    if had_effect:
        found_by = constellation.last_attempt(verify_task)
        value = found_by.value if found_by is not None and found_by.value is not None else "null"
        done = moved(work, record, TaskState.SUCCEEDED, checked=True, code=None, cause=None, marked=value)
        note = f"{verify_task} found that it had happened"
        change_task(work, constellation, task, EventKind.TASK_VERIFIED, done, ("attempt", key, attempt), note=note)
        work.fire_rules(constellation, task, "succeeded")
    else:
        unharmed = replace(attempt, effect=EffectSeen.NONE, code=Code.INTERRUPTED)
        note = f"{verify_task} found that it had not happened"
        if record.started < tries_most:
            ready = moved(work, record, TaskState.READY)
            change_task(work, constellation, task, EventKind.TASK_RETRIED, ready, ("attempt", key, unharmed), note=note)
        else:
            failed = moved(work, record, TaskState.FAILED, code=Code.INTERRUPTED, checked=False)
            change_task(work, constellation, task, EventKind.TASK_FAILED, failed, ("attempt", key, unharmed), note=note)
            work.fire_rules(constellation, task, "failed")
        work.fire_rules(constellation, task, "attempt_ended")
    if not constellation.unknown:
        unattend(work, constellation, Attention.TASK_UNKNOWN)


def sentence(constellation: Constellation, task: str, where: str) -> str:
    """Return a sentence on the verify task of a task in doubt; empty if there is none."""
    verify_task = of(constellation, task)
    if verify_task is None:
        return ""
    if constellation.tasks[verify_task].state in FINAL_TASK_STATES:
        return f"{verify_task} could not say whether it did."
    return f"{verify_task} looks on {where} whether it did."
