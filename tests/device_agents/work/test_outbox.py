"""The outbox against the limit of a message: whatever a report holds, the session can send the batch it is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.messages import Ended
from starloom_agent.work.ledger import Ledger
from starloom_agent.work.outbox import TEXT_CHARS_MOST, Outbox, report_end
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, Side, decode
from starloom_protocol.wire.frames import LeaseRef, ResultFrame
from starloom_protocol.wire.session import Session, State

AT = LeaseRef(attempt=1, constellation="c", incarnation=1, task="t")
LONG = '"' + "x" * 400_000 + '"'


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    yield Outbox(ledger)
    ledger.close()


def ended(outbox: Outbox, count: int = 1, **fields: Any) -> None:
    for _ in range(count):
        outbox.add(lambda n: ResultFrame(at=AT, outcome=Outcome.OK, report=n, value="1", **fields), durable=True)


def sent(outbox: Outbox) -> list[list[ResultFrame]]:
    """Return the reports of each message, as the hub reads them."""
    session, messages = Session(Side.AGENT), []
    session.state, session._welcomed = State.OPEN, True
    while batch := outbox.unsent():
        messages.append(list(decode(session.send(batch), Side.AGENT, authenticated=True).f))
    return messages  # type: ignore[return-value]


@pytest.mark.parametrize("sign", ["\0", '"', "\N{SNOWMAN}"])
def test_signs_that_take_several_bytes_stay_within_a_message(outbox: Outbox, sign: str) -> None:
    ended(outbox, 100, tail=sign * 4_096)
    outbox.connected(0)
    messages = sent(outbox)
    assert [report.report for batch in messages for report in batch] == list(outbox.pending)
    assert len(messages) > 1


def test_reports_that_are_sent_again_stay_within_a_message(outbox: Outbox) -> None:
    ended(outbox, 4, facts={"/a": LONG})
    sent(outbox)
    for number in outbox.pending:
        outbox.send_again(number)
    assert [report.report for batch in sent(outbox) for report in batch] == list(outbox.pending)
    assert not outbox.has_unsent


@pytest.mark.parametrize(
    "fields",
    [
        {"detail": "\0" * 500_000, "facts": {"/a": LONG}},
        {"tail": "x" * MESSAGE_BYTES_MAX},
        {"facts_too_big": {"/" + "a" * MESSAGE_BYTES_MAX: 1}},
    ],
    ids=["detail", "tail", "pointers"],
)
def test_a_report_that_no_message_holds_is_cut(outbox: Outbox, fields: dict[str, Any]) -> None:
    ended(outbox, **fields)
    ended(outbox)
    (first, _) = [report for batch in sent(outbox) for report in batch]
    assert (first.value, first.outcome) == ("1", Outcome.OK)
    assert first.facts == fields.get("facts", {})


def test_a_long_sentence_about_an_end_is_cut(outbox: Outbox, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "another.sqlite")
    end = Ended(outcome=Outcome.ERROR, detail="x" * 1_000_000)
    report_end(outbox, ledger, AT, end, durable=False, verified=False)
    ledger.close()
    ((report,),) = sent(outbox)
    assert len(report.detail) == TEXT_CHARS_MOST
