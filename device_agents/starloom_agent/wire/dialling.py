"""The route to the hub: the address that is dialled for its URL, and the public key that its certificate must carry.

A `pin` replaces the trust in authorities: it is compared before the first byte is sent. `via` is the end of a tunnel on
this device, or the Unix socket of a hub on this computer, which must be served by this user or root; the Host that the
hub sees stays its own. Knows nothing of the content.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import os
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_der_x509_certificate

from starloom_protocol.wire.peer import peer_uid

PIN_PREFIX = "sha256//"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class BadRoute(ValueError):
    """An invalid pin or end of a tunnel; the text shows a valid form."""


def pin_of(certificate: bytes) -> str:
    """Return the pin of a DER certificate: SHA-256 of its public key, as curl's `--pinnedpubkey` writes it."""
    key = load_der_x509_certificate(certificate).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return PIN_PREFIX + base64.b64encode(digest).decode()


def checked_pin(pin: str) -> str:
    """Return the pin if it is one, or "".

    Raises:
        BadRoute: if it is not `sha256//` and the base64 of 32 bytes.
    """
    if not pin:
        return ""
    try:
        raw = base64.b64decode(pin.removeprefix(PIN_PREFIX), validate=True)
    except ValueError:
        raw = b""
    if not pin.startswith(PIN_PREFIX) or len(raw) != 32:
        raise BadRoute(f"{pin} is no pin; it looks like {PIN_PREFIX}... and stands in the line of `starloom enroll`")
    return pin


def _check(certificate: bytes | None, pin: str) -> None:
    other_pin = pin_of(certificate) if certificate else "no certificate"
    if not hmac.compare_digest(other_pin, pin):
        raise ssl.SSLCertVerificationError(
            f"the hub's certificate has another key ({other_pin}) than the one pinned at joining ({pin}): either the "
            "hub was set up again, then join again with a fresh line from `starloom enroll`, or somebody may be "
            "intercepting the connection"
        )


def _has_port(end: str) -> bool:
    try:
        return urlsplit(f"//{end}").port is not None
    except ValueError:
        return False  # a port beyond 65535, or one that is no number


def tls_context(pin: str) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities, or with a pin exactly one public key."""
    context = ssl.create_default_context()
    if not pin:
        return context
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    class PinnedObject(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            _check(self.getpeercert(True), pin)

    class PinnedSocket(ssl.SSLSocket):
        def do_handshake(self, block: bool = False) -> None:
            super().do_handshake(block)
            _check(self.getpeercert(True), pin)

    context.sslobject_class = PinnedObject
    context.sslsocket_class = PinnedSocket
    return context


@dataclass(frozen=True)
class Route:
    """The way to one hub. `pin` and `via` (`HOST:PORT`, or the path of a socket) may be empty."""

    hub: str
    pin: str = ""
    via: str = ""

    def __post_init__(self) -> None:
        checked_pin(self.pin)
        if self.pin and self.url.scheme != "https":
            raise BadRoute(f"a pin belongs to an https address; {self.hub} has no certificate")
        if self.via and not self.own_socket and not _has_port(self.via):
            raise BadRoute(f"{self.via} is not HOST:PORT, where a tunnel to the hub ends on this device")

    @property
    def url(self) -> SplitResult:
        return urlsplit(self.hub)

    @property
    def own_socket(self) -> str:
        """Return the path of the hub's Unix socket on this computer, or ""."""
        return self.via if self.via.startswith("/") else ""

    def open_socket(self, timeout_s: float | None) -> socket.socket:
        """Return a connection to the hub's Unix socket, whose server is known to be this user's.

        Raises:
            OSError: nobody listens there, or another user does.
        """
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            opened.settimeout(timeout_s)
            opened.connect(self.own_socket)
        except BaseException:
            opened.close()
            raise
        uid = peer_uid(opened)
        if uid not in (os.geteuid(), 0):
            opened.close()
            raise PermissionError(f"{self.own_socket} is served by another user ({uid}): it is not this user's hub")
        return opened

    @property
    def dialled(self) -> tuple[str, int]:
        """Return the host and the port that a connection is opened to."""
        if self.via:
            end = urlsplit(f"//{self.via}")
            return end.hostname or "127.0.0.1", end.port or 0
        return self.url.hostname or "127.0.0.1", self.url.port or (443 if self.url.scheme == "https" else 80)

    @property
    def is_loopback(self) -> bool:
        return bool(self.own_socket) or self.dialled[0] in _LOOPBACK

    @property
    def on_this_computer(self) -> bool:
        """Whether the hub itself runs here; a loopback end of a tunnel says nothing of where the hub is."""
        return bool(self.own_socket) or (not self.via and self.dialled[0] in _LOOPBACK)

    @property
    def through_tunnel(self) -> bool:
        """Whether a tunnel to the hub ends on this device, at a port of its loopback address."""
        return bool(self.via) and not self.own_socket and self.dialled[0] in _LOOPBACK

    def tls(self) -> ssl.SSLContext | None:
        """Return the context for this hub, None for plain http and for the hub's own socket, which speaks no TLS."""
        return tls_context(self.pin) if self.url.scheme == "https" and not self.own_socket else None

    def http(self, timeout_s: float) -> http.client.HTTPConnection:
        """Return an HTTP connection that is not open yet."""
        return _Connection(self, timeout_s)


class _Connection(http.client.HTTPConnection):
    """HTTP over a route: the Host header is the hub's, the socket goes where the route says."""

    def __init__(self, route: Route, timeout_s: float) -> None:
        super().__init__(route.url.hostname or "127.0.0.1", route.url.port, timeout=timeout_s)
        self.default_port = 443 if route.url.scheme == "https" else 80
        self.port = route.url.port or self.default_port
        self._route = route

    def connect(self) -> None:
        route = self._route
        if route.own_socket:
            opened = route.open_socket(self.timeout)
        else:
            opened = socket.create_connection(route.dialled, self.timeout)
        context = route.tls()
        self.sock = opened if context is None else context.wrap_socket(opened, server_hostname=self.host)
