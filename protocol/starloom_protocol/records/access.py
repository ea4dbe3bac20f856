"""Records of access: principals, tokens, sign-in links, idempotency keys, kept results and secrets.

Entities of `access`, so they are never streamed live. Of a secret they hold the name, the allowed receivers and the
place of the ciphertext, never a value or a length; the ciphertext is kept beside the log, by `cipher`.
"""

from __future__ import annotations

import re
from typing import Final

from starloom_protocol.records.record import Record
from starloom_protocol.vocabulary import PrincipalKind, Role


class Principal(Record, frozen=True, kw_only=True):
    """A person, a program or an assistant by name; `role` is the most that a token of it may have."""

    created_ms: int
    id: str
    kind: PrincipalKind = PrincipalKind.PERSON
    name: str
    role: Role


class Token(Record, frozen=True, kw_only=True):
    """A bearer token or a page's session; only the SHA-256 of its secret is kept.

    `parent` is the token that issued it: it has no more rights than that one had, and ends with it.
    """

    created_ms: int
    csrf_hash: str | None = None
    expires_ms: int
    id: str
    kind: str
    label: str = ""
    parent: str = ""
    principal: str
    revoked_ms: int = 0
    role: Role
    scopes: list[str] = []
    secret_hash: str


class SignIn(Record, frozen=True, kw_only=True):
    """A one-time sign-in link; only its secret's hash is kept, and it is used up by one sign-in.

    Its session is a child of the token `parent`, with no more than that token's rights.
    """

    created_ms: int
    expires_ms: int
    id: str
    parent: str = ""
    principal: str
    secret_hash: str
    used_ms: int = 0


class Idempotency(Record, frozen=True, kw_only=True):
    """The use of one idempotency key: the hash of the request's body and the id of the object that it made."""

    at_ms: int
    body_hash: str
    made: str


class KeptResult(Record, frozen=True, kw_only=True):
    """The result of a task that later runs of the same person may take over; its key is the hash of all it depends on.

    `task` is TASK/NUMBER in `constellation`; `terms` is the hash of the tool's offer and of the grants of `device` at
    that time. `value` is canonical text and names no file, so it needs no other bytes.
    """

    at_ms: int
    constellation: str
    detail: str = ""
    device: str
    task: str
    terms: str
    value: str


SECRET_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
CREDENTIAL_NAME: Final = re.compile(
    r"[A-Z][A-Z0-9_]{0,62}(PASSWORD|PASSPHRASE|TOKEN|SECRET|APIKEY|_KEY|_KEY_ID|_PWD|_PASS|_CREDENTIALS)"
    r"|PASSWORD|TOKEN|SECRET|PASSPHRASE"
)
"""The environment variables that a request may give to a program: names of credentials only."""
SECRET_CHARS_LEAST: Final = 4
"""A shorter value would be masked wherever the same few characters stand."""
SECRET_BYTES_MOST: Final = 64 * 1024
"""A key file of any kind fits; it is held in memory while an attempt is open."""
SECRETS_MOST: Final = 200
"""A person can still look through a list of them."""


class Secret(Record, frozen=True, kw_only=True):
    """`version` rises with each value, from 1. An empty list of devices (by id), tools or recipes means any."""

    by: str
    cipher: str
    created_ms: int
    devices: list[str] = []
    last_used_ms: int = 0
    name: str
    recipes: list[str] = []
    set_ms: int
    tools: list[str] = []
    version: int
