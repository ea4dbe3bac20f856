"""The gates by topic of a batch: between the tasks that it adds or changes and those that publish or take a topic.

Inputs by topic name no task, so an edit that adds a publisher also lets the tasks wait for it that have not started.
Owns who may add a publisher.
"""

from __future__ import annotations

from starloom.core.plan.batches.batch import EditBatch, started
from starloom_protocol.plan.checks.findings import gate_of, publishers, topic_fault, topics
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.stream.authors import ENGINE, may_decide
from starloom_protocol.vocabulary import Code

_SUGGESTED_MOST = 20
"""Faults of topics that name the nearest one: each compares a word with every topic."""


def may_publish(batch: EditBatch, spec: TaskSpec, place: str) -> bool:
    """Note a fault if a task publishes and its author may not say who writes about a topic."""
    if spec.finds is None or batch.author == ENGINE or may_decide(batch.author):
        return True
    reason = f"{spec.id} would publish `{spec.finds.topic}`, and others rely on who writes about it"
    hint = "Leave `finds` out. A person says in the plan, or in an edit, which task publishes a topic."
    batch.refuse(Code.FORBIDDEN, reason, f"{place}.finds", hint)
    return False


def link_topics(batch: EditBatch) -> None:
    """Add the gates by topic that the batch calls for, and remove those of publishers that it removes."""
    constellation = batch.constellation
    new_specs = [spec for name in (*batch.added, *batch.changed) if (spec := batch.spec(name)) is not None]
    uses_topics = any(topics(spec) or any(item.topic for item in spec.inputs) for spec in new_specs)
    if not uses_topics and not any(_gates(batch, name, out=True) for name in batch.removed):
        return
    after = {**constellation.specs, **batch.specs}
    specs = [spec for spec in after.values() if spec is not None]
    sources = publishers(specs)
    for name in batch.removed:
        for key, topic in _gates(batch, name, out=True):
            if sources.get(topic):
                batch.deps[key] = None
    for spec in new_specs:
        for key, _ in _gates(batch, spec.id, out=False):
            batch.deps[key] = None
        for item in spec.inputs:
            if not item.topic:
                continue
            if batch.refuse_if_too_big(f"{spec.id}.inputs.{item.name}.finding"):
                return
            place, suggests = f"{spec.id}.inputs.{item.name}.finding", len(batch.faults) < _SUGGESTED_MOST
            missing = topic_fault(item, spec.id, sources, place, suggests=suggests)
            if missing is not None:
                batch.faults.append(missing)
            for source in sources.get(item.topic, ()):
                if source.id != spec.id:
                    batch.put_dep(gate_of(source, spec, item, batch.number))
    for spec in new_specs:
        if batch.refuse_if_too_big(f"{spec.id}.finds"):
            return
        if spec.id in batch.added and topics(spec):
            _let_wait(batch, spec, specs)


def _gates(batch: EditBatch, task: str, *, out: bool) -> list[tuple[str, str]]:
    """Return (key, topic) of the gates by topic that leave or reach a task."""
    table = batch.constellation.outgoing if out else batch.constellation.incoming
    return [(key, gate.topic) for key, gate in table.get(task, {}).items() if gate.topic]


def _let_wait(batch: EditBatch, source: TaskSpec, specs: list[TaskSpec]) -> None:
    """Let the tasks that take a topic of `source` and have not started wait for it.

    Only tasks that need the finding to be fresh wait for a call that is made again.
    """
    for reader in specs:
        if reader.id == source.id or started(batch.constellation, reader.id):
            continue
        for item in reader.inputs:
            if item.topic in topics(source) and (source.again_of is None or item.fresh_s):
                batch.put_dep(gate_of(source, reader, item, batch.number))
