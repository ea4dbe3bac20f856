"""Approvals over the real loop and store: open, answered, denied by time; a killed hub, an emptied Redis."""

from __future__ import annotations

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Question
from starloom_protocol.vocabulary import ConstellationState
from tests.builders import plan, task
from tests.engine.test_loop import Hub, Wires, build, kill
from tests.engine.test_schedules import a_hub

HOUR = 3_600_000


async def ask(hub: Hub) -> None:
    """Let a plan wait for its approval."""
    held = i.RequestReceived(by="person:ann", constellation="c1", hold=True, id="r", plan=plan(task("a")))
    reply = await hub.engine.inbox.ask(held)
    assert not reply.faults, reply.faults


async def killed_and_back(hubs: list[Hub], *, off_ms: int = 0) -> Hub:
    await kill(hubs[-1])
    hubs[-1].clock.ms += off_ms
    hubs.append(await build(hubs[-1].clock, hubs[-1].redis, hubs[-1].history, Wires()))
    await hubs[-1].clock.turn(500)
    return hubs[-1]


def state_of(hub: Hub) -> ConstellationState:
    return hub.engine.shard.constellations["c1"].head.state


def question_of(hub: Hub) -> Question:
    return hub.engine.shard.constellations["c1"].questions["approve-plan"]


async def test_an_open_one_is_open_after_a_kill_and_its_answer_counts_once() -> None:
    answer = i.QuestionAnswered(by="person:ann", constellation="c1", id="x", question="approve-plan", value="allow")
    async with a_hub() as hubs:
        await hubs[0].join("one")
        await ask(hubs[0])
        asked = question_of(hubs[0])
        hub = await killed_and_back(hubs)
        assert (question_of(hub), state_of(hub)) == (asked, ConstellationState.AWAITING_APPROVAL)
        assert not (await hub.engine.inbox.ask(answer)).faults
        hub = await killed_and_back(hubs)
        assert not (await hub.engine.inbox.ask(answer)).faults
        events = [event.kind for wires in hubs for event in wires.wires.published if event.stream == "c1"]
        assert events.count("approval_answered") == 1
        assert question_of(hub).answered_by == "person:ann"


async def test_its_time_runs_while_the_hub_is_off() -> None:
    async with a_hub() as hubs:
        await ask(hubs[0])
        hub = await killed_and_back(hubs, off_ms=23 * HOUR)
        assert state_of(hub) is ConstellationState.AWAITING_APPROVAL
        hub.redis.wipe()
        hub = await killed_and_back(hubs, off_ms=2 * HOUR)
        assert (state_of(hub), question_of(hub).answered_by) == (ConstellationState.CANCELLED, "engine")
