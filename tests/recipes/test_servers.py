"""An MCP server of a device, from its owner's file to plans of the hub: its texts, and tools that appear meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.recipes.fleet import Device, Fleet
from tests.waiting import until

COUNTER = Path(__file__).parents[1] / "device_agents" / "work" / "sessions" / "mcp_counter.py"
ENTRY = f"""
[servers.counter]
command = ["{sys.executable}", "{COUNTER}"]
effects = ["read"]
repeatability = "pure"
resources = true
"""


@pytest.fixture
def laptop(fleet: Fleet) -> Iterator[Device]:
    """The laptop with a server that its owner named and granted."""
    device = fleet.device("laptop")
    file = device.home / "mcp.toml"
    file.write_text(ENTRY, encoding="utf-8")
    file.chmod(0o600)
    device.grant("mcp:counter")
    device.stop()
    device.start()
    until(lambda: "mcp.counter.count" in offered(fleet), "its tools are offered")
    yield device
    file.unlink()
    device.ungrant("mcp:counter")
    device.stop()
    device.start()


def offered(fleet: Fleet) -> dict[str, dict[str, Any]]:
    item = fleet.device("laptop").seen_by_hub()
    whole = fleet.client.get(f"/devices/{item['id']}")
    return {tool["name"]: tool for tool in whole["tools"] if tool["name"].startswith("mcp.counter.")}


def task(name: str, tool: str, **args: Any) -> dict[str, Any]:
    return {"id": name, "tool": f"mcp.counter.{tool}", "args": args, "device": {"name": "laptop"}}


def made(fleet: Fleet, *tasks: dict[str, Any]) -> str:
    shown = [{"title": one["id"], "from": one["id"], "output": "/text"} for one in tasks if "tool" in one]
    links = [{"from": one["id"], "to": two["id"], "when": "success"} for one, two in pairwise(tasks)]
    plan = {"starloom": 1, "name": "Server", "tasks": list(tasks), "dependencies": links, "result": shown}
    return str(fleet.client.create("/constellations", {"plan": plan})["id"])


def result(fleet: Fleet, constellation: str) -> dict[str, Any]:
    found: dict[str, Any] = fleet.client.get(f"/constellations/{constellation}/result")
    return found


def ended(fleet: Fleet, constellation: str) -> dict[str, Any]:
    final = ("succeeded", "failed", "partial", "cancelled")
    until(lambda: result(fleet, constellation)["constellation_state"] in final, "it has ended")
    found = result(fleet, constellation)
    assert found["constellation_state"] == "succeeded", found
    return found


def test_a_plan_reads_a_resource_in_the_session_of_its_constellation(fleet: Fleet, laptop: Device) -> None:
    found = ended(fleet, made(fleet, task("count", "count"), task("read", "read_resource", uri="counter://now")))
    count, text = [item["value"] for item in found["items"]]
    assert text == count, "one server with one state"
    assert offered(fleet)["mcp.counter.read_resource"]["effects"] == ["read"]
    assert "counter" in str(offered(fleet)["mcp.counter.list_resources"]["title"])


def test_a_tool_that_appears_in_a_session_reaches_the_hub_and_asks_its_owner(fleet: Fleet, laptop: Device) -> None:
    assert "mcp.counter.more" not in offered(fleet)
    constellation = made(fleet, task("grow", "grow"), {"id": "hold", "person": "Go on?"})
    until(lambda: "mcp.counter.more" in offered(fleet), "the new tool is offered")
    assert "mcp.counter.read_resource" in offered(fleet)
    new = offered(fleet)["mcp.counter.more"]
    assert set(new["effects"]) == {"read", "control"}
    preview = fleet.client.post(
        "/constellations/preview", {"plan": {"starloom": 1, "name": "More", "tasks": [task("more", "more")]}}
    )
    assert preview["asks_approval"], "the grant was given for what the server offered at the start"
    fleet.client.create(f"/constellations/{constellation}/cancel", {})
