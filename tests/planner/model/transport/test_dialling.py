"""The addresses of an endpoint: all of one answer of the resolver are tried in turn, and no other is."""

from __future__ import annotations

import dataclasses
import socket
from typing import Any

import pytest

from starloom.planner.model.endpoints.endpoint import Endpoint
from starloom.planner.model.port import ModelFault, Turn
from starloom.planner.model.transport.dialling import resolve_once
from starloom.planner.model.transport.wire import WiredModel
from starloom_protocol.vocabulary import Code
from tests.models.modes import GOOD
from tests.models.server import fake_model

ASKED = [Turn("starloom", "How full is vm?")]
DEAD = "127.0.0.9"
"""Of this machine, and no server of the tests listens there."""


def answering(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Have the system name these addresses for every host; return the hosts that were asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        return [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


async def test_a_server_on_the_second_address_of_localhost_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_model(GOOD) as fake:
        asked = answering(monkeypatch, "::1", "127.0.0.1")
        reply = await WiredModel(Endpoint(f"http://localhost:{fake.port}/v1", "fake-1")).ask("Plan.", ASKED)
    assert "disk.usage" in reply.text
    assert asked == ["localhost"]
    assert fake.headers[0]["host"] == f"localhost:{fake.port}"
    assert len(fake.asked) == 1


async def test_a_name_that_changes_its_address_is_not_asked_for_again() -> None:
    answers = [[DEAD, "127.0.0.8"], ["127.0.0.1"]]

    async def resolve(*_: Any) -> list[str]:
        return answers.pop(0)

    async with fake_model(GOOD) as fake:
        model = WiredModel(Endpoint(f"http://models.test:{fake.port}/v1", "fake-1"), resolve)
        with pytest.raises(ModelFault) as raised:
            await model.ask("Plan.", ASKED)
    assert raised.value.fault.code == Code.MODEL_UNREACHABLE
    assert (fake.asked, len(answers)) == ([], 1)


async def test_a_call_that_breaks_off_behind_a_dead_address_was_sent() -> None:
    async def resolve(*_: Any) -> list[str]:
        return [DEAD, "127.0.0.1"]

    async with fake_model(dataclasses.replace(GOOD, close_after=20)) as fake:
        model = WiredModel(Endpoint(f"http://models.test:{fake.port}/v1", "fake-1"), resolve)
        with pytest.raises(ModelFault) as raised:
            await model.ask("Plan.", ASKED)
    assert len(fake.asked) == 1
    assert raised.value.input_tokens > 0


async def test_the_families_take_turns_and_the_number_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "2001:db8::1", "2001:db8::2", "2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3")
    assert await resolve_once("models.test", 443) == ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]
    answering(monkeypatch, "192.0.2.1")
    assert await resolve_once("models.test", 443) == ["192.0.2.1"]
