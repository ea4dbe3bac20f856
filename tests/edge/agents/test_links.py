"""Links of devices: bounded queues, messages within the limit, and nothing lost between two connections."""

from __future__ import annotations

import asyncio
import json

import pytest

from starloom.edge.agents import links as links_module
from starloom.edge.agents.links import Link, Links
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import channel_keys
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, encode
from starloom_protocol.wire.session import ProtocolFault, Session, Side, State
from tests.edge.world import settle


def dispatch(number: int, args: str = "{}") -> f.Dispatch:
    at = f.LeaseRef(attempt=1, constellation="c", incarnation=1, task=f"t{number}")
    return f.Dispatch(args=args, at=at, fence_after_s=1, repeatability="pure", start_to_close_s=1, tool="t")


class Line:
    """Stands where a socket stands: takes messages while it is `free`."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.free.set()
        self.sent: list[str] = []

    async def write(self, text: str) -> None:
        await self.free.wait()
        self.sent.append(text)

    def write_now(self, text: str) -> bool:
        if self.free.is_set():
            self.sent.append(text)
        return self.free.is_set()


def on_line(line: Line, device: str = "d-1") -> Link:
    aip = Session(Side.HUB)
    aip.state = State.OPEN
    return Link(device, aip, line, channel_keys(bytes(32), b""))


def served(link: Link) -> list[Exception | None]:
    """Have a link write; return what it says at its end."""
    ends: list[Exception | None] = []
    link.serve(ends.append)
    return ends


def a_link() -> tuple[Link, list[str]]:
    line = Line()
    return on_line(line, "d-1"), line.sent


def tasks_of(sent: list[str]) -> list[str]:
    return [frame["at"]["task"] for text in sent for frame in json.loads(text)["f"] if frame["t"] == "dispatch"]


async def test_what_queued_goes_out_as_one_message_in_order() -> None:
    link, sent = a_link()
    link.open([])
    served(link)
    await settle()
    link.push([dispatch(number) for number in range(100)])
    await settle()
    assert len(sent) == 1
    assert tasks_of(sent) == [f"t{number}" for number in range(100)]


async def test_messages_stay_within_the_limit_even_with_many_escapes() -> None:
    link, sent = a_link()
    args = json.dumps({"text": '"' * 50_000})
    link.push([dispatch(number, args) for number in range(20)])
    link.open([])
    served(link)
    await settle(200)
    assert tasks_of(sent) == [f"t{number}" for number in range(20)]
    assert max(len(text.encode()) for text in sent) <= MESSAGE_BYTES_MAX
    assert len(sent) > 1


async def test_a_device_that_takes_nothing_is_cut() -> None:
    link, _ = a_link()
    one = [dispatch(1)]
    taken = sum(link.push(one) for _ in range(links_module.QUEUE_FRAMES_MAX + 10))
    assert taken == links_module.QUEUE_FRAMES_MAX
    assert link.closed_because == "too slow"
    assert link.queued == 0


async def test_orders_of_one_turn_leave_in_it_as_one_message() -> None:
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    for number in range(3):
        assert links.send("d-1", [dispatch(number)])
    assert sent == []
    links.flush()
    assert len(sent) == 1
    assert tasks_of(sent) == ["t0", "t1", "t2"]


async def test_orders_that_nobody_hurries_leave_in_the_next_turn() -> None:
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    for number in range(3):
        links.send("d-1", [dispatch(number)])
    await asyncio.sleep(0)
    assert len(sent) == 1
    assert tasks_of(sent) == ["t0", "t1", "t2"]


async def test_frames_in_no_hurry_leave_with_the_next_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "ALONG_S", 3600.0)
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    assert links.send_along("d-1", [f.Ack(durable=1, received=2)])
    await settle()
    assert sent == []
    links.send("d-1", [dispatch(1)])
    links.flush()
    assert [[frame["t"] for frame in json.loads(text)["f"]] for text in sent] == [["ack", "dispatch"]]


async def test_frames_in_no_hurry_leave_alone_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "ALONG_S", 0.0)
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    for number in (1, 2):
        assert links.send_along("d-1", [f.Ack(durable=number, received=number)])
        assert len(sent) == number - 1
        await settle()
        assert len(sent) == number
    assert not links.send_along("d-2", [f.Ack(durable=1, received=1)]), "nobody is connected"


async def test_what_the_line_does_not_take_now_leaves_first_and_once() -> None:
    links, line = Links(), Line()
    link = on_line(line)
    links.add(link)
    link.open([])
    served(link)
    line.free.clear()
    for number in range(3):
        links.send("d-1", [dispatch(number)])
        links.flush()
        await settle()
    line.free.set()
    links.send("d-1", [dispatch(3)])
    links.flush()
    assert line.sent == [], "the writer has not got the line yet"
    await settle()
    links.send("d-1", [dispatch(4)])
    links.flush()
    assert tasks_of(line.sent) == [f"t{number}" for number in range(5)]
    assert [json.loads(text)["n"] for text in line.sent] == list(range(1, len(line.sent) + 1))


async def test_much_at_once_is_the_writers() -> None:
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    served(link)
    links.send("d-1", [dispatch(1, json.dumps("x" * links_module.NOW_BYTES_MAX))])
    links.flush()
    assert sent == []
    await settle()
    assert tasks_of(sent) == ["t1"]


async def test_what_cannot_be_sent_ends_the_connection_and_not_who_sends() -> None:
    links = Links()
    link, sent = a_link()
    links.add(link)
    link.open([])
    ends = served(link)
    link.aip.state = State.AWAIT_PROVE
    assert links.send("d-1", [dispatch(1)])
    links.flush()
    await settle()
    assert [type(end) for end in ends] == [ProtocolFault]
    assert sent == []


async def test_an_agent_that_said_goodbye_is_sent_nothing_more() -> None:
    link, sent = a_link()
    link.open([])
    link.aip.receive(encode(1, [f.Bye(reason="the agent was stopped")], Side.AGENT))
    assert link.aip.state is State.CLOSED
    assert not link.push([f.Renew(granted=[], sent_ms=1)])
    assert (link.queued, sent) == (0, [])


async def test_before_the_welcome_frames_wait_and_come_after_the_resume_plan() -> None:
    links = Links()
    link, sent = a_link()
    links.add(link)
    assert links.send("d-1", [dispatch(1)])
    served(link)
    await settle()
    assert sent == []
    assert links.of_token(link.http_token) is None
    assert len(links) == 0
    links.open(link, [f.ResumePlan(entries=[])])
    await settle()
    assert len(links) == 1
    assert [frame["t"] for frame in json.loads(sent[0])["f"]] == ["resume_plan", "dispatch"]
    assert links.of_token(link.http_token) is link


async def test_a_connection_that_is_never_welcomed_hands_its_frames_to_the_older_one() -> None:
    links = Links()
    (old, sent), (new, _) = a_link(), a_link()
    links.add(old)
    old.open([])
    served(old)
    links.add(new)
    links.send("d-1", [dispatch(7)])
    await settle()
    assert sent == []
    links.remove(new)
    await settle()
    assert tasks_of(sent) == ["t7"]
    links.remove(old)
    assert not links.send("d-1", [dispatch(8)])


async def test_a_link_is_counted_from_its_welcome_until_it_is_removed() -> None:
    links = Links()
    (first, _), (second, _), (late, _) = a_link(), a_link(), a_link()
    for link in (first, second, late):
        links.add(link)
    links.open(first, [])
    links.open(second, [])
    assert len(links) == 2
    links.remove(first)
    links.remove(first)
    links.remove(late)
    links.open(late, [])
    assert len(links) == 1
    links.remove(second)
    assert len(links) == 0


async def test_closing_one_session_leaves_the_other() -> None:
    links = Links()
    (old, old_sent), (new, new_sent) = a_link(), a_link()
    for link, session in ((old, 1), (new, 2)):
        links.add(link)
        link.session = session
        link.open([])
    ends = [served(link) for link in (old, new)]
    links.close("d-1", 1, "taken_over", "a newer connection took over")
    await settle()
    assert json.loads(old_sent[-1])["f"][-1] == {
        "t": "error",
        "code": "taken_over",
        "reason": "a newer connection took over",
    }
    assert new_sent == []
    assert ends == [[None], []]


def test_a_log_belongs_to_whom_the_attempt_was_given() -> None:
    links = Links()
    links.grant("d-1", "c", "t", 1)
    assert links.has("d-1", ("c", "t", 1))
    assert not links.has("d-1", ("c", "t", 2))
    assert not links.has("d-2", ("c", "t", 1))
