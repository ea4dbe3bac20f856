"""What the blob store says when it does not take or give bytes."""

from __future__ import annotations

from starloom_protocol.entities import Fault
from starloom_protocol.vocabulary import CODES, Code


class BlobRefused(Exception):
    """Nothing was changed, except that bytes proved wrong were discarded. `offset` is where an upload goes on."""

    def __init__(self, code: Code, reason: str, *, place: str, hint: str = "", offset: int = 0) -> None:
        super().__init__(f"{place}: {reason}")
        self.fault = Fault(code=code, hint=hint or CODES[code].hint, place=place, reason=reason)
        self.offset = offset
