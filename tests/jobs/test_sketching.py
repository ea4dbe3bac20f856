"""When a sketch is sent: at a bounded pace, again while nothing changes, and never at the cost of the plan."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from starloom.jobs.claiming import WorkerJob
from starloom.jobs.kinds.answering import AnswerJobs
from starloom.jobs.kinds.planning import PlanJobs
from starloom.jobs.kinds.reviewing import ReviewJobs
from starloom.jobs.sketching import ALIVE_TICKS, EVERY_S, sketched
from starloom.planner.model.port import Piece
from starloom.planner.recipes.catalogue import Catalogue
from starloom.store.port import SketchPort, Unavailable
from starloom_protocol.plan import read_recipe
from starloom_protocol.stream.feed import Beside
from starloom_protocol.stream.sketches import Sketch
from starloom_protocol.vocabulary import ConstellationState
from tests.jobs.test_modelling import ECHO, READING, Hub, claimed, models, says
from tests.models.server import Say, fake_model


class Channel:
    """Keeps what was sent; `away` refuses it."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.said: list[Sketch] = []
        self.items: list[Beside] = []
        self.opened = 0

    async def say(self, raw: bytes) -> None:
        if self.away:
            raise Unavailable("Redis does not answer")
        item = msgspec.json.decode(raw, type=Beside)
        self.items.append(item)
        self.said.append(msgspec.json.decode(item.value, type=Sketch))

    def hear(self) -> AsyncIterator[bytes]:
        raise AssertionError("a worker hears nothing")

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[SketchPort]:
        self.opened += 1
        yield self

    def open(self) -> AbstractAsyncContextManager[SketchPort]:
        return self._open()


class Ticks:
    """A wait that ends when a test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._turns: asyncio.Queue[None] = asyncio.Queue()

    async def wait(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._turns.get()

    async def pass_by(self, count: int = 1) -> None:
        for _ in range(count):
            self._turns.put_nowait(None)
            for _ in range(5):
                await asyncio.sleep(0)


NOWHERE: Any = None
"""A drawing reads no state and posts nothing."""


def opened(channel: Channel, ticks: Ticks) -> Any:
    return sketched(channel.open, WorkerJob(NOWHERE, NOWHERE, "c1", "plan-1", "w"), lambda: 7, wait=ticks.wait)


async def test_many_pieces_are_one_sketch_a_tick() -> None:
    channel, ticks = Channel(), Ticks()
    async with opened(channel, ticks) as hear:
        await ticks.pass_by(20)
        assert channel.said == []
        hear(Piece("begun"))
        for at in range(500):
            hear(Piece("text", str(at)))
        await ticks.pass_by()
        hear(Piece("text", "more"))
        await ticks.pass_by(3)
    assert [made.chars for made in channel.said] == [1390, 1394]
    assert set(ticks.asked) == {EVERY_S}
    assert (channel.items[0].stream, channel.items[0].about, channel.items[0].kind) == ("c1", "sketch/plan-1", "sketch")


async def test_the_same_sketch_comes_again_for_who_looks_later() -> None:
    channel, ticks = Channel(), Ticks()
    async with opened(channel, ticks) as hear:
        hear(Piece("begun"))
        await ticks.pass_by(1 + 2 * ALIVE_TICKS)
    assert len(channel.said) == 3


async def test_a_channel_that_is_away_stops_nothing() -> None:
    channel, ticks = Channel(away=True), Ticks()
    async with opened(channel, ticks) as hear:
        hear(Piece("begun"))
        await ticks.pass_by()
        channel.away = False
        hear(Piece("text", "x"))
        await ticks.pass_by()
    assert len(channel.said) == 1


async def test_an_error_in_the_drawing_ends_the_drawing_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Channel):
        async def say(self, raw: bytes) -> None:
            raise RuntimeError(f"a bug: {len(raw)}")

    channel, ticks = Broken(), Ticks()
    async with opened(channel, ticks) as hear:
        hear(Piece("begun"))
        await ticks.pass_by(3)
        hear(Piece("text", "x"))
    assert "the plan goes on" in caplog.text


async def test_nothing_is_sent_behind_the_end_of_the_job() -> None:
    channel, ticks = Channel(), Ticks()
    async with opened(channel, ticks) as hear:
        hear(Piece("begun"))
        await ticks.pass_by()
    hear(Piece("text", "late"))
    await ticks.pass_by(20)
    assert len(channel.said) == 1


async def plan(hub: Hub, made: Any, channel: Channel, worker: str = "w") -> None:
    jobs = PlanJobs(Catalogue([]), models=made, sketches=channel.open)
    await jobs.carry_out(await claimed(hub, "plan-1", worker))


async def test_a_plan_that_was_drawn_is_the_one_that_runs_and_the_log_has_nothing_of_the_drawing() -> None:
    events = []
    for streams in (True, False):
        hub, channel = Hub(), Channel()
        constellation: Any = hub.ask("look around on one")
        async with fake_model(says(READING), streams=streams) as fake:
            await plan(hub, models(fake, hub), channel)
        assert constellation.head.state is ConstellationState.ACTIVE
        assert channel.opened == 1
        events.append(await hub.entities("c1"))
    assert events[0] == events[1]


async def test_a_request_that_needs_no_model_opens_no_channel() -> None:
    hub, channel = Hub(), Channel()
    constellation: Any = hub.ask("tell me what is wrong with one")
    ours = await claimed(hub, "plan-1")
    echo = read_recipe(msgspec.json.encode(ECHO)).recipe
    assert echo is not None
    await PlanJobs(Catalogue([echo]), sketches=channel.open).carry_out(ours)
    assert constellation.head.state is ConstellationState.ACTIVE
    assert channel.opened == 0


async def test_an_answer_and_a_review_are_drawn_and_the_log_has_nothing_of_it() -> None:
    hub, channel = Hub(), Channel()
    constellation: Any = hub.ask("look around on one")
    point = {"policy": {"review_at": ["look"]}}
    answer = Say(tool={"kind": "answer", "text": "1 is there [1].", "cites": [{"task": "look", "pointer": ""}]})
    async with fake_model(says(READING, **point), Say(tool={"kind": "no_change"}), answer, streams=True) as fake:
        made = models(fake, hub)
        await plan(hub, made, channel)
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, 1)
        await ReviewJobs(made, channel.open).carry_out(await claimed(hub, "review-1"))
        await AnswerJobs(made, channel.open).carry_out(await claimed(hub, "answer-1"))
    assert channel.opened == 3
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert not [event for event in hub.driver.events if "sketch" in str(event)]


class Stubborn(Channel):
    """A channel whose client drops the first cancellation, as redis-py does below Python 3.12."""

    def __init__(self) -> None:
        super().__init__()
        self.sending = asyncio.Event()

    async def say(self, raw: bytes) -> None:
        if not self.sending.is_set():
            self.sending.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await super().say(raw)


async def test_a_job_ends_though_its_picture_drops_the_cancellation() -> None:
    channel = Stubborn()
    opened = sketched(channel.open, WorkerJob(NOWHERE, NOWHERE, "c-1", "plan-1", "w"), lambda: 0)
    async with asyncio.timeout(20), opened as hear:
        hear(Piece("begun"))
        await channel.sending.wait()
    assert channel.said
