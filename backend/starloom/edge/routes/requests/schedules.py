"""Routes of schedules: list, show, preview, create, change and control. Decides nothing.

A constellation becomes a schedule by its first plan. A preview shows the next five firings and the plan; saving with
its `plan_hash` approves every firing that reaches no further.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Query, Request
from msgspec.structs import replace
from tzlocal import get_localzone_name

from starloom.core.answer.trends import sentence
from starloom.core.clock.cron import BadClock
from starloom.core.clock.days_off import days_in, split_exception_at_end
from starloom.core.clock.schedules import work_digest
from starloom.core.state import inputs
from starloom.edge.access.callers import Means
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.live.entity_json import Constellation
from starloom.edge.routes.bodies import Asked, ClockAsked, NewSchedule, PatchSchedule, Reasoned, SeenNotices
from starloom.edge.routes.requests.schedule_json import bad_clock, clock_fault, clock_shape, schedule_shape
from starloom.edge.routes.requests.submission import Submit
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.routes.work.report import TREND_RUNS_MOST, ReportRoute
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, Repeats, asked_once, json_reply
from starloom.planner.requests.german import clock_in_english
from starloom.planner.requests.rhythm import Rhythm, clock_in, nearly_in, rhythm_in
from starloom.planner.trash_lists import trashes_unseen, with_lists, without_lists
from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.api.schedules import RemovedSchedule, ScheduledWork, SchedulePreview, ScheduleRow
from starloom_protocol.api.service import Items
from starloom_protocol.plan import plan_hash
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault
from starloom_protocol.records.run_report import ScheduleTrend
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import canonical, composed
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Code, ConstellationState, Gate, Sharing

Action = Literal["pause", "resume", "run"]
_S = V1 + "/schedules"
_Body = TypeVar("_Body", ClockAsked, NewSchedule, PatchSchedule)
_plan_decoder = msgspec.json.Decoder(LoweredPlan)


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of a schedule; `keep`: it runs exactly this plan; `sharing` is that of the request that it repeats."""

    plan: LoweredPlan
    keep: bool
    request: str = ""
    recipe: str | None = None
    params: str = "{}"
    sharing: Sharing | None = None


class Schedules:
    """Everything under `/schedules`."""

    def __init__(
        self, hub: Hub, repeats: Repeats, submit: Submit, constellations: Constellations, reports: ReportRoute
    ) -> None:
        self._hub = hub
        self._repeats = repeats
        self._submit = submit
        self._constellations = constellations
        self._reports = reports

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_S, self.page, methods=["GET"])
        router.add_api_route(_S, self.create, methods=["POST"], status_code=201)
        router.add_api_route(V1 + "/schedule-notices/seen", self.seen, methods=["POST"])
        router.add_api_route(V1 + "/schedule-preview", self.preview, methods=["POST"])
        router.add_api_route(_S + "/{schedule}", self.show, methods=["GET"])
        router.add_api_route(V1 + "/schedule-runs/{schedule}", self.runs, methods=["GET"])
        router.add_api_route(_S + "/{schedule}", self.patch, methods=["PATCH"])
        router.add_api_route(_S + "/{schedule}", self.remove, methods=["DELETE"])
        router.add_api_route(_S + "/{schedule}/{action}", self.control, methods=["POST"])

    async def page(self, request: Request) -> JsonReply[Items[ScheduleRow]]:
        """List all schedules, those with news for the caller first, then by when they fire next."""
        schedules = sorted(
            self._hub.fleet.schedules.values(), key=lambda item: (item.due_ms == 0, item.due_ms, item.name)
        )
        rows = [await self._shape(request, item) for item in schedules]
        return json_reply({"items": sorted(rows, key=lambda row: row["notice"] is None), "next": None})

    async def show(self, request: Request, schedule: str) -> JsonReply[ScheduleRow]:
        """Show a schedule, its next five firings, what was approved with it, and its news for the caller."""
        return json_reply(await self._shape(request, self._find(schedule)))

    async def preview(self, request: Request, body: ClockAsked) -> JsonReply[SchedulePreview]:
        """Show the next five firings of a clock, and the plan as it would run now; either may be left out."""
        body = _with_clock_of_words(body)
        zone = body.zone or hub_zone()
        row: SchedulePreview = {
            "next": [],
            "except_days": "",
            "left_out": [],
            "in_words": "",
            "zone": zone,
            "unseen_trash": None,
            "runs": None,
            "plan": None,
        }
        if body.cron:
            clock = clock_shape(body.cron, zone, _days(body.except_days, zone), self._hub.now_ms())
            row |= {"next": clock["next"], "in_words": clock["in_words"]}
            row |= {"except_days": clock["except_days"], "left_out": clock["left_out"]}
        if not body.cron or any((body.request, body.plan, body.recipe, body.from_constellation)):
            work = await self._work(request, body, len(await request.body()))
            row |= {
                "unseen_trash": trashes_unseen(work.plan),
                "runs": _runs(work),
                "plan": self._preview(work.plan, caller_of(request).by),
            }
        return json_reply(row)

    async def runs(
        self, schedule: str, limit: Annotated[int, Query(ge=1, le=TREND_RUNS_MOST)] = TREND_RUNS_MOST
    ) -> JsonReply[ScheduleTrend]:
        """Return the last ended runs of a schedule beside each other, and what has changed over them."""
        record = self._find(schedule)
        lines, more = await self._reports.last(lambda head: head.schedule == record.id, limit)
        return json_reply(ScheduleTrend(more=more, runs=lines, schedule=record.name, sentence=sentence(lines)))

    def _find(self, text: str) -> Schedule:
        schedules = self._hub.fleet.schedules
        text = composed(text)
        alike = [item for item in schedules.values() if item.name.casefold() == text.casefold()]
        exact = [item for item in alike if item.name == text]
        match = schedules.get(text) or next(iter(exact or (alike if len(alike) == 1 else [])), None)
        if match is None:
            names = ", ".join(sorted(item.name for item in schedules.values())) or "none yet"
            raise Problem(
                Code.NOT_FOUND,
                f"there is no schedule {text[:64]}; there are: {names}",
                hint="See `starloom schedule ls`.",
            )
        return match

    async def _shape(self, request: Request, schedule: Schedule) -> ScheduleRow:
        heads = [row.head for name in schedule.running if (row := await self._hub.headlines.of(name))]
        asking = [head.id for head in heads if head.state is ConstellationState.AWAITING_APPROVAL]
        return schedule_shape(
            schedule, self._hub.fleet.devices, asking, caller_of(request).principal, self._hub.now_ms()
        )

    async def create(self, request: Request, body: NewSchedule) -> JsonReply[ScheduleRow]:
        """Create a schedule. The same body with the same Idempotency-Key makes one schedule."""

        body = _with_clock_of_words(body)

        async def make() -> JsonReply[ScheduleRow]:
            caller = caller_of(request)
            work = await self._work(request, body, len(await request.body()))
            if not body.cron:
                raise _missing_clock()
            zone = body.zone or hub_zone()
            proposed = Schedule(
                author=caller.by,
                catch_up=body.catch_up,
                created_ms=0,
                cron=body.cron,
                deadline_s=body.deadline_s,
                except_days=_days(body.except_days, zone),
                id="s-" + new_id()[:12],
                name=body.name or self._free_name(work),
                notify=body.notify,
                notify_device=self._device(body.notify_device),
                overlap=body.overlap,
                owner=caller.principal,
                params=work.params,
                recipe=work.recipe,
                request=work.request,
                sharing=work.sharing,
                token=_token(request),
                unseen_trash=trashes_unseen(work.plan),
                zone=zone,
            )
            row = await self._save(request, work, proposed, body.plan_hash, key=await asked_once(request))
            return json_reply(row, 201, {"Location": f"{_S}/{row['id']}"})

        return await self._repeats.once(request, make)

    async def patch(self, request: Request, schedule: str, body: PatchSchedule) -> JsonReply[ScheduleRow]:
        """Change a schedule; fields that are not given stay. Who changes more than its name owns it from then on."""
        caller, saved = caller_of(request), self._find(schedule)
        body = _with_clock_of_words(body)
        base = None if body.brings_work else work_digest(saved, self._hub.fleet.scheduled_plans.get(saved.id))
        fields = body.model_dump(
            exclude_unset=True, exclude={"request", "plan", "recipe", "params", "lists", "plan_hash"}
        )
        work = _listing(await self._work_after(request, saved, body, len(await request.body())), body.lists)
        if "notify_device" in fields:
            fields["notify_device"] = self._device(body.notify_device)
        if body.except_days is not None:
            fields["except_days"] = _days(body.except_days, body.zone or saved.zone)
        changes = {name: value for name, value in fields.items() if value is not None or name == "notify_device"}
        changes |= {
            "author": caller.by,
            "owner": caller.principal,
            "params": work.params,
            "recipe": work.recipe,
            "request": work.request,
            "token": _token(request),
            "unseen_trash": trashes_unseen(work.plan),
        }
        proposed = replace(saved, **changes)
        return json_reply(
            await self._save(request, work, proposed, body.plan_hash, base=base, changed_fields=sorted(changes))
        )

    async def _save(
        self,
        request: Request,
        work: _Work,
        proposed: Schedule,
        approved_hash: str | None,
        *,
        base: str | None = None,
        changed_fields: list[str] | None = None,
        key: tuple[str, str] | None = None,
    ) -> ScheduleRow:
        caller = caller_of(request)
        saved = inputs.ScheduleSaved(
            approves=caller.approves,
            base=base,
            caller=caller.token,
            change=changed_fields is not None,
            given=changed_fields,
            idempotency=key,
            keep_plan=work.keep,
            plan=work.plan,
            plan_hash=approved_hash,
            schedule=proposed,
            **caller.signed(),
        )
        reply = await self._hub.inbox.ask(saved)
        if any(fault.code is Code.NEEDS_APPROVAL for fault in reply.faults):
            # The refusal carries all that is approved, so that one look and one more request suffice.
            preview = self._preview(saved.plan, saved.by)
            clock = clock_shape(proposed.cron, proposed.zone, proposed.except_days, self._hub.now_ms())
            more = {"clock": {**clock, "zone": proposed.zone}, "plan_hash": preview["plan_hash"], "preview": preview}
            raise _refusal(reply.faults, more)
        value: Any = accepted(reply)
        return await self._shape(request, self._hub.fleet.schedules[value["id"]])

    def _preview(self, plan: LoweredPlan, by: str) -> PlanPreview:
        # A schedule asks as words do, however it is made: nobody is there at its firings.
        return self._hub.planner.preview(plan, words=True, by=by)

    async def control(
        self, request: Request, schedule: str, action: Action, body: Reasoned | None = None
    ) -> JsonReply[ScheduleRow]:
        """Pause a schedule, resume it, or run it once now."""
        saved = self._find(schedule)
        await self._control(request, saved.id, action, body.reason if body else "")
        return json_reply(await self._shape(request, self._hub.fleet.schedules.get(saved.id, saved)))

    async def seen(self, request: Request, body: SeenNotices) -> JsonReply[Items[ScheduleRow]]:
        """Mark notices of schedules as seen by the caller; if one of these schedules is unknown, none is marked."""
        records = {item.id: item for item in map(self._find, body.schedules)}
        await asyncio.gather(*(self._control(request, identity, "seen", "") for identity in records))
        schedules = self._hub.fleet.schedules
        rows = [await self._shape(request, schedules.get(identity, item)) for identity, item in records.items()]
        return json_reply({"items": rows, "next": None})

    async def remove(self, request: Request, schedule: str) -> JsonReply[RemovedSchedule]:
        """Remove a schedule; a firing that is still running is named in the answer and goes on."""
        saved = self._find(schedule)
        value = await self._control(request, saved.id, "remove", "")
        running = value.get("running", []) if isinstance(value, dict) else []
        return json_reply({"id": saved.id, "name": saved.name, "removed": True, "running": running})

    async def _control(self, request: Request, schedule: str, action: str, reason: str) -> Any:
        caller = caller_of(request)
        controlled = inputs.ScheduleControlled(
            action=action,
            approves=caller.approves,
            owner=caller.principal,
            reason=reason,
            schedule=schedule,
            token=_token(request),
            **caller.signed(),
        )
        return accepted(await self._hub.inbox.ask(controlled))

    async def _work(self, request: Request, body: ClockAsked, size: int) -> _Work:
        if body.from_constellation is not None:
            sources = [name for name in ("request", "plan", "recipe") if getattr(body, name) is not None]
            if sources:
                raise Problem(Code.BAD_REQUEST, f"from_constellation says what runs; {' and '.join(sources)} came too")
            return _listing(await self._work_of_run(request, body.from_constellation), body.lists)
        request_for_plan = Asked(request=body.request, plan=body.plan, recipe=body.recipe, params=body.params)
        return _listing(await self._work_of(request, request_for_plan, size), body.lists)

    async def _work_of(self, request: Request, body: Asked, size: int) -> _Work:
        plan = await self._submit.lowered(request, body, size)
        if body.plan is not None:
            return _Work(plan=plan, keep=True, params=plan.params)
        params = canonical(body.params)
        return _Work(plan=plan, keep=False, request=body.request or "", recipe=body.recipe, params=params)

    async def _work_of_run(self, request: Request, constellation: str) -> _Work:
        headline = None if constellation in (ACCESS, FLEET) else await self._hub.headlines.of(constellation)
        if headline is None:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")
        head = headline.head
        if head.state not in FINAL_CONSTELLATION_STATES or not head.version:
            state = f"{head.name or constellation} is {head.state}"
            reason = f"{state}; what has ended can be repeated" if head.version else f"{state} and never had a plan"
            raise Problem(Code.ILLEGAL_CONTROL, reason)
        if head.recipe is not None:
            request_for_plan = Asked(recipe=head.recipe, params=entity_json.value_of(head.params))
            return dataclasses.replace(await self._work_of(request, request_for_plan, 0), sharing=head.sharing)
        _, entities = await self._constellations.entities(constellation, 1)
        plan = first_plan(constellation, entities)
        return _Work(plan=plan, keep=True, params=plan.params, sharing=head.sharing)

    async def _work_after(self, request: Request, saved: Schedule, body: PatchSchedule, size: int) -> _Work:
        if body.brings_work:
            request_for_plan = Asked(request=body.request, plan=body.plan, recipe=body.recipe, params=body.params or {})
            return await self._work_of(request, request_for_plan, size)
        plan = self._hub.fleet.scheduled_plans.get(saved.id)
        if plan is not None:
            if body.params is not None:
                raise Problem(Code.BAD_REQUEST, f"{saved.name} runs a plan, which has no parameters any more")
            return _Work(plan=_plan_decoder.decode(plan.plan), keep=True, params=saved.params)
        params = body.params if body.params is not None else entity_json.value_of(saved.params)
        return await self._work_of(
            request, Asked(request=saved.request or None, recipe=saved.recipe, params=params), size
        )

    def _device(self, text: str | None) -> str | None:
        if not text:
            return None
        device = self._hub.fleet.device(text)
        if device is None:
            raise Problem(Code.UNKNOWN_DEVICE, f"there is no device {text[:64]} to notify")
        return device.id

    def _free_name(self, work: _Work) -> str:
        base = (work.request or work.plan.name or work.recipe or "Schedule")[:100]
        names = {item.name for item in self._hub.fleet.schedules.values()}
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base} ({number})"
        return name


def hub_zone() -> str:
    """Return the time zone of the machine that the hub runs on; UTC where it does not say."""
    return get_localzone_name() or "UTC"


def _token(request: Request) -> str | None:
    """Return the token whose rights bind a schedule; for a page's session the one that it comes from.

    A session ends before its schedules do, so it binds none; nor does one whose link the hub itself made.
    """
    caller = caller_of(request)
    return caller.token if caller.means is Means.BEARER else caller.root or None


def _with_clock_of_words(body: _Body) -> _Body:
    """Return what is asked for with the five fields of its clock.

    A clock may be said in words, beside the request or, where none is given, within it.

    Raises:
        Problem: five fields cannot say these words.
    """
    if body.cron:
        words, days = split_exception_at_end(body.cron)
        said = clock_in(words)
        if not said and (near := nearly_in(body.cron)) is not None:
            raise _only_nearly(near)
        # What is no clock is refused in the words that the fault knows, which are English.
        return _with_clock(body, said, days) if said else body.model_copy(update={"cron": clock_in_english(body.cron)})
    rhythm = rhythm_in(body.request) if body.request else None
    if rhythm is None:
        return body
    if rhythm.nearly:
        raise _only_nearly(rhythm)
    return _with_clock(body.model_copy(update={"request": rhythm.rest}), rhythm.cron, rhythm.except_days)


def _with_clock(body: _Body, cron: str, days: str) -> _Body:
    """Return what is asked for with five fields, and with days that its words except beside those of its own."""
    more = {"except_days": ", ".join(filter(None, (body.except_days, days)))} if days else {}
    return body.model_copy(update={"cron": cron, **more})


def _days(text: str, zone: str) -> list[str]:
    """Return the days of a text as a schedule of this zone keeps them.

    Raises:
        Problem: `bad_schedule`, with the first that is no day.
    """
    try:
        return days_in(text, zone)
    except BadClock as bad:
        raise bad_clock(bad) from bad


def _only_nearly(rhythm: Rhythm) -> Problem:
    """Return the refusal of a rhythm that five fields cannot say, with the clock that comes nearest."""
    reason = f"{rhythm.nearly}: {quoted(rhythm.cron)}"
    return Problem(Code.BAD_SCHEDULE, reason, errors=[clock_fault("cron", reason)])


def _missing_clock() -> Problem:
    return Problem(Code.BAD_SCHEDULE, "a schedule needs a clock", errors=[clock_fault("cron", "it is missing")])


def _refusal(faults: list[Fault], more: Mapping[str, Any]) -> Problem:
    first = faults[0]
    return Problem(first.code, first.reason, hint=first.hint, errors=faults, more=more)


def _listing(work: _Work, lists: bool | None) -> _Work:
    """Return work that shows found files before they go into the trash, or does not; None leaves it as it is.

    Words and a recipe get their lists at each firing, so work without them keeps its plan.
    """
    if lists is None:
        return work
    plan = with_lists(work.plan) if lists else without_lists(work.plan)
    if lists or plan is work.plan:
        return dataclasses.replace(work, plan=plan)
    return _Work(plan=plan, keep=True, params=plan.params, sharing=work.sharing)


def _runs(work: _Work) -> ScheduledWork:
    kind = "plan" if work.keep else "recipe" if work.recipe else "words"
    return {
        "kind": kind,
        "name": work.plan.name,
        "params": entity_json.value_of(work.params),
        "recipe": work.recipe,
        "request": work.request,
    }


def first_plan(identity: str, entities: Mapping[str, bytes]) -> LoweredPlan:
    """Return the plan of a constellation from its entities at version 1: as made, nothing expanded, no rule fired."""
    constellation = Constellation(identity, 0, entities)
    head = constellation.head
    plan = LoweredPlan(
        dependencies=[item for item in constellation.table("dep").values() if item.gate is not Gate.DATA],
        hash="",
        name=head.name,
        params=head.params,
        policy=head.policy,
        results=head.results,
        sentences=head.sentences,
        rules=[replace(rule, fired=0, fired_for={}) for rule in constellation.table("rule").values()],
        specs=list(constellation.table("spec").values()),
    )
    return replace(plan, hash=plan_hash(plan))
