"""Answers about secrets: their metadata, never a value."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from starloom_protocol.api.approvals import NamedDevice


class SecretRow(TypedDict):
    """A secret without its value. An empty list of devices, recipes or tools means any."""

    name: str
    version: int
    created_at: str | None
    set_at: str | None
    set_by: str
    last_used_at: str | None
    devices: list[NamedDevice]
    recipes: list[str]
    tools: list[str]


class SetSecret(TypedDict):
    """A secret that was set; only name and version where it was removed at the same time."""

    name: str
    version: int
    created_at: NotRequired[str | None]
    set_at: NotRequired[str | None]
    set_by: NotRequired[str]
    last_used_at: NotRequired[str | None]
    devices: NotRequired[list[NamedDevice]]
    recipes: NotRequired[list[str]]
    tools: NotRequired[list[str]]
