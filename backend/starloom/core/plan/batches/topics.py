"""The gates by topic of a batch: between the tasks that it adds or changes and those that publish or take a topic.

Inputs by topic name no task, so an edit that adds a publisher also lets the tasks wait for it that have not started.
Owns who may add a publisher.
"""

from __future__ import annotations

from starloom.core.plan.batches.batch import Draft, started
from starloom_protocol.plan.checks.findings import gate_of, publishers, topic_fault, topics
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.stream.authors import ENGINE, may_decide
from starloom_protocol.vocabulary import Code

_SUGGESTED_MOST = 20
"""Faults of topics that name the nearest one: each compares a word with every topic."""


def may_publish(draft: Draft, spec: TaskSpec, place: str) -> bool:
    """Note a fault if a task publishes and its author may not say who writes about a topic."""
    if spec.finds is None or draft.author == ENGINE or may_decide(draft.author):
        return True
    reason = f"{spec.id} would publish `{spec.finds.topic}`, and others rely on who writes about it"
    hint = "Leave `finds` out. A person says in the plan, or in an edit, which task publishes a topic."
    draft.refuse(Code.FORBIDDEN, reason, f"{place}.finds", hint)
    return False


def link_topics(draft: Draft) -> None:
    """Add the gates by topic that the batch calls for, and remove those of publishers that it removes."""
    constellation = draft.constellation
    touched = [spec for name in (*draft.added, *draft.changed) if (spec := draft.spec(name)) is not None]
    calls = any(topics(spec) or any(item.topic for item in spec.inputs) for spec in touched)
    if not calls and not any(_gates(draft, name, out=True) for name in draft.removed):
        return
    after = {**constellation.specs, **draft.specs}
    known = [spec for spec in after.values() if spec is not None]
    sources = publishers(known)
    for name in draft.removed:
        for key, topic in _gates(draft, name, out=True):
            if sources.get(topic):
                draft.deps[key] = None
    for spec in touched:
        for key, _ in _gates(draft, spec.id, out=False):
            draft.deps[key] = None
        for item in spec.inputs:
            if not item.topic:
                continue
            if draft.is_too_big(f"{spec.id}.inputs.{item.name}.finding"):
                return
            place, suggests = f"{spec.id}.inputs.{item.name}.finding", len(draft.faults) < _SUGGESTED_MOST
            missing = topic_fault(item, spec.id, sources, place, suggests=suggests)
            if missing is not None:
                draft.faults.append(missing)
            for source in sources.get(item.topic, ()):
                if source.id != spec.id:
                    draft.put_dep(gate_of(source, spec, item, draft.number))
    for spec in touched:
        if draft.is_too_big(f"{spec.id}.finds"):
            return
        if spec.id in draft.added and topics(spec):
            _let_wait(draft, spec, known)


def _gates(draft: Draft, task: str, *, out: bool) -> list[tuple[str, str]]:
    """Return (key, topic) of the gates by topic that leave or reach a task."""
    table = draft.constellation.outgoing if out else draft.constellation.incoming
    return [(key, gate.topic) for key, gate in table.get(task, {}).items() if gate.topic]


def _let_wait(draft: Draft, source: TaskSpec, known: list[TaskSpec]) -> None:
    """Let the tasks that take a topic of `source` and have not started wait for it.

    A call that is made again is waited for by those alone that need the finding to be fresh.
    """
    for reader in known:
        if reader.id == source.id or started(draft.constellation, reader.id):
            continue
        for item in reader.inputs:
            if item.topic in topics(source) and (source.again_of is None or item.fresh_s):
                draft.put_dep(gate_of(source, reader, item, draft.number))
