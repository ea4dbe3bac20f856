"""Result types that several tools share. A tool's own result type is defined beside the tool.

The return type of a tool's function defines its result: the schema by which the hub checks plans is made from it, so a
field that is not in it does not exist.
"""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

import msgspec

OPEN_ENDED: Final = msgspec.Meta(extra={"open_ended": True})
"""Marks the result type of a tool that names some of its fields after its arguments."""


class Named(TypedDict, total=False):
    """`device` is there where the task gave `device_name`."""

    device: str


class Stored(TypedDict):
    """A file in the hub's store; `artifact` is its SHA-256."""

    artifact: str
    bytes: int
    media: str
    name: str


class StoredFrom(Stored):
    """`path` is where it was on this device, or its name."""

    path: str


class ReplacedFile(TypedDict):
    """A path with a new file; `replaced` is the ticket in the trash of the file that was there."""

    path: str
    replaced: str


Added = list[str | ReplacedFile]
"""The paths that `fs.trash` takes to undo a write: where nothing was, and where a file replaced another."""


def added_as(path: str, ticket: str) -> str | ReplacedFile:
    """Return the item of `Added` for a path, with the ticket of the file that was there."""
    return {"path": path, "replaced": ticket} if ticket else path


class Finding(Named):
    """One thing that speaks against a machine, as recipes put those of several tools in one order."""

    looked_at: str
    severity: int
    why: str


class Summary(Named):
    """The severity of all findings; `unseen` names the things that could not be checked."""

    severity: int
    unseen: NotRequired[str]
    weight: int
    why: str
