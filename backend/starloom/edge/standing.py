"""What the edge knows of this hub's place among the hubs of a shard: who owns it, and how far this one has seen."""

from __future__ import annotations

from typing import Protocol


class Standing(Protocol):
    """Which hub owns the shard, as this one knows it."""

    @property
    def owns(self) -> bool:
        """Whether this hub does."""
        ...

    @property
    def owner_url(self) -> str | None:
        """Where the owner is reached, if that is another hub and it is known."""
        ...

    @property
    def stale(self) -> bool:
        """Whether what this hub has seen of the log is too old to judge by."""
        ...

    @property
    def pos(self) -> int:
        """The last commit that this hub has published."""
        ...

    async def caught_up(self, pos: int) -> None:
        """Wait until a commit was published here."""
        ...
