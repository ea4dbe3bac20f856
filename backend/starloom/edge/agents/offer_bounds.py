"""The bounds of an offer of a device: the names of its tools, how many there are, and how long its texts may be.

An offer is an event, part of the state of the fleet, and read for each preview. Judges its form alone: what a tool may
do is the device's word, and what its owner allowed is cut by the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from starloom_protocol.plan.language.models import NAME
from starloom_protocol.records.fleet import Offer
from starloom_protocol.text.wording import quoted

TOOLS_MOST: Final = 4_096
"""An agent offers the tools of 16 servers with 200 each, beside its own."""
SLOTS_MOST: Final = 4_096
"""The most that an agent takes from its owner. The device with the most free slots is the least busy one."""
ENTRIES_MOST: Final = 2_000
"""Facts and grants; a grant is for one folder, host or command."""
CHARS_MOST: Final = 4_096
"""The longest path of a file system, which a grant or a reason may name."""
_SHOWN: Final = 40


def offer_fault(offer: Offer, os: str) -> str:
    """Return why an offer is refused, for the device; empty if it is taken."""
    if not 0 <= offer.slots <= SLOTS_MOST:
        return f"its offer has {offer.slots} slots; a device has 0 to {SLOTS_MOST}"
    if len(offer.tools) > TOOLS_MOST:
        return f"its offer has {len(offer.tools)} tools; at most {TOOLS_MOST} are taken"
    if max(len(offer.facts), len(offer.grants)) > ENTRIES_MOST:
        return f"its offer has more than {ENTRIES_MOST} facts or grants"
    names = Counter(tool.name for tool in offer.tools)
    for name, count in names.items():
        if not NAME.fullmatch(name):
            return f"its offer has a tool {quoted(name[:_SHOWN])}, which no plan can name"
        if count > 1:
            return f"its offer has the tool {name} {count} times"
    if any(len(text) > CHARS_MOST for text in _texts(offer, os)):
        return f"its offer has a name, a title or a reason of more than {CHARS_MOST} characters"
    return ""


def _texts(offer: Offer, os: str) -> Iterable[str]:
    yield from (os, offer.digest, *offer.facts.keys(), *offer.facts.values(), *offer.grants)
    for tool in offer.tools:
        yield from (tool.title, tool.stands_for, tool.grant or "", tool.unavailable or "")
