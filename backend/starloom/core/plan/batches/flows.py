"""Flows of values in an edit of a running plan, checked against the schemas that devices offer.

The check is the plan language's own, applied to the plan after the edit, so that a pointer into the result of an
existing task is checked like one into that of a new task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.plan.language.fault_list import FaultList
from starloom_protocol.plan.types.flow import Flow
from starloom_protocol.plan.types.signatures import Signature, signature_of
from starloom_protocol.records.edits import EditOperation, Supersede, UpdateTask
from starloom_protocol.records.entities import Dependency, Fault, TaskSpec
from starloom_protocol.tools.hub_tools import HUB_TOOLS


class Offered(Mapping[str, Signature]):
    """The signatures of tools, looked up lazily in the offers of the devices."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._known: dict[str, Signature] = {}

    def __getitem__(self, tool: str) -> Signature:
        if tool not in self._known:
            hub_tool = HUB_TOOLS.get(tool)
            offered = (tools[tool] for tools in self._fleet.tool_sets.different() if tool in tools)
            offers = [hub_tool] if hub_tool is not None else list(offered)
            if not offers:
                raise KeyError(tool)
            self._known[tool] = signature_of(offers)
        return self._known[tool]

    def __iter__(self) -> Iterator[str]:
        return iter({tool for tools in self._fleet.tool_sets.different() for tool in tools})

    def __len__(self) -> int:
        return len({tool for tools in self._fleet.tool_sets.different() for tool in tools})


class _SpecsAfter(Mapping[str, TaskSpec]):
    """The tasks of a plan as an edit leaves them, over the ones that stand: an edit of a large plan copies nothing."""

    def __init__(self, stand: Mapping[str, TaskSpec], put: Mapping[str, TaskSpec | None]) -> None:
        self._stand = stand
        self._put = put

    def __getitem__(self, name: str) -> TaskSpec:
        spec = self._put[name] if name in self._put else self._stand[name]
        if spec is None:
            raise KeyError(name)
        return spec

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._stand if name not in self._put)
        yield from (name for name, spec in self._put.items() if spec is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def flow_faults(
    fleet: Fleet,
    constellation: Constellation,
    specs: Mapping[str, TaskSpec | None],
    deps: Mapping[str, Dependency | None],
    operations: Sequence[EditOperation],
) -> list[Fault]:
    """Return the faults in the values of an edit; `specs` and `deps` are its puts, None for a removal.

    If a task gets another tool, or readers of a task become those of its successor, the readers are checked too, and
    their faults are placed there.
    """
    after = _SpecsAfter(constellation.specs, specs)
    faults, signatures = FaultList(), Offered(fleet)
    flow = Flow(after, signatures, faults)
    for position, operation in enumerate(operations):
        place = f"operations[{position}].{type(operation).__struct_config__.tag}"
        flow.operation(operation, place)
        other_readers: tuple[str, str] | None = None
        if isinstance(operation, UpdateTask) and "tool" in operation.changes:
            other_readers = operation.id, "tool"
        elif isinstance(operation, Supersede) and operation.by is not None:
            other_readers = operation.by, "by"
        if other_readers is not None:
            task, field = other_readers
            gates = [gate for key, gate in constellation.deps.items() if key not in deps]
            gates += [gate for gate in deps.values() if gate is not None]
            faults.all += _faults_of_readers(after, gates, signatures, task, f"{place}.{field}")
    return faults.all


def _faults_of_readers(
    after: Mapping[str, TaskSpec],
    gates: Sequence[Dependency],
    signatures: Mapping[str, Signature],
    task: str,
    place: str,
) -> list[Fault]:
    faults = FaultList()
    flow = Flow(after, signatures, faults)
    readers = {gate.target: None for gate in gates if gate.source == task and gate.target in after}
    for reader in readers:
        flow.task(after[reader], reader)
    for gate in gates:
        if gate.source == task:
            flow.gate(gate, gate.target)
    return [replace(fault, place=place, reason=f"{fault.place}: {fault.reason}") for fault in faults.all]
