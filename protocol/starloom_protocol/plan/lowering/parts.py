"""The parts of a task that several of its fields share: conditions, checks, selectors of devices, arguments.

Owns the meaning and the limits of each (values within limits, operators with their values, tools and devices that
exist), and the knowledge of the fleet that they are checked with. Knows no whole task: `tasks` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.plan.language.models import NO_VALUE_OPS, CheckDoc, SelectorDoc
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.plan.types.signatures import Arguments, Signature
from starloom_protocol.records.access import SECRET_NAME
from starloom_protocol.records.entities import Check, Condition, Selector, TaskSpec
from starloom_protocol.tools.ways_back import LEFT_BY, UNDOING
from starloom_protocol.values import VALUE_DEPTH_MAX, canonical, depth_of, pointer_fault
from starloom_protocol.vocabulary import Code, Op, Repeatability

ARGUMENT_BYTES_MAX: Final = 64 * 1024
"""Arguments stand in the plan, its events and each dispatch; more is a file, given as an artifact."""
EXIT_CODE: Final = "/exit_code"
_UNKNOWN: Final = Signature()
_ADD: Final = {"inputs": "Add it, or an input.", "outputs": "Add it, or an output.", None: "Add it."}


@dataclass(slots=True)
class Known:
    """The knowledge of the fleet with which a document is checked; None means: not known, so not checked.

    `devices` holds names and, if there are any, ids (`d-...`). A tool missing from `signatures` is not checked.
    `tasks` are those that an edit may change, as they are; one that is missing is not checked.
    """

    devices: Collection[str] | None = None
    tools: Mapping[str, Repeatability] | None = None
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)
    _devices: Set[str] = field(init=False)
    _ids_known: bool = field(init=False)

    def __post_init__(self) -> None:
        devices = self.devices or ()
        # A set that the fleet keeps serves every document as it is.
        self._devices = devices if isinstance(devices, Set) else frozenset(devices)
        self._ids_known = any(name.startswith("d-") for name in self._devices)

    def lacks_device(self, name: str) -> bool:
        return self.devices is not None and name not in self._devices

    def lacks_id(self, identity: str) -> bool:
        return self.devices is not None and self._ids_known and identity not in self._devices


class Parts:
    """Lowers parts of one document; `in_rule` lets `{output: /pointer}` stand in values, `in_edit` admits no goal."""

    def __init__(self, faults: FaultList, known: Known, *, in_rule: bool = False, in_edit: bool = False) -> None:
        self.faults = faults
        self.known = known
        self.in_rule = in_rule
        self.in_edit = in_edit or in_rule

    def tool(self, name: str, place: str) -> None:
        """Note a tool that no device offers, where the fleet is known."""
        tools = self.known.tools
        if tools is not None and name not in tools:
            self.faults.add(Code.UNKNOWN_TOOL, place, f"no device offers `{name}`", self.faults.near(name, tools))

    def takes(self, tool: str) -> Arguments:
        """Return the arguments that a tool takes, any if it is not known."""
        return self.known.signatures.get(tool, _UNKNOWN).names

    def takes_call(
        self,
        tool: str,
        args: Mapping[str, Any],
        drawn: Mapping[str, Any],
        place: str,
        *,
        source: str | None = "inputs",
        lacks: str = "",
    ) -> None:
        """Note names of a call that no device's version of its tool takes, and those that each of them needs.

        `drawn` are arguments that come from elsewhere when it runs, in the field `source`; `lacks` is the way out
        where one is missing, if it is another than to add it.
        """
        takes = self.takes(tool)
        arguments = {**args, **drawn}
        if tool in UNDOING and LEFT_BY in arguments:
            where = joined(place, source if source and LEFT_BY in drawn else "args", LEFT_BY)
            reason = f"`{LEFT_BY}` of `{tool}` is given by an undo alone"
            self.faults.add(Code.FORBIDDEN, where, reason, "Undo that work: starloom undo.")
            arguments.pop(LEFT_BY)
        for name in takes.unknown(arguments):
            where = joined(place, source if source and name in drawn else "args", name)
            hint = self.faults.near(name, sorted(takes.names or ()))
            self.faults.add(Code.UNKNOWN_FIELD, where, f"`{tool}` takes no `{name}`", hint)
        for name in takes.missing(arguments):
            where, reason = joined(place, "args", name), f"`{tool}` needs `{name}`"
            self.faults.add(Code.PLAN_INVALID, where, reason, lacks or _ADD[source])

    def check(self, doc: CheckDoc, place: str) -> Check:
        """Return a check of a result."""
        if "exit_code" in doc.model_fields_set:
            if doc.model_fields_set != {"exit_code"} or doc.exit_code is None:
                self.faults.add(Code.PLAN_INVALID, place, "a check is {exit_code: n} or {output, op, value}")
            return record(Check, op=Op.EQ, output=EXIT_CODE, value=canonical(doc.exit_code))
        if doc.output is None or doc.op is None:
            self.faults.add(Code.PLAN_INVALID, place, "a check is {exit_code: n} or {output, op, value}")
            return record(Check, op=Op.EXISTS, output="")
        condition = self.condition(doc.output, doc.op, doc.value, place, has_value="value" in doc.model_fields_set)
        return record(Check, op=condition.op, output=condition.output, says=doc.says, value=condition.value)

    def selector(self, doc: SelectorDoc, place: str) -> Selector:
        """Return a selector; a device that does not exist is a fault where the fleet is known."""
        if doc.name is not None and self.known.lacks_device(doc.name):
            names = [name for name in self.known.devices or () if not name.startswith("d-")]
            hint = self.faults.near(doc.name, names)
            self.faults.add(Code.UNKNOWN_DEVICE, joined(place, "name"), f"no device is named `{doc.name}`", hint)
        if doc.id is not None and self.known.lacks_id(doc.id):
            self.faults.add(Code.UNKNOWN_DEVICE, joined(place, "id"), f"no device has the id `{doc.id}`")
        for at, tool in enumerate(doc.tools):
            self.tool(tool, joined(place, "tools", at))
        return record(
            Selector,
            any=[self.selector(item, joined(place, "any", at)) for at, item in enumerate(doc.any)],
            id=doc.id,
            labels=sorted(set(doc.labels)),
            name=doc.name,
            os=doc.os,
            tools=sorted(set(doc.tools)),
        )

    def condition(self, output: str, op: Op, value: Any, place: str, *, has_value: bool) -> Condition:
        """Return a condition; `has_value` tells `value: null` from no value."""
        where = joined(place, "value")
        if op in NO_VALUE_OPS:
            if has_value:
                self.faults.add(Code.PLAN_INVALID, where, f"`{op}` takes no value", "Remove it.")
            return record(Condition, op=op, output=output)
        if not has_value:
            if op is not Op.EXISTS:
                self.faults.add(Code.PLAN_INVALID, where, f"`{op}` needs a value", "Add `value`.")
            return record(Condition, op=op, output=output)
        if op in (Op.IN, Op.NOT_IN) and not isinstance(value, list):
            self.faults.add(Code.PLAN_INVALID, where, f"`{op}` needs a list of values")
        if op is Op.EXISTS and not isinstance(value, bool):
            self.faults.add(Code.PLAN_INVALID, where, "`exists` takes true or false")
        return record(Condition, op=op, output=output, value=self.text(value, where))

    def text(self, value: Any, place: str) -> str:
        """Return the canonical text of a value, `null` and a fault where it has none."""
        try:
            return canonical(value)
        except ValueError as error:
            self.faults.add(Code.PLAN_INVALID, place, str(error))
            return "null"

    def arguments(self, args: dict[str, Any], place: str, *, in_group: bool) -> str:
        """Return the canonical text of a task's arguments, nodes left in it."""
        if not args:
            return "{}"
        if depth_of(args) > VALUE_DEPTH_MAX:
            self.faults.add(Code.PLAN_INVALID, place, f"arguments nest deeper than {VALUE_DEPTH_MAX} levels")
            return "{}"
        for where, kind, value in nodes(args, place):
            self._node(where, kind, value, in_group=in_group)
        text = self.text(args, place)
        if len(text.encode()) > ARGUMENT_BYTES_MAX:
            reason = f"the arguments have {len(text.encode())} bytes; at most {ARGUMENT_BYTES_MAX} are taken"
            self.faults.add(Code.PLAN_TOO_BIG, place, reason, "Hand big values over as a file.")
        return text

    def _node(self, place: str, kind: str, value: Any, *, in_group: bool) -> None:
        if kind == "secret":
            if not isinstance(value, str) or not SECRET_NAME.fullmatch(value):
                reason = "`secret` takes the name of a secret: letters, digits, `-`, `_` and `.`, at most 64"
                self.faults.add(Code.PLAN_INVALID, place, reason, "Set one: starloom secret set NAME")
            return
        if kind == "output" and not self.in_rule:
            return
        fault = pointer_fault(value) if isinstance(value, str) else "a pointer is a text"
        if fault:
            self.faults.add(Code.PLAN_INVALID, place, fault)
        elif kind == "each" and not in_group and not self.in_rule:
            self.faults.add(
                Code.PLAN_INVALID, place, "`each` is the item of a group's child, and this is no group", "Add for_each."
            )


def secrets_of(args: dict[str, Any]) -> list[str]:
    """Return the names of the secrets that arguments ask for, each once, in order of the alphabet."""
    if not args:
        return []
    return sorted({value for _, kind, value in nodes(args, "") if kind == "secret" and isinstance(value, str)})


def nodes(value: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (place, kind, value) of each `{each}`, `{secret}` and `{output}` node inside a value."""
    if isinstance(value, dict):
        if len(value) == 1:
            kind, inner = next(iter(value.items()))
            if kind in ("each", "secret", "output"):
                yield place, kind, inner
                return
        for key, item in value.items():
            yield from nodes(item, joined(place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from nodes(item, joined(place, index))
