"""The outcome of a constellation: when it is over, how it ended, and its answer.

Owns the rules that make a final state and the items of the answer from results of tasks. Writes no sentence: `story`
does. An end waits for reviews, the judge and the answer in words, and opens their jobs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import islice
from typing import Any

from msgspec.structs import replace

from starloom.core.answer.report import covered
from starloom.core.answer.stated import tells_of_trouble
from starloom.core.answer.story import failed_undos, lacking, may_state, sentence, so_far, statement, undone_tasks
from starloom.core.people import answer_words, escalations, inquiries
from starloom.core.people.recipes import proposals, runs
from starloom.core.plan import review
from starloom.core.rights import spending
from starloom.core.run import judgement
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import SendOver
from starloom.core.state.tasks.gates import fact, size_left_out
from starloom.core.state.tasks.graph import downstream
from starloom.core.state.tasks.roles import called, successor
from starloom.core.state.tasks.turns import turns_of
from starloom.core.state.work import Work, close_questions
from starloom_protocol.records.entities import Answer, AnswerItem, ResultSpec
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import ENGINE, name_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.presentation import BEFORE_UNDO
from starloom_protocol.values import MISSING, canonical
from starloom_protocol.vocabulary import (
    EXCUSED_SKIPS,
    Attention,
    Code,
    ConstellationState,
    Gate,
    Need,
    Reason,
    TaskState,
)

_STATE = ConstellationState
_SUCCEEDED = TaskState.SUCCEEDED
_CUT_SHORT = frozenset({Code.EXIT_CODE, Code.LOST, Code.FENCED, Code.INTERRUPTED, Code.TIMED_OUT})
"""A program ended with a code that is not 0, or a call did not come to its end."""
_NO_WORK = frozenset(
    {Code.EXIT_CODE, Code.FILE_NOT_FOUND, Code.MISSING_GRANT, Code.POLICY_REFUSED, Code.TOOL_UNAVAILABLE}
)
"""The causes for which a list has no rows although its work was not done: no rows are then no result."""
_SHOWN_BYTES_MOST = 4096
"""A longer value is shown as a file."""
_SESSION_TOOLS = "mcp."
"""Tools of MCP servers, which may keep a session for a constellation on their device."""
LEAVES_MOST = 100
"""A plan that names no results shows so many at most, whatever its width."""
GROWTH_PART = 4
"""A partial answer is made again when the tasks that have ended are more by this part: 4 is a quarter."""


class _Kind(Enum):
    """How a top-level task counts for the end of its constellation."""

    USEFUL = "It gave a part of the answer."
    DONE = "It succeeded and gave no part of the answer."
    EXCUSED = "It did not succeed, and needed not."
    FAILED_WITH_STEPS = "It is a goal without an answer, of which steps have results."
    UPSTREAM_FAILED = "It was skipped behind a failure."
    CANCELLED = "A person cancelled it, or what it needed."


def settle(work: Work, name: str) -> None:
    """End a constellation if every top-level task is final and nothing else is open."""
    constellation = work.shard.constellations.get(name)
    if constellation is None or name not in work.shard.live or constellation.unfinished_top:
        return
    head = constellation.head
    if head.state is _STATE.LOOKING:
        inquiries.ended(work, constellation)
        return
    # Nearly every plan is made and ends without a model, and only a job brings verdicts, words or costs.
    has_jobs = bool(constellation.jobs)
    answered = has_jobs and answer_words.rests_on_looks(constellation)
    if head.version == 0 and head.state is not _STATE.CANCELLING and not answered:
        return
    if not answered and head.state not in (_STATE.ACTIVE, _STATE.AWAITING_APPROVAL, _STATE.CANCELLING):
        return
    if head.state is _STATE.AWAITING_APPROVAL:
        # All tasks were skipped or cancelled while the approval waited: nothing is left to approve.
        close_questions(work, constellation)
    elif head.state is _STATE.CANCELLING:
        review.abandon(work, constellation)
        answer_words.abandon(work, constellation)
    elif not answered and _waits(work, constellation):
        return
    if has_jobs:
        judgement.abandon(work, constellation)
    state = _state_of(constellation)
    attention = [Attention.UNDO_FAILED] if failed_undos(constellation) else []
    ended = replace(head, state=state, ended_ms=work.at_ms, attention=attention)
    answer = answer_of(work, constellation, state)
    work.emit(
        constellation,
        EventKind.ENDED,
        "",
        [("answer", "", answer), ("head", "", ended)],
        note=answer.sentence,
        by=ENGINE,
    )
    if has_jobs or head.budget is not None:
        spending.learn_run(work, constellation)
    if head.recipe_version:
        runs.count(work, constellation)
    proposals.propose(work, constellation)
    for device in _session_devices(constellation):
        work.order(SendOver(constellation=constellation.name, device=device))


def _session_devices(constellation: Constellation) -> list[str]:
    """Return the devices that may keep a session for a constellation: those on which it called a tool of an MCP server.

    The tool of a task that an edit removed is not known any more, so its device is among them.
    """
    specs = constellation.specs
    return sorted(
        {
            attempt.device
            for key, attempt in constellation.attempts.items()
            if (spec := specs.get(key.rpartition("/")[0])) is None or (spec.tool or "").startswith(_SESSION_TOOLS)
        }
    )


def _state_of(constellation: Constellation) -> ConstellationState:
    """Return the state in which a constellation ends in which nothing is open any more."""
    head = constellation.head
    if head.undone_from is not None and head.state is not _STATE.CANCELLING:
        if not failed_undos(constellation):
            return head.undone_from
        return _STATE.PARTIAL if undone_tasks(constellation) else _STATE.FAILED
    if head.given_up:
        return _STATE.PARTIAL if _state_by_results(constellation) is _STATE.PARTIAL else _STATE.FAILED
    if head.state is _STATE.CANCELLING:
        return _STATE.CANCELLED
    state = _state_by_results(constellation)
    return judgement.outcome(constellation, state) if head.policy.judge is not None else state


def _waits(work: Work, constellation: Constellation) -> bool:
    """Open the jobs that come before the end, the answer in words last, and tell whether the end waits for one."""
    if not constellation.jobs and constellation.head.policy.judge is None:
        # No model had a part in it, and none is to judge it.
        return False
    if any(review.open_jobs(constellation)) or escalations.open_wishes(constellation):
        return True
    state = _state_by_results(constellation)
    if judgement.hold_end(work, constellation, state):
        return True
    objection = judgement.reviewable_no(constellation, state)
    sources = [result.source for result in constellation.head.results or _leaves(constellation)]
    if objection is not None and review.of_the_whole(work, constellation, *objection, sources):
        return True
    return answer_words.hold_end(work, constellation, lambda: answer_of(work, constellation, _state_of(constellation)))


def _state_by_results(constellation: Constellation) -> ConstellationState:
    """Return how a constellation has ended by the results of its top-level tasks, which are all final.

    `cancelled` if nothing succeeded and nothing failed: a person cancelled its tasks one by one. `partial` also where a
    goal without an answer has found something, and nothing else went wrong but the tasks that needed its answer.
    """
    if constellation.progress.succeeded == len(constellation.specs):
        return _STATE.SUCCEEDED  # as nearly every plan ends
    hollow = _hollow(constellation)
    kinds = {
        _kind(constellation, task, is_hollow=task in hollow)
        for task, spec in constellation.specs.items()
        if spec.group is None and not spec.look
    }
    wrong = kinds - {_Kind.USEFUL, _Kind.DONE, _Kind.EXCUSED}
    allows_part = constellation.head.policy.partial
    # A plan that allows a part says so where work of its lists was cut short; another one took that into account.
    cut_short = any(_failed_by(constellation, group, _CUT_SHORT) for group in constellation.tally)
    if not wrong and not (allows_part and cut_short):
        return _STATE.SUCCEEDED
    if kinds <= {_Kind.EXCUSED, _Kind.CANCELLED} and not cut_short:
        return _STATE.CANCELLED
    only_goals = _Kind.FAILED_WITH_STEPS in kinds and wrong <= {_Kind.FAILED_WITH_STEPS, _Kind.UPSTREAM_FAILED}
    return _STATE.PARTIAL if (allows_part and _Kind.USEFUL in kinds) or only_goals else _STATE.FAILED


def _kind(constellation: Constellation, task: str, *, is_hollow: bool) -> _Kind | None:
    """Return how a top-level task counts, by the task that did its work; None if it went wrong in another way."""
    spec = constellation.specs[task]
    counts = successor(constellation, task) if spec.superseded_by is not None else task
    record = constellation.record(counts)
    if record.state == "succeeded" and not (counts in constellation.tally and _nothing_came(constellation, counts)):
        return _Kind.DONE if spec.optional or constellation.outgoing.get(task) or is_hollow else _Kind.USEFUL
    # A successor that was not chosen, or that a person skipped, did nobody's work.
    clean_skip = record.reason in EXCUSED_SKIPS or record.reason is None
    skipped = record.state == "skipped" and clean_skip and counts == task
    hopeless = record.state == "cancelled" and record.reason is Reason.HOPELESS
    if skipped or hopeless or spec.optional:
        return _Kind.EXCUSED
    if record.state == "failed" and any(_steps_with_result(constellation, counts)):
        return _Kind.FAILED_WITH_STEPS
    if record.reason is Reason.UPSTREAM_FAILED:
        return _Kind.UPSTREAM_FAILED
    if record.state == "cancelled" or record.reason is Reason.UPSTREAM_CANCELLED:
        return _Kind.CANCELLED
    return None


def _steps_with_result(constellation: Constellation, task: str) -> Iterator[str]:
    """Yield the steps of a goal that have a result, whatever became of the goal; no other task has any."""
    if constellation.specs[task].goal is not None:
        for child in constellation.children.get(task, {}):
            if child != goal_answer(task) and constellation.record(child).state == "succeeded":
                yield child


def _nothing_came(constellation: Constellation, task: str) -> bool:
    """Whether a list that needs no success had none, but a failure. The list is over, and nobody did its work."""
    # An edit may have dropped the list; its tally stays.
    spec = constellation.specs.get(task)
    if spec is None or spec.for_each is None or spec.for_each.need is not Need.BEST_EFFORT:
        return False
    tally = constellation.tally.get(task)
    if tally is None or tally.succeeded:
        return False
    return any(constellation.record(child).state == "failed" for child in constellation.children.get(task, ()))


def _failed_by(constellation: Constellation, group: str, codes: frozenset[Code]) -> bool:
    """Whether a task of a list that needs no success failed with one of these codes."""
    spec, tally = constellation.specs.get(group), constellation.tally[group]
    if spec is None or spec.for_each is None or spec.for_each.need is not Need.BEST_EFFORT or spec.optional:
        return False
    records = (constellation.record(child) for child in constellation.children.get(group, ()))
    return tally.succeeded < tally.children and any(one.state == "failed" and one.code in codes for one in records)


def _hollow(constellation: Constellation) -> set[str]:
    """Return the lists of which nothing came, as programs failed or devices refused, and tasks with no data but theirs.

    A table of no rows is nobody's work, so it makes no part of an answer.
    """
    hollow: set[str] = set()
    pending = [
        group
        for group in constellation.tally
        if _nothing_came(constellation, group) and _failed_by(constellation, group, _NO_WORK)
    ]
    while pending:
        source = pending.pop()
        hollow.add(source)
        for target in {one.target for one in constellation.outgoing.get(source, {}).values()} - hollow:
            inputs = [one.source for one in constellation.incoming.get(target, {}).values() if one.gate is Gate.DATA]
            if inputs and hollow.issuperset(inputs):
                pending.append(target)
    return hollow


def grow(work: Work, constellation: Constellation, task: str) -> None:
    """Update the partial answer with the ended tasks, `task` last.

    At once if the plan names the task as a result; else when a quarter more tasks have ended than it covers, so that
    all partial answers of a run together visit each task only a few times.
    """
    if not constellation.unfinished_top:
        return
    results = constellation.head.results
    previous = constellation.tables["answer"].get("")
    ended_before = previous.ended if previous is not None else 0
    ended = constellation.progress.ended
    if abs(ended - ended_before) < ended_before // GROWTH_PART and not (
        results and any(result.source == task for result in results)
    ):
        return
    if task not in constellation.specs or constellation.specs[task].look:
        return
    answer = Answer(
        ended=ended,
        items=_items_of(constellation, work.shard.fleet, results),
        sentence=so_far(constellation, work.shard.fleet),
        state="partial",
    )
    work.emit(constellation, EventKind.ANSWER_GREW, task, [("answer", "", answer)], by=ENGINE)


def answer_of(work: Work, constellation: Constellation, state: ConstellationState) -> Answer:
    """Return the final answer: items in the plan's order, and the sentence."""
    results = constellation.head.results or _leaves(constellation)
    items = _items_of(constellation, work.shard.fleet, results)
    answer = Answer(
        alarm=may_state(constellation, state) and tells_of_trouble(constellation, work.shard.fleet),
        compared=_compared(constellation, work.shard.fleet, results),
        items=items,
        sentence=sentence(constellation, work.shard.fleet, state, work.at_ms),
        state="final",
        stated=statement(constellation, work.shard.fleet, state) is not None,
    )
    if questions := constellation.tables["question"].values():
        waited_ms, _ = covered((question.opened_ms, question.answered_ms or work.at_ms) for question in questions)
        answer = replace(answer, waited_ms=waited_ms)
    if not constellation.jobs:
        return answer
    answer = replace(answer, verdict=judgement.current(constellation))
    worded = answer_words.current(constellation)
    if worded is None:
        return answer
    return replace(answer, cites=worded.cites, struck=worded.struck, words=worded.words)


def _compared(constellation: Constellation, fleet: Fleet, results: list[ResultSpec]) -> str:
    """Return the hash of the parts that the plan compares with the answer before; empty if it chooses none of them."""
    if all(result.compare is None for result in results):
        return ""
    parts: list[list[object]] = []
    for result in results:
        for item in _items(constellation, fleet, result):
            if result.compare is None:
                parts.append([item.title, item.value or "", item.artifact or ""])
            elif result.compare:
                parts.append(
                    [item.title, _compared_fields(fact(constellation, item.task, result.output), result.compare)]
                )
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def _compared_fields(table: object, fields: list[str]) -> list[list[object]]:
    """Return these fields of the rows of a table or a list, sorted, since measured values may order the rows.

    Nothing where the rows were too large to be brought.
    """
    rows = table.get("rows") if isinstance(table, dict) else table
    if not isinstance(rows, list):
        return []
    return sorted(([row.get(name) for name in fields] for row in rows if isinstance(row, dict)), key=canonical)


def _leaves(constellation: Constellation) -> list[ResultSpec]:
    """Return results for the tasks without dependents, for a plan that names none. Undo tasks do not count."""
    specs, outgoing = constellation.specs, constellation.outgoing
    leaves = (
        task
        for task, spec in specs.items()
        # Most leaves of a wide plan have no dependents at all, and an answer that grows asks for them again and again.
        if (not (gates := outgoing.get(task)) or all(specs[gate.target].undoes for gate in gates.values()))
        and not (spec.group or spec.look or spec.superseded_by or spec.undoes)
    )
    return [ResultSpec(source=task, title=task) for task in islice(leaves, LEAVES_MOST)]


def _items_of(constellation: Constellation, fleet: Fleet, results: Iterable[ResultSpec]) -> list[AnswerItem]:
    """Return the items of an answer. One that rests on work which was undone says so.

    After an undo, also one that failed, no text opens the answer: the sentence does, which tells of the undo.
    """
    items = [item for result in results for item in _items(constellation, fleet, result)]
    if constellation.head.undone_from is None:
        return items
    undone = undone_tasks(constellation)
    # A child reaches its family, whose other children may still be done.
    families = {constellation.specs[task].group for task in undone} - {None}
    outdated = {
        task
        for task in downstream(constellation, undone)
        if task in undone or constellation.specs[task].group not in families
    }
    plain = [replace(item, show="value") if item.show == "text" else item for item in items]
    return [replace(item, title=f"{item.title}{BEFORE_UNDO}") if item.task in outdated else item for item in plain]


def _items(constellation: Constellation, fleet: Fleet, result: ResultSpec) -> list[AnswerItem]:
    """Return the items of one result of the plan: of a task, the steps of a goal, the last turn, or all children."""
    spec = constellation.specs.get(result.source)
    if spec is not None and spec.superseded_by is not None:
        result = replace(result, source=successor(constellation, result.source))
    if result.source in constellation.groups and constellation.specs[result.source].goal is not None:
        if constellation.groups[result.source].state == "failed":
            whole = replace(result, output="")
            steps = _steps_with_result(constellation, result.source)
            items = [_item(constellation, fleet, whole, step, f"{result.title}, {step}") for step in steps]
            return [item for item in items if item is not None]
        result = replace(result, source=goal_answer(result.source))
    if result.source in constellation.groups:
        last = _last_turn(constellation, result.source)
        if last is not None:
            item = _item(constellation, fleet, result, last, result.title)
            return [] if item is None else [item]
        children = constellation.leaves(result.source)
        names = [called(constellation, fleet, child) for child in children[:1000]]
        titles = [f"{result.title}, {name}" for name in names]
        items = [
            _item(constellation, fleet, result, child, title) for child, title in zip(children, titles, strict=False)
        ]
        return [item for item in items if item is not None]
    item = _item(constellation, fleet, result, result.source, result.title)
    return [] if item is None else [item]


def _last_turn(constellation: Constellation, group: str) -> str | None:
    """Return the last turn that gave a result, where a group is turns of which the last one answers."""
    each = constellation.specs[group].for_each
    if each is None or each.repeat is None or not each.repeat.last_answers:
        return None
    succeeded = [turn for turn in turns_of(constellation, group) if constellation.tasks[turn].state is _SUCCEEDED]
    return succeeded[-1] if succeeded else None


def _item(constellation: Constellation, fleet: Fleet, result: ResultSpec, task: str, title: str) -> AnswerItem | None:
    """Return the item of one succeeded task, as a file where its value is a file or too long to be shown."""
    record = constellation.tasks.get(task)
    if record is None or record.state is not _SUCCEEDED:
        return None
    attempt = constellation.last_attempt(task)
    value = _as_shown(constellation, task, fact(constellation, task, result.output))
    common = AnswerItem(
        attempt=record.attempt,
        checked=record.checked,
        device=attempt.device if attempt else None,
        show=result.show,
        task=task,
        title=title,
    )
    if isinstance(value, dict) and isinstance(value.get("artifact"), str):
        size, media = value.get("bytes"), value.get("media")
        return replace(
            common,
            artifact=value["artifact"],
            bytes=size if isinstance(size, int) else 0,
            media=media if isinstance(media, str) else None,
        )
    if value is MISSING:
        # The result has the part that the plan names, and it is too large to be brought as a fact.
        is_large = attempt is not None and (result.output == "" or size_left_out(attempt, result.output) > 0)
        if attempt is not None and attempt.artifact is not None and is_large:
            file = replace(common, artifact=attempt.artifact, bytes=attempt.bytes, media="application/json")
            return replace(file, pointer=result.output)
        return replace(common, lacks=lacking(constellation, fleet, task))
    if value is None:
        common = replace(common, lacks=lacking(constellation, fleet, task))
    text = canonical(value)
    if len(text) > _SHOWN_BYTES_MOST and result.output == "" and attempt is not None and attempt.artifact is not None:
        return replace(common, artifact=attempt.artifact, bytes=attempt.bytes, media="application/json")
    return replace(common, value=text)


def _as_shown(constellation: Constellation, task: str, value: Any) -> Any:
    """Return a person's answer as it is shown: with the name of the person, and without words that nobody wrote."""
    if constellation.specs[task].person is None or not isinstance(value, dict) or not isinstance(value.get("by"), str):
        return value
    shown = {**value, "by": name_of(value["by"])}
    return {name: part for name, part in shown.items() if name != "text" or part}
