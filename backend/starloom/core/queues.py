"""The queues of ready tasks, one per demand: what `apply` keeps as an index and placement draws from.

A queue is a heap by rank, then age; an entry that `shard.queued` no longer knows is dropped when it is met.
"""

from __future__ import annotations

from heapq import heappush

from starloom.core.model import Constellation, Demand, Shard
from starloom_protocol.entities import Selector, TaskRecord, TaskSpec, encode_entity
from starloom_protocol.vocabulary import TaskState

ANY = Selector()


def demand_key(spec: TaskSpec) -> tuple[str, bytes]:
    """Return what a task wants, so that all who want the same wait in one queue."""
    return spec.tool or "", encode_entity(spec.device) if spec.device is not None else b""


def queueable(record: TaskRecord) -> bool:
    """Whether a task could be placed now as far as itself is concerned."""
    return record.state is TaskState.READY and record.reason is None


def enqueue(shard: Shard, constellation: Constellation, spec: TaskSpec) -> None:
    """Append a task to the queue of its demand."""
    if spec.tool is None:
        return
    key = demand_key(spec)
    demand = shard.demands.get(key)
    if demand is None:
        demand = shard.demands[key] = Demand(key, spec.tool, spec.device or ANY)
    shard.queued[(constellation.name, spec.id)] = key
    shard.order += 1
    heappush(demand.heap, (-constellation.rank.get(spec.id, 0), shard.order, constellation.name, spec.id))


def dequeue(shard: Shard, constellation: Constellation, task: str) -> None:
    """Take a task out of whatever queue it waits in."""
    shard.queued.pop((constellation.name, task), None)
    spec = constellation.specs.get(task)
    if spec is not None and spec.group:
        constellation.parked.get(spec.group, {}).pop(task, None)
