"""The answer job: sends the results of ended tasks to the owner's model, and reports its checked words to the engine.

Every failure ends in an answer without words, so that no constellation waits for a model that does not help.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.state.inputs import AnswerWorded
from starloom.jobs.artifacts import HubArtifacts
from starloom.jobs.claiming import NotOurs, WorkerJob
from starloom.jobs.modelling import ModelJobs
from starloom.jobs.sketching import OpenSketches, sketched
from starloom.planner.context.cards import card_of, is_claim, own_words_in, scrubbed, telling_in
from starloom.planner.model.conversations.answering import AnswerTalk, ResultSeen, Words
from starloom.planner.model.conversations.looking import narrower
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.port import Hear, ModelFault
from starloom_protocol.records.entities import (
    Answer,
    Attempt,
    Device,
    Finding,
    GroupRecord,
    Head,
    Job,
    TaskRecord,
    TaskSpec,
    decode_entity,
)
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.values import MISSING, parse
from starloom_protocol.vocabulary import GroupState, Sharing, TaskState

VALUE_BYTES_MOST: Final = 1024 * 1024
"""The largest value that is read for its evidence; a larger one is shown by its file alone."""
TASKS_MOST: Final = 200
_TOLD: Final = (TaskState.SUCCEEDED, TaskState.FAILED)


class AnswerJobs:
    """Carries out claimed answer jobs."""

    def __init__(self, models: ModelJobs, sketches: OpenSketches | None = None) -> None:
        self._models = models
        self._sketches = sketches

    async def carry_out(self, job: WorkerJob) -> None:
        """Have the answer of a constellation written, and report it; its words are drawn as they come."""
        plan = await read_ended(job)
        async with sketched(self._sketches, job, self._models.now_ms) as hear:
            words = await self._words(job, plan, hear)
        item = AnswerWorded(
            cites=list(words.cites),
            reason=words.reason[:500],
            struck=list(words.struck),
            words=words.words,
            **job.signed,
        )
        await job.post(item)

    def broken(self, job: WorkerJob, reason: str) -> AnswerWorded:
        """Return the outcome of a job that an unexpected error ended: no words."""
        return AnswerWorded(reason=reason, **job.signed)

    async def _words(self, job: WorkerJob, plan: EndedPlan, hear: Hear) -> Words:
        try:
            owned = await asyncio.to_thread(self._models.owned, ModelRole.WRITER)
        except ModelFault as error:
            return Words(reason=error.fault.reason)
        if owned is None:
            return Words(reason="no model is set")
        sharing = narrower(owned.sharing, plan.head.sharing)
        if sharing is Sharing.NAMES:
            return Words(reason="no result is shared with a model, so it has nothing to tell")
        results = [await result_seen(self._models, plan, task, sharing) for task in plan.tasks()]
        model = self._models.for_job(owned, job, hear=hear)
        return await AnswerTalk(model, plan.head.request, scrubbed(plan.sentence), results).write()


async def read_ended(job: WorkerJob) -> EndedPlan:
    """Return the committed state of a constellation for the writer or the judge of its answer.

    Raises:
        NotOurs: it does not exist.
    """
    return EndedPlan(await job.entities(), await job.fleet())


async def result_seen(models: ModelJobs, plan: EndedPlan, task: str, sharing: Sharing) -> ResultSeen:
    """Return a result of an ended task as a model is shown it, with the value that its cites are held against."""
    attempt = plan.attempt(task)
    card = card_of(
        plan.specs[task],
        plan.records[task],
        attempt,
        device=plan.device_name(attempt),
        now_ms=round(models.now_s() * 1000),
        sharing=sharing,
        telling=task in plan.telling,
    )
    if task in plan.own_words:
        card = dataclasses.replace(card, own_words=True)
    marked = plan.records[task].marked if plan.specs[task].tool in HUB_TOOLS else None
    value = parse(marked) if marked is not None else await _value_of(attempt, models.artifacts)
    title = plan.titles.get(task, "")
    is_owed = task in plan.owed
    if card.head is None:
        return ResultSeen(card, MISSING, title, value, is_owed)
    return ResultSeen(card, value, title, owed=is_owed)


async def _value_of(attempt: Attempt | None, artifacts: HubArtifacts) -> Any:
    """Return the value of an attempt, or MISSING where it gave none or its file cannot be read."""
    if attempt is None:
        return MISSING
    text = attempt.value
    if text is None and attempt.artifact is not None:
        raw = await artifacts.read(attempt.artifact, VALUE_BYTES_MOST)
        text = raw.decode("utf-8", "replace") if raw is not None else None
    if text is None:
        return MISSING
    try:
        return parse(text)
    except ValueError:
        return MISSING


def _is_missed(task: str, specs: Mapping[str, TaskSpec], failed_groups: Collection[str]) -> bool:
    """Tell whether the work is not done without a failed task; other failures may go untold.

    It is done where the task, or a group around it, was optional, was replaced by another one, or did not fail itself.
    """
    within: str | None = task
    while within is not None:
        spec = specs[within]
        if spec.optional or spec.look or spec.superseded_by is not None or spec.undoes is not None:
            return False
        if within != task and within not in failed_groups:
            return False
        within = spec.group
    return True


class EndedPlan:
    """A committed constellation whose tasks have ended, as the writer or the judge of its answer reads it."""

    def __init__(self, entities: Mapping[str, bytes], fleet: Mapping[str, bytes]) -> None:
        records: dict[str, Any] = {key: decode_entity(key, raw) for key, raw in entities.items()}
        head = records.get("head")
        if not isinstance(head, Head):
            raise NotOurs("the constellation has no head")
        self.head = head
        self.specs = {key.removeprefix("spec/"): item for key, item in records.items() if isinstance(item, TaskSpec)}
        self.own_words = own_words_in(self.specs)
        self.telling = telling_in(self.specs)
        self.records = {
            key.removeprefix("task/"): item for key, item in records.items() if isinstance(item, TaskRecord)
        }
        failed_groups = {
            key.removeprefix("group/")
            for key, item in records.items()
            if isinstance(item, GroupRecord) and item.state is GroupState.FAILED
        }
        self.owed = {
            task
            for task, record in self.records.items()
            if record.state is TaskState.FAILED and task in self.specs and _is_missed(task, self.specs, failed_groups)
        }
        """The failed tasks without which the work is not done."""
        self._groups = {key.removeprefix("group/") for key, item in records.items() if isinstance(item, GroupRecord)}
        self._jobs = {key.removeprefix("job/"): item for key, item in records.items() if isinstance(item, Job)}
        self._attempts = {key: item for key, item in records.items() if isinstance(item, Attempt)}
        self._findings = [item for item in records.values() if isinstance(item, Finding)]
        answer = records.get("answer")
        self.sentence = answer.sentence if isinstance(answer, Answer) else ""
        self._fleet = fleet
        self.titles = {task: result.title for result in head.results for task in self._below(result.source)}

    def tasks(self) -> list[str]:
        """Return the tasks to tell of: the plan's results first, then those that failed, then the last ones."""
        ended = [task for task, record in self.records.items() if record.state in _TOLD]
        failed = [task for task in ended if self.records[task].state is TaskState.FAILED]
        ordered: Iterable[str] = (*(task for task in ended if task in self.titles), *failed, *reversed(ended))
        return list(dict.fromkeys(ordered))[:TASKS_MOST]

    def job(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def evidence_of(self, task: str) -> list[str]:
        """Return the results on which the answer of a goal may rest; nothing for any other task."""
        spec = self.specs[task]
        if not is_claim(self.specs, spec):
            return []
        inputs = {item.source for item in self.specs[spec.group or ""].inputs}
        inputs |= {finding.task for finding in self._findings if finding.by != spec.group}
        return [
            name
            for name, other in self.specs.items()
            if name != task
            and (other.group == spec.group or name in inputs or other.group in inputs)
            and name in self.records
            and self.records[name].state is TaskState.SUCCEEDED
        ]

    def made_by(self, group: str) -> list[str]:
        """Return the calls of a group that gave a result."""
        return [
            name
            for name, record in self.records.items()
            if self.specs[name].group == group and record.state is TaskState.SUCCEEDED
        ]

    def as_if(self, task: str, state: TaskState) -> EndedPlan:
        """Return this plan with one task in another state."""
        copied = copy(self)
        copied.records = {**self.records, task: replace(self.records[task], state=state)}
        return copied

    def attempt(self, task: str) -> Attempt | None:
        return self._attempts.get(f"attempt/{task}/{self.records[task].attempt}")

    def device_name(self, attempt: Attempt | None) -> str:
        raw = self._fleet.get(f"device/{attempt.device}") if attempt is not None else None
        device = decode_entity(f"device/{attempt.device}", raw) if attempt is not None and raw is not None else None
        return device.name if isinstance(device, Device) else ""

    def _below(self, source: str) -> list[str]:
        """Return a task, or the tasks of a group at any depth."""
        if source not in self._groups:
            return [source]
        inside = {source}
        tasks: list[str] = []
        for task, spec in self.specs.items():
            if spec.group in inside:
                inside.add(task)
                tasks.append(task)
        return tasks
