"""Anchors: the sealed record of what was pruned from the history, which keeps the audit chain whole across it.

Owns the content of a pruning and of its seal. A pruning removes commits, or all events of a commit but those of streams
that stay. Its seal is a link of the chain: it follows the last commit before the pruning, and the next commit follows
it, so an anchor cannot be forged, changed or removed without changing the links after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

_encode: Final = msgspec.msgpack.Encoder().encode


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A run of pruned positions: `before` is the link that its first commit followed, `link` its last link."""

    before: bytes
    first: int
    last: int
    link: bytes


class Leftover(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The digest of the remaining part of a commit inside an anchor, empty once nothing remains."""

    pos: int
    digest: bytes


class Pruning(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction of pruning: its time, its reason, what it removed. `after_pos` is the last commit at that time.

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
    """Return the digest of a pruning's content without its seal."""
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
