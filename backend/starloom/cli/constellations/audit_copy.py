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
                fields = json.loads(line)
                if "pruning" in fields:
                    prunings.append(_pruning(fields["pruning"]))
                elif "pruned_meanwhile" in fields:
                    changed = True
                else:
                    commits.append(_commit(fields))
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


def _pruning(fields: _PruningLine) -> Pruning:
    anchors = [
        Anchor(before=bytes.fromhex(before), first=first, last=last, link=bytes.fromhex(link))
        for first, last, before, link in fields["anchors"]
    ]
    leftovers = [Leftover(pos=pos, digest=bytes.fromhex(digest)) for pos, digest in fields["leftovers"]]
    others = cast("dict[str, Any]", {**fields})
    return Pruning(**{**others, "anchors": anchors, "leftovers": leftovers, "seal": bytes.fromhex(fields["seal"])})


def _commit(fields: _CommitLine) -> ChainedCommit:
    events = [text.encode() for text in fields["events"]]
    return ChainedCommit(
        at_ms=fields["at_ms"],
        chain=None if fields["chain"] is None else bytes.fromhex(fields["chain"]),
        events=events,
        incarnation=fields["incarnation"],
        inputs=[bytes.fromhex(digest) for digest in fields["inputs"]],
        pos=fields["pos"],
        spans=spans_of(map(decode_event, events)),
        term=fields["term"],
    )


def _digest(commit: Chained) -> bytes:
    """Return the digest of a commit of a copy, which has its inputs by their hashes."""
    return digest_with(commit, commit.inputs)
