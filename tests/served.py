"""A small HTTP server on a free port of this machine, which says nothing and ends with its test."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Quiet(BaseHTTPRequestHandler):
    """A handler that logs no request; it reads the whole body of one, and answers with one."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def given(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer; an underscore in the name of a header stands for its hyphen."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Served:
    """Serves from its making until `close`, or as a context. A client that hangs up is no error."""

    def __init__(
        self, handler: Callable[..., Any], *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
    ) -> None:
        self._server = ThreadingHTTPServer((address, 0), handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if tls is not None:
            # The handshake is made by the thread of each connection, so that a client that makes none blocks nobody.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_port
        self.url = f"http{'s' if tls is not None else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
