"""The judge job: shows results to the owner's model in the role of judge, and reports its verdict to the engine.

Every failure is reported as no verdict, which the engine never takes for a yes.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from starloom.core.run.judgement import BECAUSE_CHARS_MOST, judged_task
from starloom.core.state.inputs import VerdictGiven
from starloom.jobs.claiming import NotOurs, WorkerJob
from starloom.jobs.kinds.answering import EndedPlan, read_ended, result_seen
from starloom.jobs.modelling import ModelJobs
from starloom.planner.model.conversations.answering import ResultSeen
from starloom.planner.model.conversations.judging import ChoiceTalk, Judgement, JudgeTalk
from starloom.planner.model.conversations.looking import narrower
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.port import ModelFault
from starloom_protocol.vocabulary import Sharing, TaskState


class JudgeJobs:
    """Carries out claimed judge jobs."""

    def __init__(self, models: ModelJobs) -> None:
        self._models = models

    async def carry_out(self, job: WorkerJob) -> None:
        """Have a result judged, and report the verdict."""
        plan = await read_ended(job)
        record = plan.job(job.job)
        if record is None:
            raise NotOurs(f"there is no judgement {job.job}")
        judgement = await self._judged(job, plan, record.tasks[0])
        item = VerdictGiven(
            because=judgement.because[:BECAUSE_CHARS_MOST],
            cites=list(judgement.cites),
            holds=judgement.holds,
            **job.signed,
        )
        await job.post(item)

    def broken(self, job: WorkerJob, reason: str) -> VerdictGiven:
        """Return the outcome of a judgement that an unexpected error ended: no verdict."""
        return VerdictGiven(because=reason, **job.signed)

    async def _judged(self, job: WorkerJob, plan: EndedPlan, judged: str) -> Judgement:
        task = judged_task(judged)
        spec = plan.specs.get(task)
        judge = spec.judge if spec is not None else plan.head.policy.judge
        if judge is None:
            return Judgement(because="the plan has no question to a judge")
        try:
            owned = await asyncio.to_thread(self._models.owned, ModelRole.JUDGE)
        except ModelFault as error:
            return Judgement(because=error.fault.reason)
        if owned is None:
            return Judgement(because="no model is set")
        sharing = narrower(owned.sharing, plan.head.sharing)
        if sharing is Sharing.NAMES:
            return Judgement(because="no result is shared with a model, so it has nothing to judge")
        model = self._models.for_job(owned, job)
        request = plan.head.request or plan.head.name
        if spec is not None and spec.person is not None and spec.shows is not None:
            sources = plan.made_by(spec.shows.source)
            branches = [await result_seen(self._models, plan, name, sharing) for name in sources]
            return await ChoiceTalk(model, request, judge.question, branches).choose()
        tasks = [task, *plan.evidence_of(task)] if spec is not None else plan.tasks()
        results = [await self._result(plan, name, sharing, is_judged=name == task) for name in tasks]
        return await JudgeTalk(model, request, judge.question, results).judge()

    async def _result(self, plan: EndedPlan, task: str, sharing: Sharing, *, is_judged: bool) -> ResultSeen:
        """Return a result as a judge is shown it; one that `is_judged` now is shown although its task is not done."""
        if not is_judged:
            return await result_seen(self._models, plan, task, sharing)
        result = await result_seen(self._models, plan.as_if(task, TaskState.SUCCEEDED), task, sharing)
        return replace(result, card=replace(result.card, state="to be judged"))
