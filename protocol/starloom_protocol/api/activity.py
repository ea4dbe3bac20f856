"""Answers about the record of activity: its events, the check of its chain, and replays of decisions."""

from __future__ import annotations

from typing import TypedDict

from starloom_protocol.events import Category


class ActivityRow(TypedDict):
    """An event of any stream, without the state that it changed."""

    pos: int
    stream: str
    seq: int
    at: str | None
    by: str
    kind: str
    category: Category
    about: str
    about_name: str
    """The name of the device, or of the holder of the token or link, that it is about; empty where it has none."""
    note: str


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
