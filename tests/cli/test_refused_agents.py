"""Devices whose agent the hub refuses, in the list of `starloom devices`."""

from __future__ import annotations

from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]


def test_an_agent_that_the_hub_refuses_is_not_merely_offline(hub: StubHub) -> None:
    shown = {"link": "offline", "os": "linux", "profile": "work", "revoked": False, "slots": 4, "version": "0.0.9"}
    facts = {"program": "/home/ann/.starloom-agent/venv/bin/starloom-agent"}
    rows = [("old", "agent_too_old"), ("newer", "hub_too_old"), ("off", "")]
    items = [
        {**shown, "id": f"d-{name}", "name": name, "refused": refused, "older_than": "0.2.0", "facts": facts}
        for name, refused in rows
    ]
    hub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
    code, said = starloom(hub, "devices")
    assert code == 0
    links = {line.split()[0]: line.split()[1] for line in said.splitlines() if " linux " in line}
    assert links == {"old": "refused", "newer": "refused", "off": "offline"}
    assert f"old is refused: its agent is too old for this hub\n  type there: {facts['program']} upgrade" in said
    assert "newer is refused: this hub is too old for its agent\n  Update the hub." in said
    assert "off runs agent 0.0.9, older than this hub (0.2.0)" in said
    assert "old runs agent" not in said


def test_a_device_whose_clock_is_off_is_named(hub: StubHub) -> None:
    shown = {"link": "online", "os": "linux", "profile": "work", "revoked": False, "tools": [], "version": "0.1.0"}
    item = {**shown, "id": "d-nas", "name": "nas", "older_than": "", "facts": {}, "condition": {"clock": "-7200"}}
    hub.answers["GET", "/devices"] = (200, {"items": [item], "next": None})
    assert "nas has a clock that is 2 h 0 min behind the hub's: times of its files" in starloom(hub, "devices")[1]


def test_an_agent_of_another_build_than_that_of_the_hub_is_named(hub: StubHub) -> None:
    shown = {"link": "online", "os": "linux", "profile": "work", "revoked": False, "tools": [], "version": "0.1.0"}
    builds = {"own": "aaaaaaaa", "same": "aaaaaaaa", "other": "bbbbbbbb"}
    items = [
        {**shown, "id": name, "name": name, "older_than": "", "facts": {"build": build}, "hub_computer": name}
        for name, build in builds.items()
    ]
    hub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
    code, said = starloom(hub, "devices")
    assert (code, said.count("another build")) == (0, 1)
    assert "other runs another build of agent 0.1.0 (bbbbbbbb) than own (aaaaaaaa)" in said
    assert "type there: starloom-agent upgrade --again" in said
