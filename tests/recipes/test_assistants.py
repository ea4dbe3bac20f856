"""Assistants that people already have: MCP by its official client, a brief by the command line; real hub and agents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from starloom.host.ports import free_port, is_free
from tests.recipes.fleet import Fleet
from tests.waiting import PATIENCE_S, until

TOOLS = ["devices", "recipes", "preview", "submit", "goal", "watch", "result", "why", "report", "propose_edit"]


def plan(**more: Any) -> dict[str, Any]:
    task = {"id": "room", "tool": "disk.usage", "args": {"path": "/"}, "device": {"name": "laptop"}}
    shown = [{"title": "Room", "from": "room", "output": "/free_bytes"}]
    return {"starloom": 1, "name": "Room", "tasks": [task], "result": shown, **more}


@asynccontextmanager
async def by_stdio(fleet: Fleet) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "starloom.cli", "mcp", "--hub", str(fleet.home)], cwd="/"
    )
    async with Client(stdio_client(command)) as client:
        yield client


@asynccontextmanager
async def by_http(url: str, token: str) -> AsyncIterator[Client]:
    async with AsyncExitStack() as opened:
        http = await opened.enter_async_context(create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}))
        yield await opened.enter_async_context(Client(streamable_http_client(url, http_client=http)))


@asynccontextmanager
async def by_door(door: str, fleet: Fleet, folder: Path) -> AsyncIterator[Client]:
    async with AsyncExitStack() as opened:
        if door == "stdio":
            client = await opened.enter_async_context(by_stdio(fleet))
        else:
            file, port = folder / "token", free_port()
            url = opened.enter_context(serving_http(fleet, port, file))
            await asyncio.to_thread(until, lambda: not is_free("127.0.0.1", port), "the MCP server listens")
            client = await opened.enter_async_context(by_http(url, file.read_text().strip()))
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answered = await client.call_tool(tool, arguments)
    assert not answered.is_error, answered.content
    assert isinstance(answered.structured_content, dict)
    return answered.structured_content


async def ended(client: Client, constellation: str) -> dict[str, Any]:
    after = 0
    for _ in range(20):
        seen = await call(client, "watch", constellation=constellation, after=after, wait_s=10)
        after = seen["after"]
        if seen["final"]:
            return seen
    raise AssertionError(f"not final: {seen}")


async def test_an_assistant_plans_submits_watches_and_reads_an_answer(fleet: Fleet) -> None:
    async with by_stdio(fleet) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed if not tool.name.startswith("recipe_")] == TOOLS
        assert {tool.name for tool in listed if tool.annotations and not tool.annotations.read_only_hint} >= {
            "submit",
            "propose_edit",
            "goal",
            "recipe_copy-folder",
        }
        devices = await call(client, "devices")
        assert "laptop" in [item["name"] for item in devices["devices"]]
        one = await call(client, "devices", name="laptop")
        assert "disk.usage" in [tool["name"] for tool in one["tools"]]
        assert "fleet-health" in [item["name"] for item in (await call(client, "recipes"))["recipes"]]

        taught = await call(client, "preview", request="sing me a sea shanty")
        assert "disk.usage" in taught["how_to_write_a_plan"]

        faulty = await client.call_tool("preview", {"plan": plan(tasks=[{"id": "A B", "tool": "disk.usege"}])})
        assert faulty.is_error
        assert "tasks[0].id" in str(faulty.content)

        shown = await call(client, "preview", plan=plan())
        assert shown["runs_now"]
        made = await call(client, "submit", plan=plan())
        assert made["needs_approval"] is False
        seen = await ended(client, made["constellation"])
        assert any("room" in line for line in seen["lines"])
        answer = await call(client, "result", constellation=made["constellation"])
        assert answer["constellation_state"] == "succeeded"
        assert answer["items"][0]["value"] > 0
        snapshot = await client.read_resource(f"starloom://constellations/{made['constellation']}")
        assert "disk.usage" in str(snapshot.contents)
        brief = await client.get_prompt("plan", {"request": "free room"})
        assert "> free room" in str(brief.messages)


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_a_recipe_that_is_saved_is_told_to_a_program_that_listens(
    fleet: Fleet, tmp_path: Path, door: str
) -> None:
    document = {
        "starloom_recipe": 1, "name": f"of-{door}", "title": "Room", "version": 1, "plan": plan(result=[]),
    }  # fmt: skip
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(by_door(door, fleet, tmp_path))
        await client.list_tools()
        stream = await opened.enter_async_context(client.listen(tools_list_changed=True))
        await asyncio.to_thread(fleet.client.create, "/recipes", {"recipe": document})
        async for event in stream:
            assert type(event).__name__ == "ToolsListChanged"
            break
        listed = [one.name for one in (await client.list_tools(cache_mode="refresh")).tools]
        assert f"recipe_of-{door}" in listed
        done = await call(client, f"recipe_of-{door}")
        assert done["state"] == "succeeded"
    await asyncio.to_thread(fleet.client.delete, f"/recipes/of-{door}")


async def test_what_is_risky_waits_for_a_person_whatever_the_model_wrote(fleet: Fleet) -> None:
    kill = {"id": "kill", "tool": "process.kill", "args": {"pid": 2, "name": "x"}, "device": {"name": "laptop"}}
    bold = plan(tasks=[kill], result=[], policy={"approval": "never"})
    async with by_stdio(fleet) as client:
        refused = await client.call_tool("submit", {"plan": bold})
        assert refused.is_error
        assert "Leave policy.approval out" in str(refused.content)
        made = await call(client, "submit", plan=plan(tasks=[kill], result=[]))
        assert made["needs_approval"] is True
        assert made["state"] == "awaiting_approval"
        assert made["approve_at"] == f"{fleet.client.address.url}/constellations/{made['constellation']}"
        seen = await call(client, "watch", constellation=made["constellation"], wait_s=5)
        assert seen["waits_for_a_person"]
        assert not seen["final"]
    await asyncio.to_thread(fleet.client.create, f"/constellations/{made['constellation']}/cancel", {})


def hostile_plans(secret: str) -> dict[str, dict[str, Any]]:
    """Plans of a model that wants a secret, or an effect that nobody allowed."""
    code = "import os,json\njson.dump(os.environ['X'][::-1], open('result.json', 'w'))"
    leak = {"id": "leak", "tool": "python.run", "args": {"code": code, "env": {"X": {"secret": secret}}}}
    look = {"id": "look", "tool": "disk.usage", "device": {"name": "laptop"}}
    added = {"name": "r", "when": {"task": "look", "event": "succeeded"}, "edit": [{"add_task": leak}], "reason": "x"}
    kill = {"tool": "process.kill", "args": {"pid": 2, "name": "x"}}
    return {
        "secret": plan(tasks=[leak], result=[]),
        "nested": plan(tasks=[{"id": "in", "plan": {"tasks": [leak]}}], result=[]),
        "rule": plan(tasks=[look], rules=[added], result=[]),
        "undo": plan(tasks=[{**look, "undo": kill}], result=[]),
    }


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_t32_no_door_gives_an_assistant_a_secret(fleet: Fleet, tmp_path: Path, door: str) -> None:
    secret = f"canary-{door}"
    await asyncio.to_thread(fleet.client.put, f"/secrets/{secret}", {"value": "CaNaRy-zQ7"})
    async with by_door(door, fleet, tmp_path) as client:
        for name, hostile in hostile_plans(secret).items():
            if name == "undo":
                made = await call(client, "submit", plan=hostile)
                assert (made["state"], made["needs_approval"]) == ("awaiting_approval", True)
                assert made["because"] == ["it may destroy"]
                continue
            refused = await client.call_tool("submit", {"plan": hostile})
            assert refused.is_error
            assert "may not name a secret" in str(refused.content), name
        mine = hostile_plans(secret)["secret"]["tasks"][0]
        owners = {"plan": {**plan(tasks=[{"id": "ask", "person": "Go?"}], result=[])}}
        identity = (await asyncio.to_thread(fleet.client.create, "/constellations", owners))["id"]
        edit = await call(client, "propose_edit", constellation=identity, operations=[{"add_task": mine}], reason="x")
        assert edit["applied"] is False
    kept = await asyncio.to_thread(fleet.client.get, "/secrets")
    (canary,) = [item for item in kept["items"] if item["name"] == secret]
    assert canary["last_used_at"] is None

    def told() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = fleet.client.get("/audit", q="may not name a secret")["items"]
        return found

    noted = await asyncio.to_thread(until, told, "the refusals stand in the log")
    assert {item["by"].partition(":")[0] for item in noted} == {"assistant"}


async def test_an_edit_is_made_or_said_to_a_person(fleet: Fleet) -> None:
    nobody = {"id": "later", "tool": "disk.usage", "device": {"labels": ["nobody-has-this"]}}
    waits = {"plan": {"starloom": 1, "name": "Waits", "tasks": [nobody]}}
    identity = (await asyncio.to_thread(fleet.client.create, "/constellations", waits))["id"]
    task = {"id": "room", "tool": "disk.usage", "device": {"name": "laptop"}}
    loud = {"id": "kill", "tool": "process.kill", "args": {"pid": 2, "name": "x"}}
    async with by_stdio(fleet) as client:
        refused = await call(
            client, "propose_edit", constellation=identity, operations=[{"add_task": loud}], reason="more"
        )
        assert refused["applied"] is False
        assert refused["because"] == ["kill calls process.kill, which may destroy"]
        versions = await asyncio.to_thread(fleet.client.get, f"/constellations/{identity}/versions")
        assert [item["number"] for item in versions["items"]] == [1]
        assert (await call(client, "why", constellation=identity))["items"][0]["task"] == "later"
        drop = [{"remove_task": {"id": "later"}}]
        swap = [{"add_task": task}, *drop]
        said = await call(client, "propose_edit", constellation=identity, operations=swap, reason="there is none")
        assert said["applied"] is False
        assert "an assistant may only add tasks" in said["because"][0]
        made = await call(client, "propose_edit", constellation=identity, operations=swap[:1], reason="room as well")
        assert (made["applied"], made["version"]) == (True, 2)
        edit = {"base_version": 2, "operations": drop}
        await asyncio.to_thread(fleet.client.create, f"/constellations/{identity}/edits", edit)
        assert (await ended(client, identity))["state"] == "succeeded"


@contextmanager
def serving_http(fleet: Fleet, port: int, token: Path) -> Iterator[str]:
    argv = [sys.executable, "-m", "starloom.cli", "mcp", "--http", "--port", str(port), "--token-file", str(token)]
    process = fleet.spawn([*argv, "--hub", str(fleet.home)], "mcp", {})
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


async def test_over_http_only_with_the_token_and_for_this_address(fleet: Fleet, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "token"

    def status(**headers: str) -> int:
        accepts = {"Accept": "application/json, text/event-stream", **headers}
        try:
            return httpx.post(url, json={}, headers=accepts, trust_env=False).status_code
        except httpx.HTTPError:
            return 0

    with serving_http(fleet, port, file) as url:
        await asyncio.to_thread(until, status, "the MCP server listens")
        token = file.read_text().strip()
        bearer = {"Authorization": f"Bearer {token}"}
        assert status() == 401
        assert status(Authorization="Bearer wrong") == 401
        assert status(**bearer, Host="evil.example") == 421
        assert status(**bearer, Origin="http://evil.example") == 403
        async with by_http(url, token) as client:
            assert len((await client.list_tools()).tools) > len(TOOLS)
            made = await call(client, "submit", plan=plan())
            assert (await ended(client, made["constellation"]))["state"] == "succeeded"


def test_a_brief_s_round_trip_with_a_faulty_plan_ends_in_a_running_one(fleet: Fleet, tmp_path: Path) -> None:
    assert "> how full is my laptop" in fleet.cli("brief", "how full is my laptop")
    answer = tmp_path / "answer.txt"
    written = json.dumps(plan())
    answer.write_text("Sure!\n\n```json\n" + written.replace("disk.usage", "disk.usege") + "\n```\nDone.")
    argv = [sys.executable, "-m", "starloom.cli", "brief", "--hub", str(fleet.home), "--answer", str(answer)]
    refused = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 2
    assert "1. tasks[0].tool: " in refused.stdout
    assert "disk.usage" in refused.stdout
    answer.write_text(f"You are right.\n\n```json\n{written}\n```")
    shown = json.loads(fleet.cli("brief", "--answer", str(answer), "--json"))
    made = json.loads(fleet.cli("brief", "--answer", str(answer), "--approve", shown["plan_hash"], "--json"))
    assert "room: Done on laptop" in fleet.cli("watch", made["id"])
