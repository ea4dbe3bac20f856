"""Records of secrets: the name, the allowed receivers, the place of the ciphertext. Never a value, never a length.

Entities of `access`, so they are never streamed live. The ciphertext is kept beside the log, by `cipher`.
"""

from __future__ import annotations

import re
from typing import Final

from starloom_protocol.record import Record

SECRET_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
CREDENTIAL_NAME: Final = re.compile(
    r"[A-Z][A-Z0-9_]{0,62}(PASSWORD|PASSPHRASE|TOKEN|SECRET|APIKEY|_KEY|_KEY_ID|_PWD|_PASS|_CREDENTIALS)"
    r"|PASSWORD|TOKEN|SECRET|PASSPHRASE"
)
"""The environment variables that a request may give to a program: names of credentials only."""
SECRET_CHARS_LEAST: Final = 4
SECRET_BYTES_MOST: Final = 64 * 1024
SECRETS_MOST: Final = 200


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
