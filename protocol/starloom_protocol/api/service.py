"""Answers about the hub itself: health, readiness, disk, the local network; and the form of every list."""

from __future__ import annotations

from typing import Generic, Literal, NotRequired, TypedDict, TypeVar


class QrCode(TypedDict):
    """A QR code as the side of its square and one SVG path over it."""

    size: int
    path: str


class Health(TypedDict):
    """The process answers; `role` tells whether it owns the shard."""

    status: Literal["ok"]
    role: Literal["owner", "standby"]


class Readiness(TypedDict):
    """Whether the hub is ready for work, and the parts that it waits for."""

    status: Literal["ready", "not ready"]
    waits_for: NotRequired[list[str]]


class HubDisk(TypedDict):
    """The disk under the hub's data folder at this moment; where it cannot be read, `fault` says why."""

    folder: str
    free_bytes: int | None
    whole_bytes: int | None
    fault: str


class LanRow(TypedDict):
    """The listener of the local network."""

    open: bool
    url: str
    pin: str
    words: str
    warning: str
    certificate_expires_at: str | None
    fault: str


Item = TypeVar("Item")


class Items(TypedDict, Generic[Item]):
    """A list, or a page of one; `next` is the cursor of the page after it."""

    items: list[Item]
    next: str | None
