"""The queues of ready tasks, one per demand: an index that `apply` maintains and placement reads.

A queue has one heap for each constellation, by rank, then age: ranks of different plans are not comparable. An entry
that is no longer in `shard.queued` is dropped when placement meets it.
"""

from __future__ import annotations

from heapq import heappush

from starloom.core.state.model import Constellation, Demand, Shard
from starloom.core.state.queues import fair_share
from starloom.core.state.queues.secret_needs import needs_of
from starloom_protocol.records.entities import Selector, TaskRecord, TaskSpec, encode_entity
from starloom_protocol.vocabulary import TaskState

ANY = Selector()
_READY = TaskState.READY


def demand_key(spec: TaskSpec, recipe: str | None = None) -> tuple[str, bytes]:
    """Return the key of a task's demand, so that tasks that want the same wait in one queue.

    `recipe` is that of its constellation; it matters only for tasks that are given secrets.
    """
    where = encode_entity(spec.device) if spec.device is not None else b""
    if spec.secrets:
        where += "\0".join(("", *spec.secrets, recipe or "")).encode()
    return spec.tool or "", where


def queueable(record: TaskRecord) -> bool:
    """Tell whether a task's own record allows it to be placed now."""
    return record.state is _READY and record.reason is None


def enqueue(shard: Shard, constellation: Constellation, spec: TaskSpec) -> None:
    """Append a task to the queue of its demand."""
    if spec.tool is None:
        return
    head, name, task = constellation.head, constellation.name, spec.id
    tool, where = demand_key(spec, head.recipe)
    key = tool, where + head.author.encode()
    demand = shard.demands.get(key)
    if demand is None:
        needs = needs_of(shard.access, spec, head.recipe)
        demand = shard.demands[key] = Demand(key, tool, spec.device or ANY, needs, head.author)
        shard.shares.setdefault(head.author, 0)
    shard.queued[(name, task)] = demand.key
    shard.order += 1
    line = fair_share.join(shard, constellation, demand)
    heappush(line, (-constellation.rank.get(task, 0), shard.order, task))


def dequeue(shard: Shard, constellation: Constellation, task: str, spec: TaskSpec | None) -> None:
    """Remove a task from its queue, if it is in one."""
    shard.queued.pop((constellation.name, task), None)
    if spec is not None and spec.group:
        constellation.parked.get(spec.group, {}).pop(task, None)
