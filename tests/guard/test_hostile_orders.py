"""A hub that floods a device or sends it numbers and names that nobody should: the device goes on (T131)."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.work.core import WAITING_CHARS_MOST, WAITING_MOST
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.frames import Dispatch, Ping, Pong, ResultFrame
from tests.device_agents.stand_in import dispatch, lease
from tests.device_agents.work.conftest import Bench, a_bench, shell

FLOOD = 10_000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as made:
        made.start(reconnect_most_s=0.05)
        await made.hub.connected()
        yield made


async def answers(bench: Bench) -> None:
    """Check that the device hears and works."""
    pongs = len(bench.hub.of(Pong))
    await bench.hub.send(Ping(at_ms=1))
    await bench.hub.until(lambda: len(bench.hub.of(Pong)) > pongs)


async def test_t131_a_flood_of_calls_is_bounded_and_ends(bench: Bench) -> None:
    """Those that find no room say so; those that wait run one after the other; the device answers meanwhile."""
    agent, _ = bench.agents[0]
    orders: list[Dispatch] = [
        dispatch("shell.run", shell("sleep 300"), at=lease(f"t{number}"), repeatability="pure")
        for number in range(FLOOD)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for first in range(0, FLOOD, 500):
        await bench.hub.send(*orders[first : first + 500])
    await answers(bench)
    assert len(agent.state.held) <= WAITING_MOST + agent.state.slots
    refused = await bench.hub.until(lambda: bench.hub.of(ResultFrame)[FLOOD - WAITING_MOST - agent.state.slots - 1 :])
    assert refused[0].outcome is Outcome.NEVER_STARTED
    assert "wait here already" in refused[0].detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


async def test_t131_calls_that_wait_hold_bounded_memory(bench: Bench) -> None:
    agent, _ = bench.agents[0]
    large = "x" * 900_000
    for number in range(agent.state.slots):
        await bench.hub.send(dispatch("shell.run", shell("sleep 300"), at=lease(f"s{number}"), repeatability="pure"))
    for number in range(80):
        await bench.hub.send(
            dispatch("shell.run", shell(f"echo {large}"), at=lease(f"t{number}"), repeatability="pure")
        )
        await answers(bench)
    assert sum(len(held.dispatch.args) for held in agent.state.held.values() if not held.running) <= WAITING_CHARS_MOST
    await bench.hub.until(lambda: [one for one in bench.hub.of(ResultFrame) if "wait here already" in one.detail])


ODD: dict[str, dict[str, Any]] = {
    "a time below zero": {"start_to_close_s": -1.0},
    "no time": {"start_to_close_s": 0.0},
    "a time without an end": {"start_to_close_s": 1e308},
    "a fence below zero": {"fence_after_s": -1e308},
    "a fence without an end": {"fence_after_s": 1e308},
    "an unknown kind of repetition": {"repeatability": "perhaps"},
    "arguments that are no object": {"args": "[1]"},
    "a tool with a line break": {"tool": "shell.run\n\x1b[31m"},
    "a tool of a megabyte": {"tool": "x" * 1_000_000},
    "wants that lead nowhere": {"wants": ["/" * 4096, "", "~", "/exit_code\n"] * 100},
    "a secret with an odd name": {"secrets": {"a\nb": "value", "": "x"}},
    "a path of 4,096 bytes": {"tool": "fs.read", "args": '{"path":"' + "p/" * 2048 + '"}'},
    "a name of 4,096 bytes": {"tool": "fs.write", "args": '{"path":"' + "p" * 4096 + '","text":"x"}'},
    "a name with a line break": {"tool": "fs.write", "args": '{"path":"a\\nb\\u001b[31m","text":"x"}'},
    "a name with a zero": {"tool": "fs.write", "args": '{"path":"a\\u0000b","text":"x"}'},
    "a number below zero": {"tool": "fs.read", "args": '{"path":"a","offset":-1,"limit":-1}'},
    "a number beyond 64 bits": {"tool": "fs.read", "args": '{"path":"a","offset":' + "9" * 400 + "}"},
}


@pytest.mark.parametrize("odd", ODD)
async def test_t131_an_odd_order_has_an_end_and_ends_nothing_else(bench: Bench, odd: str) -> None:
    plain = dispatch("shell.run", shell("true"), repeatability="idempotent")
    await bench.hub.send(msgspec.structs.replace(plain, **ODD[odd]))
    result = await bench.hub.result(lease())
    assert result.outcome in list(Outcome)
    assert "Traceback" not in result.detail
    assert result.code is not Code.TOOL_FAILED or "Error:" not in result.detail, result.detail
    await bench.hub.send(dispatch("shell.run", shell("true"), at=lease("next")))
    assert (await bench.hub.result(lease("next"))).outcome is Outcome.OK
    assert len(bench.hub.hellos) == 1
    assert bench.said
    assert not any("\x1b" in line for line in bench.said), "what a hub says steers no terminal"
    await asyncio.sleep(0)


@pytest.mark.parametrize("args", ["{", "[" * 200_000 + "]" * 200_000])
async def test_t131_arguments_that_are_no_json_cost_the_connection_alone(bench: Bench, args: str) -> None:
    go = bench.home.root / "go"
    await bench.hub.send(dispatch("shell.run", shell(f"while [ ! -e {go} ]; do sleep 0.02; done")))
    await bench.hub.started(lease())
    await bench.hub.send(msgspec.structs.replace(dispatch("shell.run", at=lease("odd")), args=args))
    await bench.hub.connected(2)
    await bench.until_said("the hub broke the protocol")
    go.touch()
    assert (await bench.hub.result(lease())).outcome is Outcome.OK
