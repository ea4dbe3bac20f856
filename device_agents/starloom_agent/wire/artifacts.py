"""Transfer of artifacts between a tool process and the hub: HTTP, resumed by hash, retried until the deadline.

The address and the token of the current connection are in a file that the agent rewrites after each reconnect, so
every try reads it again. Bytes are never trusted: a fetched file is checked against its hash. No request carries a
reusable secret: each is authenticated with a key that never leaves this device, and so is the hub's answer.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import OutputPort, Sent, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_agent.wire.dialling import Route
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.channel import ANSWER_PROOF, answer_proof, request_proof

CHUNK_BYTES = 256 * 1024
"""A chunk must pass a slow line within one try, and a lost one is sent again."""
_TRY_TIMEOUT_S = 20.0
"""A line that moves nothing for so long is broken; the next try continues at its offset."""
_BACKOFF_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.0)
_SAID_BYTES_MAX = 4096
"""A refusal has some words; a stranger may send anything."""
_FREE_BYTES_KEPT = 16 * 1024 * 1024
"""A full disk would stop the ledger of the agent, and so every other call."""


class _Again(Exception):
    """This try failed on the way to the hub, but another one may succeed. A fault of this device is not one."""


@contextmanager
def _on_the_line() -> Iterator[None]:
    """Around what needs the hub alone: a fault of the connection is another try.

    Raises:
        _Again: the connection failed.
    """
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise _Again(str(error) or type(error).__name__) from error


def hash_file(file: BinaryIO) -> tuple[str, int]:
    """Return SHA-256 (hex) and size of an open file, read from its start."""
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hash_file(file)[0]


class HubArtifacts:
    """The artifact store of the hub, as one tool call uses it. `deadline` is a reading of `clock`."""

    def __init__(
        self,
        connection_file: Path,
        output: OutputPort,
        *,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._file = connection_file
        self._output = output
        self._deadline = deadline
        self._clock = clock
        self._sleep = sleep

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        try:
            sha256, size = hash_file(file)
        except OSError as error:
            raise ToolFailed(Code.FILE_NOT_FOUND, f"{name} cannot be read: {error}", effect=False) from error

        def report(done: int) -> None:
            self._output.progress(done_bytes=done, fraction=None, note=name)

        self._retry(f"sending {name}", lambda: self._put_once(file, sha256, size, name, sent or report))
        return {"artifact": sha256, "bytes": size, "name": name, "media": media}

    def fetch(self, sha256: str, into: Path) -> Path:
        target = into / sha256
        if target.exists() and _hash_of(target) == sha256:
            return target
        partial = into / f"{sha256}.part"
        self._retry(f"fetching {sha256[:12]}", lambda: self._fetch_once(sha256, partial))
        with plain(partial, "keeping"):
            if _hash_of(partial) != sha256:
                partial.unlink()
                reason = f"the bytes fetched for {sha256} have another hash"
                raise ToolFailed(Code.ARTIFACT_CORRUPT, reason, effect=False)
            partial.rename(target)
        return target

    def _retry(self, what: str, once: Callable[[], None]) -> None:
        tries = 0
        while True:
            try:
                once()
            except _Again as error:
                wait_s = _BACKOFF_S[min(tries, len(_BACKOFF_S) - 1)]
                tries += 1
                if self._clock() + wait_s >= self._deadline:
                    raise ToolFailed(Code.NETWORK, f"{what} failed after {tries} tries; the last: {error}") from error
                self._output.log(f"{what}: {error}; trying again in {wait_s:g} s")
                self._sleep(wait_s)
            else:
                return

    def _open(self) -> _Exchange:
        try:
            where = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _Again(f"the agent is not connected ({error})") from error
        route = Route(where["hub"], where.get("pin", ""), where.get("via", ""))
        return _Exchange(route, where["token"], bytes.fromhex(where["key"]))

    def _put_once(self, file: BinaryIO, sha256: str, size: int, name: str, sent: Sent) -> None:
        exchange = self._open()
        try:
            response = exchange.ask("HEAD", sha256)
            exchange.read(response)
            if response.status == 200:
                sent(size)
                return
            if response.status != 404:
                raise _refusal(response.status, f"HEAD {name}", b"")
            offset = _offset(response)
            while True:
                with plain(name, "reading"):
                    file.seek(offset)
                    chunk = file.read(min(CHUNK_BYTES, size - offset))
                if not chunk and offset < size:
                    detail = f"{name} became shorter while it was sent: it had {size} bytes, {offset} of them were left"
                    raise ToolFailed(Code.TOOL_FAILED, f"{detail}; send it when nothing writes it", effect=False)
                before, offset = offset, self._patch(exchange, sha256, offset, size, chunk, name)
                if offset == before < size:
                    raise _Again(f"the hub still wants the bytes from {offset} on")
                sent(offset)
                if offset >= size:
                    return
        finally:
            exchange.close()

    def _patch(self, exchange: _Exchange, sha256: str, offset: int, size: int, chunk: bytes, name: str) -> int:
        more = {
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": str(offset),
            "Upload-Length": str(size),
        }
        response = exchange.ask("PATCH", sha256, more, chunk)
        body = exchange.read(response)
        if response.status == 204:
            return _offset(response, offset + len(chunk))
        if response.status == 409 and response.getheader("Upload-Offset") is not None:
            return _offset(response)
        if response.status == 422:
            detail = f"{name} changed while it was sent, so nothing of it was kept. Send it when nothing writes it"
            raise ToolFailed(Code.ARTIFACT_CORRUPT, detail, effect=False)
        raise _refusal(response.status, f"sending {name} from byte {offset} on", body)

    def _fetch_once(self, sha256: str, partial: Path) -> None:
        exchange = self._open()
        try:
            with plain(partial, "looking at"):
                have = partial.stat().st_size if partial.exists() else 0
            response = exchange.ask("GET", sha256, {"Range": f"bytes={have}-"} if have else {})
            if response.status == 416:
                exchange.read(response)
                return
            if response.status not in (200, 206):
                raise _refusal(response.status, f"GET {sha256[:12]}", exchange.read(response))
            have = have if response.status == 206 else 0
            with plain(partial, "writing"):
                _judge_room(partial.parent, response.length or 0)
                with partial.open("ab" if have else "wb") as file:
                    self._take(exchange, response, file, have, sha256[:12])
                    file.flush()
                    os.fsync(file.fileno())
        finally:
            exchange.close()

    def _take(
        self, exchange: _Exchange, response: http.client.HTTPResponse, file: BinaryIO, have: int, name: str
    ) -> None:
        """Write the body of an answer to a file. An answer need not say how long it is.

        Raises:
            _Again: the connection ended before the body did; what came stays in the file.
        """
        length, done = response.length or 0, 0
        while chunk := exchange.read(response, CHUNK_BYTES):
            _judge_room(Path(file.name).parent, len(chunk))
            file.write(chunk)
            done += len(chunk)
            self._output.progress(done_bytes=have + done, fraction=None, note=name)
        if done < length:
            raise _Again(f"the connection ended after {done} of {length} bytes")


def _judge_room(folder: Path, needed_bytes: int) -> None:
    """Check that a folder has room and keeps some for the agent.

    Raises:
        ToolFailed: it does not.
    """
    if shutil.disk_usage(folder).free < needed_bytes + _FREE_BYTES_KEPT:
        raise ToolFailed(Code.NO_SPACE, f"{needed_bytes} bytes are needed in {folder}", effect=False)


def _refusal(status: int, what: str, body: bytes) -> Exception:
    """Return what a status means: another try for what may pass, a failure for what will not."""
    words = body.decode(errors="replace")[:300]
    if status == 422:
        return ToolFailed(Code.ARTIFACT_CORRUPT, f"{what}: the hub found other bytes than the hash names. {words}")
    if status == 413:
        return ToolFailed(Code.OUTPUT_TOO_BIG, f"{what}: the hub takes no file of this size. {words}", effect=False)
    if status == 507:
        return ToolFailed(Code.NO_SPACE, f"{what}: the hub has too little free space. {words}", effect=False)
    if status == 404:
        return ToolFailed(Code.FILE_NOT_FOUND, f"{what}: the hub does not have this artifact. {words}", effect=False)
    return _Again(f"{what} was answered with {status}. {words}")


class _Exchange:
    """Requests of one open session over one HTTP connection."""

    def __init__(self, route: Route, token: str, key: bytes) -> None:
        self._http = route.http(_TRY_TIMEOUT_S)
        self._prefix = f"{route.url.path.rstrip('/')}/aip/v1/artifacts/"
        self._token = token
        self._key = key
        self._response: http.client.HTTPResponse | None = None

    def close(self) -> None:
        # An answer that ends with its connection has taken the socket.
        if self._response is not None:
            self._response.close()
        self._http.close()

    def ask(
        self, method: str, sha256: str, headers: Mapping[str, str] = MappingProxyType({}), body: bytes | None = None
    ) -> http.client.HTTPResponse:
        """Send one request and return the answer, which is the hub's.

        Raises:
            _Again: the answer came from a stranger, or from a hub that does not know this session (any more).
        """
        proof = request_proof(
            self._key,
            method,
            sha256,
            offset=headers.get("Upload-Offset", ""),
            length=headers.get("Upload-Length", ""),
            span=headers.get("Range", ""),
        )
        sent = {**headers, "Authorization": f"Starloom {self._token} {proof}"}
        with _on_the_line():
            self._http.request(method, self._prefix + sha256, body=body, headers=sent)
            response = self._response = self._http.getresponse()
        expected = answer_proof(self._key, proof, response.status, response.getheader("Upload-Offset") or "")
        if not hmac.compare_digest((response.getheader(ANSWER_PROOF) or "").encode(), expected.encode()):
            raise _Again(f"the answer {response.status} to {method} does not prove to be the hub's")
        return response

    def read(self, response: http.client.HTTPResponse, most_bytes: int = _SAID_BYTES_MAX) -> bytes:
        """Return the next bytes of an answer.

        Raises:
            _Again: the connection failed.
        """
        with _on_the_line():
            return response.read(most_bytes)


def _offset(response: http.client.HTTPResponse, otherwise: int = 0) -> int:
    text = response.getheader("Upload-Offset")
    return int(text) if text is not None and text.isdecimal() else otherwise
