"""A hub that a function plays: what the client sends becomes a request of httpx, whose answers are short to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from starloom.client.connections import Answer, Cut, NoAnswer, Request

URL = "http://127.0.0.1:8470"


class Answered:
    """The transport of a client that `answer` answers; its faults become those of connections."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response], url: str = URL) -> None:
        self._answer = answer
        self._url = url

    def send(self, request: Request) -> Answer:
        asked = httpx.Request(
            request.method, self._url + request.target, headers=dict(request.headers), content=request.content
        )
        with _as_connections():
            response = self._answer(asked)
        return Answer(response.status_code, _body(response))

    def close(self) -> None:
        """Nothing is open."""


def _body(response: httpx.Response) -> Iterator[bytes]:
    with _as_connections():
        yield from response.iter_bytes()


@contextmanager
def _as_connections() -> Iterator[None]:
    try:
        yield
    except (httpx.ReadError, httpx.RemoteProtocolError) as error:
        raise Cut(str(error)) from error
    except httpx.HTTPError as error:
        raise NoAnswer(str(error)) from error
