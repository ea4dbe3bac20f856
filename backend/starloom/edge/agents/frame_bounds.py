"""The most that a text, a list or a map in a frame of a device may hold, each by its name.

A frame is kept in the log with the input that it becomes, so the limit of a message alone lets one device fill the
history. Bounds lie far above what any build of an agent sends: a frame beyond one is refused whole, and so would be the
same report on the next connection. Frames of the handshake are held by the limit of an unproved peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from msgspec import inspect

from starloom_protocol.values import FACT_LIST_ITEMS_MAX, INLINE_VALUE_BYTES_MAX
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, tag_of
from starloom_protocol.wire.frames import Frame

CHARS_MOST: Final = 4_096
"""The longest path of a file system, which a fact, a grant or a reason may name."""
WORD_CHARS_MOST: Final = 200
"""A word of the vocabulary, a hash, or a name that the hub has given."""
TASK_CHARS_MOST: Final = 1_000
"""The id of a task in the groups around it, as the hub has given it."""
LONG_CHARS_MOST: Final = 64 * 1024
"""A schema of a tool has 32 KiB at most; a sentence about an end has 2,000 characters, and of older agents more."""
TOOLS_MOST: Final = 4_096
"""An agent offers the tools of 16 servers with 200 each, beside its own."""
ENTRIES_MOST: Final = 2_000
"""Facts and grants; a grant is for one folder, host or command."""
LEASES_MOST: Final = 5_000
"""A device has far fewer attempts that are open."""
LEDGER_MOST: Final = 1_000
"""An agent tells 128 of its own accord and is asked about one at a time; each is an input."""
ASKS_MOST: Final = 100
"""An agent tells no more questions at once, and no more are kept."""

BOUNDS: Final[Mapping[str, int]] = {
    "Alive.running": LEASES_MOST,
    "AsksFrame.answers": WORD_CHARS_MOST,
    "AsksFrame.open": ASKS_MOST,
    "Bye.reason": CHARS_MOST,
    "ConditionFrame.facts": ENTRIES_MOST,
    "ConditionFrame.facts.key": WORD_CHARS_MOST,
    "ConditionFrame.facts.value": CHARS_MOST,
    "ErrorFrame.reason": CHARS_MOST,
    "FactsFrame.facts": FACT_LIST_ITEMS_MAX,
    "FactsFrame.facts.key": LONG_CHARS_MOST,
    "FactsFrame.facts.value": MESSAGE_BYTES_MAX,
    "FactsFrame.facts_too_big": FACT_LIST_ITEMS_MAX,
    "FactsFrame.facts_too_big.key": LONG_CHARS_MOST,
    "LeaseRef.task": TASK_CHARS_MOST,
    "LedgerEntry.state": WORD_CHARS_MOST,
    "LedgerReport.entries": LEDGER_MOST,
    "LogChunk.stream": WORD_CHARS_MOST,
    "LogChunk.text": MESSAGE_BYTES_MAX,
    "Offer.digest": WORD_CHARS_MOST,
    "Offer.facts": ENTRIES_MOST,
    "Offer.facts.key": CHARS_MOST,
    "Offer.facts.value": CHARS_MOST,
    "Offer.grants": ENTRIES_MOST,
    "Offer.grants.item": CHARS_MOST,
    "Offer.tools": TOOLS_MOST,
    "OfferFrame.os": CHARS_MOST,
    "OfferFrame.policy_digest": WORD_CHARS_MOST,
    "OwnerAsk.action": WORD_CHARS_MOST,
    "OwnerAsk.args": CHARS_MOST,
    "OwnerAsk.constellation": WORD_CHARS_MOST,
    "OwnerAsk.id": WORD_CHARS_MOST,
    "OwnerAsk.task": TASK_CHARS_MOST,
    "OwnerAsk.tool": WORD_CHARS_MOST,
    "Progress.note": MESSAGE_BYTES_MAX,
    "ResultFrame.artifact": WORD_CHARS_MOST,
    "ResultFrame.detail": LONG_CHARS_MOST,
    "ResultFrame.facts": FACT_LIST_ITEMS_MAX,
    "ResultFrame.facts.key": LONG_CHARS_MOST,
    "ResultFrame.facts.value": MESSAGE_BYTES_MAX,
    "ResultFrame.facts_too_big": FACT_LIST_ITEMS_MAX,
    "ResultFrame.facts_too_big.key": LONG_CHARS_MOST,
    "ResultFrame.tail": LONG_CHARS_MOST,
    "ResultFrame.value": INLINE_VALUE_BYTES_MAX,
    "ToolOffer.args": LONG_CHARS_MOST,
    "ToolOffer.effects": WORD_CHARS_MOST,
    "ToolOffer.effects_by": ENTRIES_MOST,
    "ToolOffer.effects_by.key": WORD_CHARS_MOST,
    "ToolOffer.effects_by.value": ENTRIES_MOST,
    "ToolOffer.effects_by.value.key": LONG_CHARS_MOST,
    "ToolOffer.effects_by.value.value": WORD_CHARS_MOST,
    "ToolOffer.grant": CHARS_MOST,
    "ToolOffer.name": CHARS_MOST,
    "ToolOffer.returns": LONG_CHARS_MOST,
    "ToolOffer.stands_for": CHARS_MOST,
    "ToolOffer.title": CHARS_MOST,
    "ToolOffer.unavailable": CHARS_MOST,
}
"""By struct and field; `key`, `value` and `item` are those of a map or a list. Facts, output and notes are not kept as
they come, and the limit of their message is enough."""

_Check = Callable[[Any], str]
_FITS: Final = ""


def frame_fault(frame: Frame) -> str:
    """Return why a frame is refused, for the device; empty if all of it is within its bounds."""
    check = _check_of(type(frame))
    place = check(frame) if check is not None else _FITS
    return f"`{tag_of(frame)}`: {place} has more than {BOUNDS[place]}" if place else _FITS


@cache
def _check_of(struct: type) -> _Check | None:
    kind = inspect.type_info(struct)
    return _check(kind, struct.__name__)


def _check(kind: inspect.Type, place: str) -> _Check | None:
    """Return a function that returns the place of a value of this kind that is too long; None if none can be."""
    match kind:
        case inspect.StructType():
            return _of_struct(kind)
        case inspect.StrType(max_length=None):
            return _longer_than(BOUNDS[place], place)
        case inspect.ListType():
            return _of_many(place, [(lambda found: found, _check(kind.item_type, f"{place}.item"))])
        case inspect.DictType():
            keys, values = _check(kind.key_type, f"{place}.key"), _check(kind.value_type, f"{place}.value")
            return _of_many(place, [(lambda found: found, keys), (lambda found: found.values(), values)])
        case inspect.UnionType():
            some = [check for part in kind.types if (check := _check(part, place)) is not None]
            return _unless_none(some[0]) if some else None
        case _:
            return None


def _longer_than(most: int, place: str) -> _Check:
    return lambda found: place if len(found) > most else _FITS


def _unless_none(check: _Check) -> _Check:
    return lambda found: _FITS if found is None else check(found)


def _of_many(place: str, parts: list[tuple[Callable[[Any], Iterable[Any]], _Check | None]]) -> _Check:
    size = _longer_than(BOUNDS[place], place)
    checked = [(items, check) for items, check in parts if check is not None]

    def check_all(found: Any) -> str:
        if not found:
            return _FITS
        return size(found) or next(
            (at for items, check in checked for one in items(found) if (at := check(one))), _FITS
        )

    return check_all


def _of_struct(kind: inspect.StructType) -> _Check | None:
    name = kind.cls.__name__
    fields = [(field.name, _check(field.type, f"{name}.{field.name}")) for field in kind.fields]
    checked = [(field, check) for field, check in fields if check is not None]

    def check_all(found: Any) -> str:
        for field, check in checked:
            if at := check(getattr(found, field)):
                return at
        return _FITS

    return check_all if checked else None
