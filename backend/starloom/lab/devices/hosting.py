"""The host of simulated devices: waits for the hub's orders, breaks devices, heals them in time, reports each fault.

A client of the REST API like any other. A fault ends in time even while the hub is away; the reports follow when it is
back. A long poll waits in a thread that ends with its process: the loop would join its own threads, and so keep the
process until the hub answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from starloom.client.problems import Problem, may_pass
from starloom.client.rest import Client
from starloom.client.routes import post_lab_fault_report, post_lab_orders
from starloom.lab.devices.demo_device import DemoDevice, InjectedFault
from starloom.lab.injection import Impossible
from starloom_protocol.records.lab import FaultKind, FaultTarget

P = ParamSpec("P")
T = TypeVar("T")


async def patiently(call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Return the result of the call, or raise its exception; a cancelled caller leaves the thread behind."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(finish: Callable[[], None]) -> None:
        if not answer.done():
            finish()

    def run() -> None:
        try:
            value = call(*args, **more)
        except Exception as error:
            finish = _raising(answer, error)
        else:
            finish = _giving(answer, value)
        # If the loop has ended meanwhile, no caller waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, finish)

    threading.Thread(target=run, name="patient call", daemon=True).start()
    return await answer


def _raising(answer: asyncio.Future[T], error: Exception) -> Callable[[], None]:
    return lambda: answer.set_exception(error)


def _giving(answer: asyncio.Future[T], value: T) -> Callable[[], None]:
    return lambda: answer.set_result(value)


if TYPE_CHECKING:
    from starloom_protocol.api.lab import OrderRow, Orders

WAIT_S: Final = 10.0
AWAY_S: Final = 0.5
SEEN_MOST: Final = 100


class Host:
    """Holds devices, by id, for the hub from `run` to its end. `orders` and `reports` are used from one thread each."""

    def __init__(
        self, devices: Mapping[str, DemoDevice], orders: Client, reports: Client, say: Callable[[str], None]
    ) -> None:
        self._devices = devices
        self._orders = orders
        self._reports = reports
        self._say = say
        self._reporting = asyncio.Lock()
        self._seen: dict[str, None] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._heal: dict[str, asyncio.Event] = {}
        self._over: dict[str, asyncio.Event] = {}

    def _fetch_orders(self, body: dict[str, Any]) -> Orders:
        return self._orders.post(post_lab_orders(), body, wait_s=WAIT_S)

    async def run(self) -> None:
        """Take orders until cancelled; a hub that is away is asked again."""
        try:
            while True:
                try:
                    faults_of = {identity: device.possible_faults for identity, device in self._devices.items()}
                    body = {"devices": faults_of, "seen": list(self._seen)[-SEEN_MOST:]}
                    orders = await patiently(self._fetch_orders, body)
                except Problem:
                    await asyncio.sleep(AWAY_S)
                    continue
                for order in orders["items"]:
                    self._take(order, self._devices[order["device"]])
        finally:
            tasks = list(self._under_way.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def over(self, fault: str) -> None:
        """Wait until a fault is over or has failed, as far as this program is concerned."""
        await self._over.setdefault(fault, asyncio.Event()).wait()

    def _take(self, order: OrderRow, device: DemoDevice) -> None:
        fault = str(order["id"])
        self._seen[str(order["order"])] = None
        if fault in self._under_way:
            self._heal[fault].set()
            return
        self._heal[fault] = asyncio.Event()
        if order["state"] == "active" or order["healing"]:
            # Another program had begun it, whose devices have ended with it; or none had.
            work = self._report(
                fault, "ended", "it was over before this program took it up", failed=not order["began_at"]
            )
        else:
            work = self._carry_out(fault, order, device)
        task = asyncio.create_task(work, name=f"fault {fault}")
        self._under_way[fault] = task
        task.add_done_callback(lambda _task: self._finish(fault))

    def _finish(self, fault: str) -> None:
        self._under_way.pop(fault, None)
        self._heal.pop(fault, None)
        self._over.setdefault(fault, asyncio.Event()).set()

    async def _carry_out(self, fault: str, order: OrderRow, device: DemoDevice) -> None:
        target, kind = FaultTarget(order["target"]), FaultKind(order["kind"])
        size_s, for_s = float(order["by_s"] or 0.0), float(order["for_s"])
        try:
            injected, words = await device.inject(target, kind, size_s, for_s)
        except Impossible as impossible:
            await self._report(fault, "ended", str(impossible), failed=True)
            return
        self._say(f"FAULT: {words}")
        lasting = asyncio.create_task(self._heal_in_time(fault, for_s, device, injected))
        try:
            await self._report(fault, "began", words)
            healed = await lasting
        except asyncio.CancelledError:
            lasting.cancel()
            await asyncio.gather(lasting, return_exceptions=True)
            raise
        self._say(healed)
        await self._report(fault, "ended", healed)

    async def _heal_in_time(self, fault: str, for_s: float, device: DemoDevice, injected: InjectedFault) -> str:
        try:
            async with asyncio.timeout(for_s):
                await self._heal[fault].wait()
        except TimeoutError:
            pass
        return await device.heal(injected)

    async def _report(self, fault: str, what: str, note: str, *, failed: bool = False) -> None:
        """Report until the hub has received it; a hub that no longer knows the fault needs no report."""
        body = {"note": note, "failed": failed}

        def send() -> None:
            self._reports.post(post_lab_fault_report(fault, what), body)

        while True:
            try:
                async with self._reporting:
                    await asyncio.to_thread(send)
                    return
            except Problem as problem:
                if not may_pass(problem):
                    if problem.code != "not_found":
                        self._say(f"the hub does not take the report of {fault}: {problem.reason}")
                    return
                await asyncio.sleep(AWAY_S)
