"""A port that another program has: the refusal names a free one only where there is one."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from starloom.client.problems import Problem
from starloom.host import ports
from starloom.host.supervisor import UpOptions, serve


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
