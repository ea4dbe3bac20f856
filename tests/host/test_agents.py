"""Agents of this machine: which device a home is at the hub, and what is said of one that does not come."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from starloom.client.calls import Get
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.agents import LocalAgent, OwnDevice, own_device, until_online
from starloom.process.computers import MARKER, computer_name, computers_of


class Hub:
    """A hub that only lists devices."""

    def __init__(self, *items: dict[str, Any]) -> None:
        self.items = list(items)

    def get(self, call: Get[Any]) -> Any:
        assert call.path == "/devices"
        return {"items": self.items}


def device(identity: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": identity, "name": name, "link": "online", "tools": ["system.info"], "revoked": False, **more}


def home(folder: Path, kept: str) -> LocalAgent:
    (folder / MARKER).write_text(kept)
    return LocalAgent(folder, "vm", "http://127.0.0.1:1")


@pytest.mark.parametrize("kept", ["d-1", "laptop"])
def test_a_home_knows_its_device_under_any_name(tmp_path: Path, kept: str) -> None:
    agent = home(tmp_path, kept)
    hub = Hub(device("d-2", "vm"), device("d-1", "laptop"))
    assert own_device(cast(Client, hub), agent) == OwnDevice("d-1", "laptop")
    hub.items = [device("d-2", "laptop"), device("d-1", "den")]
    assert own_device(cast(Client, hub), agent) == OwnDevice("d-1", "den")


def test_a_home_whose_device_was_revoked_has_none(tmp_path: Path) -> None:
    hub = Hub(device("d-1", "vm", revoked=True), device("d-2", "vm"))
    assert own_device(cast(Client, hub), home(tmp_path, "d-1")) is None
    assert own_device(cast(Client, hub), LocalAgent(tmp_path / "empty", "vm", "http://127.0.0.1:1")) is None


async def test_who_is_missing_is_said_with_the_reason() -> None:
    hub = Hub(
        device("d-1", "laptop"),
        device("d-2", "den", link="offline"),
        device("d-3", "attic", tools=[]),
        device("d-4", "old", revoked=True, link="offline"),
    )
    await until_online(cast(Client, hub), ["d-1", "laptop"], within_s=0)
    with pytest.raises(Problem) as missing:
        await until_online(cast(Client, hub), ["laptop", "d-2", "d-3", "d-4", "none"], within_s=0)
    assert missing.value.exit_code is Exit.FAILED
    said = str(missing.value)
    assert "The hub cannot be reached" not in said
    for reason in ("den is offline", "attic has told no tools yet", "old was revoked", "none is not in the fleet"):
        assert reason in said


def test_a_data_folder_tells_this_computer_from_one_that_kept_it_before(tmp_path: Path) -> None:
    for name, device in ((computer_name(), "d-new"), ("old-laptop", "d-old")):
        (tmp_path / "agents" / name).mkdir(parents=True)
        (tmp_path / "agents" / name / MARKER).write_text(device)
    (tmp_path / "agents" / "half-joined").mkdir()
    assert computers_of(tmp_path) == {"d-new": "own", "d-old": "former"}
    assert computers_of(tmp_path / "nowhere") == {}
