"""The Host and Origin values that are the hub's own, and the peers that may act for others (trusted proxies). Pure.

Only the listeners' addresses and the public URL are allowed; anything else is DNS rebinding or a foreign page.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Reach:
    """Allowed values, normalised: hosts as `name:port`, origins as `scheme://name:port`.

    They change only with listeners that are opened and closed while the hub runs.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = field(default=())
    _opened: dict[str, Reach] = field(default_factory=dict)

    def admit(self, url: str) -> None:
        """Allow the address of a listener that is open now."""
        self._opened[url] = reach_of([url])

    def withdraw(self, url: str) -> None:
        """Remove an address of a listener that was closed; idempotent."""
        self._opened.pop(url, None)

    def allows_host(self, value: str, scheme: str) -> bool:
        """Tell whether a Host header that came over `http` or `https` is allowed."""
        host = _host(value, scheme)
        return host in self.hosts or any(host in opened.hosts for opened in self._opened.values())

    def allows_origin(self, value: str) -> bool:
        """Tell whether an Origin header is allowed; `null` is not."""
        origin = _origin(value)
        return origin in self.origins or any(origin in opened.origins for opened in self._opened.values())

    def trusts(self, peer: str) -> bool:
        """Tell whether the X-Forwarded-* headers of this peer are believed."""
        if not self.proxies:
            return False
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)

    def client_of(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """Return the client's address: the last one that does not belong to a trusted proxy."""
        client = peer
        for address in reversed([part.strip() for part in forwarded_for]):
            if not self.trusts(client):
                break
            client = address
        return client


def reach_of(urls: Sequence[str], proxies: Sequence[str] = ()) -> Reach:
    """Return the reach of these base URLs; a loopback address also allows `localhost` on the same port."""
    hosts: set[str] = set()
    origins: set[str] = set()
    for url in urls:
        parts = urlsplit(url)
        names = {parts.hostname or ""}
        if names <= {"127.0.0.1", "::1", "localhost"}:
            names.add("localhost")
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        for name in names:
            shown = f"[{name}]" if ":" in name else name
            hosts.add(f"{shown}:{port}")
            origins.add(f"{parts.scheme}://{shown}:{port}")
    networks = tuple(ipaddress.ip_network(item, strict=False) for item in proxies)
    return Reach(frozenset(hosts), frozenset(origins), networks)


@lru_cache(maxsize=64)
def _host(value: str, scheme: str) -> str:
    try:
        parts = urlsplit(f"//{value}")
        port = parts.port or _DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        return ""
    if not parts.hostname or parts.username is not None or parts.path or parts.query or parts.fragment:
        return ""
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{name}:{port}"


def _origin(value: str) -> str:
    scheme, separator, rest = value.partition("://")
    if not separator or scheme not in _DEFAULT_PORTS:
        return ""
    host = _host(rest, scheme)
    return f"{scheme}://{host}" if host else ""
