"""The pump sends all that leaves the engine: orders as frames, wake-ups of workers, acknowledgements of reports.

An order is checked against state once more before it leaves: an order about a closed lease is dropped. A message to a
worker may be lost, so a sweep wakes one again for every open job without a worker.

A device learns which of its reports the hub has received, and which are durable in the history. Report numbers rise
within one ledger and reports are stepped in the order of arrival, so the highest number of a durable commit
acknowledges all before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from starloom.core.plan.goals.conversation import UNCLAIMABLE
from starloom.core.plan.review import LOOKING
from starloom.core.run.attempts import EACH, fill_args, inputs_of
from starloom.core.state.inputs import (
    AnyInput,
    DeviceConnected,
    ReceiptReported,
    ResultReported,
    StartedReported,
)
from starloom.core.state.model import Shard
from starloom.core.state.orders import (
    AnyOrder,
    ArmTimer,
    CloseDevice,
    CloseToken,
    SendAnswer,
    SendCancel,
    SendDispatch,
    SendDrain,
    SendFetch,
    SendHint,
    SendName,
    SendOver,
    SendQuery,
    SendResume,
    StartJob,
)
from starloom.engine.inputs.leases import Leases
from starloom.engine.inputs.timers import Timers
from starloom.engine.orders.secrets import SecretDelivery, still_wanted, with_handles
from starloom.engine.ports import Clock, DeviceSender, JobSender, LiveSink, ValueStore
from starloom_protocol.bounds import ASKED_CHARS_MOST, MESSAGE_BYTES_MAX
from starloom_protocol.records.entities import Job
from starloom_protocol.stream.authors import who
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.codec import frame_bytes
from starloom_protocol.wire.frames import (
    Ack,
    Cancel,
    Dispatch,
    DispatchInput,
    DrainFrame,
    FetchFacts,
    HintFrame,
    InputPart,
    NameFrame,
    OverFrame,
    OwnerAnswer,
    PlanEntry,
    Query,
    ResumePlan,
)

log = logging.getLogger("starloom.engine")
DISPATCH_VALUES_BYTES_MAX = 256 * 1024
"""A message has a bound of 1 MiB, and escaping lengthens values; larger ones leave as artifacts."""
DISPATCH_BYTES_MAX = MESSAGE_BYTES_MAX - 4 * 1024
"""A longer order ends each connection that it is sent on; the rest is room for the message around it."""


class Pump:
    """Carries out orders whose events are as safe (committed or durable) as each order requires."""

    def __init__(
        self,
        *,
        sender: DeviceSender,
        live: LiveSink,
        jobs: JobSender,
        leases: Leases,
        timers: Timers,
        values: ValueStore,
        secret_delivery: SecretDelivery,
    ) -> None:
        self._sender = sender
        self._live = live
        self._jobs = jobs
        self._leases = leases
        self._timers = timers
        self._values = values
        self._secret_delivery = secret_delivery
        self._tasks: set[asyncio.Task[None]] = set()
        self.shard: Shard | None = None

    def act(self, order: AnyOrder) -> None:
        """Carry out one order."""
        match order:
            case SendDispatch():
                self._dispatch(order)
            case SendCancel():
                self._sender.send(order.device, [Cancel(at=order.at, reason=order.reason)])
            case SendFetch():
                self._sender.send(order.device, [FetchFacts(at=order.at, wants=order.wants)])
            case SendResume():
                entry = PlanEntry(action=order.action, at=order.at)
                self._sender.send(order.device, [ResumePlan(entries=[entry])])
            case SendAnswer():
                self._answer(order)
            case SendHint():
                hint = HintFrame(at=order.at, by=order.by, number=order.number, text=order.text)
                self._sender.send(order.device, [hint])
            case SendOver():
                self._sender.send(order.device, [OverFrame(constellation=order.constellation)])
            case SendDrain():
                self._sender.send(order.device, [DrainFrame(draining=order.draining, reason=order.reason)])
            case SendName():
                self._sender.send(order.device, [NameFrame(name=order.name)])
            case SendQuery():
                self._sender.send(order.device, [Query(attempts=order.attempts)])
            case ArmTimer():
                self._timers.arm(order)
            case StartJob():
                self._jobs.wake(order.kind, order.constellation, order.job)
            case CloseDevice():
                self._sender.close(order.device, order.session, order.code, order.reason)
            case CloseToken():
                self._live.close_token(order.token)

    def _answer(self, order: SendAnswer) -> None:
        answer = OwnerAnswer(action=order.action, allow=order.allow, ask=order.ask, by=order.by, reason=order.reason)
        self._sender.send(order.device, [answer])

    def _dispatch(self, order: SendDispatch) -> None:
        constellation = self.shard.constellations.get(order.at.constellation) if self.shard else None
        attempt = constellation.attempts.get(f"{order.at.task}/{order.at.attempt}") if constellation else None
        if constellation is None or attempt is None or attempt.end is not None:
            return
        inputs = inputs_of(constellation, order.inputs)
        big = _size(order.args, inputs) > DISPATCH_VALUES_BYTES_MAX
        if big or order.secrets:
            task = asyncio.get_running_loop().create_task(self._dispatch_later(order, inputs, big=big))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        self._send(order, inputs, {})

    async def _dispatch_later(self, order: SendDispatch, inputs: list[DispatchInput], *, big: bool) -> None:
        """Store inputs too big for a frame as artifacts first, and add the values of secrets last."""
        if big:
            try:
                inputs = await self._with_artifacts(inputs)
            except Exception as error:  # of any store; an attempt whose dispatch never leaves would wait for good
                log.warning("event=inputs_not_kept task=%s", order.at.task, exc_info=error)
                self._secret_delivery.give_back(order, f"the hub could not keep what this task reads: {error}", None)
                return
            if still_wanted(self.shard, order) is None:
                return
        secrets = await self._secret_delivery.values(order, lambda: self.shard) if order.secrets else {}
        if secrets is not None:
            self._send(order, inputs, secrets, big=big)

    async def _with_artifacts(self, inputs: list[DispatchInput]) -> list[DispatchInput]:
        dispatched = []
        for item in inputs:
            parts = []
            for part in item.parts:
                if part.value is not None and len(part.value) > 1024:
                    digest = await asyncio.to_thread(self._values.put_bytes, part.value.encode())
                    parts.append(InputPart(artifact=digest, output=part.output))
                else:
                    parts.append(part)
            dispatched.append(DispatchInput(name=item.name, many=item.many, flatten=item.flatten, parts=parts))
        return dispatched

    def _send(
        self, order: SendDispatch, inputs: list[DispatchInput], values: dict[str, str], *, big: bool = False
    ) -> None:
        args = order.args
        secrets: dict[str, str] = {}
        if values or EACH in args:
            with_names, secrets = with_handles(parse(args), values)
            args = fill_args(with_names, order.item)
            big = big or _size(args, inputs) > DISPATCH_VALUES_BYTES_MAX
        asked_by, asked_words = self._asker_words(order)
        frame = Dispatch(
            args=args,
            asked_by=asked_by,
            asked_words=asked_words,
            at=order.at,
            attempt_of_max=order.attempt_of_max,
            fence_after_s=order.fence_after_ms / 1000,
            files_out=order.files_out,
            inputs=inputs,
            patience_most_s=order.patience_most_ms / 1000,
            repeatability=order.repeatability,
            secrets=secrets,
            start_to_close_s=order.start_to_close_s,
            tool=order.tool,
            wants=order.wants,
        )
        # Escaping at most doubles what is canonical text already, so no other order is written for its size alone.
        if big and (size := frame_bytes(frame)) > DISPATCH_BYTES_MAX:
            detail = f"its arguments are filled to {size:,} bytes, and an order has at most {DISPATCH_BYTES_MAX:,}"
            self._secret_delivery.end(order, Outcome.ERROR, Code.TOO_LARGE, detail)
        elif self._sender.send(order.device, [frame]):
            self._leases.begin(order.at)

    def _asker_words(self, order: SendDispatch) -> tuple[str, str]:
        """Return who asked and in which words, for a device whose page shows them to its person; else nothing."""
        device = self.shard.fleet.devices.get(order.device) if self.shard else None
        if self.shard is None or device is None or device.os != TAB_OS:
            return "", ""
        constellation = self.shard.constellations.get(order.at.constellation)
        if constellation is None:
            return "", ""
        head = constellation.head
        words = head.request or head.name
        short = words if len(words) <= ASKED_CHARS_MOST else f"{words[: ASKED_CHARS_MOST - 3]}..."
        return who(head.author)[:ASKED_CHARS_MOST], short


def _size(args: str, inputs: list[DispatchInput]) -> int:
    """Return the bytes of arguments and of the values that leave beside them."""
    return _bytes(args) + sum(_bytes(part.value or "") for item in inputs for part in item.parts)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


JOB_SWEEP_MS = 5_000
"""A job whose claim has expired, as when its worker died, is offered again at most this much later."""


def unworked(shard: Shard, now_ms: int) -> list[tuple[str, Job]]:
    """Return (constellation, job) of each job that is open, not new, and without a valid claim."""
    return [
        (name, job)
        for name in shard.live
        for job in shard.constellations[name].jobs.values()
        if job.state not in (LOOKING, *UNCLAIMABLE)
        and job.expires_ms <= now_ms
        and job.opened_ms + JOB_SWEEP_MS <= now_ms
    ]


async def sweep_jobs(clock: Clock, shard: Callable[[], Shard], sender: JobSender) -> None:
    """Wake a worker again for every job without one, since a message may be lost; run until cancelled."""
    while True:
        await clock.wait(JOB_SWEEP_MS)
        for name, job in unworked(shard(), clock.now_ms()):
            sender.wake(job.kind, name, job.id)


ACK_EVERY_MS = 100
"""The least time between two acknowledgements. A device only forgets reports by them and never waits for one."""

REPORTS = (StartedReported, ResultReported, ReceiptReported)


class Acknowledgements:
    """Keeps the highest report of each commit until the history has that commit."""

    def __init__(self, sender: DeviceSender) -> None:
        self._sender = sender
        self._waiting: dict[str, deque[tuple[int, int]]] = {}
        self._durable: dict[str, int] = {}
        self._ledgers: dict[str, str] = {}
        self._unstepped: dict[str, set[int]] = {}
        self._is_due = asyncio.Event()

    async def run(self, clock: Clock, watermark: Callable[[], int]) -> None:
        """Send acknowledgements after `due`: the first at once, then one each `ACK_EVERY_MS`; run until cancelled."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            if self.send(watermark()):
                await clock.wait(ACK_EVERY_MS)

    def due(self) -> None:
        """Request a send: the watermark has moved, or reports came that it covers."""
        self._is_due.set()

    def durable(self, device: str) -> int:
        """Return the highest report of a device that is durable, as far as this hub knows."""
        return self._durable.get(device, 0)

    def note_ledger(self, item: DeviceConnected) -> None:
        """Note a device's ledger. Report numbers count within one ledger, so those of an earlier one are dropped."""
        if self._ledgers.get(item.device, item.ledger) != item.ledger:
            self._durable.pop(item.device, None)
            self._waiting.pop(item.device, None)
            self._unstepped.pop(item.device, None)
        self._ledgers[item.device] = item.ledger

    def hold(self, device: str, report: int) -> None:
        """Hold a report that could not be stepped yet: its device gets no acknowledgement until `note` has it."""
        self._unstepped.setdefault(device, set()).add(report)

    def note(self, pos: int, items: Iterable[AnyInput]) -> bool:
        """Note the reports of a commit at `pos`; True if there were any."""
        newest: dict[str, int] = {}
        for item in items:
            if isinstance(item, REPORTS):
                newest[item.device] = max(newest.get(item.device, 0), item.frame.report)
                if item.device in self._unstepped:
                    self._unstepped[item.device].discard(item.frame.report)
        for device, number in newest.items():
            waiting = self._waiting.setdefault(device, deque())
            highest = number
            if self._unstepped.get(device) == set():
                # Reports stepped meanwhile are acknowledged together with the held ones.
                del self._unstepped[device]
                highest = max([number, *(earlier for _pos, earlier in waiting)])
                waiting.clear()
            waiting.append((pos, highest))
        return bool(newest)

    def forget(self) -> None:
        """Drop all unacknowledged reports: another owner decides whether they stay in the history."""
        self._waiting.clear()

    def send(self, watermark: int) -> bool:
        """Send each device with open reports its received and durable numbers; False if none was sent."""
        sent = False
        for device in [name for name, waiting in self._waiting.items() if waiting and name not in self._unstepped]:
            waiting = self._waiting[device]
            durable_before = durable = self._durable.get(device, 0)
            while waiting and waiting[0][0] <= watermark:
                durable = max(durable, waiting.popleft()[1])
            if durable == durable_before and waiting:
                continue
            self._durable[device] = durable
            received = max([durable, *(number for _pos, number in waiting)])
            self._sender.send_along(device, [Ack(durable=durable, received=received)])
            sent = True
        return sent
