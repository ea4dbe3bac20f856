"""Joining a hub: show it the code and this device's key, compare the words, wait for the person who approves.

Makes plain HTTP requests, also for other commands; every refusal is reported with its reason. Writes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from starloom_agent.home.directory import Joined
from starloom_agent.home.identity import Identity
from starloom_agent.wire.dialling import Route
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire.session import WORDS_HEADER, WORDS_ONCE, short_words

_ASK_EVERY_S = 2.0
"""A person reads and compares words meanwhile; the answer is seen soon after the click."""
_TIMEOUT_S = 15.0
"""A person waits at the terminal; a hub in reach answers within a second."""
_SILENCE_MOST_S = 600.0
"""As long as a join code is good where its person chose no other time; the hub may be restarted meanwhile."""
_PASSING_STATUS = 500
"""From here on it is a hub that starts or is overloaded, or something before it that cannot reach it."""
_TOO_MANY = 429
_ANSWER_BYTES_MAX = 64 * 1024
"""The hub is not proved yet: its answer is a small object, and a stranger may send anything."""


class JoinRefused(Exception):
    """The hub refuses the device, or cannot be reached; the text says why and what to do.

    `code` is that of the hub's own refusal; empty where this side refuses, or nobody answers.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


class HubSilent(JoinRefused):
    """The hub gives no answer now; it may give one later."""


@dataclass(frozen=True)
class Asked:
    """The request of a device to join a hub."""

    code: str
    name: str
    os: str
    profile: Profile
    labels: tuple[str, ...] = ()


def hub_address(url: str) -> str:
    """Return the hub's address without a path of its pages.

    Raises:
        JoinRefused: if it is not an http(s) address.
    """
    fault = f"{url} is not the address of a hub; it looks like http://192.168.1.10:8470"
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        parts.port  # noqa: B018 - reading it judges it
    except ValueError as error:
        raise JoinRefused(f"{fault} ({error})") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise JoinRefused(fault)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def request(route: Route, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the JSON answer.

    Raises:
        JoinRefused: with the hub's own reason and hint, or why it cannot be reached.
    """
    status, raw = _exchange(route, method, path, body, _ANSWER_BYTES_MAX)
    return _answer(route, status, raw)


def download(route: Route, path: str, most_bytes: int) -> bytes:
    """Return the bytes of one file that the hub serves.

    Raises:
        JoinRefused: with the hub's own reason, why it cannot be reached, or because the file is larger.
    """
    status, raw = _exchange(route, "GET", path, None, most_bytes + 1)
    if status >= 400:
        _answer(route, status, raw)
    if len(raw) > most_bytes:
        raise JoinRefused(f"{route.hub}{path} is larger than the {most_bytes} bytes that it may have")
    return raw


def _exchange(route: Route, method: str, path: str, body: dict[str, Any] | None, most_bytes: int) -> tuple[int, bytes]:
    """Send one request; return the status and as much of the answer as it may have."""
    hub = route.hub
    connection = route.http(_TIMEOUT_S)
    try:
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json", WORDS_HEADER: WORDS_ONCE}
        connection.request(method, route.url.path + path, body=data, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(most_bytes)
    except ssl.SSLCertVerificationError as error:
        reason = getattr(error, "verify_message", "") or str(error.args[-1])
        clock = ". Is this device's clock right?" if "valid" in reason else ""
        raise JoinRefused(f"{hub} is not trusted: {reason}{clock}") from error
    except (OSError, http.client.HTTPException) as error:
        through = f" through the tunnel at {route.via}" if route.via else ""
        raise HubSilent(
            f"{hub} does not answer{through}: {error or type(error).__name__}. Is `starloom up` running?"
        ) from error
    finally:
        connection.close()


def _answer(route: Route, status: int, raw: bytes) -> dict[str, Any]:
    """Return the JSON of an answer.

    Raises:
        JoinRefused: if the hub refuses; HubSilent if another try may succeed.
    """
    try:
        answer = json.loads(raw)
    except ValueError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    if status >= 400:
        reason = answer.get("reason") or answer.get("detail") or answer.get("title") or f"HTTP status {status}"
        passing = status >= _PASSING_STATUS or status == _TOO_MANY
        raise (HubSilent if passing else JoinRefused)(
            f"{route.hub} refuses: {reason}. {answer.get('hint', '')}".strip(), str(answer.get("code", ""))
        )
    return answer


def words_of(hub_key: str, key: str, code: str, *, repeats: bool = False) -> str:
    """Return the six words as this side works them out itself; of the code, case, spaces and dashes do not count.

    `repeats`: by the rule of an older hub, in which a word may come twice.
    """
    plain = "".join(char for char in code.upper() if char.isalnum()).replace("0", "O").replace("1", "I")
    hashed = hashlib.sha256(plain.encode()).digest()
    return short_words(base64.b64decode(hub_key), base64.b64decode(key), hashed, repeats=repeats)


def join(
    route: Route,
    request_to_join: Asked,
    identity: Identity,
    *,
    say: Callable[[str], None],
    joined_key: str = "",
    keep_limit: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Joined:
    """Ask to join and wait for the answer; shows the words meanwhile. The hub may be out of reach for a while.

    `joined_key` is the key of the only hub that may answer, if this device has joined one. `keep_limit` is given the
    profile that the code allowed at most; a hub of an older version names none.

    Raises:
        JoinRefused: denied, expired, a bad code, words that differ, or no hub.
    """
    body: dict[str, Any] = {
        "code": request_to_join.code,
        "key": identity.key,
        "name": request_to_join.name,
        "os": request_to_join.os,
        "profile": request_to_join.profile.value,
    }
    if request_to_join.labels:  # a hub of an older version knows no such field
        body["labels"] = list(request_to_join.labels)
    hub = route.hub
    answer = request(route, "POST", "/agent/join", body)
    hub_key = str(answer.get("hub_key", ""))
    if not hub_key:
        raise JoinRefused(f"{hub} named no key of its own; it may be older than this agent")
    if joined_key not in ("", hub_key):
        raise JoinRefused(
            f"{hub} has another key than the hub that this device has joined at this address; type first: "
            "starloom-agent leave, or add --yes"
        )
    enrollment = str(answer.get("enrollment", ""))
    words = words_of(hub_key, identity.key, request_to_join.code)
    older = words_of(hub_key, identity.key, request_to_join.code, repeats=True)
    if answer.get("words") == older:
        words = older  # the hub's screen shows these
    elif answer.get("words") and answer["words"] != words:
        raise JoinRefused(
            "the hub's words do not match the keys that were exchanged: somebody may be intercepting the connection"
        )
    if answer.get("state") == "asking":
        say(f"Compare these words with those on the hub's screen, and approve the device there:\n\n    {words}\n")
        answer = _decided(route, enrollment, say, sleep, clock)
    if answer.get("state") not in ("approved", "used"):
        raise JoinRefused(
            f"{hub} did not let this device in: {answer.get('reason') or answer.get('state') or 'no reason'}"
        )
    name = str(answer.get("name") or request_to_join.name)
    labels = [str(label) for label in answer.get("labels") or []]
    missing = [label for label in request_to_join.labels if label not in labels]
    if missing:
        say(
            f"The labels {', '.join(missing)} were not taken, because nobody saw the request. "
            f"At the hub: starloom device label {name} LABEL"
        )
    keep_limit(str(answer.get("profile_most") or ""))
    return Joined(hub=hub, hub_key=hub_key, name=name, pin=route.pin, via=route.via)


def _decided(
    route: Route,
    enrollment: str,
    say: Callable[[str], None],
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> dict[str, Any]:
    """Return the answer of the hub once a person has decided, or the code has expired there.

    Raises:
        JoinRefused: the hub refuses, or was silent for too long.
    """
    silent_since: float | None = None
    while True:
        sleep(_ASK_EVERY_S)
        try:
            answer = _pairing(route, enrollment)
        except HubSilent as fault:
            now = clock()
            if silent_since is None:
                silent_since = now
                say(f"{fault} This device keeps asking.")
            elif now - silent_since >= _SILENCE_MOST_S:
                minutes = round(_SILENCE_MOST_S / 60)
                reason = (
                    f"{fault} It has not answered for {minutes} minutes; once it does, join again with the same code."
                )
                raise JoinRefused(reason) from fault
            continue
        silent_since = None
        if answer["state"] != "asking":
            return answer


def _pairing(route: Route, enrollment: str) -> dict[str, Any]:
    """Return the state of a pairing.

    Raises:
        JoinRefused: if the hub refuses; HubSilent if it does not answer, or a page of the network does for it.
    """
    answer = request(route, "GET", f"/agent/join/{quote(enrollment, safe='')}")
    if "state" not in answer:
        raise HubSilent(f"{route.hub} does not answer: something else does at its address.")
    return answer
