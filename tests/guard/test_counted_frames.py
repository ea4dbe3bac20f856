"""What no disk, page, reader or database can take of a device: in its frames (T258, T266), its values (T259, T260)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import pytest

from starloom_protocol.records.entities import Check
from starloom_protocol.records.specs import Shows
from starloom_protocol.text.wording import size_words
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Op
from starloom_protocol.wire import frames as f
from tests.builders import Driver, edge, task
from tests.builders import plan as lowered
from tests.edge.world import Agent, World, settle
from tests.guard.sockets import Faults
from tests.guard.test_rights import C, plan

FRAMES: dict[str, dict[str, Any]] = {
    "offset": {"t": "log", "stream": "out", "text": "x"},
    "bytes": {"t": "result", "outcome": "ok", "report": 1, "value": "1"},
}


@contextmanager
def heard() -> Iterator[list[str]]:
    """Give the faults that are logged meanwhile."""
    faults = Faults()
    logging.getLogger().addHandler(faults)
    try:
        yield faults.seen
    finally:
        logging.getLogger().removeHandler(faults)


async def leased(http: httpx.AsyncClient, agent: Agent) -> tuple[str, Any]:
    """Give an agent a task; return the constellation and its lease."""
    made = (await http.post(C, json={"plan": plan({"id": "look", "tool": "t.one"})})).json()
    return made["id"], msgspec.to_builtins((await agent.next(f.Dispatch)).at)


async def say(agent: Agent, frame: dict[str, Any]) -> None:
    """Send a frame that no agent would make."""
    assert agent.ws is not None
    agent.session._sent += 1
    await agent.ws.send(agent.sealed(json.dumps({"n": agent.session._sent, "f": [frame]})))
    await settle()


@pytest.mark.parametrize("number", [10**300, 2**53 + 1, -1], ids=["no name of a file", "no number of a page", "less"])
@pytest.mark.parametrize("field", FRAMES)
async def test_t258_a_number_that_is_no_count_ends_the_connection(world: World, field: str, number: int) -> None:
    liar = await world.online("liar")
    with heard() as faults:
        async with world.client() as http:
            made, at = await leased(http, liar)
            await say(liar, {**FRAMES[field], "at": at, field: number})
            await world.hub.logs.flush()
            log = await http.get(f"{C}/{made}/tasks/look/attempts/1/log")
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert faults == []
    assert (log.status_code, log.json()["end"]) == (200, 0)


@pytest.mark.parametrize("name", ["a\0b", "a" * 201], ids=["no text of PostgreSQL", "long"])
async def test_t266_a_name_that_no_history_can_look_for_ends_the_connection(world: World, name: str) -> None:
    """Each such result waited for ever, and with it whatever was asked about constellations that had left memory."""
    liar = await world.online("liar")
    async with world.client() as http:
        _, at = await leased(http, liar)
    await say(liar, {**FRAMES["bytes"], "at": {**at, "constellation": name}})
    assert world.hub.fleet.devices[liar.id].link == "offline"


async def test_t258_the_largest_count_is_taken(world: World) -> None:
    agent = await world.online("srv")
    async with world.client() as http:
        _, at = await leased(http, agent)
        for field, frame in FRAMES.items():
            await say(agent, {**frame, "at": at, field: 2**53})
    assert world.hub.fleet.devices[agent.id].link == "online"


UNREAD = ["1" * 5_000, "1e999", '{"free": -' + "9" * 5_000 + "}"]
"""Each is JSON by its signs, and none can be read."""


@pytest.mark.parametrize("value", UNREAD, ids=["digits", "exponent", "within"])
@pytest.mark.parametrize("place", ["value", "facts"])
async def test_t259_a_value_that_nobody_can_read_is_no_result(world: World, place: str, value: str) -> None:
    given: dict[str, Any] = {"value": value} if place == "value" else {"value": "1", "facts": {"/free": value}}
    liar = await world.online("liar")
    with heard() as faults:
        async with world.client() as http:
            made, at = await leased(http, liar)
            await say(liar, {"t": "result", "outcome": "ok", "report": 1, "at": at, **given})
            read = await http.get(f"{C}/{made}")
    assert (read.status_code, read.json()["state"], faults) == (200, "active", [])
    assert world.hub.fleet.devices[liar.id].link == "offline"


HUGE = -(10**4_000)
"""A number that can be read, and that no float holds."""


def test_t260_a_size_below_all_numbers_ends_no_check_of_a_result() -> None:
    driver = Driver("one")
    says = "only {free_bytes} are free"
    driver.submit(lowered(task("a", checks=[Check(output="/enough", op=Op.EQ, says=says, value="true")])))
    driver.result(driver.take()[0], {"enough": False, "free_bytes": HUGE})
    attempt = driver.shard.constellations["c1"].last_attempt("a")
    assert attempt is not None
    assert attempt.detail == f"only {-(10**21)} bytes are free"


def test_t260_sizes_below_all_numbers_keep_no_question_back() -> None:
    driver = Driver("one")
    shown = Shows(output="/files", source="look")
    agree = task("agree", person="Into the trash?", choices=["yes", "no"], shows=shown)
    driver.submit(lowered(task("look"), agree, edge("look>agree")))
    driver.result(driver.take()[0], {"files": [{"path": "a", "bytes": HUGE}] * 3})
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert question.shown is not None
    assert canonical("a") in question.shown.value


def test_t260_sizes_of_all_lengths_are_said() -> None:
    assert [size_words(one) for one in (-1, 10**30)] == ["-1 bytes", "1000000000.0 TB"]
    assert len(size_words(HUGE * 10**400)) < 40
