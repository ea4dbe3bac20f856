"""Trust between the hubs of one shard: a card with the address of a hub, and a seal on passed requests.

Both are made with a secret that only hubs have: it comes from the hub key, which all hubs of a shard share. A seal
says whose request is passed on - client, scheme, host - and that Host and Origin were judged; it gives nobody a
right: token, session or a device's proof travel along and are judged where the request is carried out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

RELAY_HEADER = "x-starloom-relay"
POSITION_HEADER = "x-starloom-position"
SEAL_TTL_MS = 30_000
"""Both hubs read clocks that may differ by some seconds; a seal that was overheard is of no use later."""
_encode = msgspec.json.Encoder().encode

Headers = Iterable[tuple[bytes, bytes]]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hub is reached by the others."""

    hub: str
    url: str


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """The statement of a hub about a request that it passes on."""

    client: str
    due_ms: int
    host: str
    hub: str
    port: int
    scheme: str


class HubSeals:
    """Signs and verifies; `now_ms` is hub time, by which a seal ends soon."""

    def __init__(self, secret: bytes, hub: str, now_ms: Callable[[], int]) -> None:
        self._secret = secret
        self._hub = hub
        self._now_ms = now_ms

    @property
    def hub(self) -> str:
        return self._hub

    def card(self, url: str) -> bytes:
        """Return this hub's card, signed."""
        body = _encode(Card(hub=self._hub, url=url))
        return self._sign(b"card", body).encode() + b" " + body

    def read_card(self, raw: bytes, hub: str) -> str | None:
        """Return the address on a card that this hub truly wrote, or None."""
        mac, _, body = raw.partition(b" ")
        if not hmac.compare_digest(mac, self._sign(b"card", body).encode()):
            return None
        card = msgspec.json.decode(body, type=Card)
        return card.url if card.hub == hub else None

    def seal(self, content: bytes, *, client: str, host: str, port: int, scheme: str) -> str:
        """Return the header for a request that is passed on; `content` is its `essence`."""
        due_ms = self._now_ms() + SEAL_TTL_MS
        body = _encode(Passed(client=client, due_ms=due_ms, host=host, hub=self._hub, port=port, scheme=scheme))
        return f"{self._sign(b'relay', body + content)} {body.decode()}"

    def unseal(self, value: str, content: bytes) -> Passed | None:
        """Return another hub's statement about a request, or None if no hub of this shard wrote it for this request."""
        mac, _, body = value.partition(" ")
        if not hmac.compare_digest(mac.encode(), self._sign(b"relay", body.encode() + content).encode()):
            return None
        relayed = msgspec.json.decode(body, type=Passed)
        return relayed if relayed.due_ms >= self._now_ms() and relayed.hub != self._hub else None

    def _sign(self, purpose: bytes, data: bytes) -> str:
        return hmac.new(self._secret, purpose + b"\n" + data, hashlib.sha256).hexdigest()


def essence(method: str, target: bytes, headers: Headers) -> bytes:
    """Return the bytes to which a seal is bound: method, path with query, origin and credential headers."""
    bound = sorted(pair for pair in headers if pair[0] in (b"origin", b"authorization", b"cookie"))
    return b"\n".join([method.encode(), target, *(name + b": " + value for name, value in bound)])


def target_of(path: bytes, query: bytes) -> bytes:
    return path + b"?" + query if query else path


def secret_of(key_file: Path) -> bytes:
    """Return the secret of the hubs that share a hub key.

    Raises:
        OSError: the key cannot be read.
    """
    return hashlib.sha256(b"starloom hubs of one shard\n" + key_file.read_bytes()).digest()
