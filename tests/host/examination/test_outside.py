"""The hub's public address, tried as a stranger would: what a proxy may do wrong, with the fix."""

from __future__ import annotations

import http
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from starloom.edge.access.authority import Authority
from starloom.edge.access.guard import UPLOAD_MAX
from starloom.host.examination.outside import look_from_outside
from starloom.host.ports import free_port
from starloom.process.settings import Settings


class Front:
    """A public address: answers requests as told, and opens sockets or not."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.status, self.body, self.sockets = 200, "{}", True
        self.headers: dict[str, str] = {}
        self.server: Server = serve(self._serve, "127.0.0.1", 0, process_request=self._request, ssl=context)
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
        (421, '{"code": "bad_host"}', {}, "proxy_set_header Host $http_host"),
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


def test_a_certificate_that_is_not_trusted_hides_no_other_fault(tmp_path: Path) -> None:
    leaf = Authority(tmp_path / "ca", lambda: round(time.time() * 1000)).leaf("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf.chain, leaf.key)
    front = Front(context)
    try:
        front.status, front.body = 421, '{"code": "bad_host"}'
        found = told(front.url.replace("http://", "https://"))
    finally:
        front.close()
    assert (found["outside encryption"][0], "SSL_CERT_FILE" in found["outside encryption"][2]) == (False, True)
    assert (found["outside address"][0], "$http_host" in found["outside address"][2]) == (False, True)


def test_the_printed_proxies_pass_the_host_on_with_its_port() -> None:
    """A Host without its port is refused at another port than 443, and so is an upload above nginx's 1 MiB."""
    block = (Path(__file__).parents[3] / "docs/reach.md").read_text().partition("nginx:")[2].partition("```\n\n")[0]
    assert "proxy_set_header Host $http_host;" in block
    assert f"client_max_body_size {UPLOAD_MAX // 2**20}m;" in block


def test_an_address_where_nobody_is() -> None:
    good, said, fix = told(f"http://127.0.0.1:{free_port()}")["outside address"]
    assert (good, "cannot be connected to" in said, "port open" in fix) == (False, True, True)


def test_no_public_address_is_no_fault_of_a_hub_for_this_computer() -> None:
    good, said, fix = told(None)["outside"]
    assert (good, "ssh tunnel" in said, "STARLOOM_PUBLIC_URL" in fix) == (True, True, True)
