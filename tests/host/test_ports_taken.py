"""The port of a service: one that another program has is refused with a free one, and a later start keeps it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import ClassVar

import pytest

from starloom.client.problems import Problem
from starloom.host import ports, supervisor
from starloom.host.supervisor import UpOptions, serve
from starloom.process.settings import Settings


@pytest.mark.parametrize(
    ("near", "way"), [(8480, "Port 8480 is free: make run PORT=8480"), (None, "Set one with --port.")]
)
def test_the_way_out_of_a_taken_port(
    near: int | None, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "free_near", lambda _host, _port: near)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Problem) as refused:
        serve(UpOptions(home=tmp_path, port=taken.getsockname()[1]))
    assert refused.value.hint.startswith(way)


class Ran:
    """Stands in place of the service: keeps the port that it would have had."""

    ports: ClassVar[list[int]] = []

    def __init__(self, settings: Settings, _wishes: UpOptions) -> None:
        self.ports.append(settings.port)

    async def run(self) -> int:
        return 0


def test_a_later_start_has_the_port_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that had joined went offline when the port of the first start was not typed again."""
    monkeypatch.setattr(supervisor, "Service", Ran)
    monkeypatch.delenv("STARLOOM_PORT", raising=False)
    monkeypatch.setattr(Ran, "ports", [])
    port, other = ports.free_port(), ports.free_port()
    for wished in (port, None, other, None):
        assert serve(UpOptions(home=tmp_path, port=wished)) == 0
    assert Ran.ports == [port, port, other, other]
    with socket.create_server(("127.0.0.1", other)), pytest.raises(Problem):
        serve(UpOptions(home=tmp_path))
