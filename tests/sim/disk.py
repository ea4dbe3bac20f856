"""What an agent's disk has: writes are collected and put down by one flush; what was not flushed a crash takes away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from starloom_agent.work import core
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame

RESERVED = 100
BEGUN_TOLD = 128


class SimLedger:
    """The twin of `starloom_agent.work.ledger.Ledger`. While it is `full` no flush succeeds."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.full = 0
        self.next_report = 1
        self.attempts: dict[LeaseRef, str] = {}
        self.results: dict[LeaseRef, ResultFrame | Receipt] = {}
        self.begun: dict[LeaseRef, bool] = {}
        self.calls: dict[LeaseRef, str] = {}
        self.kept: dict[int, Any] = {}
        self._reserved = 1
        self._pending: list[Callable[[], object]] = []
        self._must_sync = False

    def _write(self, write: Callable[[], object], *, sync: bool) -> None:
        self._pending.append(write)
        self._must_sync = self._must_sync or sync

    def flush(self) -> bool:
        """Put down what must be; False while the disk refuses. Lazy writes alone wait for the next that must."""
        if not self._must_sync:
            return True
        if self.full:
            return False
        for write in self._pending:
            write()
        self._pending.clear()
        self._must_sync = False
        return True

    def lose(self) -> None:
        """The process or the machine is gone: numbers of the block in use are never used again."""
        self._pending.clear()
        self._must_sync = False
        self.next_report = self._reserved

    def take_number(self) -> int:
        while self.next_report >= self._reserved:
            # Reserved long before it is needed; a full disk delays no number here.
            self._reserved += RESERVED
        self.next_report += 1
        return self.next_report - 1

    def started(self, at: LeaseRef, *, once: bool = False, call: str = "") -> None:
        def write() -> None:
            self.attempts[at] = "started"
            self.begun[at] = once
            self.calls[at] = call

        self._write(write, sync=True)

    def finished(self, at: LeaseRef, report: ResultFrame | Receipt) -> None:
        def write() -> None:
            self.attempts[at] = "finished"
            self.results[at] = report

        self._write(write, sync=True)

    def keep(self, report: Any) -> None:
        self._write(lambda: self.kept.__setitem__(report.report, report), sync=True)

    def drop_reports(self, up_to: int) -> None:
        def write() -> None:
            for number in [number for number in self.kept if number <= up_to]:
                del self.kept[number]

        self._write(write, sync=False)

    def reports(self) -> Iterator[Any]:
        return iter([self.kept[number] for number in sorted(self.kept)])

    def fences(self) -> dict[tuple[str, str], tuple[int, int]]:
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for at in self.attempts:
            key = core.task_of(at)
            found[key] = max(found.get(key, (-1, -1)), core.fence_of(at))
        return found

    def fences_of(self, key: core.TaskKey) -> tuple[core.Fence, core.Fence | None] | None:
        fences = [core.fence_of(at) for at in self.attempts if core.task_of(at) == key]
        begun = [core.fence_of(at) for at in self.begun if core.task_of(at) == key]
        if not fences:
            return None
        return max(fences), max(begun, key=lambda fence: (fence[1], fence[0]), default=None)

    def begun_lately(self) -> list[LeaseRef]:
        return [at for at, once in self.begun.items() if once][-BEGUN_TOLD:]
