"""A question with the list before each call that puts into the trash what a result names.

These files are not known before the plan begins, so an approval of the plan cannot show them. The question is a task of
the plan, previewed, hashed and approved with it. A plan that shows them already stays as it is, and so does one whose
policy sets approval aside. Nobody is asked about files that the plan has made itself. Calls within a nested plan, and
those that a rule adds, need approval before the first task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.rights.call_effects import TRASH, is_shown_before, list_of
from starloom_protocol.plan import plan_hash
from starloom_protocol.plan.language.models import TASK_ID
from starloom_protocol.plan.lowering.records import FIRST_VERSION, record
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Choice, Condition, Dependency, TaskSpec
from starloom_protocol.records.specs import counts_as_one
from starloom_protocol.tools.ways_back import way_back
from starloom_protocol.vocabulary import Approval, Gate, Op

QUESTION: Final = "Put these files into the trash? They can be brought back."
_GO, _STAY = "trash", "leave"


def with_lists(plan: LoweredPlan) -> LoweredPlan:
    """Return a plan in which a person sees each list of files before they go into the trash."""
    if plan.policy.approval is Approval.NEVER:
        return plan
    specs, gates = list(plan.specs), list(plan.dependencies)
    for question, before in _questions(plan):
        at = next(at for at, spec in enumerate(specs) if spec.id == before[-1].target)
        specs.insert(at, question)
        gates += before
    if len(specs) == len(plan.specs):
        return plan
    asking = replace(plan, dependencies=gates, specs=specs)
    return replace(asking, hash=plan_hash(asking))


def without_lists(plan: LoweredPlan) -> LoweredPlan:
    """Return a plan without the questions of `with_lists`: its files go into the trash unseen, each time it runs."""
    questions = {spec.id for spec in plan.specs if spec.person == QUESTION}
    if not questions:
        return plan
    bare = replace(
        plan,
        dependencies=[edge for edge in plan.dependencies if questions.isdisjoint((edge.source, edge.target))],
        specs=[spec for spec in plan.specs if spec.id not in questions],
    )
    return replace(bare, hash=plan_hash(bare))


def trashes_unseen(plan: LoweredPlan) -> bool | None:
    """Tell whether found files go into the trash without their list; None where a plan puts no found files there."""
    if any(spec.person == QUESTION for spec in plan.specs):
        return False
    return True if any(_questions(plan)) else None


def trash_words(plan: LoweredPlan) -> str:
    """Return the sentence of a preview about the list before the trash; empty where a plan has none to show."""
    match trashes_unseen(plan):
        case False:
            return "Each time it runs, it waits for your answer to the list of files before they go into the trash."
        case True:
            return "The files that it finds go into the trash each time without a question: nobody sees their list."
        case _:
            return ""


def _questions(plan: LoweredPlan) -> Iterator[tuple[TaskSpec, list[Dependency]]]:
    """Yield each question with the gates before it and, last, the one from it to its call."""
    by_id = {spec.id: spec for spec in plan.specs}
    before: dict[str, list[Dependency]] = {}
    for edge in plan.dependencies:
        before.setdefault(edge.target, []).append(edge)
    for spec in plan.specs:
        shows = list_of(spec, by_id) if spec.tool == TRASH and spec.group is None else None
        name = f"{spec.id}-list"
        if shows is None or name in by_id or not TASK_ID.fullmatch(name):
            continue
        if is_shown_before(spec.id, shows, by_id, before):
            continue
        taking_back = way_back(by_id[shows.source])
        if taking_back is not None and taking_back.tool == TRASH:
            continue
        question = TaskSpec(
            changed_in=FIRST_VERSION,
            choices=[Choice(label="Into the trash", value=_GO), Choice(label="Leave them", value=_STAY)],
            id=name,
            optional=spec.optional,
            person=QUESTION,
            shows=shows,
        )
        gates = [_gate(name, spec.id, record(Condition, op=Op.EQ, output="/value", value=f'"{_GO}"'))]
        source = by_id[shows.source].for_each
        if source is None or counts_as_one(source):
            # Of an empty list there is nothing to ask; that of a group has a part for each device.
            gates.insert(0, _gate(shows.source, name, record(Condition, op=Op.NOT_EMPTY, output=shows.output)))
        yield question, gates


def _gate(source: str, target: str, condition: Condition) -> Dependency:
    return record(
        Dependency, changed_in=FIRST_VERSION, condition=condition, gate=Gate.OUTPUT, source=source, target=target
    )
