"""The REST API as the command line uses it: one connection, problems raised, creating posts safe to repeat.

Knows HTTP and nothing about the display. Everything it raises is a `Problem`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import httpx
import msgspec

from starloom.client.calls import AnswerObject, Call, Delete, Get, Patch, Post, Put, lacks
from starloom.client.discovery import HubAddress, kept_by, renewed_token
from starloom.client.exits import Exit
from starloom.client.own_socket import OwnSocket
from starloom.client.problems import Problem, problem_of, unreachable, usage
from starloom.client.routes import get_devices
from starloom_protocol.stream.feed import Event, decode_event

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow
    from starloom_protocol.api.service import Items

A = TypeVar("A")

API = "/api/v1"
CONNECT_S = 5.0
ANSWER_S = 60.0
CREATE_TRIES = 4
"""A creating request has a key, so that it makes one thing however often it is sent."""
PATIENCE_S = 60.0
"""The time for which a person's command repeats reads while the hub is away, for example during a takeover."""
PAUSE_S = (0.2, 2.0)
"""The pause between two such reads: at first, and at most."""
RENEWAL_PAUSES_S = (0.1, 0.3, 0.6)
"""The hub writes its new token as soon as the old one has ended."""


class _EventPage(msgspec.Struct):
    items: list[msgspec.Raw]


_event_page = msgspec.json.Decoder(_EventPage)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


class Client:
    """A client of one hub. Not for use by several threads.

    Reads are tried again for `patience_s` while a reachable hub cannot answer; an unreachable one is not waited for,
    unless it has answered before.

    `acting` names the party it acts for, if that is not its token's holder: `assistant` narrows its rights at the hub.
    """

    def __init__(
        self,
        address: HubAddress,
        *,
        acting: str = "",
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = _say,
        patience_s: float = 0.0,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": "starloom-cli"}
        if address.token:
            headers["Authorization"] = f"Bearer {address.token}"
        if acting:
            headers["X-Starloom-Acting"] = acting
        self.address = address
        self._sleep = sleep
        self._now = now
        self._say = say
        self._patience_s = patience_s
        self._is_heard = False
        self._http = httpx.Client(
            base_url=address.url,
            headers=headers,
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            transport=transport or (OwnSocket(address.own.socket, address.own.file) if address.own else None),
            # The machine's certificates are read for TLS only: that takes longer than a request on a plain line.
            verify=str(address.ca) if address.ca else address.url.startswith("https:"),
            trust_env=False,
        )

    def close(self) -> None:
        self._http.close()

    @overload
    def get(self, call: Get[A], *, wait_s: float = 0, within_s: float = 0) -> A: ...

    @overload
    def get(self, call: str, *, wait_s: float = 0, within_s: float = 0, **params: Any) -> Any: ...

    def get(self, call: Get[Any] | str, *, wait_s: float = 0, within_s: float = 0, **params: Any) -> Any:
        """Return the answer of a read.

        `within_s` is how much longer than usual the hub may take. A path instead of a call, here and below, is for
        programs that have no type for the answer.
        """
        request: Get[Any] = (
            Get(call, params) if isinstance(call, str) else replace(call, query={**call.query, **params})
        )
        query = request.params | ({"wait_s": wait_s} if wait_s else {})
        timeout = ANSWER_S + wait_s + within_s
        return self._json(
            self._patiently(lambda: self._send("GET", API + request.path, params=query, timeout=timeout)), request.path
        )

    def names(self) -> dict[str, str]:
        """Return the names of devices by id; none where the fleet may not be read or cannot be now."""
        request = get_devices(all_=True)
        try:
            page: Items[DeviceRow] = self._json(
                self._send("GET", API + request.path, params=request.params), request.path
            )
        except Problem:
            return {}
        return {item["id"]: item["name"] for item in page["items"]}

    def _patiently(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        until, pause = self._now() + self._patience_s, PAUSE_S[0]
        is_told = False
        while True:
            try:
                response = ask()
            except Problem as problem:
                is_away = problem.exit_code is Exit.UNREACHABLE and self._is_heard
                if not is_away or self._now() + pause > until:
                    raise
                if not is_told:
                    self._say("the hub does not answer; trying again ...")
                    is_told = True
                self._sleep(pause)
                pause = min(pause * 2, PAUSE_S[1])
                continue
            if is_told:
                self._say("the hub is back")
            return response

    @overload
    def post(self, call: Post[A], body: Any = None, *, wait_s: float = 0) -> A: ...

    @overload
    def post(self, call: str, body: Any = None, *, wait_s: float = 0) -> Any: ...

    def post(self, call: Post[Any] | str, body: Any = None, *, wait_s: float = 0) -> Any:
        """POST once: a control or a question, which is not repeated automatically."""
        return self._once("POST", call, body, wait_s=wait_s)

    @overload
    def create(self, call: Post[A], body: Any, *, wait_s: float = 0, key: str | None = None) -> A: ...

    @overload
    def create(self, call: str, body: Any, *, wait_s: float = 0, key: str | None = None) -> Any: ...

    def create(self, call: Post[Any] | str, body: Any, *, wait_s: float = 0, key: str | None = None) -> Any:
        """POST with an Idempotency-Key (`key`, or a new one), again while the hub is away or overloaded.

        With `wait_s` the hub waits so long for an end before it answers.
        """
        key = key or uuid.uuid4().hex
        for attempt in range(1, CREATE_TRIES + 1):
            try:
                return self._once("POST", call, body, wait_s=wait_s, key=key)
            except Problem as problem:
                if attempt == CREATE_TRIES or problem.code not in ("hub_unreachable", "overloaded"):
                    raise
                self._sleep(0.5 * attempt)
        raise AssertionError("the loop returns or raises")

    @overload
    def patch(self, call: Patch[A], body: Any) -> A: ...

    @overload
    def patch(self, call: str, body: Any) -> Any: ...

    def patch(self, call: Patch[Any] | str, body: Any) -> Any:
        """Change some fields."""
        return self._once("PATCH", call, body)

    @overload
    def put(self, call: Put[A], body: Any) -> A: ...

    @overload
    def put(self, call: str, body: Any) -> Any: ...

    def put(self, call: Put[Any] | str, body: Any) -> Any:
        """Replace it."""
        return self._once("PUT", call, body)

    @overload
    def delete(self, call: Delete[A]) -> A: ...

    @overload
    def delete(self, call: str) -> Any: ...

    def delete(self, call: Delete[Any] | str) -> Any:
        """Remove it."""
        return self._once("DELETE", call, None)

    def _once(self, method: str, call: Call[Any] | str, body: Any, *, wait_s: float = 0, key: str | None = None) -> Any:
        path = call if isinstance(call, str) else call.path
        params = {"wait_s": wait_s} if wait_s else {}
        return self._json(self._send(method, API + path, params=params, json_body=body, key=key), path)

    def outside(self, path: str) -> tuple[int, Any]:
        """GET a path outside `/api/v1` (`/readyz`); any status is an answer."""
        response = self._send("GET", path, raises=False)
        try:
            return response.status_code, response.json()
        except ValueError:
            return response.status_code, response.text

    def require_agent_wheels(self) -> None:
        """Check that the hub has the agent that a join line installs.

        Raises:
            Problem: it has none, so a line from it would fail on the device.
        """
        status, answer = self.outside("/agent/wheels.json")
        if status != HTTPStatus.OK:
            problem = answer if isinstance(answer, dict) else {}
            raise usage(
                str(problem.get("reason") or "this hub has no agent to hand out"), str(problem.get("hint") or "")
            )

    def events(self, constellation: str, after: int, *, wait_s: float = 0, limit: int = 500) -> list[Event]:
        """Return events with a number above `after`, in order; with `wait_s` wait for the first that long."""
        params = {"after": after, "limit": limit, "wait_s": wait_s}
        path = f"{API}/constellations/{constellation}/events"
        response = self._send("GET", path, params=params, timeout=ANSWER_S + wait_s)
        return [decode_event(raw) for raw in _event_page.decode(response.content).items]

    def pages(self, call: Get[Items[A]], *, most: int) -> Iterator[A]:
        """Yield the items of a list over its pages, at most `most`."""
        cursor: str | None = None
        remaining = most
        while remaining > 0:
            more = {"cursor": cursor, "limit": min(remaining, 100)}
            page = self.get(replace(call, query={**call.query, **more}))
            yield from page["items"][:remaining]
            remaining -= len(page["items"])
            cursor = page.get("next")
            if not cursor:
                return

    def download(self, sha256: str, target: Path) -> int:
        """Save an artifact under its hash to a file, whole or not at all; return its bytes.

        A download that is cut continues as long as each try brings some bytes; they stay beside the target for the
        next call. Each download writes to a file of its own: of several at once, one continues what was left.

        Raises:
            Problem: the hub refused, or the bytes do not match the hash.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        kept_part = target.with_name(f"{target.name}.{sha256[:12]}.part")
        part = kept_part.with_suffix(f".{uuid.uuid4().hex[:8]}.part")
        with contextlib.suppress(OSError):
            kept_part.rename(part)
        try:
            count = self._download(sha256, part)
            part.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.replace(kept_part)
            raise
        return count

    def _download(self, sha256: str, part: Path) -> int:
        """Add what is missing of an artifact to a file of this download; return the bytes of the whole."""
        while True:
            have = part.stat().st_size if part.exists() else 0
            try:
                self._fetch(sha256, part, have)
                break
            except httpx.HTTPError as error:
                if not part.exists() or part.stat().st_size <= have:
                    raise self._no_answer(error) from error
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        count = part.stat().st_size
        if digest != sha256:
            part.unlink()
            raise problem_of(
                502,
                {
                    "code": "artifact_corrupt",
                    "title": "The bytes do not match their hash",
                    "reason": f"{count} bytes came, with hash {digest}",
                    "hint": "Fetch it again; run `starloom doctor` if it repeats.",
                },
            )
        return count

    def stream(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a GET under `/api/v1` as they come.

        Raises:
            Problem: the hub refused, or the connection was cut before the end.
        """
        try:
            with self._http.stream("GET", API + path) as response:
                if response.status_code >= 400:
                    response.read()
                    raise problem_of(response.status_code, _document(response))
                yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise self._no_answer(error) from error

    def _fetch(self, sha256: str, part: Path, have: int) -> None:
        """Add the missing bytes of an artifact to a partial file."""
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._http.stream("GET", f"{API}/artifacts/{sha256}", headers=headers) as response:
            if response.status_code == 416:
                return  # nothing is missing
            if response.status_code not in (200, 206):
                response.read()
                raise problem_of(response.status_code, _document(response))
            with part.open("ab" if response.status_code == 206 else "wb") as out:
                for chunk in response.iter_bytes():  # as it comes: what waits for a full chunk is lost by a cut
                    out.write(chunk)

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, Any] | None = None,
        json_body: Any = None,
        key: str | None = None,
        timeout: float = ANSWER_S,
        raises: bool = True,
    ) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        content: bytes | None = None
        if method in ("POST", "PATCH", "PUT"):
            headers["Content-Type"] = "application/json"
            content = json.dumps({} if json_body is None else json_body).encode()

        def build() -> httpx.Request:
            limits = httpx.Timeout(timeout, connect=CONNECT_S)
            return self._http.build_request(
                method, path, params=params or {}, content=content, headers=headers, timeout=limits
            )

        try:
            response = self._answer(build())
            # The hub did nothing with a request whose token it does not know, so it may be sent again.
            if response.status_code == HTTPStatus.UNAUTHORIZED and self._has_renewed():
                response = self._answer(build())
        except httpx.HTTPError as error:
            raise self._no_answer(error) from error
        self._is_heard = True
        if raises and response.status_code >= 400:
            raise self._refusal(response)
        return response

    def _refusal(self, response: httpx.Response) -> Problem:
        """Return the problem of a refusal; a token that a person gave is named by its place."""
        problem = problem_of(response.status_code, _document(response))
        if response.status_code == HTTPStatus.UNAUTHORIZED and (place := self.address.token_from):
            problem.hint = (
                f"The token is that of {place}. Without it a hub on this computer takes its own; for another hub "
                "ask one of its owners for a token (`starloom token create`)."
            )
        return problem

    def pause(self, pause_s: float) -> None:
        """Wait on the clock of this client before a question is asked again."""
        self._sleep(pause_s)

    def _has_renewed(self) -> bool:
        """Take the token by which the hub on this computer replaced its own, and tell whether there is one.

        The hub replaces it at once after it has ended.
        """
        for pause_s in (*RENEWAL_PAUSES_S, 0.0):
            token = renewed_token(self.address)
            if token is not None:
                self.address = replace(self.address, token=token)
                self._http.headers["Authorization"] = f"Bearer {token}"
                return True
            if not self.address.renews:
                return False
            self._sleep(pause_s)
        return False

    def _answer(self, request: httpx.Request) -> httpx.Response:
        """Send it; repeat a read once on a new connection, because the hub may have just closed an idle one."""
        try:
            return self._http.send(request)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            if request.method != "GET":
                raise
            return self._http.send(request)

    def _no_answer(self, error: httpx.HTTPError) -> Problem:
        cause = str(error) or type(error).__name__
        own_hub = self.address.own
        if own_hub is not None and own_hub.has_ended():
            reason = f"the hub at {self.address.url} does not run: its process {own_hub.pid} has ended"
            if keeper := kept_by(own_hub.home):
                return unreachable(
                    f"{reason}; `starloom up` (process {keeper}) starts it again",
                    "Wait a few seconds, then run this command again.",
                )
            start = f"starloom up --home {shlex.quote(str(own_hub.home))}"
            return unreachable(reason, f"Start it with `{start}`, or name another hub with --hub.")
        if "WRONG_VERSION_NUMBER" in cause:
            plain = self.address.url.replace("https://", "http://", 1)
            return unreachable(
                f"{self.address.url} (from {self.address.source}) answers without TLS",
                f"On the hub's own computer take {plain}; elsewhere the https address that `starloom up --lan` prints.",
            )
        return unreachable(
            f"{self.address.url} (from {self.address.source}) does not answer: {cause}",
            "Start the hub with `starloom up`, or name another with --hub.",
        )

    def _json(self, response: httpx.Response, path: str) -> Any:
        if not response.content:
            return {}
        tell = lacks(self.address.url, f"{response.request.method} {path}")
        try:
            return response.json(object_hook=lambda fields: AnswerObject(fields, tell))
        except ValueError as error:
            raise unreachable(
                f"{self.address.url} answered something that is not JSON", "Is this the address of a Starloom hub?"
            ) from error


def _document(response: httpx.Response) -> dict[str, Any]:
    try:
        document = response.json()
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    return {"title": f"The hub answered {response.status_code}", "reason": response.text[:200]}
