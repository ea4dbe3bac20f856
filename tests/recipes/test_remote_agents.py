"""An agent of the network as a device of its own, whose owner grants nothing but that agent (docs/agents.md)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from starloom.host.agents import LocalAgent, join
from starloom_protocol.vocabulary import Profile
from tests.device_agents.tools.agents.test_remote_agent import serving
from tests.installation import end_process, type_at_agent
from tests.recipes.fleet import Fleet
from tests.waiting import until

NAME = "travel"
LABEL = "remote-agent"


@pytest.fixture
def travel(fleet: Fleet, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The agent of the network, and the device that stands for it; yields the device as the hub has it."""
    home = fleet.home / "agents" / NAME
    with serving(tmp_path, "well") as others:
        url = others.url("well")
        asyncio.run(join(fleet.client, LocalAgent(home, NAME, fleet.client.address.url, Profile.OBSERVE)))
        (home / "agents.toml").write_text(f'[agents.{NAME}]\nurl = "{url}"\neffects = ["read"]\n')
        (home / "agents.toml").chmod(0o600)
        type_at_agent(home, "grant", f"agent:{NAME}")
        process = fleet.spawn([sys.executable, "-m", "starloom_agent", "run", "--home", str(home)], f"agent-{NAME}")

        def device() -> dict[str, Any] | None:
            items = fleet.client.get("/devices")["items"]
            found = next((item for item in items if item["name"] == NAME and item["link"] == "online"), None)
            tools = fleet.client.get(f"/devices/{found['id']}")["tools"] if found else []
            return {**found, "tools": tools} if found and any(one["name"] == f"agent.{NAME}" for one in tools) else None

        try:
            found = until(device, "the device offers its agent")
            fleet.client.patch(f"/devices/{found['id']}", {"labels": [LABEL]})
            yield found
        finally:
            end_process(process, 15)
            known = next(item for item in fleet.client.get("/devices")["items"] if item["name"] == NAME)
            fleet.client.post(f"/devices/{known['id']}/revoke", {"reason": "the test is over"})


def test_work_goes_to_an_agent_of_the_network_as_to_any_device(fleet: Fleet, travel: dict[str, Any]) -> None:
    (tool,) = [one for one in travel["tools"] if one["name"].startswith("agent.")]
    assert set(tool["effects"]) == {"read", "reach"}, "the owner's word, and reach because words leave the device"
    loud = {"change", "control", "destroy"}
    assert not [one["name"] for one in travel["tools"] if not one["unavailable"] and loud & set(one["effects"])]
    task = {"id": "trip", "tool": f"agent.{NAME}", "device": {"labels": [LABEL]}, "args": {"text": "a train to Rome"}}
    shown = [{"title": "Said", "from": "trip", "output": "/text"}]
    plan = {"starloom": 1, "name": "Trip", "tasks": [task], "result": shown}
    hash_ = fleet.client.post("/constellations/preview", {"plan": plan})["plan_hash"]
    made = fleet.client.create("/constellations", {"plan": plan, "plan_hash": hash_})["id"]

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = fleet.client.get(f"/constellations/{made}/result")
        return found if found["constellation_state"] in ("succeeded", "failed", "partial") else None

    result = until(ended, "it has ended")
    assert result["constellation_state"] == "succeeded", result
    (item,) = result["items"]
    assert "a train to Rome" in item["value"]
    assert item["from"]["device_name"] == NAME
