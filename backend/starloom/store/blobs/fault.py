"""The refusal of the blob store to take or give bytes."""

from __future__ import annotations

from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CODES, Code


class BlobRefused(Exception):
    """A refusal. Nothing was changed, but wrong bytes were discarded. An upload continues at `offset`."""

    def __init__(self, code: Code, reason: str, *, place: str, hint: str = "", offset: int = 0) -> None:
        super().__init__(f"{place}: {reason}")
        self.fault = Fault(code=code, hint=hint or CODES[code].hint, place=place, reason=reason)
        self.offset = offset
