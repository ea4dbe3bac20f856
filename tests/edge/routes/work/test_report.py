"""The report of a run over REST: so far and at its end, with the phases of its tasks, and in the API's document."""

from __future__ import annotations

import msgspec

from starloom_protocol.records.run_report import RunReport
from starloom_protocol.wire import frames as f
from tests.edge.routes.work.test_forks import C, done, get, post
from tests.edge.world import World, an_offer, chain, settle


async def read(world: World, name: str, *, spans: bool = False) -> RunReport:
    return msgspec.convert(await get(world, f"{C}/{name}/report", spans=spans), RunReport)


async def test_a_run_is_reported_while_it_goes_on_and_at_its_end(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one", "t.two"))
    made = await world.submit(chain("t.one", "t.two"))
    first = await agent.next(f.Dispatch)
    await world.clock.advance(2_000)
    so_far = await read(world, made["id"])
    assert (so_far.ended, so_far.tasks, so_far.spans) == (False, 1, None)
    assert so_far.makespan_ms >= so_far.work_ms >= 2_000
    await agent.done(first)
    await agent.done(await agent.next(f.Dispatch))
    await settle()
    found = await read(world, made["id"], spans=True)
    assert (found.ended, found.tasks, found.devices, found.attempts) == (True, 2, 1, 2)
    assert [step.task for step in found.path] == ["t0", "t1"]
    assert list(found.device_names.values()) == ["one"]
    assert found.seq > so_far.seq
    assert found.spans is not None
    assert set(found.spans.tasks) <= {"t0", "t1"}
    assert -1 not in found.spans.to_ms
    assert found.created_at == (await get(world, f"{C}/{made['id']}"))["created_at"]


async def test_what_a_fork_took_over_is_no_work_of_its_own(world: World) -> None:
    origin, agent = await done(world, "t.one", "t.two")
    _, made = await post(world, f"{C}/{origin}/fork", {"from_task": "t1"})
    await agent.done(await agent.next(f.Dispatch))
    await settle()
    found = await read(world, made["id"])
    assert (found.tasks, found.attempts) == (1, 1)
    assert [step.task for step in found.path] == ["t1"]


async def test_a_report_is_in_the_document_of_the_api(world: World) -> None:
    document = await get(world, "/api/v1/openapi.json")
    answers = document["paths"][C + "/{constellation}/report"]["get"]["responses"]
    assert answers["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/RunReport"}
    assert "path" in document["components"]["schemas"]["RunReport"]["properties"]


async def test_runs_that_were_asked_for_long_ago_are_read_again(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    names = []
    for _ in range(6):
        made = await world.submit(chain("t.one"))
        await agent.done(await agent.next(f.Dispatch))
        await settle()
        names.append(made["id"])
    reports = [await read(world, name) for name in names]
    assert [await read(world, name) for name in names] == reports
