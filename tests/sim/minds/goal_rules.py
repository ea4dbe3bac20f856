"""The rules of goals, said anew from the log: envelope, budget, taint, the conversation, and how each one ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from starloom_protocol.records.edits import AddTask, EditOperation
from starloom_protocol.stream.feed import Event
from starloom_protocol.values import parse
from tests.sim.minds.milestone_rules import judge_milestones
from tests.sim.minds.plans import BEYOND, FOLDER, NOTE, READ, STRANGER
from tests.sim.minds.tier_rules import judge_tiers
from tests.sim.minds.workers import TOKENS_MOST, Said

OVER: Final = frozenset({"succeeded", "failed", "skipped", "cancelled"})
SLACK_MS: Final = 900_000
"""A call that was begun may go on for two minutes on a device that is away, before a hub that is away itself."""
_operations = msgspec.json.Decoder(list[EditOperation]).decode


class GoalRules:
    """The goals of one constellation; takes its events in order."""

    def __init__(self, name: str, said: Said) -> None:
        self._name = name
        self._said = said
        self._handed: set[tuple[str, str]] = set()
        self._notes: dict[str, str] = {}
        self._begun: dict[str, int] = {}
        self._brought: dict[str, int] = {}
        self._waited: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._stopped_ms = 0
        self._paused_ms = 0
        self._pauses = 0

    def judge(self, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
        """Yield what an event breaks; `records` are those before it."""
        self._clock(event, puts, records)
        for key, record in puts.items():
            if record is None:
                continue
            if key.startswith("job/") and record.kind == "goal":
                yield from self._job(event, record, records.get(key), puts, records)
            elif key.startswith("question/") and key not in records and record.operations:
                yield from self._asked(record, records)
            elif key.startswith("finding/"):
                yield from self._finding(key, record, records)
            elif key.startswith("group/"):
                yield from self._group(event, key.removeprefix("group/"), record, puts, records)

    def _finding(self, key: str, finding: Any, records: dict[str, Any]) -> Iterator[str]:
        """A goal publishes its own results alone, under its own topics, and none without the stranger behind it."""
        goal = records[f"spec/{finding.by}"].goal
        known = f"{key} of {self._name}"
        if key in records:
            yield f"{known} was changed"
        if goal is None:
            return
        call = records[f"spec/{finding.task}"]
        if finding.topic not in goal.finds or call.group != finding.by:
            yield f"{known} is of {finding.task} about {finding.topic}, published by {finding.by}"
        if call.tool == STRANGER and not finding.stranger:
            yield f"{known} forgets the stranger behind it"

    def _job(self, event: Event, job: Any, was: Any, puts: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
        group = job.tasks[0].rpartition("/")[0]
        goal = records[f"spec/{group}"].goal
        times = 1 + job.goal.more
        if was is None:
            self._begun[job.id] = event.at_ms
            self._brought[job.id] = len(job.goal.turns)
            return
        # Counted here: a sum that begins anew would hide what was used before.
        used = self._tokens.get(job.id, 0)
        self._tokens[job.id] = used + max(0, job.tokens - was.tokens)
        if job.tokens < was.tokens:
            yield f"{self._name}/{group} forgot that it used {was.tokens - job.tokens} tokens"
        if job.goal.more > was.goal.more and not event.by.startswith("person:"):
            yield f"{self._name}/{group} was let go on by {event.by}"
        if job.claims > was.claims and used >= goal.tokens * times:
            yield f"a worker took {self._name}/{group} with {used} of its {goal.tokens * times} tokens used up"
        if job.goal.turns[: len(was.goal.turns)] != was.goal.turns:
            yield f"the conversation of {self._name}/{group} was changed"
        yield from judge_tiers(f"{self._name}/{group}", event, job, was, self._handed)
        yield from judge_milestones(f"{self._name}/{group}", goal, job, was, {**records, **puts}, self._brought[job.id])
        for at in range(len(was.goal.turns), len(job.goal.turns)):
            turn = job.goal.turns[at]
            if turn.kind == "hint" and not turn.by.startswith("person:"):
                yield f"{self._name}/{group} was given a hint by {turn.by}"
            if turn.kind == "step":
                yield from self._step(event, group, turn, job, puts, records)
            if turn.kind in ("step", "refused", "handed") or (turn.kind == "escalated" and turn.by == "model"):
                yield from self._rests_on_what_was_seen(group, turn, job.goal.turns[:at], was)

    def _rests_on_what_was_seen(self, group: str, turn: Any, before: list[Any], was: Any) -> Iterator[str]:
        """A turn is taken once, and from a worker that had seen all turns before it."""
        note = str(_said(turn).get("note", "")) if turn.kind == "refused" else turn.note
        proposal = self._said.proposals.get(note)
        if proposal is None or was.state == "asking":
            # A call that was asked about stands where its question was opened.
            return
        known = f"{self._name}/{group}"
        if note in self._notes:
            yield f"the turn {note} of {known} was taken twice"
        self._notes[note] = known
        seen = sum(one.kind != "hint" for one in before)
        if proposal.seen != seen:
            yield f"the turn {note} of {known} rests on {proposal.seen} turns, and there were {seen}"

    def _step(
        self, event: Event, group: str, turn: Any, job: Any, puts: dict[str, Any], records: dict[str, Any]
    ) -> Iterator[str]:
        known, spec = f"{self._name}/{group}", records[f"spec/{group}"]
        goal, times = spec.goal, 1 + job.goal.more
        steps = sum(one.kind == "step" for one in job.goal.turns)
        if steps > goal.steps * times:
            yield f"step {steps} of {known} is beyond its {goal.steps * times}"
        used = self._tokens.get(job.id, 0)
        if used > goal.tokens * times + TOKENS_MOST:
            yield f"{known} made a step with {used} of its {goal.tokens * times} tokens used up"
        if records["head"].state in ("cancelling", *OVER):
            yield f"{known} made a step in a constellation that is {records['head'].state}"
        calls = [puts[f"spec/{task}"] for task in turn.tasks if f"spec/{task}" in puts]
        if len(calls) != len(turn.tasks):
            yield f"a step of {known} has calls that were not added with it"
        if len(calls) > 1 and any(call.tool in BEYOND for call in calls):
            yield f"{known} made {len(calls)} calls side by side that do more than read"
        for call in calls:
            yield from self._call(event, group, spec, call, records)

    def _call(self, event: Event, group: str, spec: Any, call: Any, records: dict[str, Any]) -> Iterator[str]:
        """A call stays in the envelope, and what does more than read in no named folder was allowed by a person."""
        known, goal, args = f"{self._name}/{call.id}", spec.goal, parse(call.args)
        if call.tool not in (goal.tools or [READ, STRANGER, "data.vote"]):
            yield f"{known} calls {call.tool}, outside of the tools of {group}"
        device = call.device.id if call.device is not None else None
        named = spec.device.name if spec.device is not None else None
        if device is None or (named is not None and device != f"d-{named}"):
            yield f"{known} goes to {device}, outside of the devices of {group}"
        inside = goal.paths == [FOLDER] and str(args.get("path", "")).startswith(f"{FOLDER}/")
        if call.tool == NOTE and goal.paths and not inside:
            yield f"{known} writes at {args.get('path')}, outside of the folders of {group}"
        if call.tool not in BEYOND or (call.tool == NOTE and inside):
            return
        allowed = [
            one
            for key, one in records.items()
            if key.startswith("question/") and one.task == group and one.answer == "allow"
        ]
        if not any(_same_call(one, call) for one in allowed if str(one.answered_by).startswith("person:")):
            yield f"{known} does more than read, and no person allowed it"
        if not event.by.startswith("person:"):
            yield f"{known} does more than read, and is an edit by {event.by}"

    def _asked(self, question: Any, records: dict[str, Any]) -> Iterator[str]:
        """Once a goal has read what a stranger may have written, no write outside is even asked about."""
        group = question.task
        jobs = [one for key, one in records.items() if key.startswith("job/") and one.kind == "goal"]
        mine = [job for job in jobs if job.tasks[0].rpartition("/")[0] == group and job.state != "done"]
        for job in mine:
            read = [task for turn in job.goal.turns if turn.kind == "step" for task in turn.tasks]
            read += [item.source for item in records[f"spec/{group}"].inputs]
            for task in read:
                spec, record = records.get(f"spec/{task}"), records.get(f"task/{task}")
                if spec is not None and spec.tool == STRANGER and record is not None and record.state == "succeeded":
                    yield f"{self._name}/{group} read what a stranger wrote in {task} and asks: {question.text[:200]}"

    def _clock(self, event: Event, puts: dict[str, Any], records: dict[str, Any]) -> None:
        """Count for how long people were asked, and for how long the whole was paused."""
        for key, record in puts.items():
            was = records.get(key)
            if record is None or not key.startswith("question/"):
                continue
            if record.answered_ms and not (was is not None and was.answered_ms):
                asked_ms = record.answered_ms - record.opened_ms
                self._waited[record.task] = self._waited.get(record.task, 0) + max(0, asked_ms)
        head = puts.get("head")
        was_head = records.get("head")
        if head is None or was_head is None or head.state == was_head.state:
            return
        if head.state in ("paused", "awaiting_approval"):
            self._stopped_ms, self._pauses = event.at_ms, self._pauses + 1
        elif was_head.state in ("paused", "awaiting_approval"):
            self._paused_ms += max(0, event.at_ms - self._stopped_ms)

    def _group(
        self, event: Event, group: str, record: Any, puts: dict[str, Any], records: dict[str, Any]
    ) -> Iterator[str]:
        spec = records.get(f"spec/{group}")
        was = records.get(f"group/{group}")
        if spec is None or spec.goal is None or record.state not in OVER or (was is not None and was.state in OVER):
            return
        known = f"{self._name}/{group}"
        if record.state == "failed" and (record.code is None or not event.note):
            yield f"{known} has failed without a reason: {record}"
        if record.state == "skipped" and record.reason is None and record.cause is None:
            yield f"{known} was skipped without a reason"
        now = {**records, **puts}
        if record.state == "succeeded":
            answer = now.get(f"task/{group}.answer")
            if (answer is None or answer.state != "succeeded") and not event.by.startswith("person:"):
                yield f"{known} has succeeded without an answer"
        mine = [one for key, one in now.items() if key.startswith("job/") and one and one.kind == "goal"]
        job = next((one for one in mine if one.tasks == [f"{group}/{record.round}"]), None)
        if job is None:
            return
        if job.state != "done":
            yield f"{known} is {record.state} and its conversation is {job.state}"
        over_ms = event.at_ms - self._begun[job.id]
        most_ms = spec.goal.within_s * 1000 * (1 + job.goal.more)
        most_ms += self._waited.get(group, 0) + self._paused_ms + 60_000 * self._pauses + SLACK_MS
        if over_ms > most_ms:
            yield f"{known} ended after {over_ms} ms, and {most_ms} ms are the most: {record.state} {event.note}"

    def left(self, records: dict[str, Any]) -> Iterator[str]:
        """Yield the goals that are not over although all is."""
        for key, record in records.items():
            if not key.startswith("group/") or record.state in OVER or records["head"].state not in OVER:
                continue
            spec = records.get(f"spec/{key.removeprefix('group/')}")
            if spec is not None and spec.goal is not None:
                yield f"{self._name}/{spec.id} is {record.state}, and its constellation is {records['head'].state}"


def _said(turn: Any) -> dict[str, Any]:
    try:
        found = parse(turn.said)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _same_call(question: Any, call: Any) -> bool:
    """Tell whether a question was about this very call, with its arguments and its device."""
    asked = (
        [one.spec for one in _operations(question.operations) if isinstance(one, AddTask)]
        if question.operations
        else []
    )
    return any((one.tool, one.args, one.device) == (call.tool, call.args, call.device) for one in asked)
