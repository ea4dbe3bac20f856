"""Idempotency: a request repeated under its key is carried out once. Keys are kept in `access`, and so in the log.

A key is kept with the hash of its request's body and belongs to the token or session that sent it: another caller's
key is another key. The key of an edit also belongs to its constellation.
"""

from __future__ import annotations

from starloom.core.state.work import Refusal, Work, fault
from starloom_protocol.records.entities import Idempotency
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code

KeyUse = tuple[str, str]
"""A key and the hash of the body that it came with."""


def earlier_result(work: Work, caller: str, scope: str, key_use: KeyUse | None) -> str | None:
    """Return the id of what a key has made already, None if it is new.

    Raises:
        Refusal: `idempotency_mismatch`, if it came with another body before.
    """
    if key_use is None:
        return None
    entry = work.shard.access.idempotency.get(_name(caller, scope, key_use))
    if entry is None:
        return None
    if entry.body_hash != key_use[1]:
        raise Refusal(fault(Code.IDEMPOTENCY_MISMATCH, f"the key {key_use[0]} was used here with another body"))
    return entry.made


def note_made(work: Work, caller: str, scope: str, key_use: KeyUse | None, name: str) -> None:
    """Keep the id of what a key has made."""
    if key_use is not None:
        entry = Idempotency(at_ms=work.at_ms, body_hash=key_use[1], made=name)
        work.emit(work.shard.access, EventKind.KEY_USED, name, [("idem", _name(caller, scope, key_use), entry)])


def _name(caller: str, scope: str, key_use: KeyUse) -> str:
    return f"{caller}/{scope}/{key_use[0]}"
