"""The topics of a plan: which tasks publish each, the gates from them to those that take it, and their faults.

Owns the relation between `finds` and inputs by `finding`. A topic is a name of the whole plan, in plans within it too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from starloom_protocol.plan.types.signatures import Signature
from starloom_protocol.records.entities import Dependency, Fault, Input, TaskSpec
from starloom_protocol.vocabulary import Code, Effect, Gate, Repeatability

PUBLISHERS_MOST: Final = 100
"""Half of the findings that a constellation keeps, so that calls made again have room."""


def topics(spec: TaskSpec) -> list[str]:
    """Return the topics that a task may publish: that of a call, or those of a goal."""
    if spec.goal is not None:
        return spec.goal.finds
    return [spec.finds.topic] if spec.finds is not None else []


def publishers(specs: Iterable[TaskSpec]) -> dict[str, list[TaskSpec]]:
    """Return the tasks that publish each topic, in order; the children of a group publish as their group."""
    by_topic: dict[str, list[TaskSpec]] = {}
    for spec in specs:
        for topic in topics(spec) if spec.key is None else ():
            by_topic.setdefault(topic, []).append(spec)
    return by_topic


def topic_gates(specs: Iterable[TaskSpec], number: int) -> Iterator[Dependency]:
    """Yield the gates by which inputs by topic wait for all that publish it."""
    all_specs = list(specs)
    readers = [(spec, item) for spec in all_specs for item in spec.inputs if item.topic]
    if not readers:
        return
    sources = publishers(all_specs)
    for spec, item in readers:
        for source in sources.get(item.topic, ()):
            if source.id != spec.id:
                yield gate_of(source, spec, item, number)


def gate_of(source: TaskSpec, reader: TaskSpec, item: Input, number: int) -> Dependency:
    """Return the gate by which one input waits for one task that publishes its topic."""
    return Dependency(
        changed_in=number, gate=Gate.DATA, input=item.name, source=source.id, target=reader.id, topic=item.topic
    )


def topic_fault(
    item: Input, reader: str, sources: Mapping[str, list[TaskSpec]], place: str, *, suggests: bool = True
) -> Fault | None:
    """Return the fault of an input whose topic nothing else publishes; with `suggests` it names the nearest one."""
    if any(source.id != reader for source in sources.get(item.topic, ())):
        return None
    others = [name for name in sources if name != item.topic] if suggests else []
    close = difflib.get_close_matches(item.topic, others, n=1, cutoff=0.5)
    hint = f"Did you mean `{close[0]}`?" if close else "Give a task `finds: {topic: ..., value: /pointer}`."
    return Fault(code=Code.UNKNOWN_TOPIC, hint=hint, place=place, reason=f"nothing publishes `{item.topic}`")


def repeat_fault(source: TaskSpec, signatures: Mapping[str, Signature], tools: Mapping[str, Repeatability]) -> str:
    """Return why the call of a task cannot be made again to see whether its finding still holds; empty if it can."""
    if source.tool is None or source.for_each is not None:
        return f"`{source.id}` is no single call"
    if source.judge is not None or source.secrets or source.files_out:
        part = "has a judge" if source.judge is not None else "is given a secret" if source.secrets else "brings files"
        return f"`{source.id}` {part}"
    if not tools:
        return ""
    repeatability = tools.get(source.tool, Repeatability.PURE)
    effects = signatures[source.tool].effects if source.tool in signatures else frozenset((Effect.READ,))
    if repeatability is not Repeatability.PURE or effects - {Effect.READ}:
        return f"`{source.tool}` does more than read"
    return "" if effects else f"`{source.tool}` computes, and looks at no device"
