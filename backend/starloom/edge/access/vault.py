"""The vault of secrets: seals and opens their values, which are stored beside the log. Logs and caches no value.

The only reader is the engine's pump, when a dispatch leaves. The edge posts the events. AES-256-GCM with a key that
only this hub's owner can read; the secret's name, its version and the id of the ciphertext are bound to it, so a
ciphertext that was moved to another name or put back for an older version does not open. A file may hold several keys:
the first seals, all open, so a key can be changed without setting every secret again
(docs/decisions/history-and-secrets.md).
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from starloom.edge.access.credentials import new_id
from starloom.process.private_files import create_private
from starloom.store.port import CiphertextPort
from starloom_protocol.records.entities import Secret

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_ID_BYTES: Final = 4
_FORMAT: Final = b"\x01"


class CannotOpen(Exception):
    """The ciphertext was sealed with a key that is not in the file, or for another record, or it is damaged."""


class Sealer:
    """Seals and opens with the keys of one file."""

    def __init__(self, keys: list[bytes]) -> None:
        self._keys = [(_key_id(key), AESGCM(key)) for key in keys]

    def seal(self, value: str, *, name: str, version: int, identity: str) -> bytes:
        """Return a value's ciphertext."""
        key_id, key = self._keys[0]
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORMAT + key_id + nonce + key.encrypt(nonce, value.encode(), _bound(name, version, identity))

    def open(self, sealed: bytes, *, name: str, version: int, identity: str) -> str:
        """Return the value.

        Raises:
            CannotOpen: another key, another name or version, or damaged bytes. The message holds no part of a value.
        """
        key_id = sealed[1 : 1 + _ID_BYTES]
        nonce = sealed[1 + _ID_BYTES : 1 + _ID_BYTES + _NONCE_BYTES]
        ciphertext = sealed[1 + _ID_BYTES + _NONCE_BYTES :]
        key = next((key for each_id, key in self._keys if each_id == key_id), None)
        if sealed[:1] != _FORMAT or key is None:
            raise CannotOpen(f"the secret {name} was sealed with a key that this hub does not have")
        try:
            return key.decrypt(nonce, ciphertext, _bound(name, version, identity)).decode()
        except (InvalidTag, ValueError) as error:
            raise CannotOpen(f"what is kept of the secret {name} is damaged or belongs to another one") from error


def _bound(name: str, version: int, identity: str) -> bytes:
    return "\n".join(("starloom secret", name, str(version), identity)).encode()


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"starloom key id" + key).digest()[:_ID_BYTES]


def load_or_make(path: Path) -> Sealer:
    """Read the file of keys (base64, one a line), or make it with one key; an existing file is never overwritten.

    Raises:
        ValueError: the file holds no keys, or others than its owner may read it.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Another hub of this home may have made the file meanwhile; then its keys count.
        create_private(path, base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ValueError(f"{path} may be read by others; type: chmod 600 {path}")
    try:
        keys = [base64.b64decode(line, validate=True) for line in path.read_bytes().split()]
    except ValueError as error:
        raise ValueError(f"{path} is not a file of keys; restore it from a backup or move it away") from error
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise ValueError(f"{path} is not a file of keys ({_KEY_BYTES} bytes each); restore it from a backup")
    return Sealer(keys)


_UNNAMED_MS = 3_600_000
"""A ciphertext is stored before its event is committed, maybe by another hub; after an hour no event comes."""
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

    async def sweep(self, records: Iterable[Secret]) -> int:
        """Remove ciphertexts whose event never came; return how many. Safe during a `keep` of another hub."""
        return await self._store.sweep([record.cipher for record in records], self._now_ms() - _UNNAMED_MS)
