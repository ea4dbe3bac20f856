"""A page hears which lists have changed, from committed events and refusals, and nothing of their content."""

from __future__ import annotations

import msgspec
import pytest

from starloom.edge.access.refusals import DeviceRefusal, Refusals
from starloom.edge.live.fanout import Changes, Fanout
from starloom_protocol.stream import feed
from starloom_protocol.vocabulary import Topic
from tests.edge.live.test_endpoint import page
from tests.edge.peers.test_neighbours import Viewer
from tests.edge.world import World, chain


def event(stream: str, *keys: str) -> feed.Event:
    return feed.Event(
        at_ms=1, by="engine", kind="task_ready", puts=dict.fromkeys(keys, msgspec.Raw(b"{}")), seq=1, stream=stream
    )


def topics(viewer: Viewer) -> list[str]:
    return [item.about for item in viewer.beside]


@pytest.mark.parametrize(
    ("stream", "key", "topic"),
    [
        ("c1", "question/q1", Topic.APPROVALS),
        ("c1", "head", Topic.CONSTELLATIONS),
        ("c1", "task/a", Topic.TASKS),
        ("fleet", "device/d1", Topic.DEVICES),
        ("fleet", "recipe/r/1", Topic.RECIPES),
        ("fleet", "schedule/s1", Topic.SCHEDULES),
    ],
)
def test_an_event_names_the_lists_that_it_changes(stream: str, key: str, topic: Topic) -> None:
    fanout, viewer = Fanout(), Viewer()
    fanout.subscribe(viewer, feed.FLEET)
    Changes(fanout, Refusals()).hear(event(stream, key))
    assert topic in topics(viewer)
    assert Topic.ACTIVITY in topics(viewer)
    known = {b'"c1"'} if stream == "c1" else {b"null"}
    named = {bytes(item.value) for item in viewer.beside if item.about != Topic.ACTIVITY}
    assert named == known, "a change names its constellation and has no content"


def test_a_pace_that_was_learned_is_named_since_no_work_waits_for_it() -> None:
    fanout, viewer = Fanout(), Viewer()
    fanout.subscribe(viewer, feed.FLEET)
    changes = Changes(fanout, Refusals())
    for keys in (("pace/fs.find",), ("pace/fs.find", "device/d1")):
        changes.hear(event("fleet", *keys))
    said = [bytes(item.value) for item in viewer.beside if item.about == Topic.DEVICES]
    assert said == [b'"pace"', b"null"]


def test_a_refusal_with_a_join_code_is_said_and_any_other_is_not() -> None:
    fanout, viewer, refusals = Fanout(), Viewer(), Refusals()
    Changes(fanout, refusals)
    fanout.subscribe(viewer, feed.FLEET)
    refusals.note(DeviceRefusal(1, "join", "10.0.0.9", "forbidden", "the code has ended"))
    assert topics(viewer) == []
    refusals.note(DeviceRefusal(1, "join", "10.0.0.9", "forbidden", "the code has ended", enrollment="e-1"))
    assert topics(viewer) == [Topic.REFUSALS]


async def test_a_page_hears_of_a_new_constellation(world: World) -> None:
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": "fleet"})
    await world.submit(chain("t.one"))
    heard: set[str] = set()
    while Topic.CONSTELLATIONS not in heard:
        frame = await socket.receive_json()
        heard |= {item["about"] for item in frame.get("items", []) if item["kind"] == "changed"}
    assert Topic.ACTIVITY in heard
    await socket.leave()
