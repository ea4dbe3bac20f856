"""What a hub that goes on from the log does with commits that it showed and that Redis has lost since."""

from __future__ import annotations

from dataclasses import dataclass

from starloom.engine.following import Follower
from starloom.store.port import Followed, LogPort
from tests.engine.test_loop import TurningClock, Wires


@dataclass
class Log(LogPort):
    """A log that stands still."""

    commits: list[list[bytes]]
    incarnation: int = 2

    async def end(self) -> tuple[int, int]:
        return len(self.commits), self.incarnation

    async def commit_at(self, pos: int) -> Followed | None:
        if pos > len(self.commits):
            return None
        return Followed(events=self.commits[pos - 1], incarnation=self.incarnation, pos=pos)

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        raise AssertionError("what stands still is not waited for")

    async def holder(self) -> str | None:
        raise AssertionError("who holds the shard is not asked here")


async def cuts_of(log: Log, seen: list[bytes], at: int) -> list[int]:
    """Return where viewers were told to begin again, by a hub that has published `seen` as commit `at`."""
    told: list[int] = []

    async def cut() -> None:
        told.append(follower.pos)

    follower = Follower(log, Wires(), TurningClock(), cut)
    follower.begin(at, 1, seen)
    await follower.end_at(len(log.commits))
    assert follower.pos == len(log.commits)
    return told


async def test_a_commit_that_is_still_there_is_gone_on_from() -> None:
    assert await cuts_of(Log([[b"a"], [b"b"]]), [b"b"], 2) == []


async def test_another_commit_at_the_place_of_the_last_is_told() -> None:
    assert await cuts_of(Log([[b"a"], [b"c"]]), [b"b"], 2) == [2]


async def test_a_log_that_ends_before_what_was_shown_is_told() -> None:
    assert await cuts_of(Log([[b"a"]]), [b"b"], 2) == [1]
