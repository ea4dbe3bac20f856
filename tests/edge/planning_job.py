"""A worker's planning job on a hub of this process, through the hub's own inbox."""

from __future__ import annotations

from typing import Any

import msgspec

from starloom.core.state.inputs import AnyInput
from starloom.jobs.claiming import Claim, WorkerJob
from starloom.jobs.kinds.planning import PlanJobs
from starloom.jobs.modelling import ModelJobs
from starloom.planner.recipes.catalogue import load_catalogue
from starloom_protocol.records.entities import Job, decode_entity
from tests.edge.world import World


class Port:
    """The inbox of a hub as a worker has it."""

    def __init__(self, world: World) -> None:
        self._inbox = world.hub.inbox

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes:
        item: Any = msgspec.json.decode(raw, type=AnyInput)
        return msgspec.json.encode(await self._inbox.ask(item))


async def planned_by(world: World, constellation: str, models: ModelJobs) -> None:
    """Carry out the planning job of a constellation as a worker does."""
    found = await world.hub.reads.entities(constellation)
    assert found is not None
    [job] = [one for key, raw in found[1].items() if isinstance(one := decode_entity(key, raw), Job)]
    port: Any = Port(world)
    reads: Any = world.hub.reads
    await Claim(WorkerJob(port, port, constellation, job.id, "w")).take()
    await PlanJobs(load_catalogue(), models=models).carry_out(WorkerJob(reads, port, constellation, job.id, "w"))
