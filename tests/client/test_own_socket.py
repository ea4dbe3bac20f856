"""The way of the command line to its own hub: the socket alone, served by the right user."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from starloom.client import own_socket
from starloom.client.discovery import HubAddress, OwnHub
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.rest import Client

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"items": []}'


@contextmanager
def served(path: Path, answer: bytes) -> Iterator[list[bytes]]:
    """Listen on a socket and answer one connection; yield what it said."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            opened, _ = listener.accept()
            with opened:
                while said := opened.recv(65536):
                    heard.append(said)
                    opened.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        yield heard
        thread.join()


def client(folder: Path, started_s: float | None = None, url: str = "http://127.0.0.1:8470") -> Client:
    file = folder / "local.json"
    file.touch()
    began_s = psutil.Process().create_time() if started_s is None else started_s
    own = OwnHub(file, folder / "hub.sock", folder / "tunnel.sock", "", os.getpid(), began_s)
    return Client(HubAddress(url, "slt_a_b", str(file), own=own), sleep=lambda _: None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8470", "https://127.0.0.1:8470"])
def test_requests_go_over_the_socket(tmp_path: Path, url: str) -> None:
    with served(tmp_path / "hub.sock", ANSWER) as heard:
        made = client(tmp_path, url=url)
        assert made.get("/devices") == {"items": []}
        assert made.get("/devices") == {"items": []}
        made.close()
    assert b"Bearer slt_a_b" in heard[0]
    assert b"Host: 127.0.0.1:8470" in heard[0]


def test_a_socket_of_another_user_is_told_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_socket, "peer_uid", lambda _: 12345)
    with served(tmp_path / "hub.sock", b"") as heard:
        made = client(tmp_path)
        with pytest.raises(Problem, match="served by another user") as caught:
            made.get("/devices")
        made.close()
    assert heard == []
    assert caught.value.exit_code is Exit.UNREACHABLE


@pytest.mark.parametrize("left_behind", [False, True])
def test_no_hub_is_told_plainly(tmp_path: Path, left_behind: bool) -> None:
    if left_behind:
        (tmp_path / "hub.sock").touch()
    made = client(tmp_path, started_s=0.0)
    with pytest.raises(Problem) as caught:
        made.create("/constellations", {})
    made.close()
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert "does not run" in str(caught.value)
