"""Stalls: a live constellation in which nothing can go on is a fault of the hub, and the step that makes it tells it.

Owns the question whether anything in a constellation can still move. Repairs nothing: a person skips or cancels.
"""

from __future__ import annotations

from collections.abc import Iterable

from starloom.core.state.model import Constellation
from starloom.core.state.work import Work, attend, unattend
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Attention, ConstellationState, TaskState

NAMED_MOST = 5


def is_stalled(constellation: Constellation) -> bool:
    """Whether nothing runs, is ready, held, asked, timed or waits for a device, and yet it is not over.

    A paused constellation waits for a person to resume it. Back-off, holds and waiting for devices are reasons of
    ready tasks; work in doubt keeps its attempt open.
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
    """Return what is told of a stall, and the way out."""
    names = waiting_in(constellation)
    more = f" and {len(names) - NAMED_MOST} more" if len(names) > NAMED_MOST else ""
    what = f"{', '.join(names[:NAMED_MOST])}{more} cannot start" if names else "it does not end"
    return f"nothing in it can go on: {what}; this is a fault of the hub. Skip these tasks, or cancel it"


def watch(work: Work, names: Iterable[str]) -> None:
    """Tell of each of these constellations that is stalled, once; and take it back where it moves again."""
    for name in names:
        constellation = work.shard.constellations.get(name)
        if constellation is None or name not in work.shard.live:
            continue
        if is_stalled(constellation):
            attend(work, constellation, Attention.STALLED, note=sentence(constellation))
        elif Attention.STALLED in constellation.head.attention:
            unattend(work, constellation, Attention.STALLED)
