"""Reports are acknowledged as durable by the commits that hold them, and by no others."""

from __future__ import annotations

from dataclasses import dataclass, field

from starloom.core.inputs import ReceiptReported
from starloom.engine.acks import Acknowledgements
from starloom_protocol.frames import Ack, Frame, LeaseRef, Receipt


@dataclass
class Sender:
    sent: list[tuple[str, int, int]] = field(default_factory=list)

    def send(self, device: str, frames: list[Frame]) -> None:
        for frame in frames:
            assert isinstance(frame, Ack)
            self.sent.append((device, frame.received, frame.durable))


def report(number: int) -> ReceiptReported:
    at = LeaseRef(attempt=1, incarnation=1, constellation="c", task="t")
    return ReceiptReported(by="d", device="d", frame=Receipt(at=at, report=number), id=f"r-{number}", scope="device")


def test_what_is_durable_follows_the_history() -> None:
    sender = Sender()
    acks = Acknowledgements(sender)
    acks.note(5, [report(1)])
    acks.note(6, [report(2)])
    acks.send(4)
    acks.send(5)
    acks.send(6)
    assert sender.sent == [("d", 2, 1), ("d", 2, 2)]


def test_a_commit_that_is_lost_is_not_acknowledged_by_the_next_of_its_number() -> None:
    sender = Sender()
    acks = Acknowledgements(sender)
    acks.note(5, [report(1)])
    acks.note(6, [report(2)])
    acks.forget_after(5)
    acks.note(6, [])
    acks.send(6)
    assert sender.sent == [("d", 1, 1)]
    assert acks.durable("d") == 1
