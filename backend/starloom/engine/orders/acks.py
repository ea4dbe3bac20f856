"""Acknowledgements to devices: the reports that the hub has received, and those that are durable in the history.

Report numbers rise within one ledger and reports are stepped in the order of arrival, so the highest number of a
durable commit acknowledges all before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from starloom.core.state.inputs import (
    AnyInput,
    DeviceConnected,
    ReceiptReported,
    ResultReported,
    StartedReported,
)
from starloom.engine.ports import Clock, DeviceSender
from starloom_protocol.wire.frames import Ack

EVERY_MS = 100
"""The least time between two acknowledgements. A device only forgets reports by them and never waits for one."""

REPORTS = (StartedReported, ResultReported, ReceiptReported)


class Acknowledgements:
    """Keeps the highest report of each commit until the history has that commit."""

    def __init__(self, sender: DeviceSender) -> None:
        self._sender = sender
        self._waiting: dict[str, deque[tuple[int, int]]] = {}
        self._durable: dict[str, int] = {}
        self._ledgers: dict[str, str] = {}
        self._held: dict[str, set[int]] = {}
        self._due = asyncio.Event()

    async def run(self, clock: Clock, watermark: Callable[[], int]) -> None:
        """Send acknowledgements after `due`: the first at once, then one each `EVERY_MS`; run until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            if self.send(watermark()):
                await clock.wait(EVERY_MS)

    def due(self) -> None:
        """Request a send: the watermark has moved, or reports came that it covers."""
        self._due.set()

    def durable(self, device: str) -> int:
        """Return the highest report of a device that is durable, as far as this hub knows."""
        return self._durable.get(device, 0)

    def note_ledger(self, item: DeviceConnected) -> None:
        """Note a device's ledger. Report numbers count within one ledger, so those of an earlier one are dropped."""
        if self._ledgers.get(item.device, item.ledger) != item.ledger:
            self._durable.pop(item.device, None)
            self._waiting.pop(item.device, None)
            self._held.pop(item.device, None)
        self._ledgers[item.device] = item.ledger

    def hold(self, device: str, report: int) -> None:
        """Hold a report that could not be stepped yet: its device gets no acknowledgement until `note` has it."""
        self._held.setdefault(device, set()).add(report)

    def note(self, pos: int, items: Iterable[AnyInput]) -> bool:
        """Note the reports of a commit at `pos`; True if there were any."""
        heard: dict[str, int] = {}
        for item in items:
            if isinstance(item, REPORTS):
                heard[item.device] = max(heard.get(item.device, 0), item.frame.report)
                if item.device in self._held:
                    self._held[item.device].discard(item.frame.report)
        for device, number in heard.items():
            waiting = self._waiting.setdefault(device, deque())
            highest = number
            if self._held.get(device) == set():
                # Reports stepped meanwhile are acknowledged together with the held ones.
                del self._held[device]
                highest = max([number, *(before for _pos, before in waiting)])
                waiting.clear()
            waiting.append((pos, highest))
        return bool(heard)

    def forget(self) -> None:
        """Drop all unacknowledged reports: another owner decides whether they stay in the history."""
        self._waiting.clear()

    def send(self, watermark: int) -> bool:
        """Send each device with open reports its received and durable numbers; False if none was sent."""
        sent = False
        for device in [name for name, waiting in self._waiting.items() if waiting and name not in self._held]:
            waiting = self._waiting[device]
            before = durable = self._durable.get(device, 0)
            while waiting and waiting[0][0] <= watermark:
                durable = max(durable, waiting.popleft()[1])
            if durable == before and waiting:
                continue
            self._durable[device] = durable
            received = max([durable, *(number for _pos, number in waiting)])
            self._sender.send_along(device, [Ack(durable=durable, received=received)])
            sent = True
        return sent
