"""A stranger's listener on a port of TCP: it keeps every byte that it is given and answers nothing that is believed."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

from tests.waiting import until


def _listening(port: int) -> socket.socket | None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        return None
    listener.listen()
    return listener


class Squatter:
    """Holds a port of 127.0.0.1 while the body of a `with` runs; `heard` is what came, by connection."""

    def __init__(self, port: int) -> None:
        self._listener: socket.socket = until(lambda: _listening(port), f"port {port} is free")
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                opened, _ = self._listener.accept()
            except OSError:
                return
            with opened:
                opened.settimeout(2.0)
                try:
                    self.heard.append(opened.recv(64 * 1024))
                    opened.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"items": []}'[:-1])
                except OSError:
                    self.heard.append(b"")
