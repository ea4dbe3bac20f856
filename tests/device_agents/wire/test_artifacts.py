"""Artifacts over a real HTTP server that cuts connections: resumed by hash, never believed without it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.messages import CallSpec
from starloom_agent.toolkit.results import Stored
from starloom_agent.wire.artifacts import CHUNK_BYTES, HubArtifacts
from starloom_agent.work import registry
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.channel import ANSWER_PROOF, answer_proof, request_proof
from tests.device_agents.played_call import Call, Loop
from tests.served import Quiet, Served

KEY = b"the key of the agent's connection"


@dataclass
class Store:
    """What the server has; `cut_after` connections are cut in the middle of a body."""

    whole: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, bytearray] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    taken_bytes: int = 0
    ranges: list[str | None] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    proves: bool = True
    deaf: bool = False
    tells_length: bool = True
    closes: int = 0
    """After so many questions for a file it closes the connection, which it had promised to keep."""


def handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: bytes = b"", **headers: Any) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), str(value))
            self.prove(status, str(headers.get("Upload_Offset", "")))
            if store.tells_length or self.command != "GET":
                self.send_header("Content-Length", str(len(body)))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body)

        def prove(self, status: int, offset: str) -> None:
            """Check that the device made the request, and show that the hub answers."""
            given = self.headers
            store.said.append(given["Authorization"])
            asked = request_proof(
                KEY,
                self.command,
                self.sha256,
                offset=given["Upload-Offset"] or "",
                length=given["Upload-Length"] or "",
                span=given["Range"] or "",
            )
            assert given["Authorization"] == f"Starloom t1 {asked}"
            if store.proves:
                self.send_header(ANSWER_PROOF, answer_proof(KEY, asked, status, offset))

        @property
        def sha256(self) -> str:
            return self.path.rpartition("/")[2]

        def do_HEAD(self) -> None:
            if self.sha256 in store.whole:
                self.answer(200)
            else:
                self.answer(404, Upload_Offset=len(store.parts.get(self.sha256, b"")))
            if store.closes:
                store.closes -= 1
                self.close_connection = True

        def do_PATCH(self) -> None:
            part = store.parts.setdefault(self.sha256, bytearray())
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if store.deaf:
                self.answer(409, Upload_Offset=len(part))
                return
            if int(self.headers["Upload-Offset"]) != len(part):
                self.answer(409, Upload_Offset=len(part))
                return
            part += body
            store.taken_bytes += len(body)
            if store.cut_after and len(part) >= store.cut_after[0]:
                store.cut_after.pop(0)
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if len(part) == int(self.headers["Upload-Length"]):
                if hashlib.sha256(part).hexdigest() != self.sha256:
                    del store.parts[self.sha256]
                    self.answer(422, b"{}")
                    return
                store.whole[self.sha256] = bytes(part)
            self.answer(204, Upload_Offset=len(part))

        def do_GET(self) -> None:
            data = store.whole.get(self.sha256)
            if data is None:
                self.answer(404)
                return
            asked = self.headers["Range"]
            store.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if store.cut_after:
                end = store.cut_after.pop(0)
                self.send_response(206 if asked else 200)
                self.prove(206 if asked else 200, "")
                self.send_header("Content-Length", str(len(data) - start))
                self.end_headers()
                self.wfile.write(data[start:end])
                self.close_connection = True
                return
            self.answer(206 if asked else 200, data[start:])

    return Handler


class Silent:
    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None: ...

    def log(self, text: str) -> None: ...


class Shrinking(BytesIO):
    """A file that somebody cuts to `left` bytes as soon as it was read to its end."""

    def __init__(self, data: bytes, left: int) -> None:
        super().__init__(data)
        self._left = left
        self.reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        assert self.reads < 100, "it is read without end"
        found = super().read(size)
        if not found:
            self.truncate(self._left)
        return found


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def client(store: Store, tmp_path: Path) -> Iterator[HubArtifacts]:
    connection = tmp_path / "connection.json"
    ticks = iter(range(10_000))
    with Served(handler(store)) as served:
        connection.write_text(json.dumps({"hub": served.url, "token": "t1", "key": KEY.hex()}))
        yield HubArtifacts(connection, Silent(), deadline=8, clock=lambda: float(next(ticks)), sleep=lambda _: None)


def test_a_hub_that_is_gone_between_two_requests_does_not_end_the_process_of_a_tool(
    client: HubArtifacts, store: Store, tmp_path: Path
) -> None:
    store.closes = 4
    (tmp_path / "report.txt").write_bytes(b"x" * CHUNK_BYTES)
    loop = Loop(warm=False)
    spec = CallSpec(
        args=json.dumps({"paths": ["report.txt"]}),
        connection_file=str(tmp_path / "connection.json"),
        effectless=True,
        fence="1.2",
        module=registry.module_of()["artifact.put"],
        read=[str(tmp_path)],
        start_to_close_s=60.0,
        tool="artifact.put",
        workdir=str(tmp_path / "work"),
        write=[],
    )
    call = Call(loop, spec)
    try:
        ended = call.end()
    finally:
        call.close()
        loop.close()
    assert (ended.outcome, ended.detail) == (Outcome.OK, "")
    assert store.closes == 0
    assert list(store.whole.values()) == [b"x" * CHUNK_BYTES]


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.bin"
    path.write_bytes(bytes(range(256)) * 4096 + b"end")
    return path


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def put(client: HubArtifacts, path: Path, *, name: str, media: str) -> Stored:
    with path.open("rb") as file:
        return client.put(file, name=name, media=media)


def test_put_sends_once_and_knows_what_the_hub_has(client: HubArtifacts, store: Store, picture: Path) -> None:
    first = put(client, picture, name="p.bin", media="x/y")
    assert first == {"artifact": sha(picture), "bytes": picture.stat().st_size, "name": "p.bin", "media": "x/y"}
    assert store.whole[sha(picture)] == picture.read_bytes()
    put(client, picture, name="p.bin", media="x/y")
    assert store.taken_bytes == picture.stat().st_size


def test_put_goes_on_where_it_was_cut(client: HubArtifacts, store: Store, picture: Path) -> None:
    store.cut_after = [CHUNK_BYTES, 3 * CHUNK_BYTES]
    put(client, picture, name="p", media="x/y")
    assert store.whole[sha(picture)] == picture.read_bytes()
    assert store.taken_bytes == picture.stat().st_size


def test_an_answer_that_is_not_the_hubs_counts_for_nothing(
    client: HubArtifacts, store: Store, picture: Path, tmp_path: Path
) -> None:
    store.proves = False
    store.whole[sha(picture)] = picture.read_bytes()
    for attempt in (
        lambda: put(client, picture, name="p", media="x/y"),
        lambda: client.fetch(sha(picture), tmp_path),
    ):
        with pytest.raises(ToolFailed, match="does not prove to be the hub's") as failed:
            attempt()
        assert failed.value.code is Code.NETWORK
    assert KEY.hex() not in str(store.said)


def test_an_empty_file_is_a_file(client: HubArtifacts, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert put(client, path, name="empty", media="x/y")["bytes"] == 0
    assert store.whole[sha(path)] == b""


def test_fetch_goes_on_where_it_was_cut(client: HubArtifacts, store: Store, picture: Path, tmp_path: Path) -> None:
    store.whole[sha(picture)] = picture.read_bytes()
    store.cut_after = [1000]
    found = client.fetch(sha(picture), tmp_path)
    assert found.read_bytes() == picture.read_bytes()
    assert store.ranges == [None, "bytes=1000-"]


def test_other_bytes_are_not_believed(client: HubArtifacts, store: Store, picture: Path, tmp_path: Path) -> None:
    store.whole[sha(picture)] = b"x" + picture.read_bytes()[1:]
    with pytest.raises(ToolFailed) as failed:
        client.fetch(sha(picture), tmp_path)
    assert failed.value.code is Code.ARTIFACT_CORRUPT
    assert not (tmp_path / sha(picture)).exists()


def test_what_the_hub_does_not_have_is_said(client: HubArtifacts, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed) as failed:
        client.fetch("0" * 64, tmp_path)
    assert failed.value.code is Code.FILE_NOT_FOUND


def test_tries_end_at_the_deadline(tmp_path: Path, picture: Path) -> None:
    ticks = iter(range(100))
    client = HubArtifacts(
        tmp_path / "none.json", Silent(), deadline=5, clock=lambda: float(next(ticks)), sleep=lambda _: None
    )
    with pytest.raises(ToolFailed) as failed:
        put(client, picture, name="p", media="x/y")
    assert failed.value.code is Code.NETWORK
    assert "not connected" in failed.value.detail


def test_a_full_disk_is_no_fault_of_the_line(client: HubArtifacts, store: Store, picture: Path, tmp_path: Path) -> None:
    store.whole[sha(picture)] = picture.read_bytes()
    (tmp_path / f"{sha(picture)}.part").symlink_to("/dev/full")
    with pytest.raises(ToolFailed) as failed:
        client.fetch(sha(picture), tmp_path)
    assert failed.value.code is Code.NO_SPACE
    assert store.ranges == [None], "one request, and no other try"


def test_a_place_that_cannot_be_written_is_no_fault_of_the_line(
    client: HubArtifacts, store: Store, picture: Path, tmp_path: Path
) -> None:
    store.whole[sha(picture)] = picture.read_bytes()
    (tmp_path / f"{sha(picture)}.part").mkdir()
    with pytest.raises(ToolFailed, match=r"\.part failed") as failed:
        client.fetch(sha(picture), tmp_path)
    assert failed.value.code is Code.TOOL_FAILED
    assert len(store.ranges) <= 1


def test_an_answer_without_a_length_leaves_the_agent_its_room(
    client: HubArtifacts, store: Store, picture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.whole[sha(picture)] = picture.read_bytes()
    store.tells_length = False
    least = 16 * 1024 * 1024 + 3 * CHUNK_BYTES

    def usage(folder: Path) -> Any:
        taken = sum(one.stat().st_size for one in folder.glob("*.part"))
        return type("Usage", (), {"free": least - taken})

    monkeypatch.setattr("shutil.disk_usage", usage)
    with pytest.raises(ToolFailed, match="bytes are needed") as failed:
        client.fetch(sha(picture), tmp_path)
    assert failed.value.code is Code.NO_SPACE
    assert (tmp_path / f"{sha(picture)}.part").stat().st_size <= 3 * CHUNK_BYTES


class Failing(BytesIO):
    """A file whose disk fails once its hash is known."""

    failed = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if size == CHUNK_BYTES:
            self.failed += 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return found


def test_a_disk_that_fails_while_a_file_is_sent_is_no_fault_of_the_line(client: HubArtifacts, store: Store) -> None:
    file = Failing(b"x" * (2 * CHUNK_BYTES))
    with pytest.raises(ToolFailed, match="reading log failed") as failed:
        client.put(file, name="log", media="text/plain")
    assert failed.value.code is Code.TOOL_FAILED
    assert file.failed == 1
    assert store.whole == {}


@pytest.mark.parametrize("left", [0, 10, CHUNK_BYTES])
def test_a_file_that_shrinks_while_it_is_sent_is_refused(client: HubArtifacts, store: Store, left: int) -> None:
    with pytest.raises(ToolFailed, match=f"became shorter while it was sent: .*, {left} of them") as told:
        client.put(Shrinking(b"x" * (2 * CHUNK_BYTES + 1), left), name="log", media="text/plain")
    assert told.value.code is Code.TOOL_FAILED
    assert store.whole == {}


def test_an_upload_that_does_not_move_ends_at_its_deadline(client: HubArtifacts, store: Store) -> None:
    store.deaf = True
    with pytest.raises(ToolFailed, match="still wants the bytes from 0 on"):
        client.put(BytesIO(b"x" * 10), name="log", media="text/plain")


class Overwritten(BytesIO):
    """A file that somebody writes over in place as soon as it was read to its end."""

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if not found:
            with self.getbuffer() as held:
                held[:3] = b"new"
        return found


def test_a_file_that_is_overwritten_while_it_is_sent_is_named(client: HubArtifacts) -> None:
    with pytest.raises(ToolFailed) as told:
        client.put(Overwritten(b"old contents"), name="disk.img", media="x/y")
    assert told.value.code is Code.ARTIFACT_CORRUPT
    assert told.value.detail == (
        "disk.img changed while it was sent, so nothing of it was kept. Send it when nothing writes it"
    )
