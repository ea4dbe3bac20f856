"""The start of a constellation: its plan becomes version 1, as one event, and it becomes active, first or again.

`edits` makes the later versions.
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from starloom.core.placement.pace import usual_ms
from starloom.core.placement.selection import requeue
from starloom.core.plan.edits import first_record
from starloom.core.plan.goals import conversation
from starloom.core.plan.groups import data_edges
from starloom.core.rights import spending
from starloom.core.run import timeouts
from starloom.core.state.model import Constellation
from starloom.core.state.queues import queueable
from starloom.core.state.tasks.graph import find_cycle, set_ranks
from starloom.core.state.work import Put, Refusal, Work, fault, unattend, withdraw_proposals
from starloom_protocol.plan.checks.findings import topic_gates
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Fault, TaskRecord, Version, dependency_id
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, TaskState

_STOOD_STILL = (ConstellationState.AWAITING_APPROVAL, ConstellationState.PAUSED)


def install_plan(
    work: Work, constellation: Constellation, plan: LoweredPlan, *, author: str, trigger: str, recipe_version: int = 0
) -> None:
    """Make a lowered plan version 1 of a constellation without tasks but looks, as one event.

    `recipe_version` is the version of the saved recipe that the plan was made from.

    Raises:
        Refusal: with every fault of the graph.
    """
    ids = dict.fromkeys(spec.id for spec in plan.specs)
    edges = _edges_of(plan)
    faults = _faults(work, constellation, plan, ids, edges)
    if faults:
        raise Refusal(*faults)
    puts: list[Put] = []
    new_record = TaskRecord(state=TaskState.WAITING, since_ms=work.at_ms)
    for spec in plan.specs:
        puts.append(("spec", spec.id, spec))
        puts.append(
            ("task", spec.id, new_record)
            if spec.for_each is None and spec.goal is None and not spec.nested
            else first_record(constellation, spec, work.at_ms)
        )
    puts += [("dep", key, dependency) for key, dependency in edges.items()]
    puts.extend(("rule", rule.name, rule) for rule in plan.rules)
    count = len(plan.specs)
    version = Version(
        added=list(ids),
        at_ms=work.at_ms,
        author=author,
        number=1,
        reason=f"{plan.name}: {count} task{'s' if count != 1 else ''}",
        trigger=trigger,
    )
    priority = constellation.head.priority
    head = replace(
        constellation.head,
        version=1,
        name=constellation.head.name or plan.name,
        policy=plan.policy if priority is None else replace(plan.policy, priority=priority),
        results=plan.results,
        sentences=plan.sentences,
        plan_hash=plan.hash,
        recipe=plan.recipe or constellation.head.recipe,
        recipe_version=recipe_version,
        params=plan.params,
        tool_ms=usual_ms(work.shard.fleet, (spec.tool for spec in plan.specs if spec.tool is not None)),
    )
    puts.append(("version", "1", version))
    puts.append(("head", "", head))
    work.emit(constellation, EventKind.PLAN_MADE, "", puts, note=version.reason, by=author)
    if not set_ranks(constellation):
        cycle = find_cycle(constellation, ids) or []
        raise Refusal(fault(Code.PLAN_CYCLE, " -> ".join([*cycle, *cycle[:1]]), "dependencies"))


def activate(work: Work, constellation: Constellation, kind: EventKind, note: str, *also: Put) -> None:
    """Make a constellation active and put its ready tasks back into their queues; without a plan it looks on."""
    head = constellation.head
    active = replace(
        head,
        state=ConstellationState.ACTIVE if head.version else ConstellationState.LOOKING,
        ended_ms=0,
        paused_since_ms=0,
    )
    if head.ended_ms and work.shard.settings.spending_rows_most and spending.teaches(constellation):
        active = replace(active, taught=True)
    if kind is EventKind.REOPENED and head.ended_ms and work.shard.settings.keeps_reopenings:
        active = replace(active, reopened_ms=work.at_ms)
        if work.shard.settings.keeps_reopenings > 1:
            active = replace(active, idle_ms=head.idle_ms + max(0, work.at_ms - head.ended_ms))
    if head.given_up:
        # A person continues it.
        active = replace(active, cancelled_by=None, given_up="")
    if head.deadline_s and head.ended_ms and work.at_ms >= head.created_ms + head.deadline_s * 1000:
        # A person opened it again after its deadline, which no longer applies.
        active = replace(active, deadline_s=0)
    waits = timeouts.without_pause(constellation, work.at_ms) if head.paused_since_ms else []
    if work.shard.settings.restarts_waits and head.state in _STOOD_STILL:
        # These could not begin until now: they join their queues as tasks do that have just become ready.
        ready = ((task, record) for task, record in constellation.tasks.items() if queueable(record))
        waits += [("task", task, replace(record, since_ms=work.at_ms)) for task, record in ready]
    puts: list[Put] = [*also, *waits, ("head", "", active)]
    work.emit(constellation, kind, "", puts, note=note)
    if kind is EventKind.REOPENED:
        withdraw_proposals(work, constellation)
    unattend(work, constellation, Attention.HISTORY_RESTORED)
    if constellation.groups:
        conversation.look_again(work, constellation)
    for task, record in constellation.tasks.items():
        if record.state is TaskState.READY:
            requeue(work.shard, constellation, task)
        spec = constellation.specs[task]
        if spec.person is not None or spec.reuse is not None:
            # While the plan waited for its approval no question was opened and no earlier result was taken over.
            work.shard.touched[(constellation.name, task)] = None
    work.shard.settled[constellation.name] = None


def _edges_of(plan: LoweredPlan) -> dict[str, Dependency]:
    """Return every dependency by its id: those that inputs and lists imply, then those that the plan names."""
    edges: dict[str, Dependency] = {}
    for spec in plan.specs:
        if spec.inputs or spec.for_each is not None or spec.not_before is not None or spec.shows is not None:
            edges.update((dependency_id(edge), edge) for edge in data_edges(spec, 1))
    edges.update((dependency_id(edge), edge) for edge in topic_gates(plan.specs, 1))
    for dependency in plan.dependencies:
        edges.setdefault(dependency_id(dependency), dependency)
    return edges


def _faults(
    work: Work, constellation: Constellation, plan: LoweredPlan, ids: dict[str, None], edges: dict[str, Dependency]
) -> list[Fault]:
    faults: list[Fault] = []
    if len(ids) < len(plan.specs):
        twice = [name for name, count in Counter(spec.id for spec in plan.specs).items() if count > 1]
        faults += [fault(Code.DUPLICATE_ID, f"two tasks are called {name}", f"tasks.{name}") for name in twice]
    for name in [name for name in constellation.specs if name in ids]:
        reason = f"{name} is the name of a look of this constellation; give the task another one"
        faults.append(fault(Code.DUPLICATE_ID, reason, f"tasks.{name}"))
    for key, dependency in edges.items():
        if dependency.source in ids and dependency.target in ids:
            continue
        for end, task in (("from", dependency.source), ("to", dependency.target)):
            if task not in ids:
                faults.append(fault(Code.UNKNOWN_TASK, f"{task} does not exist", f"{key}.{end}"))
    settings = work.shard.settings
    if len(plan.specs) > settings.tasks_most or len(edges) > settings.dependencies_most:
        most = f"{settings.tasks_most} tasks and {settings.dependencies_most} dependencies"
        faults.append(fault(Code.PLAN_TOO_BIG, f"a plan has at most {most}", "plan"))
    return faults
