"""Questions of devices to their owners, copied here for people, and the answers on their way to the devices.

The device decides: this module keeps a copy of its questions and passes on an answer that comes from a person and that
the device's policy accepts. It allows nothing; the task waits until the device's offer shows that it was answered.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import AsksReceived, OwnerAskAnswered
from starloom.core.state.orders import DURABLE, SendAnswer
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.approvals import DeviceAsks, OwnerAsk, PendingAsk
from starloom_protocol.stream.authors import ENGINE, may_decide
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code

OPEN_MOST: Final = 100
"""The open questions of one device that are copied."""
ARGS_CHARS: Final = 2_100
"""The characters of a call's arguments that a person is shown."""
LEFT_MOST_S: Final = 7 * 24 * 3600
"""The longest time for which a question is shown as open."""
HUB: Final = "hub"
"""The policy of a device that takes answers of this hub."""
_TEXT_CHARS: Final = 200


def on_asks(work: Work, item: AsksReceived) -> None:
    """Replace the open questions of a device. One that it still has although it was answered here is answered again."""
    fleet = work.shard.fleet
    device = fleet.devices.get(item.device)
    if device is None or device.revoked or device.session != item.session:
        work.ignore("a newer session has taken over")
        return
    before = fleet.asks.get(device.id)
    asks_before = {ask.action: ask for ask in before.open} if before is not None else {}
    # Of several questions about one action, the order is that of the first and the content that of the last.
    asks = {ask.action: ask for ask in item.open}
    pending = [
        asks_before.get(action) or _pending(asks[action], work.at_ms)
        for action in list(dict.fromkeys(ask.action for ask in item.open))[:OPEN_MOST]
    ]
    answers = item.answers if item.answers == HUB else "here"
    after = DeviceAsks(answers=answers, device=device.id, open=pending) if pending else None
    if after != before:
        work.emit(fleet, EventKind.DEVICE_ASKS, device.id, [("asks", device.id, after)], by=f"device:{device.id}")
    for ask in pending:
        if ask.answer and answers == HUB:
            work.order(_order(device.id, ask))


def _pending(ask: OwnerAsk, at_ms: int) -> PendingAsk:
    left_s = min(max(1, ask.left_s), LEFT_MOST_S)
    return PendingAsk(
        action=ask.action[:_TEXT_CHARS],
        args=ask.args[:ARGS_CHARS],
        asked_ms=at_ms,
        constellation=ask.constellation[:_TEXT_CHARS],
        expires_ms=at_ms + left_s * 1000,
        id=ask.id[:_TEXT_CHARS],
        task=ask.task[:_TEXT_CHARS],
        tool=ask.tool[:_TEXT_CHARS],
    )


def on_answered(work: Work, item: OwnerAskAnswered) -> None:
    """Pass a person's answer to a question on to its device, once; the device's own policy must accept it.

    Raises:
        Refusal: the caller is not a person, the question is not open, or the device takes answers on itself only.
    """
    fleet = work.shard.fleet
    asks = fleet.asks.get(item.device)
    ask = next((ask for ask in asks.open if ask.id == item.ask), None) if asks is not None else None
    if asks is None or ask is None:
        raise Refusal(fault(Code.NOT_FOUND, f"this device asks nothing that is called {item.ask[:64]}"))
    if not may_decide(work.by):
        raise Refusal(fault(Code.FORBIDDEN, f"only a person answers for a device, not {work.by}"))
    if item.action != ask.action:
        raise Refusal(fault(Code.CONFLICT, f"{ask.id} was asked again; look at it again"))
    answer = "allow" if item.allow else "deny"
    if ask.answer:
        if (ask.answer, ask.answered_by) != (answer, work.by):
            raise Refusal(fault(Code.CONFLICT, f"{ask.id} was answered {ask.answer} by {ask.answered_by}"))
        work.answer({"answer": answer})
        return
    if asks.answers != HUB:
        line = f"starloom-agent {'approve' if item.allow else 'deny'} {ask.id}"
        reason = f"this device takes answers only on itself; type there: {line}"
        raise Refusal(fault(Code.ANSWERED_THERE, reason))
    if work.at_ms >= ask.expires_ms:
        raise Refusal(fault(Code.CONFLICT, f"{ask.id} waited too long and counts as denied"))
    answered = replace(ask, answer=answer, answered_by=work.by, answered_ms=work.at_ms, reason=item.reason)
    after = replace(asks, open=[answered if other.id == ask.id else other for other in asks.open])
    puts: list[Put] = [("asks", item.device, after)]
    work.emit(fleet, EventKind.DEVICE_ASK_ANSWERED, item.device, puts, note=f"{ask.id} {answer}")
    work.order(_order(item.device, answered))
    work.answer({"answer": answer})


def _order(device: str, ask: PendingAsk) -> SendAnswer:
    return SendAnswer(
        action=ask.action,
        after=DURABLE,
        allow=ask.answer == "allow",
        ask=ask.id,
        by=ask.answered_by,
        device=device,
        reason=ask.reason,
    )


def forget(work: Work, device: str) -> None:
    """Drop the questions of a device that is no longer in the fleet."""
    if device in work.shard.fleet.asks:
        work.emit(work.shard.fleet, EventKind.DEVICE_ASKS, device, [("asks", device, None)], by=ENGINE)
