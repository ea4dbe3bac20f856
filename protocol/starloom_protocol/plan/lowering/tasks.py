"""Lowering of checked shapes to the entities of the core: one task, dependency or result at a time.

Owns which fields a task of each kind may have, and their limits. Judges no relation between tasks: `checks.graph` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import msgspec

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import (
    NAME,
    NODE_ID,
    TASK_ID,
    DependencyDoc,
    ForEachDoc,
    JudgeDoc,
    PlaceDoc,
    PolicyDoc,
    ResultDoc,
    RetryDoc,
    SelectorDoc,
    SentenceDoc,
    TaskDoc,
    TaskPatchDoc,
    UndoDoc,
    VerifyDoc,
)
from starloom_protocol.plan.lowering.hub_calls import check_hub_call, check_on_device
from starloom_protocol.plan.lowering.parts import Parts, secrets_of
from starloom_protocol.plan.lowering.patterns.findings import finds_of, input_of
from starloom_protocol.plan.lowering.patterns.hopeless import stop_when_of
from starloom_protocol.plan.lowering.patterns.moments import moment_of
from starloom_protocol.plan.lowering.patterns.other_calls import other_calls
from starloom_protocol.plan.lowering.patterns.repeats import repeated
from starloom_protocol.plan.lowering.patterns.reuse import reuse_of
from starloom_protocol.plan.lowering.patterns.shows import shows_of
from starloom_protocol.plan.lowering.records import FIRST_VERSION, record
from starloom_protocol.records.entities import (
    Choice,
    Dependency,
    FileOut,
    ForEach,
    Input,
    Judge,
    OnAbsence,
    Policy,
    ResultSpec,
    Retry,
    SentenceSpec,
    TaskSpec,
    Timeouts,
    UndoCall,
    VerifyCall,
)
from starloom_protocol.records.specs import SentenceValue
from starloom_protocol.tools.hub_tools import controls_devices
from starloom_protocol.vocabulary import REPEATABLE, Code, Gate, Need, Repeatability

OFF_AFTER_S: Final = 10
"""An agent that restarts is back within it, and is not reported as off."""
_CALL: Final = TaskSpec(changed_in=FIRST_VERSION, id="", tool="")
_SUCCESS: Final = Gate.SUCCESS
_AS_THEY_ARE: Final = ("optional", "person", "repeatability", "tool")
DEFAULT_CHOICES: Final = [
    Choice(label="Done", value="done"),
    record(Choice, fails=True, label="Cannot", value="cannot"),
]


def policy_of(doc: PolicyDoc, judge: Judge | None = None) -> Policy:
    """Return the policy of a plan; a chance is kept in hundredths, since state has no fractions."""
    fields = doc.model_dump()
    below = fields.pop("drop_optional_below") or 0
    return record(Policy, drop_below=round(below * 100), judge=judge, **fields)


def judge_of(doc: JudgeDoc) -> Judge:
    """Return the question to a judge."""
    return record(Judge, question=doc.question, unclear=doc.unclear)


def retry_of(doc: RetryDoc) -> Retry:
    """Return how often, and after which failures, a task is tried again."""
    return record(Retry, max_attempts=doc.max_attempts or 0, on_check=doc.on_check, on_exit=doc.on_exit)


class Lowering(Parts):
    """Lowers the tasks, dependencies and results of one document."""

    def task(self, doc: TaskDoc, place: str) -> TaskSpec:
        """Return the spec of a whole task; faults are noted, the spec is then of no use."""
        self._one_kind(doc, place)
        check_hub_call(self, doc, place)
        self.absence(doc, place)
        if doc.tool is not None:
            self.takes_call(doc.tool, doc.args, doc.inputs, place)
        fields = self.fields(doc, place)
        return record(TaskSpec, changed_in=FIRST_VERSION, id=doc.id, **fields)

    def plain_tasks(self, raws: Sequence[Any]) -> Iterator[TaskSpec | None]:
        """Yield the spec of each `{id: a, tool: b}` as `TaskDoc` and `task` would; None for any other form or a fault.

        The larger a plan, the more of its tasks are written so, and the more of them call the same tools.
        """
        is_id, callable_tools = TASK_ID.fullmatch, set[str]()
        for raw in raws:
            spec = None
            if type(raw) is dict and len(raw) == 2 and "id" in raw and "tool" in raw:
                name, tool = raw["id"], raw["tool"]
                if isinstance(name, str) and isinstance(tool, str) and is_id(name):
                    if tool not in callable_tools and self._callable(tool):
                        callable_tools.add(tool)
                    if tool in callable_tools:
                        spec = msgspec.structs.replace(_CALL, id=name, tool=tool)
            yield spec

    def _callable(self, tool: str) -> bool:
        if self.in_edit and controls_devices(tool):
            return False
        tools = self.known.tools
        return NAME.fullmatch(tool) is not None and (tools is None or tool in tools) and not self.takes(tool).needed

    def fields(self, doc: TaskDoc, place: str) -> dict[str, Any]:
        """Return the fields of the spec that the document gives, but its identity, by the name they have there.

        A question to a person has choices even if none are given. Only what is given is looked at: of 10,000 tasks
        most give two fields.
        """
        in_doc = doc.model_fields_set
        spec: dict[str, Any] = {name: getattr(doc, name) for name in _AS_THEY_ARE if name in in_doc}
        if doc.tool is not None and self.known.tools is not None and doc.tool not in self.known.tools:
            self.tool(doc.tool, joined(place, "tool"))
        if "args" in in_doc:
            spec["args"] = self.arguments(doc.args, joined(place, "args"), in_group=self._in_group(doc))
            spec["secrets"] = secrets_of(doc.args)
        if "any_of" in in_doc:
            spec["any_of"] = other_calls(self, doc, place)
        if "inputs" in in_doc:
            spec["inputs"] = self._inputs(doc, place)
        if "choices" in in_doc or doc.person is not None:
            spec["choices"] = self._choices(doc, place)
        if "ask" in in_doc:
            spec["ask"] = list(dict.fromkeys(doc.ask))
        if "checks" in in_doc:
            spec["checks"] = [self.check(item, joined(place, "checks", at)) for at, item in enumerate(doc.checks)]
        if doc.device is not None and doc.device.source is not None:
            spec["for_each"] = self._by_result(doc, doc.device, joined(place, "device"))
        elif "device" in in_doc:
            self._alone(doc.device, joined(place, "device"))
            spec["device"] = None if doc.device is None else self.selector(doc.device, joined(place, "device"))
        if "files_out" in in_doc:
            spec["files_out"] = [FileOut(output=item.output, to=item.to) for item in doc.files_out]
        if doc.not_before is not None:
            spec["not_before"] = moment_of(self, doc, doc.not_before, joined(place, "not_before"))
        if doc.shows is not None:
            spec["shows"] = shows_of(self, doc, doc.shows, joined(place, "shows"))
        if doc.reuse is not None:
            spec["reuse"] = reuse_of(self, doc, doc.reuse, joined(place, "reuse"))
        if doc.stop_when is not None:
            spec["stop_when"] = stop_when_of(self, doc, doc.stop_when, joined(place, "stop_when"))
        if doc.finds is not None:
            spec["finds"] = finds_of(self, doc, doc.finds, joined(place, "finds"))
        if doc.repeat is not None:
            spec["for_each"] = repeated(self, doc, doc.repeat, joined(place, "repeat"))
        elif "for_each" in in_doc and "for_each" not in spec:
            spec["for_each"] = None if doc.for_each is None else self._for_each(doc.for_each, joined(place, "for_each"))
        if "on_absence" in in_doc:
            absence = doc.on_absence
            spec["on_absence"] = (
                OnAbsence() if absence is None else record(OnAbsence, after_s=absence.after_s, then=absence.then)
            )
        if doc.plan is not None:
            spec["nested"] = True
        if "retry" in in_doc:
            spec["retry"] = retry_of(doc.retry)
        if "timeouts" in in_doc:
            spec["timeouts"] = record(Timeouts, **doc.timeouts.model_dump())
        if "judge" in in_doc:
            spec["judge"] = None if doc.judge is None else judge_of(doc.judge)
        if "undo" in in_doc:
            spec["undo"] = None if doc.undo is None else self._undo(doc.undo, joined(place, "undo"))
        if "verify" in in_doc:
            spec["verify"] = None if doc.verify is None else self._verify(doc, doc.verify, joined(place, "verify"))
            if doc.verify is not None and doc.repeatability is None:
                spec["repeatability"] = Repeatability.VERIFIABLE
        return spec

    def _in_group(self, doc: TaskDoc) -> bool:
        """Return whether a task has items: an edit that leaves its list out keeps the one that the task has."""
        if doc.for_each is not None or doc.repeat is not None:
            return True
        if doc.device is not None and doc.device.source is not None:
            return True
        before = self.known.tasks.get(doc.id or "")
        if "for_each" in doc.model_fields_set or before is None:
            return False
        return before.for_each is not None or before.key is not None

    def _alone(self, doc: PlaceDoc | None, place: str) -> None:
        for name in sorted({"output", "within"} & (doc.model_fields_set if doc is not None else set())):
            self.faults.add(Code.PLAN_INVALID, joined(place, name), f"`{name}` belongs to `from`", "Add it.")

    def _by_result(self, task: TaskDoc, doc: PlaceDoc, place: str) -> ForEach:
        """Return the group of one call on the device that a result names; only those of `within` are approved."""
        for name in sorted(doc.model_fields_set - {"source", "output", "within"}):
            reason = f"`{name}` does not go with `from`"
            self.faults.add(Code.PLAN_INVALID, joined(place, name), reason, "Write it into `within`.")
        if task.for_each is not None:
            reason = "a group has one device for each child, and this names one device"
            self.faults.add(Code.PLAN_INVALID, joined(place, "from"), reason, "Remove `for_each`, or `from`.")
        repeatability = (self.known.tools or {}).get(task.tool or "", Repeatability.PURE)
        if doc.within is None and repeatability is not Repeatability.PURE:
            reason = f"`{task.tool}` does more than read, and a result may not choose among all devices for it"
            hint = "Add `within`: the devices that may be chosen, which are approved together."
            self.faults.add(Code.PLAN_INVALID, place, reason, hint)
        within = self.selector(doc.within or SelectorDoc(), joined(place, "within"))
        return record(ForEach, devices=within, output=doc.output, source=doc.source)

    def _undo(self, doc: UndoDoc, place: str) -> UndoCall:
        self.tool(doc.tool, joined(place, "tool"))
        check_on_device(self, doc.tool, place)
        self.takes_call(doc.tool, doc.args, doc.outputs, place, source="outputs")
        for name in sorted(set(doc.args) & set(doc.outputs)):
            where = joined(place, "outputs", name)
            self.faults.add(Code.PLAN_INVALID, where, f"`{name}` is an argument and an output", "Rename or remove one.")
        args = self.arguments(doc.args, joined(place, "args"), in_group=False)
        return UndoCall(args=args, outputs=dict(sorted(doc.outputs.items())), tool=doc.tool)

    def _verify(self, task: TaskDoc, doc: VerifyDoc, place: str) -> VerifyCall:
        where = joined(place, "tool")
        self.tool(doc.tool, where)
        check_on_device(self, doc.tool, place)
        self.takes_call(doc.tool, doc.args, {}, place, source=None)
        if task.repeatability not in (None, Repeatability.VERIFIABLE, Repeatability.COMPENSABLE):
            reason = f"work that is {task.repeatability} is not verified"
            self.faults.add(Code.PLAN_INVALID, place, reason, "Say `repeatability: verifiable`, or remove it.")
        repeatability = (self.known.tools or {}).get(doc.tool, Repeatability.PURE)
        if repeatability is not Repeatability.PURE:
            self.faults.add(Code.NOT_REPEATABLE, where, f"`{doc.tool}` does more than look: it is {repeatability}")
        if secrets_of(doc.args):
            self.faults.add(Code.PLAN_INVALID, joined(place, "args"), "a call that only looks is given no secret")
        return VerifyCall(
            args=self.arguments(doc.args, joined(place, "args"), in_group=False),
            expect=[self.check(item, joined(place, "expect", at)) for at, item in enumerate(doc.expect)],
            tool=doc.tool,
        )

    def _inputs(self, doc: TaskDoc, place: str) -> list[Input]:
        for name in sorted(set(doc.args) & set(doc.inputs)):
            self.faults.add(
                Code.PLAN_INVALID,
                joined(place, "inputs", name),
                f"`{name}` is an argument and an input",
                "Rename or remove one.",
            )
        inputs = (input_of(self, doc, name, item, joined(place, "inputs", name)) for name, item in doc.inputs.items())
        return [item for item in inputs if item is not None]

    def _choices(self, doc: TaskDoc, place: str) -> list[Choice]:
        choices = [Choice(fails=item.fails, label=item.label, value=item.value) for item in doc.choices]
        if len({choice.value for choice in choices}) < len(choices):
            self.faults.add(Code.PLAN_INVALID, joined(place, "choices"), "two choices have the same value")
        return choices or (DEFAULT_CHOICES if doc.person is not None else [])

    def _one_kind(self, doc: TaskDoc, place: str) -> None:
        possible = (("tool", doc.tool), ("goal", doc.goal), ("person", doc.person), ("plan", doc.plan))
        kinds = [name for name, value in possible if value is not None]
        if not kinds:
            self.faults.add(Code.PLAN_INVALID, place, f"the task `{doc.id}` does nothing", "Give it a `tool`.")
        elif len(kinds) > 1:
            self.faults.add(
                Code.PLAN_INVALID, place, f"the task `{doc.id}` has {' and '.join(kinds)}; it takes one of them"
            )
        elif doc.goal is not None:
            reason = "a goal belongs to the plan that a person approves, so no edit and no rule adds one"
            self.faults.add(Code.PLAN_INVALID, joined(place, "goal"), reason, "Write it into the plan, or add a tool.")
        elif doc.plan is not None:
            others = doc.model_fields_set - {"id", "plan", "optional"}
            for name in sorted(field for field in others if getattr(doc, field) is not None):
                reason = f"`{name}` belongs to the tasks of a plan, not to the plan"
                hint = "Give it to each task in it." if name != "for_each" else "Make a family of the tasks in it."
                self.faults.add(Code.PLAN_INVALID, joined(place, name), reason, hint)
        of_goals = {"budget", "gives", "may", "milestones", "until"} if doc.goal is None else set()
        for name in sorted(doc.model_fields_set & of_goals):
            self.faults.add(Code.PLAN_INVALID, joined(place, name), f"`{name}` belongs to `goal`", "Remove it.")
        if doc.repeat is not None and doc.tool is None:
            self.faults.add(
                Code.PLAN_INVALID, joined(place, "repeat"), "only a call of a tool is repeated", "Remove it."
            )
        if doc.stop_when is not None and doc.tool is None:
            reason = "only a call of a tool is stopped by its progress"
            self.faults.add(Code.PLAN_INVALID, joined(place, "stop_when"), reason, "Remove it.")
        if doc.not_before is not None and doc.tool is None:
            hint = "Let a task that waits for the time come before it."
            where = joined(place, "not_before")
            self.faults.add(Code.PLAN_INVALID, where, "only a call of a tool begins at a time", hint)
        if doc.shows is not None and doc.person is None:
            where = joined(place, "shows")
            self.faults.add(Code.PLAN_INVALID, where, "only a question to a person shows a result", "Remove it.")
        if doc.reuse is not None and doc.tool is None:
            self.faults.add(Code.PLAN_INVALID, joined(place, "reuse"), "only a call of a tool is reused", "Remove it.")
        if doc.verify is not None and doc.tool is None:
            self.faults.add(Code.PLAN_INVALID, joined(place, "verify"), "only work of a tool is verified", "Remove it.")
        if doc.judge is not None:
            self._judged(doc, joined(place, "judge"))
        if doc.person is not None:
            if doc.device is not None:
                reason = "a question to a person has no device"
                self.faults.add(Code.PLAN_INVALID, joined(place, "device"), reason, "Leave `device` out.")
            return
        if doc.choices:
            self.faults.add(Code.PLAN_INVALID, joined(place, "choices"), "only a question to a person has choices")
        if doc.ask and not isinstance(doc, TaskPatchDoc):
            reason = "only a question to a person names who answers it"
            self.faults.add(Code.PLAN_INVALID, joined(place, "ask"), reason, "Add `person`, or remove `ask`.")

    def _judged(self, doc: TaskDoc, place: str) -> None:
        if doc.tool is None:
            self.faults.add(Code.PLAN_INVALID, place, "only work of a tool is judged", "Remove it.")
        listed = doc.for_each is not None or (doc.device is not None and doc.device.source is not None)
        if listed or doc.verify is not None:
            reason = "a judge would be asked for each item" if listed else "a look may end it without a result"
            hint = "Judge the task that takes the results together, or the whole: `judge` at the top of the plan."
            self.faults.add(Code.PLAN_INVALID, place, f"{reason}, so this task takes no `judge`", hint)

    def absence(self, doc: TaskDoc, place: str) -> None:
        """Add a fault if work that must not run twice is to be reassigned automatically."""
        if doc.on_absence is None or doc.on_absence.then != "reassign":
            return
        repeatability = doc.repeatability
        if repeatability is None and doc.tool is not None and self.known.tools is not None:
            repeatability = self.known.tools.get(doc.tool)
        if repeatability is not None and repeatability not in REPEATABLE:
            self.faults.add(
                Code.NOT_REPEATABLE,
                joined(place, "on_absence", "then"),
                f"`reassign` may run `{doc.id}` twice, and its work is {repeatability}",
            )

    def _for_each(self, doc: ForEachDoc, place: str) -> ForEach:
        ways = [
            name
            for name, value in (("from", doc.source), ("devices", doc.devices), ("same", doc.same))
            if value is not None
        ]
        if len(ways) != 1 and not (doc.times is not None and not ways):
            self.faults.add(
                Code.PLAN_INVALID, place, "`for_each` takes exactly one of from, devices, same, times", "Keep one."
            )
        if doc.times is not None and (doc.source is not None or doc.same is not None):
            reason = f"`times` does not go with {ways[0]}"
            self.faults.add(Code.PLAN_INVALID, joined(place, "times"), reason, "Keep one of them.")
        if doc.times is not None and doc.when_off == "report":
            reason = "a group on some of the devices has none that it reports as off"
            self.faults.add(Code.PLAN_INVALID, joined(place, "when_off"), reason, "Remove it, or `times`.")
        if doc.source is None and doc.output:
            self.faults.add(Code.PLAN_INVALID, joined(place, "output"), "`output` belongs to `from`")
        if doc.source is None and doc.flatten:
            self.faults.add(Code.PLAN_INVALID, joined(place, "flatten"), "`flatten` belongs to `from`")
        if doc.in_turn and doc.same is not None:
            reason = "the family goes in turn or not as a whole"
            self.faults.add(Code.PLAN_INVALID, joined(place, "in_turn"), reason, f"Say it at `{doc.same}`.")
        for name in ("when_off", "after_s"):
            if getattr(doc, name) is not None and doc.devices is None:
                hint = f"Say it at `{doc.same}`." if doc.same is not None else "Remove it."
                self.faults.add(Code.PLAN_INVALID, joined(place, name), f"`{name}` belongs to `devices`", hint)
        if doc.after_s is not None and doc.when_off != "report":
            self.faults.add(
                Code.PLAN_INVALID, joined(place, "after_s"), "`after_s` belongs to `when_off: report`", "Add it."
            )
        return record(
            ForEach,
            after_s=(OFF_AFTER_S if doc.after_s is None else doc.after_s) if doc.when_off == "report" else 0,
            devices=None if doc.devices is None else self.selector(doc.devices, joined(place, "devices")),
            flatten=doc.flatten,
            in_turn=doc.in_turn,
            max_parallel=doc.max_parallel or 0,
            need=doc.need.word,
            need_count=doc.need.count if doc.need.word is Need.AT_LEAST else 0,
            output=doc.output,
            same=doc.same,
            source=doc.source,
            times=doc.times or 0,
            when_off=doc.when_off or "wait",
        )

    def dependency(self, doc: DependencyDoc, place: str) -> Dependency:
        """Return a control dependency."""
        condition = None
        if doc.when.condition is not None:
            when = doc.when.condition
            has_value = "value" in when.model_fields_set
            condition = self.condition(when.output, when.op, when.value, joined(place, "when"), has_value=has_value)
        # Made directly: each of these fields, equal to its default, is the default itself (see `records`).
        return Dependency(
            all=doc.all,
            changed_in=FIRST_VERSION,
            condition=condition,
            gate=Gate.OUTPUT if condition is not None else doc.when.gate,
            source=doc.source,
            target=doc.target,
        )

    def result(self, doc: ResultDoc) -> ResultSpec:
        return record(
            ResultSpec, compare=doc.compare, output=doc.output, show=doc.show, source=doc.source, title=doc.title
        )

    def sentence(self, doc: SentenceDoc, place: str) -> SentenceSpec:
        """Return a sentence of the answer."""
        condition = None
        if doc.when is not None:
            when = doc.when
            has_value = "value" in when.model_fields_set
            condition = self.condition(when.output, when.op, when.value, joined(place, "when"), has_value=has_value)
        values = {
            name: record(SentenceValue, noun=one.noun, output=one.output, show=one.show, source=one.source)
            for name, one in doc.values.items()
        }
        source = doc.when.source if doc.when is not None else None
        return record(SentenceSpec, alarm=doc.alarm, condition=condition, source=source, text=doc.text, values=values)


def plain_dependencies(raws: Sequence[Any], tasks: Collection[str]) -> Iterator[Dependency | None]:
    """Yield the dependency of each `{from: a, to: b}` as `DependencyDoc` would; None for any other form or a fault.

    Nearly all of a plan's dependencies are written so, and a large plan has ten thousands of them. The names of `tasks`
    were read already: what is one of them has the form of a name.
    """
    is_id = NODE_ID.fullmatch
    for raw in raws:
        gate = None
        if type(raw) is dict and len(raw) == 2 and "from" in raw and "to" in raw:
            source, target = raw["from"], raw["to"]
            are_texts = isinstance(source, str) and isinstance(target, str)
            if are_texts and (source in tasks or is_id(source)) and (target in tasks or is_id(target)):
                gate = Dependency(changed_in=FIRST_VERSION, gate=_SUCCESS, source=source, target=target)
        yield gate
