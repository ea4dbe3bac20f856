"""A hostile model streams: real wire, real sketches, the real socket of a page. Only a bounded picture arrives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from starloom.core.state import inputs as i
from starloom.edge.live.sketches import Sketches
from starloom.planner.model.endpoints.endpoint import Endpoint, Limits, Wire
from starloom.planner.model.port import ModelFault, Piece, Turn
from starloom.planner.model.sketching import SketchPad
from starloom.planner.model.transport.wire import WiredModel
from starloom_protocol.plan.language.models import TASK_ID
from starloom_protocol.stream.feed import Beside
from starloom_protocol.stream.sketches import SKETCH_BYTES_MOST, TASKS_MOST, Sketch
from tests.edge.live.test_endpoint import page
from tests.edge.world import World, settle
from tests.guard.test_rights import V1, dispatched, worker
from tests.models.server import Say, fake_model
from tests.waiting import SLOWER

SCRIPT = "<script>fetch('/api/v1/devices',{method:'DELETE'})</script><img src=x onerror=alert(1)>"
CONTROL = "\x00\x07\x1b]0;title\x07\x1b[2J\u202e\u2066\u200b\ud800\r\n\x9b31m"


def plan(*tasks: Any, **more: Any) -> str:
    return json.dumps({"kind": "plan", "plan": {"starloom": 1, "name": "Work", "tasks": list(tasks), **more}})


GOOD = {"id": "good", "tool": "t.read", "device": {"name": "srv"}}
HOSTILE = {
    "html": plan({"id": SCRIPT, "tool": SCRIPT}, {**GOOD, "tool": SCRIPT, "device": {"name": SCRIPT}}, name=SCRIPT),
    "control signs": plan({**GOOD, "tool": CONTROL, "device": {"name": CONTROL, "labels": [CONTROL]}}, name=CONTROL),
    "names of an object": plan(*({**GOOD, "id": name} for name in ("__proto__", "constructor", "toString", "good"))),
    "a hundred thousand tasks": plan(*({"id": f"t{at}", "tool": "t"} for at in range(100_000))),
    "ten megabytes": plan({**GOOD, "args": {"x": "y" * 10_000_000}}),
    "an abyss": '{"kind": "plan", "plan": {"tasks": ' + "[" * 200_000,
    "a thousand dependencies": plan(
        *({**GOOD, "id": f"t{at}"} for at in range(99)),
        dependencies=[{"from": f"t{one}", "to": f"t{other}"} for one in range(99) for other in range(99)],
    ),
    "an order to the page": plan({**GOOD, "approval": "never", "approved": True}, policy={"approval": "never"}),
    "a question of markup": json.dumps({"kind": "question", "text": SCRIPT, "choices": [SCRIPT]}),
    "no json": SCRIPT * 5_000,
}


async def streamed(text: str, wire: Wire) -> list[Sketch]:
    """Return the sketches of a stream, one for each piece of 64 KiB."""
    pieces = tuple(text[at : at + 65_536] for at in range(0, len(text), 65_536))
    pad, drawn = SketchPad("plan-1", "w"), []

    def hear(piece: Piece) -> None:
        pad.hear(piece, 1)
        drawn.append(pad.drawn())

    async with fake_model(Say(text=text, pieces=pieces), streams=True) as fake:
        model = WiredModel(Endpoint(fake.url, "fake-1", wire, limits=Limits(call_s=60 * SLOWER)))
        model.listen(hear)
        if len(text) > Limits.bytes_most:
            with pytest.raises(ModelFault, match="longer than"):
                await model.ask("Plan.", [Turn("starloom", "Do it.")])
        else:
            await model.ask("Plan.", [Turn("starloom", "Do it.")])
    return drawn


async def planning(world: World) -> None:
    ask = world.hub.inbox.ask
    assert not (await ask(i.RequestReceived(by="person:ann", constellation="c-x", id="r", request="look"))).faults
    await ask(i.JobClaimed(by="worker:w", constellation="c-x", id="j", job="plan-1", ttl_ms=15_000, worker="w"))


def message(made: Sketch) -> bytes:
    value = msgspec.Raw(msgspec.json.encode(made))
    return msgspec.json.encode(Beside(about="sketch/plan-1", kind="sketch", stream="c-x", value=value))


@pytest.mark.parametrize("wire", list(Wire))
@pytest.mark.parametrize("how", HOSTILE)
async def test_t93_a_hostile_stream_is_a_bounded_picture_and_nothing_else(world: World, how: str, wire: Wire) -> None:
    agent = await worker(world)
    await planning(world)
    before = await world.hub.reads.entities("c-x")
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": "c-x"})
    assert (await socket.receive_json())["t"] == "snapshot"
    drawn = await streamed(HOSTILE[how], wire)
    assert drawn
    sketches = Sketches(NoChannel(), world.hub.fanout, no_wait)
    sketches.take(message(drawn[-1]))
    assert sketches.refused == 0
    frame = await socket.receive_json()
    assert frame["t"] == "beside"
    assert len(json.dumps(frame, ensure_ascii=False).encode()) <= SKETCH_BYTES_MOST + 1024
    for made in drawn:
        assert len(made.tasks) <= TASKS_MOST
        assert all(TASK_ID.fullmatch(name) for task in made.tasks for name in (task.id, *task.after))
        said = [made.words, *(word for task in made.tasks for word in (task.tool, task.device))]
        assert all(word.isprintable() for word in said)
    # Nothing of it is in the log, can be acted on, or reaches a device.
    assert await world.hub.reads.entities("c-x") == before
    async with world.client() as http:
        for name in ("good", "t1", "__proto__"):
            refused = await http.post(f"{V1}/constellations/c-x/tasks/{name}/retry", json={})
            assert refused.json()["code"] == "unknown_task"
        assert (await http.get(f"{V1}/approvals")).json()["items"] == []
    assert await dispatched(agent) == []
    await socket.leave()


async def test_t93_who_does_not_look_at_a_constellation_gets_no_picture_of_its_plan(world: World) -> None:
    await planning(world)
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": "fleet"})
    assert (await socket.receive_json())["stream"] == "fleet"
    sketches = Sketches(NoChannel(), world.hub.fanout, no_wait)
    sketches.take(message(Sketch(call=1, job="plan-1", since_ms=1, worker="w")))
    await settle()
    await socket.send_json({"t": "ping", "at_ms": 1})
    assert (await socket.receive_json())["t"] == "pong"
    await socket.leave()


class NoChannel:
    """The channel is between worker and hub; here the test stands in for it."""

    async def say(self, raw: bytes) -> None:
        raise AssertionError(f"a hub says no sketch: {raw!r}")

    def hear(self) -> Any:
        raise AssertionError("nothing is heard")


async def no_wait(ms: int) -> None:
    raise AssertionError(f"nothing waits for {ms} ms")
