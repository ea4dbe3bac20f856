"""Routes of controls: edits of the plan, controls of constellations and tasks, stop-all.

Translates and passes on; the core decides what is possible in which state, and a refusal carries its reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal

from fastapi import APIRouter, Request

from starloom.core.state import inputs
from starloom.edge.access.callers import Caller
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Control, DraftOf, Edit, Reasoned
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.routes.work.forks import taken_back
from starloom.edge.web.admission import caller_of
from starloom.edge.web.computing import LARGE_BYTES
from starloom.edge.web.problems import Problem, accepted, problem_of_faults
from starloom.edge.web.replies import JsonReply, Repeats, asked_once, json_reply
from starloom_protocol.api.constellations import Closed, Controlled, DraftRow, Edited, Stop, Stopped
from starloom_protocol.plan import check_edit
from starloom_protocol.records.edits import EditOperation
from starloom_protocol.records.entities import Fault, TaskSpec, decode_entity
from starloom_protocol.stream.authors import who
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code

_C = V1 + "/constellations/{constellation}"
_CALL = frozenset({"args", "device", "for_each", "inputs", "set", "tool"})
_NAMES_MOST: Final = 1000
"""So many tasks are looked at for the name that was meant: an edit of a large plan must not hold up others."""
TaskAction = Literal["retry", "retry-from", "skip", "mark", "cancel", "hold", "release", "hint"]


def specs_changed(operations: list[Any]) -> list[str]:
    """Return the keys of the tasks that get another call or device by an edit."""
    bodies = [item.get(kind) for item in operations if isinstance(item, dict) for kind in ("update_task", "reassign")]
    names = [body.get("id") for body in bodies if isinstance(body, dict) and not _CALL.isdisjoint(body)]
    return [f"spec/{name}" for name in names if isinstance(name, str)]


def specs_of(keys: list[str], records: Mapping[str, bytes]) -> dict[str, TaskSpec]:
    """Return the tasks of these keys; where one is not among the records, also others, whose names may be meant."""
    if not records.keys() >= set(keys):
        keys = [*keys, *islice((key for key in records if key.startswith("spec/")), _NAMES_MOST)]
    specs = [decode_entity(key, records[key]) for key in keys if key in records]
    return {spec.id: spec for spec in specs if isinstance(spec, TaskSpec)}


class Controls:
    """Routes that change what runs."""

    def __init__(self, hub: Hub, repeats: Repeats, constellations: Constellations) -> None:
        self._hub = hub
        self._constellations = constellations
        self._repeats = repeats

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_C + "/edits", self.edit, methods=["POST"])
        router.add_api_route(_C + "/draft", self.draft, methods=["PUT"])
        router.add_api_route(_C + "/draft", self.close_draft, methods=["DELETE"])
        router.add_api_route(_C + "/pause", self.pause, methods=["POST"])
        router.add_api_route(_C + "/resume", self.resume, methods=["POST"])
        router.add_api_route(_C + "/cancel", self.cancel, methods=["POST"], status_code=202)
        router.add_api_route(_C + "/tasks/{task}/{action}", self.task, methods=["POST"])
        router.add_api_route(V1 + "/stop-all", self.stopped, methods=["GET"])
        router.add_api_route(V1 + "/stop-all", self.stop_all, methods=["POST"], status_code=202)

    async def edit(self, request: Request, constellation: str, body: Edit) -> JsonReply[Edited]:
        """Take version n to n + 1, or refuse the whole batch with every reason."""

        async def make() -> JsonReply[Edited]:
            hub = self._hub
            undone = body.undone_version
            if undone is not None:
                return await self._take_back(request, constellation, undone, body.reason)
            large = len(await request.body()) > LARGE_BYTES
            tasks = await self._tasks_changed(constellation, body.operations)
            devices, tools, signatures = hub.fleet.names(), hub.fleet.known_tools(), hub.fleet.signatures()
            base = body.base_version
            if base is None:
                base = (await self._current(constellation)).get("current_version", 0)
            terms = base, body.reason, "edit"
            if body.retry and not body.operations:
                return await self._propose(request, constellation, [], *terms, body.retry, body.confirm)
            frozen = hub.planner.still()

            def check() -> tuple[list[Fault], list[EditOperation]]:
                faults, operations = check_edit(
                    body.operations,
                    known_devices=devices,
                    known_tools=tools,
                    known_signatures=signatures,
                    known_tasks=tasks,
                )
                return faults or frozen.unfit(operations, tasks, able=body.able), operations

            faults, operations = await hub.computing.run(request, large, check)
            if faults:
                raise problem_of_faults(faults, more=await self._current(constellation))
            return await self._propose(request, constellation, operations, *terms, body.retry, body.confirm)

        return await self._repeats.once(request, make)

    async def _tasks_changed(self, constellation: str, operations: list[Any]) -> dict[str, TaskSpec]:
        """Return the tasks that get other arguments by an edit, as they are now.

        Raises:
            Problem: if there is no such constellation.
        """
        keys = specs_changed(operations)
        if not keys:
            return {}
        live = {} if constellation in (ACCESS, FLEET) else await self._hub.reads.live_records(constellation, keys)
        is_complete = live.keys() >= set(keys)
        return specs_of(keys, live if is_complete else (await self._constellations.entities(constellation))[1])

    async def _take_back(self, request: Request, constellation: str, version: int, reason: str) -> JsonReply[Edited]:
        """Take back one version by an edit that is judged against that version."""
        operations = await taken_back(self._constellations, constellation, version)
        reason_words = reason or f"version {version} is taken back"
        return await self._propose(request, constellation, operations, version, reason_words, f"undo:{version}")

    async def _propose(
        self,
        request: Request,
        constellation: str,
        operations: list[EditOperation],
        base_version: int,
        reason: str,
        trigger: str,
        retry: Sequence[str] = (),
        confirm: Sequence[str] = (),
    ) -> JsonReply[Edited]:
        caller = caller_of(request)
        proposed = inputs.EditProposed(
            approves=caller.approves,
            base_version=base_version,
            caller=caller.token,
            confirm=list(confirm),
            constellation=constellation,
            idempotency=await asked_once(request),
            operations=operations,
            reason=reason,
            retry=list(retry),
            trigger=trigger,
            **caller.signed(),
        )
        reply = await self._hub.inbox.ask(proposed)
        if reply.faults:
            raise problem_of_faults(reply.faults, more={**await self._current(constellation), **(reply.value or {})})
        return json_reply({"version": reply.value["version"]})

    async def draft(self, request: Request, constellation: str, body: DraftOf) -> JsonReply[DraftRow]:
        """Reserve the tasks that you are editing: until `ttl_s` is over nobody else edits them. Repeat it to extend."""
        caller = caller_of(request)
        item = inputs.DraftOpened(
            approves=caller.approves, constellation=constellation, tasks=body.tasks, ttl_s=body.ttl_s, **caller.signed()
        )
        value = accepted(await self._hub.inbox.ask(item))
        return json_reply({"tasks": value["tasks"], "expires_at": entity_json.iso(value["expires_ms"])})

    async def close_draft(self, request: Request, constellation: str) -> JsonReply[Closed]:
        """Close your draft; others may edit again."""
        caller = caller_of(request)
        item = inputs.DraftClosed(constellation=constellation, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return json_reply({"closed": True})

    async def _current(self, constellation: str) -> dict[str, Any]:
        headline = await self._hub.headlines.of(constellation)
        return {"current_version": headline.head.version} if headline else {}

    async def pause(self, request: Request, constellation: str, body: Reasoned | None = None) -> JsonReply[Controlled]:
        """Pause a constellation: no further task starts; running tasks go on to their end."""
        return await self._control(request, constellation, "pause", body)

    async def resume(self, request: Request, constellation: str, body: Reasoned | None = None) -> JsonReply[Controlled]:
        """Resume a paused constellation."""
        return await self._control(request, constellation, "resume", body)

    async def cancel(self, request: Request, constellation: str, body: Reasoned | None = None) -> JsonReply[Controlled]:
        """Cancel a constellation; it counts as cancelled only when every device has confirmed."""
        await self._require_own(caller_of(request), constellation)
        return await self._control(request, constellation, "cancel", body, status=202)

    async def _require_own(self, caller: Caller, constellation: str) -> None:
        """Hold a caller that may start only a few recipes to what it started of these.

        The same person may have started other work with another token.

        Raises:
            Problem: somebody else started it, it runs another recipe or none, or there is no such constellation.
        """
        if not caller.recipes:
            return
        headline = await self._hub.headlines.of(constellation)
        head = headline.head if headline is not None else None
        if head is None or who(head.author) != who(caller.by) or head.recipe not in caller.recipes:
            reason = f"{caller.way_in} may stop only what you started of {', '.join(sorted(caller.recipes))}"
            raise Problem(Code.FORBIDDEN, reason, hint="Use a token with the scope run, or ask whoever started it.")

    async def _control(
        self, request: Request, constellation: str, action: str, body: Reasoned | None, *, status: int = 200
    ) -> JsonReply[Controlled]:
        caller = caller_of(request)
        requested = inputs.ControlRequested(
            action=action,
            approves=caller.approves,
            constellation=constellation,
            reason=body.reason if body else "",
            **caller.signed(),
        )
        return await self._carry_out(constellation, requested, status)

    async def _carry_out(self, constellation: str, item: inputs.ControlRequested, status: int) -> JsonReply[Controlled]:
        value = accepted(await self._hub.inbox.ask(item))
        headline = await self._hub.headlines.of(constellation)
        shape: Controlled = {"id": constellation, "seq": value["seq"]}
        if headline is not None:
            shape["state"] = headline.head.state
        return json_reply(shape, status)

    async def task(
        self, request: Request, constellation: str, task: str, action: TaskAction, body: Control | None = None
    ) -> JsonReply[Controlled]:
        """Retry, retry from here, skip, mark, cancel, hold or release one task, or give a goal a hint."""
        caller = caller_of(request)
        terms = body or Control()
        item = inputs.ControlRequested(
            action=action.replace("-", "_"),
            approves=caller.approves,
            confirm=terms.confirm,
            constellation=constellation,
            reason=terms.reason,
            state=terms.state,
            task=task,
            value=canonical(terms.value) if "value" in terms.model_fields_set else None,
            **caller.signed(),
        )
        return await self._carry_out(constellation, item, 200)

    async def stop_all(self, request: Request, body: Reasoned | None = None) -> JsonReply[Stopped]:
        """Cancel everything that is live; devices have to confirm (GET lists those that have), schedules fire again."""
        hub, caller = self._hub, caller_of(request)
        reason = (body.reason if body else "") or "stop-all"
        item = inputs.StopAllRequested(reason=reason, **caller.signed())
        value = accepted(await hub.inbox.ask(item))
        stopped: Stopped = {
            **self._confirmations(),
            "reason": reason,
            "constellations": sorted(value["constellations"]),
            "left_out": value["left_out"],
            "schedules": value["schedules"],
        }
        return json_reply(stopped, 202)

    async def stopped(self) -> JsonReply[Stop]:
        """List the devices that confirmed the last stop-all, and those that have not."""
        return json_reply(self._confirmations())

    def _confirmations(self) -> Stop:
        fleet = self._hub.fleet
        rows = sorted(fleet.stopping.values(), key=lambda row: (row.confirmed_ms > 0, row.device))
        first = rows[0] if rows else None
        return {
            "at": entity_json.iso(first.at_ms) if first else None,
            "by": first.by if first else None,
            "reason": first.reason if first else "",
            "devices": [entity_json.stop_shape(row, fleet.devices.get(row.device)) for row in rows],
        }
