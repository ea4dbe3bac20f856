"""The outbox: reports that the hub has not made durable yet, in the order of their numbers, over all connections.

Reports of `pure` work are kept here only; all others are in the ledger as well, which must be flushed before
`unsent` is read. Numbers rise for the life of the ledger. No report may leave before the ledger's next flush; the
runtime enforces that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from starloom_agent.toolkit.messages import Ended, sendable
from starloom_agent.work.ledger import Ledger, Report
from starloom_protocol.vocabulary import EffectSeen
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, frame_bytes
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame, Started

BATCH_BYTES: Final = 512 * 1024
BATCH_FRAMES: Final = 1_000
REPORT_BYTES_MOST: Final = MESSAGE_BYTES_MAX - 16 * 1024
"""A longer report would end each connection that it is sent on, so its texts are cut. Facts take 700 KiB at most."""
TEXT_CHARS_MOST: Final = 4_000
"""A tool's sentence has half as many at most, and a line to type may stand behind it."""


def sendable_report(report: Report) -> tuple[Report, int]:
    """Return a report as it may leave, and how many bytes it takes in a message."""
    size = frame_bytes(report)
    if size > REPORT_BYTES_MOST and isinstance(report, ResultFrame):
        report = replace(report, detail=report.detail[:TEXT_CHARS_MOST], tail=report.tail[-TEXT_CHARS_MOST:])
        if frame_bytes(report) > REPORT_BYTES_MOST:
            # The pointers of the hub alone are too long; a pointer that is missing in both maps found nothing.
            report = replace(report, facts={}, facts_too_big={})
        size = frame_bytes(report)
    return report, size


class Outbox:
    """Reports from `add` to the durable acknowledgement. `pending` is ordered by number."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.pending: dict[int, Report] = {report.report: report for report in ledger.reports()}
        self._sent_up_to = 0
        self._again: list[int] = []

    def add(self, make: Callable[[int], Report], *, durable: bool) -> Report:
        """Number a report and keep it; `durable` ones survive a crash once the ledger is flushed."""
        report = make(self._ledger.take_number())
        self.pending[report.report] = report
        if durable:
            self._ledger.keep(report)
        return report

    def connected(self, received: int) -> bool:
        """Begin a connection whose hub has everything up to `received` durably; False if that cannot be this ledger."""
        self._again.clear()
        self._sent_up_to = 0
        if received >= self._ledger.next_report:
            return False
        self.acknowledged(received)
        return True

    def acknowledged(self, durable: int) -> None:
        """Forget the reports up to this number, which are in the hub's durable log."""
        gone = []
        for number in self.pending:
            if number > durable:
                break
            gone.append(number)
        for number in gone:
            del self.pending[number]
        if gone:
            # A number of this ledger, whatever the hub said.
            self._ledger.drop_reports(gone[-1])

    def end_of(self, at: LeaseRef) -> ResultFrame | Receipt | None:
        """Return the last report of an attempt, if it is still pending."""
        for report in reversed(self.pending.values()):
            if isinstance(report, ResultFrame | Receipt) and report.at == at:
                return report
        return None

    def send_again(self, number: int) -> None:
        """Send a pending report once more on this connection."""
        if number <= self._sent_up_to and number not in self._again:
            self._again.append(number)

    @property
    def has_unsent(self) -> bool:
        if self._again:
            return True
        last = next(reversed(self.pending), 0)
        return last > self._sent_up_to

    def unsent(self) -> list[Report]:
        """Return the next batch to send and count it as sent on this connection."""
        fresh: list[int] = []
        for number in reversed(self.pending):
            if number <= self._sent_up_to:
                break
            fresh.append(number)
        batch: list[Report] = []
        room = BATCH_BYTES
        for number in (*self._again, *reversed(fresh)):
            if number in self.pending:
                report, size = sendable_report(self.pending[number])
                if batch and (size > room or len(batch) >= BATCH_FRAMES):
                    break
                batch.append(report)
                room -= size
            if number > self._sent_up_to:
                self._sent_up_to = number
            else:
                self._again.remove(number)
        return batch


def report_start(outbox: Outbox, at: LeaseRef, *, durable: bool) -> None:
    """Report that an attempt begins."""
    outbox.add(lambda number: Started(at=at, report=number), durable=durable)


def report_end(outbox: Outbox, ledger: Ledger, at: LeaseRef, ended: Ended, *, durable: bool, verified: bool) -> None:
    """Report the end of an attempt; a durable end is kept to answer a repeated dispatch."""

    def frame(number: int) -> ResultFrame:
        return ResultFrame(
            artifact=ended.artifact,
            at=at,
            bytes=ended.bytes,
            code=ended.code,
            detail=sendable(ended.detail)[:TEXT_CHARS_MOST],
            effect=ended.effect,
            facts=ended.facts,
            facts_too_big=ended.facts_too_big,
            outcome=ended.outcome,
            report=number,
            tail=ended.tail,
            value=ended.value,
            verified=verified,
        )

    report = outbox.add(frame, durable=durable)
    if durable and isinstance(report, ResultFrame):
        ledger.finished(at, report)


def report_receipt(outbox: Outbox, ledger: Ledger, at: LeaseRef, *, effect: EffectSeen, known: bool) -> None:
    """Report that a cancel is done."""
    receipt = outbox.add(lambda number: Receipt(at=at, effect=effect, known=known, report=number), durable=True)
    if isinstance(receipt, Receipt):
        ledger.finished(at, receipt)
