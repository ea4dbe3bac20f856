"""The answers of servers that the device's owner named: an answer that was cut off is no answer."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler

import pytest

from starloom_agent.toolkit.clients.http_streams import AddressFault, ask, chunks, connect
from tests.served import Quiet, Served


class _Cutting(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "8" if self.path == "/cut" else "7")
        self.end_headers()
        self.wfile.write(b"bob,100")


def _read(url: str) -> bytes:
    connection = connect(url, 10)
    try:
        return b"".join(chunks(ask(connection, "GET", url, {}), connection, time.monotonic() + 10))
    finally:
        connection.close()


def test_an_answer_that_is_cut_off_is_a_fault() -> None:
    with Served(_Cutting) as served:
        assert _read(f"{served.url}/whole") == b"bob,100"
        with pytest.raises(AddressFault, match=r"^its answer was cut off \(bytes missing: 1\)$"):
            _read(f"{served.url}/cut")
