"""What every input is; the inputs themselves stand in `inputs`."""

from __future__ import annotations

from typing import Final

import msgspec

CALLER: Final = "principal"
"""How `caller` is written in inputs: kept ones have it so, from when a key of idempotency belonged to a principal."""


class Input(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="k"):
    """`roll` is a random number 0..2^32-1 for jitter; the engine fills `at_ms` and `roll`."""

    at_ms: int = 0
    by: str
    id: str
    roll: int = 0
    scope: str = ""
