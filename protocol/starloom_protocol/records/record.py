"""The base of every record of state, and the fault that many of them may hold. Owns no entity."""

from __future__ import annotations

import msgspec

from starloom_protocol.vocabulary import Code


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of every entity and its parts: frozen, strict, defaults left out.

    Frozen records are trees without cycles, so the garbage collector does not track them.
    """


class Fault(Record, frozen=True, kw_only=True):
    """One fault: a code, a sentence, the place, the remedy."""

    code: Code
    hint: str = ""
    place: str = ""
    reason: str
