"""Secrets of access: tokens, sessions, sign-in links, join codes. Makes, reads and compares them; stores nothing.

Only the SHA-256 of a secret is kept: 256 random bits need no slow hash.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

TOKEN_PREFIX = "slt"
SESSION_PREFIX = "sls"
SIGN_IN_PREFIX = "sli"
_CODE_BITS = 80
_ID_LENGTH = 20
_LETTER_OF = b"abcdefghijklmnopqrstuvwxyz234567" * 8
"""The letter of each byte, by its last five bits, so that all letters are equally likely."""


@dataclass(frozen=True, slots=True)
class FreshSecret:
    """A fresh secret: its public id, the hash to keep, and the text that is shown once."""

    id: str
    secret_hash: str
    text: str
    secret: str


def new_id() -> str:
    """Return a random public id of 100 bits: twenty letters and digits."""
    return secrets.token_bytes(_ID_LENGTH).translate(_LETTER_OF).decode()


def hash_of(secret: str) -> str:
    """Return the hex SHA-256 under which a secret is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def matches(secret: str, secret_hash: str) -> bool:
    """Compare a secret with its kept hash in constant time."""
    return hmac.compare_digest(hash_of(secret), secret_hash)


def make(prefix: str) -> FreshSecret:
    """Make a secret of 256 bits, shown as `PREFIX_ID_SECRET`."""
    identity, secret = new_id(), secrets.token_urlsafe(32)
    return FreshSecret(identity, hash_of(secret), f"{prefix}_{identity}_{secret}", secret)


def split(text: str, prefix: str) -> tuple[str, str] | None:
    """Return (id, secret) of a token's text, or None if it has another form."""
    head, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    if head != prefix or not identity or not secret or len(text) > 256:
        return None
    return identity, secret


def csrf_of(session_secret: str) -> str:
    """Return the CSRF token of a session, derived from its secret so that a reloaded page can get it again."""
    return hmac.new(session_secret.encode(), b"starloom csrf", hashlib.sha256).hexdigest()


def new_code() -> str:
    """Return a join code of 80 bits in four groups of four letters and digits."""
    raw = base64.b32encode(secrets.token_bytes(_CODE_BITS // 8)).decode()
    return "-".join(raw[start : start + 4] for start in range(0, len(raw), 4))


def code_hash(code: str) -> str:
    """Return the hash of a join code; case, spaces and dashes do not count, 0 and 1 read as O and I."""
    plain = "".join(char for char in code.upper() if char.isalnum()).replace("0", "O").replace("1", "I")
    return hash_of(plain)
