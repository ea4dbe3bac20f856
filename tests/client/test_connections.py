"""The connections to a hub: its own computer's socket alone, served by the right user; cut and idle ones."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from starloom.client import connections
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
    monkeypatch.setattr(connections, "peer_uid", lambda _: 12345)
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


def over_tcp(*answers: bytes) -> tuple[Client, list[bytes], threading.Thread]:
    """Return the client of a hub that gives each connection one answer and ends it, and what the hub heard."""
    heard: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with listener:
            for answer in answers:
                opened, _ = listener.accept()
                with opened:
                    heard.append(opened.recv(65536))
                    opened.sendall(answer)

    thread = threading.Thread(target=run)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/far"
    return Client(HubAddress(url, None, "test"), sleep=lambda _: None), heard, thread


def test_a_closed_connection_takes_no_second_request() -> None:
    made, heard, hub = over_tcp(ANSWER)
    assert made.get("/devices", all=True, q="a b&c") == {"items": []}
    hub.join()
    # A connection of before could be cut, and the client would not know whether the hub has stopped all.
    with pytest.raises(Problem, match="refused"):
        made.post("/stop-all")
    made.close()
    assert heard[0].startswith(b"GET /far/api/v1/devices?all=true&q=a+b%26c HTTP/1.1\r\n")


def test_an_answer_that_is_cut_is_none() -> None:
    cut = ANSWER.replace(b"13", b"14")
    made, heard, hub = over_tcp(cut, cut, cut)
    with pytest.raises(Problem, match="1 bytes before the end"):
        made.get("/devices")
    with pytest.raises(Problem):
        made.post("/stop-all")
    hub.join()
    assert len(heard) == 3


def test_a_name_in_any_script_is_written_out_in_the_path() -> None:
    made, heard, hub = over_tcp(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(Problem):
        made.get("/constellations/Grüße?a#b%20")
    hub.join()
    made.close()
    assert heard[0].startswith(b"GET /far/api/v1/constellations/Gr%C3%BC%C3%9Fe%3Fa%23b%20 HTTP/1.1\r\n")


def test_a_body_that_the_hub_does_not_read_is_refused_in_its_words(tmp_path: Path) -> None:
    refusal = b'HTTP/1.1 413 Too Large\r\nContent-Length: 25\r\n\r\n{"title": "1 MB at most"}'
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "hub.sock"))
        listener.listen()

        def run() -> None:
            opened, _ = listener.accept()
            with opened:
                opened.sendall(refusal)
                opened.shutdown(socket.SHUT_RD)
                answered.wait(60)

        answered = threading.Event()
        hub = threading.Thread(target=run)
        hub.start()
        made = client(tmp_path)
        with pytest.raises(Problem, match="1 MB at most"):
            made.post("/constellations", "x" * 20_000_000)
        answered.set()
        hub.join()
        made.close()
