"""The goal job: shows a goal as it stands to the owner's model, and reports its next turn to the engine.

One turn a job: the engine opens the job again when the step has ended. Every failure is reported with its fault, so
that no goal waits for a model that does not help.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starloom.core.plan.goals.conversation import group_of, run_of
from starloom.core.plan.goals.monitors import seen_turns
from starloom.core.plan.goals.tiers import SMALL
from starloom.core.rights.envelope import devices_of, tools_of
from starloom.core.state.inputs import GoalProposed, LookCall
from starloom.core.state.model import Fleet
from starloom.jobs.claiming import NotOurs, WorkerJob
from starloom.jobs.kinds.planning import fleet_of
from starloom.jobs.modelling import ModelJobs
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.looking import narrower
from starloom.planner.model.conversations.pursuing import GoalTalk, SeenGoal
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.port import ModelFault
from starloom.planner.model.reading import GaveUp, HandedOver, Reached, Stepped, Turned
from starloom_protocol.records.entities import Attempt, Fault, Finding, Head, Job, TaskRecord, TaskSpec, decode_entity
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import CODES, Code, Sharing, TaskState


class GoalJobs:
    """Carries out claimed goal jobs."""

    def __init__(self, models: ModelJobs) -> None:
        self._models = models

    async def carry_out(self, job: WorkerJob) -> None:
        """Have the next turn of a goal made, and report it."""
        turn, turns = await self._turn(job)
        await job.post(_proposal(job, turn, turns))

    def broken(self, job: WorkerJob, reason: str) -> GoalProposed:
        """Return the outcome of a turn that an unexpected error ended; such turns in a row are a stall."""
        return _proposal(job, Fault(code=Code.INTERNAL, hint=CODES[Code.INTERNAL].hint, reason=reason), -1)

    async def _turn(self, job: WorkerJob) -> tuple[Turned, int]:
        """Return the next turn, and how many turns before it the model has seen; -1 if no model was asked."""
        entities, fleet = await job.entities(), await job.fleet()
        tier = tier_in(entities, job.job)
        # A small model that is not set any more leaves its turns to the next tier.
        is_small = tier == SMALL and ModelRole.SMALL in await asyncio.to_thread(self._models.tiers)
        role = ModelRole.SMALL if is_small else ModelRole.WORKER
        try:
            owned = await asyncio.to_thread(self._models.owned, role)
        except ModelFault as error:
            return error.fault, -1
        if owned is None:
            hint = CODES[Code.MODEL_NOT_SET].hint
            return Fault(code=Code.MODEL_NOT_SET, hint=hint, reason="a goal needs a model, and no model is set"), -1
        view = await asyncio.to_thread(fleet_of, fleet)
        goal = seen_in(entities, job.job, view, now_ms=round(self._models.now_s() * 1000), sharing=owned.sharing)
        if goal.sharing is Sharing.NAMES:
            reason = "no result is shared with a model, so it cannot pursue a goal"
            return Fault(code=Code.FORBIDDEN, hint="Share cards of results, or write tasks.", reason=reason), -1
        turn = await GoalTalk(self._models.for_job(owned, job, tier=tier), goal, view).answer()
        return turn, seen_turns(goal.run)


def _proposal(job: WorkerJob, turn: Turned, turns: int) -> GoalProposed:
    fields: dict[str, Any] = {"kind": "nothing"}
    if isinstance(turn, Stepped):
        calls = [LookCall(args=canonical(call.args), device=call.device, tool=call.tool) for call in turn.calls[:50]]
        fields = {"calls": calls, "cites": turn.cites[:40], "kind": "step", "note": turn.note}
        fields |= {"each_of": turn.each_of, "finds": list(turn.finds[:10])}
    elif isinstance(turn, Reached):
        fields = {"cites": turn.cites[:40], "kind": "answer", "note": turn.note, "value": canonical(turn.value)}
        fields["finds"] = list(turn.finds[:10])
    elif isinstance(turn, HandedOver):
        fields = {"kind": "hand_over", "note": turn.because, "to": turn.to}
    elif isinstance(turn, GaveUp):
        fields = {"kind": "give_up", "note": turn.because}
    else:
        fields["fault"] = turn
    return GoalProposed(turns=turns, **fields, **job.signed)


def tier_in(entities: Mapping[str, bytes], job: str) -> str:
    """Return the tier that makes the turns of a goal, empty where it has one only."""
    raw = entities.get(f"job/{job}")
    record = decode_entity(f"job/{job}", raw) if raw is not None else None
    return run_of(record).tier if isinstance(record, Job) else ""


def seen_in(entities: Mapping[str, bytes], job: str, view: FleetSnapshot, *, now_ms: int, sharing: Sharing) -> SeenGoal:
    """Return a goal as its model is shown it.

    Raises:
        NotOurs: there is no such goal.
    """
    records: dict[str, Any] = {key: decode_entity(key, raw) for key, raw in entities.items()}
    head, record = records.get("head"), records.get(f"job/{job}")
    spec = records.get(f"spec/{group_of(record)}") if isinstance(record, Job) and record.goal is not None else None
    if not isinstance(head, Head) or not isinstance(record, Job) or not isinstance(spec, TaskSpec) or spec.goal is None:
        raise NotOurs(f"there is no goal {job}")
    fleet = _fleet(view)
    times = 1 + run_of(record).more
    return SeenGoal(
        attempts=_records_of(records, "attempt", Attempt),
        devices=[view.records[device].name for device in devices_of(fleet, spec)],
        findings=newest_by_topic(records, apart_from=spec.id),
        now_ms=now_ms,
        records=_records_of(records, "task", TaskRecord),
        request=head.request,
        run=run_of(record),
        sharing=narrower(sharing, head.sharing),
        spec=spec,
        specs=_records_of(records, "spec", TaskSpec),
        tokens_left=spec.goal.tokens * times - record.tokens,
        tools=tools_of(fleet, spec),
    )


def newest_by_topic(records: Mapping[str, Any], *, apart_from: str) -> list[Finding]:
    """Return the newest finding of each topic that others published and whose result still counts, in order."""
    newest: dict[str, Finding] = {}
    numbered = [
        (int(key.removeprefix("finding/")), finding) for key, finding in records.items() if isinstance(finding, Finding)
    ]
    for _, finding in sorted(numbered, key=lambda pair: (pair[1].at_ms, pair[0])):
        record = records.get(f"task/{finding.task}")
        if not isinstance(record, TaskRecord) or record.state is not TaskState.SUCCEEDED:
            continue
        if record.attempt == finding.attempt and finding.by != apart_from:
            newest[finding.topic] = finding
    return [newest[topic] for topic in sorted(newest)]


def _records_of(records: Mapping[str, Any], kind: str, of: type) -> dict[str, Any]:
    start = f"{kind}/"
    return {key.removeprefix(start): item for key, item in records.items() if isinstance(item, of)}


def _fleet(view: FleetSnapshot) -> Fleet:
    """Return the fleet as the core judges by it: devices and their tools."""
    fleet = Fleet(FLEET)
    fleet.devices.update(view.records)
    for device in view.devices:
        fleet.tools[device.id] = device.tools
    return fleet
