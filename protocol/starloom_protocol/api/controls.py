"""Answers of controls: the new version, the reserved tasks, the state after a control, and a stop of everything."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from starloom_protocol.vocabulary import ConstellationState


class Edited(TypedDict):
    """The version that an edit made."""

    version: int


class DraftRow(TypedDict):
    """The tasks that a draft reserves, and until when."""

    tasks: list[str]
    expires_at: str | None


class Closed(TypedDict):
    """A draft that is closed."""

    closed: bool


class Controlled(TypedDict):
    """A constellation after a control, and the last event of its log then."""

    id: str
    seq: int
    state: NotRequired[ConstellationState]


class StopRow(TypedDict):
    """A device in the last stop of everything; `link` is `revoked` for a device that no longer belongs here."""

    id: str
    name: str
    link: str
    link_since: str | None
    asked: int
    left: list[str]
    confirmed_at: str | None


class Stop(TypedDict):
    """The last stop of everything, and the devices that have confirmed it."""

    at: str | None
    by: str | None
    reason: str
    devices: list[StopRow]


class Stopped(Stop):
    """A stop of everything with the constellations that it ended."""

    constellations: list[str]
