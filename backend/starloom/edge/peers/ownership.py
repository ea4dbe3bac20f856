"""The ownership of the shard, as a hub of it knows it: the owner, and how much of the log this hub has seen."""

from __future__ import annotations

from typing import Protocol


class Ownership(Protocol):
    """The owner of the shard, as this hub knows it."""

    @property
    def owns(self) -> bool:
        """Whether this hub owns the shard."""
        ...

    @property
    def owner_url(self) -> str | None:
        """The address of the owner, if that is another hub and it is known."""
        ...

    @property
    def stale(self) -> bool:
        """Whether this hub's view of the log is too old to judge by."""
        ...

    @property
    def pos(self) -> int:
        """The last commit that this hub has published."""
        ...

    async def caught_up(self, pos: int) -> None:
        """Wait until a commit was published here."""
        ...
