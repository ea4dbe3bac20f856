"""Two agents with one key (T270): one works, nothing of the other counts, and the owner reads of it."""

from __future__ import annotations

import asyncio

from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, chain, settle

TWO = "two agents with the key of nas"


class Copied(Agent):
    """An agent elsewhere with the key of another one."""

    def __init__(self, of: Agent) -> None:
        super().__init__(of.name)
        self.private, self.key, self.id = of.private, of.key, of.id

    def hello(self) -> f.Hello:
        return f.Hello(
            device=self.id,
            instance="elsewhere",
            key=self.key,
            key_share=self.share.text,
            ledger="another",
            next_report=1,
            version="0.1.0",
            versions=self.versions,
        )


async def noted(world: World) -> list[str]:
    async with world.client() as owner:
        rows = (await owner.get("/api/v1/audit", params={"limit": 100})).json()["items"]
    return [row["note"] for row in rows if TWO in (row["note"] or "")]


async def test_t270_the_owner_reads_that_two_agents_have_one_key(world: World) -> None:
    agent = await world.online("nas", offer=an_offer("t.one"))
    made = await world.submit(chain("t.one"))
    given = (await agent.next(f.Dispatch)).at
    first, session = agent.ws, agent.session
    copied = Copied(agent)
    await copied.connect(world, offer=an_offer("t.one"))
    assert first is not None
    # The older one does not listen to the word that ends it, and goes on.
    agent.ws, agent.session = first, session
    await agent.send(f.LogChunk(at=given, offset=0, stream="out", text="of the older"))
    await settle(100)
    async with world.client() as owner:
        log = await owner.get(f"/api/v1/constellations/{made['id']}/tasks/t0/attempts/1/log")
    assert log.json()["text"] == ""
    assert await asyncio.wait_for(first.until_closed(), 10)
    (note,) = await noted(world)
    assert "the newer has it" in note


async def test_t270_an_agent_that_connects_again_is_one(world: World) -> None:
    agent = await world.online("nas")
    await agent.connect(world)
    await settle(100)
    assert await noted(world) == []
