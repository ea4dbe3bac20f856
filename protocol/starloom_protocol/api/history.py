"""Answers about the past: of a constellation (events, output, forks, undone work, authors, artifacts) and of the hub.

The past of the hub is the record of activity, the check of its chain, and replays of decisions. Types only.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from starloom_protocol.stream.events import Category


class EventRow(TypedDict):
    """One numbered event; `puts` are the entities that it changed, null for a removed one."""

    about: NotRequired[str]
    at_ms: int
    by: str
    kind: str
    note: NotRequired[str]
    puts: dict[str, Any]
    seq: int
    stream: str


class EventPage(TypedDict):
    """Events in order; `next` is the number of the last one."""

    items: list[EventRow]
    next: int


class OutputLine(TypedDict):
    """A found line of output, and the offset at which it begins."""

    offset: int
    text: str


class Output(TypedDict):
    """Output of an attempt: a range of it, or the found `lines`.

    `text` of a range covers `offset` to `next`; `end` is the number of bytes so far, `lost` are missing ranges.
    """

    text: str
    lines: NotRequired[list[OutputLine]]
    offset: NotRequired[int]
    next: NotRequired[int]
    end: NotRequired[int]
    lost: NotRequired[list[tuple[int, int]]]


class Undone(TypedDict):
    """The version that undoes work, and the tasks whose work cannot be undone; `says` comes with a preview."""

    version: int
    undoing: list[str]
    cannot_be_undone: list[str]
    says: NotRequired[list[str]]


class BlameLine(TypedDict):
    """A version with its author and reason."""

    version: int
    author: str
    trigger: str
    reason: str
    at: str | None


class BlameRow(TypedDict):
    """A task or dependency with the versions that made it as it is."""

    kind: Literal["task", "dependency"]
    id: str
    added: BlameLine | None
    changed: list[BlameLine]


class Uploaded(TypedDict):
    """An artifact that was uploaded, named by its hash."""

    artifact: str
    bytes: int


class ActivityRow(TypedDict):
    """An event of any stream, without the state that it changed."""

    pos: int
    stream: str
    stream_name: str
    """The name of the constellation whose event it is; empty for the fleet and access, and for one that is pruned."""
    seq: int
    at: str | None
    by: str
    by_name: str
    """The author by name, without the token: a device by its present name, and *the hub* for its own parts."""
    kind: str
    category: Category
    about: str
    about_name: str
    """The name of the device, or of the holder of the token or link, that it is about; empty where it has none."""
    note: str
    files: list[str]
    """The paths that a finished task wrote, moved or put into the trash, up to a bound."""
    files_count: int
    """The number of all of them."""


class PrunedParts(TypedDict):
    """The parts of the history that were pruned."""

    anchors: int
    commits: int
    constellations: int
    first_at: str | None
    last_at: str | None
    why: list[str]


class ChainBreak(TypedDict):
    """A place where the history contradicts itself."""

    pos: int
    what: str


class ChainCheck(TypedDict):
    """The check of the whole chain: `anchor` is its last link, to be kept elsewhere."""

    pruned: PrunedParts
    unseen_anchors: list[int]
    ok: bool
    commits: int
    events: int
    unchained: int
    pos: int
    link: str
    anchor: str
    breaks: list[ChainBreak]


class DecisionDifference(TypedDict):
    """An event that was decided differently; `decided` or `logged` is empty where there was none."""

    decided: str
    input: str
    logged: str
    pos: int
    seq: int
    stream: str


class Replayed(TypedDict):
    """The decisions of a constellation, decided again; `exact` is false where the log lacks inputs."""

    same: bool
    commits: int
    constellation: str
    differences: list[DecisionDifference]
    events: int
    exact: bool
    first_pos: int
    inputs: int
    last_pos: int
    note: str
    seconds_of_log: int
    without_inputs: int
