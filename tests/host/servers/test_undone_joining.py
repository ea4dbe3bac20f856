"""A server whose agent joins and does not start: nothing is left at the hub, or the words say what and how to go on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.host.servers import enrolling, remote, ssh, tunnels

TARGET = ssh.Target("ann@box")
SERVER = remote.Server(
    python="3.11.2", venv=True, home="/h/.agent", writable=True, free_bytes=10**10, port=9, name="b", system="linux"
)
RECORD = tunnels.Record(
    destination="ann@box", hub_host="127.0.0.1", hub_port=1, remote_port=2, home="/h/.agent", device="box"
)
HUB = enrolling._Hub("http://127.0.0.1:1", "127.0.0.1", 1)
GONE = Problem("unreachable", "The hub does not answer", "", "", Exit.UNREACHABLE)


@dataclass
class Fleet:
    """The hub's side: one join code and the device that used it."""

    joined: bool = True
    takes_back: bool = True
    revoked: bool = False
    denied: bool = False
    asked: list[str] = field(default_factory=list)

    def create(self, call: Any, body: Any) -> Any:
        return {"id": "e1", "code": "SECR-ETCO"}

    def get(self, call: Any) -> Any:
        if "enrollment" in call.path:
            return {"state": "used" if self.joined else "open", "device": "d-box" if self.joined else ""}
        return {"id": "d-box", "name": "box", "revoked": self.revoked}

    def post(self, call: Any, body: Any = None) -> Any:
        self.asked.append(call.path)
        if "deny" in call.path:
            self.denied = True
        elif not self.takes_back:
            raise GONE
        else:
            self.revoked = True
        return {}


@dataclass
class Box:
    """The server's side: which of its commands work, and what it was asked."""

    fleet: Fleet
    joins: bool = True
    leaves: bool = True
    breaks_after_join: bool = False
    ran: list[str] = field(default_factory=list)

    async def run_there(self, target: ssh.Target, text: str, within_s: float) -> tuple[int, str, str]:
        step = next(step for step in ("SECR-ETCO", "install-service", "leave", "start") if step in text)
        self.ran.append(step)
        if step == "SECR-ETCO":
            if self.breaks_after_join:
                raise ssh.refused(target, "it did not finish within 240 s", "Look there")
            return (0, "", "") if self.joins else (1, "", "No space left on device")
        if step == "leave":
            self.fleet.revoked = self.leaves
            return (0, "", "") if self.leaves else (1, "", "it cannot leave")
        return 1, "no library libfoo", ""


def install(fleet: Fleet, box: Box, monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(enrolling, "run_there", box.run_there)
    client: Any = fleet
    with pytest.raises(Problem) as caught:
        asyncio.run(enrolling._install(client, enrolling.ServerEnrollment(TARGET), SERVER, RECORD, HUB))
    return caught.value


def test_an_agent_that_does_not_start_leaves_the_hub_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    box = Box(fleet)
    told = install(fleet, box, monkeypatch)
    assert box.ran == ["SECR-ETCO", "install-service", "start", "leave"]
    assert fleet.revoked
    assert fleet.asked == [], "the device said itself that it leaves"
    assert "no library libfoo" in told.reason
    assert "box has left again" in told.hint
    assert "same line again" in told.hint
    assert told.document["hint"] == told.hint, "with --json too"


def test_one_that_cannot_leave_is_revoked_at_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    told = install(fleet, Box(fleet, leaves=False), monkeypatch)
    assert fleet.revoked
    assert fleet.asked == ["/devices/d-box/revoke"]
    assert "box was revoked" in told.hint
    assert "same line again" in told.hint


def test_what_cannot_be_undone_is_named_with_the_lines_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(takes_back=False)
    told = install(fleet, Box(fleet, leaves=False), monkeypatch)
    assert not fleet.revoked
    assert "still a device of this hub" in told.hint
    assert "starloom device revoke box" in told.hint


def test_a_line_that_breaks_after_the_join_is_undone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    told = install(fleet, Box(fleet, breaks_after_join=True), monkeypatch)
    assert fleet.revoked
    assert "240 s" in told.reason
    assert "box has left again" in told.hint


def test_a_code_that_nobody_used_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(joined=False)
    box = Box(fleet, joins=False)
    told = install(fleet, box, monkeypatch)
    assert fleet.denied
    assert box.ran == ["SECR-ETCO"]
    assert "its disk is full" in told.reason
