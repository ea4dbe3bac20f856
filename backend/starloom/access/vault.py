"""The vault of secrets: seals and opens their values, which are stored beside the log. Logs and caches no value.

The only reader is the engine's pump, when a dispatch leaves. The edge posts the events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from starloom.access.sealing import CannotOpen, Sealer
from starloom.access.secrets import new_id
from starloom.store.port import CiphertextPort
from starloom_protocol.records.entities import Secret

_UNNAMED_MS = 3_600_000
_log = logging.getLogger(__name__)


class Vault:
    """The values of secrets, found by their records in the log."""

    def __init__(self, sealer: Sealer, store: CiphertextPort, now_ms: Callable[[], int]) -> None:
        self._sealer = sealer
        self._store = store
        self._now_ms = now_ms

    async def keep(self, name: str, version: int, value: str) -> str:
        """Seal and store a value; return the id that its event must name.

        Raises:
            Unavailable: the store does not answer; nothing was kept.
        """
        identity = "s-" + new_id()
        sealed = self._sealer.seal(value, name=name, version=version, identity=identity)
        await self._store.put(identity, sealed, self._now_ms())
        return identity

    async def open(self, record: Secret) -> str:
        """Return the value of a secret.

        Raises:
            CannotOpen: there is no ciphertext, or no key of this hub opens it.
            Unavailable: the store does not answer.
        """
        sealed = await self._store.get(record.cipher)
        if sealed is None:
            raise CannotOpen(f"no value of the secret {record.name} is kept here")
        return self._sealer.open(sealed, name=record.name, version=record.version, identity=record.cipher)

    async def read(self, record: Secret) -> str | None:
        """Return the value of a secret, or None if it cannot be opened; the reason is logged.

        Raises:
            Unavailable: the store does not answer.
        """
        try:
            return await self.open(record)
        except CannotOpen as fault:
            _log.error("event=secret_unreadable name=%s version=%d reason=%s", record.name, record.version, fault)
            return None

    async def forget(self, identity: str) -> None:
        """Remove a ciphertext that no event names any longer."""
        await self._store.remove(identity)

    async def sweep(self, kept: Iterable[Secret]) -> int:
        """Remove ciphertexts whose event never came; return how many. Safe during a `keep` of another hub."""
        return await self._store.sweep([record.cipher for record in kept], self._now_ms() - _UNNAMED_MS)
