"""Secrets over REST: set, listed, replaced, removed; never answered, logged or let through by a device."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from starloom.edge.access.vault import Vault
from starloom.engine.commits import TAKEN_OVER
from starloom.engine.ports import Reply
from starloom_protocol.vocabulary import Role
from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, settle

S = "/api/v1/secrets"
C = "/api/v1/constellations"
VALUE = "hunter-2-hunter"


async def call(
    world: World, method: str, path: str, body: Any = None, token: str | None = None, key: str = ""
) -> tuple[int, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    async with world.client(token) as http:
        answer = await http.request(method, path, json=body, headers=headers)
    assert VALUE not in answer.text
    return answer.status_code, answer.json() if answer.content else None


def plan(**args: Any) -> dict[str, Any]:
    given = args or {"value": {"secret": "key"}}
    return {"starloom": 1, "name": "n", "tasks": [{"id": "t0", "tool": "t.one", "args": given}]}


async def opened(world: World, name: str = "key") -> str:
    vault: Vault = world.hub.vault
    return await vault.open(world.hub.access.secrets[name])


async def test_a_secret_is_set_listed_replaced_and_removed_but_never_answered(world: World) -> None:
    await world.join("laptop")
    status, made = await call(world, "PUT", f"{S}/key", {"value": VALUE, "devices": ["laptop"], "tools": ["t.one"]})
    assert (status, made["name"], made["version"], made["tools"]) == (201, "key", 1, ["t.one"])
    assert [device["name"] for device in made["devices"]] == ["laptop"]
    assert "value" not in made
    status, again = await call(world, "PUT", f"{S}/key", {"value": VALUE + "!"})
    assert (status, again["version"], again["devices"]) == (200, 2, made["devices"])
    assert await opened(world) == VALUE + "!"
    status, freed = await call(world, "PUT", f"{S}/key", {"value": VALUE, "devices": [], "base_version": 2})
    assert (freed["version"], freed["devices"], freed["last_used_at"]) == (3, [], None)
    status, listed = await call(world, "GET", S)
    assert [row["name"] for row in listed["items"]] == ["key"]
    assert len(world.engine._store.history.sealed) == 1  # type: ignore[attr-defined]
    assert (await call(world, "DELETE", f"{S}/key"))[0] == 204
    assert (await call(world, "GET", S))[1]["items"] == []
    assert world.engine._store.history.sealed == {}  # type: ignore[attr-defined]
    assert (await call(world, "DELETE", f"{S}/key"))[0] == 404


async def test_what_is_not_usable_is_refused_whole(world: World) -> None:
    for wrong in ("abc", "   ab ", "x" * (64 * 1024 + 1), "nul\0inside"):
        status, said = await call(world, "PUT", f"{S}/key", {"value": wrong})
        assert (status, said["errors"][0]["place"]) == (422, "value")
        del said["request_id"]  # It is drawn, so it may contain a text as short as these.
        assert wrong not in json.dumps(said)
    assert (await call(world, "PUT", f"{S}/key", {"value": VALUE, "more": 1}))[1]["code"] == "unknown_field"
    assert (await call(world, "PUT", f"{S}/a%20b", {"value": VALUE}))[0] == 422
    unknown = await call(world, "PUT", f"{S}/key", {"value": VALUE, "devices": ["nobody"]})
    assert unknown[1]["code"] == "unknown_device"
    assert (await call(world, "PUT", f"{S}/key", {"value": VALUE, "base_version": 4}))[0] == 409
    assert world.engine._store.history.sealed == {}  # type: ignore[attr-defined]
    whole = "é" * (32 * 1024)
    assert (await call(world, "PUT", f"{S}/key", {"value": whole}))[0] == 201


async def test_a_repeated_key_sets_once(world: World) -> None:
    first = await call(world, "PUT", f"{S}/key", {"value": VALUE}, key="k1")
    assert await call(world, "PUT", f"{S}/key", {"value": VALUE}, key="k1") == first
    status, said = await call(world, "PUT", f"{S}/key", {"value": VALUE + "?"}, key="k1")
    assert (status, said["code"]) == (409, "idempotency_mismatch")
    assert world.hub.access.secrets["key"].version == 1


async def test_a_value_stays_where_the_hub_cannot_tell_whether_it_was_set(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its event may stand in the log, and another hub is to open what it names."""
    await call(world, "PUT", f"{S}/key", {"value": VALUE})

    async def lost(_item: Any) -> Reply:
        return Reply(faults=[TAKEN_OVER])

    with monkeypatch.context() as patched:
        patched.setattr(world.hub.inbox, "ask", lost)
        assert (await call(world, "PUT", f"{S}/key", {"value": VALUE + "!"}))[0] == 503
    assert len(world.engine._store.history.sealed) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(("role", "lists"), [(Role.OPERATOR, 200), (Role.APPROVER, 403), (Role.VIEWER, 403)])
async def test_only_an_owner_sets_and_an_operator_may_name(world: World, role: Role, lists: int) -> None:
    async with world.client() as http:
        made = (await http.post("/api/v1/tokens", json={"role": role, "ttl_s": 600})).json()
    token = made["token"]
    assert (await call(world, "GET", S, token=token))[0] == lists
    assert (await call(world, "PUT", f"{S}/key", {"value": VALUE}, token=token))[0] == 403
    assert (await call(world, "DELETE", f"{S}/key", token=token))[0] == 403


async def test_a_task_waits_is_given_it_and_what_comes_back_is_cleaned(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    agent = await world.online("laptop", offer=an_offer("t.one"))
    status, made = await call(world, "POST", C, {"plan": plan()})
    assert status == 202
    why = (await call(world, "GET", f"{C}/{made['id']}/why"))[1]
    assert why["attention"][0]["reason"] == "missing_secret"
    assert (why["items"][0]["reason"], why["items"][0]["fix"]) == ("missing_secret", "starloom secret set key")
    assert why["items"][0]["line"] == "starloom secret set key"
    await call(world, "PUT", f"{S}/key", {"value": VALUE})
    await settle(60)
    dispatch: f.Dispatch = await agent.next(f.Dispatch)
    (handle, value), *_ = dispatch.secrets.items()
    assert (handle.partition("#")[0], value) == ("key", VALUE)
    assert json.loads(dispatch.args) == {"value": {"secret": handle}}
    await agent.send(f.LogChunk(at=dispatch.at, offset=0, stream="out", text=f"it is {VALUE}\n"))
    await agent.send(f.Progress(at=dispatch.at, note=VALUE))
    await agent.done(dispatch, json.dumps({VALUE: [VALUE, 1]}), tail=VALUE, facts={"/a": json.dumps(VALUE)})
    await settle(60)
    found = (await call(world, "GET", f"{C}/{made['id']}"))[1]
    assert found["state"] == "succeeded"
    events = (await call(world, "GET", f"{C}/{made['id']}/events"))[1]
    assert "***" in json.dumps(events)
    log = await world.hub.reads.events("access", 0, 100)
    assert any(b"secret_given" in raw for raw in log)
    store = world.engine._store
    everything = [*log, *(raw for commit in store.redis.log for raw in (*commit.events, *commit.outbox))]  # type: ignore[attr-defined]
    assert not any(VALUE.encode() in raw for raw in everything)
    assert VALUE not in caplog.text
    assert len(world.hub.dispatched_secrets) == 1


async def test_one_that_cannot_be_opened_fails_its_task_and_says_what_to_do(world: World) -> None:
    await world.online("laptop", offer=an_offer("t.one"))
    await call(world, "PUT", f"{S}/key", {"value": VALUE})
    sealed = world.engine._store.history.sealed  # type: ignore[attr-defined]
    for identity, (data, at_ms) in list(sealed.items()):
        sealed[identity] = (data[:-1] + bytes([data[-1] ^ 1]), at_ms)
    made = (await call(world, "POST", C, {"plan": plan()}))[1]
    await settle(60)
    found = (await call(world, "GET", f"{C}/{made['id']}/why?task_id=t0"))[1]
    assert found["state"] == "failed"
    assert "starloom secret set key" in found["sentence"]


async def test_an_item_that_looks_like_a_secrets_node_is_given_nothing(world: World) -> None:
    agent = await world.online("laptop", offer=an_offer("t.one"))
    await call(world, "PUT", f"{S}/key", {"value": VALUE})
    first = {"id": "list", "tool": "t.one"}
    second = {
        "id": "use",
        "tool": "t.one",
        "for_each": {"from": "list", "output": "/rows"},
        "args": {"value": {"secret": "key"}, "row": {"each": ""}},
    }
    document = {"starloom": 1, "name": "n", "tasks": [first, second]}
    await call(world, "POST", C, {"plan": document})
    await settle(60)
    listing: f.Dispatch = await agent.next(f.Dispatch)
    rows = json.dumps([{"secret": "key"}])
    await agent.done(listing, json.dumps({"rows": [{"secret": "key"}]}), facts={"/rows": rows})
    await settle(60)
    use: f.Dispatch = await agent.next(f.Dispatch)
    args = json.loads(use.args)
    assert args["row"] == {"secret": "key"}
    assert args["value"]["secret"] in use.secrets
    assert "key" not in use.secrets


async def test_what_an_attempt_was_given_is_remembered_by_the_next_owner(world: World) -> None:
    agent = await world.online("laptop", offer=an_offer("t.one"))
    await call(world, "PUT", f"{S}/key", {"value": VALUE})
    await call(world, "POST", C, {"plan": plan()})
    await settle(60)
    dispatch: f.Dispatch = await agent.next(f.Dispatch)
    given = type(world.hub.dispatched_secrets)()
    giving = world.engine._secret_delivery
    giving._dispatched = given
    await giving.recall(world.engine.shard)
    frame = f.ResultFrame(at=dispatch.at, outcome="ok", report=1, value=json.dumps(VALUE), detail=VALUE)  # type: ignore[arg-type]
    assert given.result(frame) == replace(frame, value='"***"', detail="***")
    assert given.facts(f.FactsFrame(at=dispatch.at, facts={"/a": json.dumps([VALUE])})).facts == {"/a": '["***"]'}
