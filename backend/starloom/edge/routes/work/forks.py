"""Routes of forks and undo: a fork from a moment, undone work, edits taken back, and the authors of a plan (blame).

Folds the log to the given moment and passes it on; the core decides which work may be repeated or undone.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Request

from starloom.core.plan.batches.inverse import NotUndoable, undoing
from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.live.plan_versions import state_when_made
from starloom.edge.routes.bodies import Fork, UndoWork
from starloom.edge.routes.work.constellations import Constellations, no_version
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, Repeats, asked_once, json_reply
from starloom.store.port import StreamState
from starloom_protocol.api.history import BlameLine, BlameRow, Undone
from starloom_protocol.api.previews import Forked
from starloom_protocol.api.service import Items
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import Dependency, Head, TaskSpec, Version, decode_entity
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code

_C = V1 + "/constellations/{constellation}"


class Forks:
    """Routes that go back in a constellation's history."""

    def __init__(self, hub: Hub, repeats: Repeats, constellations: Constellations) -> None:
        self._hub = hub
        self._repeats = repeats
        self._constellations = constellations

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_C + "/fork", self.fork, methods=["POST"], status_code=202)
        router.add_api_route(_C + "/undo", self.undo, methods=["POST"])
        router.add_api_route(_C + "/blame", self.blame, methods=["GET"])

    async def fork(self, request: Request, constellation: str, body: Fork) -> JsonReply[Forked]:
        """Make a new constellation from a version or from a task on; results before that are used again, not made."""

        async def make() -> JsonReply[Forked]:
            if (body.from_version is None) == (body.from_task is None):
                reason = "give exactly one of from_version and from_task"
                raise Problem(Code.BAD_REQUEST, reason, hint="See the versions: starloom show.")
            seq, records = await self._moment(constellation, body.from_version)
            head = decode_entity("head", records["head"])
            assert isinstance(head, Head)  # noqa: S101 - that is what stands under this key
            caller = caller_of(request)
            item = inputs.ForkRequested(
                approves=caller.approves,
                args=_arguments(records, body.inputs),
                caller=caller.token,
                confirm=body.confirm,
                constellation="c-" + new_id(),
                idempotency=await asked_once(request),
                name=body.name,
                origin=constellation,
                preview=body.preview,
                reason=body.reason,
                records={key: msgspec.Raw(raw) for key, raw in records.items()},
                seq=seq,
                task=body.from_task,
                version=head.version,
                **caller.signed(),
            )
            value: Any = accepted(await self._hub.inbox.ask(item))
            if body.preview:
                plan = msgspec.json.decode(value["plan"], type=LoweredPlan)
                planner = self._hub.planner.still()
                preview = await self._hub.computing.run(
                    request, True, lambda: planner.preview(plan, words=False, by=caller.by, approves=caller.approves)
                )
                return json_reply({"id": "", "preview": preview})
            return json_reply(value, 202, {"Location": f"{V1}/constellations/{value['id']}"})

        return await self._repeats.once(request, make)

    async def _moment(self, constellation: str, version: int | None) -> StreamState:
        state = await self._constellations.entities(constellation)
        if version is None:
            return state
        events = await self._constellations.log(constellation)
        state_then = await asyncio.to_thread(state_when_made, events, version)
        if state_then is None:
            raise no_version(constellation, version)
        return state_then

    async def undo(self, request: Request, constellation: str, body: UndoWork) -> JsonReply[Undone]:
        """Undo the work of finished tasks, by the calls that they declare, in reverse order."""

        async def make() -> JsonReply[Undone]:
            caller = caller_of(request)
            requested = inputs.UndoRequested(
                approves=caller.approves,
                constellation=constellation,
                preview=body.preview,
                reason=body.reason,
                tasks=body.tasks,
                **caller.signed(),
            )
            value: Undone = accepted(await self._hub.inbox.ask(requested))
            return json_reply(value)

        return await self._repeats.once(request, make)

    async def blame(self, constellation: str, task: str | None = None) -> JsonReply[Items[BlameRow]]:
        """List the versions that made each task and dependency as it is: who, when, why; `task` asks for one task."""
        _, entities = await self._constellations.entities(constellation)
        return json_reply({"items": await asyncio.to_thread(_blame, entities, task), "next": None})


async def taken_back(constellations: Constellations, constellation: str, version: int) -> list[EditOperation]:
    """Return the operations that take back a version.

    Raises:
        Problem: there is no such version, or no edit leads back from it.
    """
    await constellations.entities(constellation)
    events = await constellations.log(constellation)

    def find() -> list[EditOperation]:
        state_before, state_after = state_when_made(events, version, before=True), state_when_made(events, version)
        if state_before is None or state_after is None:
            raise no_version(constellation, version)
        records = [
            {key: decode_entity(key, raw) for key, raw in state.items() if key.startswith(("spec/", "dep/", "head"))}
            for state in (state_before.entities, state_after.entities)
        ]
        return undoing(records[0], records[1], version)

    try:
        operations = await asyncio.to_thread(find)
    except NotUndoable as why:
        raise Problem(Code.EDIT_CONFLICT, str(why), hint="Fork it from the version before instead.") from why
    if not operations:
        raise Problem(Code.EDIT_CONFLICT, f"version {version} changed nothing that could be taken back")
    return operations


def _arguments(records: dict[str, bytes], inputs_by_task: dict[str, dict[str, Any]]) -> dict[str, str]:
    filled: dict[str, str] = {}
    for task, args in inputs_by_task.items():
        raw = records.get(f"spec/{task}")
        spec = decode_entity(f"spec/{task}", raw) if raw is not None else None
        if not isinstance(spec, TaskSpec):
            raise Problem(Code.UNKNOWN_TASK, f"there is no task {task[:80]}")
        try:
            args_before = parse(spec.args)
            filled[task] = canonical({**(args_before if isinstance(args_before, dict) else {}), **args})
        except ValueError as error:
            raise Problem(Code.BAD_REQUEST, f"inputs.{task[:80]}: {error}") from error
    return filled


def _blame(entities: dict[str, bytes], task: str | None) -> list[BlameRow]:
    specs: list[TaskSpec] = []
    dependencies: list[tuple[str, Dependency]] = []
    versions: dict[int, Version] = {}
    for key, raw in entities.items():
        if not key.startswith(("spec/", "dep/", "version/")):
            continue
        match decode_entity(key, raw):
            case TaskSpec() as spec if task is None or spec.id == task:
                specs.append(spec)
            case Dependency() as dependency if task is None or task in (dependency.source, dependency.target):
                dependencies.append((key.removeprefix("dep/"), dependency))
            case Version() as version:
                versions[version.number] = version
    added: dict[str, int] = {}
    changed: dict[str, list[int]] = {}
    for number in sorted(versions):
        for name in versions[number].added:
            added[name] = number
            changed.pop(name, None)
        for name in versions[number].changed:
            changed.setdefault(name, []).append(number)
    items: list[BlameRow] = [
        {
            "kind": "task",
            "id": spec.id,
            "added": _blame_line(versions.get(added.get(spec.id, 1))),
            "changed": [_line(versions[number]) for number in changed.get(spec.id, [])],
        }
        for spec in specs
    ]
    items.extend(
        {"kind": "dependency", "id": key, "added": _blame_line(versions.get(dependency.changed_in or 1)), "changed": []}
        for key, dependency in dependencies
    )
    return items


def _blame_line(version: Version | None) -> BlameLine | None:
    return None if version is None else _line(version)


def _line(version: Version) -> BlameLine:
    return {
        "version": version.number,
        "author": version.author,
        "trigger": version.trigger,
        "reason": version.reason,
        "at": entity_json.iso(version.at_ms),
    }
