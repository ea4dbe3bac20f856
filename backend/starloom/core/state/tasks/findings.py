"""Findings as they stand: the newest of a topic, the one that an input has taken, and the state of a gate by topic.

Pure. A finding is never changed and never removed. It stands as long as the result that it is a part of counts, so a
result that is made again takes it away until its task publishes again.
"""

from __future__ import annotations

from collections.abc import Iterator

from starloom.core.state.model import Constellation
from starloom_protocol.records.entities import Dependency, Finding, TaskSpec
from starloom_protocol.vocabulary import GateState, TaskState

_FINAL = frozenset({"succeeded", "failed", "cancelled", "skipped"})


def is_valid(constellation: Constellation, finding: Finding) -> bool:
    """Tell whether the result that a finding is a part of still counts."""
    record = constellation.tasks.get(finding.task)
    if record is None or record.state is not TaskState.SUCCEEDED or record.attempt != finding.attempt:
        return False
    of = constellation.groups.get(finding.by) or record
    return of.round == finding.round


def valid_findings(constellation: Constellation, topic: str) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of a topic that stand, the newest first."""
    for number in reversed(constellation.findings):
        finding = constellation.findings[number]
        if finding.topic == topic and is_valid(constellation, finding):
            yield number, finding


def newest(constellation: Constellation, topic: str) -> tuple[str, Finding] | None:
    """Return the finding of a topic that counts, with its number: that of the newest result, then the last."""
    return max(valid_findings(constellation, topic), key=lambda one: (one[1].at_ms, int(one[0])), default=None)


def decided_topics(constellation: Constellation, task: str) -> Iterator[tuple[str, str, Finding | None]]:
    """Yield (input, topic, finding) for each input by topic that was decided; None stands for the value instead."""
    spec, record = constellation.specs.get(task), constellation.tasks.get(task)
    if spec is None or record is None or not record.took:
        return
    for item in spec.inputs:
        if item.topic and item.name in record.took:
            yield item.name, item.topic, constellation.findings.get(record.took[item.name])


def sources_of(constellation: Constellation, spec: TaskSpec) -> list[str]:
    """Return the tasks and groups that the inputs of a task read or may read, those by topic included."""
    sources = dict.fromkeys(item.source for item in spec.inputs if not item.topic)
    if len(sources) < len(spec.inputs):
        for gate in constellation.incoming.get(spec.id, {}).values():
            if gate.topic:
                sources[gate.source] = None
        findings = (finding for _, _, finding in decided_topics(constellation, spec.id) if finding is not None)
        sources.update((finding.task, None) for finding in findings)
    return list(sources)


def gate_by_topic(constellation: Constellation, dependency: Dependency) -> GateState:
    """Return the state of a gate by topic: open once its source has ended, or a goal has published; never shut."""
    source = dependency.source
    record = constellation.tasks.get(source) or constellation.groups.get(source)
    if record is None:
        return GateState.UNDECIDED
    if record.state in _FINAL:
        return GateState.OPEN
    group = constellation.groups.get(source)
    published = (
        group is not None
        and constellation.specs[source].goal is not None
        and any(
            finding.by == source and finding.topic == dependency.topic and finding.round == group.round
            for finding in constellation.findings.values()
        )
    )
    return GateState.OPEN if published else GateState.UNDECIDED
