"""The keys of Starloom in Redis, each as a name or a function.

All keys of the shard carry one hash tag, so that one script may use any of them together. Celery's keys are not here:
they are in another database of the same server.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "sl:{0}:"

TERM: Final = PREFIX + "term"
INCARNATION: Final = PREFIX + "incarnation"
POS: Final = PREFIX + "pos"
SENT_POS: Final = PREFIX + "sent_pos"
LINK: Final = PREFIX + "link"
OWNER: Final = PREFIX + "owner"
LOG: Final = PREFIX + "log"
HEADS: Final = PREFIX + "heads"
INBOX: Final = PREFIX + "inbox"
BESIDE: Final = PREFIX + "beside"
SKETCHES: Final = PREFIX + "sketches"

INBOX_GROUP: Final = "engine"
INBOX_CONSUMER: Final = "owner"


def entities(stream: str) -> str:
    """Return the key of the hash that holds a stream's entities."""
    return f"{PREFIX}e:{stream}"


def answer(token: str) -> str:
    """Return the key of the list on which the answer to one posted input arrives."""
    return f"{PREFIX}answer:{token}"


def hub(identity: str) -> str:
    """Return the key of a hub's card, which has its address for other hubs."""
    return f"{PREFIX}hub:{identity}"


def log_id(pos: int) -> str:
    return f"{pos}-0"


def log_pos(entry_id: bytes) -> int:
    """Return the position of a log entry's id."""
    return int(entry_id.partition(b"-")[0])
