"""Faults inside a running agent, one at a time: each call has an end, and the agent goes on or ends as a whole."""

from __future__ import annotations

import asyncio
import io
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent import cli
from starloom_agent.home.status_file import read_status
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.work import outbox, runtime
from starloom_agent.work.calls import faults
from starloom_agent.work.ledger import LedgerCorrupt, LedgerFault, LedgerFull
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import (
    Ack,
    Dispatch,
    FactsFrame,
    FetchFacts,
    LedgerReport,
    LogChunk,
    NameFrame,
    OverFrame,
    Query,
    ResultFrame,
)
from tests.device_agents.stand_in import dispatch, lease
from tests.device_agents.work.conftest import Bench, shell

pytestmark = pytest.mark.short

Fail = Callable[..., Any]


def fails(error: Exception, *, times: int = 1_000_000, otherwise: Fail = lambda *_, **__: None) -> Fail:
    """Return a function that raises for so many calls, and then does what it should."""
    left = [times]

    def call(*args: Any, **more: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise error
        return otherwise(*args, **more)

    return call


async def works(bench: Bench, task: str) -> None:
    """Check that a further call is carried out: the agent is not half alive."""
    await bench.hub.send(dispatch("shell.run", shell("echo fine"), at=lease(task)))
    assert (await bench.hub.result(lease(task))).outcome is Outcome.OK


async def test_a_call_whose_process_cannot_be_prepared_has_an_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start()
    await bench.hub.connected()
    with monkeypatch.context() as broken:
        broken.setattr(runtime, "spec_of", fails(OSError("no descriptor is left")))
        await bench.hub.send(
            dispatch("shell.run", shell("true")), dispatch("shell.run", shell("true"), at=lease("second"))
        )
        for at in (lease(), lease("second")):
            result = await bench.hub.result(at)
            assert (result.outcome, result.effect) == (Outcome.NEVER_STARTED, EffectSeen.NONE)
            assert "no descriptor is left" in result.detail
    await works(bench, "next")
    assert len(bench.hub.hellos) == 1


async def test_a_call_that_cannot_be_judged_has_an_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.start()
    await bench.hub.connected()
    with monkeypatch.context() as broken:
        broken.setattr(runtime, "judge", fails(RuntimeError("the policy lost its way")))
        await bench.hub.send(dispatch("shell.run", shell("true")))
        result = await bench.hub.result(lease())
        assert (result.outcome, result.effect) == (Outcome.NEVER_STARTED, EffectSeen.NONE)
        assert "the policy lost its way" in result.detail
    await works(bench, "next")
    assert len(bench.hub.hellos) == 1


@pytest.mark.parametrize("repeatability", ["never", "pure"])
async def test_an_end_in_words_that_are_no_text_is_reported(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, repeatability: str
) -> None:
    bench.start()
    await bench.hub.connected()
    with monkeypatch.context() as broken:
        broken.setattr(runtime, "judge", fails(ToolFailed(Code.TOOL_FAILED, "it lies in bad-\udcff", effect=False)))
        await bench.hub.send(dispatch("shell.run", shell("true"), repeatability=repeatability))
        assert (await bench.hub.result(lease())).detail == "it lies in bad-\\udcff"
    await works(bench, "next")
    assert len(bench.hub.hellos) == 1


@pytest.mark.parametrize("part", ["sessions.give_back", "_chatter.end", "_leftovers.take"])
async def test_a_call_ends_although_what_it_leaves_cannot_be_tidied(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    agent = bench.start()
    await bench.hub.connected()
    owner, name = part.split(".")
    with monkeypatch.context() as broken:
        broken.setattr(getattr(agent, owner), name, fails(OSError("it cannot be written")))
        await works(bench, "first")
    await bench.until_said("it cannot be written")
    await works(bench, "next")


async def test_a_call_ends_although_no_thread_can_start(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.start()
    await bench.hub.connected()
    with monkeypatch.context() as broken:
        broken.setattr(asyncio, "to_thread", fails(RuntimeError("can't start new thread")))
        await works(bench, "first")
    await works(bench, "next")


@pytest.mark.parametrize(
    "error",
    [
        LedgerFault("the ledger cannot be written: locked"),
        LedgerFull("full"),
        MemoryError(),
        OverflowError("too large"),
    ],
)
async def test_a_turn_that_cannot_be_put_down_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    agent = bench.start()
    await bench.hub.connected()
    monkeypatch.setattr(agent.ledger, "flush", fails(error, times=3, otherwise=agent.ledger.flush))
    await works(bench, "first")
    await works(bench, "next")
    assert len(bench.hub.hellos) == 1


async def test_a_log_that_cannot_be_written_wedges_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a background agent mostly lies on the disk that is full."""
    agent = bench.start()
    await bench.hub.connected()
    hear, agent_says = bench.hear, cli.say

    def say(text: str) -> None:
        with Path("/dev/full").open("wb", buffering=0) as full, monkeypatch.context() as broken:
            shown = io.TextIOWrapper(full, write_through=True)
            broken.setattr("sys.stderr", shown)
            agent_says(text)
            shown.detach()
        hear(text)

    agent._say = say
    monkeypatch.setattr(agent.ledger, "flush", fails(LedgerFull("full"), times=3, otherwise=agent.ledger.flush))
    await works(bench, "first")
    await works(bench, "next")


@pytest.mark.parametrize("step", ["ledger.flush", "ledger.state_of"])
async def test_a_corrupt_ledger_ends_the_agent_as_a_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    agent = bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("echo ready; sleep 300")))
    await bench.hub.until(lambda: any("ready" in chunk.text for chunk in bench.hub.of(LogChunk)))
    monkeypatch.setattr(agent.ledger, step.split(".")[1], fails(LedgerCorrupt("the ledger is corrupt")))
    await bench.hub.send(Query(attempts=[lease("other")]))
    _, running = bench.agents.pop()
    with pytest.raises(LedgerCorrupt):
        await asyncio.wait_for(running, 30)
    assert not agent._tasks, "its calls have ended"
    monkeypatch.undo()
    agent.ledger.close()


async def test_a_corrupt_ledger_is_noticed_by_the_look_of_each_second(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = bench.start()
    await bench.hub.connected()
    monkeypatch.setattr(agent.ledger, "flush", fails(LedgerCorrupt("the ledger is corrupt")))
    _, running = bench.agents.pop()
    with pytest.raises(LedgerCorrupt):
        await asyncio.wait_for(running, 30)
    monkeypatch.undo()
    agent.ledger.close()


async def test_a_ledger_that_cannot_be_read_costs_a_connection_and_no_work(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = bench.start(reconnect_most_s=0.05)
    await bench.hub.connected()
    go = bench.home.root / "go"
    await bench.hub.send(dispatch("shell.run", shell(f"while [ ! -e {go} ]; do sleep 0.02; done")))
    await bench.hub.started(lease())
    monkeypatch.setattr(faults, "AFTER_FAULT_S", 0.0)
    state_of = agent.ledger.state_of
    monkeypatch.setattr(agent.ledger, "state_of", fails(LedgerFault("it cannot be read"), times=1, otherwise=state_of))
    await bench.hub.send(Query(attempts=[lease("other")]))
    await bench.hub.connected(2)
    await bench.until_said("it cannot be read")
    await bench.hub.send(Query(attempts=[lease("other")]))
    await bench.hub.until(lambda: any(e.at == lease("other") for r in bench.hub.of(LedgerReport) for e in r.entries))
    go.touch()
    assert (await bench.hub.result(lease())).outcome is Outcome.OK


async def test_a_message_that_cannot_be_followed_costs_a_connection_and_no_work(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = bench.start(reconnect_most_s=0.05)
    await bench.hub.connected()
    monkeypatch.setattr(faults, "AFTER_FAULT_S", 0.0)
    monkeypatch.setattr(agent.sessions, "over", fails(KeyError("c9")))
    await bench.hub.send(OverFrame(constellation="c9"))
    await bench.hub.connected(2)
    await bench.until_said("could not follow")
    await works(bench, "next")


async def test_a_new_name_is_kept_for_the_commands_of_the_owner(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    await bench.hub.send(NameFrame(name="attic pc"))
    await bench.until_said("this device is called attic pc from now on")
    assert agent.home.joined().name == "attic pc"
    status = read_status(agent.home)
    assert status is not None
    assert (status.state, status.reason) == ("online", f"session {len(bench.hub.hellos)} as attic pc")
    await works(bench, "next")


async def test_an_end_is_reported_once_the_ledger_has_a_number_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = bench.start()
    await bench.hub.connected()
    go = bench.home.root / "go"
    await bench.hub.send(dispatch("shell.run", shell(f"while [ ! -e {go} ]; do sleep 0.02; done")))
    await bench.hub.started(lease())
    take_number = agent.ledger.take_number
    with monkeypatch.context() as full:
        full.setattr(agent.ledger, "take_number", fails(LedgerFull("no room for numbers")))
        go.touch()
        await bench.until_said("no room for numbers")
        await asyncio.sleep(0)
        assert bench.hub.of(ResultFrame) == []
    assert agent.ledger.take_number == take_number
    assert (await bench.hub.result(lease())).outcome is Outcome.OK
    await works(bench, "next")


async def test_one_action_that_fails_takes_no_other_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a call frees its slot: the call that waits for it begins, even if the end cannot be reported."""
    agent = bench.start()
    agent.state.slots = 1
    await bench.hub.connected()
    go = bench.home.root / "go"
    await bench.hub.send(
        dispatch("shell.run", shell(f"while [ ! -e {go} ]; do sleep 0.02; done")),
        dispatch("shell.run", shell("echo second"), at=lease("second")),
    )
    await bench.hub.started(lease())
    monkeypatch.setattr(
        runtime, "report_end", fails(ValueError("a field is wrong"), times=1, otherwise=outbox.report_end)
    )
    go.touch()
    assert (await bench.hub.result(lease("second"))).outcome is Outcome.OK
    await bench.until_said("a field is wrong")


async def test_facts_that_cannot_be_looked_up_are_answered_as_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start()
    await bench.hub.connected()
    await works(bench, "first")
    monkeypatch.setattr(runtime, "look_up", fails(RuntimeError("can't start new thread")))
    await bench.hub.send(FetchFacts(at=lease("first"), wants=["/exit_code"]))
    (told,) = await bench.hub.until(lambda: bench.hub.of(FactsFrame))
    assert (told.facts, told.kept) == ({}, False)


@pytest.mark.parametrize("number", [-1, 2**63, 2**64 - 1, 2**80])
async def test_an_attempt_that_no_ledger_can_hold_breaks_the_protocol(bench: Bench, number: int) -> None:
    bench.start(reconnect_most_s=0.05)
    await bench.hub.connected()
    order: Dispatch = dispatch("shell.run", shell("true"))
    at = msgspec.structs.replace(order.at, attempt=number)
    await bench.hub.send(msgspec.structs.replace(order, at=at))
    await bench.until_said("the hub broke the protocol")
    await bench.hub.connected(2)
    await works(bench, "next")


@pytest.mark.parametrize("durable", [2**63, 2**70, -(2**70)])
async def test_an_acknowledgement_beyond_every_report_wedges_no_ledger(bench: Bench, durable: int) -> None:
    bench.hub.acks = False
    bench.start()
    await bench.hub.connected()
    await works(bench, "first")
    await bench.hub.send(Ack(durable=durable, received=durable))
    await works(bench, "next")
    assert len(bench.hub.hellos) == 1


async def test_an_instant_tool_that_breaks_has_an_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = bench.start()
    await bench.hub.connected()
    tool = next(one for one in agent._tools.values() if one.in_process)
    monkeypatch.setitem(agent._tools, tool.name, replace(tool, run=fails(RecursionError("too deep"))))
    await bench.hub.send(dispatch(tool.name, '{"value":1}', repeatability="pure"))
    result = await bench.hub.result(lease())
    assert (result.outcome, result.code) == (Outcome.ERROR, Code.TOOL_FAILED)
    assert "too deep" in result.detail
    await works(bench, "next")


async def test_a_rollback_that_fails_is_a_fault_of_the_ledger(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    real = agent.ledger._db

    class Broken:
        in_transaction = True

        def execute(self, sql: str, *values: Any) -> Any:
            if sql.startswith("SELECT"):
                return real.execute(sql, *values)
            raise sqlite3.OperationalError(f"disk I/O error at {sql}")

    agent.ledger._db = Broken()  # type: ignore[assignment]
    await bench.hub.send(dispatch("shell.run", shell("true")))
    await bench.until_said("it is tried again")
    agent.ledger._db = real
    assert (await bench.hub.result(lease())).outcome is Outcome.OK
