"""A small HTTP server on a free port of this machine, which says nothing and ends with its test."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any


class Quiet:
    """The part of a handler by which it logs no request; it stands before the library's class."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


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

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
