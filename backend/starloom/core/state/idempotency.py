"""Idempotency: a request repeated under its key is carried out once. Keys are kept in `access`, and so in the log.

A key is kept with the hash of its request's body and belongs to the token or session that sent it: another caller's
key is another key. The key of an edit also belongs to its constellation.
"""

from __future__ import annotations

from starloom.core.state.work import Refusal, Work, fault
from starloom_protocol.records.entities import Idempotency
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code

Asked = tuple[str, str]
"""A key and the hash of the body that came with it."""


def made_before(work: Work, caller: str, scope: str, asked: Asked | None) -> str | None:
    """Return the id of what a key has made already, None if it is new.

    Raises:
        Refusal: `idempotency_mismatch`, if it came with another body before.
    """
    if asked is None:
        return None
    used = work.shard.access.idempotency.get(_name(caller, scope, asked))
    if used is None:
        return None
    if used.body_hash != asked[1]:
        raise Refusal(fault(Code.IDEMPOTENCY_MISMATCH, f"the key {asked[0]} was used here with another body"))
    return used.made


def note_made(work: Work, caller: str, scope: str, asked: Asked | None, made: str) -> None:
    """Keep the id of what a key has made."""
    if asked is not None:
        entry = Idempotency(at_ms=work.at_ms, body_hash=asked[1], made=made)
        work.emit(work.shard.access, EventKind.KEY_USED, made, [("idem", _name(caller, scope, asked), entry)])


def _name(caller: str, scope: str, asked: Asked) -> str:
    return f"{caller}/{scope}/{asked[0]}"
