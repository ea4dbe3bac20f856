"""Requests to one address that the owner of the device wrote: no redirect, no proxy, each body and each wait bounded.

Owns the HTTP of servers and agents that are reached over the network. An address that the other side names is never
asked. Decides nothing about what may be sent.
"""

from __future__ import annotations

import http.client
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from starloom_protocol.text.wording import quoted

BODY_BYTES_MOST: Final = 16 * 1024 * 1024
"""As much as one message of an MCP server may have (`mcp.conversation`)."""
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_READ_BYTES: Final = 64 * 1024


class AddressFault(Exception):
    """The address cannot be used, or its answer: why, in words."""


class CutOff(AddressFault):
    """The connection ended in the middle of an answer."""


def address_fault(url: str) -> str | None:
    """Return why a text is no address of a server, or None."""
    try:
        parsed = urllib.parse.urlsplit(url)
        parsed.port  # noqa: B018 - reading it judges it
    except ValueError as error:
        return f"{quoted(url[:200])} is not an address: {error}"
    if parsed.scheme not in ("http", "https") or not parsed.hostname:
        return f"{quoted(url[:200])} is not an address that begins with https:// or http://"
    if parsed.username or parsed.password:
        return "an address holds no user and no password; write them into headers"
    if parsed.fragment:
        return "an address of a server has no part after #"
    return None


def header_fault(name: str, value: str) -> str | None:
    """Return why a header of the owner cannot be sent, or None; its value may be a secret and is never in the words."""
    if _HEADER.fullmatch(name) and value.isprintable() and value.isascii():
        return None
    return f"{quoted(name[:60])} cannot be sent as a header"


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address."""
    parsed = urllib.parse.urlsplit(url)
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    return parsed.scheme, (parsed.hostname or "").lower(), port


def connect(url: str, within_s: float) -> http.client.HTTPConnection:
    """Return a connection to the host of an address; it is opened by its first request."""
    scheme, host, port = origin(url)
    make = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    return make(host, port, timeout=max(0.1, within_s))


def ask(
    connection: http.client.HTTPConnection, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
) -> http.client.HTTPResponse:
    """Send a request and return its answer, whatever its status but a redirect.

    Raises:
        AddressFault: there is no answer, or it sends to another address.
    """
    parsed = urllib.parse.urlsplit(url)
    path = urllib.parse.quote(parsed.path or "/", safe="/%:@!$&'()*+,;=-._~")
    query = urllib.parse.quote(parsed.query, safe="/?%:@!$&'()*+,;=-._~")
    all_headers = {"User-Agent": "starloom-agent", "Accept-Encoding": "identity", **headers}
    try:
        connection.request(method, f"{path}?{query}" if query else path, body=body, headers=all_headers)
        answer = connection.getresponse()
    except TimeoutError as error:
        raise AddressFault("no answer in time") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AddressFault(f"it cannot be reached: {error}") from error
    if 300 <= answer.status < 400:
        raise AddressFault("it sends to another address, which is not followed; name that one in the owner's file")
    return answer


def chunks(
    answer: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    deadline: float,
    silent_s: float | None = None,
) -> Iterator[bytes]:
    """Yield the body in parts until its end. `deadline` is monotonic; `silent_s` bounds the wait for each part.

    Raises:
        AddressFault: it takes too long, is too large, or is cut off.
    """
    size = 0
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise AddressFault("no answer in time")
        try:
            if connection.sock is not None:
                connection.sock.settimeout(left_s if silent_s is None else min(left_s, silent_s))
            part = answer.read1(_READ_BYTES)
        except TimeoutError as error:
            raise AddressFault("no answer in time") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise CutOff(f"its answer was cut off: {error}") from error
        if not part:
            if answer.length:
                raise AddressFault(f"its answer was cut off (bytes missing: {answer.length})")
            return
        size += len(part)
        if size > BODY_BYTES_MOST:
            raise AddressFault(f"an answer is larger than {BODY_BYTES_MOST} bytes")
        yield part


def is_stream(answer: http.client.HTTPResponse) -> bool:
    """Whether an answer is a stream of events."""
    return (answer.getheader("content-type") or "").partition(";")[0].strip() == "text/event-stream"


def events(parts: Iterator[bytes], on_id: Callable[[str], None] = lambda _: None) -> Iterator[bytes]:
    """Yield the data of each event of a stream; `on_id` hears the identity of each event that has one."""
    unread = b""
    data: list[bytes] = []
    for part in parts:
        unread += part
        *lines, unread = unread.split(b"\n")
        for ended in lines:
            line = ended.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif line.startswith(b"id:"):
                on_id(line[3:].removeprefix(b" ").decode("latin-1"))
            elif not line and data:
                text = b"\n".join(data)
                data = []
                if text.strip():
                    yield text
