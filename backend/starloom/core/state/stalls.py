"""Stalls: a live constellation that cannot continue is a bug of the hub, and the step that causes it reports it.

Owns the check whether any task of a constellation can still move. Repairs nothing: a person skips or cancels.
"""

from __future__ import annotations

from collections.abc import Iterable

from starloom.core.state.model import Constellation
from starloom.core.state.work import Work, attend, unattend
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Attention, ConstellationState, TaskState

NAMED_MOST = 5


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
    if constellation.open_attempts or constellation.ready or constellation.open_questions or constellation.unasked:
        return False
    return all(job.state == "done" for job in constellation.jobs.values())


def waiting_in(constellation: Constellation) -> list[str]:
    """Return the tasks and groups of a stalled constellation that wait, in the order of the plan."""
    tasks = [task for task, record in constellation.tasks.items() if record.state is TaskState.WAITING]
    return [*(group for group, record in constellation.groups.items() if record.state == "waiting"), *tasks]


def sentence(constellation: Constellation) -> str:
    """Return the sentence about a stall, with the way out."""
    names = waiting_in(constellation)
    more = f" and {len(names) - NAMED_MOST} more" if len(names) > NAMED_MOST else ""
    what = f"{', '.join(names[:NAMED_MOST])}{more} cannot start" if names else "it does not end"
    return f"nothing in it can go on: {what}; this is a fault of the hub. Skip these tasks, or cancel it"


def watch(work: Work, names: Iterable[str]) -> None:
    """Ask once for attention for each of these constellations that is stalled, and end it for one that moves again."""
    for name in names:
        constellation = work.shard.constellations.get(name)
        if constellation is None or name not in work.shard.live:
            continue
        if is_stalled(constellation):
            attend(work, constellation, Attention.STALLED, note=sentence(constellation))
        elif Attention.STALLED in constellation.head.attention:
            unattend(work, constellation, Attention.STALLED)
