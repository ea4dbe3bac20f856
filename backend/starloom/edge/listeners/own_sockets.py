"""The listeners for this computer's own user: Unix sockets in a private folder, each peer's user asked of the kernel.

`hub.sock` serves the command line and the local agent. `tunnel.sock` speaks TLS with the key of the hub's own
authority: ssh leads a server's port to it, so that a stranger on that port can show no certificate with the key that
the server's agent has pinned. Neither port of TCP is needed for either.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from starloom.edge.access.authority import Authority, Leaf
from starloom.edge.listeners.connections import BoundedHttp, Places
from starloom.edge.listeners.serving import SecondListener, server_config
from starloom.edge.web.shield import OWN_SOCKET
from starloom.process.sockets import make_private, socket_path
from starloom_protocol.wire.peer import peer_uid

FOLDER = Path("keys") / "tunnel"
RUN = Path("run")
HUB_SOCKET = "hub.sock"
TUNNEL_SOCKET = "tunnel.sock"
RENEW_EVERY_S = 24 * 3600.0
TUNNEL_NAME = "127.0.0.1"
"""The subject of the certificate of tunnels: agents dial the end of a tunnel, and pin the key."""
_log = logging.getLogger(__name__)


class OwnUserHttp(BoundedHttp):
    """A connection of this hub's own user, or of root; that of another user ends before a byte of it is read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        uid = peer_uid(transport.get_extra_info("socket"))
        if uid not in (os.geteuid(), 0):
            _log.warning("event=foreign_user uid=%s", uid)
            transport.abort()


def _noted(app: ASGIApp) -> ASGIApp:
    """Return the application, with a note for the shield that a request came by a socket of the hub."""

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[OWN_SOCKET] = True
        await app(scope, receive, send)

    return noted


@dataclass(frozen=True, slots=True)
class OwnPaths:
    """Where the sockets are, and the key that the certificate of tunnels carries."""

    hub: Path
    tunnel: Path
    tunnel_pin: str


class OwnSockets:
    """Both listeners of one hub process. `places` are shared with its other listeners."""

    def __init__(self, home: Path, now_ms: Callable[[], int], drain_s: float, places: Places | None = None) -> None:
        self._run = home.resolve() / RUN
        self._authority = Authority(home / FOLDER, now_ms)
        self._drain_s = drain_s
        self._http_places = places
        self._serving: list[tuple[SecondListener, asyncio.Task[None]]] = []
        self._paths: list[Path] = []
        self._renewing: asyncio.Task[None] | None = None

    async def open(self, app: ASGIApp) -> OwnPaths:
        """Listen on both; return where.

        Raises:
            OSError: a folder cannot be made or is not private, or a socket cannot be bound.
            ValueError: a key file of the authority is there and is not a key.
        """
        leaf = await asyncio.to_thread(self._authority.leaf, TUNNEL_NAME)
        hub = await self._listen(app, HUB_SOCKET, None)
        tunnel = await self._listen(app, TUNNEL_SOCKET, leaf)
        self._renewing = asyncio.create_task(self._renew(leaf), name="tunnel-certificate")
        return OwnPaths(hub, tunnel, leaf.pin)

    async def close(self) -> None:
        """End both; nothing of them is left."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        for server, _ in self._serving:
            server.should_exit = True
        await asyncio.gather(*(task for _, task in self._serving), return_exceptions=True)
        for path in self._paths:
            path.unlink(missing_ok=True)
        self._serving, self._paths = [], []

    async def _listen(self, app: ASGIApp, name: str, leaf: Leaf | None) -> Path:
        path = socket_path(self._run, name)
        make_private(path.parent)
        config = server_config(
            _noted(app),
            host="",
            port=0,
            drain_s=self._drain_s,
            certificate=leaf.chain if leaf else None,
            key=leaf.key if leaf else None,
            http=OwnUserHttp,
            places=self._http_places,
            uds=path,
        )
        server = SecondListener(config)
        serving = asyncio.create_task(server.serve(), name=name)
        while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        if serving.done():
            serving.result()
        self._serving.append((server, serving))
        self._paths.append(path)
        path.chmod(0o600)
        return path

    async def _renew(self, leaf: Leaf) -> None:
        """Renew the certificate with the same key; connections that are open keep the old one."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            try:
                fresh = await asyncio.to_thread(self._authority.leaf, TUNNEL_NAME)
            except (OSError, ValueError) as error:
                _log.warning("event=tunnel_certificate_not_renewed reason=%s", error)
                continue
            context = self._serving[-1][0].config.ssl
            if fresh != leaf and context is not None:
                context.load_cert_chain(fresh.chain, fresh.key)
                leaf = fresh
