"""`.../what-if` of a running constellation: who may ask, what is refused, its bounds, and that nothing changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from starloom.cli.text.forecast_text import bound_lines
from starloom.core.placement.pace import key_of, with_sample
from starloom.core.state.apply import load
from starloom.core.step import step
from starloom.edge.routes.work import run_forecasts
from starloom.edge.routes.work.run_forecasts import FORECAST, RATES, WHAT_IF
from starloom.edge.web.problems import Problem
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast import course
from starloom.planner.forecast.runs import OPEN_MOST, STEPS_MOST, Foreseen, foresee
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.text.wording import seconds
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, chain, settle

C = "/api/v1/constellations"


@pytest.fixture
async def running(world: World) -> tuple[World, Agent, str]:
    """Two devices whose calls take ten seconds, and a chain of which the first task runs."""
    agent = await world.online("one", offer=an_offer("t.one"))
    await world.online("two", offer=an_offer("t.one"))
    fleet = world.hub.fleet
    for device in fleet.devices:
        row = Pace(device=device, last_ms=0, tool="t.one")
        for _ in range(5):
            row = with_sample(row, 10_000, 10, 0)
        fleet.paces[key_of("t.one", device, 0)] = row
    planner = Planning(load_catalogue(), lambda: FleetSnapshot.of(fleet.devices, fleet.offers, paces=fleet.paces))
    object.__setattr__(world.hub, "planner", planner)
    made = await world.submit(chain("t.one", "t.one", "t.one"), deadline_s=120)
    await settle()
    return world, agent, made["id"]


async def asked(world: World, name: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    async with world.client(token) as http:
        path = f"{C}/{name}/what-if"
        answer = await (http.get(path) if body is None else http.post(path, json=body))
    return answer.status_code, answer.json()


async def test_a_viewer_asks_and_nothing_changes(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    _, viewer = await world.new_token("viewer")
    before = (world.engine.last, dict(world.engine.shard.fleet.used))
    one = world.hub.fleet.device("one")
    assert one is not None
    status, found = await asked(world, name, {"without": [one.id]}, viewer)
    assert status == 200, found
    assert found["change"] == "Without one"
    assert [one["task"] for one in found["now"]["tasks"]] == ["t0", "t1", "t2"]
    two = world.hub.fleet.device("two")
    assert two is not None
    assert found["then"]["tasks"][-1]["device"] == two.id
    assert found["by_ms"] == world.clock.ms + 120_000
    assert (world.engine.last, dict(world.engine.shard.fleet.used)) == before


async def test_a_forecast_says_how_long_it_stands_and_comes_in_short(
    running: tuple[World, Agent, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _agent, name = running
    monkeypatch.setattr(run_forecasts, "TASKS_A_SECOND", 1)
    _, first = await asked(world, name)
    plays, tasks = first["now"]["plays"], len(first["now"]["tasks"])
    assert first["stands_ms"] == (plays + 1) * tasks * 1_000
    world.clock.ms += 1_000
    _, again = await asked(world, name)
    assert again == {**first, "stands_ms": first["stands_ms"] - 1_000}
    async with world.client() as http:
        short = (await http.get(f"{C}/{name}/what-if", params={"tasks": "false"})).json()
    assert short == {**again, "now": {**again["now"], "tasks": again["now"]["tasks"][:1], "more": tasks - 1}}


async def test_the_end_moves_on_with_the_run(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    _, first = await asked(world, name)
    assert first["then"] is None
    assert first["now"]["chance"] > 0.9
    assert (await asked(world, name))[1] == first
    holder = next(iter(world.engine.shard.constellations[name].tasks.values())).device
    assert holder in world.hub.fleet.devices
    await world.clock.advance(100_000)
    _, later = await asked(world, name)
    assert later["at_ms"] == first["at_ms"] + 100_000
    assert later["now"]["chance"] < 0.9


async def test_late_in_a_run_hub_command_line_and_core_tell_one_forecast(running: tuple[World, Agent, str]) -> None:
    world, agent, name = running
    fleet = world.engine.shard.fleet
    load(world.engine.shard, FLEET, fleet.seq, {f"pace/{key}": row for key, row in world.hub.fleet.paces.items()})
    for _ in range(2):
        dispatch = await agent.next(f.Dispatch)
        await world.clock.advance(9_000)
        await agent.done(dispatch)
        await settle()
    await agent.next(f.Dispatch)
    await world.clock.advance(12_000)
    status, found = await asked(world, name, {"with_copy_of": ["two"], "within_s": 5})
    assert status == 200, found
    now_ms = world.clock.ms
    told = foresee(world.engine.shard, name, now_ms, steps=STEPS_MOST)
    assert isinstance(told, Foreseen)
    assert told.left is not None
    course = found["now"]
    assert [one["task"] for one in course["tasks"]] == ["t2"]
    assert (course["end_ms"], course["chance"]) == (told.end_ms, round(told.left.chance(5_000), 3))
    assert (course["low_ms"], course["high_ms"]) == (now_ms + told.left.low_ms, now_ms + told.left.high_ms)
    assert now_ms < course["low_ms"] < course["end_ms"] < course["high_ms"]
    assert 0 < course["chance"] < 1
    _, shown = await asked(world, name)
    (line,) = bound_lines(shown, deadline=True)
    assert shown["now"] == {**course, "chance": shown["now"]["chance"]}
    assert line.startswith(f"deadline: ends in about {seconds(told.end_ms - now_ms)} ({seconds(told.left.low_ms)} to ")
    left_ms = shown["by_ms"] - now_ms
    assert line.endswith(f"within {seconds(left_ms)} with {told.left.chance(left_ms):.0%}")


async def test_an_edit_is_judged_as_if_it_were_made(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    adds = {
        "base_version": 1,
        "operations": [
            {"add_task": {"id": "t9", "tool": "t.one"}},
            {"add_dependency": {"from": "t2", "to": "t9"}},
        ],
    }
    status, found = await asked(world, name, {"edit": adds})
    assert status == 200, found
    assert found["change"] == "With this edit"
    assert [one["task"] for one in found["then"]["tasks"]] == ["t0", "t1", "t2", "t9"]
    status, found = await asked(
        world, name, {"edit": {"base_version": 1, "operations": [{"remove_task": {"id": "t0"}}]}}
    )
    assert (status, found["code"]) == (409, "task_started"), found
    assert world.engine.shard.constellations[name].head.version == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "bad_request"),
        ({"without": ["three"]}, 422, "unknown_device"),
        ({"without": ["one"] * 21}, 422, "bad_request"),
        ({"without": ["one"], "with_copy_of": ["one"]}, 422, "bad_request"),
        ({"without": ["one"], "within_s": 0}, 422, "bad_request"),
        ({"edit": {"base_version": 1, "operations": [{"explode": {}}]}}, 422, None),
    ],
)
async def test_a_bad_question_is_refused(
    running: tuple[World, Agent, str], body: Any, status: int, code: str | None
) -> None:
    world, _agent, name = running
    got, found = await asked(world, name, body)
    assert got // 100 == status // 100, found
    assert code is None or found["code"] == code


async def test_another_constellation_is_not_found(running: tuple[World, Agent, str]) -> None:
    world, _agent, _name = running
    for name in ("nowhere", "fleet", "access"):
        assert (await asked(world, name))[0] == 404
        assert (await asked(world, name, {"without": ["one"]}))[0] == 404


async def test_questions_of_one_caller_are_bounded(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    for _ in range(RATES[WHAT_IF].burst):
        assert (await asked(world, name, {"without": ["one"]}))[0] == 200
    status, found = await asked(world, name, {"without": ["one"]})
    assert (status, found["code"]) == (429, "rate_limited")
    # A forecast that is kept costs nothing, so it is not counted.
    for _ in range(2 * RATES[FORECAST].burst):
        assert (await asked(world, name))[0] == 200
    await world.clock.advance(int(RATES[WHAT_IF].every_s * 1_000))
    assert (await asked(world, name, {"without": ["one"]}))[0] == 200


async def test_no_step_of_a_play_is_made_by_the_loop(
    running: tuple[World, Agent, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub goes on: all steps are made in another thread, and their number has a bound that no request moves."""
    world, _agent, name = running
    steps: list[int] = []
    real: Callable[..., None] = step

    def counted(*given: Any) -> None:
        steps.append(threading.get_ident())
        real(*given)

    monkeypatch.setattr(course, "step", counted)
    await asked(world, name, {"without": ["one"]})
    assert steps
    assert threading.get_ident() not in steps
    assert len(steps) < 2 * (STEPS_MOST + OPEN_MOST)


async def test_the_work_of_others_is_seen(running: tuple[World, Agent, str]) -> None:
    world, agent, name = running
    _, alone = await asked(world, name)
    for _ in range(4):
        await world.submit(chain("t.one"))
    await settle()
    await agent.next(f.Dispatch)
    assert len(world.hub.held_by_others(name)) == 3
    await world.clock.advance(1_000)
    assert (await asked(world, name))[1]["now"]["end_ms"] >= alone["now"]["end_ms"] - 5_000


class Plays:
    """Stands before the planner: each play waits until it is let go, and the first may fail."""

    def __init__(self, world: World, *, first_fails: bool) -> None:
        self.begun: list[threading.Event] = []
        self.at_once = self.at_once_most = 0
        self._first_fails = first_fails
        planner = world.hub.planner
        object.__setattr__(world.hub, "planner", SimpleNamespace(run_forecast=self._wrapped(planner.run_forecast)))

    def _wrapped(self, real: Callable[[Any], Callable[[], Any]]) -> Callable[[Any], Callable[[], Any]]:
        def asked(what: Any) -> Callable[[], Any]:
            gate, play, number = threading.Event(), real(what), len(self.begun)
            self.begun.append(gate)
            self.at_once += 1
            self.at_once_most = max(self.at_once_most, self.at_once)

            def run() -> Any:
                gate.wait(10)
                self.at_once -= 1
                if self._first_fails and number == 0:
                    raise Problem(Code.OVERLOADED, "the play failed")
                return play()

            return run

        return asked

    async def until(self, count: int) -> None:
        while len(self.begun) < count:
            await settle(1)


async def test_one_forecast_at_a_time_is_played_for_a_run_also_after_one_that_failed(
    running: tuple[World, Agent, str],
) -> None:
    world, _agent, name = running
    plays = Plays(world, first_fails=True)
    # Each caller has its own turn with the threads, so three callers could play three at once.
    tokens = [(await world.new_token("viewer"))[1] for _ in range(3)]
    first = asyncio.create_task(asked(world, name, token=tokens[0]))
    await plays.until(1)
    second = asyncio.create_task(asked(world, name, token=tokens[1]))
    await settle()
    plays.begun[0].set()
    assert (await first)[0] == 503
    await plays.until(2)
    third = asyncio.create_task(asked(world, name, token=tokens[2]))
    await settle()
    plays.begun[1].set()
    for gate in plays.begun:
        gate.set()
    assert [(await asking)[0] for asking in (second, third)] == [200, 200]
    assert (plays.at_once_most, len(plays.begun)) == (1, 2)


async def test_those_who_wait_for_a_long_play_share_its_answer(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    plays = Plays(world, first_fails=False)
    tokens = [(await world.new_token("viewer"))[1] for _ in range(2)]
    waiting = [asyncio.create_task(asked(world, name, token=token)) for token in tokens]
    await plays.until(1)
    await settle()
    await world.clock.advance(30_000)
    plays.begun[0].set()
    assert [(await asking)[0] for asking in waiting] == [200, 200]
    assert len(plays.begun) == 1


async def test_the_chance_of_a_budget_is_told_beside_that_of_the_deadline(running: tuple[World, Agent, str]) -> None:
    world, _agent, name = running
    _, before = await asked(world, name)
    assert "budget" not in before
    made = await world.submit(chain("t.one", "t.one"), budget=0.3)
    await settle()
    _, found = await asked(world, made["id"])
    words = "Not known yet whether it stays inside its budget of 0.30 dollars"
    assert (found["budget"]["chance"], found["budget"]["said"].partition(":")[0]) == (None, words)
    assert list(bound_lines(found, deadline=False)) == [f"budget: {found['budget']['said']}"]
    async with world.client() as http:
        previewed = await http.post(f"{C}/preview", json={"plan": chain("t.one"), "budget": 0.5})
    assert previewed.json()["budget"]["budget"] == "0.50 dollars"
