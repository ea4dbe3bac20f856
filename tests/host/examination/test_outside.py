"""The hub's public address, tried as a stranger would: what a proxy may do wrong, with the fix."""

from __future__ import annotations

import http
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from starloom.host.examination.outside import look_from_outside
from starloom.host.ports import free_port
from starloom.process.settings import Settings


class Front:
    """A public address: answers requests as told, and opens sockets or not."""

    def __init__(self) -> None:
        self.status, self.body, self.sockets = 200, "{}", True
        self.headers: dict[str, str] = {}
        self.server: Server = serve(self._serve, "127.0.0.1", 0, process_request=self._request)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}"

    def _serve(self, socket: ServerConnection) -> None:
        for _ in socket:
            pass

    def _request(self, socket: ServerConnection, request: Request) -> Response | None:
        if "Upgrade" in request.headers and self.sockets:
            return None
        answer = socket.respond(http.HTTPStatus(self.status), self.body)
        for name, value in self.headers.items():
            answer.headers[name] = value
        return answer

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()


@pytest.fixture
def front() -> Iterator[Front]:
    made = Front()
    yield made
    made.close()


def told(url: str | None, **more: Any) -> dict[str, tuple[bool, str, str]]:
    return {
        found.subject: (found.good, found.words, found.fix)
        for found in look_from_outside(Settings(public_url=url, **more))
    }


def test_an_address_that_is_right(front: Front) -> None:
    found = told(front.url)
    assert found["outside address"][0]
    assert found["outside sockets"][0]
    assert not found["outside encryption"][0]


@pytest.mark.parametrize(
    ("status", "body", "headers", "fix"),
    [
        (421, '{"code": "bad_host"}', {}, "proxy_set_header Host"),
        (502, "Bad Gateway", {}, "upstream"),
        (301, "", {"Location": "https://star.example.org/"}, "address it ends at"),
        (404, "nothing", {}, "lead to this machine"),
    ],
)
def test_what_a_proxy_does_wrong(front: Front, status: int, body: str, headers: dict[str, str], fix: str) -> None:
    front.status, front.body, front.headers = status, body, headers
    found = told(front.url)
    assert list(found) == ["outside address"]
    assert (found["outside address"][0], fix in found["outside address"][2]) == (False, True)


def test_a_proxy_that_lets_no_sockets_through(front: Front) -> None:
    front.sockets = False
    good, said, fix = told(front.url)["outside sockets"]
    assert not good
    assert "instead of a socket" in said
    assert "Upgrade" in fix


def test_an_address_where_nobody_is() -> None:
    good, said, fix = told(f"http://127.0.0.1:{free_port()}")["outside address"]
    assert (good, "cannot be connected to" in said, "port open" in fix) == (False, True, True)


def test_no_public_address_is_no_fault_of_a_hub_for_this_computer() -> None:
    good, said, fix = told(None)["outside"]
    assert (good, "ssh tunnel" in said, "STARLOOM_PUBLIC_URL" in fix) == (True, True, True)
