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


def of_device(name: str) -> Named:
    return {"device": name} if name else {}


class Stored(TypedDict):
    """A file in the hub's store; `artifact` is its SHA-256."""

    artifact: str
    bytes: int
    media: str
    name: str


class StoredFrom(Stored):
    """`path` is where it was on this device, or its name."""

    path: str


class LeftOut(Named):
    path: str
    why: str


class AddedItem(TypedDict):
    """A path with a new file or `folder`. An undo takes it only while it is as it was made.

    `wrote` is the hash of the file, `replaced` the ticket in the trash of the file that was there. A folder made
    `on_way` to a file stays where it holds other files by then.
    """

    folder: NotRequired[bool]
    on_way: NotRequired[bool]
    path: str
    replaced: NotRequired[str]
    wrote: NotRequired[str]


class Holding(TypedDict, total=False):
    """`folder` is the absolute path of the folder that holds all of the files."""

    folder: str


Added = list[AddedItem]
"""The items that `fs.trash` takes to undo a write: where nothing was, and where a file replaced another."""


def added_as(path: str, wrote: str, ticket: str = "") -> AddedItem:
    """Return the item of `Added` for a file with this hash, with the ticket of the file that was there."""
    item: AddedItem = {"path": path, "wrote": wrote}
    if ticket:
        item["replaced"] = ticket
    return item


class MovedFrom(TypedDict):
    """A file or folder that lies at `path` and `was` elsewhere; `state` names its files, sizes and times.

    So many folders above it were `made` for it.
    """

    made: NotRequired[int]
    path: str
    state: str
    was: str


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
