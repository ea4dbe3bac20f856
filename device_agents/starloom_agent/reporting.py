"""Reports of attempts: numbered, in the outbox and - unless the work was pure - in the ledger.

No report may leave before the ledger's next flush; the runtime enforces that.
"""

from __future__ import annotations

from starloom_agent.calls import Ended
from starloom_agent.ledger import Ledger
from starloom_agent.outbox import Outbox
from starloom_protocol.vocabulary import EffectSeen
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame, Started


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
            detail=ended.detail,
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
