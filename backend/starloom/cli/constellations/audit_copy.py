"""The verification of a copy that `audit export` made, without a hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from starloom.store.chain import Anchor, Break, Chained, ChainedCommit, Leftover, Pruning, Walk, digest_with, spans_of
from starloom_protocol.stream.feed import decode_event

if TYPE_CHECKING:
    from starloom_protocol.api.history import ChainCheck

COMMITS_AT_ONCE = 500


def verify(file: Path, anchors: Sequence[tuple[int, bytes]]) -> ChainCheck:
    """Return the same result for the copy as the hub's own verification.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no copy of a record.
    """
    prunings: list[Pruning] = []
    commits: list[ChainedCommit] = []
    changed = False
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                said = json.loads(line)
                if "pruning" in said:
                    prunings.append(_pruning(said["pruning"]))
                elif "pruned_meanwhile" in said:
                    changed = True
                else:
                    commits.append(_commit(said))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"its line {number} is no line of a record ({error})") from error
    walk = Walk(anchors=anchors, prunings=prunings, digest=_digest)
    for at in range(0, len(commits), COMMITS_AT_ONCE):
        walk.take(commits[at : at + COMMITS_AT_ONCE])
    walk.ended(commits[-1].pos if commits else 0)
    if changed:
        walk.breaks.append(Break(pos=walk.pos, what="the history was pruned while this copy was made; copy it again"))
    return walk.check()


class _PruningLine(TypedDict):
    """A pruning as a line of a copy has it; the fields that stay as they are belong to `Pruning`."""

    anchors: list[tuple[int, int, str, str]]
    leftovers: list[tuple[int, str]]
    seal: str


class _CommitLine(TypedDict):
    """A commit as a line of a copy has it."""

    at_ms: int
    chain: str | None
    events: list[str]
    incarnation: int
    inputs: list[str]
    pos: int
    term: int


def _pruning(said: _PruningLine) -> Pruning:
    anchors = [
        Anchor(before=bytes.fromhex(before), first=first, last=last, link=bytes.fromhex(link))
        for first, last, before, link in said["anchors"]
    ]
    leftovers = [Leftover(pos=pos, digest=bytes.fromhex(digest)) for pos, digest in said["leftovers"]]
    kept = cast("dict[str, Any]", {**said})
    return Pruning(**{**kept, "anchors": anchors, "leftovers": leftovers, "seal": bytes.fromhex(said["seal"])})


def _commit(said: _CommitLine) -> ChainedCommit:
    events = [text.encode() for text in said["events"]]
    return ChainedCommit(
        at_ms=said["at_ms"],
        chain=None if said["chain"] is None else bytes.fromhex(said["chain"]),
        events=events,
        incarnation=said["incarnation"],
        inputs=[bytes.fromhex(digest) for digest in said["inputs"]],
        pos=said["pos"],
        spans=spans_of(map(decode_event, events)),
        term=said["term"],
    )


def _digest(commit: Chained) -> bytes:
    """Return the digest of a commit of a copy, which has its inputs by their hashes."""
    return digest_with(commit, commit.inputs)
