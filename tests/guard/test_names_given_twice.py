"""T323: a device keeps what came of a call; after a lost history another call has its name, and is not counted as done.

The hub's core, the agent's core and its ledger are real; the frames between them are handed over here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from starloom.core.run.attempts import inputs_of
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_agent.work import core
from starloom_agent.work.ledger import Ledger
from starloom_protocol.vocabulary import EffectSeen, Outcome
from starloom_protocol.wire.frames import BEGUN, Dispatch, ResultFrame
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver

CHAT, BANK = '{"url":"https://chat.example/hello"}', '{"url":"https://bank.example/pay?b=2"}'


class Device:
    """The decisions and the ledger of one agent."""

    def __init__(self, path: Path) -> None:
        self.ledger = Ledger(path)
        self.state = core.AgentState(slots=2)

    def take(self, hub: Driver, order: SendDispatch) -> core.Action:
        """Take an order as the pump sends it, and write down what begins."""
        made = Dispatch(
            args=order.args,
            at=order.at,
            fence_after_s=0,
            inputs=inputs_of(hub.shard.constellations["c1"], order.inputs),
            repeatability=order.repeatability,
            start_to_close_s=60,
            tool=order.tool,
        )
        (action,) = core.step(self.state, made)
        if isinstance(action, core.Start):
            self.ledger.accepted(order.at, effect="maybe", once=True, call=core.digest_of(made))
            self.ledger.started(order.at)
            self.ledger.finished(order.at, ResultFrame(at=order.at, outcome=Outcome.OK, report=1, value="{}"))
            self.ledger.flush()
            core.step(self.state, core.CallEnded(order.at, stopped=False))
        return action

    def tell(self, hub: Driver) -> None:
        """Tell what began here, as in a greeting; then send the result that the hub has not acknowledged."""
        for at in self.ledger.begun_lately():
            call, ident = self.ledger.call_of(at), hub.ident()
            hub.do(i.LedgerReported(id=ident, by="device:d-one", device="d-one", at=at, call=call, state=BEGUN))
            kept = self.ledger.result_of(at)
            assert isinstance(kept, ResultFrame)
            hub.do(i.ResultReported(id=hub.ident(), by="device:d-one", device="d-one", frame=kept))


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path / "ledger.sqlite")
    yield made
    made.ledger.close()


def hub(args: str, incarnation: int) -> Driver:
    """A hub whose history has one task, `pay`."""
    driver = WatchedDriver("one")
    driver.shard.incarnation = incarnation
    driver.submit(plan(task("pay", tool="t.never", args=args)))
    return driver


def done_before(device: Device) -> None:
    before = hub(CHAT, 1)
    assert isinstance(device.take(before, before.take()[0]), core.Start)


def test_t323_another_call_is_neither_done_nor_begun_unasked(device: Device) -> None:
    done_before(device)
    restored = hub(BANK, 1002)
    (order,) = restored.take()
    assert isinstance(device.take(restored, order), core.SayBegun)
    device.tell(restored)
    assert (restored.states(), restored.take()) == ({"pay": "unknown"}, [])
    assert not restored.control("retry", "pay", confirm=["pay"]).faults
    assert isinstance(device.take(restored, restored.take()[0]), core.Start)


def test_t323_the_same_call_is_not_done_again(device: Device) -> None:
    done_before(device)
    restored = hub(CHAT, 1002)
    (order,) = restored.take()
    assert isinstance(device.take(restored, order), core.SayBegun)
    device.tell(restored)
    assert restored.state() == "succeeded"


def test_t323_a_device_refuses_a_hub_that_asks_for_the_result_under_another_call(device: Device) -> None:
    """An older hub compares nothing: it names the attempt that began, with the arguments of its own plan."""
    done_before(device)
    later = hub(BANK, 1002)
    (order,) = later.take()
    action = device.take(later, replace(order, at=replace(order.at, incarnation=1)))
    assert isinstance(action, core.AnswerFromLedger)
    assert device.ledger.call_of(action.at) not in ("", action.call)
    assert action.other is not None
    assert (action.other.outcome, action.other.effect) == (Outcome.INTERRUPTED, EffectSeen.MAYBE)
