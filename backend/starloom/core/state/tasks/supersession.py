"""Supersession: another task counts in the outcome for one that ended without success. Pure; makes no edit."""

from __future__ import annotations

from starloom.core.state.model import Constellation
from starloom_protocol.records.entities import GroupRecord, TaskRecord
from starloom_protocol.vocabulary import Reason

_FOR_A_FAILURE = frozenset({Reason.UPSTREAM_FAILED, Reason.UPSTREAM_CANCELLED})


def ended_badly(record: TaskRecord | GroupRecord) -> bool:
    """Tell whether a task or group failed, was cancelled, or was skipped because another one did."""
    return skipped_for_a_failure(record) or record.state in ("failed", "cancelled")


def skipped_for_a_failure(record: TaskRecord | GroupRecord) -> bool:
    """Tell whether a task or group was skipped because one that it waits for failed or was cancelled."""
    return record.state == "skipped" and record.reason in _FOR_A_FAILURE


def successor(constellation: Constellation, task: str) -> str:
    """Return the task that counts for this one: the end of the chain, or the first on it that did not end badly."""
    for _ in range(len(constellation.specs)):
        spec = constellation.specs[task]
        following = spec.superseded_by
        if following is None or following not in constellation.specs or not ended_badly(constellation.record(task)):
            break
        task = following
    return task
