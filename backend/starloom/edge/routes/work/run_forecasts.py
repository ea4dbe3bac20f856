"""`.../what-if` of a running constellation: its expected end and the chance of its deadline, now and after a change.

Reads committed state, posts nothing and changes nothing, so a viewer may ask. The work is done in a thread, one
question of a caller at a time and at a bounded rate. The answer without a change is kept for all who ask, the longer
the more tasks it took.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from math import ceil
from typing import Final
from weakref import WeakValueDictionary

from fastapi import APIRouter, Request

from starloom.core.state.inputs import EditProposed
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.access.rate_limits import Limits, Rate
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import AskedOfRun, EditAsked
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.routes.work.controls import specs_changed, specs_of
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, problem_of_faults
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.planner.forecast.plans import Change
from starloom.planner.forecast.runs import EditRefused, RunAsked
from starloom_protocol.api.previews import RunWhatIf
from starloom_protocol.plan import check_edit
from starloom_protocol.vocabulary import Code

NAMED_MOST: Final = 20
"""A refusal names devices so that a typing error is seen; more than twenty hide it."""
KEPT_MOST: Final = 32
"""Runs that are looked at in the same second; the forecast of any other is played again."""
WHAT_IF, FORECAST = "what_if", "forecast"
RATES: Final = {WHAT_IF: Rate(10, 2.0), FORECAST: Rate(30, 1.0)}
"""Questions of one caller: so many at once, then one each time so many seconds have passed."""
FRESH_MS: Final = 1_000
"""All pages that show one run ask about once a second; they share one answer."""
TASKS_A_SECOND: Final = 600
"""An answer is kept a second for so many tasks in its plays, so that a long run takes the hub no more than a short."""


@dataclass(frozen=True, slots=True)
class _StoredForecast:
    until_ms: int
    forecast: RunWhatIf


class RunForecasts:
    """`GET` and `POST /constellations/{id}/what-if`."""

    def __init__(self, hub: Hub, constellations: Constellations) -> None:
        self._hub = hub
        self._constellations = constellations
        self._limits = Limits(hub.monotonic_s, RATES)
        self._forecasts: OrderedDict[str, _StoredForecast] = OrderedDict()
        # A lock stays as long as a question holds it or waits for it, so no second one for the same run is made.
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def add_to(self, router: APIRouter) -> None:
        path = V1 + "/constellations/{constellation}/what-if"
        router.add_api_route(path, self.forecast, methods=["GET"])
        router.add_api_route(path, self.what_if, methods=["POST"])

    async def forecast(self, request: Request, constellation: str, *, tasks: bool = True) -> JsonReply[RunWhatIf]:
        """Say when a constellation should end, and the chance of its deadline; without `tasks` only the next end."""
        lock = self._making.setdefault(constellation, asyncio.Lock())
        async with lock:
            forecast = await self._forecast(request, constellation)
        stored = self._forecasts.get(constellation)
        stands_ms = max(0, stored.until_ms - self._hub.now_ms()) if stored is not None else 0
        row = forecast if tasks else _in_short(forecast)
        return json_reply({**row, "stands_ms": stands_ms})

    async def _forecast(self, request: Request, constellation: str) -> RunWhatIf:
        stored = self._forecasts.get(constellation)
        now_ms = self._hub.now_ms()
        if stored is not None and now_ms < stored.until_ms:
            return stored.forecast
        self._count(request, FORECAST)
        seq, entities = await self._constellations.entities(constellation)
        run = RunAsked(constellation, seq, now_ms, entities, self._hub.held_by_others(constellation))
        forecast = await self._hub.computing.run(request, True, self._hub.planner.run_forecast(run))
        # Counted from its end: those who waited for a long play share its answer.
        self._forecasts[constellation] = _StoredForecast(self._hub.now_ms() + _worth_ms(forecast), forecast)
        self._forecasts.move_to_end(constellation)
        while len(self._forecasts) > KEPT_MOST:
            self._forecasts.popitem(last=False)
        return forecast

    async def what_if(self, request: Request, constellation: str, body: AskedOfRun) -> JsonReply[RunWhatIf]:
        """Say how the end of a running constellation would move without a device, with a copy of one, or by an edit."""
        if not body.without and not body.with_copy_of and body.edit is None:
            raise Problem(
                Code.BAD_REQUEST,
                "the change is empty",
                hint="Name a device in without or in with_copy_of, or give an edit.",
            )
        self._count(request, WHAT_IF)
        without = device_ids(self._hub, body.without, "without")
        copies = device_ids(self._hub, body.with_copy_of, "with_copy_of")
        both = sorted(set(without) & set(copies))
        if both:
            raise Problem(Code.BAD_REQUEST, f"{both[0]} cannot be off and there twice", hint="Name it in one place.")
        seq, entities = await self._constellations.entities(constellation)
        now_ms = self._hub.now_ms()
        run = RunAsked(
            constellation,
            seq,
            now_ms,
            entities,
            self._hub.held_by_others(constellation),
            Change(without, copies),
            self._edit(request, constellation, body.edit, now_ms, entities) if body.edit is not None else None,
            change_words(self._names(without), self._names(copies), edit=body.edit is not None),
            now_ms + body.within_s * 1000 if body.within_s is not None else None,
        )
        try:
            forecast = await self._hub.computing.run(request, True, self._hub.planner.run_forecast(run))
        except EditRefused as error:
            raise problem_of_faults(error.faults) from error
        return json_reply(forecast)

    def _names(self, devices: tuple[str, ...]) -> list[str]:
        devices_by_id = self._hub.fleet.devices
        return [devices_by_id[device].name for device in devices]

    def _count(self, request: Request, door: str) -> None:
        """Count a question that costs work.

        Raises:
            Problem: `rate_limited`.
        """
        wait_s = self._limits.failed(door, caller_of(request).by)
        if wait_s:
            reason = f"more than {RATES[door].burst} questions of yours about expected times came at once"
            raise Problem(Code.RATE_LIMITED, reason, hint=f"Wait {ceil(wait_s)} s.", retry_after_s=wait_s)

    def _edit(
        self, request: Request, constellation: str, edit: EditAsked, now_ms: int, entities: dict[str, bytes]
    ) -> EditProposed:
        """Return the input that such an edit would be; nobody posts it.

        Raises:
            Problem: with every fault of its document.
        """
        fleet, caller = self._hub.fleet, caller_of(request)
        faults, operations = check_edit(
            edit.operations,
            known_devices=fleet.names(),
            known_tools=fleet.known_tools(),
            known_signatures=fleet.signatures(),
            known_tasks=specs_of(specs_changed(edit.operations), entities),
        )
        if faults:
            raise problem_of_faults(faults)
        return EditProposed(
            approves=caller.approves,
            at_ms=now_ms,
            base_version=edit.base_version,
            by=caller.by,
            caller=caller.token,
            constellation=constellation,
            id=new_id(),
            operations=operations,
            reason="",
            scope=caller.role,
            trigger="edit",
        )


def _in_short(forecast: RunWhatIf) -> RunWhatIf:
    """Return a forecast with only the task that should end first, by which a late run is seen."""
    course = forecast["now"]
    if course is None or not course["tasks"]:
        return forecast
    first = min(course["tasks"], key=lambda task: task["end_ms"])
    return {**forecast, "now": {**course, "tasks": [first], "more": course["more"] + len(course["tasks"]) - 1}}


def _worth_ms(forecast: RunWhatIf) -> int:
    course = forecast["now"]
    if course is None:
        return FRESH_MS
    tasks = (course["plays"] + 1) * (len(course["tasks"]) + course["more"])
    return max(FRESH_MS, tasks * 1_000 // TASKS_A_SECOND)


def device_ids(hub: Hub, names: list[str], place: str) -> tuple[str, ...]:
    """Return the ids of devices.

    Raises:
        Problem: one of them is not there.
    """
    devices = [device for device in hub.fleet.devices.values() if not device.revoked]
    ids = {key: device.id for device in devices for key in (device.id, device.name)}
    for name in names:
        if name not in ids:
            names_there = ", ".join(sorted(device.name for device in devices)[:NAMED_MOST]) or "none yet"
            raise Problem(
                Code.UNKNOWN_DEVICE, f"{place}: there is no device {name}", hint=f"The devices are: {names_there}."
            )
    return tuple(dict.fromkeys(ids[name] for name in names))


def change_words(without: list[str], with_copy_of: list[str], *, edit: bool = False) -> str:
    """Return the name of a change, as a sentence begins with it."""
    parts = [f"without {' and '.join(without)}"] if without else []
    parts += [f"with a copy of {' and '.join(with_copy_of)}"] if with_copy_of else []
    parts += ["with this edit"] if edit else []
    text = " and ".join(parts)
    return text[:1].upper() + text[1:]
