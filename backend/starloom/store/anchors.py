"""Anchors: the sealed record of what was pruned from the history, which keeps the audit chain whole across it.

Owns what a pruning says and what its seal binds. A pruning removes commits, or leaves of a commit only the events of
streams that stay. Its seal is a link of the chain: it follows the last commit before the pruning, and the next commit
follows it, so an anchor cannot be forged, changed or taken away without the links after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

_encode: Final = msgspec.msgpack.Encoder().encode


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A run of positions that was pruned: `before` is the link that its first commit followed, `link` its last link."""

    before: bytes
    first: int
    last: int
    link: bytes


class Leftover(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is left of a commit inside an anchor: the digest of it, empty once nothing is."""

    pos: int
    digest: bytes


class Pruning(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction of pruning: when, why, what it removed. `after_pos` is the last commit at that time.

    `constellations` are those whose history ended with it; their commits may go with later prunings.
    """

    after_pos: int
    anchors: Sequence[Anchor]
    at_ms: int
    commits: int
    constellations: Sequence[str]
    leftovers: Sequence[Leftover]
    no: int
    seal: bytes = b""
    why: str


def digest_of_pruning(pruning: Pruning) -> bytes:
    """Return the digest of everything that a pruning says, apart from its seal."""
    said = [
        pruning.no,
        pruning.after_pos,
        pruning.at_ms,
        pruning.commits,
        pruning.why,
        [[anchor.first, anchor.last, anchor.before, anchor.link] for anchor in pruning.anchors],
        [[left.pos, left.digest] for left in pruning.leftovers],
        sorted(pruning.constellations),
    ]
    return sha256(b"pruning" + _encode(said)).digest()
