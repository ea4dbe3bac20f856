"""The flow of values in a plan, checked against the signatures of the tools.

Judges pointers into results and the values that become arguments, of lowered parts: those of a document, and those of a
running plan. Values without a known schema are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from starloom_protocol.plan.language.fault_list import FaultList, joined, number_instead
from starloom_protocol.plan.types.gives import gives_shape
from starloom_protocol.plan.types.schemas import (
    AS_A_LIST,
    NULL,
    OPEN,
    TEXT,
    Shape,
    either,
    listed,
    map_of,
    misfit,
    of_value,
)
from starloom_protocol.plan.types.signatures import Signature
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    DropItems,
    EditOperation,
    UpdateDependency,
    UpdateTask,
)
from starloom_protocol.records.entities import Check, Condition, Dependency, Input, ResultSpec, SentenceSpec, TaskSpec
from starloom_protocol.records.specs import Moment, Repeat, by_result, counts_as_one
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import canonical, parse, pointer_step
from starloom_protocol.vocabulary import Code

_FAMILY_STEPS_MAX: Final = 64
"""Groups over groups of the same list are followed so far, also where a plan leads in a circle."""
_UNKNOWN: Final = Signature()
_ANSWER: Final = map_of({"by": TEXT, "text": TEXT, "value": TEXT})
_DEVICE: Final = map_of({"id": TEXT, "name": TEXT, "os": TEXT})
_OFF: Final = listed(map_of(dict.fromkeys(("device", "off_since", "os", "why"), TEXT) | {"off": of_value(True)}))
_WHO: Final = listed(map_of(dict.fromkeys(("device", "task"), TEXT)))
_TIME: Final = either([TEXT, of_value(1), of_value(1.5)])
_NUMBER: Final = either([of_value(1), of_value(1.5)])
_NUMBERED: Final = map_of({"number": of_value(1)})
_FILE: Final = either([TEXT, map_of({"artifact": TEXT}, open_ended=True)])
_SAVED: Final = map_of(
    {"added": listed(map_of(dict.fromkeys(("path", "replaced", "wrote"), TEXT) | {"folder": of_value(True)}))}
)
"""The part of a result that a device adds for the files that its task saves."""
_EXIT_CODE: Final = "/exit_code"

Hole = Callable[[str, Any], Shape | None]
_TYPES: Final[dict[str, Any]] = {field.encode_name: field.type for field in msgspec.structs.fields(TaskSpec)}


class Flow:
    """The values of one plan. `specs` are all of its tasks by id, `signatures` those of known tools.

    `trigger` is the task whose result a rule puts into its edit.
    """

    def __init__(
        self,
        specs: Mapping[str, TaskSpec],
        signatures: Mapping[str, Signature],
        faults: FaultList,
        trigger: TaskSpec | None = None,
    ) -> None:
        self._specs = specs
        self._signatures = signatures
        self._faults = faults
        self._trigger = trigger
        self._topics: dict[str, Shape] | None = None

    def gives(self, task: str) -> Shape:
        """Return the shape of a task's result, of a group that of each child; any value if it is unknown."""
        spec = self._specs.get(task)
        if spec is None or spec.nested:
            return OPEN
        if spec.goal is not None:
            return gives_shape(spec.goal.gives)
        return _ANSWER if spec.person is not None else self._of(spec.tool).gives

    def _of(self, tool: str | None) -> Signature:
        return self._signatures.get(tool or "", _UNKNOWN)

    def _root(self, spec: TaskSpec) -> TaskSpec | None:
        """Return the group that says what the family of a task is made over."""
        current: TaskSpec | None = spec if spec.key is None else self._specs.get(spec.family or "")
        for _ in range(_FAMILY_STEPS_MAX):
            if current is None or current.for_each is None or current.for_each.same is None:
                break
            current = self._specs.get(current.for_each.same)
        return current

    def _item(self, spec: TaskSpec) -> Shape:
        """Return the shape of the item that `{each: ...}` points into."""
        root = self._root(spec)
        each = root.for_each if root is not None else None
        if each is None:
            return OPEN
        if each.devices is not None:
            return _DEVICE
        if each.times or each.repeat is not None:
            return _NUMBERED
        at = self.gives(each.source or "").at(each.output)
        return at if self._is_group(each.source) and not each.flatten else at.entries()

    def _is_group(self, task: str | None) -> bool:
        spec = self._specs.get(task or "")
        return spec is not None and (spec.for_each is not None or spec.nested)

    def _is_one(self, item: Input) -> bool:
        """Whether an input reads a group as one task: its only call, or the last of its turns."""
        spec = self._specs.get(item.source)
        each = spec.for_each if spec is not None else None
        return each is not None and counts_as_one(each) and (by_result(each) or not item.all)

    def _names_device(self, shape: Shape, output: str, place: str) -> None:
        if not shape.may_be(TEXT):
            reason = f"`{output}` is {shape.words()}, which names no device"
            self._faults.add(Code.WRONG_TYPE, place, reason, "Point at the name or the id of a device.")

    def _beside(self, spec: TaskSpec, item: Input) -> bool:
        """Whether an input comes from the child with the same key of a group of the family."""
        source = self._specs.get(item.source)
        if item.all or source is None or source.for_each is None:
            return False
        # What a rule of a group adds stands beside the child for which it fires.
        one = spec if spec.for_each is not None else self._trigger
        return one is not None and one.for_each is not None and self._root(one) is self._root(source)

    def task(self, spec: TaskSpec, place: str) -> None:
        """Note each pointer of a task that finds nothing, and each argument of a type that its tool does not take."""
        for at, check in enumerate(spec.checks):
            self._check(check, self.gives(spec.id), spec.tool, joined(place, "checks", at))
        each = spec.for_each
        if each is not None and each.source is not None:
            where = joined(place, "for_each", "output")
            shape = self._pointed(each.source, each.output, where)
            if each.devices is not None:
                self._names_device(shape, each.output, joined(place, "device", "output"))
            elif each.flatten or not self._is_group(each.source):
                self._entries(shape, each.output, where)
        if spec.finds is not None:
            self._pointed(spec.id, spec.finds.output, joined(place, "finds", "value"))
        # The pointer of a choice is that of its vote, where it is judged.
        if spec.shows is not None and spec.judge is None:
            self._pointed(spec.shows.source, spec.shows.output, joined(place, "shows", "output"))
        if spec.not_before is not None and spec.not_before.source:
            self._names_time(spec.not_before, joined(place, "not_before", "output"))
        if each is not None and each.repeat is not None:
            self._turns(spec, each.repeat, joined(place, "repeat"))
        delivered = {item.name: self._delivered(spec, item, joined(place, "inputs", item.name)) for item in spec.inputs}
        for at, file in enumerate(spec.files_out):
            where = joined(place, "files_out", at, "output")
            shape = self._resolved(self.gives(spec.id), file.output, where, spec.tool)
            if not shape.may_be(_FILE):
                self._faults.add(Code.WRONG_TYPE, where, f"`{file.output}` is {shape.words()}, which names no file")
        self._call(spec.tool, spec.args, delivered, self._holes(spec), place, "inputs")
        self._further_calls(spec, place)
        for at, call in enumerate(spec.any_of):
            where, gives = joined(place, "any_of", at), self._of(call.tool).gives
            self._call(call.tool, call.args, delivered, self._holes(spec), where, "inputs")
            for check in spec.checks:
                self._check(check, gives, call.tool, where)
            for file in spec.files_out:
                self._resolved(gives, file.output, where, call.tool)

    def _names_time(self, moment: Moment, place: str) -> None:
        shape = self._pointed(moment.source, moment.output, place)
        if not shape.may_be(_TIME):
            reason = f"`{moment.output}` is {shape.words()}, which names no time"
            self._faults.add(Code.WRONG_TYPE, place, reason, "Point at a text such as 2026-11-26 12:30.")

    def _turns(self, spec: TaskSpec, turns: Repeat, place: str) -> None:
        """Note the pointers of a repeat into the result of a turn that find nothing, or a value of another type."""
        gives = self.gives(spec.id)
        if turns.until is not None:
            where = joined(place, "while" if turns.during else "until", "output")
            self._resolved(gives, turns.until.output, where, spec.tool)
        takes = self._of(spec.tool).args
        for name, output in turns.carry.items():
            where = joined(place, "carry", name)
            output_shape = self._resolved(gives, output, where, spec.tool)
            self._fits(output_shape, takes.at("/" + pointer_step(name)), spec.tool, where)

    def _further_calls(self, spec: TaskSpec, place: str) -> None:
        """Note the faults of the calls by which a task is taken back and looked at."""
        if spec.undo is not None:
            at_undo = joined(place, "undo")
            outputs = {
                name: self._given_by(spec, output, joined(at_undo, "outputs", name))
                for name, output in spec.undo.outputs.items()
            }
            self._call(spec.undo.tool, spec.undo.args, outputs, self._others, at_undo, "outputs")
        if spec.verify is not None:
            at_verify = joined(place, "verify")
            self._call(spec.verify.tool, spec.verify.args, {}, self._others, at_verify, "args")
            for at, check in enumerate(spec.verify.expect):
                gives = self._of(spec.verify.tool).gives
                self._check(check, gives, spec.verify.tool, joined(at_verify, "expect", at))

    def of_call(self, tool: str, output: str, place: str) -> None:
        """Note a pointer that the result of a tool does not have."""
        self._resolved(self._of(tool).gives, output, place, tool)

    def arguments(self, tool: str, args: Any, place: str) -> None:
        """Note each new argument of a running task of a type that its tool does not take; items are not judged."""

        def holes(where: str) -> Hole:
            return lambda kind, value: OPEN if kind == "each" else self._others(where)(kind, value)

        self._call(tool, canonical(args), {}, holes, place, "inputs")

    def gate(self, dependency: Dependency, place: str) -> None:
        """Note a condition on an output that its source does not give."""
        if dependency.condition is not None:
            self._pointed(dependency.source, dependency.condition.output, joined(place, "when", "output"))

    def result(self, result: ResultSpec, place: str) -> None:
        """Note an item of the answer that its task does not give."""
        self._pointed(result.source, result.output, joined(place, "output"))

    def sentence(self, sentence: SentenceSpec, place: str) -> None:
        """Note a value or a condition of a sentence that its task does not give, or that cannot be shown so."""
        for name, value in sentence.values.items():
            where = joined(place, "values", name, "output")
            many = self._has_many(value.source)
            if many and (value.output or value.show not in ("count", "device")):
                reason = f"`{value.source}` is a group, so there are many values"
                hint = "Show its `count` or its `device`, or add a task that takes the results together."
                self._faults.add(Code.PLAN_INVALID, where, reason, hint)
            elif not many and value.show != "device":
                shape = self._pointed(value.source, value.output, where)
                if value.show in ("bytes", "percent", "duration") and not shape.may_be(_NUMBER):
                    self._faults.add(Code.WRONG_TYPE, where, f"`{value.output}` is {shape.words()}, and no number")
                elif value.show == "count":
                    self._entries(shape, value.output, where)
        if sentence.condition is not None and sentence.source is not None:
            where = joined(place, "when", "output")
            if self._has_many(sentence.source):
                reason = f"`{sentence.source}` is a group, so there are many values"
                self._faults.add(Code.PLAN_INVALID, where, reason, "Add a task that takes the results together.")
            else:
                self._pointed(sentence.source, sentence.condition.output, where)

    def _has_many(self, task: str) -> bool:
        spec = self._specs.get(task)
        return self._is_group(task) and not (spec is not None and spec.for_each and counts_as_one(spec.for_each))

    def rule(
        self, task: str, condition: Condition | None, placed: Iterable[tuple[EditOperation, str]], place: str
    ) -> None:
        """Note outputs that a rule reads and its task does not give."""
        if condition is not None:
            self._pointed(task, condition.output, joined(place, "when", "output"))
        operations = list(placed)
        added = {item.spec.id: item.spec for item, _ in operations if isinstance(item, AddTask)}
        inside = Flow({**self._specs, **added}, self._signatures, self._faults, self._specs.get(task))
        for operation, where in operations:
            inside.operation(operation, where)
            for at, pointer in _output_nodes(operation, where):
                self._pointed(task, pointer, at)

    def operation(self, operation: EditOperation, place: str) -> None:
        """Note the faults of the parts that one operation of an edit adds or changes."""
        if isinstance(operation, AddTask):
            self.task(operation.spec, place)
        elif isinstance(operation, AddDependency | UpdateDependency):
            self.gate(operation.dependency, place)
        elif isinstance(operation, UpdateTask) and operation.id in self._specs:
            fields = {
                name: msgspec.json.decode(raw, type=_TYPES[name])
                for name, raw in operation.changes.items()
                if name in _TYPES
            }
            self.task(msgspec.structs.replace(self._specs[operation.id], **fields), place)

    def _check(self, check: Check, gives: Shape, tool: str | None, place: str) -> None:
        self._resolved(gives, check.output, place if check.output == _EXIT_CODE else joined(place, "output"), tool)

    def _pointed(self, task: str, output: str, place: str) -> Shape:
        spec = self._specs.get(task)
        if spec is None:
            return self._resolved(self.gives(task), output, place, None)
        shape = self._given_by(spec, output, place)
        if not spec.any_of:
            return shape
        # A reader gets the result of the call that was taken, so each call must give what it points into.
        others = [self._resolved(self._of(call.tool).gives, output, place, call.tool) for call in spec.any_of]
        return either([shape, *others])

    def _given_by(self, spec: TaskSpec, output: str, place: str) -> Shape:
        saved = spec.files_out and _SAVED.missing(output) is None and output
        return self._resolved(_SAVED if saved else self.gives(spec.id), output, place, spec.tool)

    def _delivered(self, spec: TaskSpec, item: Input, place: str) -> Shape:
        """Return the shape that an input gives an argument."""
        if item.topic:
            return self._by_topic(item)
        if item.off:
            return _OFF
        if item.who:
            return _WHO
        shape = self._pointed(item.source, item.output, joined(place, "output"))
        many = self._is_group(item.source) and not self._is_one(item) and not self._beside(spec, item)
        one = item.all and item.source in self._specs and not self._is_group(item.source)
        if item.flatten:
            shape = listed(self._entries(shape, item.output, joined(place, "output")))
        elif many or one:
            shape = listed(shape)
        return either([shape, NULL]) if item.optional and not many else shape

    def _by_topic(self, item: Input) -> Shape:
        """Return the shape of a finding: that of each task that publishes its topic; of a goal any value."""
        if self._topics is None:
            self._topics = self._by_topics()
        shape = self._topics.get(item.topic, OPEN)
        if shape is OPEN or item.otherwise is None:
            return shape
        return either([shape, of_value(parse(item.otherwise))])

    def _by_topics(self) -> dict[str, Shape]:
        """Return the shape of the findings of each topic: looked for once, since thousands of tasks may take one."""
        shapes: dict[str, list[Shape]] = {}
        by_goals: set[str] = set()
        for spec in self._specs.values():
            if spec.finds is not None:
                shapes.setdefault(spec.finds.topic, []).append(self.gives(spec.id).at(spec.finds.output))
            if spec.goal is not None:
                by_goals.update(spec.goal.finds)
        complete = {topic: some for topic, some in shapes.items() if topic not in by_goals}
        return {topic: either(some) for topic, some in complete.items() if all(shape.forms for shape in some)}

    def _entries(self, shape: Shape, output: str, place: str) -> Shape:
        entries = shape.entries()
        if entries.forms:
            return entries
        reason = f"`{output}` is {shape.words()}, and a list is needed here" if output else "the result is no list"
        self._faults.add(Code.NOT_A_LIST, place, reason, _lists_in(shape))
        return OPEN

    def _resolved(self, shape: Shape, output: str, place: str, giver: str | None) -> Shape:
        """Return the shape that a pointer finds, or any value after noting the fault."""
        missing = shape.missing(output)
        if missing is None:
            return shape.at(output)
        way, step, holder = missing
        whose = f"`{giver}`" if giver else "it"
        names = holder.names()
        hint = f"`{way}` is {holder.words()}; nothing is below it."
        if names:
            hint = self._faults.near(step, names, f"There is: {', '.join(names)}.")
            hint = hint if not way else f"{hint} (in `{way}`)"
        elif holder.entries().forms:
            hint = f"{f'`{way}`' if way else 'The result'} is a list: name a position, such as `{way}/0`."
        self._faults.add(Code.UNKNOWN_OUTPUT, place, f"{whose} gives no `{output}`", hint)
        return OPEN

    def _holes(self, spec: TaskSpec) -> Callable[[str], Hole]:
        item = self._item(spec) if spec.for_each is not None or spec.key is not None else OPEN

        def at(place: str) -> Hole:
            def hole(kind: str, value: Any) -> Shape | None:
                if kind == "each" and isinstance(value, str):
                    return self._each(item, value, place, (spec.for_each and spec.for_each.same) or "")
                return self._others(place)(kind, value)

            return hole

        return at

    def _others(self, _place: str) -> Hole:
        """Return the shape of a secret, and in a rule that of the trigger's output; wrong pointers are not reported."""

        def hole(kind: str, value: Any) -> Shape | None:
            if kind == "output" and self._trigger is not None and isinstance(value, str):
                shape = self.gives(self._trigger.id).at(value)
                return either([shape, NULL]) if shape.forms else OPEN
            return TEXT if kind == "secret" else None

        return hole

    def _each(self, item: Shape, output: str, place: str, same: str) -> Shape:
        missing = item.missing(output)
        if missing is None:
            return item.at(output)
        names = missing[2].names()
        hint = self._faults.near(missing[1], names, f"There is: {', '.join(names)}.") if names else ""
        if same:
            way = f"`inputs: {{ARGUMENT: {{from: {same}, output: {output}}}}}`"
            hint = f"{hint} The items are those of {same}; its results are read by {way}.".strip()
        self._faults.add(Code.UNKNOWN_OUTPUT, place, f"the items have no `{output}`", hint)
        return OPEN

    def _call(
        self,
        tool: str | None,
        args: str,
        drawn: Mapping[str, Shape],
        holes: Callable[[str], Hole],
        place: str,
        source: str,
    ) -> None:
        """Check the arguments of one call against the tool's signature; `drawn` are those that come when it runs."""
        if args == "{}" and not drawn:
            return  # the signature of a tool is made of the schemas of all its versions
        takes = self._of(tool).args
        if args != "{}" and not (takes is OPEN and '{"each":' not in args):
            for name, value in parse(args).items():
                where = joined(place, "args", name)
                due = takes.at("/" + pointer_step(name))
                self._fits(of_value(value, holes(where)), due, tool, where)
        for name, value_shape in drawn.items():
            self._fits(value_shape, takes.at("/" + pointer_step(name)), tool, joined(place, source, name), drawn=source)

    def _fits(self, value_shape: Shape, due: Shape, tool: str | None, place: str, *, drawn: str = "") -> None:
        """Note a value that a tool does not take; `drawn` is the field by which it comes from a result, if it does."""
        if not due.forms or not value_shape.forms or value_shape.may_be(due):
            return  # a name that the tool does not take is a fault of its own
        steps, one, other = misfit(value_shape, due)
        where = joined(place, *steps)
        choices = other.choices()
        if choices:
            takes = _either([quoted(choice) for choice in choices])
            hint = self._faults.near(
                one.value().strip("'"), choices, f"For example `{where.rpartition('.')[2]}: {choices[0]}`."
            )
        else:
            takes, hint = other.words(), one.lacking(other)
            if not hint and one.kinds() == ["string"] and set(other.kinds()) <= {"integer", "number"} and not drawn:
                hint = number_instead(where.rpartition(".")[2], one.value().strip("'"))
            if drawn and hint == AS_A_LIST:
                # A plan cannot write what comes from a result in another form; an input can be made a list of one.
                wraps = drawn == "inputs" and not steps and listed(value_shape).may_be(due)
                hint = "Add `all: true` beside `output`: it comes as a list of one." if wraps else ""
        strays = one.strays_from(other)
        given_as = (one.value() if choices or strays or one.words() == other.words() else "") or one.words()
        if given_as == takes and (lacked := one.lacked(other)):
            reason = f"`{tool}` does not take this map: it lacks {', '.join(lacked)}"
            hint = f"Its names are: {', '.join(other.names())}."
        else:
            reason = f"`{tool}` takes {takes} here, not {given_as}"
        code = Code.BAD_ARGUMENTS if strays else Code.WRONG_TYPE
        self._faults.add(code, where, reason, hint or f"See `starloom tools show {tool}`.")


def _output_nodes(operation: EditOperation, place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, pointer) of each output node in a rule's operation."""
    if isinstance(operation, AddTask):
        spec = operation.spec
        yield from _nodes(parse(spec.args), joined(place, "args"))
        for at, check in enumerate(spec.checks):
            yield from _nodes(parse(check.value or "null"), joined(place, "checks", at, "value"))
    elif isinstance(operation, DropItems):
        yield from _nodes(parse(operation.keys), joined(place, "keys"))
    elif isinstance(operation, UpdateTask) and "args" in operation.changes:
        yield from _nodes(parse(msgspec.json.decode(operation.changes["args"], type=str)), joined(place, "args"))


def _nodes(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if value.keys() == {"output"} and isinstance(value["output"], str):
            yield place, value["output"]
            return
        for name, item in value.items():
            yield from _nodes(item, joined(place, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _nodes(item, joined(place, at))


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _lists_in(shape: Shape) -> str:
    lists = [name for name in shape.names() if shape.at("/" + pointer_step(name)).entries().forms]
    return f"There are lists at: {', '.join(f'`/{name}`' for name in lists)}." if lists else ""
