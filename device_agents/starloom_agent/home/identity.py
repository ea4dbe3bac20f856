"""The key of this device: made here, never leaves it; the device's id is derived from it.

Signs the proof of a connection and checks the hub's own key, which is pinned at joining. Knows no network.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from starloom_agent.home.directory import create_private
from starloom_protocol.wire.session import device_id


def b64(data: bytes) -> str:
    """Return standard base64 text, as it stands in frames and in the joining documents."""
    return base64.b64encode(data).decode()


@dataclass(frozen=True)
class Identity:
    """A device's key pair. `key` is the raw public key in base64; `instance` differs for each process start."""

    private: Ed25519PrivateKey
    key: str
    device: str
    instance: str

    def sign(self, data: bytes) -> str:
        return b64(self.private.sign(data))


def load_or_make(path: Path) -> Identity:
    """Read the key file, or make key and file (0600) when there is none; of two makers the first counts.

    Raises:
        ValueError: if the file is not a key of 32 bytes; it is never overwritten.
    """
    if path.exists():
        raw = path.read_bytes()
        if len(raw) != 32:
            raise ValueError(f"{path} is not a Starloom device key (32 bytes); move it away and join again")
        private = Ed25519PrivateKey.from_private_bytes(raw)
    else:
        private = Ed25519PrivateKey.generate()
        if not create_private(path, private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())):
            return load_or_make(path)
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return Identity(private=private, key=b64(public), device=device_id(public), instance=secrets.token_hex(8))


def signed_by(key: str, signature: str, data: bytes) -> bool:
    """Return whether `signature` (base64) of `data` was made by the Ed25519 key (base64)."""
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(base64.b64decode(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return True


class KeyShare:
    """One side's half of a connection's key agreement; made for one connection and used once."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self.text = b64(self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def secret_with(self, other: str) -> bytes | None:
        """Return the secret shared with the peer's key share (base64), or None if that is none."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(base64.b64decode(other, validate=True)))
        except ValueError:
            return None
