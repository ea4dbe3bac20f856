"""The one exception of the channel: an error of the peer, as a stable code and a sentence.

Owns how a protocol error is reported; `session`, not this module, decides when a connection closes.
"""

from __future__ import annotations

from starloom_protocol.vocabulary import CODES, Code


class ProtocolFault(Exception):
    """Bytes or frames that this side cannot accept or send; the connection ends with it.

    `reason` is one sentence for people; `fix` is the way out, by default the code's own hint.
    """

    def __init__(self, code: Code, reason: str, fix: str | None = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.fix = CODES[code].hint if fix is None else fix
