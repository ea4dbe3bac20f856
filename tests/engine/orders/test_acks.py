"""Reports are acknowledged as durable by the commits that hold them, and by no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from starloom.core.state.inputs import ReceiptReported
from starloom.engine.orders.pump import Acknowledgements
from starloom_protocol.wire.frames import Ack, HubFrame, LeaseRef, Receipt
from tests.builders import plan, task
from tests.engine.test_loop import hub, settle


@dataclass
class Sender:
    sent: list[tuple[str, int, int]] = field(default_factory=list)

    def send(self, device: str, frames: Sequence[HubFrame]) -> bool:
        raise AssertionError("an acknowledgement is in no hurry")

    def send_along(self, device: str, frames: Sequence[HubFrame]) -> bool:
        for frame in frames:
            assert isinstance(frame, Ack)
            self.sent.append((device, frame.received, frame.durable))
        return True

    def flush(self) -> None:
        raise AssertionError("an acknowledgement is in no hurry")

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        raise AssertionError("nothing here closes a socket")


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


def test_what_was_noted_before_the_shard_was_lost_is_not_acknowledged() -> None:
    sender = Sender()
    acks = Acknowledgements(sender)
    acks.note(5, [report(1)])
    acks.send(5)
    acks.note(6, [report(2)])
    acks.forget()
    acks.send(6)
    assert sender.sent == [("d", 1, 1)]
    assert acks.durable("d") == 1


async def test_acknowledgements_are_gathered_after_the_first() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(*(task(f"t{number}") for number in range(4))))
        await settle()
        numbers = []
        for number, dispatch in enumerate(found.wires.dispatches()):
            found.result(dispatch, report=number + 1)
            await settle()
            numbers.append(len(found.wires.acks()))
        assert len(numbers) == 4
        assert numbers[-1] <= 1, "each of four results was durable at once"
        await found.clock.turn(1_000)
        assert found.wires.acks()[-1].durable == 4
        assert len(found.wires.acks()) <= 2


async def test_a_device_keeps_its_result_until_the_history_has_it() -> None:
    async with hub() as found:
        await found.join("one")
        await found.submit(plan(task("a")))
        await settle()
        dispatch = found.wires.dispatches()[-1]
        found.history.down = True
        found.result(dispatch)
        await found.clock.turn(1_000)
        assert found.engine.shard.constellations["c1"].tasks["a"].state == "succeeded"
        assert [ack for ack in found.wires.acks() if ack.durable] == []
        found.history.down = False
        await found.clock.turn(5_000)
        assert found.wires.acks()[-1].durable == 1
