"""The most that the numbers, texts, lists and maps of frames may hold, as the types of their fields.

A frame is kept in the log with the input that it becomes, so the limit of a message alone lets one device fill the
history. Bounds lie far above what any build of an agent sends: a frame beyond one is refused whole, and so would be the
same report on the next connection. Frames of the handshake are held by the limit of an unproved peer. Owns no field.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

Counter = Annotated[int, Meta(ge=0, le=2**53)]
"""Both ends keep it: in a column of 64 bits, and as a number of JavaScript."""

ASKED_CHARS_MOST: Final = 300
"""Of the words of a request a person reads so many beside a question, which they are not to push off the screen."""
AskedText = Annotated[str, Meta(max_length=ASKED_CHARS_MOST)]

MESSAGE_BYTES_MAX: Final = 1024 * 1024
"""A message is decoded whole; larger things go as artifacts."""

Word = Annotated[str, Meta(max_length=200)]
"""A word of the vocabulary, a hash, or a name that the hub has given."""

TaskName = Annotated[str, Meta(max_length=1_000)]
"""The id of a task in the groups around it, as the hub has given it."""

CHARS_MOST: Final = 4_096
"""The longest path of a file system, which a fact, a grant or a reason may name."""
Line = Annotated[str, Meta(max_length=CHARS_MOST)]

Long = Annotated[str, Meta(max_length=64 * 1024)]
"""A schema of a tool has 32 KiB at most; a sentence about an end has 2,000 characters, and of older agents more."""

Output = Annotated[str, Meta(max_length=MESSAGE_BYTES_MAX)]
"""Facts, output and notes are not kept as they come, and the limit of their message is enough."""

TOOLS_MOST: Final = 4_096
"""An agent offers the tools of 16 servers with 200 each, beside its own."""

ENTRIES_MOST: Final = 2_000
"""Facts and grants; a grant is for one folder, host or command."""

EFFECTS_MOST: Final = 200
"""The vocabulary has far fewer."""

FACTS_MOST: Final = 10_000
"""Parts of one result, of which a plan asks for far fewer."""

LEASES_MOST: Final = 5_000
"""A device has far fewer attempts that are open."""

LEDGER_MOST: Final = 1_000
"""An agent tells 128 of its own accord and is asked about one at a time; each is an input."""

ASKS_MOST: Final = 100
"""An agent tells no more questions at once, and no more are kept."""
