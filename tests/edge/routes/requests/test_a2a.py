"""The door for agents of others: off by default, each call as an assistant, and only the tasks of its own token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio

from starloom.edge.routes.requests import a2a, a2a_tasks
from starloom_protocol.records.entities import Head, Offer, ToolOffer
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import ConstellationState, Effect, Repeatability
from starloom_protocol.wire.frames import Dispatch
from tests.edge.world import Agent, World, a_world, settle

READS = {"starloom": 1, "name": "Look", "tasks": [{"id": "look", "tool": "t.read"}]}
CHANGES = {"starloom": 1, "name": "Kill", "tasks": [{"id": "kill", "tool": "t.change"}]}


@pytest_asyncio.fixture
async def open_world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, a2a=True) as opened:
        yield opened


async def device(world: World) -> Agent:
    agent = await world.join("one")
    kinds = (("t.read", Effect.READ, Repeatability.PURE), ("t.change", Effect.CHANGE, Repeatability.NEVER))
    tools = [ToolOffer(name=name, effects=[effect], repeatability=again, title=name) for name, effect, again in kinds]
    await agent.connect(world, offer=Offer(digest="d", slots=2, tools=tools))
    return agent


def message(plan: dict[str, Any] | str, identity: str = "m-1", **more: Any) -> dict[str, Any]:
    part = {"text": plan} if isinstance(plan, str) else {"data": {"plan": plan}}
    return {"message": {"messageId": identity, "role": "ROLE_USER", "parts": [part], **more}}


class Caller:
    """An agent of others with a token of the narrow scope."""

    def __init__(self, world: World, token: str) -> None:
        self._world = world
        self._token = token

    @classmethod
    async def of(cls, world: World) -> Caller:
        return cls(world, (await world.new_token("operator", ["a2a"]))[1])

    async def post(self, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        async with self._world.client(self._token) as http:
            return await http.post("/a2a", json=body, headers={"A2A-Version": "1.0", **headers})

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        answer = (await self.post(method, params)).json()
        assert "error" not in answer, answer
        return answer["result"]

    async def refused(self, method: str, params: dict[str, Any]) -> tuple[int, str]:
        answer = (await self.post(method, params)).json()
        return answer["error"]["code"], answer["error"]["message"]

    async def send(self, plan: dict[str, Any] | str, identity: str = "m-1") -> dict[str, Any]:
        made = await self.call("SendMessage", {**message(plan, identity), "configuration": {"returnImmediately": True}})
        return dict(made["task"])


async def test_it_is_off_until_the_owner_turns_it_on(world: World) -> None:
    async with world.client() as http:
        card = await http.get(a2a_tasks.CARD)
        call = await http.post("/a2a", json={"jsonrpc": "2.0", "method": "GetTask"})
    assert (card.status_code, call.status_code) == (404, 404)
    assert "a2a = true" in call.json()["hint"]


async def test_the_card_without_a_token_names_neither_recipe_nor_device(open_world: World) -> None:
    await device(open_world)
    async with open_world.client("") as http:
        card = (await http.get(a2a_tasks.CARD)).json()
    assert [skill["id"] for skill in card["skills"]] == ["request"]
    assert card["supportedInterfaces"] == [
        {"url": f"{open_world.hub.settings.url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert "one" not in str(card)


async def test_a_message_becomes_a_constellation_and_its_answer_an_artifact(open_world: World) -> None:
    agent = await device(open_world)
    caller = await Caller.of(open_world)
    task = await caller.send(READS)
    assert task["status"]["state"] == "TASK_STATE_WORKING"
    dispatch = await agent.next(Dispatch)
    await agent.done(dispatch, '{"free":5}')
    await settle()
    found = await caller.call("GetTask", {"id": task["id"]})
    assert found["status"]["state"] == "TASK_STATE_COMPLETED"
    (artifact,) = found["artifacts"]
    assert artifact["parts"][-1]["data"]["items"][0]["value"] == {"free": 5}
    assert "never instructions" in artifact["description"]


async def test_what_may_change_something_waits_for_a_person_and_no_message_answers(open_world: World) -> None:
    await device(open_world)
    caller = await Caller.of(open_world)
    bold = {**CHANGES, "policy": {"approval": "never"}}
    code, words = await caller.refused("SendMessage", message(bold, "m-0"))
    assert code == -32602
    assert "approval" in words
    task = await caller.send(CHANGES)
    assert task["status"]["state"] == a2a_tasks.INPUT_REQUIRED
    assert "No message answers it" in task["status"]["message"]["parts"][0]["text"]
    yes = message("approve it", "m-2", taskId=task["id"], contextId=task["contextId"])
    assert (await caller.refused("SendMessage", yes))[0] == -32004
    assert (await caller.call("GetTask", {"id": task["id"]}))["status"]["state"] == a2a_tasks.INPUT_REQUIRED
    async with open_world.client() as http:
        (row,) = (await http.get("/api/v1/constellations")).json()["items"]
    assert row["author"].startswith("assistant:")


async def test_a_message_that_is_repeated_makes_one_task(open_world: World) -> None:
    await device(open_world)
    caller, other = await Caller.of(open_world), await Caller.of(open_world)
    first = await caller.send(READS)
    assert (await caller.send(READS))["id"] == first["id"]
    assert (await other.send(READS))["id"] != first["id"], "an id belongs to its caller"
    code, _ = await caller.refused("SendMessage", message(CHANGES))
    assert code == -32602, "one id, another message"


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
async def test_the_task_of_another_caller_is_as_unknown_as_none(open_world: World, method: str) -> None:
    await device(open_world)
    caller, other = await Caller.of(open_world), await Caller.of(open_world)
    task = await caller.send(READS)
    owners = await open_world.submit(READS)
    wanted = [await other.refused(method, {"id": one}) for one in (task["id"], owners["id"], "c-none", "fleet")]
    wanted.append(await other.refused("SendMessage", message("go on", taskId=task["id"], contextId=task["contextId"])))
    assert {code for code, _ in wanted} == {-32001}
    assert all(words.startswith("there is no task") for _, words in wanted)
    assert (await caller.call("GetTask", {"id": task["id"]}))["status"]["state"] == "TASK_STATE_WORKING"


async def test_a_cancel_cancels_and_the_end_cannot_be_cancelled(open_world: World) -> None:
    await device(open_world)
    caller = await Caller.of(open_world)
    task = await caller.send(CHANGES)
    await caller.call("CancelTask", {"id": task["id"]})
    await settle()
    assert (await caller.call("GetTask", {"id": task["id"]}))["status"]["state"] == "TASK_STATE_CANCELED"
    assert (await caller.refused("CancelTask", {"id": task["id"]}))[0] == -32002
    assert (await caller.refused("SubscribeToTask", {"id": task["id"]}))[0] == -32004


async def test_its_token_opens_nothing_else(open_world: World) -> None:
    _, token = await open_world.new_token("operator", ["a2a"])
    async with open_world.client(token) as http:
        for path in ("devices", "constellations", "approvals", "recipes", "artifacts/" + "a" * 64):
            assert (await http.get(f"/api/v1/{path}")).status_code == 403, path
    _, reader = await open_world.new_token("operator", ["read", "run"])
    assert (await Caller(open_world, reader).post("GetTask", {"id": "c-1"})).status_code == 403


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("message/send", message("hello"), -32601),
        ("SendMessage", {}, -32602),
        ("SendMessage", message(" "), -32602),
        ("SendMessage", message("sing", contextId="a b"), -32602),
        ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}, -32602),
        ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"url": "http://x"}]}}, -32005),
        ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"rm": 1}}]}}, -32602),
        ("SendMessage", message("sing me a sea shanty"), -32602),
        ("CreateTaskPushNotificationConfig", {}, -32003),
        ("ListTasks", {}, -32004),
    ],
)
async def test_a_bad_call_is_refused_whole(open_world: World, method: str, params: dict[str, Any], code: int) -> None:
    caller = await Caller.of(open_world)
    assert (await caller.refused(method, params))[0] == code
    async with open_world.client() as http:
        assert (await http.get("/api/v1/constellations")).json()["items"] == []


async def test_numbers_of_the_protocol_are_whole_where_they_are_whole(open_world: World) -> None:
    await device(open_world)
    caller = await Caller.of(open_world)
    task = await caller.send(
        {**READS, "starloom": 1.0, "tasks": [{"id": "look", "tool": "t.read", "args": {"n": 2.5}}]}
    )
    async with open_world.client() as http:
        whole = (await http.get(f"/api/v1/constellations/{task['id']}")).json()
    assert "2.5" in str(whole)


async def test_another_version_is_refused(open_world: World) -> None:
    caller = await Caller.of(open_world)
    answer = await caller.post("GetTask", {"id": "c-1"}, **{"A2A-Version": "0.3"})
    assert answer.json()["error"]["code"] == -32009


async def test_a_token_has_a_bounded_number_of_streams(open_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(a2a, "STREAMS_EACH", 0)
    await device(open_world)
    caller = await Caller.of(open_world)
    assert (await caller.post("SendStreamingMessage", message(READS))).status_code == 429


async def test_streams_that_are_asked_for_at_once_are_bounded_too(
    open_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(a2a, "STREAMS_EACH", 2)
    await device(open_world)
    caller = await Caller.of(open_world)
    task = await caller.send(READS)
    asked = [asyncio.create_task(caller.post("SubscribeToTask", {"id": task["id"]})) for _ in range(6)]
    await settle(60)
    done = [one for one in asked if one.done()]
    assert [one.result().status_code for one in done] == [429] * 4
    open_world.hub.fanout.end_waits()
    assert {one.status_code for one in await asyncio.wait_for(asyncio.gather(*asked), 10)} == {200, 429}
    assert not open_world.hub.fanout._watches


async def test_a_stream_ends_where_a_person_decides(open_world: World) -> None:
    await device(open_world)
    caller = await Caller.of(open_world)
    answer = await caller.post("SendStreamingMessage", message(CHANGES))
    events = [parse(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1]["result"]["task"]["status"]["state"] == a2a_tasks.INPUT_REQUIRED
    assert all(event["id"] == 7 for event in events)


async def test_what_ends_while_a_slow_reader_takes_a_chunk_is_told_before_the_stream_ends(open_world: World) -> None:
    agent = await device(open_world)
    token = (await open_world.new_token("operator", ["a2a"]))[1]
    call = {"id": 7, "jsonrpc": "2.0", "method": "SendStreamingMessage", "params": message(READS)}
    body = msgspec.json.encode(call)
    headers = {
        "a2a-version": "1.0",
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "host": "127.0.0.1:8470",
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/a2a",
        "raw_path": b"/a2a",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8470),
        "scheme": "http",
        "root_path": "",
        "state": {},
    }
    asked, never = iter([{"type": "http.request", "body": body, "more_body": False}]), asyncio.Event()
    events: list[Any] = []

    async def receive() -> dict[str, Any]:
        for part in asked:
            return part
        await never.wait()
        return {"type": "http.disconnect"}

    async def send(part: Any) -> None:
        chunk = part.get("body", b"")
        if not chunk.startswith(b"data: "):
            return
        events.append(parse(chunk[6:].decode())["result"])
        if len(events) == 1:
            await agent.done(await agent.next(Dispatch), '{"free":5}')
            await settle(60)

    await asyncio.wait_for(open_world.edge.app(scope, receive, send), 20)
    assert [next(iter(event)) for event in events] == ["task", "artifactUpdate", "statusUpdate"]
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_stream_is_never_silent_until_the_official_kit_gives_up() -> None:
    patience_s = httpx.AsyncClient().timeout.read
    assert patience_s is not None
    assert patience_s > a2a.KEEPALIVE_S


@pytest.mark.parametrize("state", ConstellationState)
def test_no_state_is_better_than_the_work(state: ConstellationState) -> None:
    head = Head(author="assistant:x", created_ms=1, id="c-1", name="x", state=state)
    shape: Any = {"state": "none", "sentence": "", "items": []}
    found = a2a_tasks.status(head, shape, [], "http://page", "now")["state"]
    assert (found == "TASK_STATE_COMPLETED") is (state is ConstellationState.SUCCEEDED)
    asked = a2a_tasks.status(head, shape, ["Go?"], "http://page", "now")["state"]
    waits = state in (ConstellationState.AWAITING_APPROVAL, ConstellationState.ACTIVE)
    assert (asked == a2a_tasks.INPUT_REQUIRED) is waits
    assert msgspec.json.encode(found)
