"""`tools ls`: the tools that devices offer, in one table."""

from __future__ import annotations

from typing import Any

from starloom.client.terminal.typed import typed
from tests.cli.test_commands import StubHub, starloom


def test_tools_are_listed_with_the_devices_that_can(hub: StubHub) -> None:
    devices = [{"name": "desk", "unavailable": None}, {"name": "nas", "unavailable": "no grant"}]
    item = {"tool": "fs.read", "title": "Read", "effects": ["read"], "grant": "files:read", "devices": devices}
    hub.answers["GET", "/capabilities"] = (200, {"items": [item], "next": None})
    code, said = starloom(hub, "tools", "ls")
    assert code == 0
    assert said.splitlines()[-1].split() == ["fs.read", "read", "files:read", "desk", "Read"]
    hub.answers["GET", "/capabilities"] = (200, {"items": [], "next": None})
    assert typed("starloom enroll") in starloom(hub, "tools", "ls")[1]


def test_a_tool_names_the_devices_that_cannot_with_the_reason(hub: StubHub) -> None:
    devices: list[dict[str, Any]] = [
        {"id": "d-1", "name": "desk", "unavailable": None},
        {"id": "d-2", "name": "nas", "unavailable": "no grant"},
    ]
    item = {"tool": "fs.read", "title": "Read", "effects": ["read"], "grant": "files:read", "devices": devices}
    hub.answers["GET", "/capabilities"] = (200, {"items": [item], "next": None})
    for one in devices:
        offered = {"name": "fs.read", "args": {"description": "Give one\nfile."}, "returns": None}
        hub.answers["GET", f"/devices/{one['id']}"] = (200, {**one, "tools": [offered]})
    said = starloom(hub, "tools", "show", "fs.read")[1]
    assert "  devices: desk\n  not on nas: no grant\n" in said
    assert "  about: Give one file.\n  takes: nothing\n" in said
