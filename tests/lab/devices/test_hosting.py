"""The lab's program takes orders, breaks, heals in time or when asked, and reports each until the hub has heard it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from starloom.client.calls import Post
from starloom.client.problems import Problem, problem_of, unreachable
from starloom.client.rest import Client
from starloom.lab.devices.demo_device import DemoDevice, InjectedFault
from starloom.lab.devices.hosting import Host
from starloom.lab.injection import Impossible
from starloom_protocol.records.lab import FaultKind, FaultTarget
from tests.waiting import PATIENCE_S

WITHIN_S = PATIENCE_S


class Hub:
    """A hub of a few lines, asked from threads."""

    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {}
        self.reports: list[tuple[str, str, bool]] = []
        self.away = 0
        self.refusal: Problem | None = None
        self.held: dict[str, Any] = {}
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        self.reported = asyncio.Event()

    def order(self, fault: str, **more: Any) -> None:
        usual = {"device": "d-toy", "target": "device", "kind": "kill", "for_s": 60.0, "by_s": None}
        item = {**usual, "id": fault, "order": fault, "state": "asked", "healing": False, "began_at": None, **more}
        with self._changed:
            self.orders[str(item["order"])] = item
            self._changed.notify_all()

    def post(self, call: Post[Any], body: Any, *, wait_s: float = 0) -> Any:
        path = call.path
        with self._changed:
            if self.away:
                self.away -= 1
                raise unreachable("the hub is away", "Wait.")
            if path == "/lab/orders":
                return self._wait(body)
            if self.refusal is not None:
                raise self.refusal
            _, fault, what = path.rsplit("/", 2)
            self.reports.append((f"{fault} {what}", body["note"], body["failed"]))
        self._loop.call_soon_threadsafe(self.reported.set)
        return {}

    def _wait(self, body: Any) -> Any:
        self.held = body["devices"]

        def fresh() -> list[Any]:
            return [order for name, order in self.orders.items() if name not in body["seen"]]

        self._changed.wait_for(fresh, 0.05)
        return {"items": fresh()}


class Toy:
    """A device that only notes what was done to it."""

    possible_faults = {"device": ["kill"]}  # noqa: RUF012

    def __init__(self) -> None:
        self.done: list[str] = []
        self.impossible = False
        self.healed = asyncio.Event()

    async def inject(
        self, target: FaultTarget, kind: FaultKind, size_s: float, for_s: float
    ) -> tuple[InjectedFault, str]:
        if self.impossible:
            raise Impossible("it is dead already")
        self.done.append(f"{target} {kind} {size_s:g}")
        return InjectedFault(target, kind, size_s), "killed"

    async def heal(self, injected: InjectedFault) -> str:
        self.done.append("healed")
        self.healed.set()
        return "runs again"


class Bench:
    def __init__(self) -> None:
        self.hub, self.toy, self.said = Hub(), Toy(), list[str]()
        client = cast(Client, self.hub)
        self.host = Host({"d-toy": cast(DemoDevice, self.toy)}, client, client, self.said.append)

    async def over(self, fault: str, task: asyncio.Task[None]) -> None:
        async with asyncio.timeout(WITHIN_S):
            await self.host.over(fault)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_order_is_done_healed_in_its_time_and_reported() -> None:
    bench = Bench()
    task = asyncio.create_task(bench.host.run())
    bench.hub.order("f1", for_s=0.01, kind="clock_skew", by_s=3600.0)
    await bench.over("f1", task)
    assert bench.toy.done == ["device clock_skew 3600", "healed"]
    assert bench.hub.reports == [("f1 began", "killed", False), ("f1 ended", "runs again", False)]
    assert bench.hub.held == {"d-toy": {"device": ["kill"]}}
    assert bench.said == ["FAULT: killed", "runs again"]


async def test_it_is_healed_as_soon_as_somebody_wants_it() -> None:
    bench = Bench()
    task = asyncio.create_task(bench.host.run())
    bench.hub.order("f1")
    async with asyncio.timeout(WITHIN_S):
        await bench.hub.reported.wait()
    bench.hub.order("f1", order="f1:heal", state="active", healing=True, began_at="now")
    await bench.over("f1", task)
    assert [name for name, _, _ in bench.hub.reports] == ["f1 began", "f1 ended"]


async def test_what_cannot_be_done_has_failed() -> None:
    bench = Bench()
    bench.toy.impossible = True
    task = asyncio.create_task(bench.host.run())
    bench.hub.order("f1")
    await bench.over("f1", task)
    assert bench.hub.reports == [("f1 ended", "it is dead already", True)]


async def test_a_hub_that_is_away_hears_it_later() -> None:
    bench = Bench()
    bench.hub.order("f1", for_s=0.01)
    bench.hub.away = 2
    task = asyncio.create_task(bench.host.run())
    await bench.over("f1", task)
    assert [name for name, _, _ in bench.hub.reports] == ["f1 began", "f1 ended"]


@pytest.mark.parametrize(("code", "said"), [("not_found", 0), ("forbidden", 2)])
async def test_a_report_that_is_refused_is_not_said_for_ever(code: str, said: int) -> None:
    bench = Bench()
    bench.hub.refusal = problem_of(403, {"code": code, "title": "no", "reason": "no"})
    task = asyncio.create_task(bench.host.run())
    bench.hub.order("f1", for_s=0.01)
    await bench.over("f1", task)
    assert len([text for text in bench.said if "does not take the report" in text]) == said
    assert bench.toy.done[-1] == "healed"


@pytest.mark.parametrize(
    ("order", "failed"),
    [({"state": "active", "began_at": "then"}, False), ({"order": "f1:heal", "healing": True}, True)],
)
async def test_what_an_earlier_program_left_or_nobody_began_is_closed(order: dict[str, Any], failed: bool) -> None:
    bench = Bench()
    task = asyncio.create_task(bench.host.run())
    bench.hub.order("f1", **order)
    await bench.over("f1", task)
    assert bench.toy.done == []
    assert [(name, gone) for name, _, gone in bench.hub.reports] == [("f1 ended", failed)]
