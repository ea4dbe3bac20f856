"""The hub's own Ed25519 key: made at first start, kept 0600 under the home, pinned by agents at joining.

Its public part in base64 is the hub's name in every proof, so a proof made for one hub is of no use to another. The
private part signs the handshake of each connection (`starloom_protocol.wire.channel`).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from starloom.process.private_files import create_private
from starloom.store.port import Damaged, KeyedHistory

KEY_BYTES = 32
KEYS_WAY = (
    "Correct STARLOOM_SHARED or STARLOOM_HOME (`shared` in starloom.toml), mount that folder, or restore the keys from "
    "a backup. If they are lost: starloom up --new-keys, and each device has to join again"
)


@dataclass(frozen=True, slots=True)
class HubKey:
    """The public key, raw and as base64 text, and the private one that signs."""

    raw: bytes
    text: str
    private: Ed25519PrivateKey = field(repr=False)

    def sign(self, data: bytes) -> str:
        """Return the signature in base64."""
        return base64.b64encode(self.private.sign(data)).decode()


class KeyShare:
    """The hub's half of a connection's key agreement; made for one connection and used once."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        raw = self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.text = base64.b64encode(raw).decode()

    def secret_with(self, other: str) -> bytes | None:
        """Return the secret shared with the peer's key share (base64), or None if that is not one."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(base64.b64decode(other, validate=True)))
        except ValueError:
            return None


def load_or_make(path: Path) -> HubKey:
    """Read the key file or make it; an existing file is never overwritten.

    Raises:
        ValueError: if the file is not a key.
    """
    if path.exists():
        raw = path.read_bytes()
        if len(raw) != KEY_BYTES:
            raise ValueError(f"{path} is not a hub key ({KEY_BYTES} bytes); restore it from a backup or move it away")
        private = Ed25519PrivateKey.from_private_bytes(raw)
    else:
        private = Ed25519PrivateKey.generate()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Another hub may make it in the same folder at the same moment: the first one counts.
        if not create_private(path, private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())):
            return load_or_make(path)
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return HubKey(public, base64.b64encode(public).decode(), private)


def check_files(hub_key: Path, secrets_key: Path, keyed: KeyedHistory) -> None:
    """Refuse a folder that lacks the keys of a history: with new ones no device would come, and no secret open.

    Raises:
        Damaged: naming the file; nothing was made.
    """
    if keyed.hub_key == "":
        return
    if keyed.watermark and not hub_key.exists():
        raise Damaged(
            f"the history has {keyed.watermark} commits, and there is no key of its hub at {hub_key}: with a new one "
            f"no device would trust this hub. {KEYS_WAY}"
        )
    if keyed.secrets and not secrets_key.exists():
        raise Damaged(
            f"the history has the values of secrets, and there is no key for them at {secrets_key}: with a new one "
            f"none of them could be opened. {KEYS_WAY}"
        )


def check_same(path: Path, key: HubKey, keyed: KeyedHistory) -> None:
    """Refuse the key of other hubs than those of a history.

    Raises:
        Damaged: naming the file.
    """
    if keyed.hub_key and keyed.hub_key != key.text:
        raise Damaged(
            f"{path} is the key of another hub than that of this history: no device would trust it. {KEYS_WAY}"
        )


def public_key(text: str) -> bytes | None:
    """Return the raw bytes of a public key in base64, or None if it is not one."""
    try:
        raw = base64.b64decode(text, validate=True)
        Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        return None
    return raw


def verifies(key: bytes, signature: str, data: bytes) -> bool:
    """Return whether this base64 signature of `data` was made by the key."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature, validate=True), data)
    except (InvalidSignature, ValueError):
        return False
    return True
