"""The most that a text, a list or a map in a frame of a device may hold, each by its name.

A frame is kept in the log with the input that it becomes, so the limit of a message alone lets one device fill the
history. Bounds lie far above what any build of an agent sends: a frame beyond one is refused whole, and so would be the
same report on the next connection. Frames of the handshake are held by the limit of an unproved peer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starloom_protocol.values import FACT_LIST_ITEMS_MAX, INLINE_VALUE_BYTES_MAX
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, Lengths

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

frame_fault: Final = Lengths(BOUNDS).fault
"""Returns why a frame is refused, for the device; empty if all of it is within its bounds."""
