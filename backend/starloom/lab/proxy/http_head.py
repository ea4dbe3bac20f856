"""A reader of the requests on one HTTP/1.1 connection in passing: heads, bodies by length, an upgrade. Pure.

Rewrites `Host` to a given value and changes nothing else; every other byte comes out again in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HEAD_BYTES_MAX = 64 * 1024
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes to pass on; `body` says that they belong to the body of `method` `path`."""

    data: bytes
    method: str = ""
    path: str = ""
    body: bool = False
    upgraded: bool = False


class HeadReader:
    """The state of one connection. After an upgrade, or anything that is not HTTP/1.1, all bytes pass unchanged.

    With `raw` they do from the first byte: without an expected head, none must be waited for.
    """

    def __init__(self, host: str, *, raw: bool = False) -> None:
        self._host = host.encode()
        self._unread = b""
        self._body_left = 0
        self._method = ""
        self._path = ""
        self._raw = raw
        self._upgraded = False

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Yield the pieces that can be passed on now; an unfinished head is kept until it is whole."""
        data = self._unread + data
        self._unread = b""
        while data:
            if self._raw:
                yield Piece(data, upgraded=self._upgraded)
                return
            if self._body_left:
                body, data = data[: self._body_left], data[self._body_left :]
                self._body_left -= len(body)
                yield Piece(body, self._method, self._path, body=True)
                continue
            head, end, rest = data.partition(_END)
            if not end:
                if len(data) > HEAD_BYTES_MAX:
                    self._raw = True
                    continue
                self._unread = data
                return
            yield Piece(self._take_head(head) + _END, self._method, self._path, upgraded=self._upgraded)
            data = rest

    def _take_head(self, head: bytes) -> bytes:
        lines = head.split(b"\r\n")
        words = lines[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._raw = True
            return head
        self._method, self._path = words[0], words[1].partition("?")[0]
        self._body_left = 0
        for index, line in enumerate(lines[1:], start=1):
            name, _, value = line.partition(b":")
            match name.strip().lower():
                case b"host":
                    lines[index] = name + b": " + self._host
                case b"content-length":
                    self._body_left = int(value)
                case b"transfer-encoding":
                    self._raw = True
                case b"upgrade":
                    self._raw = self._upgraded = True
        return b"\r\n".join(lines)
