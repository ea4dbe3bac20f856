"""The remains of calls: programs that run on after them, and, after a crash of the agent, attempts without an end.

One program of each kind is left running on purpose, for a time, as a clipboard of X11 or Wayland. It ends when the next
of its kind starts, when its time is over, and with the agent; after a crash the next start ends it. Programs that a
person opened are not among them. A disk that refuses the record ends neither a call nor the agent: the record is
written as soon as the disk takes it. The ends of attempts are returned; the caller reports each once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from starloom_agent.home.directory import write_private
from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import Detached, Ended
from starloom_agent.work.ledger import Ledger
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import LeaseRef


class _Kept(msgspec.Struct, frozen=True):
    """One program; `until` is a reading of the clock that runs during sleep, and means something in one boot only."""

    kind: str
    pid: int
    mark: str
    until: float
    boot: str


class Leftovers:
    """The record, in a file of the agent's home."""

    def __init__(
        self, path: Path, say: Callable[[str], None], clock: Callable[[], float] = processes.awake_clock_s
    ) -> None:
        self._path = path
        self._say = say
        self._clock = clock
        self._boot = processes.boot_mark()
        self._left: dict[str, _Kept] = {}
        self._is_written = True

    def recover(self) -> None:
        """End the programs that an earlier process of this agent left, if this is still the same boot."""
        try:
            items = msgspec.json.decode(self._path.read_bytes(), type=list[_Kept])
        except (FileNotFoundError, msgspec.DecodeError):
            return
        self._left = {item.kind: item for item in items if item.boot == self._boot}
        self.end_all()

    def take(self, detached: Iterable[Detached]) -> None:
        """Own these programs from now on; an earlier one of the same kind ends."""
        for item in detached:
            if item.kind:
                self._end([old for old in self._left.values() if old.kind == item.kind])
                self._left[item.kind] = _Kept(item.kind, item.pid, item.mark, self._clock() + item.keep_s, self._boot)
                self._note()

    def sweep(self) -> None:
        """End programs whose time is over, forget ended ones, and write a record that the disk refused."""
        now = self._clock()
        gone = [item for item in self._left.values() if processes.start_mark(item.pid) != item.mark]
        self._end([*gone, *(item for item in self._left.values() if item.until <= now and item not in gone)])
        if not self._is_written:
            self._note()

    def end_all(self) -> None:
        self._end(list(self._left.values()))

    def _end(self, items: list[_Kept]) -> None:
        if not items:
            return
        # A group lives while it has a member, so its number is not another's; a leader with another mark is spared.
        processes.end_groups([(item.pid, item.mark) for item in items])
        for item in items:
            del self._left[item.kind]
        self._note()

    def _note(self) -> None:
        try:
            write_private(self._path, msgspec.json.encode(list(self._left.values())))
        except OSError as error:
            if self._is_written:
                self._say(
                    f"{self._path} cannot be written ({error}); it is tried again, and a crash before that leaves "
                    "programs of calls running"
                )
            self._is_written = False
        else:
            self._is_written = True


def end_attempts(ledger: Ledger, boot: str, *, say: Callable[[str], None]) -> list[tuple[LeaseRef, Ended]]:
    """End the process groups that the ledger names, and return the end of every attempt that it lists as unfinished.

    Groups of another boot are gone with it; their numbers mean other processes now.
    """
    unfinished = ledger.unfinished()
    groups = [
        (item.group, item.group_mark) for item in unfinished if item.group and item.group_mark and item.boot == boot
    ]
    left = processes.end_groups(groups)
    if left:
        say(f"groups {left} did not end within 5 s; their attempts are reported nevertheless")
    ends = []
    for item in unfinished:
        was_begun = item.state == "started"
        ended = Ended(
            outcome=Outcome.INTERRUPTED if was_begun else Outcome.NEVER_STARTED,
            code=Code.INTERRUPTED,
            detail="the agent was ended in the middle of it" if was_begun else "the agent was ended before it began",
            effect=EffectSeen(item.effect) if was_begun else EffectSeen.NONE,
        )
        ends.append((item.at, ended))
    return ends


def empty_folders(work: Path) -> None:
    """Remove the directories of attempts that are over."""
    for folder in work.iterdir():
        shutil.rmtree(folder, ignore_errors=True)
