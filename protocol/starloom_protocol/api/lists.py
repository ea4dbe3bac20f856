"""The frame of a list in the REST API."""

from __future__ import annotations

from typing import Generic, TypedDict, TypeVar

Item = TypeVar("Item")


class Items(TypedDict, Generic[Item]):
    """A list, or a page of one; `next` is the cursor of the page after it."""

    items: list[Item]
    next: str | None
