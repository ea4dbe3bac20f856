"""A goal on two devices with a worker that proposes turns; the driver checks every invariant after each input."""

from __future__ import annotations

from typing import Any

from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Cite, Job, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.builders import TOOLS, Driver

GOAL: dict[str, Any] = {
    "id": "why",
    "goal": "Find out why one is slow.",
    "device": {"name": "one"},
    "gives": {"cause": "text", "evidence": ["text"]},
    "until": [{"output": "/evidence", "op": "not_empty"}],
}
VALUE = {"cause": "the disk is full", "evidence": ["df says 99 %"]}
_PATH = '{"properties":{"path":{"type":"string"},"text":{"type":"string"}},"type":"object"}'
_FILES = '{"properties":{"files":{"type":"array"},"paths":{"type":"array"},"under":{"type":"string"}},"type":"object"}'
_IMAGES = '{"properties":{"files":{"type":"array"}},"type":"object"}'
_TICKETS = '{"properties":{"tickets":{"type":"array"},"under":{"type":"string"}},"type":"object"}'
_URL = '{"properties":{"text":{"type":"string"},"url":{"type":"string"}},"type":"object"}'
OFFERS = [
    *TOOLS,
    ToolOffer(name="archive.unpack", args=_FILES, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="data.sort", repeatability=Repeatability.PURE, effects=[]),
    ToolOffer(name="fs.hash", args=_FILES, repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="image.info", args=_IMAGES, repeatability=Repeatability.PURE, effects=[]),
    ToolOffer(name="fs.read", args=_PATH, repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="fs.restore", args=_TICKETS, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="fs.trash", args=_FILES, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="fs.write", args=_PATH, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="http.request", args=_URL, repeatability=Repeatability.NEVER, effects=[Effect.REACH]),
    ToolOffer(name="svc.restart", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE]),
]


class Pursued(Driver):
    """A plan with the goal `why`, and tasks beside it. `tiers` are those that each claim names."""

    tiers: tuple[str, ...] = ()

    def __init__(self, *tasks: dict[str, Any], goal: dict[str, Any] | None = None, **fields: Any) -> None:
        super().__init__()
        for name in ("one", "two"):
            self.add_device(name, tools=OFFERS)
        request = {name: fields.pop(name) for name in ("by", "approves", "hold") if name in fields}
        document = {"starloom": 1, "name": "Why", "tasks": [{**GOAL, **(goal or {})}, *tasks], **fields}
        check = check_plan(document)
        assert check.plan is not None, check.faults
        self.made: Any = self.submit(check.plan, **request)

    @property
    def job(self) -> Job:
        found: Job = [job for job in self.made.jobs.values() if job.kind == "goal"][-1]
        return found

    @property
    def turns(self) -> list[tuple[str, str]]:
        return [(turn.kind, turn.note) for turn in self.job.goal.turns] if self.job.goal is not None else []

    def claim(self, worker: str = "w", *, renews: bool = False) -> Answer:
        claimed = i.JobClaimed(
            by=f"worker:{worker}",
            constellation="c1",
            id=self.ident(),
            job=self.job.id,
            renews=renews,
            tiers=list(self.tiers),
            ttl_ms=15_000,
            worker=worker,
        )
        return self.do(claimed)

    def propose(self, kind: str, worker: str = "w", **fields: Any) -> Answer:
        return self.do(
            i.GoalProposed(
                by=f"worker:{worker}",
                constellation="c1",
                id=self.ident(),
                job=self.job.id,
                kind=kind,
                scope="worker",
                worker=worker,
                **fields,
            )
        )

    def turn_of(self, job: Job, *calls: i.LookCall, **fields: Any) -> Answer:
        """Claim the job of one goal among several, and propose a step."""
        told: dict[str, Any] = {"constellation": "c1", "job": job.id, "worker": "w"}
        self.do(i.JobClaimed(by="worker:w", id=self.ident(), ttl_ms=15_000, **told))
        return self.do(
            i.GoalProposed(
                by="worker:w", calls=list(calls), id=self.ident(), kind="step", scope="worker", **told, **fields
            )
        )

    def step(self, *calls: i.LookCall, note: str = "to see", cites: tuple[str, ...] = ()) -> Answer:
        self.claim()
        return self.propose("step", calls=list(calls), note=note, cites=[Cite(task=task) for task in cites])

    def answer(self, value: Any = VALUE, cites: tuple[str, ...] = ("why.1",)) -> Answer:
        self.claim()
        return self.propose("answer", value=canonical(value), cites=[Cite(task=task) for task in cites])

    def end_calls(self, *values: Any) -> list[str]:
        """End every call that was ordered; return their names."""
        sent = self.take()
        for at, work in enumerate(sent):
            self.result(work, values[at] if at < len(values) else {"seen": work.at.task})
        return [work.at.task for work in sent]

    def reply(self, value: str, reason: str = "") -> Answer:
        (question,) = self.made.open_questions
        return self.answer_question(question, value, reason=reason)

    def fire_due(self, kind: str) -> None:
        """Fire the timer of a kind at its moment, as a hub that has just started armed it."""
        (timer,) = [one for one in due_moments(self.shard) if one.kind == kind and one.constellation == "c1"]
        self.fire(timer)


def call(tool: str = "t.pure", device: str = "one", **args: Any) -> i.LookCall:
    return i.LookCall(args=canonical(args), device=device, tool=tool)


def judged(one: Pursued, holds: str) -> None:
    (job,) = [job.id for job in one.made.jobs.values() if job.kind == "judge" and job.state != "done"]
    who: dict[str, Any] = {"by": "worker:j", "constellation": "c1", "job": job, "worker": "j"}
    one.do(i.JobClaimed(id=one.ident(), ttl_ms=15_000, **who))
    request = i.VerdictGiven(id=one.ident(), because="it names no disk", holds=holds, **who)
    assert not one.do(request).faults
