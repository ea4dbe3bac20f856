"""The second listener, for phones and computers of the same network: HTTPS on one address, opened by the owner.

It follows the machine: another address or a certificate near its end means a new leaf with the same key. The allowed
Host and Origin grow by exactly this listener while it is open. Whether it was opened is kept in a file of the home.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil
from starlette.types import ASGIApp

from starloom.edge.access.authority import Authority, Leaf, NotPrivate, is_private
from starloom.edge.listeners.connections import Places
from starloom.edge.listeners.serving import SecondListener, server_config
from starloom.edge.web.problems import Problem
from starloom.edge.web.shield import Reach
from starloom_protocol.vocabulary import Code

FOLLOW_EVERY_S = 10.0
"""A laptop that changes its network is reachable again after this time; looking costs one list of addresses."""
_IP = (socket.AF_INET, socket.AF_INET6)
FOLDER = Path("keys") / "lan"
OPENED_FILE = FOLDER / "opened"
WARNING = (
    "The browser says once that the connection is not private, because this hub made its certificate itself. "
    "Open the details, compare the address, and go on."
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LanState:
    """The state of the listener. Without a `leaf` it is closed; `fault` says why it could not be opened or moved."""

    wanted: bool = False
    url: str = ""
    leaf: Leaf | None = None
    fault: str = ""


class Lan(Protocol):
    """The interface of the listener for routes."""

    @property
    def state(self) -> LanState: ...

    @property
    def authority_file(self) -> Path | None: ...

    async def open(self) -> LanState:
        """Open it, and again at every start; does nothing when it is open.

        Raises:
            Problem: it cannot be opened; it stays closed.
        """
        ...

    async def close(self) -> LanState:
        """Close it and cut its connections."""
        ...


class NoLan:
    """A hub that has no such listener to open."""

    state = LanState()
    authority_file: Path | None = None

    async def open(self) -> LanState:
        raise Problem(Code.CONFLICT, "this hub cannot listen in the local network", hint="Start it with `starloom up`.")

    async def close(self) -> LanState:
        return self.state


def own_address() -> str:
    """Return this machine's address in its network: the one from which it would reach another; no packet is sent.

    Raises:
        OSError: it is in no network.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # an address of documentation, which is nobody's
        return str(probe.getsockname()[0])


def private_addresses() -> list[str]:
    """Return this machine's addresses in private networks, in the order of the system."""
    raw = [item for of_interface in psutil.net_if_addrs().values() for item in of_interface if item.family in _IP]
    # The address of one link is written with its interface after a `%`; no browser opens it.
    addresses = [ipaddress.ip_address(item.address) for item in raw if "%" not in item.address]
    return [str(address) for address in addresses if is_private(address) and not address.is_loopback]


@dataclass(frozen=True, slots=True)
class LanPlace:
    """Where to listen. `host` "" means the machine's own address, looked up when it opens and followed."""

    home: Path
    host: str
    port: int
    drain_s: float


class LanListener:
    """The listener of one hub process; `attach` gives it the application."""

    def __init__(
        self,
        place: LanPlace,
        reach: Reach,
        now_ms: Callable[[], int],
        *,
        address: Callable[[], str] = own_address,
        others: Callable[[], list[str]] = private_addresses,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        places: Places | None = None,
    ) -> None:
        self._place = place
        self._reach = reach
        self._authority = Authority(place.home / FOLDER, now_ms)
        self._address = address
        self._other_addresses = others
        self._sleep = sleep
        self._places = places
        self._app: ASGIApp | None = None
        self._server: SecondListener | None = None
        self._serving: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._state = LanState(wanted=(place.home / OPENED_FILE).exists())

    @property
    def state(self) -> LanState:
        return self._state

    @property
    def authority_file(self) -> Path | None:
        path = self._authority.certificate_file
        return path if path.exists() else None

    async def attach(self, app: ASGIApp, *, wanted: bool) -> None:
        """Take the application, open if it is `wanted` or was opened before; a fault is kept, not raised."""
        self._app = app
        if wanted or self._state.wanted:
            try:
                await self.open()
            except Problem as problem:
                self._state = LanState(wanted=self._state.wanted, fault=_words_of(problem))
                _log.warning("event=lan_closed reason=%s", problem.reason)
        self._following = asyncio.create_task(self._follow(), name="lan")

    async def stop(self) -> None:
        """Close it for the end of the process; it is opened again at the next start."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        async with self._turn:
            await self._shut()

    async def open(self) -> LanState:
        async with self._turn:
            if self._state.leaf is None:
                try:
                    await self._listen()
                except Problem as problem:
                    # The person who asked reads the refusal; a fault is kept of what was opened before.
                    if self._state.wanted:
                        self._state = LanState(wanted=True, fault=_words_of(problem))
                    raise
            path = self._place.home / OPENED_FILE
            await asyncio.to_thread(path.touch, 0o600)
            return self._state

    async def close(self) -> LanState:
        async with self._turn:
            await self._shut()
            await asyncio.to_thread((self._place.home / OPENED_FILE).unlink, missing_ok=True)
            self._state = LanState()
            return self._state

    async def _follow(self) -> None:
        """Move with the machine's address, and renew the certificate."""
        while True:
            await self._sleep(FOLLOW_EVERY_S)
            async with self._turn:
                if self._state.wanted:
                    try:
                        await self._refresh()
                    except (Problem, OSError) as error:
                        reason = _words_of(error) if isinstance(error, Problem) else str(error)
                        if self._state.leaf is not None or self._state.fault != reason:
                            _log.warning("event=lan_closed reason=%s", reason)
                        await self._shut()
                        self._state = LanState(wanted=True, fault=reason)

    async def _refresh(self) -> None:
        host = self._host()
        former = self._state.leaf
        if former is None or self._url(host) != self._state.url:
            await self._shut()
            await self._listen()
            return
        leaf = await asyncio.to_thread(self._authority.leaf, host)
        if leaf != former and self._server is not None and self._server.config.ssl is not None:
            # Connections that are open keep the old one; the key is the same.
            self._server.config.ssl.load_cert_chain(leaf.chain, leaf.key)
            self._state = LanState(True, self._state.url, leaf)
            _log.info("event=lan_renewed expires_ms=%d", leaf.expires_ms)

    def _host(self) -> str:
        try:
            return self._place.host or self._address()
        except OSError as error:
            raise Problem(
                Code.CONFLICT,
                f"this computer is in no network ({error.strerror or error})",
                hint=f"Connect it first, or start the hub with an address that it has: {self._line()}",
            ) from error

    def _line(self) -> str:
        """Return the line that starts the hub with another address of this computer."""
        return f"STARLOOM_LAN_HOST={next(iter(self._other_addresses()), 'ADDRESS')} starloom up --lan"

    def _url(self, host: str) -> str:
        return f"https://[{host}]:{self._place.port}" if ":" in host else f"https://{host}:{self._place.port}"

    async def _listen(self) -> None:
        app, host, port = self._app, self._host(), self._place.port
        if app is None:
            raise Problem(Code.OVERLOADED, "the hub is still starting", retry_after_s=1)
        try:
            leaf = await asyncio.to_thread(self._authority.leaf, host)
        except NotPrivate as error:
            raise Problem(
                Code.CONFLICT,
                f"{error}, so the hub's own certificate may not be used there",
                hint="For the address that this computer has in a private network, start the hub with: "
                f"{self._line()} - elsewhere, use a certificate of your own or a proxy: docs/reach.md.",
            ) from error
        except (OSError, ValueError) as error:
            raise Problem(Code.CONFLICT, f"the certificate cannot be made: {error}") from error
        bound = self._bind(host, port)
        config = server_config(
            app,
            host=host,
            port=port,
            drain_s=self._place.drain_s,
            certificate=leaf.chain,
            key=leaf.key,
            places=self._places,
        )
        self._server = SecondListener(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[bound]), name="lan-server")
        url = self._url(host)
        self._reach.admit(url)
        self._state = LanState(True, url, leaf)
        _log.info("event=lan_open url=%s", url)

    def _bind(self, host: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((host, port))
        except OSError as error:
            bound.close()
            hint = "Set STARLOOM_LAN_PORT to a free one and start the hub again."
            if error.errno == errno.EADDRNOTAVAIL:
                hint = f"Start the hub with an address that this computer has: {self._line()}"
            raise Problem(
                Code.CONFLICT, f"port {port} of {host} cannot be listened on: {error.strerror}", hint=hint
            ) from error
        bound.setblocking(False)
        return bound

    async def _shut(self) -> None:
        if self._state.url:
            self._reach.withdraw(self._state.url)
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        self._server = self._serving = None
        self._state = LanState(wanted=self._state.wanted)


def _words_of(problem: Problem) -> str:
    return f"{problem.reason}. {problem.hint}" if problem.hint else problem.reason
